"""verl's configuration for a run: the pinned verl's defaults, the paper's settings, the machine's, the algorithm's, the
study's.

Each layer only changes what it names. A key that verl does not have, or has and never reads, is refused with its
path: verl itself accepts both in silence, and a run would then differ from what its files say.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from difflib import get_close_matches
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, OmegaConf

from planner_r1.checkout import in_checkout
from planner_r1.errors import InputError
from planner_r1.study import BASE_REGIME, Study
from planner_r1.training import algorithms, sglang_arguments
from planner_r1.training.batches import check_batches
from planner_r1.training.early_checks import check_train_file, check_training
from planner_r1.verl_overlays import leaves, load_overlay, overlay_names

REFERENCE = Path(__file__).resolve().parents[1] / "paper" / "reference" / "training.yaml"

SGLANG_ARGUMENTS = "actor_rollout_ref.rollout.engine_kwargs.sglang"
# Sections that verl's defaults leave empty and passes on as they are: any key may be added below them.
OPEN = (
    "actor_rollout_ref.model.override_config",
    "actor_rollout_ref.actor.fsdp_config.mixed_precision",
    "actor_rollout_ref.actor.optim.override_optimizer_config",
    "actor_rollout_ref.ref.fsdp_config.mixed_precision",
    SGLANG_ARGUMENTS,
    "actor_rollout_ref.rollout.engine_kwargs.vllm",
    "data.apply_chat_template_kwargs",
    "ray_kwargs.ray_init",
    "reward.custom_reward_function.reward_kwargs",
)
# Keys that verl 0.9.1 accepts and never reads on the path used here (the one that it reads, where there is one).
IGNORED = {
    "custom_reward_function": "reward.custom_reward_function",
    "reward_model": "reward",
    "sandbox_fusion": "reward.sandbox_fusion",
    "actor_rollout_ref.hybrid_engine": None,
    "actor_rollout_ref.actor.grad_clip": "actor_rollout_ref.actor.optim.clip_grad",
    "actor_rollout_ref.actor.use_torch_compile": "actor_rollout_ref.actor.fsdp_config.use_torch_compile",
    "actor_rollout_ref.rollout.do_sample": "actor_rollout_ref.rollout.temperature",
    "actor_rollout_ref.rollout.val_kwargs.do_sample": "actor_rollout_ref.rollout.val_kwargs.temperature",
    "actor_rollout_ref.rollout.max_num_batched_tokens": f"{SGLANG_ARGUMENTS}.chunked_prefill_size",
    "actor_rollout_ref.rollout.enable_chunked_prefill": f"{SGLANG_ARGUMENTS}.chunked_prefill_size",
    "actor_rollout_ref.rollout.multi_turn.enable": "actor_rollout_ref.rollout.agent.default_agent_loop",
    "actor_rollout_ref.rollout.multi_turn.use_inference_chat_template": None,
    "actor_rollout_ref.rollout.multi_turn.tokenization_sanity_check_mode": None,
    "actor_rollout_ref.rollout.multi_stage_wake_up": None,
    "data.return_raw_chat": None,
    "data.truncation": None,
    "data.reward_fn_key": None,
    "trainer.balance_batch": None,
}
# Keys that follow from the run itself; a study sets them by its own keys.
OF_THE_RUN = (
    "actor_rollout_ref.model.path",
    "actor_rollout_ref.rollout.agent.agent_loop_config_path",
    "actor_rollout_ref.rollout.agent.default_agent_loop",
    "actor_rollout_ref.rollout.multi_turn.tool_config_path",
    "data.train_files",
    "data.val_files",
    "reward.custom_reward_function",
    "trainer.checkpoint_callback_class",
    "trainer.default_local_dir",
    "trainer.experiment_name",
    "trainer.project_name",
    "trainer.resume_from_path",
    "trainer.resume_mode",
    "trainer.rollout_data_dir",
    "trainer.save_freq",
    "trainer.test_freq",
    "trainer.total_epochs",
    "trainer.total_training_steps",
    "trainer.use_v1",
    "trainer.v1.trainer_mode",
    "trainer.val_before_train",
    "trainer.val_only",
    "trainer.validation_data_dir",
)


def compose_config(
    backend: str | None,
    overrides: Mapping[str, Any],
    run: Mapping[str, Any],
    algorithm: str | Mapping[str, Any] | None = None,
) -> DictConfig:
    """verl's configuration, resolved.

    Args:
        backend: "cpu" or "gpu", or None for the paper's settings alone.
        overrides: a study's `training.overrides`, dotted keys of verl and their values.
        run: values that follow from the run, dotted keys as well; they win over everything.
        algorithm: a regime's key of that name; None for the paper's GRPO.

    Raises:
        InputError: an unknown key, one that verl ignores, one that is the run's own, or a value of another kind; no
            such algorithm.
    """
    config = verl_defaults()
    names = ("paper",) if backend is None else overlay_names(backend, overrides)
    layers = [(f"{name}.yaml", load_overlay(name)) for name in names]
    if algorithm is not None:
        chosen = algorithms.resolve(algorithm)
        layers.append(("reference_policy.yaml", load_overlay("reference_policy")))
        layers.append((f"algorithms/{chosen.name}.yaml", chosen.overlay))
    for name, overlay in layers:
        for key, value in leaves(overlay):
            set_key(config, key, value, f"config/verl/{name}: ")
    _set_overrides(config, overrides, "training.overrides")
    for key, value in run.items():
        OmegaConf.update(config, key, value, force_add=True)
    OmegaConf.resolve(config)
    if backend is not None:
        check_batches(config)
    return config


def check_study(study: Study) -> None:
    """Compose each configuration of verl that a study's runs and evaluations ask for.

    Raises:
        InputError: a key that cannot be meant, with the section of the study that it stands in.
    """
    check_training(study)
    check_train_file(study)
    for section, overrides in study.override_sections.items():
        _set_overrides(verl_defaults(), overrides, section)
    asked: list[tuple] = []
    for regime in (BASE_REGIME, *study.regimes):
        asked += [
            (study.regime_overrides(regime), study.algorithm(regime)),
            (study.evaluation_overrides(regime), None),
        ]
    for i, (overrides, algorithm) in enumerate(asked):
        if (overrides, algorithm) not in asked[:i]:
            compose_config(study.backend, overrides, {}, algorithm)


def save_config(config: DictConfig, path: Path) -> None:
    """Write a resolved configuration as JSON, which is read in a hundredth of the time that YAML takes."""
    path.write_text(json.dumps(OmegaConf.to_container(config), indent=1) + "\n", encoding="utf-8")


def load_config(path: Path) -> DictConfig:
    """Inverse of `save_config`. Unknown keys are refused from then on, as in a configuration that verl composed."""
    config = OmegaConf.create(json.loads(path.read_text(encoding="utf-8")))
    OmegaConf.set_struct(config, True)
    return config


def verl_defaults(trainer: str = "ppo_trainer") -> DictConfig:
    """The defaults of one of the installed verl's trainers, composed from its own files without importing it. A copy of
    one's own."""
    return copy.deepcopy(_compose_defaults(trainer))


