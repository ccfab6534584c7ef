"""Arithmetic over named values, as experiments write it: `4 / k`, and texts that hold it: `constant(rate=${4 / k})`.

    numbers, names, + - * / ** % // ( ), comparisons, a if c else b,
    min max abs sqrt log exp round floor ceil

They are written by the grammar of `laws.syntax`. Every intermediate result is a finite
number of at most 1e300, so no text can take long. A name may stand for a text too, which
can be passed on but not calculated with.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any, final

from replnet.text.arithmetic import Arithmetic, Operation, evaluated
from replnet.text.checks import FieldError
from replnet.text.errors import shown
from replnet.text.grammar import ARITHMETIC, HOLE, Node, number, parse

Scalar = str | int | float | bool

LARGEST = 10**300
MOST_DIGITS = 300  # of round
LARGEST_POWER = 1_100  # of whole numbers: 2 to it is above LARGEST, and quick to find out
EXAMPLE = "such as 4 / k"

VALUES = Arithmetic(
    signs={
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "/": operator.truediv,
        "**": operator.pow,
        "%": operator.mod,
        "//": operator.floordiv,
        "==": operator.eq,
        "!=": operator.ne,
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
        "if": operator.truth,
    },
    functions={
        "min": (min, 2, 100),
        "max": (max, 2, 100),
        "abs": (abs, 1, 1),
        "sqrt": (math.sqrt, 1, 1),
        "log": (math.log, 1, 1),
        "exp": (math.exp, 1, 1),
        "round": (round, 1, 2),
        "floor": (math.floor, 1, 1),
        "ceil": (math.ceil, 1, 1),
    },
)


def spelled(value: Scalar) -> str:
    """A value inside a text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return number(value) if isinstance(value, float) else str(value)


@final
@dataclass(frozen=True, slots=True)
class Expression:
    """A checked expression; `names` are canonical."""

    text: str
    names: frozenset[str]
    _tree: Node = field(repr=False, compare=False)

    def value(self, names: Mapping[str, Scalar]) -> Scalar:
        """Its value, where every one of its names has one. Raises FieldError if it has none."""
        return evaluated(self._tree, names, _calculated)  # type: ignore[no-any-return]  # calculated, or of `names`


@final
@dataclass(frozen=True, slots=True)
class Template:
    """A text with expressions in ${ }. If there is nothing else in it, its value is theirs, a number where they are."""

    parts: tuple[str | Expression, ...]
    names: frozenset[str]

    def value(self, names: Mapping[str, Scalar]) -> Scalar:
        values = [part if isinstance(part, str) else part.value(names) for part in self.parts]
        return values[0] if len(values) == 1 else "".join(map(spelled, values))


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
    return Expression(text, frozenset(node.value for node in tree.walk() if node.kind == "name"), tree)


@lru_cache(maxsize=10_000)
def template(text: str) -> Template:
    """The text with what is in its ${ } read, or a FieldError."""
    pieces = re.split(f"({HOLE})", text)
    if any("${" in piece for piece in pieces[::2]):
        raise FieldError("", f"{shown(text)} has a ${{ without its }}", "an expression in braces, such as ${4 / k}")
    parts: list[str | Expression] = []
    for place, piece in enumerate(pieces):
        if place % 2:
            parts.append(expression(piece[2:-1]))
        elif piece:
            parts.append(piece)
    names = frozenset[str]().union(*(part.names for part in parts if isinstance(part, Expression)))
    return Template(tuple(parts), names)


def is_template(value: object) -> bool:
    return isinstance(value, str) and "${" in value


def _calculated(node: Node, values: list[Scalar]) -> Scalar:
    for part, value in zip((node.parts[1],) if node.kind == "if" else node.parts, values, strict=True):
        if isinstance(value, str):
            raise FieldError("", f"{part.source} is the text {shown(value)}", "a number, to calculate with")
    if node.kind == "if":
        return bool(values[0])
    if node.kind == "comparison":
        return all(VALUES.signs[sign](a, b) for sign, (a, b) in zip(node.value, pairwise(values), strict=True))
    return _applied(VALUES.operation(node), node, values)


def _applied(operation: Operation, node: Node, values: list[Any]) -> int | float:
    if operation is operator.pow and all(isinstance(value, int) for value in values):
        base, exponent = values
        if abs(base) > 1 and abs(exponent) > LARGEST_POWER:
            raise _too_large(node)
    if operation is round and not all(isinstance(digits, int) and abs(digits) < MOST_DIGITS for digits in values[1:]):
        raise FieldError("", f"{node.source} rounds to {values[1]} digits", "a whole number of digits")
    try:
        return _bounded(operation(*values), node)
    except ZeroDivisionError:
        raise FieldError("", f"{node.source} divides by zero", "a divisor other than 0") from None
    except OverflowError:
        raise _too_large(node) from None
    except ValueError as error:
        if isinstance(error, FieldError):
            raise
        raise _unreal(node) from None


def _bounded(value: Any, node: Node) -> int | float:
    if isinstance(value, complex) or value != value:
        raise _unreal(node)
    if abs(value) > LARGEST:
        raise _too_large(node)
    return value  # type: ignore[no-any-return]


def _too_large(node: Node) -> FieldError:
    return FieldError("", f"{node.source} is too large", "numbers of at most 1e300")


def _unreal(node: Node) -> FieldError:
    return FieldError("", f"{node.source} is not a real number", "such as a root or logarithm of a positive number")
