"""Effects with their intervals, and the verdict on a claim that an effect lies beyond a line.

What varies: the training seeds, where both sides have two or more and they do not all come out alike (Welch's t-test);
else the queries or items, which both sides answered (paired bootstrap and permutation), which says nothing of how
training comes out with other seeds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from planner_r1.paper.statistics import Summary, paired_bootstrap, paired_permutation, welch

HOLDS, FAILS, UNDECIDED, NOT_RUN = "holds", "does not hold", "undecided", "not run"
FEWEST = 20  # queries or items; of fewer no interval is believed

Passes = Mapping[int, float]  # by query: 100 where the plan passes, else 0


@dataclass(frozen=True)
class Effect:
    """An effect with its 95% interval and the two-sided p-value against the claim's line; None where it has none.

    n: of what varies: "seeds" (of the side with fewer), "queries", "items" or "runs"
    """

    value: float
    low: float | None
    high: float | None
    p: float | None
    n: int
    varies: str


def difference(first: Sequence[Passes], second: Sequence[Passes], null: float = 0.0) -> Effect | None:
    """The mean pass of the first side less that of the second, a side being the passes of each of its seeds.

    Over seeds where both sides have two or more and either side's differ, else over the queries that all have; None
    where there are none.
    """
    by_seed = [[fmean(seed.values()) for seed in side] for side in (first, second)]
    if len(first) > 1 and len(second) > 1 and any(map(_vary, by_seed)):
        found = welch(*map(Summary.over, by_seed), null)
        return Effect(found.mean, found.low, found.high, found.p, min(len(first), len(second)), "seeds")
    means = [over_seeds(side) for side in (first, second)]
    return paired([means[0][idx] - means[1][idx] for idx in means[0] if idx in means[1]], null, "queries")


def gain(trained: Sequence[Passes], untrained: Passes) -> Effect | None:
    """The mean pass of the trained seeds less that of a model that is one and the same for all of them; over queries
    where there is one seed or all come out alike."""
    by_seed = [fmean(seed.values()) - fmean(untrained.values()) for seed in trained]
    if not _vary(by_seed):
        return difference(trained, [untrained])
    gains = Summary.over(by_seed)
    found = welch(gains, Summary(0.0, 0.0, gains.n))  # the one-sample t-test, as the other side does not vary
    return Effect(found.mean, found.low, found.high, found.p, gains.n, "seeds")


def paired(differences: Sequence[float], null: float, varies: str) -> Effect | None:
    """The mean of paired differences of at most 100 points; None of none, without an interval of fewer than FEWEST.

    Where all are alike resampling tells nothing: of n that agree up to 3/n of all may yet differ (the rule of three).
    """
    if not differences:
        return None
    change = paired_bootstrap(differences)
    if change.n < FEWEST:
        return Effect(change.mean, None, None, None, change.n, varies)
    if len(set(differences)) == 1:
        reach = 100 * 3 / change.n
        return Effect(change.mean, change.mean - reach, change.mean + reach, None, change.n, varies)
    p = paired_permutation([value - null for value in differences])
    return Effect(change.mean, change.low, change.high, p, change.n, varies)


def over_seeds(side: Sequence[Passes]) -> Passes:
    """The mean over seeds, of the queries that all have."""
    return {idx: fmean(seed[idx] for seed in side) for idx in side[0] if all(idx in seed for seed in side)}


def _vary(values: Sequence[float]) -> bool:
    return len(set(values)) > 1


def decide(effect: Effect, null: float, refuted: float) -> str:
    """The verdict on a claim that the effect is above `null`; it does not hold where it is surely below `refuted`.

    An interval without width comes of seeds that are all alike, which say nothing of how others would come out.
    """
    if effect.low is None or effect.high is None or effect.low == effect.high:
        return UNDECIDED
    if effect.low > null:
        return HOLDS
    return FAILS if effect.high < refuted else UNDECIDED


def all_hold(verdicts: Collection[str]) -> str:
    """The verdict on a claim that is made of several."""
    return FAILS if FAILS in verdicts else UNDECIDED if UNDECIDED in verdicts else HOLDS
