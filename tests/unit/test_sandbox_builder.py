"""The builder: the rows it keeps, one clear error for each fault of a source, and that it never spoils a store."""

import csv
import json
import os

import pytest

from helpers import small_database as small
from planner_r1.errors import InputError
from planner_r1.sandbox import builder
from planner_r1.sandbox.builder import build
from planner_r1.sandbox.store import Store


@pytest.fixture
def database(tmp_path):
    return small.write_database(tmp_path / "database")


def spoil(path, old, new):
    data = path.read_bytes()
    assert data.count(old) >= 1
    path.write_bytes(data.replace(old, new, 1))


def error_of(database, out):
    """The message of the build's one error; nothing may have been written by then."""
    before = sorted(out.parent.iterdir())
    with pytest.raises(InputError) as caught:
        build(database, out)
    assert sorted(out.parent.iterdir()) == before
    return str(caught.value)


def test_rows_with_an_empty_cell_are_dropped_and_counted(database, tmp_path):
    report = build(database, tmp_path / "store")
    assert report.to_json() == {
        "cities": {"read": 4, "kept": 4, "dropped": 0},
        "accommodations": {"read": 4, "kept": 3, "dropped": 1},
        "restaurants": {"read": 3, "kept": 3, "dropped": 0},
        "attractions": {"read": 1, "kept": 1, "dropped": 0},
        "flights": {"read": 7, "kept": 5, "dropped": 2},
        "distances": {"read": 6, "kept": 2, "dropped": 4},
    }
    assert "accommodations" in str(report) and "1 dropped" in str(report)
    description = json.loads((tmp_path / "store/store.json").read_text())
    assert description["rows"] == report.to_json() and len(description["sha256"]) == 6


def test_only_an_empty_cell_is_missing_and_text_is_kept_to_the_letter(database, tmp_path):
    build(database, tmp_path / "store")
    store = Store.open(tmp_path / "store")
    assert [row["NAME"] for row in store.accommodations("Toledo")] == ["Loft, bright;\nand big", "Loft"]
    [row] = store.accommodations("Erie")
    assert row == {
        "NAME": "NA", "price": 60.5, "room type": "Shared room", "house_rules": "None", "minimum nights": 2.0,
        "maximum occupancy": 1, "review rate number": 3.0, "city": "Erie",
    }  # fmt: skip
    assert [type(v) for v in (row["minimum nights"], row["maximum occupancy"])] == [float, int]
    assert [row["Name"] for row in store.restaurants("Toledo")] == ['Café "Ö"', "Café"]


def test_a_quoted_empty_cell_and_windows_line_breaks(database, tmp_path):
    spoil(database / small.RESTAURANTS, b"American", b'""')
    path = database / small.ATTRACTIONS
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    report = build(database, tmp_path / "store").to_json()
    assert report["restaurants"]["dropped"] == 1 and report["attractions"]["kept"] == 1


def test_tables_may_be_empty(database, tmp_path):
    for file in small.ROWS:
        header = (database / file).read_bytes().split(b"\n")[0]
        (database / file).write_bytes(header + b"\n")
    build(database, tmp_path / "store")
    store = Store.open(tmp_path / "store")
    assert store.flights("Toledo", "Erie", "2022-03-01") == [] == store.restaurants("Toledo")
    assert store.leg("Toledo", "Erie") is None and store.flight_price("F1") is None


