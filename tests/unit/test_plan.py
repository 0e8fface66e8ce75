"""The agent's plan: schema, parsing of the answer, official form."""

import json
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from helpers.small_world import AGENT_PLAN as PLAN
from helpers.small_world import five_days, three_days
from planner_r1.plan import PLAN_SCHEMA, parse_answer, to_official
from planner_r1.plan.answer import MAX_ANSWER
from planner_r1.plan.schema import SCHEMA_FILE, schema_fault

LEG = {"mode": "taxi", "from": "A", "to": "B", "duration": "1 hour", "distance": "9 km", "cost": 9}


def answer(plan) -> str:
    return f"Here it is.\n<answer>{json.dumps(plan)}</answer>"


def changed(day=1, **values):
    plan = deepcopy(PLAN)
    plan[day].update(values)
    return plan


def test_schema_is_valid_and_lies_among_the_schemas():
    Draft202012Validator.check_schema(PLAN_SCHEMA)
    assert SCHEMA_FILE.is_file() and SCHEMA_FILE.parent.name == "schemas"


@pytest.mark.parametrize(
    "plan",
    [
        PLAN,
        PLAN[:1],
        changed(transportation=LEG),
        changed(transportation={**LEG, "mode": "self-driving", "cost": 0}),
        changed(city={"from": "Alba", "to": "Bria"}),
        changed(attraction="-"),
    ],
)
def test_good_answers_give_the_plan(plan):
    parsed = parse_answer(answer(plan))
    assert parsed.reason is None and parsed.plan == plan


@pytest.mark.parametrize(
    ("plan", "place"),
    [
        ([], "the plan"),
        ({}, "the plan"),
        ("-", "the plan"),
        ([*PLAN, None], "day 4"),
        (changed(note="x"), "day 2"),
        ([{k: v for k, v in PLAN[0].items() if k != "lunch"}], "day 1"),
        (changed(days="2"), "day 2, days"),
        (changed(days=0), "day 2, days"),
        (changed(days=True), "day 2, days"),
        (changed(city=None), "day 2, city"),
        (changed(city={"from": "Alba"}), "day 2, city"),
        (changed(lunch=""), "day 2, lunch"),
        (changed(lunch=["Red Bowl"]), "day 2, lunch"),
        (changed(attraction=[]), "day 2, attraction"),
        (changed(attraction="Alba Tower"), "day 2, attraction"),
        (changed(attraction=["Alba Tower", 5]), "day 2, attraction"),
        (changed(transportation="Taxi"), "day 2, transportation"),
        (changed(transportation={**LEG, "mode": "Train"}), "day 2, transportation"),
        (changed(transportation={**LEG, "cost": 9.5}), "day 2, transportation"),
        (changed(transportation={**LEG, "cost": "9"}), "day 2, transportation"),
        (changed(transportation={**LEG, "seats": 4}), "day 2, transportation"),
        (changed(transportation={k: v for k, v in LEG.items() if k != "duration"}), "day 2, transportation"),
    ],
)
def test_faults_against_the_schema_are_named_with_their_place(plan, place):
    parsed = parse_answer(answer(plan))
    assert parsed.plan is None
    assert parsed.reason.startswith(f"the answer does not fit the schema of a plan: {place}")
    assert len(parsed.reason) < 400


GOOD = json.dumps(PLAN)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "not text"),
        (b"<answer>[]</answer>", "not text"),
        ("", "empty"),
        ("I give up.", "no <answer> block"),
        ("A plan: " + GOOD, "no <answer> block"),
        (f"<answer>{GOOD}", "not closed"),
        (f"</answer>{GOOD}<answer>", "not closed"),
        (f"<answer>{GOOD}</answer> or <answer>", "not closed"),  # the last block counts
        (f"<answer>{GOOD[:-1]},]</answer>", "invalid JSON"),
        (f"<answer>{GOOD[:-1]}</answer>", "invalid JSON"),
        (f"<answer>{GOOD.replace('240', 'NaN')}</answer>", "NaN"),
        (f"<answer>{GOOD.replace('240', '-Infinity')}</answer>", "Infinity"),
        (f"<answer>{GOOD.replace('240', '9' * 5000)}</answer>", "a number of 5000 digits"),
        (f"<answer>{GOOD.replace('240', '1e999')}</answer>", "out of range"),
        ("<answer>" + GOOD.replace('"days": 1', '"days": 1, "days": 7') + "</answer>", "a key comes twice"),
        ("<answer>" + "[" * 40_000 + "</answer>", "nested too deeply"),
        ("<answer>" + '{"a":' * 9_000 + "</answer>", "nested too deeply"),
        (f"<answer>{' ' * MAX_ANSWER}{GOOD}</answer>", "characters"),
    ],
)
def test_whatever_else_gives_a_reason(text, reason):
    parsed = parse_answer(text)
    assert parsed.plan is None and reason in parsed.reason and "counts as no plan" in parsed.reason


