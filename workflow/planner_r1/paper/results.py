"""What a study has produced, as tables and figures read it: which files there are, and what stands in them.

A file that is not there reads as None, so that an unfinished study can be looked at; whoever draws it says what is
missing. In the DAG every file is there.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from planner_r1.errors import InputError
from planner_r1.paper.render import read_csv
from planner_r1.study import Checkpoint, Run, Study

# Every kind of result and the files that hold it, below results/<study>.
#   rates, scores, trajectories: of the evaluated checkpoints (metrics.json, scores.jsonl, trajectories.jsonl)
#   validations: the episodes of the validations during training, scored, without their texts
#   episodes: the same with all that was said; large
#   metrics, manifests: of the runs
#   models: what each model is before training by reward
#   suites: metrics.json and scores.jsonl of the out-of-domain suites; asked: what was sent to the models for them
#   probes: of a study of memory
#   config: the study with its defaults
KINDS: dict[str, Callable[[Study], list[str]]] = {
    "config": lambda study: ["config.yaml"],
    "queries": lambda study: [f"data/{split}.jsonl" for split in _query_splits(study)],
    "models": lambda study: [model_file(model) for model in study.trainable],
    "rates": lambda study: [f"{name}/metrics.json" for name in _evaluations(study)],
    "scores": lambda study: [f"{name}/scores.jsonl" for name in _evaluations(study)],
    "trajectories": lambda study: [f"{name}/trajectories.jsonl" for name in _evaluations(study)],
    "validations": lambda study: [validations_file(run) for run in study.runs],
    "episodes": lambda study: [f"runs/{run.name}/validation.jsonl" for run in study.runs],
    "metrics": lambda study: [f"runs/{run.name}/metrics.jsonl" for run in study.runs],
    "manifests": lambda study: [f"runs/{run.name}/MANIFEST.json" for run in study.runs],
    "suites": lambda study: [
        f"{suite_folder(checkpoint, suite)}/{name}"
        for checkpoint in study.suite_checkpoints
        for suite in study.suites
        for name in ("metrics.json", "scores.jsonl")
    ],
    "asked": lambda study: [f"ood/{checkpoint.name}/asked.json" for checkpoint in study.suite_checkpoints],
    "probes": lambda study: [f"memory/{probe.name}.json" for probe in study.probes],
}

IDX = re.compile(rb'"idx": (\d+)[,}]')
BEGINNING = 400  # bytes of a line in which its query's number stands


def evaluation_folder(checkpoint: Checkpoint, split: str) -> str:
    return f"evaluations/{checkpoint.name}/{split}"


def suite_folder(checkpoint: Checkpoint, suite: str) -> str:
    return f"ood/{checkpoint.name}/{suite}"


def validations_file(run: Run) -> str:
    return f"validations/{run.name}/scores.jsonl"


def model_file(model: str) -> str:
    return f"models/{model}/MANIFEST.json"


def table_file(name: str) -> str:
    return f"tables/{name}.csv"


def _query_splits(study: Study) -> list[str]:
    """The splits that are evaluated, and those that runs train and are validated on."""
    return list(dict.fromkeys((*study.clean_splits, *(("train", "validation") if study.runs else ()))))


def _evaluations(study: Study) -> list[str]:
    return [evaluation_folder(checkpoint, split) for checkpoint in study.checkpoints for split in study.splits]


class Results:
    """The results of a study in a folder, such as results/quick.

    Args:
        reads: the kinds, and the names of tables as `table:<name>`, that the reader has declared to read, which
            become its inputs in the DAG.
        made: where the CSV files of other tables are; in `folder` where it is not given.
    """

    def __init__(self, study: Study, folder: str | Path, reads: Collection[str], made: str | Path | None = None):
        self.study, self.folder, self.reads = study, Path(folder), reads
        self.made = Path(folder if made is None else made)

    def rates(self) -> list[dict]:
        """The metrics.json of every checkpoint and split."""
        return [read for file in self._files("rates") if (read := self._json(file)) is not None]

    def scores(self, checkpoint: Checkpoint, split: str) -> list[dict] | None:
        """The scored plans of a checkpoint on a split."""
        return self._lines("scores", f"{evaluation_folder(checkpoint, split)}/scores.jsonl")

    def trajectories(
        self, checkpoint: Checkpoint, split: str, queries: Collection[int] | None = None
    ) -> Iterator[dict] | None:
        """The episodes of a checkpoint on a split, one after the other: together they may be large. Of some queries
        alone the lines of the others are not parsed."""
        return self._stream("trajectories", f"{evaluation_folder(checkpoint, split)}/trajectories.jsonl", queries)

    def validations(self, run: Run) -> list[dict] | None:
        """The scored episodes of a run's validations (see scoring.score_validations).

        Raises:
            InputError: a number that they are judged by is not finite, or an episode stands there twice.
        """
        file = validations_file(run)
        rows = self._lines("validations", file)
        for number, fault in _faults(rows or ()):
            raise InputError(f"{self.folder / file}, line {number}: {fault}; {mending(self.folder, file)}")
        return rows

    def episodes(self, run: Run) -> Iterator[dict] | None:
        """The episodes of a run's validations with all that was said, one after the other."""
        return self._stream("episodes", f"runs/{run.name}/validation.jsonl")

    def metrics(self, run: Run, keys: Collection[str]) -> list[dict] | None:
        """What verl measured at each step, `step` and those of `keys` that a step has."""
        lines = self._stream("metrics", f"runs/{run.name}/metrics.jsonl")
        if lines is None:
            return None
        wanted = {"step", *keys}
        return [{key: line[key] for key in wanted if key in line} for line in lines]

    def manifest(self, run: Run) -> dict | None:
        """The MANIFEST.json of a run."""
        return self._one("manifests", f"runs/{run.name}/MANIFEST.json")

    def model(self, model: str) -> dict | None:
        """The MANIFEST.json of a model before training by reward."""
        return self._one("models", model_file(model))

    def model_folder(self, model: str) -> Path:
        """Where that model lies: its config.json stands beside its manifest."""
        self._declared("models")
        return (self.folder / model_file(model)).parent

    def suite(self, checkpoint: Checkpoint, suite: str) -> tuple[dict, list[dict]] | None:
        """The metrics.json and the rows of scores.jsonl of a checkpoint on a suite."""
        folder = suite_folder(checkpoint, suite)
        metrics, scores = self._one("suites", f"{folder}/metrics.json"), self._lines("suites", f"{folder}/scores.jsonl")
        return None if metrics is None or scores is None else (metrics, scores)

    def asked(self, checkpoint: Checkpoint) -> dict | None:
        """What was asked of a checkpoint for the suites."""
        return self._one("asked", f"ood/{checkpoint.name}/asked.json")

    def probes(self) -> list[dict]:
        """What each probe of a study of memory wrote."""
        return [read for file in self._files("probes") if (read := self._json(file)) is not None]

    def queries(self, split: str) -> Path:
        """The file of a split's queries."""
        self._declared("queries")
        return self.folder / "data" / f"{self.study.query_split(split)}.jsonl"

    def table(self, name: str) -> list[dict[str, str]] | None:
        """The rows of another table's CSV, as text."""
        self._declared(f"table:{name}")
        path = self.made / table_file(name)
        return read_csv(path) if path.is_file() else None

    # ---- files ------------------------------------------------------------------------------------------------

    def _files(self, kind: str) -> list[str]:
        self._declared(kind)
        return KINDS[kind](self.study)

    def _declared(self, kind: str) -> None:
        if kind not in self.reads:
            raise ValueError(f"reads '{kind}', which is not among what it says it reads ({', '.join(self.reads)})")

    def _one(self, kind: str, file: str) -> Any:
        self._declared(kind)
        return self._json(file)

    def _json(self, file: str) -> Any:
        path = self.folder / file
        if not path.is_file():
            return None
        return parsed(path.read_bytes(), str(path), mending(self.folder, file))

    def _lines(self, kind: str, file: str) -> list[dict] | None:
        self._declared(kind)
        path = self.folder / file
        return _all_objects(path, mending(self.folder, file)) if path.is_file() else None

    def _stream(self, kind: str, file: str, queries: Collection[int] | None = None) -> Iterator[dict] | None:
        self._declared(kind)
        path = self.folder / file
        if not path.is_file():
            return None
        rows = objects(path, mending(self.folder, file), queries)
        return rows if queries is None else (row for row in rows if row["idx"] in queries)


