"""Curves along steps and tokens, and what is read off them: hand-made curves with answers in closed form."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.made_up_budgets import READS, steps_of, write_run
from helpers.made_up_study import study
from helpers.messages import names, refused
from planner_r1.paper import budgets
from planner_r1.paper.budgets import STEPS, TOKENS, Curve
from planner_r1.paper.results import Results

LINEAR = {0: 0.0, 20: 0.5, 40: 1.0}
TWO = study(models={"tiny": {"warm_start": {}}}, seeds=[0, 1])


def results(folder):
    return Results(TWO, folder, READS)


# ---- curves -------------------------------------------------------------------------------------------------------

points = st.lists(
    st.tuples(st.integers(0, 1000), st.integers(0, 100)), min_size=1, max_size=8, unique_by=lambda p: p[0]
)


def test_a_straight_line_in_closed_form():
    line = Curve((0, 10, 40), (0, 25, 100))
    assert [line.at(x) for x in (0, 4, 10, 25, 40)] == pytest.approx([0, 10, 25, 62.5, 100])
    assert line.mean(0, 40) == pytest.approx(50) and line.mean(8, 20) == pytest.approx(35)
    assert line.mean(10, 10) == 25


def test_a_bent_curve_in_closed_form():
    bent = Curve((0, 10, 30), (0, 60, 20))  # a triangle of 10 x 60 / 2, and a trapezium of 20 x (60 + 20) / 2
    assert bent.mean(0, 30) == pytest.approx((300 + 800) / 30)
    assert bent.mean(5, 20) == pytest.approx((5 * (30 + 60) / 2 + 10 * (60 + 40) / 2) / 15)


@settings(deadline=None)
@given(points, st.floats(-100, 1100))
def test_nothing_is_read_beyond_what_was_validated(drawn, x):
    spent, passes = zip(*sorted(drawn), strict=True)
    curve = Curve(spent, passes)
    if spent[0] <= x <= spent[-1]:
        assert min(passes) - 1e-9 <= curve.at(x) <= max(passes) + 1e-9
    else:
        with refused("validated", error=ValueError):
            curve.at(x)
        with refused("validated", error=ValueError):
            curve.mean(min(spent[0], x), max(spent[-1], x))


@settings(deadline=None)
@given(points)
def test_the_mean_is_that_of_many_strips(drawn):
    """Exact sums over the integers between the validations, each a strip of the piecewise straight curve."""
    spent, passes = zip(*sorted(drawn), strict=True)
    area = sum(Fraction(passes[i] + passes[i + 1], 2) * (spent[i + 1] - spent[i]) for i in range(len(spent) - 1))
    if len(spent) > 1:
        assert Curve(spent, passes).mean(spent[0], spent[-1]) == pytest.approx(float(area / (spent[-1] - spent[0])))


def test_the_stretch_is_what_all_have():
    assert budgets.stretch([Curve((0, 40), (0, 1)), Curve((5, 30), (0, 1))]) == (5, 30)
    assert budgets.stretch([Curve((0, 4), (0, 1)), Curve((5, 30), (0, 1))]) is None
    assert budgets.stretch([]) is None


# ---- tokens -------------------------------------------------------------------------------------------------------


def test_tokens_add_up_and_those_of_dropped_queries_count(tmp_path):
    plain, dynamic = TWO.run("tiny", "stage1", 0), TWO.run("tiny", "stage1", 1)
    write_run(tmp_path, plain, LINEAR, steps_of(100))
    asked = [4] * 20 + [10] * 20  # of a batch of 4
    lines = [line | {"training/queries_asked": n} for line, n in zip(steps_of(100), asked, strict=True)]
    write_run(tmp_path, dynamic, LINEAR, lines, filters={"enable": True})
    found = {one.run.seed: one for one in budgets.trained(TWO, results(tmp_path))["tiny", "stage1"]}
    assert found[0].curves[TOKENS].spent == (0, 2000, 4000)
    assert found[1].curves[TOKENS].spent == (0, 2000, 2000 + 20 * 250)
    assert found[0].curves[STEPS] == Curve((0, 20, 40), (0, 50, 100)) and found[0].queries == 20


def test_dynamic_sampling_that_nobody_counted_has_no_tokens(tmp_path):
    run = TWO.run("tiny", "stage1", 0)
    write_run(tmp_path, run, LINEAR, steps_of(100), filters={"enable": True})
    (found,) = budgets.trained(TWO, results(tmp_path))["tiny", "stage1"]
    assert TOKENS not in found.curves and STEPS in found.curves
    lack = budgets.lacking(TWO, "stage1", [found], TOKENS)
    assert lack[0] == f"seed 0: {found.why}" and lack[1:] == budgets.lacking(TWO, "stage1", [found], STEPS)
    names(found.why, "queries")
    [second] = lack[1:]
    names(second, "seed 1", "no validations")


@pytest.mark.parametrize(("lines", "step"), [(steps_of(100)[:30], 40), (steps_of(100)[:9] + steps_of(100)[10:], 10)])
def test_metrics_with_a_hole_give_no_tokens(tmp_path, lines, step):
    write_run(tmp_path, TWO.run("tiny", "stage1", 0), LINEAR, lines)
    (found,) = budgets.trained(TWO, results(tmp_path))["tiny", "stage1"]
    assert TOKENS not in found.curves
    names(found.why, "metrics", f"step {step}")


def test_a_run_without_metrics_has_no_tokens(tmp_path):
    run = TWO.run("tiny", "stage1", 0)
    write_run(tmp_path, run, LINEAR, steps_of(100))
    (tmp_path / f"runs/{run.name}/metrics.jsonl").unlink()
    (found,) = budgets.trained(TWO, results(tmp_path))["tiny", "stage1"]
    assert found.why == "no metrics" and list(found.curves) == [STEPS]


BAD = [
    ("perf/total_num_tokens", None, 1),
    ("perf/total_num_tokens", "many", 1),
    ("perf/total_num_tokens", 0, 1),
    ("perf/total_num_tokens", float("inf"), 1),
    ("perf/total_num_tokens", float("nan"), 1),
    ("training/queries_asked", 3, 4),
    ("training/queries_asked", True, 4),
]


@pytest.mark.parametrize(("key", "value", "least"), BAD)
def test_a_line_that_cannot_be_names_file_and_line(tmp_path, key, value, least):
    run, lines = TWO.run("tiny", "stage1", 0), steps_of(100)
    lines[6][key] = value
    write_run(tmp_path, run, LINEAR, lines)
    with refused(f"runs/{run.name}/metrics.jsonl", "line 8", f"'{key}'", least, repr(value)):
        budgets.trained(TWO, results(tmp_path))


def test_a_line_without_tokens_names_file_and_line(tmp_path):
    run, lines = TWO.run("tiny", "stage1", 0), steps_of(100)
    del lines[0]["perf/total_num_tokens"]
    write_run(tmp_path, run, LINEAR, lines)
    with refused(f"runs/{run.name}/metrics.jsonl", "line 2", "'perf/total_num_tokens'", "missing"):
        budgets.trained(TWO, results(tmp_path))


def test_what_is_compared():
    one = [{"weights": "stage1", "steps": 4}]
    made = study(regimes={"a": one, "b": {"phases": one, "models": ["tiny"]}})
    assert budgets.compared(made) == {"tiny": ("a", "b")}
