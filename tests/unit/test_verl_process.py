"""Nothing that was started for a run outlives it, and nothing else is touched."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from planner_r1.errors import InputError
from planner_r1.processes import MARK, TAIL_LINES, end_all, marked
from planner_r1.training import process

FOREVER = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(3600)"
)
DEADLINE = 60  # seconds; a loaded machine is slow, a process that never ends is not


def start(code, mark):
    environment = {**os.environ, MARK: str(mark)} if mark else dict(os.environ)
    command = [sys.executable, "-c", code]
    child = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert child.stdout.readline() == "up\n"
    return child


@pytest.fixture
def children():
    started = []
    yield started
    for child in started:
        child.kill()
        child.wait()
        child.stdout.close()


def test_only_processes_with_the_mark_of_the_folder_are_ended(tmp_path, children):
    marked, other, unmarked = (start(FOREVER, m) for m in (tmp_path / "work", tmp_path / "work2", None))
    children += [marked, other, unmarked]
    end_all(tmp_path / "work")
    assert marked.wait(DEADLINE) == -signal.SIGKILL
    assert other.poll() is None
    assert unmarked.poll() is None


def test_a_detached_child_of_a_dead_parent_is_found(tmp_path, children):
    parent_code = (
        "import subprocess, sys\n"
        f"command = [sys.executable, '-c', {FOREVER!r}]\n"
        "child = subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE)\n"
        "child.stdout.readline()\n"
        "print('up', flush=True)\n"
        "print(child.pid, flush=True)\n"
    )
    parent = start(parent_code, tmp_path)
    children.append(parent)
    orphan = int(parent.stdout.readline())
    parent.wait(DEADLINE)
    end_all(tmp_path)
    deadline = time.monotonic() + DEADLINE
    while alive(orphan) and time.monotonic() < deadline:  # a killed process is not gone at once
        time.sleep(0.01)
    assert not alive(orphan)


def alive(pid):
    try:
        return (Path("/proc") / str(pid) / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def run_fake_verl(tmp_path, code, nodes=1, **settings):
    """`run_verl` with a module of our own in the place of `planner_r1.training.run_verl`."""
    package = tmp_path / "fake" / "planner_r1" / "training"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").touch()
    (package / "run_verl.py").write_text(code, encoding="utf-8")
    work = Path(os.path.relpath(tmp_path / "work"))  # as Snakemake's rules name it
    work.mkdir()
    config = {"trainer": {"nnodes": nodes, "n_gpus_per_node": 3}, "ray_kwargs": {"ray_init": {"num_cpus": 16}}}
    (tmp_path / "c.json").write_text(json.dumps(config), encoding="utf-8")
    log, store, metrics = work / "verl.log", tmp_path / "store", work / "metrics.jsonl"
    process.run_verl(tmp_path / "c.json", work, log, "cpu", store, metrics, **settings)
    return log


@pytest.fixture
def fake_package(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "fake"))


def test_a_failure_shows_the_end_of_the_log(tmp_path, fake_package):
    code = "print('one'); print('\\n'.join(f'line {i}' for i in range(100))); raise SystemExit('it broke')"
    with pytest.raises(process.TrainingError, match="status 1") as error:
        run_fake_verl(tmp_path, code)
    lines = str(error.value).splitlines()
    assert lines[-1] == "it broke"
    assert len(lines) == TAIL_LINES + 1


def test_the_environment_names_store_metrics_and_a_short_temporary_folder(tmp_path, fake_package):
    code = (
        "import os\n"
        "for name in ('PLANNER_R1_STORE', 'VERL_FILE_LOGGER_PATH', 'VERL_USE_EXTERNAL_MODULES', 'RAY_TMPDIR'):\n"
        "    print(os.environ[name])\n"
    )
    lines = run_fake_verl(tmp_path, code).read_text(encoding="utf-8").splitlines()
    assert lines[:3] == [str(tmp_path / "store"), str(tmp_path / "work" / "metrics.jsonl"), "planner_r1.training.cpu"]
    assert len(lines[3]) < 42  # Ray adds up to 65 characters; a socket's path has at most 107
    assert not Path(lines[3]).exists()


def test_what_is_called_meanwhile_may_stop_everything(tmp_path, fake_package):
    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_fake_verl(tmp_path, FOREVER, while_running=stop)
    assert marked(tmp_path / "work") == []


def test_sigterm_ends_the_launcher_and_what_it_started(tmp_path, fake_package):
    launcher_code = (
        "import os, sys; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path\n"
        "from test_verl_process import FOREVER, run_fake_verl\n"
        # only now, for verl: the launcher itself needs the real package
        "os.environ['PYTHONPATH'] = str(Path(sys.argv[2]) / 'fake')\n"
        "run_fake_verl(Path(sys.argv[2]), FOREVER)\n"
    )
    launcher = subprocess.Popen(
        [sys.executable, "-c", launcher_code, str(Path(__file__).parent), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(Path(process.__file__).parents[2])},
    )
    deadline = time.monotonic() + DEADLINE
    log = tmp_path / "work" / "verl.log"
    while not (log.is_file() and log.read_text(encoding="utf-8")) and time.monotonic() < deadline:
        time.sleep(0.05)
    launcher.terminate()
    assert launcher.wait(DEADLINE) == 128 + signal.SIGTERM
    assert marked(tmp_path / "work") == []


def test_several_nodes_are_refused_outside_a_job(tmp_path, fake_package, monkeypatch):
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    with pytest.raises(InputError, match=r"^trainer\.nnodes: 2 nodes\b.*--profile slurm"):
        run_fake_verl(tmp_path, "", nodes=2)


@pytest.fixture
def fake_srun(tmp_path, monkeypatch):
    """An `srun` that prints its arguments, then waits; asked to end it says so and leaves."""
    srun = tmp_path / "bin" / "srun"
    srun.parent.mkdir()
    srun.write_text("#!/bin/bash\ntrap 'echo asked to end; exit 143' TERM\necho $@\nsleep 600 & wait\n")
    srun.chmod(0o755)
    monkeypatch.setenv("PATH", f"{srun.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_JOB_ID", "1")


def test_several_nodes_are_one_task_each_and_asked_to_end_by_srun(tmp_path, fake_package, fake_srun):
    log = tmp_path / "work" / "verl.log"

    def stop_when_up():
        if log.read_text(encoding="utf-8"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_fake_verl(tmp_path, "", nodes=2, while_running=stop_when_up)
    arguments, last = log.read_text(encoding="utf-8").splitlines()
    assert last == "asked to end"
    assert arguments.startswith("--nodes=2 --ntasks=2 --ntasks-per-node=1 ")
    # a site may have set either the other way
    assert {"--kill-on-bad-exit=0", "--wait=0"} <= set(arguments.split())
    cluster, verl = arguments.split(" -- ")
    assert f" {tmp_path}/work/ray." in cluster
    assert "planner_r1.training.ray_cluster" in cluster and cluster.endswith("--gpus=3 --cpus=16")
    assert verl.endswith(f"planner_r1.training.run_verl {tmp_path / 'c.json'}")
