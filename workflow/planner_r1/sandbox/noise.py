"""The tools of a bad day: some calls fail, some rows are missing, replies take their time.

What goes wrong with a call is drawn from a hash of the seeds, the episode, the call and how often the episode has made
this very call. So an episode that is played again meets the same, in whatever order and on whatever machine, and a call
that is tried again gets another draw. Only the services fail: the calculator is at hand, and a call that is wrong by
itself gets its own error, at once. The evaluator and the reward look into the store, never through these tools.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from dataclasses import dataclass

from planner_r1.sandbox.store import Store
from planner_r1.sandbox.tools import Toolbox, ToolError, found

NO_ANSWER = "The service did not answer. Try again."


@dataclass(frozen=True)
class Noise:
    """How often what goes wrong: a study's keys under `noise.<name>`.

    failures: share of the sound calls that are answered by an error of the service
    dropped_rows: share of the rows that are missing in replies
    latency: seconds a reply takes on average, exponentially distributed
    """

    failures: float = 0.0
    dropped_rows: float = 0.0
    latency: float = 0.0
    seed: int = 0


class NoisyToolbox(Toolbox):
    """The tools as one episode meets them; make an object for each.

    Args:
        episode: numbers that name the episode, the run's seed among them.
    """

    def __init__(self, store: Store, noise: Noise, *episode: int):
        super().__init__(store)
        self._noise, self._episode = noise, episode
        self._times: Counter[str] = Counter()  # how often each call was made

    def call(self, name, arguments) -> dict:
        self.effect, self.seconds = None, 0.0
        return super().call(name, arguments)

    def _results(self, name: str, values: dict[str, str]) -> list:
        rows, otherwise = self._look_up(name, values)
        draw = self._draws(name, values)
        fails = draw.random() < self._noise.failures
        self.seconds = draw.expovariate(1.0) * self._noise.latency
        if fails:
            self.effect = {"failure": True}
            raise ToolError(NO_ANSWER)
        kept = [row for row in rows if draw.random() >= self._noise.dropped_rows]
        if len(kept) < len(rows):
            self.effect = {"dropped_rows": len(rows) - len(kept)}
        return found(kept, otherwise)

    def _draws(self, name: str, values: dict[str, str]) -> random.Random:
        call = json.dumps([name, values], sort_keys=True)
        self._times[call] += 1
        key = json.dumps([self._noise.seed, self._episode, call, self._times[call]])
        return random.Random(int.from_bytes(hashlib.blake2b(key.encode(), digest_size=16).digest()))
