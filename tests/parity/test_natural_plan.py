"""The official scorer's own verdicts on 1,818 answers to NaturalPlan: every one of them must be ours."""

import json

import pytest

from planner_r1.ood.natural_plan.calendar import read_slot
from planner_r1.ood.natural_plan.meeting import count_meetings, read_steps
from planner_r1.ood.natural_plan.scoring import load_tasks, score
from planner_r1.ood.natural_plan.trip import read_plan

FILES = {"trip": "trip_planning", "meeting": "meeting_planning", "calendar": "calendar_scheduling"}
ROWS = {"trip": 558, "meeting": 612, "calendar": 648}


@pytest.fixture(scope="module")
def suite(shared_data):
    """Reads the examples and the rows of a task."""

    def read(task):
        folder = shared_data / "naturalplan"
        lines = (folder / f"naturalplan_{task}.jsonl").read_text(encoding="utf-8").splitlines()
        return load_tasks(folder / f"{FILES[task]}.json", task), [json.loads(line) for line in lines]

    return read


@pytest.mark.parametrize("task", FILES)
def test_all_official_scores(suite, task):
    tasks, rows = suite(task)
    assert len(rows) == ROWS[task]
    for row in rows:
        official = row["official_score"]
        found = score(tasks[row["id"]], row["prediction"])
        if isinstance(official, dict):  # where the official code raised, the answer fails with a reason
            assert found["score"] == 0.0 and official["error"] in found["reason"], row
        else:
            assert found["score"] == official, row
        assert found["valid"] is not None
        assert (found["reason"] is None) == (found["score"] == 1.0 and found["valid"]), row


def test_trips_are_read_as_the_official_parser_reads_them(suite):
    _, rows = suite("trip")
    for row in rows:
        assert read_plan(row["prediction"]) == [tuple(stay) for stay in row["parsed"]], row


def test_slots_are_read_as_the_official_parser_reads_them(suite):
    _, rows = suite("calendar")
    for row in rows:
        assert read_slot(row["prediction"]) == tuple(row["parsed"]), row


def test_meetings_are_counted_as_the_official_scorer_counts_them(suite):
    tasks, rows = suite("meeting")
    for row in rows:
        task = tasks[row["id"]]
        assert len(read_steps(row["prediction"])) == row["n_steps"], row
        if "meetings" in row:
            assert count_meetings(task, row["prediction"])[0] == row["meetings"], row
            assert task.golden_count == row["golden_meetings"], row


@pytest.mark.parametrize("task", FILES)
def test_every_golden_plan_is_valid(suite, task):
    """The authors' own plans keep all constraints that are read from the prompts."""
    tasks, rows = suite(task)
    golden = [row for row in rows if row["variant"] == "golden_text"]
    assert len(golden) == len(tasks)
    for row in golden:
        assert tasks[row["id"]].fault(row["prediction"]) is None, row
