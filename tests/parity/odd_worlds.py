"""Made-up worlds with what made-up worlds are spared: names that hold other names, and numbers that mean two things."""

from __future__ import annotations

import csv
import random
from pathlib import Path

from planner_r1.sandbox.synthetic import WorldSpec, write_world

# Cities whose names hold one another, as "Bend" and "South Bend" do.
CITY_NAMES = ("York", "New York", "Yorkton", "Bend", "South Bend", "Benton")
SHORT_STAYS = (1, 1, 1, 2)
LONG_STAYS = (3, 5, 30)


def write_odd_world(seed: int, folder: Path) -> None:
    """Write the files of an odd world below `folder`: six cities of two states, twelve days of flights."""
    spec = WorldSpec(seed, cities=6, states=2, restaurants=9, accommodations=6, attractions=5, n_days=12)
    write_world(spec, folder)
    rng = random.Random(seed)
    listed = folder / "background/citySet_with_states.txt"
    state_of = dict(line.split("\t") for line in listed.read_text(encoding="utf-8").splitlines())
    renamed = dict(zip(state_of, rng.sample(CITY_NAMES, len(state_of)), strict=True))
    lines = [f"{renamed[city]}\t{state}" for city, state in state_of.items()]
    listed.write_text("\n".join(lines), encoding="utf-8")
    for table, make_odd in (
        ("restaurants/clean_restaurant_2022.csv", lambda rows: _odd_names(rows, "Name", "City", rng)),
        ("attractions/attractions.csv", lambda rows: _odd_names(rows, "Name", "City", rng)),
        ("accommodations/clean_accommodations_2022.csv", lambda rows: _odd_hotels(rows, rng)),
        ("googleDistanceMatrix/distance.csv", lambda rows: _odd_roads(rows, rng)),
        ("flights/clean_Flights_2022.csv", lambda rows: _odd_flights(rows, rng)),
    ):
        _rewrite(folder / table, renamed, make_odd)


def _rewrite(path: Path, renamed: dict[str, str], make_odd) -> None:
    with open(path, encoding="utf-8", newline="") as f:
        rows = [{column: renamed.get(cell, cell) for column, cell in row.items()} for row in csv.DictReader(f)]
    make_odd(rows)
    with open(path, "w", encoding="utf-8", newline="") as f:
        writer = csv.DictWriter(f, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _odd_names(rows: list[dict], name: str, city: str, rng: random.Random) -> None:
    """Some places are called after a city, after another place of their city, or like it."""
    for row in rows:
        other = rng.choice([r[name] for r in rows if r[city] == row[city]])
        chance = rng.random()
        if chance < 0.3:
            row[name] = f"{rng.choice(CITY_NAMES)} {row[name]}"
        elif chance < 0.4:
            row[name] = f"{other}, {row[name]}"
        elif chance < 0.5:
            row[name] = other
        elif chance < 0.55:
            row[name] = f"{row[name]}, {row[city]}"


def _odd_hotels(rows: list[dict], rng: random.Random) -> None:
    _odd_names(rows, "NAME", "city", rng)
    for row in rows:
        row["minimum nights"] = float(rng.choice(LONG_STAYS if rng.random() < 0.4 else SHORT_STAYS))


def _odd_roads(rows: list[dict], rng: random.Random) -> None:
    for row in rows:
        if rng.random() < 0.1:
            row["duration"] = "1 day 2 hours"


def _odd_flights(rows: list[dict], rng: random.Random) -> None:
    """Few numbers for many flights, and every day its own prices and times; some days without a flight."""
    for row in rows:
        row["Flight Number"] = f"F{int(row['Flight Number'][1:]) % 9}"
        row["Price"] = rng.randrange(40, 300, 5)
        departure = rng.randrange(5 * 60, 20 * 60, 5)
        row["DepTime"], row["ArrTime"] = (f"{m // 60:02}:{m % 60:02}" for m in (departure, departure + 95))
    rows[:] = [row for row in rows if rng.random() < 0.85]
