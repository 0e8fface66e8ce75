"""The eight commonsense constraints, under their official names.

Each rule takes a case and returns None where it holds, else the reason why not. A rule goes through the days in order,
stops at its first fault, and raises Unreadable where it reaches a value that the official code raises on: a later day
that cannot be read does not matter to a rule that has already said no. Source: TravelPlanner,
evaluation/commonsense_constraint.py, by its observed verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

from planner_r1.evaluator import strict
from planner_r1.evaluator.case import Case
from planner_r1.evaluator.reading import (
    BLANK,
    DAY_NOT_NEEDED,
    MEALS,
    TEXT_KEYS,
    Day,
    Unreadable,
    flight_number,
    leg,
    mode_of_day,
    mode_to_look_up,
    quote,
)

NEEDED_KEYS = tuple(key for key in TEXT_KEYS if key != "current_city")
CLASHING_MODES = ({"self-driving", "flight"}, {"taxi", "self-driving"})


def is_reasonable_visiting_city(case: Case) -> str | None:
    """The route is a closed one through known cities, each visited once and for more than a passing entry."""
    if reason := _starts_elsewhere(case):
        return reason
    route = [city for day in case.days for city in day.cities]
    return _broken_route(route) or _wrong_city(route, case) or strict.reason(strict.OF_ROUTE, case)


def _first_reason(check: Callable[[Case, Day], str | None], case: Case) -> str | None:
    """What a check finds on the first day on which it finds something."""
    for day in case.days:
        if reason := check(case, day):
            return f"day {day.number}: {reason}"
    return None


def _starts_elsewhere(case: Case) -> str | None:
    first = case.days[0]
    if first.travels and first.cities[0] != case.query.org:
        return f"day 1 starts in {quote(first.cities[0])}, not in {case.query.org}"
    return None


def _broken_route(route: list[str]) -> str | None:
    if route[0] != route[-1]:
        return f"the trip starts in {quote(route[0])} and ends in {quote(route[-1])}"
    if len(route) < 3:
        return "the trip names fewer than three cities from day to day"
    last, start, seen = len(route) - 1, 0, set()
    for city, run in groupby(route):
        length = len(list(run))
        if city in seen and start != last:
            return f"the trip comes back to {quote(city)} before its end"
        if length == 1 and 0 < start < last:
            return f"the trip only passes through {quote(city)}"
        seen.add(city)
        start += length
    return None


def _wrong_city(route: list[str], case: Case) -> str | None:
    for position, city in enumerate(route):
        state = case.store.cities.get(city)
        if state is None:
            return f"{quote(city)} is not in the list of cities"
        if 0 < position < len(route) - 1 and case.query.days > 3 and state != case.query.dest:
            return f"{quote(city)} lies in {state}, not in {case.query.dest}"
    return None


def is_valid_restaurants(case: Case) -> str | None:
    """No meal is taken twice in the same place."""
    return _repeated(case, (value for day in case.days for meal in MEALS if (value := day.filled(meal))))


def is_valid_attractions(case: Case) -> str | None:
    """No attraction is visited twice."""
    return _repeated(case, (value for day in case.days for value in case.attractions(day)))


def _repeated(case: Case, values: Iterable) -> str | None:
    texts, others = set(), []  # a meal may be of any type, also of one that a set does not take
    for value in values:
        known = case.identity(value)
        if known in (texts if isinstance(value, str) else others):
            return f"{quote(value)} comes twice"
        if isinstance(value, str):
            texts.add(known)
        else:
            others.append(value)
    return None


def is_valid_accommodation(case: Case) -> str | None:
    """No stay is shorter than the hotel's minimum nights, where the name tells one hotel."""
    for day in case.days:
        if "accommodation" not in day.values:
            return f"day {day.number} has no accommodation"
    for value, run in groupby(day.values["accommodation"] for day in case.days):
        if value in BLANK:
            continue
        if not isinstance(value, str):
            raise Unreadable(f"an accommodation is not text but {type(value).__name__}")
        nights = len(list(run))
        rows = case.rows("accommodations", value)
        if (len(rows) == 1 or strict.share_a_name(case, rows)) and nights < rows[0]["minimum nights"]:
            return f"{quote(value)} takes guests for at least {rows[0]['minimum nights']:g} nights, not {nights}"
    return None


def is_valid_transportation(case: Case) -> str | None:
    """Day 1 says how to travel, and no mode clashes with another one: a car of one's own does not fly."""
    if not case.days[0].text("transportation"):
        return "day 1 has no transportation"
    modes = {mode_of_day(value) for _, value in case.legs()}
    for clash in CLASHING_MODES:
        if clash <= modes:
            return f"{' and '.join(sorted(clash))} do not go together"
    return strict.reason(strict.OF_MODES, case)


def is_valid_information_in_current_city(case: Case) -> str | None:
    """All that a day names lies in the day's cities."""
    return _first_reason(_elsewhere, case)


