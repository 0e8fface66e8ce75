"""Made-up queries in the manner of TravelPlanner, each with a plan that is known to meet it.

Levels follow the benchmark's: easy queries are for one person and constrain only the budget; medium ones add one
constraint out of house rule, cuisine and room type; hard ones three out of all four kinds.
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import date, timedelta

from planner_r1.agent import wording
from planner_r1.agent.oracle import ROOM_TYPES, Trip, plan_for
from planner_r1.errors import InputError
from planner_r1.evaluator import evaluate
from planner_r1.plan import to_official
from planner_r1.queries import CONSTRAINTS, LEVELS, Query
from planner_r1.sandbox.store import Store

HOUSE_RULES = ("parties", "smoking", "children under 10", "pets", "visitors")
CONSTRAINT_KINDS = {"easy": (0, ()), "medium": (1, CONSTRAINTS[:3]), "hard": (3, CONSTRAINTS)}
CUISINES_ASKED = {"medium": 2, "hard": 4}
MAX_PEOPLE = 4
BUDGET_STEP = 50
TRIES_PER_QUERY = 20


@dataclass(frozen=True)
class QuerySpec:
    """Which queries to draw: trip lengths, weights of the levels, and the days on which trips may lie.

    A budget is the oracle's cost times a number drawn from `slack`, rounded up.
    """

    days: tuple[int, ...] = (3, 5, 7)
    levels: dict[str, float] = field(default_factory=lambda: dict.fromkeys(LEVELS, 1.0))
    first_day: str = "2022-03-01"
    n_days: int = 31
    slack: tuple[float, float] = (1.15, 1.6)


def draw_queries(store: Store, spec: QuerySpec, n: int, seed: int, avoid: Collection[Query] = ()) -> list[Query]:
    """Draw `n` different queries, none of which asks what one of `avoid` asks.

    Each has a plan of the oracle that passes both profiles of the evaluator.

    Raises:
        InputError: the world holds too few feasible queries of this kind.
    """
    rng = random.Random(seed)
    seen = {_asks(q) for q in avoid}
    queries: list[Query] = []
    failures = 0
    while len(queries) < n:
        query = _draw(store, spec, rng, len(queries) + 1, seen)
        if query is None:
            failures += 1
            if failures > TRIES_PER_QUERY * n:
                raise InputError(
                    f"queries: found only {len(queries)} of {n} different feasible queries (days {list(spec.days)}, "
                    f"levels {spec.levels}); ask for fewer (key queries.sizes) or make the world larger (sandbox.world)"
                )
            continue
        seen.add(_asks(query))
        queries.append(query)
    return queries


def _asks(query: Query) -> tuple:
    """What makes two queries the same question, however worded and whatever the budget."""
    constraints = tuple(str(query.constraint(name)) for name in CONSTRAINTS)
    return query.org, query.dest, query.date, query.people_number, constraints


def _draw(store: Store, spec: QuerySpec, rng: random.Random, idx: int, seen: set[tuple]) -> Query | None:
    """One query, or None where the draw asks for something impossible or seen before."""
    days = rng.choice(spec.days)
    level = rng.choices(list(spec.levels), list(spec.levels.values()))[0]
    dest = rng.choice(list(store.cities if days == 3 else store.states))
    org = rng.choice([c for c in store.cities if dest not in (c, store.cities[c])] or [None])
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
        people_number=1 if level == "easy" else rng.randint(2, MAX_PEOPLE),
        local_constraint=_constraints(store, level, dest, rng),
    )
    trip = None if _asks(draft) in seen else plan_for(draft, store)
    if trip is None:
        return None
    budget = math.ceil(trip.cost * rng.uniform(*spec.slack) / BUDGET_STEP) * BUDGET_STEP
    query = replace(draft, budget=float(budget))
    query = replace(query, query=wording.sentence(query, rng))
    return query if _feasible(query, store, trip) else None


def _feasible(query: Query, store: Store, trip: Trip) -> bool:
    official = to_official(trip.plan, store)
    return all(evaluate(official, query, store, profile).final_pass for profile in ("official", "strict"))


def _constraints(store: Store, level: str, dest: str, rng: random.Random) -> dict:
    count, kinds = CONSTRAINT_KINDS[level]
    values = dict.fromkeys(CONSTRAINTS)
    for kind in rng.sample(kinds, count):
        values[kind] = _value(store, kind, level, dest, rng)
    return values


def _value(store: Store, kind: str, level: str, dest: str, rng: random.Random):
    match kind:
        case "house rule":
            return rng.choice(HOUSE_RULES)
        case "room type":
            return rng.choice(list(ROOM_TYPES))
        case "transportation":
            return rng.choice(("no flight", "no self-driving"))
    cities = [dest] if dest in store.cities else store.states[dest]
    served = sorted({c for city in cities for row in store.restaurants(city) for c in row["Cuisines"].split(", ")})
    return rng.sample(served, min(CUISINES_ASKED[level], len(served)))
