"""What noisy tools cost: the final pass of each regime's last checkpoint with sound tools and under each noise.

Three comparisons: over seeds (mean and Student's interval); with the clean evaluation of the same checkpoints, query by
query (the mean over seeds of a query's change, resampled over queries); and with the model's first regime on the same
evaluation, seed by seed where the seeds of both saw the same batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from planner_r1.paper import budgets
from planner_r1.paper.effects import paired
from planner_r1.paper.render import bar, number, rounded, tex, tex_table
from planner_r1.paper.results import Results
from planner_r1.paper.statistics import t_interval
from planner_r1.paper.tables.differences import difference
from planner_r1.study import BASE_REGIME, UNDER, Checkpoint, Study

FIELDS = (
    *("model", "regime", "trained_under", "split", "evaluated_under", "step", "n", "final_pass", "final_pass_ci"),
    *("queries", "change", "change_low", "change_high", "change_n"),
    *("against", "difference", "difference_low", "difference_high", "difference_n"),
    *("met_failure", "met_dropped_rows", "missing"),
)
NONE = "none"  # sound tools
HEADINGS = ("Model", "Regime", "Trained under", "Evaluated on", "Step", "n", "Final pass", "Change by noise")
HEADINGS += ("Less the first regime", "Met a failure", "Lost rows")
LEGEND = (
    "Percent and points. Final pass: mean ± half-width of the 95% t-interval over n seeds (none for n = 1). Change by "
    "noise: less the same checkpoints' clean evaluation, with the 95% interval of a bootstrap over queries. Less the "
    "first regime: of the same evaluation and the seeds of both, with the 95% interval of a t-test, paired by seed "
    "where these saw the same batches (as many training queries, no dynamic sampling), else Welch's; uncorrected for "
    "several regimes. Either is over the seeds that both sides have, whose number stands behind it where it is not n. "
    "A change of 0 in all queries has the interval of the rule of three: up to 3 of so many queries may yet change.",
    "Met a failure, lost rows: share of the episodes in which a service failed a sound call, or left out rows.",
)

Passes = dict[int, dict[int, float]]  # percent, by seed and query


def rows(study: Study, results: Results) -> list[dict]:
    """A row a model, regime (untrained first) and what was evaluated (a split, then that split under each noise).

    Only the last step of a regime, and splits whose constraints are known. `missing` names seeds not evaluated.
    """
    return [
        row
        for model in study.models
        for split in study.clean_splits
        for row in _of_model(study, results, model, [name for name in study.splits if study.query_split(name) == split])
    ]


def _of_model(study: Study, results: Results, model: str, names: Sequence[str]) -> Iterator[dict]:
    """The rows of a model on a split, `names`: the split, and what it is called under noise."""
    regimes = (BASE_REGIME, *study.regimes_of(model))
    passes = {(regime, name): _passes(study, results, model, regime, name) for regime in regimes for name in names}
    first = regimes[min(1, len(regimes) - 1)]
    for regime in regimes:
        for name in names:
            own = passes[regime, name]
            row = dict.fromkeys(FIELDS) | {"model": model, "regime": regime, "split": name, "n": len(own)}
            row |= {"trained_under": _trained_under(study, regime), "step": _last_step(study, model, regime)}
            row["evaluated_under"] = name.partition(UNDER)[2] or NONE
            estimate = t_interval([fmean(of_seed.values()) for of_seed in own.values()])
            row |= {"final_pass": rounded(estimate.mean), "final_pass_ci": rounded(estimate.half_width)}
            row |= _change(own, passes[regime, names[0]]) if name != names[0] else {}
            if regime not in (BASE_REGIME, first):
                alike = _same_batches(study, results, model, (regime, first))
                row |= _difference(own, passes[first, name], first, alike)
            row |= _met(study, results, model, regime, name)
            absent = [seed for seed in study.seeds_of(regime) if seed not in own]
            row["missing"] = "; ".join(f"seed {seed} without scores" for seed in absent)
            yield row


def _trained_under(study: Study, regime: str) -> str:
    return "" if regime == BASE_REGIME else study.noise_name(regime) or NONE


def _last_step(study: Study, model: str, regime: str) -> int:
    return 0 if regime == BASE_REGIME else study.run(model, regime, study.seeds_of(regime)[0]).steps


def _checkpoints(study: Study, model: str, regime: str) -> dict[int, Checkpoint]:
    """The last checkpoint of each seed."""
    step = _last_step(study, model, regime)
    return {seed: Checkpoint(model, regime, seed, step) for seed in study.seeds_of(regime)}


def _passes(study: Study, results: Results, model: str, regime: str, split: str) -> Passes:
    """Final passes of the seeds that were evaluated; none where the constraints are hidden."""
    found = {}
    for seed, checkpoint in _checkpoints(study, model, regime).items():
        scores = results.scores(checkpoint, split) or []
        if known := {row["idx"]: 100.0 * row["official"]["final_pass"] for row in scores if "official" in row}:
            found[seed] = known
    return found


def _change(noisy: Passes, clean: Passes) -> dict:
    """The cells of a change by noise: of each query the mean over the seeds that have both, resampled over queries."""
    both = [(noisy[seed], clean[seed]) for seed in noisy if seed in clean]
    common = set.intersection(*(of.keys() & other.keys() for of, other in both)) if both else ()
    change = paired([fmean(of[idx] - other[idx] for of, other in both) for idx in sorted(common)], 0.0, "queries")
    if change is None:
        return {}
    cells = {"change": rounded(change.value), "change_low": rounded(change.low), "change_high": rounded(change.high)}
    return cells | {"queries": change.n, "change_n": len(both)}


def _same_batches(study: Study, results: Results, model: str, regimes: Sequence[str]) -> bool:
    runs = [study.run(model, regime, seed) for regime in regimes for seed in study.seeds_of(regime)]
    found = [budgets.batch(results, run) for run in runs if results.manifest(run) is not None]
    return budgets.same_batches(study, regimes, found)


def _difference(own: Passes, first: Passes, name: str, same_batches: bool) -> dict:
    """The cells of a regime less the first one, over the seeds of both."""
    seeds = [seed for seed in own if seed in first]
    of_seeds = [{seed: fmean(side[seed].values()) for seed in seeds} for side in (own, first)]
    cells = {"against": name, "difference_n": len(seeds)}
    if seeds:
        cells["difference"] = rounded(fmean(of_seeds[0][seed] - of_seeds[1][seed] for seed in seeds))
    found, _ = difference(*of_seeds, same_batches)
    if found is not None and found.p is not None:  # of equal differences no interval is known
        cells |= {"difference_low": rounded(found.low), "difference_high": rounded(found.high)}
    return cells


def _met(study: Study, results: Results, model: str, regime: str, split: str) -> dict:
    """The cells of what episodes met, percent of all seeds' episodes."""
    met = [
        {key for call in episode["tool_calls"] for key in call.get("noise", ())}
        for checkpoint in _checkpoints(study, model, regime).values()
        for episode in results.trajectories(checkpoint, split) or ()
    ]
    if not met:
        return {}
    return {f"met_{key}": rounded(100 * fmean(key in of for of in met)) for key in ("failure", "dropped_rows")}


