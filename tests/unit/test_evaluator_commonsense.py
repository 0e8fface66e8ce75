"""The eight commonsense rules, one change to a good plan at a time."""

import pytest

from helpers.small_world import five_days, query, three_days
from planner_r1.evaluator import COMMONSENSE, evaluate

EIGHT = (
    "is_reasonable_visiting_city",
    "is_valid_restaurants",
    "is_valid_attractions",
    "is_valid_accommodation",
    "is_valid_transportation",
    "is_valid_information_in_current_city",
    "is_valid_information_in_sandbox",
    "is_not_absent",
)
ROUTE, MEALS, SIGHTS, NIGHTS, MODES, CITY, KNOWN, ABSENT = EIGHT


def test_names_are_the_official_ones():
    assert COMMONSENSE == EIGHT


@pytest.mark.parametrize(("plan", "asked"), [(three_days(), query()), (five_days(), query(5))])
def test_good_plans_pass(small_store, plan, asked):
    verdict = evaluate(plan, asked, small_store)
    assert verdict.final_pass and verdict.reason is None and verdict.reasons == {}


# (day from 1, key, value or None to drop the key) -> the rules that fail
CHANGES = [
    ((2, "current_city", "Cray"), {ROUTE, CITY, ABSENT}),
    ((2, "current_city", "Nowhere"), {ROUTE, ABSENT}),  # its letters occur in all that the day names
    ((1, "current_city", "from Bria to Alba"), {ROUTE, CITY, ABSENT}),
    ((3, "current_city", "from Alba to Bria"), {ROUTE, CITY, ABSENT}),
    ((2, "lunch", "Blue Spoon, Alba"), {MEALS}),
    ((2, "lunch", "Blue Spoon, Alba "), set()),  # compared by the letter
    ((2, "attraction", "City Park, Alba;"), {SIGHTS}),
    ((2, "attraction", "Alba Tower, Alba;City Park, Alba"), set()),  # the last one lacks its ";"
    ((2, "attraction", "Alba Tower, Alba;;"), {CITY, KNOWN}),  # an empty piece is in no city
    ((2, "accommodation", "Plain Room, Alba"), {NIGHTS}),  # leaves Wide Loft with one night of two
    ((1, "transportation", "-"), {MODES, ABSENT}),
    ((1, "transportation", ""), {MODES, ABSENT}),
    ((3, "transportation", "Self-driving, from Alba to Dorn"), {MODES}),
    ((3, "transportation", "Taxi, from Alba to Dorn"), set()),
    ((3, "transportation", "Train, from Alba to Dorn"), set()),  # unknown modes are not checked
    ((3, "transportation", "taxi or self-driving, from Alba to Dorn"), set()),  # one mode a day, the taxi first
    ((3, "transportation", "Taxi, from Alba to Bria"), {CITY}),
    ((3, "transportation", "Flight Number: F9, from Alba to Dorn"), {KNOWN}),
    ((3, "transportation", "Flight Number: F1, from Alba to Dorn"), {KNOWN}),  # a known number, another way
    ((2, "transportation", "Taxi, from Alba to Porto Sud"), {KNOWN}),  # holds each letter of Alba
    ((2, "lunch", "Green Fork, Bria"), set()),  # holds a letter of Alba, and is known in Bria
    ((1, "lunch", "Green Fork, Bria"), {CITY}),
    ((3, "lunch", "Twin Table, Alba"), {MEALS}),
    ((1, "lunch", "Red Bow, Alba"), set()),  # part of a name
    ((1, "lunch", ", Alba"), set()),  # no name at all is part of every name
    ((1, "lunch", "red bowl, Alba"), {KNOWN}),
    ((1, "lunch", "Red Bowl, Alba(Nord)"), set()),
    ((1, "lunch", "Red Bowl Alba"), {KNOWN}),  # no comma, so no city
    ((1, "accommodation", "Hill House\nGarden Side, Alba"), {NIGHTS}),
    ((1, "breakfast", None), {ABSENT}),
    ((1, "accommodation", None), {NIGHTS, ABSENT}),
    ((2, "attraction", "-"), {ABSENT}),
    ((2, "lunch", ""), {ABSENT}),
    ((2, "lunch", " - "), {CITY, KNOWN}),  # only "-" itself and "" stand for nothing
    ((2, "accommodation", "-"), {NIGHTS, ABSENT}),
    ((3, "accommodation", "Wide Loft, Alba"), {CITY}),  # the day ends in Dorn; three nights in a row suffice
]


@pytest.mark.parametrize(("change", "failing"), CHANGES)
def test_one_change_fails_the_rules_it_breaks(small_store, change, failing):
    day, key, value = change
    plan = three_days()
    if value is None:
        del plan[day - 1][key]
    else:
        plan[day - 1][key] = value
    verdict = evaluate(plan, query(), small_store)
    assert {name for name, holds in verdict.commonsense.items() if not holds} == failing
    assert failing <= set(verdict.reasons)
    assert (verdict.hard is None) == bool(failing & {KNOWN, ABSENT})


def test_route_may_not_come_back_to_a_city(small_store):
    plan = five_days()
    plan[3]["current_city"] = "from Cray to Bria"
    assert not evaluate(plan, query(5), small_store).commonsense[ROUTE]


