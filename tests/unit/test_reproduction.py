"""Which numbers of the paper are compared, how the difference is judged, and what the page says."""

import csv
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from helpers.made_up_study import CONFIG, metrics
from helpers.messages import any_names, names
from planner_r1.paper import comparison, reproduction
from planner_r1.paper.artefacts import artefact
from planner_r1.paper.comparison import (
    HEADLINE,
    NOT_COMPARABLE,
    NOT_REPRODUCED,
    NOT_RUN,
    REPRODUCED,
    TABLE1,
    TABLE2,
    UNDECIDED,
    Number,
    Own,
    difference,
    judge,
    row,
)
from planner_r1.paper.reference import reference
from planner_r1.paper.render import read_csv, write_rows
from planner_r1.paper.results import Results
from planner_r1.paper.statistics import Difference
from planner_r1.paper.tables import headline, table1
from planner_r1.study import Study

QUERIES = {"source": "files", "train": "t.csv", "validation": "v.csv", "test": "u.csv"}
OFFICIAL = {
    "study": "official",
    "sandbox": {"source": "files", "database": "db", "official": True},
    "queries": QUERIES,
    "models": {"qwen3-8b": {"path": "w"}},
    "regimes": {
        "stage1": [{"weights": "stage1", "steps": 3000}],
        "stage3": [{"weights": "stage3", "steps": 500}],
        "curriculum": [
            *({"weights": "stage1", "steps": 100}, {"weights": "stage2", "steps": 300}),
            {"weights": "stage3", "steps": 100},
        ],
    },
    "seeds": [0, 1, 2, 3, 4],
    "training": {"save_every": 100},
    "evaluation": {"splits": ["validation", "test"], "checkpoints": [500]},
}


def number(value, ci, part=TABLE1, unit="percent", model="qwen3-8b"):
    return Number(part, "Table 1, Some-8B", "Final pass", model, "stage1", "500", value, ci, unit)


# ---- the rule -------------------------------------------------------------------------------------------------------


def test_five_runs_against_five_are_welch_as_scipy_has_it():
    ours = [36.0, 41.0, 38.5, 40.0, 43.5]
    reach = stats.t.ppf(0.975, 4) * np.std(ours, ddof=1) / math.sqrt(5)
    mean = np.mean(ours)
    found, test = difference(number(39.9, 4.3), Own(mean, mean - reach, mean + reach, 5))
    papers_sd = 4.3 * math.sqrt(5) / 2.7764451
    told = stats.ttest_ind_from_stats(mean, np.std(ours, ddof=1), 5, 39.9, papers_sd, 5, equal_var=False)
    assert test == "Welch" and found.p == pytest.approx(told.pvalue, rel=1e-6)
    assert found.mean == pytest.approx(mean - 39.9)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (-3, 4, REPRODUCED),
        (-9.9, 9.9, REPRODUCED),
        (-12, 9, UNDECIDED),  # no difference, but nothing is known
        (-60, 70, UNDECIDED),
        (2, 8, NOT_REPRODUCED),  # surely off, though within the margin
        (-30, -12, NOT_REPRODUCED),
        (0.2, 0.9, REPRODUCED),  # surely off, by what matters to nobody
        (0.2, 1.1, NOT_REPRODUCED),
        (0, 0, REPRODUCED),
        (0.1, 0.9, REPRODUCED),
        (0.1, 1.5, NOT_REPRODUCED),
    ],
)
def test_the_interval_decides(low, high, verdict):
    assert judge(Difference((low + high) / 2, low, high, None), 10) == verdict


@given(st.floats(0, 100), st.floats(0, 100), st.floats(0, 30), st.floats(0, 30), st.integers(2, 9))
def test_what_cannot_be_told_is_never_reproduced(ours, papers, half, papers_half, n):
    found, _ = difference(number(papers, papers_half), Own(ours, ours - half, ours + half, n))
    verdict = judge(found, 10)
    if verdict == REPRODUCED:
        assert found.low >= -10 and found.high <= 10
    if found.high - found.low > 20:
        assert verdict != REPRODUCED
    assert found.low <= found.mean <= found.high


