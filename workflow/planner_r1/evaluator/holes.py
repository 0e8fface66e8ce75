"""Which hole of the official rules lets a plan pass."""

from __future__ import annotations

from itertools import combinations

from planner_r1.evaluator.judge import judge
from planner_r1.evaluator.profiles import HOLES, OFFICIAL, STRICT
from planner_r1.queries import Query
from planner_r1.sandbox.store import Store


def holes(plan, query: Query, store: Store) -> list[str]:
    """Names of the holes (profiles.HOLES) that let the plan pass `official` but not `strict`; [] for any other plan.

    A hole is named where closing it alone makes the plan fail. Where it takes several to be closed at once, each
    smallest such set is named as one, joined by "+".
    """
    if not judge(plan, query, store, OFFICIAL).final_pass or judge(plan, query, store, STRICT).final_pass:
        return []
    for size in range(1, len(HOLES) + 1):
        found = [
            "+".join(closed)
            for closed in combinations(HOLES, size)
            if not judge(plan, query, store, frozenset(closed)).final_pass
        ]
        if found:
            break
    return found
