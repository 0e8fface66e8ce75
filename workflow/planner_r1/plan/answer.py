"""From the agent's last words to a plan: the <answer> block, its JSON, its schema."""

from __future__ import annotations

import re
from dataclasses import dataclass

from planner_r1.plan.json_text import decode, decode_at
from planner_r1.plan.schema import schema_fault

OPEN, CLOSE = "<answer>", "</answer>"
MAX_ANSWER = 50_000  # characters of JSON; a plan of seven days has about 5,000

# A Markdown code fence and nothing else; its content is the group.
_FENCE = re.compile(r"(?:```|~~~)\w*+\s*+(.*?)(?:```|~~~)", re.DOTALL)
# Where JSON seems to begin amid text: an array of objects or an empty one, or else an object.
_ARRAY_START = re.compile(r"\[\s*[{\]]")
_OBJECT_START = re.compile(r'\{\s*["}]')


@dataclass(frozen=True, slots=True)
class ParsedAnswer:
    """Either a plan that satisfies PLAN_SCHEMA, or the reason why there is none."""

    plan: list | None
    reason: str | None


def parse_answer(text) -> ParsedAnswer:
    """Read the last <answer> block of a text, which must hold one JSON plan and nothing else.

    Never raises: whatever a model wrote gives a plan or a reason. Repeated keys, NaN, infinities and overlong numbers,
    which Python's reader would let pass, are faults here.
    """
    block, reason = _last_block(text)
    if reason is None:
        plan, reason = _read_json(block)
    if reason is None and (fault := schema_fault(plan)):
        reason = f"the answer does not fit the schema of a plan: {fault}"
    return ParsedAnswer(None, f"{reason}; this counts as no plan") if reason else ParsedAnswer(plan, None)


def _last_block(text) -> tuple[str, str | None]:
    if not isinstance(text, str):
        return "", f"the answer is not text but {type(text).__name__}"
    if not text.strip():
        return "", "the answer is empty"
    _, opened, rest = text.rpartition(OPEN)
    if not opened:
        return "", f"no {OPEN} block"
    block, closed, _ = rest.partition(CLOSE)
    if not closed:
        return "", f"the {OPEN} block is not closed"
    if len(block) > MAX_ANSWER:
        return "", f"the answer has {len(block):,} characters, at most {MAX_ANSWER:,} are read"
    return block, None


def _read_json(block: str) -> tuple[object, str | None]:
    try:
        return decode(block), None
    except ValueError as fault:
        return None, f"the {OPEN} block holds {_what_instead(block.strip(), fault)}"


def _what_instead(block: str, fault: ValueError) -> str:
    """What a block holds that is not JSON and nothing else."""
    if not block:
        return "nothing"
    if fence := _FENCE.fullmatch(block):
        inner_fault = _fault_of(decode, fence[1])
        return f"a Markdown code fence around {f'invalid JSON ({inner_fault})' if inner_fault else 'JSON'}"
    start = _ARRAY_START.search(block) or _OBJECT_START.search(block)
    if start is None:
        return f"invalid JSON ({fault})" if block[0] in '[{"' else "only text, no JSON"
    inner_fault = _fault_of(decode_at, block, start.start())
    if inner_fault is None:
        return "text around JSON"
    return f"invalid JSON ({fault})" if start.start() == 0 else f"text around invalid JSON ({inner_fault})"


def _fault_of(read, *arguments) -> ValueError | None:
    try:
        read(*arguments)
    except ValueError as fault:
        return fault
    return None
