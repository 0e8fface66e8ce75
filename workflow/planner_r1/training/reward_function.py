"""The paper's reward as verl's custom reward function.

verl calls `compute_score` once an episode and keeps everything it returns: numbers are averaged in validations, and
all of it stands in the dumps.
"""

from __future__ import annotations

import json
from typing import Any

from planner_r1.agent.episodes import mistaken
from planner_r1.queries import Query
from planner_r1.reward import episode_scores
from planner_r1.training.tools import store


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str,
    extra_info: dict[str, Any],
    weights: list[float],
    profile: str = "official",
    **_: Any,
) -> dict[str, Any]:
    """Score one episode.

    Args:
        ground_truth: the query, as JSON; one whose constraints are hidden cannot be scored and gets 0 throughout.
        extra_info: the row's `extra_info` and what `PlannerAgentLoop` recorded (`episode`).
        weights, profile: the five weights of the paper's equation 1, and the evaluator's profile that pays, from
            `reward.custom_reward_function.reward_kwargs`.

    Returns:
        What the episode earned (see `episode_scores`), `end_reason`, counts of tool calls and of those answered by an
        error, and the record of the episode as JSON text (verl averages whatever is not text).
    """
    episode = extra_info["episode"]
    query = Query.from_json(json.loads(ground_truth))
    record = {"idx": extra_info["idx"], "split": extra_info["split"], "scored": not query.hidden, **episode}
    return {
        **episode_scores(episode["answer"], query, store(), tuple(weights), profile),
        "end_reason": episode["end_reason"],
        "tool_calls": len(episode["tool_calls"]),
        "tool_errors": sum(mistaken(call) for call in episode["tool_calls"]),
        "episode": json.dumps(record, ensure_ascii=False),
    }
