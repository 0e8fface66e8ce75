"""The training engine for the CPU against verl's own FSDP2 engine: same log-probabilities, same gradients."""

import copy
import os

import numpy as np
import pytest
import torch
from tensordict import TensorDict
from verl.trainer.config import CheckpointConfig
from verl.utils import distributed
from verl.utils import tensordict_utils as tu
from verl.workers.config import FSDPEngineConfig, FSDPOptimizerConfig, HFModelConfig
from verl.workers.engine import EngineRegistry, FSDPEngineWithLMHead

import planner_r1.training.cpu  # noqa: F401  sets the platform before other modules of verl are imported
from helpers.tiny_qwen3 import VOCABULARY, make_model
from planner_r1.training.cpu.training_engine import CpuTrainingEngine, loss_positions


@pytest.fixture(scope="module")
def process_group(tmp_path_factory):
    """A process group of one, made as verl's workers make it."""
    environment = dict(RANK="0", WORLD_SIZE="1", LOCAL_RANK="0", MASTER_ADDR="localhost", MASTER_PORT="0")
    environment["DIST_INIT_METHOD"] = f"file://{tmp_path_factory.mktemp('group')}/rendezvous"
    with pytest.MonkeyPatch.context() as patch:
        for key, value in environment.items():
            patch.setenv(key, value)
        distributed.initialize_global_process_group_ray()
        yield
        torch.distributed.destroy_process_group()


