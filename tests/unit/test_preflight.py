"""Preflight: each fault is found and told in one line with the way out, and a sound study passes."""

import hashlib
import json
import os
import shutil
from pathlib import Path

import pytest
import yaml
from transformers import AutoTokenizer, Qwen3ForCausalLM

from helpers.messages import any_names, names, refused
from helpers.tiny_model import save_tiny_model
from planner_r1 import cli
from planner_r1.preflight import disk
from planner_r1.preflight.checks import preflight
from planner_r1.preflight.cluster import read_nodes
from planner_r1.preflight.installed import PINS
from planner_r1.preflight.profile import load_profile
from planner_r1.preflight.result import Status, Subject
from planner_r1.study import DATABASE_FILES, Study

# what `sinfo` says of a cluster with two nodes of eight GPUs, one of them in two partitions
SINFO = """cpu01|cpu|up|idle|(null)|32|128000|1-00:00:00
gpu01|gpu|up|mix|gpu:h200:8(S:0-1)|192|2000000|2-12:00:00
gpu02|gpu|up|idle|gpu:h200:8(S:0-1)|192|2000000|2-12:00:00
gpu02|debug|up|idle|gpu:h200:8(S:0-1)|192|2000000|30:00
"""
PROFILE = {
    "executor": "slurm",
    "jobs": 4,
    "default-resources": {"slurm_partition": "cpu", "mem_mb": 4000, "runtime": 60},
    "set-threads": {"train_run": 96, "evaluate_checkpoint": 96},
    "set-resources": {
        "train_run": {
            **{"slurm_partition": "gpu", "nodes": 2, "tasks": 2, "mpi": "srun"},
            **{"gres": "'gpu:8'", "mem": "1000GB", "runtime": "48h"},
        },
        "evaluate_checkpoint": {"slurm_partition": "gpu", "gres": "gpu:h200:8", "mem_mb": 800000, "runtime": 720},
    },
}


@pytest.fixture(scope="module")
def sharded_model(tmp_path_factory) -> Path:
    """A tiny Qwen3 whose weights lie in several files with an index."""
    whole, folder = tmp_path_factory.mktemp("whole"), tmp_path_factory.mktemp("sharded")
    save_tiny_model(whole, ["a trip from Alba to Bria"] * 20)
    Qwen3ForCausalLM.from_pretrained(whole).save_pretrained(folder, max_shard_size="100KB")
    AutoTokenizer.from_pretrained(whole).save_pretrained(folder)
    assert len(list(folder.glob("*.safetensors"))) > 2
    return folder


class Place:
    """A folder that is like a checkout, with everything that a study on GPUs needs; tests take parts of it away."""

    def __init__(self, folder: Path, model: Path):
        self.folder, self.model = folder, folder / "models" / "tiny"
        shutil.copytree(model, self.model)
        for name in (*DATABASE_FILES, "train.csv", "validation.csv", "prompt.txt"):
            self.write(f"data/planner/{name}", name)
        self.pin()
        self.config = {
            "study": "trial",
            "sandbox": {"source": "files", "database": "data/planner"},
            "queries": {
                "source": "files",
                "train": "data/planner/train.csv",
                "validation": "data/planner/validation.csv",
            },
            "prompt": "data/planner/prompt.txt",
            "models": {"tiny": {"path": "models/tiny"}},
            "regimes": {"dense": [{"weights": "stage1", "steps": 100}]},
            "training": {"backend": "gpu"},
            "evaluation": {"splits": ["validation"], "overrides": {"trainer.nnodes": 1}},
            "environment": "venv:gpu",
        }
        self.profile = json.loads(json.dumps(PROFILE))
        self.command("sinfo", f"cat <<'END'\n{SINFO}END")
        for name in ("sbatch", "srun"):
            self.command(name, "true")
        self.install({})

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def command(self, name: str, body: str, folder: str = "bin") -> None:
        self.write(f"{folder}/{name}", f"#!/bin/bash\n{body}\n").chmod(0o755)

    def install(self, others: dict) -> None:
        """The environment of verl: a Python that says it has the pinned versions, but for `others`."""
        pins = yaml.safe_load(PINS.read_text(encoding="utf-8"))["gpu"]
        found = {"python": f"{pins['python']}.7", "TransferQueue": pins["packages"]["transferqueue"]}
        found |= {name: version for name, version in pins["packages"].items() if name != "transferqueue"}
        found = {name: version for name, version in (found | others).items() if version}
        self.command("python", f"echo '{json.dumps(found)}'", folder="gpu/bin")

    def pin(self, **changed) -> None:
        """The catalogue knows the hash of one file, and that of the model's configuration."""
        file = {"name": "train.csv", "bytes": 9, "sha256": hashlib.sha256(b"train.csv").hexdigest()} | changed
        source = {"description": "d", "licence": "l", "revision": None, "url": "https://example.org/{name}"}
        entries = {"planner": {**source, "folder": "planner", "files": [file]}}
        self.write("config/sources.yaml", yaml.safe_dump(entries))

    def results(self) -> list:
        profile = self.folder / "site" / "config.yaml"
        self.write("site/config.yaml", yaml.safe_dump(self.profile))
        study = Study.from_config(self.config)
        return list(preflight(Subject(study, study.models, load_profile(str(profile.parent)))))

    def faults(self) -> list[str]:
        return [str(result) for result in self.results() if result.status is not Status.ok]


