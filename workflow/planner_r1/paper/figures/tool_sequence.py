"""The sequence of tools: what the episodes do turn by turn, at chosen steps, a row a model, a column a step."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.ticker import PercentFormatter

from planner_r1.paper import chosen
from planner_r1.paper.figures import panels, style, tool_panels
from planner_r1.paper.render import rounded
from planner_r1.paper.results import Results
from planner_r1.paper.tool_use import ANSWER, CALLS, ENDED, by_turn, episodes_at_chosen_steps
from planner_r1.study import Study

FIELDS = ("model", "regime", "step", "seeds", "episodes", "turn", "what", "share")
ORDER = (*CALLS, ANSWER, ENDED)  # from the bottom of a bar
PANEL = 1.5  # inches, the height of a panel


def rows(study: Study, results: Results) -> list[dict]:
    """A row a model, regime, chosen step, turn and what is done in it, of what occurs.

    share: percent of the episodes of all seeds. The calls of a turn share its episode, and an episode that has ended
    stays with its end, so those of a turn sum to 100.
    """
    rows = []
    for model, regime, step, seeds, episodes in episodes_at_chosen_steps(study, results):
        place = {"model": model, "regime": regime, "step": step, "seeds": " ".join(map(str, seeds))}
        place |= {"episodes": len(episodes)}
        for turn, shares in by_turn(episodes).items():
            rows += [
                place | {"turn": turn, "what": what, "share": rounded(100 * shares[what])}
                for what in ORDER
                if what in shares
            ]
    return rows


def draw(rows: Sequence[dict[str, str]], study: Study) -> plt.Figure:
    """Draw a stacked bar a turn, for one regime a model."""
    models = chosen.trained(study)
    shown = {model: panels.of_steps(rows, model, chosen.shown_regime(study, model)) for model in models}
    every = [row for steps in shown.values() for row in panels.all_rows(steps)]
    with plt.rc_context(style.SETTINGS | {"axes.grid": False, "hatch.linewidth": 0.6}):
        figure, axes = tool_panels.grid(shown, PANEL, bottom=0.95, sharex=True, sharey=True)
        for axis, of_step in tool_panels.filled(axes, shown):
            _bars(axis, of_step)
        axes[0, 0].set_ylim(0, 100)
        axes[0, 0].yaxis.set_major_formatter(PercentFormatter(decimals=0))
        turns = max((int(row["turn"]) for row in every), default=1)
        axes[0, 0].set_xlim(0.4, turns + 0.6)
        axes[0, 0].set_xticks(range(1, turns + 1, 1 + turns // 10))
        for axis in axes[-1]:
            axis.set_xlabel("Turn")
        figure.supylabel("Share of episodes", fontsize=8)
        tool_panels.legend(figure, {row["what"] for row in every}, columns=5)
        figure.suptitle(tool_panels.note(study, shown), fontsize=style.NOTE_SIZE, color="0.3")
    return figure


def _bars(axis: plt.Axes, rows: Sequence[dict[str, str]]) -> None:
    height = dict.fromkeys((int(row["turn"]) for row in rows), 0.0)
    for what in ORDER:
        for row in (row for row in rows if row["what"] == what):
            turn, share = int(row["turn"]), float(row["share"])
            axis.bar(turn, share, width=0.92, bottom=height[turn], **tool_panels.LOOKS[what])
            height[turn] += share
