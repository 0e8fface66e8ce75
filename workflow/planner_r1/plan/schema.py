"""The schema of the plan that the agent writes, and the check against it."""

from __future__ import annotations

import json
from pathlib import Path

import fastjsonschema
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match

SCHEMA_FILE = Path(__file__).resolve().parents[1] / "schemas" / "plan.schema.json"
PLAN_SCHEMA: dict = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
_VALIDATOR = Draft202012Validator(PLAN_SCHEMA)
# The same check compiled to straight code, some fifty times faster; it only spares valid plans the slow way.
_check_fast = fastjsonschema.compile(PLAN_SCHEMA)

MESSAGE = 200  # characters of the validator's message that are kept; it repeats the faulty value


def schema_fault(plan) -> str | None:
    """The gravest fault of the plan against PLAN_SCHEMA, with its place, or None where it has none."""
    try:
        _check_fast(plan)
        return None
    except (fastjsonschema.JsonSchemaException, RecursionError):
        pass  # jsonschema has the last word, and the better messages
    try:
        error = best_match(_VALIDATOR.iter_errors(plan))
    except RecursionError:
        return "nested too deeply"
    return _describe(error) if error else None


def _describe(error: ValidationError) -> str:
    day, *keys = error.absolute_path or ["the plan"]
    place = ", ".join([f"day {day + 1}" if isinstance(day, int) else day, *map(str, keys)])
    message = error.message if len(error.message) <= MESSAGE else error.message[:MESSAGE] + "..."
    return f"{place}: {message}"
