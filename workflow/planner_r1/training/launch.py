"""Training runs: verl in sub-processes, segment after segment, until a run is whole.

A run is a list of phases, each with its weights of the reward. Every phase is at least one segment, that is one
process of verl, which continues from the checkpoint before it with the state of optimiser and data; an interrupted
phase takes one more. All state lies in the work folder, so a rerun continues where the last whole checkpoint is. The
output folder is written when the last step was reached, MANIFEST.json at the very end.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from planner_r1.console import duration, say
from planner_r1.environments import ACTIVE
from planner_r1.errors import InputError
from planner_r1.files import locked, read_lines, write_lines
from planner_r1.processes import end_all, tail
from planner_r1.reward import weights_of
from planner_r1.study import OFFICIAL
from planner_r1.training import algorithms, checkpoints, manifest
from planner_r1.training.config import compose_config, save_config
from planner_r1.training.episodes import read_dump
from planner_r1.training.process import TrainingError, run_verl
from planner_r1.training.progress import MetricsFollower, Progress
from planner_r1.training.rows import prompt_template_hash, row_count
from planner_r1.training.verl_files import AGENT_LOOP, write_agent_loop_config, write_tool_config
from planner_r1.verl_overlays import BACKENDS

PROJECT = "planner_r1"
SPEC = "spec.json"
SEGMENTS = "segments.jsonl"
FRUITLESS = 3  # attempts in a row without a new checkpoint, after which a run is given up
FINISHED = "finished.json"
IF_SET = ("algorithm", "profile", "noise")  # settings that are absent from those of a run without them


@dataclass(frozen=True)
class TrainSpec:
    """What makes a run what it is, and where it goes.

    name: `{model}/{regime}/seed{seed}`
    model_path: folder with the weights, tokenizer and chat template to start from, or a name on the hub
    phases: `{"weights": "stage1" | five numbers, "steps": n}`, in order
    work: folder for everything a rerun needs; not an output
    out: folder for the outputs
    save_every, test_every: steps between checkpoints, and between validations
    export_steps: steps whose weights become outputs; the last one always is among them
    environment: where verl's Python comes from; not part of what makes the run what it is
    overrides: a study's keys of verl's configuration for this run
    algorithm: the regime's key of that name; None for the paper's GRPO
    profile: the evaluator's profile that pays
    noise: what goes wrong with the tools, as fields of a sandbox.noise.Noise; None for nothing
    keep_checkpoint: whether the last checkpoint to resume from stays when the run is whole, for more steps later
    """

    name: str
    model_path: str | Path
    train_parquet: Path
    validation_parquet: Path
    store: Path
    phases: Sequence[Mapping[str, Any]]
    seed: int
    work: Path
    out: Path
    save_every: int
    test_every: int
    export_steps: Sequence[int] = ()
    backend: str = "cpu"
    environment: str = ACTIVE
    overrides: Mapping[str, Any] = field(default_factory=dict)
    algorithm: str | Mapping[str, Any] | None = None
    profile: str = OFFICIAL
    noise: Mapping[str, Any] | None = None
    keep_checkpoint: bool = True

    @cached_property
    def last_step(self) -> int:
        return sum(phase["steps"] for phase in self.phases)

    @cached_property
    def exported(self) -> list[int]:
        """The steps whose weights become outputs, ascending."""
        return sorted({*self.export_steps, self.last_step})

    @cached_property
    def schedule(self) -> list[tuple[float, ...]]:
        """The weights of the reward at each step; `schedule[0]` is step 1's."""
        return [weights_of(phase["weights"]) for phase in self.phases for _ in range(phase["steps"])]

    @cached_property
    def phase_ends(self) -> list[int]:
        """The last step of each phase."""
        return [sum(p["steps"] for p in self.phases[: i + 1]) for i in range(len(self.phases))]


def train(spec: TrainSpec, report: Callable[[str], None] = say, attempt: int = 1) -> Path:
    """Run or continue a run until it is whole, and write its outputs. Returns the path of MANIFEST.json.

    attempt: 1, or more where Snakemake tries again by itself.

    Raises:
        InputError: the specification is wrong, or the work folder belongs to another one.
        TrainingError: verl failed, did not reach the step it was asked for, or got no further in FRUITLESS attempts.
    """
    _check(spec)
    spec.work.mkdir(parents=True, exist_ok=True)
    with locked(spec.work):
        end_all(spec.work)
        run = _Run(spec, report)
        run.claim_work_folder()
        if attempt > FRUITLESS:
            run.refuse_another_fruitless_attempt()
        run.train_all_phases()
        path = run.write_outputs()
        run.finish()
        return path


