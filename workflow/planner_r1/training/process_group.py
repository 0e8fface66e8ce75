"""How long the ranks of a training wait for one another."""

from __future__ import annotations

# torch's own 600 s end a job whose rank 0 writes the 131 GB of a 32B at less than 220 MB/s, at every save, for ever.
# verl 0.9.1 has a key `nccl_timeout` and reads it nowhere.
SECONDS_TO_WAIT = 36_000


def wait_for_slow_ranks() -> None:
    """Have verl start the training's process group with a limit that a slow disk does not reach."""
    import verl.utils.distributed as distributed

    initialize = distributed.initialize_global_process_group_ray

    def initialize_global_process_group_ray(timeout_second=None, backend=None):
        return initialize(timeout_second=timeout_second or SECONDS_TO_WAIT, backend=backend)

    distributed.initialize_global_process_group_ray = initialize_global_process_group_ray
