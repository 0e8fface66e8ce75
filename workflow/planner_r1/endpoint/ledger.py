"""What requests to an endpoint cost: one JSON line a request, and their sums."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from planner_r1.files import open_lines, read_lines


@dataclass(frozen=True)
class Usage:
    """Tokens of one request as the service counts them; None where it does not say.

    prompt: of the request, `cached` of them read from a cache
    completion: of the reply, `reasoning` of them never shown
    """

    prompt: int | None = None
    completion: int | None = None
    reasoning: int | None = None
    cached: int | None = None

    @classmethod
    def read(cls, usage: Any) -> Usage:
        """From the `usage` of an answer; whatever is not a count is None."""
        usage = usage if isinstance(usage, dict) else {}
        return cls(
            prompt=_count(usage.get("prompt_tokens")),
            completion=_count(usage.get("completion_tokens")),
            reasoning=_detail(usage, "completion_tokens_details", "reasoning_tokens"),
            cached=_detail(usage, "prompt_tokens_details", "cached_tokens"),
        )

    @property
    def total(self) -> int | None:
        return None if self.prompt is None or self.completion is None else self.prompt + self.completion


@dataclass(frozen=True)
class Price:
    """Prices in `currency` for a million tokens; None where they are not known.

    cached_input: of prompt tokens read from a cache; `input` where it is None
    """

    input: float | None = None
    output: float | None = None
    cached_input: float | None = None
    currency: str = "USD"

    def of(self, usage: Usage) -> float | None:
        """The price of one request; None where a price or a count is not known."""
        if self.input is None or self.output is None or usage.total is None:
            return None
        cached = usage.cached or 0
        cheap = self.input if self.cached_input is None else self.cached_input
        return ((usage.prompt - cached) * self.input + cached * cheap + usage.completion * self.output) / 1e6


class Ledger:
    """A file of requests that several runs of a program add to. Sums are over all of them.

    Raises:
        OSError: the file cannot be written.
    """

    def __init__(self, path: Path, price: Price):
        self._price = price
        self._sums: dict[str, float] = {"requests": 0, "without_answer": 0, "retries": 0, "seconds": 0.0, "cost": 0.0}
        self._sums |= {f.name: 0 for f in fields(Usage)}
        self._unpriced = 0  # answers whose price is not known
        self._file = open_lines(path)
        for entry in read_lines(path):
            self._sum(entry)

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_) -> None:
        self._file.close()

    def add(self, label: Mapping[str, Any], usage: Usage, seconds: float, retries: int, problem: str | None) -> None:
        """Write down one request with all its tries.

        Args:
            label: what it was about, such as the model and the query.
            seconds: from the first try to the end of the last, waiting included.
            problem: why there was no answer, None where there was one.
        """
        cost = self._price.of(usage) if problem is None else None
        entry = {**label, **asdict(usage), "seconds": round(seconds, 3), "retries": retries, "cost": cost}
        entry |= {"currency": self._price.currency, "problem": problem}
        self._file.write(json.dumps(entry, ensure_ascii=False) + "\n")
        self._file.flush()
        self._sum(entry)

    def _sum(self, entry: Mapping[str, Any]) -> None:
        answered = entry["problem"] is None
        self._sums["requests"] += 1
        self._sums["without_answer"] += not answered
        self._unpriced += answered and entry["cost"] is None
        for name in ("retries", "seconds", "cost", *(f.name for f in fields(Usage))):
            self._sums[name] += entry[name] or 0

    def totals(self) -> dict[str, Any]:
        """Sums over all requests; `cost` is None where the price of an answer is not known."""
        cost = None if self._unpriced else round(self._sums["cost"], 6)
        return self._sums | {"seconds": round(self._sums["seconds"], 3), "cost": cost, "currency": self._price.currency}


def _detail(usage: dict, section: str, name: str) -> int | None:
    details = usage.get(section)
    return _count(details.get(name)) if isinstance(details, dict) else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
