"""A whole folder of made-up results of a study, in the shapes of the real ones, for the tests of tables and figures and
for looking at them.

The numbers resemble the paper's: passes rise along a logistic curve, the larger of two models from a better start; the
smallest model collapses to nothing under the sparsest reward, and under the middle one with some of its seeds; failures
become fewer, sequences of tools longer and cleaner. The same study and seed give the same files.
"""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import yaml

from planner_r1.agent.episodes import SUB_REWARDS
from planner_r1.evaluator import RATES, Verdict, rates
from planner_r1.evaluator.failures import FAILURES, HALLUCINATED, NO_PLAN
from planner_r1.evaluator.hard import ASKED_BY
from planner_r1.files import write_lines
from planner_r1.ood.decoding import decoding
from planner_r1.ood.suites import SUITES
from planner_r1.paper.flops import Shape, known_shape, training_flops
from planner_r1.paper.results import evaluation_folder, model_file, suite_folder, validations_file
from planner_r1.queries import Query, save_queries
from planner_r1.reward import STAGES, SubRewards, reward, weights_of
from planner_r1.scoring import METRIC_VERSION
from planner_r1.study import BASE_REGIME, Checkpoint, Run, Study
from planner_r1.training.config import compose_config
from planner_r1.training.episodes import end_shares

REAL_METRICS = Path(__file__).resolve().parents[1] / "data" / "verl_metrics_cpu.jsonl"
PEAK_FLOPS = 989e12  # of an H200
# How easily each constraint is met: the log odds for a policy of ability 0 on a query of middling difficulty.
COMMONSENSE = {
    "is_reasonable_visiting_city": 3.4,
    "is_valid_restaurants": 3.6,
    "is_valid_attractions": 4.4,
    "is_valid_accommodation": 2.6,
    "is_valid_transportation": 3.2,
    "is_valid_information_in_current_city": 2.9,
    "is_valid_information_in_sandbox": 3.3,
    "is_not_absent": 3.5,
}
HARD = {
    "valid_cuisine": 2.0,
    "valid_room_rule": 2.4,
    "valid_transportation": 3.2,
    "valid_room_type": 2.6,
    "valid_cost": 1.5,
}
DELIVERY = 5.5
COLLAPSED = -14.0  # the ability of a policy that says nothing of use any more
CITIES = ("Thornmere", "Pinevale", "Kingsgate", "Dallas", "Austin", "Houston", "Peoria", "Norfolk")
SEARCHES = ("search_accommodations", "search_restaurants", "search_attractions")
NAMES = (*SEARCHES, "search_flights", "search_ground_transportation", "get_cities", "calculator")


def write_results(
    study: Study,
    folder: str | Path,
    *,
    queries: int = 45,
    test_queries: int = 100,
    suite_items: int | None = 40,
    episode_steps: int = 2,
    transcript: int = 1500,
    seed: int = 0,
    absent: Collection[str] = (),
) -> Path:
    """Write every result of a study that tables, figures and the report may read, below `folder`.

    Args:
        queries, test_queries: of the validation and of the test split.
        suite_items: at most so many of each metric of the out-of-domain suites; None for all.
        episode_steps: validations of a run whose episodes are written whole to validation.jsonl, the last ones.
        transcript: characters, about, of an episode's text.
        absent: files whose path below `folder` holds one of these texts are left out.
    """
    made = _Made(study, Path(folder), seed, frozenset(absent), transcript)
    sizes = {"train": 4 * queries, "validation": queries, "test": test_queries}
    of_split = {split: made_up_queries(study, split, n) for split, n in sizes.items()}
    made.text("config.yaml", lambda: yaml.safe_dump(study.config, sort_keys=False))
    for split, asked in of_split.items():
        made.write(f"data/{split}.jsonl", lambda path, asked=asked: save_queries(path, asked))
    for model in study.trainable:
        made.json(model_file(model), lambda model=model: model_manifest(study, model))
        made.json(f"models/{model}/config.json", lambda model=model: model_config(study, model))
    for checkpoint in study.checkpoints:
        for split in study.splits:
            _write_evaluation(made, checkpoint, split, of_split[study.query_split(split)])
    for run in study.runs:
        _write_run(made, run, of_split["validation"], episode_steps)
    for checkpoint in study.suite_checkpoints:
        _write_suites(made, checkpoint, suite_items)
    for probe in study.probes:
        made.json(f"memory/{probe.name}.json", lambda probe=probe: _probe(study, probe))
    return made.folder


@dataclass(frozen=True)
class _Made:
    """Where the files go, and which are left out."""

    study: Study
    folder: Path
    seed: int
    absent: frozenset[str]
    transcript: int

    def write(self, name: str, write) -> None:
        if any(part in name for part in self.absent):
            return
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path)

    def text(self, name: str, make) -> None:
        self.write(name, lambda path: path.write_text(make(), encoding="utf-8"))

    def json(self, name: str, make) -> None:
        self.text(name, lambda: json.dumps(make(), indent=1) + "\n")

    def lines(self, name: str, rows: Iterable[dict]) -> None:
        self.write(name, lambda path: write_lines(path, rows))


