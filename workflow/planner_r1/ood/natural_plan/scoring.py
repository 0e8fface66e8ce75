"""A file of tasks, a file of answers, and the scores of the answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from planner_r1.errors import InputError
from planner_r1.ood.natural_plan.calendar import Calendar
from planner_r1.ood.natural_plan.fields import Fields, Task, UnreadableTask
from planner_r1.ood.natural_plan.meeting import Meeting
from planner_r1.ood.natural_plan.trip import Trip
from planner_r1.plan_files import read_records

TASKS: dict[str, type[Task]] = {"trip": Trip, "meeting": Meeting, "calendar": Calendar}


def load_tasks(path: str | Path, task: str) -> dict[str, Task]:
    """Read a data file in the official layout: an object of examples by key, in their order.

    Args:
        task: trip, meeting or calendar

    Raises:
        InputError: naming the file, the example and the field that is missing or wrong.
    """
    examples = _load_json(Path(path))
    if not isinstance(examples, dict) or not examples:
        raise InputError(f"{path}: expected a JSON object of examples by key, as the official data files are")
    tasks = {}
    for key, values in examples.items():
        where = f"{path}, example {key!r}"
        if not isinstance(values, dict):
            raise InputError(f"{where}: expected an object of fields, found {type(values).__name__}")
        tasks[key] = TASKS[task].read(key, Fields(where, values))
    return tasks


def _load_json(path: Path):
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as fault:
        raise InputError(f"{path}: not UTF-8 text ({fault.reason}); take the official file as it is") from None
    except (ValueError, RecursionError) as fault:
        raise InputError(f"{path}: not JSON ({fault}); is the file whole?") from None
    except OSError as fault:
        raise InputError(f"{path}: cannot be read ({fault.strerror}); expected an official data file") from None


def read_answers(path: str | Path, tasks: Mapping[str, Task]) -> list[tuple[str, str]]:
    """Read JSON lines with `id`, the key of an example, and `answer`, text or null; the same id may come again.

    Raises:
        InputError: naming the line and what is wrong with it.
    """
    answers = []
    for where, record in read_records(path):
        for name in ("id", "answer"):
            if name not in record:
                raise InputError(f"{where}: {name!r} is missing; a line needs 'id' and 'answer'")
        key, answer = record["id"], record["answer"]
        if not isinstance(key, str) or key not in tasks:
            raise InputError(f"{where}: there is no example {key!r:.80} in the data file; is it that of another task?")
        if not isinstance(answer, str | None):
            raise InputError(f"{where}: 'answer' must be text or null, found {type(answer).__name__}")
        answers.append((key, answer or ""))
    if not answers:
        raise InputError(f"{path}: holds no answer")
    return answers


def score(task: Task, answer: str) -> dict:
    """The scores of an answer, whatever a model may have written.

    Returns:
        id; score, the official exact match, 1.0 or 0.0; valid, whether the plan keeps the constraints, or None where
        the prompt does not state them in the suite's wording; reason, why the answer misses either, or None
    """
    exact, miss = task.official_score(answer)
    try:
        fault = task.fault(answer)
        valid = fault is None
    except UnreadableTask as unknown:
        fault, valid = str(unknown), None
    verdict = "validity unknown" if valid is None else "not valid"
    reasons = [miss and f"score: {miss}", fault and f"{verdict}: {fault}"]
    return {"id": task.id, "score": exact, "valid": valid, "reason": "; ".join(filter(None, reasons)) or None}
