"""Checkers of Multi-IF's instructions once more, in the plainest way, and its strict and loose verdicts.

It shares no code with planner_r1.ood.multi_if, nor with the package whose checkers are used there. It is written from a
description of the suite and of IFEval (Zhou et al. 2023): texts are walked letter by letter or cut to pieces, whatever
that takes. Words and sentences are those of plain English, without abbreviations. What needs to tell languages apart is
left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from string import ascii_letters, punctuation


def verdicts(name: str, kwargs: dict, response: str) -> tuple[bool, bool]:
    """Whether a reply follows an instruction, strictly and loosely."""
    follows = CHECKERS[name]
    strict = response != "" and follows(response, **kwargs)
    loose = [text for text in loosened(response) if text.strip() and follows(text, **kwargs)]
    return strict, loose != []


def loosened(response: str) -> list[str]:
    """A reply with and without its first line, its last line and its asterisks."""
    lines = response.split("\n")
    texts = [response, *("\n".join(some).strip() for some in (lines[1:], lines[:-1], lines[1:-1]))]
    return texts + [text.replace("*", "") for text in texts]


def compared(number: int, relation: str, limit: int) -> bool:
    return number < limit if relation == "less than" else number >= limit


# --- letters and words -----------------------------------------------------------------------------------------------


def no_comma(text: str) -> bool:
    return "," not in text


def letter_frequency(text: str, letter: str, let_frequency: int, let_relation: str) -> bool:
    number = sum(1 for other in text.lower() if other == letter.lower())
    return compared(number, let_relation, let_frequency)


def occurrences(text: str, word: str) -> list[int]:
    """Where a word begins, in either case, from the left, never twice over the same letters."""
    text, word, found, at = text.lower(), word.lower(), [], 0
    while at < len(text):
        if text[at : at + len(word)] == word:
            found.append(at)
            at += len(word)
        else:
            at += 1
    return found


def existence(text: str, keywords: list[str]) -> bool:
    return all(occurrences(text, word) for word in keywords)


def frequency(text: str, keyword: str, frequency: int, relation: str) -> bool:
    return compared(len(occurrences(text, keyword)), relation, frequency)


def in_word(text: str, at: int) -> bool:
    return 0 <= at < len(text) and (text[at].isalnum() or text[at] == "_")


def is_border(text: str, at: int) -> bool:
    """Whether just one of the two letters around this place belongs to a word, of letters, digits and _."""
    return in_word(text, at - 1) != in_word(text, at)


def forbidden_words(text: str, forbidden_words: list[str]) -> bool:
    return not any(
        text[at : at + len(word)].lower() == word.lower() and is_border(text, at) and is_border(text, at + len(word))
        for word in forbidden_words
        for at in range(len(text))
    )


def number_words(text: str, num_words: int, relation: str) -> bool:
    """A word is a run of letters, digits and _."""
    begins = [at for at in range(len(text)) if in_word(text, at) and not in_word(text, at - 1)]
    return compared(len(begins), relation, num_words)


def number_sentences(text: str, num_sentences: int, relation: str) -> bool:
    """A sentence ends at . ! or ? before white space, or with the text."""
    ends = [at for at, letter in enumerate(text) if letter in ".!?" and text[at + 1 : at + 2].strip() == ""]
    rest = text[ends[-1] + 1 :] if ends else text
    return compared(len(ends) + (rest.strip() != ""), relation, num_sentences)


def capital_word_frequency(text: str, capital_frequency: int, capital_relation: str) -> bool:
    """A word in capitals: what stands between white space, without its marks, has capitals and no small letters."""
    words = [word.strip(punctuation) for word in text.split()]
    capitals = [word for word in words if word == word.upper() and set(word) & set(ascii_letters)]
    return compared(len(capitals), capital_relation, capital_frequency)


# --- begin and end ---------------------------------------------------------------------------------------------------


def end_checker(text: str, end_phrase: str) -> bool:
    return text.strip().strip('"').lower()[-len(end_phrase.strip()) :] == end_phrase.strip().lower()


def quotation(text: str) -> bool:
    text = text.strip()
    return len(text) >= 2 and text[0] + text[-1] in ('""', "“”", "「」")


def repeat_prompt(text: str, prompt_to_repeat: str) -> bool:
    wanted = prompt_to_repeat.strip().lower()
    return text.strip().lower()[: len(wanted)] == wanted


# --- form ------------------------------------------------------------------------------------------------------------


def runs(text: str, begin: str, end: str, barred: str) -> list[str]:
    """What stands between a begin and the next end, without barred letters; after each the search goes on behind it."""
    found, at = [], 0
    while at < len(text):
        stop = at + len(begin)
        if text[at:stop] == begin:
            while stop < len(text) and text[stop : stop + len(end)] != end and text[stop] not in barred:
                stop += 1
            if text[stop : stop + len(end)] == end:
                found.append(text[at + len(begin) : stop])
                at = stop + len(end)
                continue
        at += 1
    return found


def number_placeholders(text: str, num_placeholders: int) -> bool:
    return len(runs(text, "[", "]", "\n")) >= num_placeholders


def number_highlighted_sections(text: str, num_highlights: int) -> bool:
    """*Pieces* and **pieces** within a line, of more than white space; the pair of ** counts beside the pairs of *."""
    single = [piece for piece in runs(text, "*", "*", "\n") if piece.strip()]
    double = [piece for piece in runs(text, "**", "**", "\n*") if piece.strip()]
    return len(single) + len(double) >= num_highlights


def title(text: str) -> bool:
    """<<A title>>: << and a later >> of the same line, with more than marks and white space between the outermost."""
    for line in text.split("\n"):
        if "<<" in line and ">>" in line[line.index("<<") + 3 :]:
            found = line[line.index("<<") : line.rindex(">>") + 2]
            if found.lstrip("<").rstrip(">").strip():
                return True
    return False


def number_bullet_lists(text: str, num_bullets: int) -> bool:
    """Lines that begin with - or with a * that no second * follows; a lone * is a bullet with the line below it."""
    lines = [line.lstrip() for line in text.split("\n")]
    number = sum(1 for line in lines if line[:1] == "-")
    while lines:
        line, *lines = lines
        if line == "*" and lines:
            number += 1
            lines = lines[1:]
        elif line[:1] == "*" and line[1:2] not in ("*", ""):
            number += 1
    return number == num_bullets


def number_paragraphs(text: str, num_paragraphs: int) -> bool:
    """Pieces between ***; an empty one at either end does not count, an empty one between others spoils it."""
    pieces = [piece.strip() for piece in text.split("***")]
    if "" in pieces[1:-1]:
        return False
    return len([piece for piece in pieces if piece]) == num_paragraphs


def two_responses(text: str) -> bool:
    pieces = [piece.strip() for piece in text.split("******")]
    if "" in pieces[1:-1]:
        return False
    whole = [piece for piece in pieces if piece]
    return len(whole) == 2 and whole[0] != whole[1]


def nth_paragraph_first_word(text: str, num_paragraphs: int, nth_paragraph: int, first_word: str) -> bool:
    """Paragraphs are cut at each pair of line breaks; empty ones do not count, but they have a place."""
    paragraphs = [paragraph.strip() for paragraph in text.split("\n\n")]
    whole = len([paragraph for paragraph in paragraphs if paragraph])
    if nth_paragraph > whole or not paragraphs[nth_paragraph - 1]:
        return False
    word = ""
    for letter in paragraphs[nth_paragraph - 1].split()[0].lstrip("'").lstrip('"'):
        if letter in ".,?!'\"":
            break
        word += letter.lower()
    return whole == num_paragraphs and word == first_word.lower()


def multiple_sections(text: str, section_spliter: str, num_sections: int) -> bool:
    """Section 1, Section2: the word, at most one white space, a number; in the case that was asked for."""
    number, rest = 0, text
    while section_spliter in rest:
        rest = rest.partition(section_spliter)[2]
        after = rest[1:] if rest[:1].isspace() else rest
        number += after[:1].isdecimal()
    return number >= num_sections


def postscript(text: str, postscript_marker: str) -> bool:
    """The marker in either case; of P.S. and P.P.S each letter's point may have a white space behind it."""
    text, marker = text.lower(), postscript_marker.strip().lower()
    spaced = {"p.s.": ["p.", "s."], "p.p.s": ["p.", "p.", "s"]}.get(marker, [marker])
    return any(follow(text[at:], spaced) for at in range(len(text)))


