"""FLOPs, peaks, crossings and collapse: closed forms, a resumed run, and what is said where a number cannot be had."""

import json

import numpy as np
import pytest

from helpers.made_up_results import write_results
from helpers.made_up_study import study, validations
from helpers.messages import names
from planner_r1.files import write_lines
from planner_r1.paper import compute, curves
from planner_r1.paper.compute import Course, Spent, bootstrap, collapsed, crossing, cumulative_flops, line
from planner_r1.paper.flops import Shape, reckoned_flops, step_flops, training_flops
from planner_r1.paper.results import Results
from planner_r1.training.launch import logged_metrics

READS = ("validations", "metrics", "manifests", "models")
SHAPE = {
    **{"hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2},
    **{"num_key_value_heads": 1, "head_dim": 4, "vocab_size": 10, "tie_word_embeddings": True},
}


def step(number: int, **changes) -> dict:
    made = {"step": number, "perf/mfu/actor": 0.4, "timing_s/update_actor": 10.0, "perf/total_num_tokens": 640}
    return {key: value for key, value in (made | changes).items() if value is not None}


def run_folder(folder, made, lines, *, device="cuda", epochs=1, shape=None):
    """A run's metrics and manifest (two nodes of eight), and the configuration of its model."""
    run = made.runs[0]
    out = folder / "runs" / run.name
    out.mkdir(parents=True, exist_ok=True)
    write_lines(out / "metrics.jsonl", lines)
    trainer = {"device": device, "nnodes": 2, "n_gpus_per_node": 8}
    actor = {"actor": {"ppo_epochs": epochs}, "rollout": {"n": 8}}
    config = {"trainer": trainer, "actor_rollout_ref": actor, "data": {"train_batch_size": 4}}
    (out / "MANIFEST.json").write_text(json.dumps({"config": config, "final_step": lines[-1]["step"]}))
    if shape:
        place = folder / "models" / run.model
        place.mkdir(parents=True)
        (place / "config.json").write_text(json.dumps(shape))
    return cumulative_flops(made, Results(made, folder, READS), run)


# ---- FLOPs ---------------------------------------------------------------------------------------------------------


def test_cumulative_flops_are_the_papers_sum(tmp_path):
    """40% of 989 TFLOP/s on 16 GPUs for 10 s are 6.3296e16, half of it where two epochs were made."""
    spent = run_folder(tmp_path, study(), [{"step": 0}, step(1), step(2, **{"timing_s/update_actor": 5.0})])
    assert spent.source == "measured" and spent.after[0] == 0
    assert spent.after[1] == pytest.approx(6.3296e16) and spent.after[2] == pytest.approx(1.5 * 6.3296e16)
    twice = run_folder(tmp_path, study(), [step(1)], epochs=2)
    assert twice.after[1] == pytest.approx(6.3296e16 / 2)


def test_a_step_that_was_done_again_after_a_resume_counts_once(tmp_path):
    """Steps 2 and 3 were lost with the first segment; what the run's metrics hold of them is the second's."""
    work = tmp_path / "work"
    work.mkdir()
    first, again = [step(1), step(2), step(3)], [step(2, **{"timing_s/update_actor": 20.0}), step(3), step(4)]
    for number, segment in enumerate((first, again), start=1):
        write_lines(work / f"metrics.{number}.jsonl", [{"step": m["step"], "data": m} for m in segment])
    lines = [{"step": number, **data} for number, data in sorted(logged_metrics(work).items())]
    spent = run_folder(tmp_path, study(), lines)
    assert spent.after[4] == pytest.approx(6.3296e16 * (1 + 2 + 1 + 1)) and sorted(spent.after) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("mfu", [None, 0.0, float("nan"), float("inf")])
def test_where_an_mfu_says_nothing_the_whole_run_is_reckoned_or_left_out(tmp_path, mfu):
    """32 episodes of 20 tokens each; of a model of unknown size nothing is made up."""
    lines = [step(1), step(2, **{"perf/mfu/actor": mfu})]
    unknown = run_folder(tmp_path / "unknown", study(), lines)
    assert (unknown.after, unknown.source) == ({}, None)
    names(unknown.why, "MFU", "step 2", "size")
    spent = run_folder(tmp_path / "known", study(), lines, shape=SHAPE)
    one = training_flops(Shape.from_config(SHAPE), [20.0] * 32)
    assert spent.source == "reckoned" and spent.after[2] == pytest.approx(2 * one)
    assert step_flops(lines[1], 1e12, 1) is None


def test_on_processors_flops_are_reckoned(tmp_path):
    """There verl's MFU is over a nominal peak: with the paper's it would be thousands of times too much."""
    spent = run_folder(tmp_path, study(), [step(1)], device="cpu", shape=SHAPE)
    assert spent.source == "reckoned" and spent.after[1] == reckoned_flops(Shape.from_config(SHAPE), 640, 32)


@pytest.mark.parametrize("tokens", [None, 0, float("nan")])
def test_without_tokens_nothing_is_reckoned(tmp_path, tokens):
    lines = [step(1), step(2, **{"perf/total_num_tokens": tokens})]
    spent = run_folder(tmp_path, study(), lines, device="cpu", shape=SHAPE)
    assert spent == Spent(why=spent.why)
    names(spent.why, "GPU", "tokens", "step 2")


def test_metrics_without_a_step_say_nothing(tmp_path):
    spent = run_folder(tmp_path, study(), [{"step": 0}], shape=SHAPE)
    assert spent == Spent(why=spent.why)
    names(spent.why, "no step", "metrics")


def test_what_lacks_is_named(tmp_path):
    spent, made = run_folder(tmp_path, study(), [step(1), step(3)]), study()
    assert spent == Spent(why=spent.why)
    names(spent.why, "metrics", "step 2")
    spent = cumulative_flops(made, Results(made, tmp_path, READS), made.runs[1])
    assert spent == Spent(why=spent.why)
    names(spent.why, "no metrics")


# ---- peaks and crossings -------------------------------------------------------------------------------------------


def test_a_crossing_is_linear_in_flops_between_two_validations():
    flops, passes = np.array([0.0, 10.0, 30.0, 40.0]), np.array([0.0, 20.0, 40.0, 10.0])
    assert crossing(flops, passes, 20.0) == 10
    assert crossing(flops, passes, 30.0) == pytest.approx(20)
    assert crossing(flops, passes, 41.0) is None
    assert crossing(flops, passes + 50, 30.0) == 0  # above it before training


def course(passes, flops, steps=None):
    passes, flops = np.array(passes, float), np.array(flops, float)
    steps = steps or tuple(range(passes.shape[1]))
    return Course(tuple(range(len(passes))), steps, passes, flops, (Spent(source="measured"),) * len(passes))


def test_peak_and_line_are_of_the_raw_mean_curve():
    made = course([[0, 40, 20], [0, 60, 20]], [[0, 1, 2], [0, 3, 4]])
    assert (made.peak(), made.peak_step, line(made)) == (50, 1, 45)
    assert made.reaches(25) == pytest.approx(1)  # mean FLOPs 2 at step 1, half of its way
    assert line(course([[0, 0]], [[0, 1]])) is None and line(None) is None
    nothing = course(np.empty((0, 0)), np.empty((0, 0)))
    assert (nothing.peak(), nothing.peak_step, nothing.reaches(10.0)) == (None, None, None)


def test_only_steps_at_which_all_seeds_were_validated_count():
    """The one seed at step 2 is at 80; both together peak at 50. A seed that was never validated changes nothing."""
    passes, flops = [[0, 40, np.nan, 10], [0, 60, 80, 30], [np.nan] * 4], [[0, 2, 3, 4]] * 2 + [[np.nan] * 4]
    made = course(passes, flops)
    assert (made.peak(), made.peak_step, made.complete.tolist()) == (50, 1, [True, True, False, True])
    assert made.peak([0]) == 40 and made.peak([1]) == 60  # the same steps, whichever seeds are drawn
    assert [values.tolist() for values in made.by_flops()] == [[0, 2, 4], [0, 50, 20]]
    assert made.reaches(60) is None and made.passes_reach(50) and not made.passes_reach(60)
    never = course([[10, np.nan], [np.nan, 20]], [[0, 1]] * 2)
    assert (never.peak(), never.peak_step, line(never)) == (None, None, None)


def test_along_flops_the_seeds_that_have_them_count():
    made = course([[0, 40, 60], [0, 60, 80]], [[0, 2, 3], [np.nan] * 3])
    assert [values.tolist() for values in made.by_flops()] == [[0, 2, 3], [0, 40, 60]]
    assert made.peak() == 70
    assert bootstrap(made, made, 100)[1].low is None  # the other seed alone has none


def test_the_bootstrap_is_over_seeds_of_either_model():
    """Of two equal seeds nothing varies; of seeds that differ the interval spans what draws of them give."""
    larger = course([[0, 50, 100]] * 2, [[0, 10, 20]] * 2)
    smaller = course([[0, 50, 100]] * 2, [[0, 1, 2]] * 2)
    for found, value in zip(bootstrap(larger, smaller, 200), (90, 1.8, 10), strict=True):
        assert (found.low, found.high) == (pytest.approx(value), pytest.approx(value))
    varied = course([[0, 50, 100], [0, 50, 100]], [[0, 1, 2], [0, 3, 6]])
    _, spent, ratio = bootstrap(larger, varied, 400)
    assert (spent.low, spent.high) == (pytest.approx(1.8), pytest.approx(5.4))
    assert (ratio.low, ratio.high) == (pytest.approx(18 / 5.4), pytest.approx(10))
    assert bootstrap(larger, course([[0, 100]], [[0, 1]])) is None


def test_what_does_not_reach_the_line_counts_as_infinite():
    larger = course([[0, 100]] * 2, [[0, 10]] * 2)
    half = course([[0, 100], [0, 20]], [[0, 1], [0, 1]])  # reaches 90 only where the first alone is drawn
    _, spent, ratio = bootstrap(larger, half, 400)
    assert spent.low == pytest.approx(0.9) and spent.high is None
    assert ratio.low == 0 and ratio.high == pytest.approx(10)


# ---- which models, and collapse ------------------------------------------------------------------------------------


def test_the_larger_model_is_the_one_with_more_weights(tmp_path):
    """By size and not by order or name: the study names the 32B first, and a tiny one after a larger one's name."""
    models = {"qwen3-32b": {"path": "a"}, "qwen3-8b": {"path": "b"}}
    made = study(models=models)
    assert compute.larger_model(made, Results(made, tmp_path, READS)) == "qwen3-32b"
    made = study()
    results = Results(made, tmp_path, READS)
    assert compute.larger_model(made, results) is None  # the tiny one's size is not known
    manifest = tmp_path / "models/tiny/MANIFEST.json"
    manifest.parent.mkdir(parents=True)
    manifest.write_text('{"parameters": 600000}')
    assert compute.larger_model(made, results) == "qwen3-8b"
    alone = study(models={"tiny": {"warm_start": {}}})
    assert compute.larger_model(alone, Results(alone, tmp_path / "none", READS)) == "tiny"


def test_the_compared_regime_is_stage_1_or_else_the_first():
    assert compute.compared_regime(study()) == "stage1"
    assert compute.compared_regime(study(regimes={"dense": [{"weights": "stage1", "steps": 9}]})) == "dense"


@pytest.mark.parametrize(
    ("passes", "expected"),
    [
        ({0: 0.4, 200: 0.5, 400: 0.0, 450: 0.0, 500: 0.0}, True),
        ({0: 0.0, 100: 0.0, 500: 0.0}, True),  # never learnt: the paper counts its 8B under stage 3
        ({0: 0.4, 400: 0.3, 450: 0.3, 500: 0.0}, False),  # one bad validation
        ({0: 0.0}, None),
        ({}, None),
    ],
)
def test_a_run_collapsed_where_nothing_passes_at_its_end(passes, expected):
    assert collapsed(validations(study().runs[0], passes)) is expected


def test_the_runs_of_a_made_up_study_that_collapse_are_found(tmp_path):
    made = study(
        models={"qwen3-8b": {"path": "b"}},
        seeds=[0, 1],
        regimes={name: [{"weights": name, "steps": 100}] for name in ("stage1", "stage3")},
        training={"backend": "cpu", "save_every": 20, "test_every": 20},
    )
    write_results(made, tmp_path, queries=20, test_queries=10, episode_steps=0)
    runs = curves.validations(made, Results(made, tmp_path, READS))
    assert {run.regime for run, episodes in runs if collapsed(episodes)} == {"stage3"}
