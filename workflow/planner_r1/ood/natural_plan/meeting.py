"""Meeting planning: a day in San Francisco on which to meet as many friends as possible."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from planner_r1.errors import InputError
from planner_r1.ood.natural_plan.fields import CLOCK, Fields, Names, Task, clock, minutes, segments

# --- the examples ---------------------------------------------------------------------------------------------------

A_DAY = 24 * 60


@dataclass(frozen=True)
class Friend:
    """Where and when somebody can be met, and for how many minutes at least."""

    place: str
    begin: datetime
    end: datetime
    minutes: float


@dataclass(frozen=True)
class Meeting(Task):
    """An example of meeting planning.

    place, time: where and when the day begins
    friends: by name
    distances: minutes from one place to another
    golden_count: friends that the golden plan meets, by the official count
    """

    place: str
    time: datetime
    friends: Mapping[str, Friend]
    distances: Mapping[str, Mapping[str, float]]
    golden_count: int

    @classmethod
    def read(cls, key: str, fields: Fields) -> Meeting:
        fields.required("num_people")
        place, time, friends = _read_constraints(fields)
        distances = fields.required("dist_matrix")
        if not _is_matrix(distances):
            raise fields.wrong("dist_matrix", "minutes by place and place, below a day")
        golden = fields.required("golden_plan")
        if not isinstance(golden, list) or not all(isinstance(step, str) for step in golden):
            raise fields.wrong("golden_plan", "a list of sentences")
        prompts = fields.text("prompt_5shot"), fields.optional_text("prompt_0shot")
        try:
            count, _ = _walk(golden, place, time, friends, distances)
        except (KeyError, IndexError) as raised:
            unknown = f"'golden_plan' names {raised}, which 'constraints' or 'dist_matrix' lack"
            raise InputError(f"{fields.where}: {unknown}; take the official file as it is") from None
        return cls(key, *prompts, place, time, friends, distances, count)

    def official_score(self, answer: str) -> tuple[float, str | None]:
        """1.0 where the plan meets just as many friends as the golden plan, else 0.0 and why."""
        try:
            count, stop = count_meetings(self, answer)
        except (KeyError, IndexError) as raised:
            return 0.0, f"the official scorer raises {type(raised).__name__}: {raised.args[0]}"
        if count == self.golden_count:
            return 1.0, None
        end = f"; reading stopped at a step: {stop}" if stop else ""
        return 0.0, f"meets {count} friends, the golden plan {self.golden_count}{end}"

    def fault(self, answer: str) -> str | None:
        """Why the plan is not valid, or None.

        A valid plan meets at least as many friends as the golden one, each for long enough, where and when they are.
        Minutes and times that it states must be true; a meeting may be longer than asked for, and may begin after a
        pause that no step names. The form of the sentences does not matter beyond "You travel", "You wait" and so on.
        """
        day = _Day(self)
        for verb, words in _read_steps(answer):
            if reason := getattr(day, verb)(words):
                return reason
        if len(day.met) < self.golden_count:
            return f"meets {len(day.met)} friends, {self.golden_count} are possible"
        return None


def _read_constraints(fields: Fields) -> tuple[str, datetime, dict[str, Friend]]:
    try:
        (place, time), *others = fields.required("constraints")
        start = _name(place), _time(time)
        friends = {}
        for name, where, times, least in others:
            begin, end = (_time(time.strip()) for time in times.split("to"))
            friends[_name(name)] = Friend(_name(where), begin, end, least)
            if not _are_minutes(least):
                raise ValueError("minutes must be below a day")
    except (TypeError, ValueError, AttributeError):
        form = "[[place, '9:00AM'], [friend, place, '1:00PM to 2:00PM', minutes], ...]"
        raise fields.wrong("constraints", form) from None
    return *start, friends


def _name(value) -> str:
    if not isinstance(value, str):
        raise TypeError("a name must be text")
    return value


def _are_minutes(value) -> bool:
    return isinstance(value, int | float) and 0 <= value < A_DAY


def _is_matrix(distances) -> bool:
    return isinstance(distances, dict) and all(
        isinstance(row, dict) and all(map(_are_minutes, row.values())) for row in distances.values()
    )


# --- the official exact match ---------------------------------------------------------------------------------------


def count_meetings(task: Meeting, answer: str) -> tuple[int, str | None]:
    """The friends met as the official scorer counts them (evaluate_meeting_planning.py), and why it stopped, if it did.

    Places, minutes and clock times are those of the example, whatever the plan says of them. The first step that does
    not fit ends the count.

    Raises:
        KeyError, IndexError: where the official code raises them.
    """
    return _walk(read_steps(answer), task.place, task.time, task.friends, task.distances)


def read_steps(answer: str) -> list[str]:
    """The sentences of the plan, after the first "SOLUTION:" if there is one."""
    return [step for sentence in _plan(answer).split(".") if (step := sentence.strip())]


def _plan(answer: str) -> str:
    return answer.partition("SOLUTION:")[2] if "SOLUTION:" in answer else answer


def _walk(
    steps: Sequence[str],
    place: str,
    now: datetime,
    friends: Mapping[str, Friend],
    distances: Mapping[str, Mapping[str, float]],
) -> tuple[int, str | None]:
    met = set()
    for step in steps:
        if step.startswith("You start"):
            continue
        if step.startswith("You travel"):
            destination = _words_between(step, "travel to ", " in")
            now += timedelta(minutes=distances[place][destination])
            place = destination
        elif step.startswith("You wait"):
            try:
                until = _time(_words_between(step, "wait until ", "."))
            except ValueError:
                return len(met), f"{step!r:.80} has no time such as 9:00AM"
            if until <= now:
                return len(met), f"{step!r:.80} is in the past"
            now = until
        elif step.startswith("You meet"):
            name = _words_between(step, "meet ", " for")
            friend = friends[name]
            end = now + timedelta(minutes=friend.minutes)
            if name in met or place != friend.place or now < friend.begin or end > friend.end:
                return len(met), f"{name} is met twice, elsewhere or at another time"
            met.add(name)
            now = end
        else:
            return len(met), f"{step!r:.80} is not a step of a plan"
    return len(met), None


def _words_between(step: str, before: str, after: str) -> str:
    _, found, rest = step.partition(before)
    if not found:
        raise IndexError(f"no {before.strip()!r} in {step!r:.80}")
    return rest.split(before)[0].split(after)[0].strip()


def _time(text: str) -> datetime:
    return datetime.strptime(text, "%I:%M%p")


# --- validity -------------------------------------------------------------------------------------------------------

_STEP = re.compile(r"\bYou\s+(start|travel|wait|meet)\b", re.IGNORECASE)
_TIME = re.compile(CLOCK, re.IGNORECASE)
_MINUTES = re.compile(r"(?<!\d)(\d{1,4})\s?min", re.IGNORECASE)


def _read_steps(answer: str) -> list[tuple[str, str]]:
    """(verb, words after it) of each step; a second plan in the same answer is not read."""
    steps = [(step[1].lower(), words) for step, words in segments(_STEP, _plan(answer))]
    again = (number for number, (verb, _) in enumerate(steps) if verb == "start" and number > 0)
    return steps[: next(again, None)]


class _Day:
    """The day as it goes on, step by step; each step returns why it is not possible, or None."""

    def __init__(self, task: Meeting):
        self.task = task
        self.place, self.now = task.place, _since_midnight(task.time)
        self.met: set[str] = set()
        self.places = Names({task.place, *task.distances, *(friend.place for friend in task.friends.values())})
        self.names = Names(task.friends)

    def start(self, words: str) -> str | None:
        place, times = self.places.first(words), _times(words)
        if place not in (None, self.task.place) or times not in ([], [self.now]):
            return f"starts at another place or time than {self.task.place} at {clock(self.now)}"
        return None

    def travel(self, words: str) -> str | None:
        place = self.places.first(words)
        distance = self.task.distances.get(self.place, {}).get(place)
        if distance is None:
            return f"no way from {self.place} to {place or 'a place that the task does not name'}"
        self.place, self.now = place, self.now + distance
        stated = _MINUTES.search(words)
        if (stated and int(stated[1]) != distance) or _times(words)[:1] not in ([], [self.now]):
            return f"the way to {place} takes {distance} minutes, until {clock(self.now)}"
        return None

    def wait(self, words: str) -> str | None:
        times = _times(words)
        if not times or times[0] < self.now:
            return f"at {clock(self.now)}, waits until no time or one that is past"
        self.now = times[0]
        return None

    def meet(self, words: str) -> str | None:
        name = self.names.first(words)
        stated, times = _MINUTES.search(words), _times(words)[:2]
        if name is None:  # "In total you meet 3 friends" is not a step
            return "meets somebody whom the task does not name" if stated or times else None
        if name in self.met:
            return f"meets {name} twice"
        friend = self.task.friends[name]
        lasts = int(stated[1]) if stated else friend.minutes
        begin = times[0] if times else max(self.now, _since_midnight(friend.begin))
        end = times[1] if len(times) == 2 else begin + lasts
        if begin < self.now or (stated and end - begin != lasts):
            return f"the times of the meeting with {name} cannot be"
        if self.place != friend.place:
            return f"{name} is at {friend.place}, not at {self.place}"
        if begin < _since_midnight(friend.begin) or end > _since_midnight(friend.end):
            return f"{name} is not there from {clock(begin)} to {clock(end)}"
        if end - begin < friend.minutes:
            return f"meets {name} for {end - begin} minutes, not {friend.minutes}"
        self.met.add(name)
        self.now = end
        return None


def _times(words: str) -> list[int]:
    return [minutes(*time.groups()) for time in _TIME.finditer(words)]


def _since_midnight(time: datetime) -> int:
    return 60 * time.hour + time.minute
