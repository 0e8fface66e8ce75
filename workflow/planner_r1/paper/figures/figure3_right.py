"""Figure 3, right: final pass rate of the validations against cumulative FLOPs of training, a curve a model.

As in the paper: the models under stage 1, and the dashed line at 90% of the larger one's peak. Where a mean curve first
reaches it stands on the figure. FLOPs are the paper's (see `compute.cumulative_flops`): those of the policy's updates.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import LogLocator, NullFormatter

from planner_r1.paper import chosen, compute
from planner_r1.paper.curves import validations
from planner_r1.paper.figures import style
from planner_r1.paper.render import powers_of_ten, rounded
from planner_r1.paper.results import Results
from planner_r1.paper.statistics import Estimate, t_interval
from planner_r1.study import Study

FIELDS = (
    *("model", "regime", "step", "n", "seeds", "flops", "final_pass", "final_pass_ci"),
    *("flops_source", "line", "line_of", "flops_at_line", "missing"),
)
HEIGHT = 3.1  # inches
NAMED = 3  # steps without all seeds
NOTE_WIDTH = 57  # characters
UNPLACED = "reaches the line where its FLOPs are not known"


def rows(study: Study, results: Results) -> list[dict]:
    """A row a model and step: mean FLOPs and mean final pass (percent) over the seeds that have both there.

    `flops_at_line`, the same in all rows of a model, is where its mean curve first reaches the line, taken for straight
    between two validations; empty where it never does. `missing` says which runs lack FLOPs and why, and at which
    steps a seed lacks its validation: those do not count for peak and crossing. A model of which no run has any FLOPs
    keeps one row that says so.
    """
    regime, made = compute.compared_regime(study), compute.courses(study, results, validations(study, results))
    larger = compute.larger_model(study, results)
    line = compute.line(made.get(larger))
    found = []
    for model, course in made.items():
        head = {"model": model, "regime": regime, "line": rounded(line), "line_of": larger if line else None}
        head |= {"flops_source": course.source or None, "flops_at_line": course.reaches(line)}
        unplaced = course.passes_reach(line) and head["flops_at_line"] is None
        head["missing"] = "; ".join([*_missing(study, regime, course), *[UNPLACED] * unplaced])
        found += [dict.fromkeys(FIELDS) | head | point for point in _points(course) or [{}]]
    return found


def _points(course: compute.Course) -> list[dict]:
    there = ~np.isnan(course.passes) & ~np.isnan(course.flops)
    points = []
    for column, step in enumerate(course.steps):
        rows = np.flatnonzero(there[:, column])
        if not len(rows):
            continue
        estimate = t_interval(course.passes[rows, column].tolist())
        points.append(
            {
                "step": step,
                "n": estimate.n,
                "seeds": " ".join(str(course.seeds[row]) for row in rows),
                "flops": float(course.flops[rows, column].mean()),
                "final_pass": rounded(estimate.mean),
                "final_pass_ci": rounded(estimate.half_width),
            }
        )
    return points


def _missing(study: Study, regime: str, course: compute.Course) -> list[str]:
    """Seeds without validations, at all or at some steps, and those without FLOPs, by what they lack."""
    lack: dict[str, list[int]] = {}
    for seed in study.seeds_of(regime):
        if seed not in course.seeds:
            lack.setdefault("no validations", []).append(seed)
    for seed, spent in zip(course.seeds, course.spent, strict=True):
        if spent.source is None:
            lack.setdefault(spent.why, []).append(seed)
    said = [f"seed{'s' * (len(of) > 1)} {', '.join(map(str, of))}: {why}" for why, of in lack.items()]
    holes = [step for step, complete in zip(course.steps, course.complete, strict=True) if not complete]
    if holes:
        some = ", ".join(map(str, holes[:NAMED])) + ", …" * (len(holes) > NAMED)
        said.append(f"not of all seeds, so not counted: step{'s' * (len(holes) > 1)} {some}")
    return said


def draw(rows: Sequence[dict[str, str]], study: Study) -> plt.Figure:
    """Draw the curves over a logarithmic axis, which has no place for the 0 FLOPs before training."""
    models = list(dict.fromkeys(row["model"] for row in rows))
    looks = style.looks(models)
    line = next((float(row["line"]) for row in rows if row["line"]), None)
    with plt.rc_context(style.SETTINGS):
        figure, axis = plt.subplots(figsize=(style.COLUMN, HEIGHT + 0.15 * len(models)), layout="constrained")
        axis.set_xscale("log")
        drawn, places = [], []
        for model in models:
            own = [row for row in rows if row["model"] == model]
            points = [row for row in _of_all_seeds(own) if float(row["flops"]) > 0]
            estimates = [_estimate(row) for row in points]
            name = f"{model}: {_reached(own[0], line)}"
            style.curve(axis, [float(row["flops"]) for row in points], estimates, name, looks[model])
            drawn += estimates
            places += [float(row["flops"]) for row in points]
            if line and own[0]["flops_at_line"] and float(own[0]["flops_at_line"]) > 0:
                at = float(own[0]["flops_at_line"])
                axis.vlines(at, 0, line, color=looks[model]["color"], linestyle=":", linewidth=1, zorder=2)
                axis.plot(at, line, marker="*", markersize=9, color=looks[model]["color"], mec="white", zorder=4)
        if line:
            axis.axhline(line, **style.LINE)
        style.percent_axis(axis, drawn)
        axis.set_xlabel("Cumulative FLOPs of the updates")
        _label_powers(axis, places)
        if not drawn:
            axis.text(0.5, 0.5, "no data", transform=axis.transAxes, ha="center", va="center", color="0.4")
        style.legend_below(figure, [axis], columns=1)
        figure.suptitle(note(rows, study), fontsize=style.NOTE_SIZE, color="0.3")
    return figure


def _of_all_seeds(rows: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """The points at which no seed is missing that stands elsewhere: one without it would move the curve, and counts
    neither for peak nor for crossing."""
    placed = [row for row in rows if row["flops"]]
    seeds = chosen.shown_seeds(placed)
    return [row for row in placed if chosen.shown_seeds([row]) == seeds]


def _label_powers(axis: plt.Axes, flops: Sequence[float]) -> None:
    """Tick labels that fit beside each other, however many powers of ten the axis spans."""
    decades = math.log10(max(flops) / min(flops)) if flops else 1
    axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5) if decades < 1 else (1, 3) if decades < 2 else (1,)))
    axis.xaxis.set_major_formatter(lambda value, _: powers_of_ten(value, digits=0))
    axis.xaxis.set_minor_formatter(NullFormatter())


def _estimate(row: dict[str, str]) -> Estimate:
    half_width = float(row["final_pass_ci"]) if row["final_pass_ci"] else None
    return Estimate(float(row["final_pass"]), half_width, int(row["n"]))


def _reached(row: dict[str, str], line: float | None) -> str:
    """In the legend: where a model's curve reaches the line."""
    if line is None:
        return "no line to reach"
    if not row["flops_at_line"]:
        return "line reached, FLOPs unknown" if UNPLACED in row["missing"] else "line not reached"
    flops = float(row["flops_at_line"])
    return f"line at {powers_of_ten(flops)} FLOPs" if flops else "above the line before training"


