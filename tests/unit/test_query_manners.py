"""Queries drawn in the benchmark's manner, and which may not be drawn."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from helpers.messages import refused
from planner_r1.agent import manners
from planner_r1.agent.oracle import plan_for
from planner_r1.agent.query_generator import QuerySpec, Questions, draw_queries
from planner_r1.agent.wording import NUMBERS
from planner_r1.evaluator import evaluate
from planner_r1.plan import to_official
from planner_r1.queries import CONSTRAINTS, Query, load_queries

SPEC = QuerySpec(manner="benchmark", levels={"easy": 1, "medium": 1, "hard": 2})
DRAWN = 60


@pytest.fixture(scope="module")
def benchmark(shared_data) -> list[Query]:
    folder: Path = shared_data / "travelplanner/queries"
    return [query for split in ("train", "validation") for query in load_queries(folder / f"{split}.jsonl")]


@pytest.fixture(scope="module")
def drawn(real_store) -> list[Query]:
    return draw_queries(real_store, SPEC, DRAWN, seed=3)


def kinds(query: Query) -> tuple[str, ...]:
    return tuple(name for name in CONSTRAINTS if query.constraint(name))


def test_the_counts_are_those_of_the_benchmark(benchmark):
    for level in manners.PEOPLE:
        of_level = [q for q in benchmark if q.level == level]
        assert Counter(q.people_number for q in of_level) == manners.PEOPLE[level]
        assert Counter(map(kinds, of_level)) == manners.KINDS[level]
        asked = {len(cuisines) for q in of_level if (cuisines := q.constraint("cuisine"))}
        assert asked == ({manners.CUISINES_ASKED[level]} if level != "easy" else set())
    assert Counter(room for q in benchmark if (room := q.constraint("room type"))) == manners.ROOMS
    assert {c for q in benchmark for c in q.constraint("cuisine") or ()} == set(manners.CUISINES)
    assert {q.constraint("house rule") for q in benchmark} - {None} == set(manners.HOUSE_RULES)
    assert {q.constraint("transportation") for q in benchmark} - {None} == set(manners.AVOIDED)


def test_every_drawn_query_has_a_plan_that_passes_both_profiles(real_store, drawn):
    for query in drawn:
        trip = plan_for(query, real_store)
        for profile in ("official", "strict"):
            assert evaluate(to_official(trip.plan, real_store), query, real_store, profile).final_pass, query


def test_drawn_queries_have_the_form_of_the_benchmark(real_store, drawn, benchmark):
    for query in [*drawn, *benchmark]:
        assert query.org in real_store.cities
        assert query.dest in (real_store.cities if query.days == 3 else real_store.states)
        assert query.visiting_city_number == (query.days - 1) // 2
        assert len(query.date) == query.days and "2022-03-01" <= query.date[0] <= query.date[-1] <= "2022-03-31"
        assert 1 <= query.people_number <= 8 and (query.people_number == 1) == (query.level == "easy")
        assert query.budget % 100 == 0
        assert kinds(query) in manners.KINDS[query.level]
    assert all(real_store.cities[q.org] not in (q.dest, real_store.cities.get(q.dest)) for q in drawn)
    assert max(q.people_number for q in drawn) > 4


def test_levels_and_lengths_have_the_shares_that_were_asked_for(drawn):
    levels, days = Counter(q.level for q in drawn), Counter(q.days for q in drawn)
    # four standard deviations of a binomial
    for found, share in [(levels[k], s) for k, s in (("easy", 1 / 4), ("medium", 1 / 4), ("hard", 1 / 2))] + [
        (days[k], 1 / 3) for k in (3, 5, 7)
    ]:
        assert abs(found - DRAWN * share) < 4 * (DRAWN * share * (1 - share)) ** 0.5


def test_the_text_of_a_query_states_all_its_facts(drawn):
    rooms = {"not shared room": "rooms that are not shared"}
    for q in drawn:
        number = (str(q.people_number), NUMBERS[q.people_number], "solo", "single")
        assert any(word in q.query for word in (number if q.people_number == 1 else number[:2])), q.query
        assert q.org in q.query and q.dest in q.query and f"${q.budget:,.0f}" in q.query and "2022" in q.query
        assert any(words in q.query for words in {7: ("7-day", "week")}.get(q.days, (f"{q.days}-day",)))
        if q.days > 3:
            cities = q.visiting_city_number
            assert any(f"{word} {x}cities" in q.query for word in (cities, NUMBERS[cities]) for x in ("", "different "))
        for day in (q.date[0], q.date[-1]):
            assert f"March {int(day[-2:])}" in q.query
        assert all(cuisine in q.query for cuisine in q.constraint("cuisine") or ())
        assert (q.constraint("house rule") or "") in q.query
        assert rooms.get(room := q.constraint("room type") or "", room) in q.query
        assert {None: "", "no flight": "fl", "no self-driving": "driv"}[q.constraint("transportation")] in q.query
        alone = q.people_number == 1
        assert ("{" not in q.query) and not (alone and any(word in q.query.split() for word in ("We", "Our", "our")))


def test_draws_repeat_and_none_equals_one_that_is_to_be_avoided(real_store, drawn):
    """The drawn ones are planted as the benchmark's: the same draw has to do without them."""
    assert draw_queries(real_store, SPEC, 10, seed=3) == drawn[:10]
    others = draw_queries(real_store, SPEC, 10, seed=3, avoid=drawn[:5])
    assert not any(other in Questions(drawn[:5]) for other in others)
    assert {q.query for q in others}.isdisjoint(q.query for q in drawn[:5])


def asked(**changes) -> Query:
    wishes = {"house rule": None, "cuisine": ["Indian", "French"], "room type": None, "transportation": None}
    query = Query(1, "Reno", "Denver", 3, ("2022-03-01", "2022-03-02", "2022-03-03"), "text", "medium", 1, 2, 900.0)
    return replace(query, local_constraint=wishes, **changes)


def test_equal_is_what_asks_the_same_however_worded():
    known = Questions([asked()])
    assert asked(query="other words", budget=1500.0, idx=7, level="hard") in known
    turned = asked().local_constraint | {"cuisine": ["French", "Indian"]}
    assert replace(asked(), local_constraint=turned) in known
    for change in ({"people_number": 3}, {"org": "Tulsa"}, {"dest": "Tulsa"}, {"date": ("2022-03-02",) * 3}):
        assert asked(**change) not in known
    assert replace(asked(), local_constraint=turned | {"house rule": "pets"}) not in known


def test_a_hidden_query_may_be_any_of_its_trip():
    hidden = replace(asked(), local_constraint=None, people_number=None, budget=None)
    assert asked() in Questions([hidden]) and asked(people_number=7) in Questions([hidden])
    assert asked(org="Tulsa") not in Questions([hidden])


def test_more_than_there_is_is_refused(real_store):
    with refused("only", "queries.days, queries.levels"):
        draw_queries(real_store, replace(SPEC, n_days=2), 1, seed=0)