class _Run:
    """The state of a run on disk, and what to do about it."""

    def __init__(self, spec: TrainSpec, report: Callable[[str], None]):
        self.spec, self.report = spec, report
        self.checkpoints = spec.work / "checkpoints"
        self.exports = spec.work / "exports"
        self.rollouts = spec.work / "rollouts"
        self.validations = spec.work / "validation"

    # ---- settings ---------------------------------------------------------------------------------------------

    def claim_work_folder(self) -> None:
        """Note the run's settings in a new work folder; refuse one that was made with others.

        Only the phases to come may differ: a finished run can be given more steps.
        """
        path = self.spec.work / SPEC
        settings = json.loads(json.dumps(_settings(self.spec)))
        if path.is_file():
            made_with = json.loads(path.read_text(encoding="utf-8"))
            done = self.trusted_step()
            changed = [
                key
                for key in {**settings, **dict.fromkeys(IF_SET)}
                if settings.get(key) != made_with.get(key) and key != "schedule"
            ]
            if settings["schedule"][:done] != made_with["schedule"][:done]:
                changed.append("phases")
            if changed:
                raise InputError(
                    f"{self.spec.work}: was made with other settings ({', '.join(changed)}) and holds {done} steps of "
                    "training. To train with the new settings move that folder away; to go on, restore the settings"
                )
            resumable = checkpoints.is_complete(checkpoints.folder(self.checkpoints, done))
            if 0 < done < self.spec.last_step and not resumable:
                raise InputError(
                    f"{self.spec.work}: the run ended with step {done} and its last checkpoint was not kept "
                    f"(training.keep_checkpoint), so it cannot go on to step {self.spec.last_step}; restore the "
                    "regime's steps, or move that folder away to train from the start"
                )
        checkpoints.write_atomically(path, json.dumps(settings, indent=1))
        self._export_late()

    def _export_late(self) -> None:
        """Export steps that were trained before they were asked for, where their checkpoints are still there and were
        saved with weights for others: the ends of runs that have got more steps since."""
        for step in self.spec.exported:
            if step > self.trusted_step() or (self.exports / f"step{step}").is_dir():
                continue
            checkpoint = checkpoints.folder(self.checkpoints, step)
            if not (checkpoints.is_complete(checkpoint) and checkpoints.has_weights(checkpoint)):
                raise InputError(
                    f"{self.spec.work}: step {step} was trained without being exported; leave it out of "
                    "evaluation.checkpoints, or move that folder away to train again"
                )
            checkpoints.export(checkpoint, self.exports / f"step{step}")

    # ---- where the run stands ---------------------------------------------------------------------------------

    def trusted_step(self) -> int:
        """The newest step whose checkpoint, metrics and dumps are all whole, or the last one of a run that was whole
        once and may have lost its checkpoint since; 0 where there is none.

        verl saves the checkpoint before it validates, logs and dumps: a process killed in between leaves a checkpoint
        that would lose the step's metrics if it were resumed from.
        """
        logged = logged_metrics(self.spec.work)
        whole = [s for s in checkpoints.complete_steps(self.checkpoints) if self._recorded(s, logged)]
        return max([*whole, self._finished_step()])

    def _finished_step(self) -> int:
        path = self.spec.work / FINISHED
        return json.loads(path.read_text(encoding="utf-8"))["step"] if path.is_file() else 0

    def _recorded(self, step: int, logged: Mapping[int, dict]) -> bool:
        if step not in logged or not _whole_lines(self.rollouts / f"{step}.jsonl"):
            return False
        if step % self.spec.test_every and step not in self.spec.phase_ends:
            return True
        validated = any(key.startswith("val-core/") for key in logged[step])
        rows = row_count(self.spec.validation_parquet)
        return validated and _whole_lines(self.validations / f"{step}.jsonl") == rows

    # ---- training ---------------------------------------------------------------------------------------------

    def refuse_another_fruitless_attempt(self) -> None:
        """A long run is tried again each time that it meets its time limit; one that cannot work must not be."""
        done = self.trusted_step()
        starts = [segment["first_step"] for segment in read_lines(self.spec.work / SEGMENTS)][-FRUITLESS:]
        if starts == [done + 1] * FRUITLESS:
            raise TrainingError(
                f"{self.spec.name}: {FRUITLESS} attempts in a row left no checkpoint beyond step {done}; see "
                f"{log_path(self.spec.work, len(segments(self.spec.work)))}. If their time ran out first, lower "
                "training.save_every or raise the rule's runtime"
            )

    def train_all_phases(self) -> None:
        for end in self.spec.phase_ends:
            done = self.trusted_step()
            if done < end:
                checkpoints.resume_from(self.checkpoints, done)
                self._run_segment(done, end)
                # verl can end with status 0 without a step, when it resumes at the end of an epoch (its issue 5725).
                if (reached := self.trusted_step()) != end:
                    log = log_path(self.spec.work, len(segments(self.spec.work)))
                    raise TrainingError(
                        f"verl ended without an error at step {reached} instead of {end}; the last lines of {log}:\n"
                        f"{tail(log)}"
                    )

    def _run_segment(self, done: int, end: int) -> None:
        number = len(segments(self.spec.work)) + 1
        metrics, log = self.spec.work / f"metrics.{number}.jsonl", log_path(self.spec.work, number)
        for path in (metrics, log):  # there from the start: the job may end before verl writes anything
            path.touch()
        config_path = self.spec.work / f"config.{number}.json"
        save_config(self.config(done, end), config_path)
        self.report(f"{self.spec.name}: steps {done + 1} to {end} of {self.spec.last_step}, starting verl")
        progress, follower = Progress(self.spec.name, self.spec.last_step, self.report), MetricsFollower(metrics)
        self._note_segment(number, done + 1, end)

        def show_progress():
            for record in follower.new_records():
                progress.show(record)

        try:
            run_verl(
                config_path,
                work=self.spec.work,
                log=log,
                backend=self.spec.backend,
                store=self.spec.store,
                metrics=metrics,
                while_running=show_progress,
                environment=self.spec.environment,
            )
        finally:
            show_progress()

    def _note_segment(self, number: int, first_step: int, asked_step: int) -> None:
        """Note a segment that is about to start: a process that is killed notes nothing afterwards."""
        segment = {
            "number": number,
            "first_step": first_step,
            "asked_step": asked_step,
            "weights": self.spec.schedule[asked_step - 1],
            "metrics": f"metrics.{number}.jsonl",
            "started": round(time.time(), 1),
        }
        with open(self.spec.work / SEGMENTS, "a", encoding="utf-8") as file:
            file.write(json.dumps(segment) + "\n")

    def segment_records(self) -> list[dict]:
        """Every segment with the seconds that it ran, to the last line of its log."""
        records = list(read_lines(self.spec.work / SEGMENTS))
        for record in records:
            ended = log_path(self.spec.work, record["number"]).stat().st_mtime
            record["seconds"] = round(max(ended - record["started"], 0), 1)
            record["started"] = _utc(record["started"])
        return records

    def config(self, done: int, end: int) -> DictConfig:
        """verl's configuration of the segment that goes from step `done` to step `end`."""
        spec = self.spec
        tools, loops = spec.work / "tools.yaml", spec.work / "agent_loops.yaml"
        write_tool_config(tools)
        write_agent_loop_config(loops, spec.noise, spec.seed)
        values = {
            **common_values(spec.model_path, tools, loops, spec.schedule[end - 1], spec.seed, spec.profile),
            "data.train_files": absolute(spec.train_parquet),
            "data.val_files": absolute(spec.validation_parquet),
            "actor_rollout_ref.actor.checkpoint.save_contents": ["model", "optimizer", "extra", "hf_model"],
            "actor_rollout_ref.actor.checkpoint.load_contents": ["model", "optimizer", "extra"],
            "trainer.experiment_name": spec.name,
            "trainer.default_local_dir": absolute(self.checkpoints),
            "trainer.rollout_data_dir": absolute(self.rollouts),
            "trainer.validation_data_dir": absolute(self.validations),
            "trainer.checkpoint_callback_class": "planner_r1.training.checkpoint_callback.CheckpointKeeper",
            "trainer.resume_mode": "auto",
            "trainer.total_training_steps": end,
            "trainer.save_freq": spec.save_every,
            "trainer.test_freq": spec.test_every,
            "trainer.val_before_train": done == 0,
            "planner_r1": {
                "export_steps": spec.exported,
                "export_dir": absolute(self.exports),
                "last_step": spec.last_step,
                **({"algorithm": _algorithm(spec)} if spec.algorithm else {}),
            },
        }
        config = compose_config(spec.backend, spec.overrides, values, spec.algorithm)
        # verl stops at whichever comes first, epochs or steps; an epoch has at least one step.
        config.trainer.total_epochs = max(config.trainer.total_epochs, spec.last_step)
        return config

    # ---- outputs ----------------------------------------------------------------------------------------------

    def write_outputs(self) -> Path:
        """Write metrics, validations and checkpoints, then the manifest. The last step must have been reached."""
        spec, logged = self.spec, logged_metrics(self.spec.work)
        if self.trusted_step() != spec.last_step:
            raise TrainingError(f"{spec.name}: at step {self.trusted_step()} instead of {spec.last_step}")
        if missing := [step for step in range(1, spec.last_step + 1) if step not in logged]:
            raise TrainingError(f"{spec.name}: no metrics of step {missing[0]} in {spec.work}")
        spec.out.mkdir(parents=True, exist_ok=True)
        (spec.out / manifest.NAME).unlink(missing_ok=True)
        steps = sorted(step for step in logged if step <= spec.last_step)
        write_lines(spec.out / "metrics.jsonl", ({"step": step, **logged[step]} for step in steps))
        write_lines(spec.out / "validation.jsonl", self._validation_episodes(steps))
        self._copy_checkpoints()
        segments = self.segment_records()
        seconds = sum(segment["seconds"] for segment in segments)
        path = manifest.write_manifest(
            spec.out,
            {
                "name": spec.name,
                "final_step": spec.last_step,
                "seed": spec.seed,
                "settings": _settings(spec),
                "prompt_template_sha256": prompt_template_hash(spec.train_parquet),
                "segments": segments,
                "wall_seconds": round(seconds, 1),
                "git_commit": manifest.git_commit(),
                "versions": manifest.versions(spec.environment),
                "config": json.loads((spec.work / f"config.{segments[-1]['number']}.json").read_text(encoding="utf-8")),
            },
        )
        self.report(f"{spec.name}: step {spec.last_step} reached in {duration(seconds)} of training; {path}")
        return path

    def _validation_episodes(self, steps: Sequence[int]) -> Iterator[dict]:
        model, regime, _ = self.spec.name.split("/")
        for step in steps:
            path = self.validations / f"{step}.jsonl"
            if path.is_file():
                for episode in read_dump(path):
                    yield {"step": step, "model": model, "regime": regime, "seed": self.spec.seed, **episode}

    def _copy_checkpoints(self) -> None:
        out = self.spec.out / "checkpoints"
        shutil.rmtree(out, ignore_errors=True)
        for step in self.spec.exported:
            checkpoints.copy_model(self.exports / f"step{step}", out / f"step{step}")

    def finish(self) -> None:
        """Note that the outputs were written, and free the room of the checkpoints that nobody resumes from."""
        checkpoints.write_atomically(self.spec.work / FINISHED, json.dumps({"step": self.spec.last_step}))
        if self.spec.keep_checkpoint:
            checkpoints.prune(self.checkpoints, keep=1)
        else:
            shutil.rmtree(self.checkpoints, ignore_errors=True)