def test_one_run_of_ours_is_taken_for_a_sixth_of_the_papers():
    told = row(number(39.9, 4.3), Own(41.0, n=1))
    reach = stats.t.ppf(0.975, 4) * (4.3 * math.sqrt(5) / stats.t.ppf(0.975, 4)) * math.sqrt(6 / 5)
    assert told["difference_high"] - told["difference"] == pytest.approx(reach)
    assert told["verdict"] == UNDECIDED  # 10.5 points either way
    names(told["test"], "one", 5)
    assert row(number(39.9, 4.3), Own(10.0, n=1))["verdict"] == NOT_REPRODUCED
    assert row(number(99.5, 0.8), Own(99.1, n=1))["verdict"] == REPRODUCED


def test_a_paper_too_unsure_of_its_own_number_is_said_to_be():
    told = row(number(13.3, 23.2), Own(13.0, 12.0, 14.0, 5))
    assert told["verdict"] == UNDECIDED
    names(told["reason"], "paper's own")


def test_single_runs_are_shares_of_a_thousand_queries():
    told = row(number(21.2, None), Own(22.0, n=1))
    assert told["verdict"] == REPRODUCED
    names(told["test"], "1,000 queries")
    pooled = stats.chi2_contingency([[220, 780], [212, 788]], correction=False)
    assert told["p"] == pytest.approx(pooled.pvalue)
    assert row(number(0.0, None), Own(0.0, n=1))["verdict"] == REPRODUCED
    assert row(number(21.2, None), Own(30.0, n=1))["verdict"] == NOT_REPRODUCED


def test_where_neither_varies_a_difference_is_a_difference():
    assert row(number(0.0, 0.0), Own(0.0, 0.0, 0.0, 5))["verdict"] == REPRODUCED
    assert row(number(84.0, 0.0, TABLE2), Own(83.0, 83.0, 83.0, 3))["verdict"] == NOT_REPRODUCED


def test_headline_figures_are_held_against_themselves():
    figure = {"part": HEADLINE, "unit": "FLOPs"}
    assert row(number(2.1e20, None, **figure), Own(2.2e20, 2.0e20, 2.4e20, 5))["verdict"] == REPRODUCED
    assert row(number(2.1e20, None, **figure), Own(2.2e20, 1.0e20, 4.0e20, 5))["verdict"] == UNDECIDED
    assert row(number(2.1e20, None, **figure), Own(4.0e20, 3.8e20, 4.2e20, 5))["verdict"] == NOT_REPRODUCED
    assert row(number(60, None, HEADLINE, "GB"), Own(66, n=1))["verdict"] == REPRODUCED
    alone = row(number(60, None, HEADLINE, "GB"), Own(75, n=1))
    assert alone["verdict"] == NOT_REPRODUCED and alone["p"] is None


def test_collapsed_runs_are_counted():
    def verdict(count, n, papers=5):
        return row(number(papers, None, HEADLINE, "of 5 runs"), Own(count, n=n))["verdict"]

    assert verdict(5, 5) == verdict(4, 5) == verdict(9, 10) == REPRODUCED
    assert verdict(0, 5) == NOT_REPRODUCED  # Fisher: 2 / 252
    assert verdict(3, 5) == UNDECIDED and verdict(3, 3) == UNDECIDED
    assert verdict(3, 5, papers=3) == verdict(2, 5, papers=3) == REPRODUCED


# ---- what is compared -----------------------------------------------------------------------------------------------


def reproduced(config, folder, found, files=1000, headline_rows=()):
    """The rows of the page, claims aside, from objects of metrics.json."""
    study = Study.from_config(config)
    for name, rows, fields in (
        ("table1", table1.table1(study, found), table1.FIELDS),
        ("headline", headline_rows, headline.FIELDS),
    ):
        (folder / "tables").mkdir(parents=True, exist_ok=True)
        write_rows(rows, fields, folder / f"tables/{name}.csv")
    (folder / "data").mkdir(exist_ok=True)
    (folder / "data/test.jsonl").write_text("{}\n" * files, encoding="utf-8")
    page = artefact("reproduction")
    told = reproduction.rows(study, Results(study, folder, (*page.reads, *page.may_read)))
    write_rows(told, reproduction.FIELDS, folder / "reproduction.csv")
    return read_csv(folder / "reproduction.csv")


