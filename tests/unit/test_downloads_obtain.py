"""A file of the catalogue: where it is looked for, what it is checked against, and what a person is told."""

import hashlib
import json
import os
import shutil
from pathlib import Path

import pytest

from helpers.file_server import file_server
from helpers.messages import refused
from planner_r1.downloads import obtain as module
from planner_r1.downloads.obtain import obtain, places
from planner_r1.downloads.sources import File, load_catalogue
from planner_r1.errors import InputError

BODY = b"idx,query\n1,a trip\n"
SHA256 = hashlib.sha256(BODY).hexdigest()
QUERIES = Path("data/queries/train.csv")


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A server with one file, in an empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    for name in ("PLANNER_R1_MIRROR", "HF_ENDPOINT", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    with file_server() as server:
        server.files["/r1/train.csv"] = BODY
        yield server


def catalogue(server, sha256=SHA256, size=19):
    entry = {"description": "queries", "licence": "MIT", "revision": None, "folder": "queries"}
    entry |= {"url": f"{server.url}/r1/{{name}}", "files": [{"name": "train.csv", "bytes": size, "sha256": sha256}]}
    Path("config").mkdir(exist_ok=True)
    Path("config/sources.yaml").write_text(json.dumps({"queries": entry}))
    return load_catalogue()


def test_a_file_is_brought_and_checked(server, capsys):
    obtain(catalogue(server), QUERIES)
    assert QUERIES.read_bytes() == BODY
    assert f"sha256 {SHA256}" in capsys.readouterr().err
    assert not Path("data/sources.lock.json").exists()  # the hash was known


def test_what_is_there_is_not_fetched_again(server):
    QUERIES.parent.mkdir(parents=True)
    QUERIES.write_text("the user's own")
    obtain(catalogue(server), QUERIES)
    assert QUERIES.read_text() == "the user's own" and server.asked == []


def test_a_wrong_hash_says_what_to_do_and_leaves_nothing(server):
    server.files["/r1/train.csv"] = BODY.upper()
    with pytest.raises(InputError) as error:
        obtain(catalogue(server), QUERIES)
    found = hashlib.sha256(BODY.upper()).hexdigest()
    for part in (str(QUERIES), f"{server.url}/r1/train.csv", SHA256, found, "config/sources.yaml", "Try again"):
        assert part in str(error.value)
    assert os.listdir("data/queries") == []


def test_where_no_hash_is_known_the_first_download_decides(server):
    unknown = catalogue(server, sha256=None, size=None)
    obtain(unknown, QUERIES)
    lock = json.loads(Path("data/sources.lock.json").read_text())
    assert lock == {"queries/train.csv": {"sha256": SHA256, "bytes": len(BODY), "url": f"{server.url}/r1/train.csv"}}
    QUERIES.unlink()
    server.files["/r1/train.csv"] = BODY.upper()
    with pytest.raises(InputError, match=rf"data/sources.lock.json says {SHA256}"):
        obtain(unknown, QUERIES)
    server.files["/r1/train.csv"] = BODY
    obtain(unknown, QUERIES)
    assert QUERIES.read_bytes() == BODY


def test_a_damaged_record_is_named(server):
    Path("data").mkdir()
    Path("data/sources.lock.json").write_text("{")
    with pytest.raises(InputError, match=r"data/sources.lock.json: not JSON"):
        obtain(catalogue(server, sha256=None), QUERIES)


@pytest.mark.parametrize("form", ["{}", "file://{}"])
def test_a_filled_data_folder_is_a_mirror(server, monkeypatch, tmp_path, form):
    obtain(catalogue(server), QUERIES)
    shutil.move("data", "mirror")
    server.asked.clear()
    monkeypatch.setenv("PLANNER_R1_MIRROR", form.format(tmp_path / "mirror") + "/")
    obtain(catalogue(server), QUERIES)
    assert QUERIES.read_bytes() == BODY and server.asked == []


def test_a_mirror_that_lacks_the_file_is_passed_over(server, monkeypatch):
    monkeypatch.setenv("PLANNER_R1_MIRROR", f"{server.url}/mirror")
    obtain(catalogue(server), QUERIES)
    assert [asked.path for asked in server.asked] == ["/mirror/queries/train.csv", "/r1/train.csv"]


def test_a_mirror_has_to_hold_the_very_file(server, monkeypatch):
    server.files["/mirror/queries/train.csv"] = BODY.upper()
    monkeypatch.setenv("PLANNER_R1_MIRROR", f"{server.url}/mirror")
    with refused(f"{server.url}/mirror/queries/train.csv", hashlib.sha256(BODY.upper()).hexdigest()):
        obtain(catalogue(server), QUERIES)


def test_without_a_network_a_person_is_told_what_to_fetch_and_where_to_put_it(server):
    known = catalogue(server)
    with file_server() as gone:
        url = gone.url
    nowhere = load_catalogue_with_url(known, f"{url}/r1/train.csv")
    waits = []
    with refused(f"{url}/r1/train.csv", QUERIES, SHA256, "PLANNER_R1_MIRROR", "queries/train.csv", "refused"):
        obtain(nowhere, QUERIES, wait=waits.append)


def load_catalogue_with_url(catalogue, url):
    text = Path("config/sources.yaml").read_text().replace(catalogue.files[str(QUERIES)].url[: -len("train.csv")], "")
    Path("config/sources.yaml").write_text(text.replace('"{name}"', json.dumps(url)))
    return load_catalogue()


def test_the_hub_may_be_another_host_and_only_it_gets_the_token(server, monkeypatch):
    hub = File(Path("data/m/config.json"), "https://huggingface.co/Qwen/m/resolve/main/config.json", None, None)
    other = File(Path("data/m/config.json"), "https://example.org/config.json", None, None)
    assert places(hub)[0].url == hub.url and places(hub)[0].headers == {}
    monkeypatch.setenv("HF_ENDPOINT", "https://hub.example/")
    monkeypatch.setenv("HF_TOKEN", "secret")
    (place,) = places(hub)
    assert place.url == "https://hub.example/Qwen/m/resolve/main/config.json"
    assert place.headers == {"Authorization": "Bearer secret"}
    assert places(other)[0].headers == {}
    monkeypatch.setenv("PLANNER_R1_MIRROR", "https://mirror.example/data")
    assert [place.headers for place in places(hub)] == [{}, {"Authorization": "Bearer secret"}]


def test_no_room_is_said_before_anything_comes(server, monkeypatch):
    monkeypatch.setattr(module.shutil, "disk_usage", lambda folder: shutil._ntuple_diskusage(10, 0, 10))
    with refused("queries", "19 B", "10 B", "free"):
        obtain(catalogue(server), QUERIES)
    assert server.asked == []
