"""The conversations of Multi-IF in one language."""

from __future__ import annotations

import csv
from pathlib import Path

from planner_r1.errors import InputError


def keep_language(source: Path, language: str, out: Path) -> int:
    """Copy the rows of Multi-IF's CSV whose column `language` is `language`; return their number.

    Raises:
        InputError: the file has no such column, or no row in this language.
    """
    with open(source, encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    if not rows or "language" not in rows[0]:
        raise InputError(f"{source}: no column 'language'; Multi-IF's CSV is expected")
    column = rows[0].index("language")
    kept = [row for row in rows[1:] if row[column] == language]
    if not kept:
        raise InputError(f"{source}: no row in {language}")
    with open(out, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([rows[0], *kept])
    return len(kept)
