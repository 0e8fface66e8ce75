"""The seven tools as verl's.

verl makes one object a schema and calls `execute`; all of them share one toolbox over the store that the environment
variable PLANNER_R1_STORE names, opened once a process.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from verl.tools.base_tool import BaseTool
from verl.tools.schemas import ToolResponse

from planner_r1.sandbox.store import Store
from planner_r1.sandbox.tools import Toolbox

STORE_VARIABLE = "PLANNER_R1_STORE"


@lru_cache(1)
def store() -> Store:
    """The store of this process."""
    return Store.open(Path(os.environ[STORE_VARIABLE]))


@lru_cache(1)
def toolbox() -> Toolbox:
    """The tools of this process."""
    return Toolbox(store())


class PlannerTool(BaseTool):
    """One tool; its schema's name says which. Whatever the model sends is answered by text, never by an exception."""

    async def execute(self, instance_id: str, parameters: Any, **kwargs) -> tuple[ToolResponse, float, dict]:
        return ToolResponse(text=toolbox().call_text(self.name, parameters)), 0.0, {}
