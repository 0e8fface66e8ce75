"""The key `environment`: verl runs where it says, with the project's own code, and nothing else changes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from planner_r1.environments import LIBRARY, environment
from planner_r1.errors import InputError
from planner_r1.training.config import save_config
from planner_r1.training.manifest import versions
from planner_r1.training.process import run_verl

# Notes its arguments and what it was given, instead of running verl.
STUB = """#!{shell}
{{ echo "$0 $@"; echo "PYTHONPATH=$PYTHONPATH"; echo "first on the path: ${{PATH%%:*}}"; }} > {note}
"""


@pytest.fixture
def stub(tmp_path):
    """Writes a command that notes how it was called; returns the note's path."""

    def write(path: Path, then: str = "") -> Path:
        note = tmp_path / "note"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(STUB.format(shell="/bin/bash", note=note) + then, encoding="utf-8")
        path.chmod(0o755)
        return note

    return write


@pytest.fixture
def run(tmp_path):
    """Runs verl in an environment, on one node."""
    work = tmp_path / "work"
    work.mkdir()
    config = {"trainer": {"nnodes": 1, "n_gpus_per_node": 8}, "ray_kwargs": {"ray_init": {"num_cpus": None}}}
    save_config(OmegaConf.create(config), work / "config.json")

    def run(text):
        files = {"log": work / "verl.log", "store": tmp_path, "metrics": work / "metrics.jsonl"}
        run_verl(work / "config.json", work=work, backend="gpu", environment=text, **files)

    return run


@pytest.mark.parametrize("kind", ["venv", "conda"])
def test_a_folder_with_a_python_is_used_as_if_it_were_activated(kind, stub, run, tmp_path):
    note = stub(tmp_path / "gpu" / "bin" / "python")
    run(f"{kind}:{tmp_path}/gpu")
    called, path, first = note.read_text().splitlines()
    assert called.startswith(f"{tmp_path}/gpu/bin/python -u -m planner_r1.training.run_verl ")
    assert path == f"PYTHONPATH={LIBRARY}"
    assert first == f"first on the path: {tmp_path}/gpu/bin"


def test_an_image_is_run_by_apptainer_with_the_checkout_bound(stub, run, tmp_path, monkeypatch):
    note = stub(tmp_path / "bin" / "apptainer")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}")
    run(f"container:{tmp_path}/gpu.sif")
    called, path, _ = note.read_text().splitlines()
    assert f"apptainer exec --nv --bind {LIBRARY.parent}," in called
    assert f"{tmp_path}/gpu.sif python -u -m planner_r1.training.run_verl" in called
    assert path == f"PYTHONPATH={LIBRARY}"
    assert environment("container:docker://a/b:1").prefix[-1] == "docker://a/b:1"


def test_modules_are_loaded_before_python_is_looked_for(stub, run, tmp_path, monkeypatch):
    note = stub(tmp_path / "modules" / "python")
    # what a site's profile defines: loading a module puts its folder on the path
    (tmp_path / ".bash_profile").write_text(
        f'module() {{ [ "$*" = "load cuda/13.0 python/3.12" ] && PATH="{tmp_path}/modules:$PATH"; }}\n',
        encoding="utf-8",
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    run("module:cuda/13.0 python/3.12")
    assert "python -u -m planner_r1.training.run_verl" in note.read_text().splitlines()[0]


def test_over_nodes_srun_starts_the_environment_and_ray_starts_its_python(stub, tmp_path, monkeypatch):
    from planner_r1.training.process import _command

    config = {"trainer": {"nnodes": 2, "n_gpus_per_node": 8}, "ray_kwargs": {"ray_init": {"num_cpus": None}}}
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    image = environment(f"container:{tmp_path}/gpu.sif")
    command = _command(
        "planner_r1.training.run_verl", tmp_path / "config.json", OmegaConf.create(config), tmp_path, image
    )
    srun, image = command.index("srun"), command.index(f"{tmp_path}/gpu.sif")
    cluster, verl = (command.index(f"planner_r1.training.{name}") for name in ("ray_cluster", "run_verl"))
    assert srun < command.index("apptainer") < image < cluster < command.index("--") < verl
    assert command.count("apptainer") == 1  # Ray and verl share the image's process tree


def test_the_active_one_is_this_python(monkeypatch):
    active = environment("active")
    assert (active.prefix, active.python, active.variables) == ((), sys.executable, {})


def test_versions_are_those_of_the_environment(tmp_path):
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "python").symlink_to(sys.executable)
    # the same interpreter without this environment's packages
    found = versions(f"venv:{tmp_path}")
    assert found["python"] == versions()["python"] and "verl" in versions() and "verl" not in found
    asked = subprocess.run(
        [sys.executable, "-m", "planner_r1.training.manifest"], capture_output=True, text=True, check=True
    )
    assert json.loads(asked.stdout) == versions()


def test_a_missing_environment_is_one_clear_error(run, tmp_path):
    with pytest.raises(InputError, match=r"venv:/nowhere.*cannot be started"):
        versions("venv:/nowhere")
    with pytest.raises(InputError, match=r"nowhere/bin/python cannot be started .* envs/README.md"):
        run(f"venv:{tmp_path}/nowhere")


@pytest.mark.parametrize("text", ["", "venv", "venv:", "docker:image", "module:cuda;rm", "module:$(id)"])
def test_what_is_no_environment_is_refused(text):
    with pytest.raises(InputError, match="environment: "):
        environment(text)
