"""Making a table, figure or document from a study's results. The CSV comes first, and all else is drawn from it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from planner_r1.errors import InputError
from planner_r1.paper.artefacts import FIGURE, TABLE, Artefact
from planner_r1.paper.forms import check_files
from planner_r1.paper.render import read_csv, write_rows
from planner_r1.paper.results import Results
from planner_r1.study import Study


def make(
    artefact: Artefact,
    study: Study,
    folder: str | Path,
    outputs: Mapping[str, str | Path],
    made: str | Path | None = None,
) -> None:
    """Make an artefact of what is in `folder` (results/<study>).

    Args:
        outputs: a path for each of `artefact.outputs`.
        made: where the tables are that it reads; in `folder` where it is not given.

    Raises:
        InputError: a file of results is not what it should be.
    """
    module, reads = import_module(artefact.import_name), (*artefact.reads, *artefact.may_read)
    try:
        rows = module.rows(study, Results(study, folder, reads, made), **artefact.options)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        check_files(study, Path(folder), reads)  # names the file whose fault it is
        raise
    write_rows(rows, module.FIELDS, outputs["csv"])
    written = read_csv(outputs["csv"])
    if artefact.kind == FIGURE:
        from planner_r1.paper.figures import style  # matplotlib takes a while to load

        style.save(module.draw(written, study), outputs["pdf"], outputs["png"])
        return
    title = f"{artefact.title}; study {study.name}, {study.world_label}"
    Path(outputs["markdown"]).write_text(module.markdown(written, title), encoding="utf-8")
    if artefact.kind == TABLE:
        Path(outputs["latex"]).write_text(module.latex(written, title), encoding="utf-8")


def draft(artefact: Artefact, study: Study, folder: str | Path, out: Path) -> Path:
    """Make an artefact below `out`, of what is there of an unfinished study; the tables it reads are those of `out`.

    Returns the file for people.

    Raises:
        InputError: a file of results is not what it should be, or nothing can be written to `out`.
    """
    outputs = {what: out / file for what, file in artefact.outputs.items()}
    try:
        outputs["csv"].parent.mkdir(parents=True, exist_ok=True)
        make(artefact, study, folder, outputs, out)
    except OSError as fault:
        what = f"{fault.filename or out}: {fault.strerror or fault}"
        raise InputError(f"{what}; results must be readable, and {out} a folder that can be written") from None
    return outputs["png" if artefact.kind == FIGURE else "markdown"]
