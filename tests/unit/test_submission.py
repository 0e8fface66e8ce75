"""The leaderboard's file: what it refuses, what it leaves out, and what it takes with a word."""

import pytest

from helpers.small_world import five_days, query, three_days
from parity import made_up_world
from planner_r1.errors import InputError
from planner_r1.plan_files import Line
from planner_r1.sandbox.builder import build
from planner_r1.sandbox.store import Store
from planner_r1.submission import NOTES_SHOWN, submission

KEYS = ("current_city", "transportation", "breakfast", "lunch", "dinner", "attraction", "accommodation")


def changed(**values):
    """The good plan of three days with other values on its second day, or without them (...)."""
    plan = three_days()
    plan[1].update(values)
    plan[1] = {key: value for key, value in plan[1].items() if value is not ...}
    return plan


def made_of(store, *plans):
    queries = [query(idx=number) for number in range(1, len(plans) + 1)]
    return submission([Line(number, plan) for number, plan in enumerate(plans, start=1)], queries, store)


EMPTY = (..., None, 0, False, [], {})


@pytest.mark.parametrize(("key", "value"), [("days", ...), *((key, value) for key in KEYS[2:] for value in EMPTY)])
def test_a_day_that_lacks_a_key_or_holds_an_empty_value_is_named_and_written(small_store, key, value):
    plan = changed(**{key: value})
    made = made_of(small_store, five_days(), plan)
    assert made.records[1]["plan"] == plan and made.left_out == []
    (note,) = made.incomplete
    assert "query 2" in note and "day 2" in note and f"'{key}'" in note


@pytest.mark.parametrize(
    "plan",
    [
        changed(current_city=...),
        changed(current_city=None),
        changed(transportation=...),
        [{**three_days()[0], "accommodation": None}, *three_days()[1:]],
        changed(current_city="from nowhere"),
        changed(lunch=5),
    ],
)
def test_a_plan_on_which_the_official_evaluator_raises_is_left_out_and_named(small_store, plan):
    made = made_of(small_store, plan, three_days())
    assert [record["plan"] for record in made.records] == [None, three_days()]
    (note,) = made.left_out
    assert "query 1" in note and made.incomplete == []


def test_a_value_on_a_day_that_is_not_looked_at_is_named_whatever_it_is(small_store):
    plan = [*three_days(), {**three_days()[0], "lunch": ["x"] * 1_000}]
    made = made_of(small_store, plan)
    assert made.records[0]["plan"] == plan
    (note,) = made.incomplete
    assert "day 4" in note and "'lunch'" in note and len(note) < 200


@pytest.mark.parametrize("plan", [None, []])
def test_no_plan_needs_no_word(small_store, plan):
    made = made_of(small_store, plan)
    assert made.records[0]["plan"] is None and made.notes() == []


@pytest.mark.parametrize("plan", ["plan", 5, {"days": 1}, [*three_days(), "day 4"], [None], [[]]])
def test_what_is_not_a_list_of_objects_is_refused(small_store, plan):
    with pytest.raises(InputError, match="query 2"):
        made_of(small_store, three_days(), plan)


def test_each_query_needs_exactly_one_line(small_store):
    queries = [query(idx=number) for number in (1, 2, 3)]
    with pytest.raises(InputError, match=r"query 3 has no line\n  query 1 has 2 lines"):
        submission([Line(1, None), Line(2, None), Line(1, None)], queries, small_store)


def test_hundreds_of_notes_are_counted_and_the_first_of_them_shown(small_store):
    many = 3 * NOTES_SHOWN
    made = made_of(small_store, *[changed(lunch=None)] * many, *[changed(current_city=None)] * many)
    incomplete, left_out = sorted(made.notes(), key=lambda note: "left out" in note)
    for note, first in ((incomplete, 1), (left_out, many + 1)):
        shown = note.splitlines()[1:]
        assert f"({many})" in note and len(shown) == NOTES_SHOWN + 1
        assert f"query {first}" in shown[0] and f"{many - NOTES_SHOWN} more" in shown[-1]


def test_just_what_the_official_evaluator_raises_on_is_left_out(tmp_path):
    build(made_up_world.DATABASE, tmp_path / "store")
    store, queries = Store.open(tmp_path / "store"), made_up_world.queries()
    seen = {"refused": 0, "left out": 0, "null": 0, "incomplete": 0, "whole": 0}
    for place, row in made_up_world.rows():
        plan, official = row["plan"], row["official"]
        asked = queries[row["idx"] - 1]
        try:
            made = submission([Line(asked.idx, plan)], [asked], store)
        except InputError:
            seen["refused"] += 1
            assert not (plan is None or (isinstance(plan, list) and all(isinstance(day, dict) for day in plan))), place
            continue
        assert bool(made.left_out) == ("error" in official), place
        written = made.records[0]["plan"]
        assert written == (plan if official["delivered"] and "error" not in official else None), place
        texts = all(isinstance(day.get(key), str) for day in written or () for key in KEYS)
        assert texts or made.incomplete, place
        seen["left out" if made.left_out else "null" if written is None else "whole" if texts else "incomplete"] += 1
    assert all(seen.values()), seen
