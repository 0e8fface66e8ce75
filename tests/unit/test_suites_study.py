"""The section `suites` of a study: what it means, and refusals that name the key."""

from pathlib import Path

import pytest
import yaml

from helpers.made_up_study import CONFIG
from helpers.messages import refused
from planner_r1.endpoint.client import Endpoint
from planner_r1.errors import InputError
from planner_r1.ood.answers import Server
from planner_r1.ood.decoding import decoding
from planner_r1.ood.suites import SUITES
from planner_r1.study import SUITE_FILES, Study

REPOSITORY = Path(__file__).resolve().parents[2]
MADE_UP = {"source": "synthetic"}
USER = {"url": "http://127.0.0.1:9/v1", "model": "u"}


def study(**suites) -> Study:
    return Study.from_config(CONFIG | {"suites": suites})


def test_a_study_without_the_section_has_no_suites():
    made = Study.from_config(CONFIG)
    assert made.suites == () and made.suite_checkpoints == ()
    assert Study.from_config(CONFIG | {"suites": None}).suites == ()


def test_suites_stand_in_the_order_of_the_table():
    assert tuple(SUITES) == tuple(SUITE_FILES)
    made = study(tau_bench=MADE_UP, natural_plan=MADE_UP)
    assert made.suites == ("natural_plan", "tau_bench")


def test_made_up_and_given_data():
    made = study(natural_plan=MADE_UP | {"size": 7}, multi_if={"source": "files"})
    assert made.suite_folder("natural_plan") is None
    assert made.made_up_suite("natural_plan") == {"size": 7, "seed": 0}
    assert made.suite_folder("multi_if") == "data/multi_if"
    settings = made.suite_settings("tiny")
    assert settings["suites"]["multi_if"] == {"items": None, "decoding": {}, "user": None}
    assert settings["extra_body"] == {"chat_template_kwargs": {"enable_thinking": False}}


def test_the_keys_are_those_of_the_library():
    made = study(tau_bench=MADE_UP | {"user": USER})
    Endpoint(name="u", **made.suite_settings("tiny")["suites"]["tau_bench"]["user"])
    Server(**made.suite_server)


def test_decoding_is_the_papers_unless_a_study_says_otherwise():
    assert decoding("multi_if", {}) == {"temperature": 0.7, "top_p": 0.8, "top_k": 20, "max_tokens": 30500}
    assert decoding("natural_plan", {}) == {"temperature": 1.0, "top_p": 1.0, "top_k": -1, "max_tokens": 30500}
    assert decoding("tau_bench", {"temperature": 0, "top_k": None})["top_k"] is None
    made = study(tau_bench=MADE_UP | {"decoding": {"top_k": None, "temperature": 0}})
    assert made.suite_settings("tiny")["suites"]["tau_bench"]["decoding"] == {"top_k": None, "temperature": 0}


@pytest.mark.parametrize(
    ("suites", "key", "word"),
    [
        ({}, "suites", "natural_plan, multi_if, tau_bench"),
        ({"multi_if": {}}, "suites.multi_if.source", "missing"),
        ({"multi_if": MADE_UP | {"items": 3}}, "suites.multi_if.items", "'files'"),
        ({"multi_if": {"source": "files", "size": 3}}, "suites.multi_if.size", "'synthetic'"),
        ({"multi_if": MADE_UP, "regimes": ["stage9"]}, "suites.regimes[0]", "'stage9'"),
        ({"multi_if": MADE_UP, "repeats": 0}, "suites.repeats", 0),
        (
            {"multi_if": MADE_UP | {"decoding": {"temprature": 0}}},
            "suites.multi_if.decoding.temprature",
            "'temperature'",
        ),
        ({"multi_if": MADE_UP | {"user": USER}}, "suites.multi_if.user", "unknown"),
        ({"tau_bench": MADE_UP | {"user": "somebody"}}, "suites.tau_bench.user", "'somebody'"),
        (
            {"tau_bench": MADE_UP | {"user": USER | {"api_key_env": "sk-123"}}},
            *("suites.tau_bench.user.api_key_env", "environment"),
        ),
    ],
)
def test_wrong_keys_are_named(suites, key, word):
    with refused(key, word):
        study(**suites)


def test_a_key_itself_is_never_repeated():
    with pytest.raises(InputError) as caught:
        study(tau_bench=MADE_UP | {"user": USER | {"api_key_env": "sk-123"}})
    assert "sk-123" not in str(caught.value)


def test_the_papers_study_asks_the_suites_for_each_row_of_table_2():
    made = Study.from_config(yaml.safe_load((REPOSITORY / "config" / "paper.yaml").read_text(encoding="utf-8")))
    rows = {(c.model, c.step) for c in made.suite_checkpoints}
    assert rows == {("qwen3-8b", s) for s in (0, 500, 2000, 3000)} | {("qwen3-32b", s) for s in (0, 500, 2000)}
