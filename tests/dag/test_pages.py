"""Every command in the README and on the pages of docs is one that works: Snakemake's as dry runs, the others parsed by
the program that they are for."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
import typer

from helpers.checkout import REPOSITORY
from planner_r1.cli import app

PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md")), REPOSITORY / "CONTRIBUTING.md"]
PAGES += [REPOSITORY / name / "README.md" for name in ("slurm", "config/studies")]
PROGRAMS = {"snakemake", "planner-r1", "dvc", "make", "sudo", "source", "export", "git", "pip"}
SHELL = {"source", "export", "git", "pip"}  # nothing of ours
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)")


def commands(page: Path) -> list[list[str]]:
    """The commands of a page's indented blocks, as a shell would split them; a block that shows something else (keys of
    a study, Python) begins with no program."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    found = []
    for block in re.findall(r"(?:^ {4}\S.*\n)+", text, re.MULTILINE):
        lines = [shlex.split(line, comments=True) for line in block.splitlines() if "'''" not in line and line.strip()]
        if lines[0] and _program(lines[0]) in PROGRAMS:
            found += [line for line in lines if line]
    return found


def _program(command: list[str]) -> str:
    words = [word for word in command if not re.fullmatch(r"[A-Z_]+=\S*", word)]
    return words[0].rpartition("/")[2]


def every(program: str) -> list[tuple[str, ...]]:
    return sorted({tuple(c) for page in PAGES for c in commands(page) if _program(c) == program})


def test_every_command_is_of_a_program_that_is_checked():
    assert len([c for page in PAGES for c in commands(page)]) > 40
    for page in PAGES:
        for command in commands(page):
            assert _program(command) in PROGRAMS, f"{page}: {command}"


@pytest.mark.parametrize("command", every("snakemake"), ids=" ".join)
def test_snakemake_plans_it(checkout, command):
    extra = [] if "--unlock" in command else ["-n", "--quiet", "rules"]
    done = checkout.snakemake(*command[1:], *extra)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("command", every("planner-r1"), ids=" ".join)
def test_the_command_line_takes_it(command):
    given = typer.main.get_command(app)
    context, rest = click.Context(given, info_name="planner-r1"), list(command[1:])
    while isinstance(given, click.Group):
        name, given, rest = given.resolve_command(context, rest)
        context = click.Context(given, info_name=name, parent=context)
    if rest == ["--help"]:
        return  # the command is there
    assert given.make_context(context.info_name, rest, parent=context.parent)


@pytest.mark.parametrize("command", every("dvc"), ids=" ".join)
def test_dvc_has_it(command):
    command = [word for word in command if "=" not in word]
    verbs = [word for word in command[1:3] if re.fullmatch("[a-z]+", word)]
    verbs = verbs if verbs[0] in ("remote", "metrics", "params", "plots") else verbs[:1]
    asked = [sys.executable, "-m", "dvc", *verbs, "--help"]
    told = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    for option in (word for word in command if word.startswith("-")):
        assert re.search(rf"(?<![\w-]){option}\b", told), option


@pytest.mark.parametrize("command", every("make"), ids=" ".join)
def test_make_has_the_target(command):
    subprocess.run(["make", "--dry-run", *command[1:]], cwd=REPOSITORY, capture_output=True, check=True)


@pytest.mark.parametrize("command", every("sudo"), ids=" ".join)
def test_a_script_is_there(command):
    assert (REPOSITORY / command[2]).is_file()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_links_lead_to_files(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert "://" in target or (page.parent / target).exists(), f"{page}: {target}"


def test_the_pages_are_short_and_all_named_in_the_readme():
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) <= 110
    for page in (REPOSITORY / "docs").glob("*.md"):
        assert len(page.read_text(encoding="utf-8").splitlines()) <= 150, page
        assert f"docs/{page.name}" in readme, page
