"""The lines a person sees while verl trains."""

import json

from helpers.messages import names
from planner_r1.console import duration
from planner_r1.training.progress import MetricsFollower, Progress


def test_only_whole_lines_that_are_new_are_read(tmp_path):
    path = tmp_path / "metrics.jsonl"
    follower = MetricsFollower(path)
    assert follower.new_records() == []
    path.write_bytes(b'{"step": 1}\n{"step"')
    assert follower.new_records() == [{"step": 1}]
    assert follower.new_records() == []
    with open(path, "ab") as file:
        file.write(b': 2}\n{"step": 3}\n')
    assert follower.new_records() == [{"step": 2}, {"step": 3}]


def test_a_step_shows_reward_pass_pace_and_time_left():
    lines = []
    progress = Progress("tiny/stage1/seed0", 20, lines.append)
    for step, seconds in ((1, 4.0), (2, 6.0)):
        data = {"timing_s/step": seconds, "critic/score/mean": 0.5, "reward/pass": 0.25}
        progress.show({"step": step, "data": data})
    names(lines[1], "tiny/stage1/seed0", "step 2/20", "reward 0.500", "pass 0.250", "6.0 s", "1 min 30 s")


def test_a_validation_shows_its_reward_and_pass_rate():
    data = {"val-core/travel/reward/mean@1": 1.5, "val-aux/travel/pass/mean@1": 0.125, "val-aux/num_turns/mean": 3}
    names(Progress("run", 20).line(0, data), "step 0/20", "validation", "reward 1.500", "pass 0.125")


def test_durations():
    shown = ["0 s", "1 min 00 s", "1 min 01 s", "1 h 00 min", "2 h 30 min"]
    assert [duration(s) for s in (0, 59.6, 61, 3600, 9000)] == shown


def test_records_are_what_verls_file_logger_writes(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text(json.dumps({"step": 0, "data": {"val-core/travel/reward/mean@1": 0.0}}) + "\n", encoding="utf-8")
    (record,) = MetricsFollower(path).new_records()
    assert Progress("run", 1).line(record["step"], record["data"]).endswith("validation reward 0.000")
