"""The bill of a study against sums done by hand, from assumptions and from what runs left behind."""

import csv
import io
import json
from pathlib import Path

import pytest

from planner_r1.paper.cost import AMOUNTS, Bill, Source, as_json, total, write_csv
from planner_r1.paper.flops import known_shape, training_flops
from planner_r1.paper.reference import reference
from planner_r1.study import Study

CONFIG = {
    "study": "priced",
    "sandbox": {"source": "files", "database": "nowhere"},
    "queries": {"source": "files", "train": "a.jsonl", "validation": "b.jsonl", "test": "c.jsonl"},
    "models": {"qwen3-8b": {"path": "nowhere"}},
    "regimes": {
        "dense": [{"weights": "stage1", "steps": 100}],
        "two": [{"weights": "stage1", "steps": 30}, {"weights": "stage3", "steps": 70}],
    },
    "seeds": [0, 1],
    "training": {"backend": "gpu", "save_every": 50, "test_every": 50},
    "evaluation": {"splits": ["test"], "overrides": {"trainer.nnodes": 1}},
    "cost": {
        "gpu_hour": 2.0,
        "queries": {"validation": 40, "test": 1000},
        "models": {
            "qwen3-8b": {
                "step_seconds": 60,
                "query_seconds": 0.6,
                "start_seconds": 300,
                "episode_tokens": 10_000,
                "written_tokens": 1_500,
            }
        },
    },
}
# the paper's 16 queries a step, 8 episodes each; 2 nodes of 8 GPUs
EPISODES = 128


def bill(results=Path("no results"), **sections) -> Bill:
    return Bill(Study.from_config(CONFIG | sections), results)


def leave_run(results, name, steps, seconds, tokens, mfu=0.4, update=10.0, written=2_000):
    """What a whole run leaves behind, as far as the bill reads it."""
    folder = results / "priced" / "runs" / name
    folder.mkdir(parents=True)
    trainer = {"device": "cuda", "nnodes": 2, "n_gpus_per_node": 8}
    config = {"trainer": trainer, "actor_rollout_ref": {"actor": {"ppo_epochs": 1}}}
    record = {"final_step": steps, "wall_seconds": seconds, "config": config}
    (folder / "MANIFEST.json").write_text(json.dumps(record))
    step = {"perf/total_num_tokens": tokens, "perf/mfu/actor": mfu, "timing_s/update_actor": update}
    lines = [{"step": 0, "val-core/x": 0.1}, *({"step": i + 1, **step} for i in range(steps))]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "validation.jsonl").write_text(json.dumps({"tokens": {"generated": written}}) + "\n")


def test_a_reference_policy_reads_what_is_trained_on(tmp_path):
    """Forward alone: 2 FLOPs a token and matrix entry where an update takes 6, and as much less of the attention."""
    phases = [{"weights": "stage1", "steps": 100}]
    names = ("grpo", "rloo", "reinforce_plus_plus_baseline", "planpo", "gspo")
    regimes = {name: {"phases": phases, "algorithm": name} for name in names}
    own = {"actor_rollout_ref.actor.use_kl_loss": True, "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu": 1}
    regimes["own"] = {"phases": phases, "overrides": own}
    leave_run(tmp_path, "qwen3-8b/own/seed0", 100, 9_000, EPISODES * 10_000)
    rows = {row.what: row for row in bill(tmp_path, regimes=regimes).rows()}
    update = 100 * training_flops(known_shape("qwen3-8b"), [10_000] * EPISODES)
    assert rows["grpo"].flops.value == rows["gspo"].flops.value
    updates = rows["grpo"].flops.value  # extrapolated from the run that is there, of its updates alone
    for name in ("rloo", "reinforce_plus_plus_baseline", "planpo", "own"):
        assert rows[name].flops.value == pytest.approx(updates + 2 * update / 3), name
    assert rows["own"].flops.source is Source.extrapolated and rows["own"].disk == rows["grpo"].disk


