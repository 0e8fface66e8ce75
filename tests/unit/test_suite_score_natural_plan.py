"""`planner-r1 suite-score natural_plan`, as a person or another program runs it."""

import json

import pytest

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
    ("lines", "told"),
    [
        ([], "holds no answer"),
        ([{"answer": "x"}], "line 1: 'id' is missing"),
        ([{"id": "made_up_trip_0"}], "line 1: 'answer' is missing"),
        (
            [{"id": "made_up_trip_0", "answer": ""}, {"id": "other", "answer": ""}],
            "line 2: there is no example 'other'",
        ),
        ([{"id": ["made_up_trip_0"], "answer": ""}], "line 1: there is no example ['made_up_trip_0']"),
        ([{"id": "made_up_trip_0", "answer": 3}], "line 1: 'answer' must be text or null, found int"),
        (["text"], "line 1: expected a JSON object, found str"),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_written(run, files, lines, told):
    files.write(*lines)
    status, _, err = run(*files.options())
    assert status == 2 and told in err and "answers.jsonl" in err and not files.out.exists()


def test_data_of_another_task_is_told(run, files):
    files.write({"id": "made_up_trip_0", "answer": ""})
    status, _, err = run(*files.options(task="calendar"))
    assert status == 2 and "trips.json, example 'made_up_trip_0': the field 'num_people' is missing" in err
    assert not files.out.exists()


def test_the_input_is_not_overwritten(run, files):
    files.write({"id": "made_up_trip_0", "answer": ""})
    before = files.data.read_bytes()
    files.out = files.data
    status, _, err = run(*files.options())
    assert status == 2 and "is read as well" in err and files.data.read_bytes() == before
