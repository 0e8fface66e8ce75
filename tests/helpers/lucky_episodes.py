"""Loaded into verl's processes beside its back end, so that an untrained model's episodes have turns and successes.

Every other answer passes, by a hash of its text; every other turn that ends before the episode's tokens are used up
counts as a call that cannot be read, which a reply follows. What the advantage rule was given and returned is written
to the folder of `FOLDER`, one file a step. Nothing here imports verl, which is being imported just then.
"""

import hashlib
import os
from dataclasses import replace

import numpy as np

import planner_r1.agent.turns as turns
import planner_r1.reward as reward
import planner_r1.training.advantage_rules as rules

FOLDER = "LUCKY_EPISODES"


def coin(text: str) -> bool:
    return hashlib.sha256(text.encode()).digest()[0] % 2 == 0


def sub_rewards(answer, query, store, profile="official"):
    return replace(SUB_REWARDS(answer, query, store, profile), schema=1.0, passed=float(coin(answer)))


def read_tool_calls(text):
    return [turns.ToolCall(error="no call")] if coin("turn" + text) else []


def token_advantages(name, settings, **given):
    result = COMPUTED(name, settings, **given)
    given["queries"] = given["queries"].astype(str)
    step = len(os.listdir(os.environ[FOLDER])) + 1
    np.savez(os.path.join(os.environ[FOLDER], f"{step}.npz"), result=result, **settings, **given)
    return result


SUB_REWARDS, COMPUTED = reward.sub_rewards, rules.token_advantages
if FOLDER in os.environ:  # not in the test's own process, where other tests need what this replaces
    reward.sub_rewards, turns.read_tool_calls, rules.token_advantages = sub_rewards, read_tool_calls, token_advantages
