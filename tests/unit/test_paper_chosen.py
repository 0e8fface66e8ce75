"""Which regime and which steps are shown, and what is said of it."""

import pytest

from helpers.made_up_study import study
from planner_r1.paper.chosen import chosen_steps, heading, note, shown_regime, shown_seeds, step_title, trained


def regimes(*names, **phases):
    return {name: [{"weights": w, "steps": 10} for w in phases.get(name, [name])] for name in names}


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        (regimes("stage1", "stage3"), "stage1"),
        (regimes("stage3", "stage1"), "stage1"),
        (regimes("stage3", "free", free=[[1, 1, 1, 1, 3]]), "free"),
        (regimes("free", "stage1", free=[[0, 0, 1, 1, 3]]), "stage1"),
        (regimes("stage3", "stage2"), "stage3"),
        # a curriculum ends under a sparse reward
        (regimes("curriculum", "dense", curriculum=["stage1", "stage3"], dense=["stage1"]), "dense"),
        (regimes("curriculum", "stage3", curriculum=["stage1", "stage3"]), "curriculum"),
    ],
)
def test_the_first_regime_under_a_dense_reward_is_shown_else_the_first(asked, shown):
    assert shown_regime(study(regimes=asked), "tiny") == shown


def test_each_model_has_a_regime_of_its_own():
    asked = regimes("stage1", "stage3")
    asked["stage1"] = {"phases": asked["stage1"], "models": ["tiny"]}
    made = study(regimes=asked)
    assert trained(made) == ["tiny", "qwen3-8b"]
    assert [shown_regime(made, model) for model in trained(made)] == ["stage1", "stage3"]
    assert heading(made) == f"{made.world_label}; regime stage1 (tiny), stage3 (qwen3-8b)"


@pytest.mark.parametrize(
    ("validated", "last", "steps"),
    [
        ([], 40, []),
        ([0], 40, [0]),
        ([40, 0], 40, [0, 40]),
        ([0, 15, 30, 45], 45, [0, 15, 45]),  # 0 is as near to 4.5 as it gets, but is the first
        (range(0, 3001, 50), 3000, [0, 300, 3000]),
        (range(0, 501, 20), 500, [0, 40, 500]),  # 40 and 60 are as near to 50
        ([5, 0, 5, 10, 10], 100, [0, 5, 10]),  # a run that was not finished
    ],
)
def test_first_early_and_last_step(validated, last, steps):
    assert chosen_steps(validated, last) == steps


def test_titles_and_seeds():
    assert (step_title(0), step_title(1500)) == ("step 0 (base)", "step 1,500")
    assert shown_seeds([{"seeds": "0 2"}, {"seeds": "10"}, {"seeds": ""}]) == {0, 2, 10}


def test_the_note_says_what_is_missing():
    made = study()
    assert (
        note(made, {m: {0, 1, 2} for m in made.models}, "more") == f"{made.world_label}; regime stage1; 3 seeds\nmore"
    )
    lines = note(made, {"tiny": {0, 2}, "qwen3-8b": set()}).split("\n")
    assert lines[0].endswith("; 2 seeds")
    assert lines[1:] == ["missing: tiny/stage1, seed 1", "missing: qwen3-8b/stage1, seed 0, 1, 2"]
    assert note(made, {}).split("\n")[0].endswith("; 0 seeds")
    assert note(study(seeds=[0]), {"tiny": {0}, "qwen3-8b": {0}}).endswith("; 1 seed")
