"""An episode's text as who said what."""

import pytest

from planner_r1.paper.report.dialogue import messages, parts

CALL = '<tool_call>\n{"name": "get_cities", "arguments": {"state": "Nord"}}\n</tool_call>'
REPLY = '<tool_response>\n["Alba"]\n</tool_response>'
TURNS = [
    ("system", "Plan trips."),
    ("user", "To Alba, please."),
    ("assistant", f"<think>\nwhich cities?\n</think>\n\nLet me see.\n{CALL}"),
    ("tool", REPLY),
    ("assistant", '<answer>[{"days": 1}]</answer>'),
]
PIECES = [
    ("system", "text", "Plan trips."),
    ("user", "text", "To Alba, please."),
    ("assistant", "thought", "which cities?"),
    ("assistant", "text", "Let me see."),
    ("assistant", "call", '{"name": "get_cities", "arguments": {"state": "Nord"}}'),
    ("tool", "reply", '["Alba"]'),
    ("assistant", "answer", '[{"days": 1}]'),
]


def template(turns) -> str:
    """The text in Qwen's turn format, in which a user brings the replies of tools."""
    return "".join(f"<|im_start|>{_written(role)}\n{said}<|im_end|>\n" for role, said in turns)


def plain(turns) -> str:
    """The same without special tokens."""
    return "\n".join(f"{_written(role)}\n{said}" for role, said in turns)


def _written(role: str) -> str:
    return "user" if role == "tool" else role


@pytest.mark.parametrize("written", [template, plain])
def test_both_forms_hold_the_same(written):
    assert [(role, said.strip()) for role, said in messages(written(TURNS))] == TURNS
    assert parts(written(TURNS)) == PIECES


def test_words_that_look_like_roles_stay_where_they_were_said():
    turns = [
        ("user", "I am a\nsystem\nuser"),
        ("assistant", f"The\nuser\nsaid so.\nassistant\nI call.\n{CALL}"),
        ("tool", "<tool_response>\nassistant\nuser\n</tool_response>"),
        ("assistant", "user\n"),
    ]
    assert messages(plain(turns)) == turns
    assert parts(plain(turns))[-2] == ("tool", "reply", "assistant\nuser")


def test_several_calls_and_replies_of_a_turn():
    two = plain([("user", "?"), ("assistant", CALL + "\n" + CALL), ("tool", REPLY + "\n" + REPLY), ("assistant", "")])
    assert [(p.role, p.kind) for p in parts(two)] == [
        ("user", "text"),
        *[("assistant", "call")] * 2,
        *[("tool", "reply")] * 2,
    ]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("<think>cut off", [("thought", "cut off")]),
        ("<tool_call>{cut", [("call", "{cut")]),
        ("<tool_call>a<tool_call>b</tool_call>", [("call", "a"), ("call", "b")]),
        ("so: <answer>[]", [("text", "so: "), ("answer", "[]")]),
        ("<think>\n\n</think>\n\nhello", [("text", "hello")]),
        ("", []),
    ],
)
def test_turns_that_are_cut_off_or_malformed_lose_nothing(said, expected):
    found = parts(plain([("user", "?"), ("assistant", said)]))[1:]
    assert [(p.kind, p.text) for p in found] == expected


@pytest.mark.parametrize("text", ["", "no roles at all", "assistant\nalone", "system", "user"])
def test_what_is_no_dialogue_is_shown_whole(text):
    assert "".join(said for _, said in messages(text)) == text


def test_long_turns_take_no_more_than_linear_time():
    opened = "<tool_call>" * 200_000
    assert len(parts(plain([("user", "?"), ("assistant", opened)]))) == 1
    many = "<tool_call>x" * 50_000
    assert len(parts(plain([("user", "?"), ("assistant", many)]))) == 50_001
