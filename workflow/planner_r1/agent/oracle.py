"""A planner that reads the store directly and finds a plan that meets a query.

It proves that a made-up query can be met, and it writes the trajectories that a model is warmed up on. It is built to
be consistent rather than optimal: the first way of travelling that fits the budget, the cheapest room and the
cheapest meals, each place in the order its table lists it. A model can imitate that; it could not imitate ties broken
at random.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from heapq import nsmallest
from itertools import islice, permutations
from math import ceil
from operator import itemgetter

from planner_r1.queries import Query
from planner_r1.sandbox.store import Store

ROOM_TYPES = {
    "entire room": ("Entire home/apt",),
    "private room": ("Private room",),
    "shared room": ("Shared room",),
    "not shared room": ("Entire home/apt", "Private room"),
}
MODES = (("flight",), ("self-driving",), ("flight", "taxi"))  # in order of preference; never self-driving with another
SEATS = {"self-driving": 5, "taxi": 4}
NIGHTS = 2  # in each city: the day of arrival and a day of staying
MAX_ROUTES = 2_000  # city orders whose legs are looked at for one query
MAX_TRIPS = 40  # of them, those with the cheapest legs are planned in full


@dataclass(frozen=True)
class Trip:
    """What the oracle decided: `plan` in the agent's schema, what it costs, its cities in order, its legs' modes."""

    plan: list[dict]
    cost: float
    cities: tuple[str, ...]
    modes: tuple[str, ...]


def plan_for(query: Query, store: Store) -> Trip | None:
    """The first trip found that meets every constraint of `query`, or None if the oracle finds none.

    The evaluator has the last word: callers that must be sure evaluate the plan.
    """
    people = query.people_number or 1
    routes, room_in = [*_routes(query, store)], cache(partial(_room, query, store))
    for modes in _allowed_modes(query):
        leg_of = cache(partial(_cheapest_leg, store, people, modes))  # routes share most of their legs
        ways = ((route, _legs(query, route, leg_of)) for route in routes)
        travels = [(route, legs) for route, legs in ways if legs]
        cheapest = nsmallest(MAX_TRIPS, travels, key=lambda travel: sum(_leg_cost(leg, people) for leg in travel[1]))
        for arrival_meals in (2, 1, 0):  # fewer meals on the days of arrival are cheaper
            trips = [_trip(query, store, *travel, room_in, arrival_meals) for travel in cheapest]
            affordable = [t for t in trips if t and (query.budget is None or t.cost <= query.budget)]
            if affordable:
                return min(affordable, key=lambda t: t.cost)
    return None


def first_listed(query: Query, store: Store) -> Trip | None:
    """The trip of a careless planner: whatever each tool lists first, without regard to prices and constraints."""
    for route in _routes(query, store):
        ways = [_first_way(store, *ends) for ends in _stages(query, route)]
        rooms = [_named(store, "accommodations", city, "NAME")[:1] for city in route]
        meals = [_named(store, "restaurants", city)[:5] for city in route]
        sights = [_named(store, "attractions", city) for city in route]
        if all(ways) and all(rooms) and all(len(rows) == 5 for rows in meals) and all(sights):
            return _assemble(query, route, ways, [room for (room,) in rooms], meals, sights, arrival_meals=2)
    return None


def _first_way(store: Store, origin: str, destination: str, date: str) -> dict | None:
    ways = (way for mode in ("flight", "self-driving") for way in _ways(store, origin, destination, date, mode))
    return next(ways, None)


def _allowed_modes(query: Query) -> tuple[tuple[str, ...], ...]:
    return {
        "no flight": (("self-driving",), ("taxi",)),
        "no self-driving": (("flight",), ("flight", "taxi")),
    }.get(query.constraint("transportation"), MODES)


def _routes(query: Query, store: Store) -> Iterator[tuple[str, ...]]:
    """Orders in which the cities can be visited: the city itself, or as many cities of the state as the days allow."""
    visits = (query.days - 1) // NIGHTS
    if visits == 1 and query.dest in store.cities:
        yield (query.dest,)
        return
    able = [c for c in store.states.get(query.dest, ()) if c != query.org and store.attractions(c)]
    yield from islice(permutations(able, visits), MAX_ROUTES)


def _trip(
    query: Query,
    store: Store,
    route: tuple[str, ...],
    legs: list[dict],
    room_in: Callable[[str], dict | None],
    arrival_meals: int,
) -> Trip | None:
    rooms = [room_in(city) for city in route]
    meals = _meals(query, store, route, arrival_meals + 3)
    sights = [_named(store, "attractions", city) for city in route]
    if meals is None or not all(rooms) or not all(sights):
        return None
    return _assemble(query, route, legs, rooms, meals, sights, arrival_meals)


def _assemble(query, route, legs, rooms, meals, sights, arrival_meals: int) -> Trip:
    """The trip of what was chosen: a leg for each stage, and for each city a room, its meals and sights."""
    people = query.people_number or 1
    cost = sum(_leg_cost(leg, people) for leg in legs) + sum(_room_cost(room, people) for room in rooms)
    cost += sum(row["Average Cost"] * people for city_meals in meals for row in city_meals)
    stays = [_stay(*stay, arrival_meals) for stay in zip(meals, sights, rooms, strict=True)]
    plan = _itinerary(query.org, route, legs, stays)
    return Trip(plan, cost, route, tuple(leg["mode"] for leg in legs))


def _itinerary(org: str, route: tuple[str, ...], legs: list[dict], stays: list[tuple[dict, dict, list]]) -> list[dict]:
    """Days from the start to the return: two in each city, and the way home."""
    days = []
    for leg, city, (arrival, stay, _) in zip(legs, route, stays, strict=False):
        days.append({"city": {"from": leg["from"], "to": city}, "transportation": leg, **arrival})
        days.append({"city": city, **stay})
    last_sight = stays[-1][2]
    days.append({"city": {"from": route[-1], "to": org}, "transportation": legs[-1], "attraction": last_sight or "-"})
    return [plan_day(number, **day) for number, day in enumerate(days, start=1)]


def plan_day(number: int, city, **filled) -> dict:
    """One day in the agent's schema, every key in its place; what is not filled is "-"."""
    keys = ("transportation", "breakfast", "attraction", "lunch", "dinner", "accommodation")
    return {"days": number, "city": city, **{key: filled.get(key, "-") for key in keys}}


