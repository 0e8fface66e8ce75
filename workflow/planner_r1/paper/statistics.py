"""Means over seeds with their uncertainty, and tests of a change. A number that cannot be had is None, never 0."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

LEVEL = 0.95
RESAMPLES = 10_000


@dataclass(frozen=True)
class Estimate:
    """A mean over `n` values and the half-width of its interval; None where there are too few values."""

    mean: float | None
    half_width: float | None
    n: int

    @property
    def low(self) -> float | None:
        return None if self.half_width is None else self.mean - self.half_width

    @property
    def high(self) -> float | None:
        return None if self.half_width is None else self.mean + self.half_width


def t_interval(values: Sequence[float], level: float = LEVEL) -> Estimate:
    """The mean and Student's interval for it: t(n - 1) times the standard error. One value has no interval."""
    n = len(values)
    if n == 0:
        return Estimate(None, None, 0)
    mean = math.fsum(values) / n
    if n == 1:
        return Estimate(mean, None, 1)
    error = float(np.std(values, ddof=1)) / math.sqrt(n)
    return Estimate(mean, float(stats.t.ppf((1 + level) / 2, n - 1)) * error, n)


@dataclass(frozen=True)
class Change:
    """A mean change with its bootstrap interval; `n` is the number of resampled items."""

    mean: float
    low: float
    high: float
    n: int

    @property
    def rises(self) -> bool:
        """The whole interval lies above 0."""
        return self.low > 0


def paired_bootstrap(differences: Sequence[float], seed: int = 0, level: float = LEVEL) -> Change:
    """The mean of paired differences, with the percentile interval over resampled items (here: queries).

    Raises:
        ValueError: no differences.
    """
    if not len(differences):
        raise ValueError("no pairs to compare")
    values = np.asarray(differences, dtype=float)
    drawn = np.random.default_rng(seed).integers(len(values), size=(RESAMPLES, len(values)))
    low, high = np.quantile(values[drawn].mean(axis=1), [(1 - level) / 2, (1 + level) / 2])
    return Change(float(values.mean()), float(low), float(high), len(values))


def paired_permutation(differences: Sequence[float], seed: int = 0) -> float:
    """The two-sided p-value of paired differences under random signs, which asks for no distribution.

    Where each item is right or wrong on either side this is McNemar's exact test. All signs are tried where there are
    at most RESAMPLES ways, else as many are drawn.

    Raises:
        ValueError: no differences.
    """
    if not len(differences):
        raise ValueError("no pairs to compare")
    told = [d for d in differences if d != 0]  # the sign of 0 makes no difference
    if len(told) < 2:
        return 1.0  # either sign is as far from 0
    test = stats.permutation_test((told,), _mean, permutation_type="samples", n_resamples=RESAMPLES, rng=seed)
    return float(test.pvalue)


def _mean(values: np.ndarray, axis: int) -> np.ndarray:
    return np.mean(values, axis=axis)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction: the p-values as they are after so many comparisons, in the order given."""
    corrected, floor = [0.0] * len(p_values), 0.0
    for place, i in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        floor = max(floor, min(1.0, (len(p_values) - place) * p_values[i]))
        corrected[i] = floor
    return corrected
