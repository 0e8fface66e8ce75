"""What a check is given, and what it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from planner_r1.preflight.profile import Profile
from planner_r1.study import Study


class Status(StrEnum):
    ok = "ok"
    warn = "warn"
    FAIL = "FAIL"


@dataclass(frozen=True)
class Result:
    """One line: what was checked, how it is, and what was found; of a fault also how to mend it."""

    status: Status
    check: str
    said: str

    def __str__(self) -> str:
        return f"{self.status:4}  {self.check}: {self.said}"


def ok(check: str, said: str) -> Result:
    return Result(Status.ok, check, said)


def warn(check: str, said: str) -> Result:
    return Result(Status.warn, check, said)


def fail(check: str, said: str) -> Result:
    return Result(Status.FAIL, check, said)


@dataclass(frozen=True)
class Subject:
    """The study and the models to look at, how Snakemake is started, and the folder that holds `<study>/`."""

    study: Study
    models: Sequence[str]
    profile: Profile | None
    results: Path = Path("results")

    @property
    def folder(self) -> Path:
        return self.results / self.study.name

    @property
    def to_fine_tune(self) -> list[str]:
        """The models whose fine-tuning is to come."""
        return [m for m in self.models if m in self.study.fine_tuned and not self._taken_up(m)]

    def model_folder(self, model: str) -> Path | None:
        """Where a model's weights lie, as far as the study has taken them up; None for one that is yet to be made."""
        if self._taken_up(model):
            return self._own_folder(model)
        given = self.study.model_path(model)
        return Path(given) if given else None

    def _own_folder(self, model: str) -> Path:
        return self.folder / "models" / model

    def _taken_up(self, model: str) -> bool:
        return (self._own_folder(model) / "MANIFEST.json").is_file()
