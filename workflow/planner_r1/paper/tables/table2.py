"""Table 2: the study's checkpoints on the out-of-domain suites, beside the paper's own rows, tested against the base.

The CSV holds the numbers; Markdown and LaTeX are rendered from it and from nothing else.

The test: every checkpoint of a model answers the same items as the untrained model, so they are compared item by item.
An item's value is its mean over seeds and repeats on either side; the p-value is that of the differences under random
signs (`paired_permutation`), which needs no normal values and is McNemar's exact test where an item is right or wrong
once on each side. Items are what varies: it asks whether these checkpoints answer such items otherwise than the base,
not how training with further seeds would come out. Each row makes one comparison a metric, seven in all, which Holm's
correction accounts for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from planner_r1.paper.reference import SOURCE, reference
from planner_r1.paper.render import bar, number, rounded, tex, tex_table
from planner_r1.paper.results import Results
from planner_r1.paper.statistics import LEVEL, Estimate, holm, paired_permutation, t_interval
from planner_r1.study import BASE_REGIME, Checkpoint, Study

# Key in the CSV and of the suites' metrics, the suite, and the heading.
COLUMNS = (
    ("np_trip", "natural_plan", "NaturalPlan trip"),
    ("np_meeting", "natural_plan", "NaturalPlan meeting"),
    ("np_calendar", "natural_plan", "NaturalPlan calendar"),
    ("mif_turn1", "multi_if", "Multi-IF turn 1"),
    ("mif_turn2", "multi_if", "Multi-IF turn 2"),
    ("mif_turn3", "multi_if", "Multi-IF turn 3"),
    ("tau_pass1", "tau_bench", "τ-bench pass@1"),
)
KEYS = tuple(key for key, *_ in COLUMNS)
SUITES = tuple(dict.fromkeys(suite for _, suite, _ in COLUMNS))
OURS, PAPER = "this study", f"paper ({SOURCE}, Table 2)"
BETTER, WORSE = "better", "worse"
PLACE = ("source", "method", "model", "regime", "steps", "run_steps", "n")
OF_METRIC = ("", "_ci", "_items", "_p", "_p_holm", "_verdict")
FIELDS = (*PLACE, *(f"{key}{what}" for key in KEYS for what in OF_METRIC), "missing", "caveats")
LEGEND = (
    "Percent; mean ± half-width of the 95% t-interval over n values: training seeds, each the mean of its repeats, or "
    "the repeats where there is one seed (none for n = 1).",
    "p: the test against the same model untrained, paired by item, under random signs of the differences (McNemar's "
    "exact test where an item is right or wrong once on each side); behind the arrow, after Holm's correction for a "
    "row's comparisons.",
    "Green and ▲: better, red and ▼: worse than untrained, where the corrected p is below 0.05.",
)


@dataclass(frozen=True)
class Result:
    """metrics.json and the rows of scores.jsonl of a checkpoint on a suite."""

    metrics: Mapping
    scores: Sequence[Mapping]

    @property
    def place(self) -> tuple[Checkpoint, str]:
        m = self.metrics
        return Checkpoint(m["model"], m["regime"], m["seed"], m["step"]), m["suite"]

    @property
    def lacking(self) -> str:
        """Such as `scores of 3 of 8 items`, a conversation's turn being an item, where scores.jsonl has fewer than
        metrics.json counts; else nothing."""
        counted = sum(metric["items"] for metric in self.metrics["metrics"].values())
        there = len({(row["metric"], row["item"]) for row in self.scores})
        return f"scores of {there} of {counted} items" if there < counted else ""


Found = Mapping[tuple[Checkpoint, str], Result]


def rows(study: Study, results: Results) -> list[dict]:
    """The rows of Table 2; see `table2`."""
    found = (results.suite(checkpoint, suite) for checkpoint in study.suite_checkpoints for suite in study.suites)
    return table2(study, [Result(*of_suite) for of_suite in found if of_suite])


def table2(study: Study, results: Iterable[Result]) -> list[dict]:
    """The rows of Table 2, percent: one a model, regime and step that the suites were put to.

    The paper's row stands after ours of the same model and number of steps, or after all of ours.

    Args:
        results: what the study asks for and is not among them is named in the row's `missing`.
    """
    found = {result.place: result for result in results}
    papers = {(row["model"], row["steps"]): _paper_row(row) for row in reference("table2")}
    groups: dict[tuple, list[Checkpoint]] = defaultdict(list)
    for checkpoint in study.suite_checkpoints:
        groups[checkpoint.model, checkpoint.regime, checkpoint.step].append(checkpoint)
    rows = []
    for (model, _, step), checkpoints in groups.items():
        rows.append(_own_row(study, found, checkpoints))
        if paper := papers.pop((model, str(step)), None):
            rows.append(paper)
    return rows + list(papers.values())


def _own_row(study: Study, found: Found, checkpoints: Sequence[Checkpoint]) -> dict:
    model, regime, step = checkpoints[0].model, checkpoints[0].regime, checkpoints[0].step
    have = {suite: [found[c, suite] for c in checkpoints if (c, suite) in found] for suite in SUITES}
    estimates = {key: _estimate(key, have[suite]) for key, suite, _ in COLUMNS}
    row = dict.fromkeys(FIELDS) | {"source": OURS, "method": model, "model": model, "regime": regime, "steps": step}
    row["run_steps"] = 0 if regime == BASE_REGIME else study.run(model, regime, checkpoints[0].seed).steps
    row["n"] = max(estimate.n for estimate in estimates.values())
    untested = []
    for key, suite, _ in COLUMNS:
        row |= {key: rounded(estimates[key].mean), f"{key}_ci": rounded(estimates[key].half_width)}
        row[f"{key}_items"] = have[suite][0].metrics["metrics"][key]["items"] if have[suite] else None
    if regime != BASE_REGIME:
        base = Checkpoint(model, BASE_REGIME, 0, 0)
        row |= _tests({key: differences(key, have[suite], found.get((base, suite))) for key, suite, _ in COLUMNS})
        untested = [s for key, s, _ in COLUMNS if row[key] is not None and row[f"{key}_p"] is None]
    missing = [f"{suite} is not in this study" for suite in SUITES if suite not in study.suites]
    for suite in study.suites:
        missing += [f"{suite}, seed {c.seed}: no scores" for c in checkpoints if (c, suite) not in found]
        missing += [f"{suite}, seed {r.metrics['seed']}: {r.lacking}" for r in have[suite] if r.lacking]
        missing += [f"{suite}: no test, as no item has scores here and of the untrained model"] * (suite in untested)
    caveats = [f"{suite}: {caveat}" for suite in SUITES for r in have[suite][:1] for caveat in r.metrics["caveats"]]
    return row | {"missing": "; ".join(missing), "caveats": "; ".join(caveats)}


def _estimate(key: str, have: Sequence[Result]) -> Estimate:
    by_seed = [result.metrics["metrics"][key] for result in have]
    values = by_seed[0]["by_repeat"] if len(by_seed) == 1 else [metric["mean"] for metric in by_seed]
    return t_interval([100 * value for value in values])


def _tests(differences: Mapping[str, Sequence[float]]) -> dict:
    """The tests of a row: raw and corrected p-values, and the verdict where it is told."""
    raw = {key: paired_permutation(of_metric) for key, of_metric in differences.items() if of_metric}
    cells = {}
    for (key, p), corrected in zip(raw.items(), holm(list(raw.values())), strict=True):
        cells |= {f"{key}_p": p, f"{key}_p_holm": corrected}
        if corrected < 1 - LEVEL:
            cells[f"{key}_verdict"] = BETTER if fmean(differences[key]) > 0 else WORSE
    return cells


def differences(key: str, have: Sequence[Result], base: Result | None) -> list[float]:
    """An item's mean over seeds and repeats less its mean over the base's repeats, for the items that both have."""
    ours = by_item(key, [row for result in have for row in result.scores])
    before = {} if base is None else by_item(key, base.scores)
    return [ours[item] - before[item] for item in before if item in ours]


def by_item(key: str, scores: Iterable[Mapping]) -> dict[str, float]:
    """An item's mean value of a metric, over seeds and repeats."""
    values = defaultdict(list)
    for row in scores:
        if row["metric"] == key:
            values[row["item"]].append(row["value"])
    return {item: fmean(of_item) for item, of_item in values.items()}


