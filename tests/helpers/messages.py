"""Messages for people: tests hold the key, file, row or value they name and at most a word, never their sentences."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pytest

from planner_r1.errors import InputError


def names(message: str, *parts: object) -> None:
    """Assert that a message is one line and holds all parts, each on its own: "seed 1" is not in "seed 12", nor
    "regimes.s" in "regimes.s.steps"."""
    line = message.removesuffix("\n")
    assert "\n" not in line and "Traceback" not in line, message
    assert not (absent := _absent(line, parts)), f"{absent} not in: {line}"


def any_names(lines: Iterable[str] | str, *parts: object) -> None:
    """Assert that one of the lines, or of a text's, holds all parts; the text holds no traceback."""
    lines = lines.splitlines() if isinstance(lines, str) else list(lines)
    assert not any("Traceback" in line for line in lines), lines
    assert any(not _absent(line, parts) for line in lines), f"{list(parts)} not in one of: {lines}"


@contextmanager
def refused(*parts: object, error: type[Exception] = InputError) -> Iterator[None]:
    """Assert that the block raises this error with a message that `names` the parts."""
    with pytest.raises(error) as raised:
        yield
    names(str(raised.value), *parts)


def _absent(line: str, parts: Iterable[object]) -> list[str]:
    return [part for part in map(str, parts) if not _holds(line, part)]


def _holds(line: str, part: str) -> bool:
    before = r"(?<!\w)(?<!\w\.)" if re.match(r"\w", part) else ""
    after = r"(?![.,\[]?\w)" if re.search(r"[\w\]]$", part) else ""
    return re.search(before + re.escape(part) + after, line) is not None
