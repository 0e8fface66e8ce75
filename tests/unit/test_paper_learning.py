"""Learning curves, the figure drawn from them, and the summary of what was learnt."""

from dataclasses import asdict

import matplotlib.colors
import pytest
from PIL import Image

from helpers.made_up_study import study, validations
from helpers.messages import any_names
from planner_r1.files import write_lines
from planner_r1.paper import learning
from planner_r1.paper.curves import curve
from planner_r1.paper.figures import figure3_left, style
from planner_r1.paper.render import read_csv, write_rows
from planner_r1.paper.results import Results, validations_file

RISE = {0: 0.2, 20: 0.4, 40: 0.6}


def test_a_curve_has_at_each_step_the_seeds_that_were_validated_there():
    made = study()
    short = {0: 0.2, 20: 0.6}
    runs = [(run, validations(run, short if run.seed == 2 else RISE)) for run in made.runs[:3]]
    points = curve(runs, lambda parts: parts["pass"])
    assert [(p.step, p.estimate.n, p.seeds) for p in points] == [(0, 3, (0, 1, 2)), (20, 3, (0, 1, 2)), (40, 2, (0, 1))]
    assert points[1].estimate.mean == pytest.approx((0.4 + 0.4 + 0.6) / 3)
    assert points[0].estimate.half_width == pytest.approx(0)


def test_the_summary_tells_a_rise_from_no_rise():
    made = study()
    flat = {0: 0.3, 40: 0.3}
    runs = [(run, validations(run, RISE if run.regime == "stage1" else flat, 60)) for run in made.runs]
    entries = {(e["model"], e["regime"], e["quantity"]): e for e in learning.learning(runs)}
    rise = entries["tiny", "stage1", "final_pass"]
    assert [s["seed"] for s in rise["seeds"]] == [0, 1, 2]
    assert rise["seeds"][0]["start"] == pytest.approx(0.2) and rise["seeds"][0]["end"] == pytest.approx(0.6)
    assert rise["change"]["mean"] == pytest.approx(0.4) and rise["change"]["n"] == 3
    assert rise["over_queries"]["mean"] == pytest.approx(0.4) and rise["rises"] is True
    assert entries["tiny", "stage3", "final_pass"]["rises"] is False
    # an episode that passes earns 5 in stage 1, one that fails here 0
    assert entries["tiny", "stage1", "reward"]["change"]["mean"] == pytest.approx(5 * 0.4)
    text = learning.markdown(list(entries.values()), "made up")
    any_names(text, "tiny, stage1", "final pass", "rises", "+0.400")
    any_names(text, "tiny, stage3", "final pass", "no")
    assert text.count("| tiny | stage1 | mean of 3 |") == 2
    alone = learning.learning([(run, episodes) for run, episodes in runs if run.seed == 0])
    assert "mean of" not in learning.markdown(alone, "made up")  # the seed's own row says it


def test_a_run_without_two_validations_is_named():
    made = study(seeds=[0])
    entries = learning.learning([(made.runs[0], validations(made.runs[0], {0: 0.5}))])
    assert all(e["missing"] == [0] and e["rises"] is None and e["start"]["mean"] is None for e in entries)
    any_names(learning.markdown(entries, "made up"), "Seed 0", "validations")


def test_the_reward_is_equation_one():
    parts = {"schema": 1.0, "cs_micro": 0.5, "hard_micro": 0.25, "cs_macro": 1.0, "hard_macro": 0.0, "pass": 0.0}
    assert learning.stage1_reward(parts) == pytest.approx(1.75)
    assert learning.stage1_reward(parts | {"schema": 0.0}) == 0


# ---- the figure ------------------------------------------------------------------------------------------------


def read_rows(made, runs, folder):
    """The rows of the figure's CSV, from runs with their validations."""
    for run, episodes in runs:
        path = folder / validations_file(run)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_lines(path, map(asdict, episodes))
    folder.mkdir(exist_ok=True)
    write_rows(
        figure3_left.rows(made, Results(made, folder, ("validations", "models"))), figure3_left.FIELDS, folder / "f.csv"
    )
    return read_csv(folder / "f.csv")


def drawn(made, runs, folder):
    return figure3_left.draw(read_rows(made, runs, folder), made)


def test_the_band_is_drawn_from_two_seeds_on(tmp_path):
    for seeds, bands in (([0], 0), ([0, 1], 1)):
        made = study(seeds=seeds)
        figure = drawn(made, [(run, validations(run, RISE)) for run in made.runs], tmp_path)
        for axis in figure.axes:
            assert len(axis.get_lines()) == 2 and len(axis.collections) == 2 * bands  # the sizes are unknown: no line
            low, high = axis.get_ylim()
            assert low == 0 and high <= 100


