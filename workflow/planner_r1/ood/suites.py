"""The suites by name, in the order of Table 2."""

from __future__ import annotations

from planner_r1.ood.multi_if.suite import MultiIf
from planner_r1.ood.natural_plan.suite import NaturalPlan
from planner_r1.ood.suite import Suite
from planner_r1.ood.tau_bench.suite import TauBench

SUITES: dict[str, type[Suite]] = {suite.name: suite for suite in (NaturalPlan, MultiIf, TauBench)}
METRICS = tuple(metric for suite in SUITES.values() for metric in suite.metrics)
