"""How the models are asked to sample: the paper's preset for each suite, and what a study changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from planner_r1.endpoint.client import Endpoint
from planner_r1.ood.server import sampling_fields

PRESETS = {"natural_plan": "naturalplan", "multi_if": "multi_if", "tau_bench": "tau_bench"}
KEYS = ("temperature", "top_p", "top_k")


def decoding(suite: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """temperature, top_p, top_k and max_tokens of a suite: the paper's with a study's changes; None is left out.

    The paper lists do_sample: false beside a temperature for two suites. A chat API has no such field, and the paper's
    intervals for its untrained models on these suites are not 0: the temperature is what counts. 0 is greedy.
    """
    listing = _listing()
    preset = {key: listing["decoding"][PRESETS[suite]][key] for key in KEYS}
    return {**preset, "max_tokens": listing["limits"]["max_response_tokens"], **changes}


def served(endpoint: Endpoint, suite: str, changes: Mapping[str, Any], backend: str) -> Endpoint:
    """A server of our own, asked with a suite's decoding."""
    asked = decoding(suite, changes)
    body = {**endpoint.extra_body, **sampling_fields(backend, asked)}
    return replace(
        endpoint,
        temperature=asked["temperature"],
        top_p=asked["top_p"],
        max_tokens=asked["max_tokens"],
        extra_body=body,
    )


def service(endpoint: Endpoint, suite: str, changes: Mapping[str, Any]) -> Endpoint:
    """Somebody's service, asked with a suite's decoding; what the endpoint's own keys say goes before."""
    asked = decoding(suite, changes)
    top_k = {"top_k": asked["top_k"]} if asked["top_k"] and asked["top_k"] > 0 else {}
    own = {key: getattr(endpoint, key) for key in ("temperature", "top_p", "max_tokens")}
    return replace(
        endpoint,
        extra_body={**top_k, **endpoint.extra_body},
        **{key: asked[key] if value is None else value for key, value in own.items()},
    )


@cache
def _listing() -> dict:
    text = files("planner_r1.paper").joinpath("reference", "training.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(text)
