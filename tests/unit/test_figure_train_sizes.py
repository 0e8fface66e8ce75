"""Final pass against the number of training queries: sizes, means, single seeds, and which studies have the figure."""

import math

import pytest

from helpers.made_up_results import made_up_queries
from helpers.made_up_study import study
from helpers.made_up_validations import episode, texts, write
from helpers.messages import any_names
from planner_r1.paper.artefacts import artefact, artefacts_of
from planner_r1.paper.figures import train_sizes
from planner_r1.paper.render import read_csv, write_rows
from planner_r1.paper.results import Results
from planner_r1.queries import save_queries

PHASES = [{"weights": "stage1", "steps": 40}]
REGIMES = {
    "all": PHASES,
    "few": {"phases": PHASES, "train_queries": 8},
    "some": {"phases": PHASES, "train_queries": 32},
}
ONE = {"tiny": {"warm_start": {}}}
SHARES = {"all": (60, 80), "few": (20, 20), "some": (40, 50)}  # percent of ten queries, by seed


@pytest.fixture
def drawn(tmp_path):
    made = study(models=ONE, seeds=[0, 1], regimes=REGIMES)
    for run in made.runs:
        passes = SHARES[run.regime][run.seed] // 10
        rows = [episode(step, idx, passed=step == 40 and idx < passes) for step in (0, 40) for idx in range(10)]
        write(tmp_path, run, rows)
    (tmp_path / "data").mkdir()
    save_queries(tmp_path / "data" / "train.jsonl", made_up_queries(made, "train", 100))
    return made, read_rows(made, tmp_path)


def read_rows(made, folder):
    found = train_sizes.rows(made, Results(made, folder, ("validations", "queries")))
    write_rows(found, train_sizes.FIELDS, folder / "f.csv")
    return read_csv(folder / "f.csv")


def test_a_row_a_size_with_its_seeds(drawn):
    _, rows = drawn
    assert [(row["regime"], row["queries"], row["step"]) for row in rows] == [
        *(("few", "8", "40"), ("some", "32", "40"), ("all", "100", "40")),
    ]
    assert [(float(row["final_pass"]), row["passes"]) for row in rows] == [
        *((20, "20.0 20.0"), (45, "40.0 50.0"), (70, "60.0 80.0")),
    ]
    assert float(rows[2]["final_pass_ci"]) == pytest.approx(10 * math.tan(0.475 * math.pi), abs=1e-3)


def test_the_curve_and_the_seeds(drawn):
    figure = train_sizes.draw(drawn[1], drawn[0])
    [axis] = figure.axes
    curve, *seeds = axis.lines
    assert axis.get_xscale() == "log" and list(curve.get_xdata()) == [8, 32, 100]
    assert list(curve.get_ydata()) == [20, 45, 70]
    assert [list(points.get_ydata()) for points in seeds] == [[20, 20], [40, 50], [60, 80]]
    assert [label.get_text() for label in axis.get_xticklabels()] == ["8", "32", "100"]


def test_a_curve_is_broken_where_a_size_is_missing(drawn, tmp_path):
    made, _ = drawn
    for seed in (0, 1):
        write(tmp_path, made.run("tiny", "some", seed), [])
    [axis] = train_sizes.draw(read_rows(made, tmp_path), made).axes
    curve = axis.lines[0]
    assert list(curve.get_xdata()) == [8, 32, 100] and list(curve.get_ydata()) == pytest.approx(
        [20, math.nan, 70], nan_ok=True
    )


def test_what_is_missing_is_said(drawn, tmp_path):
    made, _ = drawn
    write(tmp_path, made.run("tiny", "few", 1), [])
    rows = read_rows(made, tmp_path)
    assert "missing: tiny/few, seed 1" in texts(train_sizes.draw(rows, made))
    assert "no data" in texts(train_sizes.draw([], made))


def test_all_seeds_of_a_size_are_read_at_the_same_step(drawn, tmp_path):
    made, _ = drawn
    ended = [episode(step, idx, passed=step == 20 and idx < 3) for step in (0, 20) for idx in range(10)]
    write(tmp_path, made.run("tiny", "few", 0), ended)
    longer = [episode(step, idx, passed=step == 20 and idx < 5) for step in (0, 20, 40) for idx in range(10)]
    write(tmp_path, made.run("tiny", "few", 1), longer)
    rows = read_rows(made, tmp_path)
    assert (rows[0]["regime"], rows[0]["step"], rows[0]["n"], rows[0]["passes"]) == ("few", "20", "2", "30.0 50.0")
    said = train_sizes.draw(rows, made).get_suptitle().replace("\n", " ")
    any_names(said, "step 40, of tiny/few step 20")
    assert "missing" not in said


def test_only_studies_of_several_sizes_have_it():
    names = {known.name for known in artefacts_of(study(models=ONE, regimes=REGIMES))}
    assert {"train_sizes", "lengths", "lengths_over_steps", "success_by_length"} <= names
    alike = {name: {"phases": PHASES, "train_queries": 8} for name in ("a", "b")}
    for made in (study(), study(models=ONE, regimes=alike)):
        assert artefact("train_sizes") not in artefacts_of(made)
