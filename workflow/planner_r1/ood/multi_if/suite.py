"""Multi-IF as a suite: three turns a conversation, each with all that was said so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from planner_r1.endpoint.client import Rejected
from planner_r1.ood.multi_if.data import TURNS, load_conversations
from planner_r1.ood.multi_if.made_up import make_conversations, write_conversations
from planner_r1.ood.multi_if.scoring import accuracies, judge
from planner_r1.ood.suite import Chat, Suite, drawn
from planner_r1.ood.thinking import prepare_answer

FILE = "multiIF_20241018_english.csv"


class MultiIf(Suite):
    """The items are conversations, named by their keys."""

    name = "multi_if"
    metrics: ClassVar = {"mif_turn1": 909, "mif_turn2": 909, "mif_turn3": 896}

    def __init__(self, folder: Path):
        self._conversations = {c.key: c for c in load_conversations(folder / FILE)}
        self._folder = folder

    @classmethod
    def make_up(cls, folder: Path, size: int, seed: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        write_conversations(folder / FILE, make_conversations(size, seed))

    def items(self, count: int | None, seed: int) -> list[str]:
        return drawn(list(self._conversations), count, seed, self._folder / FILE)

    async def answer(self, item: str, chat: Chat, user: Chat | None) -> dict:
        """`replies`, one a turn. A turn that the service rejects has an empty one, and so have those after it."""
        conversation = self._conversations[item]
        replies: list[dict] = []
        for _ in conversation.turns:
            said = [prepare_answer(reply["response"])[0] for reply in replies]
            try:
                reply = await chat.say(conversation.messages(said))
            except Rejected as rejection:
                unanswered = {"response": "", "rejection": str(rejection)}
                replies += [unanswered] * (len(conversation.turns) - len(replies))
                break
            replies.append({"response": reply.text, "finish_reason": reply.finish_reason})
        return {"replies": replies}

    def score(self, answers: Sequence[Mapping]) -> tuple[list[dict], dict]:
        """The official verdicts on replies without what was thought.

        A turn's score is the mean of four accuracies. Two are shares of replies and two of instructions; `value` is
        what a reply adds to the sum of both, so that the mean of the values is the score.
        """
        records = []
        for answer in answers:
            conversation = self._conversations[answer["item"]]
            for number, (turn, reply) in enumerate(zip(conversation.turns, answer["replies"], strict=True), start=1):
                text, thought = prepare_answer(reply["response"])
                strict, loose = judge(turn.instructions, text)
                record = {"item": answer["item"], "repeat": answer["repeat"], "turn": number}
                records.append({**record, "strict": strict, "loose": loose, "thought": thought})
        thinking = {"answers": len(records), "with_thinking": sum(record["thought"] for record in records)}
        rows = [row for turn in TURNS for row in _rows(turn, [r for r in records if r["turn"] == turn])]
        return rows, {"thinking": thinking, "accuracies": accuracies(records)}


def _rows(turn: int, records: Sequence[Mapping]) -> list[dict]:
    instructions = sum(len(record["strict"]) for record in records)
    rows = []
    for record in records:
        strict, loose = record["strict"], record["loose"]
        share = len(records) / instructions
        value = (all(strict) + all(loose) + share * (sum(strict) + sum(loose))) / 4
        rows.append({"metric": f"mif_turn{turn}", **record, "value": value})
    return rows
