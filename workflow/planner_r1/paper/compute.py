"""What training took and what it bought: cumulative FLOPs, the peak, and where a model reaches 90% of the larger one's.

The numbers that Figure 3 and the headline table share. The paper compares its two models under stage 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property

import numpy as np

from planner_r1.paper.curves import Validation, mean_by_step
from planner_r1.paper.flops import MFU, UPDATE_SECONDS, Shape, known_shape, reckoned_flops, step_flops
from planner_r1.paper.results import Results
from planner_r1.paper.statistics import LEVEL, RESAMPLES
from planner_r1.study import Run, Study

COMPARED = "stage1"
SHARE = 0.9  # of the larger model's peak
MEASURED, RECKONED = "measured", "reckoned"
TOKENS = "perf/total_num_tokens"
END, COLLAPSED = 0.2, 1.0  # of a run's steps; percent

Runs = Sequence[tuple[Run, Sequence[Validation]]]


# ---- which models are compared -----------------------------------------------------------------------------------


def compared_regime(study: Study) -> str | None:
    """The regime whose runs are compared: stage 1, as in the paper, or else the study's first."""
    return COMPARED if COMPARED in study.regimes else next(iter(study.regimes), None)


def compared_models(study: Study) -> list[str]:
    regime = compared_regime(study)
    return [model for model in study.models if regime in study.regimes_of(model)]


def shape(results: Results, model: str) -> Shape | None:
    """The sizes of a model: from the configuration beside its weights, or those of the paper's model of that name."""
    return Shape.from_folder(results.model_folder(model)) or known_shape(model)


def parameters(results: Results, model: str) -> int | None:
    """The number of a model's weights; None where nothing says it."""
    known = shape(results, model)
    return known.parameters if known else (results.model(model) or {}).get("parameters")


def larger_model(study: Study, results: Results) -> str | None:
    """Of the models that are compared the one with the most weights; None where several are of unknown size."""
    models = compared_models(study)
    sizes = {model: parameters(results, model) for model in models}
    if len(models) > 1 and None in sizes.values():
        return None
    return max(models, key=lambda model: sizes[model] or 0, default=None)


# ---- FLOPs ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spent:
    """FLOPs of a run's updates.

    after: the sum up to and with each step, 0 before the first; empty where nothing says it
    source: `measured` from verl's MFU, `reckoned` from the model's sizes and its tokens; None where neither could be
    why: why nothing was measured
    """

    after: Mapping[int, float] = field(default_factory=dict)
    source: str | None = None
    why: str = ""


def cumulative_flops(study: Study, results: Results, run: Run) -> Spent:
    """The paper's FLOPs of a run after each of its steps: MFU * f_peak * W * t_update / E, summed (see `flops`).

    Each step counts once, though it was done again after a run was resumed: the metrics hold it once. Where verl's MFU
    says nothing of a step, the whole run is reckoned from the model's sizes and the tokens of its episodes instead:
    on processors, where verl divides by a nominal 448 GFLOP/s, and on a GPU that it does not know, where it divides by
    infinity.
    """
    keys = (MFU, UPDATE_SECONDS, TOKENS)
    lines, manifest = results.metrics(run, keys), results.manifest(run)
    if lines is None or manifest is None:
        return Spent(why="no metrics")
    steps = {line["step"]: line for line in lines if line["step"] > 0}
    if not steps:
        return Spent(why="no step in its metrics")
    if missing := set(range(1, max(steps) + 1)) - steps.keys():
        return Spent(why=f"no metrics of step {min(missing)}")
    config, ordered = manifest["config"], sorted(steps)
    trainer, actor = config["trainer"], config["actor_rollout_ref"]["actor"]
    if trainer["device"] == "cuda":
        peak, gpus = study.config["cost"]["peak_flops"], trainer["nnodes"] * trainer["n_gpus_per_node"]
        flops = [step_flops(steps[step], peak, gpus, actor["ppo_epochs"]) for step in ordered]
        if None not in flops:
            return Spent(_summed(ordered, flops), MEASURED)
        why = f"no MFU of step {ordered[flops.index(None)]}"
    else:
        why = "no GPU, whose MFU could be measured"
    sizes = shape(results, run.model)
    if sizes is None:
        return Spent(why=f"{why}, and the model's size is not known")
    if uncounted := [step for step in ordered if not 0 < (steps[step].get(TOKENS) or 0) < math.inf]:
        return Spent(why=f"{why}, and no tokens of step {uncounted[0]}")
    episodes = config["data"]["train_batch_size"] * config["actor_rollout_ref"]["rollout"]["n"]
    return Spent(_summed(ordered, [reckoned_flops(sizes, steps[s][TOKENS], episodes) for s in ordered]), RECKONED, why)


