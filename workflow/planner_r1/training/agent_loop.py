"""verl's tool agent loop, with nothing that happens to an episode left unsaid.

verl's own loop ends an episode in silence when a tool call cannot be read, drops every call of a turn but the first,
and does not say why an episode ended. Here the model is told what was wrong and may go on, and every episode ends
with a reason that is recorded with its tool calls and token counts. Where the list of agent loops says so, the tools
are noisy (sandbox/noise.py).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from verl.experimental.agent_loop.agent_loop import AgentLoopOutput
from verl.experimental.agent_loop.tool_agent_loop import AgentData, AgentState, ToolAgentLoop
from verl.experimental.agent_loop.tool_parser import FunctionCall
from verl.utils.profiler import simple_timer

from planner_r1.agent import episodes
from planner_r1.agent.turns import ToolCall, end_reason, error_reply, read_tool_calls, surplus_reply
from planner_r1.sandbox.noise import Noise, NoisyToolbox
from planner_r1.sandbox.tools import Toolbox
from planner_r1.training.tools import store


class PlannerAgentLoop(ToolAgentLoop):
    """One episode; verl makes a new object for each.

    Args:
        noise, seed: fields of a Noise, and the run's seed; None for tools that do not fail.
    """

    def __init__(self, *args, noise: Mapping[str, Any] | None = None, seed: int = 0, **kwargs):
        super().__init__(*args, **kwargs)
        self._noise, self._seed = None if noise is None else Noise(**noise), seed
        self._calls: list[dict] = []  # every attempt at a tool call so far
        self._pending: list[ToolCall] = []  # those of the last turn
        self._turn = ""  # text of the last turn of the model
        self._turns = 0
        self._end_reason: str | None = None

    async def run(self, sampling_params: dict[str, Any], priority: int = 0, **kwargs) -> AgentLoopOutput:
        self._toolbox = self._make_toolbox(kwargs)
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

    def _make_toolbox(self, row: Mapping[str, Any]) -> Toolbox:
        if self._noise is None:
            return Toolbox(store())
        return NoisyToolbox(store(), self._noise, self._seed, *_episode(row))

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
            return self._record(call, error_reply(call.error))
        if call.name in self.tools:
            agent_data.toolbox = self._toolbox
            request = FunctionCall(name=call.name, arguments=json.dumps(call.arguments, ensure_ascii=False))
            response, _, _ = await self._call_tool(request, agent_data.tools_kwargs, agent_data)
            reply = response.text
        else:
            reply = self._toolbox.call_text(call.name, call.arguments)
        return self._record(call, reply, self._toolbox.effect)

    def _refuse(self, surplus: list[ToolCall]) -> str:
        """One reply to all calls of a turn beyond those that a turn may make."""
        reply = surplus_reply(len(surplus), self.max_parallel_calls)
        for call in surplus:
            self._record(call, reply)
        return reply

    def _record(self, call: ToolCall, reply: str, noise: dict | None = None) -> str:
        self._calls.append(episodes.call_record(self._turns, call.name, call.arguments, reply, noise))
        return reply


def _episode(row: Mapping[str, Any]) -> tuple[int, ...]:
    """Numbers that tell an episode from the others of a run: its query and its place in the group, and the step. In
    validations the step does not count, so that all of them meet the same; verl tells an agent loop of no validation,
    but their queries are of another split. (An evaluation on the train split is all at one step.)"""
    info = row["extra_info"]
    episode = (int(info["idx"]), int(row["session_id"]))
    return (*episode, int(row["global_steps"])) if info["split"] == "train" else episode
