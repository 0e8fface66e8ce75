"""Figure 1: final pass rate of every model and regime, bars with seeds, the paper's own bars beside ours.

The bars are Table 1's: official final pass, untrained models first, then those behind an API, then the trained ones.
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.patches import Patch

from planner_r1.paper.figures import style
from planner_r1.paper.reference import SOURCE
from planner_r1.paper.render import rounded
from planner_r1.paper.results import Results
from planner_r1.paper.tables.table1 import OURS, shown_split
from planner_r1.study import BASE_REGIME, Study

FIELDS = (
    *("source", "group", "model", "regime", "split", "steps", "run_steps", "n"),
    *("final_pass", "final_pass_ci", "seeds", "missing"),
)
COPIED = ("source", "model", "regime", "split", "steps", "run_steps", "n", "final_pass", "final_pass_ci", "missing")
UNTRAINED, API = "untrained", "behind an API"
BAR = 0.17  # inches, the height of a bar
OUR_COLOURS = {UNTRAINED: "#56B4E9", API: "#009E73"}
TRAINED_COLOUR = "#0072B2"
PAPER_LOOK = {"facecolor": "0.93", "edgecolor": "0.6", "hatch": "////", "linewidth": 0.6}


def rows(study: Study, results: Results) -> list[dict]:
    """The rows of Table 1 that have bars, by group (untrained, behind an API, each trained model), percent.

    Ours are of one split: of those whose constraints are known the test split if it is among them, else validation. A
    row of the paper stands after ours of its model and regime, if there is one: after that of its number of steps, or
    else after the last. `seeds` holds each seed's rate, such as `0=41.2 1=39.0`.
    """
    table = results.table("table1") or []
    split = shown_split(table)
    own = [row for row in table if row["source"] == OURS and row["split"] == split]
    papers = {(row["model"], row["regime"]): row for row in table if row["source"] != OURS}
    rates = {(m["model"], m["regime"], m["step"], m["seed"]): m for m in results.rates() if m["split"] == split}
    found = []
    for group, members in _grouped(study, own):
        for i, row in enumerate(members):
            found.append(_row(row, group, _seeds(rates, row)))
            paper, same = papers.get((row["model"], row["regime"])), members[i + 1 :]
            later = [other for other in same if other["regime"] == row["regime"] and other["model"] == row["model"]]
            alike = paper is not None and paper["steps"] == row["steps"]
            if alike or (paper is not None and not later):
                found.append(_row(papers.pop((row["model"], row["regime"])), group, ""))
    return found


def _grouped(study: Study, own: Sequence[dict[str, str]]) -> list[tuple[str, list[dict[str, str]]]]:
    untrained = [row for row in own if row["regime"] == BASE_REGIME and not study.endpoint(row["model"])]
    behind = [row for row in own if study.endpoint(row["model"])]
    trained = [(m, [r for r in own if r["model"] == m and r["regime"] != BASE_REGIME]) for m in study.trainable]
    return [(group, members) for group, members in ((UNTRAINED, untrained), (API, behind), *trained) if members]


def _seeds(rates: dict, row: dict[str, str]) -> str:
    place = row["model"], row["regime"], int(row["steps"])
    found = {seed: m["rates"]["official"]["final_pass"] for (*at, seed), m in rates.items() if tuple(at) == place}
    return " ".join(f"{seed}={rounded(100 * rate)}" for seed, rate in sorted(found.items()) if rate is not None)


def _row(row: dict[str, str], group: str, seeds: str) -> dict:
    return {key: row[key] for key in COPIED} | {"group": group, "seeds": seeds}


def draw(rows: Sequence[dict[str, str]], study: Study) -> plt.Figure:
    """Horizontal bars from the top, a heading a group."""
    groups = list(dict.fromkeys(row["group"] for row in rows))
    with plt.rc_context(style.SETTINGS | {"axes.grid.axis": "x", "hatch.linewidth": 0.5}):
        slots = len(rows) + 1.2 * len(groups)
        figure, axis = plt.subplots(figsize=(style.COLUMN, BAR * max(slots, 4) + 1.25), layout="constrained")
        place, top, labels = 0.0, 10.0, {}
        for group in groups:
            heading = group if group in (UNTRAINED, API) else f"{group}, trained"
            axis.text(0.01, place + 0.35, heading, transform=axis.get_yaxis_transform(), weight="bold", va="center")
            place += 1.2
            for row in (r for r in rows if r["group"] == group):
                top = max(top, _bar(axis, row, place))
                labels[place] = _label(row, group)
                place += 1
        axis.set_ylim(max(place, 1) - 0.4, -0.4)
        axis.set_yticks(list(labels), labels.values())
        axis.tick_params(axis="y", length=0)
        axis.set_xlim(0, min(100, 1.2 * top))
        style.percent_ticks(axis.xaxis)
        axis.set_xlabel("Final pass rate")
        if not rows:
            axis.text(0.5, 0.5, "no data", transform=axis.transAxes, ha="center", va="center", color="0.4")
        handles = _handles(rows)
        if handles:
            options = {"loc": "outside lower center", "ncols": 2, "frameon": False, "handlelength": 1.6}
            figure.legend(handles=handles, **options)
        figure.suptitle(note(rows, study), fontsize=style.NOTE_SIZE, color="0.3")
    return figure


def _bar(axis: plt.Axes, row: dict[str, str], place: float) -> float:
    """One bar with its interval, its seeds and its number; the right end of it all."""
    ours = row["source"] == OURS
    if not row["final_pass"]:
        axis.text(0.5, place, " not evaluated", va="center", fontsize=style.NOTE_SIZE, color="0.4")
        return 0.0
    mean, ci = float(row["final_pass"]), float(row["final_pass_ci"] or 0)
    look = {"color": OUR_COLOURS.get(row["group"], TRAINED_COLOUR)} if ours else PAPER_LOOK
    axis.barh(place, mean, height=0.8, **look)
    if row["final_pass_ci"]:
        ends = [[mean - max(mean - ci, 0)], [min(mean + ci, 100) - mean]]
        axis.errorbar(mean, place, xerr=ends, color="0.2" if ours else "0.55", elinewidth=0.9, capsize=1.8, zorder=3)
    values = [float(pair.split("=")[1]) for pair in row["seeds"].split()]
    if len(values) > 1:
        axis.plot(values, [place] * len(values), "o", ms=2.4, mfc="white", mec="0.2", mew=0.6, zorder=4, clip_on=False)
    end = max([mean, min(mean + ci, 100), *values])
    axis.annotate(f"{mean:.1f}", (end, place), xytext=(3, 0), textcoords="offset points", va="center", fontsize=7)
    return end


def _label(row: dict[str, str], group: str) -> str:
    name = row["model"] if group in (UNTRAINED, API) else row["regime"]
    paper = row["source"] != OURS
    if row["regime"] == BASE_REGIME:
        return "paper" if paper else name
    return f"paper, {row['steps']} steps" if paper else f"{name}, {row['steps']} steps"


def _handles(rows: Sequence[dict[str, str]]) -> list:
    ours, handles = [row for row in rows if row["source"] == OURS], []
    if len(ours) < len(rows):
        handles.append(Patch(label="the paper's", **PAPER_LOOK))
    if any(len(row["seeds"].split()) > 1 for row in ours):
        look = {"marker": "o", "ls": "", "ms": 2.4, "mfc": "white", "mec": "0.2", "mew": 0.6}
        handles.append(plt.Line2D([], [], label="a seed", **look))
    return handles


def note(rows: Sequence[dict[str, str]], study: Study) -> str:
    """What a reader must know: which split, how many seeds, what the paper's bars are, what is missing."""
    ours = [row for row in rows if row["source"] == OURS]
    if not ours:
        known = " on a split whose constraints are known" * (study.world is None and "test" in study.clean_splits)
        return f"{study.world_label}\nnothing was evaluated{known}"
    counts = [int(row["n"]) for row in ours if row["regime"] != BASE_REGIME and row["n"] != "0"]
    lines = [f"{study.world_label}, {ours[0]['split']} split", f"official final pass; {style.seeds(counts)}"]
    if not counts:
        lines[-1] = "official final pass; one run a bar"
    hidden = [split for split in study.clean_splits if split == "test" and ours[0]["split"] != "test"]
    lines += [f"{split}: not shown, its constraints are hidden" for split in hidden]
    if len(ours) < len(rows):
        lines.append(f"hatched: the paper's ({SOURCE}, Table 1), official test")
    for row in ours:
        if absent := row["missing"].count("not evaluated"):
            place = f"{row['model']}/{row['regime']}, step {row['steps']}"
            lines.append(f"missing: {place} of {absent} seed{'s' * (absent > 1)}")
    return "\n".join(lines)
