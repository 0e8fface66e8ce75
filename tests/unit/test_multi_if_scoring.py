"""Multi-IF: the suite's own quirks, conversations, bad files, and whatever a model or a data file may hold."""

import json
import logging
import random
import re
import signal
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.messages import refused
from planner_r1.ood.multi_if import checkers, language
from planner_r1.ood.multi_if.data import load_conversations
from planner_r1.ood.multi_if.instructions import PATTERNS, read_instructions
from planner_r1.ood.multi_if.made_up import make_conversations, write_conversations
from planner_r1.ood.multi_if.scoring import accuracies, judge
from planner_r1.ood.multi_if.time_limit import OutOfTime, time_limit

ARGUMENTS = {
    "change_case:capital_word_frequency": {"capital_frequency": 3, "capital_relation": "less than"},
    "change_case:english_capital": {},
    "change_case:english_lowercase": {},
    "combination:repeat_prompt": {"prompt_to_repeat": "Say it."},
    "combination:two_responses": {},
    "detectable_content:number_placeholders": {"num_placeholders": 2},
    "detectable_content:postscript": {"postscript_marker": "P.S."},
    "detectable_format:constrained_response": {},
    "detectable_format:json_format": {},
    "detectable_format:multiple_sections": {"section_spliter": "Section", "num_sections": 2},
    "detectable_format:number_bullet_lists": {"num_bullets": 2},
    "detectable_format:number_highlighted_sections": {"num_highlights": 2},
    "detectable_format:title": {},
    "keywords:existence": {"keywords": ["cat", "dog"]},
    "keywords:forbidden_words": {"forbidden_words": ["sun"]},
    "keywords:frequency": {"keyword": "cat", "frequency": 2, "relation": "at least"},
    "keywords:letter_frequency": {"letter": "e", "let_frequency": 3, "let_relation": "at least"},
    "language:response_language": {"language": "de"},
    "length_constraints:nth_paragraph_first_word": {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "the"},
    "length_constraints:number_paragraphs": {"num_paragraphs": 2},
    "length_constraints:number_sentences": {"num_sentences": 3, "relation": "less than"},
    "length_constraints:number_words": {"num_words": 5, "relation": "at least"},
    "punctuation:no_comma": {},
    "startend:end_checker": {"end_phrase": "bye"},
    "startend:quotation": {},
}


def instruction(name, **kwargs):
    (read,) = read_instructions("here", [name], [ARGUMENTS[name] | kwargs])
    return read


def verdict(name, response, **kwargs):
    """(strict, loose) of one instruction."""
    strict, loose = judge([instruction(name, **kwargs)], response)
    return strict[0], loose[0]


# --- verdicts -------------------------------------------------------------------------------------------------------

CAT = "The cat sleeps near the window while the rain falls on the quiet town"


