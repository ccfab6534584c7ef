"""Arithmetic over named values, as experiments write it: `4 / k`, and texts that hold it: `constant(rate=${4 / k})`.

    numbers, names, + - * / ** % // ( ), comparisons, a if c else b,
    min max abs sqrt log exp round floor ceil

Nothing is executed but these. Every intermediate result is a finite number of
at most 1e300, so no text can take long. A name may stand for a text too, which
can be passed on but not calculated with.
"""

from __future__ import annotations

import ast
import keyword
import math
import operator
import re
import unicodedata
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, final

from replnet.laws import FieldError
from replnet.laws.spelling import number
from replnet.network.errors import shown

Scalar = str | int | float | bool

LONGEST = 500  # characters; Python's parser is recursive
LARGEST = 10**300
MOST_DIGITS = 300  # of round
LARGEST_POWER = 1_100  # of whole numbers: 2 to it is above LARGEST, and quick to find out
EXAMPLE = "such as 4 / k"

Operation = Callable[..., Any]

OPERATIONS: dict[type[ast.AST], Operation] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
SIGNS = "+ - * / ** % // and comparisons"
FUNCTIONS: dict[str, tuple[Operation, int, int]] = {  # how many numbers they take
    "min": (min, 2, 100),
    "max": (max, 2, 100),
    "abs": (abs, 1, 1),
    "sqrt": (math.sqrt, 1, 1),
    "log": (math.log, 1, 1),
    "exp": (math.exp, 1, 1),
    "round": (round, 1, 2),
    "floor": (math.floor, 1, 1),
    "ceil": (math.ceil, 1, 1),
}

# Words of Python that are names here, such as lambda: marked by a letter that no one types.
MARK = "ǃ"
WORD = re.compile(rf"\b({'|'.join(sorted(set(keyword.kwlist) - {'if', 'else', 'and', 'or', 'not', 'in', 'is'}))})\b")
HOLE = re.compile(r"\$\{([^{}]*)\}")


def canonical(name: str) -> str:
    """A name as Python compares it: the micro sign is the Greek mu."""
    return unicodedata.normalize("NFKC", name)


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
    _tree: ast.expr = field(repr=False, compare=False)

    def value(self, names: Mapping[str, Scalar]) -> Scalar:
        """Its value, where every one of its names has one. Raises FieldError if it has none."""
        return _value(self._tree, names)


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
    if len(text) > LONGEST:
        raise FieldError("", f"is an expression of {len(text)} characters", f"at most {LONGEST}")
    if "${" in text:
        raise FieldError("", f"{shown(text)} is not an expression", "the expression alone, without ${ }")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of doubtful Python, which is refused below or harmless
            tree = ast.parse(WORD.sub(rf"\1{MARK}", text.strip()), mode="eval").body
        names = frozenset(_checked(tree))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, FieldError):
            raise
        raise FieldError("", f"{shown(text)} is not an expression", EXAMPLE) from None
    return Expression(text, names, tree)


@lru_cache(maxsize=10_000)
def template(text: str) -> Template:
    """The text with what is in its ${ } read, or a FieldError."""
    pieces = HOLE.split(text)
    if any("${" in piece for piece in pieces[::2]):
        raise FieldError("", f"{shown(text)} has a ${{ without its }}", "an expression in braces, such as ${4 / k}")
    parts: list[str | Expression] = []
    for place, piece in enumerate(pieces):
        if place % 2:
            parts.append(expression(piece))
        elif piece:
            parts.append(piece)
    names = frozenset[str]().union(*(part.names for part in parts if isinstance(part, Expression)))
    return Template(tuple(parts), names)


def is_template(value: object) -> bool:
    return isinstance(value, str) and "${" in value


