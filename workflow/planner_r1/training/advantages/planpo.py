"""PlanPO (arXiv 2608.17289): shorter successes are worth more, by turns for an episode and by tokens for a turn.

With R = `reward` for a final pass and 0 otherwise, T the turns of an episode and L the tokens of a turn:

- R_E = R / T is normalised over the episodes of a query: A_E.
- R_S = R / L is normalised over the turns of the query's episodes: A_S. The paper's equations 4 to 6 compare turns of
  the same index (`pool: index`), its text speaks of all turns together (`pool: all`).
- A = A_E + alpha A_S on the tokens of the turn; alpha goes linearly from `alpha_first` to `alpha_last` over the run.

The episode's reward under the phase's weights plays no part: success is a final pass in every phase, under the
evaluator's profile that pays.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from planner_r1.training.advantage_rules import Episodes, normalised


def advantages(
    episodes: Episodes,
    *,
    reward: float = 10.0,
    alpha_first: float = 0.1,
    alpha_last: float = 0.05,
    pool: Literal["index", "all"] = "index",
    by_std: bool = True,
) -> np.ndarray:
    """See the module. `by_std: false` subtracts the mean alone, at both levels."""
    lengths = episodes.turn_lengths
    earned = np.where(episodes.success, reward, 0.0)
    of_episode = normalised(earned / (lengths > 0).sum(axis=1), episodes.groups, by_std)

    episode, turn = np.nonzero(lengths)
    pools = episodes.groups[episode]
    if pool == "index":
        pools = pools * lengths.shape[1] + turn
    of_turn = np.zeros(lengths.shape)
    of_turn[episode, turn] = normalised(earned[episode] / lengths[episode, turn], pools, by_std)

    alpha = alpha_first + (alpha_last - alpha_first) * episodes.progress
    return episodes.by_episode(of_episode) + alpha * episodes.by_turn(of_turn)
