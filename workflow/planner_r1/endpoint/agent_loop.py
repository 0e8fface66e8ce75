"""An episode with a model behind an endpoint, under the rules of the trainer's own agent loop.

Same opening messages, tools, limits, words to the model and record. `native` hands the tools over as schemas and gets
calls back; `hermes` writes both as text, for servers that know no tools. Where a server's parser leaves a malformed
call in the text of a `native` turn, it is read there, so that the model is told what was wrong.

Nobody but the service counts its tokens: the tokens of replies are told from how the prompt grew since the turn
before, and what lies beyond the episode's tokens is cut off the last turn in proportion.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from planner_r1.agent import episodes, hermes
from planner_r1.agent.limits import Limits
from planner_r1.agent.trajectories import call_text
from planner_r1.agent.turns import ToolCall, end_reason, error_reply, has_answer, read_tool_calls, surplus_reply
from planner_r1.endpoint.calls import assistant_message, native_calls
from planner_r1.endpoint.client import Client, Filtered, PromptTooLong, Reply, guessed_tokens
from planner_r1.sandbox.tools import FUNCTIONS, TOOL_SCHEMAS, Toolbox


class Episode:
    """One episode. Make an object, `await play()`, read its record."""

    def __init__(self, client: Client, toolbox: Toolbox, limits: Limits, opening: Sequence[dict]):
        own = client.endpoint.response_tokens
        self._limits = replace(limits, response_tokens=own) if own else limits
        self._client, self._toolbox = client, toolbox
        self._native = client.endpoint.tools == "native"
        self._messages = list(opening) if self._native else _with_tools(opening)
        self._said = [(m["role"], m["content"]) for m in self._messages]  # the episode as text
        self._calls: list[dict] = []
        self._turns = self._rounds = 0
        self._turn = ""
        self._tokens = _Tokens()

    async def play(self, label: dict) -> dict:
        """Play to the end.

        Args:
            label: what the ledger calls each request.

        Returns:
            `answer` (text of the last turn), `end_reason`, `turns`, `tool_calls` and `tokens` as the trainer records
            them, and the whole `text`.

        Raises:
            InputError, Fault: as the client.
        """
        reason = None
        while reason is None:
            reason = await self._take_turn(label)
        return {
            "answer": self._turn,
            "end_reason": reason,
            "turns": self._turns,
            "tool_calls": self._calls,
            "tokens": self._tokens.record(),
            "text": "\n".join(f"{role}\n{text}" for role, text in self._said),
        }

    async def _take_turn(self, label: dict) -> str | None:
        """One turn of the model and the replies to it; returns why the episode ends, None where it goes on."""
        try:
            reply = await self._client.chat(
                self._messages,
                tools=TOOL_SCHEMAS if self._native else None,
                max_tokens=self._limits.response_tokens - self._tokens.response,
                label={**label, "turn": self._turns + 1},
            )
        except PromptTooLong:
            return episodes.TOOL_OVERFLOW if self._turns else episodes.PROMPT_TOO_LONG
        except Filtered:
            return episodes.REFUSED
        before = self._tokens.with_prompt(reply, self._messages)
        if before.response >= self._limits.response_tokens:
            return episodes.TOOL_OVERFLOW  # only now is it known how long the replies were
        self._tokens = before.with_completion(reply)
        self._turns += 1
        calls = self._read_calls(reply)
        self._turn = _whole_text(reply, calls)
        beyond = self._tokens.response - self._limits.response_tokens
        out_of_tokens = reply.finish_reason == "length" or beyond >= 0
        if beyond > 0:
            self._turn = _cut(self._turn, beyond, self._tokens.response - before.response)
        self._said.append(("assistant", self._turn))
        if (reply.refusal or reply.finish_reason == "content_filter") and not has_answer(self._turn):
            return episodes.REFUSED
        out_of_turns = self._limits.out_of_turns(self._turns, self._rounds)
        reason = end_reason(self._turn, calls, out_of_tokens=out_of_tokens, out_of_turns=out_of_turns)
        if reason is None:
            self._messages.append(assistant_message(reply, calls))
            await self._answer_calls(calls)
            self._rounds += 1
        return reason

    def _read_calls(self, reply: Reply) -> list[ToolCall]:
        if self._native and reply.tool_calls:
            return native_calls(reply, self._turns)
        return read_tool_calls(reply.text)

    async def _answer_calls(self, calls: Sequence[ToolCall]) -> None:
        """Carry out what a turn may call, refuse the rest, and add the replies to the messages."""
        allowed = self._limits.parallel_calls
        answers = [await self._reply(call) for call in calls[:allowed]]
        surplus = calls[allowed:]
        if surplus:
            answers.append((surplus_reply(len(surplus), allowed), None))
        for i, call in enumerate(calls):
            reply, noise = answers[min(i, len(answers) - 1)]
            self._calls.append(episodes.call_record(self._turns, call.name, call.arguments, reply, noise))
            if call.id is not None:  # the standard wants a reply to each
                self._messages.append({"role": "tool", "tool_call_id": call.id, "content": reply})
        text = hermes.replies_text([reply for reply, _ in answers])
        self._said.append(("user", text))
        if calls[0].id is None:
            self._messages.append({"role": "user", "content": text})

    async def _reply(self, call: ToolCall) -> tuple[str, dict | None]:
        """The reply to a call, and what noise did to it."""
        if call.error:
            return error_reply(call.error), None
        reply = self._toolbox.call_text(call.name, call.arguments)
        if self._toolbox.seconds:
            await asyncio.sleep(self._toolbox.seconds)
        return self._limits.truncated(reply) if call.name in FUNCTIONS else reply, self._toolbox.effect


class _Tokens:
    """The tokens of an episode so far, as the service counts them."""

    def __init__(self, prompt: int = 0, context: int | None = None, generated: int = 0, replies: int = 0):
        self._prompt, self._context, self._generated, self._replies = prompt, context, generated, replies

    @property
    def response(self) -> int:
        return self._generated + self._replies

    def with_prompt(self, reply: Reply, messages: Sequence[dict]) -> _Tokens:
        """After it is known how long a request was: what it has grown by are the replies to the turn before."""
        prompt = guessed_tokens(messages) if reply.usage.prompt is None else reply.usage.prompt
        if self._context is None:
            return _Tokens(prompt, prompt)
        grown = max(prompt - self._context, 0)
        return _Tokens(self._prompt, prompt, self._generated, self._replies + grown)

    def with_completion(self, reply: Reply) -> _Tokens:
        """After a turn of the model. Reasoning counts as generated, and stays out of the next prompt."""
        usage = reply.usage
        spoken = guessed_tokens(reply.message) if usage.completion is None else usage.completion
        context = self._context + spoken - (usage.reasoning or 0)
        return _Tokens(self._prompt, context, self._generated + spoken, self._replies)

    def record(self) -> dict[str, int]:
        return {"prompt": self._prompt, "response": self.response, "generated": self._generated}


def _with_tools(opening: Sequence[dict]) -> list[dict]:
    system, *others = opening
    return [{**system, "content": hermes.system_text(system["content"], TOOL_SCHEMAS)}, *others]


def _whole_text(reply: Reply, calls: Sequence[ToolCall]) -> str:
    """All that a turn says, calls included, as it stands where tools are text."""
    if not calls or calls[0].id is None or "<tool_call>" in reply.text:
        return reply.text or reply.refusal or ""
    written = [call_text(call.name or "", call.arguments) for call in calls]
    return "\n".join([reply.text, *written] if reply.text else written)


def _cut(text: str, beyond: int, spoken: int) -> str:
    """A turn without about the last `beyond` of its `spoken` tokens."""
    return text[: len(text) * max(spoken - beyond, 0) // max(spoken, 1)]
