"""A checkout of its own for a test, with the commands of a user."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import yaml

from planner_r1.paper.artefacts import TABLE_OF, artefacts_of
from planner_r1.study import Study

REPOSITORY = Path(__file__).resolve().parents[2]
STUB = "for file in snakemake.output:\n    with open(file, 'w') as f:\n        f.write('made by a stub')\n"


class Copy:
    """A copy of the repository's files, in which Snakemake takes the library from the copy too."""

    def __init__(self, folder: Path):
        self.folder = folder

    def snakemake(self, *arguments: str) -> subprocess.CompletedProcess:
        command = [sys.executable, "-m", "snakemake", *arguments]
        variables = os.environ | {"PYTHONPATH": str(self.folder / "workflow")}
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, env=variables)

    def planned(self, *arguments: str) -> dict[str, int]:
        """Jobs by rule that a dry run announces; {} where there is nothing to do."""
        done = self.snakemake("-n", *arguments, "--quiet", "rules")
        assert done.returncode == 0, done.stdout + done.stderr
        table = re.search(r"^job +count\n[- ]+\n(.*?)\ntotal", done.stdout + done.stderr, re.MULTILINE | re.DOTALL)
        if table is None:
            assert "Nothing to be done" in done.stdout + done.stderr, done.stdout + done.stderr
            return {}
        return {line.split()[0]: int(line.split()[1]) for line in table[1].splitlines()}

    def reasons(self, *arguments: str) -> dict[str, dict[str, set[str]]]:
        """Why a dry run would run each rule: files by what is the matter with them, such as "Missing output files"."""
        done = self.snakemake("-n", *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        jobs = re.findall(r"^(?:local)?rule (\w+):\n(?:    .*\n)*?    reason: (.*)\n", done.stdout, re.MULTILINE)
        found: dict[str, dict[str, set[str]]] = {}
        for rule, reason in jobs:
            for part in reason.split("; "):
                what, _, files = part.partition(": ")
                found.setdefault(rule, {}).setdefault(what, set()).update(filter(None, files.split(", ")))
        return found

    def finish_by_stubs(self) -> None:
        """Run the default study to its end with scripts that only write their outputs."""
        for script in (self.folder / "workflow" / "scripts").glob("*.py"):
            script.write_text(f'"""{script.stem}"""\n{STUB}', encoding="utf-8")
        done = self.snakemake("--cores", "2", "all")
        assert done.returncode == 0, done.stderr

    def change_study(self, change: Callable[[dict], object], to: str = "quick") -> None:
        """Write config/`to`.yaml: the quick study after `change`."""
        config = yaml.safe_load((self.folder / "config" / "quick.yaml").read_text(encoding="utf-8"))
        change(config)
        text = yaml.safe_dump(config, sort_keys=False)
        (self.folder / "config" / f"{to}.yaml").write_text(text, encoding="utf-8")


def copy_repository(folder: Path) -> Copy:
    shutil.copy(REPOSITORY / "Snakefile", folder)
    for name in ("workflow", "config", "slurm", "envs", "profiles"):
        shutil.copytree(REPOSITORY / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    return Copy(folder)


def artefacts(study: Study, *kinds: str) -> dict[str, int]:
    """Every table and figure of a study, once each; or those made of some kinds of results, if only through a table."""
    made, found = artefacts_of(study), {}
    if not kinds:
        return {known.name: 1 for known in made}
    for _ in made:  # a table may be made of a table
        changed = {*kinds, *(f"{TABLE_OF}{name}" for name in found)}
        found = {known.name: 1 for known in made if changed & {*known.reads, *known.may_read}}
    return found
