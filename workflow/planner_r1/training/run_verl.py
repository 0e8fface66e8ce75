"""The process that trains or validates: verl's own PPO entry point on a resolved configuration file.

    python -m planner_r1.training.run_verl CONFIG.json

verl runs its task runner in a Ray actor of its own; here the driver does that work itself, which saves the start-up
and the memory of one more process that imports everything.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

from omegaconf import DictConfig

from planner_r1.training.config import load_config
from planner_r1.training.warm_workers import start_server

PR_SET_PDEATHSIG = 1
# The libraries that make up nearly all of verl's import time. Ray itself is not among them: it reads a worker's
# environment when it is imported, which therefore has to come after the fork.
SHARED_BY_WORKERS = (
    "aiohttp",
    "datasets",
    "fastapi",
    "hydra",
    "pandas",
    "peft",
    "tensordict",
    "torch._dynamo",
    "torch.distributed.checkpoint",
    "torch.distributed.fsdp",
    "transformers.image_processing_utils",
    "transformers.modeling_utils",
    "transformers.models.qwen3.modeling_qwen3",
    "transformers.processing_utils",
    "uvicorn",
    "zmq",
)
# What sglang's processes import, five seconds each; like the others it brings no Ray.
SHARED_BY_SGLANG = ("sglang.srt.entrypoints.http_server", "sglang.srt.managers.scheduler")


def main(path: str) -> None:
    end_with_parent()
    config = load_config(Path(path))
    if config.trainer.nnodes > 1:
        _join_cluster(config)
    elif config.trainer.device == "cpu":
        engine = SHARED_BY_SGLANG if config.actor_rollout_ref.rollout.name == "sglang" else ()
        for module in (*SHARED_BY_WORKERS, *engine):
            import_module(module)
        socket = Path(os.environ["RAY_TMPDIR"]) / "workers"
        config.ray_kwargs.ray_init.runtime_env.py_executable = start_server(str(socket))

    from verl.trainer.main_ppo import run_ppo
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import validate_config

    import planner_r1.training.trainer  # noqa: F401  (registers the trainer)

    validate_config(config, use_reference_policy=need_reference_policy(config), use_critic=need_critic(config))
    run_ppo(config, task_runner_class=_runner_in_this_process())


def _join_cluster(config: DictConfig) -> None:
    """Use the cluster of ray_cluster.py, whose address is in the environment; what its nodes offer is settled there."""
    config.ray_kwargs.ray_init = {"address": "auto", "runtime_env": config.ray_kwargs.ray_init.runtime_env}


def _runner_in_this_process() -> SimpleNamespace:
    """What `run_ppo` takes for the actor class of a task runner."""
    import ray
    from verl.trainer.main_ppo import TaskRunnerV1

    runner = TaskRunnerV1.__ray_metadata__.modified_class()
    method = SimpleNamespace(remote=lambda config: ray.put(runner.run(config)))
    return SimpleNamespace(remote=lambda: SimpleNamespace(run=method))


def end_with_parent() -> None:
    """Have the kernel end this process when the launcher dies, however it dies; Ray's processes follow it."""
    parent = os.getppid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # the launcher died in between
        sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1])
