"""Reading one official CSV: fast when it is sound, one clear error when it is not.

Arrow's reader does the work, but it is lenient (a quote that never closes ends with the file) and its messages are
made for programmers. So the bytes are looked over first, and where anything is suspicious Python's strict CSV reader
finds the row to name.
"""

from __future__ import annotations

import codecs
import csv
import hashlib
import math
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from planner_r1.errors import InputError
from planner_r1.sandbox.tables import Kind, Table, is_day

CHUNK = 1 << 22  # bytes looked at together
BLOCK = 1 << 24  # bytes Arrow parses together; a row must fit
LONGEST_CELL = 1 << 20  # characters; the official files have some hundred. A quote that never closes runs into this
SHOWN = 60  # characters of a wrong value shown in a message
MOST_NAMES = 20  # columns shown in a message

INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")

AGAIN = "the file looks cut or damaged; copy or download it again"
MEND_CELL = "mend it, or copy or download the file again"
SAVE_AS_UTF8 = "save the file as UTF-8 without a byte order mark, or download it again"
FOREIGN_MARKS = {
    codecs.BOM_UTF8: "starts with a byte order mark",
    codecs.BOM_UTF16_LE: "is UTF-16 text",
    codecs.BOM_UTF16_BE: "is UTF-16 text",
}


@dataclass(frozen=True)
class FileFacts:
    """What a first look at the bytes of a text file told."""

    sha256: str
    ends_with_newline: bool
    odd_quotes: bool


def read_table(path: Path, table: Table) -> tuple[pa.RecordBatch, int, str]:
    """Read and check one CSV.

    Returns:
        the facts (the columns of `table`, rows in file order without those that `table` drops; numbers as int64 or
        float64, labels and days as dictionaries), the number of data rows read, and the file's sha256.

    Raises:
        InputError: the file is missing, not plain UTF-8, cut, lacks a column, or holds a value of the wrong type.
    """
    facts = check_bytes(path)
    header = read_header(path)
    if missing := [c for c in table.columns if c not in header]:
        raise InputError(
            f"{path}: column {quoted(missing)} missing from the header, which has {quoted(header)}; "
            "use the official file with its column names as released"
        )
    if twice := [c for c in table.columns if header.count(c) > 1]:
        raise InputError(f"{path}: column '{twice[0]}' stands more than once in the header; keep one of them")
    if facts.odd_quotes and (broken := broken_row(path)):
        raise InputError(f"{path}, {broken}; {AGAIN}")
    raw = read_raw(path, table)
    if not facts.ends_with_newline:
        raise InputError(
            f"{path}, row {raw.num_rows}: the last row does not end with a line break, so it may be cut; "
            "compare it with the source, and add the line break if the row is whole"
        )
    columns = {name: typed(raw.column(name), kind, f"{path}, column '{name}'") for name, kind in table.columns.items()}
    rows = pa.record_batch(columns)
    if table.complete_rows and (keep := whole_rows(raw)) is not None:
        rows = rows.filter(keep)
    return rows, raw.num_rows, facts.sha256


def check_bytes(path: Path) -> FileFacts:
    """Read a text file once, to make sure that it is plain UTF-8.

    Raises:
        InputError: no such file, empty, or not plain UTF-8; with the line.
    """
    digest, decoder = hashlib.sha256(), codecs.getincrementaldecoder("utf-8")()
    line, quotes, last = 1, 0, b""
    try:
        with open(path, "rb") as f:
            while chunk := f.read(CHUNK):
                if not last:
                    refuse_foreign_mark(path, chunk)
                if b"\0" in chunk:
                    line += chunk[: chunk.index(b"\0")].count(b"\n")
                    raise InputError(f"{path}, line {line}: holds a zero byte, so it is no UTF-8 text; {SAVE_AS_UTF8}")
                try:
                    decoder.decode(chunk)
                except UnicodeDecodeError as e:
                    line += chunk[: e.start].count(b"\n")
                    raise InputError(f"{path}, line {line}: not UTF-8 text ({e.reason}); {SAVE_AS_UTF8}") from None
                digest.update(chunk)
                line += chunk.count(b"\n")
                quotes += chunk.count(b'"')
                last = chunk[-1:]
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; it belongs to the official database folder") from None
    except OSError as e:
        raise InputError(f"{path}: cannot be read ({e.strerror}); a readable text file is expected here") from None
    if not last:
        raise InputError(f"{path}: the file is empty; {AGAIN}")
    try:
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        raise InputError(f"{path}, line {line}: ends inside a character; {AGAIN}") from None
    return FileFacts(digest.hexdigest(), last == b"\n", quotes % 2 == 1)


