"""verl in a process group of its own, of which nothing outlives the call.

Where `trainer.nnodes` is more than one, verl runs below `srun`, which starts one Ray node a node of the SLURM job
(ray_cluster.py); otherwise it starts a Ray of its own on this machine. All of them carry the mark of the work folder,
by which they are found (processes.py).
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from omegaconf import DictConfig

from planner_r1 import environments
from planner_r1.environments import ACTIVE, Environment
from planner_r1.errors import InputError
from planner_r1.processes import CPU_VARIABLES, MARK, end_all, signals_as_exceptions, tail
from planner_r1.training import saved_weights
from planner_r1.training.config import load_config
from planner_r1.training.kernel_caches import cache_variables

BY_REWARD = "planner_r1.training.run_verl"
POLL_SECONDS = 0.5
SRUN = "srun"
SRUN_SECONDS = 20  # the tasks' own clean-up takes up to ten
# The tasks end one another (ray_cluster.py), never srun: what it sends to a node that does not answer SLURM keeps and
# sends again a minute later, by when the job was queued again and has a step of the same number on that node.
LEAVE_STEP_ALONE = ("--kill-on-bad-exit=0", "--wait=0")
# A Unix socket's path has at most 107 characters and Ray appends about 65 to its temporary folder.
LONGEST_TEMPORARY_FOLDER = 30


class TrainingError(Exception):
    """verl failed; the message holds the last lines of its log."""


def run_verl(
    config: Path,
    work: Path,
    log: Path,
    backend: str,
    store: Path,
    metrics: Path,
    while_running: Callable[[], None] = lambda: None,
    environment: str = ACTIVE,
    module: str = BY_REWARD,
) -> None:
    """Run verl on a resolved configuration until it ends, calling `while_running` about twice a second.

    `environment` is a study's key of that name: where verl's Python comes from. `module` is what is run there.

    Raises:
        InputError: the environment has no Python, or several nodes are asked for outside a SLURM job.
        TrainingError: it ended with another status than 0.
    """
    with _temporary_folder(work) as temporary, signals_as_exceptions():
        place = environments.environment(environment)
        settings = load_config(config)
        variables = _variables(work, backend, store, metrics, temporary) | place.variables
        if "planner_r1" in settings:  # a training run
            variables |= saved_weights.variable(settings.planner_r1.export_steps)
        command = _command(module, config.resolve(), settings, work, place)
        with open(log, "wb") as output:
            try:
                process = subprocess.Popen(
                    command, cwd=work, env=variables, stdout=output, stderr=output, start_new_session=True
                )
            except OSError as error:
                raise environments.not_started(environment, command, error) from None
        try:
            while process.poll() is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(POLL_SECONDS)
                while_running()
        finally:
            _end(process, command)
            end_all(work)
            process.wait()
    if process.returncode != 0:
        raise TrainingError(f"verl ended with status {process.returncode}; the last lines of {log}:\n{tail(log)}")


def _command(module: str, config: Path, settings: DictConfig, work: Path, place: Environment) -> list[str]:
    """`settings` are what the file `config` holds."""
    before = place.prefix if settings.trainer.nnodes == 1 else _over_nodes(settings, work, place)
    return [*before, place.python, "-u", "-m", module, str(config)]


def _over_nodes(settings: DictConfig, work: Path, place: Environment) -> list[str]:
    """What stands before a command that is to find a Ray cluster over the nodes of this SLURM job."""
    trainer, offered = settings.trainer, settings.ray_kwargs.ray_init
    if "SLURM_JOB_ID" not in os.environ:
        raise InputError(
            f"trainer.nnodes: {trainer.nnodes} nodes are asked for outside a SLURM job; start Snakemake with "
            "`--profile slurm`, or set trainer.nnodes to 1 in training.overrides"
        )
    for earlier in work.glob("ray.*"):
        shutil.rmtree(earlier, ignore_errors=True)
    folder = tempfile.mkdtemp(prefix="ray.", dir=work.resolve())  # the command runs in another folder
    # one task a node, which gets the whole of what the job has there
    nodes = [f"--nodes={trainer.nnodes}", f"--ntasks={trainer.nnodes}", "--ntasks-per-node=1", "--cpu-bind=none"]
    srun = [SRUN, *nodes, *LEAVE_STEP_ALONE, "--unbuffered"]
    cluster = [place.python, "-u", "-m", "planner_r1.training.ray_cluster", folder, f"--gpus={trainer.n_gpus_per_node}"]
    cpus = [] if offered.num_cpus is None else [f"--cpus={offered.num_cpus}"]
    return [*srun, *place.prefix, *cluster, *cpus, "--"]


def _end(process: subprocess.Popen, command: list[str]) -> None:
    """End a process that still runs. Only `srun` is asked first: it passes the signal on to the other machines."""
    if process.poll() is None and command[0] == SRUN:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(SRUN_SECONDS)


def _variables(work: Path, backend: str, store: Path, metrics: Path, temporary: Path) -> dict[str, str]:
    return {
        **(CPU_VARIABLES if backend == "cpu" else cache_variables()),
        **os.environ,
        MARK: str(work.resolve()),
        # Else Ray makes a token that is written to the home directory and shared by all clusters of a user.
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        # Ray otherwise drains a node for half a minute when it is asked to end, longer than SLURM waits.
        "RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S": "0",
        "PLANNER_R1_STORE": str(store.resolve()),
        "VERL_USE_EXTERNAL_MODULES": f"planner_r1.training.{backend}",
        # Opened for writing by verl: a resumed run needs a path of its own.
        "VERL_FILE_LOGGER_PATH": str(metrics.resolve()),
        "VERL_LOGGING_LEVEL": "WARN",
        "RAY_TMPDIR": str(temporary),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_DEDUP_LOGS": "0",
        "TQ_NUM_THREADS": "1",  # else thousands of log lines
        "TOKENIZERS_PARALLELISM": "false",
        "HF_DATASETS_CACHE": str(temporary / "datasets"),
        "PYTHONUNBUFFERED": "1",
    }


def short_temporary_folder() -> Path:
    """A new folder whose path is short enough for the sockets that Ray makes in it."""
    base = tempfile.gettempdir()
    return Path(tempfile.mkdtemp(prefix="pr1-", dir=base if len(base) <= LONGEST_TEMPORARY_FOLDER else "/tmp"))


@contextlib.contextmanager
def _temporary_folder(work: Path) -> Iterator[Path]:
    """A temporary folder whose path is noted in the work folder, for a rerun to remove what a kill left."""
    note = work / "temporary_folder"
    if note.is_file():
        shutil.rmtree(note.read_text(encoding="utf-8"), ignore_errors=True)
    path = short_temporary_folder()
    note.write_text(str(path), encoding="utf-8")
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        note.unlink(missing_ok=True)
