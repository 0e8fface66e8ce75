"""From a plan and its query to a verdict."""

from __future__ import annotations

from planner_r1.errors import InputError
from planner_r1.evaluator import commonsense, hard
from planner_r1.evaluator.case import Case
from planner_r1.evaluator.profiles import PROFILES
from planner_r1.evaluator.reading import Unreadable, read_days
from planner_r1.evaluator.verdict import Verdict
from planner_r1.queries import Query
from planner_r1.sandbox.store import Store

COMMONSENSE = tuple(commonsense.RULES)
HARD = hard.NAMES


def evaluate(plan, query: Query, store: Store, profile: str = "official") -> Verdict:
    """Judge a plan in the official format.

    Args:
        plan: a list of days, or None for a plan that was not delivered. Whatever else it may be, nothing is raised: a
            plan that cannot be judged (where the official code raises, or a value is not text) fails with a reason.
        query: the query that the plan answers, with its constraints known.
        profile: "official" judges as TravelPlanner's own evaluator does, "strict" with its holes closed (profiles.py).

    Raises:
        InputError: where the query cannot be judged by, as its constraints are hidden or unknown.
    """
    return judge(plan, query, store, PROFILES[profile])


def judge(plan, query: Query, store: Store, closed: frozenset[str]) -> Verdict:
    """Like `evaluate`, with any set of the holes closed."""
    check_query(query)
    unknown = dict.fromkeys(COMMONSENSE)
    if not isinstance(plan, list):
        what = "no plan" if plan is None else f"the plan is not a list of days but {type(plan).__name__}"
        return Verdict(delivered=False, commonsense=unknown, reason=what)
    if not plan:
        return Verdict(delivered=False, commonsense=unknown, reason="the plan is empty")
    try:
        case = Case(plan, read_days(plan, query.days), query, store, closed)
        reasons = _failures(commonsense.RULES, case)
    except Unreadable as unreadable:
        return Verdict(delivered=True, commonsense=unknown, reason=f"the plan cannot be judged: {unreadable}")
    verdict = Verdict(delivered=True, commonsense={name: name not in reasons for name in COMMONSENSE}, reasons=reasons)
    if not ("is_valid_information_in_sandbox" in reasons or "is_not_absent" in reasons):
        _judge_hard(case, verdict)
    verdict.reason = next((f"{name}: {reason}" for name, reason in reasons.items()), None)
    return verdict


def official_code_raises(plan: list, query: Query, store: Store) -> str | None:
    """Why the official evaluator would raise on the plan, or None; the query's constraints may be hidden."""
    try:
        # What a rule raises on does not hang on the query's constraints, so that hidden ones do not matter.
        _failures(commonsense.RULES, Case(plan, read_days(plan, query.days), query, store, PROFILES["official"]))
    except Unreadable as unreadable:
        return str(unreadable)
    return None


def _judge_hard(case: Case, verdict: Verdict) -> None:
    verdict.total_cost = hard.total_cost(case)
    asked = {name: rule for name, rule in hard.RULES.items() if case.query.constraint(hard.ASKED_BY[name]) is not None}
    failures = _failures(asked, case)
    if reason := hard.valid_cost(case, verdict.total_cost):
        failures["valid_cost"] = reason
    verdict.hard = {name: name not in failures if name in asked or name == "valid_cost" else None for name in HARD}
    verdict.reasons.update(failures)


def _failures(rules: dict, case: Case) -> dict[str, str]:
    reasons = {name: rule(case) for name, rule in rules.items()}
    return {name: reason for name, reason in reasons.items() if reason is not None}


def check_query(query: Query) -> None:
    """Raise InputError where no plan can be judged by this query."""
    for name in ("local_constraint", "budget", "people_number", "visiting_city_number"):
        if getattr(query, name) is None:
            raise InputError(
                f"query {query.idx}: its {name} is not known, so its plan cannot be scored; the constraints of the "
                "official test split are hidden and only the leaderboard scores it (planner-r1 submission --help)"
            )
    _check_choice(query, "transportation", hard.AVOIDED)
    _check_choice(query, "room type", hard.ROOM_FITS)


def _check_choice(query: Query, name: str, known) -> None:
    value = query.constraint(name)
    if value is not None and value not in known:
        raise InputError(f"query {query.idx}: unknown {name} {value!r}; known are: {', '.join(known)}")
