"""The judge in plain sense: a good plan has no breach, and each breach is seen where a plan has it."""

import ast
import json

import pytest

from helpers.small_world import five_days, query, three_days
from parity.hole_search import ANSWERED
from parity.plain_sense import BREACHES, World, breaches
from planner_r1.evaluator import evaluate
from planner_r1.queries import load_queries


def three(*changes, **asked):
    return _changed(three_days(), changes), query(**asked)


def five(*changes, **asked):
    return _changed(five_days(), changes), query(5, **asked)


def _changed(plan, changes):
    for day, key, value in changes:
        plan[day - 1][key] = value
    return plan


PLANS = {
    "days": (three_days()[:2], query()),
    "day_numbers": three((2, "days", 3)),
    "unclear_city": three((2, "current_city", "Alba, Bria")),
    "not_from_home": three((1, "current_city", "from Cray to Alba")),
    "not_back_home": three((3, "current_city", "Alba")),
    "teleport": five((3, "current_city", "Cray")),
    "back_too_early": five((4, "current_city", "from Cray to Dorn"), (5, "current_city", "from Dorn to Dorn")),
    "wrong_destination": three(dest="Bria"),
    "number_of_cities": three(visiting_city_number=2),
    "no_leg": three((3, "transportation", "")),
    "unclear_leg": three((3, "transportation", "Train, from Alba to Dorn")),
    "several_modes": three((3, "transportation", "Taxi, from Alba to Dorn, or Self-driving")),
    "several_legs": three((3, "transportation", "Taxi, from Alba to Dorn, from Dorn to Bria")),
    "other_leg": three((3, "transportation", "Taxi, from Alba to Bria, Dorn")),
    "unknown_leg": five((5, "transportation", "Taxi, from Cray to Dorn")),
    "flight_date": five((5, "transportation", "Flight Number: F2, from Alba to Dorn")),
    "flight_times": three((3, "transportation", "Flight Number: F2, from Alba to Dorn, Departure Time: 18:05")),
    "road_facts": three((3, "transportation", "Taxi, from Alba to Dorn, cost: 41")),
    "clashing_modes": three((3, "transportation", "Self-driving, from Alba to Dorn")),
    "unwanted_mode": three(transportation="no flight"),
    "unknown_place": three((2, "lunch", "Blue, Alba")),
    "wrong_state": three((2, "lunch", "Red, Alba(Sud)")),
    "other_city": three((2, "lunch", "Alba Noodles, Bria")),
    "meal_order": three((1, "lunch", "Red Bowl, Alba"), (1, "dinner", "Home Kitchen, Dorn")),
    "meal_in_flight": three((3, "breakfast", "Home Kitchen, Dorn")),
    "same_restaurant": three((2, "lunch", "Red Bowl , Alba(Nord)")),
    "same_attraction": three((2, "attraction", "City Park, Alba(Nord)")),
    "no_night": three((2, "accommodation", None)),
    "night_after_the_trip": three((3, "accommodation", "Wide Loft, Alba")),
    "minimum_nights": three((2, "accommodation", "Plain Room, Alba")),
    "house_rule": three(house_rule="smoking"),
    "room_type": three(room_type="shared room"),
    "no_such_room": three(
        *((day, "accommodation", "Old House, Alba") for day in (1, 2)), house_rule="pets", room_type="private room"
    ),
    "thin_day": three((2, "lunch", 0)),
    "half_filled": three(*((1, key, "-") for key in ("attraction", "lunch", "dinner")), (3, "dinner", "-")),
    "cuisine": three(cuisine=["Mediterranean"]),
    "budget": three(budget=800.0),
}


@pytest.fixture(scope="module")
def world(small_database) -> World:
    found = World(small_database)
    rules = {"house_rules": "No smoking", "minimum nights": "1", "price": "30", "maximum occupancy": "2"}
    found.hotels["Old House", "Alba"] = [
        {**rules, "room type": "Private room", "house_rules": "No pets"},
        {**rules, "room type": "Entire home/apt"},
    ]
    return found


def test_good_plans_have_no_breach(world):
    assert breaches(three_days(), query(), world) == {}
    assert breaches(five_days(), query(5), world) == {}


def test_every_breach_has_a_plan():
    assert set(PLANS) == set(BREACHES)


@pytest.mark.parametrize("name", BREACHES)
def test_a_breach_is_seen(world, name):
    plan, asked = PLANS[name]
    assert name in breaches(plan, asked, world)


def test_real_plans_that_pass_strict_have_only_answered_breaches(shared_data, real_store):
    folder = shared_data / "travelplanner"
    world, passing = World(folder / "database"), 0
    queries = {split: load_queries(folder / "queries" / f"{split}.jsonl") for split in ("train", "validation")}
    for path in sorted((folder / "plans").glob("*.jsonl")):
        asked = queries[path.name.split("__")[0]]
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            plan, asks = row["plan"], asked[row["idx"] - 1]
            if evaluate(plan, asks, real_store, "strict").final_pass:
                passing += 1
                assert set(breaches(plan, asks, world)) <= ANSWERED, (path.name, row["idx"])
    assert passing > 300


def test_annotated_plans_pass_strict_and_have_only_answered_breaches(shared_data, real_store):
    """But for query 42, whose attractions lie in other cities."""
    folder = shared_data / "travelplanner"
    world, queries = World(folder / "database"), load_queries(folder / "queries/train.jsonl")
    lines = (folder / "queries/train.jsonl").read_text(encoding="utf-8").splitlines()
    plans = [ast.literal_eval(json.loads(line)["annotated_plan"])[1] for line in lines]
    passing = [evaluate(plan, q, real_store, "strict").final_pass for plan, q in zip(plans, queries, strict=True)]
    assert [q.idx for q, passes in zip(queries, passing, strict=True) if not passes] == [42]
    found = {q.idx: set(breaches(plan, q, world)) - ANSWERED for plan, q in zip(plans, queries, strict=True)}
    assert {idx: names for idx, names in found.items() if names} == {42: {"other_city"}}
