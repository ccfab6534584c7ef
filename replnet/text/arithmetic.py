"""Evaluation of the arithmetic that `grammar` reads: numbers from named values, and arrays from x.

    VALUES     `4 / k`, and texts that hold such expressions: `constant(rate=${4 / k})`
    WEIGHTS    `min(x, 3)` or `x^2 / (1 + x)` as functions of arrays; a comparison is 1 where it holds and 0 elsewhere

In VALUES every intermediate result is a finite number of at most 1e300, so no text can take long. A name may
stand for a text too, which can be passed on but not calculated with.
"""

from __future__ import annotations

import math
import operator
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, final

import numpy as np

from replnet.text.errors import FieldError, short_repr
from replnet.text.grammar import ARITHMETIC, HOLE, Term, number_text, parse

Operation = Callable[..., Any]
Scalar = str | int | float | bool
Function = Callable[[Any], Any]  # of arrays

LARGEST_VALUE = 10**300
MOST_DIGITS = 300  # to which `round` may round
LARGEST_POWER = 1_100  # of whole numbers: 2 to this power is above LARGEST, and still quick to compute
EXAMPLE = "such as 4 / k"
NUMBERS = {"pi": math.pi, "e": math.e}

UNARIES: Mapping[str, Operation] = {"+": operator.pos, "-": operator.neg}
BINARIES = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "**": operator.pow}
EQUALITY = {"==": operator.eq, "!=": operator.ne}
ORDER = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@final
@dataclass(frozen=True, slots=True)
class Arithmetic:
    """The signs and functions that expressions of one kind may hold, by name, each with the operation that computes it.

    `counts` has the fewest and the most arguments of every function that does not take exactly one.
    """

    signs: Mapping[str, Operation]
    functions: Mapping[str, Operation]
    counts: Mapping[str, tuple[int, int]]

    def check(self, tree: Term) -> None:
        """Raise FieldError if a tree has other signs or functions, or a wrong number of arguments."""
        for node in tree.walk():
            signs = node.value if node.kind == "comparison" else [node.value]
            if node.kind == "call":
                self._check_call(node)
            elif node.kind not in ("number", "name") and not all(sign in self.signs for sign in signs):
                right = f"{' '.join(self.signs)}, {', '.join(self.functions)}"
                raise FieldError("", f"{node.source} has a sign that is not known here", right)

    def _check_call(self, node: Term) -> None:
        """Raise FieldError if the function of a call is unknown, or its arguments do not fit."""
        if node.value not in self.functions:
            raise FieldError("", f"{node.value} is not a function here", f"one of {', '.join(self.functions)}")
        fewest, most = self.counts.get(node.value, (1, 1))
        if node.named_arguments or not fewest <= len(node.parts) <= most:
            right = f"{fewest} number" + ("s" if fewest > 1 else "") + (" or more" if most > fewest else "")
            raise FieldError("", f"{node.source} does not fit {node.value}", right)

    def apply(self, node: Term, values: list[Any]) -> Any:
        """Return what the function or sign of a node gives for the values of its parts: a number, truth value or array.

        For a comparison it is a list of truth values, or arrays of them, one for each of its signs.
        """
        if node.kind == "comparison":
            return [self.signs[sign](a, b) for sign, (a, b) in zip(node.value, pairwise(values), strict=True)]
        operations = self.functions if node.kind == "call" else self.signs if len(values) > 1 else UNARIES
        return operations[node.value](*values)


VALUES = Arithmetic(
    {**BINARIES, "%": operator.mod, "//": operator.floordiv, **EQUALITY, **ORDER, "if": operator.truth},
    {f.__name__: f for f in (min, max, abs, math.sqrt, math.log, math.exp, round, math.floor, math.ceil)},
    {"min": (2, 100), "max": (2, 100), "round": (1, 2)},
)
WEIGHTS = Arithmetic(
    {**BINARIES, "**": np.power, **ORDER},
    {f.__name__: f for f in (np.log, np.log1p, np.exp, np.expm1, np.sqrt)}
    | {"abs": np.abs, "min": np.minimum, "max": np.maximum},
    {"min": (2, 2), "max": (2, 2)},
)
RIGHT = f"arithmetic of x with numbers, ^, comparisons, {', '.join(WEIGHTS.functions)}"


@final
@dataclass(frozen=True, slots=True)
class Expression:
    """A checked expression, or a text with expressions inside; `names` has the names that occur, in canonical form.

    `parts` are the texts between expressions, and the trees of these, in order; a lone expression is one tree.
    """

    parts: tuple[str | Term, ...]  # the texts between expressions, and their trees
    names: frozenset[str]

    def value(self, names: Mapping[str, Scalar]) -> Scalar:
        """Return the value of the expression for these values of names, which must be complete.

        That of a lone expression is a number, truth value or text, and that of a text with expressions inside a text.
        Raises FieldError if there is none, as after a division by zero.
        """
        values = [part if isinstance(part, str) else _value(part, names, _combine) for part in self.parts]
        return values[0] if len(values) == 1 else "".join(map(_text, values))


@lru_cache(maxsize=10_000)
def expression(text: str) -> Expression:
    """Return the expression of named values that `text` is, such as 4 / k, without ${ }.

    Raises FieldError if it is none, or uses a function or sign that is not known.
    """
    if len(text) > ARITHMETIC.longest:
        raise FieldError("", f"is an expression of {len(text)} characters", f"at most {ARITHMETIC.longest}")
    if "${" in text:
        raise FieldError("", f"{short_repr(text)} is not an expression", "the expression alone, without ${ }")
    try:
        tree = parse(text, ARITHMETIC)
    except FieldError as error:
        raise FieldError("", f"{short_repr(text)} is not an expression: {error.wrong}", EXAMPLE) from None
    VALUES.check(tree)
    for node in tree.walk():
        if node.kind == "number":
            _check_size(node.value, node)
    return Expression((tree,), frozenset(node.value for node in tree.walk() if node.kind == "name"))


