"""The evaluator beside the slow reference, on one plan."""

from __future__ import annotations

import math

from parity.reference_evaluator import Tables, reference
from planner_r1.evaluator import COMMONSENSE, evaluate
from planner_r1.queries import Query
from planner_r1.sandbox.store import Store


def differences(plan, query: Query, store: Store, tables: Tables) -> list[str]:
    """What the two say otherwise of the plan; [] where they agree."""
    verdict = evaluate(plan, query, store)
    delivered, commonsense, hard, cost = reference(plan, query, tables)
    passes = bool(commonsense and hard and all(commonsense.values()) and False not in hard.values())
    answers = {
        "delivered": (verdict.delivered, delivered),
        "commonsense": (verdict.commonsense, commonsense or dict.fromkeys(COMMONSENSE)),
        "hard": (verdict.hard, hard),
        "final pass": (verdict.final_pass, passes),
        "has a reason": (verdict.reason is not None, not passes),
    }
    found = [f"{what}: {ours}, reference: {other}" for what, (ours, other) in answers.items() if ours != other]
    if (cost is None) != (verdict.total_cost is None) or (
        cost is not None and not math.isclose(cost, verdict.total_cost)
    ):
        found.append(f"total cost: {verdict.total_cost}, reference: {cost}")
    return found
