"""Every check, and running them."""

from __future__ import annotations

from collections.abc import Iterator

from planner_r1.errors import InputError
from planner_r1.preflight.cluster import check_cluster, check_nodes
from planner_r1.preflight.data import check_data
from planner_r1.preflight.disk import check_disk, check_writable
from planner_r1.preflight.endpoints import check_endpoints
from planner_r1.preflight.installed import check_installed
from planner_r1.preflight.model import check_models
from planner_r1.preflight.result import Result, Subject, fail

CHECKS = (
    check_data,
    check_models,
    check_installed,
    check_nodes,
    check_cluster,
    check_writable,
    check_disk,
    check_endpoints,
)


def preflight(subject: Subject) -> Iterator[Result]:
    """The results of every check, as they come; what stops one check does not stop the others."""
    for check in CHECKS:
        try:
            yield from check(subject)
        except (InputError, OSError) as error:
            yield fail(check.__name__.removeprefix("check_"), str(error))
