"""Search for plans that pass the strict profile and are wrong in plain sense, for as long as wanted.

    python -m long.search_holes --seconds 3600 --seed 1        # from tests/

Prints how much was tried, the breaches that docs/strict.md answers, and a smallest example of each one it does not;
ends with status 1 where there is one. With --open NAME a hole stays open: the search should then find it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import count

from parity.hole_search import Tally, search
from planner_r1.evaluator.profiles import HOLES, STRICT

CLIMBS = 300  # in one world
REPORT_EVERY = 60  # seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1, help="another seed draws other worlds and changes")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--open", nargs="*", default=[], choices=HOLES, help="holes that are not closed")
    options = parser.parse_args()
    tally = run(options)
    _print(tally, options.seed)
    sys.exit(bool(tally.examples))


def run(options) -> Tally:
    tally, start, told = Tally(), time.monotonic(), 0
    closed, batches = STRICT - frozenset(options.open), count()
    with ProcessPoolExecutor(options.workers) as pool:
        while (passed := time.monotonic() - start) < options.seconds:
            seeds = [f"{options.seed}/{next(batches)}" for _ in range(options.workers)]
            for found in pool.map(search, seeds, [CLIMBS] * len(seeds), [closed] * len(seeds)):
                tally.add(found)
            if passed // REPORT_EVERY > told:
                told = passed // REPORT_EVERY
                seen = f"{tally.tried} plans, {tally.passing} pass strict"
                print(f"{passed:.0f} s, {seeds[-1]}: {seen}, {dict(tally.found)}", flush=True)
    return tally


def _print(tally: Tally, seed: int) -> None:
    print(f"seed {seed}: {tally.tried} plans tried, {tally.passing} pass strict")
    print("answered:", json.dumps(dict(tally.answered.most_common())))
    print("not answered:", json.dumps(dict(tally.found.most_common())))
    for name, example in sorted(tally.examples.items()):
        print(f"\n{name}: {example.text}\n  query: {json.dumps(example.query.to_json())}")
        for day, key, before, after in example.changed:
            print(f"  day {day + 1}, {key}: {before!r} -> {after!r}")
        print(f"  plan: {json.dumps(example.plan)}")


if __name__ == "__main__":
    main()
