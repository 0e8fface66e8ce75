"""What the page says of a study, and what it does where results are missing."""

import json
import os
import re
import shutil
from html import unescape
from pathlib import Path

import pytest
import yaml

from helpers.checkout import REPOSITORY
from helpers.made_up_results import write_results
from helpers.made_up_study import study
from helpers.messages import refused
from helpers.small_report import write_small_study
from planner_r1.evaluator.profiles import HOLES
from planner_r1.paper.artefacts import artefacts_of
from planner_r1.paper.report.inputs import inputs, reads
from planner_r1.paper.report.notebook import NOTEBOOKS, write_report
from planner_r1.paper.report.sections import CAPTIONS, Report
from planner_r1.paper.results import KINDS
from planner_r1.paper.tables.differences import TOO_FEW
from planner_r1.study import Study

CONFIGS = REPOSITORY / "config"
PIECES = ("opening", "verdicts", "tables", "figures", "episodes", "background")


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    write_small_study(folder)
    return folder


def page(folder: Path) -> str:
    report = Report(str(folder / "config.yaml"), str(folder))
    return "".join(getattr(report, piece)() for piece in PIECES)


def sections(page: str) -> list[str]:
    """The anchors of the sections, in order."""
    return re.findall(r'<section id="(\w+)"><h2>', page)


def text(markup: str) -> str:
    """What people read, but for the data of the episodes."""
    shown = re.sub(r"<script.*?</script>", "", markup, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", shown)).split())


def test_the_sections_in_their_order(whole):
    (whole / "reproduction.md").write_text("# It\n\n## Claims\n\n- holds: dense reward\n", encoding="utf-8")
    made = page(whole)
    assert sections(made) == [
        *("reproduction", "learnt", "regimes", "tables", "figures", "episodes"),
        *("holes", "faults", "cost", "data", "versions", "configuration"),
    ]
    assert re.findall(r'<a href="#(\w+)">', made)[:5] == ["reproduction", "learnt", "regimes", "differences", "tables"]
    assert made.count('id="differences"') == 1 and TOO_FEW in made
    assert made.count("<img ") == 1 and "data:image/png;base64," in made
    assert "<h3>Claims</h3>" in made
    (whole / "reproduction.md").unlink()


def test_numbers_behind_the_numbers(whole):
    read = text(page(whole))
    config = (whole / "config.yaml").read_text(encoding="utf-8")
    assert " ".join(config.split())[:200] in read
    # 2 runs a model and regime of 40 steps, 4 seconds each, in the made-up manifests
    assert "tiny stage1 2 80 0.09 none used" in read
    assert "verl 0.9.1" in read and "commit" in read
    assert "seed 0" in read and "Numbers: tables/table1.csv" in read


def test_holes_are_counted_and_explained(whole, tmp_path):
    folder = shutil.copytree(whole, tmp_path / "holes")
    path = folder / "evaluations/tiny/stage1/seed0/step40/test/metrics.json"
    metrics = json.loads(path.read_text(encoding="utf-8"))
    metrics |= {"holes": {"mode_case": 2, "extra_days+unknown_mode": 1}}
    for profile, rate in (("official", 0.75), ("strict", 0.25)):
        metrics["rates"][profile]["final_pass"] = rate
    path.write_text(json.dumps(metrics), encoding="utf-8")
    other = folder / "evaluations/tiny/stage1/seed1/step40/test/metrics.json"
    metrics |= {"holes": {"mode_case": 1}, "seed": 1}
    other.write_text(json.dumps(metrics), encoding="utf-8")
    read = text(page(folder))
    assert "tiny stage1 40 test 2 75.0 25.0 4 mode_case 3, extra_days+unknown_mode 1" in read
    assert HOLES["mode_case"] in read and HOLES["stay_day_city"] not in read  # a hole that no plan used


def test_faults_are_told_apart_from_answers(whole, tmp_path):
    folder = shutil.copytree(whole, tmp_path / "faults")
    path = folder / "ood/tiny/base/seed0/step0/asked.json"
    asked = json.loads(path.read_text(encoding="utf-8"))
    asked["natural_plan"]["costs"]["model"] |= {"requests": 20, "without_answer": 3, "retries": 4}
    path.write_text(json.dumps(asked), encoding="utf-8")
    read = text(page(folder))
    checkpoints = 2 + 2 * 2 * 2  # two untrained models; two models, regimes and seeds
    assert f"Of {20 + 12 * (checkpoints - 1)} requests 7 " in read


def test_an_unfinished_study_has_a_page(tmp_path):
    made = study()
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(made.config), encoding="utf-8")
    assert sections(page(tmp_path)) == ["versions", "configuration"]


