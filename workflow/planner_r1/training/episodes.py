"""What is recorded of verl's episodes: from its dumps to `trajectories.jsonl`, and to the metrics of a step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from planner_r1.agent.episodes import BY_PROFILE, END_REASONS, SUB_REWARDS, episode_line


def step_metrics(infos: list[dict[str, Any]]) -> dict[str, float]:
    """Means over the episodes of a step: `reward/<sub-reward>` and final pass and reward under both profiles,
    `end/<reason>` (its share of the episodes), and the tool calls an episode made with the share of them that were
    answered by an error.

    Args:
        infos: what the reward function returned, one entry an episode.
    """
    if not infos:
        return {}
    n = len(infos)
    calls = sum(info["tool_calls"] for info in infos)
    return {
        **{f"reward/{name}": sum(info[name] for info in infos) / n for name in (*SUB_REWARDS, *BY_PROFILE)},
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
    return episode_line(record, line["input"] + line["output"], line if record["scored"] else None)
