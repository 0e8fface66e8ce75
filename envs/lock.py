"""Lock an environment: `python envs/lock.py cpu` (with Python 3.11) or `python envs/lock.py gpu`, from the root.

Versions and hashes come from whatever index pip is configured with, and no index is named in a lock.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

ENVS = Path(__file__).resolve().parent
PINS = ENVS / "pins.yaml"


def lock_cpu() -> None:
    """Resolve cpu.in by pip, for the Python and the machine at hand, and write cpu.txt without hashes."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        options = ["--quiet", "--dry-run", "--ignore-installed", "--report", report]
        _run([sys.executable, "-m", "pip", "install", *options, "--requirement", ENVS / "cpu.in"])
        packages = [item["metadata"] for item in json.loads(report.read_text(encoding="utf-8"))["install"]]
    # the local part of a version (2.13.0+cpu) names a build, which another index may not have
    versions = {package["name"].lower(): package["version"].split("+")[0] for package in packages}
    lines = [f"{name}=={versions[name]}" for name in sorted(versions)]
    head = "# Locked from cpu.in with Python 3.11 on Linux (x86-64); see README.md for how."
    (ENVS / "cpu.txt").write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")


def lock_gpu() -> None:
    """Resolve gpu.in and gpu-build.in by uv and write their locks, with hashes. Installs nothing, needs no GPU."""
    resolve(ENVS / "gpu.in", ENVS / "gpu.txt")
    resolve(ENVS / "gpu-build.in", ENVS / "gpu-build.txt", "--no-deps")


def resolve(wanted: Path, lock: Path, *options: str) -> None:
    """Resolve requirements for the GPU set's Python and platform, from metadata alone, and write a lock with hashes.

    A lock that is there is kept to as far as it still fits.

    Raises:
        subprocess.CalledProcessError: there is no solution, or no index answers; its `stderr` says which.
    """
    gpu = yaml.safe_load(PINS.read_text(encoding="utf-8"))["gpu"]
    target = ["--python-version", gpu["python"], "--python-platform", gpu["platform"]]
    command = [
        sys.executable,
        "-m",
        "uv",
        "pip",
        "compile",
        wanted.name,
        *target,
        "--generate-hashes",
        "--quiet",
        *options,
    ]
    variables = index_of_pip() | {"UV_CUSTOM_COMPILE_COMMAND": "python envs/lock.py gpu"}
    _run(
        [*command, "--output-file", lock],
        cwd=wanted.parent,
        env={**os.environ, **variables},
        stderr=subprocess.PIPE,
        text=True,
    )


def index_of_pip() -> dict[str, str]:
    """uv's variables for the index and the certificates that pip is configured with.

    Only the main index counts: an additional one may hold some of a release's files, and their hashes alone.
    """
    variables = {}
    listed = _run([sys.executable, "-m", "pip", "config", "list"], stdout=subprocess.PIPE, text=True).stdout
    for line in listed.splitlines():
        name, _, value = line.partition("=")
        key, value = name.rpartition(".")[2], value.strip("'\"")
        if key == "index-url":
            variables["UV_DEFAULT_INDEX"] = value
        elif key == "cert":
            variables["SSL_CERT_FILE"] = value
    return variables


def _run(command: list, **options) -> subprocess.CompletedProcess:
    return subprocess.run([str(part) for part in command], check=True, **options)


if __name__ == "__main__":
    sets = {"cpu": lock_cpu, "gpu": lock_gpu}
    if len(sys.argv) != 2 or sys.argv[1] not in sets:
        sys.exit(__doc__)
    try:
        sets[sys.argv[1]]()
    except subprocess.CalledProcessError as error:
        sys.exit(error.stderr or f"{error}")