def refuse_foreign_mark(path: Path, start: bytes) -> None:
    for mark, what in FOREIGN_MARKS.items():
        if start.startswith(mark):
            raise InputError(f"{path}: {what}, plain UTF-8 is expected; {SAVE_AS_UTF8}")


def read_header(path: Path) -> list[str]:
    with open(path, encoding="utf-8", newline="") as f:
        try:
            for row in csv_rows(f):
                return row
        except csv.Error as e:
            raise InputError(f"{path}: the header is not a valid CSV row ({e}); {AGAIN}") from None
    raise InputError(f"{path}: holds no header; {AGAIN}")


def csv_rows(lines):
    """The rows that are not blank, by Python's reader, which raises csv.Error on a broken quote."""
    previous = csv.field_size_limit(LONGEST_CELL)
    try:
        yield from filter(None, csv.reader(lines, strict=True))
    finally:
        csv.field_size_limit(previous)


def read_raw(path: Path, table: Table) -> pa.RecordBatch:
    """Every column of the file as text; only the empty cell, quoted or not, is null ("NA" and "None" are text)."""
    kept_as_text = {name for name, kind in table.columns.items() if kind == "text"}
    repeated = pa.dictionary(pa.int32(), pa.string())
    types = {
        name: pa.string() if name in kept_as_text or name not in table.columns else repeated
        for name in read_header(path)
    }
    try:
        raw = pa.csv.read_csv(
            path,
            read_options=pa.csv.ReadOptions(block_size=BLOCK),
            parse_options=pa.csv.ParseOptions(newlines_in_values=True),
            convert_options=pa.csv.ConvertOptions(
                column_types=types, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=True
            ),
        )
    except pa.ArrowInvalid as e:
        raise InputError(f"{path}, {broken_row(path) or f'not a sound CSV file ({e})'}; {AGAIN}") from None
    columns = [single(column) for column in raw.unify_dictionaries().columns]
    return pa.RecordBatch.from_arrays(columns, names=raw.column_names)


def single(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks else pa.array([], column.type)


def broken_row(path: Path) -> str | None:
    """The first row that is not valid CSV, in words, or None. Slow: for files that are already under suspicion."""
    number, width = -1, 0  # the header is row 0
    with open(path, encoding="utf-8", newline="") as f:
        try:
            for number, row in enumerate(csv_rows(f)):
                width = width or len(row)
                if len(row) != width:
                    return f"row {number}: {len(row)} cells where the header has {width}"
        except csv.Error as e:
            return f"row {number + 1}: a quote is not closed ({e})"
    return None


def whole_rows(raw: pa.RecordBatch) -> pa.Array | None:
    """Mask of the rows without an empty cell in any column, or None where all are whole."""
    holed = [column for column in raw.columns if column.null_count]
    if not holed:
        return None
    mask = pc.is_valid(holed[0])
    for column in holed[1:]:
        mask = pc.and_(mask, pc.is_valid(column))
    return mask


def typed(column: pa.Array, kind: Kind, where: str) -> pa.Array:
    """The column in its type. Looks at distinct values only, which are few even among millions of flights."""
    if kind in ("text", "label"):
        return column
    values, codes = column.dictionary.to_pylist(), column.indices
    if kind == "day":
        refuse_wrong(values, codes, is_day, where, "a day written YYYY-MM-DD")
        return column
    refuse_wrong(values, codes, is_number, where, "a number")
    if kind == "positive":
        refuse_wrong(values, codes, lambda text: float(text) > 0, where, "a number above zero")
    # As pandas reads it, and so as the official tools show it: whole numbers only where the column has no empty cell.
    whole = not column.null_count and all(map(INTEGER.fullmatch, values))
    numbers = pa.array(map(int if whole else float, values), pa.int64() if whole else pa.float64())
    return numbers.take(codes)


def refuse_wrong(values: list[str], codes: pa.Array, right, where: str, expected: str) -> None:
    wrong = np.array([not right(text) for text in values], bool)
    if not wrong.any():
        return
    first = int(np.argmax(wrong[codes.fill_null(0).to_numpy()] & codes.is_valid().to_numpy(zero_copy_only=False)))
    value = values[codes[first].as_py()]
    raise InputError(f"{where}, row {first + 1}: {value[:SHOWN]!r} is not {expected}; {MEND_CELL}")


def is_number(text: str) -> bool:
    return NUMBER.fullmatch(text) is not None and math.isfinite(float(text))


def quoted(names: list[str]) -> str:
    """Names for a message: a file that is not a table at all may have long ones, and many."""
    return ", ".join(f"'{name[:SHOWN]}'" for name in names[:MOST_NAMES]) + (", ..." if names[MOST_NAMES:] else "")
