"""What the strict profile asks beyond the official rules: the checks that close its holes (profiles.HOLES).

A few holes are closed where a value is read or a rule asks: in reading.py, case.py and the rules themselves.

Like the rules, a check takes a case (and a day) and returns None where it holds, else the reason why not; it runs only
where its hole is closed. What strict covers and what it does not: docs/strict.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

from planner_r1.evaluator.case import Case
from planner_r1.evaluator.reading import MEALS, MODES, Day, cut, from_to, name_and_city, quote

_NUMBER = re.compile(r"\d+")
_LEG_BEGINS = re.compile(r"\bfrom\b|flight number", re.IGNORECASE)
_STATED_TIME = re.compile(r"\b(departure|arrival) time\s*:([^,;]*)", re.IGNORECASE)
_CLOCK = re.compile(r"(\d{1,2}):(\d\d)(?:\s*([ap])\.?m\b)?", re.IGNORECASE)
_TIME_COLUMNS = {"departure": "DepTime", "arrival": "ArrTime"}


# ---- the route ----


def not_from_home(case: Case) -> str | None:
    """The official rules look at the start of the trip only where day 1 travels, and at the end as the same city."""
    if case.days[0].travels:
        return None
    return f"day 1 does not leave {case.query.org}"


def teleports(case: Case) -> str | None:
    for before, after in pairwise(case.days):
        if before.cities[-1] != after.cities[0]:
            return f"day {before.number} ends in {quote(before.cities[-1])}, not where the next one starts"
    return None


def misses_destination(case: Case) -> str | None:
    """The official rules look at the destination of longer trips only. "New York" is a city first, then a state."""
    wanted, state_of = case.query.dest, case.store.cities
    for city in (city for day in case.days for city in day.cities if city != case.query.org):
        if case.query.days <= 3 and (city if wanted in state_of else state_of[city]) != wanted:
            return f"the trip goes to {quote(city)}, not to {wanted}"
    return None


# ---- legs ----


def two_modes(case: Case) -> str | None:
    for day, value in case.legs():
        named = [mode for mode in MODES if mode in value.lower()]
        if len(named) > 1:
            return f"day {day.number}: one leg by {' and '.join(named)}"
    return None


def other_leg(case: Case, day: Day) -> str | None:
    value = day.text("transportation")
    if not value:
        return None
    if not day.travels:
        # Day 1 must have transportation by the official rules; that it travels is another hole.
        return f"travels on a day in one city: {quote(value)}" if day.number > 1 else None
    # The leg may be written in any case of letters, though the official code reads only the small ones.
    said = from_to(value.lower())
    if said and (cut(said[0]), cut(said[1])) != tuple(city.lower() for city in day.cities):
        return f"the leg is not the day's: {quote(value)}"
    return None


def second_leg(case: Case, day: Day) -> str | None:
    value = day.text("transportation")
    words = [word.lower() for word in _LEG_BEGINS.findall(value)]
    if len(words) > len(set(words)):
        return f"more than one leg: {quote(value)}"
    return None


def not_on_that_day(case: Case, day: Day) -> str | None:
    if case.flight(day):
        return None
    return f"no such flight on {case.date(day)}: {quote(day.text('transportation'))}"


def other_times(case: Case, day: Day) -> str | None:
    """Of a flight that goes on the day; a text that states no time of day is not looked at."""
    value, flight = day.text("transportation"), case.flight(day)
    for word, text in _STATED_TIME.findall(value) if flight else ():
        time, known = _clock(text), flight[_TIME_COLUMNS[word.lower()]]
        if time not in (None, _clock(known)):
            return f"the {word.lower()} is at {known}: {quote(value)}"
    return None


def _clock(text: str) -> tuple[int, int] | None:
    """Hours and minutes of the first time of day in a text."""
    time = _CLOCK.search(text)
    if not time:
        return None
    hour, half = int(time[1]), (time[3] or "").lower()
    if half and hour <= 12:
        hour = hour % 12 + 12 * (half == "p")
    return hour, int(time[2])


# ---- places and cities ----


def place_elsewhere(case: Case, day: Day) -> str | None:
    for value in filter(None, (*map(day.text, MEALS), *case.attractions(day))):
        if _only_mentions(value, day.cities):
            return f"{quote(value)} is not in the day's cities"
    if _only_mentions(day.text("accommodation"), day.cities[-1:]):
        return f"{quote(day.text('accommodation'))} is not in the city where the day ends"
    return None


def _only_mentions(value: str, cities: tuple[str, ...]) -> bool:
    """Whether a text contains one of the cities and lies in none of them; where it contains none, other rules apply."""
    return any(city in value for city in cities) and name_and_city(value)[1] not in cities


def more_than_cities(case: Case) -> str | None:
    """current_city names the day's cities and nothing else."""
    for day in case.days:
        said = day.current_city
        ends = from_to(said) if day.travels else (said,)
        words = f"from {ends[0]} to {ends[1]}" if day.travels else said
        if said.split() != words.split() or not all(_is_city(case, end) for end in ends):
            return f"day {day.number}: current_city names more than its cities: {quote(said)}"
    return None


