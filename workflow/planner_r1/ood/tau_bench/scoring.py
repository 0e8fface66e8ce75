"""Scoring a file of episodes that were played elsewhere."""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from planner_r1.errors import InputError
from planner_r1.ood.tau_bench.data import TASK_ID, Action, Benchmark, Task
from planner_r1.ood.tau_bench.episode import BAD_CALL, DONE, END_REASONS, RESPOND, Episode
from planner_r1.plan_files import read_records

# What the syntax tree of a Python literal is made of.
LITERAL = (ast.Expression, ast.Dict, ast.List, ast.Tuple, ast.Set, ast.Constant, ast.UnaryOp, ast.USub, ast.Load)
LONGEST = 10_000  # characters of a text that is looked at for a Python literal


@dataclass(frozen=True)
class Played:
    """What an agent did in an episode: the words it said, which all come first, and its actions.

    end_reason: one of END_REASONS, or None where nothing is said of how the episode ended
    """

    task: Task
    responds: tuple[str, ...]
    actions: tuple[Action, ...]
    end_reason: str | None = None

    @property
    def cut_off(self) -> bool:
        """Whether it did not end by itself; the benchmark then counts 0, whatever was done."""
        return self.end_reason not in (None, DONE)


def read_played(path: str | Path, benchmark: Benchmark) -> list[Played]:
    """Read JSON lines with `id` (such as "test-3"), `responds` (texts), `actions` (name, kwargs) and `end_reason`.

    `responds` and `end_reason` may be left out.

    Raises:
        InputError: naming the line and what is wrong with it, or the file of the benchmark that is faulty.
    """
    played = [_played(where, record, benchmark) for where, record in read_records(path)]
    if not played:
        raise InputError(f"{path}: holds no episode")
    return played


def score(played: Sequence[Played], benchmark: Benchmark) -> list[dict]:
    """The record of each episode: `id`, `reward` (1.0 or 0.0), `data_hash`, `end_reason`, what each action `returned`.

    What would have come after the end of an episode (a transfer to a human) is not done, and returned null. An episode
    that was cut off has reward 0.0.

    Raises:
        InputError: there is a fault in the benchmark's files.
    """
    episode, records = Episode(benchmark), []
    for one in played:
        episode.reset(one.task)
        for words in one.responds:
            episode.step(Action(RESPOND, {"content": words}))
        returned, reward = [], None
        for action in one.actions:
            if reward is not None:
                returned.append(None)
                continue
            step = episode.step(action)
            returned.append(step.observation)
            reward = step.reward
        reward = reward or episode.reward()
        record = {"id": one.task.id, "reward": 0.0 if one.cut_off else reward.value, "data_hash": reward.data_hash}
        records.append(record | {"end_reason": one.end_reason, "returned": returned})
    return records


def _played(where: str, record: dict, benchmark: Benchmark) -> Played:
    for name in ("id", "actions"):
        if name not in record:
            raise InputError(f"{where}: {name!r} is missing; a line needs 'id' and 'actions'")
    task_id, responds, actions = record["id"], record.get("responds", []), record["actions"]
    match = TASK_ID.fullmatch(task_id) if isinstance(task_id, str) else None
    if match is None:
        raise InputError(f"{where}: 'id' must be a split and a number, such as test-3, found {task_id!r:.60}")
    tasks, number = benchmark.tasks(match[1]), int(match[2])
    if number >= len(tasks):
        raise InputError(f"{where}: there is no task {task_id}; {match[1]} has {len(tasks)}, numbered from 0")
    if not isinstance(responds, list) or not all(isinstance(words, str) for words in responds):
        raise InputError(f"{where}: 'responds' must be a list of texts, found {responds!r:.60}")
    if not isinstance(actions, list):
        raise InputError(f"{where}: 'actions' must be a list, found {actions!r:.60}")
    if "end_reason" in record and record["end_reason"] not in END_REASONS:
        raise InputError(
            f"{where}: 'end_reason' must be one of {', '.join(END_REASONS)}, found {record['end_reason']!r:.60}; leave "
            "it out where it is not known"
        )
    done = tuple(_action(where, action) for action in actions)
    return Played(tasks[number], tuple(responds), done, record.get("end_reason"))


def _action(where: str, action: object) -> Action:
    match action:
        case {"name": str(name), "kwargs": dict(kwargs)}:
            return Action(name, kwargs)
        case {"name": str(name), "kwargs": str(text)}:
            raise InputError(f"{where}: 'kwargs' of {name!r:.60} must be an object, found {_text_instead(text)}")
    raise InputError(
        f"{where}: an action must be an object with 'name' (text) and 'kwargs' (object), found {action!r:.60}"
    )


def _text_instead(text: str) -> str:
    """What a text holds that stands in place of an object, and what to do."""
    try:
        kind = "JSON" if isinstance(json.loads(text), dict) else None
    except (ValueError, RecursionError):
        kind = "a Python literal" if _is_python_literal(text) else None
    if kind is None:
        return f"the text {text!r:.60}"
    return (
        f"{kind} in a text, {text!r:.60}; give the object itself, or, where the agent wrote what is not JSON, leave "
        f"the call out and say 'end_reason': {BAD_CALL!r}"
    )


def _is_python_literal(text: str) -> bool:
    """Whether a text is one; told from its syntax tree, nothing is evaluated."""
    if len(text) > LONGEST:
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes that Python does not know
            tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return all(isinstance(node, LITERAL) for node in ast.walk(tree))
