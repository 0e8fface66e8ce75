"""The Ray cluster over the tasks of a SLURM step, with the tasks started here by hand: SLURM only counts them."""

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from helpers.messages import any_names

pytestmark = pytest.mark.slow

COUNT_NODES = """
import os, ray
ray.init(address="auto", log_to_driver=False)
nodes = [n for n in ray.nodes() if n["Alive"]]
print("nodes", len(nodes), "gpus", int(ray.cluster_resources()["GPU"]), flush=True)
"""


@pytest.fixture
def start(tmp_path) -> Callable[..., subprocess.Popen]:
    """Start task `rank` of `tasks`; what it prints goes to `<tmp_path>/out<rank>`."""
    mark = secrets.token_hex(8)
    token = secrets.token_hex(32)
    started = []

    def start(rank: int, tasks: int, *command: str, options: tuple[str, ...] = ()) -> subprocess.Popen:
        environment = {
            **os.environ,
            "SLURM_PROCID": str(rank),
            "SLURM_STEP_NUM_TASKS": str(tasks),
            "SLURMD_NODENAME": f"node-{rank}",
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": token,
            "RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S": "0",
            "TEST_MARK": mark,
        }
        module = ["-m", "planner_r1.training.ray_cluster", str(tmp_path / "rendezvous"), "--cpus=2", "--gpus=3"]
        with open(tmp_path / f"out{rank}", "wb") as out:
            process = subprocess.Popen(
                [sys.executable, *module, *options, "--", *command], env=environment, stdout=out, stderr=out
            )
        started.append(process)
        return process

    yield start
    for process in started:
        process.terminate()
        process.wait()
    assert not left_over(mark)


def left_over(mark: str) -> list[str]:
    """Processes that carry the mark of this test in their environment."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("TEST_MARK") == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(" ".join(process.cmdline()))
        except psutil.Error:
            continue
    return found


def output(tmp_path: Path, rank: int) -> str:
    return (tmp_path / f"out{rank}").read_text(encoding="utf-8")


def test_every_task_is_a_node_and_the_command_s_status_is_task_0_s(start, tmp_path):
    tasks = [start(rank, 2, sys.executable, "-c", COUNT_NODES + "raise SystemExit(7)") for rank in range(2)]
    assert [task.wait() for task in tasks] == [7, 0], output(tmp_path, 0) + output(tmp_path, 1)
    assert "nodes 2 gpus 6" in output(tmp_path, 0)


def test_a_task_that_never_comes_is_named(start, tmp_path):
    ran = tmp_path / "ran"
    task = start(0, 2, "touch", str(ran), options=("--wait=8",))
    assert task.wait() == 1
    any_names(output(tmp_path, 0), "1 of 2", "8 s")
    any_names(output(tmp_path, 0), "task 1", "never")
    assert not ran.exists()


def test_a_task_without_a_head_gives_up(start, tmp_path):
    assert start(1, 2, "true", options=("--wait=1",)).wait() == 1
    any_names(output(tmp_path, 1), "no Ray head", "1 s")


def test_a_signal_ends_everything_and_is_told(start, tmp_path):
    ready = tmp_path / "ready"
    os.mkfifo(ready)
    stubborn = f"trap '' TERM; echo > {ready}; while true; do sleep 1; done"
    head = start(0, 2, "bash", "-c", stubborn)
    other = start(1, 2, "true")
    ready.read_text()  # until the command runs
    head.send_signal(signal.SIGTERM)
    assert head.wait() == 128 + signal.SIGTERM
    assert other.wait() == 0


def test_a_node_lost_under_the_command_fails_its_task_and_the_command(start, tmp_path):
    ready = tmp_path / "ready"
    os.mkfifo(ready)
    head = start(0, 2, "bash", "-c", f"echo > {ready}; sleep 600")
    other = start(1, 2, "true")
    ready.read_text()
    raylet = next(p for p in psutil.Process(other.pid).children(recursive=True) if p.name() == "raylet")
    raylet.kill()
    assert other.wait() == 1
    any_names(output(tmp_path, 1), "Ray node", "status")
    assert head.wait() == 1
    any_names(output(tmp_path, 0), "task 1", "ended")


def test_a_task_that_ends_early_is_not_waited_for(start, tmp_path):
    ran = tmp_path / "ran"
    head, other = start(0, 2, "touch", str(ran)), start(1, 2, "true", options=("--wait=0",))
    assert other.wait() == 1
    assert head.wait() == 1
    assert "task 1 ended" in output(tmp_path, 0)
    assert not ran.exists()


def test_outside_srun_it_says_so(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "planner_r1.training.ray_cluster", str(tmp_path), "--", "true"],
        env={k: v for k, v in os.environ.items() if not k.startswith("SLURM_")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    any_names(done.stderr, "SLURM_PROCID", "srun")