@pytest.fixture(scope="module")
def model_path(tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    make_model().save_pretrained(path)
    return path


def make_engine(engine_class, model_path):
    model_config = HFModelConfig(
        path=str(model_path),
        load_tokenizer=False,
        override_config={"attn_implementation": "verl_cpu_causal"},
        enable_gradient_checkpointing=False,
    )
    engine = engine_class(
        model_config=model_config,
        engine_config=FSDPEngineConfig(
            strategy="fsdp2",
            use_torch_compile=False,
            mixed_precision={"param_dtype": "fp32", "reduce_dtype": "fp32", "buffer_dtype": "fp32"},
        ),
        optimizer_config=FSDPOptimizerConfig(lr=1e-2, total_training_steps=10, lr_warmup_steps=0),
        checkpoint_config=CheckpointConfig(),
    )
    engine.initialize()
    return engine


def nested(tensors):
    return torch.nested.as_nested_tensor(tensors, layout=torch.jagged)


def make_batch(seed=0, sequences=6, temperature=1.0, full_mask=False, **flags):
    """Episodes: a prompt, then runs of policy's and tools' tokens in turn."""
    random = np.random.default_rng(seed)
    input_ids, masks, positions = [], [], []
    for _ in range(sequences):
        prompt, runs = int(random.integers(1, 30)), random.integers(1, 12, 6)
        mask = np.concatenate([np.full(n, i % 2 == 0) for i, n in enumerate(runs)]).astype(np.int64)
        if full_mask:
            mask = np.concatenate([np.zeros(prompt, dtype=np.int64), mask])
        length = prompt + int(runs.sum())
        input_ids.append(torch.from_numpy(random.integers(0, VOCABULARY, length)))
        positions.append(torch.arange(length))
        masks.append(torch.from_numpy(mask))
    batch = TensorDict(
        {"input_ids": nested(input_ids), "position_ids": nested(positions), "loss_mask": nested(masks)},
        batch_size=[sequences],
    )
    settings = dict(use_dynamic_bsz=False, micro_batch_size_per_gpu=3, use_remove_padding=True, temperature=temperature)
    tu.assign_non_tensor(batch, **(settings | flags))
    return batch


def positions_by_hand(batch):
    """Where the policy's tokens are predicted, sequence by sequence."""
    found, offset = [], 0
    for ids, mask in zip(batch["input_ids"].unbind(), batch["loss_mask"].unbind(), strict=True):
        first = len(ids) - len(mask)
        found += [offset + first + i - 1 for i, counts in enumerate(mask.tolist()) if counts and first + i > 0]
        offset += len(ids)
    return found


@pytest.mark.parametrize("full_mask", [False, True])
def test_loss_positions_stand_before_the_policys_tokens(full_mask):
    batch = make_batch(full_mask=full_mask)
    assert loss_positions(batch["input_ids"], batch["loss_mask"]).tolist() == positions_by_hand(batch)


def test_a_mask_on_the_first_token_of_a_sequence_is_left_out():
    ids = nested([torch.arange(3), torch.arange(2)])
    mask = nested([torch.tensor([1, 0, 1]), torch.tensor([1, 1])])
    assert loss_positions(ids, mask).tolist() == [1, 3]


def test_verl_finds_the_engine_for_the_cpu():
    assert "VERL_ENGINE_DEVICE" not in os.environ
    assert EngineRegistry.get_engine_cls("language_model", "fsdp2") is CpuTrainingEngine


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_log_probs_and_entropy_are_verls_at_the_policys_tokens(process_group, model_path, temperature):
    batch = make_batch(temperature=temperature, calculate_entropy=True)
    results = []
    for engine_class in (CpuTrainingEngine, FSDPEngineWithLMHead):
        engine = make_engine(engine_class, model_path)
        with engine.eval_mode(disable_auto_offload=True):
            results.append(engine.infer_batch(copy.deepcopy(batch))["model_output"])
    counted = torch.tensor(positions_by_hand(batch))
    for name in ("log_probs", "entropy"):
        found, expected = (result[name].values() for result in results)
        torch.testing.assert_close(found[counted], expected[counted], atol=1e-5, rtol=1e-5)
        elsewhere = torch.ones(len(found), dtype=torch.bool)
        elsewhere[counted] = False
        assert not found[elsewhere].any()


def masked_loss(model_output, data, dp_group=None):
    """A loss over the policy's tokens, each weighing differently."""
    positions = loss_positions(data["input_ids"], data["loss_mask"])
    log_probs = model_output["log_probs"].values()[positions]
    return (log_probs * torch.linspace(-1, 2, len(positions))).sum() / 100, {}


def test_gradients_are_verls(process_group, model_path):
    gradients = []
    for engine_class in (CpuTrainingEngine, FSDPEngineWithLMHead):
        engine = make_engine(engine_class, model_path)
        with engine.train_mode(disable_auto_offload=True):
            engine.optimizer_zero_grad()
            engine.forward_backward_batch(make_batch(), masked_loss)
            gradients.append({name: p.grad.full_tensor().clone() for name, p in engine.module.named_parameters()})
    for name, expected in gradients[1].items():
        scale = expected.abs().max().item()
        assert scale > 0
        torch.testing.assert_close(gradients[0][name] / scale, expected / scale, atol=1e-5, rtol=0, msg=name)


def test_a_training_step_changes_the_weights(process_group, model_path):
    engine = make_engine(CpuTrainingEngine, model_path)
    with engine.train_mode(disable_auto_offload=True):
        outcome = engine.train_batch(make_batch(), loss_function=masked_loss)
    assert outcome["metrics"]["grad_norm"] > 0
    start = make_model().state_dict()
    for name, value in engine.get_per_tensor_param()[0]:
        # AdamW's first step moves every weight by the learning rate, but for the weights of tokens not in the batch.
        assert (value - start[name]).abs().max().item() == pytest.approx(1e-2, rel=0.1), name


def test_a_micro_batch_without_a_policys_token_gives_zeros_and_a_gradient(process_group, model_path):
    batch = make_batch(sequences=3)
    batch["loss_mask"] = nested([torch.zeros_like(m) for m in batch["loss_mask"].unbind()])
    engine = make_engine(CpuTrainingEngine, model_path)
    with engine.train_mode(disable_auto_offload=True):
        outcome = engine.train_batch(batch, loss_function=masked_loss)
    assert outcome["metrics"]["grad_norm"] == 0


def test_unusual_requests_are_left_to_verl(process_group, model_path):
    engine = make_engine(CpuTrainingEngine, model_path)
    batch = make_batch(sequences=3, calculate_sum_pi_squared=True)
    with engine.eval_mode(disable_auto_offload=True):
        found = engine.infer_batch(batch)["model_output"]
    assert found["sum_pi_squared"].values().min() > 0