# ---- for people ------------------------------------------------------------------------------------------------------


def markdown(rows: Sequence[Mapping[str, str]], title: str) -> str:
    """The table for people, from the rows of the CSV."""
    lines = [f"**{title}**", "", bar(HEADINGS), bar(["---"] * 4 + ["---:"] * 7)]
    lines += [bar(_cells(row)) for row in rows]
    lines += ["", *LEGEND, ""]
    lines += [f"- {_place(row)}: {row['missing']}" for row in rows if row["missing"]]
    return "\n".join(lines) + "\n"


def latex(rows: Sequence[Mapping[str, str]], title: str) -> str:
    """The table for a paper (needs booktabs and graphicx), from the rows of the CSV."""
    caption = f"{tex(title)}. {_tex(' '.join(LEGEND))}"
    cells = ([_tex(cell) for cell in _cells(row)] for row in rows)
    lines = tex_table(caption, "llll" + "r" * 7, [*map(tex, HEADINGS)], cells)
    lines += [f"% {_place(row)}: {row['missing']}" for row in rows if row["missing"]]
    return "\n".join(lines) + "\n"


def _cells(row: Mapping[str, str]) -> list[str]:
    place = [row[key] for key in ("model", "regime", "trained_under", "split", "step", "n")]
    shares = [row[key] and f"{float(row[key]):.1f}" for key in ("met_failure", "met_dropped_rows")]
    return [
        *place,
        number(row, "final_pass", "±", "missing"),
        *(_signed(row, k) for k in ("change", "difference")),
        *shares,
    ]


def _signed(row: Mapping[str, str], key: str) -> str:
    """`-3.1 (-8.2 to +2.0)`, without an interval where there is none; with `, n = 2` where it is not of all seeds of
    the row."""
    if row[key] == "":
        return ""
    low, high, n = row[f"{key}_low"], row[f"{key}_high"], row[f"{key}_n"]
    interval = "" if low == "" else f" ({float(low):+.1f} to {float(high):+.1f})"
    return f"{float(row[key]):+.1f}{interval}" + ("" if n == row["n"] else f", n = {n}")


def _tex(text: str) -> str:
    return tex(text).replace("±", r"$\pm$")


def _place(row: Mapping[str, str]) -> str:
    return f"{row['model']}, {row['regime']}, {row['split']}"
