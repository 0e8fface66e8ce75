"""How long Snakemake takes to plan a study and to find that it is finished.

    python benchmarks/dag.py [config/paper.yaml]

Works on a copy of the repository in a temporary folder, where scripts write empty outputs in place of computing them.
Prints the seconds of a dry run of everything, of the stubs, and of a run that has nothing to do. On 2 cores the paper's
study is planned in at most 20 s and found finished in at most 30 s.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
STUB = "for file in snakemake.output:\n    with open(file, 'w') as f:\n        f.write('made by a stub')\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("study", nargs="?", default="config/paper.yaml", help="file of the study")
    study = parser.parse_args().study
    with tempfile.TemporaryDirectory() as folder:
        copy = stubbed_copy(Path(folder))
        for label, arguments in (
            ("dry run", ("-n",)),
            ("stubs", ()),
            ("nothing to do", ()),
            ("dry run, nothing to do", ("-n",)),
        ):
            seconds, output = timed(copy, "--cores", "2", *arguments, "all", "--configfile", study, "--quiet", "rules")
            jobs = next((line.split()[1] for line in output.splitlines() if line.startswith("total ")), "0")
            print(f"{label:24} {seconds:6.1f} s   {jobs} jobs", flush=True)


def stubbed_copy(folder: Path) -> Path:
    """A copy of the repository's workflow whose scripts write their outputs and compute nothing."""
    shutil.copy(REPOSITORY / "Snakefile", folder)
    for name in ("workflow", "config", "slurm"):
        shutil.copytree(REPOSITORY / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for script in (folder / "workflow" / "scripts").glob("*.py"):
        script.write_text(STUB, encoding="utf-8")
    checks = folder / "workflow" / "rules" / "preflight.smk"  # the one rule whose command stands in it
    checks.write_text(checks.read_text(encoding="utf-8").replace("{sys.executable} -m planner_r1", "echo"), "utf-8")
    return folder


def timed(folder: Path, *arguments: str) -> tuple[float, str]:
    """Seconds that a call of Snakemake takes, and what it printed."""
    started = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "snakemake", *arguments], cwd=folder, capture_output=True, text=True)
    seconds = time.perf_counter() - started
    if done.returncode:
        sys.exit(f"snakemake {' '.join(arguments)} failed:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return seconds, done.stdout + done.stderr


if __name__ == "__main__":
    main()
