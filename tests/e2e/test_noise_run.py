"""Noise in verl itself: an untrained model whose turns are read as sound calls, in a world where all calls fail."""

import json
from pathlib import Path

import pytest

from helpers import eager_episodes
from helpers.tiny_model import make_tiny_study, tiny_run
from planner_r1.files import read_lines
from planner_r1.sandbox.noise import NO_ANSWER
from planner_r1.training import process
from planner_r1.training.launch import train

pytestmark = pytest.mark.slow

OVERRIDES = {
    "data.train_batch_size": 4,
    "data.max_prompt_length": 700,
    "data.max_response_length": 400,
    "actor_rollout_ref.rollout.n": 4,
    "actor_rollout_ref.rollout.max_num_seqs": 16,
    "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu": 16,
    "actor_rollout_ref.actor.ppo_mini_batch_size": 4,
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu": 4,
}
NOISE = {"failures": 1.0, "dropped_rows": 0.0, "latency": 0.001, "seed": 0}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """One step, with a validation before and after it."""
    study = make_tiny_study(tmp_path_factory.mktemp("study"), train=4, validation=2)
    work = tmp_path_factory.mktemp("work")
    variables = process._variables

    def with_calls(*args):
        made = variables(*args)
        modules = f"{made['VERL_USE_EXTERNAL_MODULES']},{eager_episodes.__name__}"
        helpers = str(Path(eager_episodes.__file__).parents[1])
        return made | {"VERL_USE_EXTERNAL_MODULES": modules, "PYTHONPATH": helpers, eager_episodes.EAGER: "1"}

    spec = tiny_run(study, work, "tiny/flaky/seed0", 1, work=work, overrides=OVERRIDES, noise=NOISE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process, "_variables", with_calls)
        train(spec)
    return spec


def test_every_call_of_the_training_episodes_failed_and_is_marked(run):
    lines = list(read_lines(run.work / "rollouts" / "1.jsonl"))
    calls = [call for line in lines for call in json.loads(line["episode"])["tool_calls"]]
    assert len(lines) == 16 and calls
    assert all(call["noise"] == {"failure": True} and call["error"] for call in calls)
    assert any(NO_ANSWER in line["output"] for line in lines)
    assert {line["tool_errors"] for line in lines} == {0}  # none is the model's own


def test_the_manifest_says_so(run):
    manifest = json.loads((run.out / "MANIFEST.json").read_text(encoding="utf-8"))
    assert manifest["settings"]["noise"] == NOISE
