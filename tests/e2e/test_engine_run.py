"""The engine of the GPU runs without a GPU: verl trains and validates with sglang over two ranks, and sglang serves.

Every text is held to one that was made apart: by the project's own engine for processors, by transformers' server.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from helpers.engine import ENVIRONMENT, SERVER, needs_engine
from helpers.scripted_suites import make_up_all
from helpers.tiny_model import make_tiny_study, tiny_run
from planner_r1.files import read_lines
from planner_r1.ood.answers import AnswersSpec, Asked, Server, collect_answers
from planner_r1.processes import marked
from planner_r1.training.evaluate import EvaluateSpec, evaluate_checkpoint
from planner_r1.training.launch import TrainSpec, train

pytestmark = [pytest.mark.slow, needs_engine]

LENGTHS = {"data.max_prompt_length": 700, "data.max_response_length": 60}
SGLANG = {
    "actor_rollout_ref.rollout.name": "sglang",
    # two ranks hold one copy of the model between them
    "actor_rollout_ref.rollout.tensor_model_parallel_size": 2,
    "trainer.n_gpus_per_node": 2,
    "ray_kwargs.ray_init.num_gpus": 2,
}
TRAINING = {
    "data.train_batch_size": 4,
    "actor_rollout_ref.rollout.n": 2,
    "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu": 4,
    "actor_rollout_ref.actor.ppo_mini_batch_size": 4,
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu": 4,
    # an untrained model earns nothing: this moves its weights all the same, and so far that it says something else
    "actor_rollout_ref.actor.optim.lr": 2e-2,
    "actor_rollout_ref.actor.entropy_coeff": 1.0,
    # the trainer's own log-probabilities, too, so that verl reports how far the engine's are off
    "algorithm.rollout_correction.bypass_mode": False,
}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return make_tiny_study(tmp_path_factory.mktemp("engine"), train=8, validation=8)


@pytest.fixture(scope="module")
def run(study, tmp_path_factory) -> TrainSpec:
    folder = tmp_path_factory.mktemp("run")
    spec = tiny_run(
        study, folder, "tiny/stage1/seed0", 1, environment=ENVIRONMENT, overrides=LENGTHS | TRAINING | SGLANG
    )
    train(spec)
    return spec


def test_the_engine_samples_by_the_weights_that_are_trained(run):
    last = list(read_lines(run.out / "metrics.jsonl"))[-1]
    assert last["step"] == 1 and last["actor/grad_norm"] > 0
    assert last["training/rollout_probs_diff_max"] <= 1e-5
    assert marked(run.work) == []


def test_after_a_step_it_says_what_the_other_engine_says_with_the_same_weights(run, study, tmp_path):
    """So the new weights arrived, in both halves of the model."""
    spec = EvaluateSpec(
        model="tiny",
        regime="stage1",
        seed=0,
        step=1,
        split="validation",
        model_path=run.out / "checkpoints" / "step1",
        parquet=study.validation,
        store=study.store,
        work=tmp_path / "work",
        out=tmp_path / "trajectories.jsonl",
        overrides=LENGTHS,
    )
    other = {line["idx"]: line["text"] for line in read_lines(evaluate_checkpoint(spec))}
    found = list(read_lines(run.out / "validation.jsonl"))
    texts = [{line["idx"]: line["text"] for line in found if line["step"] == step} for step in (0, 1)]
    assert texts[1] == other
    assert texts[0] != other


def test_a_suite_gets_the_same_answers_from_its_server_as_from_transformers(study, tmp_path):
    data = make_up_all(tmp_path / "data", size=4)["multi_if"]
    suites = {"multi_if": Asked(data, decoding={"max_tokens": 12, "temperature": 0})}
    server = Server(start_seconds=300, concurrency=4, extra_body={"chat_template_kwargs": {"enable_thinking": False}})
    spec = AnswersSpec("tiny", study.model, suites, tmp_path / "ours", tmp_path / "ours", server=server)
    collect_answers(spec)
    engine = replace(server, environment=ENVIRONMENT, command=SERVER)
    collect_answers(replace(spec, server=engine, work=tmp_path / "sglang", out=tmp_path / "sglang"))
    ours, sglangs = (replies(tmp_path / name) for name in ("ours", "sglang"))
    assert ours == sglangs and len(ours) == 4
    assert marked(tmp_path / "sglang") == []


def replies(folder: Path) -> list:
    return [line["replies"] for line in read_lines(folder / "multi_if" / "answers.jsonl")]
