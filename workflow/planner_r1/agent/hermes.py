"""Tools in plain text, as Qwen3's chat template puts them: for endpoints that read no tool schemas themselves.

A system message with the tools in it and replies inside a user message become, under that template, the very text
that it makes of tool schemas and tool messages.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

_TOOLS = """# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{schemas}
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{{"name": <function-name>, "arguments": <args-json-object>}}
</tool_call>"""


def system_text(text: str, schemas: Sequence[dict]) -> str:
    """The system prompt with the tools' schemas after it."""
    lines = "\n".join(json.dumps(schema, ensure_ascii=False) for schema in schemas)
    return f"{text}\n\n{_TOOLS.format(schemas=lines)}"


def replies_text(replies: Sequence[str]) -> str:
    """The replies to a turn's calls as one message of the user."""
    return "\n".join(f"<tool_response>\n{reply}\n</tool_response>" for reply in replies)
