"""Preparing a model's answer for a scorer that knows nothing of thinking."""

from __future__ import annotations

import re

_BLOCK = re.compile(r"<think>.*?</think>", re.DOTALL)


def prepare_answer(text: str) -> tuple[str, bool]:
    """The answer without what the model thought before, and whether there was any such text.

    Besides whole <think> blocks this takes away what stands before a </think> that nothing opened (chat templates may
    open the block in the prompt), and what stands after a <think> that nothing closed (the model ran out of tokens).
    """
    rest = _BLOCK.sub("", text).rpartition("</think>")[2].partition("<think>")[0]
    return (text, False) if rest == text else (rest.strip(), True)
