"""What Snakemake would run: by study, by target, and after an edit."""

import json
import re
import shutil

import pytest
import yaml

from helpers.checkout import REPOSITORY, artefacts, copy_repository
from helpers.messages import any_names, names
from planner_r1.paper.artefacts import FIGURE, TABLE, artefacts_of
from planner_r1.study import Study

ONCE = {"all": 1, "study_config": 1, "build_sandbox": 1, "summary": 1, "report": 1}
SYNTHETIC = ONCE | {"world": 1, "queries": 3, "parquet": 3}
SUITES = ("natural_plan", "multi_if", "tau_bench")
MADE_UP_SUITES = {f"ood_data_{suite}": 1 for suite in SUITES}


def study(name: str) -> Study:
    return Study.load(f"{REPOSITORY}/config/{name}.yaml")


def asked(checkpoints: int) -> dict[str, int]:
    """What a number of checkpoints, once there, asks of the suites."""
    return {"ood_answers": checkpoints} | {f"ood_{suite}": checkpoints for suite in SUITES}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # the base model and two runs, each evaluated once
        (
            None,
            SYNTHETIC
            | {"base_model": 1, "train_run": 2, "evaluate_checkpoint": 3, "score": 3, "score_validations": 2}
            | (MADE_UP_SUITES | asked(3)),
        ),
        (
            "smoke",
            SYNTHETIC
            | {"base_model": 1, "train_run": 1, "evaluate_checkpoint": 2, "score": 2, "score_validations": 1}
            | (MADE_UP_SUITES | asked(2)),
        ),
        # 2 models x 4 regimes x 3 seeds, and two base models
        (
            "laptop",
            SYNTHETIC
            | {"base_model": 2, "train_run": 24, "evaluate_checkpoint": 26, "score": 26, "score_validations": 24},
        ),
        # 2 models x 4 regimes x 5 seeds, steps 500 and 2000 of one regime's longer runs and two base models, on two
        # splits; the suites for that regime and the base models. Neither data nor weights are here: three files of
        # queries, the database's archive with six members, 12 files of Qwen3-8B, 24 of Qwen3-32B, 25 of the suites
        (
            "paper",
            ONCE
            | {"download": 65, "unpack": 6, "queries": 3, "parquet": 3}
            | {"multi_if_english": 1, "tau_bench_tasks": 1, "tau_bench_tools": 1, "score_validations": 40}
            | {"base_model": 2, "preflight": 2, "train_run": 40, "evaluate_checkpoint": 114, "score": 114}
            | asked(27),
        ),
        # each model at four shares of the GPUs' memory, and a table of its own
        (
            "studies/memory",
            {"all": 1, "study_config": 1, "build_sandbox": 1, "download": 39, "unpack": 6, "queries": 2, "parquet": 2}
            | {"base_model": 2, "preflight": 2, "memory_probe": 8, "report": 1},
        ),
        # no test split; not here: the database's archive with six members, two files of queries, 25 of the suites
        (
            "real_rows",
            ONCE
            | {"download": 28, "unpack": 6, "queries": 2, "parquet": 2}
            | {"multi_if_english": 1, "tau_bench_tasks": 1, "tau_bench_tools": 1}
            | {"base_model": 1, "train_run": 1, "evaluate_checkpoint": 2, "score": 2, "score_validations": 1}
            | asked(2),
        ),
    ],
)
def test_jobs_of_each_study(checkout, name, expected):
    arguments = ["--configfile", f"config/{name}.yaml"] if name else []
    assert checkout.planned("all", *arguments) == expected | artefacts(study(name or "quick"))


def test_targets(checkout):
    trained = {"world": 1, "build_sandbox": 1, "queries": 3, "parquet": 2, "base_model": 1, "train_run": 1}
    assert checkout.planned("results/quick/runs/tiny/stage3/seed7/MANIFEST.json") == trained
    scored = trained | {"train_run": 2, "parquet": 3, "evaluate_checkpoint": 3, "score": 3}
    assert checkout.planned("results/quick/tables/table1.md") == scored | {"table1": 1}
    stations = ("sandbox", "data", "train", "evaluate", "ood", "tables", "figures")
    everything = scored | {"score_validations": 2} | dict.fromkeys(stations, 1) | MADE_UP_SUITES | asked(3)
    everything |= {known.name: 1 for known in artefacts_of(study("quick")) if known.kind in (TABLE, FIGURE)}
    assert checkout.planned(*stations) == everything


