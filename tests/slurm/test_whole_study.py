"""`snakemake --profile slurm` on a real SLURM: the whole DAG, training over two nodes."""

import json

import pytest

pytestmark = pytest.mark.slow


def test_the_whole_study_with_training_over_two_nodes(site):
    snakemake = site.start("all")
    assert site.end(snakemake) == 0, site.account()
    run = site.results / "runs" / "tiny" / "stage1" / "seed0"
    manifest = json.loads((run / "MANIFEST.json").read_text(encoding="utf-8"))
    assert manifest["final_step"] == 4
    assert manifest["config"]["trainer"]["nnodes"] == 2
    log = (site.results / "work" / "tiny" / "stage1" / "seed0" / "verl.1.log").read_text(encoding="utf-8")
    assert "Ray is up on 2 nodes" in log
    assert "Planner-R1" in (site.results / "tables" / "table1.md").read_text(encoding="utf-8")

    again = site.start("all", "--dry-run")
    assert site.end(again) == 0, site.said
    assert "Nothing to be done" in site.said
