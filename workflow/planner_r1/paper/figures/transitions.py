"""What follows what among the tool calls: transition matrices at chosen steps, a row a model, a column a step."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import PercentFormatter

from planner_r1.paper import chosen
from planner_r1.paper.figures import panels, style, tool_panels
from planner_r1.paper.render import rounded
from planner_r1.paper.results import Results
from planner_r1.paper.tool_use import ANSWER, CALLS, ENDED, START, episodes_at_chosen_steps, transitions
from planner_r1.study import Study

FIELDS = ("model", "regime", "step", "seeds", "episodes", "from", "to", "count", "share")
FROM, TO = (START, *CALLS), (*CALLS, ANSWER, ENDED)
WRITTEN = 5  # percent; smaller shares are seen but not written
CELL = 0.185  # inches


def rows(study: Study, results: Results) -> list[dict]:
    """A row a model, regime, chosen step, call and what comes next, of those that occur.

    count: over the episodes of all seeds; share: percent of what comes next after `from`, so those of a `from` sum to
    100.
    """
    rows = []
    for model, regime, step, seeds, episodes in episodes_at_chosen_steps(study, results):
        place = {"model": model, "regime": regime, "step": step, "seeds": " ".join(map(str, seeds))}
        counts = transitions(episodes)
        for start in FROM:
            total = sum(counts[start, to] for to in TO)
            rows += [
                place
                | {"episodes": len(episodes), "from": start, "to": to, "count": counts[start, to]}
                | {"share": rounded(100 * counts[start, to] / total)}
                for to in TO
                if counts[start, to]
            ]
    return rows


def draw(rows: Sequence[dict[str, str]], study: Study) -> plt.Figure:
    """Draw the matrices of one regime a model. Only calls that occur in one of them have a line."""
    models = chosen.trained(study)
    shown = {model: panels.of_steps(rows, model, chosen.shown_regime(study, model)) for model in models}
    every = [row for steps in shown.values() for row in panels.all_rows(steps)]
    occur = {row[end] for row in every for end in ("from", "to")}
    starts, ends = [name for name in FROM if name in occur], [name for name in TO if name in occur]
    with plt.rc_context(style.SETTINGS | {"axes.grid": False, "xtick.labelsize": 7, "ytick.labelsize": 7}):
        panel = CELL * max(4, len(starts))
        figure, axes = tool_panels.grid(shown, panel, bottom=1.3, sharex=True, sharey=True)
        images = [_matrix(axis, of_step, starts, ends) for axis, of_step in tool_panels.filled(axes, shown)]
        if not images:
            axes[0, 0].set(xticks=[], yticks=[])
        else:
            bar = {"aspect": 30, "pad": 0.01, "format": PercentFormatter(decimals=0)}
            figure.colorbar(images[0], ax=axes, label="Share of what comes next", **bar)
        figure.supylabel("After …", fontsize=8)
        figure.supxlabel("… comes", fontsize=8)
        figure.suptitle(tool_panels.note(study, shown), fontsize=style.NOTE_SIZE, color="0.3")
    return figure


def _matrix(axis: plt.Axes, rows: Sequence[dict[str, str]], starts: list[str], ends: list[str]):
    shares = np.full((len(starts), len(ends)), np.nan)
    for row in rows:
        shares[starts.index(row["from"]), ends.index(row["to"])] = float(row["share"])
    image = axis.pcolormesh(shares, cmap=panels.HEAT, vmin=0, vmax=100, edgecolors="white", linewidth=0.5)
    for (y, x), share in np.ndenumerate(shares):
        if share >= WRITTEN:
            colour = "white" if share > 55 else "black"
            axis.text(x + 0.5, y + 0.5, f"{share:.0f}", ha="center", va="center", color=colour, fontsize=7)
    axis.set_xticks(np.arange(len(ends)) + 0.5, ends, rotation=90)
    axis.set_yticks(np.arange(len(starts)) + 0.5, starts)
    axis.tick_params(length=0)
    axis.set_ylim(len(starts), 0)
    return image
