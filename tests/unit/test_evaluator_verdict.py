"""What is delivered, what cannot be judged, and the rates over many verdicts."""

import json

import pytest

from helpers.small_world import query, three_days
from planner_r1.evaluator import COMMONSENSE, HARD, RATES, Verdict, evaluate, rates
from planner_r1.evaluator.judge import official_code_raises
from planner_r1.evaluator.rates import constraints_asked
from planner_r1.queries import load_queries


@pytest.mark.parametrize("plan", [None, [], {}, "a plan", 7, True, {"days": 1}])
def test_what_is_no_list_of_days_is_not_delivered(small_store, plan):
    verdict = evaluate(plan, query(), small_store)
    assert not verdict.delivered and not verdict.final_pass and verdict.hard is None and verdict.reason
    assert verdict.commonsense == dict.fromkeys(COMMONSENSE)


def changed(day, key, value):
    plan = three_days()
    plan[day - 1][key] = value
    return plan


def without(day, key):
    plan = three_days()
    del plan[day - 1][key]
    return plan


@pytest.mark.parametrize(
    ("plan", "day", "key"),
    [
        (without(2, "current_city"), 2, "current_city"),
        (without(3, "transportation"), 3, "transportation"),
        (changed(1, "current_city", "from Dorn, Alba"), 1, "current_city"),
        (changed(1, "transportation", "flight number: F1, from Dorn to Alba"), 1, "Flight Number"),
        (changed(2, "transportation", "Flight Number: Alb"), 2, "flight"),
        (changed(2, "lunch", 3), 2, "lunch"),
        (changed(2, "attraction", ["Alba Tower"]), 2, "attraction"),
        ([*three_days()[:2], "day 3"], 3, "object"),
        ([None, None, None], 1, "object"),
    ],
)
def test_where_the_official_code_raises_the_plan_fails_with_a_reason(small_store, plan, day, key):
    verdict = evaluate(plan, query(), small_store)
    assert verdict.delivered and not verdict.final_pass and verdict.hard is None
    assert f"day {day}" in verdict.reason and key in verdict.reason
    assert verdict.commonsense == dict.fromkeys(COMMONSENSE)


def test_the_check_of_the_tables_stops_at_its_first_failure(small_store):
    plan = changed(1, "lunch", "Nothing Like It, Alba")
    del plan[2]["transportation"]
    assert evaluate(plan, query(), small_store).commonsense["is_valid_information_in_sandbox"] is False


def test_verdict_as_json(small_store):
    record = json.loads(json.dumps(evaluate(three_days(), query(), small_store).to_json()))
    assert set(record) == {"delivered", "commonsense", "hard", "total_cost", "final_pass", "reason", "reasons"}
    assert record["final_pass"] is True and record["reason"] is None


def verdict(failing=(), hard=None):
    return Verdict(True, {name: name not in failing for name in COMMONSENSE}, hard)


def test_rates_by_hand():
    asked = [query(), query(cuisine=["Indian"], room_type="shared room"), query(house_rule="pets"), query()]
    verdicts = [
        verdict(hard={**dict.fromkeys(HARD), "valid_cost": True}),
        verdict(
            failing={"is_valid_restaurants"},
            hard={**dict.fromkeys(HARD), "valid_cost": True, "valid_cuisine": False, "valid_room_type": True},
        ),
        verdict(failing={"is_not_absent", "is_valid_attractions"}),
        Verdict(False, dict.fromkeys(COMMONSENSE)),
    ]
    assert rates(verdicts, asked) == {
        "delivery": 3 / 4,
        "cs_micro": (8 + 7 + 6) / 32,
        "cs_macro": 1 / 4,
        "hard_micro": 3 / (1 + 3 + 2 + 1),
        "hard_macro": 1 / 4,
        "final_pass": 1 / 4,
        "n": 4,
    }


def test_rates_of_nothing_are_zero():
    assert rates([], []) == {**dict.fromkeys(RATES, 0.0), "n": 0}


def test_every_verdict_needs_its_query():
    with pytest.raises(ValueError, match="1 verdicts for 0 queries"):
        rates([verdict()], [])


@pytest.mark.parametrize(("split", "constraints"), [("train", 105), ("validation", 420)])
def test_denominators_of_the_full_splits(shared_data, split, constraints):
    queries = load_queries(shared_data / "travelplanner" / "queries" / f"{split}.jsonl")
    assert sum(map(constraints_asked, queries)) == constraints


def test_the_city_of_a_day_is_read_for_any_way_of_travel_that_names_no_leg(small_store):
    plan = changed(2, "transportation", "walk")
    plan[1]["current_city"] = ["Alba"]
    plan[0]["current_city"] = "from Bria to Alba"  # so that all other rules have said no before they come to day 2
    assert evaluate(plan, query(), small_store).commonsense == dict.fromkeys(COMMONSENSE)
    plan[1]["transportation"] = "walk from Alba to Alba"
    assert evaluate(plan, query(), small_store).commonsense["is_valid_information_in_sandbox"] is True


def test_what_is_not_delivered_says_so_in_every_record(small_store):
    for plan in (None, [], "plan", {"days": 1}):
        verdict = evaluate(plan, query(), small_store)
        assert verdict.to_json()["delivered"] is False and verdict.reason
        assert verdict.to_json()["final_pass"] is False


def test_every_failed_constraint_has_a_reason(small_store):
    verdict = evaluate(three_days(), query(budget=1.0, transportation="no flight"), small_store)
    assert verdict.hard["valid_cost"] is verdict.hard["valid_transportation"] is False
    assert set(verdict.reasons) == {"valid_cost", "valid_transportation"} and all(verdict.reasons.values())
    assert any(verdict.reason.startswith(name) for name in verdict.reasons)


@pytest.mark.parametrize(
    ("plan", "named"),
    [
        (changed(2, "current_city", "from Alba"), "day 2"),
        (changed(3, "lunch", 5), "day 3"),
        ([{}], "day 1"),
        ([None], "day 1"),
        ([*three_days()[:2], 3], "day 3"),
        ([*three_days(), 3], None),  # beyond the query's days nothing is read
        (changed(2, "lunch", "No Such Place, Alba"), None),
        (changed(1, "transportation", "Train, from Dorn to Alba"), None),
        (changed(2, "attraction", "Alba Tower, Alba;Nowhere"), None),
        (three_days(), None),
    ],
)
def test_where_the_official_code_raises_is_told_also_of_hidden_queries(small_store, plan, named):
    for asked in (query(), query(local_constraint=None, budget=None, people_number=None)):
        reason = official_code_raises(plan, asked, small_store)
        assert reason is None if named is None else named in reason
    readable = None not in evaluate(plan, query(), small_store).commonsense.values()
    assert readable == (named is None)
