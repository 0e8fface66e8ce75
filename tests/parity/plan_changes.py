"""Changes that a trickster would make to a good plan: the moves of the search for holes.

Most values come from the world's own tables, so that a changed plan has a fair chance to pass. Each change edits the
plan in place; the plans are in the official format.
"""

from __future__ import annotations

import random
from copy import deepcopy

from parity.plain_reading import MEALS, PARTS, Day, World
from parity.plan_grammar import BLANKS, EMPTY, ROUTES

PLACE_PARTS = PARTS[1:]
STAYS = "{city}", "{city}(close to x)", "{city}({state})", "{city}(Nowhere)", "{city}({other})", "{city}, {other}"
MODES = (
    *("Self-driving", "Self-driving", "Taxi", "Taxi", "Flight", "Train", "self-driving", "TAXI"),
    *("Taxi, Self-driving", "Self-driving (taxi)"),
)
ENDINGS = (
    *("", "", "", "", ", {other}", ", {city}", ", from {city} to {other}", ", From {other} To {city}", " or Taxi"),
    *(", then Self-driving", ", via {other}", ", cost: 1", ", duration: by taxi", ", Flight Number: F1"),
)
TIMES = (", Departure Time: {dep}, Arrival Time: {arr}",) * 3 + (", Departure Time: 07:07, Arrival Time: 08:08", "")
NUMBERS = (1, 1, 2, 3, 7, 0, None, "2", "Day 3")


