"""From trajectories to scores: both profiles of the evaluator, the sub-rewards, and the rates over a split.

Everything downstream reads these files and not the trajectories, so scoring can be done again at will.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from planner_r1.agent.episodes import mistaken
from planner_r1.errors import InputError
from planner_r1.evaluator import RATES, evaluate, rates
from planner_r1.evaluator.failures import failures
from planner_r1.evaluator.holes import holes
from planner_r1.plan import parse_answer, to_official
from planner_r1.queries import Query
from planner_r1.reward import sub_rewards
from planner_r1.sandbox.store import Store

METRIC_VERSION = 2  # raise it when a number changes its meaning; metrics of different versions are not to be compared


def score(episodes: Iterable[dict], queries: Sequence[Query], store: Store) -> tuple[list[dict], dict]:
    """Score the episodes of one checkpoint on one split, one episode a query.

    Args:
        episodes: objects of trajectories.jsonl; `idx`, `answer` (text of the last turn) and `end_reason` are read.

    Returns:
        One object a query, in the order of the queries: `idx`, `official` and `strict` verdicts, `holes`,
        `sub_rewards`, `end_reason`. And the metrics: `rates` by profile (fractions; None for all but `delivery` where
        the constraints are hidden), `sub_rewards` (means), `holes` (plans by hole), `end_reasons` (shares), `n`.

    Raises:
        InputError: a query without an episode, or with two; an episode of another query.
    """
    by_query = _by_query(episodes, queries)
    if any(query.hidden for query in queries):
        return _score_hidden(by_query, queries)
    rows, verdicts = [], {"official": [], "strict": []}
    for query in queries:
        episode = by_query[query.idx]
        sub = sub_rewards(episode["answer"] or "", query, store)
        plan = None if sub.plan is None else to_official(sub.plan, store)
        judged = {profile: evaluate(plan, query, store, profile) for profile in verdicts}
        for profile, verdict in judged.items():
            verdicts[profile].append(verdict)
        row = {"idx": query.idx, "end_reason": episode["end_reason"], "sub_rewards": sub.parts()}
        row |= {profile: verdict.to_json() for profile, verdict in judged.items()}
        rows.append(row | {"holes": holes(plan, query, store)})
    metrics = _metrics(rows, {profile: rates(found, queries) for profile, found in verdicts.items()})
    metrics["sub_rewards"] = {part: _mean(row["sub_rewards"][part] for row in rows) for part in rows[0]["sub_rewards"]}
    return rows, metrics


def score_validations(path: str | Path, queries: Sequence[Query], store: Store) -> Iterator[dict]:
    """Score the episodes of a run's validations, one after the other, without their texts.

    Args:
        path: validation.jsonl of a run
        queries: those of the validation split

    Yields:
        An object an episode: `step`, `idx`, `end_reason`, `turns`, `tokens`, `sub_rewards`, `failures` (kinds, see
        evaluator.failures), `passed` and `passed_strict` (final pass under either profile), and `tools`: a
        [turn, name, whether an error of the model's own was replied] for each tool call that was replied to.

    Raises:
        InputError: naming the line that is not an episode of these queries.
    """
    asked = {query.idx: query for query in queries}
    for number, episode in _numbered_episodes(path):
        try:
            query, plan = asked[episode["idx"]], episode["plan"]
            row = {key: episode[key] for key in ("step", "idx", "end_reason", "turns", "tokens", "sub_rewards")}
            tools = [[call["turn"], call["name"], mistaken(call)] for call in episode["tool_calls"]]
        except KeyError as error:
            what = f"{path}, line {number}: no episode of these queries ({error} is absent)"
            raise InputError(f"{what}; the run is of other queries or another version: train it again") from None
        official = None if plan is None else to_official(plan, store)
        verdict = evaluate(official, query, store)
        yield row | {
            "failures": failures(official, verdict, query, store),
            "passed": verdict.final_pass,
            "passed_strict": evaluate(official, query, store, "strict").final_pass,
            "tools": tools,
        }


def load_episodes(path: str | Path) -> list[dict]:
    """Read trajectories.jsonl.

    Raises:
        InputError: naming the line that is not an episode.
    """
    return [episode for _, episode in _numbered_episodes(path)]


def _numbered_episodes(path: str | Path) -> Iterator[tuple[int, dict]]:
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            try:
                episode = json.loads(line)
                episode |= {key: episode[key] for key in ("idx", "answer", "end_reason")}
            except (ValueError, TypeError, KeyError) as error:
                what = f"{path}, line {number}: no episode ({error!r})"
                raise InputError(f"{what}; evaluate the checkpoint again") from None
            yield number, episode


def _by_query(episodes: Iterable[dict], queries: Sequence[Query]) -> dict[int, dict]:
    by_query: dict[int, dict] = {}
    for episode in episodes:
        if episode["idx"] in by_query:
            raise InputError(f"trajectories: query {episode['idx']} has two episodes; evaluate the checkpoint again")
        by_query[episode["idx"]] = episode
    wanted = {query.idx for query in queries}
    if by_query.keys() != wanted:
        other = sorted(by_query.keys() ^ wanted)
        raise InputError(f"trajectories: queries and episodes differ, first at query {other[0]}; evaluate again")
    return by_query


def _score_hidden(by_query: dict[int, dict], queries: Sequence[Query]) -> tuple[list[dict], dict]:
    """Where the constraints are hidden only the delivery of a plan can be told; the leaderboard scores the rest."""
    rows = []
    for query in queries:
        episode = by_query[query.idx]
        delivered = bool(parse_answer(episode["answer"] or "").plan)
        rows.append({"idx": query.idx, "end_reason": episode["end_reason"], "delivered": delivered})
    known = dict.fromkeys(RATES) | {"delivery": _mean(row["delivered"] for row in rows), "n": len(rows)}
    return rows, _metrics(rows, {"official": known, "strict": known}) | {"hidden": True}


def _metrics(rows: list[dict], by_profile: dict[str, dict]) -> dict:
    ends = Counter(row["end_reason"] for row in rows)
    return {
        "metric_version": METRIC_VERSION,
        "n": len(rows),
        "hidden": False,
        "rates": by_profile,
        "holes": dict(Counter(hole for row in rows for hole in row.get("holes", ())).most_common()),
        "end_reasons": {reason: count / len(rows) for reason, count in ends.most_common()},
    }


def _mean(values: Iterable[float]) -> float:
    values = list(values)
    return sum(values) / len(values)
