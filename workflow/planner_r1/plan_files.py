"""Scoring a file of plans, or of an agent's answers: reading it, judging each line, writing the verdicts."""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from planner_r1.errors import InputError
from planner_r1.evaluator import Verdict, evaluate, rates
from planner_r1.evaluator.holes import holes
from planner_r1.evaluator.judge import check_query
from planner_r1.evaluator.profiles import PROFILES
from planner_r1.plan import parse_answer, read_leniently, to_official
from planner_r1.queries import Query
from planner_r1.sandbox.store import Store

BOTH = "both"


@dataclass(frozen=True)
class Line:
    """One line of the file: the number of its query, and its plan in the official format.

    reason: why an agent's answer holds no plan; None for any other line
    lenient: the same line in a lenient reading, of an answer that holds no plan
    """

    idx: int
    plan: object
    reason: str | None = None
    lenient: Line | None = None


@dataclass
class Scores:
    """What `score_lines` gives: a JSON object a line, rates by profile, plans that pass by a hole.

    lenient_rates: the rates by profile in a lenient reading of the answers (`add_lenient`); never the benchmark's
    """

    records: list[dict] = field(default_factory=list)
    rates: dict[str, dict[str, float]] = field(default_factory=dict)
    holes: Counter[str] = field(default_factory=Counter)
    by_any_hole: int = 0
    lenient_rates: dict[str, dict[str, float]] = field(default_factory=dict)


def read_lines(path: str | Path, queries: Sequence[Query], store: Store) -> list[Line]:
    """Read JSON lines with `idx` (from 1) and `plan` (official format, or null) or `answer` (an agent's last words).

    A line that has both is an agent's: its `plan`, if any, is in the agent's own format. Whatever a plan or an answer
    holds is not a fault of the file.

    Raises:
        InputError: naming the line and what it lacks.
    """
    lines = []
    for where, record in read_records(path):
        idx = _idx(where, record, len(queries))
        _check_text(where, record, queries[idx - 1])
        if "answer" in record:
            lines.append(_from_answer(where, idx, record["answer"], store))
        elif "plan" in record:
            lines.append(Line(idx, record["plan"]))
        else:
            raise InputError(f"{where}: needs 'plan' (a list of days, or null) or 'answer' (text with <answer>)")
    if not lines:
        raise InputError(f"{path}: holds no plan")
    return lines


def read_records(path: str | Path) -> Iterator[tuple[str, dict]]:
    """Read JSON lines that a person gives: each object with its place, "FILE, line N"; empty lines are skipped.

    Raises:
        InputError: the file cannot be read, or a line holds no JSON object.
    """
    for number, text in _numbered_lines(Path(path)):
        where = f"{path}, line {number}"
        yield where, _record(where, text)


def _numbered_lines(path: Path):
    try:
        with open(path, encoding="utf-8-sig") as f:
            for number, text in enumerate(f, start=1):
                if text.strip():
                    yield number, text
    except UnicodeDecodeError as fault:
        raise InputError(f"{path}: not UTF-8 text ({fault.reason}); save the file as UTF-8") from None
    except OSError as fault:
        raise InputError(f"{path}: cannot be read ({fault.strerror}); expected a file of JSON lines") from None


def _record(where: str, text: str) -> dict:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise InputError(f"{where}: not a JSON object ({fault}); each line must hold one whole object") from None
    if not isinstance(record, dict):
        raise InputError(f"{where}: expected a JSON object, found {type(record).__name__}")
    return record


def _idx(where: str, record: dict, queries: int) -> int:
    if "idx" not in record:
        raise InputError(f"{where}: 'idx' is missing; it is the number of the query, from 1")
    idx = record["idx"]
    if not isinstance(idx, int) or isinstance(idx, bool):
        raise InputError(f"{where}: 'idx' must be a whole number, found {idx!r:.60}")
    if not 1 <= idx <= queries:
        raise InputError(f"{where}: there is no query {idx}; the file of queries holds numbers 1 to {queries}")
    return idx


