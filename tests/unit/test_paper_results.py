"""What is read of a study's results: whole files, lines one by one, what is absent, and what is broken."""

import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.checkout import REPOSITORY
from helpers.made_up_results import write_results
from helpers.made_up_study import study
from helpers.messages import refused
from planner_r1.errors import InputError
from planner_r1.paper.forms import check_files
from planner_r1.paper.results import KINDS, Results, validations_file
from planner_r1.study import Study

MADE = study(seeds=[0])
RUN = MADE.runs[0]


def written(folder, text: str | bytes) -> Results:
    path = folder / validations_file(RUN)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return Results(MADE, folder, ("validations",))


@given(st.lists(st.dictionaries(st.text(), st.text() | st.integers() | st.none(), min_size=1)))
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
        (b'{"step": "\xff"}\n', 1),
        ('{"step": 0}\n[1]\n', 2),
        ('{"step": 0}\n{}\n', 2),
    ],
)
def test_a_line_that_is_no_object_is_named(tmp_path, text, line):
    with refused("scores.jsonl", f"line {line}", "delete"):
        written(tmp_path, text).validations(RUN)


def test_a_file_of_a_run_comes_back_from_its_work_folder_where_that_is_there(tmp_path):
    path = tmp_path / f"runs/{RUN.name}/MANIFEST.json"
    path.parent.mkdir(parents=True)
    path.write_text("{")
    results = Results(MADE, tmp_path, ("manifests",))
    with refused(path, "JSON", "fetch"):
        results.manifest(RUN)
    work = tmp_path / "work" / RUN.name
    work.mkdir(parents=True)
    with refused(path, "JSON", work):
        results.manifest(RUN)


def test_made_up_results_have_the_forms_and_a_file_without_them_is_named(tmp_path):
    suites = {"natural_plan": {"source": "synthetic"}, "tau_bench": {"source": "synthetic"}}
    for made in (study(seeds=[0], suites=suites), Study.load(str(REPOSITORY / "config/studies/memory.yaml"))):
        folder = tmp_path / made.name
        write_results(made, folder, queries=3, test_queries=3, suite_items=2)
        check_files(made, folder, tuple(KINDS))
    made, folder = study(seeds=[0], suites=suites), tmp_path / MADE.name
    for kind in KINDS:
        for file in KINDS[kind](made):
            path = folder / file
            if not path.is_file() or kind in ("config", "asked"):
                continue
            whole = path.read_bytes()
            path.write_text('{"x": 1}\n')
            with pytest.raises(InputError, match=re.escape(str(path)) + ".* is missing"):
                check_files(made, folder, (kind,))
            path.write_bytes(whole)


def test_what_is_wrong_within_a_line_is_told(tmp_path):
    parts = dict.fromkeys(("schema", "cs_micro", "hard_micro", "cs_macro", "hard_macro", "pass"), 1.0)
    row = {"idx": 1, "step": 0, "end_reason": "answer", "turns": 1, "failures": [], "tools": [], "passed": True}
    row |= {"tokens": {"generated": 1}}
    for parts_of, named in (
        (parts | {"pass": "yes"}, ["'sub_rewards.pass'", "'yes'"]),
        ([1], ["'sub_rewards'", "'[1]'"]),
        ({"schema": 1.0}, ["'sub_rewards.cs_micro'", "missing"]),
    ):
        rows = (row | {"sub_rewards": parts}, row | {"sub_rewards": parts_of})
        written(tmp_path, "".join(json.dumps(one) + "\n" for one in rows))
        with refused("scores.jsonl", "line 2", *named):
            check_files(MADE, tmp_path, ("validations",))


def test_what_is_absent_is_none_and_what_was_not_declared_is_refused(tmp_path):
    results = Results(MADE, tmp_path, tuple(KINDS))
    checkpoint = MADE.checkpoints[0]
    assert results.validations(RUN) is results.metrics(RUN, ()) is results.manifest(RUN) is None
    assert results.scores(checkpoint, "test") is results.trajectories(checkpoint, "test") is None
    assert results.asked(checkpoint) is results.suite(checkpoint, "multi_if") is results.model("tiny") is None
    assert results.rates() == results.probes() == []
    with refused("'manifests'", "rates", error=ValueError):
        Results(MADE, tmp_path, ("rates",)).manifest(RUN)


def test_of_metrics_only_what_is_asked_for_is_kept(tmp_path):
    path = tmp_path / f"runs/{RUN.name}/metrics.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text('{"step": 0, "b": 1}\n{"step": 1, "a": 2, "b": 3}\n')
    assert Results(MADE, tmp_path, ("metrics",)).metrics(RUN, ["a"]) == [{"step": 0}, {"step": 1, "a": 2}]


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"sub_rewards": {"schema": 1.0, "pass": math.nan}}, ["'sub_rewards.pass'", "nan"]),
        ({"sub_rewards": {"schema": math.inf}}, ["'sub_rewards.schema'", "inf"]),
        ({"passed": math.nan}, ["'passed'", "nan"]),
        ({"tokens": {"generated": -math.inf}}, ["'tokens.generated'", "-inf"]),
        ({"idx": 2, "step": 0}, ["query 2", "step 0", "line 2"]),
    ],
)
def test_a_validation_that_cannot_be_counted_names_file_and_line(tmp_path, change, named):
    rows = [
        {"idx": idx, "step": step, "passed": False, "sub_rewards": {"schema": 1.0, "pass": 0.0}}
        for step in (0, 40)
        for idx in (1, 2, 3)
    ]
    rows[4] |= change  # the fifth line
    results = written(tmp_path, lines(rows))
    with refused(tmp_path / validations_file(RUN), "line 5", *named):
        results.validations(RUN)
    rows[4] |= {"idx": 2, "step": 40, "passed": True, "sub_rewards": {"schema": 0.0}, "tokens": {"generated": 7}}
    assert written(tmp_path, lines(rows)).validations(RUN) == rows
