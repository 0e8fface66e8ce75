"""FLOPs of training, as the paper counts them (its appendix on FLOPs) and as verl's MFU implies them.

The paper adds up, over the steps of a run, what the updates of the policy took: MFU * f_peak * W * t / E, with the
model FLOPs utilisation that verl reports, a GPU's peak, the number of GPUs, the seconds of the update and the PPO
epochs. Rollouts and log-probabilities do not count. verl's MFU is the model's FLOPs (below) over what the GPUs could
have done in the time, so that the product is the model's FLOPs again, whatever the hardware.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from math import isfinite
from pathlib import Path

import yaml

MFU = "perf/mfu/actor"
UPDATE_SECONDS = "timing_s/update_actor"


@dataclass(frozen=True)
class Shape:
    """The sizes of a dense model of Qwen3's kind. `tied`: input and output embeddings are one matrix."""

    hidden_size: int
    intermediate_size: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    tied: bool = False

    @classmethod
    def from_config(cls, config: Mapping) -> Shape:
        """From a model's config.json; raises KeyError for one of another kind."""
        return cls(
            hidden_size=config["hidden_size"],
            intermediate_size=config["intermediate_size"],
            layers=config["num_hidden_layers"],
            heads=config["num_attention_heads"],
            kv_heads=config["num_key_value_heads"],
            head_dim=config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"],
            vocabulary=config["vocab_size"],
            tied=config.get("tie_word_embeddings", False),
        )

    @classmethod
    def from_folder(cls, model: Path) -> Shape | None:
        """Of the model in a folder; None where there is none, or one of another kind."""
        try:
            return cls.from_config(json.loads((model / "config.json").read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError):
            return None

    @property
    def matrices_of_a_layer(self) -> int:
        """Entries of the matrices in one layer: the gated feed-forward part; queries, keys, values and output."""
        feed_forward = 3 * self.hidden_size * self.intermediate_size
        return feed_forward + 2 * self.hidden_size * self.head_dim * (self.heads + self.kv_heads)

    @property
    def parameters(self) -> int:
        """Number of weights."""
        embeddings = self.vocabulary * self.hidden_size * (1 if self.tied else 2)
        norms = self.layers * 2 * (self.hidden_size + self.head_dim) + self.hidden_size
        return self.layers * self.matrices_of_a_layer + embeddings + norms


def known_shape(model: str) -> Shape | None:
    """The shape of one of the paper's models, by its name in a study; None for another."""
    text = files(__package__).joinpath("reference", "models.yaml").read_text(encoding="utf-8")
    fields = yaml.safe_load(text).get(model)
    return Shape(**fields) if fields else None


def training_flops(shape: Shape, lengths: Sequence[float]) -> float:
    """FLOPs of one pass forward and backward over sequences of so many tokens, as verl counts them.

    Six a token and matrix entry, both embeddings counted, whether tied or not; and attention, twelve a pair of tokens,
    layer and unit of the heads' width, of which the causal mask leaves half. What checkpointing computes twice does not
    count.
    """
    matrices = shape.layers * shape.matrices_of_a_layer + 2 * shape.vocabulary * shape.hidden_size
    pairs = sum(length * length for length in lengths)
    return 6 * matrices * sum(lengths) + 6 * shape.layers * shape.heads * shape.head_dim * pairs


def update_flops(mfu: float, seconds: float, peak: float, gpus: int, epochs: int = 1) -> float:
    """The paper's FLOPs of one step's update, from the MFU over `gpus` that can do `peak` FLOP/s each."""
    return mfu * peak * gpus * seconds / epochs


def step_flops(metrics: Mapping, peak: float, gpus: int, epochs: int = 1) -> float | None:
    """The paper's FLOPs of one step, from its metrics; None where they lack the time or an MFU that says something.

    verl's MFU is 0 for a GPU whose peak it does not know and for a model that it cannot count.
    """
    mfu, seconds = metrics.get(MFU), metrics.get(UPDATE_SECONDS)
    if not mfu or seconds is None or not (isfinite(mfu) and isfinite(seconds)):
        return None
    return update_flops(mfu, seconds, peak, gpus, epochs)


def run_flops(metrics: Iterable[Mapping], peak: float, gpus: int, epochs: int = 1) -> float | None:
    """The paper's FLOPs of a run, from the metrics of its steps; None where one of them does not tell."""
    steps = [step_flops(step, peak, gpus, epochs) for step in metrics]
    return None if None in steps else sum(steps)


def reckoned_flops(shape: Shape, tokens: float, episodes: float) -> float:
    """The model's FLOPs of one pass over so many episodes of so many tokens together, where nothing was measured.

    As if all were equally long, which takes the least attention.
    """
    return episodes * training_flops(shape, [tokens / episodes])
