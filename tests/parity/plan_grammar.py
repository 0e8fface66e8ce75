"""A grammar of plans at the edges of the rules, for any world.

A drawn plan is a good plan of the world in which a few things were drawn anew: a place, a city, a leg, a value that is
empty or of another type, meals at home, a day, or a first fault with something behind it that cannot be read. Most
values stay near the truth, so that a good share of the plans reaches the rules that come last.
"""

from __future__ import annotations

import random
from copy import deepcopy
from dataclasses import replace

from parity.reference_evaluator import MEALS, NOT_NEEDED, PARTS, Tables
from planner_r1.queries import CONSTRAINTS, Query

KEYS = ("current_city", *PARTS)
PLACES = (*MEALS, "attraction", "accommodation")
BLANKS = (" ", "  ", "", "\t", "\n", " \n ", "\xa0", "\x1c", "\x85")
EMPTY = (None, 0, False, [], {}, 0.0)
OTHER_TYPES = (*EMPTY, True, 1, 2.5, ["-"], [["x"]], {"a": 1}, float("nan"))
STATES = ("(Ohio)", " (Ohio)", "(Ohio", "Ohio)", "(O(h)io)", "()", "\n(Ohio)", "(Oh\nio)", "(from x to y)", "(to )")
ROUTES = (
    "from {a} to {b}",
    "from  {a}  to  {b}",
    "from\n{a} to {b}",
    "from {a} to\n{b}",
    "from {a}\nto {b}",
    "from\t{a}\tto\xa0{b}",
    "From {a} To {b}",
    "from {a} TO {b}",
    "from{a} to {b}",
    "from {a}to {b}",
    "from {a} to{b}",
    "from {a}, to {b}",
    "from {a} to ,{b}",
    "from {a} to ",
    "from {a} to",
    "from {a}",
    "from  to {b}",
    "from  \n to {b}",
    "from \n  to {b}",
    "from from {a} to {b}",
    "from {a} to to {b}",
    "from {a} to {b} to {a}",
    "from {a} to {b}; from {b} to {a}",
    "from {a} to {b}, then on",
    "from {a} to {b} ",
    "from {a}(Ohio) to {b}(Texas)",
    "from {a}(Ohio to {b}",
    "to {b} from {a}",
    "to {b}",
    "{a} to {b} ",
    "{b} to",
    "{b}(close to x)",
    "{b}(into x)",
    "{b} (to)",
    "goto {b}",
    "{b}",
)
MODES = (
    "Flight Number: {f}, ",
    "Flight Number: {f},",
    "Flight Number:{f}, ",
    "flight number: {f}, ",
    "FLIGHT NUMBER: Flight Number: {f}, ",
    "Flight Number: {f} Flight Number: F1, ",
    "Flight {f}, ",
    "Flight Number: , ",
    "Self-driving, ",
    "self-driving, ",
    "SELF-DRIVING ",
    "Self-driving taxi, ",
    "Taxi and Self-driving, ",
    "Taxi, ",
    "taxi ",
    "Taxi; Flight, ",
    "Train, ",
    "walk ",
    "fl\u0131ght number: {f}, ",
    "",
)
WISHES = {
    "house rule": (None, "smoking", "parties", "children under 10", "visitors", "pets"),
    "cuisine": (None, ["Chinese"], ["Italian", "Mexican"], ["French", "Indian", "American"]),
    "room type": (None, "entire room", "private room", "shared room", "not shared room"),
    "transportation": (None, "no flight", "no self-driving"),
}


