"""The client of an endpoint against a server that fails in every way it can."""

import asyncio
import json
import logging
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.messages import names, refused
from helpers.scripted_endpoint import HANG, NOTHING, Answer, ScriptedEndpoint, error, native, says
from planner_r1.endpoint.client import Client, Endpoint, Fault, Filtered, Pace, PromptTooLong, check_endpoint
from planner_r1.endpoint.ledger import Ledger, Price, Usage
from planner_r1.errors import InputError
from planner_r1.files import read_lines

KEY = "sk-very-secret-tail"
HELLO = [{"role": "user", "content": "Hello"}]
GOOD = json.dumps(says("Good day")).encode()


class Time:
    """A clock that only moves when somebody sleeps."""

    def __init__(self):
        self.now, self.slept = 1000.0, []

    def __call__(self):
        return self.now

    async def sleep(self, seconds):
        await asyncio.sleep(0)
        if seconds > 0:
            self.slept.append(seconds)
            self.now += seconds


@pytest.fixture
def time():
    return Time()


@pytest.fixture
def ask(tmp_path, time, monkeypatch):
    """Ask a scripted server (`times` at once) for a reply to HELLO; returns the reply (the replies) and the server."""
    monkeypatch.setenv("TEST_KEY", KEY)

    def run(script, times=1, chat=None, messages=HELLO, **settings):
        with ScriptedEndpoint(script) as server:
            endpoint = Endpoint("models.m.endpoint", server.url, "m", **{"api_key_env": "TEST_KEY", **settings})

            async def talk():
                with Ledger(tmp_path / "requests.jsonl", Price(**endpoint.price)) as ledger:
                    async with Client(endpoint, ledger, clock=time, sleep=time.sleep, jitter=lambda: 1.0) as client:
                        return await asyncio.gather(*(client.chat(messages, **(chat or {})) for _ in range(times)))

            replies = asyncio.run(talk())
        return (replies[0] if times == 1 else replies), server

    return run


@pytest.fixture
def ledger_lines(tmp_path):
    return lambda: list(read_lines(tmp_path / "requests.jsonl"))


# ---- what is sent and read ----------------------------------------------------------------------------------------


def test_a_request_holds_what_is_set_and_nothing_else(ask):
    reply, server = ask([says("Good day")])
    assert reply.text == "Good day"
    assert server.requests == [{"model": "m", "messages": HELLO}]
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"


def test_every_parameter_reaches_the_service(ask):
    tools = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    extra = {"chat_template_kwargs": {"enable_thinking": False}, "top_k": 20}
    sampling = {"temperature": 0, "top_p": 0.9, "seed": 3, "reasoning_effort": "high"}
    _, server = ask([says("x")], chat={"tools": tools, "max_tokens": 100}, extra_body=extra, **sampling)
    sent = {"model": "m", "messages": HELLO, "tools": tools, "max_completion_tokens": 100}
    assert server.requests == [sent | extra | sampling]


@pytest.mark.parametrize(("own", "asked", "sent"), [(50, 100, 50), (100, 50, 50), (50, None, 50), (None, 7, 7)])
def test_the_lesser_limit_of_a_reply_counts(ask, own, asked, sent):
    settings = {"max_tokens": own, "max_tokens_parameter": "max_tokens"}
    _, server = ask([says("x")], chat={"max_tokens": asked}, **settings)
    assert server.requests[0]["max_tokens"] == sent
    assert "max_completion_tokens" not in server.requests[0]


def test_half_a_character_can_be_sent(ask):
    _, server = ask([says("x")], messages=[{"role": "user", "content": "a\ud800b"}])
    assert server.requests[0]["messages"] == [{"role": "user", "content": "a?b"}]


def test_calls_refusals_and_reasons_to_finish_are_handed_on(ask):
    reply, _ = ask([says(None, [native("f", {"a": 1})])])
    assert (reply.text, reply.finish_reason) == ("", "tool_calls")
    assert reply.tool_calls[0]["function"] == {"name": "f", "arguments": '{"a": 1}'}
    reply, _ = ask([says(None, refusal="I would rather not", finish_reason="stop")])
    assert reply.refusal == "I would rather not"
    reply, _ = ask([says("", completion=0)])  # nothing said is an answer too, and the model's own
    assert (reply.text, reply.tool_calls) == ("", ())


