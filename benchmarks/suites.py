"""Measure how long the out-of-domain suites' answers take to score.

    python benchmarks/suites.py

Answers are real ones where the real data lies beside the checkout, and made up elsewhere.
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
from planner_r1.ood.multi_if.made_up import make_conversations
from planner_r1.ood.natural_plan.made_up import make_examples

DATA = Path(__file__).resolve().parents[2] / "shared/data"
REAL = DATA / "naturalplan"
REPLIES = DATA / "multi_if"
TRIPS = 1_600
CONVERSATIONS = 1_000


def main() -> None:
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder:
        measure_trips(Path(folder))
        measure_conversations(Path(folder))


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


def measure_conversations(folder: Path) -> None:
    """Replies to all three turns of each conversation, through the command: reading, both verdicts, writing."""
    if REPLIES.is_dir():
        files = [f"multiif_{name}.jsonl" for name in ("gpt4_turn1", "gpt4_turn2", "gpt4_turn3", "mutations")]
        lines = [line for name in files for line in (REPLIES / name).read_text(encoding="utf-8").splitlines()]
        given = [json.loads(line) for line in lines]
        print(f"replies: the {len(given)} of {REPLIES}, again and again")
    else:
        given = [
            {
                "key": row["key"],
                "turn": turn,
                "instruction_id_list": row[f"turn_{turn}_instruction_id_list"],
                "kwargs": row[f"turn_{turn}_kwargs"],
                "response": f"{row[f'turn_{turn}_prompt']}\n" * 20,
            }
            for row in make_conversations(CONVERSATIONS, seed=0)
            for turn in (1, 2, 3)
        ]
        print("replies: the prompts of made-up conversations, twenty times each")
    by_turn = [[line for line in given if line["turn"] == turn] for turn in (1, 2, 3)]
    chosen = [line for lines in by_turn for line in islice(cycle(lines), CONVERSATIONS)]
    answers, out = folder / "replies.jsonl", folder / "verdicts.jsonl"
    answers.write_text("".join(json.dumps(line) + "\n" for line in chosen), encoding="utf-8")
    started = time.perf_counter()
    options = ["suite-score", "multi_if", "--answers", str(answers), "--out", str(out)]
    result = CliRunner().invoke(app, options, catch_exceptions=False)
    bar(f"{CONVERSATIONS:,} conversations scored", time.perf_counter() - started, 60, "s")
    assert result.exit_code == 0 and len(out.read_text().splitlines()) == 3 * CONVERSATIONS


if __name__ == "__main__":
    main()
