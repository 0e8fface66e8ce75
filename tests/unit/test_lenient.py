"""A lenient reading of answers: what it gives beside the strict one, and that no text upsets it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.small_world import AGENT_PLAN
from planner_r1.plan import parse_answer, read_leniently
from planner_r1.plan.answer import MAX_ANSWER
from planner_r1.plan.schema import schema_fault

GOOD = json.dumps(AGENT_PLAN)

NAMES = st.just("-") | st.text(min_size=1, max_size=12)
LEGS = st.fixed_dictionaries(
    {
        "mode": st.sampled_from(["taxi", "self-driving", "flight"]),
        **{key: st.text(min_size=1, max_size=8) for key in ("from", "to", "duration", "distance")},
        "cost": st.integers(0, 9_999),
    }
)
DAYS = st.fixed_dictionaries(
    {
        "days": st.integers(1, 7),
        "city": st.text(min_size=1, max_size=8),
        "transportation": st.just("-") | LEGS,
        "attraction": st.just("-") | st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=3),
        **{key: NAMES for key in ("accommodation", "breakfast", "lunch", "dinner")},
    }
)
# A tag within a name ends the block, for either reading.
PLANS = st.lists(DAYS, min_size=1, max_size=3).filter(lambda plan: "answer>" not in json.dumps(plan))
PROSE = st.text(st.characters(exclude_characters="[<"), max_size=40)
FENCES = st.sampled_from(["```json\n{}\n```", "```\n{}\n```", "~~~\n{}\n~~~", "```JSON {}```"])


@given(PLANS, st.sampled_from([None, 2]), PROSE, PROSE, FENCES)
def test_a_plan_is_found_whatever_it_is_wrapped_in_and_strictly_only_when_bare(plan, indent, before, after, fence):
    written = json.dumps(plan, indent=indent)
    bare = f"{before}<answer>{written}</answer>{after}"
    assert parse_answer(bare).plan == read_leniently(bare).plan == plan
    fenced = fence.replace("{}", written)
    wrapped = [
        f"<answer>{fenced}</answer>",
        f"<answer>{before} Plan: {written}{after}</answer>",
        f"<answer>{before}{written} Enjoy! {after}</answer>",
        f"<answer>{before}{fenced}{after}</answer>",
        f"{before}<answer>{written}",
        f"{before}{written}{after}",
        f"{before}{fenced}{after}",
        f'<answer>{{"plan": {written}}}</answer>',
    ]
    for text in wrapped:
        assert parse_answer(text).plan is None
        assert read_leniently(text).plan == plan


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no JSON array"),
        ("<answer>```json\n[]\n```</answer>", "no JSON array"),
        (f"{GOOD} <answer>I have no plan.</answer>", "no JSON array"),  # the block is what counts
        (f"<answer>{GOOD}</answer> <answer>", "no JSON array"),
        (f"<answer>So: {json.dumps(GOOD)}</answer>", "not valid"),
        (f"<answer>```{GOOD[:-1]}```</answer>", "not valid"),  # JSON is not mended
        (f"<answer>So: {GOOD[:-1]},]</answer>", "not valid"),
        (f"<answer>So: [{{{' ' * MAX_ANSWER}{GOOD[2:]}</answer>", "not valid"),
        (f"<answer>So: {GOOD.replace('240', 'NaN')}</answer>", "NaN"),
        ("<answer>So: " + GOOD.replace('"days": 1', '"days": 1, "days": 7') + "</answer>", "twice"),
        (f"<answer>Either {GOOD} or {GOOD}</answer>", "several"),  # which one would be a guess
        ('<answer>So: [{"days": 1}]</answer>', "day 1"),
    ],
)
def test_what_is_not_one_valid_plan_gives_a_reason(text, why):
    lenient = read_leniently(text)
    assert lenient.plan is None and why in lenient.reason


# Every way to end, to begin anew, or to nest: what a reader could stumble over.
PIECES = [
    "<answer>",
    "</answer>",
    "```",
    "```json\n",
    "~~~",
    "[",
    "]",
    "{",
    "}",
    "[{",
    "}]",
    '"',
    "\\",
    ":",
    ",",
    " ",
    "\n",
]
HOSTILE = st.lists(st.sampled_from([*PIECES, GOOD, "\ud800", "\x00", "9" * 50, "a", "NaN"]), max_size=40).map("".join)


@given(HOSTILE | st.text() | st.none() | st.integers() | st.binary())
def test_no_text_upsets_a_reader_and_the_lenient_one_agrees_wherever_the_strict_one_reads_a_plan(text):
    strict, lenient = parse_answer(text), read_leniently(text)
    assert (strict.plan is None) == bool(strict.reason)
    assert (lenient.plan is None) == bool(lenient.reason)
    assert strict.plan is None or lenient == strict
    assert lenient.plan is None or schema_fault(lenient.plan) is None


@pytest.mark.parametrize("piece", [*PIECES, "[ ", "{ ", "[{}", '[{"a":', "```w", "``` ", "<answer>[{", "[[{"])
def test_a_million_of_anything_comes_to_an_end(piece):
    for text in (piece * 200_000, f"<answer>{(piece * MAX_ANSWER)[:MAX_ANSWER]}</answer>"):
        assert parse_answer(text).plan is None and read_leniently(text).plan is None