def follow(text: str, pieces: list[str]) -> bool:
    """Whether a text begins with the pieces, at most one white space between two of them."""
    if not pieces:
        return True
    rest = text.removeprefix(pieces[0])
    return rest != text and (follow(rest, pieces[1:]) or (rest[:1].isspace() and follow(rest[1:], pieces[1:])))


def json_format(text: str) -> bool:
    text = text.strip()
    for fence in ("```json", "```Json", "```JSON", "```"):
        text = text.removeprefix(fence)
    try:
        json.loads(text.removesuffix("```").strip())
    except ValueError:
        return False
    return True


CHECKERS: dict[str, Callable[..., bool]] = {
    "change_case:capital_word_frequency": capital_word_frequency,
    "combination:repeat_prompt": repeat_prompt,
    "combination:two_responses": two_responses,
    "detectable_content:number_placeholders": number_placeholders,
    "detectable_content:postscript": postscript,
    "detectable_format:json_format": json_format,
    "detectable_format:multiple_sections": multiple_sections,
    "detectable_format:number_bullet_lists": number_bullet_lists,
    "detectable_format:number_highlighted_sections": number_highlighted_sections,
    "detectable_format:title": title,
    "keywords:existence": existence,
    "keywords:forbidden_words": forbidden_words,
    "keywords:frequency": frequency,
    "keywords:letter_frequency": letter_frequency,
    "length_constraints:nth_paragraph_first_word": nth_paragraph_first_word,
    "length_constraints:number_paragraphs": number_paragraphs,
    "length_constraints:number_sentences": number_sentences,
    "length_constraints:number_words": number_words,
    "punctuation:no_comma": no_comma,
    "startend:end_checker": end_checker,
    "startend:quotation": quotation,
}
