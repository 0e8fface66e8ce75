"""A study with made-up results, for the tests of tables and figures."""

import random

from planner_r1.evaluator import RATES
from planner_r1.paper.curves import Validation
from planner_r1.study import Checkpoint, Run, Study

CONFIG = {
    "study": "made-up",
    "sandbox": {"source": "synthetic"},
    "queries": {"source": "synthetic"},
    "models": {"tiny": {"warm_start": {}}, "qwen3-8b": {"path": "w"}},
    "regimes": {
        "stage1": [{"weights": "stage1", "steps": 40}],
        "stage3": [{"weights": "stage3", "steps": 40}],
    },
    "seeds": [0, 1, 2],
}


def study(**sections) -> Study:
    return Study.from_config(CONFIG | sections)


def metrics(checkpoint: Checkpoint, split: str = "test", *, hidden: bool = False, **official: float) -> dict:
    """An object as in metrics.json: every rate 0.5 but those given."""
    rates = dict.fromkeys(RATES, None if hidden else 0.5) | official
    place = {"model": checkpoint.model, "regime": checkpoint.regime, "seed": checkpoint.seed, "step": checkpoint.step}
    return place | {"split": split, "hidden": hidden, "rates": {"official": rates, "strict": rates}}


def validations(run: Run, passes: dict[int, float], queries: int = 20) -> list[Validation]:
    """Episodes of which, at each step, the given share passes; which queries do is drawn with the run's name."""
    episodes = []
    for step, share in passes.items():
        order = random.Random(f"{run.name} {step}").sample(range(queries), queries)
        for idx in range(queries):
            passed = float(order[idx] < share * queries)
            parts = dict.fromkeys(("schema", "cs_micro", "hard_micro", "cs_macro", "hard_macro", "pass"), passed)
            episodes.append(Validation(idx, step, parts | {"schema": 1.0}))
    return episodes
