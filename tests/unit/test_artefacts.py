"""What holds for every table and figure: that it says what it reads and what it is made by, and draws what there is."""

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from helpers.made_up_results import write_results
from planner_r1.paper.artefacts import ARTEFACTS, DOCUMENT, FIGURE, PAPER, TABLE, Artefact, artefacts_of, with_tables
from planner_r1.paper.make import draft
from planner_r1.paper.render import read_csv, write_rows
from planner_r1.paper.results import KINDS, Results
from planner_r1.study import Study

CAPTIONS = Path(__file__).resolve().parents[2] / "workflow" / "report"
SUITES = {suite: {"source": "synthetic", "size": 2} for suite in ("natural_plan", "multi_if", "tau_bench")}
CONFIG = {
    "study": "everything",
    "sandbox": {"source": "synthetic"},
    "queries": {"source": "synthetic"},
    "models": {"tiny": {"warm_start": {}}, "small": {"warm_start": {"hidden_size": 192, "layers": 3}}},
    "regimes": {
        "stage1": [{"weights": "stage1", "steps": 60}],
        "stage3": {"phases": [{"weights": "stage3", "steps": 40}], "train_queries": 24, "noise": "flaky"},
        "curriculum": [{"weights": f"stage{number}", "steps": 20} for number in (1, 2, 3)],
    },
    "seeds": [0, 1],
    "training": {"save_every": 20, "test_every": 20},
    "noise": {"flaky": {"failures": 0.1, "dropped_rows": 0.1}},
    "evaluation": {"splits": ["validation", "test"], "checkpoints": [40], "noise": ["flaky"]},
    "suites": SUITES,
}
MEMORY = {key: value for key, value in CONFIG.items() if key not in ("suites", "evaluation")} | {
    **{"study": "memory", "regimes": {}, "memory": {"shares": [0.5, 0.9], "steps": 2}},
}
every_artefact = pytest.mark.parametrize("artefact", ARTEFACTS, ids=lambda artefact: artefact.name)


class Recording:
    """In place of the kinds that are declared: allows all, and keeps those that are asked for."""

    def __init__(self):
        self.asked: set[str] = set()

    def __contains__(self, kind: str) -> bool:
        self.asked.add(kind)
        return True


def study_of(artefact: Artefact) -> Study:
    return Study.from_config(MEMORY if "probes" in artefact.reads else CONFIG)


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> dict[str, Path]:
    """Folders of made-up results, and in `nothing` one that is empty; by name of the study."""
    folders = {}
    for config in (CONFIG, MEMORY):
        study = Study.from_config(config)
        folders[study.name] = write_results(study, tmp_path_factory.mktemp(study.name), queries=12, test_queries=6)
        for table in with_tables(artefacts_of(study), study):
            if table.kind == TABLE:
                draft(table, study, folders[study.name], folders[study.name])
    return folders


def drawn(artefact: Artefact, study: Study, rows: list[dict], folder: Path):
    """The figure, or the Markdown and LaTeX, of an artefact's rows."""
    module = import_module(artefact.import_name)
    write_rows(rows, module.FIELDS, folder / "drawn.csv")
    written = read_csv(folder / "drawn.csv")
    if artefact.kind == TABLE:
        return module.markdown(written, "Title"), module.latex(written, "Title")
    if artefact.kind == DOCUMENT:
        return module.markdown(written, "Title")
    figure = module.draw(written, study)
    figure.savefig(folder / "drawn.png", dpi=40)
    import_module("matplotlib.pyplot").close(figure)
    return figure


@every_artefact
def test_it_reads_what_it_says_and_gives_the_fields_it_says(artefact, results, tmp_path):
    study, module, asked = study_of(artefact), import_module(artefact.import_name), Recording()
    assert artefact in artefacts_of(study)
    rows = list(module.rows(study, Results(study, results[study.name], asked), **artefact.options))
    assert asked.asked == {*artefact.reads, *artefact.may_read}
    assert rows and all(set(row) == set(module.FIELDS) for row in rows)
    drawn(artefact, study, rows, tmp_path)


@every_artefact
def test_it_draws_where_nothing_is(artefact, tmp_path):
    study, module = study_of(artefact), import_module(artefact.import_name)
    declared = (*artefact.reads, *artefact.may_read)
    rows = list(module.rows(study, Results(study, tmp_path / "nothing", declared), **artefact.options))
    assert all(set(row) == set(module.FIELDS) for row in rows)
    drawn(artefact, study, rows, tmp_path)


@pytest.fixture(scope="module")
def incomplete(tmp_path_factory) -> Path:
    """Results without one model's runs but one, and without a seed of the other's."""
    absent = ("small/stage", "tiny/stage3/seed1", "tiny/curriculum/seed1/step60")
    folder = tmp_path_factory.mktemp("incomplete")
    return write_results(Study.from_config(CONFIG), folder, queries=6, test_queries=6, absent=absent)


@pytest.mark.parametrize(
    "artefact", [known for known in ARTEFACTS if "probes" not in known.reads], ids=lambda known: known.name
)
def test_it_draws_of_an_unfinished_study(artefact, incomplete, tmp_path):
    study = study_of(artefact)
    for needed in with_tables([artefact], study):
        shown = draft(needed, study, incomplete, tmp_path)
    assert shown.stat().st_size > 0


@every_artefact
def test_it_is_described(artefact):
    assert artefact.kind in (TABLE, FIGURE, DOCUMENT) and artefact.title
    assert (CAPTIONS / f"{artefact.drawn_by}.rst").read_text(encoding="utf-8").strip()
    assert (import_module(artefact.import_name).__doc__ or "").strip()
    names = {known.name for known in ARTEFACTS if known.kind == TABLE}
    for kind in (*artefact.reads, *artefact.may_read):
        assert kind in KINDS or kind.removeprefix("table:") in names


def test_names_are_unique_and_tables_that_are_read_read_none_of_their_readers():
    names = [artefact.name for artefact in ARTEFACTS]
    assert len(names) == len(set(names))
    for artefact in ARTEFACTS:
        study = study_of(artefact)
        order = with_tables([artefact], study)
        assert order[-1] == artefact and {*artefact.tables} <= {known.name for known in order}


def test_the_modules_named_as_its_code_are_those_that_are_loaded():
    """Found by reading the code, against what Python itself loads."""
    program = """
import json, sys
from importlib import import_module
loaded = {}
for name in sys.argv[1:]:
    for module in [known for known in sys.modules if known.startswith("planner_r1.paper")]:
        del sys.modules[module]
    import_module(name)
    paper = (module for known, module in sys.modules.items() if known.startswith("planner_r1.paper."))
    loaded[name] = sorted(module.__file__ for module in paper if not module.__file__.endswith("__init__.py"))
print(json.dumps(loaded))
"""
    command = [sys.executable, "-c", program, *{artefact.import_name for artefact in ARTEFACTS}]
    loaded = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    for artefact in ARTEFACTS:
        named = {str(path) for path in artefact.modules() if path.suffix == ".py"} - {str(PAPER / "make.py")}
        assert named == set(loaded[artefact.import_name]), artefact.name
        reads_reference = any('joinpath("reference"' in Path(path).read_text(encoding="utf-8") for path in named)
        assert reads_reference == (PAPER / "reference" / "table1.csv" in artefact.modules()), artefact.name