class Grammar:
    """Draws (plan, query) pairs.

    Args:
        good: plans in the official format with the queries that they answer
    """

    def __init__(self, tables: Tables, good: list[tuple[list[dict], Query]]):
        self.good = good
        self.cities = sorted(tables.state_of)
        self.names = {
            key: _names_by_city(table)
            for key, table in [
                *((meal, tables.restaurants) for meal in MEALS),
                ("attraction", tables.attractions),
                ("accommodation", tables.hotels),
            ]
        }
        self.flights = [(f["OriginCityName"], f["DestCityName"], f["Flight Number"]) for f in tables.flights]
        self.productions = (
            *[self.place] * 4,
            *[self.city] * 2,
            *[self.leg] * 3,
            *[self.meals_at_home] * 2,
            *[self.fault_with_unreadable_behind] * 3,
            *[self.stay_day_in_odd_words] * 2,
            self.thin,
            self.blank,
            self.other_type,
            self.other_type,
            self.repeat,
            self.key,
            self.days,
        )

    def draw(self, rng: random.Random) -> tuple[list, Query]:
        plan, query = rng.choice(self.good)
        plan = deepcopy(plan)
        for _ in range(rng.choice([0, 1, 1, 1, 2, 2, 3, 5])):
            rng.choice(self.productions)(plan, query, rng)
        return plan, other_wishes(query, rng)

    def place(self, plan, query, rng):
        day, key = _spot(plan, rng, PLACES)
        values = [self._place(key, self._city_of(day, query, rng), rng) for _ in range(rng.choice([1, 1, 2, 3]))]
        if key == "attraction":
            day[key] = rng.choice([";", ";", ";", "; ", ";;", ","]).join(values) + rng.choice([";", ";", ";", "", "; "])
        else:
            day[key] = values[0]

    def _place(self, key, city, rng) -> str:
        name = rng.choice(self.names[key].get(city, ["Nothing"]))
        name = rng.choice(
            [name] * 8 + [name[1:], name[: len(name) // 2], "", "-", name.lower(), f"line\n{name}", f"{name},"]
        )
        written = city if rng.random() < 0.7 else city + rng.choice(STATES)
        written = rng.choice([written] * 8 + [written.lower(), rng.choice(self.cities), "-", ""])
        comma = ", " if rng.random() < 0.7 else rng.choice(BLANKS) + rng.choice([",", ",", ""]) + rng.choice(BLANKS)
        end = "" if rng.random() < 0.8 else rng.choice(BLANKS)
        if rng.random() < 0.005:
            end = " " * 12_000  # there is no cap on a text's length
        return f"{name}{comma}{written}{end}"

    def _city_of(self, day, query, rng) -> str:
        text = str(day.get("current_city", ""))
        near = [city for city in self.cities if city in text]
        return rng.choice(near * 6 + [query.org, rng.choice(self.cities)])

    def city(self, plan, query, rng):
        day, _ = _spot(plan, rng, KEYS)
        day["current_city"] = self._route(day, query, rng)

    def _route(self, day, query, rng) -> str:
        if rng.random() < 0.1:
            pieces = ["from", "to", "from ", " to ", ",", "(", ")", *BLANKS, *rng.sample(self.cities, 2)]
            return "".join(rng.choices(pieces, k=rng.randrange(12)))
        stop = rng.choice([self._city_of(day, query, rng)] * 4 + [query.org])
        return rng.choice(ROUTES).format(a=stop, b=self._city_of(day, query, rng))

    def leg(self, plan, query, rng):
        day, _ = _spot(plan, rng, KEYS)
        origin, destination, number = rng.choice(self.flights)
        if rng.random() < 0.7:
            near = [self._city_of(day, query, rng) for _ in range(2)]
            rng.shuffle(near)
            between = [number for *pair, number in self.flights if pair == near]
            number, route = rng.choice(between or [number]), f"from {near[0]} to {near[1]}"
        else:
            route = f"from {origin} to {destination}"
        if rng.random() < 0.4:
            route = self._route(day, query, rng)
        day["transportation"] = rng.choice(MODES).format(f=number) + route + rng.choice(["", "", ", cost: 3"])

    def stay_day_in_odd_words(self, plan, query, rng):
        """Words of travel on a day of stay: which parts must be filled in goes by three different words."""
        days = [day for day in plan if isinstance(day, dict) and day.get("current_city") in self.cities]
        if not days:
            return
        day = rng.choice(days)
        city = day["current_city"]
        day["current_city"] = city + rng.choice(["(into x)", "(close to x)", "(from x)", " (to x)", "(to)", "(into x"])
        for key in rng.sample(PARTS, rng.choice([0, 0, 1, 2])):
            day[key] = rng.choice(["-", "", None])
        if rng.random() < 0.5:
            day["transportation"] = f"walk to {city}"

    def thin(self, plan, query, rng):
        """A plan with little in it, perhaps with other keys that count as filled in."""
        for day in plan:
            if isinstance(day, dict) and "from" in str(day.get("current_city")):
                for key in (*MEALS, "attraction"):
                    day[key] = "-"
                day.pop("days", None)
                if rng.random() < 0.3:
                    day["note"] = "x"

    def meals_at_home(self, plan, query, rng):
        day, _ = _spot(plan, rng, KEYS)
        for meal in rng.sample(MEALS, rng.choice([1, 1, 2])):
            day[meal] = f"{rng.choice(self.names[meal].get(query.org, ['Nothing']))}, {query.org}"

    def fault_with_unreadable_behind(self, plan, query, rng):
        """An early no to some of the rules, and a later value that makes those raise that come to it."""
        day = plan[0] if plan and isinstance(plan[0], dict) else {}
        elsewhere = rng.choice(self.cities)
        faults = [
            ("current_city", f"from {elsewhere} to {rng.choice(self.cities)}"),
            ("transportation", "Taxi, from Nowhere to Elsewhere"),
            ("transportation", rng.choice(["-", ""])),
            ("breakfast", "Nothing, Nowhere"),
            ("dinner", day.get("lunch")),
            ("attraction", "Nothing, Nowhere;Nothing, Nowhere;"),
            ("accommodation", "Nothing, Nowhere"),
        ]
        for key, value in rng.sample(faults, rng.choice([1, 2, 4])):
            day[key] = value
        self.unreadable(plan, query, rng)

    def unreadable(self, plan, query, rng):
        if len(plan) < 2:
            return
        at = rng.randrange(1, len(plan))
        day = plan[at] if isinstance(plan[at], dict) else {}
        kind = rng.randrange(5)
        if kind == 0:
            plan[at] = rng.choice([{}, {}, [], None, "breakfast", 3])
        elif kind == 1:
            day.pop(rng.choice(["current_city", "transportation"]), None)
        elif kind == 2:
            day["current_city"] = rng.choice(["from Nowhere", "from a\nb to c", *OTHER_TYPES])
        elif kind == 3:
            day["transportation"] = rng.choice(["flight number: F1", "Flight Number: F1, Nowhere", *OTHER_TYPES])
        else:
            self._of_other_type(day, query, rng)

    def other_type(self, plan, query, rng):
        day, _ = _spot(plan, rng, KEYS)
        self._of_other_type(day, query, rng)

    def _of_other_type(self, day, query, rng):
        city = self._city_of(day, query, rng)
        day[rng.choice(KEYS)] = deepcopy(rng.choice([*EMPTY, *OTHER_TYPES, [city], {city: 1}, [city[0]]]))

    def blank(self, plan, query, rng):
        day, key = _spot(plan, rng, KEYS)
        day[key] = rng.choice(["-", "-", "", " - ", " "])

    def repeat(self, plan, query, rng):
        day, key = _spot(plan, rng, KEYS)
        other, other_key = _spot(plan, rng, KEYS)
        source = key if rng.random() < 0.8 else other_key
        if source in other:
            day[key] = deepcopy(other[source])

    def key(self, plan, query, rng):
        day, key = _spot(plan, rng, KEYS)
        if rng.random() < 0.5:
            day.pop(rng.choice([key, "days"]), None)
        else:
            day["note"] = rng.choice(["-", "", "x", *OTHER_TYPES])

    def days(self, plan, query, rng):
        if not plan:
            return
        at = rng.randrange(len(plan))
        rng.choice(
            [
                lambda: plan.pop(at),
                lambda: plan.insert(at, deepcopy(plan[at])),
                lambda: plan.append(deepcopy(plan[at])),
                lambda: plan.append({}),
                lambda: plan.reverse(),
                lambda: plan.__setitem__(at, {}),
                lambda: plan.__setitem__(at, dict.fromkeys(KEYS, "-") | {"current_city": NOT_NEEDED}),
                lambda: plan.clear(),
            ]
        )()


def _names_by_city(table) -> dict[str, list[str]]:
    names = {}
    for city, name, _ in table:
        names.setdefault(city, []).append(name)
    return names


def _spot(plan, rng, keys) -> tuple[dict, str]:
    """A day of the plan and one of the keys; a day that does not count where the drawn one is not an object."""
    day = rng.choice(plan) if plan else {}
    return (day if isinstance(day, dict) else {}), rng.choice(keys)


def other_wishes(query: Query, rng: random.Random) -> Query:
    """The query with other wishes now and then, and a budget that is sometimes enough."""
    wishes = {name: rng.choice(WISHES[name]) if rng.random() < 0.3 else query.constraint(name) for name in CONSTRAINTS}
    return replace(
        query,
        local_constraint=wishes,
        people_number=rng.choice([query.people_number] * 4 + [*range(1, 9)]),
        budget=rng.choice([query.budget, query.budget, query.budget / 2, query.budget * 2]),
        visiting_city_number=rng.choice([query.visiting_city_number] * 9 + [1, 2, 3]),
    )