@lru_cache
def _compose_defaults(trainer: str) -> DictConfig:
    folder = Path(find_spec("verl").submodule_search_locations[0]) / "trainer" / "config"
    with initialize_config_dir(str(folder), version_base=None):
        return compose(trainer)


def paper_listing() -> dict[str, Any]:
    """The paper's own listing of verl's keys, dotted."""
    return dict(leaves(yaml.safe_load(REFERENCE.read_text(encoding="utf-8"))["verl"]))


def paper_exceptions() -> dict[str, dict]:
    """The keys of the paper's listing that are not set as spelled there, by key; see config/verl/paper_keys.yaml."""
    entries = yaml.safe_load(in_checkout("config/verl/paper_keys.yaml").read_text(encoding="utf-8"))
    return {entry["key"]: entry for entry in entries}


def _set_overrides(config: DictConfig, overrides: Mapping[str, Any], section: str) -> None:
    """Set a study's keys, which may not be the run's own."""
    for key, value in overrides.items():
        if _below(key, OF_THE_RUN):
            raise InputError(f"{section}: {key}: follows from the run; set it by the study's own keys")
        set_key(config, key, value, f"{section}: ", check_kind=True)


def set_key(config: DictConfig, key: str, value: Any, where: str = "", check_kind: bool = False) -> None:
    """Set one dotted key of verl's configuration that exists and has an effect.

    Raises:
        InputError: naming the key, and the one that was probably meant.
    """
    if ignored := _below(key, IGNORED):
        instead = f"; the key that counts is '{IGNORED[ignored]}'" if IGNORED[ignored] else ""
        raise InputError(f"{where}{key}: verl accepts this key and ignores it{instead}")
    is_open = _below(key, OPEN)
    _check_engine_argument(key, where)
    if not is_open and not _exists(config, key):
        raise InputError(f"{where}{key}: verl has no such key{_suggestion(config, key)}")
    if check_kind and not is_open:
        _check_kind(f"{where}{key}", _raw(config, key), value)
    OmegaConf.update(config, key, value, merge=False, force_add=bool(is_open))


def _check_engine_argument(key: str, where: str) -> None:
    if not key.startswith(f"{SGLANG_ARGUMENTS}."):
        return
    name = key.removeprefix(f"{SGLANG_ARGUMENTS}.").partition(".")[0]
    if name not in sglang_arguments.known():
        meant = sglang_arguments.nearest(name)
        instead = f"; did you mean '{meant}'?" if meant else ""
        raise InputError(f"{where}{key}: the pinned sglang's server has no argument '{name}'{instead}")


def _below(key: str, prefixes) -> str | None:
    return next((p for p in prefixes if key == p or key.startswith(f"{p}.")), None)


def _exists(config: DictConfig, key: str) -> bool:
    node: Any = config
    for part in key.split("."):
        if not isinstance(node, DictConfig) or part not in list(node):
            return False
        node = node._get_node(part)
    return True


def _raw(config: DictConfig, key: str) -> Any:
    parent, _, last = key.rpartition(".")
    node = OmegaConf.select(config, parent) if parent else config
    return None if OmegaConf.is_missing(node, last) else node[last]


def _check_kind(where: str, old: Any, new: Any) -> None:
    """A number for a number, a switch for a switch; what is null by default takes anything."""
    kinds = {bool: "true or false", str: "text", int: "a number", float: "a number"}
    number = isinstance(old, int | float) and not isinstance(old, bool)
    if old is None or new is None or type(old) not in kinds:
        return
    fits = isinstance(new, int | float) and not isinstance(new, bool) if number else isinstance(new, type(old))
    if not fits:
        raise InputError(f"{where}: expected {kinds[type(old)]}, found {new!r}")


def _suggestion(config: DictConfig, key: str) -> str:
    known = [k for k, _ in leaves(OmegaConf.to_container(config))]
    close = get_close_matches(key, known, n=1, cutoff=0.8)
    if not close:
        last = key.rpartition(".")[2]
        close = [k for k in known if k.rpartition(".")[2] == last][:1]
    return f"; did you mean '{close[0]}'?" if close else ""
