"""Scores from trajectories: rates that can be told by hand, holes counted, and files that do not fit refused."""

import copy
import json
from dataclasses import replace

import pytest

from planner_r1.agent.oracle import plan_for
from planner_r1.agent.query_generator import QuerySpec, draw_queries
from planner_r1.errors import InputError
from planner_r1.sandbox.builder import build
from planner_r1.sandbox.store import Store
from planner_r1.sandbox.synthetic import WorldSpec, write_world
from planner_r1.scoring import METRIC_VERSION, load_episodes, score


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    write_world(WorldSpec(seed=3), folder / "files")
    build(folder / "files", folder / "store")
    return Store.open(folder / "store")


@pytest.fixture(scope="module")
def queries(store):
    return draw_queries(store, QuerySpec(days=(3,), n_days=14), 10, seed=1)


def episode(query, plan, end_reason="answer"):
    answer = "I could not find out." if plan is None else f"<answer>{json.dumps(plan)}</answer>"
    return {"idx": query.idx, "answer": answer, "end_reason": end_reason}


def perfect(queries, store):
    return [plan_for(query, store).plan for query in queries]


def test_perfect_plans_have_perfect_rates(queries, store):
    rows, metrics = score(
        [episode(q, p) for q, p in zip(queries, perfect(queries, store), strict=True)], queries, store
    )
    for profile in ("official", "strict"):
        assert {v for k, v in metrics["rates"][profile].items() if k != "n"} == {1.0}
    assert metrics["metric_version"] == METRIC_VERSION
    assert (
        metrics["n"] == 10
        and metrics["hidden"] is False
        and metrics["holes"] == {}
        and metrics["end_reasons"] == {"answer": 1.0}
    )
    assert set(metrics["sub_rewards"].values()) == {1.0}
    assert [row["idx"] for row in rows] == [q.idx for q in queries]
    assert all(row["official"]["final_pass"] and row["holes"] == [] for row in rows)


def test_missing_plans_and_holes_are_told_apart(queries, store):
    plans = perfect(queries, store)
    plans[0] = None
    # the sandbox holds a name that contains this one: enough for the official rules
    plans[1] = copy.deepcopy(plans[1])
    plans[1][1]["lunch"] = plans[1][1]["lunch"][:-1]
    ends = ["no_answer"] + ["answer"] * 9
    episodes = [episode(*each) for each in zip(queries, plans, ends, strict=True)]
    rows, metrics = score(reversed(episodes), queries, store)
    assert metrics["rates"]["official"]["delivery"] == 0.9
    assert metrics["rates"]["official"]["final_pass"] == 0.9
    assert metrics["rates"]["strict"]["final_pass"] == 0.8
    assert metrics["end_reasons"] == {"answer": 0.9, "no_answer": 0.1}
    assert sum(metrics["holes"].values()) == 1 and rows[1]["holes"] == list(metrics["holes"])
    assert metrics["sub_rewards"]["pass"] == pytest.approx(0.9)
    json.dumps([rows, metrics])


def test_hidden_constraints_leave_the_delivery(queries, store):
    hidden = [replace(q, local_constraint=None, budget=None, people_number=None) for q in queries]
    plans = perfect(queries, store)
    plans[3] = None
    rows, metrics = score([episode(q, p) for q, p in zip(hidden, plans, strict=True)], hidden, store)
    assert metrics["hidden"] and metrics["rates"]["official"]["delivery"] == 0.9
    assert metrics["rates"]["official"]["final_pass"] is None
    assert not rows[3]["delivered"] and rows[4]["delivered"]
    assert [row["idx"] for row in rows] == [q.idx for q in hidden]
    assert metrics["rates"]["strict"] == metrics["rates"]["official"] and metrics["rates"]["official"]["n"] == 10


def test_episodes_that_do_not_fit_the_queries_are_refused(queries, store):
    episodes = [episode(q, None) for q in queries]
    with pytest.raises(InputError, match=f"query {queries[-1].idx}"):
        score(episodes[:-1], queries, store)
    with pytest.raises(InputError, match="two episodes"):
        score([*episodes, episodes[0]], queries, store)


def test_a_broken_file_names_its_line(tmp_path, queries):
    path = tmp_path / "trajectories.jsonl"
    path.write_text(json.dumps(episode(queries[0], None)) + "\n")
    assert [e["idx"] for e in load_episodes(path)] == [queries[0].idx]
    for line in ('{"idx": 1', "[1]", '{"idx": 1, "answer": null}'):
        path.write_text(json.dumps(episode(queries[0], None)) + f"\n{line}\n")
        with pytest.raises(InputError, match="line 2"):
            load_episodes(path)


def test_one_query_is_a_split_too(queries, store):
    rows, metrics = score([episode(queries[0], None)], queries[:1], store)
    assert set(metrics["sub_rewards"].values()) == {0} and rows[0]["holes"] == []
    assert metrics["rates"]["official"] == metrics["rates"]["strict"]
