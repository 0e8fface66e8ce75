"""What Snakemake prints while a study runs: a line when a job starts, one when it ends, and the time that is left.

Snakemake finds this package by its name; `profiles/default` asks for it. Snakemake's own account, with every file and
reason, still goes to `.snakemake/log/`. Dry runs print what they always do, and `--logger` takes another plugin.
"""

from __future__ import annotations

import logging
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping

from snakemake.logging import ColorizingTextHandler, DefaultFilter, DefaultFormatter
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from planner_r1.console import duration

# What takes minutes. Until a run has shown how long these take here, no line tells the time that is left.
LONG = {
    "base_model",
    "fine_tune",
    "train_run",
    "evaluate_checkpoint",
    "evaluate_endpoint",
    "ood_answers",
    "memory_probe",
}
# Of what Snakemake says besides, this is of no use to whoever watches.
DULL = (
    "Assuming unrestricted",
    "Building DAG",
    "Using shell",
    "Select jobs",
    "Execute ",
    "Complete log",
    "Using profile",
)
EVENTS_LEFT_OUT = {LogEvent.WORKFLOW_STARTED, LogEvent.RESOURCES_INFO, LogEvent.JOB_STARTED, LogEvent.PROGRESS}


class Progress:
    """The jobs of one run of Snakemake, as far as its events tell.

    Args:
        clock: seconds that only go up.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock, self._began = clock, clock()
        self._left: Counter[str] = Counter()
        self._names: dict[int, tuple[str, str]] = {}
        self._started: dict[int, float] = {}
        self._took: defaultdict[str, list[float]] = defaultdict(list)
        self.done = self.total = 0

    def planned(self, jobs_by_rule: Mapping[str, int]) -> None:
        """How many jobs of each rule are to run."""
        self._left = Counter({rule: count for rule, count in jobs_by_rule.items() if rule != "total"})
        self.total = sum(self._left.values())

    def job(self, number: int, rule: str, wildcards: Mapping[str, str]) -> str:
        """Note what a job is; its name: `train_run tiny/stage1/seed0`."""
        parts = (f"{key}{value}" if value.isdigit() else value for key, value in wildcards.items())
        name = f"{rule} {'/'.join(parts)}".strip()
        self._names[number], self._started[number] = (rule, name), self._clock()
        return name

    def finished(self, number: int) -> str | None:
        """Count a job that ended well; the line about it, None for one that nobody announced."""
        if number not in self._started:
            return None
        (rule, name), seconds = self._names[number], self._clock() - self._started.pop(number)
        self._took[rule].append(seconds)
        self._left[rule] -= 1
        self.done += 1
        left = self.seconds_left()
        about = f", about {duration(left)} left" if left and self.done < self.total else ""
        return f"{name} in {duration(seconds)} ({self.done} of {self.total} jobs{about})"

    def failed(self, number: int) -> None:
        """Count a job as one that waits again; Snakemake may try it another time."""
        self._started.pop(number, None)

    def seconds_left(self) -> float | None:
        """The time until the last job ends, as this run has gone so far; None before each long rule has ended once."""
        waiting = {rule: count for rule, count in self._left.items() if count > 0}
        if any(rule in LONG and rule not in self._took for rule in waiting) or not self._took:
            return None
        known = {rule: sum(took) / len(took) for rule, took in self._took.items()}
        short = [seconds for rule, seconds in known.items() if rule not in LONG]
        other = sum(short) / len(short) if short else 0.0
        ahead = sum(count * known.get(rule, other) for rule, count in waiting.items())
        ahead -= sum(min(self._clock() - began, known.get(self._names[n][0], 0)) for n, began in self._started.items())
        worked = sum(sum(took) for took in self._took.values())
        side_by_side = max(worked / max(self._clock() - self._began, 1e-9), 1.0)
        return max(ahead, 0.0) / side_by_side


class LogHandler(LogHandlerBase):
    """Writes to the terminal in place of Snakemake's own handler."""

    writes_to_stream = True
    writes_to_file = False
    has_filter = True
    has_formatter = True
    needs_rulegraph = False

    def __post_init__(self) -> None:
        settings = self.common_settings
        self._progress = Progress()
        self._stream = sys.stdout if settings.stdout else sys.stderr
        self._own = ColorizingTextHandler(nocolor=settings.nocolor, stream=self._stream)
        self._own.setFormatter(DefaultFormatter(settings.quiet, settings.show_failed_logs))
        self.addFilter(
            DefaultFilter(
                settings.quiet, settings.debug_dag, settings.verbose, settings.dryrun, settings.printshellcmds
            )
        )

    def emit(self, record: logging.LogRecord) -> None:
        """Print an event as a line, or leave it to Snakemake's own handler: errors, dry runs, --verbose."""
        event = getattr(record, "event", None)
        if self.common_settings.dryrun or self.common_settings.verbose:
            self._own.handle(record)
        elif event == LogEvent.JOB_INFO:
            self._line("started ", self._progress.job(record.jobid, record.rule_name, dict(record.wildcards.items())))
        elif event == LogEvent.JOB_FINISHED:
            self._line("finished", self._progress.finished(record.job_id))
        elif event == LogEvent.RUN_INFO:
            self._progress.planned(record.stats)
            self._line("planned ", f"{self._progress.total} jobs")
        elif event == LogEvent.JOB_ERROR:
            self._progress.failed(record.jobid)
            self._own.handle(record)
        elif event not in EVENTS_LEFT_OUT and not self._is_dull(record):
            self._own.handle(record)

    @staticmethod
    def _is_dull(record: logging.LogRecord) -> bool:
        return record.levelno <= logging.INFO and str(record.msg).strip().startswith(DULL)

    def _line(self, what: str, told: str | None) -> None:
        if told:
            print(f"{time.strftime('%H:%M:%S')}  {what}  {told}", file=self._stream, flush=True)
