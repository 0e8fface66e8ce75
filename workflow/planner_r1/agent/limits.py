"""How far an episode may go: the same limits for every agent loop, read from the settings that verl is given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import yaml

from planner_r1.errors import InputError

# The key of verl's configuration that says each limit.
KEYS = {
    "assistant_turns": "actor_rollout_ref.rollout.multi_turn.max_assistant_turns",
    "user_turns": "actor_rollout_ref.rollout.multi_turn.max_user_turns",
    "parallel_calls": "actor_rollout_ref.rollout.multi_turn.max_parallel_calls",
    "reply_chars": "actor_rollout_ref.rollout.multi_turn.max_tool_response_length",
    "truncate_side": "actor_rollout_ref.rollout.multi_turn.tool_response_truncate_side",
    "response_tokens": "data.max_response_length",
}
MARK = "...(truncated)"


@dataclass(frozen=True)
class Limits:
    """The limits of an episode.

    assistant_turns, user_turns: turns of the model, and rounds of replies to it; None for no limit
    parallel_calls: tool calls of a turn that are carried out
    reply_chars: longest reply of a tool in characters; longer ones are cut on the `truncate_side` (left, right, middle)
    response_tokens: tokens of all turns and replies together
    """

    assistant_turns: int | None
    user_turns: int | None
    parallel_calls: int
    reply_chars: int
    truncate_side: str
    response_tokens: int

    def out_of_turns(self, assistant: int, user: int) -> bool:
        """Whether the turn just taken is the last."""
        reached = ((assistant, self.assistant_turns), (user, self.user_turns))
        return any(limit and turns >= limit for turns, limit in reached)

    def truncated(self, reply: str) -> str:
        """A tool's reply, cut and marked as the trainer cuts and marks it."""
        if len(reply) <= self.reply_chars:
            return reply
        if self.truncate_side == "left":
            return "(truncated)..." + reply[-self.reply_chars :]
        if self.truncate_side == "right":
            return reply[: self.reply_chars] + MARK
        half = self.reply_chars // 2
        return reply[:half] + MARK + "..." + reply[-half:]


def read_limits(settings: Iterable[str | Path], overrides: Mapping[str, Any]) -> Limits:
    """The limits that files of verl's settings, the later over the earlier, and overrides by dotted key ask for.

    Raises:
        InputError: neither says a limit.
    """
    layers = [yaml.safe_load(Path(path).read_text(encoding="utf-8")) or {} for path in settings]
    found = {}
    for limit in (f.name for f in fields(Limits)):
        key = KEYS[limit]
        said = [value for tree in layers for value in _said(tree, key)]
        said += [overrides[key]] if key in overrides else []
        if not said:
            raise InputError(f"{', '.join(map(str, settings))}: {key} is missing; an episode needs this limit")
        found[limit] = said[-1]
    return Limits(**found)


def _said(tree: Any, key: str) -> list:
    """The value of a dotted key in a list; an empty one where the key is not there."""
    for part in key.split("."):
        if not isinstance(tree, dict) or part not in tree:
            return []
        tree = tree[part]
    return [tree]
