"""Episodes with a scripted service, over the wire: both ways to hand tools over, and every way to end."""

import asyncio
import json

import pytest

from helpers.scripted_endpoint import ScriptedEndpoint, error, native, says
from planner_r1.agent import episodes
from planner_r1.agent.limits import Limits
from planner_r1.agent.turns import read_tool_calls
from planner_r1.endpoint.agent_loop import Episode
from planner_r1.endpoint.client import Client, Endpoint
from planner_r1.endpoint.ledger import Ledger, Price
from planner_r1.sandbox.tools import TOOL_SCHEMAS, Toolbox

OPENING = [{"role": "system", "content": "Plan."}, {"role": "user", "content": "To Ohio, please."}]
ANSWER = "<answer>[]</answer>"
CALL = '<tool_call>\n{"name": "get_cities", "arguments": {"state": "Nowhere"}}\n</tool_call>'
UNKNOWN = '{"error":"Unknown state \'Nowhere\'."}'


@pytest.fixture
def play(small_store, tmp_path):
    """Play an episode against a script of answers; returns its record and the bodies of the requests."""

    def run(script, tools="native", turns=6, tokens=10_000, parallel=1, chars=400, **keys):
        limits = Limits(turns, turns, parallel, chars, "right", tokens)
        with ScriptedEndpoint(script) as server:
            endpoint = Endpoint("e", server.url, "m", tools=tools, **keys)

            async def episode():
                with Ledger(tmp_path / "requests.jsonl", Price()) as ledger:
                    async with Client(endpoint, ledger) as client:
                        return await Episode(client, Toolbox(small_store), limits, OPENING).play({"idx": 1})

            return asyncio.run(episode()), server.requests

    return run


# ---- tools go to the model and calls come back --------------------------------------------------------------------


def test_native_calls_are_answered_by_their_names(play):
    record, (first, second) = play([says(None, [native("get_cities", {"state": "Nowhere"}, "abc")]), says(ANSWER)])
    assert first["messages"] == OPENING and first["tools"] == TOOL_SCHEMAS
    said = {"role": "assistant", "content": None}
    call = {"id": "abc", "type": "function", "function": {"name": "get_cities", "arguments": '{"state": "Nowhere"}'}}
    reply = {"role": "tool", "tool_call_id": "abc", "content": UNKNOWN}
    assert second["messages"] == [*OPENING, said | {"tool_calls": [call]}, reply]
    assert record["end_reason"] == episodes.ANSWER and record["answer"] == ANSWER and record["turns"] == 2
    made = {"turn": 1, "name": "get_cities", "arguments": {"state": "Nowhere"}}
    assert record["tool_calls"] == [made | {"reply_chars": len(UNKNOWN), "error": True}]


def test_hermes_writes_tools_and_replies_as_text(play):
    record, (first, second) = play([says("Let me see." + CALL), says(ANSWER)], tools="hermes")
    assert "tools" not in first
    system = first["messages"][0]["content"]
    assert system.startswith("Plan.\n\n# Tools\n")
    schemas = [json.loads(line) for line in system.partition("<tools>\n")[2].partition("\n</tools>")[0].splitlines()]
    assert schemas == TOOL_SCHEMAS
    said = {"role": "assistant", "content": "Let me see." + CALL}
    reply = {"role": "user", "content": f"<tool_response>\n{UNKNOWN}\n</tool_response>"}
    assert second["messages"] == [*first["messages"], said, reply]
    assert record["end_reason"] == episodes.ANSWER
    assert [call["name"] for call in record["tool_calls"]] == ["get_cities"]


def test_a_call_that_the_services_parser_left_in_the_text_is_read_there(play):
    record, (_, second) = play([says("<tool_call>{oops}</tool_call>"), says(ANSWER)])
    assert "not valid JSON" in second["messages"][-1]["content"]
    assert second["messages"][-2] == {"role": "assistant", "content": "<tool_call>{oops}</tool_call>"}
    assert record["end_reason"] == episodes.ANSWER and record["tool_calls"][0]["error"]


