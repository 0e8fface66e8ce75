"""The seven tools an agent calls: JSON arguments in, a JSON object out.

`TOOL_SCHEMAS` is the one source for what the tools are: the calls are checked against it, and verl's tool
configuration, the prompt and the documentation are made from it.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable

from planner_r1.sandbox.calculator import CalculatorError, calculate
from planner_r1.sandbox.store import Store, bare_city
from planner_r1.sandbox.tables import is_day

LONGEST_ARGUMENTS = 20_000  # characters of JSON; sound calls have about a hundred
SHOWN = 60  # characters of the model's own text that an error repeats
SIMILAR = 0.75  # how alike (0 to 1) a known name must be to be suggested


def _schema(name: str, description: str, **parameters: dict) -> dict:
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {"type": "object", "properties": parameters, "required": list(parameters)},
        },
    }


def _text(description: str, **more) -> dict:
    return {"type": "string", "description": description, **more}


TOOL_SCHEMAS: list[dict] = [
    _schema(
        "search_flights",
        "List the flights between two cities on one day, with flight number, price per person, times and distance.",
        origin=_text("City of departure."),
        destination=_text("City of arrival."),
        date=_text("Day of departure, written YYYY-MM-DD."),
    ),
    _schema(
        "search_accommodations",
        "List the places to stay in a city, with price per night, room type, house rules, minimum nights, maximum "
        "occupancy and rating.",
        city=_text("Name of the city."),
    ),
    _schema(
        "search_restaurants",
        "List the restaurants of a city, with average cost per person, cuisines and rating.",
        city=_text("Name of the city."),
    ),
    _schema(
        "search_attractions",
        "List the attractions of a city, with address, phone and website.",
        city=_text("Name of the city."),
    ),
    _schema(
        "search_ground_transportation",
        "Find the way by road between two cities, with duration, distance and cost per vehicle.",
        origin=_text("City of departure."),
        destination=_text("City of arrival."),
        mode=_text("Means of travel.", enum=["self-driving", "taxi"]),
    ),
    _schema(
        "get_cities",
        "List the cities of a state.",
        state=_text("Name of the state."),
    ),
    _schema(
        "calculator",
        "Compute an arithmetic expression.",
        expression=_text("Numbers with + - * / // % ** and parentheses, for example (120 + 85.5) * 2."),
    ),
]

FUNCTIONS = {schema["function"]["name"]: schema["function"] for schema in TOOL_SCHEMAS}

# Like json.dumps, made once.
_to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


class ToolError(Exception):
    """A call cannot be answered; the message tells the model why."""


class Toolbox:
    """The tools over one store.

    effect: what went wrong with the last call though it was sound, as episodes record it; None for nothing (noise.py)
    seconds: how long the last reply is to take
    """

    effect: dict | None = None
    seconds: float = 0.0

    def __init__(self, store: Store):
        self._store = store

    def call(self, name, arguments) -> dict:
        """Answer one call. Never raises, whatever a model sends.

        Args:
            name: the tool's name.
            arguments: an object by argument name, or the JSON text of one.

        Returns:
            {"results": [row, ...]}; of the calculator {"result": number}; or {"error": what was wrong}.
        """
        try:
            function = self._function(name)
            values = checked_arguments(function, arguments)
            if name == "calculator":
                return {"result": calculate(values["expression"])}
            return {"results": self._results(name, values)}
        except (ToolError, CalculatorError) as e:
            return {"error": str(e)}

    def call_text(self, name, arguments) -> str:
        """Answer one call as compact JSON text."""
        return _to_json(self.call(name, arguments))

    @staticmethod
    def _function(name) -> dict:
        if not isinstance(name, str) or name not in FUNCTIONS:
            raise ToolError(f"Unknown tool {shown(name)}. The tools are: {', '.join(FUNCTIONS)}.")
        return FUNCTIONS[name]

    def _results(self, name: str, values: dict[str, str]) -> list:
        return found(*self._look_up(name, values))

    def _look_up(self, name: str, values: dict[str, str]) -> tuple[list, str]:
        """The rows of a reply, and the text where there are none."""
        return getattr(self, f"_{name}")(**values)

    def _search_flights(self, origin: str, destination: str, date: str) -> tuple[list[dict], str]:
        origin, destination = self._city(origin), self._city(destination)
        if not is_day(date):
            raise ToolError(f"'date' must be a real day written YYYY-MM-DD, such as 2022-03-16, not {shown(date)}.")
        rows = self._store.flights(origin, destination, date)
        return rows, f"There is no flight from {origin} to {destination} on {date}."

    def _search_accommodations(self, city: str) -> tuple[list[dict], str]:
        city = self._city(city)
        return self._store.accommodations(city), f"No accommodation was found in {city}."

    def _search_restaurants(self, city: str) -> tuple[list[dict], str]:
        city = self._city(city)
        return self._store.restaurants(city), f"No restaurant was found in {city}."

    def _search_attractions(self, city: str) -> tuple[list[dict], str]:
        city = self._city(city)
        return self._store.attractions(city), f"No attraction was found in {city}."

    def _search_ground_transportation(self, origin: str, destination: str, mode: str) -> tuple[list[dict], str]:
        origin, destination = self._city(origin), self._city(destination)
        otherwise = f"There is no valid information for {mode} from {origin} to {destination}."
        leg = self._store.leg(origin, destination)
        if leg is None:
            return [], otherwise
        way = {"mode": mode, "origin": origin, "destination": destination}
        return [{**way, "duration": leg.duration, "distance": leg.distance, "cost": leg.cost(mode)}], otherwise

    def _get_cities(self, state: str) -> tuple[list[str], str]:
        cities = self._store.states.get(state.strip())
        if cities is None:
            raise ToolError(f"Unknown state {shown(state)}.{suggestion(state, self._store.states)}")
        return list(cities), f"No city was found in {state.strip()}."

    def _city(self, text: str) -> str:
        city = bare_city(text)
        if city in self._store.places:
            return city
        if city in self._store.states:
            raise ToolError(f"{shown(city)} is a state, not a city; get_cities lists its cities.")
        raise ToolError(f"Unknown city {shown(text)}.{suggestion(city, self._store.places)}")


def checked_arguments(function: dict, arguments) -> dict[str, str]:
    """The arguments of a call, after checking them against the tool's schema.

    Raises:
        ToolError: they are no object, or one of them is missing, not known, of the wrong type, or not allowed.
    """
    arguments = as_object(arguments)
    properties = function["parameters"]["properties"]
    takes = f"{function['name']} takes {' and '.join(f'{name!r}' for name in properties)}."
    for name in arguments:
        if not isinstance(name, str) or name not in properties:
            raise ToolError(f"Unknown argument {shown(name)}: {takes}")
    for name, schema in properties.items():
        if name not in arguments:
            raise ToolError(f"Argument {name!r} is missing: {takes}")
        value = arguments[name]
        if not isinstance(value, str):
            raise ToolError(f"{name!r} must be a string, not {kind_of(value)}.")
        if not value.strip():
            raise ToolError(f"{name!r} is empty: {schema['description']}")
        if "enum" in schema and value not in schema["enum"]:
            raise ToolError(f"{name!r} must be {' or '.join(map(repr, schema['enum']))}, not {shown(value)}.")
    return arguments


def as_object(arguments) -> dict:
    if isinstance(arguments, str):
        if len(arguments) > LONGEST_ARGUMENTS:
            raise ToolError(f"The arguments are longer than {LONGEST_ARGUMENTS} characters.")
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            raise ToolError("The arguments are not valid JSON; send one JSON object.") from None
    if not isinstance(arguments, dict):
        raise ToolError(f"The arguments must be one JSON object, not {kind_of(arguments)}.")
    return arguments


def found(rows: list[dict], otherwise: str) -> list[dict]:
    if not rows:
        raise ToolError(otherwise)
    return rows


def shown(value) -> str:
    """The model's own value for an error message: short, and sound Unicode."""
    if not isinstance(value, str):
        return kind_of(value)
    short = value if len(value) <= SHOWN else value[:SHOWN] + "…"
    return f"'{short.encode('utf-8', 'replace').decode('utf-8')}'"


def kind_of(value) -> str:
    """What a value is, in the words of JSON."""
    if value is None:
        return "null"
    names = {bool: "true or false", int: "a number", float: "a number", str: "a string", list: "a list"}
    return names.get(type(value), "an object")


def suggestion(wrong: str, known: Iterable[str]) -> str:
    """A sentence that names the most similar known names, or nothing."""
    if len(wrong) > SHOWN:
        return ""
    by_small_letters = {name.casefold(): name for name in known}
    near = difflib.get_close_matches(wrong.strip().casefold(), sorted(by_small_letters), n=3, cutoff=SIMILAR)
    return f" Did you mean {' or '.join(by_small_letters[name] for name in near)}?" if near else ""
