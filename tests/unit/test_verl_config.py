"""The configuration composed with the pinned verl, against the paper's own listing."""

import pytest
import yaml
from omegaconf import OmegaConf

from helpers.made_up_study import study
from helpers.messages import refused
from planner_r1.training import config as c
from planner_r1.training.sglang_arguments import known
from planner_r1.verl_overlays import BACKENDS, leaves, load_overlay


@pytest.fixture(scope="module")
def paper():
    return c.compose_config(None, {}, {})


def value_at(config, key):
    value = OmegaConf.select(config, key, default="absent")
    return OmegaConf.to_container(value) if OmegaConf.is_config(value) else value


@pytest.mark.parametrize("key", sorted(set(c.paper_listing()) - set(c.paper_exceptions())))
def test_a_key_of_the_paper_has_the_papers_value(paper, key):
    assert value_at(paper, key) == c.paper_listing()[key]


@pytest.mark.parametrize("key", sorted(c.paper_exceptions()))
def test_a_key_of_the_paper_that_is_not_set_has_a_reason_that_is_true(paper, key):
    entry, listed = c.paper_exceptions()[key], c.paper_listing()
    assert key in listed, "not a key of the paper's listing"
    assert len(entry["reason"]) > 10
    defaults = c.verl_defaults()
    if entry["how"] == "renamed":
        assert value_at(paper, entry["to"]) == entry.get("value", listed[key])
    elif entry["how"] == "replaced":
        assert value_at(paper, key) == entry["value"] != listed[key]
    elif entry["how"] == "no_effect":
        assert value_at(defaults, key) != "absent", "verl would refuse it: say 'removed'"
        assert key in c.IGNORED
    elif entry["how"] == "removed":
        assert value_at(paper, key) == value_at(defaults, key) != listed[key]
    else:
        assert entry["how"] == "per_run"
        assert key in c.OF_THE_RUN


def test_the_listing_is_there_in_full():
    assert len(c.paper_listing()) == 97
    assert c.paper_listing()["actor_rollout_ref.rollout.multi_turn.max_assistant_turns"] == 30


def test_the_listing_is_the_one_that_came_with_the_paper(shared_data):
    original = yaml.safe_load((shared_data.parent / "paper" / "training.yaml").read_text(encoding="utf-8"))
    assert yaml.safe_load(c.REFERENCE.read_text(encoding="utf-8")) == original


@pytest.mark.parametrize("name", ["paper", "cpu", "gpu"])
@pytest.mark.parametrize("key", sorted(c.IGNORED))
def test_no_file_sets_a_key_that_verl_ignores(name, key):
    overlay = load_overlay(name)
    assert not [k for k, _ in leaves(overlay) if k == key or k.startswith(f"{key}.")]


@pytest.mark.parametrize("name", ["cpu", "gpu"])
def test_a_machines_file_holds_only_what_differs(paper, name):
    for key, value in leaves(load_overlay(name)):
        assert value_at(paper, key) != value, f"{key} is the same without it"


@pytest.mark.parametrize("key", sorted(c.IGNORED))
def test_a_study_cannot_set_a_key_that_verl_ignores(key):
    with refused(key):
        c.compose_config("cpu", {key: True}, {})


def test_what_decides_the_episodes_is_set(paper):
    rollout = paper.actor_rollout_ref.rollout
    assert rollout.agent.default_agent_loop == "planner_r1"
    assert paper.data.apply_chat_template_kwargs.enable_thinking is False
    # verl counts characters: 8,192 tokens of JSON are at most 4 characters each.
    assert rollout.multi_turn.max_tool_response_length == 4 * 8192
    assert rollout.prompt_length == paper.data.max_prompt_length == 2268


@pytest.mark.parametrize(
    ("overrides", "named"),
    [
        ({"data.train_batchsize": 8}, ["data.train_batchsize", "'data.train_batch_size'"]),
        ({"actor_rollout_ref.actor.lr": 1}, ["actor_rollout_ref.actor.lr", "'actor_rollout_ref.actor.optim.lr'"]),
        ({"nonsense": 1}, ["nonsense", "no"]),
        ({"data.train_batch_size": "8"}, ["data.train_batch_size", "number", "'8'"]),
        ({"data.shuffle": 1}, ["data.shuffle", "true or false", 1]),
        ({"data.prompt_key": 1}, ["data.prompt_key", "text", 1]),
        ({"trainer.total_training_steps": 5}, ["trainer.total_training_steps", "run"]),
        ({"reward.custom_reward_function.path": "x"}, ["reward.custom_reward_function.path", "run"]),
        (
            {"data.train_batch_size": 12},
            ["data.train_batch_size", 12, "actor_rollout_ref.actor.ppo_mini_batch_size"],
        ),
        ({f"{c.SGLANG_ARGUMENTS}.watchdog_timeot": 9}, [f"{c.SGLANG_ARGUMENTS}.watchdog_timeot", "'watchdog_timeout'"]),
        ({f"{c.SGLANG_ARGUMENTS}.nonsense": 9}, [f"{c.SGLANG_ARGUMENTS}.nonsense", "argument"]),
        ({"actor_rollout_ref.rollout.n": 3}, ["actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu"]),
    ],
)
def test_an_override_that_cannot_be_meant_is_refused_by_its_path(overrides, named):
    with refused(*named):
        c.compose_config("cpu", overrides, {})


