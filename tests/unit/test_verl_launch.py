"""Runs on disk: phases, interruptions at every point, other settings, outputs.

verl itself is stood in for by a function that leaves the files verl leaves, in its order, and can be stopped between
any two of them."""

import contextlib
import copy
import json
import os
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from omegaconf import OmegaConf

from helpers.messages import refused
from planner_r1.agent.episodes import SUB_REWARDS
from planner_r1.errors import InputError
from planner_r1.files import read_lines
from planner_r1.training import checkpoints, launch, manifest
from planner_r1.training.config import compose_config, load_config
from planner_r1.training.launch import TrainSpec, train
from planner_r1.training.process import TrainingError

VALIDATION_ROWS = 2
WEIGHTS, OPTIMISER = 100_000, 300_000  # bytes of a checkpoint's two parts


class Killed(Exception):
    """Stands for a kill of the process."""


class FakeVerl:
    """What verl does to the disk in one call. `stop_at` counts the things it writes, over all calls."""

    def __init__(self, stop_at=None, last_step=None):
        self.stop_at, self.last_step, self.written, self.configs = stop_at, last_step, 0, []

    def __call__(self, config_path, *, work, log, backend, store, metrics, while_running, environment):
        config = load_config(config_path)
        self.configs.append(config)
        log.write_text("a line of the log\n", encoding="utf-8")
        self.root = Path(config.trainer.default_local_dir)
        latest = self.root / checkpoints.LATEST
        start = int(latest.read_text(encoding="utf-8")) if latest.is_file() else 0
        if start:
            assert checkpoints.is_complete(checkpoints.folder(self.root, start))
        self.metrics = metrics
        if config.trainer.val_before_train:
            assert start == 0
            self.validate(config, 0)
            self.log(0, {"val-core/travel/reward/mean@1": 0.0})
        for step in range(start + 1, min(config.trainer.total_training_steps, self.last_step or 10**9) + 1):
            self.step(config, step, step == config.trainer.total_training_steps)
            while_running()

    def step(self, config, step, last):
        data = {"critic/score/mean": float(step), "reward/pass": 0.0, "timing_s/step": 1.0}
        if last or step % config.trainer.save_freq == 0:
            self.save(config, step)
        if last or step % config.trainer.test_freq == 0:
            self.validate(config, step)
            data["val-core/travel/reward/mean@1"] = float(step)
        self.dump(Path(config.trainer.rollout_data_dir) / f"{step}.jsonl", 1)
        self.log(step, data)

    def save(self, config, step):
        folder = checkpoints.folder(self.root, step)
        (folder / "actor" / "huggingface").mkdir(parents=True, exist_ok=True)
        (folder / "data.pt").write_text(str(step), encoding="utf-8")
        (folder / "actor" / "optim.pt").write_bytes(bytes(OPTIMISER))
        self.tick()
        model = folder / "actor" / "huggingface"
        (model / "config.json").write_text(json.dumps({"step": step}), encoding="utf-8")
        (model / "model.safetensors").write_bytes(step.to_bytes(2, "big") + bytes(WEIGHTS - 2))
        (self.root / checkpoints.LATEST).write_text(str(step), encoding="utf-8")
        self.tick()
        if step in config.planner_r1.export_steps:
            checkpoints.export(folder, Path(config.planner_r1.export_dir) / f"step{step}")
        checkpoints.mark_complete(folder)
        checkpoints.prune(self.root)
        self.tick()

    def validate(self, config, step):
        self.dump(Path(config.trainer.validation_data_dir) / f"{step}.jsonl", VALIDATION_ROWS)

    def dump(self, path, rows):
        path.parent.mkdir(exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            for idx in range(rows):
                file.write(json.dumps(episode_line(idx + 1)))
                file.flush()
                self.tick()
                file.write("\n")
        self.tick()

    def log(self, step, data):
        with open(self.metrics, "a", encoding="utf-8") as file:
            file.write(json.dumps({"step": step, "data": data}) + "\n")
        self.tick()

    def tick(self):
        self.written += 1
        if self.written == self.stop_at:
            raise Killed


def episode_line(idx):
    record = {
        **{"idx": idx, "split": "validation", "scored": True, "end_reason": "answer", "answer": "no plan", "turns": 1},
        **{"tool_calls": [], "tokens": {"prompt": 1, "response": 1, "generated": 1}},
    }
    scores = dict.fromkeys(SUB_REWARDS, 0.0)
    return {"input": "q", "output": "a", "score": 0.0, "end_reason": "answer", "episode": json.dumps(record), **scores}


@pytest.fixture
def composed_once(monkeypatch):
    """verl's configuration composed once and then only given a run's values: most of the time of these tests."""
    known = {}

    def compose(backend, overrides, run, algorithm):
        key = (backend, json.dumps([overrides, algorithm], sort_keys=True))
        if key not in known:
            known[key] = compose_config(backend, overrides, {}, algorithm)
        config = copy.deepcopy(known[key])
        for name, value in run.items():
            OmegaConf.update(config, name, value, force_add=True)
        return config

    monkeypatch.setattr(launch, "compose_config", compose)


@pytest.fixture
def make_spec(tmp_path, monkeypatch, composed_once):
    monkeypatch.setattr(checkpoints, "weights_dtype", lambda model: "float32")
    monkeypatch.setattr(manifest, "git_commit", lambda: "a commit")
    for name, rows in (("train", 64), ("validation", VALIDATION_ROWS)):
        pq.write_table(pa.table({"x": list(range(rows))}), tmp_path / f"{name}.parquet")
    (tmp_path / "store").mkdir()

    def make(**changes):
        settings = {
            "name": "tiny/curriculum/seed0",
            "model_path": "some/model",
            "train_parquet": tmp_path / "train.parquet",
            "validation_parquet": tmp_path / "validation.parquet",
            "store": tmp_path / "store",
            "phases": [{"weights": "stage1", "steps": 3}, {"weights": "stage3", "steps": 4}],
            "seed": 0,
            "work": tmp_path / "work",
            "out": tmp_path / "out",
            "save_every": 2,
            "test_every": 2,
        }
        return TrainSpec(**settings | changes)

    return make


@pytest.fixture
def verl(monkeypatch):
    def install(fake=None, **settings):
        fake = fake or FakeVerl(**settings)
        monkeypatch.setattr(launch, "run_verl", fake)
        return fake

    return install


def outputs(spec):
    record = json.loads((spec.out / "MANIFEST.json").read_text(encoding="utf-8"))
    metrics = list(read_lines(spec.out / "metrics.jsonl"))
    validation = list(read_lines(spec.out / "validation.jsonl"))
    return record, metrics, validation


def test_phases_continue_one_run_with_other_weights(make_spec, verl):
    spec, fake = make_spec(), verl()
    train(spec, report=lambda line: None)
    weights = [list(c.reward.custom_reward_function.reward_kwargs.weights) for c in fake.configs]
    assert weights == [[1, 1, 1, 1, 1], [0, 0, 0, 0, 1]]
    assert [c.trainer.total_training_steps for c in fake.configs] == [3, 7]
    assert [c.trainer.val_before_train for c in fake.configs] == [True, False]
    assert {c.trainer.default_local_dir for c in fake.configs} == {str(spec.work / "checkpoints")}


def test_the_strict_profile_pays_where_it_is_asked_for_and_is_named_nowhere_else(make_spec, verl, tmp_path):
    official, strict = (
        make_spec(
            phases=[{"weights": [1, 1, 1, 1, 3], "steps": 2}],
            work=tmp_path / name,
            out=tmp_path / f"{name}_out",
            **pays,
        )
        for name, pays in (("official", {}), ("strict", {"profile": "strict"}))
    )
    fake = verl()
    for spec in (official, strict):
        train(spec, report=str)
    pays = [dict(c.reward.custom_reward_function.reward_kwargs) for c in fake.configs]
    assert pays == [{"weights": [1, 1, 1, 1, 3]}, {"weights": [1, 1, 1, 1, 3], "profile": "strict"}]
    settings = [outputs(spec)[0]["settings"] for spec in (official, strict)]
    assert settings[1] == settings[0] | {"profile": "strict"} and "profile" not in settings[0]
    for work, changes in ((strict.work, {}), (official.work, {"profile": "strict"})):
        spec = make_spec(
            phases=[{"weights": [1, 1, 1, 1, 3], "steps": 3}], work=work, out=tmp_path / "other", **changes
        )
        with pytest.raises(InputError, match=r"\bprofile\b"):
            train(spec, report=str)


def test_outputs_hold_every_step_once_and_the_manifest_every_file(make_spec, verl):
    spec = make_spec(export_steps=[2])
    verl()
    train(spec, report=lambda line: None)
    record, metrics, validation = outputs(spec)
    assert [m["step"] for m in metrics] == list(range(8))
    # At the start, every 2 steps, and at the end of each phase.
    assert [e["step"] for e in validation] == [s for s in (0, 2, 3, 4, 6, 7) for _ in range(VALIDATION_ROWS)]
    assert validation[0]["model"] == "tiny"
    assert record["final_step"] == 7
    present = {str(p.relative_to(spec.out)) for p in spec.out.rglob("*") if p.is_file()} - {"MANIFEST.json"}
    assert set(record["files"]) == present
    assert {p.name for p in (spec.out / "checkpoints").iterdir()} == {"step2", "step7"}
    assert [(s["first_step"], s["asked_step"]) for s in record["segments"]] == [(1, 3), (4, 7)]
    assert record["config"]["trainer"]["total_training_steps"] == 7
    assert record["versions"]["verl"] == "0.9.1"


@pytest.mark.slow
def test_an_interruption_at_any_point_changes_nothing_about_the_outputs(make_spec, verl, tmp_path):
    phases = [{"weights": "stage1", "steps": 3}, {"weights": "stage3", "steps": 1}]
    uninterrupted = verl()
    train(make_spec(phases=phases), report=str)
    for point in range(1, uninterrupted.written + 1):
        spec = make_spec(phases=phases, work=tmp_path / f"work{point}", out=tmp_path / f"out{point}")
        verl(stop_at=point)
        with pytest.raises(Killed):
            train(spec, report=str)
        assert not (spec.out / "MANIFEST.json").exists()
        verl()
        train(spec, report=str)
        record, metrics, validation = outputs(spec)
        assert [m["step"] for m in metrics] == list(range(5)), point
        assert [e["step"] for e in validation] == [s for s in (0, 2, 3, 4) for _ in range(VALIDATION_ROWS)], point
        assert record["final_step"] == 4


def test_a_run_that_gets_no_further_is_given_up_and_one_that_does_is_not(make_spec, verl):
    spec = make_spec(phases=[{"weights": "stage1", "steps": 8}], save_every=2, test_every=8)

    def killed(attempt, last_step):
        verl(last_step=last_step)
        with pytest.raises(TrainingError, match=f"step {last_step // 2 * 2} instead of 8"):
            train(spec, report=str, attempt=attempt)

    # each attempt ends before the run is whole, but later than the one before
    for attempt, last_step in enumerate((2, 2, 4, 5, 5, 5), start=1):
        killed(attempt, last_step)
    fake = verl(last_step=5)
    with pytest.raises(TrainingError, match=r"3 attempts .* beyond step 4; .*verl\.6\.log.*save_every"):
        train(spec, report=str, attempt=7)
    assert fake.configs == []
    verl()  # a person who starts it again gets another attempt
    train(spec, report=str)
    assert outputs(spec)[0]["final_step"] == 8


def test_a_rerun_does_not_repeat_what_a_whole_checkpoint_holds(make_spec, verl):
    spec = make_spec(phases=[{"weights": "stage1", "steps": 100}], save_every=10, test_every=100)
    fake = verl(last_step=57)
    with pytest.raises(TrainingError, match="step 50 instead of 100"):
        train(spec, report=str)
    fake = verl()
    train(spec, report=str)
    assert fake.configs[0].trainer.val_before_train is False
    record, *_ = outputs(spec)
    assert [s["first_step"] for s in record["segments"]] == [1, 51]


def test_an_attempt_that_ended_before_verl_began_is_a_segment_too(make_spec, verl):
    def killed(*_, **__):
        raise Killed

    spec = make_spec(phases=[{"weights": "stage1", "steps": 3}])
    verl(killed)
    with pytest.raises(Killed):
        train(spec, report=str)
    verl()
    train(spec, report=str)
    record, metrics, _ = outputs(spec)
    assert [s["first_step"] for s in record["segments"]] == [1, 1]
    assert record["segments"][0]["seconds"] == 0
    assert [m["step"] for m in metrics] == list(range(4))


def test_a_broken_checkpoint_falls_back_to_the_one_before(make_spec, verl):
    spec = make_spec(phases=[{"weights": "stage1", "steps": 10}])
    verl(last_step=6)
    with pytest.raises(TrainingError):
        train(spec, report=str)
    (spec.work / "checkpoints" / "global_step_6" / "data.pt").write_bytes(b"")
    verl()
    train(spec, report=str)
    record, *_ = outputs(spec)
    assert [s["first_step"] for s in record["segments"]] == [1, 5]


def test_an_end_without_an_error_before_the_last_step_is_an_error(make_spec, verl):
    spec = make_spec()
    verl(last_step=2)
    with pytest.raises(TrainingError, match=r"step 2 .*3(.|\n)*a line of the log"):
        train(spec, report=str)
    assert not spec.out.exists()


def test_a_whole_run_is_not_trained_again(make_spec, verl):
    spec = make_spec()
    verl()
    train(spec, report=str)
    fake = verl()
    train(spec, report=str)
    assert fake.configs == []


def test_a_work_folder_of_other_settings_is_refused_and_left_alone(make_spec, verl):
    spec = make_spec()
    verl()
    train(spec, report=str)
    for change in ({"seed": 1}, {"test_every": 3}, {"overrides": {"data.train_batch_size": 8}}):
        with refused(spec.work, *change):
            train(make_spec(**change), report=str)
    assert checkpoints.complete_steps(spec.work / "checkpoints") == [7]


def test_other_weights_for_steps_already_made_are_refused(make_spec, verl):
    verl()
    train(make_spec(), report=str)
    with pytest.raises(InputError, match="phases"):
        train(make_spec(phases=[{"weights": "stage2", "steps": 7}]), report=str)


def test_a_run_can_be_given_more_steps(make_spec, verl):
    verl()
    train(make_spec(), report=str)
    fake = verl()
    spec = make_spec(phases=[{"weights": "stage1", "steps": 3}, {"weights": "stage3", "steps": 6}])
    train(spec, report=str)
    assert len(fake.configs) == 1
    record, metrics, _ = outputs(spec)
    assert record["final_step"] == 9
    assert [m["step"] for m in metrics] == list(range(10))


def test_a_step_that_was_not_exported_in_its_time_is_missed_before_training(make_spec, verl):
    verl(last_step=6)
    with pytest.raises(TrainingError):
        train(make_spec(), report=str)
    verl()
    train(make_spec(export_steps=[6]), report=str)
    assert exported(make_spec()) == {6, 7}
    with refused("step 2", "exported"):
        train(make_spec(export_steps=[2]), report=str)


@pytest.mark.parametrize(
    "overrides",
    [
        {"actor_rollout_ref.actor.optim.lr_scheduler_type": "cosine"},
        {"actor_rollout_ref.actor.optim.lr_warmup_steps_ratio": 0.1},
    ],
)
def test_a_learning_rate_that_depends_on_the_last_step_goes_over_all_phases_and_refuses_more(
    make_spec, verl, overrides
):
    fake = verl()
    train(make_spec(overrides=overrides), report=str)
    assert [c.planner_r1.last_step for c in fake.configs] == [7, 7]
    longer = [{"weights": "stage1", "steps": 3}, {"weights": "stage3", "steps": 6}]
    with pytest.raises(InputError, match="learning_rate_horizon"):
        train(make_spec(overrides=overrides, phases=longer), report=str)


# ---- what stays on the disk ------------------------------------------------------------------------------------


def exported(spec) -> set[int]:
    """The steps whose weights are outputs, after a look inside."""
    folders = list((spec.out / "checkpoints").iterdir())
    for folder in folders:
        weights = (folder / "model.safetensors").read_bytes()
        assert folder.name == f"step{int.from_bytes(weights[:2], 'big')}" and len(weights) == WEIGHTS
        assert json.loads((folder / "config.json").read_text(encoding="utf-8"))["dtype"] == "float32"
    return {int(folder.name.removeprefix("step")) for folder in folders}


def disk(*folders) -> int:
    """Bytes of all files, each inode once."""
    found = [p.stat() for folder in folders for p in folder.rglob("*") if p.is_file()]
    return sum({s.st_ino: s.st_size for s in found}.values())


class Measured(FakeVerl):
    """Notes the most that the disk held at any time."""

    def __init__(self, *folders):
        super().__init__()
        self.folders, self.most = folders, 0

    def tick(self):
        super().tick()
        self.most = max(self.most, disk(*self.folders))


@pytest.mark.parametrize("keep", [True, False])
def test_the_disk_stays_bounded_over_a_long_run(make_spec, verl, keep):
    steps, exports = 60, [10, 30]
    phases = [{"weights": "stage1", "steps": steps}]
    spec = make_spec(phases=phases, save_every=2, test_every=steps, export_steps=exports, keep_checkpoint=keep)
    fake = verl(fake=Measured(spec.work / "checkpoints", spec.work / "exports", spec.out))
    train(spec, report=str)
    small = 100_000  # metrics, validations, manifest
    # the two kept and the one being written; an export shares its weights with a checkpoint as long as that stays
    assert fake.most <= (checkpoints.KEEP + 1) * (WEIGHTS + OPTIMISER) + len(exports) * WEIGHTS + small
    left = (len(exports) + 1) * WEIGHTS + (OPTIMISER if keep else 0)
    assert left <= disk(*fake.folders) <= left + small
    assert checkpoints.complete_steps(spec.work / "checkpoints") == ([steps] if keep else [])
    assert exported(spec) == {*exports, steps}


def test_a_run_whose_checkpoint_was_not_kept_stays_whole_and_cannot_go_on(make_spec, verl):
    spec = make_spec(keep_checkpoint=False)
    verl()
    train(spec, report=str)
    shutil.rmtree(spec.out)
    fake = verl()
    train(spec, report=str)
    assert fake.configs == [] and exported(spec) == {7} and outputs(spec)[0]["final_step"] == 7
    longer = [{"weights": "stage1", "steps": 3}, {"weights": "stage3", "steps": 6}]
    with refused("step 7", "training.keep_checkpoint", "step 9"):
        train(make_spec(phases=longer), report=str)
    train(spec, report=str)  # as the message says


class Interruption:
    """A kill in the middle of the n-th change of the file system by this package's own code."""

    CHANGES = ((os, "link"), (shutil, "copy2"), (shutil, "rmtree"), (Path, "rename"), (Path, "unlink"))

    def __init__(self, monkeypatch, at):
        self.left = at
        for owner, name in self.CHANGES:
            monkeypatch.setattr(owner, name, self.counted(getattr(owner, name), name))

    def counted(self, change, name):
        def counting(path, *arguments, **keywords):
            self.left -= 1
            if self.left == 0:
                if name == "rmtree":  # half of it
                    for file in sorted(p for p in Path(path).rglob("*") if p.is_file())[::2]:
                        os.remove(file)
                raise Killed
            return change(path, *arguments, **keywords)

        return counting


@pytest.mark.slow
@pytest.mark.parametrize("keep", [True, False])
def test_a_kill_during_any_change_of_the_disk_loses_nothing(make_spec, verl, tmp_path, keep):
    phases = [{"weights": "stage1", "steps": 3}, {"weights": "stage3", "steps": 1}]
    settings = {"phases": phases, "save_every": 1, "export_steps": [1], "keep_checkpoint": keep}
    for point in range(1, 1000):
        spec = make_spec(**settings, work=tmp_path / f"work{point}", out=tmp_path / f"out{point}")
        verl()
        with pytest.MonkeyPatch.context() as patches:
            interruption = Interruption(patches, at=point)
            with contextlib.suppress(Killed):
                train(spec, report=str)
        fake = verl()
        train(spec, report=str)
        record, metrics, validation = outputs(spec)
        assert record["final_step"] == 4 and exported(spec) == {1, 4}, point
        assert [m["step"] for m in metrics] == list(range(5)), point
        assert [e["step"] for e in validation] == [s for s in (0, 2, 3, 4) for _ in range(VALIDATION_ROWS)], point
        assert checkpoints.complete_steps(spec.work / "checkpoints") == ([4] if keep else [])
        if interruption.left > 0:  # it came to its end before the kill
            assert fake.configs == []
            break
    else:
        pytest.fail("the run never came to its end")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"phases": []}, ["phase"]),
        ({"phases": [{"weights": "stage1", "steps": 0}]}, ["one step"]),
        ({"phases": [{"weights": "stage9", "steps": 1}]}, ["weights", "'stage9'"]),
        ({"phases": [{"weights": [1, 2], "steps": 1}]}, ["five"]),
        ({"export_steps": [5]}, ["step 5", "exported"]),
        ({"backend": "tpu"}, ["training.backend"]),
        ({"store": Path("nowhere")}, ["nowhere", "file"]),
        ({"overrides": {"data.batch": 1}}, ["data.batch", "no"]),
    ],
)
def test_a_wrong_specification_is_refused_before_anything_starts(make_spec, verl, change, named):
    fake = verl()
    with refused(*named):
        train(make_spec(**change), report=str)
    assert fake.configs == []


def test_two_processes_cannot_train_in_one_folder(make_spec, verl, monkeypatch):
    monkeypatch.setattr("planner_r1.files.LOCK_SECONDS", 0)
    spec = make_spec()
    spec.work.mkdir()
    with launch.locked(spec.work), pytest.raises(InputError, match="another process"):
        train(spec, report=str)
