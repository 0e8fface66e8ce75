"""Algorithms of a regime: what each sets in verl's configuration, rules in files of their own, what is refused."""

import copy
import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from omegaconf import OmegaConf

from helpers.made_up_study import study
from planner_r1.errors import InputError
from planner_r1.study import Study
from planner_r1.training import advantage_rules, advantages, algorithms, launch
from planner_r1.training import config as c
from planner_r1.verl_overlays import BACKENDS, leaves, load_overlay

# By verl's names, as the papers give them.
SETTINGS = {
    "grpo": {},
    "dr_grpo": {
        "algorithm.norm_adv_by_std_in_grpo": False,
        "actor_rollout_ref.actor.loss_agg_mode": "seq-mean-token-sum-norm",
        "actor_rollout_ref.actor.loss_scale_factor": 30500,
    },
    "rloo": {
        "algorithm.adv_estimator": "rloo",
        "algorithm.use_kl_in_reward": True,
    },
    "reinforce_plus_plus_baseline": {
        "algorithm.adv_estimator": "reinforce_plus_plus_baseline",
        "actor_rollout_ref.actor.use_kl_loss": True,
        "actor_rollout_ref.actor.kl_loss_type": "k2",
    },
    "gspo": {
        "actor_rollout_ref.actor.policy_loss.loss_mode": "gspo",
        "actor_rollout_ref.actor.loss_agg_mode": "seq-mean-token-mean",
        "actor_rollout_ref.actor.clip_ratio_low": 3e-4,
        "actor_rollout_ref.actor.clip_ratio_high": 4e-4,
    },
    "dapo": {
        "algorithm.adv_estimator": "dapo",
        "algorithm.filter_groups.enable": True,
        "algorithm.filter_groups.metric": "score",
        "algorithm.filter_groups.max_num_gen_batches": 10,
        "actor_rollout_ref.actor.clip_ratio_high": 0.28,
    },
    "planpo": {
        "algorithm.adv_estimator": "planpo",
        "actor_rollout_ref.actor.use_kl_loss": True,
    },
}
# The reference policy's keys are tested by themselves; a critic, which none of these has, follows the actor.
FOLLOWERS = ("actor_rollout_ref.ref.", "critic.")
README = Path(advantages.__file__).with_name("README.md")


def flat(config):
    return dict(leaves(OmegaConf.to_container(config)))


def regime(algorithm=None, **keys):
    phases = {"phases": [{"weights": "stage1", "steps": 4}]}
    return phases | ({"algorithm": algorithm} if algorithm else {}) | keys


# ---- verl's configuration -----------------------------------------------------------------------------------------


def test_every_algorithm_is_tested_here():
    assert set(algorithms.names()) == set(SETTINGS)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", sorted(SETTINGS))
def test_an_algorithm_sets_what_its_paper_gives_and_nothing_else(name, backend):
    plain, chosen = flat(c.compose_config(backend, {}, {})), flat(c.compose_config(backend, {}, {}, name))
    changed = {k: v for k, v in chosen.items() if plain.get(k) != v and not k.startswith(FOLLOWERS)}
    assert changed == SETTINGS[name]


@pytest.mark.filterwarnings("ignore:Disabled critic")
@pytest.mark.parametrize("name", sorted(SETTINGS))
def test_verl_takes_the_settings(name):
    from verl.trainer.ppo.core_algos import AdvantageEstimator, get_policy_loss_fn
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import omega_conf_to_dataclass, validate_config

    config = c.compose_config("cpu", {}, {}, name)
    reference = need_reference_policy(config)
    assert reference == (name in ("rloo", "reinforce_plus_plus_baseline", "planpo"))
    validate_config(config, use_reference_policy=reference, use_critic=need_critic(config))
    assert not need_critic(config)
    actor = omega_conf_to_dataclass(config.actor_rollout_ref.actor)
    algorithm = omega_conf_to_dataclass(config.algorithm)
    get_policy_loss_fn(actor.policy_loss.loss_mode)
    assert algorithm.adv_estimator in {*advantage_rules.names(), *(e.value for e in AdvantageEstimator)}
    omega_conf_to_dataclass(config.actor_rollout_ref.ref.fsdp_config)


