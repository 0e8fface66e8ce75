"""`planner-r1 draw`: what is there is drawn, the rest is said, and a wrong name teaches the right ones."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from helpers.made_up_results import write_results
from helpers.messages import any_names, names, refused
from planner_r1.paper.artefacts import artefact, artefacts_of
from planner_r1.paper.make import draft
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
    missing = "evaluations/tiny/stage1/seed0/step2/test/metrics.json"
    any_names(done.stdout, "draft/smoke/tables/table1.md", "1 of 2 files", "missing", missing)
    any_names(done.stdout, "draft/smoke/figures/figure4.png", "1 of 1 files")
    assert "seed 0 not evaluated" in (place / "draft/smoke/tables/table1.md").read_text()


def test_a_study_with_nothing_to_draw_says_so(tmp_path):
    config = yaml.safe_load(Path(STUDY).read_text(encoding="utf-8"))
    endpoint = {"endpoint": {"url": "http://localhost/v1", "model": "m"}}
    config |= {"models": {"m": endpoint}, "regimes": {}, "evaluation": {"splits": []}, "suites": None}
    (tmp_path / "bare.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    command = [sys.executable, "-m", "planner_r1", "draw", "--study", "bare.yaml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    names(done.stderr, "planner-r1: smoke", "no")


def test_named_ones_alone_of_given_results_in_a_given_place(place, tmp_path):
    done = draw(tmp_path, "figure3_left", "--results", str(place / "results/smoke"), "--out", "here")
    assert done.returncode == 0, done.stderr
    made = {file.name for file in (tmp_path / "here").rglob("*") if file.is_file()}
    assert made == {"figure3_left.csv", "figure3_left.pdf", "figure3_left.png"}
    assert [row["step"] for row in read_csv(tmp_path / "here/figures/figure3_left.csv")] == ["0", "2"]


def test_mistakes_are_told_in_one_line(place, tmp_path):
    done = draw(place, "figure99")
    assert done.returncode == 2
    names(done.stderr, "planner-r1: 'figure99'", "smoke", "table1")
    done = draw(tmp_path)
    assert done.returncode == 2
    names(done.stderr, "planner-r1: results/smoke", "no")


def test_a_broken_file_is_named_and_the_others_are_drawn(place, tmp_path):
    results = tmp_path / "results" / "smoke"
    write_results(Study.load(STUDY), results, queries=4)
    (results / "evaluations/tiny/base/seed0/step0/test/metrics.json").write_text("{")
    done = draw(tmp_path, "table1", "figure3_left")
    assert done.returncode == 1
    assert done.stderr.startswith("table1: ") and "metrics.json: not JSON" in done.stderr
    assert (tmp_path / "draft/smoke/figures/figure3_left.png").is_file()


BROKEN = (
    ("evaluations/tiny/base/seed0/step0/test/metrics.json", b"{}", "table1", "{}"),
    ("evaluations/tiny/base/seed0/step0/test/metrics.json", b'{"model": "tiny"}', "table1", "'regime'"),
    ("runs/tiny/stage1/seed0/MANIFEST.json", b"{}", "figure3_right", "{}"),
    ("runs/tiny/stage1/seed0/MANIFEST.json", b'{"a": 1}', "decoding", "'final_step'"),
    ("validations/tiny/stage1/seed0/scores.jsonl", b'{"idx": 1, "step": 0}\n', "figure3_left", "missing"),
    ("validations/tiny/stage1/seed0/scores.jsonl", b"[1]\n", "figure4", "[1]"),
    ("validations/tiny/stage1/seed0/scores.jsonl", b'{"a": "\xff"}\n', "timelines", "UTF-8"),
    ("data/test.jsonl", b"\xff\n", "headline", "UTF-8"),
)


@pytest.mark.parametrize(("file", "text", "name", "word"), BROKEN)
def test_a_file_of_another_form_is_named(tmp_path, file, text, name, word):
    study, results = Study.load(STUDY), tmp_path / "results"
    write_results(study, results, queries=3)
    (results / file).write_bytes(text)
    with refused(file, word):
        draft(artefact(name), study, results, tmp_path / "draft")


@pytest.mark.parametrize("out", ["/proc/x", "/etc/hostname", "/etc/hostname/x"])
def test_a_place_that_cannot_be_written_is_told_in_one_line(place, out):
    done = draw(place, "figure3_left", "table1", "--out", out)
    assert (done.returncode, done.stdout) == (2, "")
    names(done.stderr, f"planner-r1: {out}", "folder", "--out")


def test_what_cannot_be_written_within_it_is_told_and_the_others_are_drawn(place, tmp_path):
    (tmp_path / "figures").write_text("in the way")
    done = draw(place, "table1", "figure3_left", "--out", str(tmp_path))
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(f"figure3_left: {tmp_path}/figures: ")
    assert (tmp_path / "tables/table1.md").is_file()
