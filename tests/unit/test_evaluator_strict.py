"""The strict profile, and the holes that let a plan pass the official one."""

import pytest

from helpers.small_world import five_days, query, three_days
from planner_r1.evaluator import evaluate
from planner_r1.evaluator.holes import holes
from planner_r1.evaluator.judge import judge
from planner_r1.evaluator.profiles import HOLES, STRICT


def changed(*changes):
    plan = three_days()
    for day, key, value in changes:
        plan[day - 1][key] = value
    return plan


def in_alba(number, breakfast, lunch, dinner, attraction):
    day = {"days": number, "current_city": "Alba", "transportation": "-", "accommodation": "Wide Loft, Alba"}
    meals = {"breakfast": f"{breakfast}, Alba", "lunch": f"{lunch}, Alba", "dinner": f"{dinner}, Alba"}
    return {**day, **meals, "attraction": f"{attraction}, Alba;"}


def by_taxi(day, origin, destination):
    leg = f"from {origin} to {destination}"
    return {**day, "current_city": leg, "transportation": f"Taxi, {leg}"}


def from_alba_to_alba():
    """Two days in Alba, two in Bria and back to Alba; day 1 tells of the way from home and does not travel."""
    arrival, stay = in_alba(1, "Red", "Red Bowl", "Old Mill, North Side", "City Park"), five_days()[1]
    arrival["transportation"] = "Taxi, from Dorn to Alba"
    rest = in_alba(2, "Blue Spoon", "Twin Table", "Corner Deli", "Sea Museum")
    to_bria = by_taxi({**five_days()[2], "attraction": "-", "accommodation": "Bria Inn, Bria"}, "Alba", "Bria")
    home = by_taxi({**five_days()[4], "dinner": "-"}, "Bria", "Alba")
    return [arrival, rest, to_bria, {**stay, "days": 4}, home]


def from_bria_to_alba_by_magic():
    """Days 3 and 4 are spent in Alba, and no leg leads there from Bria."""
    there = in_alba(3, "Red", "Red Bowl", "Old Mill, North Side", "City Park")
    rest = in_alba(4, "Blue Spoon", "Twin Table", "Corner Deli", "Sea Museum")
    return [*five_days()[:2], there, rest, by_taxi(five_days()[4], "Alba", "Dorn")]


def to_bria():
    return [*five_days()[:2], by_taxi(three_days()[2], "Bria", "Dorn")]


