"""The reward of DAPO (arXiv 2503.14476, soft overlong punishment): GRPO's advantage of it.

An episode loses nothing up to a length, then linearly more, and `overlong_penalty` at the length where it is cut off;
its last `overlong_buffer`, a share of that length, is where it begins to lose. The paper has 4,096 of 20,480 tokens and
a penalty of 1 beside rewards of 1 and -1. Lengths include the tools' replies, as the limit on an episode does.

verl's own reward manager of that name cannot be used: it does not hand what the agent loop recorded to the reward
function. Here the penalty stays out of rewards that are logged, dumped and validated.
"""

from __future__ import annotations

import numpy as np

from planner_r1.training.advantage_rules import Episodes, normalised


def advantages(episodes: Episodes, *, overlong_buffer: float = 0.2, overlong_penalty: float = 1.0) -> np.ndarray:
    """See the module. `overlong_penalty: 0` leaves GRPO's advantage."""
    buffer = max(overlong_buffer * episodes.longest, 1.0)
    share = np.clip((episodes.lengths - (episodes.longest - buffer)) / buffer, 0.0, 1.0)
    return episodes.by_episode(normalised(episodes.rewards - overlong_penalty * share, episodes.groups))
