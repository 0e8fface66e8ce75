"""`planner-r1 draw`: what is there is drawn, the rest is said, and a wrong name teaches the right ones."""

import subprocess
import sys
from pathlib import Path

import pytest

from helpers.made_up_results import write_results
from planner_r1.paper.artefacts import artefacts_of
from planner_r1.paper.render import read_csv
from planner_r1.study import Study

REPOSITORY = Path(__file__).resolve().parents[2]
STUDY = f"{REPOSITORY}/config/smoke.yaml"


def draw(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "planner_r1", "draw", *arguments, "--study", STUDY]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder in which results of a study stand that lacks a checkpoint."""
    folder = tmp_path_factory.mktemp("place")
    write_results(Study.load(STUDY), folder / "results" / "smoke", queries=4, absent=("evaluations/tiny/stage1",))
    return folder


def test_everything_is_drawn_beside_the_results_and_what_is_missing_is_said(place):
    before = sorted(file for file in (place / "results").rglob("*"))
    done = draw(place)
    assert done.returncode == 0, done.stderr
    made = {str(file.relative_to(place / "draft" / "smoke")) for file in (place / "draft").rglob("*") if file.is_file()}
    assert made == {file for one in artefacts_of(Study.load(STUDY)) for file in one.outputs.values()}
    assert sorted(file for file in (place / "results").rglob("*")) == before
    assert "draft/smoke/tables/table1.md: of 1 of 2 files" in done.stdout
    assert "seed 0 not evaluated" in (place / "draft/smoke/tables/table1.md").read_text()


def test_named_ones_alone_of_given_results_in_a_given_place(place, tmp_path):
    done = draw(tmp_path, "figure3_left", "--results", str(place / "results/smoke"), "--out", "here")
    assert done.returncode == 0, done.stderr
    made = {file.name for file in (tmp_path / "here").rglob("*") if file.is_file()}
    assert made == {"figure3_left.csv", "figure3_left.pdf", "figure3_left.png"}
    assert [row["step"] for row in read_csv(tmp_path / "here/figures/figure3_left.csv")] == ["0", "2"]


def test_mistakes_are_told_in_one_line(place, tmp_path):
    done = draw(place, "figure99")
    assert done.returncode == 2
    assert done.stderr.startswith("planner-r1: 'figure99' is no table or figure of smoke; there are table1, ")
    assert len(done.stderr.splitlines()) == 1
    done = draw(tmp_path)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "results/smoke: no such folder with results" in done.stderr


def test_a_broken_file_is_named_and_the_others_are_drawn(place, tmp_path):
    results = tmp_path / "results" / "smoke"
    write_results(Study.load(STUDY), results, queries=4)
    (results / "evaluations/tiny/base/seed0/step0/test/metrics.json").write_text("{")
    done = draw(tmp_path, "table1", "figure3_left")
    assert done.returncode == 1
    assert done.stderr.startswith("table1: ") and "metrics.json: not JSON" in done.stderr
    assert (tmp_path / "draft/smoke/figures/figure3_left.png").is_file()