# ---- queries ------------------------------------------------------------------------------------------------------


def hidden(study: Study, split: str) -> bool:
    """The official test split comes without its constraints."""
    return split == "test" and study.query_spec is None


def made_up_queries(study: Study, split: str, n: int) -> list[Query]:
    """Queries of every length, level and kind of constraint, for no world in particular."""
    rng = random.Random(f"queries {split}")
    lengths = study.query_spec["days"] if study.query_spec else (3, 5, 7)
    return [_query(rng, idx, lengths[idx % len(lengths)], hidden(study, split)) for idx in range(1, n + 1)]


def _query(rng: random.Random, idx: int, days: int, is_hidden: bool) -> Query:
    level = ("easy", "medium", "hard")[idx // 3 % 3]
    cities = (days - 1) // 2
    org, *visited = rng.sample(CITIES, cities + 1)
    asked = dict.fromkeys(("house rule", "cuisine", "room type", "transportation"))
    values = ("pets", ["Mexican", "Indian"], "private room", "no flight")
    for kind, value in rng.sample(list(zip(asked, values, strict=True)), {"easy": 0, "medium": 1, "hard": 3}[level]):
        asked[kind] = value
    people = 1 if level == "easy" else rng.randint(1, 4)
    budget = float(50 * round(days * people * rng.uniform(6, 12)))
    wish = f"Please plan a {days}-day trip for {people} from {org} to {visited[0]}, budget ${budget:,.0f}."
    dates = tuple(f"2022-03-{day:02d}" for day in range(1 + idx % 20, 1 + idx % 20 + days))
    open_to_all = (idx, org, visited[0], days, dates, wish, level)
    return Query(*open_to_all) if is_hidden else Query(*open_to_all, cities, people, budget, asked)


# ---- abilities ----------------------------------------------------------------------------------------------------


def smallest(study: Study, model: str) -> bool:
    """Whether a model is the smallest of the study's trained ones."""
    shape = {name: shape_of(study, name).parameters for name in study.trainable}
    return model in shape and shape[model] == min(shape.values())


def collapses(study: Study, run: Run) -> bool:
    """Whether a run ends in nothing: the smallest model's under the sparsest reward, some under the middle one."""
    first = run.phases[0].weights
    return smallest(study, run.model) and (first == "stage3" or (first == "stage2" and run.seed % 2 == 0))


def ability(study: Study, checkpoint: Checkpoint) -> float:
    """How able a policy is: 0 passes about 40 of 100 queries."""
    small = smallest(study, checkpoint.model)
    start = -4.5 if small else -2.8
    if checkpoint.regime == BASE_REGIME:
        return start
    run = study.run(checkpoint.model, checkpoint.regime, checkpoint.seed)
    share, weights = checkpoint.step / min(run.steps, 500), run.phases[0].weights
    late = {"stage2": 0.4, "stage3": 0.5}.get(weights, 0.25)
    rise = (_logistic(9 * (share - late)) - _logistic(-9 * late)) / (1 - _logistic(-9 * late))
    noise = random.Random(f"{checkpoint.name} ability").gauss(0, 0.08) * min(1, 4 * share)
    luck = random.Random(f"{run.name} luck").gauss(0, 0.15)
    end = {"stage2": -0.5, "stage3": -0.45}.get(weights, -0.6) + 0.08 * len(run.phases) - (0.15 if small else 0)
    value = start + rise * (end - start + luck) + 0.25 * math.log1p(max(0.0, share - 1)) + noise
    if collapses(study, run):
        value += (COLLAPSED - value) * _logistic(25 * (share - {"stage2": 0.75, "stage3": 0.45}[weights]))
    return value


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x))


