"""What arithmetic is worth, as `grammar` reads it: numbers from named values, and arrays from x.

    VALUES     `4 / k`, and texts that hold such expressions: `constant(rate=${4 / k})`
    WEIGHTS    `min(x, 3)` or `x^2 / (1 + x)` as functions of arrays; a comparison is 1 where it holds and 0 elsewhere

Of VALUES every intermediate result is a finite number of at most 1e300, so no text can take long. A name may
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

from replnet.text.errors import FieldError, shown
from replnet.text.grammar import ARITHMETIC, HOLE, Term, number, parse

Operation = Callable[..., Any]
Scalar = str | int | float | bool
Function = Callable[[Any], Any]  # of arrays

LARGEST = 10**300
MOST_DIGITS = 300  # of round
LARGEST_POWER = 1_100  # of whole numbers: 2 to it is above LARGEST, and quick to find out
EXAMPLE = "such as 4 / k"
NUMBERS = {"pi": math.pi, "e": math.e}

UNARIES: Mapping[str, Operation] = {"+": operator.pos, "-": operator.neg}
BINARIES = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "**": operator.pow}
EQUALITY = {"==": operator.eq, "!=": operator.ne}
ORDER = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@final
@dataclass(frozen=True, slots=True)
class Arithmetic:
    """What expressions of one kind may hold: signs, functions, and of how many numbers these are if not of one."""

    signs: Mapping[str, Operation]
    functions: Mapping[str, Operation]
    counts: Mapping[str, tuple[int, int]]  # the fewest, and the most

    def check(self, tree: Term) -> None:
        """Refuses a tree that has anything else."""
        for node in tree.walk():
            signs = node.value if node.kind == "comparison" else [node.value]
            if node.kind == "call":
                self._check_call(node)
            elif node.kind not in ("number", "name") and not all(sign in self.signs for sign in signs):
                right = f"{' '.join(self.signs)}, {', '.join(self.functions)}"
                raise FieldError("", f"{node.source} has a sign that is not known here", right)

    def _check_call(self, node: Term) -> None:
        if node.value not in self.functions:
            raise FieldError("", f"{node.value} is not a function here", f"one of {', '.join(self.functions)}")
        fewest, most = self.counts.get(node.value, (1, 1))
        if node.named or not fewest <= len(node.parts) <= most:
            right = f"{fewest} number" + ("s" if fewest > 1 else "") + (" or more" if most > fewest else "")
            raise FieldError("", f"{node.source} does not fit {node.value}", right)

    def applied(self, node: Term, values: list[Any]) -> Any:
        """What a call, or a sign between or before numbers, makes of them; of a comparison, what each sign says."""
        if node.kind == "comparison":
            return [self.signs[sign](a, b) for sign, (a, b) in zip(node.value, pairwise(values), strict=True)]
        known = self.functions if node.kind == "call" else self.signs if len(values) > 1 else UNARIES
        return known[node.value](*values)


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
    """A checked expression, or a text that holds some; `names` are canonical."""

    parts: tuple[str | Term, ...]  # the texts between expressions, and their trees
    names: frozenset[str]

    def value(self, names: Mapping[str, Scalar]) -> Scalar:
        """Its value, where every one of its names has one. Raises FieldError if it has none.

        A number where a lone expression is one, else text.
        """
        values = [part if isinstance(part, str) else _value(part, names, _result) for part in self.parts]
        return values[0] if len(values) == 1 else "".join(map(_text, values))


@lru_cache(maxsize=10_000)
def expression(text: str) -> Expression:
    """The expression that `text` is, or a FieldError."""
    if len(text) > ARITHMETIC.longest:
        raise FieldError("", f"is an expression of {len(text)} characters", f"at most {ARITHMETIC.longest}")
    if "${" in text:
        raise FieldError("", f"{shown(text)} is not an expression", "the expression alone, without ${ }")
    try:
        tree = parse(text, ARITHMETIC)
    except FieldError as error:
        raise FieldError("", f"{shown(text)} is not an expression: {error.wrong}", EXAMPLE) from None
    VALUES.check(tree)
    for node in tree.walk():
        if node.kind == "number":
            _bounded(node.value, node)
    return Expression((tree,), frozenset(node.value for node in tree.walk() if node.kind == "name"))


@lru_cache(maxsize=10_000)
def template(text: str) -> Expression:
    """The text with what is in its ${ } read, or a FieldError."""
    pieces = re.split(f"({HOLE})", text)
    if any("${" in piece for piece in pieces[::2]):
        raise FieldError("", f"{shown(text)} has a ${{ without its }}", "an expression in braces, such as ${4 / k}")
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
    return isinstance(value, str) and "${" in value


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

    def result(node: Term, values: list[Any], shape: tuple[int, ...]) -> Any:
        # Numbers as whole arrays: NumPy has other loops for powers of an array by one number, with other last digits.
        arrays = [np.full(shape, value, float) if isinstance(value, int | float) else value for value in values]
        found = WEIGHTS.applied(node, arrays)
        return np.asarray(np.logical_and.reduce(found), dtype=float) if node.kind == "comparison" else found

    def function(x: Any) -> Any:
        x = np.asarray(x, dtype=float)
        with np.errstate(all="ignore"):
            value = _value(tree, {"x": x, **NUMBERS}, lambda node, values: result(node, values, x.shape))
        return np.broadcast_to(np.asarray(value, dtype=float), x.shape)

    return function


def _value(node: Term, names: Mapping[str, Any], calculate: Callable[[Term, list[Any]], Any]) -> Any:
    """The value of a tree: of a part that has parts, what `calculate` makes of their values; of an `if`, whether its
    condition holds, given the value of that."""
    if node.kind == "number":
        return node.value
    if node.kind == "name":
        return names[node.value]
    if node.kind == "if":
        then, condition, otherwise = node.parts
        holds = calculate(node, [_value(condition, names, calculate)])
        return _value(then if holds else otherwise, names, calculate)
    values = []
    for part in node.parts:  # a comprehension would need a second frame for each level
        values.append(_value(part, names, calculate))  # noqa: PERF401
    return calculate(node, values)


def _result(node: Term, values: list[Any]) -> Scalar:
    """Of a part of an expression, what it makes of the values of its parts."""
    for part, value in zip((node.parts[1],) if node.kind == "if" else node.parts, values, strict=True):
        if isinstance(value, str):
            raise FieldError("", f"{part.source} is the text {shown(value)}", "a number, to calculate with")
    if node.kind == "if":
        return bool(values[0])
    if node.kind == "comparison":
        return all(VALUES.applied(node, values))
    if node.value == "**" and _whole(values) and abs(values[0]) > 1 and abs(values[1]) > LARGEST_POWER:
        raise _too_large(node)
    if node.value == "round" and values[1:] and not (_whole(values[1:]) and abs(values[1]) < MOST_DIGITS):
        raise FieldError("", f"{node.source} rounds to {values[1]} digits", "a whole number of digits")
    try:
        return _bounded(VALUES.applied(node, values), node)
    except ZeroDivisionError:
        raise FieldError("", f"{node.source} divides by zero", "a divisor other than 0") from None
    except OverflowError:
        raise _too_large(node) from None
    except ValueError as error:
        raise error if isinstance(error, FieldError) else _unreal(node) from None


def _whole(values: list[Any]) -> bool:
    return all(isinstance(value, int) for value in values)


def _bounded(value: Any, node: Term) -> int | float:
    if isinstance(value, complex) or value != value:
        raise _unreal(node)
    if abs(value) > LARGEST:
        raise _too_large(node)
    return value  # type: ignore[no-any-return]


def _too_large(node: Term) -> FieldError:
    return FieldError("", f"{node.source} is too large", "numbers of at most 1e300")


def _unreal(node: Term) -> FieldError:
    return FieldError("", f"{node.source} is not a real number", "such as a root or logarithm of a positive number")


def _text(value: Scalar) -> str:
    """A value inside a text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return number(value) if isinstance(value, float) else str(value)
