"""GML, as Gephi, yEd, the Topology Zoo and NetworkX write it: the nodes and edges of a text.

Errors name lines. What the reader of NetworkX refuses is read here too: labels that several nodes
share, and edges that are given twice.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn, final

from replnet.text import DocumentError, Problem, short_repr, split_lines

START = re.compile(r"^[ \t]*+graph\s*+\[", re.MULTILINE)  # in time that grows with the text alone, whatever is in it
TOKEN = re.compile(
    r"(?:\s++|\#[^\n]*+)*+(?:"  # space, and comments
    r"(?P<number>[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?!\w)|[+-]?(?:INF|NAN)\b)"
    r'|(?P<key>[A-Za-z_]\w*)|"(?P<text>[^"]*)"|(?P<bracket>[\[\]])|(?P<end>\Z))'
)
MOST_LEVELS = 100  # of brackets within brackets
RIGHT = 'graph [ node [ id 1 label "a" ] node [ id 2 ] edge [ source 1 target 2 ] ]'


@final
@dataclass(frozen=True, slots=True)
class GMLBlock:
    """The contents of a pair of brackets: values by key, lists of them for keys that occur several times.

    `offset` is its place in the text.
    """

    offset: int
    values: dict[str, Any] = field(default_factory=dict)

    def add(self, key: str, value: Any) -> None:
        """Add a value under a key; values of the same key become a list, in their order."""
        earlier = self.values.get(key)
        if key not in self.values:
            self.values[key] = value
        elif isinstance(earlier, list):
            earlier.append(value)
        else:
            self.values[key] = [earlier, value]

    def blocks(self, key: str) -> list[GMLBlock]:
        """Return the blocks with this key, in their order."""
        values = self.values.get(key, [])
        return [value for value in (values if isinstance(values, list) else [values]) if isinstance(value, GMLBlock)]

    def attributes(self) -> dict[str, Any]:
        """Return the values of a node or an edge by key, without its id and its ends.

        The x and y of its `graphics`, if it has them, are among them.
        """
        (graphics, *_) = [*self.blocks("graphics"), GMLBlock(0)]
        place = {key: graphics.values[key] for key in ("x", "y") if key in graphics.values}
        return place | {key: value for key, value in self.values.items() if key not in ("id", "source", "target")}


@final
class GMLGraph:
    """The first graph of a GML text: `attributes`, whether it is `directed`, `nodes` (id, attributes), and `edges`.

    An edge is (source, target, attributes). Creating one raises DocumentError, in which `name` is the file, with all
    that is wrong in the text.
    """

    def __init__(self, text: str, name: str) -> None:
        self._text, self._name = text, name
        graphs = self._parse().blocks("graph")
        if not graphs:
            self._refuse(0, "file", "is not GML: there is no graph in it", RIGHT)
        (graph, *_) = graphs
        self.attributes = {key: value for key, value in graph.values.items() if key not in ("node", "edge")}
        self.directed = graph.values.get("directed") in (1, "1")
        self._problems: list[Problem] = []
        self.nodes = [*self._nodes(graph)]
        ids = {key for key, _ in self.nodes}
        self.edges = [*self._edges(graph, ids)]
        if self._problems:
            raise DocumentError(self._problems)

    def _nodes(self, graph: GMLBlock) -> Iterator[tuple[Any, dict[str, Any]]]:
        """Yield each node as (id, attributes); one without an id, or with that of another, becomes a problem."""
        ids = set[Any]()
        for place, block in enumerate(graph.blocks("node"), 1):
            key = block.values.get("id")
            if not isinstance(key, str | int | float):
                self._add_problem(block.offset, f"node[{place}].id", "missing", "a number, such as id 1")
            elif key in ids:
                self._add_problem(block.offset, f"node[{place}].id", f"{key} is given twice", "another number")
            else:
                ids.add(key)
                yield key, block.attributes()

    def _edges(self, graph: GMLBlock, ids: set[Any]) -> Iterator[tuple[Any, Any, dict[str, Any]]]:
        """Yield each edge as (source, target, attributes); one with an end that is not in `ids` becomes a problem."""
        for place, block in enumerate(graph.blocks("edge"), 1):
            ends = [block.values.get(end) for end in ("source", "target")]
            wrong = next((i for i, key in enumerate(ends) if isinstance(key, GMLBlock | list) or key not in ids), None)
            if wrong is None:
                yield ends[0], ends[1], block.attributes()
                continue
            words = "missing" if ends[wrong] is None else f"there is no node with id {short_repr(ends[wrong])}"
            self._add_problem(block.offset, f"edge[{place}].{('source', 'target')[wrong]}", words, "the id of a node")

    def _parse(self) -> GMLBlock:
        """Return the whole text as a block; raise DocumentError at the first place that is no GML."""
        root = GMLBlock(0)
        open_blocks, key, end = [root], "", 0
        for match in TOKEN.finditer(self._text):
            if match.start() != end or match.lastgroup == "end":
                break
            end, kind = match.end(), str(match.lastgroup)
            value: Any = match[kind]
            if kind == "key":
                if key:
                    self._refuse(match.start(kind), key, f"{value} is not quoted", f'{key} "{value}"')
                key = value
                continue
            if value == "]" and kind == "bracket" and not key and len(open_blocks) > 1:
                open_blocks.pop()
                continue
            if not key or (value == "]" and kind == "bracket"):
                wrong = f"is not GML: {value[:20]} stands without a {'value' if key else 'key'}"
                self._refuse(match.start(kind), key or "file", wrong, RIGHT)
            if kind == "bracket":
                if len(open_blocks) > MOST_LEVELS:
                    self._refuse(match.start(kind), key, f"is below {MOST_LEVELS} others", "fewer brackets")
                value = GMLBlock(match.start(kind))
                open_blocks[-1].add(key, value)
                open_blocks.append(value)
            else:
                open_blocks[-1].add(key, _number(value) if kind == "number" else html.unescape(value))
            key = ""
        self._require_whole(end, key or ("" if len(open_blocks) == 1 else "file"))
        return root

    def _require_whole(self, end: int, unfinished: str) -> None:
        """Raise DocumentError unless the tokens that end at `end` are the whole text, and nothing is `unfinished`.

        That is the key that lacks its value, "file" if brackets are open, or "".
        """
        rest = self._text[end:].lstrip()
        if rest and not rest.startswith("#"):
            wrong = "has a quote that is not closed" if rest[0] == '"' else f"is not GML: {rest[0]!r} is not expected"
            self._refuse(len(self._text) - len(rest), "file", wrong, RIGHT)
        if unfinished:
            self._refuse(max(end - 1, 0), unfinished, "is not GML: it ends too early", "a ] for every [")

    def _problem(self, offset: int, field_name: str, wrong: str, right: str) -> Problem:
        """Return the problem of a field at an `offset` in the text, with its line and column, for DocumentError."""
        line = self._text.count("\n", 0, offset) + 1
        column = offset - self._text.rfind("\n", 0, offset)
        source = next((row for number, row in enumerate(split_lines(self._text), 1) if number == line), None)
        return Problem(self._name, line, column, field_name, wrong, right, source)

    def _refuse(self, offset: int, field_name: str, wrong: str, right: str) -> NoReturn:
        """Raise DocumentError with the problem of a field at an `offset` in the text, and no other."""
        raise DocumentError([self._problem(offset, field_name, wrong, right)])

    def _add_problem(self, offset: int, field_name: str, wrong: str, right: str) -> None:
        """Add the problem of a field at an `offset` in the text; after fifty, raise DocumentError with all of them."""
        self._problems.append(self._problem(offset, field_name, wrong, right))
        if len(self._problems) == 50:
            raise DocumentError(self._problems)


def _number(text: str) -> int | float:
    """Return the number that a text is, an int if it has digits alone; infinity and NaN are INF and NAN."""
    if text.lstrip("+-").isdigit() and len(text) < 400:
        return int(text)
    return math.nan if text.endswith("NAN") else float(text)
