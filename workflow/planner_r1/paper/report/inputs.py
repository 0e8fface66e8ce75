"""What the page of a study is made of."""

from __future__ import annotations

from planner_r1.paper.artefacts import FIGURE, Artefact, artefacts_of
from planner_r1.paper.results import KINDS
from planner_r1.study import Study

SUMMARY = "summary.md"


def reads(study: Study) -> tuple[str, ...]:
    """The kinds of results (results.KINDS) that are read, beside tables and figures."""
    if study.probes:
        return ("config", "models", "probes")
    trained = ("manifests", "episodes") if study.runs else ()
    return ("config", "models", "rates", "trajectories", "asked", *trained)


def inputs(study: Study) -> list[str]:
    """The files, below results/<study>; the database's store is one more."""
    files = [file for kind in reads(study) for file in KINDS[kind](study)]
    if not study.probes:
        splits = dict.fromkeys((*study.clean_splits, *(["validation"] if study.runs else [])))
        files += [f"data/{split}.jsonl" for split in splits]
    files += [file for artefact in artefacts_of(study) for file in (artefact.csv, shown(artefact))]
    return [*files, SUMMARY] if study.runs else files


def shown(artefact: Artefact) -> str:
    """The file of an artefact that the page shows, below results/<study>."""
    return artefact.outputs["png" if artefact.kind == FIGURE else "markdown"]
