"""Every LaTeX table, of made-up results, as LaTeX reads it: braces and environments, cells, and special letters."""

import re

import pytest

from helpers.made_up_results import write_results
from planner_r1.paper.artefacts import TABLE, artefacts_of
from planner_r1.paper.make import draft
from planner_r1.study import Study

PHASES = [{"weights": "stage1", "steps": 20}]
# Names with letters that mean something to LaTeX.
EVERY = {
    "study": "with_a_line",
    "sandbox": {"source": "synthetic"},
    "queries": {"source": "synthetic"},
    "models": {"tiny_model": {"warm_start": {}}, "small_model": {"warm_start": {"hidden_size": 192}}},
    "regimes": {"stage_1": PHASES, "long_name": {"phases": PHASES, "algorithm": "rloo"}},
    "seeds": [0, 1],
    "suites": {"natural_plan": {"source": "synthetic"}, "tau_bench": {"source": "synthetic"}},
}
MEMORY = {key: EVERY[key] for key in ("sandbox", "queries", "models")} | {
    **{"study": "memory", "regimes": {}, "memory": {"shares": [0.5, 0.9]}},
}
STUDIES = [Study.from_config(config) for config in (EVERY, MEMORY)]
CASES = [(study, table) for study in STUDIES for table in artefacts_of(study) if table.kind == TABLE]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    made = {study.name: tmp_path_factory.mktemp(study.name) for study in STUDIES}
    for study in STUDIES:
        write_results(study, made[study.name], queries=6, test_queries=4, suite_items=4, absent=("long_name/seed1",))
    return made


@pytest.mark.parametrize(("study", "table"), CASES, ids=lambda one: getattr(one, "name", ""))
def test_latex_can_read_it(study, table, folders):
    folder = folders[study.name]
    draft(table, study, folder, folder)
    written = (folder / table.outputs["latex"]).read_text(encoding="utf-8")
    text = re.sub(r"(?<!\\)%.*", "", written)  # without comments
    _environments_close(text)
    _braces_close(text)
    tables = re.findall(r"\\begin\{tabular\}\{([lrc]+)\}(.*?)\\end\{tabular\}", text, re.DOTALL)
    assert tables
    for alignment, body in tables:
        lines = [line for line in body.split(r"\\") if line.strip() != r"\bottomrule"]
        assert {len(re.findall(r"(?<!\\)&", line)) + 1 for line in lines} == {len(alignment)}
    outside = re.sub(r"\$[^$]*\$", "", re.sub(r"\\[%_&#${}]", "", text))  # without escapes and formulas
    assert not re.findall(r"[_#^$~]", outside)
    assert not re.findall(r"[±×⁰¹²³⁴-⁹]", text)  # what fonts of LaTeX lack


def _environments_close(text: str) -> None:
    opened = []
    for what, name in re.findall(r"\\(begin|end)\{(\w+\*?)\}", text):
        if what == "begin":
            opened.append(name)
        else:
            assert opened and opened.pop() == name
    assert not opened


def _braces_close(text: str) -> None:
    depth = 0
    for brace in re.findall(r"[{}]", re.sub(r"\\[{}]", "", text)):
        depth += 1 if brace == "{" else -1
        assert depth >= 0
    assert depth == 0
