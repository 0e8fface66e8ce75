"""How far a download is, for the person who waits."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

from planner_r1.console import duration


class Progress:
    """Says now and then how much of a file has come, how fast, and how long the rest will take.

    On a terminal one line is written over again, twice a second; elsewhere there is a line every half minute.
    """

    def __init__(self, name: str, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic):
        self._name = name
        self._stream = stream or sys.stderr
        self._live = self._stream.isatty()
        self._clock = clock
        self._began = self._said = clock()
        self._came = 0

    def add(self, came: int, have: int, total: int | None) -> None:
        """`came` bytes have come; the file now has `have` of `total` bytes."""
        self._came += came
        now = self._clock()
        if now - self._said >= (0.5 if self._live else 30):
            self._said = now
            self._write(self._line(now, have, total), "\r" if self._live else "\n")

    def say(self, text: str) -> None:
        """Say something else about this file."""
        self._write(text, "\n")

    def _line(self, now: float, have: int, total: int | None) -> str:
        speed = self._came / max(now - self._began, 1e-9)
        if total is None:
            return f"{amount(have)}, {amount(speed)}/s"
        left = duration((total - have) / speed) if speed else "unknown time"
        return f"{amount(have)} of {amount(total)} ({have / total:.0%}), {amount(speed)}/s, {left} left"

    def _write(self, text: str, end: str) -> None:
        clear = "\033[K" if self._live else ""
        print(f"{self._name}: {text}{clear}", end=end, file=self._stream, flush=True)


def amount(count: float) -> str:
    """Bytes for people: `3.1 GB`, `420 kB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 999.5 or unit == "GB":
            return f"{count:.0f} {unit}" if unit in ("B", "kB") else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError("unreachable")
