"""Lists of edges, an edge per line: CSV, TSV, and what NetworkX writes (.edgelist), as the data of a specification.

The first two columns, or those that a header calls source and target, are the ends of a link, from the node that has
the data to the node that asks for it. A header may name the attributes of links as well (kind, delay, both), and the
`Type` of Gephi, Directed or Undirected; numbers without a name, such as weights, and columns of other names are left
out. Lines that begin with # or % are comments.
"""

from __future__ import annotations

import ast
import csv
import io
import re
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, final

from replnet.network.links import LINK_KEYS, PROCESSES, EdgeMeaning, LinkColumns, misplaced_law, misspelling_hint
from replnet.text import DocumentError, Mark, Problem, YamlNode, file_error, node_of, short_repr

ENDINGS = frozenset({".csv", ".tsv", ".edgelist", ".edges"})
SOURCES = frozenset({"source", "from", "src", "parent", "upstream"})
TARGETS = frozenset({"target", "to", "dst", "dest", "destination", "child", "downstream"})
DELIMITERS = "\t,;"  # of columns; other lists have spaces
COMMENTS = ("#", "%")
NUMBER = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*")
TYPES = {"directed": True, "undirected": False}
MOST_PROBLEMS = 1_000  # after which reading ends
RIGHT = "two names, such as a,b, or a header such as source,target,delay and lines below it"


class EdgeLine(NamedTuple):
    """A line of a list of edges: its number, the texts of its columns, and the attributes in braces, if it has some."""

    number: int
    cells: list[str]
    attributes: dict[str, Any]


