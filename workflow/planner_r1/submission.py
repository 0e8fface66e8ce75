"""The leaderboard's file: one JSON line a query, {idx, query, plan}, for all queries in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from planner_r1.errors import InputError
from planner_r1.evaluator.judge import official_code_raises
from planner_r1.evaluator.reading import TEXT_KEYS
from planner_r1.plan_files import Line
from planner_r1.queries import Query
from planner_r1.sandbox.store import Store

SHOWN = 50  # faults that a message lists


def submission(lines: Sequence[Line], queries: Sequence[Query], store: Store) -> tuple[list[dict], list[str]]:
    """The records of the file, and notes on plans that were left out.

    A plan on which the official evaluator raises would end the scoring of the whole file: its record holds null, and a
    note tells the query and the reason.

    Raises:
        InputError: the lines do not make a submission; the message names every fault.
    """
    if faults := format_faults(lines, queries):
        more = [f"and {len(faults) - SHOWN} more"] if len(faults) > SHOWN else []
        listed = "\n  ".join([*faults[:SHOWN], *more])
        raise InputError(f"this is no submission, nothing was written; {len(faults)} faults:\n  {listed}")
    plans = {line.idx: line.plan for line in lines}
    records, notes = [], []
    for query in queries:
        plan = plans[query.idx] or None
        if plan is not None and (reason := official_code_raises(plan, query, store)):
            notes.append(f"query {query.idx}: plan left out, the official evaluator raises on it: {reason}")
            plan = None
        records.append({"idx": query.idx, "query": query.query, "plan": plan})
    return records, notes


def format_faults(lines: Sequence[Line], queries: Sequence[Query]) -> list[str]:
    """Every fault of the lines as a submission: queries missing or given twice, plans that are no list of days."""
    given = Counter(line.idx for line in lines)
    faults = [f"query {query.idx} has no line" for query in queries if query.idx not in given]
    faults += [f"query {idx} has {count} lines" for idx, count in sorted(given.items()) if count > 1]
    for line in lines:
        faults += [f"query {line.idx}: {fault}" for fault in _plan_faults(line.plan)]
    return faults


def _plan_faults(plan) -> list[str]:
    if plan is None:
        return []
    if not isinstance(plan, list):
        return [f"the plan must be a list of days or null, found {type(plan).__name__}"]
    return [f"day {number}: {fault}" for number, day in enumerate(plan, start=1) for fault in _day_faults(day)]


def _day_faults(day) -> list[str]:
    if not isinstance(day, dict):
        return [f"must be an object, found {type(day).__name__}"]
    faults = [] if "days" in day or "day" in day else ["key 'days' is missing"]
    for key in TEXT_KEYS:
        if key not in day:
            faults.append(f"key '{key}' is missing")
        elif not isinstance(day[key], str):
            faults.append(f"key '{key}' must be text, found {type(day[key]).__name__}")
    return faults
