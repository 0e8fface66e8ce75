"""Text generation with continuous batching on the CPU.

Rows join and leave at any token. Each step is one forward pass over the next token of every active row together with
all tokens, not cached yet, of the rows that arrived since the last step. Keys and values of a finished row stay where
they are: the next turn of the same conversation, another sample of the same prompt, or another prompt with the same
beginning finds them by the longest cached prefix.
"""

import hashlib
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch

from planner_r1.training.cpu.kv_cache import RAGGED_ATTENTION, KeyValueCache, Pass
from planner_r1.training.cpu.sampling import SamplingParameters, sample

# Most prompt tokens computed in one step, so that many long prompts at once neither need much memory nor keep the
# active rows waiting for long. A single longer prompt is computed alone.
MOST_PREFILL_TOKENS = 8192
# A row waits one step for another one's prompt if that saves it at least so many tokens.
WORTH_WAITING_FOR = 16


@dataclass(eq=False)
class Request:
    """One call for tokens, and what became of it.

    Attributes:
        prompt: token ids, at least one.
        parameters: how tokens are drawn.
        max_tokens: most tokens to draw, at least 1.
        done: called in the engine's thread when the request has ended.
        tokens, log_probs: what was drawn.
        cached: how many tokens of the prompt were found in the cache.
        aborted: set it to have the request end at the next step with what it has; also the outcome.
    """

    prompt: np.ndarray
    parameters: SamplingParameters
    max_tokens: int
    done: Callable[["Request"], None]
    tokens: list[int] = field(default_factory=list)
    log_probs: list[float] = field(default_factory=list)
    cached: int = 0
    aborted: bool = False
    uniforms: np.ndarray | None = None  # the random number of each token to draw, set by the engine


@dataclass
class Statistics:
    """Work done since the engine was made: tokens drawn, prompt tokens computed and found cached, forward passes."""

    generated: int = 0
    prefilled: int = 0
    reused: int = 0
    passes: int = 0


