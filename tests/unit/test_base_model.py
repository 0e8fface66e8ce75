"""A given model is linked, not copied, and a folder that holds no whole model is refused."""

import shutil
from pathlib import Path

import pytest
import yaml

from helpers.checkout import REPOSITORY
from helpers.messages import refused
from planner_r1.errors import InputError
from planner_r1.study import SUITE_FILES, Study
from planner_r1.training.base_model import check_suite_files, link_model


def test_links_every_file(tmp_path):
    source, out = tmp_path / "Qwen3-8B", tmp_path / "study" / "models" / "qwen3-8b"
    source.mkdir()
    for name in ("config.json", "tokenizer_config.json", "model-00001.safetensors", "vocab.json"):
        (source / name).write_text(name)
    for _ in range(2):  # a second time over the first
        record = link_model(source, out)
    assert {p.name for p in out.iterdir()} == {p.name for p in source.iterdir()}
    assert all(p.is_symlink() and p.read_text() == p.name for p in out.iterdir())
    assert record == {"source": str(source.resolve())}


def test_a_folder_that_is_downloaded_says_by_which_command(tmp_path, monkeypatch):
    (tmp_path / "config").mkdir()
    shutil.copy(REPOSITORY / "config" / "sources.yaml", tmp_path / "config")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"^models\.big\.path: .*Qwen3-8B: .*`planner-r1 download qwen3-8b` fetches"):
        link_model(Path("data/models/Qwen3-8B"), tmp_path / "models" / "big")
    with pytest.raises(InputError, match=r"^models\.big\.path: data/models/Other: .*; expected are"):
        link_model(Path("data/models/Other"), tmp_path / "models" / "big")


def test_refuses_what_is_no_model(tmp_path):
    with refused("models.out.path", tmp_path / "Llama", "folder"):
        link_model(tmp_path / "Llama", tmp_path / "out")
    source = tmp_path / "half"
    source.mkdir()
    (source / "config.json").write_text("{}")
    with refused("models.out.path", source, "tokenizer_config.json", "missing"):
        link_model(source, tmp_path / "out")
    (source / "tokenizer_config.json").write_text("{}")
    with refused("models.out.path", source, "safetensors"):
        link_model(source, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_suite_s_folder_is_looked_at_before_anything_is_trained(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def study(suite):
        config = yaml.safe_load((REPOSITORY / "config" / "smoke.yaml").read_text(encoding="utf-8"))
        return Study.from_config(config | {"suites": {"multi_if": suite}})

    with refused(f"nowhere/{SUITE_FILES['multi_if'][0]}", "folder"):
        check_suite_files(study({"source": "files", "folder": "nowhere"}))
    check_suite_files(study({"source": "files"}))  # downloaded in time
    check_suite_files(study({"source": "synthetic"}))
