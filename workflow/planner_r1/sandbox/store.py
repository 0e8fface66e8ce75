"""The read-only store of the sandbox: opened by memory map, so all processes of a node share one copy.

A store is a folder:

    store.json              format, source, row counts, sha256 of the source files, size of each file of the store
    cities.arrow            city, state; in file order
    <table>.arrow           the facts (Arrow IPC, one record batch, uncompressed), sorted by the table's key and in
                            file order within one key
    <table>.keys.npy        the distinct keys as one ascending int64 each, and
    <table>.starts.npy      the row where each begins (one more entry: the number of rows)
    flights.by_number.npy   the rows in order of flight number, in file order within one number

The folder is the unit: copy or delete it whole.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from planner_r1.errors import InputError
from planner_r1.sandbox.tables import ACCOMMODATIONS, ATTRACTIONS, FLIGHTS, RESTAURANTS

FORMAT = 1
DESCRIPTION = "store.json"
BY_NUMBER = "flights.by_number.npy"
CITIES = "cities"
LEGS = "legs"
LEGS_KEY = ("origin", "destination")
PLACES = {table.name: table for table in (RESTAURANTS, ACCOMMODATIONS, ATTRACTIONS)}  # the tables keyed by city

SELF_DRIVING_PER_KM = 0.05  # dollars; a taxi costs one dollar a kilometre


def bare_city(text: str) -> str:
    """The city without its state: "Toledo(Ohio)" gives "Toledo"."""
    return text.split("(", 1)[0].strip()


@dataclass(frozen=True)
class Leg:
    """A way by road between two cities, as the official table has it ("1,144 km"); `km` is its distance."""

    duration: str
    distance: str
    km: float

    def cost(self, mode: str) -> int:
        """Dollars a vehicle costs; `mode` is "self-driving" or "taxi"."""
        if mode == "self-driving":
            return int(self.km * SELF_DRIVING_PER_KM)
        if mode == "taxi":
            return int(self.km)
        raise ValueError(f"mode must be 'self-driving' or 'taxi', not {mode!r}")


class SortedTable:
    """One table of the store, with look-ups by its key (or by the first parts of it)."""

    def __init__(self, folder: Path, name: str, key: tuple[str, ...]):
        self.rows = read_arrow(folder / f"{name}.arrow")
        self._keys = map_array(folder / f"{name}.keys.npy")
        self._starts = map_array(folder / f"{name}.starts.npy")
        self.labels = [self.rows.column(c).dictionary.to_pylist() for c in key]
        self._codes = [{label: code for code, label in enumerate(labels)} for labels in self.labels]
        # How many keys one step of each part is worth: keys are numbers in a mixed base, the last part counts singly.
        self._worth = [math.prod(map(len, self.labels[i + 1 :])) for i in range(len(key))]

    def span(self, *parts: str) -> tuple[int, int]:
        """First and past-the-last row whose key begins with `parts`; two equal numbers where there is none."""
        low = 0
        for part, codes, worth in zip(parts, self._codes, self._worth, strict=False):
            code = codes.get(part)
            if code is None:
                return 0, 0
            low += code * worth
        first = self._keys.searchsorted(low)
        past = self._keys.searchsorted(low + worth)
        return int(self._starts[first]), int(self._starts[past])

    @cached_property
    def _readers(self) -> list[Callable[[int, int], list]]:
        return [column_reader(column) for column in self.rows.columns]

    def dicts(self, start: int, stop: int) -> list[dict]:
        """Rows start..stop-1 by column name. Reads these rows only, never a whole column."""
        names = self.rows.schema.names
        columns = [read(start, stop) for read in self._readers]
        return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


class Store:
    """Facts of the sandbox. Cities are given bare and exact; every look-up keeps the order of the official files.

    Rows are dicts with the official column names, made anew at each call, so a caller may change them.
    """

    def __init__(self, folder: Path, description: dict):
        self.folder = folder
        self.description = description
        cities = read_arrow(folder / f"{CITIES}.arrow").to_pydict()
        self.cities: dict[str, str] = dict(zip(cities["city"], cities["state"], strict=True))
        self.states: dict[str, list[str]] = {}
        for city, state in self.cities.items():
            self.states.setdefault(state, []).append(city)
        self._flights = SortedTable(folder, FLIGHTS.name, FLIGHTS.key)
        self._flight_number = text_reader(self._flights.rows.column("Flight Number"))
        self._prices = numbers_of(self._flights.rows.column("Price"))
        self._by_number = memoryview(map_array(folder / BY_NUMBER))  # quicker than an array, one entry at a time
        self._legs = SortedTable(folder, LEGS, LEGS_KEY)
        self._tables = {name: SortedTable(folder, name, table.key) for name, table in PLACES.items()}
        self._in_city: dict[tuple[str, str], tuple[list[str], list[dict]]] = {}

    @classmethod
    def open(cls, path: str | Path) -> Store:
        """Open the store in folder `path`.

        Raises:
            InputError: the folder is not a store, of another format, or incomplete.
        """
        folder = Path(path)
        return cls(folder, read_description(folder))

    @cached_property
    def places(self) -> frozenset[str]:
        """Every city that any table knows; a few have hotels or restaurants and do not stand in the list of cities."""
        listed = [*self._flights.labels[:2], *self._legs.labels, *(t.labels[0] for t in self._tables.values())]
        return frozenset(self.cities).union(*listed)

    def flights(self, origin: str, destination: str, date: str) -> list[dict]:
        """Flights of a day (YYYY-MM-DD) between two cities."""
        return self._flights.dicts(*self._flights.span(origin, destination, date))

    def flight_exists(self, number: str, origin: str, destination: str) -> bool:
        """Whether a flight of that number goes between two cities, on any day."""
        start, stop = self._flights.span(origin, destination)
        return start < stop and any(start <= row < stop for row in self._rows_of_number(number))

    def flight(self, number: str, origin: str, destination: str, date: str) -> dict | None:
        """The first flight of that number between two cities on a day (YYYY-MM-DD), or None."""
        wanted = number.encode("utf-8", "surrogatepass")
        for row in range(*self._flights.span(origin, destination, date)):
            if self._flight_number(row) == wanted:
                return self._flights.dicts(row, row + 1)[0]
        return None

    def flies(self, origin: str, destination: str) -> bool:
        """Whether any flight goes from a city to another, on any day."""
        start, stop = self._flights.span(origin, destination)
        return start < stop

    def flight_price(self, number: str) -> float | None:
        """Dollars a person for the first flight of that number in the file, or None."""
        for row in self._rows_of_number(number):
            return float(self._prices[row])
        return None

    def _rows_of_number(self, number: str) -> Iterator[int]:
        """The stored rows of a flight number, in file order, by bisection (UTF-8 sorts as the builder's Arrow did)."""
        wanted, order, number_of = number.encode("utf-8", "surrogatepass"), self._by_number, self._flight_number
        for place in range(bisect_left(order, wanted, key=number_of), len(order)):
            if number_of(order[place]) != wanted:
                return
            yield order[place]

    def restaurants(self, city: str) -> list[dict]:
        return self._rows_in(RESTAURANTS.name, city)

    def accommodations(self, city: str) -> list[dict]:
        return self._rows_in(ACCOMMODATIONS.name, city)

    def attractions(self, city: str) -> list[dict]:
        return self._rows_in(ATTRACTIONS.name, city)

    def find(self, table: str, name: str, city: str, exact: bool = False) -> list[dict]:
        """Rows of a city whose name contains `name` (or equals it, if `exact`), by the letter.

        Args:
            table: "restaurants", "accommodations" or "attractions".
        """
        names, rows = self._city(table, city)
        if exact:
            return [dict(rows[i]) for i, known in enumerate(names) if known == name]
        return [dict(rows[i]) for i, known in enumerate(names) if name in known]

    def leg(self, origin: str, destination: str) -> Leg | None:
        """The way by road between two cities, or None where the table has no valid information."""
        row, past = self._legs.span(origin, destination)
        if row == past:
            return None
        [values] = self._legs.dicts(row, row + 1)
        return Leg(values["duration"], values["distance"], values["km"])

    def _rows_in(self, table: str, city: str) -> list[dict]:
        return [dict(row) for row in self._city(table, city)[1]]

    def _city(self, table: str, city: str) -> tuple[list[str], list[dict]]:
        """Names and rows of a city, kept once read: the evaluator comes back to the same few cities."""
        known = self._in_city.get((table, city))
        if known is None:
            sorted_table = self._tables[table]
            rows = sorted_table.dicts(*sorted_table.span(city))
            known = [row[PLACES[table].name_column] for row in rows], rows
            if rows:  # unknown names are without end, cities with rows are not
                self._in_city[table, city] = known
        return known


def column_reader(column: pa.Array) -> Callable[[int, int], list]:
    """A function (start, stop) -> values of these rows, by the fastest way the column's type allows."""
    if pa.types.is_dictionary(column.type):
        labels, codes = column.dictionary.to_pylist(), numbers_of(column.indices)
        return lambda start, stop: [labels[code] for code in codes[start:stop].tolist()]
    if pa.types.is_string(column.type):
        return lambda start, stop: column.slice(start, stop - start).to_pylist()
    numbers = numbers_of(column)
    return lambda start, stop: numbers[start:stop].tolist()


def numbers_of(column: pa.Array) -> np.ndarray:
    """A column of whole numbers or doubles without nulls, as a view of its buffer.

    numpy knows these types by Arrow's names; Arrow's own conversions would import pandas.
    """
    return np.frombuffer(column.buffers()[1] or b"", str(column.type), count=len(column))


def text_reader(column: pa.StringArray) -> Callable[[int], bytes]:
    """A function row -> the text in UTF-8, straight from Arrow's buffers: for single values, many times faster."""
    _, offsets, data = column.buffers()
    offsets, data = memoryview(offsets).cast("B").cast("i"), memoryview(data or b"")
    return lambda row: data[offsets[row] : offsets[row + 1]].tobytes()


def read_arrow(path: Path) -> pa.RecordBatch:
    """The one record batch of an Arrow file, its buffers in the memory map."""
    try:
        return pa.ipc.open_file(pa.memory_map(str(path))).get_batch(0)
    except (OSError, pa.ArrowInvalid) as e:
        raise InputError(f"{path}: not a readable file of a store ({e}); build the store again") from None


def map_array(path: Path) -> np.ndarray:
    try:
        # asarray: indexing a plain array is several times faster than numpy's memmap class, over the same pages.
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (OSError, ValueError) as e:
        raise InputError(f"{path}: not a readable file of a store ({e}); build the store again") from None


def read_description(folder: Path) -> dict:
    """The store's own description, after checking that the store is of this format and whole."""
    path = folder / DESCRIPTION
    try:
        description = json.loads(path.read_text(encoding="utf-8"))
        written, files = description["format"], description["files"].items()
    except FileNotFoundError:
        raise InputError(f"{folder}: no store here ({DESCRIPTION} is missing); build one first") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{path}: not the description of a store; build the store again") from None
    if written != FORMAT:
        raise InputError(f"{folder}: a store of format {written}, this version reads {FORMAT}; build it again")
    for name, size in files:
        file = folder / name
        if not file.is_file() or file.stat().st_size != size:
            raise InputError(f"{file}: missing or not {size} bytes long, so the store is incomplete; build it again")
    return description
