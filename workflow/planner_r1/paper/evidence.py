"""A study's results as the claims of the paper are tested on them, read once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from planner_r1.paper.compute import Course, courses, parameters
from planner_r1.paper.curves import Validation, validations
from planner_r1.paper.effects import Passes
from planner_r1.paper.results import Results
from planner_r1.study import Checkpoint, Run, Study

SMALL, LARGE = "small", "large"
PAPERS = {"qwen3-8b": SMALL, "qwen3-32b": LARGE}


@dataclass
class Evidence:
    """A study's results as the claims read them."""

    study: Study
    results: Results

    @cached_property
    def roles(self) -> dict[str, str]:
        """The smallest and the largest of the trained models by number of weights; one alone is the small one, unless
        it is the paper's large one. Of several of unknown size none is either."""
        trained = [model for model in self.study.trainable if self.study.regimes_of(model)]
        sizes = {model: parameters(self.results, model) for model in trained}
        if len(trained) == 1:
            return {PAPERS.get(trained[0], SMALL): trained[0]}
        if not trained or None in sizes.values():
            return {}
        by_size = sorted(trained, key=sizes.__getitem__)
        return {SMALL: by_size[0], LARGE: by_size[-1]}

    @cached_property
    def split(self) -> str | None:
        """The first evaluated split whose constraints are known; none under noise."""
        for split in self.study.clean_splits:
            for checkpoint in self.study.checkpoints:
                if rows := self.results.scores(checkpoint, split):
                    if "official" in rows[0]:
                        return split
                    break
        return None

    @cached_property
    def queries(self) -> int | None:
        """How many queries that split has; None where its file is not there."""
        return count_queries(self.results, self.split) if self.split else None

    @cached_property
    def verdicts(self) -> dict[Checkpoint, dict[str, Passes]]:
        """Passes of every checkpoint that was evaluated, by profile."""
        found = {}
        for checkpoint in self.study.checkpoints if self.split else ():
            if rows := self.results.scores(checkpoint, self.split):
                found[checkpoint] = {
                    profile: {row["idx"]: 100.0 * row[profile]["final_pass"] for row in rows}
                    for profile in ("official", "strict")
                }
        return found

    @cached_property
    def runs(self) -> list[tuple[Run, list[Validation]]]:
        """The runs that were validated, with their episodes."""
        return validations(self.study, self.results)

    @cached_property
    def courses(self) -> dict[str, Course]:
        return courses(self.study, self.results, self.runs)

    def passes(self, model: str, regime: str, step: int, profile: str = "official") -> list[Passes]:
        """Passes of the evaluated seeds at a step."""
        places = [Checkpoint(model, regime, seed, step) for seed in self.study.seeds_of(regime)]
        return [self.verdicts[place][profile] for place in places if place in self.verdicts]

    def steps(self, model: str, regime: str) -> set[int]:
        """The steps at which a regime's checkpoints were evaluated."""
        return {c.step for c in self.verdicts if (c.model, c.regime) == (model, regime)}

    def lacking(self, model: str, regime: str, step: int) -> list[str]:
        """What the scores at a step lack: seeds of the regime, and queries of the split."""
        passes = self.passes(model, regime, step)
        fewest = min(map(len, passes), default=0)
        cut = passes and self.queries and fewest < self.queries
        told = [f"{model}/{regime}: {fewest} of {self.queries} queries"] if cut else []
        return self.lacking_seeds(model, regime, len(passes)) + told

    def lacking_validations(self, model: str, regime: str) -> list[str]:
        """What the validations of a regime lack: seeds."""
        have = sum((run.model, run.regime) == (model, regime) for run, _ in self.runs)
        return self.lacking_seeds(model, regime, have)

    def lacking_seeds(self, model: str, regime: str, have: int) -> list[str]:
        """Such as `tiny/stage1: 1 of 2 seeds`, where not all of the study's are there."""
        planned = len(self.study.seeds_of(regime))
        return [f"{model}/{regime}: {have} of {planned} seeds"] if have < planned else []

    def tested_on(self, roles: Sequence[str], lacking: Iterable[str] = ()) -> str:
        """The models of a claim, and what their results lack."""
        return "; ".join([" against ".join(map(self.named, roles)), *dict.fromkeys(lacking)])

    def named(self, role: str) -> str:
        """A model with what it is, such as `tiny (another model, another world)`."""
        model = self.roles[role]
        of_paper = PAPERS.get(model) == role and not self.study.made_here(model)
        other = ["another model"] * (not of_paper) + ["another world"] * (not self.study.official)
        return f"{model} ({', '.join(other) or 'model and world of the paper'})"


def count_queries(results: Results, split: str) -> int | None:
    """How many queries a split has; None where its file is not there."""
    path = results.queries(split)
    if not path.is_file():
        return None
    with open(path, "rb") as file:
        return sum(1 for _ in file)
