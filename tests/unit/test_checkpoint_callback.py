"""What happens at a save, as several ranks on several machines would leave it: shards, and weights for others."""

from types import SimpleNamespace

import pytest

from planner_r1.training import checkpoints, saved_weights

RANKS = 4  # two nodes of two


def callback():
    """The module, imported late: other tests look at what verl's modules are while verl is imported."""
    from planner_r1.training import checkpoint_callback

    return checkpoint_callback


@pytest.fixture
def keeper(tmp_path):
    made = object.__new__(callback().CheckpointKeeper)
    settings = SimpleNamespace(export_steps=[10], export_dir=str(tmp_path / "exports"))
    made.config = SimpleNamespace(planner_r1=settings, trainer=SimpleNamespace(nnodes=2, n_gpus_per_node=2))
    return made


@pytest.fixture
def checkpoint(tmp_path):
    """A checkpoint whose files of the second node are not to be seen yet."""
    folder = checkpoints.folder(tmp_path, 5)
    (folder / "actor").mkdir(parents=True)
    write_shards(folder, ranks=(0, 1))
    return folder


def write_shards(folder, ranks):
    for rank in ranks:
        for part in ("model", "optim", "extra_state"):
            (folder / "actor" / f"{part}_world_size_{RANKS}_rank_{rank}.pt").write_bytes(b"shard")


def test_a_checkpoint_is_marked_when_the_other_nodes_files_are_seen(keeper, checkpoint, monkeypatch):
    waited = []

    def sleep(seconds):
        assert not checkpoints.is_complete(checkpoint)
        waited.append(seconds)
        write_shards(checkpoint, ranks=(1 + len(waited),))  # a rank's files at a time

    monkeypatch.setattr(callback().time, "sleep", sleep)
    keeper.on_save(None, 5, str(checkpoint))
    assert len(waited) == 2 and checkpoints.is_complete(checkpoint)
    (checkpoint / "actor" / f"optim_world_size_{RANKS}_rank_3.pt").unlink()
    assert not checkpoints.is_complete(checkpoint)


def test_files_that_never_come_are_named(keeper, checkpoint, monkeypatch):
    monkeypatch.setattr(callback(), "SECONDS_UNTIL_SEEN", -1)
    with pytest.raises(RuntimeError, match=rf"6 of .* {RANKS} ranks .*model_world_size_{RANKS}_rank_2\.pt"):
        keeper.on_save(None, 5, str(checkpoint))
    assert not checkpoints.is_complete(checkpoint)


@pytest.mark.parametrize(("steps", "saved"), [([2, 4], {2, 4}), ([], set()), (None, {1, 2, 3, 4})])
def test_weights_for_others_are_saved_at_the_steps_that_are_exported(monkeypatch, steps, saved):
    """None: the supervised trainer, which names no steps and exports what it saves."""
    from verl.utils.checkpoint.fsdp_checkpoint_manager import FSDPCheckpointManager

    contents, found = ["model", "optimizer", "extra", "hf_model"], {}

    def save(self, local_path, hdfs_path=None, global_step=0, max_ckpt_to_keep=None):
        found[global_step] = list(self.checkpoint_save_contents)

    monkeypatch.setattr(FSDPCheckpointManager, "save_checkpoint", save)
    monkeypatch.delenv(saved_weights.STEPS, raising=False)
    for name, value in ({} if steps is None else saved_weights.variable(steps)).items():
        monkeypatch.setenv(name, value)
    saved_weights.patch()
    saved_weights.patch()  # a process may start a second group
    manager = object.__new__(FSDPCheckpointManager)
    manager.checkpoint_save_contents = contents
    for step in (1, 2, 3, 4):
        manager.save_checkpoint("folder", None, step)
    assert {step for step, parts in found.items() if "hf_model" in parts} == saved
    assert all(parts[:3] == contents[:3] for parts in found.values())
    assert manager.checkpoint_save_contents == contents
