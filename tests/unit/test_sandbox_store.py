"""The store against plain scans of the CSV files, and against what the benchmark's reference information lists."""

import csv
import json
import random
import re
import subprocess
import sys

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import small_database as small
from planner_r1.errors import InputError
from planner_r1.sandbox.builder import build
from planner_r1.sandbox.store import Leg, Store, bare_city

KINDS = {"Attractions": "attractions", "Restaurants": "restaurants", "Accommodations": "accommodations"}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    build(small.write_database(folder / "database"), folder / "store")
    return Store.open(folder / "store")


@pytest.fixture(scope="module")
def database(shared_data):
    return shared_data / "travelplanner/database"


@pytest.fixture(scope="module")
def real(database, tmp_path_factory):
    out = tmp_path_factory.mktemp("real") / "store"
    build(database, out)
    return Store.open(out)


@pytest.fixture(scope="module")
def reference(shared_data):
    """(what was asked, the answer) of all queries of both splits."""
    answers = []
    for file in sorted((shared_data / "travelplanner/reference").glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            answers += json.loads(line).items()
    assert len(answers) > 3000
    return answers


def scan(path, **wanted):
    """Rows of a CSV without an empty cell, whose columns hold the wanted values; by Python's reader alone."""
    with open(path, encoding="utf-8", newline="") as f:
        rows = [row for row in csv.DictReader(f) if all(row.values())]
    return [row for row in rows if all(row[column] == value for column, value in wanted.items())]


def same(found, expected):
    """Whether typed rows hold the values of the rows of text, for every fact (the unnamed index is none)."""

    def value(text, kind):
        return text if kind is str else kind(float(text))

    assert len(found) == len(expected)
    return all(
        set(row) == set(texts) - {""} and all(value(texts[c], type(v)) == v for c, v in row.items())
        for row, texts in zip(found, expected, strict=True)
    )


def test_flights_come_in_file_order_with_the_official_columns(store):
    found = store.flights("Toledo", "Erie", "2022-03-01")
    assert [row["Flight Number"] for row in found] == ["F2", "F0"]
    assert found[0] == {
        "Flight Number": "F2", "Price": 20, "DepTime": "07:00", "ArrTime": "08:13",
        "ActualElapsedTime": "1 hours 13 minutes", "FlightDate": "2022-03-01", "OriginCityName": "Toledo",
        "DestCityName": "Erie", "Distance": 253.0,
    }  # fmt: skip
    assert list(found[0]) == small.HEADERS[small.FLIGHTS][1:]
    assert store.flights("Toledo", "Erie", "2022-03-03") == []
    assert store.flights("Erie", "Toledo", "2022-03-02") == []
    assert store.flights("Toledo", "Toledo", "2022-03-01") == []
    assert store.flights("Toledo(Ohio)", "Erie", "2022-03-01") == []


def test_look_ups_of_the_evaluator(store):
    assert store.flight_price("F2") == 20.0 and isinstance(store.flight_price("F2"), float)
    assert store.flight_price("F7") is None and store.flight_price("") is None and store.flight_price("F") is None
    assert store.flight_exists("F2", "Toledo", "Erie") and store.flight_exists("F2", "Erie", "Toledo")
    assert store.flight_exists("F9", "Toledo", "Erie") and not store.flight_exists("F9", "Erie", "Toledo")
    assert not store.flight_exists("F9", "Toledo", "Nowhere") and not store.flight_exists("F8", "Toledo", "Erie")


def test_find_is_literal_and_by_case_in_file_order(store):
    def names(*arguments, **options):
        return [row["Name"] for row in store.find("restaurants", *arguments, **options)]

    assert names("Café", "Toledo") == ['Café "Ö"', "Café"]
    assert names("Café", "Toledo", exact=True) == ["Café"]
    assert names("café", "Toledo") == [] and names("Caf.", "Toledo") == [] and names("Café", "Erie") == []
    assert names("", "Toledo") == ['Café "Ö"', "Café"] and names("", "", exact=True) == []
    assert store.find("accommodations", "bright;\nand", "Toledo")[0]["price"] == 131.0
    assert store.find("attractions", "Pier", "Erie")[0]["Website"] == "Unknown"


def test_a_caller_may_change_the_rows_it_got(store):
    store.restaurants("Toledo")[0].clear()
    store.find("restaurants", "Café", "Toledo")[0].clear()
    store.flights("Toledo", "Erie", "2022-03-01")[0].clear()
    assert store.restaurants("Toledo")[0] == store.find("restaurants", "Café", "Toledo")[0] != {}
    assert store.flights("Toledo", "Erie", "2022-03-01")[0]["Flight Number"] == "F2"


def test_legs(store):
    leg = store.leg("Toledo", "Erie")
    assert leg == Leg("3 hours 2 mins", "1,319.9 km", 1319.9)
    assert leg.cost("self-driving") == 65 and leg.cost("taxi") == 1319
    assert store.leg("Erie", "Toledo") is None  # takes more than a day
    assert store.leg("Moab", "Erie") is None  # its first row holds nothing
    assert store.leg("Moab", "Toledo").cost("self-driving") == 0
    assert store.leg("Moab", "Nowhere") is None
    with pytest.raises(ValueError, match="bus"):
        leg.cost("bus")


def test_cities_and_states_keep_the_order_of_the_file(store):
    assert list(store.cities.items())[:2] == [("Toledo", "Ohio"), ("Erie", "Pennsylvania")]
    assert store.states == {"Ohio": ["Toledo", "Dayton"], "Pennsylvania": ["Erie"], "Utah": ["Moab"]}
    assert store.places == {"Toledo", "Erie", "Moab", "Dayton"}
    assert bare_city("Toledo(Ohio)") == bare_city(" Toledo (Ohio") == bare_city("Toledo") == "Toledo"


@given(st.text(), st.text(st.characters(), max_size=5))
@settings(max_examples=300, deadline=None)
def test_look_ups_take_any_text(store, text, city):
    for lone in (text, text + "\ud800"):
        assert store.flight_price(lone) is None or re.fullmatch("F[0-9]", lone)
        assert isinstance(store.flight_exists(lone, "Toledo", "Erie"), bool)
        assert store.flights(lone, city, lone) == [] and store.leg(lone, city) is None
        assert store.find("restaurants", lone, city) == []


def test_a_folder_that_is_no_whole_store_is_refused(store, tmp_path):
    with pytest.raises(InputError, match="no store here"):
        Store.open(tmp_path)
    for file in store.folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    Store.open(tmp_path)
    flights = tmp_path / "flights.arrow"
    flights.write_bytes(flights.read_bytes()[:-1])
    with pytest.raises(InputError, match=r"flights.arrow: .* incomplete"):
        Store.open(tmp_path)
    description = json.loads((tmp_path / "store.json").read_text())
    (tmp_path / "store.json").write_text(json.dumps({**description, "format": 999}))
    with pytest.raises(InputError, match="format 999"):
        Store.open(tmp_path)
    (tmp_path / "store.json").write_text("[]")
    with pytest.raises(InputError, match="not the description"):
        Store.open(tmp_path)


def test_opening_a_store_imports_no_heavy_library(store):
    program = (
        "import sys; from planner_r1.sandbox.tools import Toolbox; from planner_r1.sandbox.store import Store;"
        f"s = Store.open({str(store.folder)!r}); s.flights('Toledo', 'Erie', '2022-03-01'); s.restaurants('Erie');"
        "print([m for m in ('pandas', 'torch', 'snakemake', 'ray', 'verl', 'transformers') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_every_row_of_the_real_tables_is_found_by_its_city(database, real):
    for file, column, look_up in (
        (small.RESTAURANTS, "City", real.restaurants),
        (small.ACCOMMODATIONS, "city", real.accommodations),
        (small.ATTRACTIONS, "City", real.attractions),
    ):
        by_city = {}
        for row in scan(database / file):
            by_city.setdefault(row[column], []).append(row)
        for city in real.places:
            assert same(look_up(city), by_city.pop(city, [])), city
        assert not by_city
    with open(database / small.CITIES, encoding="utf-8") as f:
        assert list(real.cities.items()) == [tuple(line.rstrip("\n").split("\t")) for line in f]


def test_every_real_flight_is_found_as_pandas_finds_it(database, real):
    frame = pd.read_csv(database / small.FLIGHTS).dropna().drop(columns="Unnamed: 0")
    keys = ["OriginCityName", "DestCityName", "FlightDate"]
    for key, group in frame.groupby(keys):
        assert real.flights(*key) == group.to_dict("records")
    for row in frame.itertuples():
        assert real.flight_price(row[1]) == float(row.Price)
        assert real.flight_exists(row[1], row.OriginCityName, row.DestCityName)
        assert not real.flight_exists(row[1], row.DestCityName, row.OriginCityName)


def test_find_in_the_real_tables_against_a_scan(database, real):
    rng = random.Random(0)
    for file, table, name, city in (
        (small.RESTAURANTS, "restaurants", "Name", "City"),
        (small.ACCOMMODATIONS, "accommodations", "NAME", "city"),
        (small.ATTRACTIONS, "attractions", "Name", "City"),
    ):
        rows = scan(database / file)
        for row in rng.sample(rows, 300):
            start = rng.randrange(len(row[name]))
            part = row[name][start : start + rng.randrange(1, 12)]
            here = [r for r in rows if r[city] == row[city]]
            assert same(real.find(table, part, row[city]), [r for r in here if part in r[name]])
            whole = [r for r in here if r[name] == row[name]]
            assert same(real.find(table, row[name], row[city], exact=True), whole) and whole


def test_reference_information_of_the_places(real, reference):
    """The reference of the validation split lacks some columns: those it has are compared."""
    asked = 0
    for question, answer in reference:
        kind, _, city = question.partition(" in ")
        if kind in KINDS:
            asked += 1
            found = getattr(real, KINDS[kind])(city)
            listed = [] if isinstance(answer, str) else answer
            assert [{c: row[c] for c in reply} for row, reply in zip(found, listed, strict=True)] == listed, question
    assert asked > 1000


def test_reference_information_of_the_flights(real, reference):
    asked = 0
    for question, answer in reference:
        if match := re.fullmatch(r"Flight from (.+) to (.+) on (\d{4}-\d\d-\d\d)", question):
            asked += 1
            assert real.flights(*match.groups()) == ([] if isinstance(answer, str) else answer)
    assert asked > 600


def test_reference_information_of_the_roads(real, reference):
    asked = 0
    for question, answer in reference:
        if match := re.fullmatch(r"(Self-driving|Taxi) from (.+) to (.+)", question):
            asked += 1
            mode, origin, destination = match.groups()
            leg = real.leg(origin, destination)
            if leg is None:
                assert answer == "No valid information.", question
            else:
                assert answer == (
                    f"{mode.lower()}, from {origin} to {destination}, duration: {leg.duration}, "
                    f"distance: {leg.distance}, cost: {leg.cost(mode.lower())}"
                )
    assert asked > 1300


def test_flight_searches_that_must_find_nothing(shared_data, real):
    with open(shared_data / "travelplanner/flight_queries_without_result.csv", encoding="utf-8", newline="") as f:
        rows = list(csv.DictReader(f))
    assert len(rows) == 320
    for row in rows:
        assert real.flights(row["origin"], row["destination"], row["date"]) == []
