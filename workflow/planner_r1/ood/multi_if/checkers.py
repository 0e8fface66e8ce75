"""Whether a text follows an instruction, as the official code decides.

Most checkers are those of the package if-verifiable, which agree with the official ones. Those here differ from it:

- the suite has changed `startend:quotation`, `length_constraints:number_words` and `...:number_sentences`;
- `change_case:capital_word_frequency` needs NLTK's model, which the package would download;
- `keywords:letter_frequency` draws another letter at random where it is asked for a sign such as "#" (officially, too);
- `language:response_language` and the two instructions of English case write whole replies into the log;
- the rest take the square of the length of a reply that repeats itself, as the replies of small models do.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from planner_r1.errors import InputError
from planner_r1.ood.multi_if.instructions import Instruction
from planner_r1.ood.multi_if.language import count_sentences, count_words, detect, words_and_marks

QUOTES = (('"', '"'), ("“", "”"), ("「", "」"))
UNTOLD = None  # a text whose language cannot be told counts as one in the right language
POSTSCRIPTS = {"P.S.": r"p\.\s?s\.", "P.P.S": r"p\.\s?p\.\s?s"}  # the two markers that may hold spaces


def checker(instruction: Instruction) -> Callable[[str], bool]:
    """What tells whether a text follows the instruction.

    It may raise re.error or RecursionError where the official code does.

    Raises:
        InputError: the package with the checkers is missing.
    """
    if own := _OWN.get(instruction.id):
        return lambda text: own(text, **instruction.kwargs)
    return _library_checker(instruction)


def _library_checker(instruction: Instruction) -> Callable[[str], bool]:
    try:
        from if_verifiable.ifeval import INSTRUCTION_DICT
    except ImportError as fault:
        raise InputError(
            "the checkers of instructions are not installed (if-verifiable); pip install 'planner-r1-repro[pipeline]'"
        ) from fault
    found = INSTRUCTION_DICT[instruction.id](instruction.id)
    found.build_description(**instruction.kwargs)
    return found.check_following


def _holds(number: int, relation: str, limit: int) -> bool:
    return number < limit if relation == "less than" else number >= limit


def _quotation(text: str) -> bool:
    text = text.strip()
    return len(text) > 1 and (text[0], text[-1]) in QUOTES


def _number_words(text: str, num_words: int, relation: str) -> bool:
    return _holds(count_words(text), relation, num_words)


def _number_sentences(text: str, num_sentences: int, relation: str) -> bool:
    return _holds(count_sentences(text), relation, num_sentences)


def _capital_word_frequency(text: str, capital_frequency: int, capital_relation: str) -> bool:
    return _holds(sum(map(str.isupper, words_and_marks(text))), capital_relation, capital_frequency)


def _letter_frequency(text: str, letter: str, let_frequency: int, let_relation: str) -> bool:
    return _holds(text.lower().count(letter.lower()), let_relation, let_frequency)


def _response_language(text: str, language: str) -> bool:
    return detect(text) in (language, UNTOLD)


def _english_capital(text: str) -> bool:
    return text.isupper() and detect(text) in ("en", UNTOLD)


def _english_lowercase(text: str) -> bool:
    return text.islower() and detect(text) in ("en", UNTOLD)


def _number_placeholders(text: str, num_placeholders: int) -> bool:
    """At least so many [placeholders], each within a line."""
    closed = (line[: line.rfind("]") + 1] for line in text.split("\n"))
    return sum(len(re.findall(r"\[.*?\]", part)) for part in closed) >= num_placeholders


def _number_bullet_lists(text: str, num_bullets: int) -> bool:
    """Exactly so many lines with a bullet, * or -; a lone * takes the line below along."""
    stars = re.findall(r"^[^\S\n]*\*[^*].*$", text, re.MULTILINE)
    dashes = re.findall(r"^[^\S\n]*-", text, re.MULTILINE)
    return len(stars) + len(dashes) == num_bullets


def _postscript(text: str, postscript_marker: str) -> bool:
    marker = postscript_marker.strip()
    return re.search(POSTSCRIPTS.get(marker, marker.lower()), text.lower()) is not None


def _title(text: str) -> bool:
    """A <<title>> within a line that is not empty."""
    for line in text.split("\n"):
        begin, end = line.find("<<"), line.rfind(">>")
        if 0 <= begin < end - 2 and line[begin : end + 2].lstrip("<").rstrip(">").strip():
            return True
    return False


_OWN: dict[str, Callable[..., bool]] = {
    "change_case:capital_word_frequency": _capital_word_frequency,
    "change_case:english_capital": _english_capital,
    "change_case:english_lowercase": _english_lowercase,
    "detectable_content:number_placeholders": _number_placeholders,
    "detectable_content:postscript": _postscript,
    "detectable_format:number_bullet_lists": _number_bullet_lists,
    "detectable_format:title": _title,
    "keywords:letter_frequency": _letter_frequency,
    "language:response_language": _response_language,
    "length_constraints:number_sentences": _number_sentences,
    "length_constraints:number_words": _number_words,
    "startend:quotation": _quotation,
}
