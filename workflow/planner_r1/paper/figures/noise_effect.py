"""Final pass with sound tools and under each noise, a line a regime, of the table of noise and nothing else."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import matplotlib.pyplot as plt

from planner_r1.paper.figures import panels, style
from planner_r1.paper.results import Results
from planner_r1.paper.statistics import Estimate
from planner_r1.paper.tables.noise import NONE
from planner_r1.study import BASE_REGIME, Study

FIELDS = (
    *("model", "regime", "trained_under", "split", "evaluated_under", "step", "n", "final_pass", "final_pass_ci"),
    "missing",
)
PANEL = 2.4  # inches, the height of a panel
APART = 0.05  # of the way from one evaluation to the next, between two regimes
LABEL_WIDTH = 42  # characters
UNTRAINED = {"color": "0.5", "linestyle": ":", "marker": "x"}


def rows(study: Study, results: Results) -> list[dict]:
    """The rows of the table that were evaluated."""
    table = results.table("noise") or []
    return [{key: row[key] for key in FIELDS} for row in table]


def draw(rows: Sequence[dict[str, str]], study: Study) -> plt.Figure:
    """A panel a model and split: means with their 95% intervals, side by side."""
    known = [row for row in rows if row["final_pass"]]
    places = list(dict.fromkeys((row["model"], study.query_split(row["split"])) for row in known))
    with plt.rc_context(style.SETTINGS):
        size = style.COLUMN, PANEL * max(1, len(places)) + 0.8
        figure, axes = plt.subplots(max(1, len(places)), 1, squeeze=False, figsize=size, layout="constrained")
        for axis, (model, split) in zip(axes.flat, places, strict=False):
            own = [r for r in known if (r["model"], study.query_split(r["split"])) == (model, split)]
            _panel(axis, own, study)
            axis.set_title(f"{model}, {split} split", loc="left")
        if not places:
            panels.say(axes[0, 0])
        style.legend_below(figure, axes.flat, columns=2)
        figure.suptitle(note(rows, study), fontsize=style.NOTE_SIZE, color="0.3")
    return figure


def _panel(axis: plt.Axes, rows: Sequence[dict[str, str]], study: Study) -> None:
    noises = list(dict.fromkeys(row["evaluated_under"] for row in rows))
    looks = {BASE_REGIME: UNTRAINED} | style.looks(study.regimes)
    regimes = list(dict.fromkeys(row["regime"] for row in rows))
    for shift, regime in enumerate(regimes):
        own = [row for row in rows if row["regime"] == regime]
        at = [noises.index(row["evaluated_under"]) + APART * (shift - (len(regimes) - 1) / 2) for row in own]
        estimates = [_estimate(row) for row in own]
        axis.plot(at, [e.mean for e in estimates], label=_label(own[0]), zorder=3, **looks[regime])
        for x, estimate in zip(at, estimates, strict=True):
            if estimate.high is not None:
                ends = max(estimate.low, 0), min(estimate.high, 100)
                axis.vlines(x, *ends, color=looks[regime]["color"], linewidth=1, zorder=2)
    axis.set_xticks(range(len(noises)), ["sound tools" if noise == NONE else noise for noise in noises])
    axis.set_xlim(-0.3, len(noises) - 0.7)
    axis.set_xlabel("Evaluated with")
    style.percent_axis(axis, [_estimate(row) for row in rows])


def _label(row: dict[str, str]) -> str:
    if row["regime"] == BASE_REGIME:
        return "untrained"
    under = "sound tools" if row["trained_under"] == NONE else row["trained_under"]
    return textwrap.fill(f"{row['regime']} (trained with {under})", LABEL_WIDTH)


def _estimate(row: dict[str, str]) -> Estimate:
    half_width = float(row["final_pass_ci"]) if row["final_pass_ci"] else None
    return Estimate(float(row["final_pass"]), half_width, int(row["n"]))


def note(rows: Sequence[dict[str, str]], study: Study) -> str:
    """What a reader must know: the world, the seeds, what the noises are, what is missing."""
    counts = [int(row["n"]) for row in rows if row["regime"] != BASE_REGIME and row["final_pass"]]
    lines = [study.world_label, style.seeds(counts)]
    for name in study.config["evaluation"]["noise"]:
        noise = study.config["noise"][name]
        lines.append(f"{name}: {noise['failures']:.0%} of calls fail, {noise['dropped_rows']:.0%} of rows are missing")
    lines += [
        f"missing: {row['model']}/{row['regime']}, {row['split']}: {row['missing']}" for row in rows if row["missing"]
    ]
    return "\n".join(lines)
