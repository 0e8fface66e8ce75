"""Regimes against the first of their model: hand-made curves with answers in closed form, tests against scipy."""

import numpy as np
import pytest
from scipy import stats

from helpers.made_up_budgets import READS, steps_of, straight, write_run
from helpers.made_up_study import study
from planner_r1.paper.render import read_csv, write_rows
from planner_r1.paper.results import Results
from planner_r1.paper.tables import differences
from planner_r1.paper.tables.differences import HIGHER, LOWER, NOT_TOLD, TOO_FEW, verdict

SEEDS = [0, 1, 2, 3, 4]
ONE = {"tiny": {"warm_start": {}}}
FIVE = study(models=ONE, seeds=SEEDS)


def rows_of(made, folder):
    write_rows(differences.rows(made, Results(made, folder, READS)), differences.FIELDS, folder / "d.csv")
    return read_csv(folder / "d.csv")


def by_place(rows, regime="stage3"):
    return {(row["budget"], row["measure"]): row for row in rows if row["regime"] == regime}


def write_all(made, folder, ends, tokens, skip=()):
    """Runs with straight curves to ends (by regime and seed), in steps of so many tokens (by regime)."""
    for run in made.runs:
        if run.name not in skip:
            write_run(folder, run, straight(ends[run.regime][run.seed]), steps_of(tokens[run.regime]))


ENDS = {"stage1": [0.4, 0.5, 0.3, 0.4, 0.5], "stage3": [0.6, 0.8, 0.5, 0.7, 0.6]}


def test_straight_curves_in_closed_form(tmp_path):
    """Stage 3 takes twice the tokens a step: at the first regime's 4,000 it is half way."""
    write_all(FIVE, tmp_path, ENDS, {"stage1": 100, "stage3": 200})
    found = by_place(rows_of(FIVE, tmp_path))
    first, other = 100 * np.array(ENDS["stage1"]), 100 * np.array(ENDS["stage3"])
    expected = {
        ("steps", "end"): (40, other, first),
        ("steps", "on the way"): (40, other / 2, first / 2),
        ("tokens", "end"): (4000, other / 2, first),
        ("tokens", "on the way"): (4000, other / 4, first / 2),
    }
    assert found.keys() == expected.keys()
    for place, (upto, ours, theirs) in expected.items():
        row, test = found[place], stats.ttest_rel(ours, theirs)
        interval = test.confidence_interval(0.95)
        assert (float(row["upto"]), row["n"], row["queries"], row["test"]) == (upto, "5", "20", "paired t")
        assert float(row["final_pass"]) == pytest.approx(ours.mean(), abs=1e-3)
        assert float(row["against_pass"]) == pytest.approx(theirs.mean(), abs=1e-3)
        assert float(row["difference"]) == pytest.approx((ours - theirs).mean(), abs=1e-3)
        ends = (float(row["low"]), float(row["high"]))
        assert ends == pytest.approx((interval.low, interval.high), abs=1e-3)
        assert float(row["half_width"]) == pytest.approx((interval.high - interval.low) / 2, abs=1e-3)
        assert float(row["p"]) == float(row["p_holm"]) == pytest.approx(test.pvalue, rel=1e-6)
    assert found["steps", "end"]["verdict"] == HIGHER and found["tokens", "end"]["verdict"] == LOWER


def test_a_missing_seed_is_said_and_the_test_is_welchs(tmp_path):
    write_all(FIVE, tmp_path, ENDS, {"stage1": 100, "stage3": 100}, skip=["tiny/stage3/seed2"])
    row = by_place(rows_of(FIVE, tmp_path))["steps", "end"]
    other = [100 * end for seed, end in enumerate(ENDS["stage3"]) if seed != 2]
    expected = stats.ttest_ind(other, [100 * end for end in ENDS["stage1"]], equal_var=False)
    assert (row["n"], row["n_against"], row["seeds"], row["test"]) == ("4", "5", "0 1 3 4", "Welch")
    assert float(row["p"]) == pytest.approx(expected.pvalue, rel=1e-6)
    assert row["missing"] == "stage3, seed 2: no validations" and row["verdict"] == TOO_FEW


def test_runs_without_tokens_are_compared_at_equal_steps_alone(tmp_path):
    write_all(FIVE, tmp_path, ENDS, {"stage1": 100, "stage3": 100})
    for seed in SEEDS:
        (tmp_path / f"runs/tiny/stage3/seed{seed}/metrics.jsonl").unlink()
    rows = rows_of(FIVE, tmp_path)
    found = by_place(rows)
    assert found["steps", "end"]["verdict"] == HIGHER and found["steps", "end"]["missing"] == ""
    assert found["tokens", "end"]["verdict"] == "not run" and found["tokens", "end"]["difference"] == ""
    page = differences.markdown(rows, "T")
    assert "- missing: tiny/stage3, seeds 0, 1, 2, 3, 4: no metrics (equal tokens)" in page


