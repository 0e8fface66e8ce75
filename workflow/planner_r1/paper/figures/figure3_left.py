"""Figure 3, left: final pass rate of the validations against training steps, a panel a model.

The paper shows stage 1 alone, both models in one panel; here stand all regimes. The dashed line is the paper's: 90% of
the larger model's peak under stage 1. The study's own runs only; no number of the paper is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt

from planner_r1.paper import chosen, compute
from planner_r1.paper.curves import Point, Validation, by_model_and_regime, curve, validations
from planner_r1.paper.figures import panels, style
from planner_r1.paper.render import rounded
from planner_r1.paper.results import Results
from planner_r1.paper.statistics import Estimate
from planner_r1.study import Run, Study

FIELDS = ("model", "regime", "step", "n", "seeds", "final_pass", "final_pass_ci", "line", "line_of")
PANEL = 1.75  # inches, the height of a model's panel

Curves = dict[tuple[str, str], list[Point]]


def rows(study: Study, results: Results) -> list[dict]:
    """A row a model, regime and step, percent; no interval where a step has one seed.

    `line` is 90% of the peak of the model `line_of` (see `compute`), the same in every row; empty where there is none.
    """
    runs = validations(study, results)
    larger = compute.larger_model(study, results)
    of_larger = [r for r in runs if (r[0].model, r[0].regime) == (larger, compute.compared_regime(study))]
    line = compute.line(compute.course(of_larger))
    return [
        {
            "model": model,
            "regime": regime,
            "step": p.step,
            "n": p.estimate.n,
            "seeds": " ".join(map(str, p.seeds)),
            "final_pass": rounded(p.estimate.mean),
            "final_pass_ci": rounded(p.estimate.half_width),
            "line": rounded(line),
            "line_of": larger if line else None,
        }
        for (model, regime), points in figure3_left(runs).items()
        for p in points
    ]


def figure3_left(runs: Sequence[tuple[Run, Sequence[Validation]]]) -> Curves:
    """The curve of each (model, regime), in percent."""
    groups = by_model_and_regime(runs)
    return {group: curve(members, lambda parts: 100 * parts["pass"]) for group, members in groups.items()}


def curves_of(rows: Sequence[dict[str, str]]) -> Curves:
    """The curves again, from the rows of the CSV."""
    curves: Curves = {}
    for row in rows:
        half_width = float(row["final_pass_ci"]) if row["final_pass_ci"] else None
        estimate = Estimate(float(row["final_pass"]), half_width, int(row["n"]))
        point = Point(int(row["step"]), estimate, tuple(map(int, row["seeds"].split())))
        curves.setdefault((row["model"], row["regime"]), []).append(point)
    return curves


def draw(rows: Sequence[dict[str, str]], study: Study) -> plt.Figure:
    """Draw the curves: mean over seeds, and the 95% band where a step has at least two."""
    curves = curves_of(rows)
    models, looks = [m for m in study.models if study.regimes_of(m)], style.looks(study.regimes)
    line, line_of = (float(rows[0]["line"]), rows[0]["line_of"]) if rows and rows[0]["line"] else (None, None)
    with plt.rc_context(style.SETTINGS):
        height = PANEL * max(1, len(models)) + 1.05
        figure, axes = plt.subplots(
            max(1, len(models)), sharex=True, squeeze=False, figsize=(style.COLUMN, height), layout="constrained"
        )
        for axis, model in zip(axes[:, 0], models, strict=False):
            for regime in study.regimes:
                points = curves.get((model, regime), [])
                style.curve(axis, [p.step for p in points], [p.estimate for p in points], regime, looks[regime])
            if line:
                axis.axhline(line, **style.LINE)
            style.percent_axis(axis, [p.estimate for (m, _), points in curves.items() if m == model for p in points])
            axis.set_title(model, loc="left")
            if not any(curves.get((model, regime)) for regime in study.regimes):
                panels.say(axis)
        axes[-1, 0].set_xlabel("Training step")
        style.step_axis(axes[-1, 0])
        style.legend_below(figure, axes.flat, columns=2)  # four names do not fit in one row
        said = [f"dashed: {style.line_label(line, line_of)} under {compute.compared_regime(study)}"] if line else []
        figure.suptitle("\n".join([note(curves, study), *said]), fontsize=style.NOTE_SIZE, color="0.3")
    return figure


def note(curves: Curves, study: Study) -> str:
    """What a reader must know to read the figure: the world, the seeds, what is missing."""
    counts = [p.estimate.n for points in curves.values() for p in points]
    runs = [(model, regime) for model in study.models for regime in study.regimes_of(model)]
    there = {run: {seed for point in curves.get(run, ()) for seed in point.seeds} for run in runs}
    return "\n".join([f"{study.world_label}; {style.seeds(counts)}", *chosen.missing(study, there)])
