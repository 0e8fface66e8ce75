"""The strict profile, and the holes that let a plan pass the official one."""

import pytest

from helpers.small_world import query, three_days
from planner_r1.evaluator import evaluate
from planner_r1.evaluator.holes import holes
from planner_r1.evaluator.profiles import HOLES


def changed(*changes):
    plan = three_days()
    for day, key, value in changes:
        plan[day - 1][key] = value
    return plan


HOLE = {
    "unknown_mode": (changed((1, "transportation", "Train, from Dorn to Alba")), query()),
    "stay_day_city": (changed((2, "lunch", "Green Fork, Bria")), query()),
    "last_attraction": (changed((2, "attraction", "Alba Tower, Alba;No Such Place, Alba")), query()),
    "name_contained": (changed((2, "lunch", "Twin, Alba")), query()),
    "extra_days": ([*three_days(), three_days()[2]], query()),
    "mode_case": (
        changed(
            (1, "transportation", "self-driving, from Dorn to Alba"),
            (3, "transportation", "self-driving, from Alba to Dorn"),
        ),
        query(transportation="no self-driving"),
    ),
}


def test_every_hole_has_a_case():
    assert set(HOLE) == set(HOLES)


@pytest.mark.parametrize("hole", HOLES)
def test_hole_passes_official_fails_strict_and_is_named(small_store, hole):
    plan, asked = HOLE[hole]
    assert evaluate(plan, asked, small_store).final_pass
    strict = evaluate(plan, asked, small_store, "strict")
    assert not strict.final_pass and strict.reason
    assert holes(plan, asked, small_store) == [hole]


def test_a_plan_may_use_several_holes(small_store):
    plan = [*changed((2, "lunch", "Green Fork, Bria"), (1, "transportation", "Boat, from Dorn to Alba")), {"days": 4}]
    assert set(holes(plan, query(), small_store)) == {"unknown_mode", "stay_day_city", "extra_days"}


def test_holes_that_must_be_closed_together_are_named_together(small_store):
    plan = changed((2, "attraction", "Alba Tower, Alba;City, Alba"))  # a part of "City Park", and without its ";"
    assert evaluate(plan, query(), small_store).final_pass
    assert holes(plan, query(), small_store) == ["last_attraction+name_contained"]


def test_a_good_plan_and_a_failing_one_use_no_hole(small_store):
    assert holes(three_days(), query(), small_store) == []
    assert holes(changed((1, "transportation", "-")), query(), small_store) == []
    assert holes(None, query(), small_store) == []


def test_empty_objects_behind_the_plan_are_padding(small_store):
    assert evaluate([*three_days(), {}, {}], query(), small_store, "strict").final_pass


def test_whole_names_may_hold_commas_line_breaks_and_end_in_a_blank(small_store):
    plan = changed(
        (1, "accommodation", "Hill House\nGarden Side, Alba"),
        (2, "accommodation", "Hill House\nGarden Side, Alba"),
        (2, "attraction", "Old Gate, East Wing, Alba"),
        (2, "dinner", "Corner Deli, Alba"),
    )
    assert evaluate(plan, query(), small_store, "strict").final_pass


def test_a_whole_name_is_priced_by_its_own_row(small_store):
    plan = changed((1, "lunch", "Red, Alba"))  # official: Red Bowl for 20 dollars, strict: Red for 90
    costs = [evaluate(plan, query(), small_store, profile).total_cost for profile in ("official", "strict")]
    assert costs[1] - costs[0] == 2 * (90 - 20)


def test_an_empty_city_opens_no_new_hole(small_store):
    plan = changed((2, "current_city", ""))
    assert not evaluate(plan, query(), small_store, "strict").final_pass
