"""How the values of an official plan are read: days, cities, legs, names, modes of transport.

The readings follow what the official evaluator was seen to do, oddities included; where the strict profile closes a
hole, the reading has a switch for it. Every reading takes time linear in the length of the text, since a policy may
write long ones.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cached_property

MEALS = ("breakfast", "lunch", "dinner")
TEXT_KEYS = ("current_city", "transportation", *MEALS, "attraction", "accommodation")
NO_NAME = ("-", "-")  # what a value without ", City" is read as: matches no row of any table
MODES = ("taxi", "self-driving", "flight")
BLANK = ("", "-")  # the texts that stand for nothing
# What the benchmark's annotators wrote as the city of a day that their query does not have.
DAY_NOT_NEEDED = "You don't need to fill in the information for this or later days."
QUOTED = 80  # characters of a value that are repeated in a reason


class Unreadable(Exception):
    """The plan cannot be judged (the official code raises on it); the message becomes the verdict's reason."""


class Day:
    """One looked-at day of a plan.

    `number` counts from 1 by position in the plan (the key "days" is never read); `values` are the day's own. All else
    is read when a rule asks for it, so that a day that cannot be read (Unreadable) stops only the rules that reach it.
    """

    def __init__(self, number: int, values):
        self.number = number
        self.values: dict = values

    @cached_property
    def current_city(self) -> str:
        if "current_city" not in self.values:
            raise Unreadable(f"day {self.number} has no current_city")
        return self._as_text("current_city", self.values["current_city"])

    @property
    def travels(self) -> bool:
        """Whether current_city reads "from A to B"."""
        return "from" in self.current_city

    @cached_property
    def cities(self) -> tuple[str, ...]:
        """The one or two cities of current_city, without their states."""
        if not self.travels:
            return (cut(self.current_city),)
        pair = from_to(self.current_city)
        if pair is None:
            raise Unreadable(f'day {self.number}: current_city does not read "from A to B": {quote(self.current_city)}')
        return cut(pair[0]), cut(pair[1])

    def filled(self, key: str):
        """The value under `key`, of whatever type, or "" where it is missing, "-" or empty (null, 0, [], ...)."""
        value = self.values.get(key)
        return value if value and value != "-" else ""

    def text(self, key: str) -> str:
        """Like `filled`, for a rule that needs a text."""
        return self._as_text(key, self.filled(key))

    def _as_text(self, key: str, value) -> str:
        if not isinstance(value, str):
            raise Unreadable(f"day {self.number}: {key} is not text but {type(value).__name__}")
        return value

    def mentions(self, key: str, city: str) -> bool:
        """Whether the value under `key` contains the city: as a part of a text, an entry of a list, a key of an object.

        Lists and objects matter only to plans that fail: the rules that look names up cannot read them.
        """
        value = self.values[key]
        return city in (value if isinstance(value, list | dict) else self._as_text(key, value))


def read_days(plan: list, limit: int) -> list[Day]:
    """The first `limit` days of the plan.

    Raises:
        Unreadable: where no rule could read one of them, so that each of them would raise.
    """
    for number, values in enumerate(plan[:limit], start=1):
        if not isinstance(values, dict):
            raise Unreadable(f"day {number} is not an object but {type(values).__name__}")
    return [Day(number, values) for number, values in enumerate(plan[:limit], start=1)]


# A whole run of white space with "to" and the start of a destination behind it.
_TO = re.compile(r"(?<!\s)\s++(?=to\s+[^,])")
_FROM = re.compile(r"from(\s++)")


