"""One conversation of an agent with a user of the shop, and its reward.

An episode talks to nobody: whoever drives it hands in what the agent does (`step`) and what the user says (`hear`).

    start = episode.reset(task)  # system prompt and tools for the agent, instruction for the user
    episode.hear("Hi, I want to cancel an order.")  # the user begins
    episode.step(Action("get_order_details", {"order_id": "#W1"}))
    episode.step(Action(RESPOND, {"content": "It is shipped already."}))  # then it is the user's turn
    episode.hear("What a pity. ###STOP###")  # done, with a reward
"""

from __future__ import annotations

from dataclasses import dataclass

from planner_r1.ood.tau_bench.data import Action, Benchmark, Task
from planner_r1.ood.tau_bench.tools import TRANSFER, call

RESPOND = "respond"
STOP = "###STOP###"  # the user's last word

# Why an episode ends.
DONE = "done"  # by itself: the user went, or was handed to a human
TURN_LIMIT = "turn_limit"  # the last turn allowed was over
BAD_CALL = "bad_call"  # the arguments of a call were not a JSON object
REJECTED = "rejected"  # the model's service would not answer
END_REASONS = (DONE, TURN_LIMIT, BAD_CALL, REJECTED)


@dataclass(frozen=True)
class Start:
    """What the two sides are told.

    policy: the agent's system prompt
    tools: schemas of the functions that the agent may call
    instruction: whom the user plays, and what for
    """

    policy: str
    tools: list[dict]
    instruction: str


@dataclass(frozen=True)
class Reward:
    """How an episode is scored.

    value: 1.0 where the shop is as the task's own actions leave it and every output was said, else 0.0
    data_hash: of the shop as the agent left it
    gold_hash: of the shop as the task's own actions leave it
    outputs: for each output of the task, whether it was said
    """

    value: float
    data_hash: str
    gold_hash: str
    outputs: dict[str, bool]


@dataclass(frozen=True)
class Step:
    """What comes of an action or of the user's words.

    observation: the reply of a tool, or the user's words; "" where it is the user's turn
    reward: None as long as the episode goes on
    """

    observation: str
    reward: Reward | None = None

    @property
    def done(self) -> bool:
        return self.reward is not None


class Episode:
    """Plays tasks of a benchmark, one at a time; `reset` comes first.

    An agent that comes to no end has no reward: the benchmark stops it after 30 turns, and counts 0.0 whatever it did.
    """

    def __init__(self, benchmark: Benchmark):
        self._benchmark = benchmark

    def reset(self, task: Task) -> Start:
        """Begin a task, with the shop as it is at first.

        Raises:
            InputError: there is a fault in the benchmark's files.
        """
        start = Start(self._benchmark.policy, self._benchmark.tools, task.instruction)
        self._task, self._shop = task, self._benchmark.shop.copy()
        self._said: list[str] = []
        self._over = False
        return start

    def step(self, action: Action) -> Step:
        """Do what the agent does. Whatever an agent may write raises nothing.

        Raises:
            RuntimeError: the episode is over.
        """
        self._check_open()
        match action.kwargs:
            case {"content": str(words)} if action.name == RESPOND:
                self._said.append(words)
                return Step("")
        observation = call(self._shop, action.name, action.kwargs)
        return self._end(observation) if action.name == TRANSFER else Step(observation)

    def hear(self, words: str) -> Step:
        """Take what the user says; STOP in it ends the episode.

        Raises:
            RuntimeError: the episode is over.
        """
        self._check_open()
        return self._end(words) if STOP in words else Step(words)

    def reward(self) -> Reward:
        """What the episode is worth if it ends now."""
        data_hash, gold_hash = self._shop.hash(), self._benchmark.gold_hash(self._task)
        said = [words.lower().replace(",", "") for words in self._said]
        outputs = {output: any(output.lower() in words for words in said) for output in self._task.outputs}
        return Reward(float(data_hash == gold_hash and all(outputs.values())), data_hash, gold_hash, outputs)

    def _end(self, observation: str) -> Step:
        self._over = True
        return Step(observation, self.reward())

    def _check_open(self) -> None:
        if self._over:
            raise RuntimeError("the episode is over; reset it")
