"""What a lenient reading of an answer would give, to be shown beside the strict reading of `parse_answer`.

The benchmark is scored by the strict reading: nothing here enters a reward or a rate of the benchmark. The lenient one
tells how many plans are lost to their wrapping alone.
"""

from __future__ import annotations

import re

from planner_r1.plan.answer import CLOSE, MAX_ANSWER, OPEN, ParsedAnswer, parse_answer
from planner_r1.plan.json_text import decode_at
from planner_r1.plan.schema import schema_fault

_DAYS_START = re.compile(r"\[\s*\{")


def read_leniently(text) -> ParsedAnswer:
    """Read the plan that satisfies PLAN_SCHEMA in a text, whatever stands around it.

    Where the strict reading gives a plan, this gives the same. Otherwise it takes the one JSON array of objects that
    stands in the last <answer> block, closed or not, or in the whole text where there is no block: in a Markdown code
    fence, amid prose, in another object. Where several stand there, none is taken, since which one is meant would be a
    guess; and JSON is not mended. Takes time linear in the length of the text, and never raises.
    """
    strict = parse_answer(text)
    if strict.plan is not None or not isinstance(text, str):
        return strict
    plan, reason = _one_array(_block(text))
    if reason is None and (fault := schema_fault(plan)):
        reason = f"the JSON does not fit the schema of a plan: {fault}"
    return ParsedAnswer(None, f"no plan in a lenient reading either: {reason}") if reason else ParsedAnswer(plan, None)


def _block(text: str) -> str:
    _, opened, rest = text.rpartition(OPEN)
    return rest.partition(CLOSE)[0] if opened else text


def _one_array(text: str) -> tuple[list | None, str | None]:
    """The JSON array of objects in a text, if it is the only one and not longer than MAX_ANSWER; or why there is none.

    Only one array is ever decoded: the first. So a text of nothing but brackets takes no longer than any other.
    """
    if (found := _DAYS_START.search(text)) is None:
        return None, "there is no JSON array of days"
    start = found.start()
    try:
        plan, length = decode_at(text[start : start + MAX_ANSWER], 0)
    except ValueError as fault:
        return None, f"the JSON is not valid: {fault}"
    if _DAYS_START.search(text, start + length):
        return None, "there are several JSON arrays, and which one is the plan is not clear"
    return plan, None
