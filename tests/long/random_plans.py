"""Compare the evaluator with the slow reference on as many random plans of the made-up world as wanted.

    python -m long.random_plans --plans 1000000 --seed 1        # from tests/; about half an hour on two cores

Prints the count and the seed; ends with status 1 and the plans where the two differ.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from multiprocessing import Pool
from pathlib import Path

from tqdm import tqdm

from parity import made_up_world
from parity.comparison import differences
from parity.plan_grammar import Grammar
from parity.reference_evaluator import Tables
from planner_r1.sandbox.builder import build
from planner_r1.sandbox.store import Store

BATCH = 500  # plans a task
SHOWN = 5  # differing plans that are printed

_world = None


def open_world(store: Path) -> None:
    global _world
    tables = Tables(made_up_world.DATABASE)
    _world = Grammar(tables, made_up_world.good_plans()), Store.open(store), tables


def compare(task: tuple[int, int]) -> tuple[int, list[str]]:
    """(plans compared, what differs) of one batch, whose seed hangs on nothing but the run's seed and its number."""
    seed, batch = task
    rng, (grammar, store, tables) = random.Random(f"{seed}/{batch}"), _world
    wrong = []
    for _ in range(BATCH):
        plan, query = grammar.draw(rng)
        if found := differences(plan, query, store, tables):
            wrong.append(json.dumps({"plan": plan, "query": query.to_json(), "differences": found}))
    return BATCH, wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plans", type=int, default=1_000_000, help="how many plans (rounded up to batches of 500)")
    parser.add_argument("--seed", type=int, default=1, help="another seed draws other plans")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    tasks = [(options.seed, batch) for batch in range(-(-options.plans // BATCH))]
    compared, wrong = 0, []
    with tempfile.TemporaryDirectory() as folder:
        build(made_up_world.DATABASE, Path(folder) / "store")
        with (
            Pool(options.processes, open_world, (Path(folder) / "store",)) as pool,
            tqdm(total=len(tasks) * BATCH, unit="plan", mininterval=5) as bar,
        ):
            for plans, found in pool.imap_unordered(compare, tasks):
                compared += plans
                wrong += found
                bar.update(plans)
    print(f"{compared} plans compared, seed {options.seed}: {len(wrong)} differ")
    for line in wrong[:SHOWN]:
        print(line)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
