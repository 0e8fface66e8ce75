"""Table 2: means, intervals, the test against the base, and what is said of what does not compare."""

import pytest
from scipy import stats

from helpers.made_up_study import CONFIG
from helpers.messages import any_names, names
from planner_r1.ood.suites import SUITES
from planner_r1.paper.reference import reference
from planner_r1.paper.render import read_csv, write_rows
from planner_r1.paper.tables import table2
from planner_r1.study import Checkpoint, Study

SOURCE = {"source": "synthetic"}
ITEMS = 40


def study(**keys) -> Study:
    return Study.from_config(CONFIG | {"suites": dict.fromkeys(SUITES, SOURCE) | keys})


def result(checkpoint: Checkpoint, suite: str, shares: dict[str, float], repeats: int = 1, caveats=()) -> table2.Result:
    """Items of which the given share, the first ones, are right; by default half."""
    metrics = {}
    scores = []
    for metric in SUITES[suite].metrics:
        right = round(shares.get(metric, 0.5) * ITEMS)
        values = [float(item < right) for item in range(ITEMS)]
        mean = sum(values) / ITEMS
        metrics[metric] = {"mean": mean, "items": ITEMS, "by_repeat": [mean] * repeats}
        for repeat in range(repeats):
            scores += [{"metric": metric, "item": str(i), "repeat": repeat, "value": v} for i, v in enumerate(values)]
    names = {"model": checkpoint.model, "regime": checkpoint.regime, "seed": checkpoint.seed, "step": checkpoint.step}
    return table2.Result({**names, "suite": suite, "metrics": metrics, "caveats": list(caveats)}, scores)


def render(made, results, tmp_path):
    write_rows(table2.table2(made, results), table2.FIELDS, tmp_path / "table2.csv")
    return read_csv(tmp_path / "table2.csv")


def ours(rows, model="tiny"):
    return {row["regime"]: row for row in rows if row["source"] == table2.OURS and row["model"] == model}


def test_the_columns_are_the_suites_metrics():
    assert [(key, suite) for key, suite, _ in table2.COLUMNS] == [
        (metric, name) for name, suite in SUITES.items() for metric in suite.metrics
    ]


def test_means_and_intervals_over_seeds_or_over_repeats(tmp_path):
    made = study()
    passes = {0: 0.1, 1: 0.2, 2: 0.3}
    results = [
        result(c, suite, {"tau_pass1": passes[c.seed]}, repeats=2) for c in made.suite_checkpoints for suite in SUITES
    ]
    rows = ours(render(made, results, tmp_path))
    row = rows["stage1"]
    assert (row["n"], row["steps"], row["missing"]) == ("3", "40", "")
    assert float(row["tau_pass1"]) == pytest.approx(20.0)
    assert float(row["tau_pass1_ci"]) == pytest.approx(4.302653 * 10 / 3**0.5, abs=1e-3)  # t(2) at 0.975
    base = rows["base"]
    assert (base["n"], base["tau_pass1"], base["tau_pass1_ci"], base["tau_pass1_p"]) == ("2", "10.0", "0.0", "")
    assert base["tau_pass1_items"] == str(ITEMS)


def test_the_test_is_mcnemars_where_items_are_right_or_wrong(tmp_path):
    made = Study.from_config(CONFIG | {"seeds": [0], "suites": dict.fromkeys(SUITES, SOURCE)})
    shares = {"np_trip": 0.9, "tau_pass1": 0.25, "mif_turn1": 0.525}
    results = [
        result(c, suite, shares if c.regime == "stage1" else {}) for c in made.suite_checkpoints for suite in SUITES
    ]
    row = ours(render(made, results, tmp_path))["stage1"]
    # 16 items better and none worse; 10 worse and none better; one better
    expected = {"np_trip": stats.binomtest(16, 16).pvalue, "tau_pass1": stats.binomtest(0, 10).pvalue, "mif_turn1": 1.0}
    for metric, p in expected.items():
        assert float(row[f"{metric}_p"]) == pytest.approx(p, abs=3e-4)
    assert float(row["np_trip_p_holm"]) == pytest.approx(7 * float(row["np_trip_p"]))
    assert float(row["tau_pass1_p_holm"]) == pytest.approx(6 * float(row["tau_pass1_p"]))
    assert (row["np_trip_verdict"], row["tau_pass1_verdict"], row["np_meeting_verdict"]) == ("better", "worse", "")
    markdown = table2.markdown(read_csv(tmp_path / "table2.csv"), "Table 2")
    (line,) = [line for line in markdown.splitlines() if line.startswith("| this study | tiny | stage1")]
    assert line.count("🟩") == 1 and line.count("🟥") == 1 and "→" in line
    latex = table2.latex(read_csv(tmp_path / "table2.csv"), "Table 2")
    assert latex.count(r"\cellcolor{green!20}90.0") == latex.count(r"\cellcolor{red!20}25.0") == 2  # two models
    assert not set(latex) & set("±▲▼τ→")


