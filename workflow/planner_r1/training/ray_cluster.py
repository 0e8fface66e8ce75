"""A Ray cluster of one's own over the nodes of a SLURM job: one Ray node a task, gone when the command has ended.

    srun --nodes=N --ntasks=N --ntasks-per-node=1 python -m planner_r1.training.ray_cluster FOLDER -- COMMAND...

FOLDER lies on a file system that all nodes share, and is new for each call. Task 0 starts Ray's head, waits for the
other nodes, runs the command with RAY_ADDRESS set and returns its exit status; the others join and leave with it. Where
one of them fails, task 0 sees it in FOLDER and fails too, so that srun need not end any. Each task ends every process
that it brought about, and only those: another cluster on the same machine is not touched, which rules out `ray stop`
and `ray symmetric-run`.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from planner_r1.processes import tail
from planner_r1.training.checkpoints import write_atomically
from planner_r1.training.process import short_temporary_folder

PR_SET_CHILD_SUBREAPER = 36
POLL_SECONDS = 0.5
WAIT_SECONDS = 300
# A node that does not register within 30 s gives up, which is fixed in Ray and too short on a busy machine.
JOIN_ATTEMPTS = 3
SPARE_SECONDS = 5  # between asking a process to end and killing it
FAILED = 1


class ClusterError(Exception):
    """The cluster did not come up, or lost a node; the message says which."""


@dataclass(frozen=True)
class Task:
    """One task of the SLURM step, and the Ray node that it starts.

    cpus, gpus: what the Ray node offers; None leaves it to Ray to find out
    """

    folder: Path
    rank: int
    tasks: int
    wait_seconds: float = WAIT_SECONDS
    cpus: int | None = None
    gpus: int | None = None

    @property
    def address_file(self) -> Path:
        return self.folder / "address"

    def ended_file(self, rank: int) -> Path:
        """Written by a task that ends; holds its exit status. All end after task 0, unless they fail."""
        return self.folder / f"node{rank}.ended"

    @property
    def log(self) -> Path:
        return self.folder / f"node{self.rank}.log"

    @property
    def name_file(self) -> Path:
        return self.folder / f"node{self.rank}.name"


def run_task(task: Task, command: Sequence[str]) -> int:
    """Take part in the cluster until the command has ended. Returns the exit status of this task: the command's for
    task 0, else 0.

    Raises:
        ClusterError: a node did not come up in time, or ended before the command did.
    """
    task.folder.mkdir(parents=True, exist_ok=True)
    write_atomically(task.name_file, os.environ.get("SLURMD_NODENAME", socket.gethostname()))
    with _temporary_folder(), _descendants_ended():
        status = FAILED
        try:
            status = _join(task) if task.rank else _lead(task, command)
        finally:
            write_atomically(task.ended_file(task.rank), str(status))
        return status


def _lead(task: Task, command: Sequence[str]) -> int:
    port = _free_port()
    address = f"{_own_address()}:{port}"
    os.environ["RAY_ADDRESS"] = address
    head = _start_ray(task, "--head", f"--node-ip-address={address.rpartition(':')[0]}", f"--port={port}")
    _wait_for_nodes(task, head, address)
    process = subprocess.Popen(command)
    while process.poll() is None:
        _check_nodes(task, head, " under the command")
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(POLL_SECONDS)
    # a command that was killed by a signal ends like one of a shell
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


def _check_nodes(task: Task, head: subprocess.Popen, when: str = "") -> None:
    """Raise ClusterError where a node has ended."""
    if head.poll() is not None:
        raise ClusterError(f"Ray's head ended with status {head.returncode}{when}{_shown(task.log)}")
    for rank in range(1, task.tasks):
        if task.ended_file(rank).is_file():
            raise ClusterError(f"task {rank} ended{when}; what it said is in this log too")


def _wait_for_nodes(task: Task, head: subprocess.Popen, address: str) -> None:
    """Tell the other tasks the address, and wait until every node has joined."""
    import ray

    end = time.monotonic() + task.wait_seconds
    alive: list[str] = []
    while time.monotonic() < end:
        _check_nodes(task, head)
        with contextlib.suppress(ConnectionError, TimeoutError):
            if not ray.is_initialized():
                ray.init(address=address, log_to_driver=False, logging_level="ERROR")
                write_atomically(task.address_file, address)
            nodes = [node for node in ray.nodes() if node["Alive"]]
            alive = [node["NodeManagerHostname"] for node in nodes]
            if len(nodes) >= task.tasks:
                print(f"Ray is up on {len(nodes)} nodes: {json.dumps(ray.cluster_resources())}", flush=True)
                ray.shutdown()
                _leave_on_signals()  # Ray put back the handlers of its own
                return
        time.sleep(POLL_SECONDS)
    raise ClusterError(
        f"{len(alive)} of {task.tasks} Ray nodes are up after {task.wait_seconds:.0f} s ({', '.join(alive)}); "
        f"each task's log is {task.folder}/node<task>.log{_missing(task)}"
    )


def _join(task: Task) -> int:
    end = time.monotonic() + task.wait_seconds
    while not task.address_file.is_file():
        if task.ended_file(0).is_file():
            return 0
        if time.monotonic() > end:
            raise ClusterError(f"no Ray head came up within {task.wait_seconds:.0f} s: no {task.address_file}")
        time.sleep(POLL_SECONDS)
    address = task.address_file.read_text(encoding="utf-8")
    for attempt in range(1, JOIN_ATTEMPTS + 1):
        node = _start_ray(task, f"--address={address}")
        while node.poll() is None:
            if task.ended_file(0).is_file():
                return 0
            time.sleep(POLL_SECONDS)
        if task.ended_file(0).is_file():
            return 0
        if "Ray runtime started" in task.log.read_text(encoding="utf-8", errors="replace"):
            raise ClusterError(f"the Ray node ended with status {node.returncode} under the command{_shown(task.log)}")
        print(f"task {task.rank}: joining Ray failed ({attempt} of {JOIN_ATTEMPTS})", file=sys.stderr, flush=True)
    raise ClusterError(f"the Ray node could not join {address}{_shown(task.log)}")


def _start_ray(task: Task, *arguments: str) -> subprocess.Popen:
    """`ray start`, which with --block stays until the node ends."""
    command = [str(Path(sys.executable).with_name("ray")), "start", *arguments, "--block", "--disable-usage-stats"]
    if not task.rank:
        command.append("--include-dashboard=false")
    command.append(f"--temp-dir={os.environ['RAY_TMPDIR']}")
    command += [f"--num-cpus={task.cpus}"] if task.cpus is not None else []
    command += [f"--num-gpus={task.gpus}"] if task.gpus is not None else []
    with open(task.log, "wb") as output:
        return subprocess.Popen(command, stdout=output, stderr=output, stdin=subprocess.DEVNULL)


def _own_address() -> str:
    """This node's address as the others reach it: by its name in SLURM, else as Ray finds it."""
    with contextlib.suppress(OSError, KeyError):
        address = socket.gethostbyname(os.environ["SLURMD_NODENAME"])
        if not address.startswith("127."):
            return address
    import ray

    return ray.util.get_node_ip_address()


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("", 0))
        return one.getsockname()[1]


