"""Expressions of x as text, such as `min(x, 3)` or `x^2 / (1 + x)`, turned into functions of arrays.

They are written by the grammar of `laws.syntax`. A comparison is 1 where it holds and 0 elsewhere.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from replnet.laws.law import Array
from replnet.text.arithmetic import Arithmetic, evaluated
from replnet.text.checks import FieldError
from replnet.text.grammar import ARITHMETIC, Node, parse

Function = Callable[[Array], Array]

NUMBERS = {"pi": math.pi, "e": math.e}
WEIGHTS = Arithmetic(
    signs={
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "/": np.divide,
        "**": np.power,
        "<": np.less,
        "<=": np.less_equal,
        ">": np.greater,
        ">=": np.greater_equal,
    },
    functions={
        "log": (np.log, 1, 1),
        "log1p": (np.log1p, 1, 1),
        "exp": (np.exp, 1, 1),
        "expm1": (np.expm1, 1, 1),
        "sqrt": (np.sqrt, 1, 1),
        "abs": (np.abs, 1, 1),
        "min": (np.minimum, 2, 2),
        "max": (np.maximum, 2, 2),
    },
)
RIGHT = f"arithmetic of x with numbers, ^, comparisons, {', '.join(WEIGHTS.functions)}"


def compiled(text: str, field: str) -> Function:
    """The function of x that `text` writes down; `field` names it in errors."""
    try:
        tree = parse(text, ARITHMETIC)
    except FieldError as error:
        raise FieldError(field, f"{text[:60]!r} cannot be read: {error.wrong}", f"{error.right}; {RIGHT}") from None
    try:
        WEIGHTS.check(tree)
    except FieldError as error:
        raise FieldError(field, error.wrong, error.right) from None
    for node in tree.walk():
        if node.kind == "name" and node.value not in ("x", *NUMBERS):
            raise FieldError(field, f"{node.value!r} is not known", RIGHT)
        if node.kind == "number" and math.inf > node.value > sys.float_info.max:
            raise FieldError(field, "a number too large", "numbers below 1e308")

    def function(x: Array) -> Array:
        x = np.asarray(x, dtype=float)
        with np.errstate(all="ignore"):
            value = evaluated(tree, {"x": x, **NUMBERS}, lambda node, values: _calculated(node, values, x.shape))
        return np.broadcast_to(np.asarray(value, dtype=float), x.shape)

    return function


def _calculated(node: Node, values: list[Any], shape: tuple[int, ...]) -> Any:
    # Numbers as whole arrays: NumPy has other loops for powers of an array by one number, with other last digits.
    arrays = [np.full(shape, value, float) if isinstance(value, int | float) else value for value in values]
    if node.kind == "comparison":
        signs = [WEIGHTS.signs[sign] for sign in node.value]
        held = [sign(a, b) for sign, (a, b) in zip(signs, pairwise(arrays), strict=True)]
        return np.asarray(np.logical_and.reduce(held), dtype=float)
    return WEIGHTS.operation(node)(*arrays)