def test_the_reference_policy_is_computed_as_the_actor_is():
    config = c.compose_config("cpu", {"actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu": 8}, {}, "planpo")
    reference, actor = config.actor_rollout_ref.ref, config.actor_rollout_ref.actor
    assert reference.log_prob_micro_batch_size_per_gpu == 8
    assert reference.fsdp_config.mixed_precision == actor.fsdp_config.mixed_precision
    assert reference.strategy == actor.strategy
    on_gpus = c.compose_config("gpu", {}, {}, "planpo").actor_rollout_ref.ref.fsdp_config
    assert on_gpus.param_offload and on_gpus.mixed_precision is None


def test_overrides_win_over_the_algorithm():
    overrides = {"actor_rollout_ref.actor.clip_ratio_high": 0.3}
    assert c.compose_config("cpu", overrides, {}, "dapo").actor_rollout_ref.actor.clip_ratio_high == 0.3


# ---- nothing changes without the key --------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
def test_without_the_key_the_configuration_is_the_files_laid_over_verls_defaults(backend):
    overrides = {"data.max_response_length": 512, "actor_rollout_ref.rollout.n": 4}
    expected = c.verl_defaults()
    OmegaConf.set_struct(expected, False)
    for name in ("paper", backend):
        expected = OmegaConf.merge(expected, load_overlay(name))
    for key, value in overrides.items():
        OmegaConf.update(expected, key, value)
    OmegaConf.resolve(expected)
    assert c.compose_config(backend, overrides, {}) == expected


def test_without_the_key_a_runs_settings_have_no_word_of_it(tmp_path):
    made = study(regimes={"plain": regime(), "planpo": regime("planpo")})
    plain, chosen = (made.train_settings("tiny", name, 0) for name in made.regimes)
    assert chosen == plain | {"algorithm": "planpo"}
    assert set(launch._settings(spec(tmp_path, **plain))) == {
        *("name", "model", "train_queries", "validation_queries", "store", "schedule", "seed", "save_every"),
        *("test_every", "backend", "overrides", "learning_rate_horizon"),
    }


def spec(folder, **settings):
    for name in ("train", "validation"):
        (folder / name).write_text(name, encoding="utf-8")
    return launch.TrainSpec(
        name="tiny/plain/seed0",
        model_path="m",
        train_parquet=folder / "train",
        validation_parquet=folder / "validation",
        store=folder,
        work=folder / "work",
        out=folder / "out",
        **settings,
    )


@pytest.mark.parametrize(
    ("first", "then"),
    [(None, "planpo"), ("planpo", None), ("planpo", {"name": "planpo", "alpha_last": 0.0}), ("grpo", "dr_grpo")],
)
def test_a_run_is_never_continued_under_another_algorithm(tmp_path, first, then):
    def claim(algorithm):
        settings = {"phases": [{"weights": "stage1", "steps": 4}], "seed": 0, "save_every": 2, "test_every": 2}
        made = spec(tmp_path, **settings, algorithm=algorithm)
        made.work.mkdir(exist_ok=True)
        launch._Run(made, str).claim_work_folder()

    claim(first)
    claim(first)
    with pytest.raises(InputError, match=r"made with other settings \(algorithm\)"):
        claim(then)


def test_defaults_that_are_written_out_are_no_other_algorithm(tmp_path):
    settings = {"phases": [{"weights": "stage1", "steps": 4}], "seed": 0, "save_every": 2, "test_every": 2}
    short, long = (spec(tmp_path, **settings, algorithm=a) for a in ("planpo", {"name": "planpo", "reward": 10.0}))
    assert launch._settings(short) == launch._settings(long)
    assert launch._settings(short)["algorithm"]["steps"] == 4