# ---- faults of the service ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault",
    [
        error(408),
        error(409),
        error(429),
        error(500),
        error(503),
        Answer(502, b"<html>bad gateway</html>"),
        NOTHING,
        Answer(body=b""),
        Answer(body=b"  \n"),
        Answer(body=GOOD[:-20]),
        Answer(body=GOOD[:-20], declared=len(GOOD)),
        Answer(body=b"[" * 100_000),
        Answer(body=b"null"),
        Answer(body=b'{"choices": []}'),
        Answer(body=b'{"error": "overloaded"}'),
        Answer(body=b'{"choices": [{"message": null}]}'),
        Answer(body=b'{"choices": [{"message": {"content": 3}}]}'),
    ],
    ids=lambda fault: "nothing" if fault is NOTHING else f"{fault.status} {fault.body[:20]!r}",
)
def test_a_fault_is_tried_again_and_told_from_an_answer(ask, fault, ledger_lines):
    reply, server = ask([fault, fault, says("Good day")])
    assert reply.text == "Good day"
    assert len(server.requests) == 3
    assert [(line["retries"], line["problem"]) for line in ledger_lines()] == [(2, None)]


@pytest.mark.parametrize("fault", [error(500, "overloaded"), NOTHING, Answer(body=GOOD[:9])])
def test_after_the_last_try_it_is_a_fault_and_no_answer(ask, fault, ledger_lines):
    with pytest.raises(Fault, match="asked 3 times"):
        ask([fault], retries=2)
    (line,) = ledger_lines()
    assert line["retries"] == 2 and line["problem"] and line["cost"] is None


def test_a_service_that_does_not_answer_in_time(ask):
    with refused("0.05 s", error=Fault):
        ask([HANG], timeout=0.05, retries=1)


def test_nobody_listens(tmp_path):
    with ScriptedEndpoint([]) as server:
        gone = server.url
    with pytest.raises(Fault, match="connection failed"):
        asyncio.run(talk_to(gone, tmp_path))


async def talk_to(url, folder):
    with Ledger(folder / "requests.jsonl", Price()) as ledger:
        async with Client(Endpoint("e", url, "m", retries=0), ledger) as client:
            await client.chat(HELLO)


def test_waits_double_up_to_a_minute(ask, time):
    with pytest.raises(Fault):
        ask([error(500)], retries=8)
    assert time.slept == [1, 2, 4, 8, 16, 32, 60, 60]


def test_the_service_says_how_long_to_wait(ask, time):
    ask([error(429, retry_after="7"), says("x")])
    assert sum(time.slept) == 8  # and a moment more, so that not all come back at once
    time.slept.clear()
    ask([error(503, retry_after_ms="1500"), says("x")])
    assert sum(time.slept) == 2.5


def test_a_service_that_asks_to_come_back_tomorrow_is_not_waited_for(ask, time):
    with pytest.raises(Fault, match="429"):
        ask([error(429, retry_after="86400")])
    assert time.slept == []


def test_a_date_to_wait_for_and_nonsense(ask, time):
    ask([error(429, retry_after="Thu, 01 Jan 1970 00:00:00 GMT"), says("x")])
    assert sum(time.slept) == 1  # that has long passed
    time.slept.clear()
    ask([error(429, retry_after="soon"), says("x")])
    assert sum(time.slept) == 1  # the first wait of its own


# ---- what a person must mend --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (error(401, f"Incorrect API key provided: {KEY[:8]}***{KEY[-5:]}"), "TEST_KEY"),
        (error(403, f"no access with {KEY}"), "TEST_KEY"),
        (error(404, "The model `m` does not exist"), "'m'"),
        (error(400, "Unsupported value: temperature"), "Unsupported value: temperature"),
        (error(422, f"Unexpected fields, you said {KEY}"), "Unexpected fields"),
        (error(429, "You exceeded your current quota", "insufficient_quota"), "credit"),
    ],
)
def test_a_wrong_key_model_or_parameter_stops_at_once(ask, answer, words, time, capfd, caplog):
    caplog.set_level(logging.DEBUG)
    with pytest.raises(InputError) as caught:
        ask([answer])
    names(str(caught.value), "models.m.endpoint", "http://127.0.0.1", words)
    assert time.slept == []
    said = str(caught.value) + caplog.text + "".join(capfd.readouterr())
    assert KEY not in said and KEY[:8] not in said and KEY[-5:] not in said


