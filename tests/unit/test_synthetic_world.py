"""Made-up worlds: reproducible, of the size asked for, and acceptable to the builder of the official files."""

import csv
import io
from pathlib import Path

import pytest

from planner_r1.errors import InputError
from planner_r1.sandbox.builder import build
from planner_r1.sandbox.store import Store
from planner_r1.sandbox.synthetic import WorldSpec, write_world

SPEC = WorldSpec(seed=3, cities=7, states=2, restaurants=9, accommodations=5, attractions=4, flights=2, n_days=6)


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def rows(path: Path) -> list[dict]:
    with open(path, newline="", encoding="utf-8") as f:
        return list(csv.DictReader(f))


def test_same_spec_gives_the_same_bytes_and_another_seed_does_not(tmp_path):
    write_world(SPEC, tmp_path / "a")
    write_world(SPEC, tmp_path / "b")
    write_world(WorldSpec(**{**SPEC.__dict__, "seed": 4}), tmp_path / "c")
    assert files(tmp_path / "a") == files(tmp_path / "b")
    assert files(tmp_path / "a") != files(tmp_path / "c")


def test_tables_have_the_size_asked_for_and_the_builder_keeps_every_row(tmp_path):
    write_world(SPEC, tmp_path / "world")
    assert len(rows(tmp_path / "world/flights/clean_Flights_2022.csv")) == 7 * 6 * 2 * 6
    assert len(rows(tmp_path / "world/restaurants/clean_restaurant_2022.csv")) == 7 * 9
    assert len(rows(tmp_path / "world/googleDistanceMatrix/distance.csv")) == 7 * 6
    build(tmp_path / "world", tmp_path / "store")
    store = Store.open(tmp_path / "store")
    assert len(store.cities) == 7 and len(store.states) == 2
    for city in store.cities:
        assert len(store.restaurants(city)) == 9
        assert len(store.accommodations(city)) == 5
        assert len(store.attractions(city)) == 4


def test_a_flight_keeps_its_number_and_price_on_every_day(tmp_path):
    write_world(SPEC, tmp_path)
    by_number = {}
    for row in rows(tmp_path / "flights/clean_Flights_2022.csv"):
        facts = {k: v for k, v in row.items() if k not in ("", "FlightDate")}
        assert by_number.setdefault(row["Flight Number"], facts) == facts
    assert len(by_number) == 7 * 6 * 2


def test_no_name_of_a_city_contains_another(tmp_path):
    write_world(SPEC, tmp_path)
    tables = (
        ("restaurants/clean_restaurant_2022.csv", "Name", "City"),
        ("attractions/attractions.csv", "Name", "City"),
    )
    for file, name, city in tables:
        places: dict[str, list[str]] = {}
        for row in rows(tmp_path / file):
            places.setdefault(row[city], []).append(row[name])
        for here in places.values():
            assert all(a == b or a not in b for a in here for b in here) and len(set(here)) == len(here)


@pytest.mark.parametrize(("key", "value"), [("cities", 1), ("states", 99), ("restaurants", 0), ("first_day", "March")])
def test_an_impossible_world_is_refused_by_the_name_of_the_key(tmp_path, key, value):
    with pytest.raises(InputError, match=key):
        write_world(WorldSpec(**{key: value}), tmp_path / "world")
    assert not (tmp_path / "world").exists()


# The dialect of each released file: its header, and whether it ends with a line break. All end their lines with "\n",
# no byte order mark, and quotes around those cells alone that hold a comma, a quote or a line break.
RELEASED = {
    "accommodations/clean_accommodations_2022.csv": (
        ",NAME,room type,price,minimum nights,review rate number,house_rules,maximum occupancy,city",
        True,
    ),
    "attractions/attractions.csv": ("Name,Latitude,Longitude,Address,Phone,Website,City", True),
    "background/citySet.txt": (None, True),
    "background/citySet_with_states.txt": (None, False),
    "background/stateSet.txt": (None, True),
    "flights/clean_Flights_2022.csv": (
        ",Flight Number,Price,DepTime,ArrTime,ActualElapsedTime,FlightDate,OriginCityName,DestCityName,Distance",
        True,
    ),
    "googleDistanceMatrix/distance.csv": ("origin,destination,cost,duration,distance", True),
    "restaurants/clean_restaurant_2022.csv": (",Name,City,Cuisines,Average Cost,Aggregate Rating", True),
}


def check_dialect(database: Path) -> None:
    for name, (header, ends_with_line_break) in RELEASED.items():
        text = (database / name).read_bytes().decode("utf-8")
        assert not text.startswith("\ufeff") and "\r" not in text, name
        assert text.endswith("\n") == ends_with_line_break and not text.endswith("\n\n"), name
        if header is not None:
            assert text.partition("\n")[0] == header, name
            written = io.StringIO()
            csv.writer(written, lineterminator="\n").writerows(csv.reader(io.StringIO(text)))
            assert written.getvalue() == text, name  # the writer quotes what needs it, and nothing else


def test_a_world_is_written_in_the_dialect_of_the_released_files(tmp_path):
    write_world(WorldSpec(seed=3, cities=4, states=2), tmp_path / "world")
    assert {str(path.relative_to(tmp_path / "world")) for path in (tmp_path / "world").rglob("*.*")} == set(RELEASED)
    check_dialect(tmp_path / "world")


def test_the_released_files_are_in_that_dialect(shared_data):
    check_dialect(shared_data / "travelplanner" / "database")


def test_the_official_reader_of_the_cities_reads_a_worlds(tmp_path):
    """It cuts the text at line breaks, and each piece at a tab: an empty piece at the end would not make a pair."""
    write_world(WorldSpec(seed=3, cities=4, states=2), tmp_path)
    text = (tmp_path / "background/citySet_with_states.txt").read_text(encoding="utf-8")
    assert dict(piece.split("\t") for piece in text.split("\n")).keys() == set(
        (tmp_path / "background/citySet.txt").read_text(encoding="utf-8").split()
    )


@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_the_builder_reads_either_line_end(tmp_path, line_break):
    """Copies of distance.csv with carriage returns are about."""
    write_world(WorldSpec(seed=3, cities=4, states=2), tmp_path / "world")
    before, after = tmp_path / "before", tmp_path / "after"
    build(tmp_path / "world", before)
    for name in RELEASED:
        path = tmp_path / "world" / name
        path.write_bytes(path.read_bytes().replace(b"\n", line_break.encode()))
    build(tmp_path / "world", after)
    for path in before.iterdir():
        if path.name != "store.json":  # which holds the hashes of the files it was built from
            assert path.read_bytes() == (after / path.name).read_bytes(), path.name