def test_verl_is_told_the_rules_keys(tmp_path):
    settings = {"phases": [{"weights": "stage1", "steps": 4}], "seed": 0, "save_every": 2, "test_every": 2}
    made = spec(tmp_path, **settings, algorithm={"name": "planpo", "pool": "all"})
    made.work.mkdir()
    config = launch._Run(made, str).config(0, 4)
    assert config.algorithm.adv_estimator == config.planner_r1.algorithm.name == "planpo"
    assert config.planner_r1.algorithm["keys"].pool == "all"
    assert config.planner_r1.algorithm["keys"].alpha_first == 0.1


# ---- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("algorithm", "message"),
    [
        ("plan_po", r"regimes.r.algorithm: no algorithm 'plan_po' \(did you mean 'planpo'\?\)"),
        ("sarsa", r"regimes.r.algorithm: no algorithm 'sarsa' \(known: dapo, .*rloo\)"),
        (
            {"name": "planpo", "alfa_last": 0},
            r"alfa_last: 'planpo' has no such key \(did you mean 'alpha_last'\?\)",
        ),
        ({"name": "planpo", "pool": "both"}, r"algorithm.pool: expected one of 'index', 'all', found 'both'"),
        ({"name": "planpo", "reward": "ten"}, r"algorithm.reward: expected a number, found 'ten'"),
        ({"name": "planpo", "by_std": 1}, r"algorithm.by_std: expected true or false, found 1"),
        ({"name": "gspo", "clip": 0.1}, r"algorithm.clip: 'gspo' has no keys of its own; verl's stand in .*overrides"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_its_path(algorithm, message):
    made = study(regimes={"r": regime(algorithm)})
    with pytest.raises(InputError, match=message):
        c.check_study(made)


@pytest.mark.parametrize(
    ("algorithm", "message"),
    [
        ({"reward": 1}, "algorithm.name: missing"),
        (3, "algorithm: expected string or object"),
        ({"name": 3}, "name: .*"),
    ],
)
def test_the_schema_wants_a_name(algorithm, message):
    with pytest.raises(InputError, match=message):
        study(regimes={"r": regime(algorithm)})


def test_a_study_of_every_algorithm_is_accepted():
    made = study(regimes={name: regime(name) for name in algorithms.names()})
    c.check_study(made)
    assert Study.from_config(made.config).config == made.config
    assert made.algorithm("base") is None


# ---- rules ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def fading(tmp_path, monkeypatch):
    """The README's example, in a folder of its own."""
    text = README.read_text(encoding="utf-8")
    (tmp_path / "fading.py").write_text(re.search(r"```python\n(.*?)```", text, re.DOTALL)[1], encoding="utf-8")
    monkeypatch.setattr(advantages, "__path__", [*advantages.__path__, str(tmp_path)])
    yield "fading"
    monkeypatch.delitem(__import__("sys").modules, f"{advantages.__name__}.fading", raising=False)


def test_a_new_file_is_a_new_algorithm(fading):
    made = study(regimes={"new": regime({"name": fading, "fade": 0.5}), "plain": regime()})
    c.check_study(made)
    config = flat(c.compose_config("cpu", {}, {}, made.algorithm("new")))
    plain = flat(c.compose_config("cpu", {}, {}))
    changed = {k: v for k, v in config.items() if plain.get(k) != v and not k.startswith(FOLLOWERS)}
    assert changed == {"algorithm.adv_estimator": "fading"}
    assert algorithms.resolve("fading").keys == {"fade": 0.8}
    with pytest.raises(InputError, match="fade: expected a number"):
        algorithms.resolve({"name": fading, "fade": "slow"})


def test_verls_trainer_uses_a_new_file(fading, make_trainer):
    import torch

    trainer = make_trainer({"name": fading, "fade": 0.5}, success=[0, 0, 0], step=1)
    mask = torch.tensor([[1, 0, 1, 1], [1, 0, 0, 0], [0, 0, 0, 0]])
    rewards = torch.tensor([[0.0, 0, 0, 3], [1.0, 0, 0, 0], [0, 0, 0, 0]])
    found, returns = trainer._advantages_by_rule(rewards, mask, np.array(["q", "q", "pad"], dtype=object))
    assert found.dtype == rewards.dtype and found is returns
    unit = 1 / np.sqrt(2)  # two values lie this far from their mean, in standard deviations
    expected = [[unit / 2, 0, unit, unit], [-unit, 0, 0, 0], [0, 0, 0, 0]]
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5)
    late = make_trainer({"name": fading, "fade": 0.5}, success=[0, 0, 0], step=4)
    found, _ = late._advantages_by_rule(rewards, mask, np.array(["q", "q", "pad"], dtype=object))
    np.testing.assert_allclose(found[0].numpy(), [unit, 0, unit, unit], rtol=1e-5)


def test_a_file_without_the_function_is_named(tmp_path, monkeypatch):
    (tmp_path / "empty_rule.py").write_text("", encoding="utf-8")
    monkeypatch.setattr(advantages, "__path__", [*advantages.__path__, str(tmp_path)])
    with pytest.raises(TypeError, match=r"empty_rule.py: a rule needs a function `advantages"):
        algorithms.resolve("empty_rule")


@pytest.mark.parametrize("values", [np.zeros(2), np.full((2, 3), np.nan)])
def test_a_rule_that_returns_nonsense_stops_the_run(monkeypatch, values):
    monkeypatch.setattr(advantage_rules, "function", lambda name: lambda episodes: values)
    with pytest.raises(ValueError, match=r"rule 'broken': expected finite advantages of shape \(2, 3\)"):
        run_rule("broken", [1.0, 0.0], [[1, 1, 0], [1, 0, 0]])


def run_rule(name, rewards, mask, longest=30, **settings):
    return advantage_rules.token_advantages(
        name,
        settings,
        rewards=np.array(rewards),
        success=np.zeros(len(rewards)),
        mask=np.array(mask),
        queries=np.array(["q"] * len(rewards), dtype=object),
        longest=longest,
        progress=0.0,
    )


def test_dapo_without_a_penalty_is_verls_grpo():
    import torch
    from verl.trainer.ppo.core_algos import compute_grpo_outcome_advantage

    rng = np.random.default_rng(1)
    mask = (rng.random((12, 9)) < 0.7).astype(int)
    mask[:, 0] = 1
    rewards, queries = rng.random(12), np.repeat(["a", "b", "c"], 4)
    ours = advantage_rules.token_advantages(
        "dapo",
        {"overlong_penalty": 0},
        rewards=rewards,
        success=rewards > 0.5,
        mask=mask,
        queries=queries.astype(object),
        longest=9,
        progress=0.0,
    )
    at_end = torch.zeros(12, 9, dtype=torch.float64)
    at_end[:, -1] = torch.tensor(rewards)
    theirs, _ = compute_grpo_outcome_advantage(at_end, torch.tensor(mask), queries)
    np.testing.assert_allclose(ours, theirs.numpy(), rtol=1e-6)


def test_dapo_punishes_the_last_fifth_of_an_episodes_length():
    # Of 30 tokens the last 6 are the buffer: 24 lose nothing, 27 half, 30 all.
    masks = [[1] * n + [0] * (30 - n) for n in (10, 24, 27, 30)]
    masks[2][3:9] = [0] * 6  # a tool's reply counts as length
    shaped = np.array([1.0, 1.0, 0.5, 0.0])
    expected = (shaped - shaped.mean()) / (shaped.std(ddof=1) + 1e-6)
    np.testing.assert_allclose(run_rule("dapo", [1.0] * 4, masks)[:, 0], expected)
    half = run_rule("dapo", [1.0] * 4, masks, overlong_buffer=0.1)
    shaped = np.array([1.0, 1.0, 1.0, 0.0])
    np.testing.assert_allclose(half[:, 0], (shaped - shaped.mean()) / (shaped.std(ddof=1) + 1e-6))


# ---- verl's trainer -------------------------------------------------------------------------------------------------


@pytest.fixture
def make_trainer():
    """A trainer without verl's set-up, in a run of 5 steps."""
    module = pytest.importorskip("planner_r1.training.trainer")

    def make(algorithm, success=(), step=1, **overrides):
        chosen = algorithms.resolve(algorithm)
        run = {"last_step": 5, "algorithm": {"name": chosen.name, "keys": chosen.keys}}
        trainer = object.__new__(module.PlannerTrainer)
        trainer.config = c.compose_config("cpu", overrides, {"planner_r1": run}, algorithm)
        trainer.global_steps, trainer._success = step, np.array(success)
        return trainer

    return make


def test_success_is_read_in_the_order_of_the_batch(make_trainer, monkeypatch):
    from planner_r1.training import trainer as module

    passes = {"a": 1.0, "b": 0.0, "c": 1.0}
    infos = staticmethod(lambda keys: [{"pass": 1.0, "success": passes[key]} for key in keys])
    monkeypatch.setattr(module.PlannerTrainer, "_reward_infos", infos)
    monkeypatch.setattr(
        module.PPOTrainerSync, "_compute_advantage", lambda self, batch, metrics: self._success.tolist()
    )
    batch = SimpleNamespace(keys=["c", "b", "a"])
    assert make_trainer("planpo")._compute_advantage(batch, {}) == [True, False, True]
    # An algorithm of verl's own asks nothing of the reward function.
    monkeypatch.setattr(module.PlannerTrainer, "_reward_infos", None)
    assert make_trainer("rloo", success=[9])._compute_advantage(batch, {}) == [9]


def test_the_replay_buffer_of_the_configuration_is_told_to_sample_dynamically(make_trainer, monkeypatch):
    from planner_r1.training import trainer as module

    monkeypatch.setattr(module.PPOTrainerSync, "_build_replay_buffer", lambda self: SimpleNamespace())
    assert make_trainer("grpo")._build_replay_buffer() == SimpleNamespace()
    assert make_trainer("dapo")._build_replay_buffer() == SimpleNamespace(
        filter_groups_metric="score", train_batch_size=16, gen_batch_size=1, max_inflight_gen_batches=1
    )


def test_verls_replay_buffer_has_what_it_is_told():
    import inspect

    from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer

    told = {"filter_groups_metric", "train_batch_size", "gen_batch_size", "max_inflight_gen_batches"}
    assert told <= set(inspect.signature(ReplayBuffer).parameters)


def test_a_step_that_finds_nothing_to_learn_from_ends_with_an_error(make_trainer, monkeypatch):
    from planner_r1.training import trainer as module

    monkeypatch.setattr(module.PPOTrainerSync, "prepare_step", lambda self: {})
    monkeypatch.setattr(module.PPOTrainerSync, "_add_prompts_to_generate", lambda self, n: n)
    limited = make_trainer("dapo", **{"algorithm.filter_groups.max_num_gen_batches": 2})
    for _ in range(2):  # each step begins anew
        limited.prepare_step()
        assert limited._add_prompts_to_generate(16) == 16
    with pytest.raises(RuntimeError, match=r"step 1: 2 batches of queries .*max_num_gen_batches"):
        limited._add_prompts_to_generate(1)
    endless = make_trainer("dapo", **{"algorithm.filter_groups.max_num_gen_batches": 0})
    endless.prepare_step()
    assert endless._add_prompts_to_generate(10**6) == 10**6


def test_a_studys_algorithm_reaches_the_resolved_study_as_written():
    written = {"name": "planpo", "alpha_last": 0.0}
    made = study(regimes={"r": regime(copy.deepcopy(written))})
    assert json.loads(json.dumps(made.train_settings("tiny", "r", 0)["algorithm"])) == written
