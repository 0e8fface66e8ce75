"""The files of the study: whether they are there, and are those that are pinned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from planner_r1.agent.recorded import read_recorded
from planner_r1.downloads.record import recorded
from planner_r1.downloads.sources import DATA as DOWNLOADED
from planner_r1.downloads.sources import load_catalogue
from planner_r1.errors import InputError
from planner_r1.preflight.result import Result, Subject, fail, ok, warn
from planner_r1.study import DATABASE_FILES
from planner_r1.training.manifest import sha256

DATA = "data"


def check_data(subject: Subject) -> Iterator[Result]:
    """Every file that the study reads is there, with the size and hash that are pinned or were recorded."""
    study, catalogue = subject.study, load_catalogue()
    wanted = [study.prompt]
    if study.database:
        wanted += [f"{study.database}/{name}" for name in DATABASE_FILES]
    wanted += filter(None, (study.query_file(split) for split in study.all_splits))
    wanted += study.avoided_queries
    known, faults = 0, False
    for name in wanted:
        path = Path(name)
        if not path.is_file():
            if catalogue.holds(path):
                yield warn(DATA, f"{name} is missing; the study downloads it, or `planner-r1 download` does now")
            else:
                yield fail(DATA, f"{name} is missing; put it there, or change the key of the study that names it")
            faults = True
        elif (wrong := _differs(path, catalogue)) is not None:
            yield fail(DATA, f"{name} {wrong}; remove it and fetch it again by `planner-r1 download`")
            faults = True
        else:
            known += str(path) in catalogue.files or str(path) in catalogue.members
    for name in study.absent_suite_files():
        faults = True
        if Path(name).is_relative_to(DOWNLOADED):
            yield warn(DATA, f"{name} is missing; the study downloads it")
        else:
            yield fail(DATA, f"{name} is missing; put it there, or change the suite's `folder`")
    for model in subject.to_fine_tune:
        for fault in _unfit_trajectories(study.fine_tune(model)["trajectories"]):
            faults = True
            yield fail(DATA, f"models.{model}.fine_tune.trajectories: {fault}")
    if not faults:
        yield ok(DATA, f"all there ({len(wanted)} files, {known} of them pinned)")


def _unfit_trajectories(files: Sequence[str]) -> Iterator[str]:
    """What keeps recorded episodes from being learnt."""
    passed, unread = 0, False
    for file in files:
        try:
            passed += sum(episode.passed for episode in read_recorded(file))
        except InputError as error:
            unread = True
            yield str(error)
    if files and not passed and not unread:
        yield f"of {', '.join(files)} no episode passed; name files with episodes that did"


def _differs(path: Path, catalogue) -> str | None:
    """How a file differs from what is known of it, or None."""
    if member := catalogue.members.get(str(path)):
        expected, pinned = member.bytes, None
    elif file := catalogue.files.get(str(path)):
        expected, pinned = file.bytes, file.sha256 or recorded(file.place)
    else:
        return None
    size = path.stat().st_size
    if expected is not None and size != expected:
        return f"has {size:,} bytes, expected {expected:,}"
    if pinned is not None and (found := sha256(path)) != pinned:
        return f"has sha256 {found}, expected {pinned}"
    return None