def test_cities_must_lie_in_the_state_for_more_than_three_days(small_store):
    verdict = evaluate(five_days(), query(5, dest="Sud"), small_store)
    assert verdict.reasons[ROUTE] == "'Bria' lies in Nord, not in Sud"


def test_last_entry_alone_may_repeat_the_start(small_store):
    plan = three_days()
    plan[1]["current_city"] = "from Alba to Dorn"
    plan[2]["current_city"] = "Dorn"
    assert not evaluate(plan, query(), small_store).commonsense[ROUTE]


def test_days_beyond_the_query_are_not_looked_at(small_store):
    assert evaluate([*three_days(), {"current_city": 5}, None], query(), small_store).final_pass


def test_fewer_days_are_absent(small_store):
    verdict = evaluate(three_days()[:2], query(), small_store)
    assert verdict.reasons[ABSENT] == "the plan has 2 days, the query 3"
    assert verdict.hard is None


def test_number_of_cities_must_be_the_one_asked(small_store):
    assert not evaluate(five_days(), query(5, visiting_city_number=3), small_store).commonsense[ABSENT]


def test_every_filled_key_of_a_day_counts_towards_half_of_the_plan(small_store):
    plan = five_days()
    for day, kept in ((0, ("accommodation",)), (2, ("accommodation",)), (4, ())):
        for key in ("breakfast", "lunch", "dinner", "attraction", "accommodation"):
            plan[day][key] = plan[day][key] if key in kept else "-"
    for day in plan:
        del day["days"]
    # Left are 3 + 6 + 3 + 6 + 2 filled keys of 30: enough. Days of one's own shorten it to what is not.
    assert evaluate(plan, query(5), small_store).commonsense[ABSENT]
    sparse = [{**day, "current_city": day["current_city"]} for day in three_days()]
    for day in sparse:
        del day["days"]
    for day, keys in ((0, ("lunch", "dinner", "attraction")), (2, ("dinner",))):
        for key in keys:
            sparse[day][key] = "-"
    assert evaluate(sparse, query(), small_store).commonsense[ABSENT]  # 3 + 6 + 2 of 18
    sparse[1]["current_city"] = "from Alba to Alba"
    for key in ("breakfast", "lunch", "dinner", "attraction"):
        sparse[1][key] = "-"
    sparse[1]["transportation"] = "Taxi, from Alba to Alba"
    assert "half" in evaluate(sparse, query(), small_store).reasons[ABSENT]  # 3 + 3 + 2 of 18
    sparse[0]["note"] = "one more"
    assert evaluate(sparse, query(), small_store).commonsense[ABSENT]


def test_a_city_whose_name_holds_to_counts_as_travel_for_absence(small_store):
    plan = three_days()
    plan[1]["current_city"] = "Porto Sud"  # holds "to "
    plan[1]["transportation"] = "-"
    reasons = evaluate(plan, query(visiting_city_number=2), small_store).reasons
    assert reasons[ABSENT] == "day 2: transportation is not filled in"


def test_a_day_that_says_it_is_not_needed_is_not_counted(small_store):
    plan = three_days()
    plan[1]["current_city"] = "You don't need to fill in the information for this or later days."
    plan[1]["transportation"] = "walk"
    assert not evaluate(plan, query(visiting_city_number=2), small_store).commonsense[ABSENT]
    plan[1]["current_city"] = "You need to know"
    assert evaluate(plan, query(visiting_city_number=2), small_store).commonsense[ABSENT]


@pytest.mark.parametrize(
    ("city", "blank", "holds"),
    [
        ("Alba(close to x)", "transportation", False),
        ("Alba(into x)", "transportation", False),
        ("Alba(close to x)", "attraction", True),
        ("Alba(into x)", "attraction", False),
        ("Alba(into x)", "lunch", False),
        ("Alba(close to x)", "lunch", False),
    ],
)
def test_what_must_be_filled_in_goes_by_three_words(small_store, city, blank, holds):
    plan = three_days()
    plan[1] |= {"current_city": city, "transportation": "walk to Alba", blank: "-"}
    assert evaluate(plan, query(), small_store).commonsense[ABSENT] is holds


def test_three_days_in_one_city_are_a_closed_route(small_store):
    plan = three_days()
    for day in plan:
        day["current_city"] = "Alba"  # three cities from day to day are the fewest
    assert evaluate(plan, query(), small_store).commonsense[ROUTE]
    assert not evaluate(plan[:2], query(), small_store).commonsense[ROUTE]


def test_the_last_city_but_one_must_lie_in_the_state_too(small_store):
    plan = five_days()
    plan[3]["current_city"] = "from Cray to Dorn"
    plan[4]["current_city"] = "Dorn"  # ... Cray, Cray, Dorn, Dorn: only the last of them may lie elsewhere
    assert not evaluate(plan, query(5), small_store).commonsense[ROUTE]


def test_states_matter_from_the_fourth_day_on(small_store):
    plan = five_days()
    del plan[3]
    plan[2]["current_city"] = "Bria"
    plan[3]["current_city"] = "from Bria to Dorn"
    assert evaluate(plan, query(4), small_store).commonsense[ROUTE]
    assert not evaluate(plan, query(4, dest="Sud"), small_store).commonsense[ROUTE]
    assert evaluate(three_days(), query(dest="Sud"), small_store).commonsense[ROUTE]
