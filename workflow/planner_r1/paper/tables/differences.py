"""Regimes compared: each against the first of its model, at equal steps and at equal tokens.

Two measures of a seed's curve: its mean final pass on the way to the end of what the seeds of both regimes have of the
budget (`on the way`: the area under the curve over the budget), and the final pass there (`end`). The first, which
varies less than one validation, is the primary one: it alone is judged, and corrected for all comparisons of the model
that the study plans. Seeds are what varies. The same seeds on both sides are paired where they saw the same batches;
else it is Welch's t-test.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from planner_r1.paper import budgets
from planner_r1.paper.render import bar, number, rounded, tex, tex_table
from planner_r1.paper.results import Results
from planner_r1.paper.statistics import LEVEL, Difference, Summary, holm, paired_t, t_interval, welch
from planner_r1.study import Study

FIELDS = (
    *("model", "regime", "against", "budget", "upto", "measure", "n", "n_against", "seeds", "seeds_against", "queries"),
    *("final_pass", "final_pass_ci", "against_pass", "against_pass_ci", "difference", "low", "high", "found_from"),
    *("test", "p", "comparisons", "p_holm", "verdict", "missing"),
)
END, MEAN = "end", "on the way"
PRIMARY = MEAN
MEASURES = (MEAN, END)
PAIRED, WELCH = "paired t", "Welch"
HIGHER, LOWER, NOT_TOLD = "higher", "lower", "not told apart"
FEWEST = 5  # seeds
TOO_FEW = "too few seeds for a claim"
NOT_RUN = "not run"
SECONDARY = "secondary"
NO_VARIATION = "no variation over seeds"
UNLIKE = "not the same test"
HEADINGS = ("Model", "Regime", "Against", "Budget", "Final pass", "Seeds", "Regime, %", "Against, %")
HEADINGS += ("Difference, points", "p", "Would be found from", "Verdict")
LEGEND = (
    f"Percent and points; ± and in brackets: the 95% interval over seeds, not corrected. {MEAN.capitalize()}, the "
    f"primary measure: the mean final pass from the first validation to where the budget ends; {END}: the final pass "
    "there.",
    "Tokens: prompts and responses of the episodes trained on, and as many for each query that dynamic sampling asked "
    "in vain, as if its episodes were as long as those kept: dropped groups may differ in length, and they cost no "
    "update. Between two validations a seed's curve is taken for straight; nothing is read beyond them.",
    "p: paired by seed where both have the same seeds and saw the same batches (as many training queries, no dynamic "
    "sampling), else Welch's t-test (marked so); none where the seeds do not vary. Verdicts are of the primary measure "
    "alone, by its p behind the arrow, below 0.05: after Holm's correction for all regimes of the model at both "
    f"budgets, those not yet run among them. {SECONDARY.capitalize()}: p is not corrected, and nothing is claimed.",
    f"{NO_VARIATION.capitalize()}: the difference is the same in all seeds, or each side's seeds are all alike, which "
    "says nothing of how others would come out: neither interval nor p.",
    f"{UNLIKE.capitalize()}: the two were validated under different noise; the table `noise` compares such regimes.",
    "Would be found from: the smallest difference that the strictest step of Holm's correction would have told from "
    "none, with seeds that vary as these do.",
)


def rows(study: Study, results: Results) -> list[dict]:
    """A row a model, regime but the first, budget and measure, percent.

    upto: where the budget ends: the last step, or the most tokens, that all seeds of both regimes have. A regime
    without runs keeps its rows, which say what is missing.
    """
    runs, found = budgets.trained(study, results), []
    for model, (first, *others) in budgets.compared(study).items():
        unlike = budgets.unlike(study, (first, *others))
        family = sum(regime not in unlike for regime in others) * len(budgets.BUDGETS)
        for regime in others:
            sides = {name: runs[model, name] for name in (regime, first)}
            head = {
                "model": model,
                "regime": regime,
                "against": first,
                "verdict": UNLIKE if regime in unlike else NOT_RUN,
            }
            every = [one for side in sides.values() for one in side]
            head["queries"] = max((one.queries for one in every), default=None)
            paired = budgets.same_batches(study, sides, [one.batch for one in every])
            for budget in budgets.BUDGETS:
                lacks = (budgets.lacking(study, name, side, budget) for name, side in sides.items())
                said = (f"{name}, {lack}" for name, of in zip(sides, lacks, strict=True) for lack in of)
                place = dict.fromkeys(FIELDS) | head | {"budget": budget, "missing": "; ".join(said)}
                own, against = (budgets.along(budget, side) for side in sides.values())
                for measure in MEASURES:
                    judged = family if measure == PRIMARY and regime not in unlike else None
                    row = place | {"measure": measure, "comparisons": judged}
                    found.append(row | _compared(own, against, measure, paired, judged))
    return _judged(found)


def _compared(
    own: Mapping[int, budgets.Curve],
    against: Mapping[int, budgets.Curve],
    measure: str,
    paired: bool,
    comparisons: int | None,
) -> dict:
    """The numbers of a row, from the curves of either side by seed.

    Args:
        paired: whether one seed saw the same batches on both sides
        comparisons: in the row's family; None where it is not judged
    """
    seeds = {"seeds": " ".join(map(str, own)), "seeds_against": " ".join(map(str, against))}
    cells = {"n": len(own), "n_against": len(against)} | seeds
    common = budgets.stretch([*own.values(), *against.values()])
    if not own or not against or common is None:
        return cells
    first, last = common
    values, others = (
        {seed: curve.at(last) if measure == END else curve.mean(first, last) for seed, curve in side.items()}
        for side in (own, against)
    )
    ours, theirs = (t_interval(list(side.values())) for side in (values, others))
    cells |= {"upto": rounded(last), "final_pass": rounded(ours.mean), "final_pass_ci": rounded(ours.half_width)}
    cells |= {"against_pass": rounded(theirs.mean), "against_pass_ci": rounded(theirs.half_width)}
    cells["difference"] = rounded(ours.mean - theirs.mean)
    found, test = difference(values, others, paired)
    if found is None:
        return cells
    cells["test"] = test
    if found.p is None:
        return cells  # nothing varies, so that no interval is known
    cells |= {"low": rounded(found.low), "high": rounded(found.high), "p": found.p}
    if comparisons is not None:
        strictest, _ = difference(values, others, paired, 1 - (1 - LEVEL) / comparisons)
        cells["found_from"] = rounded((strictest.high - strictest.low) / 2)
    return cells


def difference(
    own: Mapping[int, float], against: Mapping[int, float], paired: bool, level: float = LEVEL
) -> tuple[Difference | None, str]:
    """The mean of a regime's seeds less that of another's, and by which test; None where either side has one seed.

    Args:
        paired: whether one seed saw the same batches on both sides
    """
    if len(own) < 2 or len(against) < 2:
        return None, ""
    if paired and own.keys() == against.keys():
        # equal differences are not told apart by their rounding
        return paired_t([round(own[seed] - against[seed], 9) for seed in own], level), PAIRED
    sides = (Summary.over([round(value, 9) for value in side.values()]) for side in (own, against))
    return welch(*sides, level=level), WELCH


def _judged(rows: list[dict]) -> list[dict]:
    """The rows with corrected p-values and verdicts. A comparison that has no p-value, or has not been run, counts
    among the others of its model, so that an unfinished study is corrected as the whole one is; one of regimes that
    took different tests does not."""
    families: dict[str, list[dict]] = {}
    for row in rows:
        if row["comparisons"] is not None:
            families.setdefault(row["model"], []).append(row)
        elif row["difference"] is not None and row["verdict"] != UNLIKE:
            row["verdict"] = SECONDARY
    for family in families.values():
        corrected = holm([1.0 if row["p"] is None else row["p"] for row in family])
        for row, p in zip(family, corrected, strict=True):
            row["p_holm"] = None if row["p"] is None else p
            if row["difference"] is not None:
                row["verdict"] = verdict(row["difference"], row["p_holm"], min(row["n"], row["n_against"]))
    return rows


def verdict(difference: float, p: float | None, seeds: int) -> str:
    """What may be said of a difference, by its corrected p-value and the seeds of the side with fewer."""
    if seeds < FEWEST:
        return TOO_FEW
    if p is None:
        return NO_VARIATION
    if p >= 1 - LEVEL:
        return NOT_TOLD
    return HIGHER if difference > 0 else LOWER


# ---- for people ------------------------------------------------------------------------------------------------------


def markdown(rows: Sequence[Mapping[str, str]], title: str) -> str:
    """The table for people, with a sentence a regime above it, from the rows of the CSV."""
    lines = [f"**{title}**", "", _what(rows), "", *(f"- {sentence}" for sentence in sentences(rows)), ""]
    lines += [bar(HEADINGS), bar(["---"] * 5 + ["---:"] * 6 + ["---"])]
    lines += [bar(_cells(row)) for row in rows]
    lines += ["", *LEGEND, "", *(f"- missing: {note}" for note in _missing(rows))]
    return "\n".join(lines) + "\n"


def latex(rows: Sequence[Mapping[str, str]], title: str) -> str:
    """The table for a paper (needs booktabs and graphicx), from the rows of the CSV."""
    caption = _tex(" ".join([f"{title}.", _what(rows), *LEGEND]))
    notes = [f"missing: {note}" for note in _missing(rows)]
    cells = ([_tex(cell) for cell in _cells(row)] for row in rows)
    return (
        "\n".join(tex_table(caption, "lllll" + "r" * 6 + "l", [*map(_tex, HEADINGS)], cells, map(_tex, notes))) + "\n"
    )


def _what(rows: Sequence[Mapping[str, str]]) -> str:
    """What is compared, of how many seeds and on how many queries."""
    first = ", ".join(
        f"{against} for {model}" for model, against in {row["model"]: row["against"] for row in rows}.items()
    )
    seeds = sorted({int(row[n]) for row in rows for n in ("n", "n_against")})
    queries = sorted({int(row["queries"]) for row in rows if row["queries"]})
    return (
        "Final pass of the validations during training, each regime against the first of its model in the study's "
        f"file ({first}), at equal steps and at equal tokens of training. Seeds of a regime: {_span(seeds)}; "
        f"validation queries: {_span(queries)}."
    )


def _span(numbers: Sequence[int]) -> str:
    """`5`, or `3 to 5`."""
    low, high = (numbers[0], numbers[-1]) if numbers else (0, 0)
    return str(low) if low == high else f"{low} to {high}"


def sentences(rows: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """A sentence a model and regime: its differences and what may be said of them, the primary measure first."""
    for (model, regime, against), own in groupby(rows, key=lambda row: (row["model"], row["regime"], row["against"])):
        ordered = sorted(own, key=lambda row: MEASURES.index(row["measure"]))
        parts = [f"{'at' if row['measure'] == END else f'{MEAN} to'} {_budget(row)} {_said(row)}" for row in ordered]
        yield f"{model}, {regime} against {against}: {'; '.join(parts)}."


def _budget(row: Mapping[str, str]) -> str:
    """Where a budget ends, such as `40 steps`."""
    return f"{float(row['upto']):,.0f} {row['budget']}" if row["upto"] else f"equal {row['budget']}"


def _said(row: Mapping[str, str]) -> str:
    return row["verdict"] if row["difference"] == "" else f"{_difference(row, ' points')}, {row['verdict']}"


def _difference(row: Mapping[str, str], unit: str = "") -> str:
    """`+3.1 points (-2.0 to +8.2)`, without an interval where there is none."""
    if row["difference"] == "":
        return ""
    interval = "" if row["low"] == "" else f" ({float(row['low']):+.1f} to {float(row['high']):+.1f})"
    return f"{float(row['difference']):+.1f}{unit}{interval}"


def _cells(row: Mapping[str, str]) -> list[str]:
    seeds = row["n"] if row["seeds"] == row["seeds_against"] else f"{row['n']} and {row['n_against']}"
    test = f" ({WELCH})" if row["test"] == WELCH else ""
    p = "" if row["p"] == "" or row["verdict"] == UNLIKE else f"{float(row['p']):.3f}"
    corrected = "" if row["p_holm"] == "" else f" → {float(row['p_holm']):.3f}"
    found_from = "" if row["found_from"] == "" else f"{float(row['found_from']):.1f}"
    passes = [number(row, key, "±", "missing") for key in ("final_pass", "against_pass")]
    place = [row["model"], row["regime"], row["against"], _budget(row), row["measure"], seeds]
    return [*place, *passes, _difference(row), p and f"{p}{corrected}{test}", found_from, row["verdict"]]


def _missing(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """What is missing, and of which budgets; each once."""
    where: dict[str, dict[str, None]] = {}
    for row in rows:
        for note in filter(None, row["missing"].split("; ")):
            where.setdefault(f"{row['model']}/{note}", {})[row["budget"]] = None
    return [f"{note} (equal {' and '.join(of)})" for note, of in where.items()]


def _tex(text: str) -> str:
    text = tex(text)
    for mark, command in {"±": r"\pm", "→": r"\to"}.items():
        text = text.replace(mark, f"${command}$")
    return text
