"""Downloads as part of the DAG: what a study lacks is fetched, what is there is never fetched nor removed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import zipfile

import pytest
import yaml

from helpers.checkout import STUB, copy_repository
from helpers.file_server import cut_off, file_server, held, status
from helpers.messages import any_names
from planner_r1.study import DATABASE_FILES, SUITE_FILES

QUERIES = [f"data/travelplanner/queries/{split}.csv" for split in ("train", "validation", "test")]
PAPER = ("--configfile", "config/paper.yaml")


def put(folder, *paths):
    """Files of a site that has them already."""
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("the site's own")


def downloads(copy, *arguments):
    planned = copy.planned(*arguments)
    return planned.get("download", 0), planned.get("unpack", 0)


def test_only_what_is_absent_is_planned(tmp_path):
    copy = copy_repository(tmp_path)
    assert downloads(copy, "all", *PAPER) == downloads(copy, "downloads", *PAPER) == (65, 6)
    put(copy.folder, *QUERIES[:2], *(f"data/travelplanner/database/{name}" for name in DATABASE_FILES))
    # the tables are there, so that their archive is not needed
    assert downloads(copy, "all", *PAPER) == (62, 0)
    put(copy.folder, "data/models/Qwen3-8B/config.json", "data/models/Qwen3-8B/model-00003-of-00005.safetensors")
    assert downloads(copy, "all", *PAPER) == (60, 0)


def test_a_site_with_paths_of_its_own_downloads_nothing(tmp_path):
    copy = copy_repository(tmp_path)
    study = yaml.safe_load((copy.folder / "config" / "paper.yaml").read_text())
    study["sandbox"]["database"] = "/scratch/travelplanner/database"
    study["queries"] |= {split: f"/scratch/{split}.csv" for split in ("train", "validation", "test")}
    study["models"] = {name: {"path": f"/scratch/{name}"} for name in study["models"]}
    for suite in SUITE_FILES:
        study["suites"][suite]["folder"] = f"/scratch/{suite}"
    (copy.folder / "config" / "paper.yaml").write_text(yaml.safe_dump(study))
    assert downloads(copy, "all", *PAPER) == (0, 0)


def test_studies_of_made_up_worlds_download_nothing(checkout):
    assert downloads(checkout, "all") == (0, 0)


def test_the_suites_have_a_target_of_their_own(checkout):
    planned = checkout.planned("suite_data")
    expected = {"download": 28, "unpack": 4, "multi_if_english": 1, "tau_bench_tasks": 3, "tau_bench_tools": 1}
    assert planned == expected | {"suite_data": 1}


def test_a_suite_in_its_final_layout_needs_no_sources(tmp_path):
    copy = copy_repository(tmp_path)
    tau = [f"data/tau_bench_retail/taubench_retail_tasks_{split}.json" for split in ("test", "dev", "train")]
    put(copy.folder, *tau, "data/tau_bench_retail/tau_retail_tools.json", "data/multi_if/multiIF_20241018_english.csv")
    assert copy.planned("suite_data") == {"download": 8, "unpack": 4, "suite_data": 1}


def test_a_wrong_catalogue_is_told_in_one_line(tmp_path):
    copy = copy_repository(tmp_path)
    (copy.folder / "config" / "sources.yaml").write_text("naturalplan: {}\n")
    done = copy.snakemake("-n", "all")
    assert done.returncode == 1
    any_names(done.stderr, "config/sources.yaml", "naturalplan", "'description'")


@pytest.fixture
def site(tmp_path):
    """A copy whose catalogue points to a server of this machine, and a study that reads a file of each kind from it."""
    copy = copy_repository(tmp_path)
    archive = tmp_path / "tables.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for name in DATABASE_FILES:
            file.writestr(f"database/{name}", f"table {name}")
    with file_server() as server:
        server.files = {
            "/tables.zip": archive.read_bytes(),
            "/train.csv": b"train",
            "/validation.csv": b"validation",
            "/model-1.safetensors": bytes(3_000_000),
            "/model-2.safetensors": bytes(1_000_000),
            "/config.json": b"{}",
        }
        members = [{"name": f"database/{name}", "bytes": len(f"table {name}")} for name in DATABASE_FILES]
        catalogue = {
            "tables": source(server, "world", {"name": "tables.zip", "members": members}),
            "queries": source(server, "queries", {"name": "train.csv"}, {"name": "validation.csv"}),
            "model": source(
                server, "models/m", *({"name": n[1:]} for n in server.files if "model" in n or "conf" in n)
            ),
        }
        (copy.folder / "config" / "sources.yaml").write_text(json.dumps(catalogue))
        study = yaml.safe_load((copy.folder / "config" / "paper.yaml").read_text())
        study |= {"study": "site", "models": {"m": {"path": "data/models/m"}}, "seeds": [0], "suites": None}
        study["training"]["backend"] = "cpu"
        study["sandbox"]["database"] = "data/world/database"
        study["queries"] = {"source": "files", "train": "data/queries/train.csv"}
        study["queries"] |= {"validation": "data/queries/validation.csv"}
        study["regimes"] = {"stage1": [{"weights": "stage1", "steps": 5}]}
        study["evaluation"] = {"splits": ["validation"], "checkpoints": "final"}
        (copy.folder / "config" / "site.yaml").write_text(json.dumps(study))
        yield copy, server


def source(server, folder, *files):
    plain = {"bytes": None, "sha256": None}
    entry = {"description": "d", "licence": "l", "revision": None, "url": f"{server.url}/{{name}}", "folder": folder}
    return entry | {"files": [plain | file for file in files]}


SITE = ("--configfile", "config/site.yaml")


def test_downloads_are_made_and_never_again(site):
    copy, server = site
    done = copy.snakemake("--cores", "2", "downloads", *SITE)
    assert done.returncode == 0, done.stderr
    data = copy.folder / "data"
    assert (data / "world" / "database" / DATABASE_FILES[0]).read_text() == f"table {DATABASE_FILES[0]}"
    assert len(list((data / "models" / "m").iterdir())) == 3
    assert len(json.loads((data / "sources.lock.json").read_text())) == len(server.asked) == len(server.files)

    before = {file: file.stat().st_mtime_ns for file in data.rglob("*") if file.is_file()}
    assert downloads(copy, "all", *SITE) == (0, 0)
    # neither an edit of the rule and its script nor force removes or fetches what is there
    for edited in ("workflow/rules/downloads.smk", "workflow/scripts/download.py"):
        with open(copy.folder / edited, "a") as file:
            file.write("\n# edited\n")
    done = copy.snakemake("--cores", "2", "--forceall", "downloads", *SITE)
    assert done.returncode == 0, done.stderr
    assert {file: file.stat().st_mtime_ns for file in data.rglob("*") if file.is_file()} == before
    assert len(server.asked) == len(server.files)

    # a file that is lost is fetched, and it alone
    (data / "models" / "m" / "config.json").unlink()
    assert downloads(copy, "downloads", *SITE) == (1, 0)


@pytest.mark.slow
def test_a_file_that_was_lost_and_fetched_again_trains_nothing_again(site):
    copy, _ = site
    for script in (copy.folder / "workflow" / "scripts").glob("*.py"):
        if script.stem not in ("download", "unpack"):
            script.write_text(STUB)
    done = copy.snakemake("--cores", "2", "all", *SITE)
    assert done.returncode == 0, done.stderr
    assert copy.planned("all", *SITE) == {}

    for lost in ("models/m/model-1.safetensors", f"world/database/{DATABASE_FILES[0]}", "queries/train.csv"):
        (copy.folder / "data" / lost).unlink()
    assert "train_run" not in copy.planned("all", *SITE)
    assert copy.snakemake("--cores", "2", "downloads", *SITE).returncode == 0
    assert copy.planned("all", *SITE) == {}


@pytest.mark.slow
def test_a_download_that_fails_leaves_the_others_and_what_came_of_it(site):
    copy, server = site
    shard = "data/models/m/model-1.safetensors"
    server.faults.extend([cut_off(2_000_000), status(404)])
    done = copy.snakemake("--cores", "1", shard, *SITE)
    assert done.returncode == 1
    any_names(done.stderr, "model-1.safetensors", 404)
    assert (copy.folder / f"{shard}.part").stat().st_size == 2_000_000

    done = copy.snakemake("--cores", "1", shard, *SITE)
    assert done.returncode == 0, done.stderr
    assert server.asked[-1].range == "bytes=2000000-"
    assert server.sent == 3_000_000
    assert os.listdir(copy.folder / "data" / "models" / "m") == ["model-1.safetensors"]


@pytest.mark.slow
def test_a_killed_snakemake_goes_on(site):
    copy, server = site
    shard = "data/models/m/model-1.safetensors"
    sent, free = threading.Event(), threading.Event()
    server.faults.append(held(2_000_000, sent, free))
    command = [sys.executable, "-m", "snakemake", "--cores", "1", shard, *SITE]
    with subprocess.Popen(
        command, cwd=copy.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as process:
        assert sent.wait(timeout=120)
        os.killpg(process.pid, signal.SIGKILL)
    free.set()
    came = (copy.folder / f"{shard}.part").stat().st_size
    done = copy.snakemake("--cores", "1", "--nolock", shard, *SITE)
    assert done.returncode == 0, done.stderr
    assert server.asked[-1].range == (f"bytes={came}-" if came else None)
    assert (copy.folder / shard).read_bytes() == server.files["/model-1.safetensors"]


@pytest.mark.slow
def test_a_copy_of_a_filled_data_folder_serves_another_site(site, tmp_path_factory, monkeypatch):
    copy, server = site
    assert copy.snakemake("--cores", "2", "downloads", *SITE).returncode == 0
    mirror = tmp_path_factory.mktemp("mirror") / "data"
    shutil.move(copy.folder / "data", mirror)
    server.asked.clear()
    monkeypatch.setenv("PLANNER_R1_MIRROR", str(mirror))
    done = copy.snakemake("--cores", "2", "downloads", *SITE)
    assert done.returncode == 0, done.stderr
    assert server.asked == []
    assert (copy.folder / "data" / "queries" / "train.csv").read_bytes() == b"train"
