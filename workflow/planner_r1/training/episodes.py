"""What is recorded of an episode, from verl's dumps to `trajectories.jsonl` and to the metrics of a step."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from planner_r1.plan import parse_answer

# Why an episode ends.
ANSWER = "answer"  # the last turn holds a whole <answer> block
NO_ANSWER = "no_answer"  # the model ended its turn with neither a tool call nor an answer
TURN_LIMIT = "turn_limit"  # the last turn allowed still called a tool
LENGTH = "length"  # the tokens of the episode were used up within a turn of the model
TOOL_OVERFLOW = "tool_overflow"  # a tool's reply did not fit into the tokens that were left
END_REASONS = (ANSWER, NO_ANSWER, TURN_LIMIT, LENGTH, TOOL_OVERFLOW)

SUB_REWARDS = ("schema", "cs_micro", "hard_micro", "cs_macro", "hard_macro", "pass")


def step_metrics(infos: list[dict[str, Any]]) -> dict[str, float]:
    """Means over the episodes of a step: `reward/<sub-reward>`, `end/<reason>` (its share of the episodes), and the
    tool calls an episode made with the share of them that were answered by an error.

    Args:
        infos: what the reward function returned, one entry an episode.
    """
    if not infos:
        return {}
    n = len(infos)
    calls = sum(info["tool_calls"] for info in infos)
    return {
        **{f"reward/{name}": sum(info[name] for info in infos) / n for name in SUB_REWARDS},
        **end_shares([info["end_reason"] for info in infos]),
        "tools/calls": calls / n,
        "tools/error_share": sum(info["tool_errors"] for info in infos) / max(calls, 1),
    }


def end_shares(reasons: list[str]) -> dict[str, float]:
    """The share of each end reason, as `end/<reason>`."""
    return {f"end/{reason}": reasons.count(reason) / len(reasons) for reason in END_REASONS}


def read_dump(path: str | Path) -> list[dict]:
    """The episodes of one of verl's dumps (`<step>.jsonl`) in the form of `trajectories.jsonl`, without the names of
    the run. Ordered by split and query."""
    with open(path, encoding="utf-8") as file:
        episodes = [_episode(json.loads(line)) for line in file]
    return sorted(episodes, key=lambda e: (e["split"], e["idx"]))


def _episode(line: dict) -> dict:
    record = json.loads(line["episode"])
    return {
        "idx": record["idx"],
        "split": record["split"],
        "text": line["input"] + line["output"],
        "tool_calls": record["tool_calls"],
        "answer": record["answer"],
        "plan": parse_answer(record["answer"]).plan,
        "end_reason": line["end_reason"],
        "turns": record["turns"],
        "tokens": record["tokens"],
        "sub_rewards": {name: line[name] for name in SUB_REWARDS} if record["scored"] else None,
        "reward": line["score"] if record["scored"] else None,
    }


def write_lines(path: str | Path, records: Iterable[dict]) -> None:
    """Write JSON lines."""
    with open(path, "w", encoding="utf-8") as file:
        for record in records:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def read_lines(path: str | Path) -> Iterator[dict]:
    """Read JSON lines; a last line that a killed process left unfinished is skipped."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.endswith("\n"):
                yield json.loads(line)
