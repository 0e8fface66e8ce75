"""The log of a rule: what a script prints goes to the terminal and to the rule's log file."""

from __future__ import annotations

import sys
import traceback
from collections import deque
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

from planner_r1.errors import InputError

TAIL = 20  # lines of the log shown when a rule fails


class _Tee:
    """Writes to a stream and to a file; everything else (encoding, isatty, fileno) is the stream's."""

    def __init__(self, stream, file):
        self._stream, self._file = stream, file

    def write(self, text: str) -> int:
        self._file.write(text)
        self._file.flush()
        return self._stream.write(text)

    def __getattr__(self, name):
        return getattr(self._stream, name)


@contextmanager
def rule_log(path: str | Path):
    """Copy standard output and error to `path` while the body runs.

    A failure ends the process with status 1. Bad input (InputError) shows its message alone; anything else goes to
    the log with its traceback, and the last lines of the log to the terminal.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        try:
            with redirect_stdout(_Tee(sys.stdout, file)), redirect_stderr(_Tee(sys.stderr, file)):
                yield
        except InputError as error:
            file.write(f"error: {error}\n")
            print(f"error: {error}", file=sys.stderr)
            sys.exit(1)
        except Exception:
            traceback.print_exc(file=file)
            file.flush()
            print(f"The last lines of {path}:\n{_tail(path)}", file=sys.stderr)
            sys.exit(1)


def _tail(path: Path) -> str:
    with open(path, encoding="utf-8") as file:
        return "".join(deque(file, TAIL))
