"""Make the environment of the real engine on a machine without a GPU: `python envs/install_engine.py [FOLDER]`.

A virtual environment, `.venv-engine` unless named, that holds sglang and what it imports (engine.txt), finds all else
in the environment whose Python runs this, and has a stand-in for torchvision (engine_stubs). docs/engine.md says what
for.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

from install import ENVS, uv_into

LOCK = ENVS / "engine.txt"
STUBS = ENVS / "engine_stubs"


def main(folder: str = ".venv-engine") -> None:
    """An environment that is there is made anew.

    Raises:
        subprocess.CalledProcessError: the installer failed; it has said why.
    """
    # Empty at first: an installer that saw the other environment's packages through it might replace those.
    venv.create(folder, clear=True, symlinks=True)
    python = Path(folder, "bin", "python").absolute()
    options = ("--require-hashes", "--no-deps", "--requirement", LOCK)
    try:
        uv_into(str(python))(*options)
    except subprocess.CalledProcessError:
        subprocess.run([sys.executable, "-m", "pip", "--python", python, "install", "--quiet", *options], check=True)
    ask = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = subprocess.run(ask, check=True, capture_output=True, text=True).stdout.strip()
    lines = [
        f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})",
        str(STUBS),
        "import os; os.environ.setdefault('SGLANG_USE_CPU_ENGINE', '1')",  # sglang asks for it when it is imported
    ]
    Path(packages, "planner_r1_engine.pth").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
