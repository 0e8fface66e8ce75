"""The table of a study of memory, from verl's own metrics and made-up outcomes."""

import json
from pathlib import Path

import pytest

from planner_r1.paper.reference import reference
from planner_r1.paper.render import read_csv, write_rows
from planner_r1.paper.tables import memory

# What verl 0.9.1 logged on a CPU: `snakemake -c 2 all --configfile config/smoke.yaml`, the file
# results/smoke/work/tiny/stage1/seed0/metrics.1.jsonl as it was left: a validation, two training steps of 8 episodes.
LOGGED = Path(__file__).resolve().parents[1] / "data" / "verl_metrics_cpu.jsonl"


@pytest.fixture(scope="module")
def steps():
    records = [json.loads(line) for line in LOGGED.read_text(encoding="utf-8").splitlines()]
    return [{"step": record["step"], **record["data"]} for record in records if record["step"]]


def probe(model="qwen3-8b", share=0.6, outcome="ran", kind=None, evidence=None, device_peak_gib=None, steps=()):
    return {
        **{"model": model, "share": share, "outcome": outcome, "kind": kind, "evidence": evidence},
        **{"device_peak_gib": device_peak_gib, "steps": list(steps)},
    }


def test_verls_own_metrics_are_read(steps):
    read = memory.measures(steps)
    first, second = steps
    peaks = [step["actor/perf/max_memory_allocated_gb"] for step in steps]
    assert read["trainer_peak_gib"] == pytest.approx(max(peaks), abs=1e-3) and read["trainer_peak_gib"] > 0.1
    assert read["trainer_reserved_gib"] >= read["trainer_peak_gib"]
    # the first step is left out of the times; tokens a second from other metrics of verl than the table uses
    assert read["step_s"] == pytest.approx(second["timing_s/step"], abs=1e-3)
    tokens = 8 * second["response_length/mean"]
    assert read["rollout_tokens_s"] == pytest.approx(tokens / second["timing_s/gen"], rel=1e-3)
    assert memory.measures([first])["step_s"] == pytest.approx(first["timing_s/step"], abs=1e-3)


def test_nothing_is_made_up_where_nothing_was_logged():
    assert set(memory.measures([]).values()) == {None}


def test_each_probe_has_a_row_and_a_lack_of_memory_its_kind_and_evidence(steps, tmp_path):
    probes = [
        probe(share=0.6, device_peak_gib=101.5, steps=steps),
        probe(share=0.9, outcome="out of memory", kind="GPU", evidence="CUDA out of memory | 3 GiB"),
    ]
    write_rows(memory.memory_table(probes), memory.FIELDS, tmp_path / "memory.csv")
    ran, failed, *_ = rows = read_csv(tmp_path / "memory.csv")
    assert (ran["outcome"], ran["device_peak_gib"], ran["steps"], ran["staged_waking"]) == ("ran", "101.5", "2", "on")
    assert (failed["outcome"], failed["step_s"], failed["steps"]) == ("out of memory (GPU)", "", "0")
    text = memory.markdown(rows, "Memory")
    assert "- qwen3-8b, share 0.9: CUDA out of memory \\| 3 GiB" in text
    lines = [line.replace("\\|", "") for line in text.splitlines() if line.startswith("| ")]
    assert len(lines) == len(rows) + 2 and len({line.count("|") for line in lines}) == 1


def test_the_papers_claims_stand_beside_ours_marked_and_with_what_compares():
    rows = [row for row in memory.memory_table([probe()]) if row["source"] == memory.PAPER]
    claims = {c["quantity"] for c in reference("headline")}
    assert set(memory.CLAIMS) <= claims
    assert len(rows) == sum(c["quantity"] in memory.CLAIMS for c in reference("headline")) == 5
    off = [row for row in rows if "saving" in row["outcome"] or "without" in row["outcome"]]
    assert len(off) == 2 and all(row["note"].startswith("not comparable") for row in off)
    assert all(row[key] is None for row in rows for key in ("device_peak_gib", "rollout_tokens_s", "step_s"))
    (most,) = (row for row in rows if "ratio with " in row["outcome"])
    assert "0.9 fraction" in most["outcome"] and most["model"] == "qwen3-32b"
