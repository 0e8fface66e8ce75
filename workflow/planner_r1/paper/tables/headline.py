"""The headline figures of the paper and ours of the same quantities, with where the paper's stand and what compares.

A row a quantity and model, named as in reference/headline.csv. Peaks, the line at 90% of the larger model's, and FLOPs
are those of Figure 3 (see `compute`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from planner_r1.paper import compute
from planner_r1.paper.curves import validations
from planner_r1.paper.reference import SEEDS, SOURCE, reference
from planner_r1.paper.render import bar, powers_of_ten, rounded, tex, tex_table
from planner_r1.paper.results import Results
from planner_r1.paper.statistics import t_interval
from planner_r1.paper.tables.table1 import OURS, shown_split
from planner_r1.study import BASE_REGIME, Run, Study

FIELDS = ("quantity", "model", "ours", "low", "high", "n", "paper", "unit", "where", "note")
HEADINGS = ("Quantity", "Model", "Ours", "n", "Paper", "Unit", "In the paper")
LEGEND = (
    "In brackets: the 95% interval; n: seeds, runs or queries. An empty cell: a number that is not there.",
    f"Paper: {SOURCE}, where the last column says.",
)
MEMORY = "actor/perf/max_memory_allocated_gb"
GB = 1024**3 / 1e9  # verl's "gb" are GiB; the paper's GB are taken for 1e9 bytes
OTHERS = "not a number of this study's models"
GPT5 = "gpt-5"
EVERY = "both"  # what the paper calls its models together
BOOTSTRAP = "interval: bootstrap over seeds, peak and line found anew"


@dataclass(frozen=True)
class Ours:
    """A number of the study: what it is, its interval where it has one, over how many, and what a reader must know."""

    quantity: str
    model: str
    value: float | None
    unit: str
    low: float | None = None
    high: float | None = None
    n: int | None = None
    note: str = ""


def rows(study: Study, results: Results) -> list[dict]:
    """A row a quantity and model that the paper or the study has. Within a quantity ours stand first."""
    printed = {(row["quantity"], row["model"]): row for row in reference("headline")}
    ours = {(own.quantity, own.model): own for own in Headline(study, results).all()}
    order = list(dict.fromkeys(_family(quantity) for quantity, _ in (*printed, *ours)))
    places = sorted(ours | printed, key=lambda place: (order.index(_family(place[0])), place not in ours))
    return [_row(place, ours.get(place), printed.get(place)) for place in places]


def _family(quantity: str) -> str:
    """A quantity without the model or regime in its name."""
    return "collapsed_runs" if quantity.startswith("collapsed_runs") else quantity.partition("_of_")[0]


def _row(place: tuple[str, str], own: Ours | None, printed: dict[str, str] | None) -> dict:
    row = dict.fromkeys(FIELDS) | {"quantity": place[0], "model": place[1]}
    if printed:
        row |= {"paper": printed["value"], "unit": printed["unit"], "where": printed["where"]}
    if own:
        row |= {"ours": _significant(own.value), "low": _significant(own.low), "high": _significant(own.high)}
        return row | {"n": own.n, "unit": own.unit, "note": own.note}
    return row | {"note": _absent(place[0])}


def _significant(value: float | None) -> float | None:
    """Four decimals, and of FLOPs seven digits."""
    return rounded(value) if value is None or abs(value) < 1e9 else float(f"{value:.6e}")


def _absent(quantity: str) -> str:
    if quantity.startswith(("kv_cache", "multi_stage")):
        return "see the table of a study of memory"
    return OTHERS


def short(model: str) -> str:
    """As the paper's quantities name a model: 32b for qwen3-32b."""
    return model.rpartition("-")[2]


