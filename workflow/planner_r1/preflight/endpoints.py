"""The models behind endpoints: reachable, known there, and the key accepted."""

from __future__ import annotations

from collections.abc import Iterator

from planner_r1.preflight.result import Result, Subject, fail, ok


def check_endpoints(subject: Subject) -> Iterator[Result]:
    """Each asked for its list of models, which costs nothing. A key is never shown."""
    for model in subject.models:
        if settings := subject.study.endpoint(model):
            from planner_r1.endpoint.client import Endpoint, check_endpoint

            endpoint = Endpoint(name=f"models.{model}.endpoint", **settings)
            wrong = check_endpoint(endpoint)
            yield fail(f"endpoint {model}", wrong) if wrong else ok(f"endpoint {model}", f"{endpoint.url} answers")
