"""What is wrong with a plan, by kinds that can be counted over training.

No plan at all, each constraint that fails, and names that the database does not hold (the paper's hallucination check).
"""

from __future__ import annotations

from planner_r1.evaluator.case import Case
from planner_r1.evaluator.commonsense import RULES as COMMONSENSE
from planner_r1.evaluator.hard import NAMES as HARD
from planner_r1.evaluator.profiles import OFFICIAL
from planner_r1.evaluator.reading import Unreadable, read_days
from planner_r1.evaluator.verdict import Verdict
from planner_r1.queries import Query
from planner_r1.sandbox.store import Store

NO_PLAN = "no_plan"  # nothing that fits the plan's schema
UNREADABLE = "unreadable_plan"  # the official code raises
HALLUCINATED = {
    "city": "hallucinated_city",
    "attractions": "hallucinated_attraction",
    "accommodations": "hallucinated_accommodation",
    "restaurants": "hallucinated_restaurant",
}
FAILURES = (NO_PLAN, UNREADABLE, *COMMONSENSE, *HARD, *HALLUCINATED.values())


def failures(plan: list | None, verdict: Verdict, query: Query, store: Store) -> list[str]:
    """The kinds of failure of a plan in the official format, in the order of FAILURES; [] for one without any.

    Hard constraints fail only where the hard part was reached, as in the official evaluator.

    Args:
        verdict: what `evaluate` said of the plan under the official profile.
    """
    if not verdict.delivered:
        return [NO_PLAN]
    judged = verdict.commonsense | (verdict.hard or {})
    found = {name for name, holds in judged.items() if holds is False}
    if None in verdict.commonsense.values():
        found.add(UNREADABLE)
    found |= {HALLUCINATED[kind] for kind in hallucinations(plan, query, store)}
    return [name for name in FAILURES if name in found]


def hallucinations(plan: list, query: Query, store: Store) -> set[str]:
    """The kinds of place ("city" or a table's name) of which the plan names one that the database does not hold.

    A place is looked up as the official evaluator does: a name of the table in the named city that holds the given
    name. A plan that cannot be read has none.
    """
    try:
        case = Case(plan, read_days(plan, query.days), query, store, OFFICIAL)
    except Unreadable:
        return set()
    places = [("restaurants", value) for _, _, value in case.meals()]
    places += [("accommodations", value) for _, value in case.nights()]
    places += [("attractions", value) for day in case.days for value in case.attractions(day) if value]
    found = {table for table, value in places if not case.rows(table, value)}
    if any(city and city not in store.places for day in case.days for city in day.cities):
        found.add("city")
    return found
