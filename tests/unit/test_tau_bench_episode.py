"""Episodes in a made-up shop: conversations from end to end, rewards, and how reliable an agent is."""

import json
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.scripted_dialogue import ScriptedAgent, ScriptedUser, converse, gold_agent, says
from planner_r1.errors import InputError
from planner_r1.ood.tau_bench.data import Action, Benchmark
from planner_r1.ood.tau_bench.episode import RESPOND, STOP, Episode
from planner_r1.ood.tau_bench.made_up import KINDS, ShopSpec, write_shop
from planner_r1.ood.tau_bench.pass_k import pass_hat_k, pass_rates
from planner_r1.ood.tau_bench.tools import TOOLS, TRANSFER

TASKS = 2 * len(KINDS)


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop")
    write_shop(ShopSpec(seed=1, tasks=TASKS), folder)
    return Benchmark(folder)


@pytest.fixture
def episode(benchmark):
    return Episode(benchmark)


@pytest.fixture
def task(benchmark):
    return benchmark.tasks("test")[0]


# --- conversations ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(len(KINDS)))
def test_a_conversation_that_does_what_is_wanted_is_rewarded(benchmark, episode, number):
    task = benchmark.tasks("test")[number]
    agent, user = gold_agent(task), ScriptedUser(task.instruction, replies=2)
    end = converse(episode, task, agent, user)
    assert end.done and end.observation == f"Thank you. {STOP}"
    assert end.reward.value == 1.0 and end.reward.data_hash == end.reward.gold_hash
    assert agent.seen[0] == task.instruction
    assert agent.seen[1] == task.user_id
    assert json.loads(agent.seen[2])["order_id"] == task.actions[-1].kwargs["order_id"]
    assert agent.seen[3] == "Yes, please."
    assert user.heard == ["Shall I do that?", "Done. "]


def test_a_conversation_in_which_nothing_is_done_is_not_rewarded(episode, task):
    end = converse(episode, task, ScriptedAgent([says("No.")]), ScriptedUser(task.instruction, replies=1))
    assert end.done and end.reward.value == 0.0


def test_a_conversation_without_an_end_has_no_reward(episode, task):
    agent = ScriptedAgent([Action("think", {"thought": "hm"})] * 100)
    assert converse(episode, task, agent, ScriptedUser(task.instruction, replies=1)) is None


def test_a_transfer_ends_the_episode_at_once_even_one_that_is_refused(episode, task):
    for kwargs, reply in (({"summary": "too hard"}, "Transfer successful"), ({}, "Error: ")):
        episode.reset(task)
        for action in task.actions:
            episode.step(action)
        end = episode.step(Action(TRANSFER, kwargs))
        assert end.done and end.observation.startswith(reply) and end.reward.value == 1.0
        with pytest.raises(RuntimeError):
            episode.step(task.actions[0])
        with pytest.raises(RuntimeError):
            episode.hear("Hello?")


def test_every_reset_finds_the_same_shop(episode, task):
    hashes = set()
    for _ in range(3):
        episode.reset(task)
        hashes.add(episode.reward().data_hash)
        for action in task.actions:
            episode.step(action)
    assert len(hashes) == 1


def test_the_agent_is_told_the_policy_and_the_tools_and_the_user_the_instruction(benchmark, episode, task):
    start = episode.reset(task)
    assert start.policy == (benchmark.folder / "policy.md").read_text()
    assert [tool["function"]["name"] for tool in start.tools] == sorted(TOOLS)
    assert start.instruction == task.instruction


# --- rewards ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words, reward",
    [
        (["It is 1234.50, in Ashdale."], 1.0),
        (["$1,234.50", "ASHDALE"], 1.0),
        (["51234.505 ashdale"], 1.0),  # a part of another number counts, too
        (["1234.50"], 0.0),
        ([], 0.0),
    ],
)
def test_outputs_must_be_said(episode, task, words, reward):
    episode.reset(replace(task, outputs=("1234.50", "Ashdale")))
    for action in [*task.actions, *map(says, words)]:
        episode.step(action)
    assert episode.reward().value == reward


def test_outputs_do_not_make_up_for_a_wrong_shop(episode, task):
    episode.reset(replace(task, outputs=("10",)))
    episode.step(says("10"))
    assert episode.reward().outputs == {"10": True} and episode.reward().value == 0.0


def test_what_costs_nothing(episode, task):
    *reads, write = task.actions
    nothing = [Action("get_order_details", {"order_id": "none"}), Action("give_discount", {}), Action(RESPOND, {})]
    episode.reset(task)
    for action in [*nothing, write, write, *reads]:
        episode.step(action)
    assert episode.reward().value == 1.0


