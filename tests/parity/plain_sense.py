"""A judge that reads a plan as a traveller would, to hold the strict profile against.

It is written from what a trip is: it knows the tables, the query and the words of the plan, and none of the official
rules. It shares no code with the product and must never take any. Where a text can be read in several ways (two hotels
of one name), the traveller gets the kindest one, so that what it reports is wrong in any reading.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import pairwise

from parity.plain_reading import MEALS, PARTS, PER_KM, Day, Place, World, clock

BREACHES = {
    "days": "the plan has more or fewer days than the query",
    "day_numbers": "a day is numbered otherwise than it stands",
    "unclear_city": 'current_city is neither "A" nor "from A to B", or names another city or state behind a city',
    "not_from_home": "the trip does not start in the query's city of departure",
    "not_back_home": "the trip does not end there",
    "teleport": "a day starts in another city than the last one ended in",
    "back_too_early": "the trip comes home before its last day",
    "wrong_destination": "a city is visited that is not the destination, or does not lie in it",
    "number_of_cities": "the trip visits more or fewer cities than asked",
    "no_leg": "a day goes from city to city and does not say how",
    "unclear_leg": "the way to travel is not one of the three, or does not say from where to where",
    "several_modes": "the text of one leg names several ways to travel",
    "several_legs": "the text of one leg names several legs",
    "other_leg": "the leg does not go from one of the day's cities to the other",
    "unknown_leg": "the tables know no such road or flight, on any day",
    "flight_date": "the flight does not go on the day of the query's dates",
    "flight_times": "the stated times are not those of the flight",
    "road_facts": "the stated duration, distance or cost is not that of the road",
    "clashing_modes": "a car of one's own goes with a flight or a taxi",
    "unwanted_mode": "the query rules the way to travel out",
    "unknown_place": "the city has no such restaurant, attraction or hotel",
    "wrong_state": "behind its city a place or a leg names another city or state",
    "other_city": "a place lies where the travellers are not on that day",
    "meal_order": "a meal in the city that was left, after a meal in the city of arrival",
    "meal_in_flight": "a meal in the city of arrival hours before the flight lands, or in the other one after it left",
    "same_restaurant": "a restaurant comes twice",
    "same_attraction": "an attraction comes twice",
    "no_night": "a night without a hotel",
    "night_after_the_trip": "a hotel on the day of the return",
    "minimum_nights": "the stay is shorter than the hotel allows",
    "house_rule": "the hotel forbids what the query asks for",
    "room_type": "the hotel has another type of room than the query asks for",
    "no_such_room": "several hotels share the name, and none of them meets all that is asked",
    "thin_day": "a day in one city without an attraction or one of its meals",
    "half_filled": "less than half of the six parts of the days is filled in",
    "cuisine": "a cuisine that the query asks for is not served on the trip",
    "budget": "the trip costs more than the budget",
}

SEATS = {"self-driving": 5, "taxi": 4}
AVOIDED = {"no flight": "flight", "no self-driving": "self-driving"}
ROOMS = {
    "entire room": {"Entire home/apt"},
    "private room": {"Private room"},
    "shared room": {"Shared room"},
    "not shared room": {"Entire home/apt", "Private room"},
}
# When a flight lands too late for a meal in the city of arrival, and leaves too early for one in the other.
LATEST_LANDING = {"breakfast": (12, 0), "lunch": (16, 0), "dinner": (23, 30)}
EARLIEST_TAKE_OFF = {"breakfast": (5, 0), "lunch": (10, 30), "dinner": (16, 0)}

Found = Iterator[tuple[str, str]]


def breaches(plan: list[dict], query, world: World) -> dict[str, str]:
    """What is wrong with a plan in plain sense: names of BREACHES, each with its first instance.

    The days of the plan, which is in the official format, must be objects; all else may be anything.
    """
    days = [Day(number, raw) for number, raw in enumerate(plan, start=1) if raw != {}]
    found: dict[str, str] = {}
    for name, detail in _all(days, query, world):
        found.setdefault(name, detail)
    return found


def _all(days: list[Day], query, world: World) -> Found:
    yield from _numbers(days, query)
    yield from _route(days, query, world)
    for day in days[: query.days]:
        yield from _leg(day, query, world)
        yield from _places(day, world)
        yield from _meals_of_a_travel_day(day, query, world)
    yield from _modes(days, query)
    yield from _repeats(days)
    yield from _nights(days)
    yield from _rooms(days, query, world)
    yield from _amounts(days)
    yield from _cuisines(days, query, world)
    yield from _cost(days, query, world)


def _numbers(days: list[Day], query) -> Found:
    if len(days) != query.days:
        yield "days", f"{len(days)} of {query.days}"
    for day in days:
        for key in ("days", "day"):
            stated = re.search(r"\d+", str(day.raw.get(key)))
            if stated and int(stated[0]) != day.number:
                yield "day_numbers", f"day {day.number} is called {day.raw[key]!r}"


def _route(days: list[Day], query, world: World) -> Found:
    for day in days:
        known = day.ends and all(city in world.state_of for city in day.cities)
        if not known or any(map(world.named_beside, day.ends)):
            yield "unclear_city", f"day {day.number}: {day.raw.get('current_city')!r}"
        if not known:
            return
    if days[0].cities[0] != query.org or not days[0].travels:
        yield "not_from_home", f"day 1 is in {days[0].raw['current_city']!r}"
    if days[-1].cities[-1] != query.org or not days[-1].travels:
        yield "not_back_home", f"the last day is in {days[-1].raw['current_city']!r}"
    for before, after in pairwise(days):
        if before.cities[-1] != after.cities[0]:
            yield "teleport", f"day {before.number} ends in {before.cities[-1]}, the next starts in {after.cities[0]}"
    stops = [city for day in days for city in day.cities][1:-1]
    if query.org in stops:
        yield "back_too_early", query.org
    yield from _destinations(set(stops) - {query.org}, query, world)


def _destinations(visited: set[str], query, world: World) -> Found:
    # "New York" is a city and a state: a trip of three days asks for a city where there is one of that name
    asks_for_a_city = query.days == 3 and query.dest in world.state_of
    for city in visited:
        if query.dest != (city if asks_for_a_city else world.state_of[city]):
            yield "wrong_destination", f"{city}, asked is {query.dest}"
    if len(visited) != query.visiting_city_number:
        yield "number_of_cities", f"{len(visited)} of {query.visiting_city_number}"


def _leg(day: Day, query, world: World) -> Found:
    where = f"day {day.number}: {day.raw.get('transportation')!r}"
    if not day.said("transportation"):
        if day.travels:
            yield "no_leg", where
        return
    if len(day.modes) > 1:
        yield "several_modes", where
    if len(set(day.legs)) > 1 or day.says_twice_where_a_leg_begins:
        yield "several_legs", where
    if not day.modes or len(day.leg_cities) != 2:
        yield "unclear_leg", where
        return
    if any(world.named_beside(end) for leg in day.legs for end in leg):
        yield "wrong_state", where
    if day.leg_cities != day.cities or day.leg_cities[0] == day.leg_cities[1]:
        yield "other_leg", where
    yield from _flight(day, query, world) if "flight" in day.modes else _road(day, world)


def _flight(day: Day, query, world: World) -> Found:
    where = f"day {day.number}: {day.flight_number} {day.leg_cities}"
    rows = world.flights_of(day.flight_number, day.leg_cities, query.date[day.number - 1])
    if not world.flies(day.flight_number, day.leg_cities):
        yield "unknown_leg", where
    elif not rows:
        yield "flight_date", f"{where} does not go on {query.date[day.number - 1]}"
    else:
        said = {"DepTime": day.time("departure"), "ArrTime": day.time("arrival")}
        if not any(all(time in (None, clock(row[column])) for column, time in said.items()) for row in rows):
            yield "flight_times", f"{where} at {said}, not {rows[0]['DepTime']} and {rows[0]['ArrTime']}"


def _road(day: Day, world: World) -> Found:
    where = f"day {day.number}: {day.said('transportation')!r}"
    if world.kilometres(day.leg_cities) is None:
        yield "unknown_leg", where
        return
    for word, fact in world.road_facts(day.leg_cities, day.modes[0]).items():
        stated = day.fact(word)
        if stated and _bare(stated) != _bare(fact):
            yield "road_facts", f"{where}: {word} is {fact!r}"


def _bare(fact: str) -> str:
    return re.sub(r"[\s,$]|\.0+$", "", fact.lower())


def _places(day: Day, world: World) -> Found:
    for part in PARTS[1:]:
        here = day.cities[-1:] if part == "accommodation" else day.cities
        for place in day.places(part):
            where = f"day {day.number}, in {' or '.join(here)}: {day.raw[part]!r}"
            if not world.rows(part, place):
                yield "unknown_place", where
            if here and place.city not in here:
                yield "other_city", where
            if world.named_beside(place):
                yield "wrong_state", where


def _meals_of_a_travel_day(day: Day, query, world: World) -> Found:
    if not day.travels or day.cities[0] == day.cities[1]:
        return
    arrived, flight = False, _times_of_flight(day, query, world)
    for meal, place in day.meals:
        if place.city == day.cities[0] and arrived:
            yield "meal_order", f"day {day.number}: {meal} in {place.city}"
        arrived = arrived or place.city == day.cities[1]
        if flight and place.city == day.cities[1] and flight[1] > LATEST_LANDING[meal]:
            yield "meal_in_flight", f"day {day.number}: {meal} in {place.city}, landing at {flight[1]}"
        if flight and place.city == day.cities[0] and flight[0] < EARLIEST_TAKE_OFF[meal]:
            yield "meal_in_flight", f"day {day.number}: {meal} in {place.city}, take-off at {flight[0]}"


def _times_of_flight(day: Day, query, world: World) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Take-off and landing; a landing after midnight counts on from 24."""
    rows = world.flights_of(day.flight_number, day.cities, query.date[day.number - 1])
    if not rows:
        return None
    (hour, minute), take_off = clock(rows[0]["ArrTime"]), clock(rows[0]["DepTime"])
    return take_off, (hour + 24 * ((hour, minute) < take_off), minute)


