"""What is told of a study's training without verl: algorithms, and steps that ask more queries than there are."""

import json
import subprocess
import sys

import pytest
import yaml

from helpers.checkout import REPOSITORY
from helpers.messages import refused
from planner_r1.study import Study
from planner_r1.training import algorithms
from planner_r1.training.early_checks import BATCH, batch_size, check_train_file, check_training
from planner_r1.verl_overlays import ENGINE

PHASES = [{"weights": "stage1", "steps": 1}]


def study(regime=None, overrides=None, **queries) -> Study:
    config = yaml.safe_load((REPOSITORY / "config/smoke.yaml").read_text(encoding="utf-8"))
    config["regimes"] = {"r": {"phases": PHASES} | (regime or {})}
    config["training"]["overrides"] = overrides or {}
    config["queries"] |= queries
    return Study.from_config(config)


def sizes(train: int) -> dict:
    return {"train": train, "validation": 2, "test": 2}


@pytest.mark.parametrize(
    ("regime", "overrides", "train", "named"),
    [
        ({}, {}, 15, ["queries.sizes.train", 15, "'r'", 16, BATCH]),
        ({}, {BATCH: 8}, 7, ["queries.sizes.train", 7, "'r'", 8]),
        ({"overrides": {BATCH: 9}}, {BATCH: 4}, 8, ["queries.sizes.train", 8, "'r'", 9]),
        ({"train_queries": 3}, {BATCH: 4}, 8, ["regimes.r.train_queries", 3, 4]),
        ({}, {BATCH: 4, ENGINE: "sglang"}, 8, [ENGINE, "make engine"]),
        ({"algorithm": "grop"}, {BATCH: 4}, 8, ["regimes.r.algorithm", "'grop'", "'grpo'"]),
        ({"algorithm": {"name": "dapo", "alpha_last": 0}}, {BATCH: 4}, 8, ["regimes.r.algorithm.alpha_last"]),
    ],
)
def test_what_cannot_be_trained_is_refused_by_its_key(regime, overrides, train, named):
    with refused(*named):
        check_training(study(regime, overrides, sizes=sizes(train)))


@pytest.mark.parametrize(
    ("backend", "overrides", "batch", "gpus"),
    [("gpu", {}, 12, 8), ("gpu", {"trainer.n_gpus_per_node": 5}, 12, 5), ("gpu", {}, 16, None), ("cpu", {}, 7, None)],
)
def test_a_fine_tuning_s_batch_is_shared_by_the_gpus_of_a_node(backend, overrides, batch, gpus):
    config = yaml.safe_load((REPOSITORY / "config/smoke.yaml").read_text(encoding="utf-8"))
    config["models"] = {"given": {"path": "nowhere", "fine_tune": {"batch_size": batch}}}
    config["training"] = {"backend": backend, "overrides": {BATCH: 4, **overrides}}
    asked = Study.from_config(config)
    if gpus is None:
        return check_training(asked)
    with refused("models.given.fine_tune.batch_size", batch, f"{gpus} GPUs"):
        check_training(asked)


def test_a_whole_batch_is_enough():
    check_training(study({"train_queries": 4}, {BATCH: 4}, sizes=sizes(4)))
    check_training(study({}, {BATCH: "a number, says verl's configuration"}, sizes=sizes(1)))


def test_a_file_is_counted_where_it_is_there(tmp_path):
    file = tmp_path / "train.jsonl"
    made = study({}, {BATCH: 4}, train=str(file))
    check_train_file(made)
    query = {"org": "A", "dest": "B", "days": 3, "date": ["2022-03-01"] * 3, "query": "Plan a trip."}
    file.write_text(f"{json.dumps(query)}\n" * 3, encoding="utf-8")
    with refused("queries.train", 3, "'r'", 4):
        check_train_file(made)
    file.write_text(f"{json.dumps(query)}\n" * 4, encoding="utf-8")
    check_train_file(made)


def test_no_file_but_the_papers_says_how_many_queries_a_step_asks():
    from planner_r1.training.config import compose_config
    from planner_r1.verl_overlays import BACKENDS

    for backend in BACKENDS:
        for algorithm in (None, *algorithms.names()):
            asked = compose_config(backend, {}, {}, algorithm).data.train_batch_size
            assert batch_size(study(), "r") == asked, (backend, algorithm)


def test_snakemake_imports_nothing_heavy_for_it():
    heavy = "'torch', 'ray', 'verl', 'hydra', 'transformers'"
    code = f"import planner_r1.training.early_checks, sys; sys.exit(any(m in sys.modules for m in ({heavy})))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
