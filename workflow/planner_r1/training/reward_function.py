"""The paper's reward as verl's custom reward function.

verl calls `compute_score` once an episode and keeps everything it returns: numbers are averaged in validations, and
all of it stands in the dumps.
"""

from __future__ import annotations

import json
from typing import Any

from planner_r1.agent.episodes import mistaken
from planner_r1.queries import Query
from planner_r1.reward import SubRewards, reward, sub_rewards
from planner_r1.training.tools import store


def compute_score(
    data_source: str, solution_str: str, ground_truth: str, extra_info: dict[str, Any], weights: list[float], **_: Any
) -> dict[str, Any]:
    """Score one episode.

    Args:
        ground_truth: the query, as JSON; one whose constraints are hidden cannot be scored and gets 0 throughout.
        extra_info: the row's `extra_info` and what `PlannerAgentLoop` recorded (`episode`).
        weights: the five weights of the paper's equation 1, from `reward.custom_reward_function.reward_kwargs`.

    Returns:
        `score`, the six sub-rewards by the paper's names, `end_reason`, counts of tool calls and of those answered by
        an error, and the record of the episode as JSON text (verl averages whatever is not text).
    """
    episode = extra_info["episode"]
    query = Query.from_json(json.loads(ground_truth))
    sub = SubRewards() if query.hidden else sub_rewards(episode["answer"], query, store())
    record = {"idx": extra_info["idx"], "split": extra_info["split"], "scored": not query.hidden, **episode}
    return {
        "score": float(reward(sub, tuple(weights))),
        **{name: float(value) for name, value in sub.parts().items()},
        "end_reason": episode["end_reason"],
        "tool_calls": len(episode["tool_calls"]),
        "tool_errors": sum(mistaken(call) for call in episode["tool_calls"]),
        "episode": json.dumps(record, ensure_ascii=False),
    }
