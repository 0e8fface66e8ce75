"""The five hard rules and the cost."""

import pytest

from helpers.small_world import FIVE_DAYS_COST, THREE_DAYS_COST, five_days, query, three_days
from planner_r1.errors import InputError
from planner_r1.evaluator import HARD, evaluate


def hard(store, plan=None, asked=None):
    return evaluate(plan or three_days(), asked or query(), store).hard


def test_names_are_the_official_ones():
    assert HARD == ("valid_cuisine", "valid_room_rule", "valid_transportation", "valid_room_type", "valid_cost")


def test_only_the_cost_is_asked_by_every_query(small_store):
    assert hard(small_store) == {**dict.fromkeys(HARD), "valid_cost": True}


@pytest.mark.parametrize(
    ("days", "plan", "cost"), [(3, three_days(), THREE_DAYS_COST), (5, five_days(), FIVE_DAYS_COST)]
)
def test_cost_sums_legs_meals_and_nights(small_store, days, plan, cost):
    at_budget = evaluate(plan, query(days, budget=cost), small_store)
    assert at_budget.total_cost == cost and at_budget.final_pass
    over = evaluate(plan, query(days, budget=cost - 1), small_store)
    assert over.total_cost == cost and over.hard["valid_cost"] is False


@pytest.mark.parametrize(
    ("way", "people", "cost"),
    [
        ("Flight Number: F2, from Alba to Dorn", 3, 3 * 130),
        ("Self-driving, from Alba to Dorn", 5, 20),  # int(418 * 0.05) for each car of five
        ("Self-driving, from Alba to Dorn", 6, 2 * 20),
        ("Taxi, from Alba to Dorn", 4, 418),
        ("Taxi, from Alba to Dorn", 5, 2 * 418),
        ("A taxi for a part, self-driving the rest, from Alba to Dorn", 1, 20),  # priced by self-driving
        ("Train, from Alba to Dorn", 9, 0),
    ],
)
def test_cost_of_a_leg(small_store, way, people, cost):
    plan = three_days()
    plan[0]["transportation"] = "Taxi, from Dorn to Alba"
    without = three_days()
    without[0]["transportation"] = "Taxi, from Dorn to Alba"
    plan[2]["transportation"], without[2]["transportation"] = way, "Train, from Alba to Dorn"
    asked = query(people_number=people)
    first, second = (evaluate(p, asked, small_store).total_cost for p in (plan, without))
    assert first - second == cost


def test_first_row_of_a_number_or_pair_or_name_gives_the_price(small_store):
    # F1 has a second row for 300 dollars, Dorn to Alba one of 900 km, and "Red" is contained in "Red Bowl".
    plan = three_days()
    plan[0]["lunch"] = "Red, Alba"
    assert evaluate(plan, query(), small_store).total_cost == THREE_DAYS_COST


def test_rooms_are_counted_by_their_maximum_occupancy(small_store):
    costs = [evaluate(three_days(), query(people_number=n), small_store).total_cost for n in (2, 3)]
    assert costs[1] - costs[0] == 250 + 96 + 2 * 100  # one more seat, one more eater, a second room for two nights


@pytest.mark.parametrize(
    ("wanted", "holds"),
    [
        (["Chinese"], True),
        (["Indian", "Italian"], True),  # Red Bowl serves Indian food outside Dorn as well
        (["French"], False),
        (["Chinese", "French"], False),
    ],
)
def test_cuisine(small_store, wanted, holds):
    assert hard(small_store, asked=query(cuisine=wanted))["valid_cuisine"] is holds


def test_cuisine_does_not_count_at_home(small_store):
    plan = three_days()
    plan[0]["lunch"] = "-"
    assert hard(small_store, plan, query(cuisine=["Indian"]))["valid_cuisine"] is False


@pytest.mark.parametrize(
    ("meals", "holds"),
    [
        ({}, True),  # the dinner is the trip's only Italian meal
        ({"breakfast": "Home Kitchen, Dorn"}, False),
        ({"lunch": "Home Kitchen, Dorn"}, False),
        ({"lunch": "Old Mill, North Side, Alba", "dinner": "Home Kitchen, Dorn"}, True),
        ({"dinner": "Old Mill, North Side, Alba(Dorn)"}, True),  # in Alba, whatever stands in the parenthesis
        ({"breakfast": None}, True),
    ],
)
def test_a_meal_at_home_ends_its_day_for_the_cuisines(small_store, meals, holds):
    plan = three_days()
    plan[0] |= meals
    assert hard(small_store, plan, query(cuisine=["Italian"]))["valid_cuisine"] is holds


@pytest.mark.parametrize(("rule", "holds"), [("smoking", False), ("pets", True), ("parties", True)])
def test_room_rule(small_store, rule, holds):
    assert hard(small_store, asked=query(house_rule=rule))["valid_room_rule"] is holds


@pytest.mark.parametrize(
    ("hotel", "fitting"),
    [
        ("Wide Loft, Alba", {"entire room", "not shared room"}),
        ("Plain Room, Alba", {"private room", "not shared room"}),
        ("Common Den, Alba", {"shared room"}),
    ],
)
def test_room_type(small_store, hotel, fitting):
    plan = three_days()
    plan[0]["accommodation"] = plan[1]["accommodation"] = hotel
    for wanted in ("entire room", "private room", "shared room", "not shared room"):
        assert hard(small_store, plan, query(room_type=wanted))["valid_room_type"] is (wanted in fitting)


def test_unwanted_transportation(small_store):
    assert hard(small_store, asked=query(transportation="no flight"))["valid_transportation"] is False
    assert hard(small_store, asked=query(transportation="no self-driving"))["valid_transportation"] is True
    plan = three_days()
    plan[0]["transportation"] = "self-driving, from Dorn to Alba"  # the official look is for a capital S
    plan[2]["transportation"] = "self-driving, from Alba to Dorn"
    asked = query(transportation="no self-driving")
    assert hard(small_store, plan, asked)["valid_transportation"] is True
    plan[0]["transportation"] = "Self-driving, from Dorn to Alba"
    assert hard(small_store, plan, asked)["valid_transportation"] is False


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"local_constraint": None}, "local_constraint"),
        ({"budget": None}, "budget"),
        ({"people_number": None}, "people_number"),
        ({"visiting_city_number": None}, "visiting_city_number"),
        ({"local_constraint": {"room type": "castle"}}, "castle"),
        ({"local_constraint": {"transportation": "no boat"}}, "no boat"),
    ],
)
def test_a_query_that_cannot_be_judged_by_is_the_callers_fault(small_store, changes, named):
    with pytest.raises(InputError, match=f"query 1.*{named}"):
        evaluate(three_days(), query(**changes), small_store)


def test_of_several_rows_that_a_name_may_mean_the_first_one_counts(small_store):
    plan = three_days()
    plan[0]["lunch"] = "Red, Alba"  # "Red Bowl" stands before "Red", which serves French food
    assert hard(small_store, plan, query(cuisine=["Chinese"]))["valid_cuisine"] is True
    assert hard(small_store, plan, query(cuisine=["French"]))["valid_cuisine"] is False
    for day in plan[:2]:
        day["accommodation"] = ", Alba"  # "Wide Loft" stands before "Plain Room"
    for asked, holds in (
        ({"room_type": "entire room"}, True),
        ({"room_type": "private room"}, False),
        ({"house_rule": "smoking"}, False),
        ({"house_rule": "pets"}, True),
    ):
        found = hard(small_store, plan, query(**asked))
        assert (found["valid_room_type"], found["valid_room_rule"]).count(holds) == 1, asked
