"""Files of the repository that are no part of the package: studies' settings, the locks, the report's page."""

from __future__ import annotations

from pathlib import Path

from planner_r1.errors import InputError

ROOT = Path(__file__).resolve().parents[2]


def in_checkout(name: str) -> Path:
    """A file or folder of the repository, by its path from the root.

    Raises:
        InputError: it is not there, as the package was installed without the repository.
    """
    path = ROOT / name
    if not path.exists():
        raise InputError(
            f"{name}: not found beside the package; this needs a clone of the repository with the package installed "
            "from it (make install, or pip install --editable '.[train,pipeline,paper]')"
        )
    return path
