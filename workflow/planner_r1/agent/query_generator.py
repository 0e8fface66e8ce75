"""Queries drawn in a database, each with a plan that is known to meet it.

What they ask and how often is a manner's business: that of made-up worlds, or that of the benchmark.
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from datetime import date, timedelta

from planner_r1.agent import wording
from planner_r1.agent.manners import MANNERS, MadeUp
from planner_r1.agent.oracle import Trip, plan_for
from planner_r1.errors import InputError
from planner_r1.evaluator import evaluate
from planner_r1.plan import to_official
from planner_r1.queries import CONSTRAINTS, LEVELS, Query
from planner_r1.sandbox.store import Store

TRIES_PER_QUERY = 20


@dataclass(frozen=True)
class QuerySpec:
    """Which queries to draw: trip lengths, weights of the levels, the days on which trips may lie, and the manner.

    In the benchmark's manner lengths and levels have the shares that are asked for, whichever of their queries turn
    out to be impossible; in that of made-up worlds what is possible more often comes more often.
    """

    days: tuple[int, ...] = (3, 5, 7)
    levels: dict[str, float] = field(default_factory=lambda: dict.fromkeys(LEVELS, 1.0))
    first_day: str = "2022-03-01"
    n_days: int = 31
    manner: str = "made-up"


class Questions:
    """What has been asked, however worded and whatever the budget; of hidden queries the trip alone is known."""

    def __init__(self, queries: Iterable[Query] = ()):
        self._known: dict[tuple, set] = {}
        for query in queries:
            self.add(query)

    def add(self, query: Query) -> None:
        self._known.setdefault(_trip(query), set()).add(_wishes(query))

    def __contains__(self, query: Query) -> bool:
        """Whether a query is known, or may be one of those whose wishes are hidden."""
        return not self._known.get(_trip(query), set()).isdisjoint({_wishes(query), None})


def _trip(query: Query) -> tuple:
    return query.org, query.dest, query.date


def _wishes(query: Query) -> tuple | None:
    """Who travels and the constraints, cuisines in any order; None where they are hidden."""
    if query.hidden or query.people_number is None:
        return None
    asked = (query.constraint(name) for name in CONSTRAINTS)
    return query.people_number, *(frozenset(value) if isinstance(value, list) else value for value in asked)


def draw_queries(store: Store, spec: QuerySpec, n: int, seed: int, avoid: Collection[Query] = ()) -> list[Query]:
    """Draw `n` different queries, none of which asks what one of `avoid` asks.

    Each has a plan of the oracle that passes both profiles of the evaluator.

    Raises:
        InputError: the database holds too few feasible queries of this kind.
    """
    rng, manner = random.Random(seed), MANNERS[spec.manner]
    asked = Questions(avoid)
    queries: list[Query] = []
    failures, kind = 0, None
    while len(queries) < n:
        if kind is None or not manner.keeps_mix:
            kind = _kind(spec, rng)
        query = _draw(store, spec, manner, *kind, rng, len(queries) + 1, asked)
        if query is None:
            failures += 1
            if failures > TRIES_PER_QUERY * n:
                raise InputError(
                    f"queries: found only {len(queries)} of {n} different feasible queries (days {list(spec.days)}, "
                    f"levels {spec.levels}); ask for fewer (key queries.sizes) or {manner.remedy}"
                )
            continue
        asked.add(query)
        queries.append(query)
        kind = None
    return queries


def _kind(spec: QuerySpec, rng: random.Random) -> tuple[int, str]:
    """A trip's days, and a level."""
    return rng.choice(spec.days), rng.choices(list(spec.levels), list(spec.levels.values()))[0]


def _draw(
    store: Store, spec: QuerySpec, manner: MadeUp, days: int, level: str, rng: random.Random, idx: int, asked: Questions
) -> Query | None:
    """One query, or None where the draw asks for something impossible or known."""
    org, dest = manner.ends(store, days, rng)
    latest = spec.n_days - days
    if org is None or latest < 0:
        return None
    start = date.fromisoformat(spec.first_day) + timedelta(days=rng.randint(0, latest))
    draft = Query(
        idx=idx,
        org=org,
        dest=dest,
        days=days,
        date=tuple((start + timedelta(days=d)).isoformat() for d in range(days)),
        query="",
        level=level,
        visiting_city_number=(days - 1) // 2,
        people_number=manner.people(level, rng),
        local_constraint=manner.constraints(store, level, dest, rng),
    )
    trip = None if draft in asked else plan_for(draft, store)
    if trip is None:
        return None
    step = manner.budget_step
    budget = math.ceil(trip.cost * manner.slack(level, days, rng) / step) * step
    query = replace(draft, budget=float(budget))
    query = replace(query, query=wording.sentence(query, manner.words, rng))
    return query if _feasible(query, store, trip) else None


def _feasible(query: Query, store: Store, trip: Trip) -> bool:
    official = to_official(trip.plan, store)
    return all(evaluate(official, query, store, profile).final_pass for profile in ("official", "strict"))
