"""Figure 1: which bars there are and in which order, the seeds' dots, the paper's bars, and what is missing."""

import json

import pytest

from helpers.made_up_study import metrics, study
from helpers.messages import any_names
from planner_r1.paper.artefacts import artefact
from planner_r1.paper.figures import figure1, style
from planner_r1.paper.make import make
from planner_r1.paper.render import read_csv
from planner_r1.paper.results import evaluation_folder

URL = {"url": "http://x", "model": "m", "api_key_env": "K"}


def made_figure(made, found, folder):
    """The figure's rows, from metrics.json files through Table 1."""
    for checkpoint, split, one in found:
        path = folder / evaluation_folder(checkpoint, split) / "metrics.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(one))
    for name in ("table1", "figure1"):
        wanted = artefact(name)
        outputs = {what: folder / file for what, file in wanted.outputs.items()}
        for path in outputs.values():
            path.parent.mkdir(parents=True, exist_ok=True)
        make(wanted, made, folder, outputs)
    return read_csv(folder / "figures/figure1.csv")


def evaluated(made, passes, splits=("test",), hidden=()):
    return [
        (c, split, metrics(c, split, hidden=split in hidden) | _rates(c, passes, split in hidden))
        for c in made.checkpoints
        for split in splits
    ]


def _rates(checkpoint, passes, hidden):
    rates = {"final_pass": None if hidden else passes(checkpoint)}
    return {"rates": {profile: metrics(checkpoint)["rates"][profile] | rates for profile in ("official", "strict")}}


def test_bars_stand_untrained_first_then_apis_then_trained_with_the_papers_beside(tmp_path):
    regimes = {"stage1": [{"weights": "stage1", "steps": 500}], "dense": [{"weights": "stage1", "steps": 500}]}
    made = study(models={"qwen3-8b": {"path": "w"}, "gpt-5": {"endpoint": URL}}, regimes=regimes)
    rows = made_figure(made, evaluated(made, lambda c: 0.1 * c.seed), tmp_path)
    assert [(row["group"], row["source"][:5], row["regime"]) for row in rows] == [
        ("untrained", "this ", "base"),
        ("untrained", "paper", "base"),
        ("behind an API", "this ", "base"),
        ("behind an API", "paper", "base"),
        ("qwen3-8b", "this ", "stage1"),
        ("qwen3-8b", "paper", "stage1"),
        ("qwen3-8b", "this ", "dense"),  # of which the paper has no row
    ]
    ours, paper = rows[4], rows[5]
    assert (ours["final_pass"], ours["seeds"], ours["n"]) == ("10.0", "0=0.0 1=10.0 2=20.0", "3")
    assert float(ours["final_pass_ci"]) == pytest.approx(4.302653 * 10 / 3**0.5, abs=1e-3)  # t(2) at 0.975
    assert (paper["final_pass"], paper["final_pass_ci"], paper["seeds"]) == ("39.9", "4.3", "")
    figure = figure1.draw(rows, made)
    (axis,) = figure.axes
    assert [bar.get_hatch() for bar in axis.patches] == [None, "////", None, "////", None, "////", None]
    assert [label.get_text() for label in axis.get_yticklabels()][4:6] == ["stage1, 500 steps", "paper, 500 steps"]
    assert "hatched: the paper's" in figure.get_suptitle() and "test split" in figure.get_suptitle()


def test_the_papers_bar_stands_after_the_row_of_as_many_steps_or_the_last(tmp_path):
    for asked, place in ([500], 0), ("final", 0):
        regimes = {"stage1": [{"weights": "stage1", "steps": 600}]}
        sections = {"training": {"save_every": 100}, "evaluation": {"checkpoints": asked}, "seeds": [0]}
        made = study(models={"qwen3-8b": {"path": "w"}}, regimes=regimes, **sections)
        rows = made_figure(made, evaluated(made, lambda c: 0.2), tmp_path / str(asked))
        trained = [row for row in rows if row["group"] == "qwen3-8b"]
        steps = [row["steps"] for row in trained]
        assert steps == (["500", "500", "600"] if asked != "final" else ["600", "500"])
        assert trained[place + 1]["source"] != trained[place]["source"]


def test_a_split_with_hidden_constraints_is_not_shown(tmp_path):
    made = study(evaluation={"splits": ["validation", "test"]}, seeds=[0])
    rows = made_figure(made, evaluated(made, lambda c: 0.3, ("validation", "test"), hidden=("test",)), tmp_path)
    assert {row["split"] for row in rows if row["source"] == "this study"} == {"validation"}
    any_names(figure1.draw(rows, made).get_suptitle(), "test", "hidden")


def test_ticks_are_whole_percents(tmp_path):
    made = study(seeds=[0])
    axis = figure1.draw(made_figure(made, evaluated(made, lambda c: 0.03), tmp_path), made).axes[0]
    ticks = axis.get_xticks()
    assert len(ticks) > 2 and all(tick == round(tick) for tick in ticks)


def test_what_is_missing_is_said_and_nothing_draws_too(tmp_path):
    made = study()
    some = [part for part in evaluated(made, lambda c: 0.3) if part[0].seed == 0 and part[0].regime != "stage3"]
    rows = made_figure(made, some, tmp_path / "some")
    stage3 = next(row for row in rows if row["regime"] == "stage3")
    assert stage3["final_pass"] == "" and "seed 2 not evaluated" in stage3["missing"]
    figure = figure1.draw(rows, made)
    any_names(figure.get_suptitle(), "missing", "tiny/stage3", "step 40", "3 seeds")
    assert any("not evaluated" in text.get_text() for text in figure.axes[0].texts)
    rows = made_figure(made, [], tmp_path / "none")
    figure = figure1.draw(rows, made)
    assert rows == [] and figure.get_suptitle().endswith("nothing was evaluated")


def test_text_is_readable_and_lies_on_the_page(tmp_path):
    made = study(models={"qwen3-8b": {"path": "w"}})
    figure = figure1.draw(made_figure(made, evaluated(made, lambda c: 0.1 * c.seed), tmp_path), made)
    figure.canvas.draw()
    texts = [t for t in figure.findobj(lambda a: hasattr(a, "get_fontsize")) if t.get_text() and t.get_visible()]
    assert min(t.get_fontsize() for t in texts) >= 7 and figure.get_figwidth() == style.COLUMN
    axis = figure.axes[0]  # ticks beyond the axis are there and not drawn
    for text in (*axis.texts, *axis.get_yticklabels(), figure._suptitle, *figure.legends[0].get_texts()):
        box = text.get_window_extent()
        assert figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1, text.get_text()
