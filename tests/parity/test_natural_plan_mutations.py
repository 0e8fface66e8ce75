"""NaturalPlan's scorers against slow ones written apart, on made-up tasks' golden plans, changed at random."""

import json
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from parity import reference_natural_plan as reference
from planner_r1.ood.natural_plan.calendar import read_slot
from planner_r1.ood.natural_plan.fields import Fields
from planner_r1.ood.natural_plan.made_up import CITIES, PEOPLE, PLACES, make_examples
from planner_r1.ood.natural_plan.meeting import count_meetings, read_steps
from planner_r1.ood.natural_plan.scoring import TASKS
from planner_r1.ood.natural_plan.trip import read_plan

EXAMPLES = {task: list(make_examples(task, 8, seed=5).values()) for task in TASKS}


def all_day(example):
    """The same friends, who have time from 8:00AM to 11:00PM: more can go wrong before a meeting cannot be."""
    start, *friends = example["constraints"]
    at_leisure = [[name, place, "8:00AM to 11:00PM", least] for name, place, _, least in friends]
    return example | {"constraints": [start, *at_leisure]}


EXAMPLES["meeting"] += [all_day(example) for example in EXAMPLES["meeting"]]
PARSED = {
    task: [TASKS[task].read(str(at), Fields("made up", fields)) for at, fields in enumerate(EXAMPLES[task])]
    for task in TASKS
}

# Words that a changed plan may hold besides its own, and what it may hold between them.
MARKS = ["\n", ".", ". ", ",", ", ", " ", "  ", "-", " - ", "–", ":", "*", "**", "\r\n", "\t", "_", "(", ")"]
HALVES = ["AM", "PM", "PM", "pm", " PM", ""]
NUMBERS = ["0", "1", "2", "3", "9", "09", "10", "12", "13", "15", "30", "45", "59", "60", "300", "٣", "²"]
WORDS = {
    "trip": [
        *("Day", "day", "Day 1-", "Day 2", "from", "to", "Fly", "from A to B", "Visit", "for", "days", "from a to"),
        *("European cities for 5 days", "European cities for", "<think>", "</think>", "São", "Day 3: Fly from "),
        *CITIES[:6],
    ],
    "meeting": [
        *("You start", "You travel to ", "You travel", "You wait until ", "You wait", "You meet ", "You meet with "),
        *("You", "in", "for", "until", "to", "travel to", "meet", "AM", "PM", "am", " pm", "p.m.", "SOLUTION:"),
        *("Solution:", "You wait until 5:00PM", "You wait until 12:05AM", "You wait until 3:7pm", "the ", "\u017f"),
        *PEOPLE[:5],
        *PLACES[:4],
    ],
    "calendar": [
        *("Monday", "Tuesday", "monday", "Monday, 9:00 - 10:30", "Tuesday, 13:30", "11:00 - 11:30", ":30", ":00", "PM"),
        *("Friday, ", " to ", "Mon\u017fday", "É", ":30 -", "Monday, 9:300 - 10:030"),
    ],
}


def golden_text(example):
    golden = example["golden_plan"]
    return golden if isinstance(golden, str) else f"SOLUTION: {' '.join(golden)}"


def changes(task):
    """Lists of (kind of change, place, another place, what is new); places count pieces, and start over at the end."""
    kinds = ["put in", "replace", "replace", "number", "number", "take away", "swap", "double", "double", "copy", "cut"]
    new = st.sampled_from([*WORDS[task], *MARKS, *NUMBERS])
    place = st.integers(0, 200)
    return st.lists(st.tuples(st.sampled_from(kinds), place, place, new), max_size=4)


@st.composite
def changed_plans(draw, task):
    """(number of the example, an answer to it): its golden plan, a few of whose pieces are changed."""
    number = draw(st.integers(0, len(EXAMPLES[task]) - 1))
    # whole lines, or sentences, or words, numbers and marks
    form = draw(st.sampled_from([r"[^\n]*\n?", r"[^.]+\.?", r"\w+|\W", r"\d+|[^\W\d]+|\W"]))
    pieces = re.findall(form, golden_text(EXAMPLES[task][number]))
    for kind, at, other, new in draw(changes(task)):
        if not pieces:
            break
        at, other = at % len(pieces), other % len(pieces)
        match kind:
            case "put in":
                pieces.insert(at, new)
            case "replace":
                pieces[at] = new
            case "number":  # another one in place of the next number
                at = next((n for n in range(at, len(pieces)) if re.search(r"\d", pieces[n])), at)
                pieces[at] = re.sub(r"\d+", NUMBERS[other % len(NUMBERS)], pieces[at], count=1)
            case "take away":
                del pieces[at]
            case "swap":
                pieces[at], pieces[other] = pieces[other], pieces[at]
            case "double":
                pieces.insert(at, pieces[at])
            case "copy":
                pieces[at:at] = pieces[other : other + 5]
            case "cut":
                del pieces[at:]
    return number, "".join(pieces)


