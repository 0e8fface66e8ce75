"""What happens when verl has saved a checkpoint: it is marked as whole, exported if asked for, and old ones go."""

from __future__ import annotations

import time
from pathlib import Path

from verl.trainer.ppo.checkpoint_callback import CheckpointCallback

from planner_r1.training import checkpoints

SECONDS_UNTIL_SEEN = 300


class CheckpointKeeper(CheckpointCallback):
    """Named in `trainer.checkpoint_callback_class`; its settings stand in the section `planner_r1`."""

    def on_save(self, trainer, global_step: int, checkpoint_dir: str, async_save: bool = False, **kwargs) -> None:
        settings, cluster = self.config.planner_r1, self.config.trainer
        checkpoint = Path(checkpoint_dir)
        self._wait_for_shards(checkpoint, cluster.nnodes * cluster.n_gpus_per_node)
        if global_step in settings.export_steps:
            checkpoints.export(checkpoint, Path(settings.export_dir) / f"step{global_step}")
        checkpoints.mark_complete(checkpoint)
        checkpoints.prune(checkpoint.parent)

    def _wait_for_shards(self, checkpoint: Path, ranks: int) -> None:
        """A shared file system shows another node's files late; without them a checkpoint would be marked as whole that
        nobody could resume from."""
        ends = time.monotonic() + SECONDS_UNTIL_SEEN
        while missing := checkpoints.missing_shards(checkpoint, ranks):
            if time.monotonic() > ends:
                raise RuntimeError(
                    f"{checkpoint}: {len(missing)} of the files that {ranks} ranks wrote are not to be seen from this "
                    f"node after {SECONDS_UNTIL_SEEN} s, such as {missing[0]}; the study's results must lie on a file "
                    "system that all nodes share"
                )
            time.sleep(1)
