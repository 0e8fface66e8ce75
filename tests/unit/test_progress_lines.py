"""What Snakemake prints while a study runs, from its own events."""

import logging
import re
from dataclasses import dataclass

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

from helpers.checkout import REPOSITORY
from snakemake_logger_plugin_planner import LONG, LogHandler, Progress


@dataclass
class Settings:
    """Snakemake's own, as far as a handler asks for them."""

    dryrun: bool = False
    verbose: bool = False
    stdout: bool = True
    nocolor: bool = True
    quiet: tuple = ()
    debug_dag: bool = False
    printshellcmds: bool = False
    show_failed_logs: bool = False


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


def run(progress: Progress, clock: Clock, number: int, rule: str, seconds: float) -> str:
    progress.job(number, rule, {})
    clock.now += seconds
    return progress.finished(number)


def test_a_job_is_named_by_its_rule_and_what_it_is_about(clock):
    name = Progress(clock).job(1, "train_run", {"model": "tiny", "regime": "stage1", "seed": "0"})
    assert name == "train_run tiny/stage1/seed0"


def test_the_time_left_is_known_once_each_long_rule_has_ended_once(clock):
    progress = Progress(clock)
    progress.planned({"world": 1, "train_run": 3, "total": 4})
    run(progress, clock, 1, "world", 10)
    assert progress.seconds_left() is None
    assert "2 of 4" in run(progress, clock, 2, "train_run", 300)
    assert progress.seconds_left() == pytest.approx(600)
    progress.job(3, "train_run", {})
    clock.now += 100
    assert progress.seconds_left() == pytest.approx(500)


def test_jobs_side_by_side_halve_it(clock):
    progress = Progress(clock)
    progress.planned({"train_run": 4})
    progress.job(1, "train_run", {})
    progress.job(2, "train_run", {})
    clock.now += 300
    progress.finished(1)
    progress.finished(2)
    assert progress.seconds_left() == pytest.approx(300)


def test_a_job_that_failed_waits_again(clock):
    progress = Progress(clock)
    progress.planned({"train_run": 2})
    run(progress, clock, 1, "train_run", 300)
    progress.job(2, "train_run", {})
    clock.now += 200
    progress.failed(2)
    assert progress.seconds_left() == pytest.approx(300)
    assert "2 of 2" in run(progress, clock, 2, "train_run", 400)


def test_the_last_job_leaves_nothing(clock):
    progress = Progress(clock)
    progress.planned({"world": 1})
    assert "left" not in run(progress, clock, 1, "world", 1)
    assert progress.finished(99) is None  # nobody announced it


def record(message="", level=logging.INFO, **fields):
    made = logging.LogRecord("snakemake", level, "", 0, message, (), None)
    made.__dict__.update(fields)
    return made


def job(number: int, rule: str, **wildcards):
    return record(event=LogEvent.JOB_INFO, jobid=number, rule_name=rule, wildcards=wildcards)


def printed(capsys, *records, **settings) -> list[str]:
    handler = LogHandler(Settings(**settings), None)
    for each in records:
        handler.handle(each)
    return capsys.readouterr().out.splitlines()


def test_a_line_a_start_and_a_line_an_end_and_no_other(capsys):
    lines = printed(
        capsys,
        record("Building DAG of jobs..."),
        record("stats", event=LogEvent.RUN_INFO, stats={"score": 2, "total": 2}),
        record("Execute 1 jobs..."),
        job(1, "score", seed="3"),
        record(event=LogEvent.JOB_STARTED, jobs=[1]),
        record("Finished jobid: 1 (Rule: score)", event=LogEvent.JOB_FINISHED, job_id=1),
        record(event=LogEvent.PROGRESS, done=1, total=2),
    )
    assert [re.sub(r"^\d\d:\d\d:\d\d +", "", line).split()[0] for line in lines] == ["planned", "started", "finished"]
    assert "score seed3" in lines[1] and "1 of 2" in lines[2]


def test_warnings_errors_and_the_end_are_printed(capsys):
    lines = printed(
        capsys,
        record("a file is older", logging.WARNING),
        record("Error in a rule", logging.ERROR),
        record("Nothing to be done (all requested files are present and up to date)."),
    )
    assert lines == [
        "a file is older",
        "Error in a rule",
        "Nothing to be done (all requested files are present and up to date).",
    ]


def test_a_job_that_failed_names_its_log(capsys):
    failed = {
        "rule_name": "train_run",
        "rule_msg": None,
        "jobid": 4,
        "input": [],
        "output": [],
        "log": ["results/quick/logs/train_run.log"],
        "conda_env": None,
        "container_img": None,
        "shellcmd": None,
        "aux": {},
    }
    lines = printed(capsys, record("", logging.ERROR, event=LogEvent.JOB_ERROR, **failed))
    assert any("train_run" in line for line in lines)
    assert any("results/quick/logs/train_run.log" in line for line in lines)


def test_the_long_rules_are_rules():
    text = "".join(path.read_text(encoding="utf-8") for path in (REPOSITORY / "workflow" / "rules").glob("*.smk"))
    assert set(re.findall(r"rule (\w+):", text)) >= LONG
