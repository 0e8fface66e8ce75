"""Scores of a run's validations: what is kept of an episode, what is judged anew, and lines that are no episodes."""

import json

import pytest

from helpers.small_world import AGENT_PLAN, query
from planner_r1.agent.episodes import call_record, episode_line
from planner_r1.errors import InputError
from planner_r1.reward import STAGES, episode_scores
from planner_r1.scoring import score_validations

KEYS = ["step", "idx", "end_reason", "turns", "tokens", "sub_rewards", "failures", "passed", "passed_strict", "tools"]
CALLS = [
    call_record(1, "search_flights", {"origin": "Dorn"}, '{"results":[]}'),
    call_record(2, "book_flight", {}, '{"error":"Unknown tool"}'),
    call_record(2, None, None, '{"error":"The tool call is not valid JSON"}'),
]


def line(store, asked, plan, step=0, calls=(), end_reason="answer") -> dict:
    """An episode as verl's validations write it."""
    answer = "" if plan is None else f"<answer>{json.dumps(plan)}</answer>"
    record = {"idx": asked.idx, "split": "validation", "tool_calls": list(calls), "answer": answer, "turns": 3}
    record |= {"end_reason": end_reason, "tokens": {"prompt": 5, "response": 7, "generated": 3}}
    scores = episode_scores(answer, asked, store, STAGES["stage1"])
    place = {"step": step, "model": "tiny", "regime": "stage1", "seed": 0}
    return place | episode_line(record, "all that was said", scores)


def changed(day, key, value):
    plan = json.loads(json.dumps(AGENT_PLAN))
    plan[day - 1][key] = value
    return plan


@pytest.fixture
def score(tmp_path, small_store):
    def score(*lines, queries=None):
        path = tmp_path / "validation.jsonl"
        path.write_text("".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in lines))
        return list(score_validations(path, queries or [query()], small_store))

    return score


def test_a_row_an_episode_with_what_figures_need_and_no_texts(score, small_store):
    good = line(small_store, query(), AGENT_PLAN, step=5, calls=CALLS)
    [row] = score(good)
    assert list(row) == KEYS
    assert {key: row[key] for key in KEYS[:6]} == {key: good[key] for key in KEYS[:6]}
    assert row["failures"] == [] and row["passed"] and row["passed_strict"]
    assert row["tools"] == [[1, "search_flights", False], [2, "book_flight", True], [2, None, True]]
    assert "all that was said" not in json.dumps(row)


def test_order_is_the_files_and_steps_may_repeat_queries(score, small_store):
    other = query(5, idx=2)
    lines = [line(small_store, asked, None, step) for step in (0, 10) for asked in (other, query())]
    rows = score(*lines, queries=[query(), other])
    assert [(row["step"], row["idx"]) for row in rows] == [(0, 2), (0, 1), (10, 2), (10, 1)]


@pytest.mark.parametrize(
    ("plan", "kinds", "passed", "strict"),
    [
        (None, ["no_plan"], False, False),
        (changed(2, "lunch", "Blue Spoon"), ["is_valid_restaurants"], False, False),
        (
            changed(2, "attraction", ["Alba Tower", "No Such Place"]),
            ["is_valid_information_in_sandbox", "hallucinated_attraction"],
            False,
            False,
        ),
        # "-" among the attractions fails the look-up, but makes nothing up
        (
            changed(2, "attraction", ["Alba Tower", "-"]),
            ["is_valid_information_in_current_city", "is_valid_information_in_sandbox"],
            False,
            False,
        ),
        (changed(2, "dinner", "-"), ["is_not_absent"], False, False),
        (changed(2, "lunch", "Twin"), [], True, False),  # through a hole of the official rules
    ],
)
def test_failures_and_both_verdicts(score, small_store, plan, kinds, passed, strict):
    [row] = score(line(small_store, query(), plan, end_reason="no_answer" if plan is None else "answer"))
    assert (row["failures"], row["passed"], row["passed_strict"]) == (kinds, passed, strict)
    assert row["passed"] == (row["sub_rewards"]["pass"] == 1)


def test_an_episode_without_calls_and_an_empty_file(score, small_store):
    [row] = score(line(small_store, query(), None, end_reason="length"))
    assert row["tools"] == [] and row["end_reason"] == "length"
    assert score() == []


def test_a_line_that_is_no_episode_of_these_queries_is_named(score, small_store):
    good = line(small_store, query(), AGENT_PLAN)
    for bad, said in [
        (good | {"idx": 9}, "9"),
        ({key: value for key, value in good.items() if key != "tool_calls"}, "tool_calls"),
        ("{", "no episode"),
    ]:
        with pytest.raises(InputError, match=rf"validation.jsonl, line 2: .*{said}"):
            score(good, bad)
