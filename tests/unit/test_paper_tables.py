"""Table 1: what it holds, in which order, and that nothing is made up where numbers lack."""

import csv

import pytest

from helpers.made_up_study import metrics, study
from helpers.messages import any_names, names
from planner_r1.paper.reference import reference
from planner_r1.paper.render import read_csv, write_rows
from planner_r1.paper.tables import table1


def render(made, found, tmp_path):
    path = tmp_path / "table1.csv"
    write_rows(table1.table1(made, found), table1.FIELDS, path)
    return read_csv(path)


def test_own_rows_hold_means_and_intervals_in_percent(tmp_path):
    made = study()
    passes = {0: 0.10, 1: 0.20, 2: 0.30}
    found = [metrics(c, final_pass=passes[c.seed]) for c in made.checkpoints]
    rows = {(r["source"], r["model"], r["regime"]): r for r in render(made, found, tmp_path)}
    row = rows[table1.OURS, "tiny", "stage1"]
    assert (row["n"], row["steps"], row["split"], row["missing"]) == ("3", "40", "test", "")
    assert float(row["final_pass"]) == pytest.approx(20.0)
    assert float(row["final_pass_ci"]) == pytest.approx(4.302653 * 10 / 3**0.5, abs=1e-3)  # t(2) at 0.975
    assert float(row["delivery"]) == 50.0 and float(row["delivery_ci"]) == 0.0
    base = rows[table1.OURS, "tiny", "base"]
    assert (base["n"], base["steps"], base["final_pass"], base["final_pass_ci"]) == ("1", "0", "10.0", "")


def test_the_papers_rows_stand_beside_ours_and_are_marked(tmp_path):
    made = study()
    rows = render(made, [metrics(c) for c in made.checkpoints], tmp_path)
    places = [(r["source"], r["model"], r["regime"]) for r in rows]
    ours = places.index((table1.OURS, "qwen3-8b", "stage3"))
    assert places[ours + 1] == (table1.PAPER, "qwen3-8b", "stage3")
    papers = [r for r in rows if r["source"] == table1.PAPER]
    printed = reference("table1")
    assert len(papers) == len(printed) == 12
    stage1 = next(r for r in papers if (r["model"], r["regime"]) == ("qwen3-8b", "stage1"))
    assert (stage1["final_pass"], stage1["final_pass_ci"], stage1["n"]) == ("39.9", "4.3", "5")
    single = next(r for r in papers if r["model"] == "gpt-5")
    assert (single["final_pass"], single["final_pass_ci"], single["n"]) == ("21.2", "", "1")
    assert all(r["final_pass_strict"] == "" for r in papers)


def test_step_500_of_a_longer_run_stands_beside_the_papers_row_and_the_longer_one_is_labelled(tmp_path):
    regimes = {
        "stage1": [{"weights": "stage1", "steps": {"tiny": 600, "qwen3-8b": 3000}}],
        "stage3": [{"weights": "stage3", "steps": 500}],
    }
    made = study(regimes=regimes, training={"save_every": 100}, evaluation={"checkpoints": [500]})
    passes = {0: 0.0, 500: 0.4, 600: 0.45, 3000: 0.55}
    rows = render(made, [metrics(c, final_pass=passes[c.step]) for c in made.checkpoints], tmp_path)
    kept = [r for r in rows if (r["model"], r["regime"]) == ("qwen3-8b", "stage1")]
    assert [(r["source"], r["steps"], r["run_steps"], r["final_pass"]) for r in kept] == [
        (table1.OURS, "500", "3000", "40.0"),
        (table1.PAPER, "500", "500", "39.9"),
        (table1.OURS, "3000", "3000", "55.0"),
    ]
    text = table1.markdown(rows, "Table 1")
    assert "| this study | qwen3-8b | stage1 | test | 500 of 3000 | 3 |" in text
    assert "| this study | qwen3-8b | stage1 | test | 3000 | 3 |" in text
    assert "`a of b`" in text and "`a of b`" in table1.latex(rows, "Table 1")
    whole = render(study(), [metrics(c) for c in study().checkpoints], tmp_path)
    assert "`a of b`" not in table1.markdown(whole, "Table 1")


def test_what_lacks_is_missing_and_named(tmp_path):
    made = study()
    found = [metrics(c) for c in made.checkpoints if (c.model, c.regime) != ("tiny", "stage3") and c.seed != 1]
    rows = render(made, found, tmp_path)
    gone = next(r for r in rows if (r["source"], r["model"], r["regime"]) == (table1.OURS, "tiny", "stage3"))
    assert gone["n"] == "0" and gone["final_pass"] == "" and gone["final_pass_ci"] == ""
    names(gone["missing"], "seed 0", "seed 1", "seed 2", "evaluated")
    text = table1.markdown(rows, "Table 1")
    assert "| this study | tiny | stage3 | test | 40 | 0 | missing |" in text
    any_names(text, "- tiny, stage1, test", "seed 1", "evaluated")
    assert "| 2 |" in text


def test_a_hidden_split_has_a_delivery_and_says_why_not_more(tmp_path):
    made = study(evaluation={"splits": ["validation", "test"]})
    found = [metrics(c, "validation") for c in made.checkpoints]
    found += [metrics(c, "test", hidden=True, delivery=0.9) for c in made.checkpoints]
    rows = render(made, found, tmp_path)
    hidden = next(r for r in rows if (r["model"], r["regime"], r["split"]) == ("tiny", "stage1", "test"))
    assert hidden["delivery"] == "90.0" and hidden["final_pass"] == "" and "leaderboard" in hidden["missing"]
    assert sum(r["source"] == table1.OURS for r in rows) == 2 * 2 * 3


def test_markdown_and_latex_hold_every_row_of_the_csv(tmp_path):
    made = study(seeds=[0])
    rows = render(made, [metrics(c) for c in made.checkpoints], tmp_path)
    markdown, latex = table1.markdown(rows, "Table 1, 50% & more"), table1.latex(rows, "Table 1, 50% & more")
    lines = [line for line in markdown.splitlines() if line.startswith("| ")]
    assert len(lines) == len(rows) + 2
    assert len({line.count("|") for line in lines}) == 1
    assert r"50\% \& more" in latex
    body = [line for line in latex.splitlines() if line.endswith(r"\\")]
    assert len(body) == len(rows) + 1
    assert len({line.replace(r"\&", "").count("&") for line in body}) == 1
    assert "39.9 ± 4.3" in markdown and r"39.9 $\pm$ 4.3" in latex
    # one seed: a number and no interval
    assert "| this study | tiny | stage1 | test | 40 | 1 | 50.0 | 50.0 |" in markdown


def test_reference_numbers_are_the_papers(shared_data):
    for name in ("table1", "table2", "headline"):
        with open(shared_data.parent / "paper" / f"{name}.csv", encoding="utf-8") as file:
            assert reference(name) == list(csv.DictReader(line for line in file if not line.startswith("#")))
