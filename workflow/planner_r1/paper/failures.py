"""How often each kind of failure occurs in the validations of a run, by step."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from planner_r1.evaluator.failures import FAILURES
from planner_r1.paper.results import Results
from planner_r1.study import Study

# Percent of the validated plans with each kind, by step and seed.
Shares = dict[int, dict[int, dict[str, float]]]


def failure_shares(study: Study, results: Results) -> dict[tuple[str, str], Shares]:
    """The shares of every (model, regime) that was validated; each step has the seeds it has."""
    groups: dict[tuple[str, str], Shares] = defaultdict(dict)
    for run in study.runs:
        for step, shares in by_step(results.validations(run) or ()).items():
            groups[run.model, run.regime].setdefault(step, {})[run.seed] = shares
    return {group: dict(sorted(steps.items())) for group, steps in groups.items()}


def by_step(episodes: Iterable[dict]) -> dict[int, dict[str, float]]:
    """Percent of the plans with each kind of failure at each step, from rows of score_validations."""
    plans, counts = Counter(), defaultdict(Counter)
    for episode in episodes:
        plans[episode["step"]] += 1
        counts[episode["step"]].update(set(episode["failures"]))
    return {step: {kind: 100 * counts[step][kind] / n for kind in FAILURES} for step, n in plans.items()}


def means(seeds: Mapping[int, Mapping[str, float]]) -> dict[str, float]:
    """The mean share of each kind over the seeds of a step."""
    return {kind: sum(shares[kind] for shares in seeds.values()) / len(seeds) for kind in FAILURES}


def most_frequent(shares: Mapping[str, float], n: int) -> list[str]:
    """The `n` most frequent kinds, those alone that occur; of kinds as frequent the first of FAILURES."""
    return sorted((kind for kind in FAILURES if shares[kind] > 0), key=lambda kind: -shares[kind])[:n]


def area(steps: Sequence[int], shares: Sequence[float]) -> float:
    """The area under a curve by the trapezoidal rule, percent times steps; 0 for a single point."""
    return sum((b - a) * (y + z) / 2 for (a, y), (b, z) in pairwise(zip(steps, shares, strict=True)))
