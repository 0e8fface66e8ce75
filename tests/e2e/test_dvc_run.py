"""A study under DVC as its user keeps it: repro, record, push, pull, sync; scripts only write their outputs."""

import json

import boto3
import pytest
from moto.server import ThreadedMotoServer

from helpers.clone import Clone, stubbed_clone

pytestmark = pytest.mark.slow

KEYS = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "hidden-testing", "AWS_DEFAULT_REGION": "us-east-1"}
NOTHING_TO_DO = "Nothing to be done"


@pytest.fixture(scope="module")
def fresh(tmp_path_factory) -> Clone:
    """A clone in which nothing has run."""
    return stubbed_clone(tmp_path_factory.mktemp("fresh"), "config/quick.yaml")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> Clone:
    """A clone whose smoke study was made by Snakemake and recorded, with a folder as the remote."""
    clone = stubbed_clone(tmp_path_factory.mktemp("recorded"), "config/smoke.yaml")
    clone.run("snakemake", "--cores", "2", "all", "--configfile", "config/smoke.yaml")
    assert "`git add dvc.yaml dvc.lock results/smoke`" in clone.run("planner-r1", "dvc", "record")
    clone.run("dvc", "remote", "add", "--default", "store", str(tmp_path_factory.mktemp("store")))
    clone.run("dvc", "push")
    clone.commit("the run")
    return clone


@pytest.fixture
def clone(recorded, tmp_path) -> Clone:
    """Another clone of the recorded run, without its data."""
    return recorded.clone(tmp_path / "clone")


def changed_stages(clone: Clone) -> set[str]:
    return set(json.loads(clone.run("dvc", "status", "--json")))


def snakemake_plan(clone: Clone) -> str:
    done = clone.try_to("snakemake", "-n", "all", "--configfile", "config/smoke.yaml", "--quiet", "rules")
    return done.stdout + done.stderr


def test_repro_makes_what_was_asked_for_and_again_what_an_edit_touches(fresh):
    needed = ["study", "sandbox", "model-tiny", "score", "score_validations", "table1", "figure3_left"]
    needed += [f"train-tiny-{regime}-seed0" for regime in ("stage1", "stage3")]
    needed += [f"trajectories-tiny-{at}" for at in ("base-seed0-step0", "stage1-seed0-step45", "stage3-seed0-step45")]
    ran = fresh.repro("table1", "figure3_left")
    assert ran[0] == "study" and sorted(ran) == sorted(needed)
    assert fresh.repro("table1", "figure3_left") == []
    fresh.commit("made")

    fresh.edit("workflow/planner_r1/paper/figures/figure3_left.py", '"""', '"""Edited. ')
    assert fresh.repro("table1", "figure3_left") == ["study", "figure3_left"]

    (fresh.folder / "results/quick/tables/table1.md").unlink()
    assert fresh.repro("table1") == []  # from DVC's own record of that run
    assert (fresh.folder / "results/quick/tables/table1.md").is_file()

    fresh.edit("config/quick.yaml", "max_steps: 300", "max_steps: 200")
    assert fresh.repro("model-tiny") == ["study", "model-tiny"]
    assert {"model-tiny", "score"}.isdisjoint(changed_stages(fresh))
    assert "train-tiny-stage1-seed0" not in changed_stages(fresh)  # the stub wrote the same weights
    fresh.run("git", "checkout", "--quiet", ".")
    fresh.run("dvc", "checkout", "model-tiny")


def test_a_stage_leaves_alone_what_its_run_goes_on_from(fresh):
    work = fresh.folder / "results/quick/work/tiny/stage1/seed0"
    work.mkdir(parents=True, exist_ok=True)
    (work / "spec.json").write_text("{}")
    assert fresh.repro("--force", "--single-item", "train-tiny-stage1-seed0") == ["train-tiny-stage1-seed0"]
    assert (work / "spec.json").is_file()


def test_a_seed_more_asks_for_new_stages_and_touches_no_finished_run(fresh):
    fresh.edit("config/quick.yaml", "seeds: [0]", "seeds: [0, 1]")
    done = fresh.try_to("dvc", "repro", "train")
    assert done.returncode != 0
    assert "run `planner-r1 dvc stages`" in done.stderr
    fresh.run("planner-r1", "dvc", "stages")
    assert fresh.repro("study") == ["study"]
    trainings = {stage for stage in changed_stages(fresh) if stage.startswith("train-")}
    assert trainings == {"train-tiny-stage1-seed1", "train-tiny-stage3-seed1"}
    fresh.run("git", "checkout", "--quiet", ".")


def test_a_recorded_run_is_up_to_date_for_both(recorded):
    assert changed_stages(recorded) == set()
    assert NOTHING_TO_DO in snakemake_plan(recorded)
    assert recorded.repro() == []
    in_git = recorded.run("git", "ls-files", "results").split()
    assert "results/smoke/tables/table1.md" in in_git and "results/smoke/runs/tiny/stage1/seed0/MANIFEST.json" in in_git
    assert not [file for file in in_git if file.endswith((".jsonl", ".parquet", ".safetensors", ".gitignore"))]


