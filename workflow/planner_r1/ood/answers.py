"""Putting the suites to one checkpoint: its server starts once, and every suite's raw answers are written.

Every reply is on the disk before it is used (endpoint/journal.py): a run that was killed goes on where it was. What a
service did not answer does not count: it is listed apart, the run fails, and the next one asks for it and nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from planner_r1.console import say
from planner_r1.endpoint.client import Client, Endpoint, Fault
from planner_r1.endpoint.journal import Journal
from planner_r1.endpoint.ledger import Ledger, Price
from planner_r1.endpoint.pool import Progress, ask_all
from planner_r1.environments import ACTIVE
from planner_r1.errors import InputError
from planner_r1.files import locked, write_lines
from planner_r1.ood.decoding import decoding, served, service
from planner_r1.ood.server import KINDS, serve
from planner_r1.ood.suite import Chat, Suite
from planner_r1.ood.suites import SUITES
from planner_r1.study import SCRIPTED_USER

ANSWERS, ASKED = "answers.jsonl", "asked.json"
REPLIES, FAULTS = "replies.jsonl", "faults.jsonl"
# A server of our own is on this machine: it is there or it has died, and may take long over a long answer.
SERVER_RETRIES, SERVER_TIMEOUT = 2, 3600.0


@dataclass(frozen=True)
class Server:
    """How the weights are served; a study's `suites.server`, whose schema describes each key."""

    backend: str = "cpu"
    environment: str = ACTIVE
    command: Sequence[str] = ()
    start_seconds: float = 900
    concurrency: int | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Asked:
    """What is put to a checkpoint of one suite.

    folder: of its data
    items: size of the sample (of each task), None for all
    decoding: what differs from the paper's preset
    user: where the simulated user is; None for the scripted one
    """

    folder: Path
    items: int | None = None
    decoding: Mapping[str, Any] = field(default_factory=dict)
    user: Endpoint | None = None


@dataclass(frozen=True)
class AnswersSpec:
    """A checkpoint, and the suites to put to it.

    name: of the checkpoint, model/regime/seed/step
    model: a folder of weights to serve, or somebody's service
    origin: tells weights that are served here from others in the same folder, such as the hash of their manifest
    repeats: how often each item is asked
    seed: of samples of items; and of the sampling, each item and repeat drawing its own from it
    work: folder for what a rerun needs; not an output
    out: folder for asked.json (how was asked, and at what cost) and answers.jsonl of each suite, in folders by name
    """

    name: str
    model: Path | Endpoint
    suites: Mapping[str, Asked]
    work: Path
    out: Path
    origin: str = ""
    repeats: int = 1
    seed: int = 0
    server: Server = field(default_factory=Server)


def collect_answers(spec: AnswersSpec, report: Callable[[str], None] = say) -> None:
    """Ask what was not answered yet, and write the raw answers of all suites once all are there.

    Raises:
        InputError: a file or a key is wrong; or items were left without an answer, which are listed in the work folder
            with the reasons. What was answered is kept in either case.
        ServerError: the server does not start.
    """
    # whatever is wrong with the data is found before a server starts
    suites = {name: SUITES[name](asked.folder) for name, asked in spec.suites.items()}
    jobs = {name: _jobs(suite, spec.suites[name].items, spec) for name, suite in suites.items()}
    spec.work.mkdir(parents=True, exist_ok=True)
    with locked(spec.work), Journal(spec.work / REPLIES) as journal, _endpoint(spec) as endpoint:
        runs = [_Run(spec, suite, jobs[name], endpoint, journal, report) for name, suite in suites.items()]
        for run in runs:
            asyncio.run(run.answer_all())
        _check_whole(spec, endpoint, runs)
        asked = {run.suite.name: run.write() for run in runs}
        (spec.out / ASKED).write_text(json.dumps(asked, indent=2) + "\n", encoding="utf-8")


def _jobs(suite: Suite, items: int | None, spec: AnswersSpec) -> list[tuple[str, int]]:
    names = suite.items(items, spec.seed)
    return [(item, repeat) for repeat in range(spec.repeats) for item in names]


@contextlib.contextmanager
def _endpoint(spec: AnswersSpec) -> Iterator[Endpoint]:
    """Where the model is; a folder of weights is served while the body runs."""
    if isinstance(spec.model, Endpoint):
        yield spec.model
        return
    server = spec.server
    options = {"command": server.command, "start_seconds": server.start_seconds, "environment": server.environment}
    with serve(spec.model, spec.work, server.backend, **options) as url:
        yield Endpoint(
            name=f"the server of {spec.name} (its log: {spec.work / 'server.log'})",
            url=url,
            model=str(spec.model),
            timeout=SERVER_TIMEOUT,
            concurrency=server.concurrency or KINDS[server.backend].concurrency,
            retries=SERVER_RETRIES,
            max_tokens_parameter="max_tokens",
            extra_body=server.extra_body,
        )