def _missing(task: Task) -> str:
    absent = [str(rank) for rank in range(task.tasks) if not (task.folder / f"node{rank}.name").is_file()]
    return f"; task {', '.join(absent)} never started" if absent else ""


def _shown(log: Path) -> str:
    return f"; the last lines of {log}:\n{tail(log)}"


@contextlib.contextmanager
def _temporary_folder() -> Iterator[None]:
    """Folders of this node alone: /tmp is not shared between machines, and one machine may hold several nodes."""
    path = short_temporary_folder()
    os.environ["RAY_TMPDIR"] = str(path)
    os.environ["HF_DATASETS_CACHE"] = str(path / "datasets")
    try:
        yield
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def _descendants_ended() -> Iterator[None]:
    """End every process that this one brought about, however it was started.

    Ray's daemons leave the session and orphan one another. As a subreaper this process inherits the orphans, so that
    all of them stay below it.
    """
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    _leave_on_signals()
    try:
        yield
    finally:
        _end(lambda: descendants(os.getpid()))


def _leave_on_signals() -> None:
    def leave(number, frame):
        signal.signal(number, signal.SIG_IGN)  # one is enough: the clean-up is not to be cut short
        raise SystemExit(128 + number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, leave)


def _end(left: Callable[[], list[int]]) -> None:
    """Ask processes to end, then kill what is left, and reap all."""
    for number, seconds in ((signal.SIGTERM, SPARE_SECONDS), (signal.SIGKILL, SPARE_SECONDS)):
        end = time.monotonic() + seconds
        asked: set[int] = set()
        while (pids := left()) and time.monotonic() < end:
            for pid in set(pids) - asked:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            asked |= set(pids)
            _reap()
            time.sleep(0.05)


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def descendants(pid: int) -> list[int]:
    """The living processes below one, from the kernel's table."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
                if state not in "ZX":
                    children.setdefault(int(parent), []).append(int(entry.name))
    found, queue = [], [pid]
    while queue:
        below = children.get(queue.pop(), [])
        found += below
        queue += below
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="shared by all nodes, and new for each call")
    parser.add_argument("--cpus", type=int, help="processors that each Ray node offers; default: those of the job")
    parser.add_argument("--gpus", type=int, help="GPUs that each Ray node offers; default: as many as Ray finds")
    parser.add_argument("--wait", type=float, default=WAIT_SECONDS, help="seconds until all nodes must be up")
    parser.add_argument("command", nargs="+", help="after `--`: what task 0 runs")
    options = parser.parse_args(arguments)
    try:
        rank, tasks = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_STEP_NUM_TASKS"])
    except KeyError as error:
        parser.error(f"{error.args[0]} is not set: start it by srun, one task a node")
    cpus = options.cpus or int(os.environ.get("SLURM_CPUS_ON_NODE", 0)) or None
    try:
        return run_task(Task(options.folder, rank, tasks, options.wait, cpus, options.gpus), options.command)
    except ClusterError as error:
        print(f"task {rank}: {error}", file=sys.stderr, flush=True)
        return FAILED


if __name__ == "__main__":
    sys.exit(main())