def segments(work: Path) -> list[Path]:
    """The metrics of the segments so far, oldest first."""
    return sorted(work.glob("metrics.*.jsonl"), key=lambda p: int(p.name.split(".")[1]))


def logged_metrics(work: Path) -> dict[int, dict]:
    """Metrics by step over all segments; of a step that was done twice, the later ones."""
    merged: dict[int, dict] = {}
    for path in segments(work):
        merged |= {record["step"]: record["data"] for record in read_lines(path)}
    return merged


def log_path(work: Path, segment: int) -> Path:
    """verl's log of a segment, numbered from 1."""
    return work / f"verl.{segment}.log"


def common_values(
    model_path: str | Path, tools: Path, loops: Path, weights: Sequence[float], seed: int, profile: str = OFFICIAL
) -> dict[str, Any]:
    """What training and evaluation alike set in verl's configuration."""
    path = Path(model_path)
    pays = {"weights": list(weights)} | ({} if profile == OFFICIAL else {"profile": profile})
    return {
        "actor_rollout_ref.model.path": absolute(path) if path.is_dir() else str(model_path),
        "actor_rollout_ref.actor.data_loader_seed": seed,
        "actor_rollout_ref.rollout.seed": seed,
        "actor_rollout_ref.rollout.multi_turn.tool_config_path": absolute(tools),
        "actor_rollout_ref.rollout.agent.agent_loop_config_path": absolute(loops),
        "actor_rollout_ref.rollout.agent.default_agent_loop": AGENT_LOOP,
        "data.seed": seed,
        "reward.custom_reward_function": {
            "path": "pkg://planner_r1.training.reward_function",
            "name": "compute_score",
            "reward_kwargs": pays,
        },
        "trainer.project_name": PROJECT,
        "trainer.v1.trainer_mode": "planner_r1",
    }


