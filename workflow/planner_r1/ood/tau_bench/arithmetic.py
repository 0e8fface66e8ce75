"""The arithmetic of the benchmark's tool `calculate`.

The agent's own calculator (`planner_r1.sandbox.calculator`) cannot stand in: its bounds are tighter, and where it
refuses, this tool has to answer as the benchmark does, up to "inf". There the expression is run as Python code; here
it is read as a syntax tree, of which only numbers, signs and operators are taken.
"""

from __future__ import annotations

import ast
import warnings

from planner_r1.sandbox.calculator import OPERATORS

ALLOWED = "0123456789+-*/(). "
LONGEST = 2_000  # characters
LARGEST = 10_000  # bits of a whole number; a float, which every result becomes, holds 1,024


class ArithmeticFault(Exception):
    """An expression has no value; the message tells why."""


def evaluate(expression: str):
    """The value of an expression of ALLOWED characters, by Python's rules: a number, but for "()" and "...".

    Raises:
        ArithmeticFault: it is not arithmetic, or breaks a bound.
        ArithmeticError, SyntaxError, TypeError, ValueError, RecursionError, MemoryError: Python cannot work it out. A
            forgotten sign of multiplication, as in "(1)(2)", is a call of a number to Python, and a TypeError.
    """
    if not all(character in ALLOWED for character in expression):
        raise ArithmeticFault("invalid characters in expression")
    if not isinstance(expression, str):
        raise ArithmeticFault("eval() arg 1 must be a string, bytes or code object")  # as Python says it there
    if len(expression) > LONGEST:
        raise ArithmeticFault(f"the expression is longer than {LONGEST} characters")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # "1()" makes the parser warn
        return _value(ast.parse(expression.strip(" "), "<string>", "eval").body)


def _value(node: ast.expr):
    """A number, or what else the characters make in Python, so that its use fails in Python's own words."""
    match node:
        case ast.Constant(value=value):  # a number, or the `...` object
            return value
        case ast.Tuple(elts=[]):
            return ()
        case ast.UnaryOp(op=op, operand=operand):
            return OPERATORS[type(op)](_value(operand))
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _value(left), _value(right)
            if _bits(op, a, b) > LARGEST:
                raise ArithmeticFault("int too large to convert to float")
            return OPERATORS[type(op)](a, b)
        case ast.Call(func=called, args=arguments, keywords=[]):
            value, *_ = [_value(part) for part in (called, *arguments)]  # a fault in any of them comes first
            raise TypeError(f"'{type(value).__name__}' object is not callable")
    raise ArithmeticFault("only numbers, operators and parentheses can be calculated")


def _bits(op: ast.operator, a: int | float, b: int | float) -> int:
    """At most so many bits has the whole number that a power or product makes; 0 for anything else."""
    if isinstance(a, int) and isinstance(b, int):
        if isinstance(op, ast.Pow):
            return a.bit_length() * max(b, 0)
        if isinstance(op, ast.Mult):
            return a.bit_length() + b.bit_length()
    return 0
