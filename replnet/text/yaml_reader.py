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

from replnet.text.documents import Mark, Route, Scalar, YamlNode, file_error, split_lines
from replnet.text.errors import MOST_SHOWN, DocumentError, Problem, field_name, printable

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

CORE_TAG = "tag:yaml.org,2002:"
TAGS: dict[str, Any] = {"str": str, "int": int, "float": (int, float), "bool": bool, "null": type(None)}
TAGS |= dict.fromkeys(("map", "seq"), ())  # which no scalar is
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
    """Return the value of an unquoted YAML scalar: a number, truth value, None, or else the text itself.

    It goes by the core schema of YAML 1.2, in which `on` and `yes` are texts.
    """
    if text in WORDS:
        return WORDS[text]
    # Python refuses to convert longer runs of digits, and no field needs them.
    if INTEGER.fullmatch(text) and len(text) < 400:
        return int(text)
    if BASED.fullmatch(text):
        return int(text, 0)
    return float(text) if FLOAT.fullmatch(text) else text


def compose(text: str, name: str) -> YamlNode:
    """Return the mapping in a text of YAML as a node; raise DocumentError if it has none, or is no YAML.

    `name` is the file in errors.
    """
    return _Composer(text, name).document()


@final
class _Composer:
    """A reader of one document, event by event of the parser.

    `name` is the file in errors and `lines` are its lines; `problems` are those found so far, `anchors` the nodes with
    a name, `count` the nodes so far, and `aliased` those of them that aliases stand for.
    """

    def __init__(self, text: str, name: str) -> None:
        from ruamel.yaml import YAML
        from ruamel.yaml.error import MarkedYAMLError, YAMLError

        self._marked_error, self._any_error = MarkedYAMLError, YAMLError
        self.name, self.lines = name, list(split_lines(text))
        self.problems: list[Problem] = []
        self.anchors: dict[str, tuple[YamlNode, int] | None] = {}  # with its size; None while the node is being read
        self.count = self.aliased = 0  # nodes so far, and those of them that aliases stand for
        if any(len(line) > LONGEST_LINE for line in self.lines):
            raise file_error(name, f"has a line of more than {LONGEST_LINE:,} characters", "shorter lines")
        self._events: Iterator[Any] = YAML(typ="safe", pure=True).parse(text)

    def document(self) -> YamlNode:
        """Return the only document of the text as a node, which must be a mapping.

        Raises DocumentError, with all problems, if there is no such document.
        """
        self._next()
        event = self._next()
        if _kind(event) == "StreamEnd":
            raise file_error(self.name, "is empty", "a mapping of fields, such as kind: cascade")
        node = self._node(self._next(), ())
        self._next()
        if _kind(after := self._next()) != "StreamEnd":
            raise self._error(_mark(after.start_mark), "a second document starts", "one document per file")
        if not isinstance(node.value, dict):
            single = "empty" if node.value is None else f"the single value {printable(repr(node.value), 40)}"
            kind_found = "a list" if isinstance(node.value, list) else single
            raise self._error(node.mark, f"is {kind_found}", "a mapping of fields, such as kind: cascade")
        if self.problems:
            raise DocumentError(self.problems)
        return node

    def _next(self) -> Any:
        """Remove the next event of the parser and return it; raise DocumentError if the text is no YAML."""
        try:
            return next(self._events)
        except self._marked_error as error:
            mark = error.problem_mark or error.context_mark
            wrong = str(error.problem or error.context)
        except self._any_error as error:
            mark, wrong = None, str(error).split("\n")[0]
        except (ValueError, OverflowError, RecursionError) as error:
            mark, wrong = None, f"is not YAML: {error}"
        right = next((hint for part, hint in HINTS.items() if part in wrong), "valid YAML")
        raise self._error(Mark(1, 1) if mark is None else _mark(mark), wrong, right)

    def _problem(self, mark: Mark, field: str, wrong: str, right: str) -> Problem:
        """Return a problem of `field` at a place, with its line of the text: what is wrong, and what would be right."""
        assert mark.line is not None
        source = self.lines[mark.line - 1] if mark.line <= len(self.lines) else None
        return Problem(self.name, mark.line, mark.column, field, wrong, right, source)

    def _error(self, mark: Mark, wrong: str, right: str) -> DocumentError:
        """Return the DocumentError of a problem after which reading cannot go on, with all problems found before."""
        return DocumentError([*self.problems, self._problem(mark, "yaml", wrong, right)])

    def _node(self, event: Any, path: Route) -> YamlNode:
        """Return the node that begins with this event, reading all events of it; `path` leads to it from the top.

        Raises DocumentError if it is nested in more than 50 levels, or has an unknown tag.
        """
        kind, mark = _kind(event), _mark(event.start_mark)
        if len(path) > DEEPEST:
            raise self._error(mark, f"is nested deeper than {DEEPEST} levels", "a flatter file")
        if kind == "Alias":
            return self._alias(event.anchor, mark)
        before = self.count
        self.count += 1
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        # Older parsers give a string, newer ones an object.
        tag = None if event.tag is None else str(event.tag)
        if tag not in (None, "!") and tag.removeprefix(CORE_TAG) not in TAGS:
            raise self._error(mark, f"the tag {printable(tag, 60)} is not known", "plain values without tags")
        if kind == "Scalar":
            node = self._scalar(event, tag, mark)
        else:
            read = self._sequence if kind == "SequenceStart" else self._mapping
            node = YamlNode(read(event.flow_style, path), mark)
        if event.anchor is not None:
            self.anchors[event.anchor] = node, self.count - before
        return node

    def _alias(self, name: str, mark: Mark) -> YamlNode:
        """Return the node that the alias `name` stands for, with the place of the alias, `mark`.

        Raises DocumentError if there is none, if it contains the alias, or if aliases stand for more than 100,000 nodes
        in all.
        """
        if name not in self.anchors:
            raise self._error(mark, f"*{name} has no anchor", f"&{name} before it")
        anchor = self.anchors[name]
        if anchor is None:
            raise self._error(mark, f"*{name} stands inside what it names", "aliases without a cycle")
        node, size = anchor
        self.count += size
        self.aliased += size
        if self.aliased > ALIAS_BUDGET:
            raise self._error(mark, f"aliases stand for more than {ALIAS_BUDGET:,} values", "fewer aliases of aliases")
        return replace(node, mark=mark, bare=False)

    def _scalar(self, event: Any, tag: str | None, mark: Mark) -> YamlNode:
        """Return the node of the scalar that an event gives, with the place `mark`, read by its tag if it has one.

        Raises DocumentError if it does not fit that tag.
        """
        text = event.value
        if tag is None:
            bare = event.implicit[0] and event.style in (None, "")
            return YamlNode(scalar(text) if bare else text, mark, bare=bare)
        kind = tag.removeprefix(CORE_TAG)
        value = text if kind in ("!", "str") else scalar(text)
        if kind != "!" and not isinstance(value, TAGS[kind]):
            raise self._error(mark, f"{printable(text, 60)!r} does not fit the tag {kind}", "no tag")
        return YamlNode(value, mark)

    def _sequence(self, flow: bool, path: Route) -> list[YamlNode]:
        """Return the items of the sequence at `path` whose first event has been read; `flow` if it is in brackets.

        In brackets, a law that was cut at the commas within its parentheses is put together again.
        """
        items: list[YamlNode] = []
        while _kind(entry := self._next()) != "SequenceEnd":
            item = self._node(entry, [*path, len(items)])
            if flow and items and item.bare and _is_cut_at_comma(items[-1]):
                items[-1] = replace(items[-1], value=f"{items[-1].value}, {item.value}")
            else:
                items.append(item)
        return items

    def _mapping(self, flow: bool, path: Route) -> dict[str, YamlNode]:
        """Return the values, by key, of the mapping at `path`, of which the first event has been read.

        `flow` says that it is in braces; there, a law that was cut at the commas within its parentheses is put together
        again. A key that is given twice is added to the problems, of which more than 50 raise DocumentError, as does a
        key that is no text.
        """
        items: dict[str, YamlNode] = {}
        last = ""
        while _kind(entry := self._next()) != "MappingEnd":
            mark = _mark(entry.start_mark)
            if _kind(entry) != "Scalar":
                raise self._error(mark, "a key is not a text", "`key: value`")
            key = entry.value
            node = replace(self._node(self._next(), [*path, key]), key=mark)
            if flow and last and _is_cut_at_comma(items[last]) and node.bare and node.value is None:
                items[last] = replace(items[last], value=f"{items[last].value}, {key}")
                continue
            if key in items:
                first, name = items[key].key, field_name([*path, key])
                wrong = f"is given twice, first in line {first.line if first else None}"
                self.problems.append(self._problem(mark, name, wrong, "once"))
                if len(self.problems) > MOST_SHOWN:
                    raise DocumentError(self.problems, complete=False)
            else:
                items[key] = node
            last = key
        return items


def _kind(event: Any) -> str:
    """Return the kind of an event, such as Scalar or MappingStart."""
    return type(event).__name__.removesuffix("Event")


def _mark(mark: Any) -> Mark:
    """Return the place of a mark of the parser, whose lines and columns count from 0, counted from 1."""
    return Mark(mark.line + 1, mark.column + 1)


def _is_cut_at_comma(node: YamlNode) -> bool:
    """Whether a node is an unquoted text that stopped at a comma within parentheses."""
    return node.bare and isinstance(node.value, str) and node.value.count("(") > node.value.count(")")
