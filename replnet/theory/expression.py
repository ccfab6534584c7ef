"""Expressions of x as text, such as `min(x, 3)` or `x^2 / (1 + x)`, turned into functions of arrays.

Nothing is executed: the text is parsed, and each kind of node that is known here becomes a closure.
A comparison is 1 where it holds and 0 elsewhere.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from replnet.laws.base import Array
from replnet.laws.check import FieldError

Function = Callable[[Array], Array]

LONGEST = 300  # characters, so that nesting stays far from Python's limits
OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: np.divide,
    ast.Pow: np.power,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
}
FUNCTIONS: dict[str, tuple[int, Callable[..., Any]]] = {
    "log": (1, np.log),
    "log1p": (1, np.log1p),
    "exp": (1, np.exp),
    "expm1": (1, np.expm1),
    "sqrt": (1, np.sqrt),
    "abs": (1, np.abs),
    "min": (2, np.minimum),
    "max": (2, np.maximum),
}
NUMBERS = {"pi": math.pi, "e": math.e}
RIGHT = f"arithmetic of x with numbers, ^, comparisons, {', '.join(FUNCTIONS)}"


def compiled(text: str, field: str) -> Function:
    """The function of x that `text` writes down; `field` names it in errors."""
    if len(text) > LONGEST:
        raise FieldError(field, f"{len(text)} characters", f"at most {LONGEST}")
    try:
        tree = ast.parse(text.strip().replace("^", "**"), mode="eval")
    except (SyntaxError, ValueError) as error:
        raise FieldError(field, f"{text!r} cannot be read", RIGHT) from error
    body = _built(tree.body, field)

    def function(x: Array) -> Array:
        x = np.asarray(x, dtype=float)
        with np.errstate(all="ignore"):
            return np.broadcast_to(np.asarray(body(x), dtype=float), x.shape)

    return function


def _built(node: ast.expr, field: str) -> Function:
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return _constant(_as_float(value, field))
        case ast.Name(id="x"):
            return lambda x: x
        case ast.Name(id=name) if name in NUMBERS:
            return _constant(NUMBERS[name])
        case ast.UnaryOp(op=op, operand=operand) if type(op) in OPERATORS:
            return _applied(OPERATORS[type(op)], [_built(operand, field)])
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            return _applied(OPERATORS[type(op)], [_built(left, field), _built(right, field)])
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in OPERATORS:
            both = _applied(OPERATORS[type(op)], [_built(left, field), _built(right, field)])
            return lambda x: np.asarray(both(x), dtype=float)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in FUNCTIONS:
            count, function = FUNCTIONS[name]
            if len(arguments) != count:
                raise FieldError(field, f"{name} of {len(arguments)}", f"{name} of {count}")
            return _applied(function, [_built(argument, field) for argument in arguments])
    raise FieldError(field, f"{ast.unparse(node)!r} is not known", RIGHT)


def _as_float(value: float, field: str) -> float:
    try:
        return float(value)
    except OverflowError:
        raise FieldError(field, "a number too large", "numbers below 1e308") from None


def _constant(value: float) -> Function:
    return lambda x: np.full(np.shape(x), value)


def _applied(function: Callable[..., Any], parts: list[Function]) -> Function:
    return lambda x: function(*(part(x) for part in parts))
