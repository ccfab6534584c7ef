"""The one grammar of what users write on a line: laws, weights, named values, metrics and demands.

    value  = number | name | text | call | list | "(" value ")" | sign value | value sign value
           | value "if" value "else" value
    call   = name "(" [ item { "," item } [ "," ] ] ")"        item = [ name "=" ] value
    list   = "[" [ value { "," value } [ "," ] ] "]"

It is read in two forms. In LAW a name is whatever stands between brackets, commas,
quotes, equals signs and spaces, so that `trace(file=../a-b.csv)` needs no quotes, and
`${ }` is part of it; there are lists and quoted texts, and no signs. In ARITHMETIC
there are numbers, names, calls and signs, which bind as in Python; ^ is **.

Nothing is executed. A tree says of each of its parts where it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, final

from replnet.text.errors import FieldError

Kind = Literal["number", "name", "text", "list", "call", "named", "sign", "comparison", "if"]

HOLE = r"\$\{[^{}]*\}"
_DIGITS = r"[0-9](?:_?[0-9])*"
_NUMBER = (
    r"0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+"
    rf"|(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][-+]?{_DIGITS})?"
)
IF, COMPARISON, UNARY, POWER = 0, 1, 4, 5
LEVELS = {
    "if": IF,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), COMPARISON),
    **dict.fromkeys("+-", 2),
    **dict.fromkeys(("*", "/", "//", "%"), 3),
    **dict.fromkeys(("**", "^"), POWER),
}
"""By sign, how firmly it binds."""


class Form(NamedTuple):
    """How a text is read; `reserved` are no names, `right` is what a text should be that begins with no value."""

    token: re.Pattern[str]
    space: re.Pattern[str]
    longest: int
    deepest: int
    reserved: frozenset[str] = frozenset()
    right: str = "a value"


LAW = Form(
    re.compile(
        r"""(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<mark>[()\[\],=])"""
        rf"""|(?P<name>(?:{HOLE}|[^\s()\[\],='"])+)"""
    ),
    re.compile(r"\s*"),
    longest=10_000,
    deepest=8,
    right="a law such as exponential(rate=2)",
)
ARITHMETIC = Form(
    # Names begin with a letter, _ or what is not ASCII; a set of what they are not compiles ten times faster.
    re.compile(
        rf"(?P<number>{_NUMBER})|(?P<name>[^\x00-@\[-^`{{-\x7f][^\x00-/:-@\[-^`{{-\x7f]*)"
        r"|(?P<mark>\*\*|//|[<>=!]=|[-+*/%^<>(),=])"
    ),
    re.compile(r"(?:\s|#[^\n]*|\\\r?\n)*"),  # a comment is space, and so is the end of a line that goes on
    longest=500,
    deepest=200,
    reserved=frozenset({"if", "else", "and", "or", "not", "in", "is"}),
)


@final
@dataclass(frozen=True, slots=True)
class Term:
    """A part of a text, from `begin` to `end`.

    `value` is the number, the name, the text, the name that is called or that is given a value, the sign, or the
    signs of a comparison, which has one part more than these. The parts of `a if b else c` are in this order.
    """

    kind: Kind
    value: Any
    parts: tuple[Term, ...]
    text: str = field(repr=False)
    begin: int
    end: int

    @property
    def source(self) -> str:
        return self.text[self.begin : self.end]

    @property
    def named(self) -> set[str]:
        """The names of the arguments that have one."""
        return {part.value for part in self.parts if part.kind == "named"}

    def walk(self) -> Iterator[Term]:
        """This part and all below it, in the order of the text."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.parts))


def parse(text: str, form: Form) -> Term:
    """The tree of a text, or a FieldError that says where it goes wrong; its field is empty."""
    if len(text) > form.longest:
        raise FieldError("", f"{len(text)} characters", f"at most {form.longest}")
    return _Parser(text, form).whole()


def argument(text: str, field: str, right: str) -> str:
    """The text in the brackets of a call with one argument; `right` says what a call in `field` should be."""
    try:
        call = parse(text, ARITHMETIC)
    except FieldError as error:
        raise FieldError(field, f"{text[:60]!r} cannot be read: {error.wrong}", right) from None
    if call.kind != "call" or not call.parts:
        raise FieldError(field, f"{text!r} does not say of what", right)
    if len(call.parts) > 1:
        raise FieldError(field, f"{text!r} has {len(call.parts)} things in brackets", right)
    return call.parts[0].source


def canonical(name: str) -> str:
    """A name as Python compares it: the micro sign is the Greek mu."""
    if name.isascii():
        return name
    import unicodedata  # costs start-up, and hardly a text needs it

    return unicodedata.normalize("NFKC", name)


@final
class _Parser:
    """Stands before a token of `text`, of this kind, from `_begin` to `_end`; a mark is a kind of its own."""

    def __init__(self, text: str, form: Form) -> None:
        self._text, self._form, self._end = text, form, 0
        self._advance()

    def whole(self) -> Term:
        node = self._value(0)
        if self._kind != "end":
            raise self._wrong("nothing more")
        return node

    def _advance(self) -> None:
        self._last = self._end  # of the token that is left behind
        space = self._form.space.match(self._text, self._last)
        assert space is not None
        self._begin = space.end()
        found = self._form.token.match(self._text, self._begin)
        self._end = found.end() if found else self._begin
        self._kind: str = (found.lastgroup or "") if found else "end" if self._begin == len(self._text) else "unknown"
        token = self._text[self._begin : self._end]
        if self._kind == "mark" or token in self._form.reserved:
            self._kind = token
        elif self._kind == "name" and self._form is ARITHMETIC and not token.isidentifier():
            self._kind = "unknown"

    def _take(self) -> str:
        token = self._text[self._begin : self._end]
        self._advance()
        return token

    def _wrong(self, right: str) -> FieldError:
        rest = self._text[self._begin :].strip()[:20]
        wrong = f"{rest!r} at character {self._begin + 1}" if rest else "ends too early"
        return FieldError("", wrong, f"expected {right}")

    def _expect(self, kind: str, right: str = "") -> None:
        if self._kind != kind:
            raise self._wrong(right or repr(kind))
        self._take()

    def _node(self, kind: Kind, value: Any, parts: Sequence[Term], begin: int) -> Term:
        """What began at `begin` and ends with what was taken last."""
        return Term(kind, value, tuple(parts), self._text, begin, self._last)

    def _value(self, depth: int, least: int = IF) -> Term:
        """As much as signs that bind at least so firmly hold together."""
        if depth > self._form.deepest:
            raise FieldError("", "nested too deeply", f"at most {self._form.deepest} levels")
        signs = []
        while self._kind in ("+", "-"):
            signs.append((self._begin, self._take()))
        node = self._value(depth, POWER) if signs else self._single(depth)
        for begin, sign in reversed(signs):
            node = self._node("sign", sign, [node], begin)
        while LEVELS.get(self._kind, -1) >= least:
            node = self._joined(node, depth)
        return node

    def _joined(self, left: Term, depth: int) -> Term:
        """A value with the sign after it and what that takes."""
        level, begin = LEVELS[self._kind], left.begin
        if level == COMPARISON:
            signs, parts = [], [left]
            while LEVELS.get(self._kind) == COMPARISON:
                signs.append(self._take())
                parts.append(self._value(depth, COMPARISON + 1))
            return self._node("comparison", tuple(signs), parts, begin)
        sign = self._take().replace("^", "**")
        if level == IF:
            test = self._value(depth, COMPARISON)
            self._expect("else")
            return self._node("if", sign, [left, test, self._value(depth, IF)], begin)
        right = self._value(depth, UNARY if level == POWER else level + 1)
        return self._node("sign", sign, [left, right], begin)

    def _single(self, depth: int) -> Term:
        begin, kind = self._begin, self._kind
        if kind == "[":
            return self._node("list", None, self._items("]", depth), begin)
        if kind == "(" and self._form is ARITHMETIC:
            self._take()
            inner = self._value(depth + 1)
            self._expect(")")
            return replace(inner, begin=begin, end=self._last)
        if kind == "number":
            return self._node("number", _number(self._take()), [], begin)
        if kind == "text":
            return self._node("text", re.sub(r"\\(.)", r"\1", self._take()[1:-1]), [], begin)
        if kind != "name":
            raise self._wrong("a value" if depth else self._form.right)
        name = self._take()
        name = canonical(name) if self._form is ARITHMETIC else name
        if self._kind == "(":
            return self._node("call", name, self._items(")", depth), begin)
        return self._node("name", name, [], begin)

    def _items(self, close: str, depth: int) -> list[Term]:
        """What stands between the opening bracket and `close`, by commas."""
        self._take()
        items: list[Term] = []
        while self._kind != close:
            if items:
                self._expect(",", f"a comma or {close!r}")
            if self._kind != close or not items:
                items.append(self._item(close, depth + 1))
        self._take()
        return items

    def _item(self, close: str, depth: int) -> Term:
        node = self._value(depth)
        if close == ")" and self._kind == "=" and node.kind == "name":
            self._take()
            return self._node("named", node.value, [self._value(depth)], node.begin)
        return node


def _number(token: str) -> int | float:
    if token[:2].lower() in ("0x", "0o", "0b"):
        return int(token, 0)
    return int(token) if token.replace("_", "").isdecimal() else float(token)


def number(value: float) -> str:
    """`value` as people write it; reads back as the same float."""
    text = repr(float(value))
    return text.removesuffix(".0")


def listed(values: Iterable[float]) -> str:
    """A list of numbers as people write it."""
    return "[" + ", ".join(map(number, values)) + "]"


def quoted(text: str) -> str:
    """A text in quotes, which LAW reads as the same text."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
