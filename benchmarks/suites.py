"""Measure how long the out-of-domain suites' answers take to score.

    python benchmarks/suites.py

Answers are real predictions where the real data lies beside the checkout, and made-up golden plans elsewhere.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path

from sandbox import bar
from typer.testing import CliRunner

from planner_r1.cli import app
from planner_r1.ood.natural_plan.made_up import make_examples

REAL = Path(__file__).resolve().parents[2] / "shared/data/naturalplan"
TRIPS = 1_600


def main() -> None:
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder:
        measure_trips(Path(folder))


def measure_trips(folder: Path) -> None:
    """As many trips as the official test has, through the command: reading, both scores, writing."""
    if REAL.is_dir():
        examples = json.loads((REAL / "trip_planning.json").read_text(encoding="utf-8"))
        rows = (REAL / "naturalplan_trip.jsonl").read_text(encoding="utf-8").splitlines()
        given = [{"id": row["id"], "answer": row["prediction"]} for row in map(json.loads, rows)]
        print(f"answers: the {len(given)} of {REAL}, again and again")
    else:
        examples = make_examples("trip", TRIPS, seed=0)
        given = [{"id": key, "answer": fields["golden_plan"]} for key, fields in examples.items()]
        print("answers: the golden plans of made-up trips")
    data, answers, out = folder / "data.json", folder / "answers.jsonl", folder / "scores.jsonl"
    data.write_text(json.dumps(examples), encoding="utf-8")
    answers.write_text("".join(json.dumps(line) + "\n" for line in islice(cycle(given), TRIPS)), encoding="utf-8")
    options = ["--task", "trip", "--data", data, "--answers", answers, "--out", out]
    started = time.perf_counter()
    result = CliRunner().invoke(app, ["suite-score", "natural_plan", *map(str, options)], catch_exceptions=False)
    bar(f"{TRIPS:,} trips scored", time.perf_counter() - started, 60, "s")
    assert result.exit_code == 0 and len(out.read_text().splitlines()) == TRIPS


if __name__ == "__main__":
    main()