def _faults(rows: Sequence[dict]) -> Iterator[tuple[int, str]]:
    """What no validation can hold, with the number of its line. A mean would be no number of it, or count an episode
    twice. What is absent or of another type whoever reads it comes upon (see forms)."""
    first: dict[tuple, int] = {}
    for number, row in enumerate(rows, start=1):
        values = {key: row[key] for key in ("passed", "passed_strict", "turns") if key in row}
        for key in ("sub_rewards", "tokens"):
            within = row.get(key)
            values |= {f"{key}.{part}": value for part, value in within.items()} if isinstance(within, dict) else {}
        for key, value in values.items():
            if isinstance(value, float) and not math.isfinite(value):
                yield number, f"'{key}' should be a finite number, found {value}"
        place = row.get("step"), row.get("idx")
        if all(isinstance(part, int) for part in place) and (earlier := first.setdefault(place, number)) != number:
            yield number, f"query {place[1]} at step {place[0]} stands already in line {earlier}"


def mending(folder: Path, file: str) -> str:
    """How a file of results that is broken is made whole; of a training run its work folder makes it."""
    if not file.startswith("runs/"):
        return "delete it and run its rule again"
    work = folder / "work" / Path(file).parent.relative_to("runs")
    if work.is_dir():
        return f"delete it and run its rule again: that makes it anew from {work}, without training"
    return f"fetch it again (`dvc checkout {folder / file}`, or a copy): without {work} its rule would train anew"


def parsed(text: bytes, where: str, mend: str) -> dict:
    """The object that a file or a line holds.

    Raises:
        InputError: it is not UTF-8, not JSON, or no object that holds something.
    """
    try:
        found = json.loads(text.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: not UTF-8 text ({error.reason} at byte {error.start}); {mend}") from None
    except ValueError as error:
        raise InputError(f"{where}: not JSON ({error}); {mend}") from None
    if not isinstance(found, dict) or not found:
        raise InputError(f"{where}: expected an object with keys, found {text.decode().strip()[:40]}; {mend}")
    return found


def objects(path: Path, mend: str, queries: Collection[int] | None = None) -> Iterator[dict]:
    """The objects of the lines of a file; without those that begin with the number of another query."""
    with open(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            if queries is not None and (told := IDX.search(line, 0, BEGINNING)) and int(told[1]) not in queries:
                continue
            yield parsed(line, f"{path}, line {number}", mend)


def _all_objects(path: Path, mend: str) -> list[dict]:
    """The objects of all lines of a file. They are read as one list, since the objects of a list share their keys,
    which are half of what short lines take of memory."""
    lines = path.read_bytes().splitlines()
    if all(line.startswith(b"{") and line.endswith(b"}") for line in lines):
        with contextlib.suppress(ValueError):
            rows = json.loads(b"[" + b",".join(lines) + b"]")
            if len(rows) == len(lines) and all(rows):
                return rows
    return list(objects(path, mend))  # names the line
