"""Files that outlive a process that is killed: JSON lines, and the lock of a work folder."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from planner_r1.errors import InputError

# A job that was queued again may start while its former self is still being killed.
LOCK_SECONDS = 60


def write_lines(path: str | Path, records: Iterable[dict]) -> None:
    """Write JSON lines; half a character, which a model may write, becomes a question mark."""
    with open(path, "w", encoding="utf-8", errors="replace") as file:
        for record in records:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def read_lines(path: str | Path) -> Iterator[dict]:
    """Read JSON lines; a last line that a killed process left unfinished is skipped."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.endswith("\n"):
                yield json.loads(line)


def open_lines(path: str | Path) -> TextIO:
    """Open a file of JSON lines to add to; a last line that a killed process left unfinished is taken away."""
    with open(path, "ab+") as file:
        file.seek(0)
        file.truncate(file.read().rfind(b"\n") + 1)
    return open(path, "a", encoding="utf-8", errors="replace")


def add_line(file: TextIO, record: dict) -> None:
    """Add a JSON line and see it on the disk before returning."""
    file.write(json.dumps(record, ensure_ascii=False) + "\n")
    file.flush()
    os.fsync(file.fileno())


@contextmanager
def locked(work: Path) -> Iterator[None]:
    """Keep a second process out of a work folder; the lock goes with the process, however it ends.

    Raises:
        InputError: another process held the folder for LOCK_SECONDS.
    """
    end = time.monotonic() + LOCK_SECONDS
    with open(work / "lock", "w") as file:
        while not _lock(file):
            if time.monotonic() > end:
                raise InputError(f"{work}: another process is at work in this folder")
            time.sleep(1)
        yield


def _lock(file: TextIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