class Changes:
    """Draws changes for the plans of one world; `plans` are good plans of it, to take days from."""

    def __init__(self, world: World, plans: list[list[dict]]):
        self.world = world
        self.plans = plans
        self.cities = sorted(world.state_of)
        self.places = {part: _by_city(world.table(part)) for part in PLACE_PARTS}
        self.moves = (
            *[self.place] * 4,
            *[self.respell] * 3,
            *[self.leg] * 4,
            *[self.city] * 3,
            *[self.day_of_another_plan] * 2,
            self.plan_of_another_query,
            self.stay_instead,
            self.stay_instead,
            self.never_at_home,
            self.one_mode,
            self.copy_value,
            self.swap_days,
            self.blank,
            self.other_hotel,
            self.other_stop,
            self.number,
            self.days,
        )

    def apply(self, plan: list[dict], rng: random.Random) -> None:
        rng.choice(self.moves)(plan, rng)

    def place(self, plan, rng):
        """Another place of the day's city, or of any city; often one that has the city's name in its own."""
        day, part = rng.choice(plan), rng.choice(PLACE_PARTS)
        near = self._near(day, rng)
        names = self.places[part].get(near, ["Nothing"])
        if rng.random() < 0.3:
            pairs = [(name, city) for city, names in self.places[part].items() for name in names if near in name]
            name, city = rng.choice(pairs or [(rng.choice(names), near)])
        else:
            name, city = rng.choice(names), near
        value = f"{name}, {city}"
        if part == "attraction" and rng.random() < 0.7:
            value = rng.choice([f"{day.get(part)}{value};", f"{value};", f"{value}; {value};"])
        day[part] = value

    def respell(self, plan, rng):
        """A value written otherwise, in place or as another meal of the plan."""
        (day, part), (other, _) = _spot(plan, rng, PLACE_PARTS), _spot(plan, rng, PARTS)
        value = day.get(part)
        if not isinstance(value, str) or ", " not in value:
            return
        name, _, city = value.rstrip("; ").rpartition(", ")
        state = self.world.state_of.get(city, "")
        comma = rng.choice([",", " , ", ",  ", *(f",{blank}" for blank in BLANKS)])
        written = rng.choice(
            [city, f"{city}({state})", f"{city} ({state})", f"{city}()", f"{city}({rng.choice(self.cities)})"]
        )
        value = f"{name}{rng.choice([comma, ', '])}{written}"
        if part == "attraction":
            day[part] = f"{day[part]}{value};" if rng.random() < 0.5 else f"{value};"
        elif part in MEALS:
            other[rng.choice(MEALS)] = value
        else:
            day[part] = value

    def leg(self, plan, rng):
        """Another way to travel, between the day's cities or others."""
        day = rng.choice(plan)
        here = Day(1, day).cities
        ends = here if len(here) == 2 and rng.random() < 0.5 else (self._near(day, rng), self._near(day, rng))
        way = rng.choice(["from", "from", "from", "From", "FROM"]) + f" {ends[0]} to {ends[1]}"
        mode, facts = rng.choice(MODES), ""
        if rng.random() < 0.5:
            flights = [f for f in self.world.flights if (f["OriginCityName"], f["DestCityName"]) == ends]
            flight = rng.choice(flights or self.world.flights)
            mode = f"Flight Number: {flight['Flight Number']}"
            facts = rng.choice(TIMES).format(dep=flight["DepTime"], arr=flight["ArrTime"])
        end = rng.choice(ENDINGS).format(city=here[-1] if here else "", other=rng.choice(self.cities))
        day["transportation"] = f"{mode}, {way}{facts}{end}"

    def one_mode(self, plan, rng):
        """All legs by the same way to travel, written the same way."""
        mode = rng.choice(MODES)
        for day in plan:
            cities = Day(1, day).cities
            if len(cities) == 2:
                day["transportation"] = f"{mode}, from {cities[0]} to {cities[1]}"

    def city(self, plan, rng):
        day = rng.choice(plan)
        city, other = self._near(day, rng), rng.choice(self.cities)
        if rng.random() < 0.5:
            start = rng.choice([city, self._near(day, rng)])
            day["current_city"] = (rng.choice(ROUTES) if rng.random() < 0.4 else "from {a} to {b}").format(
                a=start, b=other
            )
        else:
            day["current_city"] = rng.choice(STAYS).format(city=city, other=other, state=self.world.state_of[city])

    def stay_instead(self, plan, rng):
        """A travel day becomes a day in the city of arrival, with all that a stay needs; no leg leads there.

        Or it stays one of travel, in other white space, and is filled like a day of stay.
        """
        at = rng.randrange(len(plan))
        cities = Day(1, plan[at]).cities
        if len(cities) != 2:
            return
        city = rng.choice([cities[-1]] * 3 + [cities[0]])
        plan[at]["current_city"] = city if rng.random() < 0.7 else f"from\t{cities[0]} to\t{cities[1]}"
        if at:
            plan[at]["transportation"] = rng.choice(["-", "-", None, plan[at].get("transportation")])
        self._fill(plan[at], city, rng)

    def never_at_home(self, plan, rng):
        """The trip begins and ends in the city of its first arrival; day 1 has the way there all the same."""
        if len(plan) < 2:
            return
        first, last = Day(1, plan[0]).cities, Day(1, plan[-1]).cities
        if len(first) != 2 or len(last) != 2:
            return
        plan[0]["current_city"] = first[1]
        self._fill(plan[0], first[1], rng)
        leg = f"from {last[0]} to {first[1]}"
        plan[-1] |= {"current_city": leg, "transportation": f"{rng.choice(['Taxi', 'Self-driving'])}, {leg}"}
        for part in (*MEALS, "attraction"):
            plan[-1][part] = "-"

    def _fill(self, day, city, rng):
        for part in (*MEALS, "attraction"):
            value = f"{rng.choice(self.places[part].get(city, ['Nothing']))}, {city}"
            day[part] = f"{value};" if part == "attraction" else value
        if day.get("accommodation") in ("-", None):
            return
        day["accommodation"] = f"{rng.choice(self.places['accommodation'].get(city, ['Nothing']))}, {city}"

    def other_stop(self, plan, rng):
        """The trip goes to another city instead: its name is changed throughout, and all places with it."""
        stops = sorted({city for day in plan for city in Day(1, day).cities} & set(self.cities))
        if not stops:
            return
        old, new = rng.choice(stops), rng.choice(self.cities)
        for at, day in enumerate(plan):
            cities = [new if city == old else city for city in Day(1, day).cities]
            if new not in cities:
                continue
            day["current_city"] = " to ".join(cities) if len(cities) == 1 else f"from {cities[0]} to {cities[1]}"
            if len(cities) == 2:
                mode = rng.choice(["Self-driving", "Taxi"])
                day["transportation"] = f"{mode}, from {cities[0]} to {cities[1]}"
                for part in (*MEALS, "attraction"):
                    day[part] = "-"
            else:
                self._fill(day, new, rng)
            if cities[-1] == new and at < len(plan) - 1:
                day["accommodation"] = f"{rng.choice(self.places['accommodation'].get(new, ['Nothing']))}, {new}"

    def day_of_another_plan(self, plan, rng):
        at = rng.randrange(len(plan))
        other = rng.choice(self.plans)
        source = other[min(at, len(other) - 1)] if rng.random() < 0.8 else rng.choice(other)
        plan[at] = deepcopy(source) | {"days": at + 1}

    def plan_of_another_query(self, plan, rng):
        plan[:] = deepcopy(rng.choice([other for other in self.plans if len(other) == len(plan)] or [plan]))

    def copy_value(self, plan, rng):
        (day, part), (other, other_part) = _spot(plan, rng, PARTS), _spot(plan, rng, PARTS)
        source = other_part if part in MEALS and other_part in MEALS else part
        if source in other:
            day[part] = deepcopy(other[source])

    def swap_days(self, plan, rng):
        one, other = rng.choices(range(len(plan)), k=2)
        plan[one], plan[other] = plan[other], plan[one]
        if rng.random() < 0.5:
            for at in (one, other):
                plan[at]["days"] = at + 1

    def blank(self, plan, rng):
        for _ in range(rng.choice([1, 1, 2, 4])):
            day, part = _spot(plan, rng, PARTS)
            day[part] = deepcopy(rng.choice(["-", "-", "", " - ", *EMPTY]))

    def other_hotel(self, plan, rng):
        """Another hotel for one night, or for all nights in its city."""
        day = rng.choice(plan)
        cities = Day(1, day).cities
        if not cities:
            return
        value = f"{rng.choice(self.places['accommodation'].get(cities[-1], ['Nothing']))}, {cities[-1]}"
        same = [d for d in plan if d.get("accommodation") == day.get("accommodation")]
        for other in same if rng.random() < 0.7 else [day]:
            other["accommodation"] = value

    def number(self, plan, rng):
        day = rng.choice(plan)
        if rng.random() < 0.3:
            day.pop("days", None)
        day[rng.choice(["days", "days", "day", "note"])] = rng.choice(NUMBERS)

    def days(self, plan, rng):
        at = rng.randrange(len(plan))
        rng.choice(
            [
                lambda: plan.pop(at) if len(plan) > 1 else None,
                lambda: plan.insert(at, deepcopy(plan[at])),
                *[lambda: plan.append(deepcopy(plan[at]))] * 3,
                lambda: plan.append({}),
            ]
        )()

    def _near(self, day, rng) -> str:
        """A city of the day, or now and then any other."""
        near = [city for city in Day(1, day).cities if city in self.world.state_of]
        return rng.choice(near) if near and rng.random() < 0.75 else rng.choice(self.cities)


def _spot(plan, rng, parts) -> tuple[dict, str]:
    return rng.choice(plan), rng.choice(parts)


def _by_city(table) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for name, city in table:
        names.setdefault(city, []).append(name)
    return names
