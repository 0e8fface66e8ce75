"""The key `algorithm` of a regime: which algorithms there are, and what each sets.

An algorithm is a file of verl's keys in `config/verl/algorithms/`, an advantage rule in `advantages/`, or both under
one name. A rule's keys are the algorithm's; verl's are set by `overrides`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import yaml

from planner_r1.checkout import in_checkout
from planner_r1.errors import InputError
from planner_r1.training import advantage_rules

FOLDER = "config/verl/algorithms"


@dataclass(frozen=True)
class Algorithm:
    """An algorithm as a regime asks for it.

    overlay: verl's keys, nested
    keys: those of its advantage rule, defaults filled in; None for an algorithm without a rule of ours
    """

    name: str
    overlay: dict[str, Any]
    keys: dict[str, Any] | None


def names() -> tuple[str, ...]:
    """The algorithms that there are."""
    return tuple(sorted({path.stem for path in in_checkout(FOLDER).glob("*.yaml")} | set(advantage_rules.names())))


def resolve(asked: str | Mapping[str, Any], where: str = "algorithm") -> Algorithm:
    """Find what a regime asks for: a name, or a mapping with `name` and keys.

    Raises:
        InputError: no such algorithm or key, or a value of another kind; `where` is the path of the key.
    """
    written = {"name": asked} if isinstance(asked, str) else dict(asked)
    name = written.pop("name", None)
    if name not in names():
        raise InputError(f"{where}: no algorithm {name!r} ({_hint(name, names())})")
    path, has_rule = in_checkout(FOLDER) / f"{name}.yaml", name in advantage_rules.names()
    overlay = (yaml.safe_load(path.read_text(encoding="utf-8")) or {}) if path.is_file() else {}
    if not has_rule:
        for key in written:
            raise InputError(f"{where}.{key}: '{name}' has no keys of its own; verl's stand in the regime's overrides")
        return Algorithm(name, overlay, None)
    known = advantage_rules.keys(name)
    for key, value in written.items():
        if key not in known:
            raise InputError(f"{where}.{key}: '{name}' has no such key ({_hint(key, tuple(known))})")
        if problem := advantage_rules.problem_with(name, key, value):
            raise InputError(f"{where}.{key}: {problem}")
    overlay.setdefault("algorithm", {})["adv_estimator"] = name
    return Algorithm(name, overlay, known | written)


def _hint(word: Any, known: tuple[str, ...]) -> str:
    close = get_close_matches(str(word), known, n=1)
    return f"did you mean '{close[0]}'?" if close else f"known: {', '.join(known) or 'none'}"
