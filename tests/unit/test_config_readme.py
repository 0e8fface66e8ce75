"""config/README.md lists each key of a study with its default and its meaning, and no other."""

import json
from pathlib import Path

from planner_r1.study import load_schema

README = Path(__file__).resolve().parents[2] / "config" / "README.md"


def rows(schema: dict, path: str = ""):
    """The table's rows, from the schema. A default that is a section, null or an empty list is left out."""
    if path:
        plain = schema["default"] not in (None, []) and not isinstance(schema["default"], dict)
        default = f"`{json.dumps(schema['default'])}`" if plain else ""
        yield f"| `{path}` | {default} | {schema['description']} |"
    for key, sub in schema.get("properties", {}).items():
        yield from rows(sub, f"{path}.{key}".lstrip("."))
    if isinstance(schema.get("additionalProperties"), dict):
        yield from rows(schema["additionalProperties"], f"{path}.<name>")
    if "description" in schema.get("items", {}):
        yield from rows(schema["items"], f"{path}[]")


def test_the_table_is_the_schema():
    text = README.read_text(encoding="utf-8").split("## The keys")[1].split("\n## ")[0]
    written = [line for line in text.splitlines() if line.startswith("| `")]
    assert written == list(rows(load_schema()))