class _Run:
    """One suite."""

    def __init__(
        self,
        spec: AnswersSpec,
        suite: Suite,
        jobs: Sequence[tuple[str, int]],
        endpoint: Endpoint,
        journal: Journal,
        report: Callable[[str], None],
    ):
        self._spec, self.suite, self.jobs, self._journal, self._report = spec, suite, jobs, journal, report
        self._name = f"{spec.name} on {suite.name}"
        self._asked = spec.suites[suite.name]
        if isinstance(spec.model, Endpoint):
            self._endpoint = service(endpoint, suite.name, self._asked.decoding)
        else:
            self._endpoint = served(endpoint, suite.name, self._asked.decoding, spec.server.backend)
        self.answers: dict[tuple[str, int], dict] = {}
        self.faults: list[dict] = []
        self._costs: dict[str, dict] = {}

    async def answer_all(self) -> None:
        """Ask about every item; what was answered before comes from the journal."""
        self._report(f"{self._name}: {len(self.jobs)} answers, asking {self._endpoint.url}")
        work = self._spec.work / self.suite.name
        work.mkdir(exist_ok=True)
        user = self._asked.user
        async with contextlib.AsyncExitStack() as stack:
            ledger = stack.enter_context(_ledger(work / "requests.jsonl", self._endpoint))
            client, to_user = await stack.enter_async_context(Client(self._endpoint, ledger)), None
            ledgers = {"model": ledger}
            if user is not None:
                ledgers["user"] = stack.enter_context(_ledger(work / "user_requests.jsonl", user))
                to_user = await stack.enter_async_context(Client(user, ledgers["user"]))
            progress = Progress(self._name, "answers", len(self.jobs), 0, ledger, self._report)

            async def ask(job: tuple[str, int]) -> None:
                self.answers[job] = await self._answer(job, client, to_user)
                progress.show(len(self.answers))

            await ask_all(self.jobs, ask, min(self._endpoint.concurrency, len(self.jobs)), self._note)
            self._costs = {who: ledger.totals() for who, ledger in ledgers.items()}

    async def _answer(self, job: tuple[str, int], client: Client, to_user: Client | None) -> dict:
        item, repeat = job
        label = {"suite": self.suite.name, "item": item, "repeat": repeat}
        chat = self._chat(client, self._spec.origin, label)
        user = None if to_user is None else self._chat(to_user, "", {**label, "who": "user"})
        return {"item": item, "repeat": repeat, **await self.suite.answer(item, chat, user)}

    def _chat(self, client: Client, origin: str, label: Mapping[str, Any]) -> Chat:
        """A service is given the seed that its own keys name, if any, and the next ones in further repeats. At a server
        of ours each item draws its own: under the same one, chance would fall alike for all of them."""
        seed, repeat = client.endpoint.seed, label["repeat"]
        if seed is not None:
            seed += repeat
        elif client.endpoint is self._endpoint and isinstance(self._spec.model, Path):
            seed = random.Random(f"{self._spec.seed} {label['item']} {repeat}").getrandbits(31)
        return Chat(client, self._journal, origin, label, seed)

    def _note(self, job: tuple[str, int], fault: Fault) -> None:
        item, repeat = job
        self.faults.append({"suite": self.suite.name, "item": item, "repeat": repeat, "fault": str(fault)})
        self._report(f"{self._name}: {item} has no answer: {fault}")

    def write(self) -> dict:
        """Write the raw answers; gives how they were asked for, and at what cost."""
        out = self._spec.out / self.suite.name
        out.mkdir(parents=True, exist_ok=True)
        unfinished = out / f"{ANSWERS}.unfinished"
        write_lines(unfinished, (self.answers[job] for job in self.jobs))
        os.replace(unfinished, out / ANSWERS)
        return {
            "items": self._asked.items,
            "repeats": self._spec.repeats,
            "seed": self._spec.seed,
            "decoding": self._decoding(),
            "model": self._endpoint.question(),
            "user": self._user(),
            "costs": self._costs,
        }

    def _decoding(self) -> dict[str, Any]:
        """What was sent in the end: a service's own keys go before the suite's."""
        sent = {key: getattr(self._endpoint, key) for key in ("temperature", "top_p", "max_tokens")}
        sent |= {key: value for key, value in self._endpoint.extra_body.items() if key == "top_k"}
        return decoding(self.suite.name, self._asked.decoding) | sent

    def _user(self) -> str | dict | None:
        if not self.suite.has_user:
            return None
        return SCRIPTED_USER if self._asked.user is None else self._asked.user.question()


def _ledger(path: Path, endpoint: Endpoint) -> Ledger:
    return Ledger(path, Price(**endpoint.price))


def _check_whole(spec: AnswersSpec, endpoint: Endpoint, runs: Sequence[_Run]) -> None:
    """Refuse to go on while an answer is missing."""
    faults = [fault for run in runs for fault in run.faults]
    write_lines(spec.work / FAULTS, faults)
    missing = sum(len(run.jobs) - len(run.answers) for run in runs)
    if missing:
        total, first = sum(len(run.jobs) for run in runs), faults[0]
        raise InputError(
            f"{endpoint.name}: no answer (first: {first['suite']}, {first['item']}: {first['fault']}), so {missing} of "
            f"{total} answers are missing. None of them counts as wrong; requests without an answer are listed in "
            f"{spec.work / FAULTS}. Run again to ask for what is missing, and for nothing else"
        )