class Engine:
    """Generates for many requests with one transformers model. Not thread-safe: one thread calls `step`.

    Args:
        model: a causal language model of transformers, on the CPU. Its attention is replaced by the engine's.
        end_tokens: token ids that end an output; they stay in it.
        slots: most requests at once, and conversations remembered.
        max_length: most tokens of a conversation, prompt and output together.
        seed: of the random numbers, see `_generator_for`.
    """

    def __init__(self, model, end_tokens: set[int], slots: int, max_length: int, seed: int):
        model.set_attn_implementation(RAGGED_ATTENTION)
        self.model = model.eval()
        self.max_length = max_length
        self.statistics = Statistics()
        self._end_tokens = frozenset(end_tokens)
        self._slots = slots
        self._seed = seed
        self._version = 0
        self._asked: Counter[bytes] = Counter()
        self._cache = KeyValueCache(model.config, slots, max_length, model.dtype)
        self._used = np.zeros(slots, dtype=np.int64)  # step at which the slot was last active
        self._clock = 0
        self._active: list[Request] = []  # the request at index i owns slot i

    @property
    def active(self) -> list[Request]:
        """The requests being generated for."""
        return list(self._active)

    def weights_changed(self, version: int) -> None:
        """Forget all keys and values. The version number takes part in the seeds of the random numbers."""
        if self._active:
            raise RuntimeError(f"the weights changed while {len(self._active)} requests were being generated for")
        self._cache.forget()
        self._version = version
        self._asked.clear()

    @torch.inference_mode()
    def step(self, waiting: deque[Request]) -> None:
        """Admit requests from `waiting` (taking them out) and give each active request its next token."""
        self._clock += 1
        self._drop_aborted(waiting)
        decoding = len(self._active)
        next_tokens = np.array([request.tokens[-1] for request in self._active], dtype=np.int64)
        starts = self._cache.lengths[:decoding].copy()
        arrivals = self._admit(waiting)
        if not self._active:
            return
        self._cache.record_next(next_tokens)
        new_tokens = [next_tokens]
        for slot, request in enumerate(arrivals, start=decoding):
            new_tokens.append(request.prompt[request.cached :])
            self._cache.record(slot, request.cached, new_tokens[-1])
        starts = np.concatenate([starts, [request.cached for request in arrivals]]).astype(np.int64)
        counts = self._cache.lengths[: len(self._active)] - starts
        self._emit(self._forward(np.concatenate(new_tokens), Pass(self._cache, starts, counts, decoding)))

    # ---- admission ------------------------------------------------------------------------------------------------

    def _drop_aborted(self, waiting: deque[Request]) -> None:
        for index in range(len(self._active) - 1, -1, -1):
            if self._active[index].aborted:
                self._leave(index)
        for request in [r for r in waiting if r.aborted]:
            waiting.remove(request)
            request.done(request)

    def _admit(self, waiting: deque[Request]) -> list[Request]:
        """Give the next slots to waiting requests, first come first served; returns those admitted.

        A request that shares more of its beginning with one admitted just now than with anything cached is put off
        to the next step, when that beginning is there to be copied.
        """
        admitted: list[Request] = []
        put_off = []
        prefill_tokens = 0
        while waiting and len(self._active) < self._slots:
            request = waiting.popleft()
            wanted = request.prompt[:-1]  # the last token is always computed: its logits are needed
            shared = self._cache.shared_prefix(wanted)
            cached = int(shared.max())
            arriving = max((_common_prefix(wanted, other.prompt) for other in admitted), default=0)
            if arriving >= cached + WORTH_WAITING_FOR:
                put_off.append(request)
                continue
            length = len(request.prompt) - cached
            if admitted and prefill_tokens + length > MOST_PREFILL_TOKENS:
                put_off.append(request)
                break
            prefill_tokens += length
            self._take_slot(shared)
            request.cached = cached
            request.uniforms = self._generator_for(request.prompt).random(request.max_tokens)
            self.statistics.prefilled += length
            self.statistics.reused += cached
            self._active.append(request)
            admitted.append(request)
        waiting.extendleft(reversed(put_off))
        return admitted

    def _take_slot(self, shared: np.ndarray) -> None:
        """Make the next slot ready for a request that shares `shared` [slots] first tokens with what each one holds."""
        slot = len(self._active)
        cached = shared.max()
        # Rows admitted in this very step have recorded nothing yet, so `shared` never points to keys still to come.
        lengths = self._cache.lengths
        continued = [s for s in np.flatnonzero(shared == cached) if s >= slot and lengths[s] == cached]
        if continued:  # the request goes on where an idle slot ends: nothing is lost by taking that one
            source = continued[0]
        else:
            free = np.arange(slot, self._slots)
            source = free[np.lexsort((self._used[free], lengths[free] > 0))[0]]  # an empty one, or the least recent
        self._swap(source, slot)
        if not continued and cached:
            best = int(shared.argmax())
            best = source if best == slot else slot if best == source else best  # where the swap has put it
            if best != slot:
                self._cache.copy(best, slot, int(cached))
        self._cache.lengths[slot] = cached

    def _swap(self, a: int, b: int) -> None:
        self._cache.swap(a, b)
        self._used[[a, b]] = self._used[[b, a]]

    def _generator_for(self, prompt: np.ndarray) -> np.random.Generator:
        """Random numbers of one request.

        Seeded by the engine's seed, the version of the weights, the prompt, and how often this prompt was asked with
        these weights: what a request draws does not depend on when it arrives and with what it is batched, so a run
        repeats itself up to the rounding of floating-point sums.
        """
        digest = hashlib.blake2b(prompt.tobytes(), digest_size=16).digest()
        self._asked[digest] += 1
        entropy = [self._seed, self._version, int.from_bytes(digest, "little"), self._asked[digest]]
        return np.random.Generator(np.random.SFC64(np.random.SeedSequence(entropy)))

    # ---- forward pass and what follows from it --------------------------------------------------------------------

    def _forward(self, tokens: np.ndarray, ragged_pass: Pass) -> torch.Tensor:
        """Logits [rows, vocabulary] after the last new token of each row."""
        self.statistics.passes += 1
        hidden = self.model.base_model(
            input_ids=torch.from_numpy(tokens)[None],
            position_ids=ragged_pass.positions[None],
            use_cache=False,
            ragged_pass=ragged_pass,
        ).last_hidden_state
        return self.model.get_output_embeddings()(hidden[0, ragged_pass.last]).float()

    def _emit(self, logits: torch.Tensor) -> None:
        """Draw a token for each active request; let those that have ended leave."""
        uniforms = torch.from_numpy(np.array([r.uniforms[len(r.tokens)] for r in self._active]))
        tokens, log_probs = sample(logits, [r.parameters for r in self._active], uniforms)
        self.statistics.generated += len(self._active)
        for request, token, log_prob in zip(self._active, tokens.tolist(), log_probs.tolist(), strict=True):
            request.tokens.append(token)
            request.log_probs.append(log_prob)
        # Backwards, since a leaving row changes places with the last one.
        for index in range(len(self._active) - 1, -1, -1):
            if self._has_ended(self._active[index]):
                self._leave(index)

    def _has_ended(self, request: Request) -> bool:
        token = request.tokens[-1]
        return (
            (token in self._end_tokens and not request.parameters.ignore_eos)
            or token in request.parameters.stop_token_ids
            or len(request.tokens) >= request.max_tokens
            or len(request.prompt) + len(request.tokens) >= self.max_length
        )

    def _leave(self, index: int) -> None:
        """End a request. Its slot changes places with the last active one, so that active slots stay 0, 1, 2, ..."""
        last = len(self._active) - 1
        request = self._active[index]
        self._used[index] = self._clock
        self._swap(index, last)
        self._active[index] = self._active[last]
        self._active.pop()
        request.done(request)


def _common_prefix(a: np.ndarray, b: np.ndarray) -> int:
    length = min(len(a), len(b))
    differs = np.flatnonzero(a[:length] != b[:length])
    return int(differs[0]) if len(differs) else length
