"""What clusters do to runs: SLURM queues them again, nodes die, jobs hang until their time limit."""

import hashlib
import json

import pytest

pytestmark = pytest.mark.long

STEPS = 20  # more than are made until the last thing has happened


def test_runs_survive_what_happens_on_a_cluster(site):
    """One run is queued again by SLURM, loses a node, and hangs until its time limit; another one can never work."""
    site.study["regimes"] |= {
        "long": [{"weights": "stage1", "steps": STEPS}],
        "broken": {
            "phases": [{"weights": "stage1", "steps": 1}],
            # no prompt is as short: verl says so when it has started
            "overrides": {"trainer.nnodes": 1, "data.max_prompt_length": 8},
        },
    }
    long = "tiny/long/seed0"
    snakemake = site.start("train", "--retries", "2")

    site.wait(lambda: site.goes_on(long, after=0), "the first attempt made no steps")
    before = site.segments(long)[-1]
    site.cluster.client("scontrol", "requeue", site.job(long)["id"])

    site.wait(lambda: site.goes_on(long, after=before), "the job that was queued again made no steps")
    second, before = site.job(long), site.segments(long)[-1]
    lost = next(node for node in site.nodes(second) if node != second["batch"])
    site.kill_node(lost)
    site.wait(lambda: lost in _down(site.cluster), "the dead node was not noticed")
    site.cluster.start_node(lost)

    site.wait(lambda: site.goes_on(long, after=before), "the job whose node died did not go on")
    third = site.job(long)
    site.hang(third)
    site.cluster.client("scontrol", "update", f"JobId={third['id']}", "TimeLimit=1")
    site.wait(lambda: site.state(third["id"]) == "TIMEOUT", "the job did not run into its time limit")

    assert site.end(snakemake) == 1, site.account()  # because of the run that cannot work
    run = site.results / "runs" / "tiny" / "long" / "seed0"
    manifest = json.loads((run / "MANIFEST.json").read_text(encoding="utf-8"))
    assert manifest["final_step"] == STEPS
    lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["step"] for line in lines] == list(range(STEPS + 1))
    for name, file in manifest["files"].items():
        assert hashlib.sha256((run / name).read_bytes()).hexdigest() == file["sha256"], name
    starts = [segment["first_step"] for segment in manifest["segments"]]
    assert starts == sorted(starts) and starts[0] == 1
    assert len(set(starts)) >= 4  # it went on each time, and at most started again where it could not make a step

    assert "validation prompts are longer than data.max_prompt_length=8" in site.said
    assert not (site.results / "runs" / "tiny" / "broken" / "seed0" / "MANIFEST.json").exists()
    site.wait(lambda: not site.cluster.client("squeue", "--noheader"), "jobs are left in the queue")


def _down(cluster) -> set[str]:
    rows = cluster.client("sinfo", "--noheader", "--Node", "--format=%N %t").splitlines()
    return {row.split()[0] for row in rows if row.split()[1].startswith("down")}
