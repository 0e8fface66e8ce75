"""The three most frequent kinds of failure at each training step, a panel a model, a row the same kind in all."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np

from planner_r1.evaluator.failures import LABELS
from planner_r1.paper import chosen
from planner_r1.paper.failures import failure_shares, means, most_frequent
from planner_r1.paper.figures import panels, style
from planner_r1.paper.render import rounded
from planner_r1.paper.results import Results
from planner_r1.study import Study

TOP = 3
FIELDS = ("model", "regime", "step", "seeds", "rank", "kind", "share")
ROW = 0.2  # inches
TICKS = 12  # steps that are named, over all panels


def rows(study: Study, results: Results) -> list[dict]:
    """A row a model, regime, step and kind among the step's three most frequent ones.

    share: percent of the validated plans, the mean over seeds. Kinds that do not occur are not among them; a step
    without any failure has one row that names none.
    """
    rows = []
    for (model, regime), steps in failure_shares(study, results).items():
        for step, seeds in steps.items():
            place = {"model": model, "regime": regime, "step": step, "seeds": " ".join(map(str, sorted(seeds)))}
            shares = means(seeds)
            top = most_frequent(shares, TOP)
            rows += [
                place | {"rank": rank, "kind": kind, "share": rounded(shares[kind])}
                for rank, kind in enumerate(top, start=1)
            ] or [place | {"rank": None, "kind": None, "share": None}]
    return rows


def draw(rows: Sequence[dict[str, str]], study: Study) -> plt.Figure:
    """Draw one regime a model; the kind that is frequent over the most is the topmost row."""
    models = chosen.trained(study)
    shown = {model: panels.of_steps(rows, model, chosen.shown_regime(study, model)) for model in models}
    every = [row for steps in shown.values() for row in panels.all_rows(steps)]
    totals: dict[str, float] = {}
    for row in every:
        if row["kind"]:
            totals[row["kind"]] = totals.get(row["kind"], 0) + float(row["share"])
    kinds = sorted(totals, key=lambda kind: -totals[kind])
    top = max((float(row["share"]) for row in every if row["kind"]), default=0)
    with plt.rc_context(style.SETTINGS | {"axes.grid": False}):
        figure, axes = plt.subplots(
            1,
            len(models),
            squeeze=False,
            sharey=True,
            figsize=(style.PAGE if len(models) > 1 else style.PAGE / 1.5, ROW * max(4, len(kinds)) + 1.1),
            layout="constrained",
        )
        look = max(top, 10), max(2, TICKS // len(models))
        images = [_heat(axis, shown[model], kinds, *look) for axis, model in zip(axes[0], models, strict=True)]
        for axis, model in zip(axes[0], models, strict=True):
            axis.set_title(f"{model}, {chosen.shown_regime(study, model)}", loc="left")
            axis.set_xlabel("Training step")
            if not any(row["kind"] for row in panels.all_rows(shown[model])):
                panels.say(axis, "no failures" if shown[model] else "no data")
        if any(images):
            bar = {"aspect": 20, "pad": 0.01, "label": "Share of plans"}
            style.percent_ticks(figure.colorbar(next(filter(None, images)), ax=axes, **bar).ax.yaxis)
        seeds = {model: chosen.shown_seeds(panels.all_rows(steps)) for model, steps in shown.items()}
        said = "blank: not among the step's three most frequent"
        figure.suptitle(chosen.note(study, seeds, said), fontsize=style.NOTE_SIZE, color="0.3")
    return figure


def _heat(axis: plt.Axes, steps: dict[int, list[dict[str, str]]], kinds: Sequence[str], top: float, most: int):
    """The colours of a panel, with at most so many ticks; None where it has no step."""
    axis.set_yticks(np.arange(len(kinds)) + 0.5, [LABELS[kind] for kind in kinds])
    axis.tick_params(axis="y", length=0)
    axis.set_ylim(max(1, len(kinds)), 0)
    axis.set_xticks(_thinned(list(steps), most))
    if not steps:
        return None
    edges = _edges(list(steps))
    axis.set_xlim(edges[0], edges[-1])
    if not kinds:
        return None
    shares = np.full((len(kinds), len(steps)), np.nan)
    for column, of_step in enumerate(steps.values()):
        for row in of_step:
            if row["kind"]:
                shares[kinds.index(row["kind"]), column] = float(row["share"])
    axis.hlines(np.arange(1, len(kinds)), edges[0], edges[-1], color="0.9", linewidth=0.6, zorder=0)
    look = {"cmap": panels.HEAT, "vmin": 0, "vmax": top, "rasterized": True}
    return axis.pcolormesh(edges, np.arange(len(kinds) + 1), shares, **look)


def _thinned(steps: Sequence[int], most: int) -> list[int]:
    """The validated steps that a tick names: every first, second, fifth, tenth, ..., so that there are not too many."""
    every = next(d * 10**n for n in range(9) for d in (1, 2, 5) if len(steps) <= d * 10**n * most)
    return list(steps[::every])


def _edges(steps: Sequence[int]) -> np.ndarray:
    """Where the column of each step begins, and the last one ends: half way to its neighbours."""
    at = np.asarray(steps, dtype=float)
    half = np.diff(at) / 2 if len(at) > 1 else np.asarray([0.5])
    return np.concatenate([[at[0] - half[0]], at[:-1] + half[: len(at) - 1], [at[-1] + half[-1]]])
