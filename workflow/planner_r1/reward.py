"""The reward of an episode: six sub-rewards, weighted by a stage of the paper or by five numbers of one's own (its
equation 1), under either profile of the evaluator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner_r1.errors import InputError
from planner_r1.evaluator import COMMONSENSE, Verdict, evaluate
from planner_r1.evaluator.judge import check_query
from planner_r1.evaluator.profiles import PROFILES
from planner_r1.evaluator.rates import constraints_asked
from planner_r1.plan import parse_answer, to_official
from planner_r1.queries import Query
from planner_r1.sandbox.store import Store

# Weights of cs_micro, hard_micro, cs_macro, hard_macro and pass.
STAGES: dict[str, tuple[float, ...]] = {
    "stage1": (1, 1, 1, 1, 1),
    "stage2": (0, 0, 1, 1, 1),
    "stage3": (0, 0, 0, 0, 1),
}


@dataclass(frozen=True, slots=True)
class SubRewards:
    """The parts of the reward, each from 0 to 1; all of them 0 where the answer gives no valid plan.

    schema: 1 where the answer parses and satisfies the schema of a plan
    cs_micro: share of the eight commonsense constraints that hold
    hard_micro: share of the asked hard constraints that hold; 0 where the hard part was not reached
    cs_macro: 1 where all eight hold
    hard_macro: 1 where the hard part was reached and all that was asked holds
    passed: 1 where both macros are 1 (the paper's "pass")
    plan: the agent's plan, None where there is no valid one
    verdict: the verdict on it under the profile that was asked for, None without a plan
    reason: why there is no plan, or why it does not pass
    """

    schema: float = 0.0
    cs_micro: float = 0.0
    hard_micro: float = 0.0
    cs_macro: float = 0.0
    hard_macro: float = 0.0
    passed: float = 0.0
    plan: list | None = None
    verdict: Verdict | None = None
    reason: str | None = None

    def parts(self) -> dict[str, float]:
        """The six numbers under the names of the paper, as they are logged."""
        return {
            "schema": self.schema,
            "cs_micro": self.cs_micro,
            "hard_micro": self.hard_micro,
            "cs_macro": self.cs_macro,
            "hard_macro": self.hard_macro,
            "pass": self.passed,
        }


def sub_rewards(answer_text: str, query: Query, store: Store, profile: str = "official") -> SubRewards:
    """Score the text of an agent's last turn by a profile of the evaluator.

    cs_macro asks for nothing beyond the eight commonsense constraints. TravelPlanner counts a plan whose hard part was
    not reached in neither of its macro rates, which is the same thing: the hard part is reached by two of the eight,
    so a plan that passes all of them has reached it.

    Raises:
        InputError: the query's constraints are hidden or unknown, so nothing can be scored. Never for the answer.
    """
    check_query(query)
    answer = parse_answer(answer_text)
    if answer.plan is None:
        return SubRewards(reason=answer.reason)
    verdict = evaluate(to_official(answer.plan, store), query, store, profile)
    hard_passes = sum(map(bool, verdict.hard.values())) if verdict.hard else 0
    return SubRewards(
        schema=1.0,
        cs_micro=sum(map(bool, verdict.commonsense.values())) / len(COMMONSENSE),
        hard_micro=hard_passes / constraints_asked(query),
        cs_macro=float(verdict.commonsense_pass),
        hard_macro=float(verdict.hard_pass),
        passed=float(verdict.final_pass),
        plan=answer.plan,
        verdict=verdict,
        reason=verdict.reason,
    )


def reward(sub: SubRewards, weights: Sequence[float]) -> float:
    """r = schema * (l1 cs_micro + l2 hard_micro + l3 cs_macro + l4 hard_macro + l5 pass), with weights l1 to l5."""
    schema, *parts = sub.parts().values()
    return schema * sum(weight * part for weight, part in zip(weights, parts, strict=True))


def episode_scores(
    answer_text: str, query: Query, store: Store, weights: Sequence[float], profile: str = "official"
) -> dict[str, float]:
    """What an episode earned, under the names it is logged by; 0 throughout where the query's constraints are hidden.

    The six sub-rewards are the official ones whatever pays, so that regimes compare.

    Args:
        answer_text: of the agent's last turn
        profile: the one that pays

    Returns:
        `score`, the reward under `profile`; `success`, whether the plan is a final pass under it; the six sub-rewards;
        `pass_strict`, the final pass under the strict profile; `score_official` and `score_strict`, the rewards under
        either.
    """
    judged = {name: SubRewards() if query.hidden else sub_rewards(answer_text, query, store, name) for name in PROFILES}
    scores = {name: float(reward(sub, weights)) for name, sub in judged.items()}
    return {
        "score": scores[profile],
        "success": judged[profile].passed,
        **{name: float(value) for name, value in judged["official"].parts().items()},
        "pass_strict": judged["strict"].passed,
        **{f"score_{name}": value for name, value in scores.items()},
    }


def weights_of(written: str | Sequence[float]) -> tuple[float, ...]:
    """The five weights that a stage's name or five numbers stand for.

    Raises:
        InputError: neither of them.
    """
    if isinstance(written, str):
        if written not in STAGES:
            raise InputError(f"weights '{written}': expected one of {', '.join(STAGES)}, or five numbers")
        written = STAGES[written]
    if len(written) != 5:
        raise InputError(f"weights {list(written)}: expected five numbers")
    return tuple(float(weight) for weight in written)


def weights_label(written: str | Sequence[float]) -> str:
    """Weights for people: the name of the stage that has them, or else the five numbers."""
    weights = weights_of(written)
    return next((name for name, known in STAGES.items() if known == weights), ", ".join(f"{w:g}" for w in weights))
