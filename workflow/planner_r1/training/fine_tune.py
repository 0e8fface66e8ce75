"""Supervised warm start of a given model, by verl's own supervised trainer, over the GPUs of one node or on the CPU.

What training by reward sets in verl's configuration for the model and its engine counts here as well, from the same
files and overrides. All state lies in the work folder, so that a rerun goes on from the last checkpoint; when the last
step was reached, only the weights in Hugging Face's layout stay there, and a rerun copies them.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from planner_r1.agent.limits import KEYS, Limits
from planner_r1.console import duration, say
from planner_r1.environments import ACTIVE
from planner_r1.errors import InputError
from planner_r1.files import locked
from planner_r1.processes import end_all, tail
from planner_r1.queries import load_queries
from planner_r1.sandbox.store import Store
from planner_r1.training import checkpoints, manifest
from planner_r1.training.base_model import check_model
from planner_r1.training.config import compose_config, save_config, verl_defaults
from planner_r1.training.launch import PROJECT, absolute, log_path, logged_metrics, segments
from planner_r1.training.lesson_rows import Lesson, write_lessons
from planner_r1.training.lessons import Renderer, Rules, lessons, oracle_episodes, recorded_episodes
from planner_r1.training.process import TrainingError, run_verl
from planner_r1.training.progress import MetricsFollower
from planner_r1.verl_overlays import leaves

SPEC = "spec.json"
WARM_UP = 0.1  # share of the steps in which the learning rate rises; it falls to zero by a cosine thereafter
LOSS = "train/loss"
# Keys of the configuration by which nothing is learnt otherwise.
PLACES = ("model.path", "data.train_files", "trainer.default_local_dir", "trainer.experiment_name")


@dataclass(frozen=True)
class FineTuneSpec:
    """What is learnt from what, and where it goes.

    name: the model's
    model_path: folder with the weights, tokenizer and chat template to start from
    trajectories: files of recorded episodes; none for the oracle's on `queries`
    queries: file of the training queries; None where there are trajectories
    held_out: files of the queries that must not be learnt from
    template: the system prompt's template
    store: folder of the sandbox
    work: folder for everything a rerun needs; not an output
    out: folder for the model
    steps, batch_size, learning_rate: optimiser steps, episodes a step (a multiple of the GPUs of a node), peak of the
        learning rate
    save_every: steps between checkpoints to resume from
    environment: where verl's Python comes from; not part of what makes the model what it is
    overrides: a study's `training.overrides`
    """

    name: str
    model_path: Path
    trajectories: Sequence[str]
    queries: Path | None
    held_out: Sequence[Path]
    template: str
    store: Path
    work: Path
    out: Path
    steps: int
    batch_size: int
    learning_rate: float
    seed: int
    save_every: int
    backend: str = "cpu"
    environment: str = ACTIVE
    overrides: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def training(self) -> DictConfig:
        """verl's configuration of training by reward in the same study."""
        return compose_config(self.backend, self.overrides, {})


def fine_tune(spec: FineTuneSpec, report: Callable[[str], None] = say) -> dict:
    """Fine-tune, or go on with it, until the last step was reached, and write the model to `spec.out`.

    Returns what a manifest should say about it.

    Raises:
        InputError: a file or a key is wrong, nothing is left to learn from, or the work folder belongs to others.
        TrainingError: verl failed.
    """
    check_model(spec.name, spec.model_path)
    left_out: Counter = Counter()
    learnt = _lessons(spec, left_out)
    report(f"{spec.name}: {len(learnt)} episodes to learn from, of up to {max(len(e.ids) for e in learnt):,} tokens")
    for reason, count in left_out.items():
        report(f"{spec.name}: {count} episodes left out: {reason}")
    spec.work.mkdir(parents=True, exist_ok=True)
    with locked(spec.work):
        end_all(spec.work)
        run = _FineTuning(spec, learnt, report)
        run.claim_work_folder()
        if not run.model.is_dir():
            run.train()
        shutil.rmtree(spec.out, ignore_errors=True)
        checkpoints.copy_model(run.model, spec.out)
        return {
            "source": absolute(spec.model_path),
            "episodes": {
                "learnt": len(learnt),
                "left_out": dict(left_out),
                "from": {file: manifest.sha256(Path(file)) for file in spec.trajectories} or "oracle",
                "tokens": sum(len(lesson.ids) for lesson in learnt),
                "own_tokens": sum(sum(lesson.own) for lesson in learnt),
            },
            **run.reached(),
            "settings": run.settings,
        }


