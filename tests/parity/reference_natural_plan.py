"""NaturalPlan's official scorers once more, in the plainest way, from a description of what they do.

It shares no code with planner_r1.ood.natural_plan and takes whatever time it likes: lines are matched by the very
patterns of the description, times are minutes counted by hand, slots are read letter by letter.
"""

from __future__ import annotations

import re
from string import ascii_letters, digits

# --- trips -----------------------------------------------------------------------------------------------------------


def trip_plan(answer: str) -> list[tuple[str, int]]:
    """Cities and days: flights say which, the last range says when the last stay ends."""
    cities, changes, total, last_day = [], [1], None, None
    for line in answer.split("\n"):
        if header := re.findall(r"European cities for (\d+) days", line):
            total = int(header[0])
        if ranges := re.findall(r"\d+-\d+", line):
            last_day = int(ranges[0].split("-")[1])
            if last_day == total:
                break
        for day, origin, destination in re.findall(r".*Day (\d+).*from (\w+) to (\w+)", line)[:1]:
            cities += [destination] if cities else [origin, destination]
            changes.append(int(day))
    if last_day is None or not cities:
        return []
    changes.append(last_day)
    return [(city, changes[at + 1] - changes[at] + 1) for at, city in enumerate(cities)]


def trip_score(example: dict, answer: str) -> float:
    golden = list(zip(example["cities"].split("**"), map(int, example["durations"].split("**")), strict=True))
    return float(trip_plan(answer)[: len(golden)] == golden)


# --- meetings --------------------------------------------------------------------------------------------------------


def meeting_steps(answer: str) -> list[str]:
    """What stands between full stops behind the first "SOLUTION:"."""
    words = answer.partition("SOLUTION:")[2] if "SOLUTION:" in answer else answer
    return [step.strip() for step in words.split(".") if step.strip()]


def meetings(example: dict, steps: list[str]) -> int | str:
    """How many friends are met, or the name of the error that escapes the official code."""
    (here, start), *friends = example["constraints"]
    now, met = minutes(start), []
    for step in steps:
        if step.startswith("You start"):
            continue
        if step.startswith("You travel"):
            rest = step.split("travel to ")
            if len(rest) == 1:
                return "IndexError"
            there = rest[1].split(" in")[0].strip()
            if there not in example["dist_matrix"].get(here, {}):
                return "KeyError"
            now, here = now + example["dist_matrix"][here][there], there
        elif step.startswith("You wait"):
            rest = step.split("wait until ")
            if len(rest) == 1:
                return "IndexError"
            until = minutes(rest[1].partition(".")[0].strip())
            if until is None or until <= now:
                break
            now = until
        elif step.startswith("You meet"):
            rest = step.split("meet ")
            if len(rest) == 1:
                return "IndexError"
            person = rest[1].split(" for")[0].strip()
            if person in met:
                break
            found = [friend for friend in friends if friend[0] == person]
            if not found:
                return "KeyError"
            _, place, hours, least = found[-1]
            opens, closes = (minutes(time.strip()) for time in hours.split("to"))
            if here != place or now < opens or now + least > closes:
                break
            met.append(person)
            now += least
        else:
            break
    return len(met)


def minutes(time: str) -> int | None:
    """Minutes since midnight of a time such as 9:05AM; None where it is none."""
    hours, colon, rest = time.partition(":")
    past, half = rest[:-2], rest[-2:].lower()
    if not colon or half not in ("am", "pm") or not hours.isdecimal() or not past.isdecimal():
        return None
    if len(hours) > 2 or len(past) > 2 or not 1 <= int(hours) <= 12 or int(past) > 59:
        return None
    return 60 * (int(hours) % 12 + (12 if half == "pm" else 0)) + int(past)


def meeting_score(example: dict, answer: str) -> float | str:
    """1.0 or 0.0, or the name of the error. The golden list is walked as it is."""
    found = meetings(example, meeting_steps(answer))
    return found if isinstance(found, str) else float(found == meetings(example, example["golden_plan"]))


# --- calendars -------------------------------------------------------------------------------------------------------


def slot(answer: str) -> tuple[str, float, float]:
    """Day, begin and end in hours of the first "Monday, 9:00 - 9:30"; ("", -1, -1) without one."""
    for begin in range(len(answer)):
        found = slot_at(answer, begin)
        if found:
            return found
    return "", -1, -1


def slot_at(text: str, at: int) -> tuple[str, float, float] | None:
    """The slot that begins just here."""
    parts = []
    for alphabet, then in (
        (ascii_letters, ", "),
        (digits, ":"),
        (digits, " - "),
        (digits, ":"),
        (digits, ""),
    ):
        end = at
        while end < len(text) and text[end] in alphabet:
            end += 1
        if end == at or not text.startswith(then, end):
            return None
        parts.append(text[at:end])
        at = end + len(then)
    day, *times = parts
    begin, end = (int(hours) + (0.5 if past == "30" else 0.0) for hours, past in (times[:2], times[2:]))
    return day, begin, end


def calendar_score(example: dict, answer: str) -> float:
    return float(slot(answer) == slot(example["golden_plan"]))
