"""JSON as an answer must hold it: stricter than Python's reader, and safe on whatever a model wrote."""

from __future__ import annotations

import json
import math

MAX_DIGITS = 15  # of a number; no cost comes near, and reading longer ones takes ever more time


def decode(text: str) -> object:
    """The one JSON value that a text holds, with white space around it at most.

    Raises:
        ValueError: it is not JSON, nested too deeply, repeats a key, or holds NaN, an infinity or an overlong number.
    """
    return _guarded(_DECODER.decode, text)


def decode_at(text: str, start: int) -> tuple[object, int]:
    """The JSON value that begins at `start`, and where it ends; raises as `decode` does."""
    return _guarded(_DECODER.raw_decode, text, start)


def _guarded(read, *arguments):
    try:
        return read(*arguments)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _object(pairs: list[tuple[str, object]]) -> dict:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError("a key comes twice in one object")
    return record


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)


def _real(digits: str) -> float:
    if not math.isfinite(number := float(digits)):
        raise ValueError("a number out of range")
    return number


def _constant(word: str):
    raise ValueError(f"{word} is not a number")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer, parse_float=_real, parse_constant=_constant)
