"""What Snakemake would run where checkpoints are also evaluated under noise: names with `+` in paths."""

import pytest

from helpers.checkout import REPOSITORY
from planner_r1.study import Study
from planner_r1.versioning.stages import Plan

NOISY = "config/studies/env_noise.yaml"


def test_each_checkpoint_is_evaluated_twice_on_the_same_queries(checkout):
    planned = checkout.planned("all", "--configfile", NOISY)
    checkpoints = len(Study.load(f"{REPOSITORY}/{NOISY}").checkpoints)
    assert (planned["evaluate_checkpoint"], planned["score"]) == (2 * checkpoints, 2 * checkpoints)
    assert (planned["queries"], planned["noise"], planned["noise_effect"]) == (3, 1, 1)
    file = "results/env_noise/evaluations/tiny/base/seed0/step0/test+flaky/scores.jsonl"
    alone = {"world": 1, "build_sandbox": 1, "queries": 3, "parquet": 1, "base_model": 1}
    assert checkout.planned(file, "--configfile", NOISY) == alone | {"evaluate_checkpoint": 1, "score": 1}


@pytest.mark.parametrize("noise", [[], ["flaky"]])
def test_parameters_speak_of_noise_only_where_there_is_some(checkout, monkeypatch, noise):
    def change(config):
        config |= {"study": "sound", "noise": {"flaky": {"failures": 0.5}}, "suites": None}
        config["evaluation"] = {"noise": noise}

    checkout.change_study(change, to="sound")
    monkeypatch.chdir(checkout.folder)
    plan = Plan("config/sound.yaml")
    given = {
        job.wildcards.split: dict(job.params.items()) for job in plan.jobs if job.rule.name == "evaluate_checkpoint"
    }
    if not noise:
        assert set(given) == {"test"} and set(given["test"]) == {"work", "backend", "overrides"}
        return
    assert given["test"]["noise"] is None
    assert given["test+flaky"]["noise"] == {"failures": 0.5, "dropped_rows": 0, "latency": 0, "seed": 0}
    stages = plan.stages["trajectories-tiny-base-seed0-step0"]
    assert any("test+flaky" in file for file in stages.outputs)
