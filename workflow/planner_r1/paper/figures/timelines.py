"""One query's episodes along the training, as timelines of their tool calls: a lane a checkpoint, a panel a model."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.patches import Rectangle

from planner_r1.paper import chosen
from planner_r1.paper.figures import panels, style, tool_panels
from planner_r1.paper.results import Results
from planner_r1.paper.tool_use import tool
from planner_r1.study import Study

FIELDS = ("model", "regime", "seed", "step", "idx", "rule", "turn", "tool", "error", "end_reason", "passed")
LANE = 0.34  # inches
LETTER = 0.01  # of a panel's width, of what an episode ends with

Lanes = dict[int, dict[int, dict]]  # episodes by step and query


def rows(study: Study, results: Results, idx: int | None = None) -> list[dict]:
    """A row a tool call of the query's episodes at the chosen steps (chosen.chosen_steps), and one that ends each.

    The episodes are of the first seed that was validated, under every regime. A call has `turn`, `tool` and `error`
    (1 where the reply was one), the end `turn`, `end_reason` and `passed` (1 or 0).

    Args:
        idx: of the query; where it is not given, the lowest that the most models failed at the first step and passed
            at the last one under the regime that is shown. `rule` says what came of it.
    """
    runs = {}
    for model in chosen.trained(study):
        for regime in study.regimes_of(model):
            if found := _first_seed(study, results, model, regime):
                runs[model, regime] = found
    shown = {m: lanes for (m, regime), (_, lanes) in runs.items() if regime == chosen.shown_regime(study, m)}
    idx, rule = (idx, f"query {idx}, as asked") if idx is not None else choose(shown)
    rows = []
    for (model, regime), (seed, lanes) in runs.items():
        place = dict.fromkeys(FIELDS) | {"model": model, "regime": regime, "seed": seed}
        for step, episodes in lanes.items():
            if idx in episodes:
                rows += _rows(place | {"step": step, "idx": idx, "rule": rule}, episodes[idx])
    return rows


def _first_seed(study: Study, results: Results, model: str, regime: str) -> tuple[int, Lanes] | None:
    for seed in study.seeds_of(regime):
        run = study.run(model, regime, seed)
        lanes: Lanes = defaultdict(dict)
        for episode in results.validations(run) or ():
            lanes[episode["step"]][episode["idx"]] = episode
        if lanes:
            return seed, {step: lanes[step] for step in chosen.chosen_steps(lanes, run.steps)}
    return None


def choose(shown: Mapping[str, Lanes]) -> tuple[int | None, str]:
    """The query to show and why: the lowest that the most models failed first and passed last."""
    learnt = Counter()
    for lanes in shown.values():
        first, last = (lanes[step] for step in (min(lanes), max(lanes)))
        learnt.update(idx for idx in first.keys() & last.keys() if last[idx]["passed"] and not first[idx]["passed"])
    every = {idx for lanes in shown.values() for episodes in lanes.values() for idx in episodes}
    if not every:
        return None, ""
    idx = min(every, key=lambda idx: (-learnt[idx], idx))
    if not learnt:
        return idx, f"query {idx}; no query was failed first and passed last"
    each = "the model" if len(shown) == 1 else "each model"
    who = each if learnt[idx] == len(shown) else f"{learnt[idx]} of {len(shown)} models"
    return idx, f"query {idx}, the lowest that {who} failed first and passed last"


def _rows(place: dict, episode: dict) -> list[dict]:
    calls = [place | {"turn": turn, "tool": tool(name), "error": int(error)} for turn, name, error in episode["tools"]]
    end = {"turn": episode["turns"], "end_reason": episode["end_reason"], "passed": int(episode["passed"])}
    return [*calls, place | end]


def draw(rows: Sequence[dict[str, str]], study: Study) -> plt.Figure:
    """Draw the episodes of one regime a model."""
    models = chosen.trained(study)
    shown = {model: panels.of_steps(rows, model, chosen.shown_regime(study, model)) for model in models}
    every = [row for steps in shown.values() for row in panels.all_rows(steps)]
    turns = max((int(row["turn"]) for row in every), default=1)
    with plt.rc_context(style.SETTINGS | {"axes.grid": False, "hatch.linewidth": 0.6}):
        lanes = [max(1, len(steps)) for steps in shown.values()]
        figure, axes = plt.subplots(
            len(models),
            squeeze=False,
            sharex=True,
            figsize=(style.PAGE, LANE * sum(lanes) + 0.3 * len(models) + 1.1),
            height_ratios=lanes,
            layout="constrained",
        )
        for axis, model in zip(axes[:, 0], models, strict=True):
            for lane, of_step in enumerate(shown[model].values()):
                _lane(axis, lane, of_step)
            seed = {row["seed"] for row in panels.all_rows(shown[model])}
            axis.set_title(", ".join([model, *(f"seed {s}" for s in seed)]), loc="left")
            axis.set_yticks(range(len(shown[model])), map(chosen.step_title, shown[model]))
            axis.set_ylim(max(1, len(shown[model])) - 0.5, -0.5)
            axis.tick_params(axis="y", length=0)
            if not shown[model]:
                panels.say(axis)
        ends = [_end(of_step) for steps in shown.values() for of_step in steps.values()]
        axes[-1, 0].set_xlim(0.4, max((0.4 + (at - 0.4) / (1 - LETTER * len(said)) for at, said in ends), default=1.6))
        axes[-1, 0].set_xticks(range(1, turns + 1, 1 + turns // 20))
        axes[-1, 0].set_xlabel("Turn")
        tool_panels.legend(figure, {row["tool"] for row in every}, columns=5)
        figure.suptitle(note(study, shown), fontsize=style.NOTE_SIZE, color="0.3")
    return figure


def _lane(axis: plt.Axes, lane: int, rows: Sequence[dict[str, str]]) -> None:
    """A box a call, side by side within a turn, crossed where the reply was an error; behind the last one the end."""
    by_turn = defaultdict(list)
    for row in rows:
        by_turn[int(row["turn"])] += [row] * bool(row["tool"])
    for turn, calls in by_turn.items():
        width = 0.88 / max(1, len(calls))
        for place, row in enumerate(calls):
            left = turn - 0.44 + place * width
            axis.add_patch(Rectangle((left, lane - 0.36), width, 0.72, **tool_panels.LOOKS[row["tool"]]))
            if row["error"] == "1":
                axis.plot(left + width / 2, lane, "X", color="white", markeredgecolor="black", markersize=6, zorder=3)
    at, said = _end(rows)
    axis.text(at, lane, said, va="center", fontsize=7)


def _end(rows: Sequence[dict[str, str]]) -> tuple[float, str]:
    """Behind which turn an episode's end is written, and what it ends with."""
    (end,) = (row for row in rows if row["end_reason"])
    called = any(row["tool"] and row["turn"] == end["turn"] for row in rows)
    said = f"▸ {end['end_reason'].replace('_', ' ')}: {'passed' if end['passed'] == '1' else 'failed'}"
    return int(end["turn"]) + (0.5 if called else -0.4), said


def note(study: Study, shown: panels.Shown) -> str:
    """What a reader must know: the world, the regimes, how the query was chosen, and what is missing."""
    rules = dict.fromkeys(row["rule"] for steps in shown.values() for row in panels.all_rows(steps))
    missing = [f"missing: {model}/{chosen.shown_regime(study, model)}" for model, steps in shown.items() if not steps]
    return "\n".join([chosen.heading(study), *rules, "cross: the reply was an error", *missing])
