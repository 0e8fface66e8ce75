"""Opening a database folder for a command: its store is built once and kept in the user's cache."""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from planner_r1.errors import InputError
from planner_r1.queries import Query
from planner_r1.sandbox.builder import build
from planner_r1.sandbox.store import DESCRIPTION, FORMAT, Store
from planner_r1.sandbox.tables import CITIES_FILE, TABLES


def open_database(folder: str | Path) -> Store:
    """The store of a folder, which may be a store already or hold the official files.

    For official files the store is kept in $XDG_CACHE_HOME/planner-r1 (~/.cache/planner-r1), and built again when a
    file's size or time has changed.

    Raises:
        InputError: the folder is neither, or a file of it cannot be read (see sandbox.builder.build).
    """
    folder = Path(folder)
    if (folder / DESCRIPTION).is_file():
        return Store.open(folder)
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; expected the official database folder, or a store built from it")
    kept = _shelf(folder) / _fingerprint(folder)
    try:
        return Store.open(kept)
    except InputError:
        pass  # not built yet, or damaged
    print(f"building the store of {folder} (kept in {kept.parent} for the next time)", file=sys.stderr)
    build(folder, kept)
    _clear(kept)
    return Store.open(kept)


def check_places(queries: Sequence[Query], store: Store) -> None:
    """Refuse queries that are plainly about another world, which would score plausible zeros.

    Raises:
        InputError: the store knows the origin of none of them.
    """
    if queries and not any(query.org in store.places for query in queries):
        raise InputError(
            f"the database knows the origin of none of the {len(queries)} queries (the first starts in "
            f"{queries[0].org}); it is another world's: see --database and --queries"
        )


def _shelf(folder: Path) -> Path:
    """Where the stores of one database folder are kept; for this process only, where the cache cannot be written."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "planner-r1"
    shelf = cache / hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]
    try:
        shelf.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=shelf):
            return shelf
    except OSError:
        temporary = tempfile.mkdtemp(prefix="planner-r1-")
        atexit.register(shutil.rmtree, temporary, ignore_errors=True)
        return Path(temporary)


def _fingerprint(folder: Path) -> str:
    """Changes when the store's format or a source file does."""
    found = [FORMAT]
    for name in (CITIES_FILE, *(table.file for table in TABLES)):
        path = folder / name
        found.append((name, path.stat().st_size, path.stat().st_mtime_ns) if path.exists() else (name,))
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()[:16]


def _clear(kept: Path) -> None:
    """Remove the stores of earlier versions of the same database; hidden folders are other processes' builds."""
    for other in kept.parent.iterdir():
        if other != kept and not other.name.startswith("."):
            shutil.rmtree(other, ignore_errors=True)
