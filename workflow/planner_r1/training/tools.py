"""The seven tools as verl's.

verl makes one object a schema and calls `execute`, which asks the toolbox of the episode. Toolboxes are over the store
that the environment variable PLANNER_R1_STORE names, opened once a process.
"""

from __future__ import annotations

import asyncio
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


class PlannerTool(BaseTool):
    """One tool; its schema's name says which. Whatever the model sends is answered by text, never by an exception."""

    async def execute(
        self, instance_id: str, parameters: Any, *, agent_data: Any, **kwargs
    ) -> tuple[ToolResponse, float, dict]:
        toolbox: Toolbox = agent_data.toolbox
        text = toolbox.call_text(self.name, parameters)
        if toolbox.seconds:
            await asyncio.sleep(toolbox.seconds)
        return ToolResponse(text=text), 0.0, {}