@pytest.mark.parametrize("name", [RESPOND, "cancel_pending_order", "none", "", None, 5, [], {}])
@pytest.mark.parametrize("kwargs", [None, 5, "content", [], {}, {"content": None}, {"content": ["x"]}])
def test_no_action_raises(episode, task, name, kwargs):
    first = episode.reset(task) and episode.reward()
    step = episode.step(Action(name, kwargs))
    assert not step.done and step.observation.startswith(("Error: ", "Unknown action "))
    assert episode.reward() == first


# --- the made-up shop ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_gold_actions_are_rewarded_and_doing_nothing_is_not(tmp_path, seed):
    write_shop(ShopSpec(seed, TASKS), tmp_path)
    benchmark = Benchmark(tmp_path)
    episode = Episode(benchmark)
    tasks = benchmark.tasks("test")
    assert len(tasks) == TASKS
    assert len({task.actions[-1].name for task in tasks}) == len(KINDS)
    for task in tasks:
        episode.reset(task)
        assert episode.reward().value == 0.0
        replies = [episode.step(action).observation for action in task.actions]
        assert not any(reply.startswith(("Error", "Unknown")) for reply in replies)
        assert episode.reward().value == 1.0


def test_the_instruction_says_all_that_the_user_has_to_know(benchmark):
    for task in benchmark.tasks("test"):
        kwargs = {**task.actions[0].kwargs, **task.actions[-1].kwargs}
        told = [value for value in kwargs.values() if isinstance(value, str)]
        assert all(value in task.instruction for value in told), task.instruction


def test_the_same_spec_gives_the_same_bytes_and_another_seed_others(tmp_path):
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        write_shop(ShopSpec(seed), tmp_path / name)
    a, b, c = ({file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in "abc")
    assert a == b
    assert a["orders.json"] != c["orders.json"]


@pytest.mark.parametrize("tasks", [0, 100_000])
def test_a_shop_that_cannot_be_made_is_refused(tmp_path, tasks):
    with pytest.raises(InputError, match="'tasks' must lie between 1 and"):
        write_shop(ShopSpec(tasks=tasks), tmp_path)


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file: cannot be written"):
        write_shop(ShopSpec(), tmp_path / "file")


def test_the_schemas_of_a_made_up_shop_describe_each_argument(benchmark):
    schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in benchmark.tools}
    exchange = schemas["exchange_delivered_order_items"]
    assert exchange["required"] == ["order_id", "item_ids", "new_item_ids", "payment_method_id"]
    assert exchange["properties"]["item_ids"] == {"type": "array", "items": {"type": "string"}}
    assert schemas["cancel_pending_order"]["properties"]["reason"]["enum"] == ["no longer needed", "ordered by mistake"]
    assert schemas["list_all_product_types"]["properties"] == {}


def test_the_schemas_agree_with_the_official_ones(benchmark, shared_data):
    official = Benchmark(shared_data / "tau_bench_retail").tools
    names = [tool["function"]["name"] for tool in official]
    assert names == [tool["function"]["name"] for tool in benchmark.tools]
    for made, theirs in zip(benchmark.tools, official, strict=True):
        ours, parameters = made["function"]["parameters"], theirs["function"]["parameters"]
        assert ours["required"] == parameters["required"]
        for name, argument in ours["properties"].items():
            assert argument.items() <= {**parameters["properties"][name]}.items()


# --- pass^k ----------------------------------------------------------------------------------------------------------


@given(st.lists(st.booleans(), min_size=1, max_size=8), st.data())
def test_pass_hat_k_is_the_share_of_draws_of_k_trials_that_all_passed(trials, data):
    k = data.draw(st.integers(1, len(trials)))
    draws = [all(draw) for draw in combinations(trials, k)]
    assert pass_hat_k(sum(trials), len(trials), k) == pytest.approx(sum(draws) / len(draws))


def test_pass_rates_are_means_over_tasks():
    found = pass_rates({"a": [1.0, 0.0, 1.0, 1.0], "b": [0.0, 0.0, 0.0], "c": [1.0, 1.0, 1.0]})
    assert found == pytest.approx(
        {"pass^1": (3 / 4 + 0 + 1) / 3, "pass^2": (3 / 6 + 0 + 1) / 3, "pass^3": (1 / 4 + 1) / 3}
    )


@pytest.mark.parametrize("passed, trials, k", [(1, 1, 2), (1, 1, 0), (2, 1, 1), (-1, 1, 1), (0, 0, 1)])
def test_pass_hat_k_refuses_what_makes_no_sense(passed, trials, k):
    with pytest.raises(ValueError, match="needs"):
        pass_hat_k(passed, trials, k)


@pytest.mark.parametrize("rewards", [{}, {"a": []}, {"a": [1.0], "b": []}])
def test_pass_rates_need_a_trial_of_every_task(rewards):
    with pytest.raises(ValueError, match="every task"):
        pass_rates(rewards)
