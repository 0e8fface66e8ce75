"""What the episodes of a run's validations do turn by turn: which tools they call, and how they end."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from planner_r1.agent.episodes import ANSWER as ANSWERED
from planner_r1.paper.chosen import chosen_steps
from planner_r1.paper.results import Results
from planner_r1.study import Study

# The tools in short, in the order of the sandbox.
TOOLS = {
    "search_flights": "flights",
    "search_accommodations": "hotels",
    "search_restaurants": "restaurants",
    "search_attractions": "attractions",
    "search_ground_transportation": "ground",
    "get_cities": "cities",
    "calculator": "calculator",
}
UNKNOWN = "unknown tool"  # a call of no known tool, or one that cannot be read
FAILED = "failed call"  # answered by an error that is the model's own, and every call of an unknown tool
CALLS = (*TOOLS.values(), FAILED)
START, ANSWER, ENDED = "start", "answer", "no answer"  # an episode ends in one of the last two


def tool(name: str | None) -> str:
    """The tool of a call in short."""
    return TOOLS.get(name, UNKNOWN)


def call(name: str | None, error: bool) -> str:
    """A call as figures count it, one of CALLS."""
    return FAILED if error or name not in TOOLS else TOOLS[name]


def end(episode: dict) -> str:
    """How an episode ends: with an answer, passed or not, or without."""
    return ANSWER if episode["end_reason"] == ANSWERED else ENDED


def episodes_at_chosen_steps(study: Study, results: Results) -> Iterator[tuple[str, str, int, list[int], list[dict]]]:
    """(model, regime, step, seeds, episodes) of every model, regime and chosen step; the episodes of all seeds."""
    for model in study.models:
        for regime in study.regimes_of(model):
            runs = {seed: study.run(model, regime, seed) for seed in study.seeds_of(regime)}
            found = {seed: results.validations(run) or [] for seed, run in runs.items()}
            validated = {episode["step"] for episodes in found.values() for episode in episodes}
            for step in chosen_steps(validated, next(iter(runs.values())).steps):
                of_step = {seed: [e for e in episodes if e["step"] == step] for seed, episodes in found.items()}
                seeds = [seed for seed, episodes in of_step.items() if episodes]
                yield model, regime, step, seeds, [e for episodes in of_step.values() for e in episodes]


def transitions(episodes: Sequence[dict]) -> Counter[tuple[str, str]]:
    """How often what follows what: from START over the calls to the end of each episode."""
    counts = Counter()
    for episode in episodes:
        calls = (call(name, error) for _, name, error in episode["tools"])
        counts.update(pairwise((START, *calls, end(episode))))
    return counts


def by_turn(episodes: Sequence[dict]) -> dict[int, dict[str, float]]:
    """The share of the episodes that does what in each turn, up to the longest one's last; the shares of a turn sum
    to 1. The calls of a turn share its episode; an episode that has ended stays with its end."""
    turns = max((_last_turn(episode) for episode in episodes), default=0)
    shares: dict[int, dict[str, float]] = {turn: defaultdict(float) for turn in range(1, turns + 1)}
    for episode in episodes:
        calls = defaultdict(list)
        for turn, name, error in episode["tools"]:
            calls[turn].append(call(name, error))
        for turn, share in shares.items():
            done = calls.get(turn) or [end(episode)]
            for what in done:
                share[what] += 1 / len(done) / len(episodes)
    return shares


def _last_turn(episode: dict) -> int:
    return max(1, episode["turns"], *(turn for turn, *_ in episode["tools"]))
