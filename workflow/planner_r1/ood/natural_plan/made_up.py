"""Small made-up tasks in the suite's own layout, each with one solution that is known because it was there first."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from itertools import pairwise

from planner_r1.ood.natural_plan.fields import clock

CITIES = "Alderney Brisk Corvale Dunmere Eastholm Fennwick Garrow Hollin Istria Jorvik Kestrel Lorne".split()
PLACES = "Old Harbour,Mill Hill,North Gate,Rose Garden,Station Square,Upper Town,Lake Side,West Yard".split(",")
PEOPLE = "Ada Bela Chloe Dario Edda Faruk Gita Hugo Ines Jonas".split()
WEEK = ("Monday", "Tuesday")
OPENS, CLOSES, GRID = 9 * 60, 17 * 60, 30  # work hours and the grid of calendars, in minutes
SHOTS = 5


def make_examples(task: str, n: int, seed: int) -> dict[str, dict]:
    """Examples of trip, meeting or calendar in the official layout, without any model's predictions.

    The same task and seed give the same examples; fewer of them are the first of more. Trips and calendars have one
    solution only; at meetings all friends can be met, in the golden order.
    """
    make, intro = MAKERS[task]
    rng = random.Random(f"{task} {seed}")
    solved = [make(rng) for _ in range(SHOTS)]
    shots = "\n\n".join(f"TASK: {question}\nSOLUTION: {_text(fields['golden_plan'])}" for question, fields in solved)
    examples = {}
    for number in range(n):
        question, fields = make(rng)
        asked = f"TASK: {question}\nSOLUTION:"
        prompts = {
            "prompt_0shot": f"{intro}\n\n{asked}",
            "prompt_5shot": f"{intro} Here are some solved examples:\n\n{shots}\n\n{asked}",
        }
        examples[f"made_up_{task}_{number}"] = fields | prompts
    return examples


def _text(golden: str | list[str]) -> str:
    return golden if isinstance(golden, str) else " ".join(golden)


def _trip(rng: random.Random) -> tuple[str, dict]:
    """Three or four cities; something happens in all but one of them for the whole stay, which leaves one order."""
    cities = rng.sample(CITIES, rng.randint(3, 4))
    days = [rng.randint(2, 4) for _ in cities]
    ends = [sum(days[: at + 1]) - at for at in range(len(cities))]  # a day of flight counts for both cities
    begins = [1, *ends[:-1]]
    header = f"{len(cities)} European cities for {ends[-1]} days"

    stays = list(zip(cities, days, begins, ends, strict=True))
    plan = [f"Here is the trip plan for visiting the {header}:\n"]
    for number, (city, length, begin, end) in enumerate(stays):
        if number:
            plan.append(f"**Day {begin}:** Fly from {cities[number - 1]} to {city}.")
        visit = f"Visit {city}" if number else f"Arriving in {city} and visit {city}"
        plan.append(f"**Day {begin}-{end}:** {visit} for {length} days.")

    free = rng.choice(cities)
    wishes = []
    for city, length, begin, end in rng.sample(stays, len(stays)):
        wishes.append(f"Stay in {city} for {length} days.")
        if city != free:
            wishes.append(f"You sell at a fair in {city} between day {begin} and day {end}.")
    flights = [f"{a} and {b}" for a, b in pairwise(cities)]
    flights.append(f"from {cities[-1]} to {cities[0]}")
    rng.shuffle(flights)
    question = (
        f"Plan a trip to {header} in total, on direct flights alone. {' '.join(wishes)}\n\n"
        f"These cities have direct flights:\n{', '.join(flights)}."
    )
    fields = {
        "num_cities": str(len(cities)),
        "cities": "**".join(cities),
        "durations": "**".join(map(str, days)),
        "golden_plan": "\n".join(plan),
    }
    return question, fields


def _meeting(rng: random.Random) -> tuple[str, dict]:
    """Two or three friends; each one's hours are laid around the moment at which the golden plan meets them."""
    names = rng.sample(PEOPLE, rng.randint(2, 3))
    places = rng.sample(PLACES, len(names) + 1)
    distances = {a: {b: rng.randint(5, 25) for b in places if b != a} for a in places}
    now = OPENS
    plan = [f"You start at {places[0]} at {_half(now)}."]
    friends = []
    for name, (before, place) in zip(names, pairwise(places), strict=True):
        now += distances[before][place]
        plan.append(f"You travel to {place} in {distances[before][place]} minutes and arrive at {_half(now)}.")
        least = 15 * rng.randint(1, 4)
        opens = now // 15 * 15 + 15 * rng.randint(-2, 4)
        if opens > now:
            now = opens
            plan.append(f"You wait until {_half(now)}.")
        plan.append(f"You meet {name} for {least} minutes from {_half(now)} to {_half(now + least)}.")
        now += least
        closes = -(-now // 15) * 15 + 15 * rng.randint(0, 4)
        friends.append([name, place, f"{_half(opens)} to {_half(closes)}", least])
    told = rng.sample(friends, len(friends))
    ways = "\n".join(f"{a} to {b}: {far}." for a, row in distances.items() for b, far in row.items())
    wishes = " ".join(
        f"{name} is at {place} from {hours}, and you want at least {least} minutes with {name}."
        for name, place, hours, least in told
    )
    question = (
        "Meet as many friends as you can in one day.\n\n"
        f"Minutes from place to place:\n{ways}\n\nYou begin at {places[0]} at {_half(OPENS)}. {wishes}"
    )
    fields = {
        "num_people": len(names),
        "constraints": [[places[0], _half(OPENS)], *told],
        "dist_matrix": distances,
        "golden_plan": plan,
    }
    return question, fields


def _calendar(rng: random.Random) -> tuple[str, dict]:
    """Two or three people on one or two days; outside the golden slot there is always somebody who is busy."""
    people = rng.sample(PEOPLE, rng.randint(2, 3))
    days = WEEK[: rng.randint(1, 2)]
    length = rng.choice((30, 60))
    day, begin = rng.choice(days), rng.randrange(OPENS, CLOSES - length + 1, GRID)
    busy: dict[str, dict[str, list[list[int]]]] = {name: {} for name in people}
    for other in days:
        for time in range(OPENS, CLOSES, GRID):
            if other == day and begin <= time < begin + length:
                continue
            spans = busy[rng.choice(people)].setdefault(other, [])
            if spans and spans[-1][1] == time:
                spans[-1][1] = time + GRID
            else:
                spans.append([time, time + GRID])
    lines = [f"{name} {_busy_words(spans)}" for name, spans in busy.items()]
    question = (
        f"Please schedule a meeting for {', '.join(people[:-1])} and {people[-1]} of "
        f"{'half an hour' if length == 30 else 'one hour'} between the work hours of {clock(OPENS)} to {clock(CLOSES)} "
        f"on {' or '.join(days)}.\n\nWhat they have in their calendars:\n" + "\n".join(lines)
    )
    fields = {
        "num_people": str(len(people)),
        "num_days": str(len(days)),
        "duration": str(length / 60),
        "golden_plan": f"Here is the proposed time: {day}, {clock(begin)} - {clock(begin + length)}",
    }
    return question, fields


def _busy_words(spans: Mapping[str, list[list[int]]]) -> str:
    if not spans:
        return "is free all the time."
    days = (f"{day} during {', '.join(f'{clock(a)} to {clock(b)}' for a, b in times)}" for day, times in spans.items())
    return f"is busy on {', '.join(days)};"


def _half(time: int) -> str:
    """Minutes since midnight as 1:05PM."""
    return f"{(time // 60 - 1) % 12 + 1}:{time % 60:02}{'AM' if time < 12 * 60 else 'PM'}"


MAKERS: dict[str, tuple[Callable[[random.Random], tuple[str, dict]], str]] = {
    "trip": (
        _trip,
        "You plan trips that visit each city once. Write a line '**Day 1-3:** Visit A for 3 days.' for each stay and "
        "'**Day 3:** Fly from A to B.' for each flight; a day of flight counts for both cities.",
    ),
    "meeting": (
        _meeting,
        "You plan days with friends. Write sentences such as 'You start at A at 9:00AM. You travel to B in 7 minutes "
        "and arrive at 9:07AM. You wait until 9:30AM. You meet C for 15 minutes from 9:30AM to 9:45AM.'",
    ),
    "calendar": (
        _calendar,
        "You find a time at which everybody is free. Answer with 'Here is the proposed time: Friday, 9:00 - 9:30'.",
    ),
}
