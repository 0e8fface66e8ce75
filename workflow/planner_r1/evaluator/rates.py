"""The rates of the benchmark over many plans."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planner_r1.evaluator.hard import ASKED_BY
from planner_r1.evaluator.judge import COMMONSENSE
from planner_r1.evaluator.verdict import Verdict
from planner_r1.queries import Query

RATES = ("delivery", "cs_micro", "cs_macro", "hard_micro", "hard_macro", "final_pass")


def constraints_asked(query: Query) -> int:
    """How many hard constraints the query asks; the cost is always one of them."""
    return 1 + sum(query.constraint(name) is not None for name in ASKED_BY.values())


def rates(verdicts: Sequence[Verdict], queries: Iterable[Query]) -> dict[str, float]:
    """Rates as fractions from 0 to 1, with `n`, the number of plans.

    `queries` holds the query of each verdict, in the same order; a query with several plans counts as often. Micro
    rates divide by all constraints of all queries, so a plan that was not delivered or whose hard part was not reached
    passes none of its hard constraints. Names and definitions: TravelPlanner, section "Evaluation".
    """
    verdicts, queries = list(verdicts), list(queries)
    if len(verdicts) != len(queries):
        raise ValueError(f"{len(verdicts)} verdicts for {len(queries)} queries")
    n = len(verdicts)
    commonsense_passes = sum(sum(map(bool, v.commonsense.values())) for v in verdicts)
    hard_passes = sum(sum(map(bool, v.hard.values())) for v in verdicts if v.hard)
    return {
        "delivery": _share(sum(v.delivered for v in verdicts), n),
        "cs_micro": _share(commonsense_passes, len(COMMONSENSE) * n),
        "cs_macro": _share(sum(v.commonsense_pass for v in verdicts), n),
        "hard_micro": _share(hard_passes, sum(map(constraints_asked, queries))),
        "hard_macro": _share(sum(v.hard_pass for v in verdicts), n),
        "final_pass": _share(sum(v.final_pass for v in verdicts), n),
        "n": n,
    }


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
