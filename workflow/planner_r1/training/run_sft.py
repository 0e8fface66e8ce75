"""The processes that fine-tune: verl's own supervised trainer on a resolved configuration file, one process a GPU.

    python -m planner_r1.training.run_sft CONFIG.json

This process starts the others by torch's `torchrun`; those find their rank in their environment.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from omegaconf import DictConfig

from planner_r1.training.config import load_config
from planner_r1.training.process_group import SECONDS_TO_WAIT
from planner_r1.training.run_verl import end_with_parent


def main(path: str) -> None:
    end_with_parent()
    config = load_config(Path(path))
    if "RANK" in os.environ:
        _fit(config)
    else:
        _start_ranks(config.trainer.n_gpus_per_node, path)


def _start_ranks(count: int, path: str) -> None:
    from torch.distributed.run import main as torchrun

    torchrun(["--standalone", f"--nproc-per-node={count}", "--module", "planner_r1.training.run_sft", path])


def _fit(config: DictConfig) -> None:
    import verl.utils.distributed as distributed
    from verl.utils.device import get_torch_device

    # On the CPU `planner_r1.training.cpu` has put its own in this function's place.
    distributed.initialize_global_process_group_ray(timeout_second=SECONDS_TO_WAIT)
    get_torch_device().set_device(int(os.environ["LOCAL_RANK"]))

    from verl.trainer.sft_trainer import SFTTrainer

    SFTTrainer(config=config).fit()
    distributed.destroy_global_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
