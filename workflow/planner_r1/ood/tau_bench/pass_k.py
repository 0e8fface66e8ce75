"""How reliably an agent solves a task that it tries several times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb


def pass_hat_k(passed: int, trials: int, k: int) -> float:
    """pass^k of one task, C(passed, k) / C(trials, k): the chance that k of its trials, drawn at random, all passed.

    As tau-bench defines it (Yao et al., 2024). For k = 1 it is the share of trials that passed, pass@1.

    Raises:
        ValueError: unless 0 <= passed <= trials and 1 <= k <= trials.
    """
    if not (0 <= passed <= trials and 1 <= k <= trials):
        raise ValueError(f"pass^{k} needs {k} or more trials, {passed} of {trials} passed")
    return comb(passed, k) / comb(trials, k)


def pass_rates(rewards: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """The mean over tasks of pass^k by its name, "pass^1" (which is pass@1) and so on while every task has k trials.

    Args:
        rewards: of the trials of each task, 1.0 where one passed.

    Raises:
        ValueError: there is no task, or one without a trial.
    """
    trials = min((len(of_task) for of_task in rewards.values()), default=0)
    if trials == 0:
        raise ValueError("pass^k needs a trial of every task")
    counts = [(sum(reward == 1.0 for reward in of_task), len(of_task)) for of_task in rewards.values()]
    return {f"pass^{k}": sum(pass_hat_k(c, n, k) for c, n in counts) / len(counts) for k in range(1, trials + 1)}