class Headline:
    """The study's own numbers, quantity by quantity."""

    def __init__(self, study: Study, results: Results):
        self.study, self.results = study, results
        self.regime = compute.compared_regime(study)
        self.runs = validations(study, results)
        self.courses = compute.courses(study, results, self.runs)
        self.larger = compute.larger_model(study, results)
        self.line = compute.line(self.courses.get(self.larger))

    def all(self) -> Iterator[Ours]:
        for part in (self._peaks, self._compute, self._memory, self._gpt5, self._collapsed, self._setup):
            yield from part()

    @cached_property
    def intervals(self) -> dict[str, tuple[compute.Interval, ...] | None]:
        """Of each model that is compared: of the line, of its FLOPs to it, of the ratio."""
        if self.line is None:
            return dict.fromkeys(self.courses)
        larger = self.courses[self.larger]
        return {model: compute.bootstrap(larger, course) for model, course in self.courses.items()}

    # ---- learning and compute -------------------------------------------------------------------------------------

    def _peaks(self) -> Iterator[Ours]:
        where = f"of the mean curve of {self.regime}, validation split, {self.study.world_label}, not smoothed"
        for model, course in self.courses.items():
            if (step := course.peak_step) is None:
                note = "no step at which all seeds were validated" if course.steps else "no validations"
                yield Ours("final_pass_peak", model, None, "percent", note=note)
                continue
            at = course.passes[:, course.steps.index(step)]
            peak = t_interval(at[~np.isnan(at)].tolist())
            note = f"highest point {where}; step {step} (interval: over the seeds there)"
            if not course.complete.all():
                note += f"; of the {course.complete.sum()} steps of {len(course.steps)} that all its seeds have"
            yield Ours("final_pass_peak", model, peak.mean, "percent", peak.low, peak.high, peak.n, note)
        if not self.courses:
            return
        if not self.larger:
            sizes = ", ".join(m for m in self.courses if compute.parameters(self.results, m) is None)
            yield Ours(
                "final_pass_90pct_of_larger_peak", EVERY, None, "percent", note=f"which is larger? no size: {sizes}"
            )
            return
        found = self.intervals.get(self.larger)
        interval, note = found[0] if found else compute.Interval(), f"larger by its weights: {self.larger}"
        n = len(self.courses[self.larger].seeds) if self.larger in self.courses else None
        yield Ours(
            f"final_pass_90pct_of_{short(self.larger)}_peak",
            *(EVERY, self.line, "percent", interval.low, interval.high, n),
            f"{note}; {BOOTSTRAP} (of a maximum, so it leans upwards)" if found else note,
        )

    def _compute(self) -> Iterator[Ours]:
        if self.line is None:
            return
        larger = self.courses[self.larger]
        baseline = larger.reaches(self.line)
        for model, course in self.courses.items():
            found, flops = self.intervals[model], course.reaches(self.line)
            interval = found[1] if found else compute.Interval()
            note = _flops_note(course, flops, self.line)
            note += f"; {BOOTSTRAP}" * (interval != compute.Interval())
            n = sum(spent.source is not None for spent in course.spent)
            name = f"flops_to_90pct_of_{short(self.larger)}_peak"
            yield Ours(name, model, flops, "FLOPs", interval.low, interval.high, n, note)
        for model, course in self.courses.items():
            if model == self.larger:
                continue
            found, flops = self.intervals[model], course.reaches(self.line)
            interval = found[2] if found else compute.Interval()
            ratio = baseline / flops if baseline and flops else None
            note = f"{self.larger}'s FLOPs over {model}'s" + f"; {BOOTSTRAP}" * (interval != compute.Interval())
            if found and interval.low == 0:
                note += "; 0 where the line is not reached"
            n = min(len(course.seeds), len(larger.seeds))
            name = f"{short(model)}_vs_{short(self.larger)}"
            yield Ours("compute_efficiency_ratio", name, ratio, "ratio", interval.low, interval.high, n, note)

    # ---- memory ---------------------------------------------------------------------------------------------------

    def _memory(self) -> Iterator[Ours]:
        peaks = {}
        for model in self.courses:
            runs = [run for run in self.study.runs if run.model == model]
            found = [peak for run in runs if (peak := self._peak_memory(run)) is not None]
            peaks[model] = estimate = t_interval(found)
            note = "largest allocation of the trainer's process over the steps, mean over runs; without the rollout "
            note += "engine's; GiB x 1.074"
            note += "" if self._gpus else "; no GPU: the process on its processor"
            number = estimate.mean, "GB", estimate.low, estimate.high, estimate.n
            yield Ours("memory_per_gpu", model, *number, note if found else "no metrics")
        for model, peak in peaks.items():
            if model == self.larger or self.larger is None:
                continue
            most = peaks[self.larger].mean
            ratio = most / peak.mean if most and peak.mean else None
            n = min(peak.n, peaks[self.larger].n)
            name = f"{short(model)}_vs_{short(self.larger)}"
            yield Ours("memory_efficiency_ratio", name, ratio, "ratio", n=n, note=f"{self.larger}'s over {model}'s")

    def _peak_memory(self, run: Run) -> float | None:
        lines = self.results.metrics(run, [MEMORY]) or []
        return max((GB * line[MEMORY] for line in lines if MEMORY in line), default=None)

    # ---- beside GPT-5 ---------------------------------------------------------------------------------------------

    def _gpt5(self) -> Iterator[Ours]:
        table = self.results.table("table1") or []
        split = shown_split(table)
        own = [r for r in table if r["source"] == OURS and (r["model"], r["split"]) == (GPT5, split)]
        rate = next((float(r["final_pass"]) for r in own if r["regime"] == BASE_REGIME and r["final_pass"]), None)
        if rate is not None:
            yield Ours("gpt5_final_pass", GPT5, rate, "percent", n=1, note=f"{split} split, {self.study.world_label}")
        papers = next(float(row["value"]) for row in reference("headline") if row["quantity"] == "gpt5_final_pass")
        for model, course in self.courses.items():
            peak, beside = course.peak(), rate
            note = f"peak (validation split) over the study's GPT-5 ({split} split)"
            if rate is None and self.study.world is None:
                beside, note = papers, f"peak (validation split) over the paper's GPT-5, {papers} (official test split)"
            if rate is None and self.study.world is not None:
                note = "no GPT-5 in this study; the paper's answered queries of another world"
            gain = peak / beside if peak and beside else None
            yield Ours("improvement_over_gpt5", model, gain, "ratio", n=len(course.seeds) if gain else None, note=note)

    # ---- runs -----------------------------------------------------------------------------------------------------

    def _collapsed(self) -> Iterator[Ours]:
        for model in self.study.trainable:
            for regime in self.study.regimes_of(model):
                ends = [compute.collapsed(e) for run, e in self.runs if (run.model, run.regime) == (model, regime)]
                told = [end for end in ends if end is not None]
                note = f"runs, of n, with a final pass below {compute.COLLAPSED:g}% over the last {compute.END:.0%} of "
                note += f"their steps; the paper's are of {SEEDS}"
                number, note = (sum(told), note) if told else (None, "no validations")
                yield Ours(f"collapsed_runs_{regime}", model, number, "runs", n=len(told), note=note)

    def _setup(self) -> Iterator[Ours]:
        for split in ("train", "test"):
            if (count := self._queries(split)) is not None:
                yield Ours(f"{split}_queries", EVERY, count, "queries", n=count, note=self.study.world_label)
        manifests = {run: found for run in self.study.runs if (found := self.results.manifest(run))}
        for model in self.courses:
            steps = [found["final_step"] for run, found in manifests.items() if run.model == model]
            yield Ours("max_steps", model, max(steps, default=None), "steps", n=len(steps), note="the longest run's")
        seeds = {m: [r.seed for r in manifests if (r.model, r.regime) == (m, self.regime)] for m in self.courses}
        fewest = min(map(len, seeds.values()), default=0) or None
        yield Ours("seeds", EVERY, fewest, "runs", n=fewest, note=f"finished under {self.regime}")
        if self._gpus:
            peak = self.study.config["cost"]["peak_flops"]
            yield Ours("peak_flops_per_gpu", "h200", peak, "FLOP/s", note="taken (key cost.peak_flops), not measured")
        sizes = sorted({_gpus(found) for found in manifests.values()})
        note = "nodes x GPUs of each" if len(sizes) < 2 else f"runs differ: {', '.join(map(str, sizes))}"
        value = sizes[0] if len(sizes) == 1 and self._gpus else None
        yield Ours("world_size", EVERY, value, "GPUs", note=note if self._gpus else "trained on processors")

    def _queries(self, split: str) -> int | None:
        path = self.results.queries(split)
        if not path.is_file():
            return self.study.query_count(split)
        with open(path, encoding="utf-8") as file:
            return sum(1 for line in file if line.strip())

    @cached_property
    def _gpus(self) -> bool:
        return self.study.backend == "gpu"


