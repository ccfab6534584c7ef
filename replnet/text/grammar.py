"""The one grammar of what users write on a line: laws, weights, named values, metrics and demands.

    value  = number | name | text | call | list | "(" value ")" | sign value | value sign value
           | value "if" value "else" value
    call   = name "(" [ item { "," item } [ "," ] ] ")"        item = [ name "=" ] value
    list   = "[" [ value { "," value } [ "," ] ] "]"

It is read in two forms. In LAW a name is whatever stands between brackets, commas,
quotes, equals signs and spaces, so that `trace(file=../a-b.csv)` needs no quotes, and
`${ }` is part of it; there are lists and quote texts, and no signs. In ARITHMETIC
there are numbers, names, calls and signs, which bind as in Python; ^ is **.

Nothing is executed. Every part of a tree has its position in the text.
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
"""Signs by precedence: higher numbers bind more firmly."""


class Form(NamedTuple):
    """The rules of a notation: patterns of a token and of space, and how long and how deep a text may be.

    `longest` is in characters, and `deepest` counts brackets within brackets; `reserved` words are no names; `right`
    says in errors what a right text is.
    """

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
    """A part of a user's text, as a node of its tree: `text` from character `begin`, from 0, to before `end`.

    `kind` says what it is. `value` is the number, the name, the text, the name that is called or that is given a value,
    the sign, or the signs of a comparison, which has one part more than these; None for a list. `parts` are the
    operands, arguments or items; those of `a if b else c` are in this order.
    """

    kind: Kind
    value: Any
    parts: tuple[Term, ...]
    text: str = field(repr=False)
    begin: int
    end: int

    @property
    def source(self) -> str:
        """The text of this part."""
        return self.text[self.begin : self.end]

    @property
    def named_arguments(self) -> set[str]:
        """The names of a call's arguments that are given by name, as b in f(1, b=2)."""
        return {part.value for part in self.parts if part.kind == "named"}

    def walk(self) -> Iterator[Term]:
        """Yield this part and all below it, in the order of the text."""
        unvisited = [self]
        while unvisited:
            node = unvisited.pop()
            yield node
            unvisited.extend(reversed(node.parts))


def parse(text: str, form: Form) -> Term:
    """Return the tree of a text in the notation `form`, such as LAW or ARITHMETIC.

    Raises FieldError, with an empty field, that says where the text goes wrong.
    """
    if len(text) > form.longest:
        raise FieldError("", f"{len(text)} characters", f"at most {form.longest}")
    return _Parser(text, form).parse_all()


def argument(text: str, field: str, right: str) -> str:
    """Return the text in the brackets of `text`, a call with one argument, such as x of f(x).

    Raises FieldError for anything else; `field` names the text in the error, and `right` says there what it should be.
    """
    try:
        call = parse(text, ARITHMETIC)
    except FieldError as error:
        raise FieldError(field, f"{text[:60]!r} cannot be read: {error.wrong}", right) from None
    if call.kind != "call" or not call.parts:
        raise FieldError(field, f"{text!r} has no argument in brackets", right)
    if len(call.parts) > 1:
        raise FieldError(field, f"{text!r} has {len(call.parts)} arguments in brackets", right)
    return call.parts[0].source


def canonical(name: str) -> str:
    """Return a name in the form in which Python compares names (NFKC), where the micro sign is the Greek mu."""
    if name.isascii():
        return name
    import unicodedata  # costs start-up, and hardly a text needs it

    return unicodedata.normalize("NFKC", name)


