"""What is wrong with a plan, by kinds: each kind by a plan that has it, and what is no hallucination."""

import json

import pytest

from helpers.small_world import ACCOMMODATIONS, ATTRACTIONS, CITIES, RESTAURANTS, query, three_days
from planner_r1.evaluator import COMMONSENSE, HARD, evaluate
from planner_r1.evaluator.failures import FAILURES, LABELS, NO_PLAN, UNREADABLE, failures, hallucinations

HALLUCINATED = {
    "city": "hallucinated_city",
    "attractions": "hallucinated_attraction",
    "accommodations": "hallucinated_accommodation",
    "restaurants": "hallucinated_restaurant",
}


def changed(*changes):
    plan = three_days()
    for day, key, value in changes:
        plan[day - 1][key] = value
    return plan


def found(plan, store, asked=None):
    asked = asked or query()
    return failures(plan, evaluate(plan, asked, store), asked, store)


def test_every_kind_has_a_label_of_its_own():
    assert (NO_PLAN, UNREADABLE, *COMMONSENSE, *HARD, *HALLUCINATED.values()) == FAILURES
    assert tuple(LABELS) == FAILURES
    assert len(set(LABELS.values())) == len(FAILURES) == 19
    assert max(map(len, LABELS.values())) <= 24  # a column of the paper holds two beside each other


def test_a_plan_that_passes_has_none(small_store):
    assert found(three_days(), small_store) == []


@pytest.mark.parametrize("plan", [None, [], {}, "plan"])
def test_what_is_not_delivered_is_no_plan_and_nothing_else(small_store, plan):
    assert found(plan, small_store) == [NO_PLAN]


@pytest.mark.parametrize(
    "plan",
    [
        [{}],
        changed((2, "current_city", "from Alba")),
        changed((1, "lunch", 3)),
        changed((1, "transportation", "flight number F1, from Dorn to Alba")),
    ],
)
def test_a_plan_on_which_the_official_code_raises_is_unreadable(small_store, plan):
    assert found(plan, small_store) == [UNREADABLE]


def test_what_can_be_read_of_an_unreadable_plan_is_still_looked_up(small_store):
    plan = changed((1, "transportation", "flight number F1, from Dorn to Alba"), (2, "lunch", "No Such Place, Alba"))
    assert found(plan, small_store) == [UNREADABLE, "hallucinated_restaurant"]


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ((3, "current_city", "from Alba to Bria"), "is_reasonable_visiting_city"),
        ((2, "lunch", "Blue Spoon, Alba"), "is_valid_restaurants"),
        ((2, "attraction", "City Park, Alba;"), "is_valid_attractions"),
        ((2, "accommodation", "Plain Room, Alba"), "is_valid_accommodation"),
        ((3, "transportation", "Self-driving, from Alba to Dorn, cost: 20"), "is_valid_transportation"),
        ((1, "lunch", "Bria Grill, Bria"), "is_valid_information_in_current_city"),
        ((3, "transportation", "Flight Number: F9, from Alba to Dorn"), "is_valid_information_in_sandbox"),
        ((2, "dinner", "-"), "is_not_absent"),
    ],
)
def test_each_commonsense_constraint_is_a_kind(small_store, change, kind):
    assert kind in found(changed(change), small_store)


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        ({"cuisine": ["Chinese", "Thai"]}, "valid_cuisine"),
        ({"house_rule": "smoking"}, "valid_room_rule"),
        ({"transportation": "no flight"}, "valid_transportation"),
        ({"room_type": "shared room"}, "valid_room_type"),
        ({"budget": 100.0}, "valid_cost"),
    ],
)
def test_each_hard_constraint_is_a_kind_where_the_hard_part_is_reached(small_store, asked, kind):
    assert found(three_days(), small_store, query(**asked)) == [kind]
    absent = changed((2, "dinner", "-"))
    assert found(absent, small_store, query(**asked)) == ["is_not_absent"]


