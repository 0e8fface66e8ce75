"""`planner-r1 download`, as a person runs it."""

import json
import sys
import zipfile

import pytest

from helpers.file_server import file_server
from helpers.messages import any_names, names
from planner_r1 import cli


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Runs the command in an empty folder with a catalogue of two sources; returns status, output and error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PLANNER_R1_MIRROR", raising=False)
    with zipfile.ZipFile(tmp_path / "tables.zip", "w") as file:
        file.writestr("tables/a.csv", "a")

    def entry(server, folder, file):
        about = {"description": f"some {folder}", "licence": "MIT", "revision": None, "folder": folder}
        return about | {"url": f"{server.url}/{{name}}", "files": [{"bytes": 2_000_000, "sha256": None} | file]}

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["planner-r1", "download", *arguments])
        status = 0
        try:
            cli.main()
        except SystemExit as end:
            status = end.code or 0
        return status, *capsys.readouterr()

    with file_server() as server:
        server.files = {"/weights.bin": bytes(2_000_000), "/tables.zip": (tmp_path / "tables.zip").read_bytes()}
        archive = {"name": "tables.zip", "bytes": None, "members": [{"name": "tables/a.csv", "bytes": 1}]}
        sources = {"model": entry(server, "models", {"name": "weights.bin"}), "world": entry(server, "world", archive)}
        (tmp_path / "config").mkdir()
        (tmp_path / "config" / "sources.yaml").write_text(json.dumps(sources))
        yield run


def test_sources_are_listed_with_what_is_here(run):
    for arguments in ([], ["--list"]):
        status, out, _ = run(*arguments)
        assert status == 0
        model, models, world, worlds = out.splitlines()
        names(model, "model", "0 of 1", "2.0 MB", "MIT")
        names(world, "world", "0 of 1", "unknown", "MIT")
        assert (models.strip(), worlds.strip()) == ("some models", "some world")


def test_sources_are_fetched_and_unpacked_once(run, tmp_path):
    status, _, err = run("model", "world")
    assert status == 0, err
    assert (tmp_path / "data" / "world" / "tables" / "a.csv").read_text() == "a"
    assert "models/weights.bin: 2.0 MB, sha256" in err
    assert run("--list")[1].count("1 of 1 files here") == 2
    (tmp_path / "data" / "world" / "tables.zip").unlink()
    assert run("model", "world") == (0, "", "")  # the archive's files are here: it is not needed again


def test_an_unknown_source_is_named_before_anything_comes(run, tmp_path):
    status, _, err = run("model", "words")
    assert status == 2
    any_names(err, "'words'", "config/sources.yaml", "model, world")
    assert not (tmp_path / "data").exists()


def test_outside_of_the_repository_a_person_is_told_so(run, tmp_path):
    (tmp_path / "config" / "sources.yaml").unlink()
    status, _, err = run("--list")
    assert status == 2
    any_names(err, "config/sources.yaml", "root")
