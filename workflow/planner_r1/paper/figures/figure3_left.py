"""Figure 3, left: final pass rate of the validations against training steps, a panel a model.

The study's own runs only; no number of the paper is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.ticker import MaxNLocator, PercentFormatter

from planner_r1.paper.curves import Point, Validation, by_model_and_regime, curve, validations
from planner_r1.paper.figures import style
from planner_r1.paper.render import rounded
from planner_r1.paper.results import Results
from planner_r1.paper.statistics import Estimate
from planner_r1.study import Run, Study

FIELDS = ("model", "regime", "step", "n", "seeds", "final_pass", "final_pass_ci")
PANEL = 1.75  # inches, the height of a model's panel

Curves = dict[tuple[str, str], list[Point]]


def rows(study: Study, results: Results) -> list[dict]:
    """A row a model, regime and step, percent; no interval where a step has one seed."""
    curves = figure3_left(validations(study, results))
    return [
        {
            "model": model,
            "regime": regime,
            "step": p.step,
            "n": p.estimate.n,
            "seeds": " ".join(map(str, p.seeds)),
            "final_pass": rounded(p.estimate.mean),
            "final_pass_ci": rounded(p.estimate.half_width),
        }
        for (model, regime), points in curves.items()
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
    with plt.rc_context(style.SETTINGS):
        height = PANEL * len(models) + 0.95
        figure, axes = plt.subplots(
            len(models), sharex=True, squeeze=False, figsize=(style.COLUMN, height), layout="constrained"
        )
        for axis, model in zip(axes[:, 0], models, strict=True):
            for regime in study.regimes:
                _line(axis, curves.get((model, regime), []), regime, looks[regime])
            _dress(axis, model, [p for (name, _), points in curves.items() if name == model for p in points])
        axes[-1, 0].set_xlabel("Training step")
        handles = {h.get_label(): h for axis in axes[:, 0] for h in axis.get_lines()}
        # below the panels, where it covers nothing; four names do not fit in one row
        columns = len(handles) if len(handles) <= 3 else 2
        place = {"loc": "outside lower center", "ncols": columns or 1, "frameon": False, "handlelength": 2.6}
        figure.legend(handles.values(), handles.keys(), **place)
        figure.suptitle(note(curves, study), fontsize=style.NOTE_SIZE, color="0.3")
    return figure


def note(curves: Curves, study: Study) -> str:
    """What a reader must know to read the figure: the world, the seeds, what is missing."""
    counts = sorted({p.estimate.n for points in curves.values() for p in points})
    span = "no" if not counts else str(counts[0]) if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"
    band = "mean and 95% t-interval" if counts and counts[-1] > 1 else "no interval"
    lines = [f"{study.world_label}; {span} seed{'' if counts == [1] else 's'} ({band})"]
    absent = [f"{m}/{r}" for m in study.models for r in study.regimes_of(m) if not curves.get((m, r))]
    return "\n".join(lines + [f"missing: {name}" for name in absent])


def _line(axis: plt.Axes, points: Sequence[Point], regime: str, look: dict) -> None:
    if not points:
        return
    steps = [p.step for p in points]
    axis.plot(steps, [p.estimate.mean for p in points], label=regime, clip_on=False, zorder=3, **look)
    banded = [p for p in points if p.estimate.half_width is not None]
    if banded:
        low, high = [max(p.estimate.low, 0) for p in banded], [min(p.estimate.high, 100) for p in banded]
        axis.fill_between([p.step for p in banded], low, high, color=look["color"], alpha=0.13, linewidth=0)


def _dress(axis: plt.Axes, model: str, points: Sequence[Point]) -> None:
    top = max((p.estimate.mean if p.estimate.high is None else p.estimate.high for p in points), default=0)
    axis.set_title(model, loc="left")
    axis.set_ylabel("Final pass rate")
    axis.set_ylim(0, min(100, max(10, 1.1 * top)))
    axis.yaxis.set_major_formatter(PercentFormatter(decimals=0))
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
