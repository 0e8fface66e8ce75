"""What a person who waits is shown."""

import io

import pytest

from helpers.messages import names
from planner_r1.downloads.progress import Progress, amount


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(stream, steps):
    """The text after so many seconds, bytes that came, bytes that are here."""
    now = [0.0]
    progress = Progress("weights.bin", stream, clock=lambda: now[0])
    for now[0], came, have in steps:
        progress.add(came, have, 4_000_000_000)
    return stream.getvalue()


def test_a_log_gets_a_line_every_half_minute():
    text = shown(io.StringIO(), [(t, 10_000_000, t * 10_000_000) for t in range(1, 100)])
    first, second, third = text.splitlines()
    names(first, "weights.bin", "300.0 MB", "4.0 GB", "8%", "10.0 MB/s", "6 min 10 s")
    names(second, "weights.bin", "600.0 MB", "4.0 GB", "15%", "10.0 MB/s", "5 min 40 s")
    names(third, "weights.bin", "900.0 MB", "4.0 GB", "22%", "10.0 MB/s", "5 min 10 s")


def test_a_terminal_gets_one_line_over_and_over():
    text = shown(Terminal(), [(0.1, 1000, 1000), (0.6, 2_000_000_000, 3_000_000_000)])
    assert text.endswith("\033[K\r") and text.count("\r") == 1
    names(text, "weights.bin", "3.0 GB", "4.0 GB", "75%", "3.3 GB/s", "0 s")


def test_what_was_here_before_does_not_count_as_speed():
    assert "10.0 MB/s" in shown(io.StringIO(), [(30, 300_000_000, 3_300_000_000)])


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (999_600, "1.0 MB"), (65.5e9, "65.5 GB")]
)
def test_sizes_for_people(count, text):
    assert amount(count) == text
