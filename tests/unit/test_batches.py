"""Which batches are refused, against verl's own functions on a rank's share of episodes."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

from helpers.messages import refused
from planner_r1.errors import InputError
from planner_r1.study import Study
from planner_r1.training.batches import check_batches
from planner_r1.training.config import check_study, compose_config

ROLLOUT, ACTOR = "actor_rollout_ref.rollout", "actor_rollout_ref.actor"
LOG_PROB = f"{ROLLOUT}.log_prob_micro_batch_size_per_gpu"


def config(**values):
    """What the check reads, the paper's values but for `values` (underscores for the names below)."""
    v = {"queries": 16, "n": 8, "mini": 8, "micro": 1, "log_prob": 1, "ref": 1, "gpus": 16, "sp": 1, "tp": 4}
    v |= {"engine_dp": 1, "engine_pp": 1, "dynamic_log_prob": values.get("dynamic", False)}
    v |= {"dynamic": False, "tokens": 32_768, "bypass": False, "kl": False, "prompt": 2268, "response": 30_500} | values
    return OmegaConf.create(
        {
            "data": {
                "train_batch_size": v["queries"],
                "max_prompt_length": v["prompt"],
                "max_response_length": v["response"],
            },
            "trainer": {"nnodes": 1, "n_gpus_per_node": v["gpus"]},
            "algorithm": {"use_kl_in_reward": False, "rollout_correction": {"bypass_mode": v["bypass"]}},
            "actor_rollout_ref": {
                "actor": {
                    "ppo_mini_batch_size": v["mini"],
                    "ppo_micro_batch_size_per_gpu": v["micro"],
                    "ppo_max_token_len_per_gpu": v["tokens"],
                    "use_dynamic_bsz": v["dynamic"],
                    "use_kl_loss": v["kl"],
                    "ulysses_sequence_parallel_size": v["sp"],
                },
                "rollout": {
                    "n": v["n"],
                    "tensor_model_parallel_size": v["tp"],
                    "data_parallel_size": v["engine_dp"],
                    "pipeline_model_parallel_size": v["engine_pp"],
                    "log_prob_micro_batch_size_per_gpu": v["log_prob"],
                    "log_prob_max_token_len_per_gpu": v["tokens"],
                    "log_prob_use_dynamic_bsz": v["dynamic_log_prob"],
                },
                "ref": {
                    "log_prob_micro_batch_size_per_gpu": v["ref"],
                    "log_prob_max_token_len_per_gpu": v["tokens"],
                    "log_prob_use_dynamic_bsz": v["dynamic"],
                },
            },
        }
    )


def verl_takes(v: dict) -> bool:
    """Whether verl gets through a step: its own split of a rank's share, and the conditions around it
    (engine_workers.py, train_mini_batch and init_model; FSDP's device mesh)."""
    from verl.utils import tensordict_utils as tu
    from verl.workers.engine.utils import prepare_micro_batches

    if v["gpus"] % v["sp"] or v["gpus"] % (v["tp"] * v["engine_dp"]) or v["n"] < 2 or v["queries"] % v["mini"]:
        return False
    ranks = v["gpus"] // v["sp"]
    if v["mini"] * v["n"] % ranks:
        return False
    passes = [(v["mini"], v["micro"])]
    passes += [] if v["bypass"] else [(v["queries"], v["log_prob"])]
    passes += [(v["queries"], v["ref"])] if v["kl"] else []
    for queries, micro in passes:
        longest = torch.zeros(v["prompt"] + v["response"], dtype=torch.long)
        share = [longest for _ in range(queries * v["n"] // ranks)]
        data = tu.get_tensordict({"input_ids": torch.nested.nested_tensor(share, layout=torch.jagged)})
        tu.assign_non_tensor(data, use_dynamic_bsz=v["dynamic"], micro_batch_size_per_gpu=micro)
        tu.assign_non_tensor(data, max_token_len_per_gpu=v["tokens"], sp_size=v["sp"])
        try:
            prepare_micro_batches(data)
        except AssertionError:
            return False
    return True


small = st.sampled_from([1, 2, 3, 4, 6, 8, 16])


@settings(max_examples=400)
@given(
    st.fixed_dictionaries(
        {"queries": small, "n": small, "mini": small, "micro": small, "log_prob": small, "ref": small, "gpus": small}
        | {
            "sp": st.sampled_from([1, 1, 2]),
            "tp": st.sampled_from([1, 2, 4]),
            "engine_dp": st.sampled_from([1, 1, 2]),
            "tokens": st.integers(8, 40),
        }
        | {"prompt": st.integers(1, 16), "response": st.integers(1, 16)}
        | {"dynamic": st.booleans(), "bypass": st.booleans(), "kl": st.booleans()}
    )
)
def test_what_verl_would_stop_at_is_refused_and_nothing_else(v):
    try:
        check_batches(config(**v))
    except InputError:
        assert not verl_takes(v)
    else:
        assert verl_takes(v)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        # the paper's own value, on the paper's machine: verl stops in the first step
        ({"log_prob": 32}, [LOG_PROB, 32, "share is 8", "1, 2, 4, 8"]),
        ({"micro": 3}, [f"{ACTOR}.ppo_micro_batch_size_per_gpu", 3, "1, 2, 4"]),
        ({"kl": True, "ref": 16}, ["actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu", 16, "1, 2, 4, 8"]),
        ({"mini": 1}, [f"{ACTOR}.ppo_mini_batch_size", "take 2"]),
        ({"queries": 12}, ["data.train_batch_size", "take 8 or 16"]),
        ({"queries": 0}, ["data.train_batch_size", 0]),
        ({"n": 1}, [f"{ROLLOUT}.n", "at least 2"]),
        ({"tp": 3}, [f"{ROLLOUT}.tensor_model_parallel_size", 3, "1, 2, 4, 8, 16"]),
        ({"tp": 4, "engine_dp": 8}, [f"{ROLLOUT}.tensor_model_parallel_size", f"{ROLLOUT}.data_parallel_size", 32]),
        ({"dynamic": True, "dynamic_log_prob": False}, [f"{ROLLOUT}.log_prob_use_dynamic_bsz", "take True"]),
        # the listing's tokens, were its batches cut by them: too few for the longest episode
        ({"dynamic": True, "tokens": 16_384}, [f"{ACTOR}.ppo_max_token_len_per_gpu", 16_384, 32_768]),
    ],
)
def test_a_wrong_batch_is_named_with_what_would_hold(wrong, told):
    with refused(*told):
        check_batches(config(**wrong))


def test_the_value_that_is_taken_instead_holds():
    for share in (1, 2, 4, 8):
        check_batches(config(log_prob=share))


@pytest.mark.parametrize("study", ["paper", "studies/memory"])
def test_the_studies_for_gpus_pass_and_would_not_with_the_listings_value(study):
    asked = Study.load(f"config/{study}.yaml")
    check_study(asked)
    with refused(LOG_PROB, 32):
        compose_config("gpu", {**asked.overrides, LOG_PROB: 32}, {})
