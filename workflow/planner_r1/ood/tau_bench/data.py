"""Read a folder of tau-bench's retail data.

    users.json, orders.json, products.json   the shop, records by id
    taubench_retail_tasks_SPLIT.json          test, dev, train: what a user wants, and the actions that do it
    tau_retail_tools.json                     the schemas of the tools, for function calling
    policy.md                                 what the agent has to obey

Each is read when it is first needed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import fastjsonschema

from planner_r1.errors import InputError
from planner_r1.ood.tau_bench.shop import Shop
from planner_r1.ood.tau_bench.tools import TOOLS, TRANSFER, call

SCHEMA_FILE = Path(__file__).resolve().parents[2] / "schemas" / "tau_bench.schema.json"
SPLITS = ("test", "dev", "train")
TASKS, TOOL_SCHEMAS, POLICY = "taubench_retail_tasks_{}.json", "tau_retail_tools.json", "policy.md"
TASK_ID = re.compile(rf"({'|'.join(SPLITS)})-(0|[1-9]\d{{0,5}})", re.ASCII)


@dataclass(frozen=True)
class Action:
    """A call of a tool; or "respond" with `content`, words to the user."""

    name: str
    kwargs: Mapping[str, Any]


@dataclass(frozen=True)
class Task:
    """What one user wants.

    id: the split and the number in it from 0, as in "test-3"
    instruction: for who plays the user
    actions: those that do what is wanted
    outputs: what the agent has to say besides
    """

    id: str
    user_id: str
    instruction: str
    actions: tuple[Action, ...]
    outputs: tuple[str, ...]


class Benchmark:
    """The data of a folder. Every property and method raises InputError, naming file and key, for a fault in it."""

    def __init__(self, folder: str | Path):
        self.folder = Path(folder)
        self._tasks: dict[str, list[Task]] = {}
        self._gold_hashes: dict[str, str] = {}

    @cached_property
    def shop(self) -> Shop:
        """The shop as every task finds it; not to be changed, but copied."""
        orders, products, users = (self._read(f"{kind}.json", kind) for kind in ("orders", "products", "users"))
        for order_id, order in orders.items():
            where = f"{self.folder / 'orders.json'}, key {order_id}"
            if order["order_id"] != order_id:
                raise InputError(f"{where}: its order_id must be the key, found {order['order_id']!r:.60}")
            if order["user_id"] not in users:
                raise InputError(f"{where}: users.json has no user {order['user_id']!r:.60}")
            for entry in order["payment_history"]:
                if entry["payment_method_id"] not in users[order["user_id"]]["payment_methods"]:
                    raise InputError(f"{where}: its user has no payment method {entry['payment_method_id']!r:.60}")
            for item in order["items"]:
                if item["product_id"] not in products:
                    raise InputError(f"{where}: products.json has no product {item['product_id']!r:.60}")
        return Shop(orders, products, users)

    @cached_property
    def tools(self) -> list[dict]:
        """The schemas of the tools, for function calling."""
        schemas = self._read(TOOL_SCHEMAS, "tools")
        names = sorted(schema["function"]["name"] for schema in schemas)
        if names != sorted(TOOLS):
            odd = sorted(set(names) ^ set(TOOLS)) or "one of them twice"
            raise InputError(f"{self.folder / TOOL_SCHEMAS}: must describe each of the {len(TOOLS)} tools once: {odd}")
        return schemas

    @cached_property
    def policy(self) -> str:
        """What the agent has to obey: its system prompt."""
        return _text(self.folder / POLICY)

    def tasks(self, split: str) -> list[Task]:
        """The tasks of a split ("test", "dev" or "train")."""
        if split not in self._tasks:
            rows = self._read(TASKS.format(split), "tasks")
            self._tasks[split] = [_task(f"{split}-{number}", row) for number, row in enumerate(rows)]
        return self._tasks[split]

    def gold_hash(self, task: Task) -> str:
        """The data hash that the task's own actions lead to. Some of them end in an error, which counts for nothing."""
        if task.id not in self._gold_hashes:
            shop = self.shop.copy()
            for action in task.actions:
                if action.name != TRANSFER:
                    call(shop, action.name, action.kwargs)
            self._gold_hashes[task.id] = shop.hash()
        return self._gold_hashes[task.id]

    def _read(self, name: str, kind: str) -> Any:
        path = self.folder / name
        try:
            data = json.loads(_text(path))
        except (ValueError, RecursionError) as fault:
            raise InputError(f"{path}: is not JSON ({fault}); fetch the data again") from None
        try:
            _check(kind)(data)
        except fastjsonschema.JsonSchemaValueException as fault:
            place = ", ".join(map(str, fault.path[1:])) or "the file"
            message = fault.message.removeprefix(f"{fault.name} ")
            raise InputError(f"{path}, key {place}: {message:.200}; found {fault.value!r:.60}") from None
        return data


@cache
def _check(kind: str) -> Callable[[Any], Any]:
    """The check of a file against its part of the schema."""
    schema = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    return fastjsonschema.compile({**schema, "$ref": f"#/definitions/{kind}"})


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as fault:
        raise InputError(f"{path}: not UTF-8 text ({fault.reason}); fetch the data again") from None
    except OSError as fault:
        raise InputError(
            f"{path}: cannot be read ({fault.strerror}); expected tau-bench's retail data in {path.parent}"
        ) from None


def _task(task_id: str, row: dict) -> Task:
    actions = tuple(Action(action["name"], action["kwargs"]) for action in row["actions"])
    return Task(task_id, row["user_id"], row["instruction"], actions, tuple(row["outputs"]))
