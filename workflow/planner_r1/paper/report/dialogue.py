"""An episode's text split into who said what, and a turn of the model into thoughts, calls and answer.

The text comes in Qwen's turn format, or as it is recorded: the same without its special tokens, a role on a line of its
own before what it says. There a role is one only where it can stand: the model writes after a question or tool replies,
and a user within the episode brings tool replies. (A model that writes out a reply of its own making cannot be told
from a tool there.)
"""

from __future__ import annotations

import re
from typing import NamedTuple

SYSTEM, USER, ASSISTANT, TOOL = "system", "user", "assistant", "tool"
# Kinds of parts beside plain text.
TEXT, THOUGHT, CALL, ANSWER, REPLY = "text", "thought", "call", "answer", "reply"


class Part(NamedTuple):
    """A piece of an episode: the role that said it, its kind, its text without the tags around it."""

    role: str
    kind: str
    text: str


_TEMPLATE = re.compile(r"<\|im_start\|>(\w+)\n?(.*?)(?:<\|im_end\|>|(?=<\|im_start\|>)|\Z)", re.DOTALL)
# What ends each role's words in plain text, and whose turn it is then.
_ENDS = {
    SYSTEM: (re.compile(r"\nuser\n"), USER),
    USER: (re.compile(r"\nassistant(?:\n|\Z)"), ASSISTANT),
    ASSISTANT: (re.compile(r"\nuser\n(?=\s*<tool_response>)"), TOOL),
    TOOL: (re.compile(r"(?<=</tool_response>)\s*\nassistant(?:\n|\Z)"), ASSISTANT),
}
_TURN = re.compile(
    r"<think>(?P<thought>.*?)(?:</think>|\Z)"
    r"|<tool_call>(?P<call>.*?)(?:</tool_call>|(?=<tool_call>)|\Z)"
    r"|<answer>(?P<answer>.*?)(?:</answer>|\Z)",
    re.DOTALL,
)
_REPLY = re.compile(r"<tool_response>\n?(?P<reply>.*?)(?:\n?</tool_response>|\Z)", re.DOTALL)


def parts(text: str) -> list[Part]:
    """The pieces of an episode in their order; empty ones are left out."""
    return [part for role, said in messages(text) for part in _pieces(role, said)]


def messages(text: str) -> list[tuple[str, str]]:
    """(role, what it said) in order. Tool replies have the role "tool", whichever role brought them."""
    if "<|im_start|>" in text:
        return [(_role(role, said), said) for role, said in _TEMPLATE.findall(text)]
    return list(_plain(text))


def _plain(text: str):
    role, newline, rest = text.partition("\n")
    if role not in (SYSTEM, USER) or not newline:
        yield USER, text
        return
    while True:
        end, after = _ENDS[role]
        found = end.search(rest)
        if found is None:
            yield role, rest
            return
        yield role, rest[: found.start()]
        role, rest = after, rest[found.end() :]


def _role(role: str, said: str) -> str:
    return TOOL if role == USER and said.lstrip().startswith("<tool_response>") else role


def _pieces(role: str, said: str):
    pattern = {ASSISTANT: _TURN, TOOL: _REPLY}.get(role)
    place = 0
    for found in pattern.finditer(said) if pattern else ():
        yield from _part(role, TEXT, said[place : found.start()])
        yield from _part(role, found.lastgroup, found[found.lastgroup])
        place = found.end()
    yield from _part(role, TEXT, said[place:])


def _part(role: str, kind: str, text: str):
    if text.strip():
        yield Part(role, kind, text.strip("\n"))
