"""The official replies, data hashes and rewards of tau-bench retail: every one of them must be ours."""

import hashlib
import json
from dataclasses import replace

import pytest

from planner_r1.ood.tau_bench.data import Action, Benchmark
from planner_r1.ood.tau_bench.episode import RESPOND, Episode
from planner_r1.ood.tau_bench.tools import TRANSFER, call

TOOL_CALLS, GOLD_RUNS, MUTATIONS = 2_404, 74, 296
# Python's own words, which name a class or depend on its version: they need only the same beginning.
PYTHON_WORDS = ("missing", "unexpected kwarg", "kwarg named data", "wrong type", "expr")


@pytest.fixture(scope="module")
def folder(shared_data):
    return shared_data / "tau_bench_retail"


@pytest.fixture(scope="module")
def benchmark(folder):
    return Benchmark(folder)


def rows(folder, name):
    with open(folder / f"tau_retail_{name}.jsonl", encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def task_of(benchmark, row):
    return benchmark.tasks(row["split"])[row["task_index"]]


def actions_of(row):
    return [Action(action["name"], action["kwargs"]) for action in row["actions"]]


def contents(shop):
    return {**shop.orders, **shop.users}


def written(before, after):
    """Whether a tool has written a record, be it with the content that it had."""
    return any(after[key] is not record for key, record in before.items())


def same(found, official, case):
    if found.startswith("Error: ") and official.startswith("Error: ") and case.startswith(PYTHON_WORDS):
        return found == official or "not callable" not in official
    return found == official


def test_every_reply_of_a_tool_and_what_it_leaves_behind(folder, benchmark):
    seen, wrong = 0, []
    shop = None
    for row in rows(folder, "tool_calls"):
        seen += 1
        if row["kind"] == "single" or row["step"] == 0:  # the calls of a task follow upon each other
            shop = benchmark.shop.copy()
        for earlier in row.get("setup", []):
            assert call(shop, earlier["name"], earlier["kwargs"]) == earlier["returned"]
        before = contents(shop)
        returned = call(shop, row["name"], row["kwargs"])
        if not same(returned, row["returned"], row.get("case") or ""):
            wrong.append((row["id"], returned, row["returned"]))
        if "data_changed" in row and written(before, contents(shop)) != row["data_changed"]:
            wrong.append((row["id"], "data_changed", row["data_changed"]))
        if "data_hash_after" in row and shop.hash() != row["data_hash_after"]:
            wrong.append((row["id"], "data_hash_after"))
    assert wrong == []
    assert seen == TOOL_CALLS


def test_every_gold_run(folder, benchmark):
    found = rows(folder, "gold")
    assert len(found) == GOLD_RUNS
    for row in found:
        task, shop, returned = task_of(benchmark, row), benchmark.shop.copy(), []
        assert list(task.actions) == actions_of(row) and list(task.outputs) == row["outputs"], row["id"]
        assert shop.hash() == row["data_hash_initial"]
        for action in task.actions:
            returned.append(call(shop, action.name, action.kwargs))
        assert [hashlib.sha256(text.encode()).hexdigest() for text in returned] == row["returned_sha256"], row["id"]
        assert shop.hash() == row["data_hash_after"], row["id"]
        assert benchmark.gold_hash(task) == row["gt_data_hash"], row["id"]


# what is said and done for each of the rewards of a gold run
SAID_AND_DONE = {
    "reward_gold": True,
    "reward_no_actions": False,
    "reward_gold_with_outputs": True,
    "reward_gold_with_comma_outputs": True,
    "reward_gold_outputs_split_turns": True,
    "reward_gold_partial_outputs": True,
    "reward_outputs_only": False,
    "reward_gold_upper_outputs": True,
}


def test_every_reward_of_the_gold_runs(folder, benchmark):
    for row in rows(folder, "gold"):
        task = task_of(benchmark, row)
        for name, acts in SAID_AND_DONE.items():
            if name not in row:
                continue
            official = row[name]
            reward, executed, done = play(
                benchmark, task, official.get("responds", []), actions_of(row) if acts else []
            )
            assert (reward.value, info(task, reward)) == (official["reward"], official["info"]), (row["id"], name)
            if "executed" in official:
                assert (executed, done) == (official["executed"], official["done_early"]), (row["id"], name)


def test_every_mutation(folder, benchmark):
    found = rows(folder, "mutations")
    assert len(found) == MUTATIONS
    for row in found:
        task = task_of(benchmark, row)
        reward, executed, done = play(benchmark, task, row["responds"], actions_of(row))
        where = (row["id"], row["variant"])
        assert (reward.value, info(task, reward)) == (row["reward"], row["info"]), where
        assert reward.data_hash == row["data_hash_at_reward"], where
        assert (executed, done) == (row["executed"], row["done_early"]), where


def play(benchmark, task, responds, actions):
    """The reward, the number of actions until the end, and whether one of them ended the episode."""
    episode, executed = Episode(benchmark), 0
    episode.reset(task)
    for words in responds:
        episode.step(Action(RESPOND, {"content": words}))
    for action in actions:
        executed += 1
        step = episode.step(action)
        if step.done:
            return step.reward, executed, True
    return episode.reward(), executed, False


def info(task, reward):
    """A reward as the benchmark words it: of a task with outputs it tells of these alone."""
    if task.outputs:
        return {"r_outputs": float(all(reward.outputs.values())), "outputs": reward.outputs}
    return {"r_actions": float(reward.data_hash == reward.gold_hash), "gt_data_hash": reward.gold_hash}


def test_the_handed_schemas_and_tasks_are_read_whole(benchmark):
    assert [len(benchmark.tasks(split)) for split in ("test", "dev", "train")] == [115, 20, 500]
    assert benchmark.policy.startswith("# Retail agent policy")
    assert len(benchmark.tools) == 16


def test_a_transfer_among_the_gold_actions_is_not_replayed(benchmark):
    with_transfer = [task for task in benchmark.tasks("test") if any(a.name == TRANSFER for a in task.actions)]
    assert len(with_transfer) == 4
    for task in with_transfer:
        without = replace(task, id=f"{task.id} without", actions=task.actions[:-1])
        assert benchmark.gold_hash(task) == benchmark.gold_hash(without)
