"""Attention for training on the CPU, registered with transformers as `verl_cpu_causal`.

verl hands the trainer either right-padded batches or, with `use_remove_padding`, all sequences of a micro-batch packed
into one row. transformers' own `sdpa` builds a full mask for either, and on a packed row it computes the whole square
of the row's length, of which only the blocks on the diagonal are wanted. Here no mask is built at all: padding on the
right is never seen by a causal query, and packed sequences are attended one at a time.
"""

import torch
import torch.nn.functional as F
from transformers import AttentionInterface

TRAINING_ATTENTION = "verl_cpu_causal"


def causal_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    position_ids: torch.Tensor | None = None,
    **_unused,
) -> tuple[torch.Tensor, None]:
    """Causal self-attention over right-padded rows, or over the sequences packed into a single row.

    Args:
        query: [batch, heads, length, head size]; key and value the same with their own number of heads.
        attention_mask: ignored. transformers builds none for an attention it has no mask function for; what verl gives
            the model for padded rows says only where the padding on the right is.
        position_ids: [1, length] for a packed row: a sequence starts wherever the position is 0.

    Returns:
        [batch, length, heads, head size], and None for the attention weights.
    """
    if dropout:
        raise ValueError("verl_cpu_causal has no dropout: set the model's attention_dropout to 0")
    lengths = _packed_lengths(query, position_ids)
    if len(lengths) == 1:
        out = _causal(query, key, value, scaling)
    else:
        parts = zip(query.split(lengths, 2), key.split(lengths, 2), value.split(lengths, 2), strict=True)
        out = torch.cat([_causal(q, k, v, scaling) for q, k, v in parts], dim=2)
    return out.transpose(1, 2).contiguous(), None


def _packed_lengths(query: torch.Tensor, position_ids: torch.Tensor | None) -> list[int]:
    batch, _, length, _ = query.shape
    if batch != 1 or position_ids is None:
        return [length]
    starts = (position_ids.reshape(-1) == 0).nonzero()[:, 0].tolist()
    if not starts or starts[0] != 0:
        raise ValueError("verl_cpu_causal computes whole sequences only: positions must start at 0")
    return [end - start for start, end in zip(starts, [*starts[1:], length], strict=True)]


def _causal(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scaling: float | None) -> torch.Tensor:
    grouped = query.shape[1] != key.shape[1]
    return F.scaled_dot_product_attention(query, key, value, scale=scaling, is_causal=True, enable_gqa=grouped)


def register() -> None:
    """Make the attention known to transformers in this process."""
    AttentionInterface.register(TRAINING_ATTENTION, causal_attention)