def test_a_missing_folder_and_missing_files_are_named(database, tmp_path):
    assert "no such folder" in error_of(tmp_path / "nowhere", tmp_path / "store")
    (database / small.FLIGHTS).unlink()
    (database / small.CITIES).unlink()
    message = error_of(database, tmp_path / "store")
    assert small.FLIGHTS in message and small.CITIES in message


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        (small.FLIGHTS, b"FlightDate", b"Date", ["column 'FlightDate' missing", "'Date'"]),
        (small.RESTAURANTS, b"Cuisines", b"Name", ["column 'Cuisines' missing"]),
        (small.DISTANCES, b"cost", b"origin", ["column 'origin' stands more than once"]),
        (small.FLIGHTS, b"FlightDate", b'"FlightDate', ["header", "valid CSV row"]),
        (small.FLIGHTS, b",Flight Number", b"<html>\n<body>", ["'Flight Number', 'Price'", "'<html>'"]),
        (small.FLIGHTS, b"Flight Number", b"x" * 500 + b"," * 500, ["column 'Flight Number' missing", ", ..."]),
        (small.FLIGHTS, b"F1,10,", b"F1,cheap,", ["column 'Price', row 3", "'cheap' is not a number"]),
        (small.FLIGHTS, b"F1,10,", b"F1,nan,", ["column 'Price', row 3", "'nan' is not a number"]),
        (small.FLIGHTS, b"F1,10,", b"F1,NA,", ["column 'Price', row 3", "'NA' is not a number"]),
        (small.FLIGHTS, b"F1,10,", b"F1,1e999,", ["column 'Price', row 3", "is not a number"]),
        (small.FLIGHTS, b"2022-03-02", b"2022-02-30", ["column 'FlightDate', row 1", "YYYY-MM-DD"]),
        (small.FLIGHTS, b"2022-03-02", b"03/02/2022", ["column 'FlightDate', row 1", "YYYY-MM-DD"]),
        (small.ACCOMMODATIONS, b"No pets,1,", b"No pets,0,", ["'maximum occupancy', row 2", "above zero"]),
        (small.DISTANCES, b"mins,19.9 km", b"mins,12 miles", ["column 'distance', row 6", "'12 miles'"]),
        (small.CITIES, b"Erie\t", b"Erie ", ["line 2", "a tab and its state"]),
        (small.CITIES, b"Moab\tUtah", b"Erie\tUtah", ["line 3", "'Erie' stands twice"]),
        (small.RESTAURANTS, b"1,\"Burger, Inc\"", b"1,\"Burger, Inc", ["row 2", "not closed", "download it again"]),
        (small.RESTAURANTS, b",American", b"", ["row 2", "5 cells where the header has 6"]),
        (small.RESTAURANTS, b",American", b",American,x", ["row 2", "7 cells where the header has 6"]),
        (small.RESTAURANTS, b"American", b"Ameri\0can", ["line 3", "zero byte"]),
    ],
)  # fmt: skip
def test_one_spoiled_place_gives_one_error_that_names_it(database, tmp_path, file, old, new, expected):
    spoil(database / file, old, new)
    message = error_of(database, tmp_path / "store")
    assert str(database / file) in message and len(message) < 1000
    for words in expected:
        assert words in message


@pytest.mark.parametrize("file", [*small.ROWS])
def test_a_file_cut_anywhere_is_refused_or_holds_whole_rows_only(database, tmp_path, file):
    """Cut at every byte: either an error names the file, or the cut fell on the end of a row."""
    path = database / file
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        try:
            facts, rows, _ = builder.read_table(path, next(t for t in builder.TABLES if t.file == file))
        except InputError as e:
            assert str(path) in str(e)
            continue
        with open(path, encoding="utf-8", newline="") as f:
            left = list(csv.reader(f))
        assert whole[:length].endswith(b"\n") and rows == len(left) - 1 and facts.num_rows <= rows
        assert [[str(cell) for cell in row] for row in small.ROWS[file][:rows]] == left[1:]


@pytest.mark.parametrize(
    ("encode", "expected"),
    [
        (lambda text: text.encode("latin-1"), "not UTF-8"),
        (lambda text: text.encode("utf-16"), "UTF-16"),
        (lambda text: text.encode("utf-16-le"), "zero byte"),
        (lambda text: text.encode("utf-8-sig"), "byte order mark"),
        (lambda text: b"", "empty"),
        (lambda text: text.encode("utf-8").split("é".encode())[0] + "é".encode()[:1], "ends inside a character"),
    ],
)
def test_a_re_encoded_file_is_refused(database, tmp_path, encode, expected):
    path = database / small.RESTAURANTS
    path.write_bytes(encode(path.read_text(encoding="utf-8")))
    message = error_of(database, tmp_path / "store")
    assert str(path) in message and expected in message