def test_an_override_wins_over_the_files_and_the_run_over_an_override():
    overrides = {"data.max_response_length": 512, "actor_rollout_ref.actor.optim.lr": 3e-4, "data.seed": 3}
    config = c.compose_config("cpu", overrides, {"data.seed": 4, "planner_r1": {"export_steps": [1]}})
    assert config.actor_rollout_ref.rollout.response_length == 512
    assert config.actor_rollout_ref.actor.optim.lr == 3e-4
    assert config.data.seed == 4
    assert list(config.planner_r1.export_steps) == [1]


@pytest.mark.parametrize("section", ["training", "evaluation", "regimes.stage1"])
def test_a_wrong_key_is_named_with_the_section_it_stands_in(section):
    def checked(overrides):
        sections = {"training": {}, "evaluation": {}, "regimes.stage1": {}} | {section: {"overrides": overrides}}
        regime = {"phases": [{"weights": "stage1", "steps": 1}], **sections.pop("regimes.stage1")}
        c.check_study(study(regimes={"stage1": regime}, **sections))

    checked({"data.val_batch_size": 8})
    with refused(f"{section}.overrides", "data.shufle", "'data.shuffle'"):
        checked({"data.shufle": False})
    with refused("data.train_batch_size", 12, "actor_rollout_ref.actor.ppo_mini_batch_size"):
        checked({"data.train_batch_size": 12})


def test_an_engine_of_the_rollouts_takes_any_argument():
    config = c.compose_config("gpu", {"actor_rollout_ref.rollout.engine_kwargs.sglang.attention_backend": "fa3"}, {})
    assert config.actor_rollout_ref.rollout.engine_kwargs.sglang.attention_backend == "fa3"


@pytest.mark.parametrize("nodes", [1, 2])
def test_verl_itself_accepts_the_papers_settings(nodes):
    from verl.utils.config import omega_conf_to_dataclass, validate_config

    config = c.compose_config("gpu", {"trainer.nnodes": nodes}, {})
    validate_config(config, use_reference_policy=False, use_critic=False)
    rollout, actor = (omega_conf_to_dataclass(config.actor_rollout_ref[part]) for part in ("rollout", "actor"))
    assert (rollout.name, rollout.tensor_model_parallel_size, rollout.gpu_memory_utilization) == ("sglang", 4, 0.6)
    assert actor.engine.param_offload and actor.engine.optimizer_offload and actor.engine.use_torch_compile
    assert actor.optim.clip_grad == 1.0


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_run_on_one_machine_never_joins_the_ray_cluster_of_another(backend):
    assert c.compose_config(backend, {"trainer.nnodes": 1}, {}).ray_kwargs.ray_init.address == "local"


def test_an_unknown_back_end_is_refused():
    with refused("tpu.yaml", "training.backend", "cpu, gpu"):
        c.compose_config("tpu", {}, {})


def test_sglang_on_processors_gets_keys_of_its_own_which_a_study_may_replace():
    name, tokens = "actor_rollout_ref.rollout.name", f"{c.SGLANG_ARGUMENTS}.max_total_tokens"
    rollout = c.compose_config("cpu", {name: "sglang"}, {}).actor_rollout_ref.rollout
    engine = rollout.engine_kwargs.sglang
    assert (rollout.name, engine.device, rollout.free_cache_engine) == ("sglang", "cpu", False)
    assert set(engine) <= known()
    own = c.compose_config("cpu", {name: "sglang", tokens: 7}, {}).actor_rollout_ref.rollout
    assert own.engine_kwargs.sglang == {**engine, "max_total_tokens": 7}
    for backend in ("cpu", "gpu"):
        others = c.compose_config(backend, {}, {}).actor_rollout_ref.rollout.engine_kwargs
        assert "device" not in others.get("sglang", {})
