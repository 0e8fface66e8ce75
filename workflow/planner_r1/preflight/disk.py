"""Room for what the runs to come leave, and a folder that can be written."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from planner_r1.paper.cost import Bill
from planner_r1.preflight.result import Result, Subject, fail, ok, warn
from planner_r1.training.disk import kept_bytes, peak_bytes


def check_writable(subject: Subject) -> Iterator[Result]:
    """The folder of the results takes a file."""
    folder = _existing(subject.folder)
    try:
        with tempfile.NamedTemporaryFile(dir=folder):
            yield ok("results", f"{subject.folder} can be written")
    except OSError as error:
        yield fail("results", f"{folder} cannot be written ({error.strerror}); change its owner, or link it elsewhere")


def check_disk(subject: Subject) -> Iterator[Result]:
    """What the jobs that train, by reward or supervised, leave when they are whole, and what those at work at a time
    take besides, is free."""
    study, bill = subject.study, Bill(subject.study, subject.results)
    keeps = study.config["training"].get("keep_checkpoint", True)
    runs = [run for run in study.runs if run.model in subject.models]
    jobs = [
        (run.model, len(study.export_steps(run)), keeps)
        for run in runs
        if not (subject.folder / "runs" / run.name / "MANIFEST.json").is_file()
    ]
    jobs += [(model, 1, False) for model in subject.to_fine_tune]
    kept, besides, unknown = 0, [], set()
    for model, exports, keeps_checkpoint in jobs:
        shape = bill.shape(model)
        if shape is None:
            unknown.add(model)
            continue
        stays = kept_bytes(shape.parameters, exports, keeps_checkpoint)
        kept += stays
        besides.append(peak_bytes(shape.parameters, exports) - stays)
    for model in sorted(unknown):
        yield warn("disk", f"the size of {model} is not known; its runs are not counted")
    at_a_time = subject.profile.jobs if subject.profile else 1
    need = kept + sum(sorted(besides, reverse=True)[:at_a_time])
    free = shutil.disk_usage(_existing(subject.folder)).free
    said = f"{len(besides)} runs to come take up to {need / 1e9:,.1f} GB"
    if need > free:
        helps = ["a link to a larger disk", "fewer jobs at a time (the profile's `jobs`)"]
        helps += ["training.keep_checkpoint: false"] if keeps else []
        yield fail("disk", f"{said}, {free / 1e9:,.1f} GB are free in {subject.folder}; {' or '.join(helps)} helps")
    else:
        yield ok("disk", f"{said}, {free / 1e9:,.1f} GB are free")


def _existing(folder: Path) -> Path:
    """The folder, or the first one above it that is there."""
    folder = folder.resolve()
    return next(path for path in (folder, *folder.parents) if path.is_dir())
