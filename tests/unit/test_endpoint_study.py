"""Studies with models behind an endpoint: what is trained, what is evaluated, and what is refused."""

import copy
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

from helpers.made_up_study import metrics
from helpers.messages import names, refused
from planner_r1.agent.limits import KEYS, Limits, read_limits
from planner_r1.endpoint.client import Endpoint
from planner_r1.endpoint.ledger import Price
from planner_r1.errors import InputError
from planner_r1.paper.tables import table1
from planner_r1.study import Checkpoint, Study, load_schema

CONFIG = Path(__file__).resolve().parents[2] / "config"
SERVICE = {"endpoint": {"url": "https://example.org/v1", "model": "big"}}
MIXED = {
    "study": "mixed",
    "sandbox": {"source": "synthetic"},
    "queries": {"source": "synthetic"},
    "models": {"tiny": {"warm_start": {}}, "gpt-5": SERVICE},
    "regimes": {"stage1": [{"weights": "stage1", "steps": 40}]},
}


def study(**sections) -> Study:
    return Study.from_config(copy.deepcopy(MIXED) | sections)


def test_a_service_is_evaluated_and_never_trained():
    made = study()
    assert made.trainable == ("tiny",)
    assert [run.name for run in made.runs] == ["tiny/stage1/seed0"]
    assert made.regimes_of("gpt-5") == ()
    assert Checkpoint("gpt-5", "base", 0, 0) in made.checkpoints
    assert [c.regime for c in made.checkpoints if c.model == "gpt-5"] == ["base"]
    with pytest.raises(InputError, match="gpt-5/stage1"):
        made.run("gpt-5", "stage1", 0)


def test_the_client_takes_every_key_and_its_defaults():
    made = study()
    settings = made.endpoint("gpt-5")
    endpoint = Endpoint("models.gpt-5.endpoint", **settings)
    assert endpoint == Endpoint("models.gpt-5.endpoint", **SERVICE["endpoint"], price={"currency": "USD"})
    assert Price(**endpoint.price) == Price()
    schema = load_schema()["properties"]["models"]["additionalProperties"]["properties"]["endpoint"]["properties"]
    assert set(schema) == {f.name for f in fields(Endpoint)} - {"name"}
    assert set(schema["price"]["properties"]) == {f.name for f in fields(Price)}
    assert made.endpoint("tiny") is None


@pytest.mark.parametrize(
    ("change", "key", "word"),
    [
        ({"url": "example.org"}, "url", "'example.org'"),
        ({"model": None}, "model", "string"),
        ({"tools": "json"}, "tools", "native, hermes"),
        ({"api_key": "sk-secret"}, "api_key", "'api_key_env'"),
        ({"api_key_env": "sk-secret"}, "api_key_env", "environment"),
        ({"concurrency": 0}, "concurrency", 0),
        ({"price": {"imput": 1}}, "price.imput", "'input'"),
    ],
)
def test_refusals_name_the_key_and_show_no_secret(change, key, word):
    with pytest.raises(InputError) as caught:
        study(models={"gpt-5": {"endpoint": SERVICE["endpoint"] | change}}, regimes={})
    names(str(caught.value), f"models.gpt-5.endpoint.{key}", word)
    assert "sk-secret" not in str(caught.value)


def test_a_service_cannot_be_put_under_a_regime():
    phases = [{"weights": "stage1", "steps": 40}]
    with refused("regimes.s.models[1]", "'gpt-5'", "endpoint"):
        study(regimes={"s": {"phases": phases, "models": ["tiny", "gpt-5"]}})
    with refused("regimes.s", "nothing"):
        study(models={"gpt-5": SERVICE}, regimes={"s": phases})


def test_a_study_of_services_alone_needs_no_training_queries():
    made = study(
        models={"gpt-5": SERVICE},
        regimes={},
        sandbox={"source": "files", "database": "db"},
        queries={"source": "files", "validation": "v.jsonl"},
        evaluation={"splits": ["validation"]},
    )
    assert made.runs == () and made.trainable == ()
    assert [c.name for c in made.checkpoints] == ["gpt-5/base/seed0/step0"]


def test_table_1_sets_a_services_row_beside_the_papers(tmp_path):
    made = study(models={"gpt-5": SERVICE}, regimes={})
    (checkpoint,) = made.checkpoints
    rows = table1.table1(made, [metrics(checkpoint, final_pass=0.25)])
    ours, papers = rows[:2]
    assert (ours["source"], ours["model"], ours["regime"], ours["final_pass"]) == (table1.OURS, "gpt-5", "base", 25.0)
    assert (papers["source"], papers["method"], papers["final_pass"]) == (table1.PAPER, "GPT5 (high)", "21.2")


def test_the_shipped_study_of_services():
    made = Study.from_config(yaml.safe_load((CONFIG / "studies" / "api_models.yaml").read_text()))
    assert made.name == "api_models" and made.runs == ()
    named = {row["model"] for row in table1.reference("table1")}
    assert set(made.models) == {"gpt-5", "gpt-o3"} <= named
    for model in made.models:
        assert Endpoint(model, **made.endpoint(model)).reasoning_effort == "high"


# ---- limits -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["quick", "smoke", "laptop", "paper", "real_rows"])
def test_limits_are_those_that_verl_is_given(name):
    from omegaconf import OmegaConf

    from planner_r1.training.config import compose_config

    made = Study.from_config(yaml.safe_load((CONFIG / f"{name}.yaml").read_text()))
    files = [CONFIG / "verl" / "paper.yaml", CONFIG / "verl" / f"{made.backend}.yaml"]
    overrides = made.evaluation_overrides("base")
    config = compose_config(made.backend, overrides, {})
    expected = {limit: OmegaConf.select(config, key) for limit, key in KEYS.items()}
    assert read_limits(files, overrides) == Limits(**expected)


def test_a_limit_that_nobody_states_is_asked_for(tmp_path):
    file = tmp_path / "settings.yaml"
    file.write_text("data: {max_response_length: 3}\n")
    with pytest.raises(InputError, match=r"settings.yaml: actor_rollout_ref.rollout.multi_turn.max_assistant_turns"):
        read_limits([file], {})