def _check(spec: TrainSpec) -> None:
    if spec.backend not in BACKENDS:
        raise InputError(f"training.backend: expected one of {', '.join(BACKENDS)}, found {spec.backend!r}")
    if not spec.phases or any(phase["steps"] < 1 for phase in spec.phases):
        raise InputError(f"{spec.name}: a run needs at least one phase, and each phase at least one step")
    if len(spec.name.split("/")) != 3:
        raise InputError(f"{spec.name}: a run is named model/regime/seed")
    saved = {*range(spec.save_every, spec.last_step, spec.save_every), *spec.phase_ends}
    for step in spec.exported:
        if step not in saved:
            raise InputError(
                f"{spec.name}: step {step} is to be exported but not saved; save_every is {spec.save_every}"
            )
    for path in (spec.train_parquet, spec.validation_parquet, spec.store):
        if not path.exists():
            raise InputError(f"{path}: no such file or folder")


def _settings(spec: TrainSpec) -> dict[str, Any]:
    """What a run's numbers depend on, by content where a file is meant."""
    model = Path(spec.model_path)
    weights = sorted(model.glob("*.safetensors")) if model.is_dir() else []
    return {
        "name": spec.name,
        "model": [manifest.sha256(path) for path in weights] or str(spec.model_path),
        "train_queries": manifest.sha256(spec.train_parquet),
        "validation_queries": manifest.sha256(spec.validation_parquet),
        "store": _store_identity(spec.store),
        "schedule": [list(weights) for weights in spec.schedule],
        "seed": spec.seed,
        "save_every": spec.save_every,
        "test_every": spec.test_every,
        "backend": spec.backend,
        "overrides": dict(spec.overrides),
        "learning_rate_horizon": _learning_rate_horizon(spec),
        **({"algorithm": _algorithm(spec)} if spec.algorithm else {}),
        **({"profile": spec.profile} if spec.profile != OFFICIAL else {}),
        **({"noise": dict(spec.noise)} if spec.noise else {}),
    }


