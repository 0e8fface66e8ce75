"""`planner-r1 suite-score multi_if`, as a person or another program runs it."""

import json

import pytest

from helpers.messages import any_names, names

LINE = {
    "key": "7:1:en",
    "turn": 1,
    "instruction_id_list": ["punctuation:no_comma", "startend:end_checker"],
    "kwargs": [{}, {"end_phrase": "Bye."}],
    "response": "Well then.\nBye.",
}


@pytest.fixture
def score(run, tmp_path):
    """Runs the command on lines; gives its status, output, errors and verdicts, None where it wrote none."""

    def score(*lines, out=tmp_path / "verdicts.jsonl"):
        answers = tmp_path / "answers.jsonl"
        answers.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
        status, said, fault = run("suite-score", "multi_if", "--answers", answers, "--out", out)
        written = [json.loads(line) for line in out.read_text().splitlines()] if out.is_file() else None
        return status, said, fault, written

    return score


def test_verdicts_keep_the_order_of_the_answers_and_the_accuracies_are_printed(score):
    official = {"instruction_id_list": json.dumps(LINE["instruction_id_list"])}
    official["kwargs"] = json.dumps([json.dumps(kwargs) for kwargs in LINE["kwargs"]])
    status, said, _, written = score(
        LINE | {"turn": 2, "response": None},
        LINE | official,
        LINE | {"response": "Well, then.\nBye.", "model": "any"},
        LINE | {"key": 7, "response": "\ud800 Well.\nBye.\nAh, so."},
    )
    assert status == 0
    assert written == [
        {"key": "7:1:en", "turn": 2, "strict": [False, False], "loose": [False, False]},
        {"key": "7:1:en", "turn": 1, "strict": [True, True], "loose": [True, True]},
        {"key": "7:1:en", "turn": 1, "strict": [False, True], "loose": [True, True]},
        {"key": 7, "turn": 1, "strict": [False, False], "loose": [True, True]},
    ]
    lines = said.splitlines()
    assert "4 replies" in lines[0]
    names(lines[1], "turn 1", "prompt strict 33.3%", "instruction strict 50.0%", "prompt loose 100.0%")
    names(lines[2], "turn 2", "mean 0.0%")
    names(lines[3], "mean", "35.4%")


@pytest.mark.parametrize(
    ("line", "named"),
    [
        *(({k: v for k, v in LINE.items() if k != name}, [repr(name), "missing"]) for name in LINE),
        (LINE | {"key": None}, ["'key'", None]),
        (LINE | {"turn": 4}, ["'turn'", 4]),
        (LINE | {"turn": True}, ["'turn'", True]),
        (LINE | {"response": ["x"]}, ["'response'", "list"]),
        (LINE | {"kwargs": [{}]}, ["2 instructions", "1 kwargs"]),
        (LINE | {"instruction_id_list": [], "kwargs": []}, ["'instruction_id_list'", "[]"]),
        (LINE | {"kwargs": [{}, {}]}, ["startend:end_checker", "'end_phrase'"]),
        ("text", ["object", "str"]),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_written(score, line, named):
    status, _, fault, written = score(LINE, line)
    assert status == 2 and written is None
    any_names(fault, "answers.jsonl", "line 2", *named)


def test_an_empty_file_and_an_output_that_is_the_input(score, tmp_path):
    status, _, fault, written = score()
    assert status == 2 and written is None
    any_names(fault, "answers.jsonl", "no answer")
    status, _, fault, written = score(LINE, out=tmp_path / "answers.jsonl")
    assert status == 2 and written == [LINE]
    any_names(fault, "answers.jsonl", "read")
