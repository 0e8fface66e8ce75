"""Figure 3, left: where its band is broken, and what it says of missing seeds."""

from dataclasses import asdict

import numpy as np

from helpers.made_up_study import study, validations
from helpers.messages import any_names
from planner_r1.files import write_lines
from planner_r1.paper.figures import figure3_left
from planner_r1.paper.render import read_csv, write_rows
from planner_r1.paper.results import Results, validations_file

RISE = {0: 0.2, 20: 0.4, 40: 0.6}


def drawn(made, runs, folder):
    """The figure, through its CSV."""
    for run, episodes in runs:
        path = folder / validations_file(run)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_lines(path, map(asdict, episodes))
    rows = figure3_left.rows(made, Results(made, folder, ("validations", "models")))
    write_rows(rows, figure3_left.FIELDS, folder / "f.csv")
    return figure3_left.draw(read_csv(folder / "f.csv"), made)


def test_the_band_is_broken_where_there_is_no_interval(tmp_path):
    """A seed lacks steps 20 and 40 of 0 to 50: a band from 0 to 10, nothing at 20 and 40, bars at 30 and 50."""
    made = study(models={"tiny": {"warm_start": {}}}, seeds=[0, 1], regimes={"r": [{"weights": "stage1", "steps": 50}]})
    first, second = dict.fromkeys(range(0, 60, 10), 0.5), dict.fromkeys((0, 10, 30, 50), 0.4)
    runs = [(run, validations(run, passes)) for run, passes in zip(made.runs, (first, second), strict=True)]
    band, bars = drawn(made, runs, tmp_path).axes[0].collections
    spans = [np.unique(path.vertices[:, 0]).tolist() for path in band.get_paths()]
    assert [span for span in spans if len(span) > 1] == [[0, 10]]
    assert [segment[0, 0] for segment in bars.get_segments()] == [30, 50]


def test_a_missing_seed_is_said(tmp_path):
    made = study(seeds=[0, 1])
    runs = [(run, validations(run, RISE)) for run in made.runs if run.seed == 0 or run.model == "tiny"]
    (tmp_path / validations_file(made.runs[-1])).parent.mkdir(parents=True)
    (tmp_path / validations_file(made.runs[-1])).touch()  # as good as none
    figure = drawn(made, runs, tmp_path)
    for regime in ("stage1", "stage3"):
        any_names(figure.get_suptitle(), "missing", f"qwen3-8b/{regime}, seed 1")
    assert "tiny/" not in figure.get_suptitle() and "1 to 2 seeds" in figure.get_suptitle()
    figure = drawn(made, [r for r in runs if r[0].model == "tiny"], tmp_path / "other")
    assert [[text.get_text() for text in axis.texts] for axis in figure.axes] == [[], ["no data"]]