def test_the_figure_says_what_it_shows_and_what_is_missing(tmp_path):
    made = study(seeds=[0, 1])
    runs = [(run, validations(run, RISE)) for run in made.runs if (run.model, run.regime) != ("tiny", "stage3")]
    figure = drawn(made, runs, tmp_path)
    text = figure.get_suptitle()
    any_names(text, "synthetic", "3 cities")
    any_names(text, "2 seeds")
    any_names(text, "missing", "tiny/stage3")
    assert [axis.get_title(loc="left") for axis in figure.axes] == ["tiny", "qwen3-8b"]
    assert figure.axes[0].yaxis.get_major_formatter()(50) == "50%"
    assert "1 seed (no interval)" in drawn(made, runs[:1], tmp_path / "one").get_suptitle()
    assert "no data" in drawn(made, [], tmp_path / "nothing").get_suptitle()


def test_text_is_readable_and_nothing_covers_the_data(tmp_path):
    made = study(seeds=[0, 1, 2])
    figure = drawn(made, [(run, validations(run, RISE)) for run in made.runs], tmp_path)
    figure.canvas.draw()
    sizes = [text.get_fontsize() for text in figure.findobj(lambda a: hasattr(a, "get_fontsize") and a.get_text())]
    assert min(sizes) >= 7
    assert figure.get_figwidth() <= style.COLUMN
    legend, page = figure.legends[0].get_window_extent(), figure.bbox
    for axis in figure.axes:
        assert not legend.overlaps(axis.get_window_extent())
    assert page.x0 <= legend.x0 and legend.x1 <= page.x1 and page.y0 <= legend.y0


def test_colours_differ_for_the_colour_blind():
    """In lightness or hue under deuteranopia (Vienot, Brettel and Mollon 1999), and in dash and marker anyway."""
    seen = []
    for colour in style.COLOURS:
        r, g, b = (c**2.2 for c in matplotlib.colors.to_rgb(colour))
        mixed = 0.29275 * r + 0.70725 * g
        seen.append((mixed, -0.02234 * r + 0.02234 * g + b))
    for i, one in enumerate(seen):
        for other in seen[i + 1 :]:
            assert max(abs(a - b) for a, b in zip(one, other, strict=True)) > 0.03
    looks = list(style.looks([f"r{i}" for i in range(7)]).values())
    assert all(len({look[key] for look in looks}) == 7 for key in ("color", "marker"))


def test_files_hold_what_was_drawn_and_are_repeatable(tmp_path):
    made = study(seeds=[0, 1])
    rows = read_rows(made, [(run, validations(run, RISE)) for run in made.runs], tmp_path)
    lines = (tmp_path / "f.csv").read_text().splitlines()
    assert lines[0] == "model,regime,step,n,seeds,final_pass,final_pass_ci,line,line_of"
    assert lines[1] == "tiny,stage1,0,2,0 1,20.0,0.0,," and len(lines) == 1 + 2 * 2 * 3
    for name in ("one", "two"):
        style.save(figure3_left.draw(rows, made), tmp_path / f"{name}.png", tmp_path / f"{name}.pdf")
    for kind in ("png", "pdf"):
        assert (tmp_path / f"one.{kind}").read_bytes() == (tmp_path / f"two.{kind}").read_bytes()
    assert Image.open(tmp_path / "one.png").width == round(style.COLUMN * style.DPI)


def test_the_line_is_at_90_percent_of_the_larger_models_peak_under_stage_1(tmp_path):
    made = study(models={"qwen3-8b": {"path": "b"}, "qwen3-32b": {"path": "a"}}, seeds=[0, 1])
    falls, higher = {0: 0.1, 20: 0.5, 40: 0.3}, {0: 0.1, 20: 0.9}
    runs = [(run, validations(run, falls if run.regime == "stage1" else higher)) for run in made.runs]
    rows = read_rows(made, runs, tmp_path)
    assert {(row["line"], row["line_of"]) for row in rows} == {("45.0", "qwen3-32b")}
    figure = figure3_left.draw(rows, made)
    any_names(figure.get_suptitle(), "90%", "qwen3-32b", "45.0%", "stage1")
    assert all(45 in axis.get_lines()[-1].get_ydata() for axis in figure.axes)
