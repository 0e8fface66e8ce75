"""What the figures share: size, type, and colours that colour-blind readers can tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, islice

import matplotlib

matplotlib.use("Agg")  # before pyplot: figures are drawn where there is no display

import matplotlib.pyplot as plt

COLUMN = 3.3  # inches, the width of a column of the paper
PAGE = 7.0  # inches, the width of both columns
# Okabe and Ito's palette without black and yellow, the one for text and the other too pale on white
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
DASHES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P")
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


def save(figure: plt.Figure, *paths: str) -> None:
    """Write the figure in the format of each path. No dates inside, so that the same data gives the same file."""
    for path in paths:
        metadata = {"CreationDate": None} if str(path).endswith(".pdf") else {"Software": None}
        figure.savefig(path, dpi=DPI, metadata=metadata)
    plt.close(figure)
