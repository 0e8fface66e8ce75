"""The official evaluator's own verdicts on 4,558 plans: every one of them must be ours."""

import ast
import json
from pathlib import Path

import pytest

from planner_r1.evaluator import COMMONSENSE, evaluate
from planner_r1.queries import Query, load_queries

PLANS = 4_558


@pytest.fixture(scope="module")
def queries(shared_data) -> dict[str, list[Query]]:
    folder = shared_data / "travelplanner" / "queries"
    return {split: load_queries(folder / f"{split}.jsonl") for split in ("train", "validation")}


def rows(shared_data: Path):
    """(place, split, row) of each plan; files are named after their split."""
    for path in sorted((shared_data / "travelplanner" / "plans").glob("*.jsonl")):
        with open(path, encoding="utf-8") as f:
            for number, line in enumerate(f, start=1):
                yield f"{path.name}, line {number}", path.name.split("__")[0], json.loads(line)


def agrees(verdict, official: dict) -> bool:
    if "error" in official:  # where the official code raised, the plan fails with a reason
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


def test_all_official_verdicts(shared_data, queries, real_store):
    seen, wrong = 0, []
    for place, split, row in rows(shared_data):
        seen += 1
        verdict = evaluate(row["plan"], queries[split][row["idx"] - 1], real_store)
        if not agrees(verdict, row["official"]):
            wrong.append(f"{place}: {verdict.to_json()}, official: {row['official']}")
    assert wrong == []
    assert seen == PLANS


def test_strict_never_passes_what_official_fails_by_commonsense(shared_data, queries, real_store):
    for place, split, row in rows(shared_data):
        query = queries[split][row["idx"] - 1]
        official = evaluate(row["plan"], query, real_store)
        strict = evaluate(row["plan"], query, real_store, "strict")
        assert official.commonsense_pass or not strict.commonsense_pass, place


def test_annotated_plans_of_the_train_split_pass(shared_data, queries, real_store):
    with open(shared_data / "travelplanner" / "queries" / "train.jsonl", encoding="utf-8") as f:
        plans = [ast.literal_eval(json.loads(line)["annotated_plan"])[1] for line in f]
    for plan, query in zip(plans, queries["train"], strict=True):
        verdict = evaluate(plan, query, real_store)
        assert verdict.final_pass, f"query {query.idx}: {verdict.reason}"