HOLE = {
    "flight_date": (three_days(), query(date=("2022-03-02", "2022-03-03", "2022-03-04"))),
    "flight_times": (
        changed(
            (1, "transportation", "Flight Number: F1, from Dorn to Alba, Departure Time: 08:00, Arrival Time: 9:00")
        ),
        query(),
    ),
    "not_home": (from_alba_to_alba(), query(5)),
    "wrong_destination": (to_bria(), query(budget=9_000)),
    "teleport": (from_bria_to_alba_by_magic(), query(5, budget=9_000)),
    "other_leg": (changed((1, "transportation", "Taxi, from Dorn to Bria, Alba")), query()),
    "second_leg": (changed((1, "transportation", "Taxi, from Dorn to Alba, from Alba to Bria")), query()),
    "two_modes": (changed((1, "transportation", "Taxi or Self-driving, from Dorn to Alba")), query()),
    "city_in_name": (changed((2, "lunch", "Alba Noodles, Bria")), query()),
    "beside_city": (changed((2, "lunch", "Twin Table, Alba(Sud)")), query()),
    "other_spelling": (changed((2, "lunch", "Red Bowl , Alba")), query()),
    "shared_name": (changed(*((day, "accommodation", "Two Keys, Alba") for day in (1, 2))), query()),
    "empty_value": (changed((2, "lunch", None)), query()),
    "needed_by_words": (
        changed(
            (1, "lunch", "-"),
            (3, "current_city", "from\tAlba to\tDorn"),
            (3, "transportation", "-"),
            (3, "breakfast", "Red Bowl, Alba"),
            (3, "lunch", "Red, Alba"),
            (3, "attraction", "Sea Museum, Alba;"),
        ),
        query(),
    ),
    "day_number": (changed((2, "days", 3)), query()),
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
    assert judge(plan, asked, small_store, STRICT - {hole}).final_pass
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


def test_a_flight_is_priced_by_its_own_day_and_route(small_store):
    there, rest, home = five_days()[2:]
    way = {"current_city": "from Alba to Cray", "transportation": "Flight Number: F1, from Alba to Cray"}
    plan = [{**there, **way}, rest, by_taxi({**home, "dinner": "-"}, "Cray", "Alba")]
    for number, day in enumerate(plan, start=1):
        day["days"] = number
    asked = query(org="Alba", dest="Cray", date=("2022-03-02", "2022-03-03", "2022-03-04"))
    official, strict = (evaluate(plan, asked, small_store, profile) for profile in ("official", "strict"))
    assert official.final_pass and strict.final_pass
    assert strict.total_cost - official.total_cost == 2 * (300 - 120)  # the number's first row costs 120


@pytest.mark.parametrize(
    ("day", "key", "value"),
    [
        (1, "transportation", "Flight Number: F1, from Dorn to Alba"),
        (1, "transportation", "Flight Number: F1, from Dorn to Alba, Departure Time: 8:00 AM, Arrival Time: 10:00"),
        (
            3,
            "transportation",
            "Flight Number: F2, from Alba to Dorn, Departure Time: 6:00 p.m., Arrival Time: 20:00 PM",
        ),
        (3, "transportation", "Flight Number: F6, from Alba to Dorn, Departure Time: 12:20 AM, Arrival Time: 12:10PM"),
        (1, "transportation", "Flight Number: F1, from Dorn(Sud) to Alba(Nord), Departure Time: -, Arrival Time: -"),
        (1, "transportation", "Flight Number: F1, Dorn, Alba"),
        (1, "current_city", "from Dorn(Sud)  to Alba(Nord)"),
        (2, "current_city", "Alba(Nord)"),
        (2, "lunch", "Twin Table, Alba (Nord)"),
        (2, "attraction", "Alba Tower, Alba(Nord); Sea Museum, Alba"),
        (2, "attraction", "Glass House, Alba;"),
        (2, "attraction", "Glass House, Alba, Alba;"),
        (1, "dinner", "Old Mill, North Side, Alba(Nord)"),
        (2, "days", "Day 2"),
        (2, "days", "02"),
        (2, "days", 2.0),
        (2, "days", None),
        (2, "note", "extra"),
    ],
)
def test_what_the_format_allows_passes(small_store, day, key, value):
    assert evaluate(changed((day, key, value)), query(), small_store, "strict").final_pass


@pytest.mark.parametrize(
    ("day", "key", "value"),
    [
        (1, "transportation", "Taxi, FROM Dorn TO Bria, Alba"),
        (1, "transportation", "Taxi, from Dorn to Alba, From Alba To Bria"),
        (1, "transportation", "Flight Number: F1, Dorn, Alba, Flight Number: F2"),
        (2, "transportation", "Taxi, from Alba to Bria"),
        (1, "transportation", "Flight Number: F1, from Dorn to Alba, Departure Time: 08:00 PM"),
        (3, "transportation", "Flight Number: F6, from Alba to Dorn, Departure Time: 12:20 PM"),
        (3, "transportation", "Flight Number: F6, from Alba to Dorn, Arrival Time: 12:10 AM"),
        (3, "transportation", "Flight Number: F2, from Alba to Dorn, Departure Time: 6:00"),
        (3, "transportation", "Flight Number: F2, from Alba to Dorn, Departure Time: 18:01"),
        (1, "transportation", "Taxi, from Dorn(Nord) to Alba"),
        (1, "dinner", "Old Mill, North Side, Alba(Sud)"),
        (1, "current_city", "from Dorn to Alba, Bria"),
        (1, "current_city", "Bria, from Dorn to Alba"),
        (2, "current_city", "Alba(and Bria)"),
        (2, "lunch", "Sun Plate, Bria(Alba)"),
        (2, "attraction", "  "),
        (2, "attraction", 0),
        (2, "attraction", "Alba Tower, Alba;Alba Tower, Alba(Nord);"),
        (2, "attraction", "Glass House, Alba;Glass House, Alba, Alba;"),
        (3, "transportation", None),
        (3, "day", 4),
        (3, "days", "10"),
        (2, "days", "20"),
        (2, "days", 2.5),
    ],
)
def test_variants_of_the_holes_are_closed_too(small_store, day, key, value):
    plan = changed((day, key, value))
    assert evaluate(plan, query(), small_store).final_pass
    assert not evaluate(plan, query(), small_store, "strict").final_pass


@pytest.mark.parametrize(
    "nights",
    [
        ("Alba House, Dorn", "Plain Room, Alba"),
        ("Plain Room, Alba", "Alba House, Dorn"),
        ("Plain Room, Alba(Sud)", "Plain Room, Alba"),
        ("Plain Room, Alba", "Plain Room, Alba and more(Nord)"),
    ],
)
def test_each_night_is_in_the_city_where_the_day_ends(small_store, nights):
    plan = changed(*((day, "accommodation", hotel) for day, hotel in enumerate(nights, start=1)))
    assert not evaluate(plan, query(), small_store, "strict").final_pass


def test_a_trip_of_three_days_may_ask_for_a_state(small_store):
    assert evaluate(three_days(), query(dest="Nord"), small_store, "strict").final_pass
    assert not evaluate(three_days(), query(dest="Sud"), small_store, "strict").final_pass