def _flops_note(course: compute.Course, flops: float | None, line: float) -> str:
    whys = "; ".join(sorted({spent.why for spent in course.spent if spent.source is None}))
    if not course.source:
        reached = "reached, but FLOPs are not known: " if course.passes_reach(line) else "FLOPs are not known: "
        return reached + whys if whys else "no validations"
    said = "not reached"
    if flops is not None:
        said = "first crossing of the mean curve, straight between validations"
    elif course.passes_reach(line):
        said = "reached, by seeds or at steps whose FLOPs are not known"
    said += f" (of some seeds: {whys})" if whys else ""
    reckoned = "; reckoned from model size and tokens" if compute.RECKONED in course.source else "; from verl's MFU"
    return said + reckoned


def _gpus(manifest: dict) -> int:
    trainer = manifest["config"]["trainer"]
    return trainer["nnodes"] * trainer["n_gpus_per_node"]


def markdown(rows: Sequence[dict[str, str]], title: str) -> str:
    """The table for people, from the rows of the CSV."""
    lines = [f"**{title}**", "", bar(HEADINGS), bar(["---", "---", "---:", "---:", "---:", "---", "---"])]
    lines += [bar(_texts(row)) for row in rows]
    lines += ["", *LEGEND, ""]
    return "\n".join(lines + [f"- {note}" for note in _notes(rows)]) + "\n"


