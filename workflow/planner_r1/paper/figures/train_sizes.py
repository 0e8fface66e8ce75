"""Final pass at the last validation against the number of queries trained on, a curve a model, a point a seed.

For studies whose regimes differ in `train_queries`, and in nothing else that the figure could tell apart.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.ticker import NullLocator

from planner_r1.paper import chosen
from planner_r1.paper.figures import panels, style
from planner_r1.paper.lengths import MEASURES, at_step, ends, lengths
from planner_r1.paper.render import rounded
from planner_r1.paper.results import Results
from planner_r1.paper.statistics import Estimate, t_interval
from planner_r1.queries import load_queries
from planner_r1.study import Study

FIELDS = ("model", "regime", "queries", "step", "n", "seeds", "passes", "final_pass", "final_pass_ci")
GAP = Estimate(math.nan, None, 0)
HEIGHT = 2.6  # inches
NOTE_WIDTH = 58  # characters


def rows(study: Study, results: Results) -> list[dict]:
    """A row a model and regime, by the number of queries: the final pass (percent) of each seed at the last step that
    all seeds of the regime were validated at, apart by blanks as `passes` are, and their mean."""
    found, whole = [], _whole_split(results)
    for (model, regime), groups in lengths(study, results).items():
        if (last := ends(groups)) is None:
            continue
        passes = {seed: MEASURES["final_pass"](episodes) for seed, episodes in at_step(groups, last[1]).items()}
        estimate = t_interval(list(passes.values()))
        row = {"model": model, "regime": regime, "queries": study.train_queries(regime) or whole, "step": last[1]}
        row |= {"n": estimate.n, "seeds": " ".join(map(str, passes))}
        row["passes"] = " ".join(str(rounded(share)) for share in passes.values())
        found.append(row | {"final_pass": rounded(estimate.mean), "final_pass_ci": rounded(estimate.half_width)})
    return sorted(found, key=lambda row: (study.models.index(row["model"]), row["queries"] or 0))


def _whole_split(results: Results) -> int | None:
    path = results.queries("train")
    return len(load_queries(path)) if path.is_file() else None


def draw(rows: Sequence[dict[str, str]], study: Study) -> plt.Figure:
    """Draw the means with their 95% intervals over a logarithmic axis, and each seed as a pale point."""
    models = chosen.trained(study)
    looks, rows = style.looks(models), [row for row in rows if row["queries"]]
    with plt.rc_context(style.SETTINGS):
        figure, axis = plt.subplots(figsize=(style.COLUMN, HEIGHT + 0.15 * len(models)), layout="constrained")
        axis.set_xscale("log")
        estimates = []
        for model in models:
            own = [row for row in rows if row["model"] == model]
            means = {int(row["queries"]): _estimate(row) for row in own}
            # a size of which nothing is there breaks the curve
            sizes = sorted(means.keys() | (_sizes(study, model) if own else set()))
            style.curve(axis, sizes, [means.get(size, GAP) for size in sizes], model, looks[model])
            _seeds(axis, own, looks[model])
            estimates += [*means.values(), *(Estimate(share, None, 1) for row in own for share in _passes(row))]
        style.percent_axis(axis, estimates)
        sizes = sorted({int(row["queries"]) for row in rows})
        axis.set_xticks(sizes, [f"{size:,}" for size in sizes])
        axis.xaxis.set_minor_locator(NullLocator())
        axis.set_xlabel("Queries trained on")
        if not rows:
            panels.say(axis)
        style.legend_below(figure, [axis], columns=2)
        figure.suptitle(note(rows, study), fontsize=style.NOTE_SIZE, color="0.3")
    return figure


def _sizes(study: Study, model: str) -> set[int]:
    """The numbers of queries that a model is to be trained on; the whole split's, the largest, is not among them."""
    return {size for regime in study.regimes_of(model) if (size := study.train_queries(regime))}


def _seeds(axis: plt.Axes, rows: Sequence[dict[str, str]], look: dict) -> None:
    for row in rows:
        passes = _passes(row)
        points = {"color": look["color"], "marker": look["marker"], "linestyle": "", "markersize": 2.5}
        axis.plot([int(row["queries"])] * len(passes), passes, alpha=0.4, markeredgewidth=0, zorder=2, **points)


def _passes(row: dict[str, str]) -> list[float]:
    return [float(share) for share in row["passes"].split()]


def _estimate(row: dict[str, str]) -> Estimate:
    half_width = float(row["final_pass_ci"]) if row["final_pass_ci"] else None
    return Estimate(float(row["final_pass"]), half_width, int(row["n"]))


def note(rows: Sequence[dict[str, str]], study: Study) -> str:
    """What a reader must know: the world, the seeds, what is missing."""
    there = {(m, r): set() for m in chosen.trained(study) for r in study.regimes_of(m)}
    for row in rows:
        there[row["model"], row["regime"]] |= chosen.shown_seeds([row])
    lines = [study.world_label, style.seeds([int(row["n"]) for row in rows])]
    lines.append(textwrap.fill(chosen.last_validation(rows), NOTE_WIDTH))
    return "\n".join(lines + chosen.missing(study, there))
