"""Building the store from a database folder in the official layout."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from planner_r1.errors import InputError
from planner_r1.sandbox.csv_file import MEND_CELL, SHOWN, check_bytes, read_table
from planner_r1.sandbox.store import BY_NUMBER, CITIES, DESCRIPTION, FORMAT, LEGS, LEGS_KEY
from planner_r1.sandbox.tables import CITIES_FILE, DISTANCES, FLIGHTS, PUBLISHED_CITIES, TABLES

KILOMETRES = re.compile(r"([0-9][0-9,]*(?:\.[0-9]+)?) km")


@dataclass(frozen=True)
class Rows:
    """How many data rows of a file were read, and how many of them the store holds."""

    read: int
    kept: int

    @property
    def dropped(self) -> int:
        return self.read - self.kept


@dataclass(frozen=True)
class BuildReport:
    """What a build kept of each table."""

    tables: dict[str, Rows]

    def to_json(self) -> dict:
        return {name: {"read": r.read, "kept": r.kept, "dropped": r.dropped} for name, r in self.tables.items()}

    def __str__(self) -> str:
        return "\n".join(
            f"{name:15}{r.read:>11,} rows read{r.kept:>11,} kept{r.dropped:>9,} dropped"
            for name, r in self.tables.items()
        )


@dataclass
class Source:
    """Everything of a database folder, read and checked, rows in file order."""

    cities: pa.RecordBatch
    tables: dict[str, pa.RecordBatch]
    report: BuildReport
    sha256: dict[str, str]


def build(source: str | Path, out: str | Path, official: bool = False) -> BuildReport:
    """Build the store `out` from the database folder `source`.

    The source is read and checked whole before anything is written. The store is made beside `out` and put in its
    place when complete, so a failed build leaves an existing store as it was.

    Args:
        official: the source is the official database; its row counts must be those published (flights: within 1%).

    Raises:
        InputError: naming the file, the row or column, and how to mend it; or `out` is a folder that is not a store.
    """
    source, out = Path(source), Path(out)
    refuse_foreign_folder(out)
    content = read_source(source)
    if official:
        check_published(source, content.report)
    out.parent.mkdir(parents=True, exist_ok=True)
    workshop = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    try:
        fresh = workshop / "fresh"
        write_store(fresh, source, content, official)
        put_in_place(fresh, out, workshop / "previous")
    finally:
        shutil.rmtree(workshop, ignore_errors=True)
    return content.report


def refuse_foreign_folder(out: Path) -> None:
    """Building replaces `out`: only a store or an empty folder may be replaced."""
    if out.is_dir() and any(out.iterdir()) and not (out / DESCRIPTION).is_file():
        raise InputError(f"{out}: the folder holds other things than a store; name a new folder for the store")
    if out.exists() and not out.is_dir():
        raise InputError(f"{out}: a file is in the way; name a new folder for the store")


def put_in_place(fresh: Path, out: Path, previous: Path) -> None:
    """Swap folders by renaming; if the second step fails, the previous store comes back."""
    if out.exists():
        os.rename(out, previous)
    try:
        os.rename(fresh, out)
    except OSError:
        if previous.exists():
            os.rename(previous, out)
        raise


def read_source(source: Path) -> Source:
    """Read and check all files of a database folder."""
    if not source.is_dir():
        raise InputError(f"{source}: no such folder; the official database folder is expected")
    names = [CITIES_FILE, *(table.file for table in TABLES)]
    if missing := [name for name in names if not (source / name).exists()]:
        raise InputError(
            f"{source}: {', '.join(missing)} missing; the database folder must hold the official files, "
            "in folders named as released"
        )
    cities, sha256 = read_cities(source / CITIES_FILE)
    rows = {CITIES: Rows(len(cities), len(cities))}
    hashes, tables = {CITIES_FILE: sha256}, {}
    for table in TABLES:
        facts, read, hashes[table.file] = read_table(source / table.file, table)
        if table is DISTANCES:
            facts = legs_from(facts, source / table.file)
        tables[table.name] = facts
        rows[table.name] = Rows(read, len(facts))
    return Source(cities, tables, BuildReport(rows), hashes)


def read_cities(path: Path) -> tuple[pa.RecordBatch, str]:
    """The cities with their states, a line each with a tab between; in file order."""
    sha256 = check_bytes(path).sha256
    states: dict[str, str] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        parts = [part.strip() for part in line.split("\t")]
        if len(parts) != 2 or not all(parts):
            raise InputError(f"{path}, line {number}: {line[:SHOWN]!r} is not a city, a tab and its state; {MEND_CELL}")
        if parts[0] in states:
            raise InputError(f"{path}, line {number}: city '{parts[0]}' stands twice; keep one of the lines")
        states[parts[0]] = parts[1]
    columns = {"city": pa.array(states, pa.string()), "state": pa.array(states.values(), pa.string())}
    return pa.record_batch(columns), sha256


def legs_from(distances: pa.RecordBatch, path: Path) -> pa.RecordBatch:
    """The legs of the distance table: of each pair its first row, where that row has valid information.

    A row without duration or distance has none, nor has one that takes days.
    """
    seen, rows, kms = set(), [], []
    columns = [distances.column(name).to_pylist() for name in DISTANCES.columns]
    for row, (origin, destination, duration, distance) in enumerate(zip(*columns, strict=True)):
        if origin is None or destination is None or (origin, destination) in seen:
            continue
        seen.add((origin, destination))
        km = distance and kilometres(distance, f"{path}, column 'distance', row {row + 1}")
        if duration and km is not None and "day" not in duration:
            rows.append(row)
            kms.append(km)
    return distances.take(pa.array(rows, pa.int64())).append_column("km", pa.array(kms, pa.float64()))


def kilometres(text: str, where: str) -> float:
    match = KILOMETRES.fullmatch(text)
    if match is None:
        raise InputError(f"{where}: {text[:SHOWN]!r} is not a distance such as '1,144 km'; {MEND_CELL}")
    return float(match[1].replace(",", ""))


def check_published(source: Path, report: BuildReport) -> None:
    """Compare the row counts with those of the official release."""
    expected = [(CITIES_FILE, "read", report.tables[CITIES].read, PUBLISHED_CITIES, 0.0)]
    for table in TABLES:
        rows = report.tables[table.name]
        expected.append((table.file, "read", rows.read, table.published_read, table.tolerance))
        if table.published_kept is not None:
            expected.append((table.file, "kept", rows.kept, table.published_kept, table.tolerance))
    for file, what, found, published, tolerance in expected:
        if abs(found - published) > tolerance * published:
            within = f" (within {tolerance:.0%})" if tolerance else ""
            raise InputError(
                f"{source / file}: {found:,} rows {what}, the official release has {published:,}{within}; "
                "download the file again, or do not call this source official"
            )


def write_store(folder: Path, source: Path, content: Source, official: bool) -> None:
    folder.mkdir()
    write_arrow(folder / f"{CITIES}.arrow", content.cities)
    for table in TABLES:
        facts = content.tables[table.name]
        if table is DISTANCES:
            write_sorted(folder, LEGS, LEGS_KEY, facts)
        elif table is FLIGHTS:
            order = write_sorted(folder, table.name, table.key, facts)
            write_by_number(folder, facts.column("Flight Number"), order)
        else:
            write_sorted(folder, table.name, table.key, facts)
    description = {
        "format": FORMAT,
        "source": str(source),
        "official": official,
        "rows": content.report.to_json(),
        "sha256": content.sha256,
        "files": {file.name: file.stat().st_size for file in sorted(folder.iterdir())},
    }
    (folder / DESCRIPTION).write_text(json.dumps(description, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_sorted(folder: Path, name: str, key: tuple[str, ...], facts: pa.RecordBatch) -> np.ndarray:
    """Write a table sorted by its key, and the index over it; returns the order (stored row -> row in file order)."""
    keys = np.zeros(len(facts), np.int64)
    for column in key:
        labels, codes = sorted_labels(facts.column(column))
        keys = keys * len(labels) + codes
        encoded = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(labels, pa.string()))
        facts = facts.set_column(facts.schema.get_field_index(column), column, encoded)
    order = np.argsort(keys, kind="stable")
    distinct, starts = np.unique(keys[order], return_index=True)
    write_arrow(folder / f"{name}.arrow", facts.take(pa.array(order)))
    np.save(folder / f"{name}.keys.npy", distinct)
    np.save(folder / f"{name}.starts.npy", np.append(starts, len(facts)).astype(np.int64))
    return order


def sorted_labels(column: pa.DictionaryArray) -> tuple[list[str], np.ndarray]:
    """The labels that occur, in order, and for each row the number of its label (int32)."""
    used, codes = np.unique(column.indices.to_numpy(), return_inverse=True)
    labels = column.dictionary.take(pa.array(used)).to_pylist()
    rank = np.argsort(np.argsort(labels)) if labels else np.zeros(0, np.int64)
    return sorted(labels), rank[codes].astype(np.int32)


def write_by_number(folder: Path, numbers: pa.StringArray, order: np.ndarray) -> None:
    """Write the stored rows in order of flight number; `order` gives for a stored row its row in the file."""
    stored = np.empty(len(order), np.uint32)
    stored[order] = np.arange(len(order), dtype=np.uint32)
    by_number = pc.sort_indices(numbers).to_numpy()  # stable: the first flight of a number in the file stays first
    np.save(folder / BY_NUMBER, stored[by_number])


def write_arrow(path: Path, rows: pa.RecordBatch) -> None:
    with pa.ipc.new_file(str(path), rows.schema) as writer:
        writer.write_batch(rows)
