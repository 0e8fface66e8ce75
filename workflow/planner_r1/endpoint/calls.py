"""Tool calls as a service hands them over, and as they go back to it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from planner_r1.agent.turns import ToolCall
from planner_r1.endpoint.client import Reply


def native_calls(reply: Reply, turn: int) -> list[ToolCall]:
    """The calls that a reply holds apart from its text, each with an id of its own; `turn` makes one where it lacks."""
    ids = [call.get("id") for call in reply.tool_calls]
    if len({id_ for id_ in ids if isinstance(id_, str) and id_}) < len(ids):
        ids = [f"call_{turn}_{i}" for i in range(len(ids))]
    return [_native_call(call, id_) for call, id_ in zip(reply.tool_calls, ids, strict=True)]


def _native_call(call: dict, id_: str) -> ToolCall:
    """A call as the service hands it over. Arguments are JSON text there, and left as they are where they are not."""
    function = call.get("function")
    name = function.get("name") if isinstance(function, dict) else None
    if not isinstance(name, str):
        return ToolCall(error="The tool call names no tool.", id=id_)
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        with suppress(ValueError, RecursionError):  # the tool says what is wrong
            arguments = json.loads(arguments)
    return ToolCall(name=name, arguments=arguments, id=id_)


def assistant_message(reply: Reply, calls: Sequence[ToolCall]) -> dict[str, Any]:
    """A turn as it goes back to the service, with these of its calls.

    Services refuse a history whose arguments are no JSON object or whose names are none; the reply to such a call says
    what was wrong with it.
    """
    if not calls or calls[0].id is None:
        return {"role": "assistant", "content": reply.text}
    functions = [
        {
            "name": re.sub(r"[^\w-]", "_", call.name or "", flags=re.ASCII)[:64] or "_",
            "arguments": json.dumps(call.arguments if isinstance(call.arguments, dict) else {}, ensure_ascii=False),
        }
        for call in calls
    ]
    return {
        "role": "assistant",
        "content": reply.text or None,
        "tool_calls": [
            {"id": call.id, "type": "function", "function": function}
            for call, function in zip(calls, functions, strict=True)
        ],
    }
