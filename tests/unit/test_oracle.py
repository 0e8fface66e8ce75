"""The oracle, the queries it vouches for, and its demonstrations."""

import json
import random
from pathlib import Path

import pytest

from helpers.messages import refused
from planner_r1.agent.manners import NUMBER_ASKED
from planner_r1.agent.oracle import first_listed, plan_for
from planner_r1.agent.query_generator import QuerySpec, draw_queries
from planner_r1.agent.trajectories import answer_text, demonstration, tool_calls, with_detours, with_slips
from planner_r1.agent.wording import NUMBERS
from planner_r1.evaluator import evaluate
from planner_r1.plan import parse_answer, to_official
from planner_r1.queries import CONSTRAINTS, load_queries
from planner_r1.reward import sub_rewards
from planner_r1.sandbox.builder import build
from planner_r1.sandbox.store import Store
from planner_r1.sandbox.synthetic import WorldSpec, write_world

SPEC = QuerySpec(days=(3, 5, 7), n_days=20)


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Store:
    folder = tmp_path_factory.mktemp("oracle")
    world = WorldSpec(seed=5, cities=9, states=2, restaurants=12, accommodations=8, attractions=5, n_days=20)
    write_world(world, folder / "world")
    build(folder / "world", folder / "store")
    return Store.open(folder / "store")


@pytest.fixture(scope="module")
def queries(store):
    return draw_queries(store, SPEC, 120, seed=1)


def test_every_drawn_query_has_a_plan_that_passes_both_profiles(store, queries):
    for query in queries:
        trip = plan_for(query, store)
        for profile in ("official", "strict"):
            verdict = evaluate(to_official(trip.plan, store), query, store, profile)
            assert verdict.final_pass, (query, verdict.reasons)
        assert verdict.total_cost == trip.cost <= query.budget


def test_all_lengths_levels_and_kinds_of_constraint_occur(queries):
    assert {q.days for q in queries} == {3, 5, 7}
    assert {q.level for q in queries} == set(NUMBER_ASKED)
    for name in CONSTRAINTS:
        assert any(q.constraint(name) for q in queries)
    for q in queries:
        asked = sum(q.constraint(name) is not None for name in CONSTRAINTS)
        assert asked == NUMBER_ASKED[q.level]
        assert q.people_number == 1 or q.level != "easy"


def test_the_text_of_a_query_states_all_its_facts(queries):
    for q in queries:
        people = "one person" if q.people_number == 1 else f"{NUMBERS[q.people_number]} people"
        for fact in (q.org, q.dest, f"{q.days}-day", people, f"${q.budget:,.0f}", "March"):
            assert fact in q.query
        for cuisine in q.constraint("cuisine") or ():
            assert cuisine in q.query
        if rule := q.constraint("house rule"):
            assert rule in q.query


def test_queries_are_reproducible_different_and_avoid_what_they_are_told(store, queries):
    assert draw_queries(store, SPEC, 120, seed=1) == queries
    others = draw_queries(store, SPEC, 60, seed=1, avoid=queries)

    def asks(q):
        return q.org, q.dest, q.date, q.people_number, json.dumps(q.local_constraint)

    assert len({asks(q) for q in queries}) == 120
    assert not {asks(q) for q in queries} & {asks(q) for q in others}


def test_too_many_queries_for_a_world_is_a_clear_error(store):
    with refused("only", "sandbox.world"):
        draw_queries(store, QuerySpec(days=(3,), levels={"easy": 1}, n_days=3), 200, seed=0)


def test_a_demonstration_calls_tools_that_show_everything_its_plan_uses(store, queries):
    for query in queries[:40]:
        trip = plan_for(query, store)
        messages = demonstration(query, trip, store, random.Random(0), slip_rate=0)
        replies = "".join(m["content"] for m in messages if m["role"] == "tool")
        assert '"error"' not in replies
        for day in trip.plan:
            places = [day[k] for k in ("breakfast", "lunch", "dinner", "accommodation") if day[k] != "-"]
            for name in [*places, *(day["attraction"] if day["attraction"] != "-" else [])]:
                assert json.dumps(name) in replies
            if day["transportation"] != "-":
                assert day["transportation"].get("flight_number", "duration") in replies
        assert parse_answer(messages[-1]["content"]).plan == trip.plan
        assert len(tool_calls(query, trip)) == len(messages) // 2


def test_a_careless_planner_takes_what_is_listed_first_and_misses_constraints(store, queries):
    missed = 0
    for query in queries:
        trip = first_listed(query, store)
        rooms = [store.accommodations(city)[0]["NAME"] for city in trip.cities]
        assert [day["accommodation"] for day in trip.plan[:-1:2]] == rooms
        missed += not evaluate(to_official(trip.plan, store), query, store, "strict").final_pass
    assert missed > len(queries) / 2


def test_detours_are_sums_before_look_ups_and_change_nothing_else(store, queries):
    query = queries[0]
    trip = plan_for(query, store)
    needed = tool_calls(query, trip)
    always = with_detours(needed, query, random.Random(0), rate=1.0)
    assert always[1::2] == needed and {name for name, _ in always[::2]} == {"calculator"}
    some = [with_detours(needed, query, random.Random(seed), rate=0.3) for seed in range(200)]
    assert all([call for call in calls if call[0] != "calculator"] == needed for calls in some)
    extra = sum(len(calls) - len(needed) for calls in some) / (200 * len(needed))
    assert 0.24 < extra < 0.36  # over four standard deviations of the share of 1,000 draws
    with_rate, without = (demonstration(query, trip, store, random.Random(1), 0.0, rate) for rate in (1.0, None))
    assert with_rate[-1] == without[-1]
    assert not any('"error"' in message["content"] for message in with_rate if message["role"] == "tool")


def test_failed_look_ups_are_made_again_until_answered(store, queries):
    query = queries[0]
    trip = plan_for(query, store)
    sound = demonstration(query, trip, store, random.Random(1), 0.0)
    failed = 0
    for seed in range(100):
        messages = demonstration(query, trip, store, random.Random(seed), 0.0, failure_rate=0.3)
        turns = list(zip(messages[::2], messages[1::2], strict=False))
        assert [turn for turn in turns if "did not answer" not in turn[1]["content"]] == list(
            zip(sound[::2], sound[1::2], strict=False)
        )
        assert messages[-1] == sound[-1]
        failed += len(turns) - len(sound) // 2
    calls = 100 * (len(sound) // 2) + failed
    assert 0.22 < failed / calls < 0.38  # four standard deviations of the share of some 700 calls


def test_slips_leave_a_plan_of_the_schema(store, queries):
    rng = random.Random(0)
    spoiled = 0
    for query in queries:
        trip = plan_for(query, store)
        plan = with_slips(trip.plan, store, rng, rate=1.0)
        scores = sub_rewards(answer_text(plan), query, store)
        assert scores.schema == 1.0
        spoiled += not scores.passed
    assert spoiled == len(queries)
    assert with_slips(trip.plan, store, rng, rate=0.0) == trip.plan


def test_real_queries_that_the_oracle_plans_are_passed(shared_data, tmp_path):
    folder: Path = shared_data / "travelplanner"
    build(folder / "database", tmp_path / "store")
    store = Store.open(tmp_path / "store")
    queries = load_queries(folder / "queries/train.jsonl") + load_queries(folder / "queries/validation.jsonl")
    planned = [(q, trip) for q in queries if (trip := plan_for(q, store))]
    passed = [evaluate(to_official(trip.plan, store), q, store, "strict").final_pass for q, trip in planned]
    assert len(planned) > 150
    assert sum(passed) >= 0.98 * len(planned)
