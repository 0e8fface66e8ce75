"""The table and the figure of noisy tools, and what becomes of evaluations under noise elsewhere; results by hand."""

import json
import math

import pytest
from scipy import stats

from helpers.made_up_study import metrics, study
from helpers.made_up_validations import texts
from helpers.messages import any_names, names
from planner_r1.files import write_lines
from planner_r1.paper import comparison
from planner_r1.paper.artefacts import artefacts_of, files_of
from planner_r1.paper.evidence import Evidence
from planner_r1.paper.figures import noise_effect
from planner_r1.paper.render import read_csv, write_rows
from planner_r1.paper.results import Results, evaluation_folder
from planner_r1.paper.tables import noise, table1
from planner_r1.study import Checkpoint

ONE = {"tiny": {"warm_start": {}}}
PHASES = [{"weights": "stage1", "steps": 40}]
REGIMES = {"clean": PHASES, "flaky": {"phases": PHASES, "noise": "flaky"}}
KEYS = {
    **{"models": ONE, "regimes": REGIMES, "seeds": [0, 1]},
    **{"noise": {"flaky": {"failures": 0.1, "dropped_rows": 0.2}}, "evaluation": {"noise": ["flaky"]}},
}
QUERIES = 40
# Percent of the queries that pass, the first ones: by regime and evaluation, of each seed.
SHARES = {
    ("base", "test"): [10],
    ("base", "test+flaky"): [5],
    ("clean", "test"): [60, 80],
    ("clean", "test+flaky"): [30, 40],
    ("flaky", "test"): [50, 70],
    ("flaky", "test+flaky"): [45, 65],
}


def write(folder, checkpoint, split, share):
    place = folder / evaluation_folder(checkpoint, split)
    place.mkdir(parents=True, exist_ok=True)
    passed = [idx < share * QUERIES / 100 for idx in range(QUERIES)]
    verdict = [{"final_pass": one, "reasons": {}} for one in passed]
    write_lines(place / "scores.jsonl", ({"idx": i, "official": v, "strict": v} for i, v in enumerate(verdict)))
    marks = [{}] * QUERIES
    if "+" in split:  # the first query meets a failure and a loss, the next three a loss
        marks = [{"noise": {"failure": True}}] + [{"noise": {"dropped_rows": 2}}] * 3 + [{}] * (QUERIES - 4)
    call = {"turn": 1, "name": "get_cities", "arguments": {}, "reply_chars": 1, "error": False}
    also = [{"noise": {"dropped_rows": 1}} if "+" in split and idx == 0 else {} for idx in range(QUERIES)]
    write_lines(
        place / "trajectories.jsonl",
        (
            {"idx": i, "tool_calls": [call | mark, call | more]}
            for i, (mark, more) in enumerate(zip(marks, also, strict=True))
        ),
    )
    rate = metrics(checkpoint, split, final_pass=share / 100)
    (place / "metrics.json").write_text(json.dumps(rate), encoding="utf-8")


@pytest.fixture
def made(tmp_path):
    made = study(**KEYS)
    for checkpoint in made.checkpoints:
        for split in made.splits:
            write(tmp_path, checkpoint, split, SHARES[checkpoint.regime, split][checkpoint.seed])
    for run in made.runs:
        manifest(tmp_path, run)
    return made


def manifest(folder, run, **algorithm):
    place = folder / "runs" / run.name
    place.mkdir(parents=True, exist_ok=True)
    config = {"data": {"train_batch_size": 4}, "algorithm": algorithm}
    (place / "MANIFEST.json").write_text(json.dumps({"config": config}), encoding="utf-8")


def read(module, made, folder, reads=("scores", "trajectories", "manifests")):
    rows = module.rows(made, Results(made, folder, reads))
    (folder / "tables").mkdir(exist_ok=True)
    file = folder / "tables" / f"{module.__name__.rpartition('.')[2]}.csv"
    write_rows(rows, module.FIELDS, file)
    return read_csv(file)


def by_place(rows):
    return {(row["regime"], row["split"]): row for row in rows}


def test_a_row_a_regime_and_evaluation(made, tmp_path):
    rows = read(noise, made, tmp_path)
    assert [(r["regime"], r["split"], r["trained_under"], r["evaluated_under"], r["step"], r["n"]) for r in rows] == [
        ("base", "test", "", "none", "0", "1"),
        ("base", "test+flaky", "", "flaky", "0", "1"),
        ("clean", "test", "none", "none", "40", "2"),
        ("clean", "test+flaky", "none", "flaky", "40", "2"),
        ("flaky", "test", "flaky", "none", "40", "2"),
        ("flaky", "test+flaky", "flaky", "flaky", "40", "2"),
    ]
    assert [float(row["final_pass"]) for row in rows] == [10, 5, 70, 35, 60, 55]
    t = math.tan(
        0.475 * math.pi
    )  # Student's quantile for two values; their mean's error is half of how far they are apart
    assert [row["final_pass_ci"] and float(row["final_pass_ci"]) for row in rows] == [
        *("", "", pytest.approx(10 * t, abs=1e-3), pytest.approx(5 * t, abs=1e-3)),
        *[pytest.approx(10 * t, abs=1e-3)] * 2,
    ]


