"""A model that answers made-up suites by script: right, wherever the suite itself says what is right."""

from __future__ import annotations

import json
from pathlib import Path

from helpers.scripted_endpoint import native, says
from planner_r1.endpoint.client import Endpoint
from planner_r1.ood.answers import AnswersSpec, Asked
from planner_r1.ood.suites import SUITES
from planner_r1.ood.tau_bench.data import Benchmark

SIZE = 3
REPLY = "a small reply."


def make_up_all(folder: Path, size: int = SIZE) -> dict[str, Path]:
    """Made-up data of every suite; gives their folders."""
    folders = {name: folder / name for name in SUITES}
    for name, suite in SUITES.items():
        suite.make_up(folders[name], size, seed=0)
    return folders


def spec(server, folders: dict[str, Path], tmp_path: Path, **more) -> AnswersSpec:
    """The suites of these folders, put to a scripted server."""
    asked = {name: Asked(folder) for name, folder in folders.items()}
    endpoint = Endpoint("models.big.endpoint", server.url, "m", retries=0, concurrency=2)
    return AnswersSpec("big/base/seed0/step0", endpoint, asked, tmp_path / "w", tmp_path / "out", **more)


def right(folders: dict[str, Path]):
    """The script: golden plans, the task's own actions, and REPLY to anything else."""
    golden, plays = {}, {}
    if "natural_plan" in folders:
        for file in folders["natural_plan"].glob("*.json"):
            for example in json.loads(file.read_text()).values():
                plan = example["golden_plan"]
                golden[example["prompt_5shot"]] = plan if isinstance(plan, str) else f"SOLUTION: {' '.join(plan)}"
    if "tau_bench" in folders:
        for task in Benchmark(folders["tau_bench"]).tasks("test"):
            *reads, write = [native(action.name, dict(action.kwargs)) for action in task.actions]
            plays[task.instruction] = [*reads, "Shall I do that?", write, "Done.", "Goodbye."]

    def script(body: dict) -> dict:
        messages = body["messages"]
        if body.get("tools"):
            turn = sum(message["role"] == "assistant" for message in messages)
            move = plays[messages[1]["content"]][turn]
            return says(move) if isinstance(move, str) else says(None, [move])
        return says(golden.get(messages[-1]["content"], REPLY))

    return script


def asked_of(body: dict) -> str:
    """All that a request says, as one text: two requests are the same where this is."""
    return json.dumps([body["messages"], body.get("seed")])
