"""The evaluator against the slow reference, on random plans: changed copies of good ones."""

import ast
import json
import random
from copy import deepcopy
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import small_world
from parity.reference_evaluator import Tables, reference
from planner_r1.evaluator import evaluate
from planner_r1.queries import CONSTRAINTS, load_queries

KEYS = ("current_city", "transportation", "breakfast", "lunch", "dinner", "attraction", "accommodation")
WANTED = {
    "house rule": [None, "smoking", "parties", "children under 10", "visitors", "pets"],
    "cuisine": [None, ["Chinese"], ["Italian", "Mexican"], ["French", "Indian", "American"]],
    "room type": [None, "entire room", "private room", "shared room", "not shared room"],
    "transportation": [None, "no flight", "no self-driving"],
}
ODD_WAYS = [
    "Train, from {} to {}",
    "Self-driving, from {} to {}, duration: 1 hour",
    "self-driving from {} to {}",
    "Taxi, from {} to {}",
    "taxi, then Self-driving, from {} to {}",
    "Flight, from {} to {}",
    "Flight Number: F1, from {} to {}",
    "flight number: F1, from {} to {}",
    "Taxi",
    "Flight Number: F1",
]
ODD_CITIES = [
    "{1}",
    "from {0} to {1}",
    "From {0} to {1}",
    "from {0}",
    "from  {0}  to {1}, then",
    "{1}(X)",
    "",
    "to {0} ",
]
SMALL_CHANGES = [
    lambda text: text.replace(", ", ","),
    lambda text: text + " ",
    lambda text: " " + text,
    lambda text: text.rstrip(";"),
    lambda text: text + ";",
    lambda text: text[1:],
    lambda text: text[: len(text) // 2],
    lambda text: text.partition(",")[0],
    lambda text: text.lower(),
    lambda text: text + "(Somewhere)",
    lambda text: text.replace(" ", "\n", 1),
    lambda text: text.replace(";", ";;", 1),
    lambda text: "".join(reversed(text)),
]
JUNK = [None, 5, True, [], {}, ["Alba"], 0.5]


class Changes:
    """Random changes to a plan; texts are mostly taken from other plans of the same world, so that many stay good."""

    def __init__(self, plans: list[list[dict]], cities: list[str]):
        self.values = {key: sorted({day[key] for plan in plans for day in plan if key in day}) for key in KEYS}
        self.cities = cities

    def apply(self, plan: list, rng: random.Random) -> None:
        change = rng.choice(
            [
                *[self.other_text] * 2,
                *[self.small_change] * 3,
                self.blank,
                self.same_as_other_day,
                self.odd_way,
                self.odd_city,
                self.drop_key,
                self.junk,
                self.extra_key,
                self.days,
            ]
        )
        if plan:
            change(plan, rng)

    def _spot(self, plan, rng):
        day, key = rng.choice(plan), rng.choice(KEYS)
        return (day, key) if isinstance(day, dict) else ({}, key)

    def other_text(self, plan, rng):
        day, key = self._spot(plan, rng)
        day[key] = rng.choice(self.values[key])

    def small_change(self, plan, rng):
        day, key = self._spot(plan, rng)
        if isinstance(day.get(key), str):
            day[key] = rng.choice(SMALL_CHANGES)(day[key])

    def blank(self, plan, rng):
        day, key = self._spot(plan, rng)
        day[key] = rng.choice(["-", "", " - "])

    def same_as_other_day(self, plan, rng):
        day, key = self._spot(plan, rng)
        other, _ = self._spot(plan, rng)
        if key in other:
            day[key] = other[key]

    def odd_way(self, plan, rng):
        self._spot(plan, rng)[0]["transportation"] = rng.choice(ODD_WAYS).format(*rng.choices(self.cities, k=2))

    def odd_city(self, plan, rng):
        self._spot(plan, rng)[0]["current_city"] = rng.choice(ODD_CITIES).format(*rng.choices(self.cities, k=2))

    def drop_key(self, plan, rng):
        day, key = self._spot(plan, rng)
        day.pop(rng.choice([key, key, "days"]), None)

    def junk(self, plan, rng):
        day, key = self._spot(plan, rng)
        if rng.random() < 0.3:
            day[key] = rng.choice(JUNK)

    def extra_key(self, plan, rng):
        self._spot(plan, rng)[0]["note"] = rng.choice(["-", "", "x", *JUNK])

    def days(self, plan, rng):
        at = rng.randrange(len(plan))
        rng.choice(
            [
                lambda: plan.pop(at),
                lambda: plan.insert(at, deepcopy(plan[at])),
                lambda: plan.append(deepcopy(plan[at])),
                lambda: plan.append({}),
                lambda: plan.reverse(),
            ]
        )()


def changed_query(query, rng):
    """The query with other wishes; most often also with a budget that is sometimes enough."""
    wishes = {name: rng.choice(WANTED[name]) if rng.random() < 0.5 else query.constraint(name) for name in CONSTRAINTS}
    return replace(
        query,
        local_constraint=wishes,
        people_number=rng.choice([query.people_number, *range(1, 9)]),
        budget=rng.choice([query.budget, query.budget / 2, query.budget * 2]),
        visiting_city_number=rng.choice([query.visiting_city_number] * 9 + [1, 2, 3]),
    )


def compare(plan, query, store, tables):
    verdict = evaluate(plan, query, store)
    delivered, commonsense, hard, cost = reference(plan, query, tables)
    assert verdict.delivered == delivered
    assert verdict.commonsense == (commonsense or dict.fromkeys(verdict.commonsense))
    assert verdict.hard == hard
    assert verdict.total_cost == (None if cost is None else pytest.approx(cost))
    passes = bool(commonsense and hard and all(commonsense.values()) and False not in hard.values())
    assert verdict.final_pass == passes
    assert (verdict.reason is None) == passes


def check(rng, changes, pairs, store, tables):
    plan, query = rng.choice(pairs)
    plan, query = deepcopy(plan), changed_query(query, rng)
    for _ in range(rng.choice([0, 1, 1, 2, 3, 5])):
        changes.apply(plan, rng)
    compare(plan, query, store, tables)


@pytest.fixture(scope="module")
def small_tables(small_database) -> Tables:
    return Tables(small_database)


@settings(max_examples=1_500, deadline=None, derandomize=True)
@given(rng=st.randoms())
def test_random_plans_of_the_small_world(rng, small_store, small_tables):
    pairs = [(small_world.three_days(), small_world.query()), (small_world.five_days(), small_world.query(5))]
    changes = Changes([plan for plan, _ in pairs], list(small_world.CITIES))
    check(rng, changes, pairs, small_store, small_tables)


@pytest.fixture(scope="module")
def real_world(shared_data):
    """Reference tables, changes, and (plan, query) pairs of the train split, whose annotated plans all pass."""
    folder = shared_data / "travelplanner"
    tables = Tables(folder / "database")
    queries = load_queries(folder / "queries" / "train.jsonl")
    with open(folder / "queries" / "train.jsonl", encoding="utf-8") as f:
        plans = [ast.literal_eval(json.loads(line)["annotated_plan"])[1] for line in f]
    plans = [[day for day in plan if day] for plan in plans]
    cities = sorted({query.org for query in queries})
    return tables, Changes(plans, cities), list(zip(plans, queries, strict=True))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(rng=st.randoms())
def test_random_plans_of_the_real_tables(rng, real_world, real_store):
    tables, changes, pairs = real_world
    check(rng, changes, pairs, real_store, tables)


@settings(max_examples=500, deadline=None, derandomize=True)
@given(rng=st.randoms())
def test_strict_answers_are_never_milder(rng, small_store):
    """Closing a hole may fail a commonsense rule and never mend one.

    But for the minimum nights: they count only where a name tells one hotel, and a part of a name may tell one where
    the whole name tells none (such a plan fails another rule).
    """
    pairs = [(small_world.three_days(), small_world.query()), (small_world.five_days(), small_world.query(5))]
    changes = Changes([plan for plan, _ in pairs], list(small_world.CITIES))
    plan, query = rng.choice(pairs)
    for _ in range(rng.choice([1, 2, 3])):
        changes.apply(plan, rng)
    official, strict = (evaluate(plan, query, small_store, profile) for profile in ("official", "strict"))
    milder = {name for name, holds in official.commonsense.items() if holds is False and strict.commonsense[name]}
    assert milder <= {"is_valid_accommodation"}
    assert official.commonsense_pass or not strict.commonsense_pass