def test_metrics_and_plots_are_shown(clone):
    evaluation = "results/smoke/evaluations/tiny/stage1/seed0/step2/test/metrics.json"
    for file in clone.folder.glob("results/smoke/evaluations/*/*/*/*/*/metrics.json"):
        file.write_text(json.dumps({"rates": {"official": {"final_pass": 0.25}}}))
    shown = json.loads(clone.run("dvc", "metrics", "show", "--json"))[""]["data"]
    assert shown[evaluation]["data"]["rates"]["official"]["final_pass"] == 0.25

    curves = "results/smoke/figures/figure3_left.csv"
    (clone.folder / curves).write_text("model,regime,step,final_pass\ntiny,stage1,0,36\ntiny,stage1,2,50\n")
    for picture in clone.folder.glob("results/smoke/figures/*.png"):
        picture.write_bytes(b"\x89PNG")
    clone.run("dvc", "plots", "show", "--out", "plots")
    page = (clone.folder / "plots" / "index.html").read_text()
    assert '"final_pass": "50"' in page and '"field": "regime"' in page
    assert "smoke_figures_figure3_left.png" in page


def test_after_a_pull_there_is_nothing_to_do(clone):
    done = clone.try_to("planner-r1", "dvc", "sync")
    assert done.returncode == 2 and "pull their files: `dvc pull`" in done.stderr
    clone.run("dvc", "pull")
    clone.run("planner-r1", "dvc", "sync")
    assert NOTHING_TO_DO in snakemake_plan(clone)
    assert changed_stages(clone) == set()
    # Snakemake knows what the files were made with
    clone.edit("config/smoke.yaml", "lr: 3.0e-4", "lr: 4.0e-4")
    assert "train_run" in snakemake_plan(clone)
    done = clone.try_to("planner-r1", "dvc", "sync")
    assert done.returncode == 2 and "results/smoke/params.yaml" in done.stderr
    clone.run("git", "checkout", "--quiet", ".")

    # only what is whole is recorded
    weights = clone.folder / "results/smoke/runs/tiny/stage1/seed0/checkpoints/step2/model.safetensors"
    weights.write_text("cut")
    done = clone.try_to("planner-r1", "dvc", "record")
    assert done.returncode == 2 and f"{weights.relative_to(clone.folder)}: not as MANIFEST.json says" in done.stderr
    weights.write_text("weights")
    (clone.folder / "results/smoke/summary.md").unlink()
    done = clone.try_to("planner-r1", "dvc", "record")
    assert done.returncode == 2 and "not finished" in done.stderr and "summary" in done.stderr
    clone.run("git", "checkout", "--quiet", ".")

    with open(clone.folder / "results/smoke/tables/table1.md", "a") as file:
        file.write("by hand")
    done = clone.try_to("planner-r1", "dvc", "sync")
    assert done.returncode == 2 and "not as dvc.lock says: results/smoke/tables/table1.md" in done.stderr
    # a refused `dvc repro` has deleted what the first stage writes, which git keeps and DVC's cache does not
    for file in ("tables/table1.md", "config.yaml", "params.yaml"):
        (clone.folder / "results/smoke" / file).unlink()
    done = clone.try_to("planner-r1", "dvc", "sync")
    assert done.returncode == 2 and "params.yaml" in done.stderr and "`git checkout results/smoke`" in done.stderr
    clone.run("git", "checkout", "results/smoke")
    clone.run("planner-r1", "dvc", "sync")


def test_one_table_fetches_what_it_needs_and_no_weights(clone):
    clone.edit("workflow/planner_r1/evaluator/hard.py", '"""', '"""Edited. ')
    assert clone.repro("--pull", "--allow-missing", "table1") == ["study", "score"]
    results = clone.folder / "results" / "smoke"
    assert [*results.glob("evaluations/**/trajectories.jsonl")]
    assert not [*results.glob("runs/**/*.safetensors")] and not (results / "models").exists()


def test_push_and_pull_through_s3(recorded, tmp_path):
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    try:
        address = "http://{}:{}".format(*server.get_host_and_port())
        credentials = {"aws_access_key_id": KEYS["AWS_ACCESS_KEY_ID"], "aws_secret_access_key": "hidden-testing"}
        boto3.client("s3", endpoint_url=address, region_name="us-east-1", **credentials).create_bucket(Bucket="results")
        clones = [recorded, recorded.clone(tmp_path / "other")]
        for each in clones:
            each.run("dvc", "remote", "add", "--local", "--force", "s3", "s3://results/planner-r1")
            each.run("dvc", "remote", "modify", "--local", "s3", "endpointurl", address)
            assert KEYS["AWS_SECRET_ACCESS_KEY"] not in (each.folder / ".dvc" / "config.local").read_text()
        recorded.run("dvc", "push", "--remote", "s3", **KEYS)
        clones[1].run("dvc", "pull", "--remote", "s3", **KEYS)
    finally:
        server.stop()
    assert changed_stages(clones[1]) == set()
    weights = "results/smoke/runs/tiny/stage1/seed0/checkpoints/step2/model.safetensors"
    assert (clones[1].folder / weights).read_text() == (recorded.folder / weights).read_text()
