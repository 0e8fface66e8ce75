"""The bill of a study: GPU hours, disk, tokens and FLOPs of its runs and evaluations.

What has run says what it took; what has not is reckoned from runs of the same model that have, and from the study's
`cost` where there are none. Each number carries which of the three it is.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from enum import IntEnum
from functools import cached_property
from pathlib import Path
from statistics import mean
from typing import TextIO

from omegaconf import DictConfig

from planner_r1.paper.flops import Shape, known_shape, reckoned_flops, run_flops
from planner_r1.queries import load_queries
from planner_r1.study import Checkpoint, Run, Study
from planner_r1.training.config import compose_config
from planner_r1.training.disk import kept_bytes, peak_bytes

FORWARD = 1 / 3  # of the FLOPs of a pass forward and backward
FINE_TUNING, EVALUATION, SUITES, PROBES = "fine-tuning", "evaluation", "suites", "memory probes"


class Source(IntEnum):
    """Where a number comes from, the surest first; a sum is as sure as its least sure part."""

    measured = 0
    extrapolated = 1  # from measured runs of the same model
    assumed = 2  # from the study's `cost`, or from the sizes of model and files


@dataclass(frozen=True)
class Amount:
    """A number and where it comes from; None where nothing says how much it is."""

    value: float | None = 0.0
    source: Source = Source.measured

    def __add__(self, other: Amount) -> Amount:
        known = self.value is not None and other.value is not None
        return Amount(self.value + other.value if known else None, max(self.source, other.source))

    def times(self, factor: float | None) -> Amount:
        known = self.value is not None and factor is not None
        return Amount(self.value * factor if known else None, self.source)


@dataclass(frozen=True)
class Row:
    """What the jobs of one kind take, all of them together.

    steps: of training; the trained tokens and the FLOPs are those of the policy's updates
    hours: wall time, one job after the other
    disk: bytes that stay
    """

    model: str
    what: str
    jobs: int
    steps: int
    hours: Amount
    gpu_hours: Amount
    node_hours: Amount
    price: Amount
    disk: Amount
    generated_tokens: Amount
    trained_tokens: Amount
    flops: Amount


AMOUNTS = tuple(field.name for field in fields(Row) if field.type == "Amount")


@dataclass(frozen=True)
class Machine:
    """Nodes of a job, and GPUs of each."""

    nodes: int
    gpus_of_each: int

    @property
    def gpus(self) -> int:
        return self.nodes * self.gpus_of_each


@dataclass(frozen=True)
class Measured:
    """What a whole run says about itself; None where it does not.

    written_tokens: the model's own tokens in an episode, the mean over the validations
    """

    steps: int
    seconds: float
    trained_tokens: float | None
    written_tokens: float | None
    flops: float | None


class Bill:
    """The rows of a study's bill. `results` is the folder that holds `<study>/`."""

    def __init__(self, study: Study, results: Path = Path("results")):
        self.study, self.folder = study, results / study.name
        self.assumed = study.config["cost"]
        self._evaluation_machines: dict[str, Machine] = {}

    def rows(self) -> list[Row]:
        """A row for a model's fine-tuning, one for each of its regimes, one for its evaluations and one for its suites;
        of a study of memory a row a model. No model behind an endpoint."""
        if self.study.probes:
            return [self._probes(model) for model in self.study.trainable]
        rows = []
        for model in self.study.trainable:
            rows += [self._fine_tuning(model)] if model in self.study.fine_tuned else []
            rows += [self._training(model, regime) for regime in self.study.regimes_of(model)]
            rows.append(self._evaluation(model))
            rows += [self._suites(model)] if self.study.suites else []
        return rows

    def peak_disk(self) -> dict[str, int]:
        """Bytes that a run takes at most while it trains, by model; models of unknown size are left out."""
        exports = {run.model: len(self.study.export_steps(run)) for run in self.study.runs}
        shapes = {model: self.shape(model) for model in exports}
        return {m: peak_bytes(shape.parameters, exports[m]) for m, shape in shapes.items() if shape}

    def shape(self, model: str) -> Shape | None:
        """The sizes of a model: its own where it is there, of the warm start that will make it, of its folder, or of
        the paper's model of that name."""
        if made := Shape.from_folder(self.folder / "models" / model):
            return made
        if warm_start := self.study.warm_start(model):
            own = {field.name for field in fields(Shape)}
            return Shape(**{key: value for key, value in warm_start.items() if key in own}, tied=True)
        return Shape.from_folder(Path(self.study.model_path(model))) or known_shape(model)

    # ---- training -------------------------------------------------------------------------------------------------

    def _fine_tuning(self, model: str) -> Row:
        """The supervised warm start, over one node. An episode takes at most what one takes that is also generated."""
        asked = self.study.fine_tune_settings(model)
        learnt = asked["steps"] * asked["batch_size"]
        trainer, episodes = _trainer(compose_config(self.study.backend, self.study.overrides, {}))
        if (took := self._benchmark(f"fine_tune/{model}")) is not None:
            seconds = Amount(took)
        else:
            steps = self._assumption(model, "step_seconds").times(learnt / episodes * trainer.nodes)
            seconds = steps + self._assumption(model, "start_seconds")
        tokens = self._assumption(model, "episode_tokens").times(learnt)
        shape = self.shape(model)
        return self._row(
            model,
            FINE_TUNING,
            Machine(1, trainer.gpus_of_each),
            jobs=1,
            steps=asked["steps"],
            seconds=seconds,
            disk=Amount(shape and kept_bytes(shape.parameters, 1, keep_checkpoint=False), Source.assumed),
            trained=tokens,
            flops=self._flops_of(model, tokens, learnt),
        )

    def _training(self, model: str, regime: str) -> Row:
        runs = [run for run in self.study.runs if (run.model, run.regime) == (model, regime)]
        overrides, algorithm = self.study.regime_overrides(regime), self.study.algorithm(regime)
        config = compose_config(self.study.backend, overrides, {}, algorithm)
        machine, episodes = _trainer(config)
        flops = _total(self._flops(run, episodes) for run in runs)
        if config.actor_rollout_ref.actor.use_kl_loss or config.algorithm.use_kl_in_reward:
            flops += _total(self._reference_flops(run, episodes) for run in runs)
        return self._row(
            model,
            regime,
            machine,
            jobs=len(runs),
            steps=sum(run.steps for run in runs),
            seconds=_total(self._run_seconds(run, machine) for run in runs),
            disk=_total(self._kept(run) for run in runs),
            generated=_total(self._generated(run, episodes) for run in runs),
            trained=_total(self._trained(run, episodes) for run in runs),
            flops=flops,
        )

    def _probes(self, model: str) -> Row:
        """The few steps of each probe; nothing of them is kept."""
        probes = [probe for probe in self.study.probes if probe.model == model]
        machine, episodes = _trainer(compose_config(self.study.backend, self.study.overrides, {}))
        steps = len(probes) * self.study.config["memory"]["steps"]
        start, step = self._assumption(model, "start_seconds"), self._assumption(model, "step_seconds")
        tokens = self._assumption(model, "episode_tokens").times(episodes * steps)
        return self._row(
            model,
            PROBES,
            machine,
            jobs=len(probes),
            steps=steps,
            seconds=start.times(len(probes)) + step.times(steps),
            generated=self._assumption(model, "written_tokens").times(episodes * steps),
            trained=tokens,
            flops=self._flops_of(model, tokens, episodes * steps),
        )

    def _run_seconds(self, run: Run, machine: Machine) -> Amount:
        if measured := self.measured.get(run):
            return Amount(measured.seconds)
        if paces := [done.seconds / done.steps for done in self._done(run)]:
            return Amount(mean(paces) * run.steps, Source.extrapolated)
        step, query = self._assumption(run.model, "step_seconds"), self._assumption(run.model, "query_seconds")
        # a validation is an evaluation on the GPUs of the training
        share = self._evaluation_machine(run.regime).gpus / machine.gpus
        queries = self._validations(run) * (self._queries("validation") or 0) * share
        starts = self._assumption(run.model, "start_seconds").times(len(run.phases))
        return step.times(run.steps) + query.times(queries) + starts

    def _validations(self, run: Run) -> int:
        """Before training, every so many steps, and at the end of each phase."""
        every = self.study.config["training"]["test_every"]
        ends = [sum(phase.steps for phase in run.phases[: i + 1]) for i in range(len(run.phases))]
        return len({0, *range(every, run.steps + 1, every), *ends})

    def _generated(self, run: Run, episodes: int) -> Amount:
        played = episodes * run.steps + self._validations(run) * (self._queries("validation") or 0)
        if written := [done.written_tokens for done in self._done(run) if done.written_tokens is not None]:
            return Amount(mean(written) * played, Source.extrapolated)
        return self._assumption(run.model, "written_tokens").times(played)

    def _trained(self, run: Run, episodes: int) -> Amount:
        measured = self.measured.get(run)
        if measured and measured.trained_tokens is not None:
            return Amount(measured.trained_tokens)
        if paces := [d.trained_tokens / d.steps for d in self._done(run) if d.trained_tokens is not None]:
            return Amount(mean(paces) * run.steps, Source.extrapolated)
        return self._assumption(run.model, "episode_tokens").times(episodes * run.steps)

    def _flops(self, run: Run, episodes: int) -> Amount:
        """Those of the policy's updates, as the paper counts them."""
        measured = self.measured.get(run)
        if measured and measured.flops is not None:
            return Amount(measured.flops)
        if paces := [done.flops / done.steps for done in self._done(run) if done.flops is not None]:
            return Amount(mean(paces) * run.steps, Source.extrapolated)
        return self._flops_of(run.model, self._trained(run, episodes), episodes * run.steps)

    def _flops_of(self, model: str, tokens: Amount, episodes: int) -> Amount:
        shape = self.shape(model)
        if tokens.value is None or shape is None:
            return Amount(None, Source.assumed)
        return Amount(reckoned_flops(shape, tokens.value, episodes), max(tokens.source, Source.extrapolated))

    def _reference_flops(self, run: Run, episodes: int) -> Amount:
        """A reference policy reads all that is trained on: forward alone, a third of what an update computes."""
        return self._flops_of(run.model, self._trained(run, episodes), episodes * run.steps).times(FORWARD)

    def _kept(self, run: Run) -> Amount:
        shape = self.shape(run.model)
        if shape is None:
            return Amount(None, Source.assumed)
        keeps = self.study.config["training"].get("keep_checkpoint", True)
        return Amount(kept_bytes(shape.parameters, len(self.study.export_steps(run)), keeps), Source.assumed)

    # ---- evaluations ----------------------------------------------------------------------------------------------

    def _evaluation(self, model: str) -> Row:
        jobs = [(c, split) for c in self.study.checkpoints if c.model == model for split in self.study.splits]
        written = self._assumption(model, "written_tokens")
        if found := [done.written_tokens for run, done in self.measured.items() if run.model == model]:
            known = [tokens for tokens in found if tokens is not None]
            written = Amount(mean(known), Source.extrapolated) if known else written
        queries = [self._queries(split) for _, split in jobs]
        return self._row(
            model,
            EVALUATION,
            self._evaluation_machine("base"),
            jobs=len(jobs),
            steps=0,
            seconds=_total(self._evaluation_seconds(checkpoint, split) for checkpoint, split in jobs),
            generated=written.times(None if None in queries else sum(queries)),
        )

    def _suites(self, model: str) -> Row:
        """The suites' answers; what a simulated user's service asks for them is not among it."""
        checkpoints = [checkpoint for checkpoint in self.study.suite_checkpoints if checkpoint.model == model]
        machine = Machine(1, self.assumed["suite_gpus"])
        seconds = _total(self._suites_seconds(checkpoint) for checkpoint in checkpoints)
        return self._row(model, SUITES, machine, jobs=len(checkpoints), steps=0, seconds=seconds)

    def _suites_seconds(self, checkpoint: Checkpoint) -> Amount:
        if (seconds := self.measured_suites.get(checkpoint)) is not None:
            return Amount(seconds)
        if alike := [s for other, s in self.measured_suites.items() if other.model == checkpoint.model]:
            return Amount(mean(alike), Source.extrapolated)
        model = checkpoint.model
        return self._assumption(model, "suites_seconds") + self._assumption(model, "start_seconds")

    def _evaluation_seconds(self, checkpoint: Checkpoint, split: str) -> Amount:
        if (seconds := self.measured_evaluations.get((checkpoint, split))) is not None:
            return Amount(seconds)
        alike = [
            s for (c, other), s in self.measured_evaluations.items() if (c.model, other) == (checkpoint.model, split)
        ]
        if alike:
            return Amount(mean(alike), Source.extrapolated)
        query = self._assumption(checkpoint.model, "query_seconds").times(self._queries(split))
        return query + self._assumption(checkpoint.model, "start_seconds")

    def _evaluation_machine(self, regime: str) -> Machine:
        if regime not in self._evaluation_machines:
            trainer = compose_config(self.study.backend, self.study.evaluation_overrides(regime), {}).trainer
            self._evaluation_machines[regime] = Machine(trainer.nnodes, trainer.n_gpus_per_node)
        return self._evaluation_machines[regime]

    # ---- what is known --------------------------------------------------------------------------------------------

    def _row(self, model: str, what: str, machine: Machine, jobs: int, steps: int, seconds: Amount, **volumes) -> Row:
        hours = seconds.times(1 / 3600)
        on_gpus = self.study.backend == "gpu"
        gpu_hours = hours.times(machine.gpus if on_gpus else 0)
        none = Amount()
        return Row(
            model=model,
            what=what,
            jobs=jobs,
            steps=steps,
            hours=hours,
            gpu_hours=gpu_hours,
            node_hours=hours.times(machine.nodes),
            price=gpu_hours.times(self.assumed.get("gpu_hour") if on_gpus else 0),
            disk=volumes.get("disk", none),
            generated_tokens=volumes.get("generated", none),
            trained_tokens=volumes.get("trained", none),
            flops=volumes.get("flops", none),
        )

    def _assumption(self, model: str, key: str) -> Amount:
        return Amount(self.assumed["models"].get(model, {}).get(key), Source.assumed)

    def _queries(self, split: str) -> int | None:
        """The number of a split's queries: drawn, in its file, or as `cost.queries` has it."""
        split = self.study.query_split(split)
        if (drawn := self.study.query_count(split)) is not None:
            return drawn
        file = self.study.query_file(split)
        return len(load_queries(file)) if file and Path(file).is_file() else self.assumed["queries"].get(split)

    def _done(self, run: Run) -> list[Measured]:
        """The whole runs that say something of one that is not: those of its regime, or else of its model."""
        of_model = {other: done for other, done in self.measured.items() if other.model == run.model}
        alike = [done for other, done in of_model.items() if other.regime == run.regime]
        return alike or list(of_model.values())

    @cached_property
    def measured(self) -> dict[Run, Measured]:
        """What the study's whole runs took."""
        found = {run: self._measure(run) for run in self.study.runs}
        return {run: measured for run, measured in found.items() if measured}

    def _measure(self, run: Run) -> Measured | None:
        folder = self.folder / "runs" / run.name
        try:
            manifest = json.loads((folder / "MANIFEST.json").read_text(encoding="utf-8"))
            metrics = list(_lines(folder / "metrics.jsonl"))
        except FileNotFoundError:
            return None
        settings = manifest["config"]
        trained = [step for step in metrics if step["step"] > 0]
        tokens = [step.get("perf/total_num_tokens") for step in trained]
        # verl's MFU on a processor is over a nominal peak
        with_gpus, trainer = settings["trainer"]["device"] == "cuda", settings["trainer"]
        gpus, epochs = (
            trainer["nnodes"] * trainer["n_gpus_per_node"],
            settings["actor_rollout_ref"]["actor"]["ppo_epochs"],
        )
        written = [episode["tokens"]["generated"] for episode in _lines(folder / "validation.jsonl")]
        return Measured(
            steps=manifest["final_step"],
            seconds=manifest["wall_seconds"],
            trained_tokens=None if None in tokens else sum(tokens),
            written_tokens=mean(written) if written else None,
            flops=run_flops(trained, self.assumed["peak_flops"], gpus, epochs) if with_gpus else None,
        )

    @cached_property
    def measured_evaluations(self) -> dict[tuple[Checkpoint, str], float]:
        """Seconds of the evaluations that were done, from their rule's benchmark."""
        jobs = [(checkpoint, split) for checkpoint in self.study.checkpoints for split in self.study.splits]
        seconds = {(c, split): self._benchmark(f"evaluate_checkpoint/{c.name}/{split}") for c, split in jobs}
        return {job: took for job, took in seconds.items() if took is not None}

    @cached_property
    def measured_suites(self) -> dict[Checkpoint, float]:
        """Seconds in which checkpoints answered the suites, from their rule's benchmark."""
        seconds = {c: self._benchmark(f"ood_answers/{c.name}") for c in self.study.suite_checkpoints}
        return {checkpoint: took for checkpoint, took in seconds.items() if took is not None}

    def _benchmark(self, job: str) -> float | None:
        """The seconds that Snakemake measured for a job; None where it has not run."""
        path = self.folder / "benchmarks" / f"{job}.tsv"
        if not path.is_file():
            return None
        with open(path, encoding="utf-8") as file:
            return float(next(csv.DictReader(file, delimiter="\t"))["s"])