def _algorithm(spec: TrainSpec) -> dict[str, Any]:
    """A run's algorithm with the keys of its advantage rule, which may change over the run: then its length counts."""
    chosen = algorithms.resolve(spec.algorithm)
    return {"name": chosen.name} | ({} if chosen.keys is None else {"keys": chosen.keys, "steps": spec.last_step})


def _learning_rate_horizon(spec: TrainSpec) -> int | None:
    """The number of steps that the learning rate's schedule goes over; None for a rate that does not depend on it."""
    rate = compose_config(spec.backend, spec.overrides, {}, spec.algorithm).actor_rollout_ref.actor.optim
    warms_by_share = rate.lr_warmup_steps_ratio > 0 and (rate.lr_warmup_steps or 0) <= 0
    return spec.last_step if warms_by_share or rate.lr_scheduler_type != "constant" else None


def _store_identity(store: Path) -> str:
    description = store / "store.json"
    return manifest.sha256(description) if description.is_file() else hashlib.sha256(b"").hexdigest()


def _whole_lines(path: Path) -> int:
    """The number of lines of a file that ends with a line's end, else 0."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return 0
    return content.count(b"\n") if content.endswith(b"\n") else 0


def absolute(path: Path) -> str:
    return str(Path(path).resolve())


def _utc(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
