"""Lock an environment: `python envs/lock.py cpu` (with Python 3.11), `... gpu` or `... engine`, from the root.

Versions and hashes come from whatever index pip is configured with, and no index is named in a lock.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml
from pip_settings import pip_settings, uv_variables

ENVS = Path(__file__).resolve().parent
PINS = yaml.safe_load((ENVS / "pins.yaml").read_text(encoding="utf-8"))
PLATFORM = "x86_64-manylinux_2_28"  # torch's wheels ask for this glibc or a newer one


def lock_cpu() -> None:
    """Resolve cpu.in by pip, for the Python and the machine at hand, and write cpu.txt and cpu-cuda.txt, with hashes.

    cpu.txt takes any file of a locked version that the index lists, and the builds of pins.yaml, which it does not.
    cpu-cuda.txt holds what the index's own build of torch asks for beyond cpu.txt.
    """
    with tempfile.TemporaryDirectory() as folder:
        versions = Path(folder) / "versions.txt"
        versions.write_text("\n".join(_resolve_by_pip(ENVS / "cpu.in")) + "\n", encoding="utf-8")
        locked = _compile(versions, "--no-deps", "--no-annotate")
        torch = Path(folder) / "torch.txt"
        torch.write_text(f"torch=={PINS['cpu']['packages']['torch']}\n", encoding="utf-8")
        built = _compile(torch, "--no-annotate", "--python-platform", PLATFORM, "--constraints", versions)
    for package, hashes in PINS["cpu"]["builds"].items():
        locked[package] += "".join(f" \\\n    --hash=sha256:{sha256}" for sha256 in hashes)
    head = "# Locked by python envs/lock.py cpu with Python 3.11 on Linux (x86-64); see README.md for how."
    beyond = [built[name] for name in built if name not in locked]
    for file, packages in (("cpu.txt", locked.values()), ("cpu-cuda.txt", beyond)):
        (ENVS / file).write_text("\n".join([head, *packages]) + "\n", encoding="utf-8")


def lock_gpu() -> None:
    """Resolve gpu.in and gpu-build.in by uv and write their locks, with hashes. Installs nothing, needs no GPU."""
    resolve(ENVS / "gpu.in", ENVS / "gpu.txt")
    resolve(ENVS / "gpu-build.in", ENVS / "gpu-build.txt", "--no-deps")


def lock_engine() -> None:
    """Write engine.txt: the packages of engine.in alone, at the versions of gpu.txt, with hashes."""
    target = ["--python-version", PINS["cpu"]["python"], "--python-platform", PINS["gpu"]["platform"]]
    options = ["--no-deps", "--no-annotate", "--constraints", ENVS / "gpu.txt"]
    _uv_compile(ENVS / "engine.in", *target, *options, "--output-file", ENVS / "engine.txt", of="engine")


def resolve(wanted: Path, lock: Path, *options: str) -> None:
    """Resolve requirements for the GPU set's Python and platform, from metadata alone, and write a lock with hashes.

    A lock that is there is kept to as far as it still fits.

    Raises:
        subprocess.CalledProcessError: there is no solution, or no index answers; its `stderr` says which.
    """
    gpu = PINS["gpu"]
    target = ["--python-version", gpu["python"], "--python-platform", gpu["platform"]]
    _uv_compile(wanted, *target, *options, "--output-file", lock)


def _resolve_by_pip(wanted: Path) -> list[str]:
    """The packages that pip would install for some requirements, as `name==version`, in order.

    The local part of a version (2.13.0+cpu) names a build, which another index may not have: it is left out.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        options = ["--quiet", "--dry-run", "--ignore-installed", "--report", report]
        _run([sys.executable, "-m", "pip", "install", *options, "--requirement", wanted])
        packages = [item["metadata"] for item in json.loads(report.read_text(encoding="utf-8"))["install"]]
    if "+" not in next(package["version"] for package in packages if package["name"] == "torch"):
        sys.exit("torch: pip finds no build for processors alone; cpu.txt would hold CUDA's libraries. Give pip one")
    return sorted(f"{package['name'].lower()}=={package['version'].split('+')[0]}" for package in packages)


def _compile(wanted: Path, *options) -> dict[str, str]:
    """What requirements resolve to for the Python at hand: by name, the lines of a lock, with hashes."""
    done = _uv_compile(wanted, *options, "--no-header", "--python", sys.executable, stdout=subprocess.PIPE)
    blocks = re.split(r"\n(?=\S)", done.stdout.strip())
    return {block.partition("==")[0]: block for block in blocks}


def _uv_compile(wanted: Path, *options, of: str = "gpu", **run) -> subprocess.CompletedProcess:
    """uv's resolver on a file of requirements.

    Of pip's settings only the main index counts: another one may hold some of a release's files alone.
    """
    command = [sys.executable, "-m", "uv", "pip", "compile", wanted.name, "--generate-hashes", "--quiet", *options]
    settings = uv_variables(pip_settings())
    variables = {name: settings[name] for name in ("UV_DEFAULT_INDEX", "SSL_CERT_FILE") if name in settings}
    variables["UV_CUSTOM_COMPILE_COMMAND"] = f"python envs/lock.py {of}"
    env = {**os.environ, **variables}
    return _run(command, cwd=wanted.parent, env=env, stderr=subprocess.PIPE, text=True, **run)


def _run(command: list, **options) -> subprocess.CompletedProcess:
    return subprocess.run([str(part) for part in command], check=True, **options)


if __name__ == "__main__":
    sets = {"cpu": lock_cpu, "gpu": lock_gpu, "engine": lock_engine}
    if len(sys.argv) != 2 or sys.argv[1] not in sets:
        sys.exit(__doc__)
    try:
        sets[sys.argv[1]]()
    except subprocess.CalledProcessError as error:
        sys.exit(error.stderr or f"{error}")
