"""A further study whose small results git keeps: their record, what a clone without the other files can tell, and what
is left alone. Nothing is run: made-up files stand for results, and Snakemake takes them for finished."""

import json
import re
from pathlib import Path

import pytest
import yaml

from helpers.clone import Clone, stubbed_clone
from helpers.messages import any_names
from planner_r1.study import Study

pytestmark = pytest.mark.slow

FIRST, SECOND = "config/quick.yaml", "config/studies/second.yaml"  # the root's study, and the one beside it
KEPT, RESULTS = "results/second/dvc.yaml", Path("results/second")
LARGE = ("runs/tiny/grpo/seed0/metrics.jsonl", "validations/tiny/grpo/seed0/scores.jsonl", "models/tiny/MANIFEST.json")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> Clone:
    """A clone with a second study that is finished, kept and committed."""
    clone = stubbed_clone(tmp_path_factory.mktemp("recorded"), FIRST)
    write_study(clone, SECOND)
    finish(clone, SECOND)
    any_names(clone.run("planner-r1", "dvc", "keep", "--study", SECOND), "second", "kept")
    clone.commit("the second study's results")
    return clone


@pytest.fixture
def clone(recorded, tmp_path) -> Clone:
    return recorded.clone(tmp_path / "clone")


def write_study(clone: Clone, study: str) -> None:
    """The study of PlanPO with one regime and one seed, under another name."""
    config = yaml.safe_load((clone.folder / "config" / "studies" / "planpo.yaml").read_text(encoding="utf-8"))
    config |= {"study": Path(study).stem, "seeds": [0], "regimes": {"grpo": config["regimes"]["grpo"]}}
    (clone.folder / study).write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")


def finish(clone: Clone, study: str) -> None:
    """Write a line into every file that a dry run announces, and the checkpoints that stand beside a run's manifest."""
    printed = clone.run("snakemake", "--dry-run", "--forceall", "--configfile", study, "--", "all")
    for line in re.findall(r"^    output: (.*)$", printed, re.MULTILINE):
        for file in line.split(", "):
            path = clone.folder / file.removesuffix(" (update)")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text('{"files": {}}', encoding="utf-8")
    made = Study.load(str(clone.folder / study))
    for run in made.runs:
        for step in made.export_steps(run):
            weights = (
                clone.folder / "results" / made.name / "runs" / run.name / "checkpoints" / f"step{step}" / "weights"
            )
            weights.parent.mkdir(parents=True, exist_ok=True)
            weights.write_text("weights", encoding="utf-8")
    clone.run("snakemake", "--cores", "1", "--touch", "--forceall", "--configfile", study, "--", "all")


def status(clone: Clone) -> dict[str, dict]:
    """What DVC says has changed, of the kept study: `changed deps` and `changed outs` by file."""
    found = json.loads(clone.run("dvc", "status", "--json", KEPT))
    entries = found.get(f"{KEPT}:all", [])
    assert set(found) <= {f"{KEPT}:all"} and all(isinstance(entry, dict) for entry in entries), found
    return {what: files for entry in entries for what, files in entry.items()}


def test_a_clone_holds_the_small_files_and_they_are_those_recorded(clone):
    in_git = {*clone.run("git", "ls-files", str(RESULTS)).split()}
    locked = yaml.safe_load((clone.folder / RESULTS / "dvc.lock").read_text(encoding="utf-8"))["stages"]["all"]
    assert in_git == {out["path"] for out in locked["outs"]} | {KEPT, f"{RESULTS}/dvc.lock"}
    assert {f"{RESULTS}/tables/decoding.md", f"{RESULTS}/runs/tiny/grpo/seed0/MANIFEST.json"} <= in_git
    assert not any((clone.folder / RESULTS / file).exists() for file in LARGE)
    assert status(clone) == {}
    # what Snakemake would run is everything, and planning it touches nothing
    planned = clone.run("snakemake", "--dry-run", "--configfile", SECOND, "--", "all")
    assert "rule train_run:" in planned and "rule figure3_left:" in planned
    assert clone.run("git", "status", "--porcelain") == "" and status(clone) == {}
    # and drawing says of what it would be made
    drawn = clone.run("planner-r1", "draw", "figure3_left", "--study", SECOND)
    any_names(drawn, "figure3_left.png", "0 of", "scores.jsonl")
    assert clone.run("git", "status", "--porcelain") == ""


def test_what_has_changed_since_is_told(clone):
    clone.edit(SECOND, "study: second", "# only a comment\nstudy: second")
    assert status(clone) == {}
    clone.edit(SECOND, "lr: 0.0003", "lr: 0.0004")
    clone.edit(SECOND, "seed: 0\n", "seed: 0\nnoise: {}\n")
    assert status(clone) == {"changed deps": {SECOND: {"training": "modified", "noise": "new"}}}
    clone.run("git", "checkout", "--quiet", ".")

    figure, report = "workflow/planner_r1/paper/figures/figure3_left.py", "workflow/planner_r1/paper/report/html.py"
    for module in (figure, report):  # nothing that is kept is made with the report's modules
        clone.edit(module, '"""', '"""Edited. ')
    with open(clone.folder / RESULTS / "tables" / "decoding.md", "a") as file:
        file.write("by hand")
    (clone.folder / RESULTS / "summary.md").unlink()
    changed = {f"{RESULTS}/tables/decoding.md": "modified", f"{RESULTS}/summary.md": "deleted"}
    assert status(clone) == {"changed deps": {figure: "modified"}, "changed outs": changed}


def test_a_default_that_changes_is_told_after_params(clone):
    clone.run("planner-r1", "dvc", "params", "--study", SECOND)
    assert status(clone) == {}
    clone.edit("workflow/planner_r1/study.py", '"seed": seed,', '"seed": seed + 1,')
    clone.run("planner-r1", "dvc", "params", "--study", SECOND)
    assert status(clone) == {"changed outs": {f"{RESULTS}/params.yaml": "modified"}}


def test_a_study_with_other_jobs_is_refused_and_loses_nothing(clone):
    clone.edit(SECOND, "seeds:\n- 0", "seeds:\n- 0\n- 1")
    done = clone.try_to("dvc", "repro", KEPT)
    assert done.returncode != 0
    any_names(" ".join(done.stderr.split()), KEPT, SECOND)
    assert clone.run("git", "status", "--porcelain").split() == ["M", SECOND]


def test_the_root_knows_nothing_of_it(recorded):
    finish(recorded, FIRST)
    lock = recorded.folder / RESULTS / "dvc.lock"
    before = lock.read_text(encoding="utf-8")
    with open(recorded.folder / RESULTS / "summary.md", "a") as file:
        file.write("by hand")
    recorded.run("planner-r1", "dvc", "record")
    recorded.run("planner-r1", "dvc", "sync")
    assert (recorded.folder / "dvc.lock").is_file() and lock.read_text(encoding="utf-8") == before
    assert "up to date" in recorded.run("dvc", "repro", "--dry")
    recorded.run("git", "checkout", "--quiet", str(RESULTS))


def test_what_cannot_be_kept_is_said(clone):
    for command, named in (
        (("keep", "--study", FIRST), ["dvc.yaml", "quick", "holds"]),
        (("stages", "--study", SECOND), [KEPT, "second", "holds"]),
        (("keep", "--study", SECOND), [SECOND, "finished"]),
        (("params", "--study", FIRST), ["results/quick/dvc.yaml", "no"]),
    ):
        done = clone.try_to("planner-r1", "dvc", *command)
        assert done.returncode == 2
        any_names(done.stderr, *named)
    assert clone.run("git", "status", "--porcelain") == ""
