"""verl itself on the CPU, on an untrained model: a run of two phases, the same run killed in the middle, an evaluation.

The untrained model earns nothing, so policy gradients are zero; an entropy bonus makes its weights move all the same.
"""

import json
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from helpers.tiny_model import make_tiny_study, tiny_run
from planner_r1.agent.episodes import END_REASONS, SUB_REWARDS
from planner_r1.files import read_lines
from planner_r1.processes import marked
from planner_r1.training.evaluate import EvaluateSpec, evaluate_checkpoint
from planner_r1.training.launch import train
from planner_r1.training.memory_probe import out_of_memory

DEADLINE = 900  # seconds; for a process that hangs, not for one that is slow
PROMPT, RESPONSE, STEPS = 700, 60, 5
OVERRIDES = {
    "data.train_batch_size": 4,
    "data.max_prompt_length": PROMPT,
    "data.max_response_length": RESPONSE,
    "actor_rollout_ref.rollout.n": 2,
    "actor_rollout_ref.rollout.max_num_seqs": 8,
    "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu": 8,
    "actor_rollout_ref.actor.ppo_mini_batch_size": 4,
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu": 4,
    "actor_rollout_ref.actor.entropy_coeff": 1.0,
    "actor_rollout_ref.actor.optim.lr": 1e-3,
    # The trainer's own log-probabilities are computed too, so that verl reports how far the rollout's are off.
    "algorithm.rollout_correction.bypass_mode": False,
}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return make_tiny_study(tmp_path_factory.mktemp("study"), train=12)


@pytest.fixture(scope="module")
def spec(study, tmp_path_factory):
    def make(name):
        folder = tmp_path_factory.mktemp(name)
        return tiny_run(
            study,
            folder,
            "tiny/curriculum/seed0",
            STEPS,
            phases=[{"weights": "stage1", "steps": 3}, {"weights": "stage3", "steps": 2}],
            save_every=2,
            test_every=4,
            overrides=OVERRIDES,
        )

    return make


@pytest.fixture(scope="module")
def uninterrupted(spec):
    made = spec("uninterrupted")
    train(made)
    return made


@pytest.fixture(scope="module")
def interrupted(spec):
    """The launcher is killed as soon as step 4, the first of the second phase, has begun to be written down: nobody is
    left to clean up. Then the run is started again."""
    made = spec("interrupted")
    launcher = start_launcher(made)
    wait_for(lambda: 4 in logged_steps(made), launcher)
    launcher.kill()
    launcher.wait(DEADLINE)
    assert not (made.out / "MANIFEST.json").exists()
    train(made)
    return made


def start_launcher(made):
    settings = {k: str(v) if isinstance(v, Path) else v for k, v in asdict(made).items()}
    code = (
        "import json, sys\n"
        "from pathlib import Path\n"
        "from planner_r1.training.launch import TrainSpec, train\n"
        "s = json.loads(sys.argv[1])\n"
        "paths = ('train_parquet', 'validation_parquet', 'store', 'work', 'out')\n"
        "train(TrainSpec(**{k: Path(v) if k in paths else v for k, v in s.items()}))\n"
    )
    return subprocess.Popen([sys.executable, "-c", code, json.dumps(settings)])


def wait_for(condition, launcher):
    deadline = time.monotonic() + DEADLINE
    while not condition():
        assert launcher.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < deadline, "the run does not get on"
        time.sleep(0.05)


def logged_steps(made):
    return [r["step"] for p in made.work.glob("metrics.*.jsonl") for r in read_lines(p)]


def metrics(made):
    return {record["step"]: record for record in read_lines(made.out / "metrics.jsonl")}


def manifest(made):
    return json.loads((made.out / "MANIFEST.json").read_text(encoding="utf-8"))


def prompts(made, step):
    return sorted(record["gts"] for record in read_lines(made.work / "rollouts" / f"{step}.jsonl"))


def test_a_run_reaches_its_last_step_through_both_phases(uninterrupted):
    assert manifest(uninterrupted)["final_step"] == STEPS
    assert sorted(metrics(uninterrupted)) == list(range(STEPS + 1))
    assert [s["weights"] for s in manifest(uninterrupted)["segments"]] == [[1.0] * 5, [0.0] * 4 + [1.0]]


def test_every_step_says_how_its_episodes_ended_and_what_they_earned(uninterrupted):
    for step in range(1, STEPS + 1):
        record = metrics(uninterrupted)[step]
        assert sum(record[f"end/{reason}"] for reason in END_REASONS) == pytest.approx(1.0)
        assert record["training/episodes"] == 8
        assert all(f"reward/{name}" in record for name in SUB_REWARDS)
    dumped = list(read_lines(uninterrupted.work / "rollouts" / "1.jsonl"))
    assert len(dumped) == 8
    assert {line["end_reason"] for line in dumped} <= set(END_REASONS)


