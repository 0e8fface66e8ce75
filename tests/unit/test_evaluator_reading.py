"""The readings that are spelled out in code, against the patterns that define them."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from planner_r1.evaluator.reading import Day, attractions, from_to, mode_of_day, mode_to_look_up, name_and_city

FROM_TO = re.compile(r"from\s+(.+?)\s+to\s+([^,]+)")
NAME_CITY = re.compile(r"(.*?),\s*([^,]+)$")
PIECES = ["from", "to", "from ", " to ", " ", "  ", "\n", "\t", ",", "A", "b", "(", "\u2003"]
texts = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


@given(texts)
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
    expected = (match[1].strip(), match[2].strip().split("(")[0].strip()) if match else ("-", "-")
    assert name_and_city(text) == expected


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("from" + " " * 9_000, None),
        ("from " * 2_000, None),
        ("from a\n" * 1_000 + "from a to b", ("a", "b")),
        ("from" + " " * 9_000 + "a\n" + " to b", ("a", "b")),
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
    assert attractions(Day(1, {"attraction": text}, ("A",), False), keep_last=kept) == pieces


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
