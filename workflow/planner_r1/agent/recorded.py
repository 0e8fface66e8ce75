"""Recorded episodes read back: from lines of `trajectories.jsonl` to the messages that were exchanged.

A line holds an episode as one text, whoever played it: the trainer's decoded tokens, or the turns with an endpoint.
Either way a turn stands below the name of its role. Whether the text was cut in the right places is told from what the
line says of the episode beside it: the number of turns, and the last one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner_r1.agent.turns import read_tool_calls
from planner_r1.errors import InputError
from planner_r1.plan_files import read_records

TURN, USER = "\nassistant\n", "\nuser\n"
FIRST_REPLY, NEXT_REPLY, LAST_REPLY = (
    "\nuser\n<tool_response>\n",
    "\n</tool_response>\n<tool_response>\n",
    "\n</tool_response>",
)
NO_THOUGHT = "<think>\n\n</think>\n\n"  # Qwen3's template without thinking says it for the model
NEEDED = {"text": str, "answer": str, "turns": int}


@dataclass(frozen=True)
class RecordedEpisode:
    """What one line says: the `query` in the user's words, the messages `said` after it by the roles assistant and
    tool, and whether the plan `passed`. `said` is None where the text cannot be taken apart."""

    query: str
    said: list[dict] | None
    passed: bool


def read_recorded(path: str | Path) -> Iterator[RecordedEpisode]:
    """The episodes of a file, in order.

    Raises:
        InputError: the file cannot be read or is empty, or a line is not a scored episode; it names both.
    """
    nothing = True
    for where, episode in read_records(path):
        nothing = False
        yield _read(episode, where)
    if nothing:
        raise InputError(f"{path}: holds no episode; a file of trajectories is expected")


def _read(episode: Mapping[str, Any], where: str) -> RecordedEpisode:
    for key, kind in NEEDED.items():
        if not isinstance(episode.get(key), kind):
            raise InputError(
                f"{where}: no episode of a `trajectories.jsonl`: key '{key}' is missing or of another kind"
            )
    scores = episode.get("sub_rewards")
    if not isinstance(scores, dict) or not isinstance(scores.get("pass"), int | float):
        raise InputError(
            f"{where}: the episode was not scored (key 'sub_rewards' has no 'pass'), so nobody knows whether to learn "
            "it; name trajectories of queries whose constraints are known"
        )
    opening, *turns = episode["text"].split(TURN)
    return RecordedEpisode(opening.rpartition(USER)[2], _said(turns, episode), scores["pass"] == 1)


def _said(turns: list[str], episode: Mapping[str, Any]) -> list[dict] | None:
    """The messages of the turns, each with the replies below it but the last; None where they do not add up."""
    turns = [turn.removeprefix(NO_THOUGHT) for turn in turns]
    if len(turns) != episode["turns"] or turns[-1:] != [episode["answer"]]:
        return None
    said = []
    for turn in turns[:-1]:
        spoken, _, replies = turn.partition(FIRST_REPLY)
        if not read_tool_calls(spoken) or not replies.endswith(LAST_REPLY):
            return None
        said.append({"role": "assistant", "content": spoken})
        texts = replies.removesuffix(LAST_REPLY).split(NEXT_REPLY)
        said += [{"role": "tool", "content": text} for text in texts]
    return [*said, {"role": "assistant", "content": turns[-1]}]
