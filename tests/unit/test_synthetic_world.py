"""Made-up worlds: reproducible, of the size asked for, and acceptable to the builder of the official files."""

import csv
import io
import re
from pathlib import Path

import pytest

from parity import made_up_world
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


# --- the dialect of the released files -------------------------------------------------------------------------------

# All are UTF-8 without a byte order mark, end their lines with "\n" and quote those cells alone that hold a comma, a
# quote or a line break. Of each: whether its last line ends with a line break, and how the cells of its columns are
# written, in the order of the header; None: as text. A released cell may be empty instead.
INDEX = WHOLE = r"-?\d+"
FLOAT = r"-?\d+\.\d+"
TIME = r"\d\d:\d\d"
DIALECT = {
    "accommodations/clean_accommodations_2022.csv": (
        True,
        {"": INDEX, "NAME": None, "room type": None, "price": FLOAT, "minimum nights": FLOAT}
        | {"review rate number": FLOAT, "house_rules": None, "maximum occupancy": WHOLE, "city": None},
    ),
    "attractions/attractions.csv": (
        True,
        {"Name": None, "Latitude": FLOAT, "Longitude": FLOAT, "Address": None, "Phone": None, "Website": None}
        | {"City": None},
    ),
    "background/citySet.txt": (True, None),
    "background/citySet_with_states.txt": (False, None),
    "background/stateSet.txt": (True, None),
    "flights/clean_Flights_2022.csv": (
        True,
        {"": INDEX, "Flight Number": r"F\d+", "Price": WHOLE, "DepTime": TIME, "ArrTime": TIME}
        | {"ActualElapsedTime": r"\d+ hours \d+ minutes", "FlightDate": r"\d{4}-\d\d-\d\d"}
        | {"OriginCityName": None, "DestCityName": None, "Distance": FLOAT},
    ),
    "googleDistanceMatrix/distance.csv": (
        True,
        {"origin": None, "destination": None, "cost": ""}
        | {"duration": r"(\d+ days? )?(\d+ hours?)?( ?\d+ mins?)?", "distance": r"\d{1,3}((,\d{3})*|\.\d) km"},
    ),
    "restaurants/clean_restaurant_2022.csv": (
        True,
        {"": INDEX, "Name": None, "City": None, "Cuisines": None, "Average Cost": WHOLE, "Aggregate Rating": FLOAT},
    ),
}
# Made-up places lie at whole degrees, whole miles apart. As floats they would be shown to a model in other words than
# those that the kept studies' models were trained on.
WHOLE_IN_A_WORLD = dict.fromkeys(["Latitude", "Longitude", "Distance"], WHOLE)


def check_dialect(database: Path, other_cells: dict[str, str]) -> None:
    assert {path.relative_to(database).as_posix() for path in database.rglob("*.*")} == set(DIALECT)
    for name, (ends_with_line_break, columns) in DIALECT.items():
        text = (database / name).read_bytes().decode("utf-8")
        assert not text.startswith("\ufeff") and "\r" not in text, name
        assert text.endswith("\n") == ends_with_line_break and not text.endswith("\n\n"), name
        if columns is None:
            continue
        header, *cells = csv.reader(io.StringIO(text))
        written = io.StringIO()
        csv.writer(written, lineterminator="\n").writerows([header, *cells])
        assert written.getvalue() == text, name  # the writer quotes what needs it, and nothing else
        assert header == list(columns), name
        for column, found in zip(header, zip(*cells, strict=True), strict=False):  # a table may be empty
            form = other_cells.get(column, columns[column])
            assert form is None or all(re.fullmatch(form, cell) for cell in found if cell), (name, column)


def lines(path: Path) -> list[str]:
    """The lines of a text file as TravelPlanner's code takes them: cut at line breaks, nothing taken off before."""
    return path.read_text(encoding="utf-8").split("\n")


@pytest.mark.parametrize(
    "spec",
    [WorldSpec(), SPEC, WorldSpec(cities=2, flights=0), WorldSpec(cities=90, states=72, flights=1, n_days=1)],
    ids=["default", "small", "no flights", "many cities"],
)
def test_a_world_is_written_in_the_dialect_of_the_released_files(tmp_path, spec):
    write_world(spec, tmp_path)
    check_dialect(tmp_path, WHOLE_IN_A_WORLD)


def test_the_released_files_are_in_that_dialect(shared_data):
    check_dialect(shared_data / "travelplanner" / "database", {})


def test_the_official_reader_of_the_cities_reads_a_worlds(tmp_path):
    """It cuts each line at its tab into a city and a state: an empty line at the end would not make a pair."""
    write_world(SPEC, tmp_path / "world")
    pairs = [line.split("\t") for line in lines(tmp_path / "world/background/citySet_with_states.txt")]
    build(tmp_path / "world", tmp_path / "store")
    store = Store.open(tmp_path / "store")
    assert [city for city, _ in pairs] == lines(tmp_path / "world/background/citySet.txt")[:-1]
    assert {state: [c for c, s in pairs if s == state] for _, state in pairs} == store.states


# --- other ways to write the same world ------------------------------------------------------------------------------


def assert_same_store(world: Path, other: Path, folder: Path) -> None:
    build(world, folder / "one")
    build(other, folder / "two")
    one, two = files(folder / "one"), files(folder / "two")
    assert one.keys() == two.keys()
    for name in one.keys() - {"store.json"}:  # which holds the hashes of the files it was built from
        assert one[name] == two[name], name


def test_a_world_keeps_its_content_whatever_the_version_that_wrote_it(tmp_path):
    """The world kept beside its official verdicts was written by an earlier version, in another dialect."""
    spec = WorldSpec(seed=7, cities=12, states=3, restaurants=14, accommodations=10, attractions=8, n_days=21)
    write_world(spec, tmp_path / "world")
    assert_same_store(tmp_path / "world", made_up_world.DATABASE, tmp_path)


def with_carriage_returns(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))


def with_a_last_line_break(path: Path) -> None:
    """As a text editor saves it."""
    path.write_bytes(path.read_bytes().removesuffix(b"\n") + b"\n")


def with_every_cell_quoted(path: Path) -> None:
    if path.suffix == ".csv":
        with open(path, encoding="utf-8", newline="") as f:
            cells = list(csv.reader(f))
        with open(path, "w", encoding="utf-8", newline="") as f:
            csv.writer(f, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(cells)


@pytest.mark.parametrize("rewrite", [with_carriage_returns, with_a_last_line_break, with_every_cell_quoted])
def test_the_builder_reads_other_dialects_too(tmp_path, rewrite):
    write_world(SPEC, tmp_path / "world")
    write_world(SPEC, tmp_path / "other")
    for name in DIALECT:
        rewrite(tmp_path / "other" / name)
    assert files(tmp_path / "world") != files(tmp_path / "other")
    assert_same_store(tmp_path / "world", tmp_path / "other", tmp_path)
