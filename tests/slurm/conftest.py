"""A real SLURM of virtual nodes on this machine, and a checkout from which Snakemake submits to it."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
import yaml

from helpers.checkout import REPOSITORY, copy_repository

sys.path.insert(0, str(REPOSITORY / "slurm"))

from local_cluster import LocalCluster, install

MINUTES = 60
# This SLURM keeps no accounts, and what it runs is short.
LOCAL = ["--slurm-status-command", "squeue", "--slurm-init-seconds-before-status-checks", "2", "--latency-wait", "5"]


class Site:
    """A checkout on a cluster."""

    def __init__(self, folder: Path, cluster: LocalCluster):
        self.folder, self.cluster = folder, cluster
        self.study = yaml.safe_load((folder / "config" / "two_nodes.yaml").read_text(encoding="utf-8"))
        self.results = folder / "results" / self.study["study"]

    def start(self, *arguments: str) -> subprocess.Popen:
        """`snakemake --profile slurm` on the study as it stands; what it says goes to `self.said`."""
        (self.folder / "config" / "two_nodes.yaml").write_text(yaml.safe_dump(self.study), encoding="utf-8")
        command = [sys.executable, "-m", "snakemake", "--profile", "slurm", *arguments]
        command += ["--configfile", "config/two_nodes.yaml", *LOCAL]
        with open(self.folder / "said", "wb") as said:
            return subprocess.Popen(command, cwd=self.folder, stdout=said, stderr=said)

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

    def logged_steps(self, run: str, segment: int) -> list[int]:
        path = self.results / "work" / run / f"metrics.{segment}.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.is_file() else []
        return [json.loads(line)["step"] for line in lines if line.endswith("\n")]

    def wait(self, condition: Callable[[], object], otherwise: str) -> None:
        self.cluster.wait(condition, f"{otherwise}; Snakemake said:\n{self.said}\n", 10 * MINUTES)

    def kill_node(self, node: str) -> None:
        """What a power cut does: the node's daemon, its step daemons and all their processes are gone at once."""
        daemon = psutil.Process(self.cluster.daemon(node))
        tasks = [p for p in psutil.process_iter() if _environment(p).get("SLURMD_NODENAME") == node]
        steps = {parent for p in tasks for parent in p.parents() if parent.name() == "slurmstepd"}
        for process in (daemon, *steps, *tasks):
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue


def _environment(process: psutil.Process) -> dict[str, str]:
    try:
        return process.environ()
    except psutil.Error:
        return {}


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
def site(cluster, tmp_path_factory) -> Site:
    folder = tmp_path_factory.mktemp("site")
    copy_repository(folder)
    return Site(folder, cluster)