def _stay(meals: list[dict], sights: list[dict], room: dict, arrival_meals: int) -> tuple[dict, dict, list]:
    """What fills the day of arrival and the day after it, and the sights left for a day of departure."""
    eat = ["-"] * (2 - arrival_meals) + [row["Name"] for row in meals]
    see = [row["Name"] for row in sights[:3]]
    first = see[:1] if len(see) > 1 else []  # the day after needs a sight, the day of arrival does not
    second = see[len(first) : len(first) + 1]
    arrival = {"attraction": first or "-", "lunch": eat[0], "dinner": eat[1], "accommodation": room["NAME"]}
    stay = {"breakfast": eat[2], "attraction": second, "lunch": eat[3], "dinner": eat[4]}
    return arrival, {**stay, "accommodation": room["NAME"]}, see[len(first) + 1 :]


def _stages(query: Query, route: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    """Origin, destination and date of each leg: into each city, and home."""
    stops = (query.org, *route, query.org)
    return zip(stops[:-1], stops[1:], query.date[::NIGHTS], strict=True)


def _legs(query: Query, route: tuple[str, ...], leg_of: Callable[[str, str, str], dict | None]) -> list[dict] | None:
    """One leg for each stage; None where a stage has no way."""
    legs = []
    for stage in _stages(query, route):
        leg = leg_of(*stage)
        if leg is None:
            return None
        legs.append(leg)
    return legs


def _cheapest_leg(
    store: Store, people: int, modes: tuple[str, ...], origin: str, destination: str, date: str
) -> dict | None:
    """The first of the cheapest ways by any of `modes`, or None where there is no way."""
    ways = (way for mode in modes for way in _ways(store, origin, destination, date, mode))
    return min(ways, key=lambda way: _leg_cost(way, people), default=None)


def _ways(store: Store, origin: str, destination: str, date: str, mode: str) -> list[dict]:
    """All ways of one mode from a city to another, in the agent's schema."""
    if mode == "flight":
        return [_flight(row) for row in store.flights(origin, destination, date)]
    leg = store.leg(origin, destination)
    if leg is None:
        return []
    way = {"mode": mode, "from": origin, "to": destination, "duration": leg.duration, "distance": leg.distance}
    return [{**way, "cost": leg.cost(mode)}]


def _flight(row: dict) -> dict:
    return {
        "mode": "flight",
        "from": row["OriginCityName"],
        "to": row["DestCityName"],
        "duration": row["ActualElapsedTime"],
        "distance": f"{row['Distance']:g}",
        "cost": int(row["Price"]),
        "flight_number": row["Flight Number"],
        "departure_time": row["DepTime"],
        "arrival_time": row["ArrTime"],
    }


def _leg_cost(leg: dict, people: int) -> int:
    """The cost of a leg for all: a seat each in a flight, a whole car or taxi otherwise."""
    if leg["mode"] == "flight":
        return leg["cost"] * people
    return leg["cost"] * ceil(people / SEATS[leg["mode"]])


def _room(query: Query, store: Store, city: str) -> dict | None:
    """The cheapest accommodation that meets the constraints and takes a stay of two nights."""
    types, rule = ROOM_TYPES.get(query.constraint("room type")), query.constraint("house rule")
    fitting = [
        row
        for row in _named(store, "accommodations", city, "NAME")
        if row["minimum nights"] <= NIGHTS
        and (types is None or row["room type"] in types)
        and (rule is None or f"No {rule}" not in row["house_rules"])
    ]
    people = query.people_number or 1
    return min(fitting, key=lambda row: _room_cost(row, people), default=None)


def _room_cost(row: dict, people: int) -> float:
    return row["price"] * ceil(people / row["maximum occupancy"]) * NIGHTS


def _meals(query: Query, store: Store, route: tuple[str, ...], each: int) -> list[list[dict]] | None:
    """`each` restaurants in each city, the cheapest that together serve every cuisine asked for, in table order."""
    offers = [_named(store, "restaurants", city) for city in route]
    if any(len(rows) < each for rows in offers):
        return None
    chosen: list[list[dict]] = [[] for _ in route]
    cheapest = [_cheapest_first(store, city) for city in route]
    missing = set(query.constraint("cuisine") or ())
    of_all = [(i, row) for i, rows in enumerate(cheapest) for row in rows] if missing else []
    of_all.sort(key=lambda x: x[1]["Average Cost"])
    while missing:
        useful = [(i, r) for i, r in of_all if len(chosen[i]) < each and any(c in r["Cuisines"] for c in missing)]
        if not useful:
            return None
        # the one that serves most of what is missing; among equals the cheapest
        i, row = max(useful, key=lambda x: sum(c in x[1]["Cuisines"] for c in missing))
        chosen[i].append(row)
        missing -= {c for c in missing if c in row["Cuisines"]}
    for rows, dishes in zip(cheapest, chosen, strict=True):
        for row in rows:
            if len(dishes) == each:
                break
            if row not in dishes:
                dishes.append(row)
    return [sorted(rows, key=offer.index) for rows, offer in zip(chosen, offers, strict=True)]


@lru_cache(maxsize=4096)
def _cheapest_first(store: Store, city: str) -> list[dict]:
    """A city's restaurants by price, those of one price in the order of their table."""
    return sorted(_named(store, "restaurants", city), key=itemgetter("Average Cost"))


@lru_cache(maxsize=4096)
def _named(store: Store, table: str, city: str, key: str = "Name") -> list[dict]:
    """A city's rows whose name stands for themselves in a plan.

    A name is looked up by containment and split from its city at the last comma, so a name with a line break or a
    semicolon, or one that an earlier row's name contains, would be taken for another.
    """
    rows = getattr(store, table)(city)
    return [
        row
        for row in rows
        if not any(mark in row[key] for mark in "\n;,") and next(r for r in rows if row[key] in r[key]) == row
    ]
