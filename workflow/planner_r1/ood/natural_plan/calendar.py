"""Calendar scheduling: one slot for a meeting that suits everybody."""

from __future__ import annotations

import re
from dataclasses import dataclass

from planner_r1.ood.natural_plan.fields import CLOCK, Fields, Task, UnreadableTask, clock, minutes

# --- the official exact match ---------------------------------------------------------------------------------------

# No run of letters is read twice, so that a model's endless word costs no more than its length.
_SLOT = re.compile(r"(?<![A-Za-z])([A-Za-z]++), ([0-9]+):([0-9]+) - ([0-9]+):([0-9]+)")
NO_SLOT = ("", -1, -1)


@dataclass(frozen=True)
class Calendar(Task):
    """An example of calendar scheduling: the length of the meeting in minutes, and the golden slot as it is written."""

    length: int
    golden_plan: str

    @classmethod
    def read(cls, key: str, fields: Fields) -> Calendar:
        for name in ("num_people", "num_days"):
            fields.required(name)
        try:
            length = round(60 * float(fields.required("duration")))
        except (TypeError, ValueError, OverflowError):
            raise fields.wrong("duration", "a number of hours") from None
        golden = fields.text("golden_plan")
        if read_slot(golden) == NO_SLOT:
            raise fields.wrong("golden_plan", "text with a slot such as 'Monday, 9:00 - 9:30'")
        return cls(key, fields.text("prompt_5shot"), fields.optional_text("prompt_0shot"), length, golden)

    def official_score(self, answer: str) -> tuple[float, str | None]:
        """1.0 where the first slot in the answer is the golden one, else 0.0 and why."""
        found, golden = read_slot(answer), read_slot(self.golden_plan)
        if found == golden:
            return 1.0, None
        if found == NO_SLOT:
            return 0.0, "no slot in the official format, such as 'Monday, 9:00 - 9:30'"
        return 0.0, f"the first slot is read as {found}, the golden one as {golden}"

    def fault(self, answer: str) -> str | None:
        """Why the proposed slot is not valid, or None.

        The slot is the first one in the official form; where there is none, the last span of time in any form, on the
        day named last before it. Its minutes are taken as written.

        Raises:
            UnreadableTask: the prompt does not state the constraints.
        """
        asked = read_constraints(self)
        slot = _proposed(answer)
        if slot is None:
            return "proposes no day with a begin and an end"
        if reason := _clash(slot, self.length, asked):
            return reason
        first = _first_slot(self.length, asked) if asked.earliest else slot
        return None if slot == first else f"not the earliest slot, which is {_words(first)}"


def read_slot(answer: str) -> tuple[str, float, float]:
    """Day, begin and end in hours as the official scorer reads them (evaluate_calendar_scheduling.py).

    The first slot counts, wherever it stands. Minutes other than 30 count as none.
    """
    if not (found := _SLOT.search(answer)):
        return NO_SLOT
    day, *times = found.groups()
    begin, end = (float(hour) + 0.5 * (past == "30") for hour, past in (times[:2], times[2:]))
    return day, begin, end


# --- validity -------------------------------------------------------------------------------------------------------

_DAYS = r"(Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)"
_DAY = re.compile(rf"\b{_DAYS}\b", re.IGNORECASE)
_FROM_TO = re.compile(rf"{CLOCK}\s?(?:-|–|—|to|until)\s?{CLOCK}", re.IGNORECASE)
_HOURS = re.compile(rf"{CLOCK} to {CLOCK}")
_HEAD = re.compile(r"schedule a meeting .*?between the work hours of (.*?) on (?:either )?(.*?)\.")
_BUSY = re.compile(rf"{_DAYS} during ((?:\d+:\d+ to \d+:\d+(?:, )?)+)")
_AVOIDED = re.compile(rf"\b{_DAYS}(?: (before|after) {CLOCK})?\.")
_EARLIEST = re.compile(r"earli?e?st availability")  # misspelt in the official data

Slot = tuple[str, int, int]  # day, and minutes since midnight of begin and end


@dataclass(frozen=True)
class Constraints:
    """What the slot must keep, as the prompt says.

    days: those to choose from, in order
    hours: begin and end of work
    taken: slots in which somebody cannot or would rather not meet
    earliest: whether the first possible slot is asked for
    """

    days: list[str]
    hours: tuple[int, int]
    taken: list[Slot]
    earliest: bool


def read_constraints(task: Calendar) -> Constraints:
    """Read the constraints of a calendar; what somebody would rather avoid counts as much as what they cannot do.

    Raises:
        UnreadableTask: the prompt lacks the sentence with the days and the work hours.
    """
    head = _HEAD.search(task.question)
    hours = head and _HOURS.search(head[1])
    days = _DAY.findall(head[2]) if head else []
    if not hours or not days:
        raise UnreadableTask("the prompt lacks 'schedule a meeting ... between the work hours of 9:00 to 17:00 on ...'")
    opens, closes = _minutes(hours)
    rest = task.question[head.end() :]
    taken = [(busy[1], *_minutes(span)) for busy in _BUSY.finditer(rest) for span in _HOURS.finditer(busy[2])]
    for avoided in _AVOIDED.finditer(rest):
        day, side, *time = avoided.groups()
        limit = minutes(*time) if side else closes
        taken.append((day, limit, closes) if side == "after" else (day, opens, limit))
    return Constraints(days, (opens, closes), taken, bool(_EARLIEST.search(rest)))


def _proposed(answer: str) -> Slot | None:
    official = _SLOT.search(answer)
    spans = list(_FROM_TO.finditer(answer, official.start() if official else 0))
    if not spans:
        return None
    span = spans[0] if official else spans[-1]
    days = _DAY.findall(answer[: span.start()])
    return (days[-1].capitalize(), *_minutes(span)) if days else None


def _minutes(span: re.Match) -> tuple[int, int]:
    return minutes(*span.groups()[:3]), minutes(*span.groups()[3:])


def _clash(slot: Slot, length: int, asked: Constraints) -> str | None:
    day, begin, end = slot
    if day not in asked.days:
        return f"{day} is not asked for"
    if end - begin != length:
        return f"lasts {end - begin} minutes, not {length}"
    if begin < asked.hours[0] or end > asked.hours[1]:
        return f"{_words(slot)} is outside the work hours"
    for other in asked.taken:
        if other[0] == day and begin < other[2] and other[1] < end:
            return f"{_words(slot)} meets {_words(other)}, when somebody cannot or would rather not meet"
    return None


def _first_slot(length: int, asked: Constraints) -> Slot | None:
    """The earliest possible slot: it begins with the work, or where something else ends."""
    for day in asked.days:
        for begin in sorted({asked.hours[0], *(end for other, _, end in asked.taken if other == day)}):
            if not _clash(slot := (day, begin, begin + length), length, asked):
                return slot
    return None


def _words(slot: Slot) -> str:
    return f"{slot[0]}, {clock(slot[1])} - {clock(slot[2])}"
