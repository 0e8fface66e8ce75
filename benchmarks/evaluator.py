"""Measure the evaluator on the real plans: milliseconds a plan, and plans per second.

    python benchmarks/evaluator.py [folder of a store or a database]

Without a folder, 3.8 million made-up flights are laid behind the real tables and built into a store first. The plans
are those with official verdicts, in ../shared/data beside the checkout. Also measures the whole reward (parsing,
schema, official form, verdict) on the answers of the oracle planner.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sandbox import DATABASE, bar, lay_out_small_tables, write_flights

from planner_r1.agent.oracle import plan_for
from planner_r1.evaluator import evaluate
from planner_r1.queries import Query, load_queries
from planner_r1.reward import sub_rewards
from planner_r1.sandbox.builder import build
from planner_r1.sandbox.store import DESCRIPTION, Store
from planner_r1.sandbox.tables import FLIGHTS

FLIGHTS_OF_FULL_SIZE = 3_800_000
REAL = DATABASE.parent
REPEATS = 20  # of each reward; the oracle's answers are few


def main(folder: Path | None) -> None:
    if not (REAL / "plans").is_dir():
        sys.exit(f"needs the plans with official verdicts in {REAL / 'plans'}")
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as scratch:
        store = open_store(folder, Path(scratch))
        print(f"store of {len(store._flights.rows):,} flights")
        queries = {split: load_queries(REAL / "queries" / f"{split}.jsonl") for split in ("train", "validation")}
        plans = list(read_plans(queries))
        for profile in ("official", "strict"):
            measure_plans(profile, plans, store)
        measure_rewards(queries["train"], store)


def open_store(folder: Path | None, scratch: Path) -> Store:
    if folder and (folder / DESCRIPTION).is_file():
        return Store.open(folder)
    if folder is None:
        folder = scratch / "database"
        lay_out_full_size(folder)
    build(folder, scratch / "store")
    return Store.open(scratch / "store")


def lay_out_full_size(database: Path) -> None:
    """The real tables with made-up flights behind the real ones, so that each real number keeps its first row."""
    lay_out_small_tables(database)
    file = database / FLIGHTS.file
    real = file.read_bytes()
    write_flights(file, FLIGHTS_OF_FULL_SIZE, np.random.default_rng(0))
    made_up = file.read_bytes()
    file.write_bytes(real.rstrip(b"\n") + b"\n" + made_up[made_up.index(b"\n") + 1 :])


def read_plans(queries: dict[str, list[Query]]):
    for path in sorted((REAL / "plans").glob("*.jsonl")):
        asked = queries[path.name.split("__")[0]]
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            yield row["plan"], asked[row["idx"] - 1]


def seconds(calls) -> list[float]:
    times = []
    for call in calls:
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return times


def measure_plans(profile: str, plans: list, store: Store) -> None:
    times = seconds([lambda p=p, q=q: evaluate(p, q, store, profile) for p, q in plans])
    print(f"\n{len(times):,} real plans, profile {profile}")
    bar("evaluate, median", 1e3 * statistics.median(times), 1, "ms")
    print(f"evaluate, 99th percentile: {1e3 * float(np.percentile(times, 99)):.3f} ms")
    print(f"{len(times) / sum(times):,.0f} plans per second")


def measure_rewards(queries: list[Query], store: Store) -> None:
    trips = [(plan_for(query, store), query) for query in queries]
    pairs = [(f"<answer>{json.dumps(trip.plan)}</answer>", query) for trip, query in trips if trip]
    if not pairs:
        print("the oracle planner finds no plan for the train queries in this store")
        return
    times = seconds([lambda a=a, q=q: sub_rewards(a, q, store) for a, q in pairs] * REPEATS)
    passed = sum(sub_rewards(answer, query, store).passed for answer, query in pairs)
    print(f"\n{len(pairs)} answers of the oracle planner, {passed:.0f} of them pass")
    print(f"whole reward, median: {1e3 * statistics.median(times):.3f} ms")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
