"""Trajectories of the oracle using the tools, as demonstrations for the supervised warm start.

A share of the demonstrations holds mistakes, so that a warmed-up model knows the format but still has something to
learn from reward. Slips are made here and there. Carelessness is of another kind: a careless expert takes whatever is
listed first. Where most are careless, a model's likeliest plan is careless as well, though it has seen how to heed
prices and constraints.
"""

from __future__ import annotations

import json
import random
from copy import deepcopy

from planner_r1.agent.oracle import Trip
from planner_r1.queries import Query
from planner_r1.sandbox.noise import Noise, NoisyToolbox
from planner_r1.sandbox.store import Store

MEALS = ("breakfast", "lunch", "dinner")


def demonstration(
    query: Query,
    trip: Trip,
    store: Store,
    rng: random.Random,
    slip_rate: float,
    detour_rate: float | None = None,
    failure_rate: float | None = None,
) -> list[dict]:
    """The assistant's and the tools' messages after the query: one tool call a turn, then the answer.

    Each kind of slip is made with probability `slip_rate`, a detour before each look-up with `detour_rate`. A service
    fails with `failure_rate`, and is asked again until it answers.
    """
    toolbox = NoisyToolbox(store, Noise(failures=failure_rate or 0.0), rng.getrandbits(32) if failure_rate else 0)
    calls = tool_calls(query, trip)
    if detour_rate:
        calls = with_detours(calls, query, rng, detour_rate)
    messages = []
    for name, arguments in calls:
        answered = False
        while not answered:
            messages.append({"role": "assistant", "content": call_text(name, arguments)})
            messages.append({"role": "tool", "content": toolbox.call_text(name, arguments)})
            answered = not toolbox.effect
    plan = with_slips(trip.plan, store, rng, slip_rate)
    return [*messages, {"role": "assistant", "content": answer_text(plan)}]


def tool_calls(query: Query, trip: Trip) -> list[tuple[str, dict]]:
    """The look-ups that give an agent all it needs to write the trip's plan, in a fixed order."""
    calls: list[tuple[str, dict]] = []
    if query.dest not in trip.cities:
        calls.append(("get_cities", {"state": query.dest}))
    stops = (query.org, *trip.cities, query.org)
    for i, mode in enumerate(trip.modes):
        ends = {"origin": stops[i], "destination": stops[i + 1]}
        if mode == "flight":
            calls.append(("search_flights", {**ends, "date": query.date[2 * i]}))
        else:
            calls.append(("search_ground_transportation", {**ends, "mode": mode}))
    for table in ("accommodations", "restaurants", "attractions"):
        calls += [(f"search_{table}", {"city": city}) for city in trip.cities]
    return calls


def with_detours(
    calls: list[tuple[str, dict]], query: Query, rng: random.Random, rate: float
) -> list[tuple[str, dict]]:
    """The look-ups, before each of them with probability `rate` a sum that nobody needs: episodes that succeed then
    differ in length, as those of a model that thinks aloud do."""
    sums = ("calculator", {"expression": f"{query.people_number or 1} * {query.days}"})
    return [one for call in calls for one in ([sums, call] if rng.random() < rate else [call])]


def call_text(name: str, arguments: dict) -> str:
    """A tool call as Qwen3 and Hermes write it."""
    return f"<tool_call>\n{_compact({'name': name, 'arguments': arguments})}\n</tool_call>"


def answer_text(plan: list[dict]) -> str:
    return f"<answer>{_compact(plan)}</answer>"


def with_slips(plan: list[dict], store: Store, rng: random.Random, rate: float) -> list[dict]:
    """A copy of `plan` in which each kind of slip was made with probability `rate`."""
    plan = deepcopy(plan)
    for slip in SLIPS:
        if rng.random() < rate:
            slip(plan, store, rng)
    return plan


def _repeat_a_restaurant(plan, store, rng):
    eaten = [(day, meal) for day in plan for meal in MEALS if day[meal] != "-"]
    (first, first_meal), (second, second_meal) = rng.sample(eaten, 2)
    second[second_meal] = first[first_meal]


def _skip_a_meal(plan, store, rng):
    day = rng.choice([day for day in plan if isinstance(day["city"], str)])
    day[rng.choice(MEALS)] = "-"


def _repeat_an_attraction(plan, store, rng):
    first, *others = [day for day in plan if day["attraction"] != "-"]
    if others:
        rng.choice(others)["attraction"] = list(first["attraction"])


def _sleep_anywhere(plan, store, rng):
    city = rng.choice([day["city"] for day in plan if isinstance(day["city"], str)])
    room = rng.choice(store.accommodations(city))["NAME"]
    for day in plan:
        if city in (day["city"], isinstance(day["city"], dict) and day["city"]["to"]):
            day["accommodation"] = room


def _eat_anything(plan, store, rng):
    """Restaurants regardless of price and cuisine."""
    day = rng.choice([day for day in plan if isinstance(day["city"], str)])
    rows = store.restaurants(day["city"])
    for meal, row in zip(MEALS, rng.sample(rows, min(3, len(rows))), strict=False):
        day[meal] = row["Name"]


def _stay_on_the_last_day(plan, store, rng):
    plan[-1]["city"] = plan[-1]["city"]["from"]


def _forget_the_way_back(plan, store, rng):
    plan[-1]["transportation"] = "-"


def _nowhere_to_sleep(plan, store, rng):
    rng.choice(plan[:-1])["accommodation"] = "-"


SLIPS = (
    _repeat_a_restaurant,
    _skip_a_meal,
    _repeat_an_attraction,
    _sleep_anywhere,
    _eat_anything,
    _stay_on_the_last_day,
    _forget_the_way_back,
    _nowhere_to_sleep,
)


def _compact(value) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
