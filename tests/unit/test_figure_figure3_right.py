"""Figure 3, right: FLOPs and passes of made-up runs in the CSV, the crossing on the figure, and what is missing."""

import json
from dataclasses import asdict

import pytest

from helpers.made_up_study import study, validations
from helpers.messages import any_names, names
from planner_r1.files import write_lines
from planner_r1.paper.figures import figure3_right, style
from planner_r1.paper.render import read_csv, write_rows
from planner_r1.paper.results import Results, validations_file

READS = ("validations", "metrics", "manifests", "models")
SMALL, LARGE = {0: 0.1, 20: 0.3, 40: 0.4}, {0: 0.1, 20: 0.5, 40: 0.3}
A_SECOND = 0.5 * 9.89e14 * 16


def two_models(**sections):
    return study(models={"qwen3-8b": {"path": "b"}, "qwen3-32b": {"path": "a"}}, **({"seeds": [0, 1]} | sections))


def read_rows(made, folder, passes, seconds, without=()):
    """The rows of the CSV; each step of a model takes so many seconds of update at an MFU of 50% on 16 GPUs."""
    folder.mkdir(exist_ok=True)
    for run in made.runs:
        if run.regime != "stage1":
            continue
        path, out = folder / validations_file(run), folder / "runs" / run.name
        path.parent.mkdir(parents=True)
        write_lines(path, map(asdict, validations(run, passes[run.model])))
        if run.name in without:
            continue
        out.mkdir(parents=True)
        update = {"perf/mfu/actor": 0.5, "timing_s/update_actor": seconds[run.model]}
        write_lines(out / "metrics.jsonl", [{"step": 0}, *({"step": s, **update} for s in range(1, run.steps + 1))])
        trainer, actor = {"device": "cuda", "nnodes": 2, "n_gpus_per_node": 8}, {"actor": {"ppo_epochs": 1}}
        config = {"trainer": trainer, "actor_rollout_ref": actor}
        (out / "MANIFEST.json").write_text(json.dumps({"config": config}))
    write_rows(figure3_right.rows(made, Results(made, folder, READS)), figure3_right.FIELDS, folder / "f.csv")
    return read_csv(folder / "f.csv")


def test_the_csv_holds_flops_line_and_crossing(tmp_path):
    made = two_models()
    rows = read_rows(made, tmp_path, {"qwen3-8b": SMALL, "qwen3-32b": LARGE}, {"qwen3-8b": 1, "qwen3-32b": 4})
    assert [(r["model"], r["step"], r["final_pass"]) for r in rows[:3]] == [
        ("qwen3-8b", "0", "10.0"),
        ("qwen3-8b", "20", "30.0"),
        ("qwen3-8b", "40", "40.0"),
    ]
    assert [float(r["flops"]) for r in rows[:3]] == pytest.approx([0, 20 * A_SECOND, 40 * A_SECOND])
    # the larger peaks at 50%, at step 20, though it ends lower: the line is at 45%
    assert {(r["line"], r["line_of"], r["flops_source"]) for r in rows} == {("45.0", "qwen3-32b", "measured")}
    crossed = {r["model"]: r["flops_at_line"] for r in rows}
    assert crossed["qwen3-8b"] == ""
    assert float(crossed["qwen3-32b"]) == pytest.approx(20 * 4 * A_SECOND * 35 / 40)  # from 10 to 50%
    figure = figure3_right.draw(rows, made)
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["qwen3-8b: line not reached", "qwen3-32b: line at 5.5×10¹⁷ FLOPs"]
    stars = [line for line in figure.axes[0].get_lines() if line.get_marker() == "*"]
    assert [float(star.get_xdata()[0]) for star in stars] == pytest.approx([float(crossed["qwen3-32b"])])
    assert "FLOPs: MFU" in figure.get_suptitle() and figure.axes[0].get_xscale() == "log"


def test_a_run_without_flops_is_left_out_and_named(tmp_path):
    made = two_models()
    passes, seconds = {"qwen3-8b": SMALL, "qwen3-32b": LARGE}, {"qwen3-8b": 1, "qwen3-32b": 4}
    rows = read_rows(made, tmp_path, passes, seconds, without=["qwen3-8b/stage1/seed1"])
    assert {(r["model"], r["n"], r["seeds"]) for r in rows} == {("qwen3-8b", "1", "0"), ("qwen3-32b", "2", "0 1")}
    assert "qwen3-8b, seed 1: no metrics" in figure3_right.draw(rows, made).get_suptitle()


