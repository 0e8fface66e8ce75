"""The messages that open an episode. The template is a file of a study, so that its wording can be studied."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from planner_r1.errors import InputError
from planner_r1.plan import PLAN_SCHEMA

SCHEMA_MARK = "{plan_schema}"


def load_template(path: str | Path) -> str:
    """Read a template of the system message.

    Raises:
        InputError: the file is missing or empty.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: no such prompt template; key 'prompt' of the study names a text file")
    text = path.read_text(encoding="utf-8").strip()
    if not text:
        raise InputError(f"{path}: the prompt template is empty")
    return text


def render_messages(query_text: str, template: str) -> list[dict]:
    """The system and the user message of an episode; the tools' schemas are added by the chat template.

    `{plan_schema}` in the template becomes the JSON Schema of a plan.
    """
    schema = json.dumps(_without_notes(PLAN_SCHEMA), separators=(",", ":"))
    return [
        {"role": "system", "content": template.replace(SCHEMA_MARK, schema)},
        {"role": "user", "content": query_text},
    ]


def template_hash(template: str) -> str:
    """Identifies a template in a manifest."""
    return hashlib.sha256(template.encode("utf-8")).hexdigest()


def _without_notes(schema):
    """The schema without what only readers of the file need: identifiers and titles."""
    if isinstance(schema, dict):
        return {k: _without_notes(v) for k, v in schema.items() if k not in ("$schema", "$id", "title", "$comment")}
    return [_without_notes(v) for v in schema] if isinstance(schema, list) else schema
