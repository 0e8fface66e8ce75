"""The headline figures: ours of a made-up study against values worked out by hand, the paper's beside them."""

import json
from dataclasses import asdict

import pytest

from helpers.made_up_study import metrics, study, validations
from helpers.messages import any_names, names
from planner_r1.files import write_lines
from planner_r1.paper.artefacts import artefact
from planner_r1.paper.make import make
from planner_r1.paper.reference import reference
from planner_r1.paper.render import read_csv
from planner_r1.paper.results import Results, evaluation_folder, validations_file
from planner_r1.paper.tables import headline

A_SECOND = 0.5 * 9.89e14 * 16
CURVES = {
    ("qwen3-8b", "stage1"): {0: 0.0, 20: 0.5, 40: 0.4},
    ("qwen3-32b", "stage1"): {0: 0.0, 20: 0.3, 40: 0.5},
    ("qwen3-8b", "stage3"): {0: 0.2, 40: 0.0},
    ("qwen3-32b", "stage3"): {0: 0.2, 40: 0.3},
}
GIB = {"qwen3-8b": 50.0, "qwen3-32b": 75.0}


def made_study(**sections):
    models = {"qwen3-8b": {"path": "b"}, "qwen3-32b": {"path": "a"}}
    return study(**({"models": models, "seeds": [0, 1], "training": {"backend": "gpu"}} | sections))


def table(made, folder, evaluated=()):
    for run in made.runs:
        scores, out = folder / validations_file(run), folder / "runs" / run.name
        for path in (scores.parent, out):
            path.mkdir(parents=True, exist_ok=True)
        write_lines(scores, map(asdict, validations(run, CURVES[run.model, run.regime])))
        step = {"perf/mfu/actor": 0.5, "timing_s/update_actor": 1.0 if run.model == "qwen3-8b" else 4.0}
        step |= {headline.MEMORY: GIB[run.model] - 1}
        steps = [{"step": s, **step} for s in range(1, run.steps + 1)]
        write_lines(out / "metrics.jsonl", [{"step": 0}, *steps[:-1], steps[-1] | {headline.MEMORY: GIB[run.model]}])
        trainer, actor = {"device": "cuda", "nnodes": 2, "n_gpus_per_node": 8}, {"actor": {"ppo_epochs": 1}}
        config = {"trainer": trainer, "actor_rollout_ref": actor}
        (out / "MANIFEST.json").write_text(json.dumps({"config": config, "final_step": run.steps}))
    (folder / "data").mkdir(exist_ok=True)
    for split, n in (("train", 180), ("test", 7)):
        (folder / f"data/{split}.jsonl").write_text("{}\n" * n)
    for checkpoint in evaluated:
        path = folder / evaluation_folder(checkpoint, "test") / "metrics.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(metrics(checkpoint, final_pass=0.25)))
    for name in ("table1", "headline"):
        outputs = {what: folder / file for what, file in artefact(name).outputs.items()}
        outputs["csv"].parent.mkdir(exist_ok=True)
        make(artefact(name), made, folder, outputs)
    return {(row["quantity"], row["model"]): row for row in read_csv(folder / "tables/headline.csv")}


def test_ours_stand_beside_the_papers_under_its_names(tmp_path):
    rows = table(made_study(), tmp_path)
    ours = {place: (float(row["ours"]) if row["ours"] else None) for place, row in rows.items()}
    assert ours["final_pass_peak", "qwen3-8b"] == 50 and ours["final_pass_peak", "qwen3-32b"] == 50
    assert ours["final_pass_90pct_of_32b_peak", "both"] == 45
    to_line = "flops_to_90pct_of_32b_peak"
    small, large = 20 * A_SECOND * 0.9, 4 * A_SECOND * (20 + 20 * 0.75)  # 0 to 50 there, 30 to 50 here
    assert ours[to_line, "qwen3-8b"] == pytest.approx(small) and ours[to_line, "qwen3-32b"] == pytest.approx(large)
    assert ours["compute_efficiency_ratio", "8b_vs_32b"] == pytest.approx(large / small, abs=1e-4)
    assert ours["memory_per_gpu", "qwen3-8b"] == pytest.approx(50 * 1.073741824, abs=1e-4)
    assert ours["memory_efficiency_ratio", "8b_vs_32b"] == pytest.approx(1.5)
    assert (ours["collapsed_runs_stage3", "qwen3-8b"], ours["collapsed_runs_stage3", "qwen3-32b"]) == (2, 0)
    settings = {"train_queries": 180, "test_queries": 7, "seeds": 2, "world_size": 16}
    assert {quantity: ours[quantity, "both"] for quantity in settings} == settings
    assert ours["max_steps", "qwen3-8b"] == 40 and ours["peak_flops_per_gpu", "h200"] == 9.89e14
    printed = {(row["quantity"], row["model"]): row for row in reference("headline")}
    assert all(rows[place]["paper"] == row["value"] and rows[place]["where"] for place, row in printed.items())
    assert all(row["paper"] == "" for place, row in rows.items() if place not in printed)