def test_everything_is_assumed_before_anything_has_run():
    dense, two, evaluation = bill().rows()
    assert (dense.model, dense.what, dense.jobs, dense.steps) == ("qwen3-8b", "dense", 2, 200)
    # a run: one start, 100 steps, validations at 0, 50 and 100 of 40 queries, twice as fast as on 8 GPUs
    seconds = 300 + 100 * 60 + 3 * 40 * 0.6 / 2
    assert dense.hours.value == pytest.approx(2 * seconds / 3600)
    assert dense.gpu_hours.value == pytest.approx(2 * seconds / 3600 * 16)
    assert dense.node_hours.value == pytest.approx(2 * seconds / 3600 * 2)
    assert dense.price.value == pytest.approx(2 * seconds / 3600 * 16 * 2.0)
    assert dense.generated_tokens.value == 2 * (100 * EPISODES + 3 * 40) * 1_500
    assert dense.trained_tokens.value == 2 * 100 * EPISODES * 10_000
    shape = known_shape("qwen3-8b")
    assert dense.flops.value == pytest.approx(2 * 100 * training_flops(shape, [10_000] * EPISODES))
    # weights and two moments in 32 bits, the weights once more for others; the export shares those
    assert dense.disk.value == 2 * shape.parameters * 16
    assert all(getattr(dense, name).source is Source.assumed for name in AMOUNTS)
    # two starts, and a validation more, where the first phase ends
    assert two.hours.value == pytest.approx(2 * (600 + 100 * 60 + 4 * 40 * 0.3) / 3600)
    # the base model and four runs, 1,000 queries each, on one node
    assert (evaluation.jobs, evaluation.hours.value) == (5, pytest.approx(5 * (300 + 1000 * 0.6) / 3600))
    assert evaluation.gpu_hours.value == pytest.approx(8 * evaluation.node_hours.value)
    assert evaluation.generated_tokens.value == 5 * 1000 * 1_500


def test_whole_runs_say_what_they_took_and_stand_for_those_to_come(tmp_path):
    leave_run(tmp_path, "qwen3-8b/dense/seed0", steps=100, seconds=9_000, tokens=1_000_000)
    dense, two, evaluation = bill(tmp_path).rows()
    # seed 0 measured, seed 1 as long
    assert dense.hours.value == pytest.approx(5.0) and dense.hours.source is Source.extrapolated
    # the other regime by the pace of the model's runs
    assert two.hours.value == pytest.approx(5.0) and two.hours.source is Source.extrapolated
    assert dense.trained_tokens.value == 200 * 1_000_000
    assert dense.flops.value == pytest.approx(200 * 0.4 * 9.89e14 * 16 * 10)
    assert dense.generated_tokens.value == 2 * (100 * EPISODES + 120) * 2_000
    assert evaluation.hours.source is Source.assumed
    leave_run(tmp_path, "qwen3-8b/dense/seed1", steps=100, seconds=18_000, tokens=3_000_000)
    dense, two, _ = bill(tmp_path).rows()
    assert dense.hours.value == pytest.approx(7.5) and dense.hours.source is Source.measured
    assert dense.trained_tokens.value == 400_000_000 and dense.flops.source is Source.measured
    assert two.hours.value == pytest.approx(7.5) and two.hours.source is Source.extrapolated


def test_a_run_without_manifest_is_not_whole(tmp_path):
    leave_run(tmp_path, "qwen3-8b/dense/seed0", steps=100, seconds=9_000, tokens=1)
    (tmp_path / "priced/runs/qwen3-8b/dense/seed0/MANIFEST.json").unlink()
    assert [row.hours for row in bill(tmp_path).rows()] == [row.hours for row in bill().rows()]


def test_evaluations_are_measured_by_their_benchmark(tmp_path):
    folder = tmp_path / "priced/benchmarks/evaluate_checkpoint/qwen3-8b/base/seed0/step0"
    folder.mkdir(parents=True)
    (folder / "test.tsv").write_text("s\th:m:s\n1800.0\t0:30:00\n")
    *_, evaluation = bill(tmp_path).rows()
    assert evaluation.hours.value == pytest.approx(5 * 0.5) and evaluation.hours.source is Source.extrapolated


def test_a_fine_tuning_is_assumed_by_its_episodes_and_measured_by_its_benchmark(tmp_path):
    models = {"qwen3-8b": {"path": "nowhere", "fine_tune": {"steps": 20, "batch_size": 64}}}
    queries = CONFIG["queries"] | {"train": None, "source": "synthetic", "sizes": {"train": 640}}
    row, *_ = bill(models=models, queries=queries).rows()
    assert (row.model, row.what, row.jobs, row.steps) == ("qwen3-8b", "fine-tuning", 1, 20)
    # ten of the paper's batches in episodes, on one node where those had two
    seconds = 300 + 20 * 64 / EPISODES * 2 * 60
    assert row.hours.value == pytest.approx(seconds / 3600) and row.hours.source is Source.assumed
    assert row.gpu_hours.value == pytest.approx(8 * seconds / 3600)
    assert row.trained_tokens.value == 20 * 64 * 10_000
    shape = known_shape("qwen3-8b")
    assert row.flops.value == pytest.approx(training_flops(shape, [10_000] * 20 * 64))
    assert row.disk.value == 4 * shape.parameters  # of the weights in 32 bits
    folder = tmp_path / "priced/benchmarks/fine_tune"
    folder.mkdir(parents=True)
    (folder / "qwen3-8b.tsv").write_text("s\th:m:s\n1800.0\t0:30:00\n")
    row, *_ = bill(tmp_path, models=models, queries=queries).rows()
    assert (row.hours.value, row.hours.source) == (pytest.approx(0.5), Source.measured)


