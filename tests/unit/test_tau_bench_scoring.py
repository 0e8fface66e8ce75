"""Scoring files of episodes: the command, its output, and one clear error for whatever is wrong with a file."""

import json
import sys

import pytest

from planner_r1 import cli
from planner_r1.errors import InputError
from planner_r1.ood.tau_bench.data import Benchmark
from planner_r1.ood.tau_bench.episode import BAD_CALL, DONE, END_REASONS, REJECTED, TURN_LIMIT
from planner_r1.ood.tau_bench.made_up import ShopSpec, write_shop


@pytest.fixture
def folder(tmp_path):
    write_shop(ShopSpec(seed=2, tasks=6), tmp_path / "shop")
    return tmp_path / "shop"


@pytest.fixture
def score(folder, tmp_path, monkeypatch, capsys):
    """Scores lines (objects or raw text); returns exit status, records or None, standard output and error."""

    def score(*lines, data=folder, out=tmp_path / "rewards.jsonl"):
        episodes = tmp_path / "episodes.jsonl"
        texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
        episodes.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
        options = ["--data", data, "--episodes", episodes, "--out", out]
        monkeypatch.setattr(sys, "argv", ["planner-r1", "suite-score", "tau_bench", *map(str, options)])
        status = 0
        try:
            cli.main()
        except SystemExit as end:
            status = end.code or 0
        records = [json.loads(line) for line in out.read_text().splitlines()] if out.is_file() and not status else None
        return status, records, *capsys.readouterr()

    return score


def gold(folder, number):
    task = json.loads((folder / "taubench_retail_tasks_test.json").read_text())[number]
    return {"id": f"test-{number}", "responds": [], "actions": task["actions"]}


def test_rewards_in_the_order_given(score, folder):
    lines = [gold(folder, 3), {"id": "test-0", "actions": []}, gold(folder, 1), gold(folder, 3)]
    status, records, output, _ = score(*lines)
    assert status == 0
    assert [(record["id"], record["reward"]) for record in records] == [
        ("test-3", 1.0),
        ("test-0", 0.0),
        ("test-1", 1.0),
        ("test-3", 1.0),
    ]
    assert set(records[0]) == {"id", "reward", "data_hash", "end_reason", "returned"}
    assert records[1]["data_hash"] == Benchmark(folder).shop.hash()
    assert records[0] == records[3]
    assert [len(record["returned"]) for record in records] == [3, 0, 3, 3]
    assert "4 episodes, 3 passed (75.0%)" in output and "end by themselves" not in output


def test_an_episode_that_was_cut_off_counts_nothing_whatever_it_did(score, folder):
    line = gold(folder, 0)
    given = [{}, *({"end_reason": reason} for reason in END_REASONS)]
    status, records, output, _ = score(*({**line, **ended} for ended in given))
    assert status == 0
    assert [record["end_reason"] for record in records] == [None, *END_REASONS]
    rewards = {record["end_reason"]: record["reward"] for record in records}
    assert rewards == {None: 1.0, DONE: 1.0, TURN_LIMIT: 0.0, BAD_CALL: 0.0, REJECTED: 0.0}
    assert len({(record["data_hash"], *record["returned"]) for record in records}) == 1  # the shop is as it was left
    assert "5 episodes, 2 passed (40.0%)" in output and "3 of them" in output


def test_the_end_changes_no_official_reward_but_that_of_a_cut_off_episode(score, shared_data):
    folder = shared_data / "tau_bench_retail"
    rows = [json.loads(row) for row in (folder / "tau_retail_mutations.jsonl").read_text().splitlines()]
    lines = [{key: row[key] for key in ("id", "responds", "actions")} for row in rows]
    ends = [{"end_reason": (DONE, TURN_LIMIT)[number % 2]} for number in range(len(lines))]
    official = [row["reward"] for row in rows]
    _, untold, *_ = score(*lines, data=folder)
    _, told, *_ = score(*({**line, **end} for line, end in zip(lines, ends, strict=True)), data=folder)
    assert [record["reward"] for record in untold] == official
    assert [record["reward"] for record in told[::2]] == official[::2]
    assert sum(official[1::2]) > 0 and {record["reward"] for record in told[1::2]} == {0.0}
    assert [record["data_hash"] for record in told] == [row["data_hash_at_reward"] for row in rows]


