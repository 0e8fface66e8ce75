"""What the figures of tool calls share: how each call looks, and panels of a model and a step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Patch

from planner_r1.paper import chosen
from planner_r1.paper.figures import style
from planner_r1.paper.figures.panels import Shown, all_rows, say
from planner_r1.paper.tool_use import ANSWER, CALLS, ENDED, FAILED, UNKNOWN
from planner_r1.study import Study

# Told apart by colour-blind readers: any two differ by CIE 76 Delta E of 20 or more, or else by their hatch.
COLOURS = ("#2A5FA5", "#EE7733", "#6DB56D", "#77CCEE", "#EE99C0", "#C9B02F", "#882255")
HATCHES = ("", "////", "", "....", "", "\\\\\\\\", "xxxx")
LOOKS = {
    **{
        call: {"facecolor": colour, "hatch": hatch, "edgecolor": "white", "linewidth": 0.4}
        for call, colour, hatch in zip((call for call in CALLS if call != FAILED), COLOURS, HATCHES, strict=True)
    },
    FAILED: {"facecolor": "black", "hatch": "", "edgecolor": "white", "linewidth": 0.4},
    UNKNOWN: {"facecolor": "black", "hatch": "", "edgecolor": "white", "linewidth": 0.4},
    ANSWER: {"facecolor": "0.97", "hatch": "", "edgecolor": "0.6", "linewidth": 0.4},
    ENDED: {"facecolor": "0.72", "hatch": "----", "edgecolor": "0.45", "linewidth": 0.4},
}


def grid(shown: Shown, panel: float, bottom: float, **options) -> tuple[plt.Figure, np.ndarray]:
    """A figure as wide as the page, with a row of panels a model and a column a step.

    Args:
        panel: inches, the height of a panel without its title
        bottom: inches for the note above and what stands below
    """
    columns = max([1, *map(len, shown.values())])
    size = (style.PAGE, len(shown) * (panel + 0.25) + bottom)
    return plt.subplots(len(shown), columns, squeeze=False, figsize=size, layout="constrained", **options)


def filled(axes: np.ndarray, shown: Shown) -> Iterator[tuple[plt.Axes, Sequence[dict[str, str]]]]:
    """The panels with their rows, each with its title; a panel without rows says so."""
    for line, (model, steps) in zip(axes, shown.items(), strict=True):
        for axis, (step, rows) in zip(line, steps.items(), strict=False):
            axis.set_title(f"{model}, {chosen.step_title(step)}", loc="left")
            yield axis, rows
        for axis in line[len(steps) :]:
            axis.set_title(model, loc="left")
            say(axis)


def legend(figure: plt.Figure, shown: Iterable[str], columns: int) -> None:
    """The looks of those that are shown, below all panels."""
    shown = set(shown)
    handles = [Patch(label=name, **look) for name, look in LOOKS.items() if name in shown]
    if handles:
        place = {"loc": "outside lower center", "frameon": False, "handlelength": 1.6, "columnspacing": 1.2}
        figure.legend(handles=handles, ncols=min(columns, len(handles)), **place)


def note(study: Study, shown: Shown) -> str:
    """What a reader of a figure of tool calls must know; a step without any calls is named."""
    seeds = {model: chosen.shown_seeds(all_rows(steps)) for model, steps in shown.items()}
    silent = [
        f"no tool calls: {model}, step {step:,}"
        for model, steps in shown.items()
        for step, of_step in steps.items()
        if not any(value in CALLS for row in of_step for value in row.values())
    ]
    return chosen.note(study, seeds, *silent)
