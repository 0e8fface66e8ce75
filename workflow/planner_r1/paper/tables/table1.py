"""Table 1: the study's checkpoints on TravelPlanner's metrics, the paper's own rows beside them.

The CSV holds the numbers; Markdown and LaTeX are rendered from it and from nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planner_r1.paper.reference import SEEDS, SOURCE, reference
from planner_r1.paper.render import bar, number, rounded, tex, tex_table
from planner_r1.paper.results import Results
from planner_r1.paper.statistics import Estimate, t_interval
from planner_r1.study import BASE_REGIME, SPLITS, UNDER, Study

# Key in the CSV, profile and rate in metrics.json, heading. The paper has no strict profile.
COLUMNS = (
    ("delivery", "official", "delivery", "Delivery"),
    ("cs_micro", "official", "cs_micro", "Commonsense micro"),
    ("cs_macro", "official", "cs_macro", "Commonsense macro"),
    ("hard_micro", "official", "hard_micro", "Hard micro"),
    ("hard_macro", "official", "hard_macro", "Hard macro"),
    ("final_pass", "official", "final_pass", "Final pass"),
    ("final_pass_strict", "strict", "final_pass", "Final pass, strict"),
)
KEYS = tuple(key for key, *_ in COLUMNS)
OURS, PAPER = "this study", f"paper ({SOURCE}, Table 1)"
PART = (
    "`a of b`: step a of a run of b steps. Under one phase at a constant learning rate that is what a run of a steps "
    "gives, so such a row compares with the paper's of a steps; in a curriculum it is a step on the way."
)
NOISY = "A split with `+` and a name: the same queries with tools that fail as the study's `noise` of that name says."
HIDDEN = "constraints hidden: only the leaderboard can score this split"
PLACE = ("source", "method", "model", "regime", "split", "steps", "run_steps", "n")
FIELDS = (*PLACE, *(field for key in KEYS for field in (key, f"{key}_ci")), "missing")


def rows(study: Study, results: Results) -> list[dict]:
    """The rows of Table 1; see `table1`."""
    return table1(study, results.rates())


def table1(study: Study, metrics: Iterable[dict]) -> list[dict]:
    """The rows of Table 1, percent: one a split, model, regime and step that was evaluated.

    The paper's row stands after ours of the same model, regime and number of steps; where none has as many, after the
    last of that model and regime.

    Args:
        metrics: objects of metrics.json. What the study asks for and is not among them is named in the row's `missing`.
    """
    found = {(m["model"], m["regime"], m["seed"], m["step"], m["split"]): m for m in metrics}
    papers = {(row["model"], row["regime"]): _paper_row(row) for row in reference("table1")}
    rows = []
    for split in study.splits:
        for model in study.models:
            for regime in (BASE_REGIME, *study.regimes_of(model)):
                own = [_own_row(study, found, model, regime, step, split) for step in _steps(study, model, regime)]
                rows += _beside(own, papers.pop((model, regime), None))
    return rows + list(papers.values())


def _steps(study: Study, model: str, regime: str) -> list[int]:
    return [0] if regime == BASE_REGIME else study.export_steps(study.run(model, regime, 0))


def _beside(own: list[dict], paper: dict | None) -> list[dict]:
    if paper is None:
        return own
    place = next((i for i, row in enumerate(own) if str(row["steps"]) == paper["steps"]), len(own) - 1)
    return [*own[: place + 1], paper, *own[place + 1 :]]


def _own_row(study: Study, found: dict, model: str, regime: str, step: int, split: str) -> dict:
    seeds = study.seeds_of(regime)
    have = {seed: m for seed in seeds if (m := found.get((model, regime, seed, step, split)))}
    row = dict.fromkeys(FIELDS) | {"source": OURS, "method": model, "model": model, "regime": regime}
    row |= {"split": split, "steps": step, "run_steps": _steps(study, model, regime)[-1], "n": len(have)}
    for key, profile, rate, _ in COLUMNS:
        values = [m["rates"][profile][rate] for m in have.values()]
        row |= _cells(key, t_interval([100 * v for v in values if v is not None]))
    notes = [f"seed {seed} not evaluated" for seed in seeds if seed not in have]
    row["missing"] = "; ".join(notes + [HIDDEN] * any(m["hidden"] for m in have.values()))
    return row


def _cells(key: str, estimate: Estimate) -> dict:
    return {key: rounded(estimate.mean), f"{key}_ci": rounded(estimate.half_width)}


def _paper_row(printed: dict[str, str]) -> dict:
    """A row as the paper prints it. Its own models are means of five runs, the others single runs."""
    n = SEEDS if printed["final_pass_ci"] else 1
    row = dict.fromkeys(FIELDS) | {key: printed[key] or None for key in FIELDS if key in printed}
    return row | {"source": PAPER, "split": "official test", "run_steps": row["steps"], "n": n, "missing": ""}


def shown_split(table: Sequence[dict[str, str]]) -> str | None:
    """The split of our rows that is shown where only one is: of those whose constraints are known the test split, or
    else validation; None where there is none."""
    known = {row["split"] for row in table if row["source"] == OURS and row["final_pass"]}
    return next((split for split in reversed(SPLITS) if split in known), None)


def markdown(rows: Sequence[dict[str, str]], title: str) -> str:
    """The table for people, from the rows of the CSV."""
    headings = ("Source", "Model", "Regime", "Split", "Steps", "n", *(heading for *_, heading in COLUMNS))
    right = ["---"] * 4 + ["---:"] * (len(headings) - 4)
    lines = [f"**{title}**", "", bar(headings), bar(right)]
    lines += [bar(_texts(row, "±", "missing", "paper")) for row in rows]
    lines += ["", "Percent; mean ± half-width of the 95% t-interval over n seeds (none for n = 1)."]
    lines.append(f"Paper: {SOURCE}, Table 1.")
    lines.append(
        "`base` is a model before training by reward. The paper's rows compare with ours only where model and split"
    )
    lines.append("are the same, and give no strict pass.")
    lines += [PART] * any(row["steps"] != row["run_steps"] for row in rows)
    lines += [NOISY] * any(UNDER in row["split"] for row in rows)
    lines += [f"- {_place(row)}: {row['missing']}" for row in rows if row["missing"]]
    return "\n".join(lines) + "\n"


def latex(rows: Sequence[dict[str, str]], title: str) -> str:
    """The table for a paper (needs booktabs and graphicx), from the rows of the CSV."""
    headings = ("Source", "Model", "Regime", "Split", "Steps", "$n$", *(tex(heading) for *_, heading in COLUMNS))
    legend = r"Percent; mean $\pm$ half-width of the 95\% t-interval over $n$ seeds. In italics: the paper's rows"
    caption = f"{tex(title)}. {legend} ({SOURCE}, Table 1)."
    lines = tex_table(caption, "llll" + "r" * (len(headings) - 4), headings, map(_tex_cells, rows))
    lines += [f"% {PART}"] * any(row["steps"] != row["run_steps"] for row in rows)
    lines += [f"% {NOISY}"] * any(UNDER in row["split"] for row in rows)
    lines += [f"% {_place(row)}: {row['missing']}" for row in rows if row["missing"]]
    return "\n".join(lines) + "\n"


def _tex_cells(row: dict[str, str]) -> list[str]:
    style = r"\textit{%s}" if row["source"] != OURS else "%s"
    return [style % tex(cell).replace("±", r"$\pm$") for cell in _texts(row, "±", "missing", "paper")]


def _texts(row: dict[str, str], plus_minus: str, missing: str, paper: str) -> list[str]:
    ours = row["source"] == OURS
    steps = row["steps"] if row["steps"] == row["run_steps"] else f"{row['steps']} of {row['run_steps']}"
    start = [row["source"] if ours else paper, row["method"], row["regime"], row["split"], steps, row["n"]]
    return start + [number(row, key, plus_minus, missing if ours else "") for key in KEYS]


def _place(row: dict[str, str]) -> str:
    step = "" if row["steps"] == row["run_steps"] else f", step {row['steps']}"
    return f"{row['model']}, {row['regime']}, {row['split']}{step}"
