"""PlanPO's advantage against a reference written apart, and in cases that can be worked out by hand."""

import math

import numpy as np
import pytest

from helpers.planpo_reference import planpo
from planner_r1.training.advantage_rules import token_advantages

FIRST, LAST = 0.1, 0.05


def mask_of(*turns, total=30, reply=2):
    """An episode of turns of these lengths with a tool's reply of two tokens between them, padded to `total`."""
    bits = []
    for i, length in enumerate(turns):
        bits += [0] * (reply if i else 0) + [1] * length
    return bits + [0] * (total - len(bits))


def advantages(success, masks, queries=None, progress=0.0, **settings):
    return token_advantages(
        "planpo",
        settings,
        rewards=np.linspace(0, 3, len(masks)),  # of no account
        success=np.array(success),
        mask=np.array(masks),
        queries=np.array(queries or ["q"] * len(masks), dtype=object),
        longest=len(masks[0]),
        progress=progress,
    )


def random_batch(rng):
    queries, masks = [], []
    for query in range(rng.integers(1, 5)):
        for _ in range(rng.integers(1, 6)):
            queries.append(f"uid-{query}")
            masks.append(mask_of(*rng.integers(1, 6, size=rng.integers(1, 5)), reply=rng.integers(1, 3)))
    for row in range(rng.integers(0, 3)):
        queries.append(f"pad{row}")
        masks.append([0] * 30)
    order = rng.permutation(len(masks))
    success = rng.random(len(masks)) < rng.choice([0.0, 0.3, 0.7, 1.0])
    return success, [masks[i] for i in order], [queries[i] for i in order]


@pytest.mark.parametrize("by_std", [True, False])
@pytest.mark.parametrize("pool", ["index", "all"])
def test_random_batches_agree_with_the_reference(pool, by_std):
    rng = np.random.default_rng(0)
    for _ in range(60):
        success, masks, queries = random_batch(rng)
        progress = rng.random()
        ours = advantages(success, masks, queries, progress, pool=pool, by_std=by_std)
        reference = planpo(success, masks, queries, progress, pool=pool, by_std=by_std)
        np.testing.assert_allclose(ours, reference, atol=1e-9)
        assert (ours[np.array(masks) == 0] == 0).all()


def test_where_all_fail_nothing_is_learnt():
    ours = advantages([0, 0, 0], [mask_of(3), mask_of(2, 5), mask_of(1, 1, 1)])
    assert (ours == 0).all()


def test_where_all_succeed_alike_nothing_is_learnt():
    ours = advantages([1, 1, 1], [mask_of(3, 4)] * 3)
    np.testing.assert_allclose(ours, 0, atol=1e-6)


def test_one_success_among_equals():
    # R/T: 5, 0, 0 has mean 5/3 and standard deviation 5/sqrt(3); the same ratio for R/L of each turn.
    ours = advantages([1, 0, 0], [mask_of(3, 4)] * 3)
    unit = 2 / math.sqrt(3)
    written = np.array(mask_of(3, 4)) == 1
    np.testing.assert_allclose(ours[0, written], unit * (1 + FIRST), rtol=1e-5)
    np.testing.assert_allclose(ours[1:, written], -unit / 2 * (1 + FIRST), rtol=1e-5)


def test_the_shorter_of_two_successes_is_worth_more():
    # Two values: each lies 1/sqrt(2) standard deviations from the mean. Turn 2 has no counterpart.
    ours = advantages([1, 1], [mask_of(4), mask_of(2, 5)])
    unit = 1 / math.sqrt(2)
    np.testing.assert_allclose(ours[0, :4], unit - FIRST * unit, rtol=1e-5)  # fewer turns, but the longer first turn
    np.testing.assert_allclose(ours[1, :2], -unit + FIRST * unit, rtol=1e-5)
    np.testing.assert_allclose(ours[1, 4:9], -unit, rtol=1e-5)


def test_all_turns_together_compare_turns_of_any_index():
    ours = advantages([1, 1], [mask_of(5), mask_of(5, 1)], pool="all", by_std=False)
    # R/T: 10 and 5, mean 7.5. R/L: 2, 2 and 10, mean 14/3.
    np.testing.assert_allclose(ours[0, :5], 2.5 + FIRST * (2 - 14 / 3))
    np.testing.assert_allclose(ours[1, :5], -2.5 + FIRST * (2 - 14 / 3))
    np.testing.assert_allclose(ours[1, 7], -2.5 + FIRST * (10 - 14 / 3))


def test_episodes_of_one_turn():
    ours = advantages([1, 1, 0], [mask_of(2), mask_of(5), mask_of(1)], by_std=False)
    # R/T: 10, 10, 0. R/L: 5, 2, 0.
    np.testing.assert_allclose(ours[:, 0], [10 / 3 + FIRST * 8 / 3, 10 / 3 - FIRST / 3, -20 / 3 - FIRST * 7 / 3])


def test_a_query_asked_once_teaches_nothing():
    assert (advantages([1], [mask_of(3, 2)]) == 0).all()
    both = advantages([1, 1, 0], [mask_of(3), mask_of(2), mask_of(2)], ["alone", "q", "q"])
    assert (both[0] == 0).all() and (both[1:, :2] != 0).all()


def test_rows_that_fill_a_batch_change_nothing_though_they_claim_success():
    real = advantages([1, 0], [mask_of(3), mask_of(4)])
    filled = advantages([1, 1, 0, 1], [mask_of(0), mask_of(3), mask_of(4), mask_of(0)], ["p", "q", "q", "q"])
    np.testing.assert_array_equal(filled[1:3], real)
    assert (filled[[0, 3]] == 0).all()
    assert (advantages([1, 1], [mask_of(0)] * 2) == 0).all()


def test_the_weight_of_turns_falls_over_the_run():
    def of_turn(progress, **settings):
        return advantages([1, 0], [mask_of(2), mask_of(2)], progress=progress, by_std=False, **settings)[0, 0] - 5

    np.testing.assert_allclose([of_turn(p) for p in (0, 0.5, 1)], [2.5 * FIRST, 2.5 * 0.075, 2.5 * LAST])
    assert of_turn(1.0, alpha_last=0.0) == 0.0
    np.testing.assert_allclose(of_turn(0.0, reward=20.0) + 5, 10 + 5 * FIRST)
