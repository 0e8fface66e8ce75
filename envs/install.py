"""Install the lock and this package into the environment whose Python runs this: `python envs/install.py [uv | pip]`.

uv is several times as fast as pip; where it fails, pip does all of it. Both check every file's hash.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from pip_settings import pip_settings, uv_variables

ENVS = Path(__file__).resolve().parent
LOCK = ENVS / "cpu.txt"
CUDA = ENVS / "cpu-cuda.txt"  # what torch asks for beyond the lock, where it is built for CUDA
PLACES = {"index-url", "extra-index-url", "find-links", "no-index"}  # pip's settings that say where packages come from


def main(installer: str = "uv") -> None:
    if installer == "uv":
        try:
            _install_locked(_uv_of_lock())
            return
        except subprocess.CalledProcessError as failed:
            _say(f"uv could not do it (status {failed.returncode}); pip goes on, which takes minutes longer")
    _install_locked(_pip)


def _install_locked(install: Callable[..., None]) -> None:
    """Everything of the lock, then this package, editable.

    Raises:
        subprocess.CalledProcessError: the installer failed; it has said why.
    """
    install("--require-hashes", "--no-deps", "--requirement", LOCK)
    if "+cpu" not in version("torch"):
        install("--require-hashes", "--no-deps", "--requirement", CUDA)
    install("--no-deps", "--editable", ENVS.parent)


def _pip(*options: str | Path) -> None:
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *options], check=True)


def uv_into(python: str) -> Callable[..., None]:
    """uv's installer for the environment of a Python, told what pip is told."""
    settings = pip_settings()
    variables = {**uv_variables(settings), **os.environ}
    command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", python]
    if settings.get("no-index", "0").lower() in ("1", "true", "yes", "on"):
        command.append("--no-index")

    def uv(*options: str | Path, **run) -> None:
        subprocess.run([*command, *options], env=variables, check=True, **run)

    return uv


def _uv_of_lock() -> Callable[..., None]:
    """uv's installer, with torch's build for processors alone already installed if there is one.

    uv looks for hashes under the version that is asked for, 2.13.0: from the lock itself it would refuse 2.13.0+cpu.
    """
    _install_alone(_pip, "uv")
    uv = uv_into(sys.executable)
    # Without places of its own, pip would take the package index's build for CUDA, of several GB; uv knows of another.
    index = [] if PLACES & pip_settings().keys() else ["--torch-backend", "cpu"]
    try:
        _install_alone(uv, "torch", "+cpu", *index, stderr=subprocess.DEVNULL)
    except subprocess.CalledProcessError:
        _say("no build of torch for processors alone was found; the one for CUDA is several GB")
    return uv


def _install_alone(install: Callable[..., None], package: str, build: str = "", *options: str, **run) -> None:
    """One package of the lock, in the build of that name."""
    locked = re.search(rf"^({package}==\S+)((?: \\\n\s+--hash=\S+)+)", LOCK.read_text("utf-8"), re.MULTILINE)
    with tempfile.TemporaryDirectory() as folder:
        wanted = Path(folder) / "requirements.txt"
        wanted.write_text(f"{locked[1]}{build}{locked[2]}\n", encoding="utf-8")
        install("--require-hashes", "--no-deps", *options, "--requirement", wanted, **run)


def _say(text: str) -> None:
    print(f"install: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
