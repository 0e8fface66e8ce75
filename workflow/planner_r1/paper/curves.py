"""Learning curves: a value of the validations during training, by run and step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from planner_r1.paper.results import Results
from planner_r1.paper.statistics import Estimate, t_interval
from planner_r1.study import Run, Study


@dataclass(frozen=True)
class Validation:
    """One episode of a validation during training: the query, the step and the six sub-rewards."""

    idx: int
    step: int
    sub_rewards: dict[str, float]


@dataclass(frozen=True)
class Point:
    """A step of a curve: the estimate over the seeds that were validated there."""

    step: int
    estimate: Estimate
    seeds: tuple[int, ...]


def validations(study: Study, results: Results) -> list[tuple[Run, list[Validation]]]:
    """The runs that were validated, with their episodes."""
    found = ((run, results.validations(run)) for run in study.runs)
    return [
        (run, [Validation(row["idx"], row["step"], row["sub_rewards"]) for row in rows]) for run, rows in found if rows
    ]


def mean_by_step(episodes: Iterable[Validation], value: Callable[[dict], float]) -> dict[int, float]:
    """The mean of `value(sub_rewards)` at each step."""
    by_step = defaultdict(list)
    for episode in episodes:
        by_step[episode.step].append(value(episode.sub_rewards))
    return {step: sum(values) / len(values) for step, values in sorted(by_step.items())}


def curve(runs: Sequence[tuple[Run, Sequence[Validation]]], value: Callable[[dict], float]) -> list[Point]:
    """The mean over seeds at each step, from the runs of one model and regime; each step has the seeds it has."""
    return over_seeds({run.seed: mean_by_step(episodes, value) for run, episodes in runs})


def over_seeds(by_seed: Mapping[int, Mapping[int, float]]) -> list[Point]:
    """A curve from the values of each seed by step."""
    points = []
    for step in sorted({step for means in by_seed.values() for step in means}):
        have = {seed: means[step] for seed, means in by_seed.items() if step in means}
        points.append(Point(step, t_interval(list(have.values())), tuple(sorted(have))))
    return points


def cut(last: Mapping[int, int]) -> str:
    """Which seeds end before the others, such as `only until step 10, where seed 3 ends`; empty where none does.

    Args:
        last: the last step that each seed was validated at
    """
    least = min(last.values(), default=0)
    seeds = [seed for seed, step in last.items() if step == least]
    if len(seeds) == len(last):
        return ""
    return f"only until step {least}, where seed{'s' * (len(seeds) > 1)} {_listed(seeds)} end{'s' * (len(seeds) == 1)}"


def _listed(seeds: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(seeds)))


def by_model_and_regime(runs: Iterable[tuple[Run, Sequence[Validation]]]) -> dict[tuple[str, str], list]:
    """Runs with their episodes, gathered by (model, regime) in the order they come."""
    gathered = defaultdict(list)
    for run, episodes in runs:
        gathered[run.model, run.regime].append((run, episodes))
    return dict(gathered)