def _paper_row(printed: Mapping[str, str]) -> dict:
    row = dict.fromkeys(FIELDS) | {key: value or None for key, value in printed.items()}
    return row | {"source": PAPER, "run_steps": row["steps"], "missing": "", "caveats": ""}


def markdown(rows: Sequence[Mapping[str, str]], title: str) -> str:
    """The table for people, from the rows of the CSV."""
    headings = ("Source", "Model", "Regime", "Steps", "n", *(heading for *_, heading in COLUMNS))
    lines = [f"**{title}**", "", bar(headings), bar(["---"] * 3 + ["---:"] * (len(headings) - 3))]
    lines += [bar([*_start(row), *(_markdown_cell(row, key) for key in KEYS)]) for row in rows]
    lines += [
        "",
        *LEGEND,
        f"Paper: {SOURCE}, Table 2; it is printed without regimes and without tests.",
        "",
        *_notes(rows, "- "),
    ]
    return "\n".join(lines) + "\n"


def latex(rows: Sequence[Mapping[str, str]], title: str) -> str:
    """The table for a paper (needs amssymb, booktabs, graphicx and xcolor with the option table), from the CSV."""
    headings = ("Source", "Model", "Regime", "Steps", "$n$", *(_tex(heading) for *_, heading in COLUMNS))
    caption = f"{tex(title)}. {_tex(' '.join(LEGEND))} In italics: the paper's rows ({SOURCE}, Table 2)."
    alignment = "lll" + "r" * (len(headings) - 3)
    lines = tex_table(caption, alignment, headings, map(_tex_cells, rows), map(_tex, _notes(rows, "")))
    return "\n".join(lines) + "\n"


