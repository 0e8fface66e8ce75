"""The made-up world of tests/data: its tables, its queries, and plans with the official evaluator's verdicts."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

from planner_r1.evaluator import COMMONSENSE, Verdict
from planner_r1.queries import Query, load_queries

FOLDER = Path(__file__).resolve().parents[1] / "data" / "made_up_world"
DATABASE = FOLDER / "database"
VERDICTS = {"plans.jsonl.gz": 2_740, "grammar.jsonl.gz": 3_000}


def queries() -> list[Query]:
    return load_queries(FOLDER / "queries.jsonl")


def rows() -> Iterator[tuple[str, dict]]:
    """(place, row) of each plan with a verdict."""
    for name in VERDICTS:
        with gzip.open(FOLDER / name, "rt", encoding="utf-8") as f:
            for number, line in enumerate(f, start=1):
                yield f"{name}, line {number}", json.loads(line)


def good_plans() -> list[tuple[list[dict], Query]]:
    """The plans that pass officially, with their queries."""
    asked = queries()
    return [(row["plan"], asked[row["idx"] - 1]) for _, row in rows() if _passes(row["official"])]


def _passes(official: dict) -> bool:
    hard = official.get("hard")
    return bool(hard) and all(official["commonsense"].values()) and False not in hard.values()


def agrees(verdict: Verdict, official: dict) -> bool:
    """Whether a verdict is the official one; where the official code raised, the plan must fail with a reason."""
    if "error" in official:
        unknown = verdict.commonsense == dict.fromkeys(COMMONSENSE) and verdict.hard is None
        return verdict.delivered and not verdict.final_pass and unknown and bool(verdict.reason)
    if not official["delivered"]:
        return not verdict.delivered and not verdict.final_pass and bool(verdict.reason)
    return (
        verdict.delivered
        and verdict.commonsense == official["commonsense"]
        and verdict.hard == official["hard"]
        and verdict.total_cost == official.get("total_cost")
    )
