"""A conversation without a model: an agent and a user who act by a script, and who brings them together."""

from collections.abc import Iterable

from planner_r1.ood.tau_bench.data import Action, Task
from planner_r1.ood.tau_bench.episode import RESPOND, STOP, Episode, Step

TURNS = 30


def says(words: str) -> Action:
    return Action(RESPOND, {"content": words})


class ScriptedAgent:
    """Does one thing after the other, whatever it sees; `seen` is what it saw before each."""

    def __init__(self, actions: Iterable[Action]):
        self._actions, self.seen = iter(actions), []

    def act(self, observation: str) -> Action:
        self.seen.append(observation)
        return next(self._actions)


class ScriptedUser:
    """Tells its instruction, agrees to everything, and goes after so many replies."""

    def __init__(self, instruction: str, replies: int):
        self._instruction, self._left, self.heard = instruction, replies, []

    def begin(self) -> str:
        return self._instruction

    def answer(self, words: str) -> str:
        self.heard.append(words)
        self._left -= 1
        return "Yes, please." if self._left else f"Thank you. {STOP}"


def gold_agent(task: Task) -> ScriptedAgent:
    """Looks things up, asks, does what is wanted, and says what is to be said."""
    *reads, write = task.actions
    report = says(f"Done. {' '.join(task.outputs)}")
    return ScriptedAgent([*reads, says("Shall I do that?"), write, report])


def converse(episode: Episode, task: Task, agent: ScriptedAgent, user: ScriptedUser) -> Step | None:
    """The last step of a conversation, or None where it comes to no end within TURNS."""
    episode.reset(task)
    step = episode.hear(user.begin())
    for _ in range(TURNS):
        action = agent.act(step.observation)
        step = episode.step(action)
        if not step.done and action.name == RESPOND:
            step = episode.hear(user.answer(action.kwargs["content"]))
        if step.done:
            return step
    return None
