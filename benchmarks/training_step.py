"""How long a training step's forward and backward passes take on the CPU: this project's engine beside verl's own.

    python benchmarks/training_step.py

One update on 64 episodes of about 550 tokens, 195 of them the policy's, in micro-batches of 16, by verl's FSDP2 engine
in a process group of one, with verl's policy-gradient loss. The model is a random Qwen3 of 0.5 M parameters. verl's own
engine is given this project's attention too (with stock attention a packed row takes minutes), but neither the fused
log-probabilities nor what else the engine for the CPU saves. Median of several rounds; CPU seconds are the steadier
figure when other processes want the cores too.
"""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch: idle threads must not keep a core busy
os.environ.update(RANK="0", WORLD_SIZE="1", LOCAL_RANK="0", MASTER_ADDR="localhost", MASTER_PORT="0")

import statistics
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
import torch
from rollout import VOCABULARY, make_model
from tensordict import TensorDict
from verl.trainer.config import CheckpointConfig
from verl.utils import distributed, torch_functional
from verl.utils import tensordict_utils as tu
from verl.workers.config import ActorConfig, FSDPEngineConfig, FSDPOptimizerConfig, HFModelConfig
from verl.workers.engine import FSDPEngineWithLMHead
from verl.workers.utils.losses import ppo_loss

import planner_r1.training.cpu  # noqa: F401  sets the platform before other modules of verl are imported
from planner_r1.training.cpu.attention import TRAINING_ATTENTION
from planner_r1.training.cpu.training_engine import CpuTrainingEngine

EPISODES, PROMPT, MICRO_BATCH, ROUNDS = 64, 120, 16, 3


def make_batch() -> TensorDict:
    random = np.random.default_rng(0)
    columns = {name: [] for name in ("prompts", "responses", "input_ids", "position_ids", "response_mask")}
    for _ in range(EPISODES):
        lengths = [n for _ in range(5) for n in (random.integers(10, 21), random.integers(35, 66))]
        lengths.append(random.integers(100, 141))
        mask = np.concatenate([np.full(n, i % 2 == 0) for i, n in enumerate(lengths)])
        tokens = torch.from_numpy(random.integers(2, VOCABULARY, PROMPT + len(mask)))
        columns["prompts"].append(tokens[:PROMPT])
        columns["responses"].append(tokens[PROMPT:])
        columns["input_ids"].append(tokens)
        columns["position_ids"].append(torch.arange(len(tokens)))
        columns["response_mask"].append(torch.from_numpy(mask).long())
    columns["loss_mask"] = columns["response_mask"]
    columns["old_log_probs"] = [torch.full(m.shape, -7.0) for m in columns["loss_mask"]]
    columns["advantages"] = [torch.full(m.shape, float(random.normal())) for m in columns["loss_mask"]]
    batch = TensorDict(
        {name: torch.nested.as_nested_tensor(rows, layout=torch.jagged) for name, rows in columns.items()},
        batch_size=[EPISODES],
    )
    tu.assign_non_tensor(
        batch,
        use_dynamic_bsz=False,
        micro_batch_size_per_gpu=MICRO_BATCH,
        use_remove_padding=True,
        temperature=1.0,
        global_batch_size=EPISODES,
    )
    return batch


def make_engine(engine_class, path: Path):
    engine = engine_class(
        model_config=HFModelConfig(
            path=str(path),
            load_tokenizer=False,
            override_config={"attn_implementation": TRAINING_ATTENTION},
            enable_gradient_checkpointing=False,
        ),
        engine_config=FSDPEngineConfig(
            strategy="fsdp2",
            use_torch_compile=False,
            mixed_precision={"param_dtype": "fp32", "reduce_dtype": "fp32", "buffer_dtype": "fp32"},
        ),
        optimizer_config=FSDPOptimizerConfig(lr=1e-4, total_training_steps=100, lr_warmup_steps=0),
        checkpoint_config=CheckpointConfig(),
    )
    engine.initialize()
    return engine


def measure(name: str, engine, rounds: int) -> float:
    config = ActorConfig(
        strategy="fsdp2", rollout_n=8, ppo_mini_batch_size=64, ppo_micro_batch_size_per_gpu=MICRO_BATCH
    )
    loss = partial(ppo_loss, config=config)
    walls, cpus = [], []
    for number in range(rounds + 1):
        batch = make_batch()
        wall, cpu = time.perf_counter(), time.process_time()
        with engine.train_mode(disable_auto_offload=True):
            engine.train_batch(batch, loss_function=loss)
        if number:  # the first round warms up
            walls.append(time.perf_counter() - wall)
            cpus.append(time.process_time() - cpu)
    print(f"{name:40s} {statistics.median(walls):5.2f} s, {statistics.median(cpus):5.2f} CPU s", flush=True)
    return statistics.median(cpus)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        os.environ["DIST_INIT_METHOD"] = f"file://{folder}/rendezvous"
        distributed.initialize_global_process_group_ray()
        make_model().save_pretrained(path / "model")
        print(f"{EPISODES} episodes, {make_batch()['input_ids'].values().numel()} tokens, {os.cpu_count()} cores")
        for threads in (1, os.cpu_count()):
            torch.set_num_threads(threads)
            ours = make_engine(CpuTrainingEngine, path / "model")
            spent = measure(f"this project's engine, {threads} threads", ours, ROUNDS)
        torch_functional.logprobs_from_logits_v2 = log_probs_row_by_row
        theirs = measure(f"verl's, {threads} threads", make_engine(FSDPEngineWithLMHead, path / "model"), 1)
        print(f"ratio of CPU time {theirs / spent:.1f}")
        torch.distributed.destroy_process_group()


def log_probs_row_by_row(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """What verl does without a CUDA kernel."""
    chosen = logits.gather(-1, labels[:, None])[:, 0]
    return chosen - torch.stack([torch.logsumexp(row, dim=-1) for row in logits])


if __name__ == "__main__":
    main()
