"""verl's tool agent loop, with nothing that happens to an episode left unsaid.

verl's own loop ends an episode in silence when a tool call cannot be read, drops every call of a turn but the first,
and does not say why an episode ended. Here the model is told what was wrong and may go on, and every episode ends
with a reason that is recorded with its tool calls and token counts.
"""

from __future__ import annotations

import json
from typing import Any

from verl.experimental.agent_loop.agent_loop import AgentLoopOutput
from verl.experimental.agent_loop.tool_agent_loop import AgentData, AgentState, ToolAgentLoop
from verl.experimental.agent_loop.tool_parser import FunctionCall
from verl.utils.profiler import simple_timer

from planner_r1.agent import episodes
from planner_r1.agent.turns import ToolCall, end_reason, error_reply, read_tool_calls, surplus_reply
from planner_r1.training.tools import toolbox


class PlannerAgentLoop(ToolAgentLoop):
    """One episode; verl makes a new object for each."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._calls: list[dict] = []  # every attempt at a tool call so far
        self._pending: list[ToolCall] = []  # those of the last turn
        self._turn = ""  # text of the last turn of the model
        self._turns = 0
        self._end_reason: str | None = None

    async def run(self, sampling_params: dict[str, Any], priority: int = 0, **kwargs) -> AgentLoopOutput:
        output = await super().run(sampling_params, priority=priority, **kwargs)
        output.extra_fields["episode"] = {
            "end_reason": self._end_reason,
            "answer": self._turn,
            "turns": self._turns,
            "tool_calls": self._calls,
            "tokens": {
                "prompt": len(output.prompt_ids),
                "response": len(output.response_ids),
                "generated": sum(output.response_mask),
            },
        }
        return output

    async def _handle_generating_state(
        self, agent_data: AgentData, sampling_params: dict[str, Any], ignore_termination: bool = False
    ) -> AgentState:
        await super()._handle_generating_state(agent_data, sampling_params, ignore_termination)
        self._turns = agent_data.assistant_turns
        # What lies beyond response_length is cut off by verl at the end: the reward must not see it either.
        beyond = max(len(agent_data.response_mask) - self.response_length, 0)
        kept = agent_data.response_ids[: len(agent_data.response_ids) - beyond]
        self._turn = await self.loop.run_in_executor(
            None, lambda: self.tokenizer.decode(kept, skip_special_tokens=True)
        )
        self._pending = read_tool_calls(self._turn)
        self._end_reason = self._reason_to_end(agent_data)
        return AgentState.TERMINATED if self._end_reason else AgentState.PROCESSING_TOOLS

    def _reason_to_end(self, agent_data: AgentData) -> str | None:
        out_of_tokens = len(agent_data.response_mask) >= self.response_length
        out_of_turns = self._limit_reached(agent_data.assistant_turns, self.max_assistant_turns)
        out_of_turns |= self._limit_reached(agent_data.user_turns, self.max_user_turns)
        return end_reason(self._turn, self._pending, out_of_tokens=out_of_tokens, out_of_turns=out_of_turns)

    @staticmethod
    def _limit_reached(turns: int, limit: int | None) -> bool:
        return bool(limit) and turns >= limit

    async def _handle_processing_tools_state(self, agent_data: AgentData) -> AgentState:
        with simple_timer("tool_calls", agent_data.metrics):
            replies = [await self._reply(call, agent_data) for call in self._pending[: self.max_parallel_calls]]
        if surplus := self._pending[self.max_parallel_calls :]:
            replies.append(self._refuse(surplus))
        previous = list(agent_data.messages)
        agent_data.messages.extend({"role": "tool", "content": reply} for reply in replies)
        merged, mask, log_probs = await self.ct_merge_context_msg(
            previous,
            agent_data.messages,
            agent_data.prompt_ids,
            agent_data.response_mask,
            agent_data.response_logprobs or None,
            tools=agent_data._active_tool_schemas,
        )
        if len(mask) >= self.response_length:
            self._end_reason = episodes.TOOL_OVERFLOW
            return AgentState.TERMINATED
        agent_data.prompt_ids, agent_data.response_mask = merged.token_ids, mask
        agent_data.response_logprobs = log_probs or []
        agent_data.user_turns += 1
        return AgentState.GENERATING

    async def _reply(self, call: ToolCall, agent_data: AgentData) -> str:
        """Carry out one call, or say what is wrong with it."""
        if call.error:
            reply = error_reply(call.error)
        elif call.name in self.tools:
            request = FunctionCall(name=call.name, arguments=json.dumps(call.arguments, ensure_ascii=False))
            response, _, _ = await self._call_tool(request, agent_data.tools_kwargs, agent_data)
            reply = response.text
        else:
            reply = toolbox().call_text(call.name, call.arguments)
        self._record(call, reply)
        return reply

    def _refuse(self, surplus: list[ToolCall]) -> str:
        """One reply to all calls of a turn beyond those that a turn may make."""
        reply = surplus_reply(len(surplus), self.max_parallel_calls)
        for call in surplus:
            self._record(call, reply)
        return reply

    def _record(self, call: ToolCall, reply: str) -> None:
        self._calls.append(episodes.call_record(self._turns, call.name, call.arguments, reply))
