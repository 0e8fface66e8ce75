"""Whatever a model says, an episode over an endpoint goes as the trainer's: same replies, same end, same record."""

import asyncio
import json
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.scripted_trainer import make_player, open_store
from helpers.tiny_model import TEMPLATE, make_tiny_study
from planner_r1.agent import episodes
from planner_r1.agent.limits import Limits
from planner_r1.agent.prompt import render_messages
from planner_r1.agent.turns import CALL, read_tool_calls
from planner_r1.endpoint.agent_loop import Episode
from planner_r1.endpoint.client import Reply
from planner_r1.endpoint.ledger import Usage
from planner_r1.sandbox.tools import TOOL_SCHEMAS, Toolbox

MULTI_TURN = "actor_rollout_ref.rollout.multi_turn"


class ScriptedClient:
    """Stands for the client: a model that says one text after the other, with tokens counted by its tokenizer."""

    def __init__(self, tokenizer, texts, tools):
        self.endpoint = SimpleNamespace(tools=tools, response_tokens=None)
        self._tokenizer, self._texts, self.seen, self.tools = tokenizer, list(texts), [], None

    async def chat(self, messages, *, tools=None, max_tokens=None, label=None):
        self.seen.append([dict(message) for message in messages])
        self.tools = tools
        text = self._texts.pop(0)
        completion = len(self._tokenizer.encode(text + "<|im_end|>", add_special_tokens=False))
        calls = []
        if self.endpoint.tools == "native":
            read = read_tool_calls(text)
            # A service's parser takes what it can read; where it cannot, it leaves the text as it is.
            if read and not any(call.error for call in read):
                calls = [
                    {"id": f"c{i}", "function": {"name": call.name, "arguments": json.dumps(call.arguments)}}
                    for i, call in enumerate(read)
                ]
                text = CALL.sub("", text)
        usage = Usage(prompt=self._length(messages, tools), completion=completion)
        return Reply(text, tuple(calls), "stop", None, usage, {"content": text})

    def _length(self, messages, tools):
        plain = [{"role": m["role"], "content": m["content"] or ""} for m in messages]
        text = self._tokenizer.apply_chat_template(plain, tools=tools, tokenize=False, add_generation_prompt=True)
        return len(self._tokenizer.encode(text, add_special_tokens=False))


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return make_tiny_study(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def tokenizer(study):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(study.model)


@pytest.fixture(scope="module")
def both(study, tokenizer, tmp_path_factory):
    """Play the same turns under the trainer's loop and over an endpoint; returns both records and what the
    trainer's model was shown last, and the client."""
    monkeypatch = pytest.MonkeyPatch()
    store = open_store(study, monkeypatch)
    trainer = make_player(study, tokenizer, tmp_path_factory.mktemp("verl"))
    opening = render_messages(study.train_queries[0].query, TEMPLATE)

    def play(texts, tools, *, turns=4, tokens=4000, parallel=1, chars=400, side="right"):
        texts = [*texts, "I give up."] * 2
        said = {"max_parallel_calls": parallel, "max_tool_response_length": chars, "tool_response_truncate_side": side}
        overrides = {f"{MULTI_TURN}.{key}": value for key, value in said.items()}
        output, script = trainer(*texts, turns=turns, tokens=tokens, overrides=overrides)
        client = ScriptedClient(tokenizer, texts, tools)
        episode = Episode(client, Toolbox(store), Limits(turns, 30, parallel, chars, side, tokens), opening)
        ours = asyncio.run(episode.play({}))
        prompt = tokenizer.decode(script.prompts[-1])
        return output.extra_fields["episode"], ours, prompt, client

    yield play
    monkeypatch.undo()


def call(name, arguments):
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments}, ensure_ascii=False)}\n</tool_call>"


def spoken():
    """Turns as models take them: calls of every kind, broken ones, answers, chatter, and all of it together."""
    sound = st.sampled_from(
        [
            call("get_cities", {"state": "Nowhere"}),
            call("get_cities", {}),
            call("get_cities", '{"state": "Nowhere"}'),
            call("calculator", {"expression": "(1 + 2) * 3"}),
            call("calculator", {"expression": "1 / 0"}),
            call("search_flights", {"origin": "x", "destination": "y", "date": "today"}),
            call("fly", {"to": "the moon" * 60}),
            call("search_restaurants", ["Rome"]),
            call("search_restaurants", None),
            call("search_attractions", {"city": "é" * 300}),
        ]
    )
    broken = st.sampled_from(
        ["<tool_call>{oops}</tool_call>", '<tool_call>{"name": "x"', '<tool_call>["x"]</tool_call>', "<tool_call>"]
    )
    words = st.sampled_from(["Let me see. ", "\n", "<think>hm</think>", "</tool_call>", "<answer>[", "{}"])
    answers = st.sampled_from(["<answer>[]</answer>", "<answer>no</answer>"])
    turn = st.lists(st.one_of(sound, sound, sound, broken, words, answers), min_size=1, max_size=4).map("".join)
    return st.lists(turn, min_size=1, max_size=4)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=spoken(),
    tools=st.sampled_from(["hermes", "native"]),
    turns=st.integers(1, 4),
    parallel=st.integers(1, 3),
    chars=st.sampled_from([40, 400]),
    side=st.sampled_from(["left", "right", "middle"]),
)
def test_the_same_turns_make_the_same_episode(both, texts, tools, turns, parallel, chars, side):
    theirs, ours, *_ = both(texts, tools, turns=turns, parallel=parallel, chars=chars, side=side)
    # a service hands calls over apart from the text, and says nothing of what stood between them
    for key in ("end_reason", "turns", "tool_calls") + (("answer",) if tools == "hermes" else ()):
        assert ours[key] == theirs[key], key


@settings(max_examples=25, deadline=None)
@given(texts=spoken(), tokens=st.integers(20, 400))
def test_tokens_run_out_in_the_same_turn(both, texts, tokens):
    theirs, ours, *_ = both(texts, "hermes", tokens=tokens)
    assert ours["turns"] == theirs["turns"]
    assert ours["tool_calls"] == theirs["tool_calls"]
    if ours["tokens"]["response"] <= tokens:
        assert ours["end_reason"] == theirs["end_reason"]
    else:  # the turn is cut here in proportion, there by tokens: an answer may be whole here and not there
        assert {ours["end_reason"], theirs["end_reason"]} <= {episodes.LENGTH, episodes.ANSWER}


def test_hermes_shows_the_model_what_the_trainer_shows_it(both, tokenizer):
    texts = ["Let me see." + call("get_cities", {"state": "Nowhere"}), "<tool_call>{oops}</tool_call>", "Done."]
    theirs, ours, prompt, client = both(texts, "hermes")
    assert client.tools is None
    messages = client.seen[-1]
    shown = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert shown.count("<tool_response>") == 2
    first_turn = "<|im_start|>assistant\nLet me see."
    assert shown[shown.index(first_turn) :] == prompt[prompt.index(first_turn) :]
    assert ours["tokens"]["generated"] == theirs["tokens"]["generated"]
    assert ours["tokens"]["response"] == theirs["tokens"]["response"]


def test_native_hands_over_the_schemas_that_the_trainer_hands_over(both):
    *_, client = both([call("get_cities", {"state": "Nowhere"}), "Done."], "native")
    assert [m["role"] for m in client.seen[-1]] == ["system", "user", "assistant", "tool"]
    assert client.seen[-1][0]["content"] == TEMPLATE
    assert client.tools == TOOL_SCHEMAS