def test_what_follows_a_transfer_is_not_done(score, folder):
    line = gold(folder, 0)
    line["actions"].insert(1, {"name": "transfer_to_human_agents", "kwargs": {"summary": "too hard"}})
    _, (record,), *_ = score(line)
    assert record["reward"] == 0.0
    assert record["returned"][1:] == ["Transfer successful", None, None]


def test_what_is_said_counts(score, folder):
    tasks_file = folder / "taubench_retail_tasks_test.json"
    tasks = json.loads(tasks_file.read_text())
    tasks[0]["outputs"] = ["12.50"]
    tasks_file.write_text(json.dumps(tasks))
    line = gold(folder, 0)
    _, records, *_ = score(line, {**line, "responds": ["Hello", "That makes $12.50."]})
    assert [record["reward"] for record in records] == [0.0, 1.0]


def test_what_a_model_wrote_is_no_fault_of_the_file(score):
    actions = [{"name": "none", "kwargs": {"x": "\ud800"}}, {"name": "get_order_details", "kwargs": {"order_id": []}}]
    status, (record,), *_ = score({"id": "test-0", "actions": actions})
    assert status == 0
    assert record["returned"] == ["Unknown action none", "Error: unhashable type: 'list'"]


@pytest.mark.parametrize(
    "line, complaint",
    [
        ("", "holds no episode"),
        ("{", "line 1: not a JSON object"),
        ("[]", "line 1: expected a JSON object"),
        ({"actions": []}, "line 1: 'id' is missing"),
        ({"id": "test-0"}, "line 1: 'actions' is missing"),
        ({"id": 0, "actions": []}, "line 1: 'id' must be a split and a number, such as test-3, found 0"),
        ({"id": "test-00", "actions": []}, "line 1: 'id' must be"),
        ({"id": "test--1", "actions": []}, "line 1: 'id' must be"),
        ({"id": "test-6", "actions": []}, "line 1: there is no task test-6; test has 6, numbered from 0"),
        ({"id": "dev-0", "actions": []}, "taubench_retail_tasks_dev.json: cannot be read"),
        ({"id": "test-0", "responds": "hello", "actions": []}, "line 1: 'responds' must be a list of texts"),
        ({"id": "test-0", "responds": [5], "actions": []}, "line 1: 'responds' must be a list of texts"),
        ({"id": "test-0", "actions": {}}, "line 1: 'actions' must be a list"),
        ({"id": "test-0", "actions": ["think"]}, "line 1: an action must be an object"),
        ({"id": "test-0", "actions": [{"name": "think"}]}, "line 1: an action must be an object"),
        ({"id": "test-0", "actions": [{"name": 5, "kwargs": {}}]}, "line 1: an action must be an object"),
        ({"id": "test-0", "actions": [], "end_reason": "over"}, "line 1: 'end_reason'"),
        ({"id": "test-0", "actions": [], "end_reason": None}, "line 1: 'end_reason'"),
        ({"id": "test-0", "actions": [], "end_reason": ["done"]}, "line 1: 'end_reason'"),
        ({"id": "test-0", "actions": [], "end_reason": "Done"}, ", ".join(END_REASONS)),
    ],
)
def test_a_wrong_line_is_named_and_nothing_is_written(score, tmp_path, line, complaint):
    out = tmp_path / "rewards.jsonl"
    out.write_text("as it was")
    status, _, _, error = score(line, out=out)
    assert status == 2 and complaint in error and error.count("\n") == 1
    assert out.read_text() == "as it was"


@pytest.mark.parametrize(
    "kwargs, kind",
    [
        ("{'a': 1}", "Python literal"),
        (" {'a': [None, -1.5, (True,)], 'b\\d': {'c'}}\n", "Python literal"),
        ('{"a": None}', "Python literal"),
        ('{"a": 1}', "JSON in a text"),
        ("{'a': __import__('os').getcwd()}", "the text"),  # Python, but not a literal
        ("{'a': b}", "the text"),
        ("{'a': 1", "the text"),
        ("[1]", "the text"),
        ("x", "the text"),
        ("", "the text"),
        ("(" * 9_000, "the text"),
        ("-" * 9_000 + "1", "the text"),
        ("{'a': 1}" + " " * 20_000, "the text"),
        ("{'a': '\x00'}", "the text"),
        ("{'a': '\ud800'}", "the text"),
    ],
)
def test_arguments_in_a_text_are_told_by_what_they_are_written_in(score, kwargs, kind):
    lines = [{"id": "test-0", "actions": []}, {"id": "test-0", "actions": [{"name": "think", "kwargs": kwargs}]}]
    status, records, _, error = score(*lines)
    assert status == 2 and records is None and error.count("\n") == 1 and len(error) < 500
    assert "line 2: 'kwargs' of 'think'" in error and kind in error


