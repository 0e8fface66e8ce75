"""The pinned sglang as verl and the suites use it, where `make engine` has installed it: names, arguments, server."""

import ast
import json
import os
import subprocess
from pathlib import Path

import pytest
import verl

from helpers.checkout import REPOSITORY
from helpers.engine import FOLDER, PYTHON, needs_engine
from helpers.qwen3_8b import QWEN3_8B
from planner_r1.ood.server import KINDS, PORTS
from planner_r1.verl_overlays import performance_overrides

pytestmark = needs_engine

HELPERS = REPOSITORY / "tests" / "helpers"
MODEL = QWEN3_8B | {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "max_position_embeddings": 40960,
    "bos_token_id": 151643,
    "eos_token_id": 151645,
}
# What verl imports for older and newer versions of sglang, and for replaying the routes of experts.
DEAD = {
    ("sglang.srt.entrypoints.http_server", "_launch_subprocesses"),
    ("sglang.srt.model_executor.model_runner_components.weight_updater", "LocalSerializedTensor"),
    ("sglang.srt.layers.moe.routed_experts_capturer", "extract_routed_experts_from_meta_info"),
}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Writes a configuration of Qwen3-8B without weights in a type of numbers."""

    def write(dtype: str) -> Path:
        folder = tmp_path_factory.mktemp(dtype)
        (folder / "config.json").write_text(json.dumps(MODEL | {"dtype": dtype}), encoding="utf-8")
        return folder

    return write


def asked(script: str, *arguments) -> dict | list:
    """What a script says that runs by the engine's Python; its last line is JSON."""
    env = os.environ | {"PYTHONPATH": str(REPOSITORY / "workflow"), "CUDA_VISIBLE_DEVICES": ""}
    command = [PYTHON, HELPERS / script, *arguments]
    done = subprocess.run(command, env=env, capture_output=True, text=True, cwd=REPOSITORY)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def paper(model):
    return asked("engine_server.py", model("bfloat16"), "{}")


def test_verl_starts_it_as_the_paper_has_it(paper):
    settings = paper["settings"]
    expected = {"tp_size": 4, "dtype": "bfloat16", "context": 40960, "mem_fraction_static": 0.6, "load_format": "dummy"}
    expected |= {"max_running_requests": 1024, "enable_memory_saver": True}
    expected |= {"graphs": {"decode": "disabled", "prefill": "disabled"}}
    assert {name: settings[name] for name in expected} == expected
    assert settings["watchdog_timeout"] >= 1800  # the first request waits for what is compiled


def test_no_graphs_are_captured_of_an_attention_whose_graphs_are_broken(model):
    fast = asked("engine_server.py", model("bfloat16"), json.dumps(performance_overrides("fast")))["settings"]
    assert fast["graphs"]["decode"] == "full" and fast["attention_backend"] != "fa3"


def test_an_episode_is_sampled_unrestricted_and_ends_at_its_limit(paper):
    short, longest = paper["short"], paper["longest"]
    assert short["sampling"] == {
        **{"temperature": 1.0, "top_p": 1, "top_k": -1, "repetition_penalty": 1.0},
        "max_new_tokens": 30500,
    }
    assert short["tokens"][-1] == MODEL["eos_token_id"] and short["reason"] == "stop"
    assert longest["sampling"]["max_new_tokens"] == 0  # 2,268 + 30,500 tokens are there already


def test_it_sleeps_wakes_and_takes_weights_over_http(paper):
    memory = ["kv_cache", "weights"]
    assert paper["asleep"] == paper["released"] == ["release_memory_occupation", memory]
    assert paper["awake"] == ["resume_memory_occupation", ["weights"]]
    assert paper["weights"] == ["update_weights_from_tensor", "model.norm.weight", [0, 1, 2, 3]]


def test_the_suites_server_takes_its_command(model):
    """Also at the highest port that it is given: sglang wants another one 10,000 above it."""
    command = KINDS["gpu"].command
    arguments = command[command.index("sglang.launch_server") + 1 :]
    filled = [
        [part.format(python="python", model=model(dtype), port=PORTS[-1]) for part in arguments]
        for dtype in ("bfloat16", "float32")
    ]
    for settings in asked("engine_arguments.py", json.dumps(filled)):
        assert settings["context"] == 40960 and settings["tp_size"] == 4


def test_what_verl_imports_from_it_is_there():
    (sglang,) = FOLDER.glob("lib/python3.*/site-packages/sglang")
    wanted = {
        (node.module, alias.name)
        for folder in ("workers/rollout/sglang_rollout", "utils/sglang")
        for path in (Path(verl.__file__).parent / folder).glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "sglang"
        for alias in node.names
    }
    missing = {(module, name) for module, name in wanted if name not in names(sglang.parent, module)}
    assert len(wanted) > 20 and missing == DEAD


def names(packages: Path, module: str) -> set[str]:
    """What can be imported from a module of the wheel, read and not imported: all that it binds, and its submodules."""
    path = packages.joinpath(*module.split("."))
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    found = {entry.stem for entry in path.iterdir()} if path.is_dir() else set()
    if not source.is_file():
        return found
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and [alias.name for alias in node.names] == ["*"]:
            found |= names(packages, node.module)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found
