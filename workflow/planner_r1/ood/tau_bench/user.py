"""Who plays the user of the shop: a model behind an endpoint of its own, or a short script.

The script is for studies without a user model: it says all that it wants at once, agrees to what it is asked, and goes.
No result with it compares with one that a simulated user took part in.
"""

from __future__ import annotations

from planner_r1.endpoint.client import Fault, Rejected
from planner_r1.ood.suite import Chat
from planner_r1.ood.tau_bench.episode import STOP

AGREES = 2  # replies of the scripted user before it goes

# The rules that tau-bench gives its simulated users, in words of our own.
ROLE = """You are a customer who writes to the support of a web shop. Stay in this role until the end.

Who you are and what you want:
{instruction}

How you write:
- One short message at a time, in your own words; do not quote the text above.
- Say at each point only what is needed there, not all you want at once.
- What the text above does not tell you, you do not know: say so when asked, and make nothing up.
- Keep to the character that the text above describes.
- As soon as you have what you want, or are handed to a human, write {stop} and nothing else."""
GREETING = "Hello! What can I do for you?"


class ScriptedUser:
    """Tells its instruction, agrees AGREES times, and ends the conversation."""

    def __init__(self, instruction: str):
        self._instruction, self._left = instruction, AGREES

    async def begin(self) -> str:
        return self._instruction

    async def answer(self, words: str) -> str:
        self._left -= 1
        return "Yes, please." if self._left >= 0 else f"Thank you. {STOP}"


class ModelUser:
    """A model that plays its instruction. What its service will not answer says nothing about the agent: a fault."""

    def __init__(self, instruction: str, chat: Chat):
        self._chat = chat
        self._messages = [{"role": "system", "content": ROLE.format(instruction=instruction, stop=STOP)}]

    async def begin(self) -> str:
        return await self.answer(GREETING)

    async def answer(self, words: str) -> str:
        self._messages.append({"role": "user", "content": words})
        try:
            reply = await self._chat.say(self._messages)
        except Rejected as rejection:
            raise Fault(f"the simulated user's service does not play on: {rejection}") from None
        self._messages.append({"role": "assistant", "content": reply.text})
        return reply.text
