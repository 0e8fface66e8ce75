"""`training.performance: fast` against what learning depends on."""

import pytest
from omegaconf import OmegaConf

from helpers.messages import refused
from planner_r1.paper.comparison import LEARNING
from planner_r1.study import Study
from planner_r1.training.config import check_study, compose_config
from planner_r1.verl_overlays import performance_overrides

FAST = performance_overrides("fast")
PAPER = "config/paper.yaml"


def paper(**training) -> Study:
    config = dict(Study.load(PAPER).config)
    config["training"] = config["training"] | training
    return Study.from_config(config)


@pytest.fixture(scope="module")
def composed():
    return compose_config("gpu", {}, {}), compose_config("gpu", FAST, {})


@pytest.mark.parametrize("key", sorted(FAST))
def test_it_sets_nothing_that_learning_depends_on(composed, key):
    assert not LEARNING.match(key)
    listed, fast = (OmegaConf.select(config, key) for config in composed)
    assert fast == FAST[key] != listed, "the paper's listing has it already"


def test_of_what_learning_depends_on_all_is_as_listed(composed):
    listed, fast = (_flat(OmegaConf.to_container(config)) for config in composed)
    changed = {key for key in listed | fast if listed.get(key) != fast.get(key)}
    assert changed >= set(FAST)
    assert not [key for key in changed if LEARNING.match(key)]  # nor of those that verl derives from them


def _flat(tree, prefix=""):
    if not isinstance(tree, dict):
        return {prefix: tree}
    return {k: v for key, sub in tree.items() for k, v in _flat(sub, f"{prefix}.{key}".lstrip(".")).items()}


def test_a_study_takes_it_beneath_its_own_overrides():
    share = "actor_rollout_ref.rollout.gpu_memory_utilization"
    study = paper(performance="fast", overrides={share: 0.5})
    assert study.overrides == FAST | {share: 0.5}
    assert study.regime_overrides("stage1")["actor_rollout_ref.actor.strategy"] == "fsdp2"
    check_study(study)
    assert paper().overrides == {}


def test_it_is_refused_without_gpus():
    with refused("training.performance", "cpu"):
        paper(performance="fast", backend="cpu")
