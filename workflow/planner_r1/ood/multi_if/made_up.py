"""Small made-up conversations in the suite's own layout: a wish, and an instruction more each turn."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from planner_r1.ood.multi_if.data import LANGUAGE, TURNS

WISHES = (
    "Tell me about a day at the harbour.",
    "Describe how bread is baked in a small village.",
    "Write a note to a neighbour who looks after your garden.",
    "Explain to a child why leaves turn yellow.",
    "Make up a story about a train that is always late.",
    "Give advice to somebody who learns to swim.",
    "Describe a market on a cold morning.",
    "Say what makes a good walk in the hills.",
)
WORDS = "lantern pebble orchard meadow violin kettle saddle ribbon anchor walnut".split()
PHRASES = ("that was all.", "thank you for reading.", "see you tomorrow.")

Made = tuple[str, dict]


def make_conversations(n: int, seed: int) -> list[dict[str, str]]:
    """Rows of the suite's CSV file, as text by column.

    The same seed gives the same rows; fewer of them are the first of more. No two instructions of a conversation
    contradict each other.
    """
    rng = random.Random(f"multi_if {seed}")
    return [_row(number, rng) for number in range(n)]


def write_conversations(path: str | Path, rows: Iterable[Mapping[str, str]]) -> None:
    """Write rows, at least one, as the official files are written."""
    first, *others = rows
    with open(path, "w", encoding="utf-8", newline="") as f:
        writer = csv.DictWriter(f, list(first))
        writer.writeheader()
        writer.writerows([first, *others])


def _row(number: int, rng: random.Random) -> dict[str, str]:
    row = {"turns": "", "responses": ""}
    ids, kwargs = [], []
    for turn, name in zip(TURNS, rng.sample(list(MAKERS), len(TURNS)), strict=True):
        said, arguments = MAKERS[name](rng)
        ids.append(name)
        kwargs.append(json.dumps(arguments))
        content = f"{rng.choice(WISHES)} {said}" if turn == 1 else said
        row[f"turn_{turn}_prompt"] = json.dumps({"role": "user", "content": content})
        row[f"turn_{turn}_instruction_id_list"] = json.dumps(ids)
        row[f"turn_{turn}_kwargs"] = json.dumps(kwargs)
    return row | {"key": f"made_up_multi_if_{number}", "turn_index": "0", "language": LANGUAGE}


def _number_words(rng: random.Random) -> Made:
    number = 10 * rng.randint(6, 10)
    return f"Use {number} words or more.", {"relation": "at least", "num_words": number}


def _number_sentences(rng: random.Random) -> Made:
    number = rng.randint(6, 9)
    return f"Write {number} sentences or more.", {"relation": "at least", "num_sentences": number}


def _number_paragraphs(rng: random.Random) -> Made:
    number = rng.randint(2, 4)
    return f"Write {number} paragraphs and put *** between them.", {"num_paragraphs": number}


def _number_bullet_lists(rng: random.Random) -> Made:
    number = rng.randint(2, 4)
    return f"Have {number} bullet points, no more, each on a line like: * this one.", {"num_bullets": number}


def _number_highlighted_sections(rng: random.Random) -> Made:
    number = rng.randint(2, 3)
    return f"Highlight {number} pieces or more with asterisks, *like this*.", {"num_highlights": number}


def _number_placeholders(rng: random.Random) -> Made:
    number = rng.randint(2, 4)
    return f"Leave {number} places or more open in square brackets, as in [name].", {"num_placeholders": number}


def _existence(rng: random.Random) -> Made:
    words = rng.sample(WORDS[:5], 2)
    return f"Work in the words {' and '.join(words)}.", {"keywords": words}


def _forbidden_words(rng: random.Random) -> Made:
    words = rng.sample(WORDS[5:8], 2)
    return f"Do without the words {' and '.join(words)}.", {"forbidden_words": words}


def _frequency(rng: random.Random) -> Made:
    word, number = rng.choice(WORDS[8:]), rng.randint(2, 4)
    return f"Say {word} {number} times or more.", {"relation": "at least", "keyword": word, "frequency": number}


def _end_checker(rng: random.Random) -> Made:
    phrase = rng.choice(PHRASES)
    return f"Let your last words be: {phrase}", {"end_phrase": phrase}


def _says(text: str) -> Callable[[random.Random], Made]:
    """An instruction without arguments."""
    return lambda _: (text, {})


MAKERS: dict[str, Callable[[random.Random], Made]] = {
    "change_case:english_lowercase": _says("Write in English, in small letters alone."),
    "detectable_content:number_placeholders": _number_placeholders,
    "detectable_format:number_bullet_lists": _number_bullet_lists,
    "detectable_format:number_highlighted_sections": _number_highlighted_sections,
    "detectable_format:title": _says("Give it a title in double angle brackets, as in <<a title>>."),
    "keywords:existence": _existence,
    "keywords:forbidden_words": _forbidden_words,
    "keywords:frequency": _frequency,
    "length_constraints:number_paragraphs": _number_paragraphs,
    "length_constraints:number_sentences": _number_sentences,
    "length_constraints:number_words": _number_words,
    "punctuation:no_comma": _says("Use no comma anywhere."),
    "startend:end_checker": _end_checker,
    "startend:quotation": _says("Put the whole of it between double quotation marks."),
}
