"""The tools: what they answer, what they say to a wrong call, and that nothing a model sends makes them raise."""

import csv
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from helpers import small_database as small
from planner_r1.sandbox.builder import build
from planner_r1.sandbox.store import Store
from planner_r1.sandbox.tools import TOOL_SCHEMAS, Toolbox

NAMES = [schema["function"]["name"] for schema in TOOL_SCHEMAS]


def opened(database, folder):
    build(database, folder / "store")
    return Toolbox(Store.open(folder / "store"))


@pytest.fixture(scope="module")
def toolbox(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    return opened(small.write_database(folder / "database"), folder)


@pytest.fixture(scope="module")
def real(shared_data, tmp_path_factory):
    return opened(shared_data / "travelplanner/database", tmp_path_factory.mktemp("real"))


def flights(**changes):
    return {"origin": "Toledo", "destination": "Erie", "date": "2022-03-01", **changes}


def test_the_schemas_are_those_of_the_paper_and_sound():
    assert NAMES == [
        "search_flights", "search_accommodations", "search_restaurants", "search_attractions",
        "search_ground_transportation", "get_cities", "calculator",
    ]  # fmt: skip
    for schema in TOOL_SCHEMAS:
        assert schema["type"] == "function"
        function = schema["function"]
        Draft202012Validator.check_schema(function["parameters"])
        assert function["description"].endswith(".")
        assert function["parameters"]["required"] == list(function["parameters"]["properties"])
        for parameter in function["parameters"]["properties"].values():
            assert parameter["type"] == "string" and parameter["description"]


def test_answers(toolbox):
    assert [row["Flight Number"] for row in toolbox.call("search_flights", flights())["results"]] == ["F2", "F0"]
    assert [row["NAME"] for row in toolbox.call("search_accommodations", {"city": "Erie"})["results"]] == ["NA"]
    assert len(toolbox.call("search_restaurants", '{"city": "Toledo"}')["results"]) == 2
    assert toolbox.call("search_attractions", {"city": "Erie"})["results"][0]["Name"] == "Pier"
    road = {"origin": "Toledo", "destination": "Erie", "mode": "taxi"}
    assert toolbox.call("search_ground_transportation", road) == {
        "results": [{**road, "duration": "3 hours 2 mins", "distance": "1,319.9 km", "cost": 1319}]
    }
    assert toolbox.call("get_cities", {"state": "Ohio"}) == {"results": ["Toledo", "Dayton"]}
    assert toolbox.call("calculator", {"expression": "(120 + 85.5) * 2"}) == {"result": 411.0}


def test_a_city_may_carry_its_state(toolbox):
    plain = toolbox.call("search_flights", flights())
    assert toolbox.call("search_flights", flights(origin="Toledo(Ohio)", destination=" Erie (Pennsylvania)")) == plain


def test_the_text_is_compact_json_in_plain_letters(toolbox):
    text = toolbox.call_text("search_restaurants", {"city": "Toledo"})
    assert text.startswith('{"results":[{"Name":"Café \\"Ö\\"","Average Cost":30,"Cuisines":"French, Cafe",')
    assert json.loads(text) == toolbox.call("search_restaurants", {"city": "Toledo"})


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("search_hotels", {"city": "Erie"}, ["Unknown tool 'search_hotels'", *NAMES]),
        (None, {}, ["Unknown tool null", "get_cities"]),
        ("", {}, ["Unknown tool ''"]),
        (["calculator"], {}, ["Unknown tool a list"]),
        ("get_cities", {}, ["'state' is missing", "takes 'state'"]),
        ("search_flights", {"origin": "Erie"}, ["'destination' is missing", "'origin' and 'destination' and 'date'"]),
        ("get_cities", {"state": "Ohio", "limit": 3}, ["Unknown argument 'limit'", "takes 'state'"]),
        ("get_cities", {"state": "Ohio", 3: 3}, ["Unknown argument a number"]),
        ("get_cities", None, ["one JSON object, not null"]),
        ("get_cities", ["Ohio"], ["one JSON object, not a list"]),
        ("get_cities", '["Ohio"]', ["one JSON object, not a list"]),
        ("get_cities", "Ohio", ["not valid JSON"]),
        ("get_cities", "", ["not valid JSON"]),
        ("get_cities", "[" * 10_000, ["not valid JSON"]),
        ("get_cities", '{"state": ' + "9" * 6_000 + "}", ["not valid JSON"]),
        ("get_cities", '{"state": "' + "x" * 30_000 + '"}', ["longer than"]),
        ("get_cities", {"state": None}, ["'state' must be a string, not null"]),
        ("get_cities", {"state": True}, ["'state' must be a string, not true or false"]),
        ("get_cities", {"state": ["Ohio"]}, ["'state' must be a string, not a list"]),
        ("get_cities", {"state": {}}, ["'state' must be a string, not an object"]),
        ("get_cities", {"state": "  "}, ["'state' is empty", "Name of the state"]),
        ("get_cities", {"state": "Ohoi"}, ["Unknown state 'Ohoi'", "Did you mean Ohio?"]),
        ("get_cities", {"state": "Atlantis"}, ["Unknown state 'Atlantis'."]),
        ("search_restaurants", {"city": "toledo"}, ["Unknown city 'toledo'", "Did you mean Toledo?"]),
        ("search_restaurants", {"city": "Ohio"}, ["'Ohio' is a state", "get_cities"]),
        ("search_restaurants", {"city": "x" * 100_000}, ["Unknown city 'xxx", "…"]),
        ("search_restaurants", {"city": "Dayton"}, ["No restaurant was found in Dayton"]),
        ("search_accommodations", {"city": "Dayton"}, ["No accommodation was found in Dayton"]),
        ("search_attractions", {"city": "Toledo"}, ["No attraction was found in Toledo"]),
        ("search_flights", flights(date="2022-03-05"), ["There is no flight from Toledo to Erie on 2022-03-05"]),
        ("search_flights", flights(date="2022-02-30"), ["a real day written YYYY-MM-DD", "'2022-02-30'"]),
        ("search_flights", flights(date="03/01/2022"), ["a real day"]),
        ("search_flights", flights(date="2022-3-1"), ["a real day"]),
        ("search_flights", flights(date="20220301"), ["a real day"]),
        ("search_flights", flights(date="２０２２-03-01"), ["a real day"]),
        ("search_flights", flights(date="2022-03-01\n"), ["a real day"]),
        ("search_flights", flights(origin="Nowhere"), ["Unknown city 'Nowhere'"]),
        (
            "search_ground_transportation",
            {"origin": "Toledo", "destination": "Erie", "mode": "bus"},
            ["'mode' must be 'self-driving' or 'taxi', not 'bus'"],
        ),
        (
            "search_ground_transportation",
            {"origin": "Erie", "destination": "Toledo", "mode": "taxi"},
            ["no valid information for taxi from Erie to Toledo"],
        ),
        ("calculator", {"expression": "1/0"}, ["Division by zero"]),
        ("calculator", {"expression": 12}, ["'expression' must be a string, not a number"]),
    ],
)
def test_an_error_tells_the_model_what_was_wrong(toolbox, name, arguments, expected):
    answer = toolbox.call(name, arguments)
    assert list(answer) == ["error"] and len(answer["error"]) < 400
    for words in expected:
        assert words in answer["error"]


