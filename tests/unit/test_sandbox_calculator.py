"""The calculator against expression trees whose values are known, and against junk."""

import math
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner_r1.sandbox.calculator import CalculatorError, calculate

NUMBERS = st.integers(0, 10_000) | st.floats(0, 10_000, allow_nan=False).map(lambda x: round(x, 2))


def combined(children):
    """An expression in full parentheses and its value, from two of the same."""

    def join(pair):
        (a, x), (b, y), op = pair
        value = {"+": lambda: x + y, "-": lambda: x - y, "*": lambda: x * y}.get(op)
        return f"({a}{op}{b})", value() if value else (math.nan if y == 0 else x / y)

    return st.tuples(children, children, st.sampled_from("+-*/")).map(join)


EXPRESSIONS = st.recursive(NUMBERS.map(lambda x: (repr(x), x)), combined, max_leaves=12)


@given(EXPRESSIONS)
@settings(max_examples=500, deadline=None)
def test_the_value_is_that_of_the_tree_or_a_refusal_with_a_reason(expression):
    text, value = expression
    try:
        found = calculate(text)
    except CalculatorError as e:
        assert math.isnan(value) or len(text) > 500 or "larger than" in str(e) or "Division" in str(e)
    else:
        assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 + 3 * 4", 14),
        ("(2 + 3) * 4", 20),
        ("-2 ** 2", -4),
        ("2 ** -1", 0.5),
        ("7 // 2", 3),
        ("-7 // 2", -4),
        ("7 % 3", 1),
        ("1e3 + .5", 1000.5),
        ("- -+3", 3),
        (" 1\n+\t1 ", 2),
        ("+".join(["85.5"] * 90), 85.5 * 90),
        ("2**0.5", math.sqrt(2)),
        ("10 ** 15", 10**15),
    ],
)
def test_values(text, value):
    assert calculate(text) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not complete"),
        ("   ", "not complete"),
        ("1 +", "not complete"),
        ("(1", "not complete"),
        ("1 2", "not complete"),
        ("e", "Only numbers"),
        ("()", "Only numbers"),
        ("(1)(2)", "Only numbers"),
        ("1,200 + 3", "no commas"),
        ("2 ^ 3", "Only numbers"),
        ("__import__('os')", "Only numbers"),
        ("price * 2", "Only numbers"),
        ("1 < 2", "Only numbers"),
        ("True + 1", "Only numbers"),
        ("2j", "Only numbers"),
        ("1 / 0", "Division by zero"),
        ("1 % 0", "Division by zero"),
        ("0 ** -1", "Division by zero"),
        ("(-8) ** 0.5", "not a real number"),
        ("9 ** 9 ** 9", "exponent"),
        ("9e99 * 0", "larger than"),
        ("10 ** 16", "larger than"),
        ("1e999", "larger than"),
        ("999999 ** 99.5", "larger than"),
        ("1" * 501, "longer than"),
        ("9" * 500, "larger than"),
        ("-" * 400 + "1", "nested"),
        ("(" * 249 + "1" + ")" * 249, "not complete"),
        ("1" + "+1" * 150, "nested"),
        ("٣ + 1", "Only numbers"),
    ],
)
def test_refusals_say_why(text, reason):
    with pytest.raises(CalculatorError, match=reason):
        calculate(text)


@given(st.text(st.sampled_from("0123456789.eE+-*/%() \n"), max_size=60) | st.text())
@settings(max_examples=2000, deadline=None)
def test_junk_gives_a_number_within_bounds_or_a_refusal(text):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            value = calculate(text)
        except CalculatorError:
            return
    assert type(value) in (int, float) and math.isfinite(value) and abs(value) <= 1e15
