"""A git repository of its own for a test: the commands of a user who keeps a study with DVC."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from helpers.checkout import REPOSITORY, STUB, copy_repository

# Writes the checkpoints and the manifest that train_run leaves beside what it declares.
TRAIN_STUB = f"""{STUB}
import json
from pathlib import Path
folder = Path(snakemake.output.manifest).parent
for step in snakemake.params.run["export_steps"]:
    (folder / "checkpoints" / f"step{{step}}").mkdir(parents=True, exist_ok=True)
    (folder / "checkpoints" / f"step{{step}}" / "model.safetensors").write_text("weights")
files = {{str(p.relative_to(folder)): {{"bytes": p.stat().st_size}} for p in folder.rglob("*.safetensors")}}
Path(snakemake.output.manifest).write_text(json.dumps({{"files": files}}))
"""
AUTHOR = {f"GIT_{role}_{what}": "tester" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


class Clone:
    """A folder with a repository in it, whose own modules are used."""

    def __init__(self, folder: Path):
        self.folder = folder

    def run(self, *command: str, **variables: str) -> str:
        """What a command prints; it has to succeed."""
        done = self.try_to(*command, **variables)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    def try_to(self, *command: str, **variables: str) -> subprocess.CompletedProcess:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        own = {"PATH": path, "PYTHONPATH": str(self.folder / "workflow")}
        environment = os.environ | AUTHOR | own | variables
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True)

    def repro(self, *targets: str) -> list[str]:
        """The stages that DVC ran."""
        printed = self.run("dvc", "repro", *targets).splitlines()
        return [line.split("'")[1] for line in printed if line.startswith("Running stage")]

    def commit(self, message: str) -> None:
        self.run("git", "add", "--all")
        self.run("git", "commit", "--quiet", "--message", message)

    def clone(self, folder: Path) -> "Clone":
        self.run("git", "clone", "--quiet", ".", str(folder))
        return Clone(folder)

    def edit(self, file: str, old: str, new: str) -> None:
        path = self.folder / file
        text = path.read_text(encoding="utf-8")
        assert old in text, f"{file} has no {old!r}"
        path.write_text(text.replace(old, new, 1), encoding="utf-8")


def stubbed_clone(folder: Path, study: str) -> Clone:
    """The repository's files, committed in a new git repository, with scripts that only write their outputs and the
    stages of a study."""
    copy_repository(folder)
    for name in (".gitignore", ".dvcignore"):
        shutil.copy(REPOSITORY / name, folder)
    shutil.copytree(REPOSITORY / ".dvc", folder / ".dvc", ignore=shutil.ignore_patterns("cache", "tmp", "config.local"))
    for script in (folder / "workflow" / "scripts").glob("*.py"):
        stub = TRAIN_STUB if script.stem == "train_run" else STUB
        script.write_text(f'"""{script.stem}"""\n{stub}', encoding="utf-8")
    clone = Clone(folder)
    clone.run("git", "init", "--quiet", ".")
    clone.run("planner-r1", "dvc", "stages", "--study", study)
    clone.commit("the repository")
    return clone
