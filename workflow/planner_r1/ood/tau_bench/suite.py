"""tau-bench retail as a suite: an agent that calls functions talks with a simulated user, at most 30 turns.

The agent is the benchmark's own tool-calling agent: the policy is its system prompt, one call a turn is carried out, a
turn without a call goes to the user, and a call that is no JSON object ends the episode with nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from planner_r1.agent import hermes
from planner_r1.agent.turns import ToolCall, read_tool_calls
from planner_r1.endpoint.calls import assistant_message, native_calls
from planner_r1.endpoint.client import Rejected, Reply
from planner_r1.ood.suite import Chat, Suite, drawn
from planner_r1.ood.tau_bench.data import TASKS, Action, Benchmark
from planner_r1.ood.tau_bench.episode import BAD_CALL, DONE, REJECTED, RESPOND, TURN_LIMIT, Episode, Step
from planner_r1.ood.tau_bench.made_up import ShopSpec, write_shop
from planner_r1.ood.tau_bench.pass_k import pass_rates
from planner_r1.ood.tau_bench.user import ModelUser, ScriptedUser

SPLIT = "test"
TURNS = 30


class TauBench(Suite):
    """The items are the test tasks, named as in "test-3"."""

    name = "tau_bench"
    metrics: ClassVar = {"tau_pass1": 115}
    has_user = True

    def __init__(self, folder: Path):
        self._benchmark = Benchmark(folder)
        self._tasks = {task.id: task for task in self._benchmark.tasks(SPLIT)}

    @classmethod
    def make_up(cls, folder: Path, size: int, seed: int) -> None:
        write_shop(ShopSpec(seed=seed, tasks=size), folder)

    def items(self, count: int | None, seed: int) -> list[str]:
        return drawn(list(self._tasks), count, seed, self._benchmark.folder / TASKS.format(SPLIT))

    async def answer(self, item: str, chat: Chat, user: Chat | None) -> dict:
        """`events` in their order (what the user says, what the agent does and sees), and why the episode ended."""
        return await _Dialogue(Episode(self._benchmark), chat).play(self._tasks[item], user)

    def score(self, answers: Sequence[Mapping]) -> tuple[list[dict], dict]:
        """The reward of each episode, by playing its events again; and pass^k over the repeats."""
        rows, rewards = [], {}
        for answer in answers:
            reward = self._reward(answer)
            rewards.setdefault(answer["item"], []).append(reward)
            names = {"metric": "tau_pass1", "item": answer["item"], "repeat": answer["repeat"]}
            rows.append({**names, "value": reward, "end_reason": answer["end_reason"], "turns": answer["turns"]})
        ends = Counter(answer["end_reason"] for answer in answers)
        return rows, {"pass": pass_rates(rewards), "end_reasons": dict(ends)}

    def _reward(self, answer: Mapping) -> float:
        episode = Episode(self._benchmark)
        episode.reset(self._tasks[answer["item"]])
        step = None
        for event in answer["events"]:
            if "user" in event:
                step = episode.hear(event["user"])
            else:
                step = episode.step(Action(event["name"], event["kwargs"]))
        return step.reward.value if step is not None and step.done else 0.0


class _Dialogue:
    """One episode."""

    def __init__(self, episode: Episode, chat: Chat):
        self._episode, self._chat = episode, chat
        self._events: list[dict] = []

    async def play(self, task, user: Chat | None) -> dict:
        start = self._episode.reset(task)
        self._user = ScriptedUser(start.instruction) if user is None else ModelUser(start.instruction, user)
        native = self._chat.native
        policy = start.policy if native else hermes.system_text(start.policy, start.tools)
        self._messages = [{"role": "system", "content": policy}]
        self._hear(await self._user.begin())
        for turn in range(1, TURNS + 1):
            try:
                reply = await self._chat.say(self._messages, start.tools if native else None)
            except Rejected as rejection:
                return self._record(REJECTED, turn - 1) | {"rejection": str(rejection)}
            call = _first_call(reply, native, turn)
            if call is not None and (call.error or not isinstance(call.arguments, dict)):
                return self._record(BAD_CALL, turn)
            step = await self._say(reply) if call is None else self._do(reply, call)
            if step.done:
                return self._record(DONE, turn)
        return self._record(TURN_LIMIT, TURNS)

    def _record(self, end_reason: str, turns: int) -> dict:
        return {"events": self._events, "end_reason": end_reason, "turns": turns}

    def _hear(self, words: str) -> Step:
        self._events.append({"user": words})
        self._messages.append({"role": "user", "content": words})
        return self._episode.hear(words)

    async def _say(self, reply: Reply) -> Step:
        """Hand the agent's words to the user, and take the answer."""
        action = Action(RESPOND, {"content": reply.text})
        self._events.append({"name": action.name, "kwargs": action.kwargs})
        self._messages.append(assistant_message(reply, []))
        self._episode.step(action)
        return self._hear(await self._user.answer(reply.text))

    def _do(self, reply: Reply, call: ToolCall) -> Step:
        """Carry out a call, and show the agent what comes of it."""
        step = self._episode.step(Action(call.name, call.arguments))
        self._events.append({"name": call.name, "kwargs": call.arguments, "observation": step.observation})
        self._messages.append(assistant_message(reply, [call]))
        if call.id is None:
            self._messages.append({"role": "user", "content": hermes.replies_text([step.observation])})
        else:
            self._messages.append({"role": "tool", "tool_call_id": call.id, "content": step.observation})
        return step


def _first_call(reply: Reply, native: bool, turn: int) -> ToolCall | None:
    """The call that is carried out. Where tools are text, whatever is not a well-formed call is words to the user."""
    if native:
        return next(iter(native_calls(reply, turn)), None)
    return next((call for call in read_tool_calls(reply.text) if not call.error), None)