@pytest.mark.parametrize("key", [None, "", "two words", "line\nbreak", "schlüssel"])
def test_a_key_that_is_missing_or_none_is_named_and_not_shown(ask, monkeypatch, key):
    monkeypatch.delenv("OTHER_KEY", raising=False)
    if key is not None:
        monkeypatch.setenv("OTHER_KEY", key)
    with pytest.raises(InputError) as caught:
        ask([says("x")], api_key_env="OTHER_KEY")
    names(str(caught.value), "models.m.endpoint.api_key_env", "OTHER_KEY")
    assert not key or key not in str(caught.value)


# ---- what the service will not answer -----------------------------------------------------------------------------

TOO_LONG = (
    error(400, "Your input exceeds the context window of this model", "context_length_exceeded"),
    error(400, "This model's maximum context length is 1024 tokens. However, your request has 2000 input tokens."),
    error(400, "The input (2000 tokens) is longer than the model's context length (1024 tokens)."),
    error(400, "prompt is too long: 210000 tokens > 200000 maximum"),
)


@pytest.mark.parametrize("answer", TOO_LONG)
def test_a_prompt_beyond_the_models_context_is_the_models_failure(ask, answer, ledger_lines):
    with pytest.raises(PromptTooLong):
        ask([answer], chat={"max_tokens": 10})
    assert ledger_lines()[0]["problem"]


def test_where_only_the_limit_of_the_reply_is_too_large_the_service_sets_its_own(ask):
    reply, server = ask([TOO_LONG[1], says("Good day")], chat={"max_tokens": 1000})
    assert reply.text == "Good day"
    assert [request.get("max_completion_tokens") for request in server.requests] == [1000, None]


def test_a_content_filter_is_no_fault(ask):
    with pytest.raises(Filtered):
        ask([error(400, "The response was filtered", "content_filter")])


# ---- pace ---------------------------------------------------------------------------------------------------------


def test_requests_a_minute(ask, time):
    ask([says("x")], times=5, concurrency=1, requests_per_minute=30)
    assert time.now == 1000 + 4 * 2


def test_tokens_a_minute_as_the_service_counts_them(ask, time):
    # 600 tokens a minute are 10 a second; each request turns out to take 100
    ask([says("x", prompt=60, completion=40)], times=3, concurrency=1, tokens_per_minute=600)
    assert time.now == pytest.approx(1000 + 2 * 10, abs=2)


def test_as_many_requests_at_once_as_allowed_and_no_more(ask):
    at_once, most, lock = [0], [0], threading.Lock()
    three = threading.Barrier(3, timeout=60)  # opens when three have come, and fails where fewer ever do

    def script(body):
        with lock:
            at_once[0] += 1
            most[0] = max(most[0], at_once[0])
        three.wait()
        with lock:
            at_once[0] -= 1
        return says("x")

    ask(script, times=12, concurrency=3)
    assert most[0] == 3


@given(st.lists(st.floats(0.1, 50), min_size=1, max_size=30), st.floats(1, 1000))
def test_no_minute_holds_more_than_its_share(amounts, per_minute):
    clock = [0.0]
    pace, starts = Pace(per_minute, lambda: clock[0]), []
    for amount in amounts:
        clock[0] += pace.reserve(amount)
        starts.append((clock[0], amount))
    for begin, _ in starts:
        inside = [amount for start, amount in starts if begin <= start < begin + 60 - 1e-6]
        assert sum(inside[:-1]) <= per_minute * (1 + 1e-9)  # what began last may reach beyond the minute


# ---- the ledger ---------------------------------------------------------------------------------------------------


