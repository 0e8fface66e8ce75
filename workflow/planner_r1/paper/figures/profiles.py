"""Final pass of the validations under either profile of the evaluator against training steps, and the gap between them.

What the official profile passes and the strict one does not passes through a hole of the official rules.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

import matplotlib.pyplot as plt

from planner_r1.paper.curves import over_seeds
from planner_r1.paper.figures import by_step, style
from planner_r1.paper.results import Results
from planner_r1.study import OFFICIAL, Study

# percent; a strict price can be lower than an official one, so that the gap can be below 0
VALUES: dict[str, Callable[[dict], float]] = {
    "official": lambda row: 100.0 * row["passed"],
    "strict": lambda row: 100.0 * row["passed_strict"],
    "gap": lambda row: 100.0 * (row["passed"] - row["passed_strict"]),
}
LABELS = {"official": "Final pass, official", "strict": "Final pass, strict", "gap": "Official less strict, points"}
GAP = 5  # points; the panel of the gap reaches at least so far to either side of 0
FIELDS = by_step.fields(VALUES)


def rows(study: Study, results: Results) -> list[dict]:
    """A row a model, regime and step, percent over the seeds that were validated there; the gap is seed by seed."""
    groups: dict[tuple[str, str], dict[int, list[dict]]] = defaultdict(dict)
    for run in study.runs:
        if validated := results.validations(run):
            groups[run.model, run.regime][run.seed] = validated
    return by_step.rows(
        {
            group: {
                key: over_seeds({seed: _means(validated, value) for seed, validated in seeds.items()})
                for key, value in VALUES.items()
            }
            for group, seeds in groups.items()
        }
    )


def _means(validated: Iterable[dict], value: Callable[[dict], float]) -> dict[int, float]:
    of_step = defaultdict(list)
    for row in validated:
        of_step[row["step"]].append(value(row))
    return {step: sum(values) / len(values) for step, values in of_step.items()}


def draw(rows: Sequence[dict[str, str]], study: Study) -> plt.Figure:
    """Draw the curves: mean over seeds, and the 95% band where a step has at least two; both passes on one scale."""
    strict = [regime for regime in study.regimes if study.profile(regime) != OFFICIAL]
    said = [f"the strict profile pays in {', '.join(strict)}"] if strict else []
    figure = by_step.draw(rows, study, LABELS, -100, 100, said)
    for first in range(0, len(figure.axes), len(LABELS)):
        passes, gap = figure.axes[first : first + 2], figure.axes[first + 2]
        model = gap.get_title(loc="left")
        own = [row for row in rows if row["model"] == model]
        for axis, key in zip(passes, LABELS, strict=False):
            both = [*by_step.estimates_of(own, "official"), *by_step.estimates_of(own, "strict")]
            style.percent_axis(axis, both, LABELS[key])
        gap.axhline(0, **style.LINE)
        low, high = gap.get_ylim()
        gap.set_ylim(min(low, -GAP), max(high, GAP))
    return figure
