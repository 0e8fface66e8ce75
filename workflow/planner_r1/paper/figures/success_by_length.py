"""Success given length: the share of episodes that pass, by turns and by written tokens, at the last validation.

The bins are common to all regimes of a model, so that episodes of the same length are compared.
"""

from __future__ import annotations

import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

from planner_r1.paper import chosen
from planner_r1.paper.figures import panels, style
from planner_r1.paper.lengths import Length, at_step, ends, lengths
from planner_r1.paper.render import rounded
from planner_r1.paper.results import Results
from planner_r1.paper.statistics import clustered_share
from planner_r1.study import Study

FIELDS = (
    *("model", "regime", "step", "seeds", "length", "low", "high"),
    *("episodes", "queries", "success", "success_low", "success_high"),
)
FEWEST = 8  # queries with episodes in a bin; of fewer no interval holds what it should
RARE = 0.05  # of a model's episodes; fewer at an end of the turns are one bin
BINS = 5  # of tokens
LENGTHS = {"turns": "Turns", "tokens": "Written tokens"}
PANEL, COUNTS = 1.7, 0.75  # inches, the heights of a panel of shares and of the counts below it
SPREAD = 0.7  # of the distance of two bins, over which the regimes stand beside each other
COLUMNS = 3  # of the legend
NOTE_WIDTH = 125  # characters

Bin = tuple[int, int]  # the least and the greatest length in it


def rows(study: Study, results: Results) -> list[dict]:
    """A row a model, regime, kind of length and bin from `low` to `high`, both within: the episodes of all seeds, and
    the percent of them that pass, with its interval over queries (see `clustered_share`) where these are not too few.

    The episodes are those of the last step that all seeds of a regime were validated at. A bin without any has no
    share.
    """
    at_last, found = _at_last(study, results), []
    for model in dict.fromkeys(model for model, _ in at_last):
        own = {regime: shown for (of, regime), shown in at_last.items() if of == model}
        every = [episode for _, seeds in own.values() for episodes in seeds.values() for episode in episodes]
        bins = {"turns": turn_bins([e.turns for e in every]), "tokens": token_bins([e.tokens for e in every])}
        for regime, (step, seeds) in own.items():
            place = {"model": model, "regime": regime, "step": step, "seeds": " ".join(map(str, seeds))}
            episodes = [episode for of_seed in seeds.values() for episode in of_seed]
            found += [place | row for length in LENGTHS for row in _binned(episodes, length, bins[length])]
    return found


def _at_last(study: Study, results: Results) -> dict[tuple[str, str], tuple[int, dict[int, list[Length]]]]:
    """By model and regime the last validated step, and the episodes there by seed."""
    groups = lengths(study, results).items()
    return {group: (last[1], at_step(seeds, last[1])) for group, seeds in groups if (last := ends(seeds))}


def turn_bins(turns: Sequence[int]) -> list[Bin]:
    """A bin for each number of turns that occurs; at either end those that are rare together share one."""
    counts, kept = Counter(turns), sorted(set(turns))
    few, least = _rare(counts, kept)
    many, most = _rare(counts, [n for n in reversed(kept) if n not in few])
    single = [(n, n) for n in kept if n not in few and n not in many]
    return [*([(kept[0], least)] if few else []), *single, *([(most, kept[-1])] if many else [])]


def _rare(counts: Counter, order: Sequence[int]) -> tuple[set[int], int]:
    """The first of `order` that make up less than RARE together, and the last of these."""
    total, reached, found = counts.total(), 0, []
    for n in order:
        reached += counts[n]
        if reached >= RARE * total:
            break
        found.append(n)
    return set(found), found[-1] if found else 0