def test_changes_are_of_the_same_checkpoints_and_queries(made, tmp_path):
    rows = by_place(read(noise, made, tmp_path))
    assert all(rows[regime, "test"]["change"] == "" for regime in ("base", "clean", "flaky"))
    change = {regime: rows[regime, "test+flaky"] for regime in ("base", "clean", "flaky")}
    assert {regime: float(row["change"]) for regime, row in change.items()} == {"base": -5, "clean": -35, "flaky": -5}
    assert {row["queries"] for row in change.values()} == {"40"}
    # the normal approximation of the mean over queries: of clean, 20 of 40 queries lose on one seed or on both
    losses = [0.0] * 12 + [-50.0] * 4 + [-100.0] * 8 + [-50.0] * 8 + [0.0] * 8
    mean = sum(losses) / 40
    error = math.sqrt(sum((x - mean) ** 2 for x in losses) / 40) / math.sqrt(40)
    assert mean == -35
    assert float(change["clean"]["change_low"]) == pytest.approx(mean - 1.96 * error, abs=2)
    assert float(change["clean"]["change_high"]) == pytest.approx(mean + 1.96 * error, abs=2)


def test_differences_are_to_the_first_regime_by_seed(made, tmp_path):
    rows = by_place(read(noise, made, tmp_path))
    assert rows["clean", "test"]["difference"] == rows["base", "test"]["difference"] == ""
    clean, flaky = rows["flaky", "test"], rows["flaky", "test+flaky"]
    assert (clean["against"], float(clean["difference"])) == ("clean", -10)
    assert clean["difference_low"] == ""  # both seeds differ alike: nothing is known of others
    assert float(flaky["difference"]) == 20  # 15 and 25
    width = 5 * math.tan(0.475 * math.pi)
    assert float(flaky["difference_low"]) == pytest.approx(20 - width, abs=1e-3)
    assert float(flaky["difference_high"]) == pytest.approx(20 + width, abs=1e-3)


def test_seeds_of_other_batches_are_not_paired(made, tmp_path):
    """Under dynamic sampling a seed's batches are others: Welch's t-test of 45 and 65 against 30 and 40."""
    manifest(tmp_path, made.run("tiny", "flaky", 1), filter_groups={"enable": True})
    row = by_place(read(noise, made, tmp_path))["flaky", "test+flaky"]
    interval = stats.ttest_ind([45, 65], [30, 40], equal_var=False).confidence_interval(0.95)
    assert float(row["difference"]) == 20
    assert float(row["difference_low"]) == pytest.approx(interval.low, abs=1e-3)
    assert float(row["difference_high"]) == pytest.approx(interval.high, abs=1e-3)


def test_what_episodes_met(made, tmp_path):
    rows = by_place(read(noise, made, tmp_path))
    noisy, sound = rows["clean", "test+flaky"], rows["clean", "test"]
    assert (float(noisy["met_failure"]), float(noisy["met_dropped_rows"])) == (2.5, 10)
    assert (float(sound["met_failure"]), float(sound["met_dropped_rows"])) == (0, 0)


def test_for_people(made, tmp_path):
    rows = read(noise, made, tmp_path)
    shown = noise.markdown(rows, "Title")
    assert "| tiny | clean | none | test+flaky | 40 | 2 | 35.0 ± 63.5 | -35.0 (" in shown
    assert shown.count("\n| tiny") == 6
    assert r"35.0 $\pm$ 63.5" in noise.latex(rows, "Title")


def test_what_is_missing_is_said(made, tmp_path):
    for file in (tmp_path / evaluation_folder(Checkpoint("tiny", "flaky", 1, 40), "test+flaky")).iterdir():
        file.unlink()
    rows = read(noise, made, tmp_path)
    names(by_place(rows)["flaky", "test+flaky"]["missing"], "seed 1", "scores")
    any_names(noise.markdown(rows, "Title"), "- tiny, flaky, test+flaky", "seed 1", "scores")
    assert float(by_place(rows)["flaky", "test+flaky"]["change"]) == -5
    drawn = read(noise_effect, made, tmp_path, ("table:noise",))
    any_names(texts(noise_effect.draw(drawn, made)), "missing", "tiny/flaky, test+flaky", "seed 1", "scores")


def test_the_seeds_of_a_change_and_of_a_difference_are_said_where_they_are_not_n(made, tmp_path):
    """Of the first regime under noise one seed is left, of the other's clean evaluation the other one."""
    for place, split in (
        (Checkpoint("tiny", "clean", 0, 40), "test+flaky"),
        (Checkpoint("tiny", "flaky", 1, 40), "test"),
    ):
        (tmp_path / evaluation_folder(place, split) / "scores.jsonl").unlink()
    rows = by_place(read(noise, made, tmp_path))
    row = rows["flaky", "test+flaky"]
    assert (row["n"], row["change_n"], row["difference_n"]) == ("2", "1", "1")
    assert (float(row["change"]), float(row["difference"])) == (45 - 50, 65 - 40)
    assert rows["clean", "test+flaky"]["change_n"] == rows["clean", "test+flaky"]["n"] == "1"
    shown = noise.markdown([*rows.values()], "T")
    assert "), n = 1 | +25.0, n = 1 |" in shown and shown.count("n = 1 |") == 2