def test_intervals_are_there_from_two_seeds_on(tmp_path):
    rows = table(made_study(), tmp_path / "two")
    ratio = rows["compute_efficiency_ratio", "8b_vs_32b"]
    assert ratio["low"] == ratio["high"] == ratio["ours"] and ratio["n"] == "2"  # the seeds are alike
    one = table(made_study(seeds=[0]), tmp_path / "one")
    # memory has one over the runs of both regimes
    assert {quantity for (quantity, _), row in one.items() if row["low"] or row["high"]} == {"memory_per_gpu"}
    assert one["compute_efficiency_ratio", "8b_vs_32b"]["ours"] == ratio["ours"]


def test_gpt5_is_the_studys_where_it_was_asked_and_the_papers_only_in_its_world(tmp_path):
    made_up = table(made_study(), tmp_path / "made_up")
    assert made_up["improvement_over_gpt5", "qwen3-8b"]["ours"] == ""
    assert "another world" in made_up["improvement_over_gpt5", "qwen3-8b"]["note"]
    files = {"sandbox": {"source": "files", "database": "d"}}
    files["queries"] = {"source": "files", "train": "t", "validation": "v", "test": "x"}
    real = table(made_study(**files), tmp_path / "real")["improvement_over_gpt5", "qwen3-32b"]
    assert float(real["ours"]) == pytest.approx(50 / 21.2, abs=1e-4) and "the paper's GPT-5" in real["note"]
    endpoint = {"url": "http://x", "model": "m", "api_key_env": "K"}
    made = made_study(models={"qwen3-8b": {"path": "b"}, "gpt-5": {"endpoint": endpoint}})
    asked = table(made, tmp_path / "asked", [c for c in made.checkpoints if c.model == "gpt-5"])
    assert asked["gpt5_final_pass", "gpt-5"]["ours"] == "25.0"
    assert asked["improvement_over_gpt5", "qwen3-8b"]["ours"] == "2.0"


def test_nothing_is_made_up_where_there_are_no_results(tmp_path):
    made = made_study()
    wanted = artefact("headline")
    rows = headline.rows(made, Results(made, tmp_path, wanted.reads))
    asked = {"peak_flops_per_gpu", "train_queries", "test_queries"}  # as the study's file says
    assert {row["quantity"] for row in rows if row["ours"] is not None} == asked
    assert {row["quantity"] for row in reference("headline")} <= {row["quantity"] for row in rows}


def test_a_line_that_was_reached_without_flops_is_not_called_not_reached(tmp_path):
    made = made_study(seeds=[0])
    table(made, tmp_path)
    (tmp_path / f"runs/{made.run('qwen3-8b', 'stage1', 0).name}/metrics.jsonl").write_text("")
    rows = headline.rows(made, Results(made, tmp_path, artefact("headline").reads))
    row = next(r for r in rows if r["quantity"].startswith("flops_to") and r["model"] == "qwen3-8b")
    assert (row["ours"], row["n"]) == (None, 0)
    names(row["note"], "reached", "FLOPs", "metrics")


def test_markdown_and_latex_show_the_same_numbers(tmp_path):
    table(made_study(), tmp_path)
    markdown = (tmp_path / "tables/headline.md").read_text()
    assert (
        "| flops to 90pct of 32b peak | qwen3-8b | 1.4×10¹⁷ [1.4×10¹⁷, 1.4×10¹⁷] | 2 | 2.1×10²⁰ | FLOPs |" in markdown
    )
    any_names(markdown, "- train queries, all", "test queries, all", "synthetic", "3 cities")
    latex = (tmp_path / "tables/headline.tex").read_text()
    assert r"1.4$\times$10$^{17}$" in latex and "×" not in latex
