"""The case that the rules judge: the days of a plan, with the query, the store and the holes that are closed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from planner_r1.evaluator.reading import Day, attractions, flight_number, leg, name_and_city
from planner_r1.plan.names import rows_named
from planner_r1.queries import Query
from planner_r1.sandbox.store import Store


@dataclass(frozen=True, slots=True)
class Case:
    plan: list
    days: list[Day]
    query: Query
    store: Store
    closed: frozenset[str]
    _flights: dict[int, dict | None] = field(default_factory=dict)  # by the number of the day
    _found: dict[tuple[str, str], list[dict]] = field(default_factory=dict)  # several rules look the same values up

    def rows(self, table: str, value: str) -> list[dict]:
        """The rows of the named city that a "Name, City" may mean, in file order; the first one counts.

        table: "restaurants", "attractions" or "accommodations"
        """
        found = self._found.get((table, value))
        if found is None:
            found = self._found[table, value] = self._look_up(table, value)
        return found

    def _look_up(self, table: str, value: str) -> list[dict]:
        if "name_contained" not in self.closed:
            return self.store.find(table, *name_and_city(value))
        name, city = name_and_city(value, whole_name=True)
        # A place may have its city in its own name, as "Children's Museum, Stockton": that names it, too.
        return rows_named(self.store, table, name, city) or rows_named(self.store, table, f"{name}, {city}", city)

    def attractions(self, day: Day) -> list[str]:
        return attractions(day, keep_last="last_attraction" in self.closed)

    def identity(self, value):
        """What tells a place from others: its text, whatever the spelling where that hole is closed."""
        if "other_spelling" in self.closed and isinstance(value, str):
            name, city = name_and_city(value, whole_name=True)
            return name.removesuffix(f", {city}"), city
        return value

    def date(self, day: Day) -> str:
        return self.query.date[day.number - 1]

    def flight(self, day: Day) -> dict | None:
        """The row of the day's flight on the day's date, or None; the day must name a flight and a leg."""
        if day.number not in self._flights:
            self._flights[day.number] = self.store.flight(flight_number(day), *leg(day), self.date(day))
        return self._flights[day.number]

    def nights(self) -> Iterator[str]:
        """Every accommodation that is filled in."""
        for day in self.days:
            if value := day.text("accommodation"):
                yield value

    def legs(self) -> Iterator[tuple[Day, str]]:
        """(day, value) of every transportation that is filled in."""
        for day in self.days:
            if value := day.text("transportation"):
                yield day, value
