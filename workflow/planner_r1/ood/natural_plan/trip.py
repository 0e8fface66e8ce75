"""Trip planning: an order of cities, joined by direct flights, with a number of days in each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from planner_r1.ood.natural_plan.fields import Fields, Names, Task, UnreadableTask, segments

# --- the official exact match ---------------------------------------------------------------------------------------

_TOTAL = re.compile(r"European cities for (\d+) days")
# The first range of a line; no run of digits is read twice, so that a model's endless line costs but its length.
_RANGE = re.compile(r"(?<!\d)\d++-(\d+)")
_DAY = re.compile(r"Day (\d+)")
_LEG = re.compile(r"(?=from (\w+) to (\w+))")  # looks ahead: one leg may begin inside another


@dataclass(frozen=True)
class Trip(Task):
    """An example of trip planning: the cities in the golden order, and the days in each."""

    cities: tuple[str, ...]
    days: tuple[int, ...]

    @classmethod
    def read(cls, key: str, fields: Fields) -> Trip:
        cities = tuple(city for city in fields.text("cities").split("**") if city)
        durations = [days for days in fields.text("durations").split("**") if days]
        if not cities:
            raise fields.wrong("cities", "the cities in golden order, joined by **")
        if len(durations) != len(cities) or not all(re.fullmatch("[0-9]{1,4}", days) for days in durations):
            raise fields.wrong("durations", f"{len(cities)} whole numbers joined by **, one for each city")
        if str(fields.required("num_cities")) != str(len(cities)):
            raise fields.wrong("num_cities", f"{len(cities)}, the number of 'cities'")
        fields.text("golden_plan")
        prompts = fields.text("prompt_5shot"), fields.optional_text("prompt_0shot")
        return cls(key, *prompts, cities, tuple(map(int, durations)))

    def official_score(self, answer: str) -> tuple[float, str | None]:
        """1.0 where the golden cities with their days come first in the plan, else 0.0 and why."""
        try:
            plan = read_plan(answer)
        except ValueError:  # Python refuses to convert thousands of digits
            return 0.0, "the official scorer raises ValueError: a number with too many digits"
        if not plan:
            return 0.0, "no plan in the official format: it needs a line 'Day 3: Fly from A to B' and a range of days"
        for number, golden in enumerate(zip(self.cities, self.days, strict=True), start=1):
            found = plan[number - 1] if number <= len(plan) else None
            if found != golden:
                words = f"{found[0]} for {found[1]} days" if found else "missing"
                return 0.0, f"city {number} is {words}, in the golden plan {golden[0]} for {golden[1]} days"
        return 1.0, None

    def fault(self, answer: str) -> str | None:
        """Why the plan is not valid, or None.

        The plan runs from its first stay, "Day 1-5: ... Krakow", to the stay that ends on the last day of the trip.
        All stays and all flights between them must be stated, and must fit; case, marks and kind of dash are free.

        Raises:
            UnreadableTask: the prompt does not state the constraints.
        """
        asked = read_constraints(self)
        steps = _read_steps(answer, asked)
        if isinstance(steps, str):
            return steps
        return _broken_chain(steps, asked) or _broken_constraint(steps[::2], asked)


def read_plan(answer: str) -> list[tuple[str, int]]:
    """The cities and their days as the official scorer reads them (evaluate_trip_planning.py).

    Flights alone say which cities, and when they change. The last range of days that was read ends the last stay.
    Reading stops at a range that ends on the total in "European cities for N days", so that a second plan is not read.

    Raises:
        ValueError: a number has more digits than Python converts, as in the official code.
    """
    total = last_day = None
    flights = []
    for line in answer.split("\n"):
        if found := _TOTAL.search(line):
            total = int(found[1])
        if found := _RANGE.search(line):
            last_day = int(found[1])
            if last_day == total:
                break
        if flight := _last_flight(line):
            flights.append(flight)
    if last_day is None or not flights:
        return []
    cities = [flights[0][1], *(destination for _, _, destination in flights)]
    changes = [1, *(day for day, _, _ in flights), last_day]
    return [(city, end - begin + 1) for city, (begin, end) in zip(cities, pairwise(changes), strict=True)]


def _last_flight(line: str) -> tuple[int, str, str] | None:
    """Day, origin and destination: the last leg of the line, on the last day named before it."""
    legs = list(_LEG.finditer(line))
    if not legs:
        return None
    days = [day for day in _DAY.finditer(line) if day.end() <= legs[-1].start()]
    return (int(days[-1][1]), *legs[-1].groups()) if days else None


# --- validity -------------------------------------------------------------------------------------------------------

_TO = r"(?:-|–|—|to|and)"
_STEP = re.compile(rf"\bday +(\d{{1,4}})(?: *{_TO} *(?:day +)?(\d{{1,4}}))?(?!\d)", re.IGNORECASE)
_WINDOW = re.compile(r"\bday (\d+) (?:and|to) day (\d+)")
_FLIGHTS = re.compile(r"direct flights:\s*(.+)")


@dataclass(frozen=True)
class Constraints:
    """What a trip must keep, as its prompt says.

    total: number of days
    days: days in each city; a day of flight counts for both cities
    windows: (city, first day, last day) of what happens there
    flights: (origin, destination) of the direct flights
    """

    total: int
    days: dict[str, int]
    windows: list[tuple[str, int, int]]
    flights: set[tuple[str, str]]


def read_constraints(task: Trip) -> Constraints:
    """Read the constraints of a trip; an event that lasts from one day to another asks for all of these days.

    Raises:
        UnreadableTask: the prompt states no total, or no flights.
    """
    total, flights = _TOTAL.search(task.question), _FLIGHTS.search(task.question)
    if not total or not flights:
        raise UnreadableTask("the prompt lacks 'N European cities for N days' or the list of direct flights")
    names = Names(task.cities)
    windows = []
    for sentence in task.question[: flights.start()].split(". "):
        if (window := _WINDOW.search(sentence)) and (city := names.first(sentence)):
            windows.append((city, int(window[1]), int(window[2])))
    pairs = set()
    for item in flights[1].split(","):
        cities = names.all(item)
        if len(cities) != 2:
            raise UnreadableTask(f"in its list of flights, {item.strip()!r} does not join two of the cities")
        pairs.add(tuple(cities))
        if not item.strip().startswith("from "):
            pairs.add((cities[1], cities[0]))
    return Constraints(int(total[1]), dict(zip(task.cities, task.days, strict=True)), windows, pairs)


@dataclass(frozen=True)
class _Step:
    """A stay (one city) or a flight (two cities, one day)."""

    begin: int
    end: int
    cities: tuple[str, ...]


def _read_steps(answer: str, asked: Constraints) -> list[_Step] | str:
    """Stays and flights in turn, a stay first and last; or why there are none."""
    names = Names(asked.days)
    steps: list[_Step] = []
    for step, words in segments(_STEP, answer):
        is_stay = step[2] is not None
        if not is_stay and not steps:
            continue  # a remark before the plan
        cities = names.all(words.partition("\n")[0])
        if is_stay:
            cities = list(dict.fromkeys(cities))  # "Arriving in Rome and visit Rome"
        if len(cities) != (1 if is_stay else 2) or is_stay != (len(steps) % 2 == 0):
            return f"{step[0]!r} is not the {'flight' if len(steps) % 2 else 'stay'} that comes next in the plan"
        steps.append(_Step(int(step[1]), int(step[2] or step[1]), tuple(cities)))
        if is_stay and steps[-1].end >= asked.total:
            return steps
    return f"no stay ends on day {asked.total}"


def _broken_chain(steps: list[_Step], asked: Constraints) -> str | None:
    """Why the steps do not lead from day 1 to the last day, each from where the one before ended."""
    if steps[0].begin != 1:
        return f"begins on day {steps[0].begin}"
    if steps[-1].end != asked.total:
        return f"ends on day {steps[-1].end}, not {asked.total}"
    for before, after in pairwise(steps):
        if after.begin != before.end or after.cities[0] != before.cities[-1]:
            return f"{before.cities[-1]} until day {before.end} does not lead to {after.cities[0]} on day {after.begin}"
        if len(after.cities) == 2 and after.cities not in asked.flights:
            return f"no direct flight from {after.cities[0]} to {after.cities[1]}"
    return None


def _broken_constraint(stays: list[_Step], asked: Constraints) -> str | None:
    visited = [stay.cities[0] for stay in stays]
    if sorted(visited) != sorted(asked.days):
        return f"visits {', '.join(visited)}, not each of the {len(asked.days)} cities once"
    for stay, city in zip(stays, visited, strict=True):
        if stay.end - stay.begin + 1 != asked.days[city]:
            return f"{stay.end - stay.begin + 1} days in {city}, not {asked.days[city]}"
        for place, first, last in asked.windows:
            if place == city and not stay.begin <= first <= last <= stay.end:
                return f"not in {city} from day {first} to day {last}"
    return None
