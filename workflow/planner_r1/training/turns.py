"""Reading one turn of the model: its tool calls, well-formed or not, and whether it answers.

The syntax is Hermes' as Qwen3 writes it: `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

CALL = re.compile(r"<tool_call>(.*?)(</tool_call>|(?=<tool_call>)|\Z)", re.DOTALL)
ANSWER = re.compile(r"<answer>.*?</answer>", re.DOTALL)
SHAPE = 'write <tool_call>{"name": "...", "arguments": {...}}</tool_call>'


@dataclass(frozen=True)
class ToolCall:
    """A call as the model wrote it: either `name` and `arguments` (any JSON value), or `error`, which says what is
    wrong with it in words for the model."""

    name: str | None = None
    arguments: Any = None
    error: str | None = None


def read_tool_calls(text: str) -> list[ToolCall]:
    """Every attempt at a tool call in a turn, in order."""
    return [_read(body, closing) for body, closing in CALL.findall(text)]


def has_answer(text: str) -> bool:
    """Whether a turn holds a whole `<answer>` block, whatever stands in it."""
    return ANSWER.search(text) is not None


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