def _summed(steps: Sequence[int], flops: Sequence[float]) -> dict[int, float]:
    return {0: 0.0, **dict(zip(steps, np.cumsum(flops).tolist(), strict=True))}


# ---- curves of the runs of one model -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Course:
    """The runs of one model under one regime at their validations, a row a seed, a column a step.

    The mean curve, and with it peak and crossing, is of the steps at which all the seeds that have any validation have
    one: elsewhere a seed that is missing would move it. Along FLOPs it is of the seeds that have any, likewise.

    passes: final pass, percent; flops: spent until then. NaN where a seed has none.
    """

    seeds: tuple[int, ...]
    steps: tuple[int, ...]
    passes: np.ndarray
    flops: np.ndarray
    spent: tuple[Spent, ...] = ()

    def mean_passes(self, rows: Sequence[int] | None = None) -> np.ndarray:
        """The mean curve over the seeds, or over some rows, of which one may stand there several times; NaN at a step
        that a seed lacks."""
        means = _mean(self.passes if rows is None else self.passes[list(rows)])
        return np.where(self.complete, means, np.nan)

    def by_flops(self, rows: Sequence[int] | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Mean FLOPs and mean final pass at the validations, of the seeds that have FLOPs."""
        both = ~np.isnan(self.passes) & ~np.isnan(self.flops)
        own = slice(None) if rows is None else list(rows)
        some = _complete(both) & both[own].any(axis=0)
        return tuple(_mean(np.where(both, values, np.nan)[own][:, some]) for values in (self.flops, self.passes))

    @cached_property
    def complete(self) -> np.ndarray:
        """Whether every seed that was validated at all was validated at a step."""
        return _complete(~np.isnan(self.passes))

    def peak(self, rows: Sequence[int] | None = None) -> float | None:
        """The highest point of the mean curve, of the raw means: the paper does not say that it smoothed."""
        means = self.mean_passes(rows)
        return None if np.isnan(means).all() else float(np.nanmax(means))

    @property
    def peak_step(self) -> int | None:
        """The step of the peak; of several the first."""
        return None if self.peak() is None else self.steps[int(np.nanargmax(self.mean_passes()))]

    def reaches(self, target: float | None, rows: Sequence[int] | None = None) -> float | None:
        """FLOPs at which the mean curve first reaches `target` percent; see `crossing`."""
        return None if target is None else crossing(*self.by_flops(rows), target)

    def passes_reach(self, target: float | None) -> bool:
        """Whether the mean curve reaches `target` percent, wherever that is in FLOPs."""
        peak = self.peak()
        return None not in (target, peak) and peak >= target

    @property
    def source(self) -> str:
        """Where its FLOPs come from; both sources where runs differ, nothing where no run has any."""
        return "+".join(sorted({spent.source for spent in self.spent if spent.source}))


def courses(study: Study, results: Results, runs: Runs) -> dict[str, Course]:
    """The course of each model that is compared, from the validations of the study's runs."""
    regime = compared_regime(study)
    made = {}
    for model in compared_models(study):
        own = [(run, episodes) for run, episodes in runs if (run.model, run.regime) == (model, regime)]
        spent = tuple(cumulative_flops(study, results, run) for run, _ in own)
        made[model] = course(own, spent)
    return made


def course(runs: Runs, spent: Sequence[Spent] = ()) -> Course:
    """The course of the runs of one model and regime, with what they spent where that is known."""
    means = [mean_by_step(episodes, lambda parts: 100 * parts["pass"]) for _, episodes in runs]
    steps = tuple(sorted({step for by_step in means for step in by_step}))
    after = [s.after for s in spent] or [{}] * len(means)
    passes, flops = (_matrix(rows, steps) for rows in (means, after))
    return Course(tuple(run.seed for run, _ in runs), steps, passes, flops, tuple(spent))


def _matrix(rows: Sequence[Mapping[int, float]], steps: Sequence[int]) -> np.ndarray:
    return np.array([[row.get(step, np.nan) for step in steps] for row in rows]).reshape(len(rows), len(steps))


def _complete(there: np.ndarray) -> np.ndarray:
    """The columns in which all rows that have anything have something."""
    return there[there.any(axis=1)].all(axis=0) & there.any(axis=0)


def _mean(values: np.ndarray) -> np.ndarray:
    """The mean of each column over the rows that have a value there; NaN where none has."""
    there = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.where(there, values, 0).sum(axis=0) / there.sum(axis=0)


def crossing(flops: Sequence[float], passes: Sequence[float], target: float) -> float | None:
    """FLOPs at which a curve first reaches `target`; None where it never does.

    Between two validations the curve is taken for a straight line over FLOPs (not over their logarithm).
    """
    reached = np.flatnonzero(np.asarray(passes) >= target)
    if not len(reached):
        return None
    i = int(reached[0])
    return float(flops[0]) if i == 0 else float(np.interp(target, passes[i - 1 : i + 1], flops[i - 1 : i + 1]))


def line(larger: Course | None) -> float | None:
    """90% of the larger model's peak, percent; None where it has no validations or nothing ever passed."""
    peak = larger.peak() if larger else None
    return SHARE * peak if peak else None


# ---- uncertainty ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Interval:
    """The 95% interval of a bootstrap over seeds; an end that lies beyond what was trained is None."""

    low: float | None = None
    high: float | None = None


def bootstrap(
    larger: Course, other: Course, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[Interval, Interval, Interval] | None:
    """Intervals of the line, of the other model's FLOPs to it, and of the ratio (the larger one's over the other's).

    Percentiles over resampled seeds, drawn anew for either model, with peak, line and crossings found anew each time.
    A curve that does not reach the line counts as infinitely many FLOPs; where the seeds that are drawn have none that
    are known, there is no interval of them. None where either model has one seed: there is nothing to resample.
    """
    if min(len(larger.seeds), len(other.seeds)) < 2:
        return None
    random, found = np.random.default_rng(seed), []
    # a few seeds are drawn again and again in the same numbers
    peak, curve, other_curve = cache(larger.peak), cache(larger.by_flops), cache(other.by_flops)
    for _ in range(resamples):
        rows = _drawn(random, larger)
        others = rows if other is larger else _drawn(random, other)
        target = SHARE * (peak(rows) or 0)
        spent, baseline = _spent(other_curve(others), target), _spent(curve(rows), target)
        found.append((target, spent, baseline / spent if np.isfinite(baseline) and spent else np.nan))
    return tuple(_percentiles(values) for values in zip(*found, strict=True))


def _spent(curve: tuple[np.ndarray, np.ndarray], target: float) -> float:
    """FLOPs at which a curve reaches `target`; infinity where it does not, NaN where there is no curve."""
    found = crossing(*curve, target) if len(curve[0]) else np.nan
    return np.inf if found is None else found


def _drawn(random: np.random.Generator, course: Course) -> tuple[int, ...]:
    return tuple(sorted(random.integers(len(course.seeds), size=len(course.seeds)).tolist()))


def _percentiles(values: Sequence[float]) -> Interval:
    if np.isnan(values).any():
        return Interval()
    # no interpolation: between a number and infinity there is nothing
    ends = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], method="inverted_cdf").tolist()
    return Interval(*(end if np.isfinite(end) else None for end in ends))


# ---- collapse ------------------------------------------------------------------------------------------------------


def collapsed(episodes: Sequence[Validation]) -> bool | None:
    """Whether a run ended without passing: a mean final pass below 1% over the validations of its last fifth of steps.

    None where it was not validated after training (step 0 is before). The paper does not define its "collapsed" runs.
    It is the final pass that tells them: of the 8B under stage 2 three of five did, though plans are delivered (99.9 ±
    0.2 in its Table 1), and its 13.3 ± 23.2 is what five runs give of which three are at 0 and two at 33 (13.3 ± 22.6);
    under stage 3 all five did, at 0.0. A run of 500 steps has three validations there: one bad one is not a collapse.
    """
    means = {step: value for step, value in mean_by_step(episodes, lambda parts: 100 * parts["pass"]).items() if step}
    last = [value for step, value in means.items() if step >= (1 - END) * max(means)]
    return sum(last) / len(last) < COLLAPSED if last else None
