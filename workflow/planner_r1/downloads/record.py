"""The hashes of first downloads: `data/sources.lock.json`.

A file whose hash the catalogue does not know is believed once. What came then is written down here, and whatever is
downloaded later must be the same. The file lies beside the data, to be copied with it.
"""

from __future__ import annotations

import fcntl
import json
import os

from planner_r1.downloads.sources import DATA
from planner_r1.errors import InputError

LOCK_FILE = DATA / "sources.lock.json"


def recorded(place: str) -> str | None:
    """The SHA-256 that the first download of a file had (None where there was none).

    Raises:
        InputError: the lock file cannot be read.
    """
    return _read().get(place, {}).get("sha256")


def record(place: str, url: str, sha256: str, bytes: int) -> None:
    """Write down what a first download brought; several processes may do so at once."""
    LOCK_FILE.parent.mkdir(parents=True, exist_ok=True)
    with open(LOCK_FILE.with_suffix(".lock"), "w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        entries = _read() | {place: {"sha256": sha256, "bytes": bytes, "url": url}}
        draft = LOCK_FILE.with_suffix(".draft")
        draft.write_text(json.dumps(dict(sorted(entries.items())), indent=2) + "\n", encoding="utf-8")
        os.replace(draft, LOCK_FILE)


def _read() -> dict:
    try:
        return json.loads(LOCK_FILE.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        message = f"{LOCK_FILE}: not JSON ({error}); restore it, or remove it to believe the next downloads anew"
        raise InputError(message) from None
