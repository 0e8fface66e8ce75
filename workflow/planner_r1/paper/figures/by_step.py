"""Values of the validations against training steps: a row of panels a model, a panel a value, a curve a regime."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import matplotlib.pyplot as plt

from planner_r1.paper import chosen
from planner_r1.paper.curves import Point
from planner_r1.paper.figures import panels, style
from planner_r1.paper.render import rounded
from planner_r1.paper.statistics import Estimate
from planner_r1.study import Study

PANEL = 1.9  # inches, the height of a panel
COLUMNS = 3  # of the legend


def fields(values: Iterable[str]) -> tuple[str, ...]:
    """The columns of the CSV: each value, and the half-width of its interval."""
    return ("model", "regime", "step", "n", "seeds", *(field for key in values for field in (key, f"{key}_ci")))


def rows(curves: Mapping[tuple[str, str], Mapping[str, Sequence[Point]]]) -> list[dict]:
    """A row a model, regime and step, from the curve of each value, all of the same steps and seeds."""
    found = []
    for (model, regime), of_value in curves.items():
        for points in zip(*of_value.values(), strict=True):
            row = {"model": model, "regime": regime, "step": points[0].step, "n": points[0].estimate.n}
            row["seeds"] = " ".join(map(str, points[0].seeds))
            for key, point in zip(of_value, points, strict=True):
                row |= {key: rounded(point.estimate.mean), f"{key}_ci": rounded(point.estimate.half_width)}
            found.append(row)
    return found


def draw(
    rows: Sequence[dict[str, str]],
    study: Study,
    values: Mapping[str, str],
    least: float = 0,
    most: float = math.inf,
    said: Sequence[str] = (),
) -> plt.Figure:
    """Draw the curves: mean over seeds, and the 95% band where a step has at least two; of many regimes
    intervals beside the ends alone.

    Args:
        values: the label of each value's panels
        least, most: what no value can be below or above
        said: further lines above the panels
    """
    models, looks = chosen.trained(study), style.looks(study.regimes)
    with plt.rc_context(style.SETTINGS):
        size = style.PAGE, PANEL * max(1, len(models)) + 1.0
        shape = max(1, len(models)), len(values)
        figure, axes = plt.subplots(*shape, sharex=True, squeeze=False, figsize=size, layout="constrained")
        for model, line in zip(models, axes, strict=False):
            own = [row for row in rows if row["model"] == model]
            for axis, (key, label) in zip(line, values.items(), strict=True):
                drawn = {}
                for regime in study.regimes_of(model):
                    of_regime = [row for row in own if row["regime"] == regime]
                    steps, estimates = [int(row["step"]) for row in of_regime], estimates_of(of_regime, key)
                    drawn[regime] = steps, estimates, looks[regime]
                style.curves(axis, drawn, least, most)
                if not own:
                    panels.say(axis)
                axis.set_title(model, loc="left")
                axis.set_ylabel(label)
        for axis in axes[-1]:
            axis.set_xlabel("Training step")
            style.step_ticks(axis, (int(row["step"]) for row in rows))
        style.legend_below(figure, axes.flat, columns=COLUMNS)
        figure.suptitle("\n".join([note(rows, study), *said]), fontsize=style.NOTE_SIZE, color="0.3")
    return figure


def estimates_of(rows: Iterable[dict[str, str]], key: str) -> list[Estimate]:
    """The estimates of a value again, from rows of the CSV."""
    found = ((row[key], row[f"{key}_ci"], row["n"]) for row in rows)
    return [Estimate(float(mean), float(ci) if ci else None, int(n)) for mean, ci, n in found]


def note(rows: Sequence[dict[str, str]], study: Study) -> str:
    """What a reader must know: the world, the seeds, what is missing."""
    there = {(m, r): set() for m in chosen.trained(study) for r in study.regimes_of(m)}
    for row in rows:
        there[row["model"], row["regime"]] |= chosen.shown_seeds([row])
    many = max((len(study.regimes_of(model)) for model in study.models), default=0) > style.BANDS
    shown = style.BESIDE_SHOWN if many else style.BAND_SHOWN
    lines = [f"{study.world_label}; {style.seeds([int(row['n']) for row in rows], shown)}"]
    return "\n".join(lines + chosen.missing(study, there))