@pytest.fixture
def place(tmp_path, sharded_model, monkeypatch) -> Place:
    place = Place(tmp_path, sharded_model)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}")
    return place


def only(faults: list[str]) -> str:
    assert len(faults) == 1, faults
    return faults[0]


def test_a_sound_study_passes(place):
    results = place.results()
    assert [str(r) for r in results if r.status is not Status.ok] == []
    said = "\n".join(map(str, results))
    for part in ("weights of tiny", "tokenizer of tiny", "'venv:gpu' has verl 0.9.1", "2 of 2 nodes in 'gpu'", "disk"):
        assert part in said


def test_all_faults_are_told_at_once(place):
    (place.folder / "data/planner/prompt.txt").unlink()
    (place.model / "config.json").write_text("{", encoding="utf-8")
    place.install({"torch": "2.0.0"})
    place.profile["set-resources"]["train_run"]["slurm_partition"] = "nowhere"
    faults = place.faults()
    assert [fault.split(":")[0] for fault in faults] == [
        "FAIL  data",
        "FAIL  architecture of tiny",
        "FAIL  tokenizer of tiny",
        "FAIL  environment",
        "FAIL  jobs of train_run",
        "warn  disk",
    ]


# ---- files ----


def test_a_file_that_is_not_the_pinned_one(place):
    place.pin(sha256="0" * 64)
    names(only(place.faults()), "train.csv", hashlib.sha256(b"train.csv").hexdigest())
    place.pin(bytes=10)
    names(only(place.faults()), "train.csv", 9, 10)


def test_a_missing_file_that_a_download_brings_is_no_fault_yet(place):
    (place.folder / "data/planner/train.csv").unlink()
    fault = only(place.faults())
    assert fault.startswith("warn  data: ")
    names(fault, "data/planner/train.csv", "missing")


# ---- the model ----


def shards(place) -> list[Path]:
    return sorted(place.model.glob("*.safetensors"))


def test_a_file_of_weights_that_was_cut_off(place):
    size = shards(place)[1].stat().st_size
    os.truncate(shards(place)[1], size - 7)
    names(only(place.faults()), shards(place)[1].name, f"{size - 7:,}", f"{size:,}")
    os.truncate(shards(place)[1], 5)
    names(only(place.faults()), shards(place)[1].name, "cut")


def test_a_file_of_weights_that_is_missing_or_another_ones(place):
    first, second, *_ = shards(place)
    shutil.copy(first, second)
    names(only(place.faults()), second.name, "index")
    second.unlink()
    names(only(place.faults()), second.name, "missing")