def test_a_wrong_byte_deep_in_a_large_file_is_found_by_line(database, tmp_path):
    path = database / small.FLIGHTS
    line = b"1,F3,90,07:00,08:13,1 hours 13 minutes,2022-03-02,Toledo,Erie,253.0\n"
    lines = [line] * 100_000
    lines[80_000] = line.replace(b"Toledo", b"Tol\xe9do")
    path.write_bytes(path.read_bytes() + b"".join(lines))
    line_number = 1 + len(small.ROWS[small.FLIGHTS]) + 80_001
    assert f"line {line_number}: not UTF-8" in error_of(database, tmp_path / "store")


def test_a_quote_that_never_closes_in_a_large_file_is_found_by_row(database, tmp_path):
    path = database / small.FLIGHTS
    line = b"1,F3,90,07:00,08:13,1 hours 13 minutes,2022-03-02,Toledo,Erie,253.0\n"
    lines = [line] * 400_000
    lines[1_000] = line.replace(b"Toledo", b'"Toledo')
    path.write_bytes(path.read_bytes() + b"".join(lines))
    row = len(small.ROWS[small.FLIGHTS]) + 1_001
    assert f"row {row}: a quote is not closed" in error_of(database, tmp_path / "store")


def test_a_failed_build_leaves_the_store_that_was_there(database, tmp_path, monkeypatch):
    out = tmp_path / "store"
    build(database, out)
    before = {p.name: p.read_bytes() for p in out.iterdir()}
    spoil(database / small.FLIGHTS, b"F1,10,", b"F1,cheap,")
    error_of(database, out)
    spoil(database / small.FLIGHTS, b"F1,cheap,", b"F1,11,")

    def disk_full(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(builder, "write_by_number", disk_full)
    with pytest.raises(OSError, match="no space"):
        build(database, out)
    monkeypatch.undo()

    rename = os.rename

    def second_rename_fails(source, target):
        if source.name == "fresh":
            raise OSError("renaming failed")
        rename(source, target)

    monkeypatch.setattr(os, "rename", second_rename_fails)
    with pytest.raises(OSError, match="renaming"):
        build(database, out)
    monkeypatch.undo()
    assert {p.name: p.read_bytes() for p in out.iterdir()} == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["database", "store"]

    build(database, out)
    assert Store.open(out).flight_price("F1") == 11


def test_the_same_source_gives_the_same_bytes(database, tmp_path):
    build(database, tmp_path / "a")
    build(database, tmp_path / "b")
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_a_folder_that_is_no_store_is_never_replaced(database, tmp_path):
    out = tmp_path / "home"
    out.mkdir()
    build(database, out)  # an empty folder may be replaced
    (tmp_path / "other").mkdir()
    (tmp_path / "other/thesis.tex").write_text("x")
    with pytest.raises(InputError, match="holds other things"):
        build(database, tmp_path / "other")
    with pytest.raises(InputError, match="a file is in the way"):
        build(database, tmp_path / "other/thesis.tex")
    assert (tmp_path / "other/thesis.tex").read_text() == "x"


def test_a_source_that_calls_itself_official_must_have_the_published_rows(database, tmp_path):
    with pytest.raises(InputError, match=r"citySet_with_states.txt: 4 rows read, the official release has 312"):
        build(database, tmp_path / "store", official=True)
    assert not (tmp_path / "store").exists()


def test_the_real_database_has_the_published_rows(shared_data, tmp_path):
    """All but the flights, of which only some are at hand: for them the official check must fail."""
    source = shared_data / "travelplanner/database"
    report = build(source, tmp_path / "store").to_json()
    assert report["accommodations"] == {"read": 5047, "kept": 4285, "dropped": 762}
    assert report["restaurants"] == {"read": 9551, "kept": 9551, "dropped": 0}
    assert report["attractions"] == {"read": 5302, "kept": 5302, "dropped": 0}
    assert report["distances"]["read"] == 17602 and report["cities"]["kept"] == 312
    assert report["flights"] == {"read": 2436, "kept": 2436, "dropped": 0}
    with pytest.raises(InputError, match=r"clean_Flights_2022.csv: 2,436 rows read, .* 3,827,360 \(within 1%\)"):
        build(source, tmp_path / "official", official=True)
