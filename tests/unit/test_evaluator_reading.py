"""The readings that are spelled out in code, against the patterns that define them."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from planner_r1.evaluator.reading import (
    QUOTED,
    Day,
    Unreadable,
    attractions,
    cut,
    flight_number,
    from_to,
    mode_of_day,
    mode_to_look_up,
    name_and_city,
    quote,
)

FROM_TO = re.compile(r"from\s+(.+?)\s+to\s+([^,]+)(?=[,\s]|$)")
NAME_CITY = re.compile(r"(.*?),\s*([^,]+)$")
STATE = re.compile(r"^(.*?)\([^)]*\)")
# White space in Python's sense is more than blanks: a no-break space, a group separator, a next line.
PIECES = [
    "from",
    "to",
    "from ",
    " to ",
    " ",
    "  ",
    "\n",
    "\t",
    ",",
    "A",
    "b",
    "(",
    ")",
    "\u2003",
    "\xa0",
    "\x1c",
    "\x85",
]
texts = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
blank_texts = st.lists(st.sampled_from(["from", "to", " ", "\n", "\t", ",", "x"]), max_size=18).map("".join)


def cut_by_pattern(city):
    match = STATE.search(city)
    return match[1] if match else city


@settings(max_examples=3_000)
@given(texts | blank_texts)
@example("from  \n to x")
@example("from \n  to x")
@example("from\n\n\n to x")
@example("from   to B")
@example("from  A to ,")
@example("from A to   ")
@example("from \n to B")
@example("from a from b to c to d, e")
def test_from_to_is_the_search_for_its_pattern(text):
    match = FROM_TO.search(text)
    assert from_to(text) == (match.groups() if match else None)


@given(texts)
@example("a,\n")
@example("a\nb, c")
@example("a, b, ")
def test_name_and_city_is_the_search_for_its_pattern(text):
    match = NAME_CITY.search(text)
    expected = (match[1].strip(), cut_by_pattern(match[2].strip()).strip()) if match else ("-", "-")
    assert name_and_city(text) == expected


@given(texts)
@example("Rockford(Illinois")
@example("Rockford\n(Illinois)")
@example("Rockford(Illi\nnois)")
@example("a(b(c)")
def test_cut_is_the_search_for_its_pattern(text):
    assert cut(text) == cut_by_pattern(text)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("from" + " " * 9_000, None),
        ("from " * 2_000, None),
        ("from a\n" * 1_000 + "from a to b", ("a", "b")),
        ("from" + " " * 9_000 + "a\n" + " to b", ("a", "b")),
        ("from " * 200_000 + "a\nx to b", None),
        ("from" + "\n" * 300_000 + " to b", None),
        ("from a" + " to " * 100_000, ("a", (" to " * 99_999).lstrip())),
    ],
)
def test_texts_that_the_pattern_needs_ages_for_are_read(text, read):
    assert from_to(text) == read


@pytest.mark.parametrize(
    ("text", "kept", "pieces"),
    [
        ("a;b;", False, ["a", "b"]),
        ("a;b", False, ["a"]),
        ("a;b", True, ["a", "b"]),
        ("a;b; ", True, ["a", "b"]),
        ("-", True, []),
        ("", True, []),
        (";", False, [""]),
    ],
)
def test_attractions(text, kept, pieces):
    assert attractions(Day(1, {"attraction": text}), keep_last=kept) == pieces


@pytest.mark.parametrize(
    ("text", "compared", "looked_up"),
    [
        ("Flight Number: F1, from A to B", "flight", "flight"),
        ("Flight F1", "flight", None),
        ("TAXI then Self-Driving", "taxi", "self-driving"),
        ("flight number and taxi", "taxi", "flight"),
        ("Train", None, None),
    ],
)
def test_modes(text, compared, looked_up):
    assert (mode_of_day(text), mode_to_look_up(text)) == (compared, looked_up)


@pytest.mark.parametrize(
    ("text", "read"),
    [("from A to  , x", " "), ("from A to \t,Bria,", "\t"), ("from A to  B, x, y", "B")],
)
def test_a_destination_ends_at_the_first_comma_though_it_be_blank(text, read):
    assert FROM_TO.search(text).groups() == from_to(text) == ("A", read)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("Flight Number: F1, from A to B", "F1"),
        ("On time. Flight Number: F1", "F1"),
        ("Flight Number: F1Flight Number: F2, from A to B", "F1"),  # what stands between the two
        ("Flight Number: , F1", ""),
    ],
)
def test_a_flights_number_stands_between_its_label_and_the_next_comma_or_label(text, number):
    assert flight_number(Day(1, {"transportation": text})) == number


@pytest.mark.parametrize("text", ["flight number: F1", "Flight number F1", "Flight Number:F1", ""])
def test_a_flights_label_is_read_by_the_letter(text):
    with pytest.raises(Unreadable, match="day 4"):
        flight_number(Day(4, {"transportation": text}))


def test_what_a_reason_quotes_is_short_and_on_one_line():
    assert quote("a\nb") == r"'a\nb'" and quote(["a"]) == "a value of type list"
    assert quote("x" * QUOTED) == repr("x" * QUOTED)
    cut_off = quote("x" * 10_000)
    assert len(cut_off) < QUOTED + 10 and cut_off.startswith("'xxx")
