"""Figure 4: shares of failures by step, the areas under them, and which are drawn."""

import pytest

from helpers.made_up_study import study
from helpers.made_up_validations import episode, rows_of, texts, write
from planner_r1.evaluator.failures import FAILURES, LABELS
from planner_r1.paper.failures import area, by_step, most_frequent
from planner_r1.paper.figures import figure4


def some(step, n, **counts):
    """`n` episodes of a step of which the first so many have each failure."""
    return [episode(step, idx, failures=[kind for kind, count in counts.items() if idx < count]) for idx in range(n)]


def curve(rows, model, regime, kind):
    own = [r for r in rows if (r["model"], r["regime"], r["kind"]) == (model, regime, kind)]
    return {int(r["step"]): float(r["share"]) for r in own}


def drawn(axis):
    return {line.get_label() for line in axis.get_lines() if not line.get_label().startswith("_")}


def test_the_area_is_of_trapezoids():
    assert area([0, 10, 40], [100, 50, 0]) == 10 * 75 + 30 * 25
    assert area([5], [80]) == 0 == area([], [])


def test_shares_count_a_plan_once_and_hold_every_kind():
    shares = by_step([episode(7, 1, failures=["no_plan", "no_plan"]), episode(7, 2)])
    assert shares == {7: dict.fromkeys(FAILURES, 0) | {"no_plan": 50}}
    assert most_frequent(shares[7], 3) == ["no_plan"]
    tied = dict.fromkeys(FAILURES, 10.0) | {"valid_cost": 20.0, "no_plan": 0.0}
    assert most_frequent(tied, 3) == ["valid_cost", FAILURES[1], FAILURES[2]]


def test_rows_hold_means_over_seeds_intervals_and_areas(tmp_path):
    made = study()
    for seed, first in enumerate((2, 4, 6)):
        episodes = some(0, 10, valid_cost=first) + some(10, 10, valid_cost=1) + some(40, 10, valid_cost=0)
        write(tmp_path, made.run("tiny", "stage1", seed), episodes)
    write(tmp_path, made.run("tiny", "stage3", 1), some(0, 10, no_plan=10))
    rows = rows_of(figure4, made, tmp_path)
    assert curve(rows, "tiny", "stage1", "valid_cost") == {0: 40, 10: 10, 40: 0}
    row = next(r for r in rows if (r["regime"], r["kind"], r["step"]) == ("stage1", "valid_cost", "0"))
    assert (row["n"], row["seeds"], row["rank"]) == ("3", "0 1 2", "1")
    assert float(row["share_ci"]) == pytest.approx(4.302653 * 20 / 3**0.5, abs=1e-3)  # t(2) at 0.975
    assert float(row["area"]) == 10 * (40 + 10) / 2 + 30 * (10 + 0) / 2
    never = [r for r in rows if r["kind"] == "valid_cuisine"]
    assert {(float(r["share"]), float(r["area"]), r["rank"]) for r in never} == {(0.0, 0.0, "")}
    single = next(r for r in rows if (r["regime"], r["kind"]) == ("stage3", "no_plan"))
    assert (single["n"], single["seeds"], single["share"], single["share_ci"]) == ("1", "1", "100.0", "")
    assert {r["kind"] for r in rows if r["regime"] == "stage3"} == set(FAILURES)


def test_seeds_that_stopped_early_count_where_they_were_validated(tmp_path):
    made = study()
    write(tmp_path, made.run("tiny", "stage1", 0), some(0, 4, no_plan=4) + some(10, 4, no_plan=0))
    write(tmp_path, made.run("tiny", "stage1", 2), some(0, 4, no_plan=2))
    rows = [r for r in rows_of(figure4, made, tmp_path) if r["kind"] == "no_plan"]
    assert [(r["step"], r["seeds"], r["share"]) for r in rows] == [("0", "0 2", "75.0"), ("10", "0", "0.0")]


def test_five_kinds_with_the_largest_area_are_drawn_not_the_highest_ones(tmp_path):
    made = study(models={"tiny": {"warm_start": {}}}, seeds=[0])
    # is_not_absent is high once but for a short while; six others last
    lasting = dict(zip(FAILURES[:6], range(4, 10), strict=True))
    episodes = some(0, 10, is_not_absent=10) + some(1, 10, **lasting) + some(40, 10, **lasting)
    write(tmp_path, made.run("tiny", "stage1", 0), episodes)
    write(tmp_path, made.run("tiny", "stage3", 0), some(0, 10, valid_cost=10))
    rows = rows_of(figure4, made, tmp_path)
    ranks = {r["kind"]: r["rank"] for r in rows if r["regime"] == "stage1"}
    assert [kind for kind in sorted(ranks, key=lambda k: int(ranks[k] or 99)) if ranks[kind]] == [
        *reversed(FAILURES[:6]),
        "is_not_absent",
    ]
    figure = figure4.draw(rows, made)
    assert drawn(figure.axes[0]) == {LABELS[kind] for kind in FAILURES[1:6]}
    assert figure.axes[0].get_title(loc="left") == "tiny, stage1"
    assert LABELS["valid_cost"] not in texts(figure)


def test_a_run_validated_once_is_ranked_by_its_shares(tmp_path):
    made = study(models={"tiny": {"warm_start": {}}}, seeds=[0])
    write(tmp_path, made.run("tiny", "stage1", 0), some(0, 10, no_plan=1, valid_cost=5))
    rows = rows_of(figure4, made, tmp_path)
    assert {r["kind"]: r["rank"] for r in rows if r["rank"]} == {"valid_cost": "1", "no_plan": "2"}


def test_panels_share_the_look_of_a_kind_and_say_what_is_missing(tmp_path):
    made = study()
    for seed in (0, 1):
        write(tmp_path, made.run("tiny", "stage1", seed), some(0, 4, no_plan=4, valid_cost=1) + some(9, 4, no_plan=1))
        write(tmp_path, made.run("qwen3-8b", "stage1", seed), some(0, 4, valid_cost=3) + some(9, 4, no_plan=1))
    figure = figure4.draw(rows_of(figure4, made, tmp_path), made)
    looks = [{line.get_label(): line.get_color() for line in axis.get_lines()} for axis in figure.axes]
    assert looks[0] == looks[1] and len(set(looks[0].values())) == 2
    assert "missing: tiny/stage1, seed 2" in texts(figure) and "no data" not in texts(figure)


def test_no_failures_and_no_results_are_told_apart(tmp_path):
    made = study(seeds=[0])
    write(tmp_path, made.run("tiny", "stage1", 0), some(0, 3) + some(9, 3))
    figure = figure4.draw(rows_of(figure4, made, tmp_path), made)
    assert [("no data" in "".join(t.get_text() for t in axis.texts)) for axis in figure.axes] == [False, True]
    assert "missing: qwen3-8b/stage1, seed 0" in texts(figure)
    assert texts(figure4.draw([], made)).count("no data") == 2