def loose_words(task):
    """(number of an example, words and marks without any order)"""
    piece = st.sampled_from([*WORDS[task], *MARKS, *NUMBERS]) | st.text(max_size=2)
    numbers = st.integers(0, len(EXAMPLES[task]) - 1)
    return st.tuples(numbers, st.lists(piece, max_size=25).map("".join))


@st.composite
def walks(draw):
    """(number of an example, steps in the form of the suite, but in any order, at any time)"""
    number = draw(st.integers(0, len(EXAMPLES["meeting"]) - 1))
    _, *friends = EXAMPLES["meeting"][number]["constraints"]
    time = st.tuples(st.integers(0, 13), st.sampled_from(["00", "05", "5", "30", "59", "60"]), st.sampled_from(HALVES))
    friend = st.sampled_from(friends)
    step = st.one_of(
        friend.map(lambda friend: f"You travel to {friend[1]} in 5 minutes."),
        friend.map(lambda friend: f"You travel to {friend[1]} in 5 minutes. You meet {friend[0]} for 9 minutes."),
        friend.map(lambda friend: f"You meet {friend[0]} for 9 minutes."),
        time.map(lambda time: f"You wait until {time[0]}:{time[1]}{time[2]}."),
    )
    return number, " ".join(draw(st.lists(step, max_size=6)))


def answers(task):
    return changed_plans(task) | changed_plans(task) | changed_plans(task) | loose_words(task)


@given(answers("trip"))
@settings(max_examples=600)
@example((0, "European cities for 5 days\nDay 1-5\nDay 2 from A to B"))
@example((0, "Day 1-3 of 1-5\nDay 2 or Day 3: from A to B, then from B to C"))
@example((0, "Day 2: from A to from B to C\nDay 1-5"))
@example((0, "Day 2 from A to B, Day 3 from B to C\nDay 1-5"))
def test_trips(case):
    number, answer = case
    assert read_plan(answer) == reference.trip_plan(answer)
    found, reason = PARSED["trip"][number].official_score(answer)
    assert found == reference.trip_score(EXAMPLES["trip"][number], answer), reason


@given(answers("meeting") | walks() | walks())
@settings(max_examples=1_000)
def test_meetings(case):
    number, answer = case
    task, fields = PARSED["meeting"][number], EXAMPLES["meeting"][number]
    steps = reference.meeting_steps(answer)
    assert read_steps(answer) == steps
    official = reference.meetings(fields, steps)
    found, reason = task.official_score(answer)
    if isinstance(official, str):
        assert found == 0.0 and official in reason
    else:
        assert count_meetings(task, answer)[0] == official
        assert found == reference.meeting_score(fields, answer), reason


@given(answers("calendar"))
@settings(max_examples=600)
@example((0, "Monday, 9:00 - 9:3, Monday, 9:00 - 10:30"))
@example((0, "aMonday, 09:030 - 9:30PM"))
@example((0, "Monday, 9:00 - ٣:30 or ٣:00 - 9:30"))
@example((0, "Monday, ٣:00 - 9:30"))
def test_calendars(case):
    number, answer = case
    assert read_slot(answer) == reference.slot(answer)
    found, reason = PARSED["calendar"][number].official_score(answer)
    assert found == reference.calendar_score(EXAMPLES["calendar"][number], answer), reason


# --- the references themselves ---------------------------------------------------------------------------------------

SCORERS = {"trip": reference.trip_score, "meeting": reference.meeting_score, "calendar": reference.calendar_score}
FILES = {"trip": "trip_planning", "meeting": "meeting_planning", "calendar": "calendar_scheduling"}


@pytest.mark.parametrize("task", SCORERS)
def test_the_references_give_every_official_score(shared_data, task):
    folder = shared_data / "naturalplan"
    examples = json.loads((folder / f"{FILES[task]}.json").read_text(encoding="utf-8"))
    for line in (folder / f"naturalplan_{task}.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        official = row["official_score"]
        found = SCORERS[task](examples[row["id"]], row["prediction"])
        assert found == (official["error"] if isinstance(official, dict) else official), row
