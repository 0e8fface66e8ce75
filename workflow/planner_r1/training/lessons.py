"""What a model is fine-tuned on: whole episodes that end in a plan that passes, the oracle's or recorded ones.

An episode is shown as training by reward would show it: the study's own prompt, tools' replies cut as the trainer cuts
them, and the very tokens of verl's agent loop, built by the same builder. Only the assistant's own tokens are learnt.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from planner_r1.agent.limits import Limits
from planner_r1.agent.oracle import plan_for
from planner_r1.agent.prompt import render_messages
from planner_r1.agent.recorded import read_recorded
from planner_r1.agent.trajectories import demonstration
from planner_r1.errors import InputError
from planner_r1.queries import Query
from planner_r1.reward import sub_rewards
from planner_r1.sandbox.store import Store
from planner_r1.sandbox.tools import TOOL_SCHEMAS
from planner_r1.training.lesson_rows import Lesson

# Why an episode is not learnt.
NO_PLAN = "the oracle finds no plan"
FAILED = "did not pass"
HELD_OUT = "asks what a validation or test query asks"
UNREADABLE = "its turns could not be told apart"
TOO_LONG = "longer than an episode may be"


@dataclass(frozen=True)
class Episode:
    """The query in words, and the messages after it by the roles assistant and tool."""

    query: str
    said: list[dict]


@dataclass(frozen=True)
class Rules:
    """What an episode must keep to: the limits of an agent loop, the longest prompt in tokens, and the queries that a
    study keeps for validation and test, in words."""

    limits: Limits
    prompt_tokens: int
    held_out: Collection[str]


def oracle_episodes(queries: Sequence[Query], store: Store, seed: int, left_out: Counter) -> Iterator[Episode]:
    """The oracle's episodes on queries in a random order, without slips; `left_out` counts those it cannot plan."""
    rng = random.Random(seed)
    for query in rng.sample(queries, len(queries)):
        trip = plan_for(query, store)
        said = demonstration(query, trip, store, rng, slip_rate=0) if trip else []
        if said and sub_rewards(said[-1]["content"], query, store).passed:
            yield Episode(query.query, said)
        else:
            left_out[NO_PLAN] += 1


def recorded_episodes(files: Iterable[str], seed: int, left_out: Counter) -> Iterator[Episode]:
    """The recorded episodes that pass, in a random order; `left_out` counts the others.

    Raises:
        InputError: a file cannot be read, or has an episode without scores.
    """
    passed = []
    for episode in (episode for file in files for episode in read_recorded(file)):
        if not episode.passed:
            left_out[FAILED] += 1
        elif episode.said is None:
            left_out[UNREADABLE] += 1
        else:
            passed.append(Episode(episode.query, episode.said))
    return iter(random.Random(seed).sample(passed, len(passed)))


def lessons(
    episodes: Iterable[Episode],
    rules: Rules,
    template: str,
    render: Callable[[list[dict]], Lesson],
    at_most: int,
    left_out: Counter,
) -> list[Lesson]:
    """The first `at_most` episodes that keep the rules, as tokens; `left_out` counts those passed over.

    Raises:
        InputError: none is left.
    """
    held_out = {_asked(query) for query in rules.held_out}
    found: list[Lesson] = []
    for episode in episodes:
        if _asked(episode.query) in held_out:
            left_out[HELD_OUT] += 1
            continue
        lesson = render([*render_messages(episode.query, template), *_as_heard(episode.said, rules.limits)])
        if not _fits(episode, lesson, rules):
            left_out[TOO_LONG] += 1
            continue
        found.append(lesson)
        if len(found) == at_most:
            break
    if not found:
        why = ", ".join(f"{count} {reason}" for reason, count in left_out.items()) or "there are none"
        raise InputError(f"no episode is left to learn from: {why}")
    return found


def _asked(query: str) -> str:
    """A query's words, by which two queries are told to be the same."""
    return " ".join(query.split()).casefold()


def _as_heard(said: Sequence[dict], limits: Limits) -> list[dict]:
    return [{**m, "content": limits.truncated(m["content"])} if m["role"] == "tool" else m for m in said]


def _fits(episode: Episode, lesson: Lesson, rules: Rules) -> bool:
    """Whether the agent loop would have let an episode come to its end."""
    limits, turns = rules.limits, sum(message["role"] == "assistant" for message in episode.said)
    in_turns = not limits.out_of_turns(turns - 1, turns - 2)  # the last turn but one still called a tool
    in_tokens = lesson.prompt <= rules.prompt_tokens and len(lesson.ids) - lesson.prompt <= limits.response_tokens
    return in_turns and in_tokens


class Renderer:
    """Episodes as the tokens that verl's agent loop makes of them.

    tokenizer: the model's, as verl loads it
    model_type: `model_type` in the model's config.json, by which verl knows its chat format
    keywords: `data.apply_chat_template_kwargs`
    """

    def __init__(self, tokenizer, model_type: str, keywords: dict):
        from verl.utils.tokenizer.continuous_token_wiring import create_continuous_token_builder

        self._tokenizer = tokenizer
        self._builder = create_continuous_token_builder(
            tokenizer, hf_model_type=model_type, chat_template_kwargs=keywords
        )

    def __call__(self, messages: list[dict]) -> Lesson:
        """An episode's lesson; `messages` are the system's, the user's, and those after them."""
        seen, rest = messages[:2], messages[2:]
        ids = self._builder.build_initial_tokens(seen, tools=TOOL_SCHEMAS)
        prompt, own = len(ids), []
        for role, group in groupby(rest, key=lambda message: message["role"]):
            grown = [*seen, *group]
            if role == "assistant":
                merged = self._builder.merge_assistant_tokens(ids, self._turn(grown[-1]["content"]))
            else:
                merged = self._builder.merge_context_tokens(seen, grown, ids, tools=TOOL_SCHEMAS)
            own, _ = self._builder.align_response_metadata(merged, own)
            ids, seen = merged.token_ids, grown
        return Lesson(ids, [*([0] * prompt), *own], prompt)

    def _turn(self, text: str) -> list[int]:
        """A turn of the model, with the token by which it ends it."""
        return [*self._tokenizer.encode(text, add_special_tokens=False), self._tokenizer.eos_token_id]
