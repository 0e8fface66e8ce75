"""The suite's CSV file of conversations, and what a model is given at each turn."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from planner_r1.errors import InputError
from planner_r1.ood.multi_if.instructions import Instruction, read_instructions

TURNS = (1, 2, 3)
LANGUAGE = "English"


@dataclass(frozen=True)
class Turn:
    """What the user says, and the instructions that a reply must follow: this turn's and those of the turns before."""

    prompt: str
    instructions: tuple[Instruction, ...]


@dataclass(frozen=True)
class Conversation:
    """A conversation of up to three turns; a few of the suite have two."""

    key: str
    turns: tuple[Turn, ...]

    def messages(self, replies: Sequence[str]) -> list[dict[str, str]]:
        """What a model is given for its next reply: the user's turns up to that one, its own replies between them.

        Args:
            replies: its replies to the turns before, without thinking; fewer than there are turns

        Returns:
            chat messages, each with role and content
        """
        messages = []
        for turn, reply in zip(self.turns, replies, strict=False):
            messages.append({"role": "user", "content": turn.prompt})
            messages.append({"role": "assistant", "content": reply})
        return [*messages, {"role": "user", "content": self.turns[len(replies)].prompt}]


def load_conversations(path: str | Path) -> list[Conversation]:
    """Read the English conversations of a file in the official layout, in its order.

    Raises:
        InputError: naming the file, the row (the first below the header is row 1) and the column that is wrong.
    """
    conversations: dict[str, Conversation] = {}
    for number, row in enumerate(_read_rows(Path(path)), start=1):
        if row["language"] != LANGUAGE:
            continue
        where = f"{path}, row {number}"
        key = row["key"]
        if not key or key in conversations:
            raise InputError(f"{where}, column 'key': must be another one in each row, found {key!r:.60}")
        turns = _read_turns(where, row)
        conversations[key] = Conversation(key, turns)
    if not conversations:
        raise InputError(f"{path}: holds no conversation whose 'language' is {LANGUAGE}")
    return list(conversations.values())


def _columns(turn: int) -> tuple[str, str, str]:
    return f"turn_{turn}_prompt", f"turn_{turn}_instruction_id_list", f"turn_{turn}_kwargs"


def _read_rows(path: Path) -> list[dict[str, str]]:
    wanted = {"key", "language", *(name for turn in TURNS for name in _columns(turn))}
    try:
        with open(path, encoding="utf-8-sig", newline="") as f:
            reader = csv.DictReader(f, strict=True)
            missing = sorted(wanted - set(reader.fieldnames or ()))
            if missing:
                raise InputError(f"{path}: the column {missing[0]!r} is missing; expected Multi-IF's official CSV file")
            rows = list(reader)
    except UnicodeDecodeError as fault:
        raise InputError(f"{path}: not UTF-8 text ({fault.reason}); take the official file as it is") from None
    except csv.Error as fault:
        raise InputError(f"{path}: not a CSV file ({fault}, near line {reader.line_num}); is the file whole?") from None
    except OSError as fault:
        raise InputError(f"{path}: cannot be read ({fault.strerror}); expected Multi-IF's official CSV file") from None
    for number, row in enumerate(rows, start=1):
        if None in row or None in row.values():
            expected = len(reader.fieldnames)
            raise InputError(f"{path}, row {number}: has not the header's {expected} columns; is the file whole?")
    return rows


def _read_turns(where: str, row: dict[str, str]) -> tuple[Turn, ...]:
    turns: list[Turn] = []
    for number in TURNS:
        prompt, ids, kwargs = _columns(number)
        if not row[prompt]:  # the official code leaves such a turn out
            continue
        if len(turns) != number - 1:
            raise InputError(f"{where}, column 'turn_{number - 1}_prompt': is empty, but turn {number} is there")
        text = _read_prompt(f"{where}, column {prompt!r}", row[prompt])
        place = f"{where}, columns {ids!r} and {kwargs!r}"
        turns.append(Turn(text, read_instructions(place, row[ids], row[kwargs])))
    if not turns:
        raise InputError(f"{where}, column 'turn_1_prompt': is empty; a conversation has at least one turn")
    return tuple(turns)


def _read_prompt(where: str, text: str) -> str:
    """The content of a prompt, which is the JSON text of a chat message."""
    try:
        message = json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise InputError(f"{where}: not JSON ({fault}); expected a chat message with role and content") from None
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, str) or not content.strip():
        raise InputError(f"{where}: expected a chat message with role and content, found {text!r:.60}")
    return content
