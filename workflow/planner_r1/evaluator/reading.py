"""How the texts of an official plan are read: days, cities, legs, names, modes of transport.

The readings follow what the official evaluator was seen to do, oddities included; where the strict profile closes a
hole, the reading has a switch for it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MEALS = ("breakfast", "lunch", "dinner")
TEXT_KEYS = ("current_city", "transportation", *MEALS, "attraction", "accommodation")
NO_NAME = ("-", "-")  # what a value without ", City" is read as: matches no row of any table
MAX_TEXT = 10_000  # characters of a value; the longest in 4,558 plans of real models and their mutations has 878
QUOTED = 80  # characters of a value that are repeated in a reason


class Unreadable(Exception):
    """The plan cannot be judged (the official code raises on it); the message becomes the verdict's reason."""


@dataclass(frozen=True, slots=True)
class Day:
    """One looked-at day of a plan.

    `number` counts from 1 by position in the plan (the key "days" is never read), `cities` are the one or two cities of
    `current_city` cut at their "(", and `travels` tells whether it reads "from A to B".
    """

    number: int
    values: dict
    cities: tuple[str, ...]
    travels: bool

    def filled(self, key: str) -> str:
        """The text under `key`, or "" where it is missing, empty or "-"."""
        text = self.values.get(key, "")
        return "" if text == "-" else text


def read_days(plan: list, limit: int) -> list[Day]:
    """The first `limit` days of the plan; raises Unreadable where one of them cannot be judged."""
    return [_read_day(number, values) for number, values in enumerate(plan[:limit], start=1)]


def _read_day(number: int, values) -> Day:
    if not isinstance(values, dict):
        raise Unreadable(f"day {number} is no object but {type(values).__name__}")
    for key in TEXT_KEYS:
        value = values.get(key, "")
        if not isinstance(value, str):
            raise Unreadable(f"day {number}: {key} is no text but {type(value).__name__}")
        if len(value) > MAX_TEXT:
            raise Unreadable(f"day {number}: {key} has {len(value):,} characters")
    if "current_city" not in values:
        raise Unreadable(f"day {number} has no current_city")
    current_city = values["current_city"]
    if "from" not in current_city:
        return Day(number, values, (cut(current_city),), travels=False)
    pair = from_to(current_city)
    if pair is None:
        raise Unreadable(f'day {number}: current_city does not read "from A to B": {quote(current_city)}')
    return Day(number, values, (cut(pair[0]), cut(pair[1])), travels=True)


# A whole run of white space with "to" and the start of a destination behind it.
_TO = re.compile(r"(?<!\s)\s++(?=to\s+[^,])")
_FROM = re.compile(r"from(\s++)")


def from_to(text: str) -> tuple[str, str] | None:
    r"""A and B of the first "from A to B" in the text, or None.

    Gives what a search for `from\s+(.+?)\s+to\s+([^,]+)` gives. That pattern takes cubic time on a long run of white
    space, which a policy may well write, so the search is spelled out.
    """
    if "from" not in text:
        return None
    gaps = [match.span() for match in _TO.finditer(text)]
    if not gaps:
        return None
    for match in _FROM.finditer(text):
        # White space after "from" belongs to the keyword as far as possible; one blank must stay with it.
        for start in range(match.end(), match.start(1), -1):
            found = _complete(text, start, gaps)
            if found:
                return found
            if start < match.end() and text[start] == "\n":
                break  # A may not hold a line break, so starting further left cannot help
    return None


def _complete(text: str, start: int, gaps: list[tuple[int, int]]) -> tuple[str, str] | None:
    """A from `start` to the nearest gap behind its first character, and B behind that gap's "to"."""
    for gap_start, gap_end in gaps:
        end = max(gap_start, start + 1)
        if end >= gap_end:
            continue
        if "\n" in text[start:end]:
            return None
        rest = text[gap_end + len("to") :]
        destination = rest.lstrip().partition(",")[0]
        # Only white space before the comma: the last blank of it is the destination.
        return text[start:end], destination or rest.partition(",")[0][-1]
    return None


def cut(city: str) -> str:
    """The city without its state: "Toledo(Ohio)" is looked up as "Toledo"."""
    return city.partition("(")[0]


def leg(day: Day) -> tuple[str, str] | None:
    """Origin and destination of the day's transportation, from its own text or else from current_city."""
    pair = from_to(day.values["transportation"]) or from_to(day.values["current_city"])
    return (cut(pair[0]), cut(pair[1])) if pair else None


def name_and_city(value: str, whole_name: bool = False) -> tuple[str, str]:
    """The two parts of "Name, City": the last comma parts them, the city is cut at its "(".

    The official code takes the name from behind its last line break only; `whole_name` keeps it all.
    """
    head, comma, tail = value.rpartition(",")
    if not comma or not tail:
        return NO_NAME
    name = head if whole_name else head.rpartition("\n")[2]
    return name.strip(), cut(tail.strip()).strip()


def attractions(day: Day, keep_last: bool = False) -> list[str]:
    """The day's attractions: the pieces that end in ";". What stands behind the last ";" is looked at only if asked."""
    *pieces, last = day.filled("attraction").split(";")
    return [*pieces, last] if keep_last and last.strip() else pieces


def mode_of_day(text: str) -> str | None:
    """The one mode that a day counts with where modes are compared: "taxi", "self-driving", "flight" or None."""
    text = text.lower()
    return next((mode for mode in ("taxi", "self-driving", "flight") if mode in text), None)


def mode_to_look_up(text: str) -> str | None:
    """The mode by which a leg is looked up and priced; here a flight is told by the words "flight number"."""
    text = text.lower()
    if "flight number" in text:
        return "flight"
    return next((mode for mode in ("self-driving", "taxi") if mode in text), None)


def flight_number(day: Day) -> str:
    """The number behind "Flight Number: "; raises Unreadable where the words are spelled otherwise."""
    _, label, rest = day.values["transportation"].partition("Flight Number: ")
    if not label:
        raise Unreadable(f'day {day.number}: the flight is not written as "Flight Number: ..."')
    return rest.partition("Flight Number: ")[0].partition(",")[0]


def quote(text: str) -> str:
    """The text as it is shown in a reason: on one line and of bounded length."""
    return repr(text if len(text) <= QUOTED else text[:QUOTED] + "...")
