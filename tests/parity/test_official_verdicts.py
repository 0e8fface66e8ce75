"""The official evaluator's own verdicts: every one of them must be ours.

5,740 plans of a made-up world lie in tests/data, so that every clone has them; 4,558 plans of real models and their
mutations, and small cases at the edges, are looked for in the shared data.
"""

import ast
import json
from pathlib import Path

import pytest

from parity import made_up_world
from parity.made_up_world import agrees
from parity.reference_evaluator import Tables, reference
from planner_r1.evaluator import evaluate
from planner_r1.queries import Query, load_queries
from planner_r1.sandbox.builder import build
from planner_r1.sandbox.store import Store

PLANS = 4_558


def test_official_verdicts_of_the_made_up_world(tmp_path):
    build(made_up_world.DATABASE, tmp_path / "store")
    store, queries = Store.open(tmp_path / "store"), made_up_world.queries()
    seen, wrong = 0, []
    for place, row in made_up_world.rows():
        seen += 1
        verdict = evaluate(row["plan"], queries[row["idx"] - 1], store)
        if not agrees(verdict, row["official"]):
            wrong.append(f"{place}: {verdict.to_json()}, official: {row['official']}")
    assert wrong == []
    assert seen == sum(made_up_world.VERDICTS.values())


def test_the_reference_gives_the_official_verdicts_of_the_made_up_world():
    """The slow reference is a judge over others, so it must be right itself."""
    tables, queries = Tables(made_up_world.DATABASE), made_up_world.queries()
    for place, row in made_up_world.rows():
        delivered, commonsense, hard, cost = reference(row["plan"], queries[row["idx"] - 1], tables)
        official = row["official"]
        expected = (
            official["delivered"],
            official.get("commonsense"),
            official.get("hard"),
            official.get("total_cost"),
        )
        assert (delivered, commonsense, hard, cost) == expected, place


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


def test_all_official_verdicts(shared_data, queries, real_store):
    seen, wrong = 0, []
    for place, split, row in rows(shared_data):
        seen += 1
        verdict = evaluate(row["plan"], queries[split][row["idx"] - 1], real_store)
        if not agrees(verdict, row["official"]):
            wrong.append(f"{place}: {verdict.to_json()}, official: {row['official']}")
    assert wrong == []
    assert seen == PLANS


def test_small_cases_at_the_edges(shared_data, queries, real_store):
    folder = shared_data.parent / "cases" / "evaluator"
    if not folder.is_dir():
        pytest.skip(f"needs the cases in {folder}")
    seen = 0
    for path in sorted(folder.glob("*.jsonl")):
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            if "official" in row:
                seen += 1
                verdict = evaluate(row["plan"], queries["train"][row["idx"] - 1], real_store)
                assert agrees(verdict, row["official"]), f"{path.name}: {verdict.to_json()}"
    assert seen >= 17


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
