"""Regimes compared: each against the first of its model, at equal steps and at equal tokens.

Two measures of a seed's curve: the final pass at the end of what the seeds of both regimes have of the budget (`end`),
and its mean on the way there (`on the way`: the area under the curve over the budget), which varies less than one
validation. Seeds are what varies. The same seeds on both sides start from the same weights and see the same batches, so
that they are paired; with others it is Welch's t-test.
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
    *("final_pass", "final_pass_ci", "against_pass", "against_pass_ci", "difference", "low", "high", "half_width"),
    *("test", "p", "p_holm", "verdict", "missing"),
)
END, MEAN = "end", "on the way"
MEASURES = (END, MEAN)
PAIRED, WELCH = "paired t", "Welch"
HIGHER, LOWER, NOT_TOLD = "higher", "lower", "not told apart"
FEWEST = 5  # seeds
TOO_FEW = "too few seeds for a claim"
NOT_RUN = "not run"
UNLIKE = "not the same test"
HEADINGS = ("Model", "Regime", "Against", "Budget", "Final pass", "Seeds", "Regime, %", "Against, %")
HEADINGS += ("Difference, points", "p", "Would be found from", "Verdict")
LEGEND = (
    f"Percent and points; ± and in brackets: the 95% interval over seeds. {END.capitalize()}: the final pass where the "
    f"budget ends; {MEAN}: its mean from the first validation until there.",
    "Tokens: prompts and responses of the episodes trained on, and as many for each query that dynamic sampling asked "
    "in vain, as if its episodes were as long as those kept. Between two validations a seed's curve is taken for "
    "straight; nothing is read beyond them.",
    "p: paired by seed where both have the same seeds (same start, same batches), else Welch's t-test (marked so); "
    "behind the arrow after Holm's correction for the regimes of the model, for each budget and measure by itself. The "
    "verdict is by the corrected p, below 0.05; the interval is not corrected.",
    f"{UNLIKE.capitalize()}: the two were validated under different noise; the table `noise` compares such regimes.",
    "Would be found from: half the interval's width, the smallest difference that it would have told from none.",
)


def rows(study: Study, results: Results) -> list[dict]:
    """A row a model, regime but the first, budget and measure, percent.

    upto: where the budget ends: the last step, or the most tokens, that all seeds of both regimes have. A regime
    without runs keeps its rows, which say what is missing.
    """
    runs, found = budgets.trained(study, results), []
    for model, (first, *others) in budgets.compared(study).items():
        unlike = budgets.unlike(study, (first, *others))
        for regime in others:
            sides = {name: runs[model, name] for name in (regime, first)}
            head = {
                "model": model,
                "regime": regime,
                "against": first,
                "verdict": UNLIKE if regime in unlike else NOT_RUN,
            }
            head["queries"] = max((one.queries for side in sides.values() for one in side), default=None)
            for budget in budgets.BUDGETS:
                lacks = (budgets.lacking(study, name, side, budget) for name, side in sides.items())
                said = (f"{name}, {lack}" for name, of in zip(sides, lacks, strict=True) for lack in of)
                place = dict.fromkeys(FIELDS) | head | {"budget": budget, "missing": "; ".join(said)}
                curves = [budgets.along(budget, side) for side in sides.values()]
                found += [place | {"measure": measure} | _compared(*curves, measure) for measure in MEASURES]
    return _judged(found)


def _compared(own: Mapping[int, budgets.Curve], against: Mapping[int, budgets.Curve], measure: str) -> dict:
    """The numbers of a row, from the curves of either side by seed."""
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
    found, test = difference(values, others)
    if found is None:
        return cells
    width = None if found.p is None else (found.high - found.low) / 2  # without variation none is known
    cells |= {"low": rounded(found.low), "high": rounded(found.high), "half_width": rounded(width)}
    return cells | {"test": test, "p": found.p}


def difference(own: Mapping[int, float], against: Mapping[int, float]) -> tuple[Difference | None, str]:
    """The mean of a regime's seeds less that of another's, and by which test; None where either side has one seed."""
    if len(own) < 2 or len(against) < 2:
        return None, ""
    if own.keys() == against.keys():
        # equal differences are not told apart by their rounding
        return paired_t([round(own[seed] - against[seed], 9) for seed in own]), PAIRED
    return welch(*(Summary.over([round(value, 9) for value in side.values()]) for side in (own, against))), WELCH


def _judged(rows: list[dict]) -> list[dict]:
    """The rows with corrected p-values and verdicts. A comparison without a p-value is counted among the others, one of
    regimes that took different tests is not."""
    families: dict[tuple, list[dict]] = {}
    for row in rows:
        if row["difference"] is not None and row["verdict"] != UNLIKE:
            families.setdefault((row["model"], row["budget"], row["measure"]), []).append(row)
    for family in families.values():
        corrected = holm([1.0 if row["p"] is None else row["p"] for row in family])
        for row, p in zip(family, corrected, strict=True):
            row["p_holm"] = None if row["p"] is None else p
            row["verdict"] = verdict(row["difference"], row["p_holm"], min(row["n"], row["n_against"]))
    return rows


def verdict(difference: float, p: float | None, seeds: int) -> str:
    """What may be said of a difference, by its corrected p-value and the seeds of the side with fewer."""
    if seeds < FEWEST:
        return TOO_FEW
    if p is None or p >= 1 - LEVEL:
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
    """A sentence a model and regime: its differences and what may be said of them."""
    for (model, regime, against), own in groupby(rows, key=lambda row: (row["model"], row["regime"], row["against"])):
        parts = [f"{'at ' + _budget(row) if row['measure'] == END else MEAN} {_said(row)}" for row in own]
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
    p = "" if row["p_holm"] == "" else f"{float(row['p']):.3f} → {float(row['p_holm']):.3f}{test}"
    width = "" if row["half_width"] == "" else f"{float(row['half_width']):.1f}"
    passes = [number(row, key, "±", "missing") for key in ("final_pass", "against_pass")]
    place = [row["model"], row["regime"], row["against"], _budget(row), row["measure"], seeds]
    return [*place, *passes, _difference(row), p, width, row["verdict"]]


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
