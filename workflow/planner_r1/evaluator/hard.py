"""The five hard constraints, under their official names, and the cost of a plan.

They are judged only where is_valid_information_in_sandbox and is_not_absent hold, so every name and leg is known here.
Each rule takes a case and returns None where it holds, else the reason why not. Source: TravelPlanner,
evaluation/hard_constraint.py, by its observed verdicts.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from planner_r1.evaluator.case import Case
from planner_r1.evaluator.reading import MEALS, Day, flight_number, leg, mode_to_look_up, name_and_city, quote

# What the query asks for each rule; a cost is asked by every query.
ASKED_BY = {
    "valid_cuisine": "cuisine",
    "valid_room_rule": "house rule",
    "valid_transportation": "transportation",
    "valid_room_type": "room type",
}
SEATS = {"self-driving": 5, "taxi": 4}
ROOM_FITS = {
    "entire room": lambda room: room == "Entire home/apt",
    "private room": lambda room: room == "Private room",
    "shared room": lambda room: room == "Shared room",
    "not shared room": lambda room: room != "Shared room",
}
AVOIDED = {"no flight": "Flight", "no self-driving": "Self-driving"}


def valid_cuisine(case: Case) -> str | None:
    """Every wanted cuisine is served at some meal outside the city of departure."""
    served = [row["Cuisines"] for value in _meals_away(case) for row in case.rows("restaurants", value)[:1]]
    missing = [wanted for wanted in case.query.constraint("cuisine") if not any(wanted in one for one in served)]
    return f"no meal with {', '.join(missing)} food" if missing else None


def _meals_away(case: Case) -> Iterator[str]:
    """The meals of each day up to the first one in the city of departure: what follows it does not count."""
    for day in case.days:
        for value in filter(None, map(day.text, MEALS)):
            if name_and_city(value)[1] == case.query.org:
                break
            yield value


def valid_room_rule(case: Case) -> str | None:
    """No hotel forbids what the travellers want to do or bring."""
    forbidden = f"No {case.query.constraint('house rule')}"
    for value in case.nights():
        if any(forbidden in row["house_rules"] for row in case.rows("accommodations", value)[:1]):
            return f"{quote(value)} says: {forbidden}"
    return None


def valid_transportation(case: Case) -> str | None:
    """The mode that the travellers do not want is not used."""
    avoided = AVOIDED[case.query.constraint("transportation")]
    any_case = "mode_case" in case.closed
    for day, value in case.legs():
        if avoided in value or (any_case and avoided.lower() in value.lower()):
            return f"day {day.number} uses {avoided.lower()}"
    return None


def valid_room_type(case: Case) -> str | None:
    """Every hotel offers the wanted kind of room."""
    wanted = case.query.constraint("room type")
    for value in case.nights():
        for row in case.rows("accommodations", value)[:1]:
            if not ROOM_FITS[wanted](row["room type"]):
                return f"{quote(value)} is a {row['room type']}, wanted is: {wanted}"
    return None


def valid_cost(case: Case, cost: float) -> str | None:
    """The whole trip costs no more than the budget."""
    if cost <= case.query.budget:
        return None
    return f"the plan costs {cost:,.0f} dollars, the budget is {case.query.budget:,.0f}"


RULES = {rule.__name__: rule for rule in (valid_cuisine, valid_room_rule, valid_transportation, valid_room_type)}
NAMES = (*RULES, valid_cost.__name__)


def total_cost(case: Case) -> float:
    """Cost of the plan in US dollars, for all people: legs, meals and nights."""
    people = case.query.people_number
    cost = sum(_leg_cost(case, day, value) for day, value in case.legs())
    for value in (value for day in case.days for meal in MEALS if (value := day.text(meal))):
        cost += sum(row["Average Cost"] * people for row in case.rows("restaurants", value)[:1])
    for value in case.nights():
        cost += sum(
            row["price"] * ceil(people / row["maximum occupancy"]) for row in case.rows("accommodations", value)[:1]
        )
    return float(cost)


def _leg_cost(case: Case, day: Day, value: str) -> float:
    mode = mode_to_look_up(value)
    if mode is None:
        return 0
    if mode == "flight":
        if "flight_date" in case.closed:
            return case.flight(day)["Price"] * case.query.people_number
        # The price of the number's first row, on whatever day and route.
        return case.store.flight_price(flight_number(day)) * case.query.people_number
    return case.store.leg(*leg(day)).cost(mode) * ceil(case.query.people_number / SEATS[mode])