def test_another_study_replaces_the_default(checkout):
    def only_one_regime(config):
        config |= {"study": "only", "regimes": {"dense": [{"weights": "stage1", "steps": 3}]}}

    checkout.change_study(only_one_regime, to="only")
    assert checkout.planned("train", "--configfile", "config/only.yaml")["train_run"] == 1
    # a key on the command line changes the default study and does not replace it
    assert checkout.planned("train", "--config", "seed=1")["train_run"] == 2


def test_a_study_of_untrained_models_only_evaluates(checkout):
    checkout.change_study(lambda config: config.update(study="untrained", regimes={}), to="untrained")
    untrained = Study.load(str(checkout.folder / "config" / "untrained.yaml"))
    alone = {"study_config": 1, "build_sandbox": 1, "world": 1, "base_model": 1, "all": 1, "report": 1}
    alone |= {"queries": 3} | artefacts(untrained)
    expected = alone | {"parquet": 1, "evaluate_checkpoint": 1, "score": 1} | MADE_UP_SUITES | asked(1)
    assert checkout.planned("all", "--configfile", "config/untrained.yaml") == expected


def test_wrong_keys_are_refused_in_one_line(checkout):
    for change, key, word in (
        (lambda c: c["training"].update(save_evry=20), "training.save_evry", "'save_every'"),
        (lambda c: c["regimes"]["stage1"][0].update(steps="many"), "regimes.stage1[0].steps", "'many'"),
    ):
        checkout.change_study(change, to="wrong")
        done = checkout.snakemake("-n", "--configfile", "config/wrong.yaml")
        assert done.returncode == 1
        any_names(done.stderr, "config/wrong.yaml", key, word)


def test_a_finished_study_has_nothing_to_do_and_edits_rerun_what_they_touch(finished):
    assert finished.planned("all") == {}
    quick = study("quick")
    scored = artefacts(quick, "rates", "scores", "validations")
    for file, expected in (
        ("workflow/planner_r1/paper/learning.py", {"summary": 1}),
        ("workflow/notebooks/page/viewer.js", {}),
        # every artefact's rule runs the same script
        ("workflow/scripts/artefact.py", artefacts(quick)),
        # scoring again needs no evaluation
        ("workflow/planner_r1/scoring.py", {"score": 3, "score_validations": 2, "summary": 1} | scored),
    ):
        path, kept = finished.folder / file, finished.folder / "kept"
        shutil.copy2(path, kept)
        path.write_text(path.read_text() + "# edited\n")
        assert finished.planned("all") == expected | {"report": 1, "all": 1}, file
        shutil.copy2(kept, path)
    assert finished.planned("all") == {}


def test_snakemakes_own_report_finds_every_caption(finished):
    done = finished.snakemake("--report", "snakemake.html")
    assert done.returncode == 0, done.stderr
    added = set(re.findall(r"Adding (\w+)\.(?:png|md) ", done.stderr))
    assert added == {*artefacts(study("quick")), "summary"}


def test_a_changed_key_reruns_what_it_touches(finished):
    kept = (finished.folder / "config" / "quick.yaml").read_text()
    changed = {"study_config": 1, "report": 1, "all": 1}
    drawn = changed | {"summary": 1} | artefacts(study("quick"))

    finished.change_study(lambda config: config["regimes"]["stage3"][0].update(steps=200))
    again = {"train_run": 1, "score_validations": 1, "evaluate_checkpoint": 1, "score": 1} | asked(1)
    assert finished.planned("all") == drawn | again
    (finished.folder / "config" / "quick.yaml").write_text(kept)

    def with_less_warmup(config):
        overrides = {"actor_rollout_ref.actor.optim.lr_warmup_steps": 1}
        config["regimes"]["stage3"] = {"phases": config["regimes"]["stage3"], "overrides": overrides}

    finished.change_study(with_less_warmup)
    assert finished.planned("all") == drawn | again
    (finished.folder / "config" / "quick.yaml").write_text(kept)

    # the base model's checkpoint and two runs' are evaluated again, and nothing is trained
    finished.change_study(lambda config: config["evaluation"].update(overrides={"data.val_batch_size": 8}))
    evaluated = artefacts(study("quick"), "config", "rates", "scores", "trajectories")
    assert finished.planned("all") == changed | {"evaluate_checkpoint": 3, "score": 3} | evaluated
    (finished.folder / "config" / "quick.yaml").write_text(kept)

    finished.change_study(lambda config: config.update(seeds=[0, 1]))
    assert finished.planned("all") == drawn | {rule: 2 * n for rule, n in again.items()}
    (finished.folder / "config" / "quick.yaml").write_text(kept)
    assert finished.planned("all") == {}


