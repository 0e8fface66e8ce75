"""What a run leaves on the disk, and what it takes at most while it trains."""

from __future__ import annotations

from planner_r1.training.checkpoints import KEEP

# Bytes a weight: the trainer holds weights, and Adam its two moments, in 32 bits; a checkpoint holds the weights once
# more in Hugging Face's layout, and an exported model is another name of those files.
HUGGING_FACE = 4
CHECKPOINT = 4 + 2 * 4 + HUGGING_FACE


def kept_bytes(parameters: int, exports: int, keep_checkpoint: bool) -> int:
    """Bytes of a whole run with so many exported models; the last one's files are those of the checkpoint kept."""
    shared = exports - 1 if keep_checkpoint else exports
    return parameters * (HUGGING_FACE * shared + (CHECKPOINT if keep_checkpoint else 0))


def peak_bytes(parameters: int, exports: int) -> int:
    """Bytes at most while a run trains: the checkpoints kept, the one being written, and the models exported before."""
    return parameters * (CHECKPOINT * (KEEP + 1) + HUGGING_FACE * max(exports - 1, 0))
