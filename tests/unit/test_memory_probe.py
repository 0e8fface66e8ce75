"""Probes: what a log says about memory, what is written, what stays on the disk. verl is stood in for by a function."""

import json
import stat

import pytest

from planner_r1.training import launch, memory_probe
from planner_r1.training.launch import TrainSpec
from planner_r1.training.memory_probe import DevicePeak, out_of_memory, probe
from planner_r1.training.process import TrainingError

# As PyTorch and sglang 0.5.14 word them, with what Ray puts before a worker's lines.
GPU = (
    "(WorkerDict pid=71) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.27 GiB. GPU 0 has a total "
    "capacity of 139.81 GiB of which 4.06 GiB is free."
)
CACHE = (
    "(SGLangHttpServer pid=72) RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current "
    "value: mem_fraction_static=0.1"
)
DECODE = "(SGLangHttpServer pid=72) Decode out of memory. Try to lower your batch size."
# Seen from Ray 2.60 with a memory threshold of 1%.
HOST = (
    "ray.exceptions.OutOfMemoryError: 1 worker(s) were killed due to the node running low on memory. Memory on "
    "the node was 3.22GB used / 23.54GB limit (0.136831)\n"
    "OOM kill reason: Memory usage 3442393088B exceeded threshold of 252765008B (1.0% of 25276502016B limit)"
)
# What Ray says of every worker that is lost, whatever the cause.
LOST = (
    "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task. Some common causes "
    "include: (1) the process was killed by the OOM killer due to high memory usage, (2) ray stop --force was called, "
    "or (3) the worker crashed unexpectedly due to SIGSEGV or another unexpected error."
)
OTHER = "ValueError: max_model_len (50000) should be less than or equal to max_position_embeddings (40960)"


@pytest.mark.parametrize(
    ("text", "kind"),
    [(GPU, "GPU"), (CACHE, "KV cache"), (DECODE, "KV cache"), (HOST, "host"), (LOST, None), (OTHER, None)],
)
def test_a_log_tells_which_memory_ran_out(text, kind):
    found = out_of_memory(f"a line\n{text}\nanother")
    assert (found and found.kind) == kind
    if found:
        assert found.evidence in text


def test_the_first_that_ran_out_counts_and_what_follows_does_not():
    assert out_of_memory(f"{CACHE}\n{GPU}\n{HOST}").kind == "KV cache"


def test_pytorchs_own_words_for_a_lack_of_host_memory_are_known():
    torch = pytest.importorskip("torch")
    with pytest.raises(RuntimeError) as refused:
        torch.empty(1 << 60)
    assert out_of_memory(str(refused.value)).kind == "host"


# ---- a probe ---------------------------------------------------------------------------------------------------


@pytest.fixture
def spec(tmp_path):
    files = {name: tmp_path / f"{name}.parquet" for name in ("train", "validation")}
    work = tmp_path / "work"
    return TrainSpec(
        name="a/memory/share0.6",
        model_path="some/model",
        train_parquet=files["train"],
        validation_parquet=files["validation"],
        store=tmp_path,
        phases=[{"weights": "stage1", "steps": 2}],
        seed=0,
        work=work,
        out=work / "outputs",
        save_every=2,
        test_every=2,
    )


@pytest.fixture
def training(monkeypatch, tmp_path):
    """Stands for a run: logs `steps` steps, writes a log and weights, and fails with `failure` if there is one."""
    monkeypatch.setattr(memory_probe.manifest, "git_commit", lambda: "a commit")

    def install(steps, failure=None):
        def run(spec, report):
            for folder in (spec.work / "checkpoints" / "global_step_2", spec.out / "checkpoints" / "step2"):
                folder.mkdir(parents=True, exist_ok=True)
                (folder / "model.safetensors").write_bytes(b"weights")
            lines = [{"step": step, "data": {"timing_s/step": float(step)}} for step in range(steps + 1)]
            text = "".join(json.dumps(line) + "\n" for line in lines)
            (spec.work / "metrics.1.jsonl").write_text(text, encoding="utf-8")
            launch.log_path(spec.work, 1).write_text(f"a line\n{failure or ''}\n", encoding="utf-8")
            if failure:
                raise TrainingError("verl ended with status 1")

        monkeypatch.setattr(memory_probe, "train", run)

    return install


def test_a_probe_that_ran_leaves_its_metrics_and_its_log(spec, training, tmp_path):
    training(2)
    result = probe(spec, tmp_path / "results" / "share0.6.json", {"model": "a", "share": 0.6}, report=str)
    record = json.loads(result.read_text(encoding="utf-8"))
    assert (record["model"], record["share"], record["outcome"], record["kind"]) == ("a", 0.6, "ran", None)
    assert [step["step"] for step in record["steps"]] == [1, 2]
    assert record["steps"][1]["timing_s/step"] == 2.0
    assert [p.name for p in spec.work.iterdir()] == ["verl.1.log"]


def test_a_lack_of_memory_is_a_result_with_the_steps_before_it(spec, training, tmp_path):
    training(1, failure=GPU)
    record = json.loads(probe(spec, tmp_path / "result.json", {}, report=str).read_text(encoding="utf-8"))
    assert (record["outcome"], record["kind"], record["evidence"]) == ("out of memory", "GPU", GPU)
    assert len(record["steps"]) == 1 and record["asked_steps"] == 2
    assert [p.name for p in spec.work.iterdir()] == ["verl.1.log"]


def test_any_other_failure_is_an_error_and_keeps_everything(spec, training, tmp_path):
    training(1, failure=LOST)
    with pytest.raises(TrainingError, match="status 1"):
        probe(spec, tmp_path / "result.json", {}, report=str)
    assert not (tmp_path / "result.json").exists()
    assert (spec.work / "checkpoints" / "global_step_2" / "model.safetensors").is_file()


# ---- the GPUs --------------------------------------------------------------------------------------------------


def fake_smi(folder, monkeypatch, script):
    folder.mkdir()
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


def test_the_peak_is_the_largest_of_the_gpus(tmp_path, monkeypatch):
    fake_smi(tmp_path / "bin", monkeypatch, "printf '1024\\n61440\\n'")
    with DevicePeak() as device:
        pass  # the first reading comes at once
    assert device.peak_gib == 60.0


@pytest.mark.parametrize("script", ["exit 9", "echo '[N/A]'"])
def test_a_machine_without_a_reading_has_no_peak(tmp_path, monkeypatch, script):
    fake_smi(tmp_path / "bin", monkeypatch, script)
    with DevicePeak() as device:
        pass
    assert device.peak_gib is None
