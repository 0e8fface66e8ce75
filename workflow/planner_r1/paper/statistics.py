"""Means over seeds with their uncertainty, and tests of a change. A number that cannot be had is None, never 0."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

LEVEL = 0.95
RESAMPLES = 10_000
BLOCK = 500  # resamples that are held at once


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
    told = np.array([d for d in differences if d != 0], dtype=float)  # the sign of 0 makes no difference
    if len(told) < 2:
        return 1.0  # either sign is as far from 0
    least = abs(told.sum()) - 1e-12 * np.abs(told).sum()  # sums that differ by rounding alone are as far from 0
    if 2 ** len(told) <= RESAMPLES:
        ways = np.arange(2 ** len(told))[:, None] >> np.arange(len(told)) & 1
        return float(np.mean(_far(ways, told, least)))
    rng, hits = np.random.default_rng(seed), 0
    for _ in range(RESAMPLES // BLOCK):
        hits += int(_far(rng.random((BLOCK, len(told)), dtype=np.float32) < 0.5, told, least).sum())
    return (hits + 1) / (RESAMPLES + 1)  # the signs that were found are one way more


def _far(kept: np.ndarray, values: np.ndarray, least: float) -> np.ndarray:
    """Whether the values, each with its sign where `kept`, else with the other one, sum to `least` away from 0."""
    return np.abs(2 * (kept.astype(float) @ values) - values.sum()) >= least


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction: the p-values as they are after so many comparisons, in the order given."""
    corrected, floor = [0.0] * len(p_values), 0.0
    for place, i in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        floor = max(floor, min(1.0, (len(p_values) - place) * p_values[i]))
        corrected[i] = floor
    return corrected


@dataclass(frozen=True)
class Summary:
    """Mean, standard deviation and number of values: all that a paper's `mean ± half-width` tells of them."""

    mean: float
    sd: float
    n: int

    @classmethod
    def of(cls, mean: float, half_width: float, n: int, level: float = LEVEL) -> Summary:
        """Of n >= 2 values, from the half-width of Student's interval for their mean."""
        return cls(mean, half_width * math.sqrt(n) / float(stats.t.ppf((1 + level) / 2, n - 1)), n)

    @classmethod
    def over(cls, values: Sequence[float]) -> Summary:
        """Of the values themselves; the deviation of one alone, or of values that are all alike, is 0."""
        n, vary = len(values), len(set(values)) > 1  # rounding would give equal values a deviation
        return cls(math.fsum(values) / n, float(np.std(values, ddof=1)) if vary else 0.0, n)


@dataclass(frozen=True)
class Difference:
    """A difference with its 95% interval and the two-sided p-value that it is what was assumed.

    `p` is None where nothing varies that it could be judged by.
    """

    mean: float
    low: float
    high: float
    p: float | None


def welch(first: Summary, second: Summary, null: float = 0.0, level: float = LEVEL) -> Difference:
    """The first mean less the second: Welch's t-test of independent values that may vary unequally.

    One value alone (n = 1) is taken to vary as those of the other side do, with their degrees of freedom: as if it were
    one more of them. Where neither side varies the interval is the difference itself.

    Raises:
        ValueError: one value on either side.
    """
    if first.n == second.n == 1:
        raise ValueError("one value on either side: nothing says how they vary")
    alone = 1 in (first.n, second.n)
    spread = first.sd if second.n == 1 else second.sd
    errors = [(spread if alone else side.sd) ** 2 / side.n for side in (first, second)]
    mean, error = first.mean - second.mean, math.sqrt(sum(errors))
    if sum(errors) == 0:
        return Difference(mean, mean, mean, None)
    shares = [e / sum(errors) for e in errors]
    if alone:
        df = max(first.n, second.n) - 1
    else:
        df = 1 / sum(share**2 / (side.n - 1) for share, side in zip(shares, (first, second), strict=True))
    half_width = float(stats.t.ppf((1 + level) / 2, df)) * error
    p = 2 * float(stats.t.sf(abs(mean - null) / error, df))
    return Difference(mean, mean - half_width, mean + half_width, p)


def paired_t(differences: Sequence[float], level: float = LEVEL) -> Difference:
    """The mean of paired differences, with Student's interval and t-test. Where they do not vary the interval is the
    difference itself.

    Raises:
        ValueError: fewer than two differences.
    """
    if len(differences) < 2:
        raise ValueError("fewer than two pairs: nothing says how they vary")
    found = Summary.over(differences)
    return welch(found, Summary(0.0, 0.0, found.n), level=level)  # where one side does not vary it is the paired test


def proportions(first: float, n_first: int, second: float, n_second: int, level: float = LEVEL) -> Difference:
    """The first share less the second, of so many independent trials each: Newcombe's interval from Wilson's two (his
    method 10), which holds near 0 and 1 as well, and the z-test with the pooled share."""
    z = float(stats.norm.ppf((1 + level) / 2))
    (l1, u1), (l2, u2) = _wilson(first, n_first, z), _wilson(second, n_second, z)
    mean = first - second
    low, high = mean - math.hypot(first - l1, u2 - second), mean + math.hypot(u1 - first, second - l2)
    pooled = (first * n_first + second * n_second) / (n_first + n_second)
    error = math.sqrt(pooled * (1 - pooled) * (1 / n_first + 1 / n_second))
    return Difference(mean, low, high, 2 * float(stats.norm.sf(abs(mean) / error)) if error else None)


def clustered_share(
    successes: Sequence[float], trials: Sequence[int], level: float = LEVEL
) -> tuple[float, float, float]:
    """The share of successes among all trials, of trials that come in clusters and are alike within one (here: episodes
    of one query under several seeds), with its interval.

    The interval is Wilson's for the effective number of trials: so many independent ones would vary as much as the
    share does over clusters, and as few are known from k clusters as Student's quantile of k - 1 degrees of freedom is
    beyond the normal one (Korn and Graubard, Survey Methodology 24 (1998), 193-201, with Wilson's interval in place of
    the exact one). It is never more than there are trials; where all succeed or none does nothing says how alike they
    are, and each cluster counts as one. From 8 clusters on about 19 of 20 intervals hold the share.

    Args:
        successes, trials: of each cluster; a cluster has at least one trial.

    Raises:
        ValueError: no clusters.
    """
    if not len(trials):
        raise ValueError("no clusters")
    successes, trials = np.asarray(successes, dtype=float), np.asarray(trials, dtype=float)
    n = trials.sum()
    share = successes.sum() / n
    z, k = float(stats.norm.ppf((1 + level) / 2)), len(trials)
    if k == 1 or share in (0, 1):
        as_many = k
    else:
        varies = k / (k - 1) * float(((successes - share * trials) ** 2).sum()) / n**2  # of the share, over clusters
        known = (z / float(stats.t.ppf((1 + level) / 2, k - 1))) ** 2
        as_many = min(n, share * (1 - share) / varies * known) if varies else n
    low, high = _wilson(share, as_many, z)
    return float(share), float(low), float(high)


def _wilson(share: float, n: float, z: float) -> tuple[float, float]:
    centre = share + z**2 / (2 * n)
    reach = z * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return (centre - reach) / (1 + z**2 / n), (centre + reach) / (1 + z**2 / n)
