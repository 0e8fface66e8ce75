"""What all suites have in common: items, a way to talk to models, raw answers, and rows of scores.

A suite is one class, made from a folder of data; `suites.py` lists them. Everything that a server has to do with it
goes through a `Chat`.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from planner_r1.endpoint.client import Client, Reply
from planner_r1.endpoint.journal import Journal
from planner_r1.errors import InputError


@dataclass
class Chat:
    """The way to one model about one item. No request that was answered is sent again, also by a later run.

    client: of the endpoint where the model is
    origin: says which weights answer, where the model's name does not
    label: what is asked about, which tells apart questions in the same words
    seed: of the sampling
    """

    client: Client
    journal: Journal
    origin: str
    label: Mapping[str, Any]
    seed: int | None
    _turn: int = field(default=0, init=False)

    @property
    def native(self) -> bool:
        """Whether the service takes tools as schemas, and hands calls over apart from the text."""
        return self.client.endpoint.tools == "native"

    async def say(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping] | None = None) -> Reply:
        """Ask for the model's next turn.

        Raises:
            InputError, Fault, PromptTooLong, Filtered: as the client.
        """
        self._turn += 1
        label = {**self.label, "turn": self._turn}
        return await self.journal.chat(
            self.client, messages, tools=tools, seed=self.seed, origin=self.origin, label=label
        )


class Suite(ABC):
    """A suite's data, and how models are asked and scored.

    Every class says: its `name`; the `metrics` of Table 2 that it gives, each with the number of items behind it in the
    authors' own data; and whether its items are talked over with a simulated user.
    """

    name: ClassVar[str]
    metrics: ClassVar[Mapping[str, int]]
    has_user: ClassVar[bool] = False

    @abstractmethod
    def __init__(self, folder: Path):
        """Take the data of a folder.

        Raises:
            InputError: naming the file and what is wrong in it.
        """

    @classmethod
    @abstractmethod
    def make_up(cls, folder: Path, size: int, seed: int) -> None:
        """Write made-up data of `size` items (of each task, where there are several) in the suite's own layout."""

    @abstractmethod
    def items(self, count: int | None, seed: int) -> list[str]:
        """The names of all items, or of `count` drawn at random (of each task), in the order of the data.

        Raises:
            InputError: there are fewer.
        """

    @abstractmethod
    async def answer(self, item: str, chat: Chat, user: Chat | None) -> dict:
        """The raw answer to an item: all that scoring needs. Whatever a model may say is an answer.

        Raises:
            InputError, Fault: as the client. Nothing is lost.
        """

    @abstractmethod
    def score(self, answers: Sequence[Mapping]) -> tuple[list[dict], dict]:
        """The scores of raw answers, each with its `item` and `repeat`.

        Returns:
            rows with `metric`, `item`, `repeat` and `value`, of which a metric is the mean, and more about the verdict;
            and what else the suite tells of all of them
        """


def drawn(items: Sequence[str], count: int | None, seed: int, file: Path) -> list[str]:
    """`count` of the items of a file, drawn at random, in their order; all where there is no count.

    Raises:
        InputError: there are fewer.
    """
    if count is None:
        return list(items)
    if count > len(items):
        raise InputError(f"{file}: a sample of {count} items is asked for, but it holds {len(items)}; lower 'items'")
    chosen = set(random.Random(f"{seed} {len(items)}").sample(range(len(items)), count))
    return [item for place, item in enumerate(items) if place in chosen]
