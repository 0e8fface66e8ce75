"""The heat map of errors: which kinds are the three most frequent, and where they are drawn."""

import numpy as np
import pytest

from helpers.made_up_study import study
from helpers.made_up_validations import episode, rows_of, texts, write
from planner_r1.evaluator.failures import LABELS
from planner_r1.paper.figures import error_heatmap


def some(step, n, **counts):
    return [episode(step, idx, failures=[kind for kind, count in counts.items() if idx < count]) for idx in range(n)]


def meshes(figure):
    """The shares of each panel that has any, by (kind's label, column)."""
    found = []
    for axis in figure.axes:
        for mesh in (m for m in axis.collections if hasattr(m, "get_coordinates")):
            if axis.get_title(loc="left"):
                labels = [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
                shares = np.ma.filled(np.ma.masked_invalid(mesh.get_array()).reshape(len(labels), -1), np.nan)
                found.append({(labels[y], x): v for (y, x), v in np.ndenumerate(shares) if not np.isnan(v)})
    return found


def test_three_kinds_a_step_that_occur(tmp_path):
    made = study(seeds=[0, 1])
    write(
        tmp_path,
        made.run("tiny", "stage3", 0),
        some(0, 10, no_plan=1, valid_cost=4, is_not_absent=3, valid_cuisine=2) + some(5, 10, no_plan=2) + some(9, 10),
    )
    write(tmp_path, made.run("tiny", "stage3", 1), some(0, 10, no_plan=9))
    rows = rows_of(error_heatmap, made, tmp_path)
    assert [(r["step"], r["seeds"], r["rank"], r["kind"], r["share"]) for r in rows] == [
        ("0", "0 1", "1", "no_plan", "50.0"),
        ("0", "0 1", "2", "valid_cost", "20.0"),
        ("0", "0 1", "3", "is_not_absent", "15.0"),
        ("5", "0", "1", "no_plan", "20.0"),
        ("9", "0", "", "", ""),
    ]


def test_rows_are_aligned_between_models_and_blank_where_not_among_the_three(tmp_path):
    made = study(seeds=[0])
    write(tmp_path, made.run("tiny", "stage1", 0), some(0, 10, no_plan=9) + some(10, 10, valid_cost=5) + some(20, 10))
    write(tmp_path, made.run("qwen3-8b", "stage1", 0), some(0, 10, valid_cost=6, no_plan=1) + some(10, 10))
    figure = error_heatmap.draw(rows_of(error_heatmap, made, tmp_path), made)
    no_plan, cost = LABELS["no_plan"], LABELS["valid_cost"]
    assert meshes(figure) == [{(no_plan, 0): 90, (cost, 1): 50}, {(no_plan, 0): 10, (cost, 0): 60}]
    # the row with the larger total stands above
    assert [tick.get_text() for tick in figure.axes[0].get_yticklabels()] == [cost, no_plan]
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim() == (2, 0)
    written = texts(figure)
    assert "Share of plans" in written and "Training step" in written and "blank" in written


@pytest.mark.parametrize(
    ("steps", "edges"),
    [([7], [6.5, 7.5]), ([0, 10], [-5, 5, 15]), ([0, 10, 40], [-5, 5, 25, 55])],
)
def test_columns_meet_half_way(steps, edges):
    assert list(error_heatmap._edges(steps)) == edges


def test_ticks_are_validated_steps(tmp_path):
    made = study(seeds=[0])
    write(tmp_path, made.run("tiny", "stage1", 0), some(0, 4, no_plan=4) + some(2, 4, no_plan=1))
    validated = range(0, 3050, 50)
    every = [one for step in validated for one in some(step, 2, no_plan=1)]
    write(tmp_path, made.run("qwen3-8b", "stage1", 0), every)
    few, many, _ = error_heatmap.draw(rows_of(error_heatmap, made, tmp_path), made).axes
    assert few.get_xticks().tolist() == [0, 2] and few.get_xlim() == (-1, 3)
    assert many.get_xticks().tolist() == [0, 1000, 2000, 3000] and many.get_xlim() == (-25, 3025)


def test_no_failures_and_no_results(tmp_path):
    made = study(seeds=[0])
    write(tmp_path, made.run("tiny", "stage1", 0), some(0, 3) + some(9, 3))
    written = texts(error_heatmap.draw(rows_of(error_heatmap, made, tmp_path), made))
    assert written.count("no data") == 1 and written.count("no failures") == 1
    assert "missing: qwen3-8b/stage1, seed 0" in written
    assert texts(error_heatmap.draw([], made)).count("no data") == 2
