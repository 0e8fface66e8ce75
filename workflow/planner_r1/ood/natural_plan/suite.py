"""NaturalPlan as a suite: the official five-shot prompt in, one answer out, exact match."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from planner_r1.endpoint.client import Rejected
from planner_r1.ood.natural_plan.made_up import make_examples
from planner_r1.ood.natural_plan.scoring import TASKS, load_tasks, score
from planner_r1.ood.suite import Chat, Suite, drawn
from planner_r1.ood.thinking import prepare_answer

FILES = {"trip": "trip_planning.json", "meeting": "meeting_planning.json", "calendar": "calendar_scheduling.json"}


class NaturalPlan(Suite):
    """The items are named after task and example, such as "trip trip_planning_example_3"."""

    name = "natural_plan"
    metrics: ClassVar = {"np_trip": 1600, "np_meeting": 1000, "np_calendar": 1000}

    def __init__(self, folder: Path):
        self._tasks = {task: load_tasks(folder / FILES[task], task) for task in TASKS}
        self._folder = folder

    @classmethod
    def make_up(cls, folder: Path, size: int, seed: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for task, name in FILES.items():
            text = json.dumps(make_examples(task, size, seed), indent=1)
            (folder / name).write_text(text + "\n", encoding="utf-8")

    def items(self, count: int | None, seed: int) -> list[str]:
        found = []
        for task, examples in self._tasks.items():
            found += drawn([f"{task} {id_}" for id_ in examples], count, seed, self._folder / FILES[task])
        return found

    async def answer(self, item: str, chat: Chat, user: Chat | None) -> dict:
        prompt = self._task(item).prompt(shots=5)
        try:
            reply = await chat.say([{"role": "user", "content": prompt}])
        except Rejected as rejection:
            return {"answer": "", "rejection": str(rejection)}
        return {"answer": reply.text, "finish_reason": reply.finish_reason}

    def score(self, answers: Sequence[Mapping]) -> tuple[list[dict], dict]:
        """Exact match, on answers without what was thought, of which `thinking` tells how many there were."""
        rows = []
        for answer in answers:
            text, thought = prepare_answer(answer["answer"])
            verdict = score(self._task(answer["item"]), text)
            rows.append(
                {
                    "metric": f"np_{answer['item'].partition(' ')[0]}",
                    "item": answer["item"],
                    "repeat": answer["repeat"],
                    "value": verdict["score"],
                    "valid": verdict["valid"],
                    "reason": verdict["reason"] if answer.get("rejection") is None else answer["rejection"],
                    "thought": thought,
                }
            )
        return rows, {
            "thinking": _thinking(rows),
            "validity": {metric: _validity(rows, metric) for metric in self.metrics},
        }

    def _task(self, item: str):
        task, _, id_ = item.partition(" ")
        return self._tasks[task][id_]


def _thinking(rows: Sequence[Mapping]) -> dict:
    """How many answers held text that was thought; it is taken away, as the official scorer knows nothing of it."""
    return {"answers": len(rows), "with_thinking": sum(row["thought"] for row in rows)}


def _validity(rows: Sequence[Mapping], metric: str) -> dict:
    """The share of plans that keep the constraints, golden or not, among those of which it can be told."""
    told = [row["valid"] for row in rows if row["metric"] == metric and row["valid"] is not None]
    unknown = sum(row["metric"] == metric and row["valid"] is None for row in rows)
    return {"rate": sum(told) / len(told) if told else None, "unknown": unknown}
