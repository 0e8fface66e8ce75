"""What stands at the least in each file of results. It is looked at where a table or figure could not be made of them,
to name the file that is at fault."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from types import NoneType
from typing import Any

from planner_r1.errors import InputError
from planner_r1.evaluator import RATES
from planner_r1.paper.results import KINDS, mending, objects, parsed
from planner_r1.queries import load_queries
from planner_r1.reward import SubRewards
from planner_r1.study import Study

NUMBER = (int, float)
RATE = (int, float, NoneType)
NAMES = {str: "text", int: "a number", float: "a number", bool: "true or false", list: "a list", dict: "an object"}
NAMES |= {NoneType: "null"}
CHECKPOINT = {"model": str, "regime": str, "seed": int, "step": int}
PASSED = {"final_pass": bool, "reasons": dict}
# Types by key; of several forms one must fit. Files below results/<study>.
FORMS: dict[str, tuple[Mapping[str, Any], ...]] = {
    "evaluations/*/metrics.json": (
        CHECKPOINT
        | {"split": str, "hidden": bool}
        | {"rates": {profile: dict.fromkeys(RATES, RATE) for profile in ("official", "strict")}},
    ),
    "evaluations/*/scores.jsonl": (
        {"idx": int, "official": PASSED, "strict": PASSED},
        {"idx": int, "delivered": bool},
    ),
    "evaluations/*/trajectories.jsonl": (
        {"idx": int, "step": int, "plan": (list, NoneType), "end_reason": str, "tool_calls": list},
    ),
    "validations/*/scores.jsonl": (
        {"idx": int, "step": int, "end_reason": str, "turns": int, "failures": list, "tools": list, "passed": bool}
        | {"sub_rewards": dict.fromkeys(SubRewards().parts(), NUMBER), "tokens": {"generated": int}},
    ),
    "runs/*/validation.jsonl": ({"idx": int, "step": int},),
    "runs/*/metrics.jsonl": ({"step": int},),
    "runs/*/MANIFEST.json": (
        {"final_step": int, "wall_seconds": NUMBER, "settings": dict}
        | {"config": {"trainer": dict, "actor_rollout_ref": {"actor": dict, "rollout": dict}, "data": dict}},
    ),
    "models/*/MANIFEST.json": ({"model": str, "files": dict},),
    "ood/*/asked.json": ({},),
    "ood/*/metrics.json": (CHECKPOINT | {"suite": str, "metrics": dict, "caveats": list},),
    "ood/*/scores.jsonl": ({"metric": str, "item": (str, int), "repeat": int, "value": NUMBER},),
    "memory/*.json": ({"model": str, "share": NUMBER, "outcome": str, "steps": list},),
}


def check_files(study: Study, folder: Path, kinds: Collection[str]) -> None:
    """Look through the files of these kinds that are there.

    Raises:
        InputError: naming the first that is not what it should be, and what of it.
    """
    for file in (file for kind in kinds if kind in KINDS for file in KINDS[kind](study)):
        path, forms = folder / file, next((FORMS[form] for form in FORMS if fnmatch(file, form)), None)
        if not path.is_file():
            continue
        if file.startswith("data/"):
            load_queries(path)
        for where, found in _objects(path, mending(folder, file)) if forms else ():
            faults = [_fault(found, form) for form in forms]
            if all(faults):
                raise InputError(f"{where}: {faults[0]}; {mending(folder, file)}")


def _objects(path: Path, mend: str) -> Iterator[tuple[str, dict]]:
    if path.suffix == ".json":
        yield str(path), parsed(path.read_bytes(), str(path), mend)
        return
    for number, found in enumerate(objects(path, mend), start=1):
        yield f"{path}, line {number}", found


def _fault(found: Mapping, form: Mapping[str, Any], within: str = "") -> str | None:
    for key, expected in form.items():
        if key not in found:
            return f"key '{within}{key}' is missing"
        value, nested = found[key], isinstance(expected, Mapping)
        types = dict if nested else expected
        if not isinstance(value, types):
            names = dict.fromkeys(NAMES[one] for one in (types if isinstance(types, tuple) else (types,)))
            return f"'{within}{key}' should be {' or '.join(names)}, found {str(value)[:40]!r}"
        if nested and (fault := _fault(value, expected, f"{within}{key}.")):
            return fault
    return None
