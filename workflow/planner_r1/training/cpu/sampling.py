"""Drawing the next token from logits: exactly what was asked for, with the log-probability of what was drawn.

The order of the steps is the one of vLLM's `processed_logprobs` mode, which verl asks its engines for: divide by the
temperature, keep the `top_k` likeliest, of those keep the fewest whose probabilities reach `top_p`, renormalise. The
log-probability returned is that of the renormalised distribution. At temperature 0 the likeliest token is taken, and
its log-probability under the unscaled distribution is returned (a point mass would always say 0).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

# Keys that an engine may be sent although they mean nothing here, and the one value they may have.
_NEUTRAL = {"repetition_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0, "min_p": 0.0, "n": 1}


@dataclass(frozen=True)
class SamplingParameters:
    """How one request wants its tokens drawn.

    Attributes:
        temperature: divisor of the logits; 0 takes the likeliest token.
        top_k: number of likeliest tokens kept; 0 keeps all.
        top_p: probability mass kept, in (0, 1]; 1 keeps all.
        stop_token_ids: tokens that end the output besides the model's own end tokens; they stay in the output.
        ignore_eos: go on after the model's own end tokens.
        max_tokens: most tokens to draw, or None for the server's own limit.
        logprobs: whether the caller wants log-probabilities.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    stop_token_ids: frozenset[int] = frozenset()
    ignore_eos: bool = False
    max_tokens: int | None = None
    logprobs: bool = False

    def __post_init__(self):
        if not (math.isfinite(self.temperature) and self.temperature >= 0):
            raise ValueError(f"temperature must be a number of at least 0, not {self.temperature}")
        if self.top_k < 0:
            raise ValueError(f"top_k must be -1, 0 or a positive number, not {self.top_k}")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must lie in (0, 1], not {self.top_p}")
        if self.max_tokens is not None and self.max_tokens < 1:
            raise ValueError(f"max_tokens must be at least 1, not {self.max_tokens}")

    @classmethod
    def from_dict(cls, given: dict) -> "SamplingParameters":
        """Read the dictionary that verl's agent loops send.

        Raises:
            ValueError: for a key or a value that this engine would not honour. Ignoring it would train on tokens drawn
                from another distribution than the configured one, without anybody noticing.
        """
        given = {key: value for key, value in given.items() if value is not None}
        for key, neutral in _NEUTRAL.items():
            if given.pop(key, neutral) != neutral:
                raise ValueError(f"the CPU rollout engine does not support {key}; leave it at {neutral}")
        max_tokens = given.pop("max_tokens", given.pop("max_new_tokens", None))
        logprobs = given.pop("logprobs", False)
        parameters = cls(
            temperature=float(given.pop("temperature", 1.0)),
            top_k=max(0, int(given.pop("top_k", 0))),
            top_p=float(given.pop("top_p", 1.0)),
            stop_token_ids=frozenset(int(token) for token in given.pop("stop_token_ids", ())),
            ignore_eos=bool(given.pop("ignore_eos", False)),
            max_tokens=max_tokens,
            logprobs=logprobs is not False,  # 0 asks for the drawn token's log-probability
        )
        if given:
            raise ValueError(f"the CPU rollout engine does not know the sampling parameters {sorted(given)}")
        return parameters

    @property
    def distribution(self) -> tuple[float, int, float]:
        """What shapes the distribution: temperature, top_k, top_p."""
        return self.temperature, self.top_k, self.top_p


def sample(
    logits: torch.Tensor, parameters: Sequence[SamplingParameters], uniforms: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw one token a row.

    Args:
        logits: [rows, vocabulary], float32. May be overwritten.
        parameters: one a row.
        uniforms: [rows], float64 in [0, 1): the random number of each row, turned into a token by inverting the
            distribution's cumulative sum. The caller owns the random numbers, so a row's draw depends neither on which
            other rows it is batched with nor on their order.

    Returns:
        token ids [rows] (int64) and their log-probabilities [rows] (float32).
    """
    log_probs = _processed_log_probs(logits, parameters)
    cumulative = log_probs.exp().cumsum(-1, dtype=torch.float64)
    total = cumulative[:, -1:]
    # Strictly below the total, whatever the rounding: the search then ends on a token of positive probability.
    target = torch.minimum(uniforms[:, None] * total, torch.nextafter(total, torch.zeros_like(total)))
    tokens = torch.searchsorted(cumulative, target, right=True)[:, 0]
    greedy = [row for row, p in enumerate(parameters) if p.temperature == 0]
    if greedy:
        tokens[greedy] = log_probs[greedy].argmax(-1)
    return tokens, log_probs.gather(1, tokens[:, None])[:, 0]


def _processed_log_probs(logits: torch.Tensor, parameters: Sequence[SamplingParameters]) -> torch.Tensor:
    """Log-probabilities [rows, vocabulary] after temperature, top-k and top-p; minus infinity for what was cut off."""
    vocabulary = logits.shape[-1]
    temperatures = [p.temperature or 1.0 for p in parameters]
    if any(t != 1.0 for t in temperatures):
        logits = logits / torch.tensor(temperatures, dtype=logits.dtype)[:, None]
    # A greedy row takes the maximum, which no cut changes, and reports the whole distribution's log-probability.
    cut = [row for row, p in enumerate(parameters) if p.temperature > 0 and (0 < p.top_k < vocabulary or p.top_p < 1.0)]
    if cut:
        logits[cut] = _cut_tail(
            logits[cut],
            torch.tensor([parameters[row].top_k or vocabulary for row in cut]),
            torch.tensor([parameters[row].top_p for row in cut], dtype=torch.float32),
        )
    return logits.log_softmax(-1)


def _cut_tail(logits: torch.Tensor, top_k: torch.Tensor, top_p: torch.Tensor) -> torch.Tensor:
    """Set to minus infinity what lies outside the `top_k` [rows] likeliest tokens and the mass `top_p` [rows].

    Among tokens of equal logits at the border those of the smaller ids stay.
    """
    ordered, order = logits.sort(dim=-1, descending=True, stable=True)
    rank = torch.arange(logits.shape[-1])
    ordered = ordered.masked_fill(rank >= top_k[:, None], float("-inf"))
    probabilities = ordered.softmax(-1)
    mass_before = probabilities.cumsum(-1, dtype=torch.float64) - probabilities
    # The likeliest token always stays: the mass before it is 0. At top_p = 1 nothing is cut for rounding's sake.
    outside = (mass_before >= top_p[:, None]) & (top_p[:, None] < 1.0)
    ordered = ordered.masked_fill(outside, float("-inf"))
    return torch.empty_like(logits).scatter_(-1, order, ordered)
