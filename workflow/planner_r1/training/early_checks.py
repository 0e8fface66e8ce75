"""What can be told of a study's training without verl, in a moment: Snakemake asks it before anything is computed."""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from planner_r1.environments import ACTIVE
from planner_r1.errors import InputError
from planner_r1.queries import load_queries
from planner_r1.study import BASE_REGIME, Study
from planner_r1.training import algorithms
from planner_r1.verl_overlays import ENGINE, load_overlay

BATCH, GPUS = "data.train_batch_size", "trainer.n_gpus_per_node"


def check_training(study: Study) -> None:
    """Refuse algorithms that there are not, steps that ask more queries than are drawn to train on, batches of a
    fine-tuning that the GPUs of a node cannot share, and sglang on processors where it is not installed.

    Raises:
        InputError: naming the key.
    """
    for regime in study.regimes:
        if algorithm := study.algorithm(regime):
            algorithms.resolve(algorithm, f"regimes.{regime}.algorithm")
    if study.regimes:
        _check_batches(study, study.query_count("train"), "queries.sizes.train")
    for model in study.fine_tuned:
        _check_shares(study, model)
    _check_engine(study)


def check_train_file(study: Study) -> None:
    """Refuse steps that ask more queries than the train split's file holds, where it is there.

    Raises:
        InputError: naming the key, or what is wrong with the file.
    """
    file = study.query_file("train")
    if file and Path(file).is_file():
        _check_batches(study, len(load_queries(file)), "queries.train")


def _check_engine(study: Study) -> None:
    asked = [study.regime_overrides(regime).get(ENGINE) for regime in (BASE_REGIME, *study.regimes)]
    if study.backend == "cpu" and "sglang" in asked and study.environment == ACTIVE and not find_spec("sglang"):
        raise InputError(
            f"{ENGINE}: sglang is not in this environment; run `make engine`, then set environment: venv:.venv-engine"
        )


def batch_size(study: Study, regime: str) -> Any:
    """The queries that a step of a regime asks; of the files in `config/verl` the paper's alone says how many."""
    return study.regime_overrides(regime).get(BATCH, _default("paper", BATCH))


def _check_batches(study: Study, queries: int | None, key: str) -> None:
    """verl would find no whole batch in fewer queries than a step asks. A batch that is not a number is refused with
    verl's configuration."""
    for regime in study.regimes:
        part, batch = study.train_queries(regime), batch_size(study, regime)
        size, where = (part, f"regimes.{regime}.train_queries") if part else (queries, key)
        if size is not None and isinstance(batch, int) and size < batch:
            raise InputError(
                f"{where}: {size} queries, but a step of '{regime}' asks {batch} ({BATCH}); train on more queries or "
                "take smaller batches"
            )


def _check_shares(study: Study, model: str) -> None:
    gpus = study.overrides.get(GPUS, _default("cpu" if study.backend == "cpu" else "paper", GPUS))
    batch = study.fine_tune(model)["batch_size"]
    if isinstance(gpus, int) and gpus > 0 and batch % gpus:
        raise InputError(
            f"models.{model}.fine_tune.batch_size: {batch} episodes, which the {gpus} GPUs of a node ({GPUS}) cannot "
            f"share; take a multiple of {gpus}"
        )


@lru_cache
def _default(name: str, key: str) -> int:
    section, _, leaf = key.partition(".")
    return load_overlay(name)[section][leaf]
