"""Bounds what a regular expression from a data file may take: some would take longer than the universe has."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


class OutOfTime(Exception):
    """The time was up."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise OutOfTime in the body once it has taken so long.

    Works in the main thread alone, by a signal, which Python's regular expressions heed while they match.

    Raises:
        ValueError: this is not the main thread.
    """

    def stop(*_):
        raise OutOfTime

    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
