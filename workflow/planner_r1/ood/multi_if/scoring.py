"""Strict and loose verdicts on replies, and the accuracies of a file of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from planner_r1.errors import InputError
from planner_r1.ood.multi_if.checkers import checker
from planner_r1.ood.multi_if.data import TURNS
from planner_r1.ood.multi_if.instructions import Instruction, patterns, read_instructions
from planner_r1.ood.multi_if.time_limit import OutOfTime, time_limit
from planner_r1.plan_files import read_records

SLOW = re.compile(r"[*+?{|]")  # what the time of a regular expression can explode by
SECONDS = 2.0  # for an instruction with such a one; the suite's own data have none


@dataclass(frozen=True)
class Answer:
    """A model's reply at one turn, and what it was to follow."""

    key: str | int
    turn: int
    instructions: tuple[Instruction, ...]
    response: str


def read_answers(path: str | Path) -> list[Answer]:
    """Read JSON lines with `key`, `turn`, `instruction_id_list`, `kwargs` and `response`, text or null.

    The same key and turn may come again.

    Raises:
        InputError: naming the line and what is wrong with it.
    """
    answers = [_read_answer(where, record) for where, record in read_records(path)]
    if not answers:
        raise InputError(f"{path}: holds no answer")
    return answers


def _read_answer(where: str, record: dict) -> Answer:
    for name in ("key", "turn", "instruction_id_list", "kwargs", "response"):
        if name not in record:
            raise InputError(
                f"{where}: {name!r} is missing; a line needs key, turn, instruction_id_list, kwargs and response"
            )
    key, turn, response = record["key"], record["turn"], record["response"]
    if not isinstance(key, str | int) or isinstance(key, bool):
        raise InputError(f"{where}: 'key' must be text, found {key!r:.60}")
    if type(turn) is not int or turn not in TURNS:
        raise InputError(f"{where}: 'turn' must be 1, 2 or 3, found {turn!r:.60}")
    if not isinstance(response, str | None):
        raise InputError(f"{where}: 'response' must be text or null, found {type(response).__name__}")
    return Answer(key, turn, read_instructions(where, record["instruction_id_list"], record["kwargs"]), response or "")


def score(answer: Answer) -> dict:
    """The verdicts on a reply: key, turn, strict and loose, each a list with one truth value an instruction."""
    strict, loose = judge(answer.instructions, answer.response)
    return {"key": answer.key, "turn": answer.turn, "strict": strict, "loose": loose}


def judge(instructions: Sequence[Instruction], response: str) -> tuple[list[bool], list[bool]]:
    """Whether a reply follows each instruction, strictly and loosely, whatever a model may have written.

    Loosely: as it is, or without its first line, its last line, both, asterisks, or any of these together.

    An instruction whose regular expressions take more than SECONDS is not followed; nor is one at which the official
    code would raise an error.

    Raises:
        ValueError: a regular expression could take long, and this is not the main thread.
    """
    others = [version for version in _versions(response) if version.strip()]
    verdicts = [_judge(instruction, response, others) for instruction in instructions]
    return [strict for strict, _ in verdicts], [loose for _, loose in verdicts]


def _judge(instruction: Instruction, response: str, others: list[str]) -> tuple[bool, bool]:
    follows = checker(instruction)
    could_be_slow = any(map(SLOW.search, patterns(instruction)))
    try:
        with time_limit(SECONDS) if could_be_slow else nullcontext():
            strict = response != "" and bool(follows(response))
            loose = (strict and response.strip() != "") or any(map(follows, others))
    except (OutOfTime, TimeoutError, re.error, RecursionError):  # NLTK bounds its expressions itself
        return False, False
    return strict, loose


def _versions(response: str) -> list[str]:
    """What is looked at besides the reply itself if it is judged loosely, each text once."""
    lines = response.split("\n")
    cut = ["\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1])]
    versions = [*cut, *(text.replace("*", "") for text in (response, *cut))]
    return [version for version in dict.fromkeys(versions) if version != response]


def accuracies(records: Iterable[dict]) -> dict[int, dict[str, float]]:
    """The official accuracies of what `score` gives, by turn.

    Returns:
        for each turn that there is: prompt_strict, the share of replies that follow all of their instructions;
        instruction_strict, the share of all instructions that are followed; prompt_loose and instruction_loose; and
        mean, of these four, the score that the authors report for a turn
    """
    rates = {}
    records = list(records)
    for turn in sorted({record["turn"] for record in records}):
        found = [record for record in records if record["turn"] == turn]
        rates[turn] = {}
        for name in ("strict", "loose"):
            rates[turn][f"prompt_{name}"] = fmean(all(record[name]) for record in found)
            rates[turn][f"instruction_{name}"] = fmean(verdict for record in found for verdict in record[name])
        rates[turn]["mean"] = fmean(rates[turn].values())
    return rates