def test_a_step_that_a_seed_lacks_is_in_the_csv_and_not_on_the_curve(tmp_path):
    made = two_models()
    passes, seconds = {"qwen3-8b": SMALL, "qwen3-32b": LARGE}, {"qwen3-8b": 1, "qwen3-32b": 4}
    read_rows(made, tmp_path, passes, seconds)
    run = made.run("qwen3-8b", "stage1", 0)
    write_lines(tmp_path / validations_file(run), map(asdict, validations(run, SMALL | {30: 1.0})))
    write_rows(figure3_right.rows(made, Results(made, tmp_path, READS)), figure3_right.FIELDS, tmp_path / "f.csv")
    rows = [row for row in read_csv(tmp_path / "f.csv") if row["model"] == "qwen3-8b"]
    assert [row["step"] for row in rows if row["seeds"] == "0"] == ["30"]
    lines = figure3_right.draw(rows, made).axes[0].get_lines()
    curve = next(line for line in lines if str(line.get_label()).startswith("qwen3-8b"))
    assert max(curve.get_ydata()) < 100 and len(curve.get_xdata()) == len(SMALL) - 1  # without step 0, at 0 FLOPs


def test_what_has_no_place_on_the_figure_is_said(tmp_path):
    """Step 0; a step that a seed lacks, at which the other is highest; a curve that reaches the line without FLOPs."""
    made = two_models()
    passes, seconds = {"qwen3-8b": SMALL, "qwen3-32b": LARGE}, {"qwen3-8b": 1, "qwen3-32b": 4}
    read_rows(made, tmp_path, passes, seconds, without=["qwen3-32b/stage1/seed1", "qwen3-32b/stage1/seed0"])
    run = made.run("qwen3-8b", "stage1", 0)
    write_lines(tmp_path / validations_file(run), map(asdict, validations(run, SMALL | {30: 1.0})))
    (tmp_path / validations_file(made.run("qwen3-8b", "stage1", 1))).touch()
    write_rows(figure3_right.rows(made, Results(made, tmp_path, READS)), figure3_right.FIELDS, tmp_path / "f.csv")
    rows = read_csv(tmp_path / "f.csv")
    assert {row["line"] for row in rows} == {"45.0"}
    said = " ".join(figure3_right.draw(rows, made).get_suptitle().split())
    any_names(said, "step 0", "qwen3-8b 10.0%")
    any_names(said, "qwen3-8b, not of all seeds", "step 30")
    any_names(said, "qwen3-32b, reaches the line", "not known")
    any_names(said, "qwen3-32b, seeds 0, 1")
    assert "reckoned" not in said
    (tmp_path / validations_file(run)).write_text("")
    rows = figure3_right.rows(made, Results(made, tmp_path, READS))
    names(rows[0]["missing"], "seed 0", "validations")


def test_one_model_one_seed_and_nothing_are_drawn(tmp_path):
    made = study(models={"qwen3-8b": {"path": "b"}}, seeds=[0])
    rows = read_rows(made, tmp_path / "one", {"qwen3-8b": SMALL}, {"qwen3-8b": 1})
    text = figure3_right.draw(rows, made).get_suptitle()
    assert "90% of qwen3-8b's peak (36.0%)" in text and "1 seed (no interval)" in text
    rows = read_rows(made, tmp_path / "fails", {"qwen3-8b": dict.fromkeys(SMALL, 0.0)}, {"qwen3-8b": 1})
    assert {r["line"] for r in rows} == {""}
    [entry] = figure3_right.draw(rows, made).legends[0].get_texts()
    names(entry.get_text(), "qwen3-8b", "no line")
    write_rows(figure3_right.rows(made, Results(made, tmp_path, READS)), figure3_right.FIELDS, tmp_path / "none.csv")
    figure = figure3_right.draw(read_csv(tmp_path / "none.csv"), made)
    any_names(figure.get_suptitle(), "seed 0", "validations")
    assert figure.axes[0].texts[0].get_text() == "no data"


def test_text_is_readable_and_nothing_covers_the_data(tmp_path):
    made = two_models()
    rows = read_rows(made, tmp_path, {"qwen3-8b": SMALL, "qwen3-32b": LARGE}, {"qwen3-8b": 1, "qwen3-32b": 4})
    figure = figure3_right.draw(rows, made)
    figure.canvas.draw()
    texts = [t for t in figure.findobj(lambda a: hasattr(a, "get_fontsize")) if t.get_text()]
    assert min(t.get_fontsize() for t in texts) >= 7 and figure.get_figwidth() == style.COLUMN
    legend, title = figure.legends[0].get_window_extent(), figure._suptitle.get_window_extent()
    assert not legend.overlaps(figure.axes[0].get_tightbbox()) and not title.overlaps(figure.axes[0].get_tightbbox())
    assert legend.x0 >= 0 and legend.x1 <= figure.bbox.x1 and title.x0 >= 0 and title.x1 <= figure.bbox.x1