def test_hashes_that_the_study_took_are_held_against_the_catalogue(place):
    own = place.folder / "results/trial/models/tiny"
    shutil.copytree(place.model, own)
    place.config["models"]["tiny"]["path"] = "data/planner"
    for found, faults in (("train", 0), ("other", 1)):
        record = {"files": {"train.csv": {"sha256": hashlib.sha256(f"{found}.csv".encode()).hexdigest()}}}
        (own / "MANIFEST.json").write_text(json.dumps(record), encoding="utf-8")
        said = [fault for fault in place.faults() if "files of tiny" in fault]
        assert len(said) == faults and all("train.csv" in fault for fault in said)


def change_json(path: Path, **changed) -> None:
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changed), encoding="utf-8")


def test_a_model_of_another_kind_or_size(place):
    change_json(place.model / "config.json", model_type="qwen3_moe")
    any_names(place.faults(), "architecture of tiny", "config.json", "qwen3_moe")
    change_json(place.model / "config.json", model_type="qwen3")
    place.config["models"] = {"qwen3-8b": {"path": "models/tiny"}}
    fault = only(place.faults())
    assert fault.startswith("FAIL  architecture of qwen3-8b")
    names(fault, "config.json", "sizes")


@pytest.mark.parametrize(
    ("template", "named"),
    [
        ("{{ messages[0].content }}", "search_flights"),
        ("{% for m in messages %}{{ m.wrong.key }}{% endfor %}", "UndefinedError"),
    ],
)
def test_a_chat_template_that_cannot_hand_over_the_tools(place, template, named):
    (place.model / "chat_template.jinja").write_text(template, encoding="utf-8")
    fault = only(place.faults())
    assert fault.startswith("FAIL  tokenizer of tiny")
    names(fault, named)


def test_tags_that_decoding_would_lose(place):
    tokenizer = AutoTokenizer.from_pretrained(place.model)
    tokenizer.add_special_tokens({"additional_special_tokens": ["<tool_call>"]})
    tokenizer.save_pretrained(place.model)
    names(only(place.faults()), "tokenizer of tiny", "<tool_call>", "lost")


# ---- the environment ----


def test_versions_are_held_against_the_pins_without_their_build(place):
    place.install({"torch": "2.11.0+cu130"})
    assert place.faults() == []
    place.install({"sglang": None, "ray": "2.0.0", "python": "3.11.4"})
    warning, fault = place.faults()
    assert warning.startswith("warn  environment: ")
    names(warning, "3.11.4", "3.12")
    names(fault, "venv:gpu", "sglang missing", "0.5.14", "ray 2.0.0", "2.60.0")
    place.config["environment"] = "venv:nowhere"
    names(only(place.faults()), "environment", "nowhere/bin/python", "started")


# ---- the cluster ----


@pytest.mark.parametrize(
    ("rule", "changed", "named"),
    [
        ("train_run", {"slurm_partition": "big"}, ["jobs of train_run", "'big'", "cpu, debug, gpu"]),
        ("train_run", {"slurm_partition": "debug"}, ["jobs of train_run", "'debug'", 1, "gpu:8", 2]),
        ("train_run", {"mem": "3TB"}, ["jobs of train_run", "'gpu'", 0, "3000000.0 MB"]),
        ("train_run", {"runtime": "3d"}, ["jobs of train_run", "'gpu'", 0, "4320.0 minutes"]),
        ("evaluate_checkpoint", {"gres": "gpu:a100:8"}, ["jobs of evaluate_checkpoint", 0, "gpu:a100:8"]),
        ("train_run", {"nodes": 1}, ["set-resources.train_run.nodes", 1, "trainer.nnodes", 2]),
        ("train_run", {"mpi": None}, ["set-resources.train_run", "mpi: srun", "mpi: None"]),
        ("train_run", {"tasks": 1}, ["set-resources.train_run", "tasks: 2", "tasks: 1"]),
        (
            "evaluate_checkpoint",
            {"gres": "gpu:h200:4"},
            ["set-resources.evaluate_checkpoint.gres", 4, "trainer.n_gpus_per_node", 8],
        ),
        ("evaluate_checkpoint", {"gres": "gpus=8"}, ["set-resources.evaluate_checkpoint.gres", "'gpus=8'"]),
        ("train_run", {"nodes": "two"}, ["set-resources.train_run.nodes", "'two'"]),
    ],
)
def test_what_a_job_asks_for_and_the_cluster_or_the_study_does_not_have(place, rule, changed, named):
    place.profile["set-resources"][rule] |= changed
    any_names(place.faults(), *named)