@pytest.mark.parametrize(
    ("block", "what"),
    [
        ("", "holds nothing"),
        (" \n", "holds nothing"),
        (f"```json\n{GOOD}\n```", "code fence around JSON"),
        ("```json\n[]\n```", "code fence around JSON"),
        (f"\n~~~\n{GOOD}~~~ ", "code fence around JSON"),
        (f"```json {GOOD}```", "code fence around JSON"),
        (f"```json\n{GOOD[:-1]}\n```", "code fence around invalid JSON"),
        (f"My plan: {GOOD}", "text around JSON"),
        (f"{GOOD} Enjoy!", "text around JSON"),
        (f"{GOOD} [See you] {{soon}}", "text around JSON"),
        (f"[Dear user]\n```json\n{GOOD}\n```\nEnjoy!", "text around JSON"),
        (f'So: {{"plan": {GOOD}}}', "text around JSON"),
        ("I found nothing: []", "text around JSON"),
        (f"My plan: {GOOD[:-1]}", "text around invalid JSON"),
        ("I have no plan.", "only text, no JSON"),
        ("I have no plan [sorry] {really}.", "only text, no JSON"),
        ("```\nnothing", "only text, no JSON"),
        ("[1, 2", "invalid JSON"),
        ("[a]", "invalid JSON"),
    ],
)
def test_what_stands_in_the_block_instead_of_json_alone_is_named(block, what):
    parsed = parse_answer(f"<answer>{block}</answer>")
    assert parsed.plan is None and what in parsed.reason


def test_the_last_block_counts_and_white_space_around_the_json_is_fine():
    text = f"<answer>[]</answer> No: <answer>\n{GOOD}\n</answer> Done."
    assert parse_answer(text).plan == PLAN


junk = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.sampled_from(["", "-", "Alba"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["from", "to", "mode"]), inner),
    max_leaves=5,
)


@given(st.sampled_from(PLAN), st.dictionaries(st.sampled_from([*PLAN[0], "more"]), junk, max_size=2))
def test_the_compiled_check_agrees_with_jsonschema(day, changes):
    plan = [{**day, **changes}]
    assert (schema_fault(plan) is None) == Draft202012Validator(PLAN_SCHEMA).is_valid(plan)


def test_official_form(small_store):
    official = three_days()
    official[1]["attraction"] = "Alba Tower, Alba;Old Gate, East Wing, Alba;"
    assert to_official(PLAN, small_store) == official


def test_official_form_of_a_taxi(small_store):
    way = {"from": "Bria", "to": "Cray", "duration": "1 hour 30 mins", "distance": "120 km", "cost": 120}
    [day] = to_official([{**PLAN[1], "transportation": {"mode": "taxi", **way}}], small_store)
    assert day["transportation"] == five_days()[2]["transportation"]


def test_a_flight_without_its_number_stays_one(small_store):
    [day] = to_official([{**PLAN[1], "transportation": {**LEG, "mode": "flight"}}], small_store)
    assert day["transportation"] == "Flight Number: -, from A to B, Departure Time: -, Arrival Time: -"


@pytest.mark.parametrize(
    ("name", "official"),
    [
        ("Red Bowl", "Red Bowl, Alba"),  # stands in Alba only
        ("Green Fork", "Green Fork, Bria(Nord)"),  # in Bria only
        ("Twin Table", "Twin Table, Bria(Nord)"),  # in both: the destination
        ("No Such Place", "No Such Place, Bria(Nord)"),  # in neither
        ("Red Bow", "Red Bow, Bria(Nord)"),  # a part of a name is no name
        ("Corner Deli", "Corner Deli, Alba"),  # a blank at the table's end does not matter
        ("Old Mill, North Side", "Old Mill, North Side, Alba"),
        ("Red Bowl, Bria", "Red Bowl, Bria"),  # says its city already
        ("Red Bowl, Alba(Nord)", "Red Bowl, Alba(Nord)"),
        ("Red Bowl, Cray", "Red Bowl, Cray, Bria(Nord)"),  # Cray is none of the day's cities
        ("-", "-"),
    ],
)
def test_a_name_gets_the_city_of_the_two_where_it_stands(small_store, name, official):
    day = {**PLAN[1], "city": {"from": "Alba", "to": "Bria(Nord)"}, "lunch": name}
    assert to_official([day], small_store)[0]["lunch"] == official


def test_hotels_and_attractions_are_looked_up_in_their_own_tables(small_store):
    day = {
        **PLAN[1],
        "city": {"from": "Alba", "to": "Bria"},
        "accommodation": "Hill House\nGarden Side",
        "attraction": ["City Park", "Lake Walk", "Twin Hall", "Twin Table"],
    }
    [official] = to_official([day], small_store)
    assert official["accommodation"] == "Hill House\nGarden Side, Alba"
    assert official["attraction"] == "City Park, Alba;Lake Walk, Bria;Twin Hall, Bria;Twin Table, Bria;"
