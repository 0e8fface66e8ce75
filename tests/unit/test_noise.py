"""Noisy tools: rates, seeds, what stays as it is; and what the agent loops make of them."""

import asyncio
import json
import math
from types import SimpleNamespace

import pytest

from helpers.scripted_trainer import make_player, open_store
from helpers.tiny_model import make_tiny_study
from planner_r1.agent.episodes import call_record, mistaken
from planner_r1.agent.limits import Limits
from planner_r1.endpoint.agent_loop import Episode
from planner_r1.sandbox.noise import NO_ANSWER, Noise, NoisyToolbox
from planner_r1.sandbox.tools import Toolbox

FAILURE = {"error": NO_ANSWER}
SEVERAL = 2000  # calls; rates are checked within five standard deviations


def within(share, rate, n):
    return abs(share - rate) <= 5 * math.sqrt(rate * (1 - rate) / n)


@pytest.fixture
def city(small_store):
    """A city with several restaurants."""
    return max(small_store.cities, key=lambda c: len(small_store.restaurants(c)))


@pytest.fixture
def toolbox(small_store):
    return lambda *episode, **noise: NoisyToolbox(small_store, Noise(**noise), *(episode or (0, 0)))


# ---- the toolbox --------------------------------------------------------------------------------------------------


def test_without_rates_nothing_is_changed(toolbox, small_store, city):
    quiet, plain = toolbox(), Toolbox(small_store)
    for name, arguments in (
        ("search_restaurants", {"city": city}),
        ("search_attractions", {"city": "Atlantis"}),
        ("calculator", {"expression": "1 + 1"}),
        ("fly", {}),
    ):
        assert quiet.call_text(name, arguments) == plain.call_text(name, arguments)
        assert (quiet.effect, quiet.seconds) == (None, 0.0)


@pytest.mark.parametrize("rate", [0.05, 0.3, 0.8])
def test_calls_fail_at_the_rate(toolbox, city, rate):
    failed = 0
    for episode in range(SEVERAL):
        noisy = toolbox(0, episode, failures=rate)
        reply = noisy.call("search_restaurants", {"city": city})
        assert (reply == FAILURE) == (noisy.effect == {"failure": True})
        failed += reply == FAILURE
    assert within(failed / SEVERAL, rate, SEVERAL)


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_rows_are_dropped_at_the_rate_and_the_rest_is_as_it_was(toolbox, small_store, city, rate):
    rows, dropped = small_store.restaurants(city), 0
    for episode in range(SEVERAL):
        noisy = toolbox(0, episode, dropped_rows=rate)
        kept = noisy.call("search_restaurants", {"city": city}).get("results", [])
        assert kept == [row for row in rows if row in kept]
        missing = len(rows) - len(kept)
        assert noisy.effect == ({"dropped_rows": missing} if missing else None)
        dropped += missing
    assert within(dropped / SEVERAL / len(rows), rate, SEVERAL * len(rows))


def test_a_reply_left_without_rows_says_that_nothing_was_found(toolbox, city):
    noisy = toolbox(dropped_rows=1)
    assert noisy.call("search_restaurants", {"city": city}) == {"error": f"No restaurant was found in {city}."}
    assert noisy.effect["dropped_rows"] > 0


def test_latency_has_its_mean_and_changes_no_reply(toolbox, small_store, city):
    plain, seconds = Toolbox(small_store).call("search_restaurants", {"city": city}), []
    for episode in range(SEVERAL):
        slow = toolbox(0, episode, latency=2.0)
        assert slow.call("search_restaurants", {"city": city}) == plain
        assert slow.effect is None
        seconds.append(slow.seconds)
    assert min(seconds) > 0
    assert abs(sum(seconds) / SEVERAL - 2.0) <= 5 * 2.0 / math.sqrt(SEVERAL)  # an exponential's deviation is its mean


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("fly", {}),
        ("search_restaurants", {"city": "Atlantis"}),
        ("search_restaurants", {"town": "x"}),
        ("search_restaurants", "{oops"),
        ("search_flights", {"origin": "x", "destination": "y", "date": "today"}),
        ("get_cities", {"state": "Nowhere"}),
        ("calculator", {"expression": "1 / 0"}),
        ("calculator", {"expression": "6 * 7"}),
    ],
)
def test_mistakes_keep_their_errors_and_the_calculator_is_at_hand(toolbox, small_store, name, arguments):
    noisy = toolbox(failures=1, dropped_rows=1, latency=5)
    assert noisy.call(name, arguments) == Toolbox(small_store).call(name, arguments)
    assert (noisy.effect, noisy.seconds) == (None, 0.0)


def test_a_sound_call_that_finds_nothing_fails_too(toolbox, city):
    nowhere = {"origin": city, "destination": city, "date": "2022-03-16"}
    assert "no flight" in toolbox().call("search_flights", nowhere)["error"]
    assert toolbox(failures=1).call("search_flights", nowhere) == FAILURE


