"""`planner-r1 suite-score natural_plan`, as a person or another program runs it."""

import json

import pytest

from helpers.messages import any_names
from planner_r1.ood.natural_plan.made_up import make_examples


@pytest.fixture
def files(tmp_path):
    """A data file of three trips; the golden plans by key, and what `suite-score` is to be given."""

    class Files:
        examples = make_examples("trip", 3, seed=0)
        data, answers, out = tmp_path / "trips.json", tmp_path / "answers.jsonl", tmp_path / "scores.jsonl"

        @property
        def golden(self):
            return {key: fields["golden_plan"] for key, fields in self.examples.items()}

        def write(self, *lines):
            self.answers.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")

        def options(self, task="trip"):
            options = {"--task": task, "--data": self.data, "--answers": self.answers, "--out": self.out}
            return ["suite-score", "natural_plan", *(part for option in options.items() for part in option)]

        def scores(self):
            return [json.loads(line) for line in self.out.read_text().splitlines()]

    Files.data.write_text(json.dumps(Files.examples))
    return Files()


def test_scores_keep_the_order_of_the_answers_and_the_rates_are_printed(run, files):
    first, second, third = files.golden
    files.write(
        {"id": third, "answer": files.golden[third]},
        {"id": first, "answer": None},
        {"id": second, "answer": files.golden[second].replace("-", "–")},
        {"id": third, "answer": "\ud800", "model": "any"},
    )
    status, out, _ = run(*files.options())
    assert status == 0
    assert [(row["id"], row["score"], row["valid"]) for row in files.scores()] == [
        (third, 1.0, True),
        (first, 0.0, False),
        (second, 0.0, True),
        (third, 0.0, False),
    ]
    assert [row["reason"] is None for row in files.scores()] == [True, False, False, False]
    assert set(files.scores()[0]) == {"id", "score", "valid", "reason"}
    assert "4 answers" in out and "25.0% exact match" in out and "50.0% valid" in out


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        ([], ["no answer"]),
        ([{"answer": "x"}], ["line 1", "'id'", "missing"]),
        ([{"id": "made_up_trip_0"}], ["line 1", "'answer'", "missing"]),
        ([{"id": "made_up_trip_0", "answer": ""}, {"id": "other", "answer": ""}], ["line 2", "'other'"]),
        ([{"id": ["made_up_trip_0"], "answer": ""}], ["line 1", "['made_up_trip_0']"]),
        ([{"id": "made_up_trip_0", "answer": 3}], ["line 1", "'answer'", "int"]),
        (["text"], ["line 1", "object", "str"]),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_written(run, files, lines, named):
    files.write(*lines)
    status, _, err = run(*files.options())
    assert status == 2 and not files.out.exists()
    any_names(err, "answers.jsonl", *named)


def test_data_of_another_task_is_told(run, files):
    files.write({"id": "made_up_trip_0", "answer": ""})
    status, _, err = run(*files.options(task="calendar"))
    assert status == 2 and not files.out.exists()
    any_names(err, "trips.json", "'made_up_trip_0'", "'num_people'", "missing")


def test_the_input_is_not_overwritten(run, files):
    files.write({"id": "made_up_trip_0", "answer": ""})
    before = files.data.read_bytes()
    files.out = files.data
    status, _, err = run(*files.options())
    assert status == 2 and files.data.read_bytes() == before
    any_names(err, files.data, "read")
