"""Many questions to a service at once: a service that seems to be down is left alone, and progress is told."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from planner_r1.console import duration
from planner_r1.endpoint.client import Fault
from planner_r1.endpoint.ledger import Ledger

SECONDS_BETWEEN_LINES = 10
FEWEST_FAULTS = 3  # in a row, before a service counts as down

Item = TypeVar("Item")


async def ask_all(
    items: Iterable[Item],
    ask: Callable[[Item], Awaitable[None]],
    concurrency: int,
    on_fault: Callable[[Item, Fault], None],
) -> None:
    """Ask about each item, `concurrency` of them at a time.

    Faults are handed to `on_fault`. After as many in a row as are asked at once (and at least FEWEST_FAULTS) no more
    items are begun. Any other exception ends all that is under way, and is raised.
    """
    waiting, in_a_row = iter(items), 0

    async def asker() -> None:
        nonlocal in_a_row
        for item in waiting:
            if in_a_row >= max(concurrency, FEWEST_FAULTS):
                return
            try:
                await ask(item)
            except Fault as fault:
                in_a_row += 1
                on_fault(item, fault)
            else:
                in_a_row = 0

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(concurrency):
                group.create_task(asker())
    except ExceptionGroup as several:
        raise several.exceptions[0] from None


class Progress:
    """Says from time to time, and at the end, how far it has come, at what cost, and how long the rest takes.

    Args:
        what: is counted, such as "episodes"; `before` of the `total` were there already.
    """

    def __init__(self, name: str, what: str, total: int, before: int, ledger: Ledger, report: Callable[[str], None]):
        self._name, self._what, self._total, self._before = name, what, total, before
        self._ledger, self._report = ledger, report
        self._started = self._last_line = time.monotonic()

    def show(self, done: int) -> None:
        """Say it, if it is time, after one more of them."""
        now = time.monotonic()
        if now - self._last_line < SECONDS_BETWEEN_LINES and done < self._total:
            return
        self._last_line = now
        pace = (now - self._started) / (done - self._before)
        totals = self._ledger.totals()
        cost = "unknown" if totals["cost"] is None else f"{totals['cost']:.2f} {totals['currency']}"
        left = duration(pace * (self._total - done))
        self._report(f"{self._name}: {done}/{self._total} {self._what}, cost so far {cost}, {left} left")