def test_the_last_of_many_lines_is_looked_at_before_anything_is_written(score, folder, tmp_path):
    status, *_, error = score(gold(folder, 0), gold(folder, 1), {"id": "test-2"})
    assert status == 2 and "line 3" in error
    assert not (tmp_path / "rewards.jsonl").exists()


def test_a_file_of_the_data_is_not_overwritten(score, folder):
    before = (folder / "users.json").read_text()
    status, *_, error = score({"id": "test-0", "actions": []}, out=folder / "users.json")
    assert status == 2 and "users.json: is read as well" in error
    assert (folder / "users.json").read_text() == before


# --- faults of the data ----------------------------------------------------------------------------------------------


def edit(folder, name, change):
    data = json.loads((folder / name).read_text())
    change(data)
    (folder / name).write_text(json.dumps(data))


def first(records):
    return next(iter(records.values()))


FAULTS = [
    ("users.json", lambda users: first(users).pop("email"), "must contain ['email'] properties"),
    ("users.json", lambda users: first(users)["name"].pop("last_name"), "last_name"),
    ("users.json", lambda users: first(users).update(email=5), "email: must be string; found 5"),
    (
        "users.json",
        lambda users: first(users)["payment_methods"].update(x={"source": "gift_card", "id": "x"}),
        "balance",
    ),
    ("users.json", lambda users: users.clear(), "must contain at least 1 properties"),
    ("orders.json", lambda orders: first(orders).pop("payment_history"), "payment_history"),
    ("orders.json", lambda orders: first(orders)["payment_history"].clear(), "must contain at least 1 items"),
    ("orders.json", lambda orders: first(orders)["payment_history"][0].update(amount="5"), "amount: must be number"),
    ("orders.json", lambda orders: first(orders)["items"][1].pop("price"), "items, 1: must contain ['price']"),
    ("orders.json", lambda orders: first(orders).update(user_id="nobody"), "users.json has no user 'nobody'"),
    ("orders.json", lambda orders: first(orders).update(order_id="#W1"), "its order_id must be the key"),
    (
        "orders.json",
        lambda orders: first(orders)["items"][0].update(product_id="0"),
        "products.json has no product '0'",
    ),
    (
        "orders.json",
        lambda orders: first(orders)["payment_history"][0].update(payment_method_id="x"),
        "no payment method",
    ),
    ("products.json", lambda products: first(first(products)["variants"]).pop("available"), "available"),
    ("products.json", lambda products: first(products).update(variants=[]), "variants: must be object"),
    ("taubench_retail_tasks_test.json", lambda tasks: tasks[4].pop("outputs"), "key 4: must contain ['outputs']"),
    (
        "taubench_retail_tasks_test.json",
        lambda tasks: tasks[4]["actions"][0].update(kwargs=[]),
        "kwargs: must be object",
    ),
    ("tau_retail_tools.json", lambda tools: tools.pop(), "must describe each of the 16 tools once"),
    ("tau_retail_tools.json", lambda tools: tools.append(tools[0]), "must describe each of the 16 tools once"),
    ("tau_retail_tools.json", lambda tools: tools[0].pop("function"), "key 0: must contain ['function']"),
]


@pytest.mark.parametrize("name, change, complaint", FAULTS)
def test_a_fault_of_the_data_is_named_with_its_file_and_key(score, folder, name, change, complaint):
    edit(folder, name, change)
    status, records, _, error = score(gold(folder, 0))
    assert status == 2 and records is None
    assert name in error and complaint in error and error.count("\n") == 1


@pytest.mark.parametrize("name", ["users.json", "policy.md", "taubench_retail_tasks_test.json"])
def test_a_missing_file_is_named(score, folder, name):
    line = gold(folder, 0)
    (folder / name).unlink()
    status, *_, error = score(line)
    assert status == 2 and f"{name}: cannot be read" in error and "expected tau-bench's retail data in" in error


@pytest.mark.parametrize("content", [b"{", b"\xff", b"[" * 100_000])
def test_a_file_that_is_no_json_is_named(folder, content):
    (folder / "users.json").write_bytes(content)
    with pytest.raises(InputError, match=r"users\.json: (is not JSON|not UTF-8 text)"):
        _ = Benchmark(folder).shop
