"""What a study learnt: reward and final pass of the validations at the start and at the end of its runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict

from planner_r1.paper.curves import Validation, by_model_and_regime, mean_by_step
from planner_r1.paper.statistics import Estimate, paired_bootstrap, t_interval
from planner_r1.reward import STAGES, SubRewards, reward
from planner_r1.study import Run

# The reward of stage 1 for every regime, so that regimes can be compared; at most 5.
QUANTITIES = {
    "reward": "validation reward (stage 1 weights, at most 5)",
    "final_pass": "validation final pass",
}


def stage1_reward(parts: dict[str, float]) -> float:
    """Equation 1 of the paper with the weights of stage 1, from logged sub-rewards."""
    named = {("passed" if name == "pass" else name): value for name, value in parts.items()}
    return reward(SubRewards(**named), STAGES["stage1"])


def final_pass(parts: dict[str, float]) -> float:
    return parts["pass"]


def learning(runs: Sequence[tuple[Run, Sequence[Validation]]]) -> list[dict]:
    """One entry a model, regime and quantity.

    `seeds` holds start, end and change of each seed; `change` their mean, with the 95% t-interval over seeds where
    there are two or more; `over_queries` the same mean change with a paired bootstrap over the validation queries
    (each query's change averaged over seeds first), `rises` whether all of that interval lies above 0.
    A run with fewer than two validations is left out and named in `missing`.
    """
    entries = []
    for (model, regime), group in by_model_and_regime(runs).items():
        for name, value in (("reward", stage1_reward), ("final_pass", final_pass)):
            entries.append({"model": model, "regime": regime, "quantity": name, **_entry(group, value)})
    return entries


def _entry(group: Sequence[tuple[Run, Sequence[Validation]]], value: Callable[[dict], float]) -> dict:
    seeds, by_query, missing = [], {}, []
    for run, episodes in group:
        means = mean_by_step(episodes, value)
        if len(means) < 2:
            missing.append(run.seed)
            continue
        first, last = min(means), max(means)
        ends = {"first_step": first, "last_step": last, "start": means[first], "end": means[last]}
        seeds.append({"seed": run.seed, **ends, "change": means[last] - means[first]})
        for idx, change in _changes(episodes, value, first, last).items():
            by_query.setdefault(idx, []).append(change)
    per_query = [sum(changes) / len(changes) for changes in by_query.values()]
    tested = paired_bootstrap(per_query) if per_query else None
    return {
        "seeds": seeds,
        "start": asdict(t_interval([s["start"] for s in seeds])),
        "end": asdict(t_interval([s["end"] for s in seeds])),
        "change": asdict(t_interval([s["change"] for s in seeds])),
        "over_queries": asdict(tested) if tested else None,
        "rises": tested.rises if tested else None,
        "missing": missing,
    }


def _changes(episodes: Sequence[Validation], value: Callable, first: int, last: int) -> dict[int, float]:
    """By query, the change from the first to the last step; queries that were validated at both."""
    start = {e.idx: value(e.sub_rewards) for e in episodes if e.step == first}
    end = {e.idx: value(e.sub_rewards) for e in episodes if e.step == last}
    return {idx: end[idx] - start[idx] for idx in start.keys() & end.keys()}


def markdown(entries: Sequence[dict], title: str) -> str:
    """The summary for people."""
    lines = [f"# What was learnt: {title}", ""]
    for quantity, heading in QUANTITIES.items():
        lines += [f"## Mean {heading}", "", "| Model | Regime | Seed | Steps | Start | End | Change |"]
        lines.append("|---|---|---|---|---:|---:|---:|")
        for entry in (e for e in entries if e["quantity"] == quantity):
            place = f"| {entry['model']} | {entry['regime']}"
            for s in entry["seeds"]:
                steps = f"{s['first_step']} to {s['last_step']}"
                numbers = f"{s['start']:.3f} | {s['end']:.3f} | {s['change']:+.3f}"
                lines.append(f"{place} | {s['seed']} | {steps} | {numbers} |")
            if len(entry["seeds"]) == 1:
                continue  # the seed's own row says it all
            means = f"{_estimate(entry['start'])} | {_estimate(entry['end'])} | {_estimate(entry['change'], '+')}"
            lines.append(f"{place} | mean of {len(entry['seeds'])} | | {means} |")
        lines.append("")
    lines += [_sentence(entry) for entry in entries]
    return "\n".join(lines) + "\n"


def _estimate(estimate: dict, sign: str = "") -> str:
    e = Estimate(**estimate)
    if e.mean is None:
        return "missing"
    return f"{e.mean:{sign}.3f}" + ("" if e.half_width is None else f" ± {e.half_width:.3f}")


def _sentence(entry: dict) -> str:
    place = f"- {entry['model']}, {entry['regime']}, {QUANTITIES[entry['quantity']]}"
    without = "".join(f" Seed {seed} has fewer than two validations." for seed in entry["missing"])
    tested = entry["over_queries"]
    if tested is None:
        return f"{place}: nothing to compare.{without}"
    verdict = "rises" if entry["rises"] else "no clear rise"
    interval = f"{tested['mean']:+.3f}, 95% interval {tested['low']:+.3f} to {tested['high']:+.3f}"
    return f"{place}: {verdict} ({interval}, paired bootstrap over {tested['n']} queries).{without}"
