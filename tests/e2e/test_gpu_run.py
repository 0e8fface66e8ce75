"""verl on one GPU: the overlay for GPUs as the paper's study takes it, cut down to a small untrained Qwen3.

Run it where there is a GPU, in the environment of envs/gpu.txt with pytest:  pytest -m gpu tests/e2e/test_gpu_run.py
"""

from importlib.util import find_spec

import pytest
import torch
from transformers import AutoTokenizer, Qwen3Config, Qwen3ForCausalLM

from helpers.tiny_model import make_tiny_study, tiny_run
from planner_r1.files import read_lines
from planner_r1.training.launch import TrainSpec, train

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"),
    pytest.mark.skipif(not (find_spec("sglang") or find_spec("vllm")), reason="needs sglang or vLLM for rollouts"),
]

STEPS = 2
OVERRIDES = {
    "trainer.nnodes": 1,
    "trainer.n_gpus_per_node": 1,
    "data.train_batch_size": 4,
    "data.max_prompt_length": 1024,
    "data.max_response_length": 512,
    "actor_rollout_ref.rollout.name": "sglang" if find_spec("sglang") else "vllm",
    "actor_rollout_ref.rollout.n": 4,
    "actor_rollout_ref.rollout.tensor_model_parallel_size": 1,
    "actor_rollout_ref.rollout.agent.num_workers": 1,
    # the rollout's log-probabilities are kept, so that verl reports how far the trainer's are off
    "actor_rollout_ref.rollout.calculate_log_probs": True,
    "actor_rollout_ref.actor.ppo_mini_batch_size": 4,
    # an untrained model earns nothing; this moves its weights all the same
    "actor_rollout_ref.actor.entropy_coeff": 0.01,
}


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> TrainSpec:
    folder = tmp_path_factory.mktemp("gpu")
    study = make_tiny_study(folder / "study", train=8)
    tokenizer = AutoTokenizer.from_pretrained(study.model)
    torch.manual_seed(0)
    # heads of the real models' size, which the attention kernels are made for
    shape = {"hidden_size": 512, "intermediate_size": 1024, "num_hidden_layers": 4, "head_dim": 128}
    heads = {"num_attention_heads": 8, "num_key_value_heads": 2}
    ends = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    config = Qwen3Config(vocab_size=len(tokenizer), max_position_embeddings=4096, **shape, **heads, **ends)
    Qwen3ForCausalLM(config).to(torch.bfloat16).save_pretrained(study.model)
    spec = tiny_run(
        study, folder, "small/stage1/seed0", STEPS, save_every=1, test_every=1, backend="gpu", overrides=OVERRIDES
    )
    train(spec)
    return spec


def test_every_step_is_recorded(run):
    steps = {record["step"]: record for record in read_lines(run.out / "metrics.jsonl")}
    assert sorted(steps) == list(range(STEPS + 1))
    assert all(steps[step]["actor/perf/max_memory_allocated_gb"] > 0 for step in range(1, STEPS + 1))


def test_the_engine_samples_from_the_weights_that_are_trained(run):
    """In bfloat16 two programs differ a little; weights that did not arrive would differ a lot after the first step."""
    for record in list(read_lines(run.out / "metrics.jsonl"))[1:]:
        assert record["training/rollout_probs_diff_mean"] < 0.02