def test_holm_is_over_the_regimes_of_a_model_budget_and_measure(tmp_path):
    phases = [{"weights": "stage1", "steps": 40}]
    made = study(models=ONE, seeds=SEEDS, regimes={"first": phases, "second": phases, "third": phases})
    ends = {"first": [0.4, 0.5, 0.3, 0.4, 0.5], "second": [0.6, 0.5, 0.5, 0.5, 0.7], "third": [0.4, 0.4, 0.4, 0.5, 0.4]}
    write_all(made, tmp_path, ends, dict.fromkeys(ends, 100))
    rows = rows_of(made, tmp_path)
    p = [float(by_place(rows, regime)["steps", "end"]["p"]) for regime in ("second", "third")]
    corrected = [float(by_place(rows, regime)["steps", "end"]["p_holm"]) for regime in ("second", "third")]
    assert p[0] < p[1] and corrected == pytest.approx([min(1, 2 * p[0]), max(min(1, 2 * p[0]), p[1])])
    assert {row["against"] for row in rows} == {"first"} and len(rows) == 2 * 2 * 2


def test_curves_that_are_all_alike_are_not_told_apart(tmp_path):
    """Where nothing varies over seeds there is no p-value, whatever the difference."""
    ends = {"stage1": [0.4] * 5, "stage3": [0.5] * 5}
    write_all(FIVE, tmp_path, ends, {"stage1": 100, "stage3": 130})
    for row in rows_of(FIVE, tmp_path):
        assert (row["p"], row["p_holm"], row["half_width"], row["verdict"]) == ("", "", "", NOT_TOLD)


def test_verdicts():
    found = [verdict(d, p, 5) for d, p in ((3, 0.01), (-3, 0.01), (3, 0.06), (3, None))]
    assert found == [HIGHER, LOWER, NOT_TOLD, NOT_TOLD]
    assert verdict(30, 1e-9, 4) == TOO_FEW


def test_the_page_reads_well_on_its_own(tmp_path):
    write_all(FIVE, tmp_path, ENDS, {"stage1": 100, "stage3": 200})
    rows = rows_of(FIVE, tmp_path)
    page = differences.markdown(rows, "Title")
    assert "(stage1 for tiny)" in page and "Seeds of a regime: 5; validation queries: 20." in page
    row = by_place(rows)["steps", "end"]
    interval = f"({float(row['low']):+.1f} to {float(row['high']):+.1f})"
    assert f"- tiny, stage3 against stage1: at 40 steps +22.0 points {interval}, higher; on the way +11.0" in page
    assert "at 4,000 tokens -10.0 points" in page and "prompts and responses" in page and "missing" not in page
    made = differences.latex(rows, "Title")
    assert (
        made.count(r"\\") == 1 + len(rows) and "±" not in made and "%" not in made.replace(r"\%", "").replace("{%", "")
    )


def test_one_seed_makes_no_claim(tmp_path):
    made = study(models=ONE, seeds=[0])
    write_all(made, tmp_path, ENDS, {"stage1": 100, "stage3": 200})
    rows = rows_of(made, tmp_path)
    row = by_place(rows)["steps", "end"]
    assert (row["difference"], row["low"], row["p"], row["verdict"]) == ("20.0", "", "", TOO_FEW)
    assert "at 40 steps +20.0 points, too few seeds for a claim" in differences.markdown(rows, "T")


def test_regimes_validated_under_other_noise_are_not_judged(tmp_path):
    regimes = {"stage1": [{"weights": "stage1", "steps": 40}]}
    regimes["stage3"] = {"phases": [{"weights": "stage3", "steps": 40}], "noise": "flaky"}
    made = study(models=ONE, seeds=SEEDS, regimes=regimes, noise={"flaky": {"failures": 0.5}})
    write_all(made, tmp_path, ENDS, {"stage1": 100, "stage3": 100})
    found = by_place(rows_of(made, tmp_path))
    assert {row["verdict"] for row in found.values()} == {differences.UNLIKE}
    assert all(row["difference"] and not row["p_holm"] for row in found.values())
    assert "not the same test" in differences.markdown([*found.values()], "Differences").splitlines()[4]
