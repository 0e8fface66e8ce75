"""The scores of a checkpoint's raw answers to a suite: cheap, and done again at will."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from planner_r1.files import read_lines
from planner_r1.ood.decoding import decoding
from planner_r1.ood.suite import Suite
from planner_r1.ood.suites import SUITES
from planner_r1.study import SCRIPTED_USER

METRIC_VERSION = 1
# The default user of tau-bench's own program. The paper's listing names no other.
PAPER_USER = "gpt-4o"


def score_suite(
    name: str, folder: Path, answers: Path, asked: Mapping[str, Any], made_up: bool
) -> tuple[list[dict], dict]:
    """Score the raw answers of a checkpoint.

    Args:
        folder: of the suite's data.
        asked: how the answers were asked for, as it was written beside them.
        made_up: whether the data are.

    Returns:
        rows of scores, and the metrics: of each the mean (from 0 to 1), the number of items and the means by repeat;
        what else the suite tells; how it was asked; and `caveats`, why the numbers do not compare with the paper's.
    """
    suite = SUITES[name](folder)
    rows, more = suite.score(list(read_lines(answers)))
    metrics = {metric: _metric([row for row in rows if row["metric"] == metric]) for metric in suite.metrics}
    caveats = list(_caveats(suite, metrics, asked, made_up))
    return rows, {"metric_version": METRIC_VERSION, "metrics": metrics, **more, "caveats": caveats, "asked": asked}


def write_scores(rows: Sequence[Mapping], metrics: Mapping, out: Path) -> None:
    """Write scores.jsonl and metrics.json into a folder."""
    with open(out / "scores.jsonl", "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (out / "metrics.json").write_text(json.dumps(metrics, indent=2) + "\n", encoding="utf-8")


def _metric(rows: Sequence[Mapping]) -> dict:
    repeats = sorted({row["repeat"] for row in rows})
    means = [fmean(row["value"] for row in rows if row["repeat"] == repeat) for repeat in repeats]
    return {
        "mean": fmean(means) if means else None,
        "items": len({row["item"] for row in rows}),
        "by_repeat": means,
    }


def _caveats(suite: Suite, metrics: Mapping[str, dict], asked: Mapping[str, Any], made_up: bool):
    if made_up:
        yield "made-up data"
    else:
        few = [f"{metric} {metrics[metric]['items']} of {n}" for metric, n in suite.metrics.items()]
        if any(metrics[metric]["items"] != n for metric, n in suite.metrics.items()):
            yield f"not all items ({', '.join(few)})"
    preset = decoding(suite.name, {})
    changed = [f"{key} {asked['decoding'][key]}" for key in preset if asked["decoding"][key] != preset[key]]
    if changed:
        yield f"other decoding ({', '.join(changed)})"
    if suite.has_user:
        user = asked["user"]
        model = user if user == SCRIPTED_USER else user["model"]
        if model.rpartition("/")[2] != PAPER_USER:
            yield f"another simulated user ({model})"