def test_a_change_of_nothing_says_what_its_interval_is(made, tmp_path):
    """No query of 40 changed: with 95% confidence fewer than 3 in 40 would, (1 - 3 / 40) ** 40 being about 0.05."""
    for split in made.splits:
        for file in (tmp_path / evaluation_folder(Checkpoint("tiny", "base", 0, 0), split)).iterdir():
            file.unlink()
        write(tmp_path, Checkpoint("tiny", "base", 0, 0), split, 10)
    rows = read(noise, made, tmp_path)
    shown = noise.markdown(rows, "T")
    assert "| +0.0 (-7.5 to +7.5) |" in shown and "rule of three" in shown
    assert pytest.approx(0.05, abs=0.01) == (1 - 0.075) ** 40


def test_the_figure_shows_the_table(made, tmp_path):
    read(noise, made, tmp_path)
    rows = read(noise_effect, made, tmp_path, ("table:noise",))
    figure = noise_effect.draw(rows, made)
    [axis] = figure.axes
    drawn = {line.get_label().partition(" (")[0]: list(line.get_ydata()) for line in axis.lines}
    assert drawn == {"untrained": [10, 5], "clean": [70, 35], "flaky": [60, 55]}
    assert [label.get_text() for label in axis.get_xticklabels()] == ["sound tools", "flaky"]
    any_names(texts(figure), "flaky", "10%", "20%")
    assert "no data" in texts(noise_effect.draw([], made))


@pytest.mark.parametrize("longer", ["", "_on_twice_as_many_queries_as_before"])
def test_the_legend_lies_on_the_page(made, tmp_path, longer):
    table = [row | {"regime": row["regime"].replace("flaky", f"flaky{longer}")} for row in read(noise, made, tmp_path)]
    phases = {"phases": PHASES, "noise": "flaky"}
    named = study(**KEYS | {"regimes": {"clean": PHASES, f"flaky{longer}": phases}})
    figure = noise_effect.draw([{key: row[key] for key in noise_effect.FIELDS} for row in table], named)
    figure.canvas.draw()
    legend = figure.legends[0].get_window_extent()
    assert len(figure.legends) == 1 and len(figure.legends[0].get_texts()) == 3
    assert legend.x0 >= 0 and legend.x1 <= figure.bbox.x1 and legend.y0 >= 0
    assert not any(legend.overlaps(axis.get_tightbbox()) for axis in figure.axes)


def test_only_studies_with_noise_in_evaluations_have_them(made):
    names = {"noise", "noise_effect"}
    assert names <= {one.name for one in artefacts_of(made)}
    without = study(**KEYS | {"evaluation": {}})
    assert not names & {one.name for one in artefacts_of(without)}


# ---- elsewhere ----------------------------------------------------------------------------------------------------


def test_queries_are_those_of_the_split(made):
    assert sorted(files_of(made, "queries")) == ["data/test.jsonl", "data/train.jsonl", "data/validation.jsonl"]
    assert Results(made, "r", ("queries",)).queries("test+flaky").name == "test.jsonl"


def test_table1_has_a_block_of_it(made, tmp_path):
    rows = read(table1, made, tmp_path, ("rates",))
    own = [row for row in rows if row["source"] == table1.OURS]
    assert [row["split"] for row in own] == ["test"] * 3 + ["test+flaky"] * 3
    assert table1.NOISY in table1.markdown(rows, "T") and table1.NOISY in table1.latex(rows, "T")
    assert table1.shown_split(rows) == "test"


def test_claims_are_tested_without_noise(made, tmp_path):
    assert Evidence(made, Results(made, tmp_path, ("scores",))).split == "test"
    for checkpoint in made.checkpoints:
        (tmp_path / evaluation_folder(checkpoint, "test") / "scores.jsonl").unlink()
    assert Evidence(made, Results(made, tmp_path, ("scores",))).split is None


def test_numbers_under_noise_do_not_compare_with_the_papers():
    papers = study(
        models={"qwen3-8b": {"path": "w"}},
        regimes={"stage1": {"phases": [{"weights": "stage1", "steps": 500}], "noise": "flaky"}},
        noise=KEYS["noise"],
        evaluation=KEYS["evaluation"],
    )
    any_names(comparison.training_obstacles(papers, "qwen3-8b", "stage1"), "training", "flaky")
    number = comparison.Number(comparison.TABLE1, "", "Final pass", "qwen3-8b", "base", "0", 1.0, None)
    ours = dict.fromkeys(table1.FIELDS, "") | {"split": "test+flaky", "regime": "base", "steps": "0", "final_pass": "1"}
    own = comparison._of_table1(papers, number, "final_pass", ours | {"n": "1"}, True)
    any_names(own.obstacles, "flaky")
