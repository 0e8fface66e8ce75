"""Arithmetic for the agent: numbers, + - * / // % **, parentheses and signs, with bounds on everything."""

from __future__ import annotations

import ast
import math
import operator
import re

LONGEST = 500  # characters
DEEPEST = 100  # nested operations; a sum of n terms nests n - 1
LARGEST_EXPONENT = 100
LARGEST = 1e15  # magnitude of every number on the way; above it floats no longer hold whole numbers exactly

ALLOWED = re.compile(r"[0-9.eE+\-*/%()\s]*", re.ASCII)
OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}


class CalculatorError(Exception):
    """An expression has no value; the message tells why."""


def calculate(expression: str) -> int | float:
    """The value of an arithmetic expression, by Python's rules.

    Raises:
        CalculatorError: the expression is not arithmetic, breaks a bound, or has no finite real value.
    """
    if len(expression) > LONGEST:
        raise CalculatorError(f"The expression is longer than {LONGEST} characters; compute it in parts.")
    if not ALLOWED.fullmatch(expression):
        raise CalculatorError("Only numbers, + - * / // % ** and parentheses are allowed (no words, no commas, no =).")
    try:
        tree = ast.parse(" ".join(expression.split()), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise CalculatorError("The expression is not complete or not well formed.") from None
    try:
        return value_of(tree.body, DEEPEST)
    except ZeroDivisionError:
        raise CalculatorError("Division by zero.") from None
    except OverflowError:
        raise too_large() from None


def value_of(node: ast.expr, depth: int) -> int | float:
    if depth == 0:
        raise CalculatorError(f"More than {DEEPEST} nested operations; compute the expression in parts.")
    match node:
        case ast.Constant(value=int() | float() as number):
            return bounded(number)
        case ast.UnaryOp(op=op, operand=operand):
            return bounded(OPERATORS[type(op)](value_of(operand, depth - 1)))
        case ast.BinOp(left=left, op=op, right=right):
            a, b = value_of(left, depth - 1), value_of(right, depth - 1)
            if isinstance(op, ast.Pow) and abs(b) > LARGEST_EXPONENT:
                raise CalculatorError(f"The exponent is larger than {LARGEST_EXPONENT}.")
            return bounded(OPERATORS[type(op)](a, b))
    raise CalculatorError("Only numbers, + - * / // % ** and parentheses are allowed.")


def bounded(number) -> int | float:
    if isinstance(number, complex) or math.isnan(number):
        raise CalculatorError("The result is not a real number.")
    if abs(number) > LARGEST:
        raise too_large()
    return number


def too_large() -> CalculatorError:
    return CalculatorError(f"A number on the way is larger than {LARGEST:.0e}.")