@pytest.mark.parametrize(
    ("name", "kwargs", "response", "strict", "loose"),
    [
        ("startend:quotation", {}, f'"{CAT}"', True, True),
        ("startend:quotation", {}, f"“{CAT}”", True, True),  # the suite takes these, IFEval does not
        ("startend:quotation", {}, f"「{CAT}」", True, True),
        ("startend:quotation", {}, f'“{CAT}"', False, False),
        ("startend:quotation", {}, f'Sure:\n"{CAT}"', False, True),  # loosely, the first line does not count
        ("startend:quotation", {}, f'*"{CAT}"*', False, True),
        ("startend:quotation", {}, '"', False, False),
        ("punctuation:no_comma", {}, "  \n ", True, False),  # strictly, blanks are a reply
        ("punctuation:no_comma", {}, "", False, False),
        ("language:response_language", {"language": "de"}, " ", True, False),
        ("language:response_language", {"language": "de"}, "12345", True, True),  # no language is the right one
        ("language:response_language", {"language": "en"}, CAT, True, True),
        ("language:response_language", {"language": "de"}, CAT, False, False),
        ("change_case:english_lowercase", {}, CAT.lower(), True, True),
        ("change_case:english_lowercase", {}, CAT, False, False),
        ("change_case:english_capital", {}, CAT.upper(), True, True),
        ("change_case:english_capital", {}, "123", False, False),  # no letter is no capital
        ("length_constraints:number_words", {"num_words": 14, "relation": "at least"}, CAT, True, True),
        ("length_constraints:number_words", {"num_words": 14, "relation": "less than"}, CAT, False, False),
        # nine Chinese characters, one emoji; six Japanese ones
        ("length_constraints:number_words", {"num_words": 10}, "猫在窗边安静地睡觉。😀", True, True),
        ("length_constraints:number_words", {"num_words": 11}, "猫在窗边安静地睡觉。😀", False, False),
        ("length_constraints:number_sentences", {"num_sentences": 3}, f"{CAT}. {CAT}. Dr. Who agrees.", False, False),
        ("length_constraints:number_sentences", {"num_sentences": 4}, f"{CAT}. {CAT}. Dr. Who agrees.", True, True),
        ("length_constraints:number_sentences", {"num_sentences": 2}, "猫在窗边睡觉。雨落在城市上！", False, False),
        ("length_constraints:number_sentences", {"num_sentences": 2}, "बिल्ली सो रही है। बारिश हो रही है।", False, False),
        ("change_case:capital_word_frequency", {"capital_frequency": 2}, "A well-known WELL-KNOWN cat.", False, False),
        ("change_case:capital_word_frequency", {"capital_frequency": 3}, "A well-known WELL-KNOWN cat.", True, True),
        ("keywords:frequency", {}, "Cat cat", True, True),
        ("keywords:frequency", {"keyword": "c(at"}, "c(at c(at", False, False),  # officially followed by nobody
        ("keywords:frequency", {"keyword": "c.t"}, "cot cut", True, True),  # a regular expression
        ("keywords:existence", {"keywords": ["cat"]}, "concatenate", True, True),  # no borders of words
        ("keywords:forbidden_words", {"forbidden_words": ["cat"]}, "concatenate", True, True),
        ("keywords:letter_frequency", {"letter": "#", "let_frequency": 2}, "a ## b", True, True),
        ("keywords:letter_frequency", {"letter": "#", "let_frequency": 3}, "a ## b", False, False),
        ("detectable_format:number_bullet_lists", {}, "* a\n- b", True, True),
        ("detectable_format:number_bullet_lists", {}, "**a**\n- b\n  -c", True, True),
        ("detectable_format:number_bullet_lists", {}, "- a\n- b\n- c", False, True),  # loosely, without the last line
        ("detectable_format:title", {}, "<<a>>", True, True),
        ("detectable_format:title", {}, "<< >>", False, False),
        ("detectable_format:title", {}, "<<a\nb>>", False, False),
        ("detectable_content:postscript", {"postscript_marker": "P.P.S"}, "bye\np. p. s. more", True, True),
        ("detectable_content:number_placeholders", {}, "[a] [b", False, False),
        ("detectable_format:multiple_sections", {}, "Section 1 a Section 2 b", True, True),
        ("detectable_format:json_format", {}, '```json\n{"a": 1}\n```', True, True),
        ("detectable_format:json_format", {}, "[" * 100_000, False, False),  # the official code raises
        ("combination:repeat_prompt", {}, "say it. Well", True, True),
    ],
)
def test_verdicts(name, kwargs, response, strict, loose):
    assert verdict(name, response, **kwargs) == (strict, loose)


def test_thai_is_counted_by_a_thai_tokenizer():
    cat_sleeps = "แมวนอนหลับ"  # a cat, sleeps
    found = [verdict("length_constraints:number_words", cat_sleeps * 20, num_words=n)[0] for n in (2, 40, 150)]
    assert found == [True, True, False]  # no word to an unseparated text, nor one to a letter


def test_a_verdict_is_the_same_each_time():
    """Left alone, the detector of languages draws at random: these texts then change theirs."""
    odd = ["ok", "a b c", "lorem ipsum", "xyz ####", "hm no"]
    first = [verdict("language:response_language", text, language="en") for text in odd]
    language.detect.cache_clear()
    random.seed(1)
    assert [verdict("language:response_language", text, language="en") for text in reversed(odd)] == first[::-1]


TEXT = st.text(alphabet="<>[]*-# \n\r\x0b\x85apsPS.İß", max_size=30)
LINEAR = [
    instruction(name, **kwargs)
    for name, kwargs in [
        ("detectable_format:title", {}),
        ("detectable_content:postscript", {"postscript_marker": "P.S."}),
        ("detectable_content:postscript", {"postscript_marker": "P.P.S"}),
        ("detectable_content:postscript", {"postscript_marker": "PS"}),
        *(("detectable_content:number_placeholders", {"num_placeholders": n}) for n in range(4)),
        *(("detectable_format:number_bullet_lists", {"num_bullets": n}) for n in range(4)),
    ]
]


@given(TEXT)
@settings(max_examples=500, deadline=None)
def test_the_checkers_for_endless_replies_agree_with_the_packages(text):
    for asked in LINEAR:
        assert checkers.checker(asked)(text) == checkers._library_checker(asked)(text), asked