def _modes(days: list[Day], query) -> Found:
    modes = {mode for day in days for mode in day.modes}
    if "self-driving" in modes and len(modes) > 1:
        yield "clashing_modes", ", ".join(sorted(modes))
    avoided = AVOIDED.get(query.constraint("transportation"))
    if avoided in modes:
        yield "unwanted_mode", avoided


def _repeats(days: list[Day]) -> Found:
    for name, parts in (("same_restaurant", MEALS), ("same_attraction", ("attraction",))):
        seen = set()
        for place in (place for day in days for part in parts for place in day.places(part)):
            known = place.name.removesuffix(f", {place.city}"), place.city
            if known in seen:
                yield name, ", ".join(known)
            seen.add(known)


def _nights(days: list[Day]) -> Found:
    for day in days[:-1]:
        if not day.said("accommodation"):
            yield "no_night", f"day {day.number}"
    if days[-1].said("accommodation"):
        yield "night_after_the_trip", days[-1].said("accommodation")


def _rooms(days: list[Day], query, world: World) -> Found:
    rule, types = query.constraint("house rule"), ROOMS.get(query.constraint("room type"))
    wishes = {
        "minimum_nights": lambda row, nights: float(row["minimum nights"]) <= nights,
        "house_rule": lambda row, nights: rule is None or f"No {rule}" not in row["house_rules"].split(" & "),
        "room_type": lambda row, nights: types is None or row["room type"] in types,
    }
    for hotel, nights in _stays(days):
        rows = world.rows("accommodation", hotel)
        failed = [name for name, fits in wishes.items() if rows and not any(fits(row, nights) for row in rows)]
        for name in failed:
            yield name, f"{hotel.name}, {nights} nights"
        if rows and not failed and not any(all(fits(row, nights) for fits in wishes.values()) for row in rows):
            yield "no_such_room", hotel.name


