"""The environments: every file agrees with the pins, and the GPU set's lock is what its requirements resolve to."""

import ast
import re
import runpy
import shutil
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import yaml

ENVS = Path(__file__).resolve().parents[2] / "envs"
LIBRARY = ENVS.parent / "workflow" / "planner_r1"
PINS = yaml.safe_load((ENVS / "pins.yaml").read_text(encoding="utf-8"))


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def versions(name: str) -> dict[str, str]:
    """The exactly pinned packages of a requirements file."""
    text = (ENVS / name).read_text(encoding="utf-8")
    return {normal(n): v for n, v in re.findall(r"^([\w.-]+)==([^\s;]+)", text, re.MULTILINE)}


@pytest.mark.parametrize(("kind", "files"), [("cpu", ["cpu.txt"]), ("gpu", ["gpu.txt", "gpu-build.txt"])])
def test_the_locks_and_what_they_are_made_from_hold_the_pins(kind, files):
    locked = {name: version for file in files for name, version in versions(file).items()}
    for name, version in PINS[kind]["packages"].items():
        assert locked[name] == version, f"{name}: {locked[name]} in the lock, {version} in pins.yaml"
    for name, version in {k: v for f in files for k, v in versions(f.replace(".txt", ".in")).items()}.items():
        assert version == locked[name] == PINS[kind]["packages"].get(name, version), name


def test_conda_and_apptainer_take_the_locks_and_the_pinned_python():
    for kind in ("cpu", "gpu"):
        dependencies = yaml.safe_load((ENVS / f"{kind}.yaml").read_text(encoding="utf-8"))["dependencies"]
        assert dependencies[0] == f"python={PINS[kind]['python']}"
        locks = ["cpu.txt", "cpu-cuda.txt"] if kind == "cpu" else ["gpu.txt"]
        assert dependencies[-1] == {"pip": [f"--requirement {lock}" for lock in locks]}
    definition = (ENVS / "gpu.def").read_text(encoding="utf-8")
    assert f"python{PINS['gpu']['python']} -m venv" in definition
    assert (
        re.search(r"^From: nvidia/cuda:([\d]+\.[\d]+)\.\d+-devel", definition, re.MULTILINE)[1] == PINS["gpu"]["cuda"]
    )
    for text in (definition, (ENVS / "README.md").read_text(encoding="utf-8")):
        assert f"flash-attn-4=={PINS['gpu']['packages']['flash-attn-4']}" in text
        assert "gpu.txt" in text and "gpu-build.txt" in text
    assert versions("gpu.txt")["cuda-toolkit"].startswith(PINS["gpu"]["cuda"] + ".")


def test_make_uses_the_pinned_python_and_lock():
    text = (ENVS.parent / "Makefile").read_text(encoding="utf-8")
    assert f"PYTHON ?= python{PINS['cpu']['python']}" in text and "envs/install.py" in text


def test_both_sets_hold_the_same_trainer():
    """One composes the configuration that the other reads."""
    assert PINS["cpu"]["packages"]["verl"] == PINS["gpu"]["packages"]["verl"]


@pytest.mark.parametrize(
    ("lock", "least"), [("cpu.txt", 300), ("cpu-cuda.txt", 15), ("gpu.txt", 200), ("engine.txt", 10)]
)
def test_every_package_of_a_lock_has_hashes(lock, least):
    blocks = re.split(r"\n(?=\S)", (ENVS / lock).read_text(encoding="utf-8"))
    packages = [block for block in blocks if not block.startswith("#")]
    assert len(packages) > least and all("--hash=sha256:" in block for block in packages)


def test_the_cpu_lock_takes_torch_from_the_index_and_its_builds_for_processors_alone():
    (torch,) = re.findall(r"^torch==.*(?:\n +--hash.*)+", (ENVS / "cpu.txt").read_text(encoding="utf-8"), re.MULTILINE)
    hashes = re.findall(r"sha256:([0-9a-f]{64})", torch)
    assert set(PINS["cpu"]["builds"]["torch"]) < set(hashes)
    assert not versions("cpu.txt").keys() & versions("cpu-cuda.txt").keys()  # the second adds to the first


def test_no_file_names_an_index():
    for file in ENVS.glob("*"):
        if file.is_file():
            text = file.read_text(encoding="utf-8")
            assert not re.search(r"https?://|--(extra-)?index-url \S*/|--find-links", text), file


def test_what_runs_beside_verl_is_in_the_gpu_lock():
    """Modules that verl's processes may load bring in nothing that the lock lacks."""
    folders = ("agent", "evaluator", "plan", "sandbox", "training")
    modules = [p for folder in folders for p in (LIBRARY / folder).glob("*.py")] + [LIBRARY / "reward.py"]
    imported = set()
    for path in modules:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                imported.add(node.module.partition(".")[0])
    others = imported - set(sys.stdlib_module_names) - {"planner_r1"}
    locked, distributions = versions("gpu.txt"), packages_distributions()
    missing = {m for m in others if not any(normal(d) in locked for d in distributions.get(m, [m]))}
    assert not missing


@pytest.mark.slow
def test_the_gpu_lock_is_what_its_requirements_resolve_to(tmp_path, monkeypatch):
    """By uv, from package metadata alone: nothing is installed and no GPU is asked for."""
    pytest.importorskip("uv", reason="uv is not installed")
    monkeypatch.syspath_prepend(str(ENVS))
    resolve = runpy.run_path(str(ENVS / "lock.py"))["resolve"]
    found = tmp_path / "gpu.txt"
    shutil.copy(ENVS / "gpu.txt", found)
    try:
        resolve(ENVS / "gpu.in", found)
    except subprocess.CalledProcessError as error:
        said = error.stderr or ""
        if re.search(r"error sending request|dns error|network|timed out|connect", said, re.IGNORECASE):
            pytest.skip(f"no package index answers: {said.strip().splitlines()[0]}")
        raise AssertionError(said) from error
    resolved = re.findall(r"^([\w.-]+)==([^\s;]+)", found.read_text(encoding="utf-8"), re.MULTILINE)
    assert {normal(n): v for n, v in resolved} == versions("gpu.txt")


def test_the_engine_without_a_gpu_is_the_gpu_sets():
    engine, gpu = versions("engine.txt"), versions("gpu.txt")
    assert engine["sglang"] == PINS["gpu"]["packages"]["sglang"]
    assert engine.items() <= gpu.items()
    assert not engine.keys() & versions("cpu.txt").keys()  # it is laid over the CPU set
    wanted = re.findall(r"^([\w.-]+)", (ENVS / "engine.in").read_text(encoding="utf-8"), re.MULTILINE)
    assert {normal(name) for name in wanted} == engine.keys()