def test_a_run_that_is_refused_keeps_what_it_had(finished):
    script = finished.folder / "workflow" / "scripts" / "train_run.py"
    kept, run = script.read_text(), finished.folder / "results" / "quick" / "runs" / "tiny" / "stage3" / "seed0"
    before = {path.name: path.read_text() for path in run.iterdir()}
    assert before.keys() >= {"MANIFEST.json", "metrics.jsonl", "validation.jsonl"}
    script.write_text("raise SystemExit('made with other settings')\n")
    done = finished.snakemake("--cores", "1", "--force", f"{run.relative_to(finished.folder)}/MANIFEST.json")
    assert done.returncode == 1
    assert {path.name: path.read_text() for path in run.iterdir()} == before
    script.write_text(kept)


def test_regimes_on_parts_of_the_train_split(checkout):
    made = {"world": 1, "build_sandbox": 1, "queries": 3, "parquet": 2, "base_model": 1}
    sizes, seeds = len(study("studies/data_scale").regimes), len(study("studies/data_scale").seeds)
    planned = checkout.planned("train", "--configfile", "config/studies/data_scale.yaml")
    assert planned == made | {"train_subset": sizes, "train_run": sizes * seeds, "train": 1}


def test_an_algorithm_that_there_is_not_is_told_before_anything_is_computed(checkout):
    def change(config):
        config["regimes"]["stage1"] = {"phases": config["regimes"]["stage1"], "algorithm": "grop"}

    checkout.change_study(change, to="misspelt")
    done = checkout.snakemake("-n", "--configfile", "config/misspelt.yaml")
    assert done.returncode != 0
    names(done.stderr.splitlines()[-1], "config/misspelt.yaml", "regimes.stage1.algorithm", "'grop'", "'grpo'")


def test_a_split_of_a_file_beside_drawn_ones_and_files_to_avoid(checkout):
    def avoiding_files(config):
        config |= yaml.safe_load((REPOSITORY / "config/studies/synthetic_queries.yaml").read_text())
        config["queries"]["avoid"] = [str(avoided)]

    avoided = checkout.folder / "avoided.jsonl"
    query = {"org": "A", "dest": "B", "days": 3, "date": ["2022-03-01"] * 3, "query": "Plan a trip."}
    avoided.write_text(json.dumps(query))
    checkout.change_study(avoiding_files, to="avoiding")
    planned = checkout.planned("data", "--configfile", "config/avoiding.yaml")
    # the database's archive with six members, and the file of one split
    absent = {"download": 2, "unpack": 6}
    assert planned == absent | {"build_sandbox": 1, "queries": 3, "parquet": 3, "data": 1}
    # what has been drawn is no reason to ignore a file that is gone
    for written, named in (("{}", ["query 1", "'date'"]), (None, ["no", "file"])):
        avoided.write_text(written) if written else avoided.unlink()
        done = checkout.snakemake("-n", "data", "--configfile", "config/avoiding.yaml")
        assert done.returncode != 0
        any_names(done.stderr, "queries.avoid[0]", avoided, *named)

    def avoiding(config):
        config["study"] = "avoiding"
        config["queries"]["avoid"] = ["data/travelplanner/queries/validation.csv"]

    checkout.change_study(avoiding, to="avoiding")
    assert checkout.planned("data", "--configfile", "config/avoiding.yaml")["download"] == 1


def test_a_training_that_fails_is_told_which_attempt_it_is_and_the_end_says_where_the_report_lies(tmp_path):
    copy = copy_repository(tmp_path)
    copy.finish_by_stubs()
    script = copy.folder / "workflow" / "scripts" / "train_run.py"
    stub = script.read_text(encoding="utf-8")
    fails_twice = "with open('attempts', 'a') as file:\n    file.write(f'{snakemake.resources.attempt} ')\n"
    fails_twice += "assert snakemake.resources.attempt == 3\n"
    script.write_text(fails_twice + stub, encoding="utf-8")
    run = "results/quick/runs/tiny/stage1/seed0/MANIFEST.json"
    done = copy.snakemake("--cores", "1", "--retries", "2", run, "--forcerun", "train_run", "--rerun-triggers", "mtime")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (copy.folder / "attempts").read_text().split() == ["1", "2", "3"]
    told = done.stdout + done.stderr
    assert told.count("started   train_run tiny/stage1/seed0") == 3 and told.count("finished  train_run") == 1
    assert "Open results/quick/report.html" in told