def _lessons(spec: FineTuneSpec, left_out: Counter) -> list[Lesson]:
    from verl.utils import hf_tokenizer

    if spec.trajectories:
        try:
            episodes = recorded_episodes(spec.trajectories, spec.seed, left_out)
        except InputError as error:
            raise InputError(f"models.{spec.name}.fine_tune.trajectories: {error}") from None
    else:
        episodes = oracle_episodes(load_queries(spec.queries), Store.open(spec.store), spec.seed, left_out)
    config = spec.training
    tokenizer = hf_tokenizer(str(spec.model_path), trust_remote_code=config.actor_rollout_ref.model.trust_remote_code)
    model_type = json.loads((spec.model_path / "config.json").read_text(encoding="utf-8")).get("model_type")
    render = Renderer(tokenizer, model_type, OmegaConf.to_container(config.data.apply_chat_template_kwargs))
    rules = Rules(
        limits=Limits(**{limit: OmegaConf.select(config, key) for limit, key in KEYS.items()}),
        prompt_tokens=config.data.max_prompt_length,
        held_out=[query.query for path in spec.held_out for query in load_queries(path)],
    )
    try:
        return lessons(episodes, rules, spec.template, render, spec.steps * spec.batch_size, left_out)
    except InputError as error:
        raise InputError(f"models.{spec.name}.fine_tune: {error}") from None


