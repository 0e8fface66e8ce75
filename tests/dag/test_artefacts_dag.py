"""A table or figure alone is made again: after an edit of what it is made by, and where an output of it is gone.

Snakemake says of every job why it runs, so that one dry run tells of all artefacts at once.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from helpers.checkout import REPOSITORY, Copy
from planner_r1.paper.artefacts import PAPER, artefact_files, artefacts_of, with_tables
from planner_r1.study import Study

QUICK = Study.load(f"{REPOSITORY}/config/quick.yaml")
MADE = artefacts_of(QUICK)
NAMES = {artefact.name for artefact in MADE}
LIBRARY = "workflow/planner_r1/paper"
ALWAYS = {"all", "report"}  # the report shows every artefact


def code_of(artefact) -> set[str]:
    return {f"{LIBRARY}/{path.relative_to(PAPER)}" for path in artefact.modules()}


def readers(names: set[str]) -> set[str]:
    """The artefacts that read one of some tables, directly or not."""
    return {known.name for known in MADE if names & {table.name for table in with_tables([known], QUICK)[:-1]}}


@contextmanager
def edited(copy: Copy, files: set[str]) -> Iterator[None]:
    """As long as this is entered each of the files ends otherwise."""
    kept = copy.folder / "kept"
    for file in files:
        (kept / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(copy.folder / file, kept / file)
        with open(copy.folder / file, "a", encoding="utf-8") as text:
            text.write("# edited\n")
    yield
    for file in files:
        shutil.copy2(kept / file, copy.folder / file)


@contextmanager
def deleted(copy: Copy, files: set[str]) -> Iterator[None]:
    """As long as this is entered the files are not there."""
    for file in files:
        (copy.folder / file).rename(copy.folder / f"{file}.kept")
    yield
    for file in files:
        (copy.folder / f"{file}.kept").rename(copy.folder / file)


def test_each_is_made_again_after_an_edit_of_its_own_code_and_of_no_other(finished):
    """Of what reads a table that is made again Snakemake names that alone, so its code is edited by itself as well."""
    left = MADE
    files = set().union(*map(code_of, MADE))
    while left:
        with edited(finished, files):
            why = finished.reasons("all")
        again = {known.name for known in MADE if code_of(known) & files}
        assert why.keys() - {"summary"} == again | readers(again) | ALWAYS  # nothing is trained or scored again
        told = [known for known in left if known.name in again - readers(again)]
        assert told
        for known in told:
            assert why[known.name]["Updated input files"] == code_of(known) & files, known.name
        left = [known for known in left if known not in told]
        tables = [table for known in left for table in with_tables([known], QUICK)[:-1]]
        files = set().union(*map(code_of, left)) - set().union(*map(code_of, tables))


@pytest.mark.parametrize("module", ["figures/figure3_left.py", "statistics.py"])
def test_an_edit_of_one_module_makes_exactly_those_that_load_it(finished, module):
    expected = {artefact.name for artefact in MADE if f"{LIBRARY}/{module}" in code_of(artefact)}
    summary = {"summary"} if module == "statistics.py" else set()
    with edited(finished, {f"{LIBRARY}/{module}"}):
        planned = finished.planned("all")
    assert planned == dict.fromkeys(expected | readers(expected) | ALWAYS | summary, 1)


@pytest.mark.slow
def test_a_deleted_output_is_made_again_and_nothing_else(finished):
    results = "results/quick"
    every = {f"{results}/{file}" for file in artefact_files(MADE)}
    with deleted(finished, every):
        why = finished.reasons("all")
        assert why.keys() == NAMES | ALWAYS
        for artefact in MADE:
            missing = {f"{results}/{file}" for file in artefact.outputs.values()}
            assert why[artefact.name]["Missing output files"] == missing
        named = finished.planned(*sorted(NAMES))
        assert named == dict.fromkeys(NAMES, 1)
        first = MADE[0]
        assert finished.planned(first.name) == {known.name: 1 for known in with_tables([first], QUICK)}
    for what in ("pdf", "latex"):
        one = next(artefact for artefact in MADE if what in artefact.outputs)
        with deleted(finished, {f"{results}/{one.outputs[what]}"}):
            assert finished.planned("all").keys() == {one.name} | readers({one.name}) | ALWAYS
    assert finished.planned("all") == {}