@pytest.mark.parametrize("absent", ["store", "validation.jsonl", "MANIFEST", "test.jsonl", "metrics.json", "asked"])
def test_what_is_missing_is_left_out(whole, tmp_path, absent):
    folder = shutil.copytree(whole, tmp_path / "part", ignore=lambda _, names: [n for n in names if absent in n])
    assert "tables" in sections(page(folder))


def test_without_a_store_episodes_are_shown_without_verdict(whole, tmp_path):
    folder = shutil.copytree(whole, tmp_path / "part", ignore=shutil.ignore_patterns("sandbox"))
    assert "episodes" in sections(page(folder))


@pytest.mark.parametrize("config", ["quick", "paper", "laptop", "studies/memory", "studies/api_models"])
def test_a_page_is_made_of_what_the_study_has(config):
    made = Study.load(str(CONFIGS / f"{config}.yaml"))
    files = inputs(made)
    assert len(files) == len(set(files)) and "config.yaml" in files
    assert all(artefact.csv in files for artefact in artefacts_of(made))
    assert set(reads(made)) <= set(KINDS)
    assert ("summary.md" in files) == bool(made.runs) == any("validation.jsonl" in f and "runs/" in f for f in files)
    assert any(f.startswith("memory/") for f in files) == bool(made.probes)


def test_every_table_and_figure_has_a_caption():
    for config in ("quick", "paper", "studies/memory"):
        for artefact in artefacts_of(Study.load(str(CONFIGS / f"{config}.yaml"))):
            assert (CAPTIONS / f"{artefact.drawn_by}.rst").read_text(encoding="utf-8").strip(), artefact.name


def test_study_of_memory(tmp_path):
    made = Study.load(str(CONFIGS / "studies" / "memory.yaml"))
    write_results(made, tmp_path, test_queries=3, queries=3)
    read = text(page(tmp_path))
    assert "memory" in read and "Versions" in read


def test_the_notebook_holds_no_outputs():
    notebook = json.loads((NOTEBOOKS / "report.ipynb").read_text(encoding="utf-8"))
    assert notebook["metadata"]["language_info"]["name"] == "python"
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)
    assert [cell["metadata"].get("tags") for cell in cells].count(["parameters"]) == 1


def test_the_page_is_one_file_that_loads_nothing_and_leaves_nothing(whole, tmp_path, monkeypatch):
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("JUPYTER_DATA_DIR", "JUPYTER_PATH", "IPYTHONDIR", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    before = dict(os.environ)
    out = tmp_path / "report.html"
    write_report(whole / "config.yaml", whole, out)
    made = out.read_text(encoding="utf-8")
    assert dict(os.environ) == before and [*home.iterdir()] == []
    assert set(re.findall(r'\b(?:src|href)="([^"#]{0,5})', made)) <= {"data:", "", "https"}  # "": within the page
    assert re.findall(r'\bsrc="https|<link[^>]*https|@import|url\(', made) == []
    assert text(made).count("Planner-R1, reproduced: made-up") == 1
    assert "report.opening()" not in made  # no code


def test_a_wrong_file_is_named_in_one_line(whole, tmp_path):
    folder = shutil.copytree(whole, tmp_path / "wrong")
    (folder / "runs/tiny/stage1/seed0/MANIFEST.json").write_text("{", encoding="utf-8")
    with refused("seed0/MANIFEST.json", "JSON"):
        write_report(folder / "config.yaml", folder, tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()