@final
class EdgeList:
    """The links of a list of edges with this `text`; `name` is its file, for messages, `meaning` says what edges are.

    Creating one raises DocumentError if there are no edges, or if the header is wrong.
    """

    def __init__(self, text: str, name: str, meaning: EdgeMeaning) -> None:
        self.name, self.meaning, self._text = name, meaning, text
        self._problems: list[Problem] = []
        self._attributes_known: dict[tuple[Any, ...], dict[str, Any]] = {}
        first = next(self._lines(), None)
        if first is None:
            raise file_error(name, "has no edges", RIGHT)
        self.header = self._header(first)
        self._ends, self._columns = self._places()

    def data(self) -> dict[str, Any]:
        """Return the nodes, without fields, and the links as data of a specification, equal links once.

        Raise DocumentError with all that is wrong, up to 1,000 problems.
        """
        if self.meaning.names is not None:
            raise file_error(self.name, "is a list of edges, whose nodes have no attributes", "leave names out")
        columns, nodes = LinkColumns(), dict[str, dict[str, Any]]()
        for _, source, target, attributes in self.links():
            columns.add(source, target, attributes)
            nodes[source] = nodes[target] = {}
        if self._problems:
            raise DocumentError(self._problems, len(self._problems) < MOST_PROBLEMS)
        if not nodes:
            raise file_error(self.name, "has no edges", RIGHT)
        return {"kind": "graph", "nodes": {node: {} for node in nodes}, "links": columns.links().distinct()}

    def link_nodes(self) -> list[YamlNode]:
        """Return the links of `data`, each once, with the number of the first line that has it, for errors."""
        first: dict[tuple[str, str, str], YamlNode] = {}
        for line, source, target, attributes in self.links():
            link = {"from": source, "to": target, **attributes}
            first.setdefault((source, target, repr(attributes)), node_of(link, Mark(line, 1, self.name)))
        return [*first.values()]

    def links(self) -> Iterator[tuple[int, str, str, dict[str, Any]]]:
        """Yield each link as (number of the line, source, target, attributes); what is wrong is added to the problems.

        It ends after 1,000 problems. A link of a node to itself is left out, or a problem if nothing says what edges
        are.
        """
        for line in self._lines():
            if line.number == self.header.number:
                continue
            if len(self._problems) >= MOST_PROBLEMS:
                return
            if wrong := self._wrong(line):
                self._add_problem(line.number, *wrong)
                continue
            source, target = (line.cells[place].strip() for place in self._ends)
            if source == target:
                # Graphs that were made for other purposes have such edges.
                if self.meaning.edges is None:
                    right = "two nodes; with edges: downloads, or peers, such lines are left out"
                    self._add_problem(line.number, f"{source} -> {target}", "links a node to itself", right)
                continue
            yield line.number, source, target, self._attributes(line)

    def _wrong(self, line: EdgeLine) -> tuple[str, str, str] | None:
        """Return (field, what is wrong, what would be right) for a line whose columns are wrong; None if nothing is."""
        width, cells = len(self.header.cells), line.cells
        if len(cells) < 2:
            return "edge", f"{short_repr(' '.join(cells))} has one column", RIGHT
        if width and len(cells) != width:
            return "edge", f"has {len(cells)} columns, and the header {width}", "a value for each column"
        for end, place in zip(("source", "target"), self._ends, strict=True):
            if not cells[place].strip():
                return end, "missing", "the name of a node"
            if "\n" in cells[place]:
                return (
                    end,
                    f"{short_repr(cells[place])} has several lines",
                    'a " at the end of a name that begins with one',
                )
        if not width and any(cell.strip() and not NUMBER.fullmatch(cell) for cell in cells[2:]):
            return "edge", f"has {len(cells)} columns, and there is no header", RIGHT
        return None

    def _attributes(self, line: EdgeLine) -> dict[str, Any]:
        """Return the attributes of the link in a line: kind, both and delay by name, as far as they are given.

        Those that all edges have are among them. Lines with equal columns get the same dictionary, not to be changed.
        """
        cells = tuple(line.cells[place] for place in self._columns)
        if cells in self._attributes_known and not line.attributes:
            return self._attributes_known[cells]
        values = {key: _value(cell) for key, cell in zip(self._columns.values(), cells, strict=True)}
        directed = TYPES.get(str(values.pop("type", "")).strip().lower(), True)
        for key in line.attributes:
            self._check_name(line.number, str(key))
        values |= {key: value for key, value in line.attributes.items() if key in LINK_KEYS}
        result = self.meaning.link(directed) | {key: value for key, value in values.items() if value not in (None, "")}
        return result if line.attributes else self._attributes_known.setdefault(cells, result)

    def _header(self, first: EdgeLine) -> EdgeLine:
        """Return the first line if it is a header, else a line 0 without columns.

        A header names a source and a target; words alone are one too if all ends below it are numbers.
        """
        words = {cell.strip().lower() for cell in first.cells}
        no_header = EdgeLine(0, [], {})
        if words & SOURCES and words & TARGETS:
            return first
        if len(first.cells) < 2 or any(map(NUMBER.fullmatch, first.cells[:2])):
            return no_header
        below = (line for line in self._lines() if line.number != first.number)
        second = next(below, None)
        if second is None or not _has_numbered_ends(second) or not all(map(_has_numbered_ends, below)):
            return no_header
        return first

    def _places(self) -> tuple[tuple[int, int], dict[int, str]]:
        """Return the places of the columns of source and target, and those of attributes with their names.

        Raise DocumentError if the header names one twice, or something that looks like a misspelt attribute.
        """
        names = [cell.strip().lower() for cell in self.header.cells]
        ends = []
        for otherwise, (end, words) in enumerate((("source", SOURCES), ("target", TARGETS))):
            places = [place for place, name in enumerate(names) if name in words]
            if len(places) > 1:
                self._add_problem(self.header.number, end, "is given twice", f"one of {names[places[0]]} and others")
            ends.append(places[0] if places else otherwise)
        for name in names:
            self._check_name(self.header.number, name)
        if self._problems:
            raise DocumentError(self._problems, len(self._problems) < MOST_PROBLEMS)
        columns = {place: name for place, name in enumerate(names) if name in LINK_KEYS | {"type"}}
        return (ends[0], ends[1]), columns

    def _check_name(self, line: int, name: str) -> None:
        """Keep a problem if the name of an attribute is a law of nodes, or looks like a misspelt one of links."""
        if name in PROCESSES:
            self._add_problem(line, name, *misplaced_law(name))
        elif name not in LINK_KEYS and (hint := misspelling_hint(name, LINK_KEYS)):
            self._add_problem(line, name, f"unknown field {short_repr(name)}", hint)

    def _add_problem(self, line: int, field: str, wrong: str, right: str) -> None:
        """Add a problem of a `field` at the line of this number: what is `wrong` with it, and what would be `right`."""
        source = self.source_lines[line - 1] if len(self._problems) < MOST_PROBLEMS else None
        self._problems.append(Problem(self.name, line, 1, field, wrong, right, source))

    @cached_property
    def source_lines(self) -> tuple[str, ...]:
        """The texts of all lines of the file, without line breaks, to be shown in errors."""
        return tuple(io.StringIO(self._text, newline=None).read().split("\n"))

    def _lines(self) -> Iterator[EdgeLine]:
        """Yield the lines that are neither blank nor comments, split at tabs, commas or semicolons, or else at spaces.

        Raise DocumentError if the text is no CSV, or has braces that hold no attributes.
        """
        rows = io.StringIO(self._text, newline=None)
        first = next((row for row in rows if row.strip() and not row.lstrip().startswith(COMMENTS)), "")
        delimiter = max(DELIMITERS, key=first.partition("{")[0].count)
        if delimiter not in first.partition("{")[0]:
            delimiter = " "
        rows.seek(0)
        if delimiter == " " or ("{" in first and first.rstrip().endswith("}")):
            yield from self._plain_lines(rows, None if delimiter == " " else delimiter)
            return
        reader = csv.reader(rows, delimiter=delimiter, skipinitialspace=True)
        try:
            for cells in reader:
                if any(map(str.strip, cells)) and not cells[0].lstrip().startswith(COMMENTS):
                    yield EdgeLine(reader.line_num, cells, {})
        except csv.Error as error:
            wrong = f"is not CSV: {error}"
            raise DocumentError([Problem(self.name, reader.line_num, 1, "file", wrong, RIGHT)]) from None

    def _plain_lines(self, rows: Iterator[str], delimiter: str | None) -> Iterator[EdgeLine]:
        """Yield lines whose columns are split at the delimiter (None: at spaces), perhaps with attributes in braces.

        `rows` are all lines of the file. Raise DocumentError at braces that hold no attributes.
        """
        for number, row in enumerate(rows, 1):
            row = row.strip()
            if not row or row.startswith(COMMENTS):
                continue
            head, brace, tail = row.partition("{")
            if not brace or not row.endswith("}"):
                yield EdgeLine(number, row.split(delimiter), {})
                continue
            attributes = _in_braces(brace + tail)
            if attributes is None:
                wrong = f"{short_repr(brace + tail)} are no attributes"
                problem = Problem(self.name, number, 1, "edge", wrong, "such as {'delay': 0.05}", row)
                raise DocumentError([problem])
            yield EdgeLine(number, head.rstrip(f" \t{delimiter or ''}").split(delimiter), attributes)


@lru_cache(maxsize=1_000)
def _in_braces(text: str) -> dict[str, Any] | None:
    """Return the attributes in a text such as {'delay': 0.05}, as NetworkX writes them; None if it is no dictionary."""
    try:
        values = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return {str(key): value for key, value in values.items()} if isinstance(values, dict) else None


def _has_numbered_ends(line: EdgeLine) -> bool:
    """Whether the first two columns of a line are numbers."""
    return len(line.cells) > 1 and all(map(NUMBER.fullmatch, line.cells[:2]))


def _value(cell: str) -> Any:
    """Return the number that a cell holds, as a float, else its text without space around it."""
    text = cell.strip()
    return float(text) if NUMBER.fullmatch(text) else text
