"""Chat with a model behind an OpenAI-compatible endpoint: patient with the service, strict with its answers.

Three things can go wrong and are kept apart. What a person must mend (a wrong key, model or parameter) raises
InputError. What the service lacks (it is busy, slow, away, or sends half an answer) is tried again, and then raises
Fault: nothing was measured. What the service or its filter will not answer raises Rejected: a result of the model.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any

import openai

from planner_r1.endpoint.ledger import Ledger, Usage
from planner_r1.errors import InputError

# Keys of an endpoint that say where and how fast a model is asked, and not what: a server may come back elsewhere.
TRANSPORT = ("name", "url", "api_key_env", "timeout", "concurrency", "retries")
TRANSPORT += ("requests_per_minute", "tokens_per_minute", "price")
TRANSIENT = (408, 409, 425, 429)  # and every 5xx
LONGEST_BACK_OFF = 60.0  # seconds between two tries
LONGEST_HOLD = 600.0  # seconds that a service may ask to wait
CHARACTERS_A_TOKEN = 4  # a guess, where the service has not counted yet
OUT_OF_MONEY = ("insufficient_quota", "billing_hard_limit_reached")
FILTERED = ("content_filter", "content_policy_violation", "invalid_prompt")
TOO_LONG = re.compile(r"context.{0,10}(length|window|size)|(prompt|input).{0,60}(too long|exceeds)", re.IGNORECASE)


class Fault(Exception):
    """The service gave no answer, however often it was asked. Says nothing about the model."""


class Rejected(Exception):
    """The service will not answer this request, and would not the next time."""


class PromptTooLong(Rejected):
    """The messages exceed what the model reads."""


class Filtered(Rejected):
    """The service's content filter stands before the model."""


class _Transient(Exception):
    """A try that failed and may be repeated, after `wait` seconds where the service says so."""

    def __init__(self, reason: str, wait: float | None = None):
        super().__init__(reason)
        self.wait = wait


@dataclass(frozen=True)
class Endpoint:
    """A model, where it is, and how to ask it: `models.<name>.endpoint` of a study, whose schema describes each key.

    name: how errors call it
    """

    name: str
    url: str
    model: str
    api_key_env: str | None = None
    tools: str = "native"
    timeout: float = 600
    concurrency: int = 8
    retries: int = 6
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    reasoning_effort: str | None = None
    max_tokens: int | None = None
    max_tokens_parameter: str = "max_completion_tokens"
    response_tokens: int | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    price: Mapping[str, Any] = field(default_factory=dict)

    def key(self) -> str:
        """The key, from the environment; a word where the endpoint asks for none.

        Raises:
            InputError: the variable is not set, or holds what no header can carry. The key itself is never shown.
        """
        if self.api_key_env is None:
            return "none"
        key = os.environ.get(self.api_key_env, "").strip()
        if not key:
            raise InputError(f"{self.name}.api_key_env: the environment variable {self.api_key_env} is not set")
        if not re.fullmatch(r"[!-~]+", key):
            raise InputError(
                f"{self.name}.api_key_env: the environment variable {self.api_key_env} holds something else than a key "
                "(spaces, line breaks or letters beyond ASCII)"
            )
        return key

    def sampling(self) -> dict[str, Any]:
        """What a request says about sampling: what is set, and nothing else."""
        values = {name: getattr(self, name) for name in ("temperature", "top_p", "seed", "reasoning_effort")}
        return {name: value for name, value in values.items() if value is not None}

    def question(self) -> dict[str, Any]:
        """The model and how it is asked: what makes a reply what it is, wherever the model may be."""
        return {key: value for key, value in asdict(self).items() if key not in TRANSPORT}


@dataclass(frozen=True)
class Reply:
    """One turn of the model.

    text: what it said, "" where it said nothing
    tool_calls: as the service gave them, `{"id", "function": {"name", "arguments"}}` where it keeps to the standard
    finish_reason: "stop", "length", "tool_calls", "content_filter", or what else the service says
    refusal: why the model refuses, where it does
    message: the whole message as received
    """

    text: str
    tool_calls: tuple[dict, ...]
    finish_reason: str | None
    refusal: str | None
    usage: Usage
    message: dict


class Pace:
    """So many a minute, evenly: each amount takes its share of a minute before the next may start."""

    def __init__(self, per_minute: float | None, clock: Callable[[], float]):
        self._share = 60 / per_minute if per_minute else 0.0
        self._clock, self._free = clock, clock()

    def reserve(self, amount: float = 1) -> float:
        """Take a place; returns the seconds to wait for it."""
        start = max(self._clock(), self._free)
        self._free = start + amount * self._share
        return start - self._clock()

    def correct(self, amount: float) -> None:
        """Add (or give back, where negative) what turned out to be used beyond what was reserved."""
        self._free += amount * self._share

    def hold(self, seconds: float) -> None:
        """Let nothing start before so many seconds have passed."""
        self._free = max(self._free, self._clock() + seconds)


