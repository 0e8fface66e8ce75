"""What Snakemake would run for the out-of-domain suites."""

import shutil

import pytest
import yaml

from helpers.checkout import Copy, artefacts, copy_repository
from planner_r1.paper.artefacts import PAPER, artefacts_of
from planner_r1.study import Study

SUITES = ("natural_plan", "multi_if", "tau_bench")
TABLE2 = PAPER / "tables" / "table2.py"
SERVICE = {"endpoint": {"url": "http://127.0.0.1:9/v1", "model": "big"}}


def made_up(*suites: str) -> dict:
    return {suite: {"source": "synthetic"} for suite in suites or SUITES}


def plan(copy: Copy, change, target: str = "ood") -> dict[str, int]:
    """The jobs of the suites, and how many models are trained, after a change of the quick study."""
    copy.change_study(change, to="changed")
    planned = copy.planned(target, "--configfile", "config/changed.yaml")
    return {rule: n for rule, n in planned.items() if rule.startswith("ood_") or rule in ("table2", "train_run")}


def test_one_job_a_checkpoint_asks_all_suites_and_one_a_suite_scores(checkout):
    data = {f"ood_data_{suite}": 1 for suite in SUITES}
    expected = {**data, "ood_answers": 3, **{f"ood_{suite}": 3 for suite in SUITES}, "train_run": 2}
    assert plan(checkout, lambda config: config.update(suites=made_up())) == expected
    assert plan(checkout, lambda config: config.update(suites=made_up()), "all") == expected | {"table2": 1}


def test_a_study_without_suites_asks_none(checkout):
    assert plan(checkout, lambda config: config.pop("suites", None), "all") == {"train_run": 2}


def test_suites_and_checkpoints_are_the_studys(checkout):
    def one(config):
        config["suites"] = made_up("multi_if") | {"regimes": []}

    assert plan(checkout, one) == {"ood_data_multi_if": 1, "ood_answers": 1, "ood_multi_if": 1}

    def earlier(config):
        config["evaluation"]["checkpoints"] = [15, 30]
        config["suites"] = made_up("multi_if") | {"regimes": ["stage1"], "checkpoints": "evaluated"}

    assert plan(checkout, earlier)["ood_answers"] == 1 + 3


def test_a_service_is_asked_by_a_rule_of_its_own(checkout):
    def service(config):
        config |= {"models": {"gpt-5": SERVICE}, "regimes": {}, "suites": made_up("tau_bench")}

    assert plan(checkout, service) == {"ood_data_tau_bench": 1, "ood_answers_of_service": 1, "ood_tau_bench": 1}


def test_data_of_the_authors_are_downloaded_or_read_where_they_are(checkout, tmp_path):
    def files(config):
        config["suites"] = {suite: {"source": "files"} for suite in SUITES} | {"regimes": []}

    checkout.change_study(files, to="changed")
    planned = checkout.planned("ood", "--configfile", "config/changed.yaml")
    # three files of NaturalPlan, one of Multi-IF, five of tau-bench and its 16 tools
    assert planned["download"] == 3 + 1 + 5 + 16
    assert (planned["multi_if_english"], planned["tau_bench_tasks"], planned["tau_bench_tools"]) == (1, 1, 1)

    def elsewhere(config):
        files(config)
        for suite in SUITES:
            config["suites"][suite]["folder"] = str(tmp_path)

    checkout.change_study(elsewhere, to="changed")
    planned = checkout.planned("ood", "--configfile", "config/changed.yaml")
    assert not planned.keys() & {"download", "ood_data_multi_if", "multi_if_english"}


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Copy:
    """A copy whose study of suites has been run to its end by stubs."""
    copy = copy_repository(tmp_path_factory.mktemp("finished"))
    copy.change_study(lambda config: config.update(suites=made_up()))
    copy.finish_by_stubs()
    return copy


@pytest.mark.slow
def test_edits_and_keys_rerun_what_they_touch(finished):
    assert finished.planned("all") == {}
    made = Study.load(str(finished.folder / "config" / "quick.yaml"))
    of_table2 = {known.name: 1 for known in artefacts_of(made) if TABLE2 in known.modules()}
    of_table2 |= artefacts(made, *(f"table:{name}" for name in of_table2))
    for file, expected in (
        ("ood/natural_plan/trip.py", {"ood_natural_plan": 3} | artefacts(made, "suites")),
        ("ood/scores.py", {f"ood_{suite}": 3 for suite in SUITES} | artefacts(made, "suites")),
        ("paper/tables/table2.py", of_table2),
    ):
        path, kept = finished.folder / "workflow" / "planner_r1" / file, finished.folder / "kept"
        shutil.copy2(path, kept)
        path.write_text(path.read_text() + "# edited\n")
        assert finished.planned("all") == expected | {"report": 1, "all": 1}, file
        shutil.copy2(kept, path)

    study = finished.folder / "config" / "quick.yaml"
    text = study.read_text()
    changed = {"study_config": 1, "report": 1, "all": 1} | artefacts(made, "config")
    asked = changed | {"ood_answers": 3, **{f"ood_{suite}": 3 for suite in SUITES}} | artefacts(made, "suites", "asked")
    for change, expected in (
        ({"repeats": 2}, asked),
        ({"multi_if": {"source": "synthetic", "decoding": {"temperature": 0}}}, asked),
        ({"server": {"start_seconds": 5}}, changed),
    ):
        config = yaml.safe_load(text)
        config["suites"] |= change
        study.write_text(yaml.safe_dump(config, sort_keys=False))
        assert finished.planned("all") == expected, change
    study.write_text(text)
