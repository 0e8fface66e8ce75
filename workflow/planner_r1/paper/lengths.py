"""How long the episodes of the validations are: turns of the model, and tokens that it wrote (tools' replies not
counted). A success is a final pass under the official rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from planner_r1.paper.curves import cut
from planner_r1.paper.results import Results
from planner_r1.study import Run, Study


@dataclass(frozen=True, slots=True)
class Length:
    """An episode: its query, the turns the model took, the tokens it wrote, and whether its plan passes."""

    idx: int
    turns: int
    tokens: int
    passed: bool


Steps = dict[int, list[Length]]  # the episodes of a run by step, ascending
Groups = dict[tuple[str, str], dict[int, Steps]]  # by (model, regime) and seed


def lengths(study: Study, results: Results) -> Groups:
    """The validated episodes of every model and regime of the study; one without any has no seeds."""
    groups: Groups = {(run.model, run.regime): {} for run in study.runs}
    for run in study.runs:
        if steps := _by_step(results, run):
            groups[run.model, run.regime][run.seed] = steps
    return groups


def _by_step(results: Results, run: Run) -> Steps:
    steps: Steps = {}
    for row in results.validations(run) or ():
        episode = Length(row["idx"], row["turns"], row["tokens"]["generated"], row["passed"])
        steps.setdefault(row["step"], []).append(episode)
    return dict(sorted(steps.items()))


def ends(seeds: dict[int, Steps]) -> tuple[int, int] | None:
    """The first and the last step that all seeds with validations were validated at; None where there is none."""
    common = set.intersection(*map(set, seeds.values())) if seeds else set()
    return (min(common), max(common)) if common else None


def cut_short(seeds: dict[int, Steps]) -> str:
    """Which seeds end before the others (see `curves.cut`)."""
    return cut({seed: max(steps) for seed, steps in seeds.items()})


def at_step(seeds: dict[int, Steps], step: int | None) -> dict[int, list[Length]]:
    """The episodes at a step by seed, of the seeds that were validated there."""
    return {seed: steps[step] for seed, steps in sorted(seeds.items()) if step in steps}


def mean_turns(episodes: Sequence[Length]) -> float:
    return sum(e.turns for e in episodes) / len(episodes)


def mean_tokens(episodes: Iterable[Length]) -> float | None:
    """None of no episodes."""
    tokens = [e.tokens for e in episodes]
    return sum(tokens) / len(tokens) if tokens else None


def tokens_a_turn(episodes: Sequence[Length]) -> float | None:
    """All tokens over all turns; None where no turn was taken."""
    turns = sum(e.turns for e in episodes)
    return sum(e.tokens for e in episodes) / turns if turns else None


# What is told of the episodes of one validation. A number that cannot be had is None.
MEASURES: dict[str, Callable[[Sequence[Length]], float | None]] = {
    "turns": mean_turns,
    "tokens": mean_tokens,
    "success_tokens": lambda episodes: mean_tokens(e for e in episodes if e.passed),
    "failure_tokens": lambda episodes: mean_tokens(e for e in episodes if not e.passed),
    "turn_tokens": tokens_a_turn,
    "final_pass": lambda episodes: 100 * sum(e.passed for e in episodes) / len(episodes),
}
