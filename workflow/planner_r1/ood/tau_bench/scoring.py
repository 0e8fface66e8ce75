"""Scoring a file of episodes that were played elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from planner_r1.errors import InputError
from planner_r1.ood.tau_bench.data import TASK_ID, Action, Benchmark, Task
from planner_r1.ood.tau_bench.episode import RESPOND, Episode
from planner_r1.plan_files import read_records


@dataclass(frozen=True)
class Played:
    """What an agent did in an episode: the words it said, which all come first, and its actions."""

    task: Task
    responds: tuple[str, ...]
    actions: tuple[Action, ...]


def read_played(path: str | Path, benchmark: Benchmark) -> list[Played]:
    """Read JSON lines with `id` (such as "test-3"), `responds` (texts; may be left out) and `actions` (name, kwargs).

    Raises:
        InputError: naming the line and what is wrong with it, or the file of the benchmark that is faulty.
    """
    played = [_played(where, record, benchmark) for where, record in read_records(path)]
    if not played:
        raise InputError(f"{path}: holds no episode")
    return played


def score(played: Sequence[Played], benchmark: Benchmark) -> list[dict]:
    """The record of each episode: `id`, `reward` (1.0 or 0.0), `data_hash`, and what each action `returned`.

    What would have come after the end of an episode (a transfer to a human) is not done, and returned null.

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
        record = {"id": one.task.id, "reward": reward.value, "data_hash": reward.data_hash, "returned": returned}
        records.append(record)
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
    return Played(tasks[number], tuple(responds), tuple(_action(where, action) for action in actions))


def _action(where: str, action: object) -> Action:
    match action:
        case {"name": str(name), "kwargs": dict(kwargs)}:
            return Action(name, kwargs)
    raise InputError(
        f"{where}: an action must be an object with 'name' (text) and 'kwargs' (object), found {action!r:.60}"
    )
