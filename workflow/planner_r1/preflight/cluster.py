"""What the jobs of a SLURM profile ask for, against what the study needs and what the cluster has."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

from planner_r1.errors import InputError
from planner_r1.preflight.profile import Request
from planner_r1.preflight.result import Result, Subject, fail, ok, warn
from planner_r1.training.config import compose_config

CLUSTER = "cluster"
COLUMNS = "%N|%R|%a|%t|%G|%c|%m|%l"  # node, partition, its state, the node's state, GPUs, processors, MB, time limit
SECONDS = 30  # a controller that is down leaves its clients waiting for minutes
OUT = ("down", "drain", "drng", "fail", "maint", "unk", "inval", "no_respond")


@dataclass(frozen=True)
class Node:
    """One node in one partition. gpus: number by type, under "" those without one; minutes: None without a limit."""

    name: str
    partition: str
    works: bool
    gpus: dict[str, int]
    cpus: int
    memory: float
    minutes: float | None

    def gpus_of(self, gpu_type: str | None) -> int:
        return sum(self.gpus.values()) if gpu_type is None else self.gpus.get(gpu_type, 0)


def check_nodes(subject: Subject) -> Iterator[Result]:
    """The profile gives the rules that run verl the nodes and GPUs that verl is configured for."""
    study, profile = subject.study, subject.profile
    for rule, machines in _machines(subject).items():
        check = f"nodes of {rule}"
        if len(machines) > 1:
            yield fail(check, f"regimes differ in nodes and GPUs ({machines}), and a rule has one size of job")
            continue
        for nodes, gpus in machines:
            if profile is None or not profile.uses_slurm:
                if nodes > 1:
                    yield fail(check, f"trainer.nnodes is {nodes}, which needs SLURM; add `--profile slurm`")
                continue
            asked = profile.request(rule)
            where = f"{profile.path}: set-resources.{rule}"
            if asked.nodes != nodes:
                yield fail(check, f"{where}.nodes is {asked.nodes}, trainer.nnodes is {nodes}")
            elif nodes > 1 and (asked.mpi != "srun" or asked.tasks != nodes):
                found = f"found mpi: {asked.mpi}, tasks: {asked.tasks}"
                yield fail(check, f"{where}: a job over {nodes} nodes needs mpi: srun and tasks: {nodes}; {found}")
                continue
            if study.backend == "gpu" and asked.gpus != gpus:
                yield fail(check, f"{where}.gres gives {asked.gpus} GPUs a node, trainer.n_gpus_per_node is {gpus}")
            if asked.nodes == nodes and (study.backend != "gpu" or asked.gpus == gpus):
                yield ok(check, f"{nodes} of {asked.gpus} GPUs, as verl is configured")


def check_cluster(subject: Subject) -> Iterator[Result]:
    """SLURM answers, and has the partitions, GPUs, processors, memory and time that the jobs ask for."""
    profile = subject.profile
    if profile is None or not profile.uses_slurm:
        return
    if missing := [command for command in ("sbatch", "sinfo", "srun") if shutil.which(command) is None]:
        yield fail(CLUSTER, f"{', '.join(missing)} not found; run this on a machine that submits jobs")
        return
    try:
        nodes = read_nodes()
    except InputError as error:
        yield fail(CLUSTER, str(error))
        return
    yield ok(CLUSTER, f"SLURM answers: {len({node.name for node in nodes})} nodes")
    for rule in (*_machines(subject), "build_sandbox"):
        yield from _fits(profile.request(rule), nodes)


def read_nodes() -> list[Node]:
    """The nodes of every partition, as sinfo lists them.

    Raises:
        InputError: it does not answer in time, or fails.
    """
    command = ["sinfo", "--noheader", "--Node", "--format", COLUMNS]
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise InputError(f"sinfo does not answer within {SECONDS} s; is SLURM's controller up?") from None
    if said.returncode != 0:
        raise InputError(f"sinfo ended with status {said.returncode}: {' '.join(said.stderr.split())}")
    return [_node(*line.split("|")) for line in said.stdout.splitlines() if line.count("|") == COLUMNS.count("|")]


def _fits(asked: Request, nodes: list[Node]) -> Iterator[Result]:
    """Whether enough nodes of the partition have what one node of a job asks for."""
    check = f"jobs of {asked.rule}"
    if asked.partition is None:
        yield warn(check, "the profile names no slurm_partition; SLURM's default is taken, and not looked at")
        return
    there = [node for node in nodes if node.partition == asked.partition]
    if not there:
        known = ", ".join(sorted({node.partition for node in nodes}))
        yield fail(check, f"no partition '{asked.partition}'; there are {known}")
        return
    gpus = f"gpu:{asked.gpu_type}:{asked.gpus}" if asked.gpu_type else f"gpu:{asked.gpus}"
    needs = [
        (gpus, lambda node: node.gpus_of(asked.gpu_type) >= asked.gpus),
        (f"{asked.cpus} processors", lambda node: asked.cpus is None or node.cpus >= asked.cpus),
        (f"{asked.memory} MB of memory", lambda node: asked.memory is None or node.memory >= asked.memory),
        (
            f"a time limit of {asked.minutes} minutes",
            lambda node: None in (asked.minutes, node.minutes) or node.minutes >= asked.minutes,
        ),
    ]
    faults = False
    for what, has in needs:
        if (able := sum(map(has, there))) < asked.nodes:
            faults = True
            yield fail(
                check, f"partition '{asked.partition}' has {able} nodes with {what}, a job asks for {asked.nodes}"
            )
    if faults:
        return
    fitting = [node for node in there if all(has(node) for _, has in needs)]
    working = sum(node.works for node in fitting)
    if len(fitting) < asked.nodes:
        yield fail(check, f"partition '{asked.partition}' has {len(fitting)} nodes with all of {_told(needs)}")
    elif working < asked.nodes:
        yield warn(check, f"of {len(fitting)} nodes in '{asked.partition}' {working} work now; jobs will wait")
    else:
        yield ok(check, f"{asked.nodes} of {working} nodes in '{asked.partition}' for a job")


def _told(needs) -> str:
    return ", ".join(what for what, _ in needs)


def _machines(subject: Subject) -> dict[str, set[tuple[int, int]]]:
    """The nodes and the GPUs of each that verl is configured for, by rule; a rule without jobs is left out."""
    study = subject.study
    trained = {run.regime for run in study.runs if run.model in subject.models}
    own = [model for model in subject.models if not study.endpoint(model)]
    overrides = {
        "train_run": [study.regime_overrides(regime) for regime in sorted(trained)],
        "evaluate_checkpoint": [study.evaluation_overrides(r) for r in ("base", *sorted(trained))] if own else [],
        "memory_probe": [study.overrides],
    }
    unused = ("train_run", "evaluate_checkpoint") if study.probes else ("memory_probe",)
    machines = {
        rule: {_machine(study.backend, o) for o in several}
        for rule, several in overrides.items()
        if several and rule not in unused
    }
    if subject.to_fine_tune:  # over one node, however many train by reward
        machines["fine_tune"] = {(1, _machine(study.backend, study.overrides)[1])}
    return machines


def _machine(backend: str, overrides: dict) -> tuple[int, int]:
    trainer = compose_config(backend, overrides, {}).trainer
    return trainer.nnodes, trainer.n_gpus_per_node


def _node(name: str, partition: str, up: str, state: str, gres: str, cpus: str, memory: str, limit: str) -> Node:
    gpus: dict[str, int] = {}
    # gpu:8, gpu:h200:8(S:0-1); more kinds of GPU and other resources after commas
    for match in re.finditer(r"gpu(?::([A-Za-z_][\w.-]*))?:(\d+)", gres):
        gpus[match[1] or ""] = gpus.get(match[1] or "", 0) + int(match[2])
    works = up == "up" and not state.startswith(OUT) and not state.endswith("*")
    digits = [int(re.match(r"\d+", text)[0]) for text in (cpus, memory)]
    return Node(name, partition, works, gpus, digits[0], digits[1], _minutes(limit))


def _minutes(limit: str) -> float | None:
    """Minutes of SLURM's [days-]hours:minutes:seconds, or of minutes:seconds; None for `infinite`."""
    days, _, clock = limit.rpartition("-")
    parts = clock.split(":")
    if not all(part.isdigit() for part in parts):
        return None
    hours, minutes, seconds = ([0] * 3 + [int(part) for part in parts])[-3:]
    return int(days or 0) * 24 * 60 + hours * 60 + minutes + seconds / 60