def test_every_call_of_a_turn_gets_a_reply_and_the_surplus_is_refused(play):
    calls = [native("get_cities", {"state": f"state {i}"}, f"c{i}") for i in range(4)]
    record, (_, second) = play([says(None, calls), says(ANSWER)], parallel=2)
    replies = second["messages"][-4:]
    assert [reply["tool_call_id"] for reply in replies] == ["c0", "c1", "c2", "c3"]
    assert "state 0" in replies[0]["content"] and "state 1" in replies[1]["content"]
    refusal = "Only 2 tool calls a turn: the other 2 of this turn were not carried out."
    assert [json.loads(reply["content"]) for reply in replies[2:]] == [{"error": refusal}] * 2
    assert len(record["tool_calls"]) == 4


@pytest.mark.parametrize("ids", [(None, None), ("same", "same"), ("", "b"), (3, 4)])
def test_calls_without_names_of_their_own_get_some(play, ids):
    calls = [native("get_cities", {"state": "Nowhere"}, id_) for id_ in ids]
    _, (_, second) = play([says(None, calls), says(ANSWER)])
    named = [call["id"] for call in second["messages"][-3]["tool_calls"]]
    assert [reply["tool_call_id"] for reply in second["messages"][-2:]] == named
    assert len(set(named)) == 2 and all(named)


@pytest.mark.parametrize(
    ("call", "complaint", "sent_back"),
    [
        (native("fly", {"to": "Rome"}), "Unknown tool 'fly'", ("fly", '{"to": "Rome"}')),
        (native("two words!", {}), "Unknown tool", ("two_words_", "{}")),
        (native("get_cities", "{oops"), "not valid JSON", ("get_cities", "{}")),
        (native("get_cities", "[1]"), "one JSON object, not a list", ("get_cities", "{}")),
        (native("get_cities", ""), "not valid JSON", ("get_cities", "{}")),
        (native("get_cities", "[" * 100_000), "longer than", ("get_cities", "{}")),
        (native("get_cities", '{"state": "\\ud800"}'), "Unknown state", ("get_cities", '{"state": "?"}')),
        ({"id": "c1", "type": "function", "function": None}, "names no tool", ("_", "{}")),
        ({"id": "c1", "function": {"name": "get_cities"}}, "not null", ("get_cities", "{}")),
    ],
)
def test_a_call_that_fails_is_answered_and_the_history_stays_sound(play, call, complaint, sent_back):
    record, (_, second) = play([says(None, [call]), says(ANSWER)])
    assert complaint in json.loads(second["messages"][-1]["content"])["error"]
    function = second["messages"][-2]["tool_calls"][0]["function"]
    assert (function["name"], function["arguments"]) == sent_back
    assert record["end_reason"] == episodes.ANSWER
    assert [made["error"] for made in record["tool_calls"]] == [True]


@pytest.mark.parametrize("tools", ["native", "hermes"])
def test_long_replies_are_cut(play, small_store, tools):
    city = next(iter(small_store.cities))
    turn = says(None, [native("search_restaurants", {"city": city})])
    if tools == "hermes":
        turn = says(f'<tool_call>{{"name": "search_restaurants", "arguments": {{"city": "{city}"}}}}</tool_call>')
    record, (_, second) = play([turn, says(ANSWER)], tools=tools, chars=30)
    assert "...(truncated)" in second["messages"][-1]["content"]
    assert record["tool_calls"][0]["reply_chars"] == 30 + len("...(truncated)")


# ---- ends ---------------------------------------------------------------------------------------------------------


def test_the_record_holds_all_that_was_said(play):
    turn = says("Let me see.", [native("get_cities", {"state": "Nowhere"})])
    record, _ = play([turn, says(ANSWER)])
    for said in ("Plan.", "To Ohio, please.", "Let me see.", UNKNOWN, ANSWER):
        assert said in record["text"]
    (call,) = read_tool_calls(record["text"])
    assert (call.name, call.arguments) == ("get_cities", {"state": "Nowhere"})


def test_no_call_and_no_answer(play):
    record, _ = play([says("I do not know.")])
    assert (record["end_reason"], record["turns"]) == (episodes.NO_ANSWER, 1)
    record, _ = play([says(None)])
    assert (record["end_reason"], record["answer"]) == (episodes.NO_ANSWER, "")


