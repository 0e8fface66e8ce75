"""Reading one turn of the model: its tool calls, well-formed or not, whether it answers, and whether it is the last.

The syntax is Hermes' as Qwen3 writes it: `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`. Every agent loop
reads turns here, so that a model meets the same words whoever plays the episode.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from planner_r1.agent import episodes

CALL = re.compile(r"<tool_call>(.*?)(</tool_call>|(?=<tool_call>)|\Z)", re.DOTALL)
ANSWER = re.compile(r"<answer>.*?</answer>", re.DOTALL)
SHAPE = 'write <tool_call>{"name": "...", "arguments": {...}}</tool_call>'


@dataclass(frozen=True)
class ToolCall:
    """A call as the model wrote it: either `name` and `arguments` (any JSON value), or `error`, which says what is
    wrong with it in words for the model. `id` is a service's name for a call that it hands over apart from the text."""

    name: str | None = None
    arguments: Any = None
    error: str | None = None
    id: str | None = None


def read_tool_calls(text: str) -> list[ToolCall]:
    """Every attempt at a tool call in a turn, in order."""
    return [_read(body, closing) for body, closing in CALL.findall(text)]


def has_answer(text: str) -> bool:
    """Whether a turn holds a whole `<answer>` block, whatever stands in it."""
    return ANSWER.search(text) is not None


def end_reason(text: str, calls: Sequence[ToolCall], *, out_of_tokens: bool, out_of_turns: bool) -> str | None:
    """Why an episode ends with this turn; None where its calls are to be carried out.

    Args:
        text: what counts of the turn, without what lies beyond the tokens of the episode.
    """
    if calls and not out_of_tokens and not out_of_turns:
        return None
    if has_answer(text):
        return episodes.ANSWER
    if out_of_tokens:
        return episodes.LENGTH
    return episodes.TURN_LIMIT if calls else episodes.NO_ANSWER


def error_reply(text: str) -> str:
    """A reply that says what is wrong with a call, in the form in which the tools report their errors."""
    return json.dumps({"error": text}, ensure_ascii=False, separators=(",", ":"))


def surplus_reply(surplus: int, allowed: int) -> str:
    """The reply to the `surplus` calls of a turn beyond the `allowed` ones."""
    calls = "one tool call" if allowed == 1 else f"{allowed} tool calls"
    return error_reply(f"Only {calls} a turn: the other {surplus} of this turn were not carried out.")


def _read(body: str, closing: str) -> ToolCall:
    if not closing:
        return ToolCall(error=f"The tool call is not closed by </tool_call>; {SHAPE}.")
    try:
        call = json.loads(body)
    except (ValueError, RecursionError):
        return ToolCall(error=f"The tool call is not valid JSON; {SHAPE}.")
    if not isinstance(call, dict) or not isinstance(call.get("name"), str):
        return ToolCall(error=f"The tool call names no tool; {SHAPE}.")
    if "arguments" not in call:
        return ToolCall(error=f"The tool call has no arguments; {SHAPE}.")
    return ToolCall(name=call["name"], arguments=call["arguments"])