def token_bins(tokens: Sequence[int]) -> list[Bin]:
    """At most BINS bins of about as many episodes each; fewer where many episodes are of one length."""
    order = sorted(tokens)
    edges = sorted({order[i * len(order) // BINS] for i in range(BINS)})  # the least of each bin
    return [*((low, following - 1) for low, following in pairwise(edges)), (edges[-1], order[-1])]


def _binned(episodes: Sequence[Length], length: str, bins: Sequence[Bin]) -> Iterator[dict]:
    for low, high in bins:
        by_query: dict[int, list[bool]] = defaultdict(list)
        for episode in episodes:
            if low <= getattr(episode, length) <= high:
                by_query[episode.idx].append(episode.passed)
        trials = [len(of_query) for of_query in by_query.values()]
        share = clustered_share([sum(of_query) for of_query in by_query.values()], trials) if trials else [None] * 3
        if len(trials) < FEWEST:
            share = (share[0], None, None)
        percent = (None if value is None else rounded(100 * value) for value in share)
        row = {"length": length, "low": low, "high": high, "episodes": sum(trials), "queries": len(trials)}
        yield row | dict(zip(("success", "success_low", "success_high"), percent, strict=True))


def draw(rows: Sequence[dict[str, str]], study: Study) -> plt.Figure:
    """Draw the shares with their intervals, and below them how many of a regime's episodes are of each length."""
    models, looks = chosen.trained(study), style.looks(study.regimes)
    n = max(1, len(models))
    with plt.rc_context(style.SETTINGS):
        size = style.PAGE, (PANEL + COUNTS + 0.3) * n + 1.0
        ratios = {"height_ratios": (PANEL, COUNTS) * n}
        figure, axes = plt.subplots(
            2 * n, len(LENGTHS), squeeze=False, figsize=size, layout="constrained", gridspec_kw=ratios
        )
        for i, model in enumerate(models):
            for (length, label), pair in zip(LENGTHS.items(), axes[2 * i : 2 * i + 2].T, strict=True):
                own = [row for row in rows if (row["model"], row["length"]) == (model, length)]
                pair[0].set_title(model, loc="left")
                pair[1].set_xlabel(f"{label} of an episode")
                _panel(*pair, own, looks)
            axes[2 * i, 0].set_ylabel("Final pass rate")
            axes[2 * i + 1, 0].set_ylabel("Episodes")
        style.legend_below(figure, axes.flat, columns=COLUMNS)
        figure.suptitle(note(rows, study), fontsize=style.NOTE_SIZE, color="0.3")
    return figure


def _panel(shares: plt.Axes, counts: plt.Axes, rows: Sequence[dict[str, str]], looks: dict[str, dict]) -> None:
    """The regimes stand beside each other within each bin."""
    bins = list(dict.fromkeys((int(row["low"]), int(row["high"])) for row in rows))
    shown = [regime for regime in looks if any(row["regime"] == regime for row in rows)]
    width = SPREAD / max(1, len(shown))
    for i, regime in enumerate(shown):
        own = [row for row in rows if row["regime"] == regime]
        total, beside = sum(int(row["episodes"]) for row in own), (i - (len(shown) - 1) / 2) * width
        x = np.arange(len(own)) + beside
        there = [place for place, row in enumerate(own) if row["success"]]
        share, low, high = (
            np.array([float(own[place][key] or "nan") for place in there])
            for key in ("success", "success_low", "success_high")
        )
        reach = np.stack([share - low, high - share]).clip(0)  # the CSV's numbers are rounded
        # markers alone: a line would join bins of few episodes to others
        look = looks[regime] | {"linestyle": "none", "elinewidth": 1.0, "markersize": 3, "clip_on": False}
        shares.errorbar(x[there], share, reach, label=regime, **look)
        parts = [100 * int(row["episodes"]) / total for row in own]
        counts.bar(x, parts, 0.9 * width, color=looks[regime]["color"])
    style.percent_ticks(shares.yaxis)
    style.percent_ticks(counts.yaxis)
    shares.set_ylim(0, 100)
    for axis in (shares, counts):
        axis.set_xticks(range(len(bins)), [_name(*one) for one in bins] if axis is counts else [])
        axis.set_xlim(-0.5, max(1, len(bins)) - 0.5)
        axis.grid(visible=False, axis="x")
    if not rows:
        panels.say(shares)


def _name(low: int, high: int) -> str:
    """`7`, `8–9`, and numbers that are long one below the other."""
    if low == high:
        return str(low)
    return f"{low}–{high}" if high < 1000 else f"{low}–\n{high}"


def note(rows: Sequence[dict[str, str]], study: Study) -> str:
    """What a reader must know: the world, the seeds, what the intervals are over, what is missing."""
    there = {(m, r): set() for m in chosen.trained(study) for r in study.regimes_of(m)}
    for row in rows:
        there[row["model"], row["regime"]] |= chosen.shown_seeds([row])
    counts = sorted({len(seeds) for seeds in there.values() if seeds}) or [0]
    span = str(counts[0]) if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"
    lines = [f"{study.world_label}; {span} seed{'' if counts == [1] else 's together'}"]
    lines.append(textwrap.fill(chosen.last_validation(rows), NOTE_WIDTH))
    lines.append(f"95% intervals over queries, for these runs; none of bins with fewer than {FEWEST} queries")
    lines.append(f"bins of tokens: {BINS} of as many of a model's episodes each, as far as lengths do not tie")
    return "\n".join(lines + chosen.missing(study, there))
