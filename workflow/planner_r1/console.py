"""What the person who waits gets to read."""

from __future__ import annotations

from collections.abc import Sequence


def say(line: str) -> None:
    """Print a line at once, also where the output is not a terminal."""
    print(line, flush=True)


def few(names: Sequence[str], most: int = 5) -> str:
    """`a, b, c, d, e and 3 more`."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def duration(seconds: float) -> str:
    """`4 min 05 s` or `12 s`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
