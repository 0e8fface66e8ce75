"""The small files that verl reads beside its configuration: the list of tools and the list of agent loops.

They name classes of this package by their path; nothing here imports verl.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from planner_r1.sandbox.tools import TOOL_SCHEMAS

TOOL_CLASS = "planner_r1.training.tools.PlannerTool"
AGENT_LOOP_CLASS = "planner_r1.training.agent_loop.PlannerAgentLoop"
AGENT_LOOP = "planner_r1"  # the name by which rows and configuration ask for it


def write_tool_config(path: Path) -> None:
    """Write verl's list of tools, from the schemas that the prompt and the tools themselves are made of."""
    tools = [{"class_name": TOOL_CLASS, "config": {"type": "native"}, "tool_schema": schema} for schema in TOOL_SCHEMAS]
    path.write_text(yaml.safe_dump({"tools": tools}, sort_keys=False, allow_unicode=True), encoding="utf-8")


def write_agent_loop_config(path: Path, noise: Mapping[str, Any] | None = None, seed: int = 0) -> None:
    """Write verl's list of agent loops.

    Args:
        noise, seed: what goes wrong with the tools (fields of a sandbox.noise.Noise; None for nothing) in a run of
            this seed.
    """
    loop = {"name": AGENT_LOOP, "_target_": AGENT_LOOP_CLASS}
    loops = [loop | ({"noise": dict(noise), "seed": seed} if noise else {})]
    path.write_text(yaml.safe_dump(loops, sort_keys=False), encoding="utf-8")
