"""Reading a turn of the model, whatever it looks like."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner_r1.agent.turns import has_answer, read_tool_calls


def call(name="search_flights", arguments=None):
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments or {}})}\n</tool_call>"


def test_a_call_is_read_as_it_was_written():
    (found,) = read_tool_calls("I look it up." + call("get_cities", {"state": "Ohio"}))
    assert (found.name, found.arguments, found.error) == ("get_cities", {"state": "Ohio"}, None)


def test_calls_keep_their_order():
    assert [c.name for c in read_tool_calls(call("a") + call("b") + " and " + call("c"))] == ["a", "b", "c"]


@pytest.mark.parametrize("arguments", ["a string", [1], 3, None, {"x": None}])
def test_arguments_of_any_kind_are_left_to_the_tool(arguments):
    text = f"<tool_call>{json.dumps({'name': 'x', 'arguments': arguments})}</tool_call>"
    (found,) = read_tool_calls(text)
    assert found.error is None
    assert found.arguments == arguments


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("<tool_call>{'name': 'x'}</tool_call>", "not valid JSON"),
        ("<tool_call></tool_call>", "not valid JSON"),
        ("<tool_call>" + "[" * 100_000 + "</tool_call>", "not valid JSON"),
        ('<tool_call>["x"]</tool_call>', "names no tool"),
        ('<tool_call>{"arguments": {}}</tool_call>', "names no tool"),
        ('<tool_call>{"name": 3, "arguments": {}}</tool_call>', "names no tool"),
        ('<tool_call>{"name": "x"}</tool_call>', "has no arguments"),
        ('<tool_call>{"name": "x", "arguments": {}}', "not closed"),
    ],
)
def test_what_cannot_be_read_says_why(text, wrong):
    (found,) = read_tool_calls(text)
    assert found.name is None
    assert wrong in found.error


def test_a_call_that_is_not_closed_does_not_swallow_the_next():
    first, second = read_tool_calls('<tool_call>{"name": "x"' + call("y"))
    assert "not closed" in first.error
    assert second.name == "y"


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("<answer>[]</answer>", True),
        ("a\n<answer>\n</answer>", True),
        ("<answer>[", False),
        ("</answer><answer>", False),
    ],
)
def test_an_answer_is_a_whole_block(text, answers):
    assert has_answer(text) is answers


@given(st.lists(st.sampled_from(["<tool_call>", "</tool_call>", "{", "}", '"name"', ":", "[", "x", "\n", "<answer>"])))
def test_nothing_a_model_writes_raises(pieces):
    text = "".join(pieces)
    assert len(read_tool_calls(text)) == text.count("<tool_call>")
    has_answer(text)
