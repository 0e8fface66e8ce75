"""The study of real rows, from a mirror of the rows at hand: downloads, the sandbox, the queries, the suites' data."""

import csv
import json
import shutil

import pyarrow.parquet as pq
import pytest
import yaml

from helpers.checkout import copy_repository
from helpers.mirror import pin, write_mirror
from planner_r1.queries import load_queries
from planner_r1.study import SUITE_FILES

SOURCES = ("travelplanner_database", "travelplanner_queries", "naturalplan", "multi_if")
STUDY = ("--configfile", "config/real_rows.yaml")


@pytest.fixture
def site(shared_data, tmp_path, monkeypatch):
    """A fresh copy of the repository, and a mirror that holds the rows at hand."""
    (tmp_path / "checkout").mkdir()
    copy = copy_repository(tmp_path / "checkout")
    write_mirror(shared_data, tmp_path / "mirror")
    monkeypatch.setenv("PLANNER_R1_MIRROR", str(tmp_path / "mirror"))
    monkeypatch.chdir(copy.folder)
    return copy


def test_real_rows_come_from_a_mirror_through_the_data_stations(site, run, shared_data, tmp_path):
    pin(site.folder / "config" / "sources.yaml", tmp_path / "mirror")
    study = yaml.safe_load((site.folder / "config" / "real_rows.yaml").read_text())
    study["sandbox"]["official"] = False  # a subset of the flights
    (site.folder / "config" / "real_rows.yaml").write_text(yaml.safe_dump(study))
    data = site.folder / "data"
    status, _, told = run("download", *SOURCES)
    assert status == 0, told
    (data / "tau_bench_retail").mkdir()
    for name in SUITE_FILES["tau_bench"]:  # in its final layout; the files that it is made of are not at hand
        shutil.copyfile(shared_data / "tau_bench_retail" / name, data / "tau_bench_retail" / name)

    done = site.snakemake("--cores", "2", "downloads", "sandbox", "data", *STUDY)
    assert done.returncode == 0, done.stderr
    results = site.folder / "results" / "real_rows"
    report = json.loads((results / "sandbox" / "report.json").read_text())
    rows = {table: report[table]["read"] for table in ("accommodations", "restaurants", "attractions", "distances")}
    assert rows == {"accommodations": 5047, "restaurants": 9551, "attractions": 5302, "distances": 17602}
    splits = {"train": ("validation", 180), "validation": ("train", 45)}
    for split, (official, size) in splits.items():
        expected = load_queries(shared_data / "travelplanner" / "queries" / f"{official}.jsonl")
        assert load_queries(results / "data" / f"{split}.jsonl") == expected
        assert pq.read_metadata(results / "data" / f"{split}.parquet").num_rows == size == len(expected)
    for name in SUITE_FILES["natural_plan"]:
        assert (data / "naturalplan" / name).read_bytes() == (shared_data / "naturalplan" / name).read_bytes()
    (english,) = SUITE_FILES["multi_if"]
    with open(data / "multi_if" / english, encoding="utf-8", newline="") as file:
        assert {row["language"] for row in csv.DictReader(file)} == {"English"}
    assert site.planned("downloads", "sandbox", "data", *STUDY) == {}
