"""What is recorded of an episode, whoever played it: the lines of `trajectories.jsonl`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner_r1.plan import parse_answer

# Why an episode ends.
ANSWER = "answer"  # the last turn holds a whole <answer> block
NO_ANSWER = "no_answer"  # the model ended its turn with neither a tool call nor an answer
TURN_LIMIT = "turn_limit"  # the last turn allowed still called a tool
LENGTH = "length"  # the tokens of the episode were used up within a turn of the model
TOOL_OVERFLOW = "tool_overflow"  # a tool's reply did not fit into the tokens that were left
END_REASONS = (ANSWER, NO_ANSWER, TURN_LIMIT, LENGTH, TOOL_OVERFLOW)
# Only where the model is somebody else's service.
PROMPT_TOO_LONG = "prompt_too_long"  # the opening messages exceed what the model reads
REFUSED = "refused"  # the model, or the service's content filter, refused to answer

SUB_REWARDS = ("schema", "cs_micro", "hard_micro", "cs_macro", "hard_macro", "pass")  # official, whatever pays
BY_PROFILE = ("pass_strict", "score_official", "score_strict")  # final pass and reward under both profiles


def call_record(turn: int, name: str | None, arguments: Any, reply: str, noise: dict | None = None) -> dict:
    """What is kept of a tool call that was replied to.

    Args:
        noise: what went wrong though the call was sound (`failure`, or the number of `dropped_rows`; sandbox/noise.py).
    """
    return {
        "turn": turn,
        "name": name,
        "arguments": arguments,
        "reply_chars": len(reply),
        "error": reply.startswith('{"error":'),
        **({"noise": noise} if noise else {}),
    }


def mistaken(call: dict) -> bool:
    """Whether a recorded call was answered by an error that is the model's own doing."""
    return call["error"] and "noise" not in call


def episode_line(record: dict, text: str, scores: Mapping[str, Any] | None) -> dict:
    """An episode as in `trajectories.jsonl`, without the names of the checkpoint.

    Args:
        record: idx, split, tool_calls, answer (text of the last turn), end_reason, turns, tokens.
        text: everything that was said, from the system prompt on.
        scores: what the episode earned (see `reward.episode_scores`), maybe among other things; None where the query's
            constraints are hidden. Of episodes from before both profiles were told the numbers of BY_PROFILE are None.
    """
    return {
        "idx": record["idx"],
        "split": record["split"],
        "text": text,
        "tool_calls": record["tool_calls"],
        "answer": record["answer"],
        "plan": parse_answer(record["answer"]).plan,
        "end_reason": record["end_reason"],
        "turns": record["turns"],
        "tokens": record["tokens"],
        "sub_rewards": scores and {name: scores[name] for name in SUB_REWARDS},
        "reward": scores and scores["score"],
        **{name: scores and scores.get(name) for name in BY_PROFILE},
    }
