"""What a run leaves on the disk, and what it takes at most while it trains."""

from __future__ import annotations

from planner_r1.training.checkpoints import KEEP

# Bytes a weight: the trainer holds weights, and Adam its two moments, in 32 bits; the checkpoint of a step that is
# exported holds the weights once more in Hugging Face's layout, and the exported model is another name of those files.
HUGGING_FACE = 4
SHARDS = 4 + 2 * 4


def kept_bytes(parameters: int, exports: int, keep_checkpoint: bool) -> int:
    """Bytes of a whole run with so many exported models."""
    return parameters * (HUGGING_FACE * exports + (SHARDS if keep_checkpoint else 0))


def peak_bytes(parameters: int, exports: int) -> int:
    """Bytes at most while a run trains: the checkpoints kept, the one being written, and the models exported before."""
    return parameters * (SHARDS * (KEEP + 1) + HUGGING_FACE * exports)
