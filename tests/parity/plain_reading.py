"""How a traveller reads tables and plans: what plain_sense.py judges by. It shares no code with the product."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

MEALS = ("breakfast", "lunch", "dinner")
PARTS = ("transportation", *MEALS, "attraction", "accommodation")
PER_KM = {"self-driving": 0.05, "taxi": 1}

CITY = re.compile(r"\s*([^(),;]+?)\s*([(,;].*)?", re.S)  # a city, and what stands behind it
TRAVEL = re.compile(r"\s*from\s+(.+?)\s+to\s+(.+)", re.S)
LEG = re.compile(r"\bfrom\s+(.+?)\s+to\s+(.+?)\s*(?=[,;]|$|\bfrom\s)", re.S | re.I)
LEG_BEGINS = re.compile(r"flight number|\bfrom\b", re.I)
NUMBER = re.compile(r"flight number\s*:?\s*([^\s,;]+)", re.I)
CLOCK = re.compile(r"(\d{1,2}):(\d\d)(?:\s*([ap])\.?m\b)?", re.I)
MODE_WORDS = {"flight": r"flight|\bfly\b|plane", "self-driving": r"self[ -]?driving", "taxi": r"taxi|\bcab\b"}
MODES = {mode: re.compile(words, re.I) for mode, words in MODE_WORDS.items()}


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
        self.flights = rows("flights/clean_Flights_2022.csv")
        self._flights, self._flown = defaultdict(list), set()
        for row in self.flights:
            leg = row["Flight Number"], row["OriginCityName"], row["DestCityName"]
            self._flights[*leg, row["FlightDate"]].append(row)
            self._flown.add(leg)
        self.roads = {}
        for row in rows("googleDistanceMatrix/distance.csv"):
            self.roads.setdefault((row["origin"], row["destination"]), row)
        lines = (database / "background/citySet_with_states.txt").read_text(encoding="utf-8").splitlines()
        self.state_of = dict(line.split("\t") for line in lines if line.strip())
        names = sorted({*self.state_of, *self.state_of.values()}, key=len, reverse=True)
        self._names = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\b")

    def named_beside(self, city: Place) -> set[str]:
        """The other cities and states that a text names behind a city."""
        return set(self._names.findall(city.rest)) - {city.city, self.state_of.get(city.city)} if city.rest else set()

    def flights_of(self, number: str, cities: tuple[str, ...], date: str) -> list[dict]:
        return self._flights.get((number, *cities, date), [])

    def flies(self, number: str, cities: tuple[str, ...]) -> bool:
        """Whether there is such a flight on any day."""
        return (number, *cities) in self._flown

    def kilometres(self, cities: tuple[str, ...]) -> float | None:
        row = self.roads.get(cities)
        if row is None or not row["duration"] or not row["distance"] or "day" in row["duration"]:
            return None
        return float(row["distance"].replace("km", "").replace(",", ""))

    def road_facts(self, cities: tuple[str, ...], mode: str) -> dict[str, str]:
        row, km = self.roads[cities], self.kilometres(cities)
        return {"duration": row["duration"], "distance": row["distance"], "cost": str(int(km * PER_KM[mode]))}

    def table(self, part: str) -> dict[tuple[str, str], list[dict]]:
        return {"attraction": self.attractions, "accommodation": self.hotels}.get(part, self.restaurants)

    def rows(self, part: str, place: Place) -> list[dict]:
        """The rows of a place, whose own name may end in its city."""
        table = self.table(part)
        return table.get((place.name, place.city)) or table.get((f"{place.name}, {place.city}", place.city), [])


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
    rest: str = ""

    def same(self, other: Place | None) -> bool:
        return other is not None and (self.name, self.city) == (other.name, other.city)


class Day:
    """A day as it is read. `ends` are its one or two cities in order, none where they are unclear."""

    def __init__(self, number: int, raw: dict):
        self.number = number
        self.raw = raw
        text = raw.get("current_city")
        text = text if isinstance(text, str) else ""
        travel = TRAVEL.fullmatch(text)
        ends = [_city(end) for end in (travel.groups() if travel else (text,))]
        self.ends: tuple[Place, ...] = tuple(ends) if all(ends) else ()
        self.cities = tuple(end.city for end in self.ends)
        self.travels = len(self.ends) == 2

    def said(self, part: str) -> str:
        """What the day says under `part`; nothing where that is no text or stands for nothing."""
        text = self.raw.get(part)
        return text if isinstance(text, str) and text.strip() not in ("", "-") else ""

    def places(self, part: str) -> list[Place]:
        texts = self.said(part).split(";") if part == "attraction" else [self.said(part)]
        return [_place(text) for text in texts if text.strip()]

    @cached_property
    def meals(self) -> list[tuple[str, Place]]:
        return [(meal, place) for meal in MEALS for place in self.places(meal)]

    @cached_property
    def modes(self) -> list[str]:
        """The ways to travel that the leg's text names."""
        return [mode for mode, words in MODES.items() if words.search(self.said("transportation"))]

    @cached_property
    def legs(self) -> list[tuple[Place, Place]]:
        """From where to where, as often as the leg's text says it."""
        ends = [tuple(map(_city, match.groups())) for match in LEG.finditer(self.said("transportation"))]
        return [pair for pair in ends if all(pair)]

    @cached_property
    def leg_cities(self) -> tuple[str, ...]:
        """From where to where the leg goes: what its text says first, or else the day's cities."""
        return tuple(end.city for end in self.legs[0]) if self.legs else self.cities

    @property
    def says_twice_where_a_leg_begins(self) -> bool:
        """Whether the leg's text names a second flight number, or says "from" again."""
        words = [word.lower() for word in LEG_BEGINS.findall(self.said("transportation"))]
        return len(words) > len(set(words))

    @property
    def flight_number(self) -> str:
        found = NUMBER.search(self.said("transportation"))
        return found[1] if found else ""

    def time(self, word: str) -> tuple[int, int] | None:
        """Hours and minutes of the "departure" or the "arrival" that the text states."""
        stated = re.search(rf"{word} time\s*:\s*([^,;]+)", self.said("transportation"), re.I)
        return clock(stated[1]) if stated else None

    def fact(self, word: str) -> str | None:
        """What the text states as the "duration", "distance" or "cost" of a road."""
        stated = re.search(rf"\b{word}\s*:\s*(.+?)\s*(?=,\s+[a-z]|;|$)", self.said("transportation"), re.I | re.S)
        return stated[1] if stated else None


def clock(text: str) -> tuple[int, int] | None:
    """Hours and minutes; nothing where the text holds no time of day."""
    time = CLOCK.search(text)
    if not time:
        return None
    hour, half = int(time[1]), (time[3] or "").lower()
    if half and hour <= 12:
        hour = hour % 12 + 12 * (half == "p")
    return hour, int(time[2])


def _place(text: str) -> Place:
    name, _, end = text.rpartition(",")
    return _city(end, name.strip()) or Place(text, "")


def _city(text: str, name: str = "") -> Place | None:
    found = CITY.fullmatch(text)
    return Place(name, found[1], found[2] or "") if found else None
