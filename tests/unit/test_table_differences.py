"""Regimes against the first of their model: hand-made curves with answers in closed form, tests against scipy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from helpers.made_up_budgets import READS, steps_of, straight, write_run
from helpers.made_up_study import study
from helpers.messages import any_names, names
from planner_r1.paper.render import read_csv, write_rows
from planner_r1.paper.results import Results
from planner_r1.paper.tables import differences
from planner_r1.paper.tables.differences import (
    END,
    HIGHER,
    LOWER,
    MEAN,
    NO_VARIATION,
    NOT_TOLD,
    SECONDARY,
    TOO_FEW,
    verdict,
)

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
    """Stage 3 takes twice the tokens a step: at the first regime's 4,000 it is half way. One regime is compared, at two
    budgets: the strictest step of Holm's is at 0.05 / 2, Student's quantile of 4 degrees of freedom at 1 - 0.05 / 4."""
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
        assert float(row["p"]) == pytest.approx(test.pvalue, rel=1e-6)
        if place[1] == "end":
            assert (row["comparisons"], row["found_from"], row["p_holm"], row["verdict"]) == ("", "", "", SECONDARY)
        else:
            quantile = stats.t.ppf(1 - 0.05 / 4, 4)
            assert float(row["found_from"]) == pytest.approx(quantile * stats.sem(ours - theirs), abs=1e-3)
            assert row["comparisons"] == "2"
    p = {place: float(row["p"]) for place, row in found.items()}
    steps, tokens = found["steps", "on the way"], found["tokens", "on the way"]
    assert p["steps", "on the way"] < p["tokens", "on the way"]
    assert float(steps["p_holm"]) == pytest.approx(2 * p["steps", "on the way"])
    assert float(tokens["p_holm"]) == pytest.approx(max(2 * p["steps", "on the way"], p["tokens", "on the way"]))
    assert (steps["verdict"], tokens["verdict"]) == (HIGHER, LOWER)


@given(
    st.lists(st.integers(-40, 40), min_size=5, max_size=5).filter(lambda drawn: len(set(drawn)) > 1), st.integers(1, 9)
)
def test_what_would_be_found_is_what_the_strictest_step_finds(drawn, others):
    """Moved to a little beyond the bound, the same differences are significant at 0.05 over the family; a little
    within it they are not."""
    own, against = {seed: float(d) for seed, d in enumerate(drawn)}, dict.fromkeys(range(5), 0.0)
    family = 2 * others
    found, _ = differences.difference(own, against, True, 1 - 0.05 / family)
    bound, values = (found.high - found.low) / 2, np.array(drawn) - np.mean(drawn)
    for factor, is_found in ((1.001, True), (0.999, False)):
        assert (stats.ttest_1samp(values + factor * bound, 0).pvalue * family < 0.05) == is_found


def test_a_missing_seed_is_said_and_the_test_is_welchs(tmp_path):
    write_all(FIVE, tmp_path, ENDS, {"stage1": 100, "stage3": 100}, skip=["tiny/stage3/seed2"])
    row = by_place(rows_of(FIVE, tmp_path))["steps", "on the way"]
    other = [50 * end for seed, end in enumerate(ENDS["stage3"]) if seed != 2]
    expected = stats.ttest_ind(other, [50 * end for end in ENDS["stage1"]], equal_var=False)
    assert (row["n"], row["n_against"], row["seeds"], row["test"]) == ("4", "5", "0 1 3 4", "Welch")
    assert float(row["p"]) == pytest.approx(expected.pvalue, rel=1e-6)
    assert row["missing"] == "stage3, seed 2: no validations" and row["verdict"] == TOO_FEW


def test_runs_without_tokens_are_compared_at_equal_steps_alone(tmp_path):
    write_all(FIVE, tmp_path, ENDS, {"stage1": 100, "stage3": 100})
    for seed in SEEDS:
        (tmp_path / f"runs/tiny/stage3/seed{seed}/metrics.jsonl").unlink()
    rows = rows_of(FIVE, tmp_path)
    found = by_place(rows)
    steps, tokens = found["steps", "on the way"], found["tokens", "on the way"]
    assert (steps["verdict"], steps["missing"]) == (HIGHER, "")
    assert float(steps["p_holm"]) == pytest.approx(2 * float(steps["p"]))  # tokens, without a p-value, count as well
    assert (tokens["verdict"], tokens["difference"], tokens["p_holm"]) == ("not run", "", "")
    assert found["tokens", "end"]["verdict"] == "not run"
    page = differences.markdown(rows, "T")
    any_names(page, "- missing", "tiny/stage3", "seeds 0, 1, 2, 3, 4", "metrics", "tokens")


PHASES = [{"weights": "stage1", "steps": 40}]


@pytest.mark.parametrize("unrun", [[], ["fourth"], ["fourth", "fifth"]])
def test_holm_is_over_all_regimes_and_budgets_of_a_model(tmp_path, unrun):
    """With those that the study plans and has not run. Tokens are as steps here, so that each p stands twice."""
    made = study(models=ONE, seeds=SEEDS, regimes=dict.fromkeys(["first", "second", "third", *unrun], PHASES))
    ends = {"first": [0.4, 0.5, 0.3, 0.4, 0.5], "second": [0.6, 0.5, 0.5, 0.5, 0.7], "third": [0.4, 0.4, 0.4, 0.5, 0.4]}
    skip = [run.name for run in made.runs if run.regime in unrun]
    write_all(made, tmp_path, ends, dict.fromkeys(ends, 100), skip)
    rows = rows_of(made, tmp_path)
    p = [float(by_place(rows, regime)["steps", MEAN]["p"]) for regime in ("second", "third")]
    corrected = [float(by_place(rows, regime)["steps", MEAN]["p_holm"]) for regime in ("second", "third")]
    family = 2 * (2 + len(unrun))
    assert p[0] < p[1]
    assert corrected == pytest.approx([min(1, family * p[0]), min(1, max(family * p[0], (family - 2) * p[1]))])
    judged = {(row["measure"], row["comparisons"]) for row in rows}
    assert judged == {(MEAN, str(family)), (END, "")}
    assert {row["against"] for row in rows} == {"first"} and len(rows) == 2 * family
    assert all(row["p_holm"] == "" for row in rows if row["measure"] == END or row["regime"] in unrun)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"filters": {"enable": True}}, "filters"),
        ({"batch": 8}, "batch"),
        ({"train_queries": 64}, "queries"),
        ({}, ""),
    ],
)
def test_only_seeds_of_the_same_batches_are_paired(tmp_path, change, why):
    regimes = {
        "stage1": PHASES,
        "stage3": {"phases": PHASES} | {k: v for k, v in change.items() if k == "train_queries"},
    }
    made = study(models=ONE, seeds=SEEDS, regimes=regimes)
    for run in made.runs:
        own = {} if "train_queries" in change or run.name != "tiny/stage3/seed3" else change
        write_run(tmp_path, run, straight(ENDS[run.regime][run.seed]), steps_of(100, asked=8), **own)
    row = by_place(rows_of(made, tmp_path))["steps", MEAN]
    ours, theirs = ([50 * end for end in ENDS[regime]] for regime in ("stage3", "stage1"))
    test = stats.ttest_ind(ours, theirs, equal_var=False) if why else stats.ttest_rel(ours, theirs)
    assert row["test"] == ("Welch" if why else "paired t"), why
    assert float(row["p"]) == pytest.approx(test.pvalue, rel=1e-6)


def test_curves_that_are_all_alike_have_neither_interval_nor_p(tmp_path):
    """Where nothing varies over seeds, whatever the difference."""
    ends = {"stage1": [0.4] * 5, "stage3": [0.5] * 5}
    write_all(FIVE, tmp_path, ends, {"stage1": 100, "stage3": 130})
    rows = rows_of(FIVE, tmp_path)
    for row in rows:
        assert {row[key] for key in ("low", "high", "p", "p_holm", "found_from")} == {""}
        assert row["verdict"] == (NO_VARIATION if row["measure"] == MEAN else SECONDARY)
    page = differences.markdown(rows, "T")
    assert " to +" not in page
    any_names(page, "- tiny", f"{MEAN} to 40 steps +5.0", NO_VARIATION)


def test_verdicts():
    found = [verdict(d, p, 5) for d, p in ((3, 0.01), (-3, 0.01), (3, 0.06), (3, None))]
    assert found == [HIGHER, LOWER, NOT_TOLD, NO_VARIATION]
    assert verdict(30, 1e-9, 4) == verdict(30, None, 4) == TOO_FEW


def test_the_page_reads_well_on_its_own(tmp_path):
    write_all(FIVE, tmp_path, ENDS, {"stage1": 100, "stage3": 200})
    rows = rows_of(FIVE, tmp_path)
    page = differences.markdown(rows, "Title")
    any_names(page, "stage1 for tiny")
    any_names(page, "regime: 5", "queries: 20")
    row = by_place(rows)["steps", MEAN]
    interval = f"({float(row['low']):+.1f} to {float(row['high']):+.1f})"
    shown = [f"{MEAN} to 40 steps +11.0", f"{interval}, {HIGHER}", f"{MEAN} to 4,000", "4,000 tokens -10.0"]
    any_names(page, "- tiny", "stage3", "stage1", *shown)
    assert "missing" not in page and all(note in page for note in differences.LEGEND)
    made = differences.latex(rows, "Title")
    assert (
        made.count(r"\\") == 1 + len(rows) and "±" not in made and "%" not in made.replace(r"\%", "").replace("{%", "")
    )


def test_seeds_that_end_early_are_said_with_their_step(tmp_path):
    write_all(FIVE, tmp_path, ENDS, {"stage1": 100, "stage3": 100})
    for seed in (1, 3):
        write_run(tmp_path, FIVE.run("tiny", "stage3", seed), {0: 0.0, 10: 0.5}, steps_of(100))
    rows = rows_of(FIVE, tmp_path)
    assert {row["upto"] for row in rows} == {"10", "1000.0"}
    [missing] = {row["missing"] for row in rows}
    names(missing, "stage3", "step 10", "seeds 1, 3")
    any_names(differences.markdown(rows, "T"), "- missing", "tiny/stage3", "step 10", "seeds 1, 3", "steps and tokens")


def test_one_seed_makes_no_claim(tmp_path):
    made = study(models=ONE, seeds=[0])
    write_all(made, tmp_path, ENDS, {"stage1": 100, "stage3": 200})
    rows = rows_of(made, tmp_path)
    row = by_place(rows)["steps", MEAN]
    assert (row["difference"], row["low"], row["p"], row["verdict"]) == ("10.0", "", "", TOO_FEW)
    any_names(differences.markdown(rows, "T"), "- tiny", f"{MEAN} to 40 steps +10.0", TOO_FEW)


def test_regimes_validated_under_other_noise_are_not_judged(tmp_path):
    regimes = {"stage1": [{"weights": "stage1", "steps": 40}]}
    regimes["stage3"] = {"phases": [{"weights": "stage3", "steps": 40}], "noise": "flaky"}
    made = study(models=ONE, seeds=SEEDS, regimes=regimes, noise={"flaky": {"failures": 0.5}})
    write_all(made, tmp_path, ENDS, {"stage1": 100, "stage3": 100})
    found = by_place(rows_of(made, tmp_path))
    assert {row["verdict"] for row in found.values()} == {differences.UNLIKE}
    assert all(row["difference"] and not row["p_holm"] for row in found.values())
    names(differences.markdown([*found.values()], "Differences").splitlines()[4], differences.UNLIKE)
