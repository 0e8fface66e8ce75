"""Regimes under equal budgets: final pass of the validations against steps (left) and tokens (right), a row a model.

Each regime's line is the mean over its seeds, as far as all of them were trained. Along tokens each seed's curve is
read at common points, straight between its own validations and never beyond them (see `budgets`).
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import EngFormatter, MaxNLocator

from planner_r1.paper import budgets
from planner_r1.paper.figures import panels, style
from planner_r1.paper.render import rounded
from planner_r1.paper.results import Results
from planner_r1.paper.statistics import Estimate, t_interval
from planner_r1.study import Study

FIELDS = ("model", "regime", "against", "budget", "spent", "n", "seeds", "final_pass", "final_pass_ci", "missing")
POINTS = 40  # along tokens, up to where the regime that used most ends
THICK = 2.6  # points, the line of what the others are compared with
PANEL = 2.0  # inches, the height of a panel
NOTE_WIDTH = 125  # characters
AXES = {budgets.STEPS: "Training step", budgets.TOKENS: "Tokens of training"}


def rows(study: Study, results: Results) -> list[dict]:
    """A row a model, regime, budget and point: mean and half-width (percent) over the seeds that have the budget.

    spent: steps, or tokens; the last point of a regime is the most that all its seeds have. `against` is the regime
    that the others of the model are compared with. `missing`, the same in all rows of a regime and budget, says which
    seeds are not among them and why; a regime without any keeps one row that says so.
    """
    runs, found = budgets.trained(study, results), []
    for model, regimes in budgets.compared(study).items():
        for budget in budgets.BUDGETS:
            curves = {regime: budgets.along(budget, runs[model, regime]) for regime in regimes}
            places = _places(budget, [curve for of_seed in curves.values() for curve in of_seed.values()])
            for regime, of_seed in curves.items():
                head = {"model": model, "regime": regime, "against": regimes[0], "budget": budget}
                head["missing"] = "; ".join(budgets.lacking(study, regime, runs[model, regime], budget))
                found += [dict.fromkeys(FIELDS) | head | point for point in _points(of_seed, places) or [{}]]
    return found


def _places(budget: str, curves: Sequence[budgets.Curve]) -> list[float]:
    """Where the curves of a model are read: at every step that was validated, or evenly along tokens."""
    if budget == budgets.STEPS or not curves:
        return sorted({spent for curve in curves for spent in curve.spent})
    return np.linspace(0, max(curve.spent[-1] for curve in curves), POINTS + 1).tolist()


def _points(of_seed: dict[int, budgets.Curve], places: Iterable[float]) -> list[dict]:
    """The mean over seeds at the places that all of them have, and at the last that they have."""
    common = budgets.stretch(of_seed.values())
    if common is None:
        return []
    inside = {place for place in places if common[0] <= place <= common[1]} | {common[1]}
    points = []
    for place in sorted(inside):
        estimate = t_interval([curve.at(place) for curve in of_seed.values()])
        point = {"spent": rounded(place), "n": estimate.n, "seeds": " ".join(map(str, of_seed))}
        points.append(point | {"final_pass": rounded(estimate.mean), "final_pass_ci": rounded(estimate.half_width)})
    return points


def draw(rows: Sequence[dict[str, str]], study: Study) -> plt.Figure:
    """Draw mean curves: with 95% bands of a few regimes, of many with intervals beside the ends alone."""
    compared = budgets.compared(study)
    with plt.rc_context(style.SETTINGS):
        size = style.PAGE, PANEL * max(1, len(compared)) + 1.2
        figure, axes = plt.subplots(max(1, len(compared)), 2, squeeze=False, figsize=size, layout="constrained")
        for (model, regimes), line in zip(compared.items(), axes, strict=False):
            for budget, axis in zip(budgets.BUDGETS, line, strict=True):
                own = [row for row in rows if (row["model"], row["budget"]) == (model, budget) and row["spent"]]
                _panel(axis, own, regimes, study)
                axis.set_xlabel(AXES[budget])
                axis.set_title(f"{model}, equal {budget}", loc="left")
                if not own:
                    panels.say(axis)
            estimates = [_estimate(row) for row in rows if row["model"] == model and row["spent"]]
            for axis in line:
                style.percent_axis(axis, estimates)
            steps = [float(row["spent"]) for row in rows if row["model"] == model and row["spent"] and _by_steps(row)]
            style.step_ticks(line[0], map(int, steps))
            line[1].xaxis.set_major_locator(MaxNLocator(nbins=6))
            line[1].xaxis.set_major_formatter(EngFormatter(sep=""))
        style.legend_below(figure, axes.flat, columns=4)
        figure.suptitle(note(rows, study), fontsize=style.NOTE_SIZE, color="0.3")
    return figure


def _panel(axis: plt.Axes, rows: Sequence[dict[str, str]], regimes: Sequence[str], study: Study) -> None:
    """The regimes' curves; the one that the others are compared with is the thick one."""
    looks, drawn = style.looks(study.regimes), {}
    for regime in regimes:
        own = [row for row in rows if row["regime"] == regime]
        first = regime == regimes[0]
        look = looks[regime] | ({"linewidth": THICK} if first else {})
        label = f"{regime} (compared with)" if first else regime
        drawn[label] = [float(row["spent"]) for row in own], [_estimate(row) for row in own], look
    style.curves(axis, drawn)


def _by_steps(row: dict[str, str]) -> bool:
    return row["budget"] == budgets.STEPS


def _estimate(row: dict[str, str]) -> Estimate:
    half_width = float(row["final_pass_ci"]) if row["final_pass_ci"] else None
    return Estimate(float(row["final_pass"]), half_width, int(row["n"]))


def note(rows: Sequence[dict[str, str]], study: Study) -> str:
    """What a reader must know: the world, the seeds, what is compared with what, what tokens are, what is missing."""
    many = max(map(len, budgets.compared(study).values()), default=0) > style.BANDS
    counts = [int(row["n"]) for row in rows if row["n"]]
    shown = style.BESIDE_SHOWN if many else style.BAND_SHOWN
    first = ", ".join(dict.fromkeys(row["against"] for row in rows))
    lines = [f"{study.world_label}; {style.seeds(counts, shown)}"]
    lines.append(f"thick: {first}, the first regime in the file, with which the others are compared")
    lines.append(
        "tokens: prompts and responses of the episodes trained on, and of those that dynamic sampling dropped, as if "
        "these were as long; they may differ in length, and they cost no update"
    )
    unlike = {regime for regimes in budgets.compared(study).values() for regime in budgets.unlike(study, regimes)}
    lines += [f"not the same test: {regime} was validated under other noise" for regime in sorted(unlike)]
    return "\n".join(textwrap.fill(line, NOTE_WIDTH) for line in [*lines, *_missing(rows)])


def _missing(rows: Sequence[dict[str, str]]) -> list[str]:
    """What is missing, a line a regime: of both budgets, or of one."""
    where: dict[tuple, set[str]] = {}
    for row in rows:
        if row["missing"]:
            where.setdefault((row["model"], row["regime"], row["missing"]), set()).add(row["budget"])
    said = {place: "" if len(of) == len(budgets.BUDGETS) else f" along {', '.join(of)}" for place, of in where.items()}
    return [f"missing{of}: {model}/{regime}, {missing}" for (model, regime, missing), of in said.items()]