def _stays(days: list[Day]) -> Iterator[tuple[Place, int]]:
    """(hotel, nights in a row) of each stay."""
    nights = [(day.places("accommodation") or [None])[0] for day in days[:-1]]
    while nights:
        hotel, count = nights[0], 1
        while hotel and count < len(nights) and hotel.same(nights[count]):
            count += 1
        if hotel:
            yield hotel, count
        nights = nights[count:]


def _amounts(days: list[Day]) -> Found:
    filled = sum(bool(day.said(part)) for day in days for part in PARTS)
    if 2 * filled < len(PARTS) * len(days):
        yield "half_filled", f"{filled} of {len(PARTS) * len(days)}"
    for day in days:
        missing = [part for part in (*MEALS, "attraction") if not day.said(part)]
        if len(day.cities) == 1 and missing:
            yield "thin_day", f"day {day.number}: {', '.join(missing)}"


def _cuisines(days: list[Day], query, world: World) -> Found:
    away = [place for day in days for _, place in day.meals if place.city != query.org]
    served = {c for place in away for row in world.rows("dinner", place) for c in row["Cuisines"].split(", ")}
    if missing := set(query.constraint("cuisine") or ()) - served:
        yield "cuisine", ", ".join(sorted(missing))


def _cost(days: list[Day], query, world: World) -> Found:
    people, cost = query.people_number, 0.0
    for day in days[: query.days]:
        cost += min(_ways(day, query, world), default=0)
        for _, place in day.meals:
            cost += people * min((float(row["Average Cost"]) for row in world.rows("dinner", place)), default=0)
        for hotel in day.places("accommodation"):
            rows = world.rows("accommodation", hotel)
            rooms = [float(row["price"]) * math.ceil(people / float(row["maximum occupancy"])) for row in rows]
            cost += min(rooms, default=0)
    if cost > query.budget:
        yield "budget", f"{cost:g} of {query.budget:g}"


def _ways(day: Day, query, world: World) -> Iterator[float]:
    """What the day's leg costs all travellers, by each of the modes that its text names."""
    for mode in day.modes:
        if mode == "flight":
            for row in world.flights_of(day.flight_number, day.leg_cities, query.date[day.number - 1]):
                yield query.people_number * float(row["Price"])
        elif (km := world.kilometres(day.leg_cities)) is not None:
            yield int(km * PER_KM[mode]) * math.ceil(query.people_number / SEATS[mode])
