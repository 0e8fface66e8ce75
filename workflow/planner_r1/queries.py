"""Queries of TravelPlanner: the record every station shares, and readers for the layouts they come in."""

from __future__ import annotations

import ast
import csv
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from planner_r1.errors import InputError

CONSTRAINTS = ("house rule", "cuisine", "room type", "transportation")
LEVELS = ("easy", "medium", "hard")
MAX_LITERAL = 100_000  # characters; the longest field of the official files has about 6,000


@dataclass(frozen=True)
class Query:
    """One request, with the names of the official files.

    `idx` counts from 1 within its split. In the official test split `visiting_city_number`, `people_number`,
    `budget` and `local_constraint` are hidden: they are None here and `hidden` is true.
    """

    idx: int
    org: str
    dest: str
    days: int
    date: tuple[str, ...]
    query: str
    level: str
    visiting_city_number: int | None = None
    people_number: int | None = None
    budget: float | None = None
    local_constraint: dict | None = field(default=None, hash=False)

    @property
    def hidden(self) -> bool:
        return self.local_constraint is None

    def constraint(self, name: str):
        """The value asked for `name` (one of CONSTRAINTS), or None."""
        return (self.local_constraint or {}).get(name)

    def to_json(self) -> dict:
        return {**asdict(self), "date": list(self.date)}

    @classmethod
    def from_json(cls, record: dict) -> Query:
        """Inverse of `to_json`; trusts its input."""
        return cls(**{**record, "date": tuple(record["date"])})


def load_queries(path: str | Path) -> list[Query]:
    """Read a file of queries: JSON lines, or the hub's CSV. Order is kept and `idx` counts from 1.

    `date` and `local_constraint` may be lists and objects, or strings that hold Python literals (as the hub serves
    them). Columns that are not part of a query (`annotated_plan`, `reference_information`) are ignored.

    Raises:
        InputError: naming the file, the row and the key.
    """
    path = Path(path)
    try:
        rows = list(_csv_rows(path) if path.suffix == ".csv" else _jsonl_rows(path))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file of queries (JSON lines or CSV expected)") from None
    except OSError as e:
        raise InputError(f"{path}: cannot be read ({e.strerror}); a file of queries is expected") from None
    except UnicodeDecodeError as e:
        raise InputError(f"{path}: not UTF-8 text ({e.reason} at byte {e.start}); save the file as UTF-8") from None
    if not rows:
        raise InputError(f"{path}: holds no query")
    return [_parse(path, i, row) for i, row in enumerate(rows, start=1)]


def save_queries(path: str | Path, queries: Iterable[Query]) -> None:
    """Write queries as JSON lines that `load_queries` reads back."""
    with open(path, "w", encoding="utf-8") as f:
        for q in queries:
            f.write(json.dumps(q.to_json(), ensure_ascii=False) + "\n")


def _jsonl_rows(path: Path):
    with open(path, encoding="utf-8-sig") as f:
        for n, line in enumerate(f, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as e:
                raise InputError(f"{path}, line {n}: not a JSON object ({e})") from None
            if not isinstance(row, dict):
                raise InputError(f"{path}, line {n}: expected a JSON object, found {type(row).__name__}")
            yield row


def _csv_rows(path: Path):
    csv.field_size_limit(10_000_000)
    with open(path, encoding="utf-8-sig", newline="") as f:
        yield from csv.DictReader(f)


def _parse(path: Path, idx: int, row: dict) -> Query:
    where = f"{path}, query {idx}"

    def need(key: str):
        if row.get(key) in (None, ""):
            raise InputError(f"{where}: key '{key}' is missing or empty")
        return row[key]

    def number(key: str, kind=int):
        if row.get(key) in (None, ""):
            return None
        try:
            value = float(row[key])
            if kind is int and value != int(value):
                raise ValueError
            return kind(value)
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"{where}: key '{key}' must be a number, found {row[key]!r}") from None

    date = _literal(where, "date", need("date"))
    if not isinstance(date, list) or not all(isinstance(d, str) for d in date):
        raise InputError(f"{where}: key 'date' must be a list of days such as ['2022-03-16'], found {date!r}")
    days = number("days") if need("days") else None
    if days not in (3, 5, 7):
        raise InputError(f"{where}: key 'days' must be 3, 5 or 7, found {days!r}")
    if len(date) != days:
        raise InputError(f"{where}: key 'date' holds {len(date)} days, key 'days' says {days}")
    return Query(
        idx=idx,
        org=str(need("org")),
        dest=str(need("dest")),
        days=days,
        date=tuple(date),
        query=str(need("query")),
        level=str(row.get("level") or ""),
        visiting_city_number=number("visiting_city_number"),
        people_number=number("people_number"),
        budget=number("budget", float),
        local_constraint=_constraints(where, row.get("local_constraint")),
    )


def _constraints(where: str, value) -> dict | None:
    if value in (None, ""):
        return None
    value = _literal(where, "local_constraint", value)
    if not isinstance(value, dict):
        raise InputError(f"{where}: key 'local_constraint' must be an object, found {value!r}")
    if unknown := sorted(set(map(str, value)) - set(CONSTRAINTS)):
        raise InputError(f"{where}: unknown constraint '{unknown[0]}'; known are {', '.join(CONSTRAINTS)}")
    return {name: value.get(name) for name in CONSTRAINTS}


def _literal(where: str, key: str, value):
    """A list or object as it is, or read from the Python literal the hub serves (never evaluated)."""
    if not isinstance(value, str):
        return value
    if len(value) > MAX_LITERAL:
        raise InputError(f"{where}: key '{key}' is {len(value):,} characters long, at most {MAX_LITERAL:,} expected")
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        raise InputError(f"{where}: key '{key}' is not a list or object: {value[:80]!r}") from None
