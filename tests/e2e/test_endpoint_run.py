"""A study file through to its table with a model behind a real server: transformers' own, on the CPU.

The same weights are evaluated three times: by the trainer's validation, over the endpoint with native function calling,
and over it with the tools as text. Greedy decoding makes the first two comparable, episode by episode.
"""

import json
from pathlib import Path

import pytest
import yaml

from helpers.checkout import Copy, copy_repository
from helpers.model_server import served
from planner_r1.agent.episodes import END_REASONS
from planner_r1.files import read_lines

pytestmark = pytest.mark.slow

QUERIES = 6
EVALUATION = "results/served/evaluations/{model}/base/seed0/step0/test"


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Copy:
    copy = copy_repository(tmp_path_factory.mktemp("served"))
    path = copy.folder / "config" / "served.yaml"
    config = yaml.safe_load((copy.folder / "config" / "smoke.yaml").read_text(encoding="utf-8"))
    config |= {"study": "served", "regimes": {}}
    config["queries"]["sizes"]["test"] = QUERIES
    for suite in ("multi_if", "tau_bench"):
        config["suites"][suite]["decoding"]["top_k"] = None  # this server refuses it
    run(copy, config, path, "results/served/models/tiny/MANIFEST.json")
    weights = copy.folder / "results" / "served" / "models" / "tiny"
    with served(weights) as url:
        common = {"url": url, "model": str(weights), "concurrency": 2, "retries": 1, "timeout": 120}
        common |= {"temperature": 0, "max_tokens_parameter": "max_tokens", "price": {"input": 1, "output": 2}}
        for tools in ("native", "hermes"):
            config["models"][f"served-{tools}"] = {"endpoint": {**common, "tools": tools}}
        run(copy, config, path, "all")
    return copy


def run(copy: Copy, config: dict, path: Path, target: str) -> None:
    path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    done = copy.snakemake("--cores", "2", target, "--configfile", "config/served.yaml")
    assert done.returncode == 0, done.stdout + done.stderr


def episodes(copy: Copy, model: str) -> list[dict]:
    return list(read_lines(copy.folder / EVALUATION.format(model=model) / "trajectories.jsonl"))


def metrics(copy: Copy, model: str) -> dict:
    return json.loads((copy.folder / EVALUATION.format(model=model) / "metrics.json").read_text())


@pytest.mark.parametrize("model", ["served-native", "served-hermes"])
def test_every_query_has_an_episode_and_a_score(finished, model):
    found = episodes(finished, model)
    assert [e["idx"] for e in found] == list(range(1, QUERIES + 1))
    assert all(e["end_reason"] in END_REASONS and e["turns"] > 0 and e["tokens"]["generated"] > 0 for e in found)
    assert metrics(finished, model)["n"] == QUERIES
    costs = json.loads((finished.folder / EVALUATION.format(model=model) / "costs.json").read_text())
    assert costs["requests"] >= sum(e["turns"] for e in found) and costs["without_answer"] == 0
    assert costs["cost"] > 0


def test_native_calls_over_the_endpoint_are_the_trainers(finished):
    trainers, ours = episodes(finished, "tiny"), episodes(finished, "served-native")
    # Two engines sum in another order: where a barely trained model repeats itself, two tokens may be as likely as one
    # another, and an episode part there. tests/unit/test_endpoint_matches_trainer.py says that equal turns make equal
    # episodes.
    keys = ("answer", "end_reason", "turns", "tool_calls", "tokens", "reward")
    same = [all(own[key] == theirs[key] for key in keys) for own, theirs in zip(ours, trainers, strict=True)]
    assert sum(same) >= QUERIES / 2
    assert any(e["tool_calls"] for e, is_same in zip(ours, same, strict=True) if is_same)


def test_the_table_has_a_row_for_each(finished):
    table = (finished.folder / "results" / "served" / "tables" / "table1.md").read_text()
    for model in ("tiny", "served-native", "served-hermes"):
        assert f"| this study | {model} | base | test |" in table


def test_a_finished_study_is_finished_though_the_server_is_gone(finished):
    assert finished.planned("all", "--configfile", "config/served.yaml") == {}


@pytest.mark.parametrize("model", ["tiny", "served-native", "served-hermes"])
@pytest.mark.parametrize("suite", ["natural_plan", "multi_if", "tau_bench"])
def test_the_suites_are_put_to_each(finished, model, suite):
    folder = finished.folder / "results" / "served" / "ood" / model / "base" / "seed0" / "step0" / suite
    metrics = json.loads((folder / "metrics.json").read_text())
    assert all(metric["items"] == 1 for metric in metrics["metrics"].values())
    assert metrics["asked"]["costs"]["model"]["without_answer"] == 0
    row = (finished.folder / "results" / "served" / "tables" / "table2.md").read_text()
    assert f"| this study | {model} | base | 0 | 1 |" in row
