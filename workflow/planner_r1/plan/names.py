"""Looking a place up by its whole name."""

from __future__ import annotations

from planner_r1.sandbox.store import PLACES, Store


def rows_named(store: Store, table: str, name: str, city: str) -> list[dict]:
    """The rows of a city whose name is `name`, in file order.

    White space around a name does not tell places apart: a few names of the official tables end in a blank.
    """
    name, column = name.strip(), PLACES[table].name_column
    return [row for row in store.find(table, name, city) if row[column].strip() == name]
