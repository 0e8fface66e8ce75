"""verl's supervised trainer on the CPU: an untrained model learns the oracle's episodes, killed in the middle once."""

import json
import subprocess
import sys
import time
from dataclasses import asdict, replace

import pytest
import torch
from transformers import AutoTokenizer, Qwen3ForCausalLM

from helpers.tiny_model import TEMPLATE, make_tiny_study, save_tiny_model
from planner_r1.agent.oracle import plan_for
from planner_r1.errors import InputError
from planner_r1.files import read_lines
from planner_r1.processes import marked
from planner_r1.queries import save_queries
from planner_r1.sandbox.store import Store
from planner_r1.training.fine_tune import FineTuneSpec, fine_tune

pytestmark = pytest.mark.slow

DEADLINE = 900  # seconds; for a process that hangs, not for one that is slow
STEPS, BATCH = 8, 4
# Learns in the background, by a launcher that can be killed.
LAUNCHER = """
import json, sys
from pathlib import Path
from planner_r1.training.fine_tune import FineTuneSpec, fine_tune
s = json.loads(sys.argv[1])
for key in ("model_path", "queries", "store", "work", "out"):
    s[key] = Path(s[key])
s["held_out"] = [Path(path) for path in s["held_out"]]
fine_tune(FineTuneSpec(**s))
"""


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fine_tune")
    study = make_tiny_study(folder)
    store = Store.open(study.store)
    plans = [json.dumps(plan_for(query, store).plan) for query in study.train_queries]
    # a tokenizer that knows the world's names, so that episodes are short
    save_tiny_model(folder / "model", [*(query.query for query in study.train_queries), *plans])
    save_queries(folder / "train.jsonl", study.train_queries)
    save_queries(folder / "validation.jsonl", [*study.validation_queries, study.train_queries[0]])
    return FineTuneSpec(
        name="given",
        model_path=folder / "model",
        trajectories=(),
        queries=folder / "train.jsonl",
        held_out=[folder / "validation.jsonl"],
        template=TEMPLATE,
        store=study.store,
        work=folder / "work",
        out=folder / "out",
        steps=STEPS,
        batch_size=BATCH,
        learning_rate=3e-3,
        seed=0,
        save_every=STEPS // 2,
        overrides={"data.max_prompt_length": 1000, "data.max_response_length": 6000},
    )


@pytest.fixture(scope="module")
def record(spec):
    """The launcher is killed once the step after the first checkpoint is done; then all is started again."""
    settings = json.dumps(asdict(spec), default=str)
    launcher = subprocess.Popen([sys.executable, "-c", LAUNCHER, settings])
    deadline = time.monotonic() + DEADLINE
    while STEPS // 2 + 1 not in logged(spec, "metrics.1.jsonl"):
        assert launcher.poll() is None, "ended before it could be killed"
        assert time.monotonic() < deadline, "does not get on"
        time.sleep(0.05)
    launcher.kill()
    launcher.wait(DEADLINE)
    assert not spec.out.exists()
    said: list[str] = []
    found = fine_tune(spec, said.append)
    return found | {"said": said}


def logged(spec, name):
    path = spec.work / name
    return {r["step"]: r["data"] for r in read_lines(path)} if path.is_file() else {}


def test_it_goes_on_from_the_last_checkpoint_as_if_nothing_had_been(spec, record):
    first, second = logged(spec, "metrics.1.jsonl"), logged(spec, "metrics.2.jsonl")
    half = STEPS // 2
    assert sorted(second) == list(range(half + 1, STEPS + 1))
    assert second[half + 1]["train/loss"] == pytest.approx(first[half + 1]["train/loss"], rel=1e-5)
    assert marked(spec.work) == []


def test_the_loss_falls_and_everything_is_told(spec, record):
    assert record["loss"] < record["first_loss"] - 0.3
    assert record["steps"] == STEPS
    assert record["episodes"]["learnt"] == 15 and record["episodes"]["from"] == "oracle"
    assert record["episodes"]["left_out"] == {"asks what a validation or test query asks": 1}
    assert (
        sum(f"step {step}/{STEPS}, loss" in line for line in record["said"] for step in range(STEPS + 1)) == STEPS // 2
    )


def test_the_model_loads_and_is_another(spec, record):
    model, before = (Qwen3ForCausalLM.from_pretrained(folder) for folder in (spec.out, spec.model_path))
    assert any(not torch.equal(a, b) for a, b in zip(model.parameters(), before.parameters(), strict=True))
    ours, theirs = (AutoTokenizer.from_pretrained(folder) for folder in (spec.out, spec.model_path))
    assert ours.chat_template == theirs.chat_template and ours.get_vocab() == theirs.get_vocab()


def test_a_rerun_trains_nothing_and_other_settings_are_refused(spec, record):
    weights = (spec.out / "model.safetensors").read_bytes()
    (spec.out / "model.safetensors").unlink()
    again = fine_tune(spec, lambda line: None)
    assert again == {key: value for key, value in record.items() if key != "said"}
    assert (spec.out / "model.safetensors").read_bytes() == weights
    assert not (spec.work / "metrics.3.jsonl").exists() and not (spec.work / "checkpoints").exists()
    other = replace(spec, learning_rate=1e-4)
    with pytest.raises(InputError, match=r"was made with other settings \(optim\.lr\)"):
        fine_tune(other, lambda line: None)
    assert (spec.out / "model.safetensors").read_bytes() == weights
