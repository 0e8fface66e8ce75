"""Which checkpoints count, where a rerun starts, what is kept."""

import json
import struct

import pytest

from planner_r1.training import checkpoints as c


def write(root, step, whole=True):
    folder = c.folder(root, step)
    (folder / "actor" / "huggingface").mkdir(parents=True)
    (folder / "data.pt").write_bytes(b"data" * step)
    (folder / "actor" / "model.pt").write_bytes(b"weights")
    if whole:
        c.mark_complete(folder)
    return folder


def test_a_checkpoint_without_its_mark_does_not_count(tmp_path):
    write(tmp_path, 5)
    write(tmp_path, 10, whole=False)
    assert c.complete_steps(tmp_path) == [5]


@pytest.mark.parametrize("damage", ["missing", "short", "mark"])
def test_a_checkpoint_that_lost_something_does_not_count(tmp_path, damage):
    folder = write(tmp_path, 5)
    if damage == "missing":
        (folder / "actor" / "model.pt").unlink()
    elif damage == "short":
        (folder / "data.pt").write_bytes(b"d")
    else:
        (folder / c.MARKER).write_text("{", encoding="utf-8")
    assert not c.is_complete(folder)


def test_resuming_points_verl_at_the_step_and_deletes_what_comes_after(tmp_path):
    for step in (5, 10, 15):
        write(tmp_path, step)
    write(tmp_path, 20, whole=False)
    c.resume_from(tmp_path, 10)
    assert (tmp_path / c.LATEST).read_text(encoding="utf-8") == "10"
    assert {p.name for p in tmp_path.glob("global_step_*")} == {"global_step_5", "global_step_10"}


def test_starting_afresh_leaves_nothing_to_resume_from(tmp_path):
    write(tmp_path, 5)
    c.resume_from(tmp_path, 5)
    c.resume_from(tmp_path, 0)
    assert not (tmp_path / c.LATEST).exists()
    assert c.complete_steps(tmp_path) == []


def test_the_two_newest_are_kept_and_broken_ones_in_between_go(tmp_path):
    for step in (5, 10, 20):
        write(tmp_path, step)
    write(tmp_path, 15, whole=False)
    write(tmp_path, 25, whole=False)  # being written
    c.prune(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["global_step_10", "global_step_20", "global_step_25"]


def test_steps_are_numbers_not_words(tmp_path):
    for step in (9, 10):
        write(tmp_path, step)
    (tmp_path / "global_step_x").mkdir()
    assert c.complete_steps(tmp_path) == [9, 10]


def test_a_checkpoint_can_be_marked_again(tmp_path):
    folder = write(tmp_path, 5)
    (folder / "data.pt").write_bytes(b"")
    assert not c.is_complete(folder)
    c.mark_complete(folder)  # the mark that is there already is not one of the files it lists
    assert c.is_complete(folder)
    assert set(json.loads((folder / c.MARKER).read_text(encoding="utf-8"))) == {"data.pt", "actor/model.pt"}


def test_starting_afresh_where_nothing_was_started(tmp_path):
    c.resume_from(tmp_path, 0)
    assert list(tmp_path.iterdir()) == []


def test_more_checkpoints_are_kept_where_asked(tmp_path):
    for step in (5, 10, 15, 20):
        write(tmp_path, step)
    write(tmp_path, 12, whole=False)
    c.prune(tmp_path, keep=3)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["global_step_10", "global_step_15", "global_step_20"]
    c.prune(tmp_path, keep=1)
    assert [p.name for p in tmp_path.iterdir()] == ["global_step_20"]


def safetensors(path, *dtypes):
    tensors = {f"w{i}": {"dtype": dtype, "shape": [0], "data_offsets": [0, 0]} for i, dtype in enumerate(dtypes)}
    header = json.dumps({"__metadata__": {}, **tensors}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + b"\0" * 4)


def test_an_export_says_what_its_weights_are_and_nothing_of_the_trainer(tmp_path):
    folder = write(tmp_path, 5)
    model = folder / "actor" / "huggingface"
    saved = {"model_type": "qwen3", "dtype": "bfloat16", "attn_implementation": "verl_cpu_causal"}
    (model / "config.json").write_text(json.dumps(saved), encoding="utf-8")
    (model / "tokenizer.json").write_text("{}", encoding="utf-8")
    safetensors(model / "model.safetensors", "F32")
    c.export(folder, tmp_path / "exports" / "step5")
    exported = tmp_path / "exports" / "step5"
    config = json.loads((exported / "config.json").read_text(encoding="utf-8"))
    assert config == {"model_type": "qwen3", "dtype": "float32"}
    assert sorted(p.name for p in exported.iterdir()) == ["config.json", "model.safetensors", "tokenizer.json"]
    assert sorted(p.name for p in exported.parent.iterdir()) == ["step5"]
    assert json.loads((model / "config.json").read_text(encoding="utf-8")) == saved  # the original is as it was
    assert (exported / "model.safetensors").samefile(model / "model.safetensors")
    assert not (exported / "tokenizer.json").samefile(model / "tokenizer.json")


def test_weights_are_copied_where_the_file_system_has_no_links(tmp_path, monkeypatch):
    def refuse(*arguments):
        raise OSError("Operation not supported")

    monkeypatch.setattr(c.os, "link", refuse)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model.safetensors").write_bytes(b"weights")
    c.copy_model(tmp_path / "model", tmp_path / "copy")
    assert (tmp_path / "copy" / "model.safetensors").read_bytes() == b"weights"
    assert not (tmp_path / "copy" / "model.safetensors").samefile(tmp_path / "model" / "model.safetensors")


@pytest.mark.parametrize(("dtype", "name"), [("F32", "float32"), ("BF16", "bfloat16"), ("F16", "float16")])
def test_weights_are_of_the_precision_that_their_file_says(tmp_path, dtype, name):
    safetensors(tmp_path / "model.safetensors", dtype, dtype)
    assert c.weights_dtype(tmp_path) == name


@pytest.mark.parametrize("dtypes", [["I64"], ["F32", "BF16"], []])
def test_weights_of_no_one_precision_are_refused(tmp_path, dtypes):
    safetensors(tmp_path / "model.safetensors", *dtypes)
    with pytest.raises(ValueError, match=r"model\.safetensors"):
        c.weights_dtype(tmp_path)


def test_an_export_takes_the_place_of_an_older_one_and_of_what_a_kill_left(tmp_path):
    folder = write(tmp_path, 5)
    model = folder / "actor" / "critic"
    model.mkdir()
    saved = {"torch_dtype": "float32", "_attn_implementation": "eager", "dtype": "float32", "hidden_size": 8}
    (model / "config.json").write_text(json.dumps(saved), encoding="utf-8")
    safetensors(model / "model.safetensors", "BF16")
    out = tmp_path / "exports" / "deeper" / "step5"
    for left in (out, out.with_name("step5.unfinished")):
        left.mkdir(parents=True)
        (left / "old.txt").write_text("old", encoding="utf-8")
    c.export(folder, out, model="actor/critic")
    assert json.loads((out / "config.json").read_text(encoding="utf-8")) == {"hidden_size": 8, "dtype": "bfloat16"}
    assert sorted(p.name for p in out.iterdir()) == ["config.json", "model.safetensors"]
    assert [p.name for p in out.parent.iterdir()] == ["step5"]
    c.export(folder, tmp_path / "new" / "deeper" / "step5", model="actor/critic")
    assert (tmp_path / "new" / "deeper" / "step5" / "config.json").is_file()
