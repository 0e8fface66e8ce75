"""Figure 4: the kinds of failure with the largest area under their curve, by training step, a panel a model."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt

from planner_r1.evaluator.failures import FAILURES, LABELS
from planner_r1.paper import chosen
from planner_r1.paper.failures import Shares, area, failure_shares, means
from planner_r1.paper.figures import panels, style
from planner_r1.paper.render import rounded
from planner_r1.paper.results import Results
from planner_r1.paper.statistics import Estimate, t_interval
from planner_r1.study import Study

SHOWN = 5  # kinds a panel
FIELDS = ("model", "regime", "kind", "rank", "area", "step", "n", "seeds", "share", "share_ci")
PANEL = 1.75  # inches, the height of a model's panel


def rows(study: Study, results: Results) -> list[dict]:
    """A row a model, regime, kind of failure and step.

    share: percent of the validated plans with that failure, the mean over seeds; no interval where a step has one seed.
    area: under the curve of these means, percent times steps, by the trapezoidal rule; rank: by it, from 1, none for a
    kind that never occurs.
    """
    groups = failure_shares(study, results)
    return [
        {"model": model, "regime": regime, **row} for (model, regime), shares in groups.items() for row in _rows(shares)
    ]


def _rows(shares: Shares) -> list[dict]:
    curves = {kind: [means(seeds)[kind] for seeds in shares.values()] for kind in FAILURES}
    areas = {kind: area(list(shares), curve) for kind, curve in curves.items()}
    # a run validated once has no areas: there the shares themselves rank
    order = sorted(
        (kind for kind in FAILURES if any(curves[kind])), key=lambda kind: (-areas[kind], -sum(curves[kind]))
    )
    rank = {kind: place for place, kind in enumerate(order, start=1)}
    rows = []
    for kind in FAILURES:
        for step, seeds in shares.items():
            estimate = t_interval([of_seed[kind] for of_seed in seeds.values()])
            row = {"kind": kind, "rank": rank.get(kind), "area": rounded(areas[kind]), "step": step, "n": estimate.n}
            row |= {"seeds": " ".join(map(str, sorted(seeds)))}
            rows.append(row | {"share": rounded(estimate.mean), "share_ci": rounded(estimate.half_width)})
    return rows


def draw(rows: Sequence[dict[str, str]], study: Study) -> plt.Figure:
    """Draw the curves of one regime a model: mean over seeds, and the 95% band where a step has at least two."""
    models = chosen.trained(study)
    own = {model: [row for row in rows if _is_shown(row, study, model)] for model in models}
    drawn = {
        model: [row for row in of_model if row["rank"] and int(row["rank"]) <= SHOWN] for model, of_model in own.items()
    }
    areas: dict[str, float] = {}
    for row in (row for of_model in drawn.values() for row in of_model):
        areas[row["kind"]] = max(float(row["area"]), areas.get(row["kind"], 0))
    kinds = sorted(areas, key=lambda kind: -areas[kind])
    looks = style.looks(kinds)
    with plt.rc_context(style.SETTINGS):
        height = PANEL * len(models) + 0.75 + 0.16 * ((len(kinds) + 1) // 2)
        figure, axes = plt.subplots(
            len(models), sharex=True, squeeze=False, figsize=(style.COLUMN, height), layout="constrained"
        )
        for axis, model in zip(axes[:, 0], models, strict=True):
            for kind in kinds:
                points = [row for row in drawn[model] if row["kind"] == kind]
                style.curve(axis, [int(p["step"]) for p in points], _estimates(points), LABELS[kind], looks[kind])
            style.percent_axis(axis, _estimates(drawn[model]), "Share of plans")
            axis.set_title(f"{model}, {chosen.shown_regime(study, model)}", loc="left")
            if not drawn[model]:
                panels.say(axis, "no failures" if own[model] else "no data")
        axes[-1, 0].set_xlabel("Training step")
        style.step_axis(axes[-1, 0])
        style.legend_below(figure, axes.flat, columns=2, columnspacing=1, handlelength=2)
        seeds = {model: chosen.shown_seeds(of_model) for model, of_model in own.items()}
        band = "mean and 95% t-interval" if any(len(found) > 1 for found in seeds.values()) else "no interval"
        figure.suptitle(chosen.note(study, seeds, band), fontsize=style.NOTE_SIZE, color="0.3")
    return figure


def _is_shown(row: dict[str, str], study: Study, model: str) -> bool:
    return (row["model"], row["regime"]) == (model, chosen.shown_regime(study, model))


def _estimates(rows: Sequence[dict[str, str]]) -> list[Estimate]:
    widths = [float(row["share_ci"]) if row["share_ci"] else None for row in rows]
    return [Estimate(float(r["share"]), width, int(r["n"])) for r, width in zip(rows, widths, strict=True)]
