"""The file of sglang's arguments, against the pinned version and its sources where they are installed."""

import json

import yaml

from helpers.checkout import REPOSITORY
from helpers.engine import FOLDER, needs_engine
from planner_r1.training.sglang_arguments import FILE, known, read_arguments


def test_it_is_of_the_pinned_version():
    pins = yaml.safe_load((REPOSITORY / "envs" / "pins.yaml").read_text(encoding="utf-8"))
    assert json.loads(FILE.read_text(encoding="utf-8"))["sglang"] == pins["gpu"]["packages"]["sglang"]


def test_it_holds_what_verl_passes():
    assert {"model_path", "dtype", "mem_fraction_static", "tp_size", "attention_backend", "watchdog_timeout"} <= known()


@needs_engine
def test_it_is_what_the_sources_say():
    (folder,) = FOLDER.glob("lib/python3.*/site-packages/sglang")
    assert set(read_arguments(folder)) == known()
