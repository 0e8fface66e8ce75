"""Advantage rules of our own: what a rule is given and returns, and which rules there are.

A rule is one module in the folder `advantages/`; its being there is enough. `advantages/README.md` says how to write
one. Nothing here or there imports torch or verl: a rule is a pure function on numpy arrays, computed once a step in the
process of the trainer, which has all episodes of the step.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from planner_r1.training import advantages as rules

FUNCTION = "advantages"
EPSILON = 1e-6  # beside a standard deviation, as in verl's GRPO


@dataclass(frozen=True)
class Episodes:
    """The episodes of a training step: N of them, of at most T tokens after the prompt.

    rewards: (N,) what the step trains on: equation 1 of the paper under the phase's weights, less verl's penalty for
        leaving the reference policy where `algorithm.use_kl_in_reward` is on
    success: (N,) bool, whether the plan is a final pass under the profile that pays, whatever the phase's weights
    groups: (N,) integers, equal for the episodes of one query
    turns: (N, T) integers: the turn of the model that a token belongs to, from 1; 0 for tools' replies and padding
    longest: the most tokens an episode may have after the prompt (`data.max_response_length`)
    progress: 0 in the first step of the run, 1 in its last, all phases together
    """

    rewards: np.ndarray
    success: np.ndarray
    groups: np.ndarray
    turns: np.ndarray
    longest: int
    progress: float

    @cached_property
    def turn_lengths(self) -> np.ndarray:
        """(N, K) the model's tokens in each of its turns, where K is the most turns of an episode; 0: no such turn."""
        most = int(self.turns.max(initial=0))
        return np.stack([(self.turns == turn).sum(axis=1) for turn in range(1, most + 1)], axis=1)

    @cached_property
    def lengths(self) -> np.ndarray:
        """(N,) tokens after the prompt, tools' replies included; an episode ends with a turn of the model."""
        return self.turns.shape[1] - np.argmax(self.turns[:, ::-1] > 0, axis=1)

    def by_episode(self, values: np.ndarray) -> np.ndarray:
        """(N,) values of episodes -> (N, T), on each token that the model wrote."""
        return np.where(self.turns > 0, values[:, None], 0.0)

    def by_turn(self, values: np.ndarray) -> np.ndarray:
        """(N, K) values of turns -> (N, T), on the tokens of that turn."""
        padded = np.concatenate([np.zeros((len(values), 1)), values], axis=1)
        return np.take_along_axis(padded, self.turns, axis=1)


def normalised(values: np.ndarray, groups: np.ndarray, by_std: bool = True) -> np.ndarray:
    """Each of the (M,) values less the mean of its group, over the group's standard deviation if `by_std`.

    The deviation is that of a sample (M - 1), with 1e-6 added, as in verl's GRPO. What is alone in its group gets 0:
    there is nothing to compare it with.
    """
    result = np.zeros(len(values))
    for group in np.unique(groups):
        of_group = groups == group
        if of_group.sum() > 1:
            centred = values[of_group] - values[of_group].mean()
            result[of_group] = centred / (values[of_group].std(ddof=1) + EPSILON) if by_std else centred
    return result


def names() -> tuple[str, ...]:
    """The rules that there are."""
    found = (module.name for module in pkgutil.iter_modules(rules.__path__))
    return tuple(sorted(name for name in found if not name.startswith("_")))


def function(name: str) -> Callable[..., np.ndarray]:
    """A rule's function."""
    module = import_module(f"{rules.__name__}.{name}")
    if not hasattr(module, FUNCTION):
        raise TypeError(f"{module.__file__}: a rule needs a function `{FUNCTION}(episodes, *, keys...)`")
    return getattr(module, FUNCTION)


def keys(name: str) -> dict[str, Any]:
    """A rule's keys with their defaults: the keyword-only parameters of its function."""
    parameters = inspect.signature(function(name)).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}


def problem_with(name: str, key: str, value: Any) -> str | None:
    """What is wrong with the value of a rule's key, or None: it must be of its default's kind, or of its choices."""
    hint, default = get_type_hints(function(name)).get(key), keys(name)[key]
    if get_origin(hint) is Literal:
        choices = get_args(hint)
        return None if value in choices else f"expected one of {', '.join(map(repr, choices))}, found {value!r}"
    if isinstance(default, bool):
        return None if isinstance(value, bool) else f"expected true or false, found {value!r}"
    if isinstance(default, int | float):
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return None if is_number else f"expected a number, found {value!r}"
    return None


def token_advantages(
    name: str,
    settings: Mapping[str, Any],
    *,
    rewards: np.ndarray,
    success: np.ndarray,
    mask: np.ndarray,
    queries: np.ndarray,
    longest: int,
    progress: float,
) -> np.ndarray:
    """The advantages of a step's tokens under a rule.

    Args:
        settings: values of the rule's keys; those that are left out have their defaults.
        mask: (N, T) 1 where the model wrote the token. A row without one is padding: the rule never sees it.
        queries: (N,) verl's uid of each row's query.
        rewards, success, longest, progress: see `Episodes`.

    Returns: (N, T), 0 wherever the mask is.

    Raises:
        ValueError: the rule returned another shape, or a value that is not finite.
    """
    written = np.asarray(mask) > 0
    real = written.any(axis=1)
    episodes = Episodes(
        rewards=np.asarray(rewards, dtype=float)[real],
        success=np.asarray(success, dtype=bool)[real],
        groups=np.unique(queries[real].astype(str), return_inverse=True)[1],
        turns=number_turns(written[real]),
        longest=longest,
        progress=progress,
    )
    result = np.zeros(written.shape)
    if real.any():
        values = np.asarray(function(name)(episodes, **settings))
        if values.shape != episodes.turns.shape or not np.isfinite(values).all():
            raise ValueError(
                f"rule '{name}': expected finite advantages of shape {episodes.turns.shape}, found shape "
                f"{values.shape} with {np.count_nonzero(~np.isfinite(values))} values that are not finite"
            )
        result[real] = values
    return result * written


def number_turns(written: np.ndarray) -> np.ndarray:
    """(N, T) bool -> the turn of each token, from 1: a run of tokens that the model wrote; 0 elsewhere.

    Two turns never touch: the opening of a tool's reply and the model's next turn stand between them.
    """
    begins = written & ~np.pad(written, ((0, 0), (1, 0)))[:, :-1]
    return begins.cumsum(axis=1) * written
