"""Measure how fast queries are drawn in the benchmark's database, and what the oracle has of it.

    python benchmarks/queries.py [number of queries, default 1000]

Prints queries a second, the oracle's share, the draws that a query took, and the levels and lengths that came out.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from planner_r1.agent import query_generator
from planner_r1.agent.query_generator import QuerySpec, draw_queries
from planner_r1.sandbox.builder import build
from planner_r1.sandbox.store import Store

DATABASE = Path(__file__).resolve().parents[2] / "shared/data/travelplanner/database"


class Timed:
    """The oracle, with a clock and a count."""

    def __init__(self, oracle):
        self.oracle, self.seconds, self.calls = oracle, 0.0, 0

    def __call__(self, *arguments):
        started = time.perf_counter()
        try:
            return self.oracle(*arguments)
        finally:
            self.seconds += time.perf_counter() - started
            self.calls += 1


def main(n: int) -> None:
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder:
        build(DATABASE, Path(folder) / "store")
        store = Store.open(Path(folder) / "store")
        oracle = query_generator.plan_for = Timed(query_generator.plan_for)
        started, used = time.perf_counter(), time.process_time()
        queries = draw_queries(store, QuerySpec(manner="benchmark"), n, seed=0)
        seconds, used = time.perf_counter() - started, time.process_time() - used
    print(f"{n} queries in {seconds:.1f} s ({used:.1f} s of CPU): {n / seconds:.1f} queries/s")
    print(f"the oracle had {oracle.seconds / seconds:.0%} of it, {oracle.calls / n:.2f} calls a query")
    for what in ("level", "days", "people_number"):
        print(what, dict(sorted(Counter(getattr(query, what) for query in queries).items())))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
