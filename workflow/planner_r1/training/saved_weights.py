"""Which checkpoints hold the weights for others (Hugging Face's layout) beside what a run resumes from.

verl 0.9.1 writes them at every save or at none: 131 GB twenty times for a 32B of which three are used, rank 0 gathering
and writing while all others wait. The launcher names the steps in an environment variable, as the processes that save
are told nothing of a run; `patch` runs in these.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

STEPS = "PLANNER_R1_EXPORT_STEPS"
HF_MODEL = "hf_model"


def variable(steps: Iterable[int]) -> dict[str, str]:
    """The environment variable that names the steps whose weights become outputs."""
    return {STEPS: ",".join(map(str, steps))}


def contents_of(step: int, contents: list[str]) -> list[str]:
    """What of `contents` (verl's checkpoint.save_contents) is saved at a step."""
    named = os.environ.get(STEPS)
    if named is None or str(step) in named.split(","):
        return contents
    return [part for part in contents if part != HF_MODEL]


def patch() -> None:
    """Have verl's checkpoint manager of this process leave the weights for others out of other saves."""
    from verl.utils.checkpoint.fsdp_checkpoint_manager import FSDPCheckpointManager

    save = FSDPCheckpointManager.save_checkpoint
    if getattr(save, "at_export_steps", False):
        return

    def save_checkpoint(self, local_path, hdfs_path=None, global_step=0, max_ckpt_to_keep=None):
        contents = self.checkpoint_save_contents
        self.checkpoint_save_contents = contents_of(global_step, contents)
        try:
            return save(self, local_path, hdfs_path, global_step, max_ckpt_to_keep)
        finally:
            self.checkpoint_save_contents = contents

    save_checkpoint.at_export_steps = True
    FSDPCheckpointManager.save_checkpoint = save_checkpoint
