"""What figures of several panels share: rows by panel, colours of shares, and panels without data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap

from planner_r1.paper.figures import style

# Light to dark in one hue, for shares; the lightest still differs from a blank.
HEAT = ListedColormap(plt.get_cmap("Blues")(np.linspace(0.15, 1, 256)))
Shown = Mapping[str, Mapping[int, Sequence[dict[str, str]]]]  # the drawn rows by model and step


def of_steps(rows: Sequence[dict[str, str]], model: str, regime: str) -> dict[int, list[dict[str, str]]]:
    """The rows of a model and regime by step, ascending."""
    by_step: dict[int, list[dict[str, str]]] = {}
    for row in rows:
        if (row["model"], row["regime"]) == (model, regime):
            by_step.setdefault(int(row["step"]), []).append(row)
    return dict(sorted(by_step.items()))


def all_rows(steps: Mapping[int, Sequence[dict[str, str]]]) -> list[dict[str, str]]:
    """The rows of all steps."""
    return [row for of_step in steps.values() for row in of_step]


def say(axis: plt.Axes, text: str = "no data") -> None:
    """Say in the middle of a panel why nothing is drawn in it."""
    place = {"ha": "center", "va": "center", "transform": axis.transAxes}
    axis.text(0.5, 0.5, text, color="0.4", fontsize=style.NOTE_SIZE, **place)
