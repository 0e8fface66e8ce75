"""Turns and written tokens of an episode against training steps: a row of panels a model, a curve a regime."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt

from planner_r1.paper.curves import over_seeds
from planner_r1.paper.figures import by_step
from planner_r1.paper.lengths import MEASURES, Steps, lengths
from planner_r1.paper.results import Results
from planner_r1.study import Study

SHOWN = {"turns": "Turns an episode", "tokens": "Written tokens an episode"}
FIELDS = by_step.fields(SHOWN)


def rows(study: Study, results: Results) -> list[dict]:
    """A row a model, regime and step: means over the seeds that were validated there, of the mean of each."""
    found = lengths(study, results).items()
    return by_step.rows({group: {key: over_seeds(_means(seeds, key)) for key in SHOWN} for group, seeds in found})


def _means(seeds: dict[int, Steps], key: str) -> dict[int, dict[int, float]]:
    return {
        seed: {step: MEASURES[key](episodes) for step, episodes in steps.items()}
        for seed, steps in sorted(seeds.items())
    }


def draw(rows: Sequence[dict[str, str]], study: Study) -> plt.Figure:
    """Draw the curves: mean over seeds, and the 95% band where a step has at least two."""
    return by_step.draw(rows, study, SHOWN)