def test_the_papers_rows_stand_beside_ours_of_as_many_steps_and_are_all_there(tmp_path):
    regimes = {"stage1": [{"weights": "stage1", "steps": 500}]}
    made = Study.from_config(CONFIG | {"regimes": regimes, "suites": dict.fromkeys(SUITES, SOURCE)})
    rows = render(made, [], tmp_path)
    printed = reference("table2")
    papers = [row for row in rows if row["source"] == table2.PAPER]
    assert sorted((r["method"], r["steps"], r["tau_pass1"]) for r in papers) == sorted(
        (r["method"], r["steps"], r["tau_pass1"]) for r in printed
    )
    for step in ("0", "500"):
        place = next(
            i for i, r in enumerate(rows) if (r["source"], r["model"], r["steps"]) == (table2.OURS, "qwen3-8b", step)
        )
        assert (rows[place + 1]["source"], rows[place + 1]["model"], rows[place + 1]["steps"]) == (
            table2.PAPER,
            "qwen3-8b",
            step,
        )
    assert all(row[f"{key}_p"] == "" for row in papers for key in table2.KEYS)


def test_what_is_missing_or_does_not_compare_is_named(tmp_path):
    made = study(tau_bench=None)
    results = [
        result(c, suite, {}, caveats=["made-up data"] if suite == "multi_if" else [])
        for c in made.suite_checkpoints
        for suite in ("natural_plan", "multi_if")
        if not (suite == "natural_plan" and c.seed == 2)
    ]
    rows = render(made, results, tmp_path)
    row = ours(rows)["stage3"]
    names(row["missing"], "tau_bench", "natural_plan, seed 2", "scores")
    assert row["tau_pass1"] == "" and row["tau_pass1_p"] == ""
    markdown = table2.markdown(rows, "Table 2")
    any_names(markdown, "not comparable", "multi_if", "made-up data")
    any_names(markdown, "missing", "natural_plan, seed 2", "tiny, stage1, step 40", "tiny, stage3, step 40")
    assert "| missing |" in markdown
    shown = [line for line in table2.latex(rows, "Table 2").splitlines() if not line.startswith("%")]
    assert any("not comparable" in line for line in shown)


def test_means_without_a_test_say_why(tmp_path):
    made = Study.from_config(CONFIG | {"seeds": [0], "suites": {"tau_bench": SOURCE, "multi_if": SOURCE}})
    results = [result(c, suite, {}) for c in made.suite_checkpoints for suite in made.suites]
    emptied = [
        table2.Result(r.metrics, [] if r.place[1] == "tau_bench" and r.place[0].regime == "stage1" else r.scores)
        for r in results
    ]
    rows = ours(render(made, emptied, tmp_path))
    row = rows["stage1"]
    assert row["tau_pass1"] == "50.0" and row["tau_pass1_p"] == "" and row["mif_turn1_p"] != ""
    names(row["missing"], "tau_bench, seed 0", f"0 of {ITEMS}", "no test")
    assert "scores" not in rows["stage3"]["missing"] and "scores" not in rows["base"]["missing"]


def test_a_study_asks_only_the_checkpoints_it_names():
    everything = [c.name for c in study().checkpoints]
    assert [c.name for c in study().suite_checkpoints] == everything  # the last steps are all there are
    some = study(regimes=["stage3"])
    assert {c.regime for c in some.suite_checkpoints} == {"base", "stage3"}
    earlier = CONFIG | {"evaluation": {"checkpoints": [20]}}
    for which, steps in (("final", {0, 40}), ("evaluated", {0, 20, 40})):
        made = Study.from_config(earlier | {"suites": {"multi_if": SOURCE, "checkpoints": which}})
        assert {c.step for c in made.suite_checkpoints} == steps
    assert Study.from_config(CONFIG).suite_checkpoints == ()