def test_the_ledger_has_a_line_a_request_and_never_the_key(ask, ledger_lines, tmp_path):
    usage = {
        "prompt_tokens": 1000,
        "completion_tokens": 500,
        "completion_tokens_details": {"reasoning_tokens": 400},
        "prompt_tokens_details": {"cached_tokens": 600},
    }
    price = {"input": 2.0, "cached_input": 0.5, "output": 10.0, "currency": "EUR"}
    ask([error(500), says("x", usage=usage)], price=price, chat={"label": {"idx": 7}})
    (line,) = ledger_lines()
    counted = {"prompt": 1000, "completion": 500, "reasoning": 400, "cached": 600}
    assert (
        line.items() >= (counted | {"model": "m", "idx": 7, "retries": 1, "currency": "EUR", "problem": None}).items()
    )
    assert line["cost"] == pytest.approx((400 * 2.0 + 600 * 0.5 + 500 * 10.0) / 1e6)
    assert KEY not in (tmp_path / "requests.jsonl").read_text()


def test_sums_go_on_where_an_earlier_process_was_killed(tmp_path):
    path, usage = tmp_path / "requests.jsonl", Usage(prompt=10, completion=20)
    with Ledger(path, Price(input=1, output=1)) as ledger:
        ledger.add({"model": "m"}, usage, 1.5, 0, None)
    with open(path, "a") as file:
        file.write('{"model": "m", "pro')
    with Ledger(path, Price(input=1, output=1)) as ledger:
        ledger.add({"model": "m"}, usage, 0.5, 2, None)
        ledger.add({"model": "m"}, Usage(), 9.0, 6, "no answer")
        totals = ledger.totals()
    assert len(list(read_lines(path))) == 3
    expected = {"requests": 3, "without_answer": 1, "retries": 8, "seconds": 11.0, "prompt": 20, "completion": 40}
    assert totals.items() >= (expected | {"cost": pytest.approx(60 / 1e6), "currency": "USD"}).items()


@pytest.mark.parametrize(
    ("price", "usage"),
    [({}, Usage(10, 20)), ({"input": 1}, Usage(10, 20)), ({"input": 1, "output": 1}, Usage())],
)
def test_an_unknown_price_is_not_nothing(tmp_path, price, usage):
    with Ledger(tmp_path / "requests.jsonl", Price(**price)) as ledger:
        ledger.add({}, usage, 1.0, 0, None)
        assert ledger.totals()["cost"] is None


@given(
    st.recursive(
        st.none() | st.integers() | st.text() | st.booleans(),
        lambda x: st.dictionaries(
            st.sampled_from(["prompt_tokens", "completion_tokens", "prompt_tokens_details", "cached_tokens"]), x
        ),
    )
)
def test_whatever_a_service_says_of_usage_can_be_read(usage):
    assert all(v is None or v >= 0 for v in vars(Usage.read(usage)).values())


# ---- looking before asking ----------------------------------------------------------------------------------------


def problem(models, monkeypatch, model="m", **settings):
    monkeypatch.setenv("TEST_KEY", KEY)
    with ScriptedEndpoint([], models) as server:
        found = check_endpoint(Endpoint("models.m.endpoint", server.url, model, "TEST_KEY", **settings))
        assert server.requests == []
    assert KEY not in (found or "")
    return found


def test_an_endpoint_that_is_well(monkeypatch):
    assert problem(["a", "m"], monkeypatch) is None
    assert problem(error(404), monkeypatch) is None  # not every server lists its models


def test_what_stands_in_the_way(monkeypatch):
    names(problem(["a", "m"], monkeypatch, "other"), "'other'", "a, m")
    names(problem(error(401, KEY), monkeypatch), "http://127.0.0.1", "key", 401)
    names(problem(Answer(body=b"hello"), monkeypatch), "OpenAI-compatible")
    monkeypatch.delenv("NO_KEY", raising=False)
    names(check_endpoint(Endpoint("e", "http://127.0.0.1:9/v1", "m", "NO_KEY")), "NO_KEY", "set")
    names(check_endpoint(Endpoint("e", "http://127.0.0.1:9/v1", "m")), "http://127.0.0.1:9/v1", "answer")
