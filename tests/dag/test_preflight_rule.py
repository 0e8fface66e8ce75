"""The check before the first job on GPUs: where it stands in the DAG, and that it never trains anything again."""

import re

import pytest

from helpers.checkout import Copy, copy_repository
from helpers.messages import any_names


def on_gpus(config):
    config["training"] |= {"backend": "gpu", "overrides": {}}


@pytest.fixture(scope="module")
def on_gpus_finished(tmp_path_factory) -> Copy:
    """A copy whose quick study, on GPUs by its configuration, has been run to its end by stubs."""
    copy = copy_repository(tmp_path_factory.mktemp("gpus"))
    copy.change_study(on_gpus)
    rule = copy.folder / "workflow" / "rules" / "preflight.smk"
    rule.write_text(rule.read_text().replace("{sys.executable} -m planner_r1", "echo"), encoding="utf-8")
    copy.finish_by_stubs()
    return copy


def test_it_goes_before_training_and_evaluation_on_gpus_only(checkout):
    assert "preflight" not in checkout.planned("all")
    checkout.change_study(on_gpus, to="gpus")
    planned = checkout.planned("all", "--configfile", "config/gpus.yaml")
    assert planned["preflight"] == planned["base_model"] == 1
    # also where there is nothing to train
    base = "results/quick/evaluations/tiny/base/seed0/step0/test/trajectories.jsonl"
    assert checkout.planned(base, "--configfile", "config/gpus.yaml")["preflight"] == 1


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (["--configfile", "config/gpus.yaml"], r"--study \S*config/gpus.yaml"),
        (["--configfile", "config/gpus.yaml", "--profile", "slurm"], r"--study \S*config/gpus.yaml --profile slurm"),
        (["--configfile", "config/gpus.yaml", "--config", "seed=7"], r"--study '\{\"study\": \"quick\", \"seed\": 7,"),
    ],
)
def test_it_is_the_command_of_a_person(checkout, arguments, options):
    checkout.change_study(on_gpus, to="gpus")
    done = checkout.snakemake("-n", "-p", "results/quick/preflight/tiny.txt", *arguments)
    assert re.search(rf"-m planner_r1 preflight --model tiny {options}", done.stdout + done.stderr), done.stderr


def test_edited_checks_and_another_environment_train_nothing_again(on_gpus_finished):
    copy = on_gpus_finished
    assert copy.planned("all") == {}
    for file in ("preflight/checks.py", "preflight/model.py", "cli.py"):
        path = copy.folder / "workflow" / "planner_r1" / file
        path.write_text(path.read_text() + "# edited\n", encoding="utf-8")
    assert copy.planned("all") == {}

    kept = (copy.folder / "config" / "quick.yaml").read_text()
    assert "environment" not in kept
    copy.change_study(lambda c: (on_gpus(c), c.update(environment="venv:elsewhere", cost={"gpu_hour": 3})))
    assert copy.planned("all") == {"study_config": 1, "report": 1, "all": 1}
    (copy.folder / "config" / "quick.yaml").write_text(kept, encoding="utf-8")


def test_it_hides_no_changed_key(on_gpus_finished):
    copy = on_gpus_finished
    kept = (copy.folder / "config" / "quick.yaml").read_text()
    copy.change_study(lambda c: (on_gpus(c), c["regimes"]["stage3"][0].update(steps=200)))
    planned = copy.planned("all")
    assert (planned["train_run"], planned["evaluate_checkpoint"]) == (1, 1)
    assert "base_model" not in planned
    (copy.folder / "config" / "quick.yaml").write_text(kept, encoding="utf-8")


def test_a_fault_is_shown_and_stops_what_depends_on_it(tmp_path):
    copy = copy_repository(tmp_path)
    # no environment of this project holds both Snakemake and the trainer's set for GPUs
    copy.change_study(on_gpus)
    manifest = tmp_path / "results" / "quick" / "models" / "tiny" / "MANIFEST.json"
    manifest.parent.mkdir(parents=True)
    manifest.write_text("{}", encoding="utf-8")
    target = "results/quick/preflight/tiny.txt"
    done = copy.snakemake("--cores", "1", target, "--allowed-rules", "preflight")
    said = done.stdout + done.stderr
    assert done.returncode == 1 and not (tmp_path / target).exists()
    # all faults, in the terminal and in the log
    log = (tmp_path / "results" / "quick" / "logs" / "preflight" / "tiny.log").read_text(encoding="utf-8")
    for told in (said, log):
        any_names(told, "FAIL", "weights of tiny")
        any_names(told, "FAIL", "environment", "'active'", "sglang missing")
