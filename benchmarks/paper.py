"""How long all tables and figures of a study take, and how much memory.

    python benchmarks/paper.py [config/paper.yaml]

Writes made-up results of the study's size into a temporary folder (a few GB for the paper's study; not counted), then
makes each artefact as its rule does, in a process of its own, two at a time. Prints the seconds and the peak memory of
each and of all. Last, what the scoring of the longest run's validations takes, which is a rule of its own. On 2 cores
all tables and figures of the paper's study take at most 90 s and 2 GB.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from planner_r1.agent.oracle import plan_for
from planner_r1.agent.query_generator import QuerySpec, draw_queries
from planner_r1.files import write_lines
from planner_r1.paper.artefacts import Artefact, artefact, artefacts_of, with_tables
from planner_r1.paper.make import draft
from planner_r1.sandbox.builder import build
from planner_r1.sandbox.store import Store
from planner_r1.sandbox.synthetic import WorldSpec, write_world
from planner_r1.scoring import score_validations
from planner_r1.study import Study

TESTS = Path(__file__).resolve().parents[1] / "tests"
CORES = 2
MOST_SECONDS, MOST_BYTES = 90, 2e9
VALIDATION_QUERIES, TEST_QUERIES = 45, 1000  # of the benchmark
# Characters of an episode's text, of about 13,000 tokens: see `cost` in config/paper.yaml.
TRANSCRIPT = 40_000


@dataclass(frozen=True)
class Taken:
    """What a process took: seconds by the clock and of a processor, and the largest memory, in bytes."""

    seconds: float
    busy: float
    bytes: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("study", nargs="?", default="config/paper.yaml", help="file of the study")
    parser.add_argument("--make", nargs=2, metavar=("NAME", "FOLDER"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    study = Study.load(asked.study)
    if asked.make:
        name, folder = asked.make
        draft(artefact(name), study, folder, Path(folder))
        return
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        measure_artefacts(asked.study, study, Path(folder) / "results")
        measure_scoring(study, Path(folder) / "scoring")


def measure_artefacts(file: str, study: Study, folder: Path) -> None:
    sys.path.append(str(TESTS))
    from helpers.made_up_results import write_results

    started = time.perf_counter()
    made = with_tables(artefacts_of(study), study)
    large = {"trajectories", "episodes"} & {kind for known in made for kind in (*known.reads, *known.may_read)}
    sizes = {"queries": VALIDATION_QUERIES, "test_queries": TEST_QUERIES, "suite_items": None}
    write_results(study, folder, **sizes, transcript=TRANSCRIPT if large else 0, episode_steps=10**6 if large else 1)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"made up {size / 1e9:.1f} GB of results in {time.perf_counter() - started:.0f} s", flush=True)

    started = time.perf_counter()
    with ThreadPoolExecutor(CORES) as pool:
        jobs: dict[str, Future[Taken]] = {}
        for known in made:  # the tables that one reads have begun before it, so that waiting for them ends
            before = [jobs[table] for table in known.tables if table in jobs]
            jobs[known.name] = pool.submit(make_alone, file, known, folder, before)
        for name, job in jobs.items():
            taken = job.result()
            print(f"{name:28} {taken.seconds:6.1f} s {taken.busy:6.1f} s busy {taken.bytes / 1e6:6.0f} MB", flush=True)
    seconds, largest = time.perf_counter() - started, sorted(job.result().bytes for job in jobs.values())[-CORES:]
    busy = sum(job.result().busy for job in jobs.values())
    print(f"load average {os.getloadavg()[0]:.1f}; with the cores to themselves about {busy / CORES:.0f} s")
    for what, value, most, unit in (
        ("all tables and figures", seconds, MOST_SECONDS, "s"),
        (f"the {CORES} largest together", sum(largest) / 1e6, MOST_BYTES / 1e6, "MB"),
    ):
        verdict = "" if value <= most else "   TOO MUCH"
        print(f"{what:28} {value:6.0f} {unit} of at most {most:.0f}{verdict}")


def make_alone(file: str, made: Artefact, folder: Path, before: list[Future[Taken]]) -> Taken:
    """Make an artefact in a process of its own, once the tables that it reads are there."""
    for job in before:
        job.result()
    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, __file__, file, "--make", made.name, str(folder)])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{made.name} could not be made")
    return Taken(time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def measure_scoring(study: Study, folder: Path) -> None:
    """Score the validations of the longest run, in a made-up world with plans that pass."""
    if not study.runs:
        return
    run, every = max(study.runs, key=lambda run: run.steps), study.config["training"]["test_every"]
    write_world(WorldSpec(cities=12, states=3), folder / "world")
    build(folder / "world", folder / "store")
    store = Store.open(folder / "store")
    queries = draw_queries(store, QuerySpec(), VALIDATION_QUERIES, seed=0)
    rest = {"end_reason": "answer", "turns": 9, "tokens": {}, "sub_rewards": {}, "tool_calls": []}
    plans = {query.idx: plan_for(query, store).plan for query in queries}
    write_lines(
        folder / "validation.jsonl",
        (
            {"step": step, "idx": idx, "plan": plan, "answer": "", "text": "x" * TRANSCRIPT, **rest}
            for step in range(0, run.steps + 1, every)
            for idx, plan in plans.items()
        ),
    )
    started = time.perf_counter()
    n = sum(1 for _ in score_validations(folder / "validation.jsonl", queries, store))
    print(f"scoring of {n} validated episodes ({run.name}): {time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
