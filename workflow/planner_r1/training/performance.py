"""`training.performance`: the paper's listing as it is, or keys that make the same experiment faster on GPUs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import yaml

from planner_r1.checkout import in_checkout

PAPER, FAST = "paper", "fast"


@cache
def _fast() -> Mapping[str, Any]:
    return dict(_leaves(yaml.safe_load(in_checkout("config/verl/fast.yaml").read_text(encoding="utf-8"))))


def performance_overrides(name: str) -> dict[str, Any]:
    """verl's keys, dotted, that a value of `training.performance` sets beneath a study's own overrides."""
    return dict(_fast()) if name == FAST else {}


def _leaves(tree: Mapping[str, Any], prefix: str = ""):
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
