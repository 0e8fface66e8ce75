"""Which episodes the page shows, and what it knows of each.

The files of episodes are large (some 50 kB an episode, thousands to a run): they are gone through once without being
parsed, and only the lines that are shown are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from planner_r1.evaluator import evaluate
from planner_r1.paper.report import dialogue
from planner_r1.paper.results import evaluation_folder, mending, parsed
from planner_r1.plan import parse_answer, to_official
from planner_r1.queries import LEVELS, Query, load_queries
from planner_r1.sandbox.store import Store
from planner_r1.study import BASE_REGIME, Study

QUERIES = 6  # of each split
RULE = (
    f"At most {QUERIES} queries of each split, spread evenly over difficulty and length of trip; of every model and "
    "regime the first seed; of a run's validations the first, the middle and the last; of evaluations all checkpoints."
)
VALIDATION = "validation during training"
_HEAD = 400  # characters of a line that name its step and query; they come before all that a model wrote
_NAMED = re.compile(rb'"(step|idx)": (\d+)')


@dataclass(frozen=True)
class Source:
    """A file of episodes.

    name: what it shows, such as "validation during training"
    split: of its queries
    path: of a run or an evaluated checkpoint
    mend: how a broken one is made whole
    """

    name: str
    split: str
    path: Path
    model: str
    regime: str
    seed: int
    is_run: bool
    mend: str = ""


@dataclass(frozen=True)
class Place:
    """Where an episode stands: the offset of its line in a source."""

    source: Source
    step: int
    idx: int
    offset: int


def sources(study: Study, folder: Path) -> list[Source]:
    """The files that are there: of each model and regime those of the first seed that has some."""
    found = []
    for model in study.models:
        for regime in (BASE_REGIME, *study.regimes_of(model)):
            by_seed = (_of_seed(study, folder, model, regime, seed) for seed in study.seeds_of(regime))
            found += next((some for some in by_seed if some), [])
    return found


def _of_seed(study: Study, folder: Path, model: str, regime: str, seed: int) -> list[Source]:
    runs = [run for run in study.runs if (run.model, run.regime, run.seed) == (model, regime, seed)]
    files = [(VALIDATION, "validation", f"runs/{run.name}/validation.jsonl", True) for run in runs]
    for checkpoint in study.checkpoints:
        if (checkpoint.model, checkpoint.regime, checkpoint.seed) == (model, regime, seed):
            for split in study.splits:
                file = f"{evaluation_folder(checkpoint, split)}/trajectories.jsonl"
                files.append((f"evaluation on the {split} split", split, file, False))
    found = [
        Source(name, split, folder / file, model, regime, seed, is_run, mending(folder, file))
        for name, split, file, is_run in files
    ]
    return [source for source in found if source.path.is_file()]


def chosen_queries(queries: Sequence[Query], most: int = QUERIES) -> list[Query]:
    """At most so many queries, spread evenly over difficulty and length of trip."""
    ordered = sorted(queries, key=lambda q: (LEVELS.index(q.level) if q.level in LEVELS else -1, q.days, q.idx))
    if len(ordered) <= most:
        return ordered
    return [ordered[round(i * (len(ordered) - 1) / (most - 1))] for i in range(most)]


def chosen_steps(steps: Sequence[int]) -> list[int]:
    """The first, the middle and the last of a run's validations."""
    known = sorted(set(steps))
    return sorted({known[i] for i in (0, len(known) // 2, len(known) - 1)}) if known else []


def chosen_places(source: Source, queries: Sequence[Query]) -> list[Place]:
    """The episodes of a source that are shown."""
    places = list(_places(source))
    steps = chosen_steps([place.step for place in places]) if source.is_run else {place.step for place in places}
    asked = {query.idx for query in queries}
    return [place for place in places if place.step in steps and place.idx in asked]


def _places(source: Source) -> Iterator[Place]:
    offset = 0
    with open(source.path, "rb") as file:
        for line in file:
            named = {key: int(value) for key, value in reversed(_NAMED.findall(line[:_HEAD]))}
            if len(named) < 2:
                record = parsed(line, str(source.path), source.mend)
                named = {key.encode(): record.get(key) for key in ("step", "idx")}
            yield Place(source, named[b"step"], named[b"idx"], offset)
            offset += len(line)


def read(place: Place) -> dict:
    """The episode of a place."""
    with open(place.source.path, "rb") as file:
        file.seek(place.offset)
        return parsed(file.readline(), f"{place.source.path}, step {place.step}, query {place.idx}", place.source.mend)


class Episodes:
    """The episodes of a study that are to be shown, those of one query after the other, so that whatever is cut off at
    the end leaves every model the same queries."""

    def __init__(self, study: Study, folder: Path):
        self.store = _store(folder)
        self.sources = sources(study, folder)
        splits = {s: folder / "data" / f"{study.query_split(s)}.jsonl" for s in (one.split for one in self.sources)}
        self.queries = {s: chosen_queries(load_queries(path)) for s, path in splits.items() if path.is_file()}
        self.places = [place for source in self.sources for place in chosen_places(source, self._of(source))]

    def __len__(self) -> int:
        return len(self.places)

    def __iter__(self) -> Iterator[tuple[Place, Query, dict]]:
        """Where each stands, its query, and what the page shows of it (see `shown`)."""
        for rank in range(QUERIES):
            for place in self.places:
                queries = self._of(place.source)
                if rank < len(queries) and place.idx == queries[rank].idx:
                    yield place, queries[rank], shown(read(place), queries[rank], self.store)

    def _of(self, source: Source) -> list[Query]:
        return self.queries.get(source.split, [])


def _store(folder: Path) -> Store | None:
    path = folder / "sandbox" / "store"
    return Store.open(path) if (path / "store.json").is_file() else None


def shown(episode: dict, query: Query, store: Store | None) -> dict:
    """What the page shows of an episode.

    Returns:
        `parts` ([role, kind, text], see dialogue), `plan` (as the agent wrote it, None without one) and `fault` (why
        there is none), `verdicts` by profile (None where they cannot be told: the constraints are hidden, or there is
        no store), `sub_rewards`, `reward`, `end_reason`, `turns`, `tokens` as they were recorded, and `noise`, what
        went wrong with the tools through no fault of the model, where something did.
    """
    parsed = parse_answer(episode.get("answer") or "")
    kept = {key: episode.get(key) for key in ("sub_rewards", "reward", "end_reason", "turns", "tokens")}
    kept |= {"noise": noise} if (noise := _noise(episode.get("tool_calls") or ())) else {}
    return kept | {
        "parts": [list(part) for part in dialogue.parts(episode.get("text") or "")],
        "plan": parsed.plan,
        "fault": parsed.reason,
        "verdicts": None if store is None or query.hidden else _verdicts(parsed.plan, query, store),
    }


def _noise(calls: Sequence[dict]) -> str:
    """`2 calls failed, 5 rows were left out`, as far as it is so."""
    noise = [call["noise"] for call in calls if "noise" in call]
    failed = sum("failure" in effect for effect in noise)
    dropped = sum(effect.get("dropped_rows", 0) for effect in noise)
    told = [f"{failed} {'call' if failed == 1 else 'calls'} failed"] * bool(failed)
    told += [f"{dropped} {'row was' if dropped == 1 else 'rows were'} left out"] * bool(dropped)
    return ", ".join(told)


def _verdicts(plan: list | None, query: Query, store: Store) -> dict:
    official = None if plan is None else to_official(plan, store)
    return {profile: evaluate(official, query, store, profile).to_json() for profile in ("official", "strict")}
