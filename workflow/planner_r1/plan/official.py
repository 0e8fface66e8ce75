"""From the agent's plan to the format that the evaluator and the leaderboard take."""

from __future__ import annotations

from planner_r1.plan.names import rows_named
from planner_r1.sandbox.store import Store, bare_city

NOTHING = "-"


def to_official(plan: list[dict], store: Store) -> list[dict]:
    """Convert a plan that satisfies PLAN_SCHEMA; nothing is mended or checked on the way.

    Bare names get their city. On a day of travel that is the one of the two cities in whose table the name stands, and
    the destination where it stands in both or in neither. A name that ends in one of the day's cities stays.
    """
    return [_day(day, store) for day in plan]


def _day(day: dict, store: Store) -> dict:
    city = day["city"]
    cities = [city] if isinstance(city, str) else [city["from"], city["to"]]

    def place(table: str, name: str) -> str:
        return _with_city(store, table, name, cities)

    return {
        "days": day["days"],
        "current_city": city if isinstance(city, str) else f"from {city['from']} to {city['to']}",
        "transportation": _transportation(day["transportation"]),
        "breakfast": place("restaurants", day["breakfast"]),
        "attraction": _attractions(day["attraction"], place),
        "lunch": place("restaurants", day["lunch"]),
        "dinner": place("restaurants", day["dinner"]),
        "accommodation": place("accommodations", day["accommodation"]),
    }


def _transportation(leg: str | dict) -> str:
    if leg == NOTHING:
        return NOTHING
    way = f"from {leg['from']} to {leg['to']}"
    if leg["mode"] == "flight":
        number, departure, arrival = (
            leg.get(key, NOTHING) for key in ("flight_number", "departure_time", "arrival_time")
        )
        return f"Flight Number: {number}, {way}, Departure Time: {departure}, Arrival Time: {arrival}"
    mode = leg["mode"].capitalize()
    return f"{mode}, {way}, duration: {leg['duration']}, distance: {leg['distance']}, cost: {leg['cost']}"


def _attractions(names: str | list[str], place) -> str:
    if names == NOTHING:
        return NOTHING
    # The evaluator looks only at what ends in ";", so the last one gets it too.
    return "".join(f"{place('attractions', name)};" for name in names)


def _with_city(store: Store, table: str, name: str, cities: list[str]) -> str:
    if name == NOTHING:
        return NOTHING
    _, comma, tail = name.rpartition(",")
    if comma and bare_city(tail) in map(bare_city, cities):
        return name
    standing = [city for city in cities if rows_named(store, table, name, bare_city(city))]
    return f"{name}, {standing[0] if len(standing) == 1 else cities[-1]}"