@final
class _Parser:
    """A parser of a text, which stands before one token of it, from `_begin` to `_end`.

    The `_kind` of this token is number, name, text, end or unknown; of a mark or a reserved word it is that itself.
    """

    def __init__(self, text: str, form: Form) -> None:
        self._text, self._form, self._end = text, form, 0
        self._advance()

    def parse_all(self) -> Term:
        """Return the tree of the whole text; raise FieldError if it is no single value."""
        node = self._value(0)
        if self._kind != "end":
            raise self._wrong("nothing more")
        return node

    def _advance(self) -> None:
        """Go on to the next token: set its place and its kind, which is `end` past the last one."""
        self._last = self._end  # of the token that is left behind
        space = self._form.space.match(self._text, self._last)
        assert space is not None
        self._begin = space.end()
        match = self._form.token.match(self._text, self._begin)
        self._end = match.end() if match else self._begin
        self._kind: str = (match.lastgroup or "") if match else "end" if self._begin == len(self._text) else "unknown"
        token = self._text[self._begin : self._end]
        if self._kind == "mark" or token in self._form.reserved:
            self._kind = token
        elif self._kind == "name" and self._form is ARITHMETIC and not token.isidentifier():
            self._kind = "unknown"

    def _take(self) -> str:
        """Return the text of the current token, and go on to the next one."""
        token = self._text[self._begin : self._end]
        self._advance()
        return token

    def _wrong(self, right: str) -> FieldError:
        """Return the FieldError, without a field, for the current token, where `right` was expected."""
        rest = self._text[self._begin :].strip()[:20]
        wrong = f"{rest!r} at character {self._begin + 1}" if rest else "ends too early"
        return FieldError("", wrong, f"expected {right}")

    def _expect(self, kind: str, right: str = "") -> None:
        """Go past a token of this kind; raise FieldError if the current one is another.

        In the error, `right` is what was expected; if empty, the kind.
        """
        if self._kind != kind:
            raise self._wrong(right or repr(kind))
        self._take()

    def _node(self, kind: Kind, value: Any, parts: Sequence[Term], begin: int) -> Term:
        """Return a part of the tree that began at `begin` and ends with the last token taken."""
        return Term(kind, value, tuple(parts), self._text, begin, self._last)

    def _value(self, depth: int, least: int = IF) -> Term:
        """Return the tree of the value at which the parser stands, with the signs after it that are firm enough.

        These bind at least as firmly as `least`, a level of LEVELS. `depth` is the number of brackets around the value.
        Raises FieldError if these are too many, or no value stands here.
        """
        if depth > self._form.deepest:
            raise FieldError("", "nested too deeply", f"at most {self._form.deepest} levels")
        signs = []
        while self._kind in ("+", "-"):
            signs.append((self._begin, self._take()))
        node = self._value(depth, POWER) if signs else self._single(depth)
        for begin, sign in reversed(signs):
            node = self._node("sign", sign, [node], begin)
        while LEVELS.get(self._kind, -1) >= least:
            node = self._extend(node, depth)
        return node

    def _extend(self, left: Term, depth: int) -> Term:
        """Return the tree of the value `left`, the sign after it, at which the parser stands, and the next value.

        `depth` is the number of brackets around it.
        """
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
        """Return the tree of a value without signs around it: a number, text, name, call, list or bracket.

        `depth` is the number of brackets around it. Raises FieldError if none begins here.
        """
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
        """Return the trees of the items between the opening bracket, at which the parser stands, and `close`.

        They are separated by commas; `depth` is the number of brackets around them.
        """
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
        """Return the tree of an item between brackets, which may be a named argument, name=value, before ")".

        `close` is the closing bracket, and `depth` the number of brackets around the item.
        """
        node = self._value(depth)
        if close == ")" and self._kind == "=" and node.kind == "name":
            self._take()
            return self._node("named", node.value, [self._value(depth)], node.begin)
        return node


def _number(token: str) -> int | float:
    """Return the number that a token writes: whole if it has neither point nor exponent; 0x, 0o and 0b set the base."""
    if token[:2].lower() in ("0x", "0o", "0b"):
        return int(token, 0)
    return int(token) if token.replace("_", "").isdecimal() else float(token)


def number_text(value: float) -> str:
    """Return the shortest text of `value` that reads back as the same float; that of a whole number has no point."""
    text = repr(float(value))
    return text.removesuffix(".0")


def list_text(values: Iterable[float]) -> str:
    """Return a list of numbers as people write it, such as [1, 2.5]; it reads back as the same numbers."""
    return "[" + ", ".join(map(number_text, values)) + "]"


def quote(text: str) -> str:
    """Return a text in quotes, which a law's text reads as the same text."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
