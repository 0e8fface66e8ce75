"""How verl 0.9.1 cuts a step's episodes into batches, checked before anything runs.

A step asks `data.train_batch_size` queries `rollout.n` times, and the ranks share the episodes. Each update, each pass
for log-probabilities and each pass of the reference policy takes a rank's share in micro batches of a fixed size, or of
at most so many tokens. verl finds out in the middle of the first step, minutes after the start
(workers/engine/utils.py, prepare_micro_batches; utils/seqlen_balancing.py; workers/engine_workers.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import lcm, prod
from typing import Any

from omegaconf import DictConfig

from planner_r1.errors import InputError

ACTOR, ROLLOUT, REFERENCE = (f"actor_rollout_ref.{part}" for part in ("actor", "rollout", "ref"))
QUERIES, GROUP, MINI = "data.train_batch_size", f"{ROLLOUT}.n", f"{ACTOR}.ppo_mini_batch_size"
NODES, GPUS, SEQUENCE_PARALLEL = "trainer.nnodes", "trainer.n_gpus_per_node", f"{ACTOR}.ulysses_sequence_parallel_size"
BYPASS = "algorithm.rollout_correction.bypass_mode"
# These divide the processors, or are divided by them.
ENGINE = tuple(f"{ROLLOUT}.{way}_parallel_size" for way in ("tensor_model", "data", "pipeline_model"))
COUNTS = (QUERIES, GROUP, MINI, NODES, GPUS, SEQUENCE_PARALLEL, *ENGINE)


@dataclass(frozen=True)
class Pass:
    """A pass of a model over a rank's share of episodes.

    micro: key of the fixed size of its micro batches, in episodes
    tokens: key of their largest size where they are cut by tokens
    by_tokens: whether they are
    share: episodes that a rank is handed
    """

    micro: str
    tokens: str
    by_tokens: bool
    share: int


def check_batches(config: DictConfig) -> None:
    """Refuse batches that the ranks cannot share, or that verl cannot cut.

    Raises:
        InputError: one line with the key, its value, and values that would hold.
    """
    for key in COUNTS:
        if _int(config, key) < 1:
            raise InputError(f"{key} ({_at(config, key)}): expected at least 1")
    if _int(config, GROUP) == 1:
        raise InputError(
            f"{GROUP} (1): the advantage of an episode is measured against the others of its query; take at least 2"
        )
    _check_ranks(config)
    _check_queries(config)
    for each in _passes(config):
        _check_pass(config, each)


def _check_ranks(config: DictConfig) -> None:
    """Some ranks hold a sequence, and some a copy of the engine's model: a whole number of such sets must fit."""
    ranks = _ranks(config)
    for keys in ((SEQUENCE_PARALLEL,), ENGINE):
        held_by = prod(_int(config, key) for key in keys)
        if ranks % held_by:
            several = [key for key in keys if _int(config, key) > 1]
            raise InputError(
                f"{' times '.join(several)} ({held_by}): {_machine(config)} cannot be split so; take one of "
                f"{_divisors(ranks)}"
            )


def _check_queries(config: DictConfig) -> None:
    queries, mini = _int(config, QUERIES), _int(config, MINI)
    if queries % mini:
        raise InputError(
            f"{QUERIES} ({queries}): must be a multiple of {MINI} ({mini}); take {_nearest(queries, mini)}"
        )
    if not _shared(config, mini):
        step = lcm(_int(config, GROUP), _data_parallel(config)) // _int(config, GROUP)
        raise InputError(
            f"{MINI} ({mini}): times {GROUP} ({_at(config, GROUP)}) it makes {mini * _int(config, GROUP)} episodes an "
            f"update, which the {_data_parallel(config)} ranks ({_machine(config)}) cannot share; take "
            f"{_nearest(mini, step)}"
        )


def _passes(config: DictConfig) -> Iterator[Pass]:
    by_tokens = f"{ACTOR}.use_dynamic_bsz"
    dynamic, also = bool(_at(config, by_tokens)), f"{ROLLOUT}.log_prob_use_dynamic_bsz"
    if bool(_at(config, also)) != dynamic:
        raise InputError(f"{also} ({_at(config, also)}): verl wants the same as {by_tokens}; take {dynamic}")
    update, step = _share(config, MINI), _share(config, QUERIES)
    yield Pass(f"{ACTOR}.ppo_micro_batch_size_per_gpu", f"{ACTOR}.ppo_max_token_len_per_gpu", dynamic, update)
    if not _at(config, BYPASS):
        names = (f"{ROLLOUT}.log_prob_{size}" for size in ("micro_batch_size_per_gpu", "max_token_len_per_gpu"))
        yield Pass(*names, dynamic, step)
    if _at(config, f"{ACTOR}.use_kl_loss") or _at(config, "algorithm.use_kl_in_reward"):
        names = (f"{REFERENCE}.log_prob_{size}" for size in ("micro_batch_size_per_gpu", "max_token_len_per_gpu"))
        yield Pass(*names, bool(_at(config, f"{REFERENCE}.log_prob_use_dynamic_bsz")), step)


def _check_pass(config: DictConfig, each: Pass) -> None:
    if each.by_tokens:
        longest = _int(config, "data.max_prompt_length") + _int(config, "data.max_response_length")
        least = -(-longest // _int(config, SEQUENCE_PARALLEL))
        if _int(config, each.tokens) < least:
            raise InputError(
                f"{each.tokens} ({_at(config, each.tokens)}): the longest episode has {longest} tokens "
                f"(data.max_prompt_length and data.max_response_length); take at least {least}"
            )
    elif _int(config, each.micro) < 1 or each.share % _int(config, each.micro):
        raise InputError(
            f"{each.micro} ({_at(config, each.micro)}): a rank's share is {each.share} episodes ({_machine(config)}); "
            f"take one of {_divisors(each.share)}"
        )


def _at(config: DictConfig, key: str) -> Any:
    node: Any = config
    for part in key.split("."):
        node = node[part]
    return node


def _int(config: DictConfig, key: str) -> int:
    value = _at(config, key)
    if not isinstance(value, int) or isinstance(value, bool):
        raise InputError(f"{key}: expected a whole number, found {value!r}")
    return value


def _ranks(config: DictConfig) -> int:
    return _int(config, NODES) * _int(config, GPUS)


def _data_parallel(config: DictConfig) -> int:
    """Ranks that hold different episodes; those of one sequence hold the same."""
    return _ranks(config) // _int(config, SEQUENCE_PARALLEL)


def _shared(config: DictConfig, queries: int) -> bool:
    return queries * _int(config, GROUP) % _data_parallel(config) == 0


def _share(config: DictConfig, key: str) -> int:
    return _int(config, key) * _int(config, GROUP) // _data_parallel(config)


def _machine(config: DictConfig) -> str:
    return f"{NODES} {_at(config, NODES)} × {GPUS} {_at(config, GPUS)}"


def _divisors(number: int) -> str:
    return ", ".join(str(n) for n in range(1, number + 1) if number % n == 0)


def _nearest(number: int, step: int) -> str:
    """The multiples of `step` beside a number that is none."""
    below = number // step * step
    return f"{below} or {below + step}" if below else str(step)