class Client:
    """Asks one endpoint, at most `concurrency` requests at once; use as `async with Client(...) as client`.

    Args:
        ledger: where each request is written down.
        clock, sleep, jitter: time and chance (from 0 to 1), for tests.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        ledger: Ledger,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ):
        self.endpoint = endpoint
        self._ledger, self._clock, self._sleep, self._jitter = ledger, clock, sleep, jitter
        self._key = endpoint.key()
        self._api = openai.AsyncOpenAI(
            base_url=endpoint.url, api_key=self._key, timeout=endpoint.timeout, max_retries=0
        )
        self._places = asyncio.Semaphore(endpoint.concurrency)
        self._requests = Pace(endpoint.requests_per_minute, clock)
        self._tokens = Pace(endpoint.tokens_per_minute, clock)

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_) -> None:
        await self._api.close()

    async def chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        max_tokens: int | None = None,
        seed: int | None = None,
        label: Mapping[str, Any] | None = None,
    ) -> Reply:
        """Ask for one turn.

        Args:
            tools: schemas of functions that the model may call.
            max_tokens: the longest reply; the endpoint's own `max_tokens` counts where it is less.
            seed: of the sampling, instead of the endpoint's own.
            label: what the request is about, for the ledger.

        Raises:
            InputError: the key, the model, the address or a parameter is wrong.
            Fault: no answer after all retries.
            PromptTooLong, Filtered: the service will not answer.
        """
        request = self._request(messages, tools, max_tokens, seed)
        entry = {**(label or {}), "model": self.endpoint.model}
        async with self._places:
            started, problems = self._clock(), []
            try:
                reply = await self._persist(request, problems)
            except (Fault, Rejected) as error:
                retries = len(problems) - isinstance(error, Fault)
                self._ledger.add(entry, Usage(), self._clock() - started, retries, str(error))
                raise
            self._ledger.add(entry, reply.usage, self._clock() - started, len(problems), None)
            return reply

    async def _persist(self, request: dict[str, Any], problems: list[str]) -> Reply:
        """Ask until there is an answer, or `retries` are used up; `problems` gathers what each vain try met."""
        while True:
            try:
                return await self._try(request)
            except _Transient as problem:
                problems.append(str(problem))
                if len(problems) > self.endpoint.retries or (problem.wait or 0) > LONGEST_HOLD:
                    times = "once" if len(problems) == 1 else f"{len(problems)} times"
                    raise Fault(f"{problem} (asked {times})") from None
                await self._sleep(self._wait(len(problems) - 1, problem.wait))
            except PromptTooLong:
                # Perhaps only the reply asked for does not fit: without a limit it ends where the model's context does.
                if request["extra_body"].pop(self.endpoint.max_tokens_parameter, None) is None:
                    raise

    def _request(self, messages, tools, max_tokens: int | None, seed: int | None) -> dict[str, Any]:
        body = dict(self.endpoint.extra_body)
        limits = [limit for limit in (self.endpoint.max_tokens, max_tokens) if limit is not None]
        if limits:
            body[self.endpoint.max_tokens_parameter] = min(limits)
        request = {"model": self.endpoint.model, "messages": sound(messages), **self.endpoint.sampling()}
        request["extra_body"] = body
        request |= {} if seed is None else {"seed": seed}
        return request | ({"tools": tools} if tools else {})

    async def _try(self, request: dict[str, Any]) -> Reply:
        expected = guessed_tokens([request["messages"], request.get("tools")])
        await self._sleep(max(self._requests.reserve(), self._tokens.reserve(expected)))
        try:
            async with asyncio.timeout(self.endpoint.timeout):
                raw = await self._api.chat.completions.with_raw_response.create(**request)
            reply = _read(raw.content)
        except (openai.APITimeoutError, TimeoutError):
            raise _Transient(f"no answer within {self.endpoint.timeout:g} s") from None
        except openai.APIStatusError as error:
            raise self._judged(error) from None
        except openai.APIConnectionError as error:
            raise _Transient(f"the connection failed ({self._shown(error.__cause__ or error)})") from None
        self._tokens.correct((reply.usage.total or expected) - expected)
        return reply

    def _judged(self, error: openai.APIStatusError) -> Exception:
        """What an error status stands for."""
        status, body = error.status_code, error.body if isinstance(error.body, dict) else {}
        code, words = str(body.get("code")), self._shown(body.get("message") or error.response.text)
        place = f"{self.endpoint.name}: {self.endpoint.url} answered {status}"
        if code in OUT_OF_MONEY:
            return InputError(f"{place}: the account has no credit left ({code})")
        if status in TRANSIENT or status >= 500:
            wait = _retry_after(error.response.headers)
            if status == 429 and wait is not None:
                self._requests.hold(min(wait, LONGEST_HOLD))
            return _Transient(f"the service answered {status} ({words})", wait)
        if status in (401, 403):
            held = f"environment variable {self.endpoint.api_key_env}" if self.endpoint.api_key_env else "no key is set"
            return InputError(f"{place}: it does not accept the key (api_key_env: {held}), or not for this model")
        if code in FILTERED:
            return Filtered(f"the service's content filter ({code})")
        if status in (400, 413, 422) and (code == "context_length_exceeded" or TOO_LONG.search(words)):
            return PromptTooLong(words)
        if status == 404:
            return InputError(f"{place}: no model '{self.endpoint.model}' there, or a wrong url ({words})")
        return InputError(f"{place}: it does not accept the request ({words})")

    def _shown(self, words: Any) -> str:
        """Words of the service or a library for a message: one line, not too long, and without the key."""
        text = " ".join(str(words).split()) or type(words).__name__
        return text.replace(self._key, "[key]")[:300] if self._key != "none" else text[:300]

    def _wait(self, retries: int, asked: float | None) -> float:
        """Seconds before the next try: doubling, with jitter, and never less than the service asks for."""
        back_off = min(2.0**retries, LONGEST_BACK_OFF) * (0.5 + self._jitter() / 2)
        return back_off if asked is None else asked + self._jitter()


def check_endpoint(endpoint: Endpoint) -> str | None:
    """What stands in the way of asking an endpoint, or None. Lists its models, which costs nothing."""
    try:
        with openai.OpenAI(base_url=endpoint.url, api_key=endpoint.key(), timeout=20, max_retries=1) as api:
            known = [model.id for model in api.models.list()]
    except InputError as error:
        return str(error)
    except openai.APIStatusError as error:
        if error.status_code in (404, 405):
            return None  # it answers; not every server lists its models
        why = "does not accept the key" if error.status_code in (401, 403) else "is not well"
        return f"{endpoint.name}: {endpoint.url} {why} (status {error.status_code})"
    except openai.APIConnectionError:
        return f"{endpoint.name}: {endpoint.url} does not answer"
    except (openai.OpenAIError, ValueError, TypeError, AttributeError):
        return f"{endpoint.name}: {endpoint.url} is no OpenAI-compatible endpoint"
    if known and endpoint.model not in known:
        more = ", ..." if len(known) > 5 else ""
        return f"{endpoint.name}.model: no '{endpoint.model}' at {endpoint.url} (there: {', '.join(known[:5])}{more})"
    return None


def guessed_tokens(value: Any) -> int:
    """About how many tokens some text, or the messages of a request, have."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return len(text) // CHARACTERS_A_TOKEN


