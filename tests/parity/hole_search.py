"""A search for plans that pass the strict profile and are wrong in plain sense.

It starts from the oracle's plans in odd worlds, changes them as a trickster would, and climbs: a change is kept where
the plan is wrong in plain sense and fails no more strict rules than before.
"""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path

from parity.odd_worlds import write_odd_world
from parity.plain_sense import World, breaches
from parity.plan_changes import Changes
from parity.plan_grammar import Grammar, other_wishes
from parity.reference_evaluator import Tables
from planner_r1.agent.oracle import plan_for
from planner_r1.agent.query_generator import QuerySpec, draw_queries
from planner_r1.evaluator.judge import judge
from planner_r1.evaluator.profiles import STRICT
from planner_r1.plan import to_official
from planner_r1.queries import Query
from planner_r1.sandbox.builder import build
from planner_r1.sandbox.store import Store

QUERIES = 24  # of one world
STEPS = 40  # changes tried in one climb
OTHER_WISHES = 0.2  # the share of climbs whose query asks for something else than its plan was made for
RANDOM_MOVES = 0.02  # the share of changes that are kept whatever they are worth
GIVE_UP = 4  # failing strict rules from which a climb does not go on

# What strict lets pass; docs/strict.md gives the reasons.
ANSWERED = frozenset({"road_facts", "meal_order", "meal_in_flight", "half_filled", "night_after_the_trip"})


@dataclass(frozen=True)
class Example:
    """A plan that passes strict and is wrong by one breach, as `text` says.

    `changed` holds (day, key, before, after) of each value that is not the oracle's; `size` tells smaller ones.
    """

    size: tuple[int, int]
    query: Query
    plan: list
    changed: list[tuple]
    text: str


@dataclass
class Tally:
    """What a search saw: plans tried, plans that pass strict, breaches by name, and the smallest example of each.

    `found` and `examples` are about the breaches that have no answer.
    """

    tried: int = 0
    passing: int = 0
    answered: Counter = field(default_factory=Counter)
    found: Counter = field(default_factory=Counter)
    examples: dict[str, Example] = field(default_factory=dict)

    def add(self, other: Tally) -> None:
        self.tried += other.tried
        self.passing += other.passing
        self.answered += other.answered
        self.found += other.found
        for name, example in other.examples.items():
            self.keep(name, example)

    def keep(self, name: str, example: Example) -> None:
        if name not in self.examples or example.size < self.examples[name].size:
            self.examples[name] = example


class Search:
    """One odd world with its oracle's plans. `closed` are the holes that the judged profile closes."""

    def __init__(self, seed: str, closed: frozenset[str] = STRICT, answered: frozenset[str] = ANSWERED):
        self.rng = random.Random(seed)
        self.closed, self.answered = closed, answered
        self.tally = Tally()
        with tempfile.TemporaryDirectory() as folder:
            write_odd_world(self.rng.randrange(2**31), Path(folder) / "world")
            build(Path(folder) / "world", Path(folder) / "store")
            self.world, self.store = World(Path(folder) / "world"), Store.open(Path(folder) / "store")
            tables = Tables(Path(folder) / "world")
            queries = draw_queries(self.store, QuerySpec(n_days=12), QUERIES, seed=self.rng.randrange(2**31))
        self.good = [(to_official(plan_for(query, self.store).plan, self.store), query) for query in queries]
        self.changes = Changes(self.world, [plan for plan, _ in self.good])
        self.grammar = Grammar(tables, self.good)

    def climb(self) -> None:
        """From one good plan through STEPS changes; what passes strict on the way is held against plain sense.

        Half of the climbs keep what is wrong in plain sense and lead it back to passing; the others go on from whatever
        passes, and so come to plans that lie further from the oracle's.
        """
        rng = self.rng
        start, query = rng.choice(self.good)
        if rng.random() < OTHER_WISHES:
            query = other_wishes(query, rng)
        plan, best, looks_for_wrong = start, (False, -self._failing(start, query)), rng.random() < 0.5
        for _ in range(STEPS):
            tried = deepcopy(plan)
            for _ in range(rng.choice([1, 1, 1, 2, 3])):
                self._change(tried, query)
            self.tally.tried += 1
            failing = self._failing(tried, query)
            if failing >= GIVE_UP or not all(isinstance(day, dict) for day in tried):
                continue
            wrong = self._unanswered(tried, query)
            if failing == 0:
                self.tally.passing += 1
                if wrong:
                    self._record(start, tried, query, wrong)
                    return
            worth = (bool(wrong) and looks_for_wrong, -failing)
            if worth >= best or rng.random() < RANDOM_MOVES:
                plan, best = tried, worth

    def _change(self, plan: list, query: Query) -> None:
        """One of the trickster's moves, or one of the grammar at the edges of the official rules."""
        if plan and all(isinstance(day, dict) for day in plan) and self.rng.random() < 0.85:
            self.changes.apply(plan, self.rng)
        else:
            self.rng.choice(self.grammar.productions)(plan, query, self.rng)

    def _failing(self, plan: list, query: Query) -> int:
        """How many strict rules the plan fails; one more where the hard ones were not reached."""
        verdict = judge(plan, query, self.store, self.closed)
        if verdict.final_pass:
            return 0
        return (len(verdict.reasons) or GIVE_UP) + (verdict.hard is None)

    def _unanswered(self, plan: list, query: Query) -> set[str]:
        found = set(breaches(plan, query, self.world))
        self.tally.answered.update(found & self.answered)
        return found - self.answered

    def _record(self, start: list, plan: list, query: Query, wrong: set[str]) -> None:
        self.tally.found.update(wrong)
        for name in wrong:
            small = self._shrink(start, plan, query, name)
            changed, also = _differences(start, small), self._unanswered(small, query)
            size = len(also), len(changed)  # an example that shows nothing else is worth more than a small one
            text = breaches(small, query, self.world)[name]
            self.tally.keep(name, Example(size, query, small, changed, text))

    def _shrink(self, start: list, plan: list, query: Query, name: str) -> list:
        """The plan with as many of its changes taken back as leave it passing and wrong by that name."""
        plan = deepcopy(plan)
        again = True
        while again:
            again = False
            for at, key, _, _ in _differences(start, plan):
                smaller = deepcopy(plan)
                if key is None:
                    smaller[at:] = deepcopy(start[at:])
                elif key in start[at]:
                    smaller[at][key] = deepcopy(start[at][key])
                else:
                    del smaller[at][key]
                if not self._failing(smaller, query) and name in self._unanswered(smaller, query):
                    plan, again = smaller, True
                    break
        return plan


def _differences(start: list, plan: list) -> list[tuple]:
    """(day, key, before, after) of each changed value; key None where the number of days differs from that day on."""
    found = [
        (at, key, before.get(key), after.get(key))
        for at, (before, after) in enumerate(zip(start, plan, strict=False))
        for key in {**before, **after}
        if (key in before, before.get(key)) != (key in after, after.get(key))
    ]
    if len(start) != len(plan):
        at = min(len(start), len(plan))
        found.append((at, None, start[at:], plan[at:]))
    return found


def search(seed: str, climbs: int, closed: frozenset[str] = STRICT) -> Tally:
    """Search one odd world; the same seed finds the same."""
    found = Search(seed, closed)
    for _ in range(climbs):
        found.climb()
    return found.tally