@lru_cache(maxsize=10_000)
def template(text: str) -> Expression:
    """Return a text with expressions in ${ }, such as constant(rate=${4 / k}), as an Expression, whose value is a text.

    If the whole text is one ${ }, its value may also be a number or truth value. Raises FieldError if an expression or
    a brace is wrong.
    """
    pieces = re.split(f"({HOLE})", text)
    if any("${" in piece for piece in pieces[::2]):
        raise FieldError(
            "", f"{short_repr(text)} has a ${{ without its }}", "an expression in braces, such as ${4 / k}"
        )
    parts: list[str | Term] = []
    names: frozenset[str] = frozenset()
    for place, piece in enumerate(pieces):
        if place % 2:
            inner = expression(piece[2:-1])
            parts += inner.parts
            names |= inner.names
        elif piece:
            parts.append(piece)
    return Expression(tuple(parts), names)


def is_template(value: object) -> bool:
    """Whether a value is a text with ${ } inside."""
    return isinstance(value, str) and "${" in value


def compile_function(text: str, field: str) -> Function:
    """Return the function of x that `text` writes down, from arrays to arrays of floats of the same shape.

    The text may name x, pi and e. Where the function is undefined, its value is NaN or infinite. Raises FieldError,
    which names `field`, if the text cannot be read.
    """
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

    def calculate(node: Term, values: list[Any], shape: tuple[int, ...]) -> Any:
        # Numbers as whole arrays: NumPy has other loops for powers of an array by one number, with other last digits.
        arrays = [np.full(shape, value, float) if isinstance(value, int | float) else value for value in values]
        outcome = WEIGHTS.apply(node, arrays)
        return np.asarray(np.logical_and.reduce(outcome), dtype=float) if node.kind == "comparison" else outcome

    def function(x: Any) -> Any:
        x = np.asarray(x, dtype=float)
        with np.errstate(all="ignore"):
            value = _value(tree, {"x": x, **NUMBERS}, lambda node, values: calculate(node, values, x.shape))
        return np.broadcast_to(np.asarray(value, dtype=float), x.shape)

    return function


def _value(node: Term, names: Mapping[str, Any], calculate: Callable[[Term, list[Any]], Any]) -> Any:
    """Return the value of a tree, with `names` as the values of names.

    `calculate(node, values)` combines the values of a node's parts. For an `if` it gets the value of the condition, and
    says whether that holds.
    """
    if node.kind == "number":
        return node.value
    if node.kind == "name":
        return names[node.value]
    if node.kind == "if":
        if_true, condition, if_false = node.parts
        holds = calculate(node, [_value(condition, names, calculate)])
        return _value(if_true if holds else if_false, names, calculate)
    values = []
    for part in node.parts:  # a comprehension would need a second frame for each level
        values.append(_value(part, names, calculate))  # noqa: PERF401
    return calculate(node, values)


def _combine(node: Term, values: list[Any]) -> Scalar:
    """Return the value of a node of an expression from the values of its parts, in order.

    For an `if`, these are its condition alone, and the value is whether that holds. Raises FieldError if one of them is
    a text, for a division by zero, and for results that are above 1e300 in size or not real.
    """
    for part, value in zip((node.parts[1],) if node.kind == "if" else node.parts, values, strict=True):
        if isinstance(value, str):
            raise FieldError("", f"{part.source} is the text {short_repr(value)}", "a number, to calculate with")
    if node.kind == "if":
        return bool(values[0])
    if node.kind == "comparison":
        return all(VALUES.apply(node, values))
    if node.value == "**" and _are_whole(values) and abs(values[0]) > 1 and abs(values[1]) > LARGEST_POWER:
        raise _too_large_error(node)
    if node.value == "round" and values[1:] and not (_are_whole(values[1:]) and abs(values[1]) < MOST_DIGITS):
        raise FieldError("", f"{node.source} rounds to {values[1]} digits", "a whole number of digits")
    try:
        return _check_size(VALUES.apply(node, values), node)
    except ZeroDivisionError:
        raise FieldError("", f"{node.source} divides by zero", "a divisor other than 0") from None
    except OverflowError:
        raise _too_large_error(node) from None
    except ValueError as error:
        raise error if isinstance(error, FieldError) else _not_real_error(node) from None


def _are_whole(values: list[Any]) -> bool:
    """Whether all values are whole numbers."""
    return all(isinstance(value, int) for value in values)


def _check_size(value: Any, node: Term) -> int | float:
    """Return `value`, that of `node`, unchanged; raise FieldError if it is beyond 1e300 or -1e300, NaN or complex."""
    if isinstance(value, complex) or value != value:
        raise _not_real_error(node)
    if abs(value) > LARGEST_VALUE:
        raise _too_large_error(node)
    return value  # type: ignore[no-any-return]


def _too_large_error(node: Term) -> FieldError:
    """Return the error of a node whose value is too large."""
    return FieldError("", f"{node.source} is too large", "numbers of at most 1e300")


def _not_real_error(node: Term) -> FieldError:
    """Return the error of a node whose value is no real number."""
    return FieldError("", f"{node.source} is not a real number", "such as a root or logarithm of a positive number")


def _text(value: Scalar) -> str:
    """Return a value as it is written inside a text: true, false, or a number, without point if it is whole.

    A text is returned as it is.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    return number_text(value) if isinstance(value, float) else str(value)