@pytest.mark.parametrize(
    ("change", "table"),
    [
        ((2, "lunch", "No Such Place, Alba"), "restaurants"),
        ((2, "lunch", "Bria Grill, Alba"), "restaurants"),  # of another city
        ((2, "lunch", "red bowl, Alba"), "restaurants"),  # by the letter
        ((2, "lunch", "Blue Spoon"), "restaurants"),  # without a city nothing is found
        ((2, "accommodation", "No Such Place, Alba"), "accommodations"),
        ((2, "attraction", "City Park, Alba;No Such Place, Alba;"), "attractions"),
        ((2, "attraction", "No Such Place, Alba;City Park, Alba"), "attractions"),
        ((2, "current_city", "Atlantis"), "city"),
        ((3, "current_city", "from Alba to Atlantis"), "city"),
        ((3, "current_city", "from Atlantis(Nord) to Dorn"), "city"),
    ],
)
def test_what_the_database_does_not_hold_is_made_up(small_store, change, table):
    plan = changed(change)
    assert hallucinations(plan, query(), small_store) == {table}
    assert HALLUCINATED[table] in found(plan, small_store)


@pytest.mark.parametrize(
    "change",
    [
        (1, "dinner", "Old Mill, North Side, Alba"),  # the last comma parts name and city
        (2, "attraction", "Old Gate, East Wing, Alba;"),
        (2, "lunch", "Blue Spoon, Alba(Nord)"),
        (2, "lunch", "Spoon, Alba"),  # the official look-up is content with a part of a name
        (2, "lunch", ""),
        (2, "lunch", " - "),
        (2, "lunch", "-, Alba"),
        (2, "attraction", "-"),
        (2, "attraction", "-;"),
        (2, "attraction", "City Park, Alba;;"),
        (2, "attraction", "City Park, Alba; ;"),
        (2, "attraction", "City Park, Alba;No Such Place, Alba"),  # nobody looks behind the last ";"
        (2, "current_city", "Alba(Nord)"),
        (2, "current_city", "Alba (Nord)"),
        (2, "current_city", ""),
        (1, "transportation", "Flight Number: F9, from Dorn to Atlantis"),  # a leg is no place
    ],
)
def test_what_is_there_or_names_nothing_is_not_made_up(small_store, change):
    assert hallucinations(changed(change), query(), small_store) == set()


def test_days_beyond_the_query_are_not_looked_at(small_store):
    plan = [*three_days(), changed((1, "lunch", "No Such Place, Alba"))[0]]
    assert hallucinations(plan, query(), small_store) == set()


def test_every_place_of_the_small_world_is_known_in_its_own_cities_only(small_store):
    kinds = {"lunch": ("restaurants", RESTAURANTS), "accommodation": ("accommodations", ACCOMMODATIONS)}
    kinds["attraction"] = ("attractions", ATTRACTIONS)
    for key, (table, rows) in kinds.items():
        for name in {row[1] for row in rows}:
            for city in CITIES:
                known = any(row[0] == city and name.rpartition("\n")[2].strip() in row[1] for row in rows)
                value = f"{name}, {city}" + (";" if key == "attraction" else "")
                plan = [dict.fromkeys(three_days()[0], "-") | {"current_city": city, key: value}]
                assert hallucinations(plan, query(), small_store) == (set() if known else {table}), value


def test_kinds_come_in_order_and_once(small_store):
    plan = changed(
        (1, "lunch", "No Such Place, Alba"),
        (2, "breakfast", "No Such Place, Alba"),
        (2, "attraction", "No Such Sight, Alba;"),
        (3, "transportation", "-"),
    )
    kinds = found(plan, small_store)
    assert kinds == sorted(kinds, key=FAILURES.index) and len(set(kinds)) == len(kinds)
    assert kinds == [
        "is_valid_restaurants",
        "is_valid_information_in_sandbox",
        "is_not_absent",
        "hallucinated_attraction",
        "hallucinated_restaurant",
    ]
    json.dumps(kinds)
