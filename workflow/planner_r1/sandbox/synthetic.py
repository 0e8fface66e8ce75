"""Made-up worlds in the official file format, at any scale.

A world of a few cities is what the default study trains in; 312 cities with 40 days of flights give the size of the
official tables. Files, folders and columns are those of TravelPlanner's released database, so the builder cannot
tell them apart.

Two properties make a small world learnable by a small model: names are two capitalised words that occur once in the
world, and a flight keeps its number, times and price on every day.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import cycle, islice, permutations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from planner_r1.errors import InputError
from planner_r1.sandbox import names

CUISINES = ("Chinese", "American", "Italian", "Mexican", "Indian", "Mediterranean", "French")
ROOM_TYPES = ("Entire home/apt", "Private room", "Shared room")
HOUSE_RULES = ("No parties", "No smoking", "No children under 10", "No pets", "No visitors")
PERMISSIVE = "Be considerate"  # a cell with no rule would drop the whole row, as in the official tables


@dataclass(frozen=True)
class WorldSpec:
    """How large a world is. Counts of restaurants, accommodations and attractions are per city.

    `flights` is the number of flights a day in each direction of each pair of cities, on `n_days` days from
    `first_day` on.
    """

    seed: int = 0
    cities: int = 3
    states: int = 1
    restaurants: int = 6
    accommodations: int = 4
    attractions: int = 4
    flights: int = 2
    first_day: str = "2022-03-01"
    n_days: int = 14

    def check(self) -> None:
        """Raise InputError for a world that cannot be made."""
        if self.seed < 0:
            raise InputError(f"world: 'seed' must be 0 or more, found {self.seed}")
        if not 2 <= self.cities <= len(names.CITIES):
            raise InputError(f"world: 'cities' must lie between 2 and {len(names.CITIES)}, found {self.cities}")
        if not 1 <= self.states <= min(self.cities, len(names.STATES)):
            most = min(self.cities, len(names.STATES))
            raise InputError(f"world: 'states' must lie between 1 and {most}, found {self.states}")
        for key, least, most in (
            ("restaurants", 1, len(names.RESTAURANTS)),
            ("accommodations", 1, len(names.ACCOMMODATIONS)),
            ("attractions", 1, len(names.ATTRACTIONS)),
            ("flights", 0, 100),
            ("n_days", 1, 366),
        ):
            if not least <= getattr(self, key) <= most:
                raise InputError(f"world: '{key}' must lie between {least} and {most}, found {getattr(self, key)}")
        try:
            date.fromisoformat(self.first_day)
        except ValueError:
            raise InputError(f"world: 'first_day' must be a day such as 2022-03-01, found {self.first_day!r}") from None


def write_world(spec: WorldSpec, out: Path) -> None:
    """Write a world's files below `out`, in the official folders. The same spec gives the same bytes.

    Raises:
        InputError: the spec asks for something that cannot be made.
    """
    spec.check()
    out = Path(out)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise InputError(f"{out}: cannot be made ({fault.strerror}); name a folder for the world") from None
    rng = np.random.default_rng(spec.seed)
    cities = [str(c) for c in rng.permutation(names.CITIES)[: spec.cities]]
    states = [str(s) for s in rng.permutation(names.STATES)[: spec.states]]
    _write_cities(out, cities, states)
    _write_restaurants(out, spec, cities, rng)
    _write_accommodations(out, spec, cities, rng)
    _write_attractions(out, spec, cities, rng)
    km = _distances(len(cities), rng)
    _write_distances(out, cities, km)
    _write_flights(out, spec, cities, km, rng)


def _write_cities(out: Path, cities: list[str], states: list[str]) -> None:
    folder = _folder(out, "background")
    home = dict(zip(cities, cycle(states), strict=False))
    (folder / "citySet.txt").write_text("\n".join(cities) + "\n", encoding="utf-8")
    (folder / "stateSet.txt").write_text("\n".join(states) + "\n", encoding="utf-8")
    lines = [f"{city}\t{state}" for city, state in home.items()]
    # The one released file without a line break at its end; the official code cannot read it with one.
    (folder / "citySet_with_states.txt").write_text("\n".join(lines), encoding="utf-8")


def _write_restaurants(out: Path, spec: WorldSpec, cities: list[str], rng: np.random.Generator) -> None:
    names_left = _names(names.RESTAURANTS, rng)
    rows = []
    for city in cities:
        # every cuisine has its turn, so that a city of a few restaurants still serves several
        first = rng.integers(len(CUISINES))
        for i, name in enumerate(islice(names_left, spec.restaurants)):
            main = CUISINES[(first + i) % len(CUISINES)]
            second = CUISINES[rng.integers(len(CUISINES))]
            cuisines = main if second == main else f"{main}, {second}"
            rating = f"{rng.integers(20, 50) / 10:.1f}"
            rows.append((len(rows), name, city, cuisines, int(rng.integers(10, 90)), rating))
    header = ("", "Name", "City", "Cuisines", "Average Cost", "Aggregate Rating")
    _write_csv(_folder(out, "restaurants") / "clean_restaurant_2022.csv", header, rows)


def _write_accommodations(out: Path, spec: WorldSpec, cities: list[str], rng: np.random.Generator) -> None:
    names_left = _names(names.ACCOMMODATIONS, rng)
    rows = []
    for city in cities:
        for i, name in enumerate(islice(names_left, spec.accommodations)):
            rules = [r for r in HOUSE_RULES if rng.random() < 0.25]
            # the first of each room type takes short stays
            nights = 1.0 if i < len(ROOM_TYPES) else float(rng.choice([1, 1, 2, 3]))
            price = float(rng.integers(10, 60) * 5)
            review = float(rng.integers(1, 6))
            occupancy = int(rng.integers(1, 5))
            room = ROOM_TYPES[i % len(ROOM_TYPES)]
            rule_text = " & ".join(rules) or PERMISSIVE
            rows.append((len(rows), name, room, price, nights, review, rule_text, occupancy, city))
    header = ("", "NAME", "room type", "price", "minimum nights", "review rate number", "house_rules")
    header += ("maximum occupancy", "city")
    _write_csv(_folder(out, "accommodations") / "clean_accommodations_2022.csv", header, rows)


def _write_attractions(out: Path, spec: WorldSpec, cities: list[str], rng: np.random.Generator) -> None:
    names_left = _names(names.ATTRACTIONS, rng)
    rows = []
    for city in cities:
        latitude, longitude = rng.integers(28, 47), rng.integers(-120, -75)
        for name in islice(names_left, spec.attractions):
            place = (int(latitude), int(longitude), str(rng.choice(names.STREETS)), int(rng.integers(5550000, 5559999)))
            website = name.replace(" ", "").lower() + ".example"
            rows.append((name, *place, website, city))
    header = ("Name", "Latitude", "Longitude", "Address", "Phone", "Website", "City")
    _write_csv(_folder(out, "attractions") / "attractions.csv", header, rows)


def _distances(n: int, rng: np.random.Generator) -> np.ndarray:
    """Road distances in km, [n, n], symmetric, from places drawn in a square."""
    places = rng.uniform(0, 1500, size=(n, 2))
    return np.maximum(40, np.linalg.norm(places[:, None] - places[None], axis=-1)).round().astype(int)


def _write_distances(out: Path, cities: list[str], km: np.ndarray) -> None:
    rows = []
    for i, j in permutations(range(len(cities)), 2):
        hours, minutes = divmod(int(km[i, j] * 60 / 90), 60)
        rows.append((cities[i], cities[j], "", f"{hours} hours {minutes} mins", f"{km[i, j]:,} km"))
    header = ("origin", "destination", "cost", "duration", "distance")
    _write_csv(_folder(out, "googleDistanceMatrix") / "distance.csv", header, rows)


def _write_flights(out: Path, spec: WorldSpec, cities: list[str], km: np.ndarray, rng: np.random.Generator) -> None:
    """All flights of all days, vectorised: the official size is 3.8 million rows."""
    n = len(cities)
    origin, destination = (side.ravel()[~np.eye(n, dtype=bool).ravel()] for side in np.indices((n, n)))
    origin, destination = np.repeat(origin, spec.flights), np.repeat(destination, spec.flights)
    routes = len(origin)
    numbers = (
        rng.permutation(9_000_000)[:routes] + 1_000_000 if routes > 9_000 else rng.permutation(9_000)[:routes] + 1_000
    )
    price = rng.integers(8, 60, routes) * 5
    departure = rng.integers(5 * 12, 21 * 12, routes) * 5  # minutes after midnight
    minutes = 40 + (km[origin, destination] // 12)
    arrival = (departure + minutes) % (24 * 60)
    first = date.fromisoformat(spec.first_day)
    days = np.array([(first + timedelta(days=d)).isoformat() for d in range(spec.n_days)])

    def clock(t: np.ndarray) -> list[str]:
        return [f"{m // 60:02d}:{m % 60:02d}" for m in t.tolist()]

    def every_day(values) -> pa.Array:
        """A column of the routes, repeated for each day."""
        return pa.array(values).take(pa.array(np.tile(np.arange(routes), spec.n_days)))

    city = np.array(cities, dtype=object)
    table = pa.table(
        {
            "": np.arange(routes * spec.n_days),
            "Flight Number": every_day([f"F{k}" for k in numbers.tolist()]),
            "Price": every_day(price),
            "DepTime": every_day(clock(departure)),
            "ArrTime": every_day(clock(arrival)),
            "ActualElapsedTime": every_day([f"{m // 60} hours {m % 60} minutes" for m in minutes.tolist()]),
            "FlightDate": pa.array(days).take(pa.array(np.repeat(np.arange(spec.n_days), routes))),
            "OriginCityName": every_day(city[origin].tolist()),
            "DestCityName": every_day(city[destination].tolist()),
            "Distance": every_day((km[origin, destination] * 0.62).round()),
        }
    )
    target = _folder(out, "flights") / "clean_Flights_2022.csv"
    pa.csv.write_csv(table, target, pa.csv.WriteOptions(quoting_style="none", quoting_header="none"))


def _names(pool: tuple[str, ...], rng: np.random.Generator):
    """Names without end: each of the pool once in a random order, then over again, as chains have branches."""
    return cycle([str(name) for name in rng.permutation(pool)])


def _folder(out: Path, name: str) -> Path:
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _write_csv(path: Path, header: tuple[str, ...], rows: list[tuple]) -> None:
    with open(path, "w", encoding="utf-8", newline="") as f:
        writer = csv.writer(f, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
