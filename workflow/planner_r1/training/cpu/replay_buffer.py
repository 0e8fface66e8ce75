"""verl's replay buffer, looking more often and refusing failed episodes.

Named in the configuration as `trainer.v1.sampler.custom_sampler.{path,name}`.
"""

from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer

# verl looks every 2 s whether the episodes are ready, which is most of a small model's step. A look costs 1 ms.
POLL_SECONDS = 0.05


class FastReplayBuffer(ReplayBuffer):
    """Replay buffer of the synchronous trainer for steps of a few seconds."""

    def __init__(self, **settings):
        super().__init__(poll_interval=POLL_SECONDS, **settings)

    def _sync_metadata_from_transfer_queue(self) -> None:
        """Refresh the view of the episodes; stop the training when one of them raised.

        verl would train on what is left of the group (or, in validation, score fewer episodes) and only log the error.
        Here an episode that raised is a fault of the program, never of the model.
        """
        super()._sync_metadata_from_transfer_queue()
        failed = [uid for uids in self.failure_keys.values() for uid in uids]
        if failed:
            raise RuntimeError(
                f"{len(failed)} prompts have an episode that raised an exception; its traceback is in the output of "
                f"AgentLoopWorkerTQ above ('Error in _run_prompt'). First prompt: {failed[0]}"
            )