def test_the_last_turn_may_not_call(play):
    record, requests = play([says(None, [native("get_cities", {"state": "x"})])], turns=2)
    assert (record["end_reason"], record["turns"], len(requests)) == (episodes.TURN_LIMIT, 2, 2)
    assert len(record["tool_calls"]) == 1
    assert read_tool_calls(record["answer"])[0].name == "get_cities"  # as where tools are text


def test_the_service_cuts_a_turn_off(play):
    record, _ = play([says("<answer>[", finish_reason="length")])
    assert record["end_reason"] == episodes.LENGTH
    record, _ = play([says(None, finish_reason="length")])  # all of it went into reasoning
    assert record["end_reason"] == episodes.LENGTH
    record, _ = play([says("I have " + ANSWER, finish_reason="length")])
    assert record["end_reason"] == episodes.ANSWER


def test_the_tokens_of_an_episode_are_counted_by_the_service(play):
    turns = [
        says(CALL, prompt=100, completion=20),
        says(CALL, prompt=150, completion=30),  # 150 - 100 - 20 = 30 are the replies
        says(ANSWER, prompt=200, completion=10),
    ]
    record, requests = play(turns, tools="hermes", tokens=1000)
    assert record["tokens"] == {"prompt": 100, "response": 20 + 30 + 30 + 20 + 10, "generated": 60}
    assert [request["max_completion_tokens"] for request in requests] == [1000, 980, 920]


def test_reasoning_counts_and_stays_out_of_the_next_prompt(play):
    usage = {"prompt_tokens": 100, "completion_tokens": 500, "completion_tokens_details": {"reasoning_tokens": 480}}
    record, requests = play([says(CALL, usage=usage), says(ANSWER, prompt=150)], tools="hermes", tokens=1000)
    assert record["tokens"] == {"prompt": 100, "response": 500 + 30 + 5, "generated": 505}
    assert requests[1]["max_completion_tokens"] == 500


def test_tokens_used_up_by_the_model(play):
    record, _ = play([says(CALL, prompt=10, completion=50)], tools="hermes", tokens=50)
    assert record["end_reason"] == episodes.LENGTH and record["tool_calls"] == []


def test_what_lies_beyond_the_tokens_does_not_count(play):
    long = "x" * 100 + ANSWER
    turns = [says(CALL, prompt=10, completion=50), says(long, prompt=100, completion=60)]
    record, _ = play(turns, tools="hermes", tokens=110)  # 50 + 40 before, so 20 of the last 60 fit
    assert record["end_reason"] == episodes.LENGTH
    assert record["answer"] == long[: len(long) // 3]


def test_a_reply_that_does_not_fit(play):
    turns = [says(CALL, prompt=10, completion=50), says(ANSWER, prompt=200, completion=10)]
    record, _ = play(turns, tools="hermes", tokens=150)
    assert record["end_reason"] == episodes.TOOL_OVERFLOW
    assert (record["turns"], record["answer"], len(record["tool_calls"])) == (1, CALL, 1)
    assert record["tokens"] == {"prompt": 10, "response": 50, "generated": 50}


def test_a_model_may_have_tokens_of_its_own(play):
    record, requests = play([says(ANSWER)], tokens=100, response_tokens=5000)
    assert requests[0]["max_completion_tokens"] == 5000
    assert record["end_reason"] == episodes.ANSWER


def test_a_service_that_counts_nothing(play):
    record, _ = play([says(CALL, usage=None), says(ANSWER, usage=None)], tools="hermes")
    assert record["end_reason"] == episodes.ANSWER
    assert record["tokens"]["response"] >= record["tokens"]["generated"] > 0


TOO_LONG = error(400, "too much", "context_length_exceeded")


def test_messages_that_the_model_cannot_read(play):
    record, _ = play([TOO_LONG])
    assert (record["end_reason"], record["turns"], record["answer"]) == (episodes.PROMPT_TOO_LONG, 0, "")
    record, _ = play([says(CALL), TOO_LONG], tools="hermes")
    assert (record["end_reason"], record["turns"]) == (episodes.TOOL_OVERFLOW, 1)


@pytest.mark.parametrize(
    "turn",
    [
        error(400, "filtered", "content_filter"),
        says("I will", finish_reason="content_filter"),
        says(None, refusal="I cannot help with that."),
    ],
)
def test_a_refusal_is_the_models_failure(play, turn):
    record, _ = play([turn])
    assert record["end_reason"] == episodes.REFUSED