# --- made-up conversations ------------------------------------------------------------------------------------------

SENTENCES = ["the boat comes back to the shore.", "a man waits there for the news.", "they walk home along the wall."]


def reply_to(instructions, broken=None):
    """A reply that follows all instructions but the broken one."""
    asked = {i.id: i.kwargs for i in instructions}
    wanted = {name: kwargs for name, kwargs in asked.items() if name != broken}
    lines = list(SENTENCES)
    if kwargs := wanted.get("length_constraints:number_words"):
        lines.append("they see a boat and " * (kwargs["num_words"] // 5) + "the shore")
    if kwargs := wanted.get("length_constraints:number_sentences"):
        lines += ["they rest."] * kwargs["num_sentences"]
    if kwargs := wanted.get("keywords:existence"):
        lines.append(f"they keep a {' and a '.join(kwargs['keywords'])} at home.")
    if kwargs := wanted.get("keywords:frequency"):
        lines.append(
            f"they found one {kwargs['keyword']} after another." + f" {kwargs['keyword']}" * kwargs["frequency"]
        )
    if kwargs := wanted.get("detectable_content:number_placeholders"):
        lines.append("their names are " + " and ".join(["[name]"] * kwargs["num_placeholders"]))
    if kwargs := wanted.get("detectable_format:number_highlighted_sections"):
        lines.append("they are " + " and ".join(["*happy*"] * kwargs["num_highlights"]))
    if kwargs := wanted.get("detectable_format:number_bullet_lists"):
        lines += ["* the boat"] * kwargs["num_bullets"]
    if broken == "punctuation:no_comma":
        lines.insert(1, "first, they rest.")
    if broken == "change_case:english_lowercase":
        lines.insert(1, "They Rest.")
    if broken == "keywords:forbidden_words":
        lines.insert(1, f"they had a {asked[broken]['forbidden_words'][0]} once.")
    if kwargs := wanted.get("length_constraints:number_paragraphs"):
        for _ in range(kwargs["num_paragraphs"] - 1):
            lines += ["***", "and then they rest"]
    if "detectable_format:title" in wanted:
        lines.insert(0, "<<the boat>>")
    if kwargs := wanted.get("startend:end_checker"):
        lines.append(kwargs["end_phrase"])
    text = "\n".join(lines)
    return f'"{text}"' if "startend:quotation" in wanted else text


@pytest.fixture
def made_up(tmp_path):
    rows = make_conversations(150, seed=1)
    write_conversations(tmp_path / "made_up.csv", rows)
    assert make_conversations(150, seed=1) == rows != make_conversations(150, seed=2)
    assert make_conversations(3, seed=1) == rows[:3]
    return load_conversations(tmp_path / "made_up.csv")


def test_a_reply_made_to_follow_is_judged_so_and_one_made_to_break_an_instruction_breaks_it_alone(made_up):
    seen = set()
    for conversation in made_up:
        assert [len(turn.instructions) for turn in conversation.turns] == [1, 2, 3]
        for turn in conversation.turns:
            ids = [i.id for i in turn.instructions]
            follows = [True] * len(ids)
            assert judge(turn.instructions, reply_to(turn.instructions)) == (follows, follows), turn
            for broken in ids:
                others = [name != broken for name in ids]
                reply = reply_to(turn.instructions, broken)
                assert judge(turn.instructions, reply) == (others, others), (turn, broken, reply)
                seen.add(broken)
    assert len(seen) == 14


def test_a_model_is_given_the_conversation_so_far(made_up):
    first, second, third = (turn.prompt for turn in made_up[0].turns)
    assert made_up[0].messages(["one", "two"]) == [
        {"role": "user", "content": first},
        {"role": "assistant", "content": "one"},
        {"role": "user", "content": second},
        {"role": "assistant", "content": "two"},
        {"role": "user", "content": third},
    ]


def test_accuracies():
    records = [
        {"turn": 2, "strict": [True, False], "loose": [True, True]},
        {"turn": 1, "strict": [True], "loose": [True]},
        {"turn": 2, "strict": [True, True, False], "loose": [True, True, False]},
    ]
    assert accuracies(records)[2] == pytest.approx(
        {
            "prompt_strict": 0,
            "instruction_strict": 3 / 5,
            "prompt_loose": 1 / 2,
            "instruction_loose": 4 / 5,
            "mean": (0 + 3 / 5 + 1 / 2 + 4 / 5) / 4,
        }
    )
    assert list(accuracies(records)) == [1, 2] and set(accuracies(records)[1].values()) == {1}


# --- bad data -------------------------------------------------------------------------------------------------------


def write_row(tmp_path, **changes):
    row = make_conversations(1, seed=0)[0] | changes
    write_conversations(tmp_path / "data.csv", [{name: value for name, value in row.items() if value is not None}])
    return tmp_path / "data.csv"


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"key": ""}, ["row 1", "'key'"]),
        ({"key": None}, ["'key'", "missing"]),
        ({"turn_2_kwargs": None}, ["'turn_2_kwargs'", "missing"]),
        ({"language": "Thai"}, ["'language'", "English"]),
        ({"turn_1_prompt": ""}, ["row 1", "'turn_1_prompt'", "turn 2"]),
        ({"turn_2_prompt": ""}, ["row 1", "'turn_2_prompt'", "turn 3"]),
        ({f"turn_{turn}_prompt": "" for turn in (1, 2, 3)}, ["row 1", "'turn_1_prompt'", "empty"]),
        ({"turn_2_prompt": "Hello"}, ["row 1", "'turn_2_prompt'", "JSON"]),
        ({"turn_2_prompt": "[" * 100_000}, ["row 1", "'turn_2_prompt'", "JSON"]),
        ({"turn_2_prompt": '{"role": "user"}'}, ["row 1", "'turn_2_prompt'", "content"]),
        ({"turn_3_kwargs": '["{}"]'}, ["row 1", "'turn_3_kwargs'", "3 instructions", "1 kwargs"]),
        ({"turn_3_instruction_id_list": ""}, ["row 1", "'turn_3_instruction_id_list'", "JSON"]),
    ],
)
def test_a_bad_data_file_is_named_with_its_row_and_column(tmp_path, changes, named):
    path = write_row(tmp_path, **changes)
    with refused(path, *named):
        load_conversations(path)