def _check_text(where: str, record: dict, query: Query) -> None:
    """A line that repeats its query's text must be about the query that its number stands for."""
    text = record.get("query")
    if isinstance(text, str) and text != query.query:
        raise InputError(
            f"{where}: its 'query' is not that of query {query.idx} in the file of queries ({query.query[:60]!r}...); "
            "are these the queries of another split?"
        )


def _from_answer(where: str, idx: int, answer, store: Store) -> Line:
    if answer is not None and not isinstance(answer, str):
        raise InputError(f"{where}: 'answer' must be text or null, found {type(answer).__name__}")
    parsed, lenient = parse_answer(answer or ""), None
    if parsed.plan is None:
        found = read_leniently(answer or "")
        lenient = Line(idx, _official(found.plan, store), found.reason)
    return Line(idx, _official(parsed.plan, store), parsed.reason, lenient)


def _official(plan: list | None, store: Store) -> list | None:
    return None if plan is None else to_official(plan, store)


def score_lines(lines: Sequence[Line], queries: Sequence[Query], store: Store, profile: str) -> Scores:
    """Judge each line.

    Args:
        profile: "official", "strict", or "both": then each record is the official verdict, with the strict one under
            "strict" and, under "holes", the names of those that let the plan pass.

    Raises:
        InputError: the constraints of a query are hidden.
    """
    asked = [queries[line.idx - 1] for line in lines]
    for query in asked:
        check_query(query)
    scores = Scores()
    profiles = tuple(PROFILES) if profile == BOTH else (profile,)
    verdicts: dict[str, list[Verdict]] = {name: [] for name in profiles}
    for line, query in zip(lines, asked, strict=True):
        judged = {name: _judge(line, query, store, name) for name in verdicts}
        for name, verdict in judged.items():
            verdicts[name].append(verdict)
        first, *others = judged.values()
        record = {"idx": line.idx, **first.to_json()}
        if others:
            record |= {"strict": others[0].to_json(), "holes": holes(line.plan, query, store)}
            scores.holes.update(record["holes"])
            scores.by_any_hole += bool(record["holes"])
        scores.records.append(record)
    scores.rates = {name: rates(found, asked) for name, found in verdicts.items()}
    return scores


def add_lenient(scores: Scores, lines: Sequence[Line], queries: Sequence[Query], store: Store, profile: str) -> None:
    """Put beside the scores of the lines what a lenient reading of the answers gives.

    The record of each answer that holds no plan gets "lenient", a verdict in the form of the record's own; all else of
    the records, and the rates, stay as they are.
    """
    lenient = score_lines([line.lenient or line for line in lines], queries, store, profile)
    scores.lenient_rates = lenient.rates
    for line, record, verdict in zip(lines, scores.records, lenient.records, strict=True):
        if line.lenient is not None:
            record["lenient"] = {key: value for key, value in verdict.items() if key != "idx"}


def _judge(line: Line, query: Query, store: Store, profile: str) -> Verdict:
    verdict = evaluate(line.plan, query, store, profile)
    if line.reason is not None:
        verdict.reason = line.reason
    return verdict


def check_output(out: Path, *inputs: Path) -> None:
    """Refuse to overwrite what is read.

    Raises:
        InputError: `out` is one of `inputs`.
    """
    for path in inputs:
        if out.exists() and path.exists() and out.samefile(path):
            raise InputError(f"{out}: is read as well; name another file for the output")


def write_lines(path: str | Path, records: Iterable[dict]) -> None:
    """Write JSON lines, whole or not at all.

    Raises:
        InputError: the path cannot be written, or is there and no regular file (a device, a folder).
    """
    path = Path(path).resolve()  # a link is followed, not replaced
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: is there and no regular file; name a file for the output")
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(unfinished, "w", encoding="utf-8") as f:
            f.writelines(json.dumps(record) + "\n" for record in records)
        os.replace(unfinished, path)
    except OSError as fault:
        raise InputError(f"{path}: cannot be written ({fault.strerror}); name a file in a folder that can be") from None
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink()
