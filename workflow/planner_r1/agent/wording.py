"""Queries in natural English. The text states every fact of a query, so that it can be planned from alone."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from planner_r1.queries import CONSTRAINTS, Query

NUMBERS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight"}


@dataclass(frozen=True)
class Words:
    """Phrases to choose from, by what they say; `_facts` and `sentence` say which fields in braces they may have.

    openings: everything but the constraints
    lengths: a trip's length, by its days
    one, many: who travels
    city, cities: where they go, to a city or to some of a state's
    days: when
    wishes: a constraint, by its value
    cuisine: the constraint whose value is a list
    last_comma: whether a list of three or more has a comma before its "and"
    any_order: whether constraints are shuffled
    """

    openings: Sequence[str]
    lengths: Mapping[int, Sequence[str]]
    one: Sequence[str]
    many: Sequence[str]
    city: Sequence[str]
    cities: Sequence[str]
    days: Sequence[str]
    wishes: Mapping[str, Sequence[str]]
    cuisine: Sequence[str]
    last_comma: bool
    any_order: bool


def _each(values: Mapping[str, str] | Iterable[str], *phrases: str) -> dict[str, tuple[str, ...]]:
    """The phrases for each value, with its words (itself, where there are no others) in the place of {value}."""
    words = values if isinstance(values, Mapping) else {value: value for value in values}
    return {value: tuple(phrase.format(value=words[value]) for phrase in phrases) for value in words}


PLAIN_WORDS = Words(
    openings=(
        "Please plan a {length} trip for {people} from {org} to {place}, {days}, with a budget of {budget}.",
        "Can you create a {length} travel plan for {people}, leaving {org} for {place} between {first} and {last}? "
        "{Our} budget is {budget}.",
        "{We} need a {length} itinerary for {people} departing from {org} and visiting {place} from {days}. "
        "The budget is {budget}.",
    ),
    lengths={3: ("3-day",), 5: ("5-day",), 7: ("7-day",)},
    one=("one person",),
    many=("{word} people",),
    city=("{dest}",),
    cities=("{word} cities in {dest}",),
    days=("{first} to {last}",),
    wishes={
        **_each(
            ("parties", "children under 10", "pets", "visitors"),
            "The accommodation must allow {value}.",
            "We need a place to stay where {value} are welcome.",
        ),
        "smoking": ("The accommodation must allow smoking.",),
        **_each(
            {
                "entire room": "an entire room",
                "private room": "a private room",
                "shared room": "a shared room",
                "not shared room": "a room that is not shared",
            },
            "We would like {value}.",
            "Our accommodation should be {value}.",
        ),
        "no flight": ("We do not want to fly.", "Please avoid any flights."),
        "no self-driving": ("We will not drive ourselves.", "Please avoid self-driving."),
    },
    cuisine=("We want to taste {value} food.", "For meals we would enjoy {value} cuisine."),
    last_comma=False,
    any_order=False,
)

# In the manner of the benchmark's queries, which a language model put into words.
BENCHMARK_WORDS = Words(
    openings=(
        "Please help {us} plan a {length} trip for {people}, departing from {org} and {place} {days}. "
        "The budget for this trip is {budget}.",
        "Could you create a {length} travel plan for {people}, leaving from {org} and {place} {days}? "
        "{Our} budget is set at {budget}.",
        "Can you design a {length} travel itinerary for {people} that starts in {org}, {place}, {days}, with a budget "
        "of {budget}?",
        "{We} would like to arrange a {length} trip for {people}. Starting from {org} and {place}, the travel dates "
        "are {days}, and {our} total budget is {budget}.",
        "Could you assist with a travel plan for {people}? It is a {length} trip that starts in {org}, {place} {days}, "
        "on a budget of {budget}.",
        "{We} need assistance with a {length} itinerary, {place} {days}. {We} will set off from {org}, the plan is for "
        "{people}, and {our} budget tops out at {budget}.",
    ),
    lengths={3: ("3-day",), 5: ("5-day",), 7: ("7-day", "week-long", "one-week")},
    one=("one person", "1 person", "a solo traveler", "a single person"),
    many=("{word} people", "{number} people", "a group of {number}", "a party of {number}"),
    city=("heading to {dest}", "visiting {dest}"),
    cities=(
        "visiting {number} cities in {dest}",
        "visiting {word} different cities in {dest}",
        "covering {number} different cities in {dest}",
        "exploring {word} cities in {dest}",
    ),
    days=("from {first} to {last}", "between {first} and {last}"),
    wishes={
        **_each(
            ("parties", "smoking", "children under 10", "pets", "visitors"),
            "We require accommodations that allow {value}.",
            "Please make sure that our accommodations permit {value}.",
            "It is important that {value} be allowed where we stay.",
        ),
        **_each(
            {
                "entire room": "entire rooms",
                "private room": "private rooms",
                "shared room": "shared rooms",
                "not shared room": "rooms that are not shared",
            },
            "We would prefer {value} for our stay.",
            "Our accommodations should be {value}.",
            "As for lodging, we require {value}.",
        ),
        "no flight": (
            "We would prefer not to take any flights.",
            "Please note that we do not want to fly.",
            "Our transportation should not involve any flights.",
        ),
        "no self-driving": (
            "We would prefer not to drive ourselves.",
            "As for transportation, we do not plan on self-driving.",
            "Please note that we will not be self-driving.",
        ),
    },
    cuisine=(
        "We would love to try {value} cuisine during our trip.",
        "As for food, we enjoy {value} cuisine.",
        "When it comes to dining, we have a preference for {value} cuisine.",
    ),
    last_comma=True,
    any_order=True,
)


def sentence(query: Query, words: Words, rng: random.Random) -> str:
    """The request as a person would write it."""
    opening = rng.choice(words.openings).format(**_facts(query, words, rng))
    asked = [value for name in CONSTRAINTS if (value := query.constraint(name)) is not None]
    if words.any_order:
        rng.shuffle(asked)
    return " ".join([opening, *(_wish(value, words, rng) for value in asked)])


def _facts(query: Query, words: Words, rng: random.Random) -> dict[str, str]:
    """What an opening may say. Pronouns are those of a single person or of several."""
    alone, cities = query.people_number == 1, query.visiting_city_number
    we, us, our = ("I", "me", "my") if alone else ("we", "us", "our")
    first, last = _day(query.date[0]), f"{_day(query.date[-1])}, {query.date[-1][:4]}"
    return {
        "length": _pick(words.lengths[query.days], rng),
        "people": _counted(words.one if alone else words.many, query.people_number, rng),
        "org": query.org,
        "place": _counted(words.city if cities == 1 else words.cities, cities, rng, dest=query.dest),
        "days": _pick(words.days, rng).format(first=first, last=last),
        "first": first,
        "last": last,
        "budget": f"${query.budget:,.0f}",
        **{"We": we.capitalize(), "us": us, "our": our, "Our": our.capitalize()},
    }


def _counted(phrases: Sequence[str], number: int, rng: random.Random, **fields: str) -> str:
    return _pick(phrases, rng).format(number=number, word=NUMBERS[number], **fields)


def _wish(value: str | list[str], words: Words, rng: random.Random) -> str:
    if isinstance(value, str):
        return _pick(words.wishes[value], rng)
    return rng.choice(words.cuisine).format(value=_listing(value, words.last_comma))


def _pick(phrases: Sequence[str], rng: random.Random) -> str:
    """One of the phrases; where there is no choice, no number is drawn for it."""
    return phrases[0] if len(phrases) == 1 else rng.choice(phrases)


def _listing(values: list[str], last_comma: bool) -> str:
    if len(values) == 1:
        return values[0]
    comma = "," if last_comma and len(values) > 2 else ""
    return f"{', '.join(values[:-1])}{comma} and {values[-1]}"


def _day(iso: str) -> str:
    """March 16th."""
    day = date.fromisoformat(iso)
    ending = "th" if 11 <= day.day <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10, "th")
    return f"{day:%B} {day.day}{ending}"
