"""Processes that must not outlive what they were started for.

A process group does not hold them all: Ray and inference servers start workers in sessions of their own. All inherit
the environment, in which a work folder stands as a mark: that is how they are found, and only they.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

MARK = "PLANNER_R1_WORK"
TAIL_LINES = 40
# What a process that computes on the CPU should find in its environment.
CPU_VARIABLES = {
    # Without it, small matrix products wait milliseconds for a busy core.
    "OMP_WAIT_POLICY": "PASSIVE",
    "OMP_NUM_THREADS": str(min(len(os.sched_getaffinity(0)), 2)),
}


def end_all(work: Path) -> None:
    """Kill every process that was started for a work folder, also by an earlier call that was itself killed."""
    while pids := marked(work):  # one of them may have started another meanwhile
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def tail(log: Path, lines: int = TAIL_LINES) -> str:
    """The last lines of a log."""
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])


@contextlib.contextmanager
def signals_as_exceptions() -> Iterator[None]:
    """Turn SIGTERM into SystemExit, so that the processes below are ended; Ctrl-C already is an exception."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread may set handlers
        yield
        return

    def leave(number, frame):
        raise SystemExit(128 + number)

    previous = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def marked(work: Path) -> list[int]:
    """The living processes that carry the mark of a work folder, without this one."""
    mark = f"{MARK}={work.resolve()}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            if mark in (entry / "environ").read_bytes().split(b"\0") and not _is_zombie(entry):
                found.append(int(entry.name))
    return found


def _is_zombie(process: Path) -> bool:
    return (process / "stat").read_text().rpartition(")")[2].split()[0] in "ZX"
