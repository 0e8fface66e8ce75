"""What the figures share: size, type, and colours that colour-blind readers can tell apart."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle, islice

import matplotlib

matplotlib.use("Agg")  # before pyplot: figures are drawn where there is no display

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axis import Axis
from matplotlib.ticker import MaxNLocator, PercentFormatter
from PIL import Image

from planner_r1.paper.statistics import Estimate

COLUMN = 3.3  # inches, the width of a column of the paper
PAGE = 7.0  # inches, the width of both columns
# Okabe and Ito's palette without yellow, which is too pale on white; black last, since text is black too
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
DASHES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")  # more than colours: the eighth look is not the first
SETTINGS = {
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "legend.fontsize": 7.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "0.9",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "lines.linewidth": 1.4,
    "lines.markersize": 3.5,
    "pdf.fonttype": 42,
}
NOTE_SIZE = 7
DPI = 300


def looks(names: Sequence[str]) -> dict[str, dict]:
    """Colour, dash and marker for each name, the same whatever figure they stand in."""
    n = len(names)
    kinds = zip(*(islice(cycle(kind), n) for kind in (COLOURS, DASHES, MARKERS)), strict=True)
    return {name: {"color": c, "linestyle": d, "marker": m} for name, (c, d, m) in zip(names, kinds, strict=True)}


LINE = {"color": "0.35", "linestyle": (0, (4, 2)), "linewidth": 1, "zorder": 2}  # a level to compare with
BAND = 0.13  # how opaque a band is
MARKED = 12  # points of a curve that carry a marker, about; more would hide the curve


def curve(
    axis: plt.Axes,
    x: Sequence[float],
    estimates: Sequence[Estimate],
    label: str,
    look: dict,
    least: float = 0,
    most: float = 100,
) -> None:
    """A curve of means in percent, or of others from `least` to `most`, and the band of their intervals, broken where a
    point has none."""
    if not x:
        return
    every = max(1, len(x) // MARKED)
    axis.plot(x, [e.mean for e in estimates], label=label, markevery=every, clip_on=False, zorder=3, **look)
    there = np.array([e.high is not None for e in estimates])
    if not there.any():
        return
    ends = [(max(e.low, least), min(e.high, most)) if e.high is not None else (np.nan, np.nan) for e in estimates]
    low, high = np.array(ends).T
    axis.fill_between(x, low, high, color=look["color"], alpha=BAND, linewidth=0)  # NaN breaks it
    beside = np.append(there[1:], False) | np.insert(there[:-1], 0, False)
    if (alone := there & ~beside).any():  # a band has no width there
        axis.vlines(np.array(x)[alone], low[alone], high[alone], color=look["color"], alpha=2 * BAND, linewidth=3)


BANDS = 3  # curves of a panel whose bands can be told apart
BESIDE = 0.018  # of a panel's width, from one interval beside its right end to the next
BAND_SHOWN = "mean and 95% t-interval"
BESIDE_SHOWN = "mean; right of the curves: mean at their end and 95% t-interval"


def curves(
    axis: plt.Axes,
    drawn: Mapping[str, tuple[Sequence[float], Sequence[Estimate], dict]],
    least: float = 0,
    most: float = 100,
) -> None:
    """The curves of a panel (see `curve`): with bands where they are few, else with the intervals at their ends beside
    these, where they cover none.

    Args:
        drawn: by label the places, the estimates and the look of each; one without places is not drawn, but counts
    """
    end = max((x[-1] for x, _, _ in drawn.values() if x), default=0)
    for place, (label, (x, estimates, look)) in enumerate(drawn.items(), start=1):
        if len(drawn) <= BANDS:
            curve(axis, x, estimates, label, look, least, most)
            continue
        curve(axis, x, [Estimate(e.mean, None, e.n) for e in estimates], label, look, least, most)
        if x and estimates[-1].high is not None:
            _interval(axis, end * (1 + BESIDE * place), estimates[-1], look, least, most)


def _interval(axis: plt.Axes, x: float, estimate: Estimate, look: dict, least: float, most: float) -> None:
    mean, low, high = estimate.mean, max(estimate.low, least), min(estimate.high, most)
    bar = {"color": look["color"], "marker": look["marker"], "linestyle": "none", "elinewidth": 1, "capsize": 1.5}
    axis.errorbar(x, mean, [[mean - low], [high - mean]], clip_on=False, zorder=3, **bar)


def percent_axis(axis: plt.Axes, estimates: Sequence[Estimate], label: str = "Final pass rate") -> None:
    """A vertical axis in percent, from 0 to above the highest mean or end of an interval."""
    top = max((e.mean if e.high is None else e.high for e in estimates), default=0)
    axis.set_ylabel(label)
    axis.set_ylim(0, min(100, max(10, 1.1 * top)))
    percent_ticks(axis.yaxis)


def percent_ticks(axis: Axis) -> None:
    """Ticks at whole percents."""
    axis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(PercentFormatter(decimals=0))


def step_axis(axis: plt.Axes, ticks: int = 6) -> None:
    axis.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=ticks))


def step_ticks(axis: plt.Axes, steps: Iterable[int], most: int = 6) -> None:
    """Ticks at the steps that were validated: at each, or at every second, third, ... where there are many."""
    steps = sorted(set(steps))
    axis.set_xticks(steps[:: math.ceil(len(steps) / most) or 1])


def seeds(counts: Sequence[int], shown: str = BAND_SHOWN) -> str:
    """How many seeds the points of a figure have, and what is shown of several."""
    if not counts:
        return "no data"
    low, high = min(counts), max(counts)
    span = str(low) if low == high else f"{low} to {high}"
    return f"{span} seed{'' if high == 1 else 's'} ({shown if high > 1 else 'no interval'})"


def line_label(level: float, model: str) -> str:
    """What the dashed line of Figure 3 is."""
    return f"90% of {model}'s peak ({level:.1f}%)"


def legend_below(figure: plt.Figure, axes: Iterable[plt.Axes], columns: int, **options) -> None:
    """One legend of all panels, below them, where it covers nothing. Each name once, in as many columns at most as lie
    on the page."""
    handles = {h.get_label(): h for axis in axes for h in axis.get_legend_handles_labels()[0]}
    if not handles:
        return
    place = {"loc": "outside lower center", "frameon": False, "handlelength": 2.6} | options
    for fewer in range(min(columns, len(handles)), 0, -1):
        legend = figure.legend(handles.values(), handles.keys(), ncols=fewer, **place)
        if fewer == 1 or legend.get_window_extent(figure.canvas.get_renderer()).width <= figure.bbox.width:
            return
        legend.remove()


def save(figure: plt.Figure, *paths: str) -> None:
    """Write the figure in the format of each path. No dates inside, so that the same data gives the same file."""
    for path in paths:
        metadata = {"CreationDate": None} if str(path).endswith(".pdf") else {"Software": None}
        figure.savefig(path, dpi=DPI, metadata=metadata)
        if str(path).endswith(".png"):
            _with_palette(path)
    plt.close(figure)


def _with_palette(path: str) -> None:
    """Write a PNG anew with 256 colours: the eye sees no difference, and git, which keeps it, a third of the bytes."""
    with Image.open(path) as image:
        reduced = image.convert("RGB").quantize(256)
    reduced.save(path, optimize=True, dpi=(DPI, DPI))
