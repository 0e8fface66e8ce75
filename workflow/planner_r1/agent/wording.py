"""Queries in natural English. The text states every fact of a query, so that it can be planned from alone."""

from __future__ import annotations

import random
from datetime import date

from planner_r1.queries import Query

NUMBERS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight"}

OPENINGS = (
    "Please plan a {days}-day trip for {people} from {org} to {dest}, {first} to {last}, with a budget of {budget}.",
    "Can you create a {days}-day travel plan for {people}, leaving {org} for {dest} between {first} and {last}? "
    "Our budget is {budget}.",
    "We need a {days}-day itinerary for {people} departing from {org} and visiting {dest} from {first} to {last}. "
    "The budget is {budget}.",
)
HOUSE_RULE = (
    "The accommodation must allow {value}.",
    "We need a place to stay where {value} are welcome.",
)
ROOM_TYPE = ("We would like {value}.", "Our accommodation should be {value}.")
ROOMS = {
    "entire room": "an entire room",
    "private room": "a private room",
    "shared room": "a shared room",
    "not shared room": "a room that is not shared",
}
CUISINE = ("We want to taste {value} food.", "For meals we would enjoy {value} cuisine.")
TRANSPORTATION = {
    "no flight": ("We do not want to fly.", "Please avoid any flights."),
    "no self-driving": ("We will not drive ourselves.", "Please avoid self-driving."),
}


def sentence(query: Query, rng: random.Random) -> str:
    """The request as a person would write it."""
    opening = rng.choice(OPENINGS).format(
        days=query.days,
        people="one person" if query.people_number == 1 else f"{NUMBERS[query.people_number]} people",
        org=query.org,
        dest=_destination(query),
        first=_day(query.date[0]),
        last=f"{_day(query.date[-1])}, {query.date[-1][:4]}",
        budget=f"${query.budget:,.0f}",
    )
    if query.people_number == 1:
        opening = opening.replace("Our budget", "My budget").replace("We need", "I need")
    wishes = [_wish(name, query.constraint(name), rng) for name in (query.local_constraint or {})]
    return " ".join([opening, *filter(None, wishes)])


def _destination(query: Query) -> str:
    if query.visiting_city_number == 1:
        return query.dest
    return f"{NUMBERS[query.visiting_city_number]} cities in {query.dest}"


def _wish(name: str, value, rng: random.Random) -> str | None:
    match name, value:
        case _, None:
            return None
        case "house rule", "smoking":
            return "The accommodation must allow smoking."
        case "house rule", _:
            return rng.choice(HOUSE_RULE).format(value=value)
        case "room type", _:
            return rng.choice(ROOM_TYPE).format(value=ROOMS[value])
        case "cuisine", _:
            return rng.choice(CUISINE).format(value=_listing(value))
        case _:
            return rng.choice(TRANSPORTATION[value])


def _listing(values: list[str]) -> str:
    return values[0] if len(values) == 1 else f"{', '.join(values[:-1])} and {values[-1]}"


def _day(iso: str) -> str:
    """March 16th."""
    day = date.fromisoformat(iso)
    ending = "th" if 11 <= day.day <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10, "th")
    return f"{day:%B} {day.day}{ending}"
