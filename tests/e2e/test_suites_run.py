"""The suites put to a tiny model behind a real server: transformers' own, on the CPU."""

from dataclasses import replace
from pathlib import Path

import pytest

from helpers.scripted_suites import make_up_all
from helpers.tiny_model import save_tiny_model
from planner_r1.files import read_lines
from planner_r1.ood.answers import AnswersSpec, Asked, Server, collect_answers
from planner_r1.ood.suites import SUITES
from planner_r1.processes import marked

pytestmark = pytest.mark.slow

BRIEF = {"max_tokens": 12}


@pytest.fixture(scope="module")
def spec(tmp_path_factory) -> AnswersSpec:
    """Two repeats of two items a suite, which were asked; greedily in Multi-IF."""
    folder = tmp_path_factory.mktemp("suites")
    save_tiny_model(folder / "model", ["Plan a trip.", "Meet Ada at noon.", "Cancel the order."])
    data = make_up_all(folder / "data", size=2)
    suites = {name: Asked(path, decoding=BRIEF) for name, path in data.items()}
    suites["multi_if"] = replace(suites["multi_if"], decoding=BRIEF | {"temperature": 0})
    server = Server(start_seconds=120, extra_body={"chat_template_kwargs": {"enable_thinking": False}})
    made = AnswersSpec("tiny", folder / "model", suites, folder / "work", folder / "out", "a", 2, server=server)
    collect_answers(made)
    return made


def answers(folder: Path, suite: str) -> list[dict]:
    return list(read_lines(folder / suite / "answers.jsonl"))


def test_every_item_of_every_suite_is_answered_and_nothing_is_left_running(spec):
    for name, suite in SUITES.items():
        items = suite(spec.suites[name].folder).items(None, 0)
        expected = [(item, repeat) for repeat in (0, 1) for item in items]
        assert [(a["item"], a["repeat"]) for a in answers(spec.out, name)] == expected
    assert marked(spec.work) == []


def test_the_server_samples_as_it_is_asked(spec):
    first, second = (
        [a["replies"] for a in answers(spec.out, "multi_if") if a["repeat"] == repeat] for repeat in (0, 1)
    )
    assert first == second  # greedy
    first, second = ([a["answer"] for a in answers(spec.out, "natural_plan") if a["repeat"] == r] for r in (0, 1))
    assert first != second  # temperature 1, another seed


def test_nothing_is_asked_twice_and_a_seed_repeats_itself(spec, tmp_path):
    replies = (spec.work / "replies.jsonl").read_bytes()
    before = {name: answers(spec.out, name) for name in SUITES}
    collect_answers(replace(spec, out=tmp_path / "again"))
    assert (spec.work / "replies.jsonl").read_bytes() == replies
    collect_answers(replace(spec, work=tmp_path / "work", out=tmp_path / "anew"))
    for name in SUITES:
        assert answers(tmp_path / "again", name) == before[name] == answers(tmp_path / "anew", name)
