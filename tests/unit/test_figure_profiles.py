"""Final pass under either profile: what the CSV holds, which panels there are, what is said."""

import pytest
from scipy import stats

from helpers.made_up_study import study
from helpers.messages import any_names
from planner_r1.files import write_lines
from planner_r1.paper.figures import profiles, style
from planner_r1.paper.render import read_csv, write_rows
from planner_r1.paper.results import Results, validations_file

QUERIES = 20
OFFICIAL = {0: (2, 4, 6), 40: (10, 12, 17)}  # queries of 20 that pass, by step and seed
STRICT = {0: (2, 4, 6), 40: (10, 8, 3)}


def read_rows(made, folder, without=()):
    """The rows of the CSV, of studies with the seeds 0 to 2 at most."""
    for run in made.runs:
        if run.name not in without:
            lines = [
                {
                    "idx": idx,
                    "step": step,
                    "passed": idx < official[run.seed],
                    "passed_strict": idx < STRICT[step][run.seed],
                }
                for step, official in OFFICIAL.items()
                for idx in range(QUERIES)
            ]
            (folder / validations_file(run)).parent.mkdir(parents=True, exist_ok=True)
            write_lines(folder / validations_file(run), lines)
    folder.mkdir(exist_ok=True)
    write_rows(profiles.rows(made, Results(made, folder, ("validations",))), profiles.FIELDS, folder / "f.csv")
    return read_csv(folder / "f.csv")


def half_width(values):
    low, high = stats.t.interval(0.95, len(values) - 1, loc=0, scale=stats.sem(values))
    return (high - low) / 2


def test_both_passes_and_their_gap_over_seeds(tmp_path):
    rows = read_rows(study(), tmp_path)
    assert len(rows) == 2 * 2 * 2
    end = rows[1]
    assert (end["model"], end["regime"], end["step"], end["n"], end["seeds"]) == ("tiny", "stage1", "40", "3", "0 1 2")
    by_hand = {"official": (50, 60, 85), "strict": (50, 40, 15), "gap": (0, 20, 70)}
    for key, values in by_hand.items():
        assert float(end[key]) == pytest.approx(sum(values) / 3)
        assert float(end[f"{key}_ci"]) == pytest.approx(half_width(values))
    assert (float(rows[0]["gap"]), float(rows[0]["gap_ci"])) == (0, 0)


def test_a_row_of_panels_a_model_and_both_passes_on_one_scale(tmp_path):
    made = study()
    figure = profiles.draw(read_rows(made, tmp_path, without=["tiny/stage3/seed1"]), made)
    assert [axis.get_title(loc="left") for axis in figure.axes] == ["tiny"] * 3 + ["qwen3-8b"] * 3
    official, strict, gap = figure.axes[:3]
    assert official.get_ylim() == strict.get_ylim() and official.get_ylim()[0] == 0
    assert list(official.get_lines()[0].get_ydata()) == pytest.approx([20, 65])
    assert list(gap.get_lines()[0].get_ydata()) == pytest.approx([0, 30])
    # the gap's interval may reach below 0
    low = min(vertex[1] for path in gap.collections[0].get_paths() for vertex in path.vertices)
    assert low == pytest.approx(30 - half_width((0, 20, 70)))
    assert "missing: tiny/stage3, seed 1" in figure.get_suptitle()
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["stage1", "stage3"]


def test_the_regime_that_the_strict_profile_pays_in_is_named(tmp_path):
    phases = [{"weights": "stage1", "steps": 40}]
    made = study(regimes={"stage1": phases, "closed": {"phases": phases, "profile": "strict"}})
    any_names(profiles.draw(read_rows(made, tmp_path), made).get_suptitle(), "strict profile", "closed")
    assert "profile" not in profiles.draw([], study()).get_suptitle()


def test_many_regimes_have_intervals_beside_their_ends_in_place_of_bands(tmp_path):
    made = study(regimes={f"r{i}": [{"weights": "stage1", "steps": 40}] for i in range(4)})
    figure = profiles.draw(read_rows(made, tmp_path), made)
    gap = figure.axes[2]
    bars = [bar[2][0].get_segments()[0] for bar in gap.containers]
    assert len({x for x, _ in (bar[0] for bar in bars)}) == 4 and all(x > 40 for x, _ in (bar[0] for bar in bars))
    ends = 30 - half_width((0, 20, 70)), 30 + half_width((0, 20, 70))
    assert [bar[:, 1] for bar in bars] == [pytest.approx([max(ends[0], -100), min(ends[1], 100)])] * 4
    assert not any(patch.get_alpha() == style.BAND for axis in figure.axes for patch in axis.collections)
    assert "right" in figure.get_suptitle() and "right" not in profiles.draw([], study()).get_suptitle()


def test_a_gap_of_nothing_is_not_drawn_large(tmp_path, monkeypatch):
    monkeypatch.setitem(STRICT, 40, OFFICIAL[40])
    made = study()
    figure = profiles.draw(read_rows(made, tmp_path), made)
    low, high = figure.axes[2].get_ylim()
    assert low <= -5 and high >= 5
    assert [list(axis.get_xticks()) for axis in figure.axes[3:]] == [[0, 40]] * 3  # what was validated


def test_text_is_readable_and_lies_on_the_page(tmp_path):
    figure = profiles.draw(read_rows(study(), tmp_path), study())
    figure.canvas.draw()
    texts = [t for t in figure.findobj(lambda a: hasattr(a, "get_fontsize")) if t.get_text()]
    assert min(t.get_fontsize() for t in texts) >= 7 and figure.get_figwidth() <= style.PAGE
    legend = figure.legends[0].get_window_extent()
    assert not any(legend.overlaps(axis.get_tightbbox()) for axis in figure.axes)


def test_nothing_is_drawn_too():
    figure = profiles.draw([], study())
    assert "no data" in figure.get_suptitle() and not figure.legends
