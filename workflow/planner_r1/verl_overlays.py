"""The files of `config/verl`, each a layer over verl's own defaults, read without verl."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import yaml

from planner_r1.checkout import in_checkout
from planner_r1.errors import InputError

BACKENDS = ("cpu", "gpu")
SGLANG_ON_CPU = "cpu_sglang"
ENGINE = "actor_rollout_ref.rollout.name"
FAST = "fast"  # a value of `training.performance`, and the overlay that it names


def overlay_names(backend: str, overrides: Mapping[str, Any]) -> tuple[str, ...]:
    """The overlays of a back end, in the order in which they are laid, for a run with a study's `overrides`."""
    on_cpu = backend == "cpu" and overrides.get(ENGINE) == "sglang"
    return ("paper", backend, SGLANG_ON_CPU) if on_cpu else ("paper", backend)


def load_overlay(name: str) -> dict:
    """One of the files in `config/verl` (`paper`, `cpu`, `gpu`, `fast`, `reference_policy`, ...).

    Raises:
        InputError: there is no such file.
    """
    path = in_checkout("config/verl") / f"{name}.yaml"
    if not path.is_file():
        raise InputError(f"{path}: no such file; training.backend is one of {', '.join(BACKENDS)}")
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def leaves(tree: Mapping, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted keys and values of a nested mapping; an empty mapping is a value."""
    for key, value in tree.items():
        if isinstance(value, Mapping) and value:
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def performance_overrides(name: str) -> dict[str, Any]:
    """verl's keys, dotted, that a value of `training.performance` sets beneath a study's own overrides."""
    return dict(_fast()) if name == FAST else {}


@cache
def _fast() -> dict[str, Any]:
    return dict(leaves(load_overlay(FAST)))