def note(rows: Sequence[dict[str, str]], study: Study) -> str:
    """What a reader must know: the world, the seeds, the line, where the FLOPs come from, what is missing."""
    counts = [int(row["n"]) for row in rows if row["n"]]
    lines = [f"{study.world_label}; {style.seeds(counts)}"]
    if line := next((row for row in rows if row["line"]), None):
        lines.append(f"dashed: {style.line_label(float(line['line']), line['line_of'])}; all under {line['regime']}")
    sources = {source for row in rows for source in row["flops_source"].split("+") if source}
    if compute.RECKONED in sources:
        lines.append("FLOPs reckoned from model size and tokens, not from MFU" + " for some" * (len(sources) > 1))
    elif sources:
        lines.append("FLOPs: MFU × peak × GPUs × time of the updates")
    if first := [row for row in rows if row["flops"] and not float(row["flops"])]:
        of = ", ".join(f"{row['model']} {float(row['final_pass']):.1f}%" for row in first)
        lines.append(_wrapped(f"step 0, at 0 FLOPs, has no place on this axis: {of}"))
    missing = {f"{row['model']}, {part}" for row in rows for part in row["missing"].split("; ") if part}
    return "\n".join([*lines, *map(_wrapped, sorted(missing))])


def _wrapped(line: str) -> str:
    return textwrap.fill(line, NOTE_WIDTH)