def _checked(tree: ast.expr) -> set[str]:
    """The names in a tree that has nothing but what is allowed."""
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            if id(node) not in called:
                names.add(node.id.removesuffix(MARK))
        elif isinstance(node, ast.Call):
            _check_call(node)
        elif isinstance(node, ast.Constant):
            if isinstance(node.value, bool) or not isinstance(node.value, int | float):
                raise FieldError("", f"{shown(node.value)} is not a number", "numbers and names")
            _bounded(node.value, node)
        elif type(node) not in OPERATIONS and not isinstance(
            node, ast.BinOp | ast.UnaryOp | ast.Compare | ast.IfExp | ast.Load
        ):
            what = _source(node) if isinstance(node, ast.expr) else type(node).__name__.lower()
            raise FieldError("", f"{what} is not arithmetic", f"{SIGNS}, a if c else b, {', '.join(FUNCTIONS)}")
    return names


def _check_call(node: ast.Call) -> None:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name not in FUNCTIONS:
        raise FieldError("", f"{_source(node.func)} is not a function here", f"one of {', '.join(FUNCTIONS)}")
    _, fewest, most = FUNCTIONS[name]
    if node.keywords or not fewest <= len(node.args) <= most:
        right = f"{fewest} number" + ("s" if fewest > 1 else "") + (" or more" if most > fewest else "")
        raise FieldError("", f"{_source(node)} does not fit {name}", right)


def _value(node: ast.expr, names: Mapping[str, Scalar]) -> Scalar:
    match node:
        case ast.Constant(value=value):
            return value  # type: ignore[return-value]  # checked to be a number
        case ast.Name(id=name):
            return names[name.removesuffix(MARK)]
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return _value(body if _number(test, names) else orelse, names)
        case ast.BinOp(left=left, op=op, right=right):
            return _applied(OPERATIONS[type(op)], node, _number(left, names), _number(right, names))
        case ast.UnaryOp(op=op, operand=operand):
            return _applied(OPERATIONS[type(op)], node, _number(operand, names))
        case ast.Call(func=ast.Name(id=name), args=args):
            return _applied(FUNCTIONS[name][0], node, *(_number(arg, names) for arg in args))
    assert isinstance(node, ast.Compare), ast.dump(node)
    values = [_number(one, names) for one in (node.left, *node.comparators)]
    return all(OPERATIONS[type(op)](a, b) for op, a, b in zip(node.ops, values[:-1], values[1:], strict=True))


def _number(node: ast.expr, names: Mapping[str, Scalar]) -> int | float:
    value = _value(node, names)
    if isinstance(value, str):
        raise FieldError("", f"{_source(node)} is the text {shown(value)}", "a number, to calculate with")
    return value


def _applied(operation: Operation, node: ast.expr, *values: int | float) -> int | float:
    try:
        if operation is operator.pow and all(isinstance(value, int) for value in values):
            base, exponent = values
            if abs(base) > 1 and abs(exponent) > LARGEST_POWER:
                raise OverflowError
        if (
            operation is round
            and len(values) == 2
            and not (isinstance(values[1], int) and abs(values[1]) < MOST_DIGITS)
        ):
            raise FieldError("", f"{_source(node)} rounds to {values[1]} digits", "a whole number of digits")
        return _bounded(operation(*values), node)
    except ZeroDivisionError:
        raise FieldError("", f"{_source(node)} divides by zero", "a divisor other than 0") from None
    except OverflowError:
        raise _too_large(node) from None
    except ValueError as error:
        if isinstance(error, FieldError):
            raise
        raise _unreal(node) from None


def _bounded(value: Any, node: ast.expr) -> int | float:
    if isinstance(value, complex) or value != value:
        raise _unreal(node)
    if abs(value) > LARGEST:
        raise _too_large(node)
    return value  # type: ignore[no-any-return]


def _too_large(node: ast.expr) -> FieldError:
    return FieldError("", f"{_source(node)} is too large", "numbers of at most 1e300")


def _unreal(node: ast.expr) -> FieldError:
    return FieldError("", f"{_source(node)} is not a real number", "such as a root or logarithm of a positive number")


def _source(node: ast.expr) -> str:
    return ast.unparse(node).replace(MARK, "")
