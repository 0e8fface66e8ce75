"""Learning curves along two budgets, training steps and tokens, by which the regimes of a model are compared.

Tokens are what training consumed: prompts and responses of the episodes that a step trained on (verl's
`perf/total_num_tokens`). Where dynamic sampling asked further queries and threw their episodes away, these are reckoned
as long as the ones that were kept: the step's tokens times the queries asked over the batch. Metrics from before the
queries were counted are taken for a batch each; a run with dynamic sampling has no tokens then.

A seed's curve is straight between two of its validations, and there is none before its first or after its last.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from planner_r1.errors import InputError
from planner_r1.paper.compute import TOKENS as STEP_TOKENS
from planner_r1.paper.curves import cut, mean_by_step, validations
from planner_r1.paper.results import Results, mending
from planner_r1.study import Run, Study

STEPS, TOKENS = "steps", "tokens"
BUDGETS = (STEPS, TOKENS)
ASKED = "training/queries_asked"


@dataclass(frozen=True)
class Curve:
    """The final pass (percent) of one seed at what it had spent of a budget, which ascends: at its validations."""

    spent: tuple[float, ...]
    passes: tuple[float, ...]

    def at(self, spent: float) -> float:
        """The final pass there.

        Raises:
            ValueError: it lies before the first validation or after the last.
        """
        if not self.spent[0] <= spent <= self.spent[-1]:
            raise ValueError(f"{spent} is not among what was validated, {self.spent[0]} to {self.spent[-1]}")
        return float(np.interp(spent, self.spent, self.passes))

    def mean(self, first: float, last: float) -> float:
        """The mean final pass over a stretch of the budget: the area under the curve, over the stretch.

        Raises:
            ValueError: a part of it lies before the first validation or after the last.
        """
        corners = [first, *(x for x in self.spent if first < x < last), last]
        heights = [self.at(corner) for corner in corners]
        return float(np.trapezoid(heights, corners)) / (last - first) if first < last else heights[0]


@dataclass(frozen=True)
class Trained:
    """A run that was validated, with its curve along each budget; without one along tokens `why` says why.

    queries: how many it was validated on
    batch: how many queries each step saw, the next ones of the seed's order; None under dynamic sampling, which asks as
        many as it takes, and where no manifest says it
    """

    run: Run
    queries: int
    curves: Mapping[str, Curve]
    batch: int | None
    why: str = ""


def compared(study: Study) -> dict[str, tuple[str, ...]]:
    """The regimes of each model that has several; the first in the file is what the others are compared with."""
    return {model: regimes for model in study.models if len(regimes := study.regimes_of(model)) > 1}


def unlike(study: Study, regimes: Sequence[str]) -> list[str]:
    """Those of a model's regimes whose validations are another test than the first one's: under other noise."""
    return [regime for regime in regimes if study.training_noise(regime) != study.training_noise(regimes[0])]


def trained(study: Study, results: Results) -> dict[tuple[str, str], list[Trained]]:
    """The validated runs of each model and regime that is compared.

    Raises:
        InputError: a line of a run's metrics does not say what its step took.
    """
    made = {(model, regime): [] for model, regimes in compared(study).items() for regime in regimes}
    for run, episodes in validations(study, results):
        if (run.model, run.regime) not in made:
            continue
        passes = mean_by_step(episodes, lambda parts: 100 * parts["pass"])
        curves = {STEPS: Curve(tuple(passes), tuple(passes.values()))}
        tokens, why = tokens_after(results, run)
        if not why and (late := max(passes)) not in tokens:
            why = f"no metrics of step {late}"
        if not why:
            curves[TOKENS] = Curve(tuple(tokens[step] for step in passes), tuple(passes.values()))
        queries = len({episode.idx for episode in episodes})
        made[run.model, run.regime].append(Trained(run, queries, curves, batch(results, run), why))
    return made


def batch(results: Results, run: Run) -> int | None:
    """How many queries each step of a run saw; None where it differs from step to step (dynamic sampling), and where no
    manifest says it."""
    manifest = results.manifest(run)
    if manifest is None or _filters(manifest["config"]).get("enable"):
        return None
    return manifest["config"]["data"]["train_batch_size"]


def same_batches(study: Study, regimes: Collection[str], batches: Collection[int | None]) -> bool:
    """Whether runs of one seed saw the same queries at each step, whichever of the regimes they are of.

    Args:
        batches: those of all their runs, see `batch`
    """
    alike = len(set(batches)) == len({study.train_queries(regime) for regime in regimes}) == 1
    return alike and None not in batches


def _filters(config: Mapping) -> Mapping:
    """The settings of dynamic sampling."""
    return config.get("algorithm", {}).get("filter_groups") or {}


def tokens_after(results: Results, run: Run) -> tuple[dict[int, float], str]:
    """The tokens that a run had consumed after each of its steps, 0 before the first; or none, and why.

    Each step counts once, though it was done again after a run was resumed: the metrics hold it once.

    Raises:
        InputError: the line of a step has no tokens, or a number of queries that cannot be.
    """
    lines, manifest = results.metrics(run, (STEP_TOKENS, ASKED)), results.manifest(run)
    if lines is None or manifest is None:
        return {}, "no metrics"
    config, after = manifest["config"], {0: 0.0}
    size, filters = config["data"]["train_batch_size"], _filters(config)
    file = f"runs/{run.name}/metrics.jsonl"
    for number, line in enumerate(lines, start=1):
        if (step := line["step"]) < 1:
            continue  # the validation before training
        where = f"{results.folder / file}, line {number}", mending(results.folder, file)
        if step - 1 not in after:
            return {}, f"no metrics of step {step - 1}"
        if ASKED not in line and filters.get("enable"):
            return {}, "dynamic sampling, of which nothing says how many queries it asked"
        queries = _number(line, ASKED, size, where) if ASKED in line else size
        after[step] = after[step - 1] + _number(line, STEP_TOKENS, 1, where) * queries / size
    return after, ""


def _number(line: Mapping, key: str, least: float, where: tuple[str, str]) -> float:
    place, mend = where
    if key not in line:
        raise InputError(f"{place}: key '{key}' is missing; {mend}")
    value = line[key]
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < math.inf:
        raise InputError(f"{place}: '{key}' should be a number of at least {least}, found {value!r}; {mend}")
    return value


def stretch(curves: Collection[Curve]) -> tuple[float, float] | None:
    """The part of a budget that all curves have, first and last; None where there is none."""
    first, last = max((c.spent[0] for c in curves), default=0), min((c.spent[-1] for c in curves), default=-1)
    return (first, last) if first <= last else None


def along(budget: str, runs: Iterable[Trained]) -> dict[int, Curve]:
    """The curves along a budget of those that have one, by seed."""
    return {one.run.seed: one.curves[budget] for one in runs if budget in one.curves}


def lacking(study: Study, regime: str, runs: Sequence[Trained], budget: str) -> list[str]:
    """The seeds of a regime that have no curve along a budget, such as `seeds 0, 3: no metrics`, and those whose curve
    ends before the others' (see `curves.cut`)."""
    of_seed = {one.run.seed: one for one in runs}
    lack: dict[str, list[int]] = {}
    for seed in study.seeds_of(regime):
        if seed not in of_seed:
            lack.setdefault("no validations", []).append(seed)
        elif budget not in of_seed[seed].curves:
            lack.setdefault(of_seed[seed].why, []).append(seed)
    said = [f"seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}: {why}" for why, seeds in lack.items()]
    short = cut({one.run.seed: int(one.curves[STEPS].spent[-1]) for one in runs if budget in one.curves})
    return [*said, short] if short else said
