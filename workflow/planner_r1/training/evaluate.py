"""Evaluating a checkpoint by verl's own validation: one greedy episode a query, recorded as trajectories."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from planner_r1.console import duration, say
from planner_r1.environments import ACTIVE
from planner_r1.errors import InputError
from planner_r1.files import locked, write_lines
from planner_r1.processes import end_all
from planner_r1.reward import STAGES
from planner_r1.training.config import compose_config, save_config
from planner_r1.training.episodes import read_dump
from planner_r1.training.launch import absolute, common_values
from planner_r1.training.process import TrainingError, run_verl
from planner_r1.training.rows import row_count
from planner_r1.training.verl_files import write_agent_loop_config, write_tool_config

# verl plays one batch of validation queries after the other, each as long as its slowest episode: the paper's 64 a
# batch would make 16 such waits of the 1,000 test queries. The engine takes all and plays as many at a time as it can.
ONE_BATCH = {"data.val_batch_size": None}


@dataclass(frozen=True)
class EvaluateSpec:
    """A checkpoint, the queries to put to it, and where the trajectories go.

    model, regime, seed, step, split: names that are written into each trajectory
    model_path: folder with the weights, tokenizer and chat template, or a name on the hub
    work: folder for verl's files; not an output
    out: the file of trajectories
    environment: where verl's Python comes from
    overrides: a study's `training.overrides`
    noise: what goes wrong with the tools, as fields of a sandbox.noise.Noise; None for nothing
    """

    model: str
    regime: str
    seed: int
    step: int
    split: str
    model_path: str | Path
    parquet: Path
    store: Path
    work: Path
    out: Path
    backend: str = "cpu"
    environment: str = ACTIVE
    overrides: Mapping[str, Any] = field(default_factory=dict)
    noise: Mapping[str, Any] | None = None


def evaluate_checkpoint(spec: EvaluateSpec, report: Callable[[str], None] = say) -> Path:
    """Run one episode a query and write the trajectories, ordered by query. Returns the path of the file.

    Raises:
        InputError: a file is missing.
        TrainingError: verl failed, or left a query without an episode.
    """
    for path in (spec.parquet, spec.store):
        if not path.exists():
            raise InputError(f"{path}: no such file or folder")
    spec.work.mkdir(parents=True, exist_ok=True)
    with locked(spec.work):
        end_all(spec.work)
        return _evaluate(spec, report)


def _evaluate(spec: EvaluateSpec, report: Callable[[str], None]) -> Path:
    name = f"{spec.model}/{spec.regime}/seed{spec.seed}/step{spec.step} on {spec.split}"
    rows, started = row_count(spec.parquet), time.time()
    report(f"{name}: {rows} queries, starting verl")
    dump = spec.work / "validation" / "0.jsonl"
    dump.unlink(missing_ok=True)
    config_path = spec.work / "config.json"
    save_config(_config(spec), config_path)
    run_verl(
        config_path,
        work=spec.work,
        log=spec.work / "verl.log",
        backend=spec.backend,
        store=spec.store,
        metrics=spec.work / "metrics.jsonl",
        environment=spec.environment,
    )
    episodes = read_dump(dump) if dump.is_file() else []
    if len(episodes) != rows:
        log = spec.work / "verl.log"
        raise TrainingError(f"{name}: verl returned {len(episodes)} episodes for {rows} queries; see {log}")
    names = {"model": spec.model, "regime": spec.regime, "seed": spec.seed, "step": spec.step}
    split = {"split": spec.split}  # with the name of the noise, of which the rows know nothing
    spec.out.parent.mkdir(parents=True, exist_ok=True)
    unfinished = spec.out.with_name(spec.out.name + ".unfinished")
    write_lines(unfinished, ({**names, **episode, **split} for episode in episodes))
    unfinished.rename(spec.out)
    report(f"{name}: {rows} episodes in {duration(time.time() - started)}")
    return spec.out


def _config(spec: EvaluateSpec):
    tools, loops = spec.work / "tools.yaml", spec.work / "agent_loops.yaml"
    write_tool_config(tools)
    write_agent_loop_config(loops, spec.noise, spec.seed)
    values = {
        **common_values(spec.model_path, tools, loops, STAGES["stage1"], spec.seed),
        # verl loads training data even where it only validates.
        "data.train_files": absolute(spec.parquet),
        "data.val_files": absolute(spec.parquet),
        # verl would cut a longer prompt on the left, with a warning; our trainer refuses what this leaves out.
        "data.filter_overlong_prompts": True,
        "trainer.experiment_name": f"{spec.model}/{spec.regime}/seed{spec.seed}/step{spec.step}/{spec.split}",
        "trainer.default_local_dir": absolute(spec.work / "checkpoints"),
        "trainer.validation_data_dir": absolute(spec.work / "validation"),
        "trainer.resume_mode": "disable",
        "trainer.total_training_steps": 1,
        "trainer.save_freq": -1,
        "trainer.test_freq": -1,
        "trainer.val_before_train": True,
        "trainer.val_only": True,
    }
    return compose_config(spec.backend, ONE_BATCH | dict(spec.overrides), values)
