"""The table of a study of memory: what each probe took, and what the paper's appendix claims, with what compares.

The paper compares waking the rollout engine in stages (weights first, then their update, then the KV cache) with
waking it at once. The pinned verl and sglang always wake it in stages, so the half without it cannot be measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import mean

from planner_r1.paper.reference import SOURCE, reference
from planner_r1.paper.render import bar, rounded, tex, tex_table
from planner_r1.paper.results import Results
from planner_r1.study import Study

FIELDS = (
    *("source", "model", "share", "staged_waking", "outcome", "device_peak_gib", "trainer_peak_gib"),
    *("trainer_reserved_gib", "rollout_tokens_s", "step_s", "steps", "note"),
)
HEADINGS = (
    *("Source", "Model", "Share", "Staged waking", "Outcome", "GPU peak, GiB", "Trainer peak, GiB"),
    *("Trainer reserved, GiB", "Rollout tokens/s", "Step, s", "Steps"),
)
LEGEND = (
    "Share: of a GPU's memory, for the rollout engine's weights and KV cache (`gpu_memory_utilization`). GPU peak:",
    "of all processes, the largest of the GPUs of one node. Trainer peak: without the rollout engine. Tokens: of",
    "episodes, tools' replies included. Times: without the first step.",
)
OURS, PAPER = "this study", f"paper ({SOURCE})"
# What the paper claims, by its name in reference/headline.csv: staged waking there, and whether ours compares.
NO_CHOICE = "not comparable: the pinned engines always wake in stages"
CLAIMS = {
    "kv_cache_ratio_with_multi_stage_awake": ("on", "compare with the largest share that ran"),
    "kv_cache_ratio_without_multi_stage_awake": ("off", NO_CHOICE),
    "multi_stage_awake_peak_memory_saving": ("on against off", NO_CHOICE),
    "memory_per_gpu": ("not said", "compare with the GPU peak at the share of the paper's listing, 0.6"),
}


def rows(study: Study, results: Results) -> list[dict]:
    """The rows of the table of memory; see `memory_table`."""
    return memory_table(results.probes())


def memory_table(probes: Iterable[dict]) -> list[dict]:
    """A row a probe (an object that training.memory_probe wrote), then a row a claim of the paper."""
    return [_probe_row(p) for p in probes] + [_claim_row(c) for c in reference("headline") if c["quantity"] in CLAIMS]


def _probe_row(probe: dict) -> dict:
    failed = probe["outcome"] != "ran"
    row = {"source": OURS, "model": probe["model"], "share": probe["share"], "staged_waking": "on"}
    row |= {"outcome": f"{probe['outcome']} ({probe['kind']})" if failed else "ran", "steps": len(probe["steps"])}
    row |= {"device_peak_gib": rounded(probe["device_peak_gib"]), "note": probe["evidence"] or ""}
    return dict.fromkeys(FIELDS) | row | measures(probe["steps"])


def measures(steps: Sequence[dict]) -> dict[str, float | None]:
    """What verl's metrics of a probe's steps say; None where they say nothing.

    Peaks are the largest over the steps, GiB of the trainer's process, without the rollout engine's. Tokens a second
    are those of the episodes (tools' replies included) over the time of the rollouts; they and the seconds a step are
    means over the steps after the first, in which much is compiled and warmed up.
    """
    settled = steps[1:] or steps
    per_token = [step["timing_per_token_ms/gen"] for step in settled if "timing_per_token_ms/gen" in step]
    return {
        "trainer_peak_gib": _largest(steps, "actor/perf/max_memory_allocated_gb"),
        "trainer_reserved_gib": _largest(steps, "actor/perf/max_memory_reserved_gb"),
        "rollout_tokens_s": rounded(1000 / mean(per_token)) if per_token else None,
        "step_s": rounded(mean(times))
        if (times := [s["timing_s/step"] for s in settled if "timing_s/step" in s])
        else None,
    }


def _largest(steps: Sequence[dict], key: str) -> float | None:
    return rounded(max((step[key] for step in steps if key in step), default=None))


def _claim_row(claim: dict[str, str]) -> dict:
    waking, comparison = CLAIMS[claim["quantity"]]
    outcome = f"{claim['quantity'].replace('_', ' ')}: {claim['value']} {claim['unit']} ({claim['where']})"
    row = {"source": PAPER, "model": claim["model"], "staged_waking": waking, "outcome": outcome, "note": comparison}
    return dict.fromkeys(FIELDS) | row


def markdown(rows: Sequence[dict[str, str]], title: str) -> str:
    """The table for people, from the rows of the CSV."""
    lines = [f"**{title}**", "", bar(HEADINGS), bar(["---"] * 5 + ["---:"] * (len(HEADINGS) - 5))]
    lines += [bar(_plain(row[key]) for key in FIELDS[:-1]) for row in rows]
    lines += ["", *LEGEND, ""]
    lines += [f"- {_place(row)}: {_plain(row['note'])}" for row in rows if row["note"]]
    return "\n".join(lines) + "\n"


def latex(rows: Sequence[dict[str, str]], title: str) -> str:
    """The table for a paper (needs booktabs and graphicx), from the rows of the CSV."""
    caption = f"{tex(title)}. {tex(' '.join(LEGEND).replace('`', ''))}"
    cells = ([tex(row[key]) for key in FIELDS[:-1]] for row in rows)
    notes = (f"{tex(_place(row))}: {tex(row['note'])}" for row in rows if row["note"])
    alignment = "lllll" + "r" * (len(HEADINGS) - 5)
    return "\n".join(tex_table(caption, alignment, [*map(tex, HEADINGS)], cells, notes)) + "\n"


def _place(row: dict[str, str]) -> str:
    if row["source"] == OURS:
        return f"{row['model']}, share {row['share']}"
    return f"{PAPER}, {row['model']}, {row['outcome']}"


def _plain(text: str) -> str:
    return text.replace("|", "\\|")
