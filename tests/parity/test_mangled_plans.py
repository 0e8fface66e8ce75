"""Nothing that a model may write makes the evaluator or the reward raise."""

import json
import random
from copy import deepcopy

import pytest

from helpers.small_world import AGENT_PLAN, five_days, query, three_days
from planner_r1.evaluator import COMMONSENSE, HARD, evaluate
from planner_r1.evaluator.holes import holes
from planner_r1.reward import STAGES, reward, sub_rewards

ODD_TEXTS = [
    "",
    " ",
    "\x00",
    "\ud800",  # half of a surrogate pair
    "\u202eablA morf",
    "e\u0301" * 50,
    "😀" * 30,
    "\u2028\u2029\x85",
    "from " * 300,
    "from" + " " * 3_000 + "to",
    "from a to " * 200,
    ";" * 500,
    ", " * 500,
    "(" * 500,
    "x" * 20_000,
    "Flight Number: ",
    "flight number",
    "Flight Number: \ud800, from Dorn to Alba",
    "Taxi, from \x00 to \ud800",
    "from Dorn to Alba(",
    "None",
    "nan",
]


def junk(rng: random.Random, depth: int = 0):
    kind = rng.randrange(9 if depth < 4 else 7)
    if kind == 7:
        return [junk(rng, depth + 1) for _ in range(rng.randrange(4))]
    if kind == 8:
        return {rng.choice(["days", "from", "current_city", "", "\ud800"]): junk(rng, depth + 1) for _ in range(2)}
    return [None, True, -1, 10**30, float("inf"), rng.random(), rng.choice(ODD_TEXTS)][kind]


def deep(rng: random.Random):
    value = []
    for _ in range(rng.choice([10, 500])):
        value = [value] if rng.random() < 0.5 else {"a": value}
    return value


def mangle(value, rng: random.Random):
    """A changed copy: at random spots of lists and objects, entries are replaced, dropped or doubled."""
    if rng.random() < 0.1:
        return deep(rng) if rng.random() < 0.01 else junk(rng)
    if isinstance(value, list) and value:
        value = list(value)
        at = rng.randrange(len(value))
        value[at : at + 1] = rng.choice([[], [value[at]] * 2, *[[mangle(value[at], rng)]] * 4])
    elif isinstance(value, dict) and value:
        value = dict(value)
        for key in rng.choices(sorted(value), k=rng.choice([1, 1, 2, 3])):
            value[key] = mangle(value[key], rng)
        if rng.random() < 0.2:
            value.pop(rng.choice(sorted(value)))
    elif isinstance(value, str):
        text = rng.choice(ODD_TEXTS)
        at = rng.randrange(len(value) + 1)
        return rng.choice([text, value + text, value[:at] + text + value[at:], value[::-1], value * 3])
    else:
        return junk(rng)
    return value


ASKED = [
    query(cuisine=["Indian"], house_rule="pets", room_type="not shared room", transportation="no self-driving"),
    query(5, cuisine=["Chinese"], house_rule="smoking", room_type="private room", transportation="no flight"),
]
GOOD = [three_days(), five_days()]


@pytest.mark.parametrize("plans", [3_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_mangled_plans_get_a_verdict(small_store, plans):
    rng = random.Random(20)
    judged = reached = 0
    for number in range(plans):
        which = number % 2
        plan = deepcopy(GOOD[which]) if number % 100 == 0 else GOOD[which]
        for _ in range(rng.choice([1, 1, 2, 4])):
            plan = mangle(plan, rng)
        verdict = evaluate(plan, ASKED[which], small_store, "official" if number % 3 else "strict")
        assert set(verdict.commonsense) == set(COMMONSENSE) and (verdict.hard is None or set(verdict.hard) == set(HARD))
        assert verdict.final_pass or verdict.reason
        judged += None not in verdict.commonsense.values()
        reached += verdict.hard is not None
        if number % 50 == 0:
            json.dumps(verdict.to_json())
            holes(plan, ASKED[which], small_store)
    # The changes are no use if none of them gets past the first checks.
    assert judged > plans / 5 and reached > plans / 100


@pytest.mark.parametrize("seed", range(2))
def test_mangled_answers_get_a_reward(small_store, seed):
    rng = random.Random(seed)
    scored = 0
    for _ in range(5_000):
        text = f"<answer>{json.dumps(mangle(AGENT_PLAN, rng))}</answer>"
        if rng.random() < 0.5:
            at = rng.randrange(len(text))
            text = text[:at] + rng.choice([*ODD_TEXTS, "<answer>", "</answer>", '"', "}", "]", "\\"]) + text[at:]
        sub = sub_rewards(text, ASKED[0], small_store)
        assert all(0 <= part <= 1 for part in sub.parts().values())
        assert 0 <= reward(sub, STAGES["stage1"]) <= 5
        scored += sub.schema == 1
    assert scored > 500