def test_the_suites_run_on_the_gpus_of_their_server(tmp_path):
    assumed = {**CONFIG["cost"], "models": {"qwen3-8b": {"suites_seconds": 3300, "start_seconds": 300}}}
    suites = {"natural_plan": {"source": "synthetic"}}
    *_, row = bill(suites=suites, cost=assumed).rows()
    # the base model and four runs, an hour each, on four GPUs of a node
    assert (row.what, row.jobs, row.hours.source) == ("suites", 5, Source.assumed)
    assert (row.hours.value, row.gpu_hours.value, row.node_hours.value) == pytest.approx((5, 20, 5))
    folder = tmp_path / "priced/benchmarks/ood_answers/qwen3-8b/base/seed0"
    folder.mkdir(parents=True)
    (folder / "step0.tsv").write_text("s\th:m:s\n1800.0\t0:30:00\n")
    *_, row = bill(tmp_path, suites=suites, cost=assumed).rows()
    assert (row.hours.value, row.hours.source) == (pytest.approx(2.5), Source.extrapolated)


def test_probes_are_a_few_steps_each():
    memory = {"shares": [0.6, 0.9], "steps": 3}
    (row,) = bill(regimes={}, memory=memory, evaluation={"splits": ["validation"]}).rows()
    assert (row.what, row.jobs, row.steps) == ("memory probes", 2, 6)
    assert row.hours.value == pytest.approx(2 * (300 + 3 * 60) / 3600)
    assert row.gpu_hours.value == pytest.approx(16 * row.hours.value)
    assert row.trained_tokens.value == 6 * EPISODES * 10_000
    assert row.flops.value == pytest.approx(6 * training_flops(known_shape("qwen3-8b"), [10_000] * EPISODES))
    assert row.disk.value == 0


def test_what_nothing_tells_stays_unknown():
    rows = bill(cost={}).rows()
    assert all(row.hours.value is None and row.price.value is None for row in rows)
    assert total(rows).hours.value is None
    assert total(rows).disk.value == 4 * known_shape("qwen3-8b").parameters * 16  # follows from the model's sizes


def test_json_and_csv_give_every_number_its_source():
    rows = bill().rows()
    rows.append(total(rows))
    assert total(rows[:-1]).gpu_hours.value == pytest.approx(sum(row.gpu_hours.value for row in rows[:-1]))
    plain = json.loads(json.dumps(as_json(rows)))
    assert plain[0]["hours"] == {"value": rows[0].hours.value, "source": "assumed"}
    file = io.StringIO()
    write_csv(rows, file)
    table = list(csv.DictReader(io.StringIO(file.getvalue())))
    assert [line["what"] for line in table] == ["dense", "two", "evaluation", "total"]
    assert float(table[0]["flops"]) == rows[0].flops.value and table[0]["flops_source"] == "assumed"


def test_a_run_needs_room_for_the_checkpoint_being_written():
    # two are kept while the third is written: shards of 12 bytes a weight, and the last one exported, of 4
    assert bill().peak_disk() == {"qwen3-8b": (3 * 12 + 4) * known_shape("qwen3-8b").parameters}


@pytest.mark.parametrize("model", ["qwen3-8b", "qwen3-32b"])
def test_the_papers_assumptions_fit_the_papers_flops(model):
    """90% of the peak is reached within the longest runs, and an update takes no longer than the step it is part of."""
    assumed = Study.load("config/paper.yaml").config["cost"]["models"][model]
    rows = reference("headline")
    printed = {
        row["quantity"]: float(row["value"]) for row in rows if row["model"] == model and row["unit"] != "percent"
    }
    step = training_flops(known_shape(model), [assumed["episode_tokens"]] * EPISODES)
    needed = printed["flops_to_90pct_of_32b_peak"]
    assert 0.5 * printed["max_steps"] < needed / step < printed["max_steps"]
    update = step / (0.35 * 9.89e14 * 16)
    assert 4 / 3 * update < assumed["step_seconds"] < 4 * update