@pytest.mark.parametrize("content", [b"", b"key,language\n", b"\xff\xfe\x00", b'"', b"\x00"])
def test_a_file_that_is_no_data_file(tmp_path, content):
    (tmp_path / "data.csv").write_bytes(content)
    with refused(tmp_path / "data.csv"):
        load_conversations(tmp_path / "data.csv")
    with refused(tmp_path / "absent.csv", "read"):
        load_conversations(tmp_path / "absent.csv")


def test_a_file_that_is_cut_short_and_a_key_that_comes_twice(tmp_path):
    whole = write_row(tmp_path).read_text()
    for cut, named in ((whole[:-30], "row 1"), (whole[: whole.rindex('"')], "CSV")):
        (tmp_path / "cut.csv").write_text(cut)
        with refused(tmp_path / "cut.csv", named):
            load_conversations(tmp_path / "cut.csv")
    write_conversations(tmp_path / "twice.csv", make_conversations(1, seed=0) * 2)
    with refused(tmp_path / "twice.csv", "row 2", "'key'"):
        load_conversations(tmp_path / "twice.csv")


def test_a_third_turn_may_be_absent(tmp_path):
    empty = dict.fromkeys(("turn_3_prompt", "turn_3_instruction_id_list", "turn_3_kwargs"), "")
    (conversation,) = load_conversations(write_row(tmp_path, **empty))
    assert len(conversation.turns) == 2


WORDS = "length_constraints:number_words"


@pytest.mark.parametrize(
    ("ids", "kwargs", "named"),
    [
        ([], [], ["'instruction_id_list'", "[]"]),
        ("x", [{}], ["'instruction_id_list'", "JSON"]),
        ([WORDS], 3, ["'kwargs'", 3]),
        ([WORDS], [3], [WORDS, "int"]),
        ([WORDS], ["{"], ["'kwargs'", "JSON"]),
        ([WORDS], [{}], [WORDS, "'num_words'", "needs"]),
        ([WORDS], [{"num_words": 3, "relation": None}], [WORDS, "'relation'", "needs"]),
        ([WORDS], [{"num_words": 3, "relation": "at most"}], [WORDS, "'relation'", "'at most'"]),
        ([WORDS], [{"num_words": 3.5, "relation": "at least"}], [WORDS, "'num_words'", 3.5]),
        ([WORDS], [{"num_words": True, "relation": "at least"}], [WORDS, "'num_words'", True]),
        ([WORDS], [{"num_words": -1, "relation": "at least"}], [WORDS, "'num_words'", "-1"]),
        ([WORDS], [{"num_words": 3, "relation": "at least", "n": 1}], [WORDS, "'n'"]),
        (["length_constraints:number_wards"], [{}], ["'length_constraints:number_wards'"]),
        ([["x"]], [{}], ["['x']"]),
        (["keywords:existence"], [{"keywords": []}], ["'keywords'", "[]"]),
        (["keywords:existence"], [{"keywords": ["a", "c)"]}], ["'keywords'", "'c)'"]),
        (["keywords:forbidden_words"], [{"forbidden_words": ["(?i)x"]}], ["'forbidden_words'", "'(?i)x'"]),
        (
            ["length_constraints:nth_paragraph_first_word"],
            [{"num_paragraphs": 2, "nth_paragraph": 3, "first_word": "a"}],
            ["length_constraints:nth_paragraph_first_word", 3, 2],
        ),
    ],
)
def test_a_bad_instruction_is_told(ids, kwargs, named):
    with refused("a place", *named):
        read_instructions("a place", ids, kwargs)


