"""The package by itself: what it declares is what it imports, and sandbox and evaluator work without a checkout."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from helpers.checkout import REPOSITORY
from helpers.small_world import THREE_DAYS_COST, query, three_days
from planner_r1 import __version__, checkout, extras
from planner_r1.queries import save_queries

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DECLARED = {"": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def distributions(requirements):
    """The names of some requirements."""
    return {normal(Requirement(text).name) for text in requirements}


def imported_modules():
    """Every module from elsewhere that the package names in an import, anywhere in a file."""
    found = set()
    for path in (REPOSITORY / "workflow" / "planner_r1").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                found.add(node.module.partition(".")[0])
    return found - set(sys.stdlib_module_names) - {"planner_r1"}


def test_every_import_is_declared_and_an_extra_is_named_where_it_is_missing():
    known = metadata.packages_distributions()
    for module in imported_modules() - {"sglang"}:  # an environment of its own has it, which no extra makes
        extra = next((extra for extra, modules in extras.MODULES.items() if module in modules.split()), "")
        assert {normal(name) for name in known[module]} & distributions(DECLARED[extra]), f"{module} in {extra!r}"
        assert (f"[{extra}]" in extras.how_to_install(module)) if extra else extras.how_to_install(module) is None


@pytest.mark.parametrize(("lock", "held"), [("cpu.txt", DECLARED), ("gpu.txt", ("", "train"))])
def test_the_locks_hold_what_is_declared(lock, held):
    text = (REPOSITORY / "envs" / lock).read_text(encoding="utf-8")
    versions = {normal(name): version for name, version in re.findall(r"^([\w.-]+)==([^\s;]+)", text, re.MULTILINE)}
    for extra in held:
        for requirement in map(Requirement, DECLARED[extra]):
            assert requirement.specifier.contains(versions[normal(requirement.name)]), f"{requirement} in {extra!r}"


def test_the_citation_and_the_licence_are_those_of_the_package():
    citation = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text(encoding="utf-8"))
    assert (str(citation["version"]), citation["license"]) == (__version__, PROJECT["license"])
    assert "Apache License" in (REPOSITORY / "LICENSE").read_text(encoding="utf-8")


def link_declared(site: Path, requirements):
    """Show an environment what requirements name, and what these need in turn, of the packages installed here."""
    linked, waiting = set(), [Requirement(text) for text in requirements]
    while waiting:
        requirement = waiting.pop()
        name = normal(requirement.name)
        if name in linked or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        linked.add(name)
        found = metadata.distribution(requirement.name)
        assert requirement.specifier.contains(found.version), requirement
        for top in {file.parts[0] for file in found.files} - {"..", "__pycache__"}:
            (site / top).symlink_to(found.locate_file(top))
        waiting += map(Requirement, found.requires or ())


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """Runs planner-r1 of a wheel, in an environment with the dependencies that the wheel names and no others."""
    folder = tmp_path_factory.mktemp("package")
    tree, environment, empty = folder / "tree", folder / "environment", folder / "empty"
    empty.mkdir()
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(REPOSITORY / "workflow" / "planner_r1", tree / "workflow" / "planner_r1", ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, tree)
    pip = [sys.executable, "-m", "pip", "--quiet"]
    offline = ["--no-deps", "--no-index", "--no-cache-dir"]
    subprocess.run([*pip, "wheel", *offline, "--no-build-isolation", "-w", folder, tree], check=True)
    (wheel,) = folder.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    subprocess.run([*pip, "--python", environment, "install", *offline, wheel], check=True)
    (site,) = environment.glob("lib/python*/site-packages")
    (package,) = metadata.distributions(path=[str(site)])
    link_declared(site, package.requires)
    variables = {"PATH": os.environ["PATH"], "XDG_CACHE_HOME": str(folder / "cache"), "COLUMNS": "120"}

    def run(*arguments):
        command = [environment / "bin" / "planner-r1", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, cwd=empty, env=variables)

    return run


def test_a_wheel_makes_a_world_calls_tools_and_scores_outside_a_checkout(installed, small_database, tmp_path):
    assert installed("--help").returncode == 0
    assert installed("world", "--out", tmp_path / "world", "--cities", 4).returncode == 0
    called = installed("tool", "calculator", '{"expression": "2 * 3"}', "--database", tmp_path / "world")
    assert json.loads(called.stdout) == {"result": 6}
    save_queries(tmp_path / "queries.jsonl", [query(idx=1)])
    (tmp_path / "plans.jsonl").write_text(json.dumps({"idx": 1, "plan": three_days()}), encoding="utf-8")
    asked = ("--queries", tmp_path / "queries.jsonl", "--database", small_database)
    out = tmp_path / "verdicts.jsonl"
    scored = installed("score", "--plans", tmp_path / "plans.jsonl", *asked, "--profile", "both", "--out", out)
    assert scored.returncode == 0, scored.stderr
    verdict = json.loads(out.read_text())
    assert verdict["final_pass"] and verdict["total_cost"] == THREE_DAYS_COST and verdict["strict"]["final_pass"]
    made = installed("submission", "--trajectories", tmp_path / "plans.jsonl", *asked, "--out", tmp_path / "made.jsonl")
    assert made.returncode == 0, made.stderr
    assert json.loads((tmp_path / "made.jsonl").read_text())["plan"] == three_days()


@pytest.mark.parametrize(("command", "extra"), [("cost", "train"), ("preflight", "train"), ("download", "pipeline")])
def test_a_command_that_needs_more_names_the_extra(installed, command, extra):
    done = installed(command)
    assert done.returncode == 2 and f"planner-r1-repro[{extra}]" in done.stderr and "Traceback" not in done.stderr


def test_a_study_without_a_checkout_is_one_clear_error(run, monkeypatch, tmp_path):
    monkeypatch.setattr(checkout, "ROOT", tmp_path)
    status, _, told = run("cost", "--study", REPOSITORY / "config" / "quick.yaml")
    assert status == 2 and "config/verl" in told and "clone" in told
