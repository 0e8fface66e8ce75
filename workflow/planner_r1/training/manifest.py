"""MANIFEST.json of a run: what was reached, from what, by what. Its presence says that the run is whole."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from planner_r1 import environments
from planner_r1.checkout import ROOT
from planner_r1.environments import ACTIVE
from planner_r1.errors import InputError
from planner_r1.training.checkpoints import write_atomically

NAME = "MANIFEST.json"
PACKAGES = (
    *("planner-r1-repro", "verl", "sglang", "torch", "transformers"),
    *("tensordict", "TransferQueue", "ray", "numpy", "flash-attn"),
)


def write_manifest(folder: Path, record: dict[str, Any]) -> Path:
    """Write the manifest of a folder, atomically: `record`, and the size and SHA-256 of every file in the folder."""
    files = {str(p.relative_to(folder)): p for p in sorted(folder.rglob("*")) if p.is_file() and p.name != NAME}
    listed = {name: {"bytes": p.stat().st_size, "sha256": sha256(p)} for name, p in files.items()}
    path = folder / NAME
    write_atomically(path, json.dumps({**record, "files": listed}, indent=2, ensure_ascii=False) + "\n")
    return path


def sha256(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def versions(environment: str = ACTIVE) -> dict[str, str]:
    """The versions of what determines a run, in the environment that verl runs in.

    Raises:
        InputError: Python cannot be started there.
    """
    if environment == ACTIVE:
        return _installed()
    place = environments.environment(environment)
    command = [*place.prefix, place.python, "-m", __name__]
    try:
        said = subprocess.run(command, env=os.environ | place.variables, capture_output=True, text=True, check=True)
        return json.loads(said.stdout)
    except OSError as error:
        raise environments.not_started(environment, command, error) from None
    except (subprocess.CalledProcessError, ValueError) as error:
        why = (getattr(error, "stderr", None) or str(error)).strip().splitlines()[-1:]
        raise InputError(f"environment '{environment}': its Python does not work: {' '.join(why)}") from None


def _installed() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def git_commit() -> str | None:
    """The commit of the checkout, with "-dirty" appended where tracked files differ; None outside a repository."""
    try:
        commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
        changes = subprocess.run(
            ["git", "-C", ROOT, "status", "--porcelain", "--untracked-files=no"],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return commit.stdout.strip() + ("-dirty" if changes.stdout.strip() else "")


if __name__ == "__main__":
    print(json.dumps(_installed()))
