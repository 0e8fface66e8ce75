"""A profile of Snakemake, as far as it says what jobs ask of a cluster."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from planner_r1.errors import InputError

MINUTES = {"d": 24 * 60, "h": 60, "m": 1, "": 1}
MEGABYTES = {"mb": 1, "m": 1, "gb": 1000, "g": 1000, "tb": 1_000_000, "t": 1_000_000}


@dataclass(frozen=True)
class Request:
    """What one job of a rule asks for; None where the profile does not say.

    tasks: of the whole job, started by the launcher `mpi`
    gpus: of each node; gpu_type: None for any
    memory: MB of each node; minutes: the time limit
    """

    rule: str
    partition: str | None
    nodes: int
    tasks: int
    mpi: str | None
    gpus: int
    gpu_type: str | None
    cpus: int | None
    memory: float | None
    minutes: float | None


@dataclass(frozen=True)
class Profile:
    """A profile's file and what it holds."""

    path: Path
    settings: dict[str, Any]

    @property
    def uses_slurm(self) -> bool:
        return self.settings.get("executor") == "slurm"

    @property
    def jobs(self) -> int:
        """How many jobs run at a time, at most."""
        jobs = self.settings.get("jobs", 1)
        return jobs if isinstance(jobs, int) else 1

    def request(self, rule: str) -> Request:
        """What a job of a rule asks for.

        Raises:
            InputError: a resource cannot be understood.
        """
        asked = _mapping(self.settings.get("default-resources")) | _mapping(self._of(rule, "set-resources"))
        gpus, gpu_type = self._gpus(rule, asked.get("gres"))
        return Request(
            rule=rule,
            partition=asked.get("slurm_partition"),
            nodes=self._count(rule, "nodes", asked),
            tasks=self._count(rule, "tasks", asked),
            mpi=asked.get("mpi"),
            gpus=gpus,
            gpu_type=gpu_type,
            cpus=self._of(rule, "set-threads"),
            memory=_number(asked["mem"], MEGABYTES) if "mem" in asked else _number(asked.get("mem_mb"), {"": 1}),
            minutes=_number(asked.get("runtime"), MINUTES),
        )

    def _of(self, rule: str, key: str):
        return (self.settings.get(key) or {}).get(rule)

    def _count(self, rule: str, key: str, asked: dict) -> int:
        count = asked.get(key, 1)
        if not str(count).isdecimal():
            raise InputError(f"{self.path}: set-resources.{rule}.{key}: expected a number, found {count!r}")
        return int(count)

    def _gpus(self, rule: str, gres: str | None) -> tuple[int, str | None]:
        if gres is None:
            return 0, None
        text = str(gres).strip("'\"")
        if not (match := re.fullmatch(r"gpu(?::([\w.-]*[A-Za-z_][\w.-]*))?(?::(\d+))?", text)):
            raise InputError(f"{self.path}: set-resources.{rule}.gres: expected gpu:N or gpu:TYPE:N, found '{text}'")
        return int(match[2] or 1), match[1]


def load_profile(name: str) -> Profile:
    """The profile of a name, as Snakemake looks for it: a folder from here, or one of the user's.

    Raises:
        InputError: there is none, or it cannot be read.
    """
    home = Path(os.environ.get("XDG_CONFIG_HOME", Path.home() / ".config"))
    for folder in (Path(name), home / "snakemake" / name, Path("/etc/xdg/snakemake") / name):
        path = folder / "config.yaml" if folder.is_dir() else folder
        if path.is_file():
            try:
                settings = yaml.safe_load(path.read_text(encoding="utf-8"))
            except (yaml.YAMLError, UnicodeDecodeError) as error:
                raise InputError(f"{path}: not a YAML file ({' '.join(str(error).split())})") from None
            if not isinstance(settings, dict):
                raise InputError(f"{path}: expected the keys of a profile")
            return Profile(path, settings)
    raise InputError(f"no profile '{name}': no {name}/config.yaml here or in {home}/snakemake")


def _mapping(resources) -> dict:
    """Resources as a mapping, or as Snakemake's list of name=value."""
    if isinstance(resources, list):
        return dict(entry.split("=", 1) for entry in resources)
    return resources or {}


def _number(value, units: dict[str, float]) -> float | None:
    """A number with one of these units in its smallest; None for an expression, which only Snakemake evaluates."""
    match = re.fullmatch(r"\s*([\d.]+)\s*([A-Za-z]*)\s*", str(value))
    return float(match[1]) * units[match[2].lower()] if match and match[2].lower() in units else None