def of(rows, regime="stage1", quantity="Delivery", model="qwen3-8b", part=TABLE1, steps=None):
    found = [r for r in rows if (r["part"], r["model"], r["regime"], r["quantity"]) == (part, model, regime, quantity)]
    return next(r for r in found if steps in (None, r["steps"]))


def evaluated(config, delivery=0.99, **rates):
    """Of the validation split everything is known, of the test split the delivery alone."""
    study = Study.from_config(config)
    passes = [metrics(c, "validation", delivery=delivery, final_pass=0.4 + 0.001 * c.seed) for c in study.checkpoints]
    test = [metrics(c, "test", hidden=True, delivery=delivery + 0.0001 * c.seed, **rates) for c in study.checkpoints]
    return passes + test


def test_of_the_official_test_set_the_delivery_is_known_and_the_rest_needs_the_leaderboard(tmp_path):
    rows = reproduced(OFFICIAL, tmp_path, evaluated(OFFICIAL))
    delivery = of(rows)
    assert (delivery["paper"], delivery["paper_ci"], delivery["n"]) == ("99.5", "0.8", "5")
    assert delivery["verdict"] == REPRODUCED and float(delivery["difference"]) == pytest.approx(-0.48, abs=1e-3)
    hidden = of(rows, quantity="Final pass")
    assert hidden["verdict"] == NOT_COMPARABLE and "leaderboard" in hidden["reason"] and not hidden["difference"]
    assert of(rows, "base")["verdict"] == NOT_REPRODUCED  # the paper's 8B delivers nothing before training
    assert of(rows, "curriculum")["verdict"] == REPRODUCED
    assert of(rows, "stage3")["verdict"] == NOT_REPRODUCED
    names(of(rows, "stage2")["reason"], "qwen3-8b", "stage2", "trained")
    assert of(rows, model="qwen3-32b")["verdict"] == NOT_COMPARABLE
    page = reproduction.markdown(rows, "What reproduces")
    assert page.count(reproduction.HAND_IN) == 1 and "planner-r1 submission" in page
    assert of(rows, "base", model="gpt-5")["verdict"] == NOT_RUN


def changed(**sections):
    return OFFICIAL | sections


@pytest.mark.parametrize(
    ("config", "files", "named"),
    [
        (changed(sandbox={"source": "files", "database": "db", "official": False}), 1000, ["database"]),
        (OFFICIAL, 180, ["official test set"]),
        (changed(evaluation={"splits": ["validation"], "checkpoints": [500]}), 1000, ["split", "validation"]),
        (changed(evaluation={"splits": ["test"], "checkpoints": "final"}), 1000, ["step", 3000]),
        (changed(models={"qwen3-8b": {"warm_start": {}}}), 1000, ["model", "qwen3-8b"]),
        (changed(regimes={"stage1": [{"weights": "stage3", "steps": 500}]}), 1000, ["phases"]),
        (changed(regimes={"stage1": [{"weights": [1, 1, 1, 1, 3], "steps": 500}]}), 1000, ["phases"]),
        (
            changed(regimes={"stage1": {"phases": [{"weights": "stage1", "steps": 500}], "profile": "strict"}}),
            *(1000, ["strict", "profile"]),
        ),
        (
            changed(regimes={"stage1": {"phases": [{"weights": "stage1", "steps": 500}], "algorithm": "rloo"}}),
            *(1000, ["algorithm", "rloo"]),
        ),
        (
            changed(training={"save_every": 100, "overrides": {"actor_rollout_ref.actor.optim.lr": 1e-5}}),
            *(1000, ["settings", "lr"]),
        ),
    ],
)
def test_what_is_not_as_in_the_paper_is_not_compared(config, files, named, tmp_path):
    config = config | {"study": "other"}
    told = of(reproduced(config, tmp_path, evaluated(config), files))
    assert told["verdict"] == NOT_COMPARABLE
    names(told["reason"], *named)
    assert told["difference"] == told["p"] == ""


