"""The catalogue: what the project's own holds, and what is refused."""

from pathlib import Path

import pytest
import yaml

from helpers.messages import refused
from planner_r1.downloads.sources import load_catalogue
from planner_r1.study import DATABASE_FILES, Study

REPOSITORY = Path(__file__).resolve().parents[2]
CATALOGUE = REPOSITORY / "config" / "sources.yaml"


def test_the_catalogue_has_all_that_the_paper_study_names():
    catalogue = load_catalogue(CATALOGUE)
    study = Study.from_config(yaml.safe_load((REPOSITORY / "config" / "paper.yaml").read_text(encoding="utf-8")))
    named = [f"{study.database}/{name}" for name in DATABASE_FILES]
    named += [study.query_file(split) for split in study.all_splits]
    assert [path for path in named if not catalogue.holds(path)] == []
    for model in study.models:
        if folder := study.model_path(model):
            names = {Path(path).name for path in catalogue.wanted_below(folder)}
            assert {"config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors.index.json"} <= names


def test_everything_is_pinned_by_a_commit_or_a_hash():
    for source in load_catalogue(CATALOGUE).sources.values():
        assert source.revision or all(file.sha256 for file in source.files), source.name
        assert all(source.revision is None or source.revision in file.url for file in source.files)


def test_the_shards_of_each_model_are_complete_and_known():
    catalogue = load_catalogue(CATALOGUE)
    for name, count, gigabytes in (("qwen3-8b", 5, 16.4), ("qwen3-32b", 17, 65.5)):
        source = catalogue.source(name)
        shards = [file for file in source.files if file.path.suffix == ".safetensors"]
        assert [file.path.name for file in shards] == [
            f"model-{i:05d}-of-{count:05d}.safetensors" for i in range(1, count + 1)
        ]
        assert len({file.sha256 for file in shards}) == count
        assert round(source.bytes / 1e9, 1) == gigabytes


GOOD = {
    "queries": {
        "description": "queries",
        "licence": "MIT",
        "revision": "a" * 40,
        "url": "https://example.org/{revision}/{name}",
        "folder": "queries",
        "files": [{"name": "raw/train.csv", "to": "train.csv", "bytes": 7, "sha256": "b" * 64}],
    }
}


def load(tmp_path, catalogue):
    path = tmp_path / "sources.yaml"
    path.write_text(catalogue if isinstance(catalogue, str) else yaml.safe_dump(catalogue))
    return load_catalogue(path)


def test_a_file_has_its_place_and_its_url(tmp_path):
    (file,) = load(tmp_path, GOOD).files.values()
    assert file.path == Path("data/queries/train.csv") and file.place == "queries/train.csv"
    assert file.url == f"https://example.org/{'a' * 40}/raw/train.csv"


def test_members_stand_for_their_archive(tmp_path):
    archive = {"name": "all.zip", "bytes": None, "sha256": None, "members": [{"name": "all/a.txt", "bytes": 1}]}
    catalogue = load(tmp_path, {"queries": GOOD["queries"] | {"files": [archive]}})
    assert catalogue.wanted_below("data/queries") == ["data/queries/all/a.txt"]
    assert catalogue.holds("data/queries/all.zip") and catalogue.holds("./data/queries/all/a.txt")
    assert not catalogue.holds("data/queries/other.txt")


@pytest.mark.parametrize(
    ("change", "key", "word"),
    [
        ({"licence": ""}, "queries.licence", "''"),
        ({"revision": "main"}, "queries.revision", "'main'"),
        ({"revision": None}, "queries.revision", "missing"),
        ({"mirror": "x"}, "queries", "'mirror'"),
        ({"url": "ftp://example.org/{name}"}, "queries.url", "'ftp://example.org/{name}'"),
        ({"folder": "../elsewhere"}, "queries", "../elsewhere/train.csv"),
        ({"folder": "/etc"}, "queries", "/etc/train.csv"),
        ({"files": []}, "queries.files", "[]"),
        ({"files": [{"name": "a", "bytes": 1}]}, "queries.files.0", "'sha256'"),
        ({"files": [{"name": "a", "bytes": 1, "sha256": "abc"}]}, "queries.files.0.sha256", "'abc'"),
        ({"files": [{"name": "a", "bytes": 1, "sha256": None}] * 2}, "queries", "data/queries/a"),
    ],
)
def test_a_wrong_catalogue_is_refused_in_one_line(tmp_path, change, key, word):
    with refused("sources.yaml", key, word):
        load(tmp_path, {"queries": GOOD["queries"] | change})


def test_no_catalogue_and_no_yaml(tmp_path):
    with refused("nowhere.yaml", "root"):
        load_catalogue(tmp_path / "nowhere.yaml")
    with refused("sources.yaml", "YAML"):
        load(tmp_path, "a: [")
    with refused("'query'", "sources.yaml", "queries"):
        load(tmp_path, GOOD).source("query")
