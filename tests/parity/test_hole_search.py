"""A short search for plans that pass strict and are wrong in plain sense; tests/long/search_holes.py is long."""

from pathlib import Path

from parity.hole_search import ANSWERED, search
from parity.plain_sense import BREACHES
from planner_r1.evaluator.profiles import HOLES, OFFICIAL

DOCUMENT = Path(__file__).resolve().parents[2] / "docs/strict.md"


def test_no_plan_that_passes_strict_is_wrong_in_plain_sense_but_for_what_is_answered():
    found = search("short", climbs=50)
    assert found.examples == {}
    assert found.passing > 50 and set(found.answered) <= ANSWERED


def test_the_search_finds_open_holes():
    found = search("open", climbs=40, closed=OFFICIAL)
    assert len(found.examples) > 5
    assert all(example.changed and example.text for example in found.examples.values())


def test_every_hole_and_every_answered_breach_is_documented():
    text = DOCUMENT.read_text(encoding="utf-8")
    assert set(BREACHES) >= ANSWERED
    assert [name for name in (*HOLES, *ANSWERED) if f"`{name}`" not in text] == []
