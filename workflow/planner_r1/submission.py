"""The leaderboard's file: one JSON line a query, {idx, query, plan}, for all queries in order."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from planner_r1.errors import InputError
from planner_r1.evaluator.judge import official_code_raises
from planner_r1.evaluator.reading import TEXT_KEYS
from planner_r1.plan_files import Line
from planner_r1.queries import Query
from planner_r1.sandbox.store import Store

FAULTS_SHOWN = 50
NOTES_SHOWN = 10  # of each kind


@dataclass
class Submission:
    """The leaderboard's file, and what its author should know of it.

    records: {idx, query, plan} of every query in order; plan is a list of days, or None where there is none to score
    left_out: for each plan that was replaced by None, the query and why the official evaluator raises on the plan
    incomplete: for each day of the other plans that does not hold text under every key, the query, the day and the keys
    """

    records: list[dict] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    incomplete: list[str] = field(default_factory=list)

    def notes(self) -> list[str]:
        """What is to be told: the count of each kind, and the first few of them in lines of their own."""
        kinds = {
            "plans left out, since the official evaluator raises on them and would stop there": self.left_out,
            "days that lack a key or a text; the leaderboard scores such plans, so they are written": self.incomplete,
        }
        return [f"{kind} ({len(found)}):\n  {_listed(found, NOTES_SHOWN)}" for kind, found in kinds.items() if found]


def submission(lines: Sequence[Line], queries: Sequence[Query], store: Store) -> Submission:
    """Make the file of the lines.

    A plan on which the official evaluator raises would end the scoring of the whole file: its record holds None. Days
    that lack a key, or hold something else than text, are scored by it as any other.

    Raises:
        InputError: the leaderboard would refuse the file; the message names the faults.
    """
    if faults := format_faults(lines, queries):
        listed = _listed(faults, FAULTS_SHOWN)
        raise InputError(f"this is not a submission, nothing was written; {len(faults)} faults:\n  {listed}")
    plans = {line.idx: line.plan for line in lines}
    made = Submission()
    for query in queries:
        plan = plans[query.idx] or None
        if plan is not None:
            if reason := official_code_raises(plan, query, store):
                made.left_out.append(f"query {query.idx}: {reason}")
                plan = None
            else:
                made.incomplete += [f"query {query.idx}, {day}" for day in _incomplete_days(plan)]
        made.records.append({"idx": query.idx, "query": query.query, "plan": plan})
    return made


def format_faults(lines: Sequence[Line], queries: Sequence[Query]) -> list[str]:
    """All that the leaderboard refuses: queries missing or given twice, plans that are not a list of objects."""
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
    return [
        f"day {number}: must be an object, found {type(day).__name__}"
        for number, day in enumerate(plan, start=1)
        if not isinstance(day, dict)
    ]


def _incomplete_days(plan: list[dict]) -> list[str]:
    found = ((number, _incomplete_keys(day)) for number, day in enumerate(plan, start=1))
    return [f"day {number}: {keys}" for number, keys in found if keys]


def _incomplete_keys(day: dict) -> str:
    """Such as "no 'days', 'lunch'; 'dinner' is null"; empty for a day that has all keys, with text under each."""
    missing = [] if "days" in day or "day" in day else ["days"]
    missing += [key for key in TEXT_KEYS if key not in day]
    parts = [f"no {', '.join(map(repr, missing))}"] if missing else []
    not_text = [key for key in TEXT_KEYS if key in day and not isinstance(day[key], str)]
    return "; ".join(parts + [f"'{key}' is {json.dumps(day[key]):.40}" for key in not_text])


def _listed(lines: list[str], most: int) -> str:
    more = [f"and {len(lines) - most} more"] if len(lines) > most else []
    return "\n  ".join([*lines[:most], *more])
