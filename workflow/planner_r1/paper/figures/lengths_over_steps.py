"""Turns and written tokens of an episode against training steps: a row of panels a model, a curve a regime."""

from __future__ import annotations

import math
from collections.abc import Sequence

import matplotlib.pyplot as plt

from planner_r1.paper import chosen
from planner_r1.paper.curves import over_seeds
from planner_r1.paper.figures import panels, style
from planner_r1.paper.lengths import MEASURES, Steps, lengths
from planner_r1.paper.render import rounded
from planner_r1.paper.results import Results
from planner_r1.paper.statistics import Estimate
from planner_r1.study import Study

SHOWN = {"turns": "Turns an episode", "tokens": "Written tokens an episode"}
FIELDS = ("model", "regime", "step", "n", "seeds", *(field for key in SHOWN for field in (key, f"{key}_ci")))
PANEL = 1.9  # inches, the height of a panel
COLUMNS = 3  # of the legend


def rows(study: Study, results: Results) -> list[dict]:
    """A row a model, regime and step: means over the seeds that were validated there, of the mean of each."""
    found = []
    for (model, regime), seeds in lengths(study, results).items():
        of_key = {key: over_seeds(_means(seeds, key)) for key in SHOWN}
        for i, point in enumerate(of_key["turns"]):
            row = {"model": model, "regime": regime, "step": point.step, "n": point.estimate.n}
            row["seeds"] = " ".join(map(str, point.seeds))
            for key, points in of_key.items():
                estimate = points[i].estimate
                row |= {key: rounded(estimate.mean), f"{key}_ci": rounded(estimate.half_width)}
            found.append(row)
    return found


def _means(seeds: dict[int, Steps], key: str) -> dict[int, dict[int, float]]:
    return {
        seed: {step: MEASURES[key](episodes) for step, episodes in steps.items()}
        for seed, steps in sorted(seeds.items())
    }


def draw(rows: Sequence[dict[str, str]], study: Study) -> plt.Figure:
    """Draw the curves: mean over seeds, and the 95% band where a step has at least two."""
    models, looks = chosen.trained(study), style.looks(study.regimes)
    with plt.rc_context(style.SETTINGS):
        size = style.PAGE, PANEL * max(1, len(models)) + 1.0
        shape = max(1, len(models)), len(SHOWN)
        figure, axes = plt.subplots(*shape, sharex=True, squeeze=False, figsize=size, layout="constrained")
        for model, line in zip(models, axes, strict=False):
            for axis, (key, label) in zip(line, SHOWN.items(), strict=True):
                own = [row for row in rows if row["model"] == model]
                _panel(axis, own, key, looks)
                axis.set_title(model, loc="left")
                axis.set_ylabel(label)
        for axis in axes[-1]:
            axis.set_xlabel("Training step")
            style.step_axis(axis)
        style.legend_below(figure, axes.flat, columns=COLUMNS)
        figure.suptitle(note(rows, study), fontsize=style.NOTE_SIZE, color="0.3")
    return figure


def _panel(axis: plt.Axes, rows: Sequence[dict[str, str]], key: str, looks: dict[str, dict]) -> None:
    for regime, look in looks.items():
        own = [row for row in rows if row["regime"] == regime]
        estimates = [_estimate(row, key) for row in own]
        style.curve(axis, [int(row["step"]) for row in own], estimates, regime, look, most=math.inf)
    if not rows:
        panels.say(axis)


def _estimate(row: dict[str, str], key: str) -> Estimate:
    half_width = float(row[f"{key}_ci"]) if row[f"{key}_ci"] else None
    return Estimate(float(row[key]), half_width, int(row["n"]))


def note(rows: Sequence[dict[str, str]], study: Study) -> str:
    """What a reader must know: the world, the seeds, what is missing."""
    there = {(m, r): set() for m in chosen.trained(study) for r in study.regimes_of(m)}
    for row in rows:
        there[row["model"], row["regime"]] |= chosen.shown_seeds([row])
    lines = [f"{study.world_label}; {style.seeds([int(row['n']) for row in rows])}"]
    return "\n".join(lines + chosen.missing(study, there))
