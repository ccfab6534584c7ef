"""YAML 1.2 events to nodes with positions.

Differs from a stock loader where a user would be surprised: `on` and `yes` are
text, 1e3 and 1e-3 are numbers, a key given twice is an error, aliases have a
budget and cannot be cyclic, and a law such as pareto(alpha=3, rate=2) keeps
its comma inside [ ] and { }.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, final

from replnet.text.documents import Mark, Node, Scalar, collection, file_error, split_lines
from replnet.text.errors import MOST_SHOWN, InputError, Problem, field_name, printable

DEEPEST = 50
LONGEST_LINE = 100_000  # the scanner is quadratic in the length of some lines
ALIAS_BUDGET = 100_000  # nodes that aliases may stand for in all

WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **{sign + word: float(sign + "inf") for sign in ("", "+", "-") for word in (".inf", ".Inf", ".INF")},
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
}
INTEGER = re.compile(r"[-+]?[0-9]+")
BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")

CORE = "tag:yaml.org,2002:"
TAGS: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "null": (type(None),),
    "map": (),
    "seq": (),
}
HINTS = {
    "mapping values are not allowed": "one `key: value` per line, evenly indented; quote a text that has `: ` inside",
    "\\t": "indent with spaces",
    "expected ',' or": "close every bracket; quote a text that has brackets inside [ ] or { }",
    "could not find expected ':'": "`key: value`",
    "did not find expected": "even indentation, every bracket and quote closed",
    "unexpected end of stream": "close the quote",
    "special characters": "a text file without control characters",
}


def scalar(text: str) -> Scalar:
    """The value of an unquoted scalar: the core schema of YAML 1.2."""
    if text in WORDS:
        return WORDS[text]
    # Python refuses to convert longer runs of digits, and no field needs them.
    if INTEGER.fullmatch(text) and len(text) < 400:
        return int(text)
    if BASED.fullmatch(text):
        return int(text, 0)
    return float(text) if FLOAT.fullmatch(text) else text


def compose(text: str, name: str) -> Node:
    return _Composer(text, name).document()


@final
class _Composer:
    def __init__(self, text: str, name: str) -> None:
        from ruamel.yaml import YAML

        self.name, self.lines = name, list(split_lines(text))
        self.problems: list[Problem] = []
        self.anchors: dict[str, Node | None] = {}  # None while the anchored node is being read
        self.aliased = 0
        self.path: list[str | int] = []
        if any(len(line) > LONGEST_LINE for line in self.lines):
            raise file_error(name, f"has a line of more than {LONGEST_LINE:,} characters", "shorter lines")
        self._events: Iterator[Any] = YAML(typ="safe", pure=True).parse(text)

    def document(self) -> Node:
        """The only document of the stream, which must be a mapping."""
        self._next()
        event = self._next()
        if type(event).__name__ == "StreamEndEvent":
            raise file_error(self.name, "is empty", "a mapping of fields, such as kind: cascade")
        node = self._node(self._next(), 0)
        self._next()
        if type(after := self._next()).__name__ != "StreamEndEvent":
            self._fault(after, "a second document starts", "one document per file")
        if not isinstance(node.value, dict):
            self._fault(event, f"is {_kind(node)}", "a mapping of fields, such as kind: cascade", node.mark)
        if self.problems:
            raise InputError(self.problems)
        return node

    def _next(self) -> Any:
        from ruamel.yaml.error import MarkedYAMLError, YAMLError

        try:
            return next(self._events)
        except MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            wrong = str(error.problem or error.context)
        except YAMLError as error:
            mark, wrong = None, str(error).split("\n")[0]
        except (ValueError, OverflowError, RecursionError) as error:
            mark, wrong = None, f"is not YAML: {error}"
        right = next((hint for part, hint in HINTS.items() if part in wrong), "valid YAML")
        place = _mark(mark) if mark is not None else Mark(1, 1)
        raise InputError([*self.problems, self._problem(place, "yaml", wrong, right)])

    def _problem(self, mark: Mark, field: str, wrong: str, right: str) -> Problem:
        assert mark.line is not None
        source = self.lines[mark.line - 1] if mark.line <= len(self.lines) else None
        return Problem(self.name, mark.line, mark.column, field, wrong, right, source)

    def _fault(self, event: Any, wrong: str, right: str, mark: Mark | None = None) -> None:
        """Nothing sensible can follow."""
        raise InputError([*self.problems, self._problem(mark or _mark(event.start_mark), "yaml", wrong, right)])

    def _node(self, event: Any, depth: int) -> Node:
        kind = type(event).__name__
        if depth > DEEPEST:
            self._fault(event, f"is nested deeper than {DEEPEST} levels", "a flatter file")
        if kind == "AliasEvent":
            return self._alias(event)
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        if kind == "ScalarEvent":
            node = self._scalar(event)
        elif kind == "SequenceStartEvent":
            node = self._sequence(event, depth)
        else:
            node = self._mapping(event, depth)
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        return node

    def _alias(self, event: Any) -> Node:
        name = event.anchor
        if name not in self.anchors:
            self._fault(event, f"*{name} has no anchor", f"&{name} before it")
        node = self.anchors[name]
        if node is None:
            self._fault(event, f"*{name} stands inside what it names", "aliases without a cycle")
        assert node is not None
        self.aliased += node.size
        if self.aliased > ALIAS_BUDGET:
            self._fault(event, f"aliases stand for more than {ALIAS_BUDGET:,} values", "fewer aliases of aliases")
        return replace(node, mark=_mark(event.start_mark), bare=False)

    def _tag(self, event: Any) -> str | None:
        # Older parsers give a string, newer ones an object.
        tag = None if event.tag is None else str(event.tag)
        if tag not in (None, "!") and tag.removeprefix(CORE) not in TAGS:
            self._fault(event, f"the tag {printable(tag, 60)} is not known", "plain values without tags")
        return tag

    def _scalar(self, event: Any) -> Node:
        tag, text = self._tag(event), event.value
        bare = event.implicit[0] and event.style in (None, "")
        if tag is None:
            return Node(scalar(text) if bare else text, _mark(event.start_mark), bare=bare)
        if tag in ("!", CORE + "str"):
            return Node(text, _mark(event.start_mark))
        value = scalar(text)
        if not isinstance(value, TAGS[tag.removeprefix(CORE)]):
            self._fault(event, f"{printable(text, 60)!r} does not fit the tag {tag.removeprefix(CORE)}", "no tag")
        return Node(value, _mark(event.start_mark))

    def _sequence(self, event: Any, depth: int) -> Node:
        self._tag(event)
        items: list[Node] = []
        while type(entry := self._next()).__name__ != "SequenceEndEvent":
            self.path.append(len(items))
            item = self._node(entry, depth + 1)
            self.path.pop()
            if event.flow_style and items and item.bare and _open(items[-1]):
                items[-1] = replace(items[-1], value=f"{items[-1].value}, {_text(item)}")
            else:
                items.append(item)
        return collection(items, _mark(event.start_mark))

    def _mapping(self, event: Any, depth: int) -> Node:
        self._tag(event)
        items: dict[str, Node] = {}
        last = ""
        while type(entry := self._next()).__name__ != "MappingEndEvent":
            if type(entry).__name__ != "ScalarEvent":
                self._fault(entry, "a key is not a text", "`key: value`")
            key, mark = entry.value, _mark(entry.start_mark)
            self.path.append(key)
            node = replace(self._node(self._next(), depth + 1), key=mark)
            self.path.pop()
            if event.flow_style and last and _open(items[last]) and node.bare and node.value is None:
                items[last] = replace(items[last], value=f"{items[last].value}, {key}")
                continue
            if key in items:
                self._duplicate(mark, key, items[key])
            else:
                items[key] = node
            last = key
        return collection(items, _mark(event.start_mark))

    def _duplicate(self, mark: Mark, key: str, first: Node) -> None:
        line = first.key.line if first.key else None
        name = field_name([*self.path, key])
        self.problems.append(self._problem(mark, name, f"is given twice, first in line {line}", "once"))
        if len(self.problems) > MOST_SHOWN:
            raise InputError(self.problems)


def _mark(mark: Any) -> Mark:
    return Mark(mark.line + 1, mark.column + 1)


def _text(node: Node) -> str:
    return str(node.value)


def _open(node: Node) -> bool:
    """An unquoted text that stopped at a comma within parentheses."""
    return node.bare and isinstance(node.value, str) and node.value.count("(") > node.value.count(")")


def _kind(node: Node) -> str:
    if isinstance(node.value, list):
        return "a list"
    return "empty" if node.value is None else f"the single value {printable(repr(node.value), 40)}"