def test_instructions_are_read_alike_from_official_texts_and_from_objects():
    kwargs = {"num_words": 3, "relation": "at least"}
    plain = read_instructions("here", [WORDS], [kwargs])
    assert read_instructions("here", [WORDS], [json.dumps(kwargs)]) == plain
    assert read_instructions("here", json.dumps([WORDS]), json.dumps([json.dumps(kwargs)])) == plain
    assert read_instructions("here", [WORDS], [kwargs | {"keywords": None}]) == plain  # as tables fill rows up


@pytest.mark.parametrize(
    ("package", "response", "name", "named"),
    [
        ("if_verifiable", "a, b", "punctuation:no_comma", "if-verifiable"),
        ("punkt", "One. Two.", "length_constraints:number_sentences", "punkt"),
        ("pycrfsuite", "แมวนอนหลับ", "length_constraints:number_words", "python-crfsuite"),
    ],
)
def test_a_missing_package_is_told(monkeypatch, package, response, name, named):
    for cached in (language._sentence_tokenizer, language._thai):
        cached.cache_clear()
    for module in ("if_verifiable.ifeval", "punkt.data"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    with refused(named, "installed"):
        verdict(name, response)


# --- whatever may come ----------------------------------------------------------------------------------------------

ALL = [instruction(name) for name in ARGUMENTS]
PIECES = [
    "a",
    " ",
    "\n",
    "<<",
    "[",
    "*",
    "***",
    "- ",
    "p. ",
    "!",
    '"',
    "{",
    "Word. ",
    "Mr. ",
    "猫。",
    "แมวนอน ",
    "क।",
    "😀",
]
PIECES += ["\ud800", "\x00", "\u200b", "\u2028", "\r\n", "İ", "a@", "https://", "``", "......"]


@pytest.mark.parametrize("piece", PIECES)
def test_an_endless_reply_is_judged_in_time_that_grows_with_its_length(piece):
    """A reply that repeats itself, as small models do: where a checker took its square, this would not end."""
    strict, loose = judge(ALL, piece * (100_000 // len(piece)))
    assert len(strict) == len(loose) == len(ALL)


@given(st.text(max_size=200) | st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
@settings(max_examples=100, deadline=None)
def test_nothing_that_a_model_may_write_raises(response):
    strict, loose = judge(ALL, response)
    assert {type(found) for found in [*strict, *loose]} == {bool}


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*$", "(a*)*b", "a?" * 30 + "a" * 30 + "$"])
@pytest.mark.parametrize("name", ["keywords:existence", "keywords:frequency", "detectable_format:multiple_sections"])
def test_a_regular_expression_of_a_data_file_cannot_hang(monkeypatch, name, pattern):
    monkeypatch.setattr("planner_r1.ood.multi_if.scoring.SECONDS", 0.2)
    key = next(key for key in ARGUMENTS[name] if key in PATTERNS)
    value = [pattern] if isinstance(ARGUMENTS[name][key], list) else pattern
    assert verdict(name, "a" * 28 + "!", **{key: value}) in [(True, True), (False, False)]


def test_a_time_limit_stops_a_regular_expression_and_leaves_nothing_behind():
    with pytest.raises(OutOfTime), time_limit(0.1):
        re.search("(a+)+$", "a" * 60 + "!")
    with time_limit(0.1):
        pass
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0) and signal.getsignal(signal.SIGALRM) == signal.SIG_DFL


def test_replies_are_not_written_to_the_log(caplog):
    with caplog.at_level(logging.DEBUG):
        judge(ALL, "12345 ###")
    assert "12345" not in caplog.text