class _FineTuning:
    """The state of a fine-tuning on disk, and what to do about it."""

    def __init__(self, spec: FineTuneSpec, learnt: list[Lesson], report: Callable[[str], None]):
        self.spec, self.learnt, self.report = spec, learnt, report
        self.checkpoints = spec.work / "checkpoints"
        self.model = spec.work / "model"
        self.config = _config(spec, max(len(lesson.ids) for lesson in learnt), self.checkpoints)
        self.settings = self._settings()

    def _settings(self) -> dict[str, Any]:
        """What the model depends on, by content where a file is meant."""
        keys = dict(leaves(OmegaConf.to_container(self.config)))
        weights = sorted(self.spec.model_path.glob("*.safetensors"))
        settings = {
            "model": [manifest.sha256(path) for path in weights],
            "episodes": _digest(self.learnt),
            **{key: value for key, value in keys.items() if key not in PLACES},
        }
        return json.loads(json.dumps(settings))

    def claim_work_folder(self) -> None:
        """Note the settings in a new work folder; refuse one that was made with others."""
        path = self.spec.work / SPEC
        if path.is_file():
            made_with = json.loads(path.read_text(encoding="utf-8"))
            changed = [k for k in {**made_with, **self.settings} if made_with.get(k) != self.settings.get(k)]
            if changed:
                raise InputError(
                    f"{self.spec.work}: was made with other settings ({', '.join(changed)}). To fine-tune with the new "
                    "ones move that folder away; to go on, restore the settings"
                )
        else:
            checkpoints.write_atomically(path, json.dumps(self.settings, indent=1))

    def train(self) -> None:
        """Train to the last step, from the last checkpoint on, and keep the weights alone."""
        spec, done = self.spec, self._resume()
        write_lessons(self.learnt, spec.work / "lessons.parquet")
        number = len(segments(spec.work)) + 1
        metrics, log, config = (
            spec.work / f"metrics.{number}.jsonl",
            log_path(spec.work, number),
            spec.work / "config.json",
        )
        metrics.touch()
        save_config(self.config, config)
        self.report(f"{spec.name}: steps {done + 1} to {spec.steps} of fine-tuning, starting verl")
        progress, follower = _Progress(spec, self.report), MetricsFollower(metrics)

        def show_progress():
            for record in follower.new_records():
                progress.show(record)

        try:
            run_verl(
                config,
                work=spec.work,
                log=log,
                backend=spec.backend,
                store=spec.store,
                metrics=metrics,
                while_running=show_progress,
                environment=spec.environment,
                module="planner_r1.training.run_sft",
            )
        finally:
            show_progress()
        last = checkpoints.folder(self.checkpoints, spec.steps)
        if _newest(self.checkpoints) != spec.steps:
            raise TrainingError(f"verl ended without an error before step {spec.steps}; the end of {log}:\n{tail(log)}")
        checkpoints.export(last, self.model, model="huggingface")
        shutil.rmtree(self.checkpoints)

    def _resume(self) -> int:
        """The step of the checkpoint that verl will go on from; what else lies there is deleted."""
        done = _newest(self.checkpoints)
        for other in self.checkpoints.glob("global_step_*"):
            if other != checkpoints.folder(self.checkpoints, done):
                shutil.rmtree(other)
        return done

    def reached(self) -> dict[str, Any]:
        """Steps, and the mean loss an own token, in nats, of the first and of the last tenth of them."""
        logged = logged_metrics(self.spec.work)
        losses = [logged[step][LOSS] for step in sorted(logged)]
        some = max(len(losses) // 10, 1)
        return {
            "steps": self.spec.steps,
            "first_loss": sum(losses[:some]) / some,
            "loss": sum(losses[-some:]) / some,
        }


class _Progress:
    """One line a step: loss and time left."""

    def __init__(self, spec: FineTuneSpec, report: Callable[[str], None]):
        self._spec, self._report = spec, report
        self._seen: list[float] = []

    def show(self, record: dict) -> None:
        """Report one record as verl's file logger writes it: {"step": ..., "data": {...}}."""
        self._seen.append(time.monotonic())
        recent = self._seen[-11:]
        left = ""
        if len(recent) > 1:  # before, nobody knows how long a step takes
            pace = (recent[-1] - recent[0]) / (len(recent) - 1)
            left = f", {duration(pace * (self._spec.steps - record['step']))} left"
        steps = f"step {record['step']}/{self._spec.steps}"
        self._report(f"{self._spec.name}: {steps}, loss {record['data'][LOSS]:.3f}{left}")


def _config(spec: FineTuneSpec, longest: int, folder: Path) -> DictConfig:
    """verl's configuration of its supervised trainer.

    Args:
        longest: tokens of the longest lesson.
        folder: where the checkpoints go.
    """
    training = spec.training
    actor = training.actor_rollout_ref.actor
    config = verl_defaults("sft_trainer_engine")
    values = {
        "model": training.actor_rollout_ref.model,
        "model.path": absolute(spec.model_path),
        "engine": actor.fsdp_config,
        "engine.strategy": actor.strategy,
        "optim.lr": spec.learning_rate,
        "optim.lr_scheduler_type": "cosine",
        "optim.lr_warmup_steps": round(WARM_UP * spec.steps),
        "optim.weight_decay": actor.optim.weight_decay,
        "optim.clip_grad": actor.optim.clip_grad,
        "data.train_files": [absolute(spec.work / "lessons.parquet")],
        "data.custom_cls": {"path": "pkg://planner_r1.training.lesson_rows", "name": "LessonDataset"},
        "data.train_batch_size": spec.batch_size,
        "data.train_max_samples": spec.steps * spec.batch_size,
        "data.max_length": longest,
        "data.max_token_len_per_gpu": max(actor.ppo_max_token_len_per_gpu, longest),
        "data.num_workers": 0,
        "checkpoint.save_contents": ["model", "optimizer", "extra", "hf_model"],
        "checkpoint.load_contents": ["model", "optimizer", "extra"],
        "trainer.project_name": PROJECT,
        "trainer.experiment_name": spec.name,
        "trainer.default_local_dir": absolute(folder),
        "trainer.max_ckpt_to_keep": checkpoints.KEEP,
        "trainer.total_epochs": 1,  # of as many samples as the steps take
        "trainer.total_training_steps": spec.steps,
        "trainer.save_freq": spec.save_every,
        "trainer.logger": ["console", "file"],
        "trainer.device": training.trainer.device,
        "trainer.n_gpus_per_node": training.trainer.n_gpus_per_node,
        "trainer.seed": spec.seed,
    }
    for key, value in values.items():
        OmegaConf.update(config, key, value, merge=False, force_add=True)
    OmegaConf.resolve(config)
    return config


def _newest(folder: Path) -> int:
    """The step of the newest checkpoint, which verl notes when it is whole; 0 where there is none."""
    note = folder / checkpoints.LATEST
    return int(note.read_text()) if note.is_file() else 0


def _digest(learnt: Sequence[Lesson]) -> str:
    """Identifies lessons by their tokens."""
    hashed = hashlib.sha256()
    for lesson in learnt:
        for numbers in ([len(lesson.ids)], lesson.ids, lesson.own):
            hashed.update(array("i", numbers).tobytes())
    return hashed.hexdigest()