def from_to(text: str) -> tuple[str, str] | None:
    r"""A and B of the first "from A to B" in the text, or None.

    Gives what a search for `from\s+(.+?)\s+to\s+([^,]+)(?=[,\s]|$)` gives. That pattern takes cubic time on a long run
    of white space, so the search is spelled out.
    """
    if "from" not in text:
        return None
    gaps = [match.span() for match in _TO.finditer(text)]
    if not gaps:
        return None
    begins = [begin for begin, _ in gaps]
    breaks = _last_line_breaks(text, begins)
    for match in _FROM.finditer(text):
        blank, start = match.span(1)  # the white space behind "from", and what follows it
        at = bisect_left(begins, start)
        if at < len(gaps) and breaks[at] < start:  # A ends at the nearest gap, if that is on the same line
            return text[start : begins[at]], _destination(text, gaps[at][1])
        # Otherwise A is one blank of that white space, where "to" stands right behind it: the last blank that leaves
        # one to either side and does not break the line.
        if at and begins[at - 1] == blank:
            origin = text[blank + 1 : start - 1].replace("\n", "")[-1:]
            if origin:
                return origin, _destination(text, start)
    return None


def _last_line_breaks(text: str, places: list[int]) -> list[int]:
    """Where the last line break before each of the ascending places stands, or -1."""
    found, last, done = [], -1, 0
    for place in places:
        last = max(last, text.rfind("\n", done, place))
        found.append(last)
        done = place
    return found


def _destination(text: str, gap_end: int) -> str:
    """B, behind the "to" that stands at `gap_end`."""
    rest = text[gap_end + len("to") :]
    # Only white space before the comma: the last blank of it is the destination.
    return rest.lstrip().partition(",")[0] or rest.partition(",")[0][-1]


def cut(city: str) -> str:
    """The city without its state: "Toledo(Ohio)" is looked up as "Toledo".

    Only a closed parenthesis counts, and only one that opens on the first line.
    """
    name, parenthesis, state = city.partition("(")
    return name if parenthesis and ")" in state and "\n" not in name else city


def leg(day: Day) -> tuple[str, str] | None:
    """Origin and destination of the day's transportation, from its own text or else from current_city."""
    pair = from_to(day.text("transportation")) or from_to(day.current_city)
    return (cut(pair[0]), cut(pair[1])) if pair else None


def name_and_city(value: str, whole_name: bool = False) -> tuple[str, str]:
    """The two parts of "Name, City": the last comma parts them, the city is cut as in `cut`.

    The official code takes the name from behind its last line break only; `whole_name` keeps it all.
    """
    head, comma, tail = value.rpartition(",")
    if not comma or not tail:
        return NO_NAME
    name = head if whole_name else head.rpartition("\n")[2]
    return name.strip(), cut(tail.strip()).strip()


def attractions(day: Day, keep_last: bool) -> list[str]:
    """The day's attractions: the pieces that end in ";". What stands behind the last ";" is looked at only if asked."""
    *pieces, last = day.text("attraction").split(";")
    return [*pieces, last] if keep_last and last.strip() else pieces


def mode_of_day(text: str) -> str | None:
    """The one mode that a day counts with where modes are compared: "taxi", "self-driving", "flight" or None."""
    text = text.lower()
    return next((mode for mode in MODES if mode in text), None)


def mode_to_look_up(text: str) -> str | None:
    """The mode by which a leg is looked up and priced; here a flight is told by the words "flight number"."""
    text = text.lower()
    if "flight number" in text:
        return "flight"
    return next((mode for mode in ("self-driving", "taxi") if mode in text), None)


def flight_number(day: Day) -> str:
    """The number behind "Flight Number: "; raises Unreadable where the words are spelled otherwise."""
    _, label, rest = day.text("transportation").partition("Flight Number: ")
    if not label:
        raise Unreadable(f'day {day.number}: the flight is not written as "Flight Number: ..."')
    return rest.partition("Flight Number: ")[0].partition(",")[0]


def quote(value) -> str:
    """The value as it is shown in a reason: on one line and of bounded length."""
    if not isinstance(value, str):
        return f"a value of type {type(value).__name__}"
    return repr(value if len(value) <= QUOTED else value[:QUOTED] + "...")
