"""The six sub-rewards of the validations against training steps: a row of panels a model, a panel a regime.

The paper shows chosen runs; here stand all models and regimes, or stage 1 alone where there are too many for a page.
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.ticker import PercentFormatter

from planner_r1.paper import chosen, compute
from planner_r1.paper.curves import by_model_and_regime, curve, validations
from planner_r1.paper.figures import style
from planner_r1.paper.render import rounded
from planner_r1.paper.results import Results
from planner_r1.paper.statistics import Estimate
from planner_r1.study import Study

# in the order of the reward's equation; the names are those of the logs
PARTS = {
    "schema": "schema",
    "cs_micro": "commonsense micro",
    "hard_micro": "hard micro",
    "cs_macro": "commonsense macro",
    "hard_macro": "hard macro",
    "pass": "final pass",
}
FIELDS = ("model", "regime", "step", "n", "seeds", *(key for part in PARTS for key in (part, f"{part}_ci")))
PANEL = 1.55  # inches, the height of a panel
MOST = 4  # regimes beside each other


def rows(study: Study, results: Results) -> list[dict]:
    """A row a model, regime and step: the mean of each sub-reward over the seeds, percent of the most it can be."""
    found = []
    for (model, regime), runs in by_model_and_regime(validations(study, results)).items():
        of_part = {part: curve(runs, lambda parts, part=part: 100 * parts[part]) for part in PARTS}
        for i, point in enumerate(of_part["pass"]):
            row = {"model": model, "regime": regime, "step": point.step, "n": point.estimate.n}
            row["seeds"] = " ".join(map(str, point.seeds))
            for part, points in of_part.items():
                estimate = points[i].estimate
                row |= {part: rounded(estimate.mean), f"{part}_ci": rounded(estimate.half_width)}
            found.append(row)
    return found


def shown_regimes(study: Study) -> list[str]:
    """The regimes that are drawn: all, or the one that the paper compares where they do not fit beside each other."""
    return list(study.regimes) if len(study.regimes) <= MOST else [compute.compared_regime(study)]


def draw(rows: Sequence[dict[str, str]], study: Study) -> plt.Figure:
    """Means over seeds; a thin line where a curriculum changes its weights. Six bands would cover one another."""
    regimes = shown_regimes(study)
    models = [m for m in study.models if any(regime in study.regimes_of(m) for regime in regimes)]
    looks, width = style.looks(list(PARTS)), style.COLUMN if len(regimes) <= 2 else style.PAGE
    with plt.rc_context(style.SETTINGS):
        shape = max(1, len(models)), max(1, len(regimes))
        size = width, PANEL * shape[0] + 1.2
        figure, axes = plt.subplots(*shape, sharey=True, squeeze=False, figsize=size, layout="constrained")
        for model, line in zip(models, axes, strict=False):
            line[0].set_ylabel(model)
            for regime, axis in zip(regimes, line, strict=True):
                _panel(axis, [row for row in rows if (row["model"], row["regime"]) == (model, regime)], looks)
                if regime in study.regimes_of(model):
                    _phases(axis, study, model, regime)
        for regime, axis in zip(regimes, axes[0], strict=False):
            axis.set_title(regime, loc="left")
        axes[0, 0].set_ylim(0, 100)
        axes[0, 0].yaxis.set_major_formatter(PercentFormatter(decimals=0))
        for axis in axes[-1]:
            axis.set_xlabel("Training step")
        style.legend_below(figure, axes.flat, columns=3 if width == style.PAGE else 2)
        figure.suptitle(note(rows, study), fontsize=style.NOTE_SIZE, color="0.3")
    return figure


def _panel(axis: plt.Axes, rows: Sequence[dict[str, str]], looks: dict[str, dict]) -> None:
    steps = [int(row["step"]) for row in rows]
    for part, name in PARTS.items():
        means = [Estimate(float(row[part]), None, int(row["n"])) for row in rows]
        style.curve(axis, steps, means, name, looks[part] | {"markersize": 2.6})
    if not rows:
        axis.text(0.5, 0.5, "no data", transform=axis.transAxes, ha="center", va="center", color="0.4")
    style.step_axis(axis, 4)


def _phases(axis: plt.Axes, study: Study, model: str, regime: str) -> None:
    end = 0
    for phase in study.run(model, regime, 0).phases[:-1]:
        end += phase.steps
        axis.axvline(end, color="0.6", linewidth=0.7, zorder=1)


def note(rows: Sequence[dict[str, str]], study: Study) -> str:
    """What a reader must know: the world, the seeds, which regimes stand here, what is missing."""
    regimes = shown_regimes(study)
    shown = [row for row in rows if row["regime"] in regimes]
    lines = [f"{study.world_label}; {style.seeds([int(row['n']) for row in shown], 'mean')}"]
    if len(regimes) < len(study.regimes):
        lines.append(f"only {regimes[0]} of {len(study.regimes)} regimes")
    there = {(m, r): set() for m in study.models for r in study.regimes_of(m) if r in regimes}
    for row in shown:
        there[row["model"], row["regime"]] |= chosen.shown_seeds([row])
    return "\n".join(lines + chosen.missing(study, there))