def test_trainer_and_rollout_agree_after_each_update(uninterrupted):
    moved = weights_of(uninterrupted.out / "checkpoints" / f"step{STEPS}")
    start = weights_of(uninterrupted.model_path)
    assert max((moved[name] - start[name]).abs().max().item() for name in start) > 1e-3
    for step in range(1, STEPS + 1):
        assert metrics(uninterrupted)[step]["training/rollout_probs_diff_max"] <= 1e-4


def weights_of(folder):
    from safetensors.torch import load_file

    return load_file(Path(folder) / "model.safetensors")


@pytest.mark.slow
def test_a_killed_run_ends_like_one_that_was_not(uninterrupted, interrupted):
    assert manifest(interrupted)["final_step"] == STEPS
    assert sorted(metrics(interrupted)) == list(range(STEPS + 1))
    for step in range(1, STEPS + 1):
        assert prompts(interrupted, step) == prompts(uninterrupted, step)
    assert set(manifest(interrupted)["files"]) == set(manifest(uninterrupted)["files"])


@pytest.mark.slow
def test_a_killed_run_continues_from_its_checkpoint(interrupted):
    starts = [segment["first_step"] for segment in segments_of(interrupted)]
    assert starts[:2] == [1, 4]
    assert starts[2] in (4, 5)  # whether all of step 4 was written down when the kill came


def segments_of(made):
    return list(read_lines(made.work / "segments.jsonl"))


def test_nothing_of_a_run_is_left_running(uninterrupted):
    assert marked(uninterrupted.work) == []


@pytest.mark.slow
def test_nothing_of_a_killed_run_is_left_running(interrupted):
    assert marked(interrupted.work) == []


def test_an_export_is_a_model_that_others_load(uninterrupted, study):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = uninterrupted.out / "checkpoints" / f"step{STEPS}"
    model = AutoModelForCausalLM.from_pretrained(folder, dtype="auto")
    assert model.dtype == torch.float32
    assert all(w.dtype == torch.float32 for w in weights_of(folder).values())
    ours, original = AutoTokenizer.from_pretrained(folder), AutoTokenizer.from_pretrained(study.model)
    assert ours.chat_template == original.chat_template
    text = "<tool_call>\n<|im_end|> Plan a trip."
    assert ours.encode(text) == original.encode(text)


def test_an_evaluation_says_what_transformers_would_say(uninterrupted, study, tmp_path):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from planner_r1.sandbox.tools import TOOL_SCHEMAS

    folder = uninterrupted.out / "checkpoints" / f"step{STEPS}"
    out = evaluate_checkpoint(
        EvaluateSpec(
            model="tiny",
            regime="curriculum",
            seed=0,
            step=STEPS,
            split="validation",
            model_path=folder,
            parquet=study.validation,
            store=study.store,
            work=tmp_path / "work",
            out=tmp_path / "trajectories.jsonl",
            overrides=OVERRIDES,
        )
    )
    trajectories = list(read_lines(out))
    assert [t["idx"] for t in trajectories] == [q.idx for q in study.validation_queries]
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder)
    for trajectory, row in zip(trajectories, read_rows(study.validation), strict=True):
        ids = tokenizer.apply_chat_template(
            row["prompt"], tools=TOOL_SCHEMAS, add_generation_prompt=True, return_tensors="pt", return_dict=True
        )["input_ids"]
        with torch.no_grad():
            said = model.generate(ids, max_new_tokens=RESPONSE, do_sample=False)[0, ids.shape[1] :]
        first_turn = tokenizer.decode(said, skip_special_tokens=True)
        opening = tokenizer.decode(ids[0], skip_special_tokens=True)
        assert trajectory["text"].startswith(opening + first_turn)
        assert trajectory["end_reason"] in END_REASONS
        assert trajectory["tokens"]["prompt"] == ids.shape[1]


def read_rows(parquet):
    import pyarrow.parquet as pq

    return pq.read_table(parquet).to_pylist()


def test_a_validation_during_training_is_recorded_by_episode(uninterrupted, study):
    lines = list(read_lines(uninterrupted.out / "validation.jsonl"))
    expected = [(step, q.idx) for step in (0, 3, 4, 5) for q in study.validation_queries]
    assert [(line["step"], line["idx"]) for line in lines] == expected
    assert all(line["text"].startswith("system") for line in lines)


@pytest.mark.slow
def test_a_log_of_a_run_that_went_well_or_was_killed_speaks_of_no_lack_of_memory(uninterrupted, interrupted):
    logs = [log for run in (uninterrupted, interrupted) for log in run.work.glob("verl.*.log")]
    assert len(logs) >= 4
    for log in logs:
        assert out_of_memory(log.read_text(encoding="utf-8", errors="replace")) is None, log