@cache
def shape_of(study: Study, model: str) -> Shape:
    """The shape of a model: the paper's, by its name, or a tiny one of the size that the study gives it."""
    asked = study.warm_start(model) or {}
    width = asked.get("hidden_size", 128)
    return known_shape(model) or Shape(width, 3 * width, asked.get("layers", 2), 4, 2, width // 4, 2000, tied=True)


# ---- episodes -----------------------------------------------------------------------------------------------------


@dataclass
class Played:
    """An episode and what the evaluator says of it, made up."""

    query: Query
    verdict: Verdict
    strict: Verdict
    hallucinated: list[str] = field(default_factory=list)
    end_reason: str = "answer"
    tools: list[list] = field(default_factory=list)
    tokens: dict = field(default_factory=dict)

    @property
    def turns(self) -> int:
        return len(self.tools) + 1

    def sub_rewards(self, profile: str = "official") -> dict[str, float]:
        verdict = self.strict if profile == "strict" else self.verdict
        asked = 1 + sum(self.query.constraint(kind) is not None for kind in ASKED_BY.values())
        if not verdict.delivered:
            return dict.fromkeys(SUB_REWARDS, 0.0)
        cs_micro = sum(map(bool, verdict.commonsense.values())) / len(COMMONSENSE)
        hard_micro = sum(map(bool, verdict.hard.values())) / asked if verdict.hard else 0.0
        macros = float(verdict.commonsense_pass), float(verdict.hard_pass), float(verdict.final_pass)
        return dict(zip(SUB_REWARDS, (1.0, cs_micro, hard_micro, *macros), strict=True))

    def failures(self) -> list[str]:
        if not self.verdict.delivered:
            return [NO_PLAN]
        judged = self.verdict.commonsense | (self.verdict.hard or {})
        found = {name for name, holds in judged.items() if holds is False} | set(self.hallucinated)
        return [name for name in FAILURES if name in found]


def play(checkpoint: Checkpoint, able: float, query: Query, seed: int) -> Played:
    """An episode of a policy on a query."""
    rng = random.Random(f"{seed} {checkpoint.name} {query.idx}")
    level = able - _difficulty(query)
    delivered = _holds(rng, level + DELIVERY)
    commonsense = {name: _holds(rng, level + ease) if delivered else None for name, ease in COMMONSENSE.items()}
    reached = delivered and commonsense["is_valid_information_in_sandbox"] and commonsense["is_not_absent"]
    hard = {name: _hard(rng, name, level + ease, query) for name, ease in HARD.items()} if reached else None
    cost = round(query.budget * rng.uniform(0.5, 1.0)) if reached and query.budget else None
    verdict = _verdict(delivered, commonsense, hard, cost)
    strict = verdict
    if verdict.final_pass and rng.random() < 0.04:  # through a hole of the official rules
        strict = _verdict(delivered, commonsense | {"is_valid_transportation": False}, hard, cost)
    invented = [kind for kind in HALLUCINATED.values() if delivered and not _holds(rng, level + 2.8)]
    tools, cut = _tools(rng, level, query), rng.random()
    end = "answer" if delivered or cut < 0.3 else ("no_answer", "turn_limit", "length")[int(cut * 3) % 3]
    tokens = {"prompt": 1800 + len(query.query) // 4, "response": 900 * len(tools) + rng.randrange(400, 900)}
    tokens["generated"] = round(70 * len(tools) + 150 * query.days * rng.uniform(0.8, 1.2))
    return Played(query, verdict, strict, invented, end, tools, tokens)


def _hard(rng: random.Random, name: str, odds: float, query: Query) -> bool | None:
    if name in ASKED_BY and query.constraint(ASKED_BY[name]) is None:
        return None
    return _holds(rng, odds)


def _verdict(delivered: bool, commonsense: dict, hard: dict | None, cost: float | None) -> Verdict:
    failed = [name for name, holds in (commonsense | (hard or {})).items() if holds is False]
    reasons = {name: f"'Sunny Lodge, Pinevale' does not do ({name})" for name in failed}
    first = f"{failed[0]}: {reasons[failed[0]]}" if failed else None
    return Verdict(delivered, commonsense, hard, cost, first if delivered else "no plan", reasons)


@cache
def _difficulty(query: Query) -> float:
    harder = {"easy": -0.4, "medium": 0.0, "hard": 0.3}[query.level] + 0.15 * (query.days - 5) / 2
    return harder + random.Random(f"difficulty {query.query}").gauss(0, 0.5)


def _holds(rng: random.Random, odds: float) -> bool:
    return rng.random() < _logistic(odds)


def _tools(rng: random.Random, level: float, query: Query) -> list[list]:
    """The calls of an episode: an able policy looks up every leg and each table of every city, without errors."""
    if level < COLLAPSED / 2:
        return []
    legs = (query.days - 1) // 2 + 1
    proper = ["search_flights"] * legs + [name for _ in range(legs - 1) for name in SEARCHES] + ["calculator"]
    clean = _logistic(level + 2.5)
    kept = [name if rng.random() < clean else rng.choice(NAMES) for name in proper if rng.random() < 0.3 + 0.7 * clean]
    names = [again for name in kept for again in [name] * (2 if rng.random() < 0.25 * (1 - clean) else 1)]
    return [[turn, name, rng.random() > 0.5 + 0.5 * clean] for turn, name in enumerate(names, start=1)]


# ---- evaluations --------------------------------------------------------------------------------------------------


def _write_evaluation(made: _Made, checkpoint: Checkpoint, split: str, queries: Sequence[Query]) -> None:
    able, folder = ability(made.study, checkpoint), evaluation_folder(checkpoint, split)
    played = [play(checkpoint, able, query, made.seed) for query in queries]
    place = {"model": checkpoint.model, "regime": checkpoint.regime}
    numbers = {"seed": checkpoint.seed, "step": checkpoint.step}
    is_hidden = hidden(made.study, made.study.query_split(split))
    head = place | {"split": split} | numbers
    made.json(f"{folder}/metrics.json", lambda: head | evaluation_metrics(played, is_hidden))
    made.lines(f"{folder}/scores.jsonl", (score_row(episode, is_hidden) for episode in played))
    lines = (place | numbers | episode_line(e, split, made.transcript, is_hidden) for e in played)
    made.lines(f"{folder}/trajectories.jsonl", lines)


def score_row(episode: Played, is_hidden: bool = False) -> dict:
    """A row of an evaluation's scores.jsonl."""
    row = {"idx": episode.query.idx, "end_reason": episode.end_reason}
    if is_hidden:
        return row | {"delivered": episode.verdict.delivered}
    row |= {"sub_rewards": episode.sub_rewards()}
    row |= {"official": episode.verdict.to_json(), "strict": episode.strict.to_json()}
    return row | {"holes": [] if episode.strict is episode.verdict else ["unknown_mode"]}


def evaluation_metrics(played: Sequence[Played], is_hidden: bool = False) -> dict:
    """What stands in an evaluation's metrics.json beside the names of the checkpoint."""
    n, queries = len(played), [episode.query for episode in played]
    if is_hidden:
        delivery = sum(episode.verdict.delivered for episode in played) / n
        known = dict.fromkeys(RATES) | {"delivery": delivery, "n": n}
        by_profile = {"official": known, "strict": known}
    else:
        by_profile = {"official": rates([e.verdict for e in played], queries)}
        by_profile["strict"] = rates([e.strict for e in played], queries)
    ends = Counter(episode.end_reason for episode in played)
    through = sum(episode.strict is not episode.verdict for episode in played)
    metrics = {"metric_version": METRIC_VERSION, "n": n, "hidden": is_hidden, "rates": by_profile}
    metrics |= {"holes": {"unknown_mode": through} if through and not is_hidden else {}}
    metrics |= {"end_reasons": {reason: count / n for reason, count in ends.most_common()}}
    return metrics if is_hidden else metrics | {"sub_rewards": _mean_parts(played)}


def _mean_parts(played: Sequence[Played]) -> dict[str, float]:
    parts = [episode.sub_rewards() for episode in played]
    return {name: sum(part[name] for part in parts) / len(parts) for name in SUB_REWARDS}


def episode_line(
    episode: Played, split: str, transcript: int, is_hidden: bool = False, weights=STAGES["stage1"]
) -> dict:
    """An episode as in trajectories.jsonl, without the names of its checkpoint."""
    plan = made_up_plan(episode.query) if episode.verdict.delivered else None
    answer = "" if plan is None else f"<answer>{json.dumps(plan)}</answer>"
    reply = max(60, (transcript - len(answer)) // max(1, len(episode.tools)))
    calls = [_call(turn, name, error, reply, episode.query) for turn, name, error in episode.tools]
    official, strict = (None if is_hidden else episode.sub_rewards(profile) for profile in ("official", "strict"))
    return {
        "idx": episode.query.idx,
        "split": split,
        "text": _text(episode.query, calls, answer),
        "tool_calls": calls,
        "answer": answer,
        "plan": plan,
        "end_reason": episode.end_reason,
        "turns": episode.turns,
        "tokens": episode.tokens,
        "sub_rewards": official,
        "reward": None if is_hidden else _reward(official, weights),
        "pass_strict": strict and strict["pass"],
        "score_official": None if is_hidden else _reward(official, weights),
        "score_strict": None if is_hidden else _reward(strict, weights),
    }


def _reward(parts: dict[str, float], weights: Sequence[float]) -> float:
    named = {"passed" if name == "pass" else name: value for name, value in parts.items()}
    return reward(SubRewards(**named), weights)


def _call(turn: int, name: str, error: bool, reply_chars: int, query: Query) -> dict:
    arguments = {"city": query.dest}
    if name == "search_flights":
        arguments = {"origin": query.org, "destination": query.dest, "date": query.date[0]}
    return {"turn": turn, "name": name, "arguments": arguments, "reply_chars": reply_chars, "error": error}


def _text(query: Query, calls: Sequence[dict], answer: str) -> str:
    said = [f"system\nYou plan trips by calling tools.\nuser\n{query.query}"]
    for call in calls:
        asked = json.dumps({"name": call["name"], "arguments": call["arguments"]})
        reply = '{"error": "no such city"}' if call["error"] else '{"results": [{"Name": "Sunny Lounge"}]}'
        reply += " " * (call["reply_chars"] - len(reply))
        said.append(f"assistant\n<tool_call>\n{asked}\n</tool_call>\nuser\n<tool_response>\n{reply}\n</tool_response>")
    return "\n".join([*said, f"assistant\n{answer}"])


def made_up_plan(query: Query) -> list[dict]:
    """A plan that fits the schema, to the query's destination and back."""
    return [_day(query, day) for day in range(1, query.days + 1)]


def _day(query: Query, day: int) -> dict:
    ends = {1: (query.org, query.dest), query.days: (query.dest, query.org)}.get(day)
    city, way = query.dest, "-"
    if ends:
        city = {"from": ends[0], "to": ends[1]}
        way = {"mode": "flight", **city, "duration": "1 hours 30 minutes", "distance": "739", "cost": 155}
        way |= {"flight_number": "F5980", "departure_time": "07:25", "arrival_time": "08:55"}
    last = day == query.days
    meals = {"breakfast": "Jolly Diner", "lunch": "Rustic Grill", "dinner": "-" if last else "Ivory Onion"}
    stay = {"attraction": ["Snowy Plaza"], "accommodation": "-" if last else "Rapid Lodge"}
    return {"days": day, "city": city, "transportation": way, **meals, **stay}


# ---- runs ---------------------------------------------------------------------------------------------------------


def _write_run(made: _Made, run: Run, queries: Sequence[Query], episode_steps: int) -> None:
    every = made.study.config["training"]["test_every"]
    steps = sorted({*range(0, run.steps + 1, every), run.steps})
    validated: dict[int, list[Played]] = {}
    for step in steps:
        at = Checkpoint(run.model, run.regime, run.seed, step)
        able = ability(made.study, at)
        validated[step] = [play(at, able, query, made.seed) for query in queries]
    rows = (validation_row(step, episode) for step, played in validated.items() for episode in played)
    made.lines(validations_file(run), rows)
    names = {"model": run.model, "regime": run.regime, "seed": run.seed}
    whole = {step: validated[step] for step in steps[len(steps) - episode_steps :]}
    episodes = (
        {"step": step, **names, **episode_line(e, "validation", made.transcript, weights=_weights(run, step))}
        for step, played in whole.items()
        for e in played
    )
    made.lines(f"runs/{run.name}/validation.jsonl", episodes)
    made.lines(f"runs/{run.name}/metrics.jsonl", run_metrics(made.study, run, validated))
    made.json(f"runs/{run.name}/MANIFEST.json", lambda: run_manifest(made.study, run))


def validation_row(step: int, episode: Played) -> dict:
    """A row that scoring.score_validations would write."""
    return {
        "step": step,
        "idx": episode.query.idx,
        "end_reason": episode.end_reason,
        "turns": episode.turns,
        "tokens": episode.tokens,
        "sub_rewards": episode.sub_rewards(),
        "failures": episode.failures(),
        "passed": episode.verdict.final_pass,
        "passed_strict": episode.strict.final_pass,
        "tools": episode.tools,
    }


def _weights(run: Run, step: int) -> tuple[float, ...]:
    """The weights that a step was trained under; step 0 counts to the first."""
    reached = 0
    for phase in run.phases:
        reached += phase.steps
        if step <= reached:
            break
    return weights_of(phase.weights)


@cache
def _real_metrics() -> tuple[dict, dict, dict]:
    """What verl logged once: before training, of a step, and what a step with a validation has beside that."""
    with open(REAL_METRICS, encoding="utf-8") as file:
        before, step, validated = (json.loads(line)["data"] for line in file)
    kept = {key: value for key, value in step.items() if key != "timing_s/save_checkpoint"}
    return before, kept, {key: value for key, value in validated.items() if key not in kept}


def run_metrics(study: Study, run: Run, validated: dict[int, list[Played]]) -> Iterator[dict]:
    """The lines of a run's metrics.jsonl: those of a real run with other numbers."""
    before, of_step, of_validation = _real_metrics()
    yield {"step": 0, **before, **_validation_metrics(run, 0, validated[0])}
    save = study.config["training"]["save_every"]
    rng = random.Random(f"{run.name} metrics")
    for step in range(1, run.steps + 1):
        line = {"step": step, **of_step, **_step_metrics(study, run, step, rng)}
        if step in validated:
            line |= {key: value for key, value in of_validation.items() if key != "timing_s/save_checkpoint"}
            line |= _validation_metrics(run, step, validated[step]) | {"timing_s/testing": 0.4 * line["timing_s/gen"]}
        if step % save == 0 or step == run.steps:
            line["timing_s/save_checkpoint"] = 0.3 * line["timing_s/step"]
        yield line


def _validation_metrics(run: Run, step: int, played: Sequence[Played]) -> dict:
    parts, turns = _mean_parts(played), [2 * episode.turns for episode in played]
    weights = _weights(run, step)
    mean_reward = sum(_reward(episode.sub_rewards(), weights) for episode in played) / len(played)
    calls = [tool for episode in played for tool in episode.tools]
    return {
        "val-core/travel/reward/mean@1": mean_reward,
        "val-aux/travel/score/mean@1": mean_reward,
        **{f"val-aux/travel/{name}/mean@1": value for name, value in parts.items()},
        "val-aux/travel/tool_calls/mean@1": len(calls) / len(played),
        "val-aux/travel/tool_errors/mean@1": sum(error for *_, error in calls) / len(played),
        **{f"val-aux/num_turns/{name}": take(turns) for name, take in (("min", min), ("max", max))},
        "val-aux/num_turns/mean": sum(turns) / len(turns),
        **{f"val-aux/{key}": share for key, share in end_shares([e.end_reason for e in played]).items()},
    }


def _step_metrics(study: Study, run: Run, step: int, rng: random.Random) -> dict:
    able = ability(study, Checkpoint(run.model, run.regime, run.seed, step))
    shape, gpu = shape_of(study, run.model), study.backend == "gpu"
    clean, episodes, gpus = _logistic(able + 2.5), *_machine(study, run.regime)
    parts = {"schema": _logistic(able + DELIVERY)}
    parts["cs_micro"] = parts["schema"] * sum(_logistic(able + x) for x in COMMONSENSE.values()) / len(COMMONSENSE)
    parts["cs_macro"] = parts["schema"] * math.prod(_logistic(able + x) for x in COMMONSENSE.values())
    parts["hard_micro"] = 0.9 * parts["cs_macro"] ** 0.5 * _logistic(able + 1.8)
    parts["hard_macro"] = 0.9 * parts["cs_macro"] ** 0.5 * _logistic(able + 1.5) * _logistic(able + 2)
    parts["pass"] = parts["cs_macro"] * _logistic(able + 1.5) * _logistic(able + 2)
    parts = {name: min(1.0, max(0.0, value * rng.gauss(1, 0.05))) for name, value in parts.items()}
    prompt = 1800.0 if gpu else 150.0
    length = (
        (12_000 if gpu else 500) * (0.25 + 0.75 * clean) * rng.gauss(1, 0.03) if able > COLLAPSED / 2 else prompt / 4
    )
    mfu = max(0.02, (0.38 if gpu else 0.12) * (0.5 + 0.5 * clean) * rng.gauss(1, 0.03))
    peak = PEAK_FLOPS if gpu else 2e11
    update = training_flops(shape, [prompt + length] * episodes) / (mfu * peak * gpus)
    gen, old, adv, sync = 1.4 * update * rng.gauss(1, 0.1), update / 3, 0.05, 0.1 * update
    whole, tokens = gen + old + adv + update + sync, round(episodes * (prompt + length))
    memory = 50 + shape.parameters * 1.25e-9 if gpu else 0.6 + shape.parameters * 5e-8
    allocated = memory * (1 - 0.04 * math.exp(-step / 20)) * rng.gauss(1, 0.004)
    mean_reward, calls = _reward(parts, _weights(run, step)), 4 + 6 * clean if able > COLLAPSED / 2 else 0.0
    lengths = {"mean": length, "max": 1.4 * length, "min": 0.5 * length, "clip_ratio": 0.02 * rng.random()}
    return {
        **{f"reward/{name}": value for name, value in parts.items()},
        "end/answer": 0.98 * parts["schema"] + 0.01,
        "end/no_answer": 0.99 - 0.98 * parts["schema"],
        "tools/calls": calls,
        "tools/error_share": 0.5 * (1 - clean) if calls else 0.0,
        **{f"response_length/{name}": value for name, value in lengths.items()},
        **{f"response_length_non_aborted/{name}": value for name, value in lengths.items()},
        **{f"global_seqlen/{name}": tokens / gpus for name in ("min", "max", "mean", "balanced_min", "balanced_max")},
        "prompt_length/mean": prompt,
        "num_turns/mean": 2 * calls + 2,
        "training/num_turns/mean": 2 * calls + 2,
        "critic/score/mean": mean_reward,
        "critic/rewards/mean": mean_reward,
        "actor/grad_norm": abs(rng.gauss(0.15, 0.05)),
        "actor/lr": 1e-6,
        "actor/ppo_kl": rng.gauss(0, 1e-5),
        "actor/perf/max_memory_allocated_gb": allocated,
        "actor/perf/max_memory_reserved_gb": 1.08 * allocated,
        "perf/mfu/actor": mfu,
        "perf/total_num_tokens": tokens,
        "perf/time_per_step": whole,
        "perf/throughput": tokens / whole / gpus,
        "timing_s/gen": gen,
        "timing_s/old_log_prob": old,
        "timing_s/adv": adv,
        "timing_s/update_actor": update,
        "timing_s/update_weights": sync,
        "timing_s/step": whole,
        "timing_per_token_ms/gen": 1000 * gen / max(1.0, episodes * length),
        "timing_per_token_ms/update_actor": 1000 * update / tokens,
        "timing_per_token_ms/adv": 1000 * adv / tokens,
        "training/global_step": step,
        "training/epoch": step // 11,
        "training/queries_asked": _asked_in_step(study, run.regime, step),
    }


@cache
def _machine(study: Study, regime: str) -> tuple[int, int]:
    """Episodes of a step, and GPUs."""
    config = _verl_config(study, regime)
    trainer = config["trainer"]
    episodes = config["data"]["train_batch_size"] * config["actor_rollout_ref"]["rollout"]["n"]
    return episodes, trainer["nnodes"] * trainer["n_gpus_per_node"]


def _asked_in_step(study: Study, regime: str, step: int) -> int:
    """The batch's queries, and where dynamic sampling asks further ones as many again at first, fewer later."""
    config = _verl_config(study, regime)
    batch, filters = config["data"]["train_batch_size"], config["algorithm"].get("filter_groups") or {}
    return batch + (round(batch * math.exp(-step / 20)) if filters.get("enable") else 0)


@cache
def _verl_config(study: Study, regime: str) -> dict:
    from omegaconf import OmegaConf

    return OmegaConf.to_container(compose_config(study.backend, study.regime_overrides(regime), {}))


VERSIONS = {
    "python": "3.11.7",
    "planner-r1-repro": "0.1.0",
    "verl": "0.9.1",
    "torch": "2.13.0",
    "transformers": "5.10.4",
    "tensordict": "0.10.0",
    "TransferQueue": "0.1.11",
    "ray": "2.60.0",
    "numpy": "2.4.6",
}


def _file(name: str) -> dict:
    rng = random.Random(name)
    return {"bytes": rng.randrange(1000, 10**9), "sha256": f"{rng.getrandbits(256):064x}"}


def model_manifest(study: Study, model: str) -> dict:
    """The MANIFEST.json of a model before training by reward."""
    names = ("chat_template.jinja", "config.json", "generation_config.json", "model.safetensors", "tokenizer.json")
    if study.warm_start(model):
        parameters = shape_of(study, model).parameters
        record = {"steps": 300, "loss": 0.35, "held_out_pass": 0.27, "parameters": parameters}
    else:
        record = {"source": f"/data/models/{model}"}
    return {"model": model, **record, "versions": VERSIONS, "files": {name: _file(f"{model} {name}") for name in names}}


def model_config(study: Study, model: str) -> dict:
    """The config.json of a model, in Hugging Face's names."""
    shape = shape_of(study, model)
    layers, heads = {"num_hidden_layers": shape.layers}, {"num_attention_heads": shape.heads}
    sizes = {"hidden_size": shape.hidden_size, "intermediate_size": shape.intermediate_size}
    heads |= {"num_key_value_heads": shape.kv_heads, "head_dim": shape.head_dim, "vocab_size": shape.vocabulary}
    return {"model_type": "qwen3", **sizes, **layers, **heads, "tie_word_embeddings": shape.tied}


def run_manifest(study: Study, run: Run) -> dict:
    """The MANIFEST.json of a run, in two segments where a save lies between."""
    settings, half = study.train_settings(run.model, run.regime, run.seed), run.steps // 2
    parts = [(1, half), (half + 1, run.steps)] if half else [(1, run.steps)]
    seconds = 180.0 if study.backend == "gpu" else 4.0
    segments = [
        {
            "number": number,
            "first_step": first,
            "asked_step": last,
            "weights": list(map(float, _weights(run, last))),
            "metrics": f"metrics.{number}.jsonl",
            "started": f"2026-11-{number:02d}T04:31:07Z",
            "seconds": round(seconds * (last - first + 1), 1),
        }
        for number, (first, last) in enumerate(parts, start=1)
    ]
    config = json.loads(json.dumps(_verl_config(study, run.regime)))
    config["trainer"] |= {"total_training_steps": run.steps, "experiment_name": run.name}
    config["reward"]["custom_reward_function"]["reward_kwargs"] = {"weights": segments[-1]["weights"]}
    config["planner_r1"] = {"export_steps": settings["export_steps"], "export_dir": None, "last_step": run.steps}
    kept = {key: settings[key] for key in ("seed", "save_every", "test_every", "backend", "overrides")}
    known = {key: _file(f"{run.model} {key}")["sha256"] for key in ("train_queries", "validation_queries", "store")}
    schedule = [list(map(float, _weights(run, step))) for step in range(1, run.steps + 1)]
    weights = [_file(run.model)["sha256"]]
    exported = [f"checkpoints/step{step}/model.safetensors" for step in settings["export_steps"]]
    return {
        "name": run.name,
        "final_step": run.steps,
        "seed": run.seed,
        "settings": {
            "name": run.name,
            "model": weights,
            **known,
            "schedule": schedule,
            **kept,
            "learning_rate_horizon": None,
        },
        "prompt_template_sha256": _file("prompt")["sha256"],
        "segments": segments,
        "wall_seconds": round(sum(segment["seconds"] for segment in segments), 1),
        "git_commit": "0" * 40,
        "versions": VERSIONS,
        "config": config,
        "files": {name: _file(f"{run.name} {name}") for name in (*exported, "metrics.jsonl", "validation.jsonl")},
    }


# ---- out-of-domain suites -----------------------------------------------------------------------------------------

# The share of items that the paper's untrained 8B solves, about, and how much training moves it.
SUITE_MEANS = {
    **{"np_trip": (0.13, 0.05), "np_meeting": (0.8, -0.02), "np_calendar": (0.23, 0.06)},
    **{"mif_turn1": (0.88, 0.0), "mif_turn2": (0.82, 0.01), "mif_turn3": (0.75, 0.01), "tau_pass1": (0.1, 0.06)},
}


def _write_suites(made: _Made, checkpoint: Checkpoint, most: int | None) -> None:
    asked = {suite: _asked(made.study, checkpoint, suite) for suite in made.study.suites}
    made.json(f"ood/{checkpoint.name}/asked.json", lambda: asked)
    for suite in made.study.suites:
        rows, folder = list(suite_scores(made.study, checkpoint, suite, most)), suite_folder(checkpoint, suite)
        made.lines(f"{folder}/scores.jsonl", rows)
        made.json(
            f"{folder}/metrics.json", lambda suite=suite, rows=rows: _suite_metrics(checkpoint, suite, rows, asked)
        )


def _asked(study: Study, checkpoint: Checkpoint, suite: str) -> dict:
    settings = study.suite_settings(checkpoint.model)
    own = settings["suites"][suite]
    rule = decoding(suite, own["decoding"] or {})
    extra = {"chat_template_kwargs": {"enable_thinking": False}}
    model = {"model": f"results/{study.name}/models/{checkpoint.model}", "tools": "native", "temperature": 1.0}
    model |= {"top_p": 1.0, "seed": None, "reasoning_effort": None, "max_tokens": rule.get("max_tokens")}
    model |= {"max_tokens_parameter": "max_tokens", "response_tokens": None, "extra_body": extra}
    taken = {"requests": 12, "without_answer": 0, "retries": 0, "seconds": 2.5, "cost": None, "prompt": 30956}
    taken |= {"completion": 576, "reasoning": 0, "cached": 0, "currency": "USD"}
    return {
        **{"items": own["items"], "repeats": settings["repeats"], "seed": settings["seed"], "decoding": rule},
        **{"model": model, "user": own["user"], "costs": {"model": taken}},
    }


def suite_scores(study: Study, checkpoint: Checkpoint, suite: str, most: int | None) -> Iterator[dict]:
    """The rows of scores.jsonl of a checkpoint on a suite."""
    rng = random.Random(f"{checkpoint.name} {suite}")
    trained = 0.0 if checkpoint.regime == BASE_REGIME else min(1.0, checkpoint.step / 500)
    better = 0.0 if smallest(study, checkpoint.model) else 0.08
    for repeat in range(study.suite_settings(checkpoint.model)["repeats"]):
        for metric, items in SUITES[suite].metrics.items():
            start, moved = SUITE_MEANS[metric]
            odds = math.log((mean := min(0.97, start + better + trained * moved)) / (1 - mean))
            for number in range(min(items, most or items)):
                hard = 1.5 * random.Random(f"{metric} {number}").gauss(0, 1)
                right = [_holds(rng, odds - hard) for _ in range(int(metric[-1]) if suite == "multi_if" else 1)]
                yield _suite_row(suite, metric, number, repeat, right)


def _suite_row(suite: str, metric: str, number: int, repeat: int, right: list[bool]) -> dict:
    value = sum(right) / len(right)
    if suite == "multi_if":
        row = {"metric": metric, "item": f"made_up_{number}", "repeat": repeat, "turn": len(right)}
        return row | {"strict": right, "loose": right, "thought": False, "value": value}
    if suite == "tau_bench":
        row = {"metric": metric, "item": f"test-{number}", "repeat": repeat, "value": value}
        return row | {"end_reason": "done", "turns": 3 + number % 5}
    kind = metric.removeprefix("np_")
    row = {"metric": metric, "item": f"{kind} made_up_{kind}_{number}", "repeat": repeat, "value": value}
    return row | {
        "valid": value > 0,
        "reason": "" if value else "score: no plan in the official format",
        "thought": False,
    }


def _suite_metrics(checkpoint: Checkpoint, suite: str, rows: Sequence[dict], asked: dict) -> dict:
    found = {}
    for metric in SUITES[suite].metrics:
        of_metric = [row for row in rows if row["metric"] == metric]
        repeats = sorted({row["repeat"] for row in of_metric})
        values = [[row["value"] for row in of_metric if row["repeat"] == repeat] for repeat in repeats]
        means = [sum(value) / len(value) for value in values]
        items = len({row["item"] for row in of_metric})
        found[metric] = {"mean": sum(means) / len(means), "items": items, "by_repeat": means}
    whole = all(found[metric]["items"] == n for metric, n in SUITES[suite].metrics.items())
    return {
        **{"model": checkpoint.model, "regime": checkpoint.regime, "suite": suite, "seed": checkpoint.seed},
        **{"step": checkpoint.step, "metric_version": 1, "metrics": found, **_what_else(suite, rows, found)},
        **{"caveats": [] if whole else ["not all items"], "asked": asked[suite]},
    }


def _what_else(suite: str, rows: Sequence[dict], found: dict) -> dict:
    """What a suite tells beside its metrics."""
    if suite == "tau_bench":
        passed = found["tau_pass1"]["mean"]
        repeats = len(found["tau_pass1"]["by_repeat"])
        by_k = {f"pass^{k}": passed**k for k in range(1, repeats + 1)}
        return {"pass": by_k, "end_reasons": {"done": len(rows)}}
    thinking = {"thinking": {"answers": len(rows), "with_thinking": 0}}
    if suite == "natural_plan":
        return thinking | {"validity": {metric: {"rate": m["mean"], "unknown": 0} for metric, m in found.items()}}
    kinds = ("prompt_strict", "instruction_strict", "prompt_loose", "instruction_loose", "mean")
    return thinking | {"accuracies": {metric[-1]: dict.fromkeys(kinds, m["mean"]) for metric, m in found.items()}}


# ---- memory -------------------------------------------------------------------------------------------------------


def _probe(study: Study, probe) -> dict:
    """What a probe of memory wrote: the largest shares run out of it."""
    fits = probe.share < 0.9
    steps = study.config["memory"]["steps"]
    _, of_step, _ = _real_metrics()
    measured = [{"step": step, **of_step, "timing_s/step": 60.0 + step} for step in range(1, steps + 1)] if fits else []
    return {
        **{"model": probe.model, "share": probe.share, "outcome": "ran" if fits else "out of memory"},
        **{"kind": None if fits else "GPU", "evidence": None if fits else "CUDA out of memory"},
        **{"device_peak_gib": round(140 * min(0.99, probe.share + 0.2), 1), "steps": measured},
        **{"asked_steps": steps, "git_commit": "0" * 40, "versions": VERSIONS},
    }
