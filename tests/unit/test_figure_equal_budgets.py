"""The figure of equal budgets: means at common points, no further than all seeds went, and what is said on it."""

import pytest

from helpers.made_up_budgets import READS, steps_of, straight, write_run
from helpers.made_up_study import study
from helpers.messages import any_names
from planner_r1.paper.artefacts import artefact, artefacts_of
from planner_r1.paper.figures import equal_budgets, style
from planner_r1.paper.render import read_csv, write_rows
from planner_r1.paper.results import Results

ONE = {"tiny": {"warm_start": {}}}
PHASES = [{"weights": "stage1", "steps": 40}]


def rows_of(made, folder):
    write_rows(equal_budgets.rows(made, Results(made, folder, READS)), equal_budgets.FIELDS, folder / "e.csv")
    return read_csv(folder / "e.csv")


def own(rows, regime, budget):
    return [row for row in rows if (row["regime"], row["budget"]) == (regime, budget)]


def test_curves_of_unequal_tokens_end_where_a_seed_does(tmp_path):
    """Seeds of stage 1 take 100 and 200 tokens a step: along tokens their mean ends at 4,000, where the second is half
    way; both rise in a straight line over tokens, so that their mean does."""
    made = study(models=ONE, seeds=[0, 1])
    for run in made.runs:
        write_run(tmp_path, run, straight(1.0), steps_of(100 * (1 + run.seed)))
    rows = rows_of(made, tmp_path)
    steps, tokens = own(rows, "stage1", "steps"), own(rows, "stage1", "tokens")
    assert [(float(row["spent"]), float(row["final_pass"])) for row in steps] == [(0, 0), (20, 50), (40, 100)]
    assert float(tokens[-1]["spent"]) == 4000 and {row["n"] for row in tokens} == {"2"}
    for row in tokens:
        assert float(row["final_pass"]) == pytest.approx(100 * float(row["spent"]) * (1 / 4000 + 1 / 8000) / 2)
    figure = equal_budgets.draw(rows, made)
    assert [axis.get_title(loc="left") for axis in figure.axes] == ["tiny, equal steps", "tiny, equal tokens"]
    lines = figure.axes[1].get_lines()
    assert [line.get_label() for line in lines] == ["stage1 (compared with)", "stage3"]
    assert [max(line.get_xdata()) for line in lines] == [4000, 4000]
    assert lines[0].get_linewidth() > lines[1].get_linewidth()


def test_what_is_missing_is_said(tmp_path):
    made = study(models=ONE, seeds=[0, 1])
    for run in made.runs[:-1]:
        write_run(tmp_path, run, straight(1.0), steps_of(100))
    (tmp_path / "runs/tiny/stage1/seed0/metrics.jsonl").unlink()
    said = equal_budgets.draw(rows_of(made, tmp_path), made).get_suptitle()
    any_names(said, "missing", "tiny/stage3, seed 1", "validations")
    any_names(said, "missing", "tokens", "tiny/stage1, seed 0", "metrics")
    assert "thick: stage1" in said and "dynamic sampling" in said


def test_a_seed_that_ends_early_is_said_with_its_step(tmp_path):
    made = study(models=ONE, seeds=[0, 1, 2])
    for run in made.runs:
        ends = {0: 0.0, 10: 0.5} if run.name == "tiny/stage3/seed2" else straight(1.0)
        write_run(tmp_path, run, ends, steps_of(100))
    rows = rows_of(made, tmp_path)
    assert {float(own(rows, "stage3", "steps")[-1]["spent"]), float(own(rows, "stage1", "steps")[-1]["spent"])} == {
        10,
        40,
    }
    said = equal_budgets.draw(rows, made).get_suptitle()
    any_names(said, "missing", "tiny/stage3", "step 10", "seed 2")
    assert "tiny/stage1" not in said


@pytest.mark.parametrize("n", [7, 10])
def test_many_regimes_are_told_apart_and_keep_off_each_other(tmp_path, n):
    regimes = {f"r{i}": PHASES for i in range(n)}
    made = study(models=ONE, seeds=[0, 1], regimes=regimes)
    for place, run in enumerate(made.runs):
        write_run(tmp_path, run, straight(0.3 + 0.05 * (place % 4)), steps_of(100))
    figure = equal_budgets.draw(rows_of(made, tmp_path), made)
    curves = [line for line in figure.axes[0].get_lines() if line.get_label() in {*regimes, "r0 (compared with)"}]
    looks = {(line.get_color(), line.get_linestyle(), line.get_marker()) for line in curves}
    assert len(curves) == len(looks) == n and len({colour for colour, *_ in looks}) == 7
    assert len({marker for *_, marker in looks}) == len({look[::2] for look in looks}) == n
    assert [tick for tick in figure.axes[0].get_xticks()] == [0, 20, 40]  # what was validated
    bars = [container for container in figure.axes[0].containers]
    ends = [float(bar[0].get_xdata()[0]) for bar in bars]
    assert len(ends) == len(set(ends)) == n and min(ends) > 40  # beside the curves
    assert not any(patch.get_alpha() == style.BAND for patch in figure.axes[0].collections)
    figure.canvas.draw()
    texts = [t for t in figure.findobj(lambda a: hasattr(a, "get_fontsize")) if t.get_text()]
    assert min(t.get_fontsize() for t in texts) >= 7 and figure.get_figwidth() == style.PAGE
    legend, title = figure.legends[0].get_window_extent(), figure._suptitle.get_window_extent()
    assert title.x0 >= 0 and title.x1 <= figure.bbox.x1 and legend.x0 >= 0 and legend.x1 <= figure.bbox.x1


def test_a_study_of_one_regime_has_neither_figure_nor_table():
    one = study(models=ONE, regimes={"stage1": PHASES})
    mine = {artefact("equal_budgets").name, artefact("differences").name}
    assert not mine & {known.name for known in artefacts_of(one)}
    assert mine <= {known.name for known in artefacts_of(study())}