def replies(noisy, city, times=40):
    return [noisy.call_text("search_restaurants", {"city": city}) for _ in range(times)]


def test_an_episode_that_is_played_again_meets_the_same(toolbox, city):
    rates = {"failures": 0.3, "dropped_rows": 0.3}
    first = replies(toolbox(1, 2, **rates), city)
    assert replies(toolbox(1, 2, **rates), city) == first
    for other in (toolbox(1, 3, **rates), toolbox(2, 2, **rates), toolbox(1, 2, seed=1, **rates)):
        assert replies(other, city) != first


def test_a_call_that_is_tried_again_gets_another_draw(toolbox, city):
    said = {reply == json.dumps(FAILURE, separators=(",", ":")) for reply in replies(toolbox(failures=0.5), city)}
    assert said == {True, False}


def test_other_calls_in_between_change_nothing(toolbox, city):
    rates = {"failures": 0.3, "dropped_rows": 0.3}
    alone, between = replies(toolbox(**rates), city, 10), toolbox(**rates)
    mixed = []
    for _ in range(10):
        between.call("search_attractions", {"city": city})
        between.call("search_restaurants", {"city": "Atlantis"})
        mixed += replies(between, city, 1)
    assert mixed == alone


# ---- records ------------------------------------------------------------------------------------------------------


def test_only_what_noise_did_is_marked():
    error = '{"error":"No."}'
    assert "noise" not in call_record(1, "t", {}, error)
    assert mistaken(call_record(1, "t", {}, error))
    assert not mistaken(call_record(1, "t", {}, error, {"failure": True}))
    assert not mistaken(call_record(1, "t", {}, '{"results":[]}'))


# ---- agent loops --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return make_tiny_study(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def tokenizer(study):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(study.model)


@pytest.fixture
def player(study, tokenizer, tmp_path, monkeypatch):
    """The study's store, and a player of verl's own loop under noise."""
    store = open_store(study, monkeypatch)
    return store, lambda seed=0, **noise: make_player(study, tokenizer, tmp_path, noise, seed)


def call(state):
    return f'<tool_call>\n{{"name":"get_cities","arguments":{{"state":"{state}"}}}}\n</tool_call>'


def calls_of(output):
    return output.extra_fields["episode"]["tool_calls"]


def test_the_trainers_loop_shows_failures_and_marks_them(player, tokenizer):
    store, noisy = player
    state = next(iter(store.states))
    broken = "<tool_call>{oops}</tool_call>"
    output, script = noisy(failures=1.0)(call(state), call("Nowhere"), broken, "<answer>[]</answer>")
    assert NO_ANSWER in tokenizer.decode(script.prompts[1])
    assert [c.get("noise") for c in calls_of(output)] == [{"failure": True}, None, None]
    assert [c["error"] for c in calls_of(output)] == [True, True, True]
    assert [mistaken(c) for c in calls_of(output)] == [False, True, True]


def fates(player, state, **asked):
    """What happened to the same six calls of an episode."""
    output, _ = player(*[call(state)] * 6, "<answer>[]</answer>", turns=8, **asked)
    return [c.get("noise") is not None for c in calls_of(output)]


def test_episodes_of_a_step_and_steps_differ_but_validations_do_not(player):
    store, noisy = player
    state, play = next(iter(store.states)), noisy(failures=0.5)
    training = {tuple(fates(play, state, session=n, step=step)) for n in range(4) for step in (1, 2)}
    assert len(training) > 4
    assert fates(play, state, session=1, step=2) == fates(play, state, session=1, step=2)
    validations = {tuple(fates(play, state, step=step, split="validation")) for step in (0, 10, 20)}
    assert len(validations) == 1
    assert fates(noisy(1, failures=0.5), state, split="test") != fates(play, state, split="test")


def test_the_endpoints_loop_meets_what_the_trainers_evaluation_meets(player, study):
    store, noisy = player
    state, noise = next(iter(store.states)), {"failures": 0.5, "dropped_rows": 0.3, "latency": 1e-6}
    output, _ = noisy(**noise)(*[call(state)] * 6, "<answer>[]</answer>", turns=8, split="test")
    query = study.train_queries[0]
    texts = [*[call(state)] * 6, "<answer>[]</answer>"]

    class Client:
        endpoint = SimpleNamespace(tools="hermes", response_tokens=None)

        async def chat(self, messages, **_):
            from planner_r1.endpoint.client import Reply
            from planner_r1.endpoint.ledger import Usage

            text = texts.pop(0)
            return Reply(text, (), "stop", None, Usage(prompt=10, completion=1), {"content": text})

    opening = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
    toolbox = NoisyToolbox(store, Noise(**noise), 0, query.idx, 0)
    episode = Episode(Client(), toolbox, Limits(8, 30, 1, 4000, "right", 9000), opening)
    assert asyncio.run(episode.play({}))["tool_calls"] == calls_of(output)
