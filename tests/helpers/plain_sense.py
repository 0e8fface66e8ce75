"""A judge that reads a plan as a traveller would, to hold the strict profile against.

It is written from what a trip is: it knows the tables, the query and the words of the plan, and none of the official
rules. It shares no code with the product and must never take any. Where a text can be read in several ways (two hotels
of one name), the traveller gets the kindest one, so that what it reports is wrong in any reading.
"""

from __future__ import annotations

import csv
import math
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MEALS = ("breakfast", "lunch", "dinner")
PARTS = ("transportation", *MEALS, "attraction", "accommodation")

BREACHES = {
    "days": "the plan has more or fewer days than the query",
    "day_numbers": "a day is numbered otherwise than it stands",
    "unclear_city": 'current_city is neither "A" nor "from A to B", cities with nothing or their own state behind them',
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
    "other_leg": "the leg is not the one of the day's cities",
    "unknown_leg": "the tables know no such road or flight, on any day",
    "flight_date": "the flight does not go on the day of the query's dates",
    "flight_times": "the stated times are not those of the flight",
    "road_facts": "the stated duration, distance or cost is not that of the road",
    "clashing_modes": "a car of one's own does not go with flights or taxis",
    "unwanted_mode": "the query rules the way to travel out",
    "unknown_place": "the city has no such restaurant, attraction or hotel",
    "wrong_state": "a city is said to lie in another state",
    "other_city": "a place lies where the travellers are not on that day",
    "meal_order": "a meal in the city that was left, after a meal in the city of arrival",
    "meal_in_flight": "a meal in the city of arrival, hours before the flight lands, or in the other after it left",
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

CITY = re.compile(r"\s*([^(),;]+?)\s*([(,;].*)?", re.S)  # a city, and what stands behind it
TRAVEL = re.compile(r"\s*from\s+(.+?)\s+to\s+(.+)", re.S)
LEG = re.compile(r"\bfrom\s+(.+?)\s+to\s+(.+?)\s*(?=[,;]|$|\bfrom\s)", re.S | re.I)
NUMBER = re.compile(r"flight number\s*:?\s*([^\s,;]+)", re.I)
CLOCK = re.compile(r"(\d{1,2}):(\d\d)")
MODE_WORDS = {"flight": r"flight|\bfly\b|plane", "self-driving": r"self[ -]?driving", "taxi": r"taxi|\bcab\b"}
SEATS = {"self-driving": 5, "taxi": 4}
PER_KM = {"self-driving": 0.05, "taxi": 1}
AVOIDED = {"no flight": "flight", "no self-driving": "self-driving"}
ROOMS = {
    "entire room": {"Entire home/apt"},
    "private room": {"Private room"},
    "shared room": {"Shared room"},
    "not shared room": {"Entire home/apt", "Private room"},
}
# When a meal in the city of arrival is too early, and one in the city that is left too late.
EARLIEST_LANDING = {"breakfast": "12:00", "lunch": "16:00", "dinner": "23:30"}
LATEST_TAKE_OFF = {"breakfast": "05:00", "lunch": "10:30", "dinner": "16:00"}


class World:
    """The tables of a database folder, by what a traveller looks them up by."""

    def __init__(self, database: Path):
        def rows(name):
            with open(database / name, encoding="utf-8", newline="") as f:
                return list(csv.DictReader(f))

        self.restaurants = _by_place(rows("restaurants/clean_restaurant_2022.csv"), "Name", "City")
        hotels = rows("accommodations/clean_accommodations_2022.csv")
        self.hotels = _by_place([row for row in hotels if all(row.values())], "NAME", "city")
        self.attractions = _by_place(rows("attractions/attractions.csv"), "Name", "City")
        self.flights, self.flown = defaultdict(list), set()
        for row in rows("flights/clean_Flights_2022.csv"):
            if all(cell for column, cell in row.items() if column):
                leg = row["Flight Number"], row["OriginCityName"], row["DestCityName"]
                self.flights[*leg, row["FlightDate"]].append(row)
                self.flown.add(leg)
        self.roads = {}
        for row in rows("googleDistanceMatrix/distance.csv"):
            self.roads.setdefault((row["origin"], row["destination"]), row)
        lines = (database / "background/citySet_with_states.txt").read_text(encoding="utf-8").splitlines()
        self.state_of = dict(line.split("\t") for line in lines if line.strip())
        names = sorted({*self.state_of, *self.state_of.values()}, key=len, reverse=True)
        self._names = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\b")

    def named_beside(self, city: str, text: str) -> set[str]:
        """The other cities and states that a text names behind a city."""
        return set(self._names.findall(text)) - {city, self.state_of.get(city)}


def _by_place(rows: list[dict], name: str, city: str) -> dict[tuple[str, str], list[dict]]:
    found = defaultdict(list)
    for row in rows:
        found[row[name].strip(), row[city].strip()].append(row)
    return dict(found)


@dataclass(frozen=True)
class Place:
    """A place, or with an empty name a city; `rest` is what stands behind the city."""

    name: str
    city: str
    rest: str


@dataclass(frozen=True)
class Day:
    """A day as it is read: its one or two cities in order (none where they are unclear), and its texts."""

    number: int
    raw: dict
    ends: tuple[Place, ...]

    @property
    def cities(self) -> tuple[str, ...]:
        return tuple(end.city for end in self.ends)

    def said(self, part: str) -> str:
        """What the day says under `part`; nothing where that is no text or stands for nothing."""
        text = self.raw.get(part)
        return text if isinstance(text, str) and text.strip() not in ("", "-") else ""

    @property
    def travels(self) -> bool:
        return len(self.cities) == 2

    def places(self, part: str) -> list[Place]:
        texts = self.said(part).split(";") if part == "attraction" else [self.said(part)]
        return [_place(text) for text in texts if text.strip()]


def _place(text: str) -> Place:
    name, _, end = text.rpartition(",")
    return _city(end, name.strip()) or Place(text, "", "")


def _city(text: str, name: str = "") -> Place | None:
    found = CITY.fullmatch(text)
    return Place(name, found[1], found[2] or "") if found else None


def _day(number: int, raw: dict) -> Day:
    text = raw.get("current_city")
    text = text if isinstance(text, str) else ""
    travel = TRAVEL.fullmatch(text)
    ends = [_city(end) for end in (travel.groups() if travel else (text,))]
    return Day(number, raw, tuple(ends) if all(ends) else ())


def breaches(plan: list[dict], query, world: World) -> dict[str, str]:
    """What is wrong with a plan in plain sense: names of BREACHES, each with its first instance.

    The days must be objects; of a plan in the official format all else may be anything.
    """
    days = [_day(number, raw) for number, raw in enumerate(plan, start=1) if raw != {}]
    found: dict[str, str] = {}
    for name, detail in _all(days, query, world):
        assert name in BREACHES, name
        found.setdefault(name, detail)
    return found


def _all(days: list[Day], query, world: World) -> Iterator[tuple[str, str]]:
    yield from _numbers(days, query)
    yield from _route(days, query, world)
    for day in days[: query.days]:
        yield from _leg(day, query, world)
        yield from _places(day, world)
        yield from _meals_of_a_travel_day(day, query, world)
    yield from _modes(days, query)
    yield from _repeats(days)
    yield from _nights(days, query, world)
    yield from _amounts(days)
    yield from _cuisines(days, query, world)
    yield from _cost(days, query, world)


def _numbers(days, query):
    if len(days) != query.days:
        yield "days", f"{len(days)} of {query.days}"
    for day in days:
        for key in ("days", "day"):
            stated = re.search(r"\d+", str(day.raw.get(key)))
            if stated and int(stated[0]) != day.number:
                yield "day_numbers", f"day {day.number} is called {day.raw[key]!r}"


def _route(days, query, world):
    for day in days:
        if not day.cities or not all(city in world.state_of for city in day.cities):
            yield "unclear_city", f"day {day.number}: {day.raw.get('current_city')!r}"
            return
        if any(world.named_beside(end.city, end.rest) for end in day.ends):
            yield "unclear_city", f"day {day.number}: {day.raw['current_city']!r}"
    if days[0].cities[0] != query.org or not days[0].travels:
        yield "not_from_home", f"day 1 is in {days[0].raw['current_city']!r}"
    if days[-1].cities[-1] != query.org or not days[-1].travels:
        yield "not_back_home", f"the last day is in {days[-1].raw['current_city']!r}"
    for before, after in zip(days, days[1:], strict=False):
        if before.cities[-1] != after.cities[0]:
            yield "teleport", f"day {before.number} ends in {before.cities[-1]}, the next starts in {after.cities[0]}"
    for day in days:
        if day.travels and day.cities[0] == day.cities[1]:
            yield "other_leg", f"day {day.number} goes from {day.cities[0]} to {day.cities[1]}"
    stops = [city for day in days for city in day.cities][1:-1]
    if query.org in stops:
        yield "back_too_early", query.org
    visited = set(stops) - {query.org}
    for city in visited:
        # "New York" is a city and a state: a trip of three days asks for a city where there is one of that name
        whole_city = query.days == 3 and query.dest in world.state_of
        if query.dest != (city if whole_city else world.state_of[city]):
            yield "wrong_destination", f"{city}, asked is {query.dest}"
    if len(visited) != query.visiting_city_number:
        yield "number_of_cities", f"{len(visited)} of {query.visiting_city_number}"


def _modes_named(text: str) -> list[str]:
    return [mode for mode, words in MODE_WORDS.items() if re.search(words, text, re.I)]


def _legs_named(text: str) -> list[tuple[Place, Place]]:
    ends = [tuple(map(_city, match.groups())) for match in LEG.finditer(text)]
    return [pair for pair in ends if all(pair)]


def _leg_cities(day: Day) -> tuple[str, ...]:
    """From where to where the day's leg goes: what its text says, or else the day's cities."""
    legs = _legs_named(day.said("transportation"))
    return tuple(end.city for end in legs[0]) if legs else day.cities


def _leg(day: Day, query, world: World):
    text, where = day.said("transportation"), f"day {day.number}: {day.raw.get('transportation')!r}"
    if not text:
        if day.travels:
            yield "no_leg", where
        return
    modes, legs = _modes_named(text), _legs_named(text)
    if len(modes) > 1:
        yield "several_modes", where
    if len(set(legs)) > 1 or len(re.findall(r"flight number|\bfrom\b", text, re.I)) > len(modes) + 1:
        yield "several_legs", where
    cities = _leg_cities(day)
    if not modes or len(cities) != 2:
        yield "unclear_leg", where
        return
    if any(world.named_beside(end.city, end.rest) for leg in legs for end in leg):
        yield "wrong_state", where
    if cities != day.cities:
        yield "other_leg", where
    if "flight" in modes:
        yield from _flight(day, query, world, text, cities)
    else:
        yield from _road(world, text, where, cities, modes[0])


def _flight(day: Day, query, world: World, text: str, cities):
    number = NUMBER.search(text)
    leg = (number[1] if number else "", *cities)
    if leg not in world.flown:
        yield "unknown_leg", f"day {day.number}: {leg}"
        return
    rows = world.flights.get((*leg, _date(day, query)))
    if not rows:
        yield "flight_date", f"day {day.number}: {leg} does not go on {_date(day, query)}"
        return
    said = {"DepTime": _stated_time(text, "departure"), "ArrTime": _stated_time(text, "arrival")}
    if not any(all(value in (None, _clock(row[column])) for column, value in said.items()) for row in rows):
        yield "flight_times", f"day {day.number}: {said}, the flight has {rows[0]['DepTime']} and {rows[0]['ArrTime']}"


def _stated_time(text: str, word: str) -> tuple[int, int] | None:
    stated = re.search(rf"{word} time\s*:\s*([^,;]+)", text, re.I)
    return _clock(stated[1]) if stated else None


def _clock(text: str) -> tuple[int, int] | None:
    """Hours and minutes; nothing where the text holds no time of day."""
    time = CLOCK.search(text)
    if not time:
        return None
    afternoon = re.search(r"\bp\.?m", text[time.end() :], re.I) and int(time[1]) < 12
    return int(time[1]) + 12 * bool(afternoon), int(time[2])


def _date(day: Day, query) -> str:
    return query.date[day.number - 1] if day.number <= len(query.date) else ""


def _road(world: World, text: str, where: str, cities, mode: str):
    km = _kilometres(world, cities)
    if km is None:
        yield "unknown_leg", where
        return
    row = world.roads[cities]
    facts = {"duration": row["duration"], "distance": row["distance"], "cost": str(int(km * PER_KM[mode]))}
    for word, fact in facts.items():
        stated = re.search(rf"\b{word}\s*:\s*(.+?)\s*(?=,\s+[a-z]|;|$)", text, re.I | re.S)
        if stated and _plain(stated[1]) != _plain(fact):
            yield "road_facts", f"{where}: {word} is {fact!r}"


def _plain(fact: str) -> str:
    return re.sub(r"[\s,$]|\.0+$", "", fact.lower())


def _kilometres(world: World, cities) -> float | None:
    row = world.roads.get(cities)
    if row is None or not row["duration"] or not row["distance"] or "day" in row["duration"]:
        return None
    return float(row["distance"].replace("km", "").replace(",", ""))


def _tables(world: World):
    return {**dict.fromkeys(MEALS, world.restaurants), "attraction": world.attractions, "accommodation": world.hotels}


def _places(day: Day, world: World):
    for part, table in _tables(world).items():
        here = day.cities[-1:] if part == "accommodation" else day.cities
        for place in day.places(part):
            if (place.name, place.city) not in table:
                yield "unknown_place", f"day {day.number}: {day.raw[part]!r}"
            if here and place.city not in here:
                yield "other_city", f"day {day.number}, in {here}: {day.raw[part]!r}"
            if world.named_beside(place.city, place.rest):
                yield "wrong_state", f"day {day.number}: {day.raw[part]!r}"


def _meals_of_a_travel_day(day: Day, query, world: World):
    if not day.travels or day.cities[0] == day.cities[1]:
        return
    arrived, flight = False, _flight_row(day, query, world)
    for meal in MEALS:
        for place in day.places(meal):
            if place.city == day.cities[0] and arrived:
                yield "meal_order", f"day {day.number}: {meal} in {place.city}"
            arrived = arrived or place.city == day.cities[1]
            if flight and place.city == day.cities[1] and _next_day(flight, "ArrTime") > EARLIEST_LANDING[meal]:
                yield "meal_in_flight", f"day {day.number}: {meal} in {place.city}, landing at {flight['ArrTime']}"
            if flight and place.city == day.cities[0] and flight["DepTime"] < LATEST_TAKE_OFF[meal]:
                yield "meal_in_flight", f"day {day.number}: {meal} in {place.city}, take-off at {flight['DepTime']}"


def _next_day(flight: dict, column: str) -> str:
    """The time of a flight that may land after midnight, as a text that sorts."""
    return flight[column] if flight["DepTime"] <= flight[column] else "24:00"


def _flight_row(day: Day, query, world: World) -> dict | None:
    number = NUMBER.search(day.said("transportation"))
    rows = world.flights.get((number[1], *day.cities, _date(day, query))) if number else None
    return rows[0] if rows else None


def _modes(days, query):
    modes = [mode for day in days for mode in _modes_named(day.said("transportation"))]
    if "self-driving" in modes and len(set(modes)) > 1:
        yield "clashing_modes", ", ".join(sorted(set(modes)))
    avoided = AVOIDED.get(query.constraint("transportation"))
    if avoided in modes:
        yield "unwanted_mode", avoided


def _repeats(days):
    for name, parts in (("same_restaurant", MEALS), ("same_attraction", ("attraction",))):
        seen = set()
        for place in (place for day in days for part in parts for place in day.places(part)):
            if (place.name, place.city) in seen:
                yield name, f"{place.name}, {place.city}"
            seen.add((place.name, place.city))


def _stays(days) -> Iterator[tuple[Place, int]]:
    """(hotel, nights in a row) of each stay."""
    nights = [(day.places("accommodation") or [None])[0] for day in days[:-1]]
    while nights:
        hotel, count = nights[0], 1
        while count < len(nights) and hotel and nights[count] and _same(nights[count], hotel):
            count += 1
        if hotel:
            yield hotel, count
        nights = nights[count:]


def _same(one: Place, other: Place) -> bool:
    return (one.name, one.city) == (other.name, other.city)


def _nights(days, query, world: World):
    for day in days[:-1]:
        if not day.said("accommodation"):
            yield "no_night", f"day {day.number}"
    if days[-1].said("accommodation"):
        yield "night_after_the_trip", days[-1].said("accommodation")
    rule, types = query.constraint("house rule"), ROOMS.get(query.constraint("room type"))
    tests = {
        "minimum_nights": lambda row, nights: float(row["minimum nights"]) <= nights,
        "house_rule": lambda row, nights: rule is None or f"No {rule}" not in row["house_rules"].split(" & "),
        "room_type": lambda row, nights: types is None or row["room type"] in types,
    }
    for hotel, nights in _stays(days):
        rows = world.hotels.get((hotel.name, hotel.city), [])
        failed = [name for name, fits in tests.items() if rows and not any(fits(row, nights) for row in rows)]
        for name in failed:
            yield name, f"{hotel.name}, {nights} nights"
        if rows and not failed and not any(all(fits(row, nights) for fits in tests.values()) for row in rows):
            yield "no_such_room", hotel.name


def _amounts(days):
    filled = sum(bool(day.said(part)) for day in days for part in PARTS)
    if 2 * filled < len(PARTS) * len(days):
        yield "half_filled", f"{filled} of {len(PARTS) * len(days)}"
    for day in days:
        missing = [part for part in (*MEALS, "attraction") if not day.said(part)]
        if len(day.cities) == 1 and missing:
            yield "thin_day", f"day {day.number}: {', '.join(missing)}"


def _cuisines(days, query, world: World):
    served = set()
    for place in (place for day in days for meal in MEALS for place in day.places(meal) if place.city != query.org):
        for row in world.restaurants.get((place.name, place.city), []):
            served |= set(row["Cuisines"].split(", "))
    if missing := set(query.constraint("cuisine") or ()) - served:
        yield "cuisine", ", ".join(sorted(missing))


def _cost(days, query, world: World):
    people, cost = query.people_number, 0.0
    for day in days[: query.days]:
        cost += _cheapest_way(day, query, world)
        for place in (place for meal in MEALS for place in day.places(meal)):
            rows = world.restaurants.get((place.name, place.city), [])
            cost += people * min((float(row["Average Cost"]) for row in rows), default=0)
        for hotel in day.places("accommodation"):
            rows = world.hotels.get((hotel.name, hotel.city), [])
            rooms = [float(row["price"]) * math.ceil(people / float(row["maximum occupancy"])) for row in rows]
            cost += min(rooms, default=0)
    if cost > query.budget:
        yield "budget", f"{cost:g} of {query.budget:g}"


def _cheapest_way(day: Day, query, world: World) -> float:
    """What the day's leg costs all travellers: the one it states, by the cheapest of the modes that it names."""
    text, people = day.said("transportation"), query.people_number
    cities, prices = _leg_cities(day), []
    for mode in _modes_named(text):
        if mode == "flight":
            number = NUMBER.search(text)
            rows = world.flights.get((number[1], *cities, _date(day, query)), []) if number else []
            prices += [people * float(row["Price"]) for row in rows]
        elif (km := _kilometres(world, cities)) is not None:
            prices.append(int(km * PER_KM[mode]) * math.ceil(people / SEATS[mode]))
    return min(prices, default=0.0)
