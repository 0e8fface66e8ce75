"""The log of a rule: what a user sees on the terminal and finds in the file, for an end of each kind."""

import subprocess
import sys

SCRIPT = """
import sys
from planner_r1.errors import InputError
from planner_r1.rule_log import rule_log
with rule_log({log!r}):
    print("working")
    print("warning", file=sys.stderr)
    {body}
print("after")
"""


def run(tmp_path, body):
    log = tmp_path / "deep" / "rule.log"
    script = SCRIPT.format(log=str(log), body=body)
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True), log.read_text()


def test_output_reaches_terminal_and_log(tmp_path):
    done, log = run(tmp_path, "pass")
    assert done.returncode == 0
    assert done.stdout == "working\nafter\n" and done.stderr == "warning\n"
    assert sorted(log.splitlines()) == ["warning", "working"]


def test_bad_input_is_one_line_without_a_traceback(tmp_path):
    done, log = run(tmp_path, "raise InputError('a.csv: column price is missing')")
    assert done.returncode == 1
    assert done.stderr.splitlines() == ["warning", "error: a.csv: column price is missing"]
    assert log.splitlines()[-1] == "error: a.csv: column price is missing"


def test_a_failure_shows_the_last_lines_of_the_log(tmp_path):
    done, log = run(tmp_path, "[print('line', i) for i in range(100)]; 1 / 0")
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr and "ZeroDivisionError" in log
    shown = done.stderr.splitlines()
    assert "line 99" in shown and "line 1" not in shown
    assert "line 1" in log.splitlines()