def test_five_numbers_that_are_those_of_the_stage_are_the_stage(tmp_path):
    config = changed(regimes={"stage1": [{"weights": [1, 1, 1, 1, 1], "steps": 500}]})
    assert of(reproduced(config, tmp_path, evaluated(config)))["verdict"] == REPRODUCED


def test_settings_that_learning_does_not_depend_on_may_be_others(tmp_path):
    keys = {"trainer.nnodes": 1, "actor_rollout_ref.rollout.gpu_memory_utilization": 0.8}
    keys |= {"actor_rollout_ref.actor.optim.lr": 1.0e-6}  # as the paper has it
    config = changed(training={"save_every": 100, "overrides": keys})
    assert of(reproduced(config, tmp_path, evaluated(config)))["verdict"] == REPRODUCED


def test_a_curriculum_of_other_lengths_is_another(tmp_path):
    phases = [{"weights": f"stage{i}", "steps": n} for i, n in ((1, 200), (2, 200), (3, 100))]
    config = changed(regimes={"curriculum": phases})
    told = of(reproduced(config, tmp_path, evaluated(config)), "curriculum")
    assert told["verdict"] == NOT_COMPARABLE and told["reason"] == "other phases"


@pytest.mark.parametrize("config", [OFFICIAL, {**CONFIG, "models": {"tiny": {"warm_start": {}}}}])
def test_without_results_every_number_is_not_run(config, tmp_path):
    rows = [r for r in reproduced(config, tmp_path, []) if r["part"] != "claim"]
    assert {r["verdict"] for r in rows} == {NOT_RUN} and all(r["reason"] for r in rows)
    assert reproduction.HAND_IN not in reproduction.markdown(rows, "What reproduces")


def test_only_what_has_something_of_ours_beside_it_is_not_comparable(tmp_path):
    made = {**CONFIG, "models": {"tiny": {"warm_start": {}}}, "seeds": [0]}
    found = [metrics(c) for c in Study.from_config(made).checkpoints if c.regime != "stage3"]
    peak = dict.fromkeys(headline.FIELDS, "") | {"quantity": "final_pass_peak", "model": "tiny", "ours": 50.0, "n": 1}
    empty = peak | {"quantity": "collapsed_runs_stage3", "ours": ""}
    rows = reproduced(made, tmp_path, found, headline_rows=[peak, empty])
    assert of(rows, "base")["verdict"] == of(rows)["verdict"] == NOT_COMPARABLE
    assert (of(rows, "stage3")["verdict"], of(rows, "stage3")["reason"]) == (NOT_RUN, "no results")
    assert "another model (tiny)" in of(rows, "", "final pass peak", part=HEADLINE)["reason"]
    for quantity in ("collapsed runs stage3", "flops to 90pct of 32b peak"):
        assert of(rows, "", quantity, part=HEADLINE)["verdict"] == NOT_RUN


def test_a_made_up_world_is_judged_by_claims_alone(tmp_path):
    made = {**CONFIG, "models": {"tiny": {"warm_start": {}}}}
    rows = reproduced(made, tmp_path, [metrics(c) for c in Study.from_config(made).checkpoints])
    assert of(rows)["verdict"] == NOT_COMPARABLE and "another world" in of(rows)["reason"]
    assert of(rows, "curriculum")["verdict"] == NOT_RUN
    numbers = [r for r in rows if r["part"] != "claim"]
    assert {r["verdict"] for r in numbers} == {NOT_COMPARABLE, NOT_RUN}


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10**6))
def test_whatever_our_numbers_are_what_was_not_run_gets_no_verdict(seed, tmp_path_factory):
    draw = random.Random(seed)
    study, folder = Study.from_config(OFFICIAL), tmp_path_factory.mktemp("any")
    found = [m for m in evaluated(OFFICIAL, draw.random() * 0.9) if draw.random() < 0.8]
    rows = [r for r in reproduced(OFFICIAL, folder, found) if r["part"] != "claim"]
    ran = {(m["model"], m["regime"], str(m["step"])) for m in found if m["split"] == "test"}
    for told in rows:
        compared = told["verdict"] in (REPRODUCED, NOT_REPRODUCED, UNDECIDED)
        assert compared == (told["difference"] != "")
        if (told["model"], told["regime"], told["steps"]) not in ran:
            assert not compared and told["reason"]
    assert study.models == ("qwen3-8b",)