class Hostile:
    def __repr__(self):
        raise RuntimeError("no name")


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


ANY_TEXT = st.text(st.characters(exclude_categories=())) | st.sampled_from(["Toledo", "Erie", "Ohio", "\ud800", "1+1"])
VALUES = (
    ANY_TEXT
    | st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from([nested(5_000), "x" * 1_000_000, "(" * 400, 10**5_000, Hostile(), b"\xff", {1: 2}])
    | st.recursive(st.none() | ANY_TEXT, lambda inner: st.lists(inner) | st.dictionaries(ANY_TEXT, inner), max_leaves=8)
)
ARGUMENT_NAMES = st.sampled_from(["origin", "destination", "date", "city", "state", "mode", "expression"]) | ANY_TEXT
ARGUMENTS = (
    VALUES
    | st.dictionaries(ARGUMENT_NAMES | st.integers() | st.none(), VALUES)
    | st.dictionaries(ARGUMENT_NAMES, ANY_TEXT).map(json.dumps)
    | ANY_TEXT
)


@given(st.sampled_from(NAMES) | VALUES, ARGUMENTS)
@settings(max_examples=600, deadline=None)
def test_nothing_makes_a_call_raise_and_the_answer_is_sound_text(toolbox, name, arguments):
    check_sound(toolbox, name, arguments)


@given(st.data())
@settings(max_examples=600, deadline=None)
def test_the_right_arguments_with_any_values_do_not_raise(toolbox, data):
    schema = data.draw(st.sampled_from(TOOL_SCHEMAS))["function"]
    arguments = {name: data.draw(VALUES) for name in schema["parameters"]["properties"]}
    check_sound(toolbox, schema["name"], arguments)


def check_sound(toolbox, name, arguments):
    text = toolbox.call_text(name, arguments)
    assert text.encode("utf-8")  # no lone surrogate is sent on
    [(key, value)] = json.loads(text).items()
    assert key in ("results", "result", "error") and value is not None
    if key == "error":
        assert 0 < len(value) < 400


def test_searches_of_the_real_database_that_find_nothing_say_so(shared_data, real):
    with open(shared_data / "travelplanner/flight_queries_without_result.csv", encoding="utf-8", newline="") as f:
        for row in csv.DictReader(f):
            asked = {key: row[key] for key in ("origin", "destination", "date")}
            assert real.call("search_flights", asked) == {"error": row["text"]}


def test_every_question_of_the_reference_information_is_answered(shared_data, real):
    tools = {"Attractions": "attractions", "Restaurants": "restaurants", "Accommodations": "accommodations"}
    answered = 0
    for file in sorted((shared_data / "travelplanner/reference").glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            for question, expected in json.loads(line).items():
                kind, _, city = question.partition(" in ")
                if kind in tools:
                    answer = real.call(f"search_{tools[kind]}", {"city": city})
                elif match := re.fullmatch(r"Flight from (.+) to (.+) on (.+)", question):
                    asked = dict(zip(("origin", "destination", "date"), match.groups(), strict=True))
                    answer = real.call("search_flights", asked)
                else:
                    mode, ends = question.split(" from ", 1)
                    origin, destination = ends.split(" to ")
                    asked = {"origin": origin, "destination": destination, "mode": mode.lower()}
                    answer = real.call("search_ground_transportation", asked)
                    if "results" in answer:
                        [row] = answer["results"]
                        assert f"{mode.lower()}, from {origin}" in expected and expected.endswith(
                            f"cost: {row['cost']}"
                        )
                        answered += 1
                        continue
                listed = expected if isinstance(expected, list) else []
                assert len(answer.get("results", [])) == len(listed) and ("error" in answer) == (not listed), question
                answered += 1
    assert answered > 3000


def test_cities_of_a_state_against_the_file(shared_data, real):
    by_state = {}
    for line in (shared_data / "travelplanner/database" / small.CITIES).read_text(encoding="utf-8").splitlines():
        city, state = line.split("\t")
        by_state.setdefault(state, []).append(city)
    for state, cities in by_state.items():
        assert real.call("get_cities", {"state": state}) == {"results": cities}