def test_a_study_of_memory_is_held_against_its_own_jobs(place):
    place.config |= {"regimes": {}, "memory": {"shares": [0.6]}}
    place.profile["set-resources"]["memory_probe"] = place.profile["set-resources"]["train_run"] | {"nodes": 1}
    names(only(place.faults()), "set-resources.memory_probe.nodes", 1, "trainer.nnodes", 2)
    assert not any("train_run" in str(result) for result in place.results())


def test_a_fine_tuning_to_come_is_looked_at_and_a_finished_one_is_not(place):
    runs = [str(result) for result in place.results() if "runs to come" in str(result)]
    assert "1 runs to come" in only(runs)
    place.config["models"]["tiny"]["fine_tune"] = {"trajectories": ["recorded.jsonl"]}
    place.profile["set-resources"]["fine_tune"] = {"slurm_partition": "cpu", "gres": "gpu:4"}
    faults = place.faults()
    any_names(faults, "models.tiny.fine_tune.trajectories", "recorded.jsonl")
    any_names(faults, "nodes of fine_tune", "set-resources.fine_tune.gres", 4, "trainer.n_gpus_per_node", 8)
    any_names(faults, "jobs of fine_tune", "'cpu'", 0, "gpu:4")
    place.write("recorded.jsonl", "")
    any_names(place.faults(), "models.tiny.fine_tune.trajectories", "recorded.jsonl", "holds")
    episode = {"text": "\nassistant\ndone", "answer": "done", "turns": 1, "sub_rewards": {"pass": 0.0}}
    place.write("recorded.jsonl", json.dumps(episode) + "\n")
    any_names(place.faults(), "models.tiny.fine_tune.trajectories", "recorded.jsonl", "passed")
    place.write("recorded.jsonl", json.dumps(episode | {"sub_rewards": {"pass": 1.0}}) + "\n")
    place.profile["set-resources"]["fine_tune"] = {"slurm_partition": "gpu", "gres": "gpu:8"}
    assert place.faults() == []
    assert any("2 runs to come" in str(result) for result in place.results())
    own = place.folder / "results/trial/models/tiny"
    shutil.copytree(place.model, own)
    (own / "MANIFEST.json").write_text(json.dumps({"files": {}}), encoding="utf-8")
    del place.profile["set-resources"]["fine_tune"]
    (place.folder / "recorded.jsonl").unlink()
    assert place.faults() == []


def test_nodes_that_are_down_are_waited_for(place):
    place.command("sinfo", f"cat <<'END'\n{SINFO.replace('gpu01|gpu|up|mix', 'gpu01|gpu|up|down*')}END")
    fault = only(place.faults())
    assert fault.startswith("warn  jobs of train_run: ")
    names(fault, 2, "'gpu'", 1)


def test_a_cluster_that_does_not_answer(place, monkeypatch):
    place.command("sinfo", "echo 'Unable to contact slurm controller' >&2; exit 1")
    names(only(place.faults()), "cluster", "Unable to contact slurm controller")  # as sinfo says it
    monkeypatch.setattr("planner_r1.preflight.cluster.SECONDS", 0.2)
    place.command("sinfo", "exec sleep 30")
    names(only(place.faults()), "cluster", "sinfo", "0.2 s")
    (place.folder / "bin" / "sbatch").unlink()
    monkeypatch.setenv("PATH", f"{place.folder}/bin")
    names(only(place.faults()), "cluster", "sbatch")


