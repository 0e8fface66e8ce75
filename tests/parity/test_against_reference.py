"""The evaluator against the slow reference, on random plans of three worlds (tests/long/random_plans.py draws more)."""

import ast
import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import small_world
from parity import made_up_world
from parity.comparison import differences
from parity.plan_grammar import Grammar
from parity.reference_evaluator import Tables
from planner_r1.evaluator import evaluate
from planner_r1.evaluator.judge import judge
from planner_r1.evaluator.profiles import HOLES
from planner_r1.queries import load_queries
from planner_r1.sandbox.builder import build
from planner_r1.sandbox.store import Store

drawn = settings(max_examples=2_000)
seeds = st.integers(0, 2**32)


@pytest.fixture(scope="module")
def made_up(tmp_path_factory):
    """(grammar, store, tables) of the made-up world of tests/data."""
    store, tables = tmp_path_factory.mktemp("made_up") / "store", Tables(made_up_world.DATABASE)
    build(made_up_world.DATABASE, store)
    return Grammar(tables, made_up_world.good_plans()), Store.open(store), tables


@pytest.fixture(scope="module")
def small(small_database, small_store):
    """The same of the hand-made world, whose rows are the ones that rules stumble over."""
    tables = Tables(small_database)
    good = [(small_world.three_days(), small_world.query()), (small_world.five_days(), small_world.query(5))]
    return Grammar(tables, good), small_store, tables


@pytest.fixture(scope="module")
def real(shared_data, real_store):
    """The same of the real tables and the train split, whose annotated plans all pass."""
    folder = shared_data / "travelplanner"
    tables = Tables(folder / "database")
    queries = load_queries(folder / "queries" / "train.jsonl")
    with open(folder / "queries" / "train.jsonl", encoding="utf-8") as f:
        plans = [ast.literal_eval(json.loads(line)["annotated_plan"])[1] for line in f]
    plans = [[day for day in plan if day] for plan in plans]
    return Grammar(tables, list(zip(plans, queries, strict=True))), real_store, tables


def check(world, seed):
    grammar, store, tables = world
    plan, query = grammar.draw(random.Random(seed))
    assert differences(plan, query, store, tables) == [], json.dumps(plan)


@drawn
@given(seed=seeds)
def test_random_plans_of_the_made_up_world(seed, made_up):
    check(made_up, seed)


@drawn
@given(seed=seeds)
def test_random_plans_of_the_small_world(seed, small):
    check(small, seed)


@settings(drawn, max_examples=300)
@given(seed=seeds)
def test_random_plans_of_the_real_tables(seed, real):
    check(real, seed)


@settings(drawn, max_examples=500)
@given(seed=seeds)
def test_strict_answers_are_never_milder(seed, small):
    """Closing a hole may fail a commonsense rule and never mend one.

    But for the minimum nights: they count only where a name tells one hotel, and a part of a name may tell one where
    the whole name tells none (such a plan fails another rule).
    """
    grammar, store, _ = small
    plan, query = grammar.draw(random.Random(seed))
    official, strict = (evaluate(plan, query, store, profile) for profile in ("official", "strict"))
    milder = {name for name, holds in official.commonsense.items() if holds is False and strict.commonsense[name]}
    assert milder <= {"is_valid_accommodation"}
    assert official.commonsense_pass or not strict.commonsense_pass


@settings(drawn, max_examples=500)
@given(seed=seeds)
def test_closing_one_more_hole_is_never_milder(seed, small):
    """The same of any set of closed holes and a larger one, so that a hole is never needed open."""
    grammar, store, _ = small
    rng = random.Random(seed)
    plan, query = grammar.draw(rng)
    closed = frozenset(rng.sample(sorted(HOLES), rng.randrange(len(HOLES))))
    one_more = closed | {rng.choice(sorted(HOLES))}
    fewer, more = (judge(plan, query, store, holes) for holes in (closed, one_more))
    assert fewer.commonsense_pass or not more.commonsense_pass
