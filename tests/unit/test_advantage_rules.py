"""What a rule is given and what comes of it: values by turn and by episode, groups, keys, and rules by their files."""

import math

import numpy as np
import pytest

from helpers.planpo_reference import planpo
from planner_r1.training import advantage_rules, advantages
from planner_r1.training.advantage_rules import Episodes

TURNS = np.array([[1, 1, 0, 2, 0], [1, 0, 0, 0, 0]])


def tokens(name, rewards, mask, queries=None, longest=30, **settings):
    return advantage_rules.token_advantages(
        name,
        settings,
        rewards=np.array(rewards),
        success=np.array(rewards) > 0,
        mask=np.array(mask),
        queries=np.array(queries or ["q"] * len(rewards), dtype=object),
        longest=longest,
        progress=0.0,
    )


def test_values_stand_on_the_tokens_that_the_model_wrote():
    episodes = Episodes(np.zeros(2), np.zeros(2, dtype=bool), np.zeros(2, dtype=int), TURNS, longest=5, progress=0.0)
    assert episodes.by_episode(np.array([3.0, -2.0])).tolist() == [[3, 3, 0, 3, 0], [-2, 0, 0, 0, 0]]
    assert episodes.by_turn(np.array([[3.0, 4.0], [5.0, 6.0]])).tolist() == [[3, 3, 0, 4, 0], [5, 0, 0, 0, 0]]
    assert episodes.turn_lengths.tolist() == [[2, 1], [1, 0]]
    assert episodes.lengths.tolist() == [4, 1]


def test_a_rule_is_given_what_its_description_says(monkeypatch):
    given = []

    def rule(episodes):
        given.append(episodes)
        return episodes.turns

    monkeypatch.setattr(advantage_rules, "function", lambda name: rule)
    found = tokens("any", [1, 0, 2], [[1, 0, 1], [0, 0, 0], [1, 1, 0]], ["b", "pad", "a"])
    (episodes,) = given
    assert found.tolist() == [[1, 0, 2], [0, 0, 0], [1, 1, 0]]
    assert episodes.rewards.dtype == float and episodes.rewards.tolist() == [1, 2]
    assert episodes.success.dtype == bool and episodes.success.all()
    assert episodes.groups[0] != episodes.groups[1] and episodes.turns.tolist() == [[1, 0, 2], [1, 1, 0]]


def test_modules_with_an_underscore_are_no_rules(tmp_path, monkeypatch):
    for name in ("_shared.py", "mine.py"):
        (tmp_path / name).write_text("", encoding="utf-8")
    monkeypatch.setattr(advantages, "__path__", [str(tmp_path)])
    assert advantage_rules.names() == ("mine",)


@pytest.mark.parametrize(
    ("name", "key", "good", "bad"),
    [
        ("planpo", "by_std", [True, False], [1, 0, "true", None]),
        ("planpo", "pool", ["index", "all"], ["none", 1, None]),
        ("planpo", "reward", [0, 2, 0.5], [True, "2", None]),
        ("dapo", "overlong_buffer", [1, 0.1], [False, "0.1"]),
    ],
)
def test_a_value_is_of_its_defaults_kind(name, key, good, bad):
    assert [advantage_rules.problem_with(name, key, value) for value in good] == [None] * len(good)
    assert all("expected" in advantage_rules.problem_with(name, key, value) for value in bad)


def test_a_buffer_is_one_token_at_least_and_the_penalty_is_never_more_than_whole():
    # 28 and 29 tokens lose nothing, 30 and, beyond the limit, 32 all: deviations 1/sqrt(3) of two pairs
    mask = [[1] * n + [0] * (32 - n) for n in (28, 29, 30, 32)]
    for buffer in (0, 0.01):
        found = tokens("dapo", [1.0] * 4, mask, overlong_buffer=buffer)[:, 0]
        np.testing.assert_allclose(found, np.array([1, 1, -1, -1]) * math.sqrt(3) / 2, rtol=1e-5)


def test_turns_of_two_queries_are_never_compared():
    """Three queries of two turns each, told apart also where the number of a query and of a turn add up alike."""
    masks = [[1] * n + [0] + [1] * m + [0] * (9 - n - m) for n, m in ((1, 2), (3, 4), (2, 1), (4, 3), (5, 1), (1, 5))]
    queries, success = list("aabbcc"), [1, 1, 1, 0, 1, 1]
    found = tokens("planpo", success, masks, queries)
    np.testing.assert_allclose(found, planpo(np.array(success) > 0, masks, queries, 0.0, pool="index", by_std=True))
