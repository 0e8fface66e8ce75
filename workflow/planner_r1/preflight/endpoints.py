"""The models behind endpoints, and the suites' simulated user: reachable, known there, and the key accepted."""

from __future__ import annotations

from collections.abc import Iterator

from planner_r1.preflight.result import Result, Subject, fail, ok


def check_endpoints(subject: Subject) -> Iterator[Result]:
    """Each asked for its list of models, which costs nothing. A key is never shown."""
    for check, key, settings in _services(subject):
        from planner_r1.endpoint.client import Endpoint, check_endpoint

        endpoint = Endpoint(name=key, **settings)
        wrong = check_endpoint(endpoint)
        yield fail(check, wrong) if wrong else ok(check, f"{endpoint.url} answers")


def _services(subject: Subject) -> Iterator[tuple[str, str, dict]]:
    """The name of the check, the study's key, and the endpoint's settings."""
    study = subject.study
    for model in subject.models:
        if settings := study.endpoint(model):
            yield f"endpoint {model}", f"models.{model}.endpoint", settings
    for suite in study.suites:
        user = study.config["suites"][suite].get("user")
        if isinstance(user, dict):  # else the script, or none
            yield f"user of {suite}", f"suites.{suite}.user", user