def _elsewhere(case: Case, day: Day) -> str | None:
    cities = day.cities
    if not day.travels and ("stay_day_city" not in case.closed or cities == ("",)):
        cities = tuple(day.cities[0])  # the characters of the name: what the official code goes through on such a day
    if day.filled("transportation") and not all(day.mentions("transportation", city) for city in cities):
        return "the transportation does not name the day's cities"
    for meal in MEALS:
        if day.filled(meal) and not any(day.mentions(meal, city) for city in cities):
            return f"{quote(day.filled(meal))} is not in the day's cities"
    for value in case.attractions(day):
        if not any(city in value for city in cities):
            return f"{quote(value)} is not in the day's cities"
    if day.filled("accommodation"):
        if not cities:
            raise Unreadable(f"day {day.number} has an accommodation and an empty current_city")
        if not day.mentions("accommodation", cities[-1]):
            return f"{quote(day.filled('accommodation'))} is not in the city where the day ends"
    return strict.reason(strict.OF_CITIES_OF_DAY, case, day)


def is_valid_information_in_sandbox(case: Case) -> str | None:
    """All that a day names stands in the tables."""
    return _first_reason(_unknown, case)


def _unknown(case: Case, day: Day) -> str | None:
    return _unknown_leg(case, day) or _unknown_place(case, day) or strict.reason(strict.OF_WORDS_OF_DAY, case, day)


def _unknown_leg(case: Case, day: Day) -> str | None:
    if "transportation" not in day.values:
        raise Unreadable(f"day {day.number} has no transportation")
    value = day.text("transportation")
    if not value:
        return None
    mode, pair = mode_to_look_up(value), leg(day)  # both are read in any case, so that either may raise
    if mode is None:
        return f"unknown way to travel: {quote(value)}" if "unknown_mode" in case.closed else None
    if mode == "flight":
        number = flight_number(day)
        if pair is None:
            raise Unreadable(f"day {day.number}: the flight does not say from where to where")
        known = case.store.flight_exists(number, *pair)
    else:
        known = pair is not None and case.store.leg(*pair) is not None
    if not known:
        return f"no such {mode}: {quote(value)}"
    return strict.reason(strict.OF_FLIGHT, case, day) if mode == "flight" else None


def _unknown_place(case: Case, day: Day) -> str | None:
    for table, value in places(case, day):
        if not case.rows(table, value):
            return f"{quote(value)} is not among the {table}"
    return None


def places(case: Case, day: Day) -> Iterator[tuple[str, str]]:
    """(table, value) of what the day names, in the order in which the official code looks it up."""
    for meal in MEALS:
        if value := day.text(meal):
            yield "restaurants", value
    for value in case.attractions(day):  # an empty piece is looked up, too, and not found
        yield "attractions", value
    if value := day.text("accommodation"):
        yield "accommodations", value


def is_not_absent(case: Case) -> str | None:
    """The plan has the asked number of days and cities, and enough of each day is filled in."""
    if reason := _wrong_days(case) or _starts_elsewhere(case) or _wrong_city_number(case):
        return reason
    if reason := _first_reason(_missing_on_day, case):
        return reason
    # Every key of a day counts, also one that is not part of the format.
    filled = sum(bool(day.filled(key)) for day in case.days for key in day.values)
    if filled / (6 * case.query.days) < 0.5:
        return "less than half of the plan is filled in"
    return strict.reason(strict.OF_NUMBERS, case)


def _wrong_days(case: Case) -> str | None:
    asked = case.query.days
    found = sum(_is_day(day) for day in case.days)
    if found < asked:
        return f"the plan has {found} days, the query {asked}"
    # Empty objects behind the last day are padding, in the official files too.
    if "extra_days" in case.closed and any(extra != {} for extra in case.plan[asked:]):
        return f"the plan has {len(case.plan)} days, the query {asked}"
    return None


def _is_day(day: Day) -> bool:
    if day.values and "current_city" not in day.values:
        raise Unreadable(f"day {day.number} has no current_city")
    return day.values.get("current_city", DAY_NOT_NEEDED) != DAY_NOT_NEEDED


def _wrong_city_number(case: Case) -> str | None:
    visited = {city for day in case.days for city in day.cities} - {case.query.org}
    if len(visited) != case.query.visiting_city_number:
        return f"the trip visits {len(visited)} cities, the query asks for {case.query.visiting_city_number}"
    return None


def _missing_on_day(case: Case, day: Day) -> str | None:
    for key in NEEDED_KEYS:
        if key not in day.values:
            return f"no {key}"
    needed = _needed_values(day.current_city, last=day.number == case.query.days)
    for key in (*needed, *strict.needed_besides(case, day)):
        # Only these two texts stand for nothing here: null and the like pass, and do not count as filled in.
        if day.values[key] in BLANK or strict.nothing_in_it(case, day, key):
            return f"{key} is not filled in"
    return None


def _needed_values(current_city: str, last: bool) -> Iterator[str]:
    """What must be filled in; each kind goes by words of its own, so "San Juan(Puerto Rico)" needs transportation."""
    if "from " in current_city or "to " in current_city:
        yield "transportation"
    if "from " not in current_city and " to " not in current_city:
        yield "attraction"
    if not last:
        yield "accommodation"
    if "from " not in current_city:
        yield from MEALS


RULES = {
    rule.__name__: rule
    for rule in (
        is_reasonable_visiting_city,
        is_valid_restaurants,
        is_valid_attractions,
        is_valid_accommodation,
        is_valid_transportation,
        is_valid_information_in_current_city,
        is_valid_information_in_sandbox,
        is_not_absent,
    )
}
