"""A real SLURM of virtual nodes on this machine, and a checkout from which Snakemake submits to it."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import psutil
import pytest
import yaml

from helpers.checkout import REPOSITORY, copy_repository

sys.path.insert(0, str(REPOSITORY / "slurm"))

from local_cluster import LocalCluster, install

from planner_r1.files import read_lines
from planner_r1.processes import tail

MINUTES = 60
ACCOUNTS = (
    ("squeue", "--states=all", "--format=%i %T %M %r %N %k"),
    ("sinfo", "--Node", "--format=%N %t %E"),
    ("scontrol", "show", "job"),
    ("ps", "-eo", "pid,ppid,stat,etime,args", "--forest"),
)
# This SLURM keeps no accounts, and what it runs is short.
LOCAL = ["--slurm-status-command", "squeue", "--slurm-init-seconds-before-status-checks", "2", "--latency-wait", "5"]


class Site:
    """A checkout on a cluster."""

    def __init__(self, folder: Path, cluster: LocalCluster):
        self.folder, self.cluster = folder, cluster
        self.started: list[subprocess.Popen] = []
        self.study = yaml.safe_load((folder / "config" / "two_nodes.yaml").read_text(encoding="utf-8"))
        self.results = folder / "results" / self.study["study"]

    def start(self, *arguments: str) -> subprocess.Popen:
        """`snakemake --profile slurm` on the study as it stands; what it says goes to `self.said`."""
        (self.folder / "config" / "two_nodes.yaml").write_text(yaml.safe_dump(self.study), encoding="utf-8")
        command = [sys.executable, "-m", "snakemake", "--profile", "slurm", *arguments]
        command += ["--configfile", "config/two_nodes.yaml", *LOCAL]
        with open(self.folder / "said", "wb") as said:
            self.started.append(subprocess.Popen(command, cwd=self.folder, stdout=said, stderr=said))
        return self.started[-1]

    @property
    def said(self) -> str:
        return (self.folder / "said").read_text(encoding="utf-8")

    def job(self, run: str) -> dict[str, str] | None:
        """Id, state and nodes of the SLURM job that trains a run now, None where there is none."""
        comment = "rule_train_run_wildcards_" + run.replace("/seed", "/").replace("/", "_")
        states = "--states=PENDING,RUNNING"
        for line in self.cluster.client("squeue", "--noheader", states, "--format=%i|%T|%B|%N|%k").splitlines():
            job, state, batch, nodes, told = line.split("|")
            if told == comment:
                return {"id": job, "state": state, "batch": batch, "nodes": nodes}
        return None

    def state(self, job: str) -> str:
        return self.cluster.client("squeue", "--noheader", "--states=all", f"--jobs={job}", "--format=%T")

    def segments(self, run: str, steps: int = 0) -> list[int]:
        """The numbers of a run's segments so far that logged at least that many steps, ascending. Not every attempt
        makes a segment with steps: verl may not come up, or be ended before."""
        logs = self.results.glob(f"work/{run}/metrics.*.jsonl")
        made = {int(path.name.split(".")[1]): [line["step"] for line in read_lines(path)] for path in logs}
        return sorted(number for number, logged in made.items() if sum(step > 0 for step in logged) >= steps)

    def goes_on(self, run: str, after: int) -> bool:
        """Whether a run made steps, and so has checkpoints, in a segment behind `after`."""
        return any(number > after for number in self.segments(run, steps=2))

    def wait(self, condition: Callable[[], object], otherwise: str, seconds: float = 10 * MINUTES) -> None:
        def holds() -> bool:
            with contextlib.suppress(subprocess.SubprocessError):  # a busy controller answers late
                return bool(condition())
            return False

        try:
            self.cluster.wait(holds, otherwise, seconds)
        except RuntimeError as error:
            raise RuntimeError(f"{error}\n{self.account()}") from None

    def end(self, snakemake: subprocess.Popen) -> int:
        """Snakemake's exit status when it has ended."""
        self.wait(lambda: snakemake.poll() is not None, "Snakemake did not end", 30 * MINUTES)
        return snakemake.returncode

    def account(self) -> str:
        """How Snakemake, the cluster, its jobs and the runs stand now, and what their logs end with."""
        parts = [("Snakemake", self.said)]
        for command in ACCOUNTS:
            with contextlib.suppress(subprocess.SubprocessError):  # a controller that is gone is told by its log
                parts.append((" ".join(command), self.cluster.client(*command)))
        work = [path for path in sorted(self.results.glob("work/*/*/*/*")) if path.is_file()]
        parts.append(("work folders", "\n".join(f"{path} {path.stat().st_size}" for path in work)))
        logs = [*self.cluster.folder.glob("log/*"), *self.folder.glob("logs/**/*.log"), *self.results.glob("**/*.log")]
        parts += [(str(path), _last_lines(path)) for path in sorted(logs)]
        return "\n".join(f"---- {title}\n{text}" for title, text in parts)

    def nodes(self, job: Mapping[str, str]) -> list[str]:
        return self.cluster.client("scontrol", "show", "hostnames", job["nodes"]).split()

    def hang(self, job: Mapping[str, str]) -> None:
        """Make a run hang: what trains is stopped, all else stays up."""
        tasks = {pid for node in self.nodes(job) for pid in self.cluster.tasks(node)}
        started = (process for process in psutil.process_iter(["cmdline"]) if process.pid in tasks)
        workers = [process for process in started if "".join(process.info["cmdline"]).startswith("ray::WorkerDict")]
        assert workers
        for worker in workers:
            worker.suspend()

    def kill_node(self, node: str) -> None:
        """What a power cut does: the node's daemon, its step daemons and all their processes are gone at once."""
        tasks, steps = self.cluster.tasks(node), set()
        for task in tasks:
            with contextlib.suppress(psutil.NoSuchProcess):
                steps |= {parent.pid for parent in psutil.Process(task).parents() if parent.name() == "slurmstepd"}
        for pid in (self.cluster.daemon(node), *steps, *tasks):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _last_lines(path: Path) -> str:
    return "\n".join(line[:300] for line in tail(path).splitlines())


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    if os.geteuid() != 0:
        pytest.skip("a local SLURM needs root")
    install()
    cluster = LocalCluster(tmp_path_factory.mktemp("slurm"), gpu_nodes=("gpu01", "gpu02", "gpu03", "gpu04"))
    cluster.up()
    yield cluster
    cluster.down()


@pytest.fixture(scope="session")
def site(cluster, tmp_path_factory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    copy_repository(folder)
    site = Site(folder, cluster)
    yield site
    for snakemake in site.started:  # of a test that failed
        snakemake.kill()
        snakemake.wait()
