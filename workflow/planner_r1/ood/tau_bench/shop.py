"""The records of the shop, and the hash by which the benchmark compares two states of it.

A record (a user, an order, a product) is never changed in place: a tool makes a new one and hands it to `change`. So a
copy of the shop shares its records, and the text that the hash is made of is kept for each record: both are cheap.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

Record = dict[str, Any]
Table = dict[str, Record]


class Shop:
    """One state of the shop.

    orders, products, users: records by id, as in the benchmark's files
    """

    def __init__(self, orders: Table, products: Table, users: Table):
        self.orders, self.products, self.users = orders, products, users
        # in the order in which they are hashed
        self._texts = {"orders": _texts(orders), "products": _texts(products), "users": _texts(users)}

    def copy(self) -> Shop:
        """The same state, whose changes leave this one alone."""
        other = Shop.__new__(Shop)
        other.orders, other.products, other.users = dict(self.orders), self.products, dict(self.users)
        other._texts = {table: dict(texts) for table, texts in self._texts.items()}
        return other

    def change(self, orders: Mapping[str, Record], users: Mapping[str, Record]) -> None:
        """Put new records in place of old ones: all of them, or none where one cannot be hashed.

        Raises:
            RecursionError: a record is nested too deeply.
        """
        order_texts, user_texts = _texts(orders), _texts(users)
        self.orders.update(orders)
        self.users.update(users)
        self._texts["orders"].update(order_texts)
        self._texts["users"].update(user_texts)

    def hash(self) -> str:
        """The benchmark's data hash: SHA-256 of the text of all records as nested tuples, sorted by key.

        It is a hash of text, so 0 and 0.0 differ.
        """
        tables = (f"({table!r}, {_tuple(texts.values())})" for table, texts in self._texts.items())
        return hashlib.sha256(_tuple(tables).encode()).hexdigest()


def _texts(table: Mapping[str, Record]) -> dict[str, str]:
    """The text of each record together with its id, in the order of the ids."""
    return {key: f"({key!r}, {_text(record)})" for key, record in sorted(table.items())}


def _text(value: Any) -> str:
    """A JSON value as Python writes it once objects are tuples of sorted pairs, and lists tuples."""
    if isinstance(value, dict):
        return _tuple([f"({key!r}, {_text(held)})" for key, held in sorted(value.items())])
    if isinstance(value, list):
        return _tuple([_text(held) for held in value])
    return repr(value)


def _tuple(parts: Iterable[str]) -> str:
    parts = list(parts)
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
