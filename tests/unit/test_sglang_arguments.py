"""The file of sglang's arguments, against the pinned version and its sources where they are installed."""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from helpers.checkout import REPOSITORY
from planner_r1.training.sglang_arguments import FILE, known, read_arguments

INSTALLED = [*REPOSITORY.glob(".venv-*/lib/python3.*/site-packages/sglang")]


def test_it_is_of_the_pinned_version():
    assert f"sglang: {json.loads(FILE.read_text(encoding='utf-8'))['sglang']}\n" in (
        REPOSITORY / "envs" / "pins.yaml"
    ).read_text(encoding="utf-8")


def test_it_holds_what_verl_passes():
    assert {"model_path", "dtype", "mem_fraction_static", "tp_size", "attention_backend", "watchdog_timeout"} <= known()


def test_it_is_what_the_sources_say():
    found = [Path(find_spec("sglang").origin).parent] if find_spec("sglang") else INSTALLED
    if not found:
        pytest.skip("needs sglang's sources: make engine")
    assert set(read_arguments(found[0])) == known()
