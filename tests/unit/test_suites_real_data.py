"""The suites on their authors' own data, as far as it is here."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from helpers.scripted_endpoint import ScriptedEndpoint, says
from helpers.scripted_suites import spec
from planner_r1.ood.answers import collect_answers
from planner_r1.ood.multi_if.data import load_conversations
from planner_r1.ood.scores import score_suite
from planner_r1.ood.suites import SUITES
from planner_r1.study import SUITE_FILES

FOLDERS = {"natural_plan": "naturalplan", "multi_if": "multi_if", "tau_bench": "tau_bench_retail"}


@pytest.fixture(scope="module")
def folders(shared_data) -> dict[str, Path]:
    return {suite: shared_data / name for suite, name in FOLDERS.items()}


def test_the_files_of_each_suite_are_there(folders):
    for suite, folder in folders.items():
        assert all((folder / name).is_file() for name in SUITE_FILES[suite])


def test_made_up_data_have_the_same_files(tmp_path):
    for name, suite in SUITES.items():
        suite.make_up(tmp_path / name, 1, seed=0)
        assert {file.name for file in (tmp_path / name).iterdir()} == set(SUITE_FILES[name])


def test_the_authors_data_have_as_many_items_as_the_metrics_say(folders):
    multi_if = SUITES["multi_if"](folders["multi_if"])
    turns = {c.key: len(c.turns) for c in load_conversations(folders["multi_if"] / SUITE_FILES["multi_if"][0])}
    silence = [
        {"item": item, "repeat": 0, "replies": [{"response": ""}] * turns[item]} for item in multi_if.items(None, 0)
    ]
    rows, _ = multi_if.score(silence)
    assert Counter(row["metric"] for row in rows) == multi_if.metrics
    tau_bench = SUITES["tau_bench"](folders["tau_bench"])
    assert len(tau_bench.items(None, 0)) == tau_bench.metrics["tau_pass1"]


def test_a_sample_of_each_goes_through(folders, tmp_path):
    with ScriptedEndpoint([says("Monday, 9:00 - 9:30")]) as server:
        made = spec(server, folders, tmp_path)
        suites = {name: replace(asked, items=3) for name, asked in made.suites.items()}
        collect_answers(replace(made, suites=suites), lambda line: None)
    for name in SUITES:
        asked = json.loads((made.out / "asked.json").read_text())[name]
        rows, metrics = score_suite(name, folders[name], made.out / name / "answers.jsonl", asked, made_up=False)
        assert {metric["items"] for metric in metrics["metrics"].values()} <= {2, 3}  # a turn may be empty
        (few,) = [caveat for caveat in metrics["caveats"] if caveat.startswith("not all items")]
        assert f"{next(iter(SUITES[name].metrics))} 3 of {next(iter(SUITES[name].metrics.values()))}" in few
        assert rows
