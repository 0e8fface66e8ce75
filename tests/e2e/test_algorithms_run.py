"""PlanPO in verl itself, on an untrained model whose episodes have turns and successes by chance."""

import json
from pathlib import Path

import numpy as np
import pytest

from helpers import lucky_episodes
from helpers.planpo_reference import planpo, turn_spans
from helpers.tiny_model import make_tiny_study, tiny_run
from planner_r1.files import read_lines
from planner_r1.training import process
from planner_r1.training.launch import train

pytestmark = pytest.mark.slow

STEPS, EPISODES, RESPONSE = 3, 16, 250
OVERRIDES = {
    "data.train_batch_size": 4,
    "data.max_prompt_length": 700,
    "data.max_response_length": RESPONSE,
    "actor_rollout_ref.rollout.n": 4,
    "actor_rollout_ref.rollout.max_num_seqs": 16,
    "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu": 16,
    "actor_rollout_ref.actor.ppo_mini_batch_size": 4,
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu": 4,
    "actor_rollout_ref.actor.optim.lr": 1e-3,
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Three steps, and the arrays that the advantage rule was given and returned in each."""
    study = make_tiny_study(tmp_path_factory.mktemp("study"), train=12, validation=1)
    work, recorded = (tmp_path_factory.mktemp(name) for name in ("work", "recorded"))
    variables = process._variables

    def with_luck(*args):
        made = variables(*args)
        helpers = str(Path(lucky_episodes.__file__).parents[1])
        modules = f"{made['VERL_USE_EXTERNAL_MODULES']},{lucky_episodes.__name__}"
        return made | {
            "VERL_USE_EXTERNAL_MODULES": modules,
            "PYTHONPATH": helpers,
            lucky_episodes.FOLDER: str(recorded),
        }

    spec = tiny_run(
        study,
        work,
        "tiny/planpo/seed0",
        STEPS,
        work=work,
        overrides=OVERRIDES,
        algorithm={"name": "planpo", "alpha_first": 0.5, "alpha_last": 0.1},
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process, "_variables", with_luck)
        train(spec)
    return spec, [dict(np.load(recorded / f"{step}.npz")) for step in range(1, STEPS + 1)]


def logged(spec):
    return {record["step"]: record for record in read_lines(spec.out / "metrics.jsonl")}


def dumped(spec, step):
    return list(read_lines(spec.work / "rollouts" / f"{step}.jsonl"))


def test_the_advantages_are_the_references(run):
    _, steps = run
    for step in steps:
        success, masks, queries = (step[key].tolist() for key in ("success", "mask", "queries"))
        expected = planpo(success, masks, queries, float(step["progress"]), first=0.5, last=0.1)
        np.testing.assert_allclose(step["result"], expected, atol=1e-9)
    assert [float(step["progress"]) for step in steps] == [0.0, 0.5, 1.0]
    assert all(step["result"].shape[0] == EPISODES and (step["result"] != 0).any() for step in steps)


def test_the_rule_was_told_what_happened(run):
    """Successes and turns of each query's episodes, against what the dump of the rollouts says of them."""
    spec, steps = run
    most = 0
    for number, step in enumerate(steps, start=1):
        told = sorted(
            (query, bool(success), len(turn_spans(mask)), int(mask.sum()))
            for query, success, mask in zip(step["queries"], step["success"], step["mask"], strict=True)
        )
        happened = []
        for line in dumped(spec, number):
            episode = json.loads(line["episode"])
            query = line["uid"].rsplit("_", 2)[0]
            happened.append((query, line["pass"] == 1.0, episode["turns"], episode["tokens"]["generated"]))
        assert told == sorted(happened)
        most = max(most, *(turns for _, _, turns, _ in told))
        assert 0 < sum(success for _, success, *_ in told) < EPISODES
    assert most > 1


def test_verl_trained_on_them(run):
    spec, steps = run
    for number, step in enumerate(steps, start=1):
        written, record = step["mask"] > 0, logged(spec)[number]
        for metric, of in (("max", np.max), ("min", np.min), ("mean", np.mean)):
            assert record[f"critic/advantages/{metric}"] == pytest.approx(of(step["result"][written]), abs=1e-5)
        assert record["actor/grad_norm"] > 0


def test_the_reference_policy_is_where_training_starts(run):
    spec, _ = run
    distances = [logged(spec)[step]["actor/kl_loss"] for step in range(1, STEPS + 1)]
    assert distances[0] == pytest.approx(0.0, abs=1e-6)
    assert distances[-1] > 1e-6
