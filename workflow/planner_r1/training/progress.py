"""One line a step while verl trains, read from the metrics that it writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from planner_r1.console import duration, say

VALIDATION = "val-core/"


class MetricsFollower:
    """Reads the lines that were added to a growing file of metrics since the last look."""

    def __init__(self, path: Path):
        self._path, self._offset = path, 0

    def new_records(self) -> list[dict]:
        """The records completed since the last call; none while the file does not exist."""
        try:
            with open(self._path, "rb") as file:
                file.seek(self._offset)
                added = file.read()
        except FileNotFoundError:
            return []
        whole = added[: added.rfind(b"\n") + 1]
        self._offset += len(whole)
        return [json.loads(line) for line in whole.splitlines()]


class Progress:
    """Turns records of metrics into lines for a person: step, reward, pass rate, time a step, time left."""

    def __init__(self, name: str, last_step: int, report: Callable[[str], None] = say):
        self._name, self._last, self._report = name, last_step, report
        self._seconds: list[float] = []

    def show(self, record: dict) -> None:
        """Report one record as verl's file logger writes it: {"step": ..., "data": {...}}."""
        self._report(f"{self._name}: {self.line(record['step'], record['data'])}")

    def line(self, step: int, data: dict[str, Any]) -> str:
        parts = [f"step {step}/{self._last}"]
        if "timing_s/step" in data:
            self._seconds.append(data["timing_s/step"])
            recent = self._seconds[-10:]
            pace = sum(recent) / len(recent)
            parts += [f"reward {data['critic/score/mean']:.3f}", f"pass {data['reward/pass']:.3f}"]
            parts += [f"{self._seconds[-1]:.1f} s", f"{duration(pace * (self._last - step))} left"]
        validation = {k.removeprefix(VALIDATION).split("/")[1]: v for k, v in data.items() if k.startswith(VALIDATION)}
        if validation:
            passed = next((v for k, v in data.items() if k.startswith("val-aux/") and "/pass/mean" in k), None)
            parts.append(f"validation reward {validation['reward']:.3f}")
            parts += [f"pass {passed:.3f}"] if passed is not None else []
        return ", ".join(parts)