def sound(value: Any) -> Any:
    """A copy of a value of JSON that can be sent: a model may have written half a character."""
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def _read(content: bytes) -> Reply:
    """The model's turn from the body of an answer; half an answer is none."""
    try:
        body = json.loads(content)
        choice = body["choices"][0]
        message = choice["message"]
        text, calls = message.get("content"), message.get("tool_calls")
        if not isinstance(text, str | None) or not isinstance(calls, list | None):
            raise TypeError
        return Reply(
            text=text or "",
            tool_calls=tuple(call if isinstance(call, dict) else {} for call in calls or ()),
            finish_reason=choice.get("finish_reason"),
            refusal=message.get("refusal"),
            usage=Usage.read(body.get("usage")),
            message=message,
        )
    except (ValueError, RecursionError):
        what = "an empty body" if not content.strip() else "broken JSON"
    except (LookupError, TypeError, AttributeError):
        what = "a body without a message of the model"
    raise _Transient(f"the service answered with {what}")


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that an answer asks to wait, given as milliseconds, seconds or a date."""
    try:
        if "retry-after-ms" in headers:
            return max(float(headers["retry-after-ms"]) / 1000, 0.0)
        value = headers.get("retry-after")
        if value is None:
            return None
        if re.fullmatch(r"\d+(\.\d+)?", value.strip()):
            return float(value)
        return max(parsedate_to_datetime(value).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError):
        return None
