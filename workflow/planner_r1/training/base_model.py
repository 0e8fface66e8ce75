"""A model that is given: its files linked into the study's own folder, so that every model lies in one place."""

from __future__ import annotations

import os
from pathlib import Path

from planner_r1.downloads.sources import DATA
from planner_r1.errors import InputError
from planner_r1.study import Study

NEEDED = ("config.json", "tokenizer_config.json")


def check_model(source: Path) -> None:
    """Refuse a folder that holds no whole model in Hugging Face's layout.

    Raises:
        InputError: naming what is missing.
    """
    if not source.is_dir():
        raise InputError(
            f"{source}: no such folder with a model (key models.<name>.path); download the weights into it, for "
            f"example with `hf download Qwen/{source.name} --local-dir {source}`"
        )
    if missing := [name for name in NEEDED if not (source / name).is_file()]:
        raise InputError(f"{source}: {', '.join(missing)} missing; a model in Hugging Face's layout is expected")
    if not any(source.glob("*.safetensors")):
        raise InputError(f"{source}: no *.safetensors file; the weights are missing")


def link_model(source: Path, out: Path) -> dict:
    """Link the files of `source` (Hugging Face's layout) into the folder `out`; tens of gigabytes are not copied.

    Returns what a manifest should say about it.

    Raises:
        InputError: the folder is missing or holds no whole model.
    """
    check_model(source)
    out.mkdir(parents=True, exist_ok=True)
    for file in sorted(source.iterdir()):
        if file.is_file():
            link = out / file.name
            link.unlink(missing_ok=True)
            os.symlink(file.resolve(), link)
    return {"source": str(source.resolve())}


def check_suite_files(study: Study) -> None:
    """Refuse a suite's folder that lacks a file which no download brings: the suites are read after all training.

    Raises:
        InputError: naming the file.
    """
    for file in study.absent_suite_files():
        if not Path(file).is_relative_to(DATA):
            raise InputError(f"{file}: no such file; put it there, or change the suite's key `folder`")
