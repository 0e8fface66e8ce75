"""The six sub-rewards: what the CSV holds, which panels there are, and what is missing."""

from dataclasses import asdict

import pytest

from helpers.made_up_study import study, validations
from planner_r1.files import write_lines
from planner_r1.paper.figures import style, sub_rewards
from planner_r1.paper.render import read_csv, write_rows
from planner_r1.paper.results import Results, validations_file

PASSES = {0: 0.2, 40: 0.6}


def read_rows(made, folder, without=()):
    folder.mkdir(exist_ok=True)
    for run in made.runs:
        path = folder / validations_file(run)
        path.parent.mkdir(parents=True, exist_ok=True)
        if (run.model, run.regime) not in without:
            write_lines(path, map(asdict, validations(run, PASSES)))
    write_rows(sub_rewards.rows(made, Results(made, folder, ("validations",))), sub_rewards.FIELDS, folder / "f.csv")
    return read_csv(folder / "f.csv")


def test_means_of_each_part_by_step(tmp_path):
    rows = read_rows(study(), tmp_path)
    assert len(rows) == 2 * 2 * 2
    assert (rows[1]["step"], rows[1]["n"], rows[1]["seeds"]) == ("40", "3", "0 1 2")
    assert [float(rows[1][part]) for part in sub_rewards.PARTS] == pytest.approx([100, 60, 60, 60, 60, 60])
    assert float(rows[1]["pass_ci"]) == pytest.approx(0)


def test_a_panel_a_model_and_regime_with_six_curves(tmp_path):
    made = study()
    figure = sub_rewards.draw(read_rows(made, tmp_path, without=[("tiny", "stage3")]), made)
    assert [axis.get_title(loc="left") for axis in figure.axes] == ["stage1", "stage3", "", ""]
    assert [axis.get_ylabel() for axis in figure.axes] == ["tiny", "", "qwen3-8b", ""]
    assert [len(axis.get_lines()) for axis in figure.axes] == [6, 0, 6, 6]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(sub_rewards.PARTS.values())
    assert "missing: tiny/stage3" in figure.get_suptitle() and figure.axes[1].texts[0].get_text() == "no data"


def test_a_curriculum_says_where_its_weights_change(tmp_path):
    phases = [
        {"weights": "stage1", "steps": 10},
        {"weights": "stage2", "steps": 20},
        {"weights": "stage3", "steps": 10},
    ]
    made = study(models={"tiny": {"warm_start": {}}}, regimes={"curriculum": phases})
    lines = sub_rewards.draw(read_rows(made, tmp_path), made).axes[0].get_lines()
    assert [line.get_xdata()[0] for line in lines[6:]] == [10, 30]


def test_of_many_regimes_one_is_drawn_and_said(tmp_path):
    regimes = {f"r{i}": [{"weights": "stage1", "steps": 40}] for i in range(5)}
    made = study(regimes=regimes | {"stage1": [{"weights": "stage1", "steps": 40}]})
    rows = read_rows(made, tmp_path)
    figure = sub_rewards.draw(rows, made)
    assert len({row["regime"] for row in rows}) == 6 and len(figure.axes) == 2
    assert "only stage1 of 6 regimes" in figure.get_suptitle()


@pytest.mark.parametrize("regimes", [1, 2, 4])
def test_text_is_readable_and_lies_on_the_page(tmp_path, regimes):
    named = {f"stage{i}": [{"weights": "stage1", "steps": 40}] for i in range(regimes)}
    made = study(models={"qwen3-8b": {"path": "b"}, "qwen3-32b": {"path": "a"}}, regimes=named)
    figure = sub_rewards.draw(read_rows(made, tmp_path), made)
    figure.canvas.draw()
    texts = [t for t in figure.findobj(lambda a: hasattr(a, "get_fontsize")) if t.get_text()]
    assert min(t.get_fontsize() for t in texts) >= 7 and figure.get_figwidth() <= style.PAGE
    legend = figure.legends[0].get_window_extent()
    assert legend.x0 >= 0 and legend.x1 <= figure.bbox.x1
    assert not any(legend.overlaps(axis.get_tightbbox()) for axis in figure.axes)


def test_a_missing_seed_is_said(tmp_path):
    made = study()
    rows = [row | {"n": "2", "seeds": "0 2"} for row in read_rows(made, tmp_path) if row["model"] == "tiny"]
    said = sub_rewards.draw(rows, made).get_suptitle()
    assert "missing: tiny/stage1, seed 1\n" in said and "missing: qwen3-8b/stage3, seed 0, 1, 2" in said


def test_nothing_is_drawn_too(tmp_path):
    figure = sub_rewards.draw([], study())
    assert "no data" in figure.get_suptitle() and not figure.legends
