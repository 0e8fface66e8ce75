"""Keys and values of many conversations, one slot each, and the attention that reads them.

A forward pass of the engine takes the new tokens of all rows packed into one row of tokens, as many as each has: one
for a row that is decoding, all that is not cached yet for a row that has just arrived. The linear layers see no
padding; only attention needs to know which token belongs to which slot, and that is what a `Pass` says.
"""

import numpy as np
import torch
import torch.nn.functional as F
from transformers import AttentionInterface, PretrainedConfig

RAGGED_ATTENTION = "planner_r1_cpu_ragged"


class KeyValueCache:
    """`slots` stretches of `max_length` positions, and which tokens each of them holds keys and values of.

    Memory is touched only where it is used: slots * max_length is an upper limit.
    """

    def __init__(self, config: PretrainedConfig, slots: int, max_length: int, dtype: torch.dtype):
        head_size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        shape = (config.num_hidden_layers, 2, slots, config.num_key_value_heads, max_length, head_size)
        self.slots = slots
        self.max_length = max_length
        self._memory = torch.zeros(shape, dtype=dtype)
        self._tokens = np.zeros((slots, max_length), dtype=np.int32)
        self.lengths = np.zeros(slots, dtype=np.int64)

    def keys(self, layer: int) -> torch.Tensor:
        """[slots, key-value heads, max_length, head size], a view."""
        return self._memory[layer, 0]

    def values(self, layer: int) -> torch.Tensor:
        return self._memory[layer, 1]

    def forget(self) -> None:
        """Drop everything: the weights changed, so keys and values no longer are the model's."""
        self.lengths[:] = 0

    def record(self, slot: int, start: int, tokens: np.ndarray) -> None:
        """Say that positions from `start` on now hold these tokens, and nothing is held after them."""
        self._tokens[slot, start : start + len(tokens)] = tokens
        self.lengths[slot] = start + len(tokens)

    def record_next(self, tokens: np.ndarray) -> None:
        """Say that the first slots each hold one token more, these ones."""
        slots = np.arange(len(tokens))
        self._tokens[slots, self.lengths[: len(tokens)]] = tokens
        self.lengths[: len(tokens)] += 1

    def shared_prefix(self, tokens: np.ndarray) -> np.ndarray:
        """[slots]: how many of the first tokens each slot holds."""
        shared = np.zeros(self.slots, dtype=np.int64)
        held = np.flatnonzero(self.lengths)
        if len(held) and len(tokens):
            differs = self._tokens[held, : len(tokens)] != tokens
            first = differs.argmax(1)
            first[~differs[np.arange(len(held)), first]] = len(tokens)  # no difference at all
            shared[held] = np.minimum(first, self.lengths[held])
        return shared

    def copy(self, source: int, target: int, length: int) -> None:
        """Make the first `length` positions of `target` those of `source`."""
        self._memory[:, :, target, :, :length] = self._memory[:, :, source, :, :length]
        self.record(target, 0, self._tokens[source, :length])

    def swap(self, a: int, b: int) -> None:
        """Exchange what two slots hold."""
        if a == b:
            return
        length_a, length_b = int(self.lengths[a]), int(self.lengths[b])
        if length_a == 0 or length_b == 0:  # a move, half the work
            source, target, length = (a, b, length_a) if length_a else (b, a, length_b)
            self.copy(source, target, length)
            self.lengths[source] = 0
            return
        held_a = self._memory[:, :, a, :, :length_a].clone()
        tokens_a = self._tokens[a, :length_a].copy()
        self.copy(b, a, length_b)
        self._memory[:, :, b, :, :length_a] = held_a
        self.record(b, 0, tokens_a)


class Pass:
    """One forward pass: whose tokens are in the packed row, and where their keys and values go.

    Args:
        cache: where they go.
        starts: [rows], how many tokens of each row are cached; its new ones come after them.
        counts: [rows], how many new tokens each row has. Row i owns slot i.
        decoding: the first so many rows have one new token each. Their attention is one batched call on a view of the
            cache; the other rows are attended one at a time.

    Attributes:
        positions: [tokens], the position of each new token in its conversation.
        last: [rows], where in the packed row each row's last token is.
    """

    def __init__(self, cache: KeyValueCache, starts: np.ndarray, counts: np.ndarray, decoding: int):
        assert (counts[:decoding] == 1).all()
        offsets = np.cumsum(counts) - counts
        self._cache = cache
        self._decoding = decoding
        self._prefills = [
            (slot, int(starts[slot]), int(counts[slot]), int(offsets[slot])) for slot in range(decoding, len(counts))
        ]
        self._slots = torch.from_numpy(np.repeat(np.arange(len(counts)), counts))
        self.positions = torch.from_numpy(np.arange(counts.sum()) + np.repeat(starts - offsets, counts))
        self.last = torch.from_numpy(offsets + counts - 1)
        if decoding:
            ends = self.positions[:decoding, None] + 1
            self._reach = int(ends.max())
            hidden = torch.arange(self._reach) >= ends
            bias = torch.zeros(hidden.shape, dtype=cache.keys(0).dtype).masked_fill_(hidden, float("-inf"))
            self._bias = bias[:, None, None, :]  # [rows, 1, 1, positions]

    def attend(
        self, layer: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scaling: float | None
    ) -> torch.Tensor:
        """Store the new keys and values, and attend: [heads, tokens, size] -> [tokens, heads, size]."""
        keys, values = self._cache.keys(layer), self._cache.values(layer)
        keys[self._slots, :, self.positions] = key.transpose(0, 1)
        values[self._slots, :, self.positions] = value.transpose(0, 1)
        heads, tokens, size = query.shape
        out = query.new_empty(tokens, heads, size)
        if self._decoding:
            out[: self._decoding] = self._decode(query[:, : self._decoding], keys, values, scaling)
        for slot, start, count, offset in self._prefills:
            here = slice(offset, offset + count)
            stored = slice(slot, slot + 1), slice(None), slice(start + count)
            out[here] = self._prefill(query[:, here], keys[stored], values[stored], start, scaling)
        return out

    def _decode(self, query, keys, values, scaling):
        """One new token a row: [heads, rows, size] -> [rows, heads, size]."""
        heads, rows, size = query.shape
        groups = keys.shape[1]
        # The query heads that share a key head become a query axis, so that keys and values are not repeated.
        folded = query.view(groups, heads // groups, rows, size).permute(2, 0, 1, 3)
        out = F.scaled_dot_product_attention(
            folded, keys[:rows, :, : self._reach], values[:rows, :, : self._reach], attn_mask=self._bias, scale=scaling
        )
        return out.reshape(rows, heads, size)

    @staticmethod
    def _prefill(query, keys, values, start, scaling):
        """All new tokens of one row, after `start` cached ones: [heads, count, size] -> [count, heads, size]."""
        visible = None
        if start and query.shape[1] > 1:
            visible = torch.ones(query.shape[1], keys.shape[2], dtype=torch.bool).tril_(diagonal=start)
        out = F.scaled_dot_product_attention(
            query[None], keys, values, attn_mask=visible, is_causal=start == 0, scale=scaling, enable_gqa=True
        )
        return out[0].transpose(0, 1)


def _ragged_attention(module, query, key, value, attention_mask, scaling=None, ragged_pass=None, **_unused):
    out = ragged_pass.attend(module.layer_idx, query[0], key[0], value[0], scaling)
    return out[None], None


# transformers builds no mask for an attention that it has no mask function for.
AttentionInterface.register(RAGGED_ATTENTION, _ragged_attention)
