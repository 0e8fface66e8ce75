"""Reading one example of a data file, and the names and times that people write in plans."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from planner_r1.errors import InputError

CLOCK = r"(?<!\d)(\d{1,2}):(\d{2})(?!\d)(?:\s?([ap])\.?m\b)?"  # 9:30, 09:30, 9:30AM, 9:30 p.m.


class UnreadableTask(Exception):
    """A prompt does not state its constraints in the wording of the suite, so that nothing can be said of validity."""


@dataclass(frozen=True)
class Fields:
    """The fields of one example, and the place (file and key) that an error names."""

    where: str
    values: Mapping

    def text(self, name: str) -> str:
        """A field that must be there and be text."""
        if not isinstance(value := self.required(name), str):
            raise self.wrong(name, "text")
        return value

    def optional_text(self, name: str) -> str | None:
        return self.text(name) if name in self.values else None

    def required(self, name: str):
        """A field of any type.

        Raises:
            InputError: it is missing.
        """
        if name not in self.values:
            raise InputError(
                f"{self.where}: the field {name!r} is missing; the official layout of this task has it "
                f"(found: {', '.join(map(str, self.values)) or 'none'})"
            )
        return self.values[name]

    def wrong(self, name: str, expected: str) -> InputError:
        return InputError(f"{self.where}: {name!r} must be {expected}, found {self.values[name]!r:.80}")


@dataclass(frozen=True)
class Task(ABC):
    """What the examples of all three tasks share.

    id: key of the example in its file
    prompt_5shot: the official prompt with five solved examples
    prompt_0shot: the prompt without them, where the file has it
    """

    id: str
    prompt_5shot: str
    prompt_0shot: str | None

    @property
    def question(self) -> str:
        """The text of the task itself, without solved examples."""
        return (self.prompt_0shot or self.prompt_5shot).rpartition("TASK:")[2]

    def prompt(self, shots: int = 5) -> str:
        """What a model is asked: with the five solved examples, as the official results are made, or without.

        Raises:
            InputError: there is no such prompt in the data file.
        """
        prompt = {5: self.prompt_5shot, 0: self.prompt_0shot}.get(shots)
        if prompt is None:
            raise InputError(f"example {self.id!r}: the data file has no prompt with {shots} solved examples; take 5")
        return prompt

    @classmethod
    @abstractmethod
    def read(cls, key: str, fields: Fields) -> Task:
        """Read an example.

        Raises:
            InputError: a field is missing or wrong.
        """

    @abstractmethod
    def official_score(self, answer: str) -> tuple[float, str | None]:
        """The authors' exact match: 1.0, or 0.0 and why."""

    @abstractmethod
    def fault(self, answer: str) -> str | None:
        """Why the plan breaks the constraints of the task, or None where it is valid.

        Raises:
            UnreadableTask: the prompt does not state the constraints.
        """


class Names:
    """Finds names in a text as whole words, whatever their case, and gives them in the spelling of the task."""

    def __init__(self, names: Iterable[str]):
        self._spelling = {name.casefold(): name for name in names}
        longest_first = sorted(self._spelling.values(), key=len, reverse=True)
        self._pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)", re.IGNORECASE)

    def all(self, text: str) -> list[str]:
        found = (self._spelling.get(name.casefold()) for name in self._pattern.findall(text))
        return [name for name in found if name]

    def first(self, text: str) -> str | None:
        found = self._pattern.search(text)
        return self._spelling.get(found[0].casefold()) if found else None


def segments(pattern: re.Pattern, text: str) -> Iterator[tuple[re.Match, str]]:
    """Each match, and the text from its end to the next match."""
    matches = list(pattern.finditer(text))
    for number, match in enumerate(matches, start=1):
        yield match, text[match.end() : matches[number].start() if number < len(matches) else None]


def minutes(hours: str, past: str, half: str | None) -> int:
    """Minutes since midnight of a time that CLOCK found; half is a or p, of AM and PM, in either case."""
    if not half:
        return 60 * int(hours) + int(past)
    return 60 * (int(hours) % 12 + 12 * (half.lower() == "p")) + int(past)


def clock(time: int) -> str:
    """Minutes since midnight as 9:05."""
    return f"{time // 60}:{time % 60:02}"