def latex(rows: Sequence[dict[str, str]], title: str) -> str:
    """The table for a paper (needs booktabs and graphicx), from the rows of the CSV."""
    caption = f"{tex(title)}. {tex(' '.join(LEGEND))}"
    lines = tex_table(caption, "llrrrll", [*map(tex, HEADINGS)], ([*map(tex, _texts(row))] for row in rows))
    return "\n".join(lines + [f"% {note}" for note in _notes(rows)]) + "\n"


def _texts(row: dict[str, str]) -> list[str]:
    shown = _format(row["unit"])
    ours = shown(float(row["ours"])) if row["ours"] else ""
    if row["low"] or row["high"]:
        ends = (shown(float(row[end])) if row[end] else "not reached" for end in ("low", "high"))
        ours += f" [{', '.join(ends)}]"
    paper = shown(float(row["paper"])) if row["unit"].startswith("FLOP") and row["paper"] else row["paper"]
    return [row["quantity"].replace("_", " "), _model(row), ours, row["n"], paper, row["unit"], row["where"]]


def _format(unit: str) -> Callable[[float], str]:
    if unit.startswith("FLOP"):
        return powers_of_ten
    return {"percent": "{:.1f}", "GB": "{:.1f}", "ratio": "{:.2f}"}.get(unit, "{:.0f}").format


def _notes(rows: Sequence[dict[str, str]]) -> list[str]:
    """Each note of our rows once, after the rows that it is of."""
    places: dict[str, list[str]] = {}
    for row in rows:
        if row["note"] and row["note"] != OTHERS:
            places.setdefault(row["note"], []).append(f"{row['quantity'].replace('_', ' ')}, {_model(row)}")
    return [f"{'; '.join(of)}: {note}" for note, of in places.items()]


def _model(row: dict[str, str]) -> str:
    return "all" if row["model"] == EVERY else row["model"]