def _tex_cells(row: Mapping[str, str]) -> list[str]:
    style = r"\textit{%s}" if row["source"] != OURS else "%s"
    return [style % cell for cell in (*map(_tex, _start(row)), *(_latex_cell(row, key) for key in KEYS))]


def _start(row: Mapping[str, str]) -> list[str]:
    steps = row["steps"] if row["steps"] == row["run_steps"] else f"{row['steps']} of {row['run_steps']}"
    source = row["source"] if row["source"] == OURS else "paper"
    return [source, row["method"], row["regime"], steps, row["n"]]


def _p(row: Mapping[str, str], key: str) -> list[str]:
    """The p-values of a cell, raw and corrected; none where nothing was tested."""
    values = [row[f"{key}_p"], row[f"{key}_p_holm"]]
    return [] if "" in values else [f"{float(value):.3f}" for value in values]


def _markdown_cell(row: Mapping[str, str], key: str) -> str:
    text = number(row, key, "±", "missing" if row["source"] == OURS else "")
    if p := _p(row, key):
        text += f" (p {' → '.join(p)})"
    return {BETTER: f"🟩 **{text}** ▲", WORSE: f"🟥 **{text}** ▼"}.get(row[f"{key}_verdict"], text)


def _latex_cell(row: Mapping[str, str], key: str) -> str:
    text = _tex(number(row, key, "±", "missing" if row["source"] == OURS else ""))
    if p := _p(row, key):
        text += r" {\scriptsize " + r" $\to$ ".join(p) + "}"
    colour = {BETTER: r"\cellcolor{green!20}", WORSE: r"\cellcolor{red!20}"}.get(row[f"{key}_verdict"], "")
    return colour + text


def _tex(text: str) -> str:
    text = tex(text)
    for mark, command in {"±": r"\pm", "▲": r"\blacktriangle", "▼": r"\blacktriangledown", "τ": r"\tau"}.items():
        text = text.replace(mark, f"${command}$")
    return text


def _notes(rows: Sequence[Mapping[str, str]], mark: str) -> list[str]:
    """What is missing, and what does not compare with the paper; said once where several rows share it."""
    where: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        for kind, field in (("missing", "missing"), ("not comparable with the paper", "caveats")):
            for note in filter(None, row[field].split("; ")):
                where[f"{kind}: {note}"].append(f"{row['model']}, {row['regime']}, step {row['steps']}")
    ours = sum(row["source"] == OURS for row in rows)
    return [
        f"{mark}{note} ({'all rows of this study' if len(places) == ours else '; '.join(places)})"
        for note, places in where.items()
    ]
