"""Evaluating a model behind an endpoint: one episode a query, recorded as the trainer's validation records its own.

Every finished episode is on disk before the next begins, in a folder named after what was asked and how: a rerun asks
for what is missing, and a changed prompt or temperature begins anew without touching what was paid for.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from planner_r1.agent.episodes import episode_line
from planner_r1.agent.limits import Limits
from planner_r1.agent.prompt import render_messages
from planner_r1.console import say
from planner_r1.endpoint.agent_loop import Episode
from planner_r1.endpoint.client import Client, Endpoint, Fault
from planner_r1.endpoint.ledger import Ledger, Price
from planner_r1.endpoint.pool import Progress, ask_all
from planner_r1.errors import InputError
from planner_r1.files import add_line, locked, open_lines, read_lines, write_lines
from planner_r1.queries import Query, load_queries
from planner_r1.reward import STAGES, episode_scores
from planner_r1.sandbox.noise import Noise, NoisyToolbox
from planner_r1.sandbox.store import Store
from planner_r1.sandbox.tools import TOOL_SCHEMAS, Toolbox

EPISODES, FAULTS, LEDGER = "episodes.jsonl", "faults.jsonl", "requests.jsonl"


@dataclass(frozen=True)
class EndpointSpec:
    """A model behind an endpoint, the queries to put to it, and where everything goes.

    model, split: names that are written into each trajectory
    template: the system prompt's template
    queries: the split's file of queries
    store: folder of the sandbox
    work: folder for what a rerun needs; not an output
    out, costs: the file of trajectories, and the sums of the ledger
    noise: what goes wrong with the tools, as fields of a Noise; None for nothing
    """

    model: str
    split: str
    endpoint: Endpoint
    limits: Limits
    template: str
    queries: Path
    store: Path
    work: Path
    out: Path
    costs: Path
    noise: Mapping[str, Any] | None = None


def evaluate_endpoint(spec: EndpointSpec, report: Callable[[str], None] = say) -> Path:
    """Play one episode a query that has none yet, and write the trajectories ordered by query once all are there.

    Raises:
        InputError: a file or a key of the endpoint is wrong; or the service left queries without an episode, which are
            listed in the work folder with the reasons. What is finished is kept in either case.
    """
    queries = load_queries(spec.queries)
    openings = {query.idx: render_messages(query.query, spec.template) for query in queries}
    work = spec.work / _fingerprint(spec, openings)
    work.mkdir(parents=True, exist_ok=True)
    with locked(work), Ledger(work / LEDGER, Price(**spec.endpoint.price)) as ledger:
        evaluation = _Evaluation(spec, work, openings, ledger, report)
        asyncio.run(evaluation.play_all(queries))
        evaluation.write_outputs(queries)
    return spec.out


class _Evaluation:
    def __init__(
        self,
        spec: EndpointSpec,
        work: Path,
        openings: Mapping[int, list[dict]],
        ledger: Ledger,
        report: Callable[[str], None],
    ):
        self._spec, self._work, self._openings, self._ledger, self._report = spec, work, openings, ledger, report
        self._store = Store.open(spec.store)
        path = work / EPISODES
        self._done = {e["idx"]: e for e in read_lines(path)} if path.is_file() else {}
        self._faults: list[dict] = []
        self._before = len(self._done)

    async def play_all(self, queries: Sequence[Query]) -> None:
        """Play what is missing, `concurrency` episodes at a time."""
        missing = [query for query in queries if query.idx not in self._done]
        kept = f", {self._before} of them finished before" if self._before else ""
        self._report(f"{self._name}: {len(queries)} queries{kept}, asking {self._spec.endpoint.url}")
        if not missing:
            return
        progress = Progress(self._name, "episodes", len(queries), self._before, self._ledger, self._report)
        with open_lines(self._work / EPISODES) as file:
            async with Client(self._spec.endpoint, self._ledger) as client:

                async def play(query: Query) -> None:
                    add_line(file, await self._play(client, query))
                    progress.show(len(self._done))

                await ask_all(missing, play, min(self._spec.endpoint.concurrency, len(missing)), self._note)

    async def _play(self, client: Client, query: Query) -> dict:
        episode = Episode(client, self._toolbox(query), self._spec.limits, self._openings[query.idx])
        line = self._line(query, await episode.play({"idx": query.idx, "split": self._spec.split}))
        self._done[query.idx] = line
        return line

    def _toolbox(self, query: Query) -> Toolbox:
        if self._spec.noise is None:
            return Toolbox(self._store)
        return NoisyToolbox(self._store, Noise(**self._spec.noise), 0, query.idx, 0)  # as the trainer's: seed, place

    def _note(self, query: Query, fault: Fault) -> None:
        self._faults.append({"idx": query.idx, "fault": str(fault)})
        self._report(f"{self._name}: query {query.idx} has no episode: {fault}")

    def _line(self, query: Query, record: dict) -> dict:
        names = {"model": self._spec.model, "regime": "base", "seed": 0, "step": 0}
        return names | episode_line(
            {**record, "idx": query.idx, "split": self._spec.split},
            record["text"],
            None if query.hidden else episode_scores(record["answer"], query, self._store, STAGES["stage1"]),
        )

    @property
    def _name(self) -> str:
        return f"{self._spec.model} on {self._spec.split}"

    def write_outputs(self, queries: Sequence[Query]) -> None:
        missing = [query.idx for query in queries if query.idx not in self._done]
        write_lines(self._work / FAULTS, self._faults)
        if missing:
            first = f" (first: query {self._faults[0]['idx']}, {self._faults[0]['fault']})" if self._faults else ""
            raise InputError(
                f"{self._spec.endpoint.name}: the service did not answer{first}, so {len(missing)} of {len(queries)} "
                f"episodes are missing. Requests without an answer are listed in {self._work / FAULTS}; run again to "
                "ask for what is missing, and for nothing else"
            )
        settings = {key: value for key, value in asdict(self._spec.endpoint).items() if value is not None}
        costs = {"model": self._spec.model, "split": self._spec.split, "endpoint": settings} | self._ledger.totals()
        self._spec.costs.parent.mkdir(parents=True, exist_ok=True)
        self._spec.costs.write_text(json.dumps(costs, indent=2) + "\n", encoding="utf-8")
        self._spec.out.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self._spec.out.with_name(self._spec.out.name + ".unfinished")
        write_lines(unfinished, (self._done[query.idx] for query in sorted(queries, key=lambda q: q.idx)))
        os.replace(unfinished, self._spec.out)


def _fingerprint(spec: EndpointSpec, openings: Mapping[int, Any]) -> str:
    """Names what makes an episode what it is: the model and how it is asked, the limits, prompts, tools and sandbox."""
    store = json.loads((spec.store / "store.json").read_text(encoding="utf-8"))["sha256"]
    what = [spec.split, spec.endpoint.question(), asdict(spec.limits), sorted(openings.items()), TOOL_SCHEMAS, store]
    what += [spec.noise] if spec.noise else []
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:16]
