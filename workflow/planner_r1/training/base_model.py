"""A model that is given: its files linked into the study's own folder, so that every model lies in one place."""

from __future__ import annotations

import os
from pathlib import Path

from planner_r1.downloads.sources import DATA, load_catalogue
from planner_r1.errors import InputError
from planner_r1.study import Study

NEEDED = ("config.json", "tokenizer_config.json")


def check_model(name: str, source: Path) -> None:
    """Refuse a folder that holds no whole model in Hugging Face's layout, for the model `name` of a study.

    Raises:
        InputError: naming the key and what is missing.
    """
    where = f"models.{name}.path: {source}"
    if not source.is_dir():
        raise InputError(f"{where}: no such folder with a model; {_remedy(source)}")
    if missing := [file for file in NEEDED if not (source / file).is_file()]:
        raise InputError(f"{where}: {', '.join(missing)} missing; a model in Hugging Face's layout is expected")
    if not any(source.glob("*.safetensors")):
        raise InputError(f"{where}: no *.safetensors file; the weights are missing")


def _remedy(source: Path) -> str:
    """How a folder comes by its model: a command where it is one that we download, else what is expected in it."""
    for known in load_catalogue().sources.values():
        if any(file.is_relative_to(source) for file in known.wanted):
            return f"`planner-r1 download {known.name}` fetches it"
    return f"expected are {', '.join(NEEDED)}, the tokenizer and *.safetensors, in Hugging Face's layout"


def link_model(source: Path, out: Path) -> dict:
    """Link the files of `source` (Hugging Face's layout) into `out`, a folder of the name that the model has in the
    study; tens of gigabytes are not copied.

    Returns what a manifest should say about it.

    Raises:
        InputError: the folder is missing or holds no whole model.
    """
    check_model(out.name, source)
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