def _trainer(config: DictConfig) -> tuple[Machine, int]:
    """The nodes of a training job, and the episodes of a step."""
    machine = Machine(config.trainer.nnodes, config.trainer.n_gpus_per_node)
    return machine, config.data.train_batch_size * config.actor_rollout_ref.rollout.n


def total(rows: Sequence[Row]) -> Row:
    """The sum of all rows."""
    sums = {name: _total(getattr(row, name) for row in rows) for name in AMOUNTS}
    return Row("all", "total", sum(row.jobs for row in rows), sum(row.steps for row in rows), **sums)


def as_json(rows: Iterable[Row]) -> list[dict]:
    """Rows as plain values, each amount as {value, source}."""
    return [
        {
            field.name: {"value": value.value, "source": value.source.name} if isinstance(value, Amount) else value
            for field in fields(Row)
            for value in [getattr(row, field.name)]
        }
        for row in rows
    ]


def write_csv(rows: Iterable[Row], file: TextIO) -> None:
    """Rows as CSV, each amount followed by its source; an unknown amount is empty."""
    plain = [name for name in (field.name for field in fields(Row)) if name not in AMOUNTS]
    table = csv.writer(file, lineterminator="\n")
    table.writerow([*plain, *(heading for name in AMOUNTS for heading in (name, f"{name}_source"))])
    for row in rows:
        amounts = [getattr(row, name) for name in AMOUNTS]
        cells = (cell for amount in amounts for cell in (amount.value, amount.source.name))
        table.writerow([*(getattr(row, name) for name in plain), *cells])


def _total(amounts: Iterable[Amount]) -> Amount:
    return sum(amounts, Amount())


def _lines(path: Path) -> Iterable[dict]:
    with open(path, encoding="utf-8") as file:
        yield from map(json.loads, file)
