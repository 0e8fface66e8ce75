"""From the agent's last words to a plan: the <answer> block, its JSON, its schema."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

from planner_r1.plan.schema import schema_fault

OPEN, CLOSE = "<answer>", "</answer>"
MAX_ANSWER = 50_000  # characters of JSON; a plan of seven days has about 5,000
MAX_DIGITS = 15  # of a number; no cost comes near, and reading longer ones takes ever more time


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
    return ParsedAnswer(None, reason) if reason else ParsedAnswer(plan, None)


def _last_block(text) -> tuple[str, str | None]:
    if not isinstance(text, str):
        return "", f"the answer is no text but {type(text).__name__}"
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
        return _DECODER.decode(block), None
    except RecursionError:
        return None, "the answer is no valid JSON: nested too deeply"
    except ValueError as fault:
        return None, f"the answer is no valid JSON: {fault}"


def _object(pairs: list[tuple[str, object]]) -> dict:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError("a key comes twice in one object")
    return record


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)


def _real(digits: str) -> float:
    if not math.isfinite(number := float(digits)):
        raise ValueError("a number out of range")
    return number


def _constant(word: str):
    raise ValueError(f"{word} is no number")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer, parse_float=_real, parse_constant=_constant)
