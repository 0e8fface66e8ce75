"""Loaded into verl's processes beside its back end, so that an untrained model calls a tool.

Every turn that ends before the episode's tokens are used up counts as a sound call of a tool. Nothing here imports
verl, which is being imported just then.
"""

import os

import planner_r1.agent.turns as turns

EAGER = "EAGER_EPISODES"


def read_tool_calls(text):
    from planner_r1.training.tools import store

    return [turns.ToolCall(name="get_cities", arguments={"state": next(iter(store().states))})]


if EAGER in os.environ:  # not in the test's own process, where other tests need what this replaces
    turns.read_tool_calls = read_tool_calls