def more_than_a_city(case: Case, day: Day) -> str | None:
    """A place's city, and the ends of a leg: behind each nothing but its own state. All else is read."""
    for value in (*map(day.text, (*MEALS, "accommodation")), *case.attractions(day)):
        if "(" in value and not _is_city(case, value.rpartition(",")[2]):
            return f"more than a city behind the last comma: {quote(value)}"
    said = from_to(day.text("transportation")) if "(" in day.text("transportation") else None
    if said and not all(_is_city(case, end) for end in said):
        return f"more than cities: {quote(day.text('transportation'))}"
    return None


def _is_city(case: Case, text: str) -> bool:
    """Whether a text reads "City" or "City(State)", with the state that the city lies in."""
    text, states = text.strip(), case.store.cities
    city = cut(text).strip()
    return text in states or text[len(city) :].strip() in ("", f"({states.get(city)})")


def share_a_name(case: Case, hotels: list[dict]) -> bool:
    """Whether all have the same name: the first one then counts for the nights, as it does for the price."""
    return "shared_name" in case.closed and len({row["NAME"] for row in hotels}) == 1


# ---- days ----


def needed_besides(case: Case, day: Day) -> tuple[str, ...]:
    """What a day of travel and a day in one city need, whatever white space and parentheses current_city holds."""
    if "needed_by_words" not in case.closed:
        return ()
    return ("transportation",) if day.travels else ("attraction", *MEALS)


def nothing_in_it(case: Case, day: Day, key: str) -> bool:
    """Whether a value holds nothing, of whatever type it is."""
    value = day.filled(key)
    return "empty_value" in case.closed and not (value.strip() if isinstance(value, str) else value)


def misnumbered(case: Case) -> str | None:
    for day in case.days:
        for key in ("days", "day"):
            if _is_another_number(day.values.get(key), day.number):
                return f"day {day.number} is numbered otherwise: {quote(day.values[key])}"
    return None


def _is_another_number(value, number: int) -> bool:
    """Whether a number, or the first one in a text ("Day 2"), is another one."""
    if isinstance(value, str):
        stated = _NUMBER.search(value)
        return stated is not None and stated[0].lstrip("0") != str(number)
    return isinstance(value, int | float) and value != number


# ---- the checks of each rule, by the hole that they close ----

OF_ROUTE: dict[str, Callable] = {
    "not_home": not_from_home,
    "teleport": teleports,
    "wrong_destination": misses_destination,
    "beside_city": more_than_cities,
}
OF_MODES: dict[str, Callable] = {"two_modes": two_modes}
OF_CITIES_OF_DAY: dict[str, Callable] = {
    "other_leg": other_leg,
    "second_leg": second_leg,
    "city_in_name": place_elsewhere,
}
OF_FLIGHT: dict[str, Callable] = {"flight_date": not_on_that_day, "flight_times": other_times}
OF_WORDS_OF_DAY: dict[str, Callable] = {"beside_city": more_than_a_city}
OF_NUMBERS: dict[str, Callable] = {"day_number": misnumbered}


def reason(checks: dict[str, Callable], case: Case, *day: Day) -> str | None:
    """What the first of the checks finds whose hole is closed."""
    for hole, check in checks.items():
        if hole in case.closed and (found := check(case, *day)):
            return found
    return None
