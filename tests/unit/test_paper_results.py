"""What is read of a study's results: whole files, lines one by one, what is absent, and what is broken."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.made_up_study import study
from planner_r1.errors import InputError
from planner_r1.paper.results import KINDS, Results, validations_file

MADE = study(seeds=[0])
RUN = MADE.runs[0]


def written(folder, text: str | bytes) -> Results:
    path = folder / validations_file(RUN)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return Results(MADE, folder, ("validations",))


@given(st.lists(st.dictionaries(st.text(), st.text() | st.integers() | st.none())))
def test_lines_are_read_as_they_were_written(tmp_path_factory, rows):
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    assert written(tmp_path_factory.mktemp("lines"), text.encode(errors="replace")).validations(RUN) == [
        json.loads(line) for line in text.encode(errors="replace").decode().split("\n")[:-1]
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"step": 0}\n{"step": 1\n', 2),
        ('{"step": 0}\n{"step": 1}, {"step": 2}\n', 2),
        # what would be a list if lines did not count
        ('{"step": [0\n1]}\n{"step": 2}, {"step": 3}\n', 1),
        ("\n", 1),
    ],
)
def test_a_line_that_is_no_object_is_named(tmp_path, text, line):
    with pytest.raises(InputError, match=rf"scores\.jsonl, line {line}: not JSON .*delete it and run its rule again"):
        written(tmp_path, text).validations(RUN)


def test_what_is_absent_is_none_and_what_was_not_declared_is_refused(tmp_path):
    results = Results(MADE, tmp_path, tuple(KINDS))
    checkpoint = MADE.checkpoints[0]
    assert results.validations(RUN) is results.metrics(RUN, ()) is results.manifest(RUN) is None
    assert results.scores(checkpoint, "test") is results.trajectories(checkpoint, "test") is None
    assert results.asked(checkpoint) is results.suite(checkpoint, "multi_if") is results.model("tiny") is None
    assert results.rates() == results.probes() == []
    with pytest.raises(ValueError, match="reads 'manifests', which is not among"):
        Results(MADE, tmp_path, ("rates",)).manifest(RUN)


def test_of_metrics_only_what_is_asked_for_is_kept(tmp_path):
    path = tmp_path / f"runs/{RUN.name}/metrics.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text('{"step": 0, "b": 1}\n{"step": 1, "a": 2, "b": 3}\n')
    assert Results(MADE, tmp_path, ("metrics",)).metrics(RUN, ["a"]) == [{"step": 0}, {"step": 1, "a": 2}]
