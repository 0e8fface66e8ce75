"""What Snakemake would run for models behind an endpoint."""

import pytest

SERVICE = {"endpoint": {"url": "http://127.0.0.1:9/v1", "model": "big"}}


def test_a_study_of_services_trains_nothing(checkout):
    planned = checkout.planned("all", "--configfile", "config/studies/api_models.yaml")
    assert (planned["evaluate_endpoint"], planned["score"], planned["table1"]) == (4, 4, 1)
    assert not planned.keys() & {"base_model", "train_run", "evaluate_checkpoint", "figure3_left", "summary", "parquet"}


@pytest.mark.parametrize("regimes", [{}, None])
def test_a_service_among_models_with_weights(checkout, regimes):
    def add(config):
        config["models"]["gpt-5"] = SERVICE
        config["study"] = "mixed"
        if regimes is not None:
            config["regimes"] = regimes

    checkout.change_study(add, to="mixed")
    planned = checkout.planned("all", "--configfile", "config/mixed.yaml")
    trained = 0 if regimes == {} else 2
    assert planned["evaluate_endpoint"] == 1
    assert planned["evaluate_checkpoint"] == 1 + trained
    assert planned.get("train_run", 0) == trained
    assert planned["base_model"] == 1


def test_no_key_is_needed_to_plan(checkout, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert checkout.planned("evaluate", "--configfile", "config/studies/api_models.yaml")["evaluate_endpoint"] == 4
