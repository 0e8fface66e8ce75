#!/usr/bin/env python3
"""A real SLURM on this one machine, to try the profile without a cluster: virtual nodes with virtual GPUs.

    slurm/local_cluster.py up [FOLDER]      start it (installs Debian's packages first where they are absent)
    slurm/local_cluster.py down [FOLDER]    stop it; FOLDER is the one given to `up`

Needs root on Debian or Ubuntu. The nodes declare more processors, memory and GPUs than there are, so that jobs made for
a large cluster are scheduled; what they run still shares this machine. While it is up /etc/slurm/slurm.conf is a link
into FOLDER: Snakemake's executor takes SLURM_CONF out of a job's environment, so clients look there.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

PACKAGES = ("slurmctld", "slurmd", "slurm-client", "munge")
SYSTEM_CONFIG = Path("/etc/slurm/slurm.conf")
FOLDER = Path("/tmp/planner-r1-slurm")
PORTS = range(20_000, 30_000)
START_SECONDS = 60
STOP_SECONDS = 20
CLIENT_SECONDS = 20  # clients hang for minutes when no controller answers

SLURM_CONF = """\
ClusterName=local
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/run/munge.socket,cred_expire=15
CryptoType=crypto/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/run/slurmctld.pid
SlurmdPidFile={folder}/run/slurmd.%n.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=2
SlurmdParameters=config_overrides
GresTypes=gpu
ReturnToService=2
SlurmdTimeout={node_timeout}
InactiveLimit=0
KillWait=5
OverTimeLimit=0
MinJobAge=3600
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
{nodes}
PartitionName=cpu Nodes={cpu_nodes} Default=YES MaxTime=INFINITE State=UP
PartitionName=gpu Nodes={gpu_nodes} MaxTime=INFINITE State=UP
"""
GRES_CONF = """\
AutoDetect=off
NodeName={gpu_nodes} Name=gpu File={folder}/dev/nvidia[0-{last_gpu}] Flags=nvidia_gpu_env
"""


@dataclass(frozen=True)
class LocalCluster:
    """One cluster; everything it writes lies in `folder`. GPUs, processors and MiB of memory are those each node
    declares; `node_timeout` is the seconds after which a node that does not answer counts as dead."""

    folder: Path
    cpu_nodes: tuple[str, ...] = ("cpu01",)
    gpu_nodes: tuple[str, ...] = ("gpu01", "gpu02")
    gpus: int = 8
    cpus: int = 128
    memory: int = 2_000_000
    node_timeout: int = 20

    @property
    def config(self) -> Path:
        return self.folder / "slurm.conf"

    @property
    def nodes(self) -> tuple[str, ...]:
        return self.cpu_nodes + self.gpu_nodes

    def up(self) -> None:
        """Start the controller and every node, and wait until all of them take jobs.

        Raises:
            RuntimeError: something did not come up; the message names the folder of the logs.
        """
        if self._running("slurmctld") or self._running("munged"):
            raise RuntimeError(f"{self.folder}: a cluster is up already; stop it with `down {self.folder}`")
        for name in ("log", "run", "dev", "state", "munge", *(f"spool/{node}" for node in self.nodes)):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        (self.folder / "munge").chmod(0o700)
        self._write_config()
        self._link_system_config()
        self._start_munge()
        self._start("slurmctld", "-c", "-L", str(self.folder / "log" / "slurmctld.log"))
        for node in self.nodes:
            self.start_node(node)
        self.wait(lambda: self.idle_nodes() == set(self.nodes), "not every node became idle")

    def down(self) -> None:
        """Cancel all jobs, stop what `up` started, by process id, and end what jobs left behind."""
        with contextlib.suppress(subprocess.SubprocessError):
            self.client("scancel", "--me")
            self.wait(lambda: not self.client("squeue", "--noheader"), "jobs did not end")
        daemons = [*(f"slurmd.{node}" for node in self.nodes), "slurmctld", "munged"]
        pids = [pid for name in daemons if (pid := self._running(name))]
        for pid in pids:
            os.kill(pid, signal.SIGTERM)
        self.wait(lambda: not any(_alive(pid) for pid in pids), "a daemon did not end", STOP_SECONDS)
        for pid in (pid for node in self.nodes for pid in self.tasks(node)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if SYSTEM_CONFIG.is_symlink() and SYSTEM_CONFIG.readlink() == self.config:
            SYSTEM_CONFIG.unlink()

    def start_node(self, node: str) -> None:
        self._start("slurmd", "-N", node)

    def client(self, *command: str) -> str:
        """What one of SLURM's clients prints."""
        done = subprocess.run(
            command, env=self._environment(), capture_output=True, text=True, timeout=CLIENT_SECONDS, check=True
        )
        return done.stdout.strip()

    def idle_nodes(self) -> set[str]:
        with contextlib.suppress(subprocess.SubprocessError):
            rows = self.client("sinfo", "--noheader", "--Node", "--format=%N %t").splitlines()
            return {row.split()[0] for row in rows if row.split()[1] == "idle"}
        return set()

    def daemon(self, node: str) -> int | None:
        """Process id of a node's slurmd, None where it is not running."""
        return self._running(f"slurmd.{node}")

    def tasks(self, node: str) -> list[int]:
        """The processes of jobs on a node. This SLURM (proctrack/linuxproc) loses those whose parent has ended."""
        name, found = f"SLURMD_NODENAME={node}".encode(), []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and name in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
        return [pid for pid in found if _alive(pid)]

    def wait(self, condition, otherwise: str, seconds: float = START_SECONDS) -> None:
        """Poll until `condition()` holds."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise RuntimeError(f"{otherwise} within {seconds:.0f} s; see {self.folder}/log")
            time.sleep(0.2)

    # ---- files ------------------------------------------------------------------------------------------------

    def _write_config(self) -> None:
        ports = _free_ports(1 + len(self.nodes))
        lines = []
        for node, port in zip(self.nodes, ports[1:], strict=True):
            gres = f" Gres=gpu:{self.gpus}" if node in self.gpu_nodes else ""
            lines.append(
                f"NodeName={node} NodeHostname={_host()} NodeAddr=127.0.0.1 Port={port} CPUs={self.cpus} "
                f"RealMemory={self.memory}{gres} State=UNKNOWN"
            )
        names = {"cpu_nodes": ",".join(self.nodes), "gpu_nodes": ",".join(self.gpu_nodes), "folder": self.folder}
        text = SLURM_CONF.format(
            host=_host(),
            controller_port=ports[0],
            node_timeout=self.node_timeout,
            nodes="\n".join(lines),
            **names,
        )
        self.config.write_text(text, encoding="utf-8")
        gres = GRES_CONF.format(last_gpu=self.gpus - 1, **names)
        (self.folder / "gres.conf").write_text(gres, encoding="utf-8")
        for i in range(self.gpus):  # slurmd asks for a character device behind each GPU
            link = self.folder / "dev" / f"nvidia{i}"
            link.unlink(missing_ok=True)
            link.symlink_to("/dev/null")

    def _link_system_config(self) -> None:
        if SYSTEM_CONFIG.exists() and not SYSTEM_CONFIG.is_symlink():
            raise RuntimeError(f"{SYSTEM_CONFIG}: this machine belongs to a cluster already; nothing was started")
        if SYSTEM_CONFIG.is_symlink():
            other = replace(self, folder=SYSTEM_CONFIG.readlink().parent)
            if other._running("slurmctld"):
                raise RuntimeError(f"{other.folder}: another cluster is up; stop it with `down {other.folder}`")
        SYSTEM_CONFIG.parent.mkdir(parents=True, exist_ok=True)
        SYSTEM_CONFIG.unlink(missing_ok=True)
        SYSTEM_CONFIG.symlink_to(self.config)

    # ---- processes --------------------------------------------------------------------------------------------

    def _start_munge(self) -> None:
        key = self.folder / "munge" / "munge.key"
        key.write_bytes(secrets.token_bytes(1024))
        key.chmod(0o600)
        self._start(
            "munged",
            "--force",
            f"--key-file={key}",
            f"--socket={self.folder}/run/munge.socket",
            f"--pid-file={self.folder}/run/munged.pid",
            f"--log-file={self.folder}/log/munged.log",
            f"--seed-file={self.folder}/munge/seed",
        )

    def _start(self, *command: str) -> None:
        done = subprocess.run(command, env=self._environment(), capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{command[0]} did not start: {done.stderr.strip()}; see {self.folder}/log")

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "SLURM_CONF": str(self.config)}

    def _running(self, name: str) -> int | None:
        with contextlib.suppress(OSError, ValueError):
            pid = int((self.folder / "run" / f"{name}.pid").read_text())
            if _alive(pid):
                return pid
        return None


def install() -> None:
    """Install Debian's packages of SLURM where they are absent."""
    if shutil.which("slurmctld") and shutil.which("slurmd") and shutil.which("munged") and shutil.which("sbatch"):
        return
    if not shutil.which("apt-get"):
        raise RuntimeError(f"SLURM is not installed and there is no apt-get: install {', '.join(PACKAGES)} yourself")
    quiet = {"stdout": subprocess.DEVNULL, "env": {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}}
    subprocess.run(["apt-get", "update", "--quiet"], **quiet)
    subprocess.run(["apt-get", "install", "--yes", "--no-install-recommends", *PACKAGES], check=True, **quiet)


def _host() -> str:
    return socket.gethostname().split(".")[0]


def _alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


def _free_ports(count: int) -> list[int]:
    """Ports below those that the kernel hands out: the port of a node that is down has to be free when it is back."""
    free: list[int] = []
    for port in random.sample(PORTS, len(PORTS)):
        with contextlib.suppress(OSError), socket.socket() as one:
            one.bind(("127.0.0.1", port))
            free.append(port)
        if len(free) == count:
            return free
    raise RuntimeError(f"fewer than {count} ports from {PORTS[0]} to {PORTS[-1]} are free")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("up", "down"))
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER, metavar="FOLDER")
    arguments = parser.parse_args()
    cluster = LocalCluster(arguments.folder.resolve())
    if os.geteuid() != 0:
        sys.exit("a local SLURM needs root")
    try:
        if arguments.command == "down":
            return cluster.down()
        install()
        cluster.up()
    except (RuntimeError, subprocess.CalledProcessError) as error:
        sys.exit(f"error: {error}")
    print(cluster.client("sinfo"))
    print(f"up; logs in {cluster.folder}/log; stop it with `slurm/local_cluster.py down {cluster.folder}`")


if __name__ == "__main__":
    main()
