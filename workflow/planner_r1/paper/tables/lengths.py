"""The table of lengths: turns and tokens of the validations' episodes, at the first and the last one, and the change.

Of each seed a mean is taken, and of these the mean and Student's interval; a change is that of the same seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planner_r1.paper.lengths import MEASURES, Steps, at_step, cut_short, ends, lengths
from planner_r1.paper.render import bar, number, rounded, tex, tex_table
from planner_r1.paper.results import Results
from planner_r1.paper.statistics import t_interval
from planner_r1.study import Study

FIRST, LAST, CHANGE = "first", "last", "change"
FIELDS = (
    *("model", "regime", "at", "step", "n"),
    *(field for key in MEASURES for field in (key, f"{key}_ci", f"{key}_n")),
    "missing",
)
# Heading and decimals of each measure.
COLUMNS = {
    "turns": ("Turns", 2),
    "tokens": ("Tokens", 1),
    "success_tokens": ("of successes", 1),
    "failure_tokens": ("of failures", 1),
    "turn_tokens": ("Tokens a turn", 1),
    "final_pass": ("Final pass, %", 1),
}
HEADINGS = ("Model", "Regime", "Validation", "Step", "n", *(heading for heading, _ in COLUMNS.values()))
LEGEND = (
    "Means of an episode, ± half-width of the 95% t-interval over n seeds (none for n = 1; behind a number that fewer",
    "seeds have it says how many). First and last: the validations that all seeds of the regime have. Tokens: those",
    "that the model wrote. Change: from the first validation to the last, paired by seed. Successes and failures are",
    "not of the same queries.",
)

Values = dict[int, dict[str, float | None]]  # measures by seed


def rows(study: Study, results: Results) -> list[dict]:
    """Three rows a model and regime (first and last validation that all its seeds have, change); one where there are
    fewer validations.

    `n`: seeds that were validated there. A measure that one of them lacks is the mean over the others, whose number is
    `<measure>_n`, and `missing` says so; it says as well where a seed ends before the others.
    """
    return [
        {"model": model, "regime": regime, **row}
        for (model, regime), seeds in lengths(study, results).items()
        for row in _group(seeds, study.seeds_of(regime))
    ]


def _group(seeds: dict[int, Steps], asked: Sequence[int]) -> list[dict]:
    first, last = ends(seeds) or (None, None)
    start, end, short = measured(seeds, first), measured(seeds, last), cut_short(seeds)
    if first == last:
        return [_row(FIRST, first, start, asked, short)]
    change = {seed: _less(end[seed], start[seed]) for seed in start}
    return [
        _row(FIRST, first, start, asked),
        _row(LAST, last, end, asked, short),
        _row(CHANGE, None, change, asked, when=" at either end"),
    ]


def measured(seeds: dict[int, Steps], step: int | None) -> Values:
    """Every measure of each seed's validation at a step."""
    return {
        seed: {key: measure(episodes) for key, measure in MEASURES.items()}
        for seed, episodes in at_step(seeds, step).items()
    }


def _less(end: Mapping[str, float | None], start: Mapping[str, float | None]) -> dict[str, float | None]:
    return {key: None if None in (end[key], start[key]) else end[key] - start[key] for key in MEASURES}


def _row(at: str, step: int | None, values: Values, asked: Sequence[int], short: str = "", when: str = "") -> dict:
    missing = "; ".join(filter(None, (_missing(values, asked, when), short)))
    row = {"at": at, "step": step, "n": len(values), "missing": missing}
    for key in MEASURES:
        estimate = t_interval([of_seed[key] for of_seed in values.values() if of_seed[key] is not None])
        row |= {key: rounded(estimate.mean), f"{key}_ci": rounded(estimate.half_width), f"{key}_n": estimate.n}
    return row


def _missing(values: Values, asked: Sequence[int], when: str) -> str:
    """The seeds that were not validated, and those that had nothing but failures or nothing but successes."""
    lack = {"not validated": [seed for seed in asked if seed not in values]}
    for key, what in (("success_tokens", "without a success"), ("failure_tokens", "without a failure")):
        lack[f"{what}{when}"] = [seed for seed, of_seed in values.items() if of_seed[key] is None]
    return "; ".join(f"seed {', '.join(map(str, of))} {what}" for what, of in lack.items() if of)


def markdown(rows: Sequence[dict[str, str]], title: str) -> str:
    """The table for people, from the rows of the CSV."""
    lines = [f"**{title}**", "", bar(HEADINGS), bar(["---"] * 3 + ["---:"] * (len(HEADINGS) - 3))]
    lines += [bar(_texts(row)) for row in rows]
    lines += ["", *LEGEND, ""]
    lines += [f"- {_place(row)}: {row['missing']}" for row in rows if row["missing"]]
    return "\n".join(lines) + "\n"


def latex(rows: Sequence[dict[str, str]], title: str) -> str:
    """The table for a paper (needs booktabs and graphicx), from the rows of the CSV."""
    caption = f"{tex(title)}. {_tex(' '.join(LEGEND))}"
    lines = tex_table(
        caption,
        "lll" + "r" * (len(HEADINGS) - 3),
        [*map(tex, HEADINGS)],
        ([_tex(cell) for cell in _texts(row)] for row in rows),
    )
    lines += [f"% {_place(row)}: {row['missing']}" for row in rows if row["missing"]]
    return "\n".join(lines) + "\n"


def _texts(row: dict[str, str]) -> list[str]:
    sign = "+" if row["at"] == CHANGE else ""
    numbers = [number(row, key, "±", "", digits, sign) + _of_fewer(row, key) for key, (_, digits) in COLUMNS.items()]
    return [row["model"], row["regime"], row["at"], row["step"], row["n"], *numbers]


def _of_fewer(row: dict[str, str], key: str) -> str:
    """How many seeds a mean is of, where these are not all of the row."""
    return "" if row[f"{key}_n"] in ("0", row["n"]) else f" (n = {row[f'{key}_n']})"


def _tex(text: str) -> str:
    return tex(text).replace("±", r"$\pm$")


def _place(row: dict[str, str]) -> str:
    return f"{row['model']}, {row['regime']}, {row['at']}"
