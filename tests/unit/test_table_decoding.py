"""The table of decoding settings: what was really used, beside the paper's, and nothing where nothing was run."""

import json

import pytest
import yaml

from helpers.made_up_study import study
from helpers.messages import any_names
from planner_r1.paper.artefacts import PAPER, artefact
from planner_r1.paper.make import make
from planner_r1.paper.reference import reference
from planner_r1.paper.render import read_csv
from planner_r1.paper.tables import decoding

ROLLOUT = "actor_rollout_ref.rollout"
SUITES = {"repeats": 3, "multi_if": {"source": "synthetic", "size": 2}}


def manifest(temperature=1.0, response=30500) -> dict:
    val = {"do_sample": False, "temperature": 0, "top_p": 1.0, "top_k": -1, "n": 1}
    turns = {"max_assistant_turns": 30, "max_user_turns": 30, "max_tool_response_length": 32768}
    rollout = {"do_sample": True, "temperature": temperature, "top_p": 1, "top_k": -1, "n": 8}
    rollout |= {"val_kwargs": val, "multi_turn": turns}
    return {"config": {"actor_rollout_ref": {"rollout": rollout}, "data": {"max_response_length": response}}}


@pytest.fixture
def made(tmp_path):
    """Makes the table of a study from the objects of the files that are there: its rows by (use, setting), and all
    that was written for people."""

    def make_it(of_study, files):
        for name, content in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(content), encoding="utf-8")
        table = artefact("decoding")
        outputs = {what: tmp_path / f"decoding.{what}" for what in table.outputs}
        make(table, of_study, tmp_path, outputs)
        rows = {(row["use"], row["setting"]): row for row in read_csv(outputs["csv"])}
        return rows, *(outputs[what].read_text(encoding="utf-8") for what in ("markdown", "latex"))

    return make_it


def test_settings_as_in_the_paper_are_told_from_others(made):
    of_study = study(suites=SUITES)
    runs = {f"runs/{run.name}/MANIFEST.json": manifest(response=768) for run in of_study.runs}
    decoded = {"temperature": 0.7, "top_p": 0.8, "top_k": 20, "max_tokens": 48}
    asked = {c.name: {"multi_if": {"repeats": 3, "decoding": decoded}} for c in of_study.suite_checkpoints}
    rows, text, latex = made(of_study, runs | {f"ood/{name}/asked.json": sent for name, sent in asked.items()})
    assert rows["training", "temperature"]["compared"] == rows["travelplanner", "temperature"]["compared"] == "same"
    assert rows["training", "n"] | {"ours": "8", "paper": "8"} == rows["training", "n"]
    assert rows["travelplanner", "n"]["ours"] == "1" and rows["travelplanner", "do_sample"]["ours"] == "false"
    length = rows["training", "response_tokens"]
    assert (length["ours"], length["paper"], length["compared"]) == ("768", "30500", "differs")
    sampled = rows["multi_if", "do_sample"]
    assert (sampled["ours"], sampled["paper"], sampled["compared"]) == ("true", "false", "differs")
    assert rows["multi_if", "top_k"]["compared"] == "same" and rows["multi_if", "n"]["compared"] == "differs"
    assert "| Multi-IF | **true** (paper false) | 0.7 | 0.8 | 20 | **3** (paper 1) |" in text
    assert r"\textbf{768} (paper 30500)" in latex


def test_what_was_not_run_is_empty_and_said(made):
    of_study = study()
    rows, text, _ = made(of_study, {f"runs/{of_study.runs[0].name}/MANIFEST.json": manifest()})
    for use in ("natural_plan", "multi_if", "tau_bench"):
        assert {row["ours"] for (of, _), row in rows.items() if of == use} == {""}
        assert {row["note"] for (of, _), row in rows.items() if of == use} == {"not run"}
    any_names(text, "- NaturalPlan", "not run")
    assert "- Training rollouts" not in text
    nothing, text, _ = made(study(seeds=[7]), {})
    assert {row["ours"] for row in nothing.values()} == {""} and {row["compared"] for row in nothing.values()} == {""}
    any_names(text, "- Training rollouts", "not run")


def test_runs_that_differ_are_all_named_and_evaluating_otherwise_is_seen(made):
    keys = {f"{ROLLOUT}.val_kwargs.temperature": 0.3}
    of_study = study(evaluation={"overrides": keys})
    files = {f"runs/{run.name}/MANIFEST.json": manifest(1.0 if run.seed else 0.9) for run in of_study.runs}
    rows, _, _ = made(of_study, files)
    assert rows["training", "temperature"]["ours"] == "0.9; 1"
    assert rows["training", "temperature"]["compared"] == "differs"
    assert rows["travelplanner", "temperature"]["ours"] == "0.3"


def test_characters_are_not_compared_with_tokens(made):
    of_study = study()
    rows, _, _ = made(of_study, {f"runs/{run.name}/MANIFEST.json": manifest() for run in of_study.runs})
    reply = rows["training", "tool_reply"]
    assert (reply["ours"], reply["paper"], reply["compared"]) == ("32768", "8192", "") and "characters" in reply["note"]


def test_the_copied_settings_are_those_of_the_listing():
    listing = yaml.safe_load((PAPER / "reference" / "training.yaml").read_text(encoding="utf-8"))
    printed = {(row["use"], row["setting"]): row["value"] for row in reference("decoding")}
    spelled = {"natural_plan": "naturalplan"}
    for use in decoding.USES:
        for setting, value in listing["decoding"][spelled.get(use, use)].items():
            assert yaml.safe_load(printed[use, setting]) == value
    limits = ("max_response_tokens", "assistant_turns", "tool_turns", "tool_calls", "max_tool_response_tokens")
    assert [int(printed["training", key]) for key in decoding.LIMITS] == [listing["limits"][key] for key in limits]
