"""What drawn queries ask and how often: in made-up worlds, and in the benchmark's own database.

Levels are the benchmark's in both: easy queries are for one person and constrain only the budget; medium ones add one
constraint out of house rule, cuisine and room type; hard ones three out of all four kinds.
"""

from __future__ import annotations

import random
from functools import lru_cache

from planner_r1.agent.oracle import ROOM_TYPES
from planner_r1.agent.wording import BENCHMARK_WORDS, PLAIN_WORDS
from planner_r1.queries import CONSTRAINTS
from planner_r1.sandbox.store import Store

HOUSE_RULES = ("parties", "smoking", "children under 10", "pets", "visitors")
AVOIDED = ("no flight", "no self-driving")
CUISINES_ASKED = {"medium": 2, "hard": 4}
NUMBER_ASKED = {"easy": 0, "medium": 1, "hard": 3}

# How often each occurs in the benchmark's 45 train and 180 validation queries.
PEOPLE = {
    "easy": {1: 75},
    "medium": {2: 31, 3: 10, 4: 12, 5: 7, 6: 2, 7: 6, 8: 7},
    "hard": {2: 53, 3: 9, 4: 4, 5: 4, 6: 2, 7: 3},
}
KINDS = {
    "easy": {(): 75},
    "medium": {("house rule",): 24, ("cuisine",): 28, ("room type",): 23},
    "hard": {
        ("house rule", "room type", "transportation"): 39,
        ("house rule", "cuisine", "transportation"): 17,
        ("house rule", "cuisine", "room type"): 12,
        ("cuisine", "room type", "transportation"): 7,
    },
}
ROOMS = {"entire room": 43, "private room": 21, "not shared room": 16, "shared room": 1}
CUISINES = ("American", "Chinese", "French", "Indian", "Italian", "Mediterranean", "Mexican")
# The first to the eighth tenth of the benchmark's budgets over the oracle's cost, as far as trips are possible.
SLACK = {3: (1.05, 1.73), 5: (1.43, 5.35), 7: (1.66, 4.74)}
SLACK_HARD = {3: (1.05, 1.47), 5: (1.29, 3.17), 7: (1.26, 3.42)}


class MadeUp:
    """Every choice as likely as another, from what a small world holds."""

    words = PLAIN_WORDS
    keeps_mix = False
    budget_step = 50
    remedy = "make the world larger (sandbox.world)"  # where there are too few feasible queries

    def ends(self, store: Store, days: int, rng: random.Random) -> tuple[str | None, str]:
        """Where a trip starts, None for nowhere, and where it goes: a city for 3 days, a state for more."""
        dest = rng.choice(list(store.cities if days == 3 else store.states))
        return rng.choice([c for c in store.cities if dest not in (c, store.cities[c])] or [None]), dest

    def people(self, level: str, rng: random.Random) -> int:
        return 1 if level == "easy" else rng.randint(2, 4)

    def kinds(self, level: str, rng: random.Random) -> list[str]:
        """The kinds of constraint that a query of a level has beside its budget."""
        known = {"easy": (), "medium": CONSTRAINTS[:3], "hard": CONSTRAINTS}[level]
        return rng.sample(known, NUMBER_ASKED[level])

    def constraints(self, store: Store, level: str, dest: str, rng: random.Random) -> dict:
        values = dict.fromkeys(CONSTRAINTS)
        for kind in self.kinds(level, rng):
            match kind:
                case "house rule":
                    values[kind] = rng.choice(HOUSE_RULES)
                case "cuisine":
                    values[kind] = self.cuisines(store, level, dest, rng)
                case "room type":
                    values[kind] = self.room_type(rng)
                case "transportation":
                    values[kind] = rng.choice(AVOIDED)
        return values

    def room_type(self, rng: random.Random) -> str:
        return rng.choice(list(ROOM_TYPES))

    def cuisines(self, store: Store, level: str, dest: str, rng: random.Random) -> list[str]:
        cities = [dest] if dest in store.cities else store.states[dest]
        served = sorted({c for city in cities for row in store.restaurants(city) for c in row["Cuisines"].split(", ")})
        return rng.sample(served, min(CUISINES_ASKED[level], len(served)))

    def slack(self, level: str, days: int, rng: random.Random) -> float:
        """What the budget is, as a multiple of what the oracle's trip costs."""
        return rng.uniform(1.15, 1.6)


class Benchmark(MadeUp):
    """As often as in the benchmark's own queries, in numbers such as its budgets have."""

    words = BENCHMARK_WORDS
    keeps_mix = True
    budget_step = 100
    remedy = "for others (queries.days, queries.levels)"

    def ends(self, store: Store, days: int, rng: random.Random) -> tuple[str | None, str]:
        """From a city of another state, with a way there and back; a state is the likelier, the more cities it has."""
        city, state = rng.choice(list(store.cities.items()))
        return rng.choice(_origins(store, city) or [None]), city if days == 3 else state

    def people(self, level: str, rng: random.Random) -> int:
        return _weighted(PEOPLE[level], rng)

    def kinds(self, level: str, rng: random.Random) -> list[str]:
        return list(_weighted(KINDS[level], rng))

    def room_type(self, rng: random.Random) -> str:
        return _weighted(ROOMS, rng)

    def cuisines(self, store: Store, level: str, dest: str, rng: random.Random) -> list[str]:
        return rng.sample(CUISINES, CUISINES_ASKED[level])

    def slack(self, level: str, days: int, rng: random.Random) -> float:
        return rng.uniform(*(SLACK_HARD if level == "hard" else SLACK)[days])


MANNERS = {"made-up": MadeUp(), "benchmark": Benchmark()}


@lru_cache(maxsize=4096)
def _origins(store: Store, city: str) -> list[str]:
    """The cities of other states between which and `city` one can travel both ways, by road or by air."""

    def way(origin: str, destination: str) -> bool:
        return store.leg(origin, destination) is not None or store.flies(origin, destination)

    state = store.cities[city]
    return [c for c in store.cities if store.cities[c] != state and way(c, city) and way(city, c)]


def _weighted(counts: dict, rng: random.Random):
    return rng.choices(list(counts), list(counts.values()))[0]
