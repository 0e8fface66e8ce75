"""What is wrong with a plan, by kinds that can be counted over training.

No plan at all, each constraint that fails, and names that the database does not hold (the paper's hallucination check).
"""

from __future__ import annotations

import contextlib

from planner_r1.evaluator.case import Case
from planner_r1.evaluator.commonsense import RULES as COMMONSENSE
from planner_r1.evaluator.commonsense import places
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

# For people: what went wrong, the same words in every figure and report.
LABELS = {
    NO_PLAN: "No valid plan",
    UNREADABLE: "Unreadable plan",
    "is_reasonable_visiting_city": "Unreasonable route",
    "is_valid_restaurants": "Repeated restaurants",
    "is_valid_attractions": "Repeated attractions",
    "is_valid_accommodation": "Minimum stay not met",
    "is_valid_transportation": "Clashing transport",
    "is_valid_information_in_current_city": "Not in the day's city",
    "is_valid_information_in_sandbox": "Not in the database",
    "is_not_absent": "Missing information",
    "valid_cuisine": "Missing cuisine",
    "valid_room_rule": "House rule broken",
    "valid_transportation": "Unwanted transport",
    "valid_room_type": "Wrong room type",
    "valid_cost": "Over budget",
    "hallucinated_city": "Hallucinated city",
    "hallucinated_attraction": "Hallucinated attraction",
    "hallucinated_accommodation": "Hallucinated hotel",
    "hallucinated_restaurant": "Hallucinated restaurant",
}


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
    name. So each kind but the city makes is_valid_information_in_sandbox fail; it fails for more, as for a leg that
    does not exist. A city, which current_city names, is known where any table or the list of cities has it. What
    cannot be read names no place.
    """
    try:
        case = Case(plan, read_days(plan, query.days), query, store, OFFICIAL)
    except Unreadable:
        return set()
    found = {
        table
        for day in case.days
        for table, value in _readable(lambda day=day: places(case, day))
        if _names_a_place(value) and not case.rows(table, value)
    }
    # "Houston (Texas)" is cut to a city with a blank: a fault of form, which is_reasonable_visiting_city tells
    cities = {city.strip() for day in case.days for city in _readable(lambda day=day: day.cities)}
    if any(_names_a_place(city) and city not in store.places for city in cities):
        found.add("city")
    return found


def _readable(read) -> list:
    """What `read` gives, up to a value that cannot be read."""
    found = []
    with contextlib.suppress(Unreadable):
        for one in read():
            found.append(one)
    return found


def _names_a_place(value: str) -> bool:
    """Whether a value holds a name at all: " - " and "-, Alba" fail in the official look-up, but make nothing up."""
    return value.partition(",")[0].strip() not in ("", "-")