def test_several_nodes_without_slurm(place):
    place.profile = {"cores": 8}
    names(only(place.faults()), "trainer.nnodes", 2, "--profile slurm")


def test_nodes_as_sinfo_writes_them(place):
    nodes = {(node.name, node.partition): node for node in read_nodes()}
    assert nodes["gpu01", "gpu"].gpus == {"h200": 8} and nodes["cpu01", "cpu"].gpus == {}
    assert nodes["gpu01", "gpu"].minutes == 60 * 60 and nodes["gpu02", "debug"].minutes == 30
    place.command("sinfo", "echo 'n1|p|up|idle~|gpu:a100:4(S:0),gpu:2,mps:100|64+|500000+|infinite'")
    (node,) = read_nodes()
    assert node.gpus == {"a100": 4, "": 2} and node.gpus_of(None) == 6 and node.gpus_of("a100") == 4
    assert (node.cpus, node.memory, node.minutes, node.works) == (64, 500000, None, True)


def test_a_profile_that_is_not_there_or_no_profile(place):
    with refused("'nowhere'", "profile"):
        load_profile("nowhere")
    place.write("wrong/config.yaml", "- a list")
    with refused("wrong/config.yaml", "keys"):
        load_profile("wrong")


# ---- disk and endpoints ----


def test_too_little_disk_and_a_folder_that_cannot_be_written(place, monkeypatch):
    free = shutil.disk_usage(place.folder)._replace(free=10)
    monkeypatch.setattr(disk.shutil, "disk_usage", lambda path: free)
    names(only(place.faults()), "disk", "1 runs", "0.0 GB", "free")
    run = place.folder / "results/trial/runs/tiny/dense/seed0"
    run.mkdir(parents=True)
    (run / "MANIFEST.json").touch()
    assert place.faults() == []  # a whole run takes nothing more

    def refuse(**options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(disk.tempfile, "NamedTemporaryFile", refuse)
    names(only(place.faults()), "results", "Permission denied")


def test_an_endpoint_that_does_not_answer_or_whose_key_is_not_set(place, monkeypatch):
    endpoint = {"url": "http://127.0.0.1:9/v1", "model": "m", "api_key_env": "A_KEY"}
    place.config["models"]["far"] = {"endpoint": endpoint}
    monkeypatch.delenv("A_KEY", raising=False)
    names(only(place.faults()), "endpoint far", "A_KEY", "set")
    monkeypatch.setenv("A_KEY", "secret")
    fault = only(place.faults())
    assert fault.startswith("FAIL  endpoint far") and "secret" not in fault
    names(fault, endpoint["url"], "answer")


def test_the_simulated_user_of_a_suite_is_asked_too(place, monkeypatch):
    user = {"url": "http://127.0.0.1:9/v1", "model": "m", "api_key_env": "A_KEY"}
    place.config["suites"] = {"tau_bench": {"source": "synthetic", "user": user}}
    monkeypatch.setenv("A_KEY", "secret")
    fault = only(place.faults())
    assert fault.startswith("FAIL  user of tau_bench") and "secret" not in fault
    names(fault, user["url"], "answer")
    place.config["suites"]["tau_bench"]["user"] = "scripted"
    assert place.faults() == []


# ---- the command ----


@pytest.mark.parametrize("sound", [True, False])
def test_the_command_ends_with_the_verdict(place, sound, monkeypatch, capsys):
    if not sound:
        (place.model / "config.json").unlink()
    place.results()  # writes the profile
    study = place.write("study.yaml", yaml.safe_dump(place.config))
    arguments = ["preflight", "--study", str(study), "--profile", "site", "--model", "tiny"]
    monkeypatch.setattr("sys.argv", ["planner-r1", *arguments])
    try:
        cli.main()
        status = 0
    except SystemExit as end:
        status = end.code or 0
    lines = capsys.readouterr().out.splitlines()
    assert status == (0 if sound else 1)
    assert all(line.startswith(("ok    ", "warn  ", "FAIL  ")) for line in lines)
    assert any(line.startswith("FAIL") for line in lines) is not sound
