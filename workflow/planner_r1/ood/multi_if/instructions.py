"""The 25 verifiable instructions of the suite (IFEval's, Zhou et al. 2023) and what each one needs to be told."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from planner_r1.errors import InputError


@dataclass(frozen=True)
class Instruction:
    """One instruction that a reply is to follow: its id, such as length_constraints:number_words, and its arguments."""

    id: str
    kwargs: dict[str, Any]


@dataclass(frozen=True)
class _Kind:
    """A kind of argument: how an error describes it, and what tells whether a value is of it."""

    words: str
    holds: Callable[[Any], bool]


def _is_text(value) -> bool:
    return isinstance(value, str) and value.strip() != ""


_TEXT = _Kind("text", _is_text)
_WORDS = _Kind("a list of words", lambda value: isinstance(value, list) and value != [] and all(map(_is_text, value)))
_LETTER = _Kind("one letter", lambda value: _is_text(value) and len(value) == 1)
_COUNT = _Kind("a whole number from 0", lambda value: type(value) is int and value >= 0)
_PLACE = _Kind("a whole number from 1", lambda value: type(value) is int and value >= 1)
_RELATION = _Kind("'less than' or 'at least'", lambda value: value in ("less than", "at least"))

# The official code draws at random whatever it is not told; here every argument must be given.
_ARGUMENTS: dict[str, dict[str, _Kind]] = {
    "change_case:capital_word_frequency": {"capital_frequency": _COUNT, "capital_relation": _RELATION},
    "change_case:english_capital": {},
    "change_case:english_lowercase": {},
    "combination:repeat_prompt": {"prompt_to_repeat": _TEXT},
    "combination:two_responses": {},
    "detectable_content:number_placeholders": {"num_placeholders": _COUNT},
    "detectable_content:postscript": {"postscript_marker": _TEXT},
    "detectable_format:constrained_response": {},
    "detectable_format:json_format": {},
    "detectable_format:multiple_sections": {"section_spliter": _TEXT, "num_sections": _COUNT},
    "detectable_format:number_bullet_lists": {"num_bullets": _COUNT},
    "detectable_format:number_highlighted_sections": {"num_highlights": _COUNT},
    "detectable_format:title": {},
    "keywords:existence": {"keywords": _WORDS},
    "keywords:forbidden_words": {"forbidden_words": _WORDS},
    "keywords:frequency": {"keyword": _TEXT, "frequency": _COUNT, "relation": _RELATION},
    "keywords:letter_frequency": {"letter": _LETTER, "let_frequency": _COUNT, "let_relation": _RELATION},
    "language:response_language": {"language": _TEXT},
    "length_constraints:nth_paragraph_first_word": {
        "num_paragraphs": _COUNT,
        "nth_paragraph": _PLACE,
        "first_word": _TEXT,
    },
    "length_constraints:number_paragraphs": {"num_paragraphs": _COUNT},
    "length_constraints:number_sentences": {"num_sentences": _COUNT, "relation": _RELATION},
    "length_constraints:number_words": {"num_words": _COUNT, "relation": _RELATION},
    "punctuation:no_comma": {},
    "startend:end_checker": {"end_phrase": _TEXT},
    "startend:quotation": {},
}

# The suite takes these arguments for regular expressions, unescaped. {} is the argument.
PATTERNS = {
    "forbidden_words": r"\b{}\b",
    "keyword": "{}",
    "keywords": "{}",
    "postscript_marker": r"\s*{}.*$",
    "section_spliter": r"\s?{}\s?\d+\s?",
}


def read_instructions(where: str, ids: Any, kwargs: Any) -> tuple[Instruction, ...]:
    """Read the instructions of one reply as the suite writes them.

    Args:
        where: the place, which an error names
        ids: a list of instruction ids, or the JSON text of one
        kwargs: a list, or the JSON text of one, with an object of arguments for each id; the official files hold the
            JSON text of each object

    Raises:
        InputError: naming the place and what is wrong.
    """
    ids = _from_json(where, "instruction_id_list", ids)
    kwargs = _from_json(where, "kwargs", kwargs)
    for name, value in (("instruction_id_list", ids), ("kwargs", kwargs)):
        if not isinstance(value, list) or not value:
            raise InputError(f"{where}: {name!r} must be a list with one entry an instruction, found {value!r:.60}")
    if len(ids) != len(kwargs):
        raise InputError(f"{where}: {len(ids)} instructions but {len(kwargs)} kwargs; each instruction has its own")
    return tuple(_read_instruction(where, *pair) for pair in zip(ids, kwargs, strict=True))


def _from_json(where: str, name: str, value):
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as fault:
        raise InputError(f"{where}: {name!r} is not JSON ({fault}): {value!r:.60}") from None


def _read_instruction(where: str, name: Any, kwargs: Any) -> Instruction:
    if not isinstance(name, str) or name not in _ARGUMENTS:
        raise InputError(f"{where}: there is no instruction {name!r:.60}; known are {', '.join(_ARGUMENTS)}")
    kwargs = _from_json(where, "kwargs", kwargs)
    if not isinstance(kwargs, dict):
        raise InputError(f"{where}: the kwargs of {name} must be an object, found {type(kwargs).__name__}")
    kwargs = {key: value for key, value in kwargs.items() if value is not None}  # tables fill absent ones with null
    wanted = _ARGUMENTS[name]
    if unknown := [key for key in kwargs if key not in wanted]:
        raise InputError(f"{where}: {name} takes no {unknown[0]!r:.60}; its kwargs are {', '.join(wanted) or 'none'}")
    for key, kind in wanted.items():
        if key not in kwargs:
            raise InputError(f"{where}: {name} needs {key!r}, {kind.words}")
        if not kind.holds(kwargs[key]):
            raise InputError(f"{where}: {key!r} of {name} must be {kind.words}, found {kwargs[key]!r:.60}")
    _check_values(where, name, kwargs)
    return Instruction(name, kwargs)


def _check_values(where: str, name: str, kwargs: dict) -> None:
    """What the kinds do not say."""
    if kwargs.get("nth_paragraph", 0) > kwargs.get("num_paragraphs", 0):
        raise InputError(f"{where}: {name} asks for paragraph {kwargs['nth_paragraph']} of {kwargs['num_paragraphs']}")
    if name == "keywords:frequency":
        return  # officially, no reply follows a keyword that is not a regular expression
    for key, template in PATTERNS.items():
        for pattern in _as_list(kwargs.get(key, [])):
            if fault := _regex_fault(template.replace("{}", pattern)):
                raise InputError(
                    f"{where}: {name} takes {key!r} for regular expressions, and {pattern!r:.60} is none ({fault}); "
                    "escape it with backslashes"
                )


def _regex_fault(pattern: str) -> str | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as fault:
        return str(fault)
    return None


def patterns(instruction: Instruction) -> list[str]:
    """The arguments that the suite takes for regular expressions."""
    return [pattern for key in PATTERNS for pattern in _as_list(instruction.kwargs.get(key, []))]


def _as_list(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value