def test_every_number_of_the_paper_has_its_row(tmp_path):
    rows = reproduced(OFFICIAL, tmp_path, [])
    assert sum(r["part"] == TABLE1 for r in rows) == 6 * len(reference("table1")) == 72
    assert sum(r["part"] == TABLE2 for r in rows) == 7 * len(reference("table2")) == 49
    named = {(r["quantity"], r["model"]) for r in rows if r["part"] == HEADLINE}
    kept = [r for r in reference("headline") if r["quantity"] not in comparison.SETTINGS]
    assert named == {(r["quantity"].replace("_", " "), r["model"]) for r in kept}
    assert {r["verdict"] for r in rows if r["part"] == TABLE1} <= {NOT_RUN, NOT_COMPARABLE}


def test_headline_figures_of_the_study_stand_beside_the_papers(tmp_path):
    ours = dict.fromkeys(headline.FIELDS, "") | {"quantity": "collapsed_runs_stage3", "model": "qwen3-8b"}
    ours |= {"ours": 5, "n": 5, "unit": "of 5 runs"}
    peak = ours | {"quantity": "final_pass_peak", "ours": 55.0, "low": 50.0, "high": 60.0}
    rows = reproduced(OFFICIAL, tmp_path, [], headline_rows=[ours, peak])
    told = of(rows, "", "collapsed runs stage3", part=HEADLINE)
    assert (told["verdict"], told["ours"], told["difference"]) == (REPRODUCED, "5.0", "0.0")
    peak = of(rows, "", "final pass peak", part=HEADLINE)
    assert peak["verdict"] == NOT_COMPARABLE and "another split" in peak["reason"] and peak["ours"] == "55.0"


# ---- for people -----------------------------------------------------------------------------------------------------


def test_the_page_counts_explains_and_names(tmp_path):
    rows = reproduced(OFFICIAL, tmp_path, evaluated(OFFICIAL))
    text = reproduction.markdown(rows, "What reproduces")
    for verdict in reproduction.VERDICTS:
        count = sum(r["part"] == TABLE1 and r["verdict"] == verdict for r in rows)
        line = next(line for line in text.splitlines() if line.startswith("| Table 1"))
        assert line.split("|")[2 + reproduction.VERDICTS.index(verdict)].strip() == str(count)
    assert "| Planner-R1-8B, stage1, step 500: Delivery | 99.5 ± 0.8 | 99.0 (5) | -0.5 [" in text
    any_names(text, NOT_RUN, "gpt-5", "GPT5 (high), base, step 0 (6)")
    assert text.index("| Claims |") < text.index("**Numbers** are compared") < text.index("## Claims")
    assert max(len(line) for line in text.splitlines() if line.startswith("|")) < 200


def test_holms_correction_is_within_a_part(tmp_path):
    rows = [r for r in reproduced(OFFICIAL, tmp_path, evaluated(OFFICIAL)) if r["part"] == TABLE1 and r["p"]]
    assert len(rows) >= 3
    smallest = min(rows, key=lambda r: float(r["p"]))
    assert float(smallest["p_holm"]) == pytest.approx(min(1, len(rows) * float(smallest["p"])))
    assert all(float(r["p_holm"]) >= float(r["p"]) for r in rows)


def test_the_numbers_are_a_table_of_their_own(tmp_path):
    reproduced(OFFICIAL, tmp_path, [])
    with open(tmp_path / "reproduction.csv", encoding="utf-8", newline="") as file:
        assert tuple(csv.DictReader(file).fieldnames) == reproduction.FIELDS
