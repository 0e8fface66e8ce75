"""The environment that verl runs in: the one of this process, or another that holds the GPU set (envs/README.md).

Only verl's processes run there. What starts them, and everything else, runs in the environment of Snakemake.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

from planner_r1.errors import InputError

LIBRARY = Path(__file__).resolve().parents[1]
ACTIVE = "active"
KINDS = ("venv", "conda", "container", "module")
MODULE = re.compile(r"[\w.+/-]+")


@dataclass(frozen=True)
class Environment:
    """How a command is run in an environment.

    prefix: what stands before a command that is to run there
    python: Python's name there
    variables: what the process is given on top of this one's variables
    """

    prefix: tuple[str, ...] = ()
    python: str = sys.executable
    variables: dict[str, str] = field(default_factory=dict)


def environment(text: str) -> Environment:
    """The environment that a study's key `environment` names, with paths from the current folder. Nothing is looked for
    on the disk.

    Raises:
        InputError: it is none of `active`, `venv:FOLDER`, `conda:FOLDER`, `container:IMAGE` and `module:NAME NAME`.
    """
    if text == ACTIVE:
        return Environment()
    kind, _, value = text.partition(":")
    value = value.strip()
    if kind not in KINDS or not value:
        raise InputError(
            f"environment: found '{text}', expected 'active', 'venv:FOLDER', 'conda:FOLDER', 'container:IMAGE' or "
            "'module:NAME NAME'"
        )
    # the project's code is the checkout's, wherever it runs
    variables = {"PYTHONPATH": str(LIBRARY)}
    if kind == "container":
        image = value if "://" in value else _absolute(value)
        folders = f"{LIBRARY.parent},{os.getcwd()}"
        return Environment(("apptainer", "exec", "--nv", "--bind", folders, image), "python", variables)
    if kind == "module":
        names = value.split()
        if wrong := [name for name in names if not MODULE.fullmatch(name)]:
            raise InputError(f"environment: '{wrong[0]}' is not the name of a module")
        load = f'module load {" ".join(names)} && exec "$0" "$@"'
        return Environment(("bash", "-lc", load), "python", variables)
    # as activating it does: compilers of kernels are looked up on the path
    folder = _absolute(value)
    path = f"{folder}/bin{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    name = "VIRTUAL_ENV" if kind == "venv" else "CONDA_PREFIX"
    return Environment((), f"{folder}/bin/python", {**variables, name: folder, "PATH": path})


def not_started(text: str, command: list[str], error: OSError) -> InputError:
    """What to say where a command cannot be started in an environment."""
    return InputError(
        f"environment '{text}': {command[0]} cannot be started ({error.strerror}); envs/README.md says how to make it"
    )


def _absolute(path: str) -> str:
    return os.path.abspath(Path(path).expanduser())  # not resolved: links are part of a virtual environment
