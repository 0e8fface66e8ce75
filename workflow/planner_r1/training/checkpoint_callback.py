"""What happens when verl has saved a checkpoint: it is marked as whole, exported if asked for, and old ones go."""

from __future__ import annotations

from pathlib import Path

from verl.trainer.ppo.checkpoint_callback import CheckpointCallback

from planner_r1.training import checkpoints


class CheckpointKeeper(CheckpointCallback):
    """Named in `trainer.checkpoint_callback_class`; its settings stand in the section `planner_r1`."""

    def on_save(self, trainer, global_step: int, checkpoint_dir: str, async_save: bool = False, **kwargs) -> None:
        settings = self.config.planner_r1
        checkpoint = Path(checkpoint_dir)
        if global_step in settings.export_steps:
            checkpoints.export(checkpoint, Path(settings.export_dir) / f"step{global_step}")
        checkpoints.mark_complete(checkpoint)
        checkpoints.prune(checkpoint.parent)
