"""Tables as values, made once for each thing that is shown: on a terminal, in a report, in the browser.

A cell is a value, and the kind of its column says how it is written:

    text       words
    value      the value of an axis, or one that a paper prints
    number     a value that was measured
    predicted  a pair: a predicted value, and its accuracy or None
    basis      a pair: the kind and the source of a prediction
    interval   a pair: the low and the high end
    deviation  a number of standard errors
    verdict    a word on how two values compare

A cell without a value is None or an empty text. This module writes lines of text, and Markdown; `report.html_table`
writes HTML, and `web.frame` tables in the browser.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress, zip_longest
from typing import Any, Literal, TypeAlias, final

from replnet.show.theme import VERDICTS
from replnet.text import axis_text, csv_text, escape_unprintable, finite_or_nan, standard_errors_text, text, value_text

Kind: TypeAlias = Literal["text", "value", "number", "predicted", "basis", "interval", "deviation", "verdict"]

COLUMN_GAP = 2  # letters between columns
# The columns of pairs in CSV: what stands behind the title.
PAIRS: Mapping[str, tuple[str, str]] = {
    "predicted": ("", "accuracy"), "basis": ("kind", "source"), "interval": ("low", "high"),
}  # fmt: skip
VERDICT_ORDER = {"failed": 0, "differ": 1, "unresolved": 2}  # the bad ones first, before all others
NUMERIC = re.compile(r"[-+±.,%\de ]*|nan|inf")  # cells that are never wrapped
LAST_DIGIT = 1e-5  # that is shown of a number below 10
# Columns of the rows of results and sweeps: title, kind, and the names of the values that a cell has.
RESULT_COLUMNS: tuple[tuple[str, Kind, tuple[str, ...]], ...] = (
    ("group", "text", ("group",)),
    ("metric", "text", ("metric",)),
    ("measured", "number", ("measured",)),
    ("95 % interval", "interval", ("ci_low", "ci_high")),
    ("predicted", "predicted", ("predicted", "accuracy")),
    ("z", "deviation", ("z",)),
    ("verdict", "verdict", ("verdict",)),
    ("kind", "text", ("kind",)),
    ("source", "text", ("source",)),
    ("printed", "value", ("printed",)),
    ("against print", "verdict", ("printed_verdict",)),
    ("expected", "value", ("expected",)),
    ("against expected", "verdict", ("expected_verdict",)),
    ("prediction", "basis", ("kind", "source")),
    ("note", "text", ("note",)),
)


@final
@dataclass(frozen=True)
class Table:
    """A table: the titles of its columns, a cell for each of these in every row, and notes that stand below it.

    `kinds` are those of columns by title, as the head of this module lists them; all others are of text.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    notes: Sequence[str] = ()
    kinds: Mapping[str, Kind] = field(default_factory=dict)

    def select(self, columns: Iterable[str]) -> Table:
        """Return the table with the columns of these titles alone, in this order."""
        titles = tuple(columns)
        places = [self.columns.index(title) for title in titles]
        return replace(self, columns=titles, rows=[[row[at] for at in places] for row in self.rows])

    @property
    def without_empty_columns(self) -> Table:
        """The table without columns in which every cell is empty."""
        has_cell = [any(row[at] not in (None, "") for row in self.rows) for at in range(len(self.columns))]
        return self.select(compress(self.columns, has_cell))

    @property
    def lines(self) -> list[list[str]]:
        """The texts of the titles, and those of the cells of every row, with control characters escaped."""
        kinds = [self.kinds.get(title, "text") for title in self.columns]
        rows = [[cell_text(cell, kind) for cell, kind in zip(row, kinds, strict=True)] for row in self.rows]
        return [[escape_unprintable(cell) for cell in line] for line in (self.columns, *rows)]

    def text(self, width: int | None = None, paint: Callable[[str], str] = str) -> str:
        """Return the table as lines of text, without notes, with the texts of all cells as `paint` returns them.

        Columns are as wide as their cells, or narrower so that lines have `width` letters (None: any number): words
        are wrapped, numbers never.
        """
        parts = _even_lines(self.lines, width)
        painted = ((paint(cell.rstrip()) + " " * (len(cell) - len(cell.rstrip())) for cell in cells) for cells in parts)
        return "\n".join((" " * COLUMN_GAP).join(cells).rstrip() for cells in painted)

    @property
    def markdown(self) -> str:
        """The table as Markdown, without notes."""
        lines = [[cell.replace("|", r"\|") for cell in line] for line in self.lines]
        return "\n".join(f"| {' | '.join(cells)} |" for cells in _even_lines(lines, None))

    @property
    def csv(self) -> str:
        """The table as CSV, without notes, with all digits of numbers.

        An interval has a column for each of its ends, and a prediction one for its value and one for its accuracy.
        """
        import pandas as pd

        columns: dict[str, list[Any]] = {}
        for at, title in enumerate(self.columns):
            cells, names = [row[at] for row in self.rows], PAIRS.get(self.kinds.get(title, "text"), ())
            if not names:
                columns[title] = cells
            for place, name in enumerate(names):
                columns[f"{title} {name}".strip()] = [None if cell is None else cell[place] for cell in cells]
        return csv_text(pd.DataFrame(columns))

    @property
    def records(self) -> list[dict[str, Any]]:
        """The rows, each a mapping from title to plain data, for the browser: numbers have five digits, verdicts their
        signs.
        """
        kinds = [self.kinds.get(title, "text") for title in self.columns]
        cells = [[_browser_cell(cell, kind) for cell, kind in zip(row, kinds, strict=True)] for row in self.rows]
        return [dict(zip(self.columns, line, strict=True)) for line in cells]


def result_table(
    rows: Sequence[Mapping[str, Any]], axes: Sequence[str] = (), more: Mapping[str, Sequence[Any]] | None = None
) -> Table:
    """Return the table of rows of a result or a sweep, as plain data, with every column that it may have.

    Its first columns are the axes, which the rows have by name, and `more`: the cells of further columns by title. What
    a row does not have, or has as NaN, is an empty cell.
    """

    def cell(row: Mapping[str, Any], names: Sequence[str]) -> Any:
        """Return the value in these columns of a row: a pair of two; None if there is none, or none of the first."""
        values = [None if text(value := row.get(name)) == "" else value for name in names]
        return values[0] if len(values) == 1 or values[0] is None else tuple(values)

    columns = [*((name, "value", (name,)) for name in axes), *(row for row in RESULT_COLUMNS if row[0] not in axes)]
    further = list(zip(*(more or {}).values(), strict=True)) or [()] * len(rows)
    cells = [[*first, *(cell(row, names) for *_, names in columns)] for row, first in zip(rows, further, strict=True)]
    kinds: dict[str, Any] = {title: kind for title, kind, _ in columns}
    return Table([*(more or {}), *kinds], cells, kinds=kinds)


def badness(row: Mapping[str, Any]) -> tuple[int, float]:
    """Return a key that sorts rows, as plain data, by their verdicts, the bad ones first, and then the largest |z|
    first.
    """
    z = finite_or_nan(row.get("z"))
    return VERDICT_ORDER.get(text(row.get("verdict")), len(VERDICT_ORDER)), 0.0 if math.isnan(z) else -abs(z)


def cell_text(cell: Any, kind: Kind) -> str:
    """Return a cell of a column of this kind as text, as a terminal shows it; empty if there is no value."""
    if cell is None:
        return ""
    match kind:
        case "text" | "verdict":
            return str(cell)
        case "value":
            return axis_text(cell)
        case "number":
            return value_text(cell)
        case "predicted":
            value, accuracy = cell
            # An accuracy below the rounding of the text says nothing.
            matters = accuracy and accuracy >= LAST_DIGIT / 2 * max(1.0, abs(value) / 10)
            return value_text(value) + (f" ± {accuracy:.2g}" if matters else "")
        case "basis":
            return ", ".join(filter(None, cell))
        case "interval":
            return " .. ".join(map(value_text, cell))
        case "deviation":
            return standard_errors_text(cell)


def _browser_cell(cell: Any, kind: Kind) -> Any:
    """Return a cell of a column of this kind as a value that a browser shows and sorts by: a number, a text or None.

    Numbers are rounded to five digits, and of a prediction there is the value alone.
    """
    if kind == "verdict" and cell:
        return " ".join(filter(None, (VERDICTS.get(cell, ("", ""))[1], cell)))
    if kind == "predicted" and cell:
        cell = cell[0]
    if isinstance(cell, float):
        return float(f"{cell:.5g}") if math.isfinite(cell) else cell
    return cell_text(cell, kind) if isinstance(cell, tuple) else cell


def _even_lines(lines: Sequence[Sequence[str]], most: int | None) -> Iterator[list[str]]:
    """Yield lines whose cells are padded to the width of their columns, with a line of hyphens below the first.

    Words are wrapped, so that a line gives several, if lines would exceed `most` letters (None: no limit).
    """
    widths = _widths(lines, most)
    for line in (lines[0], ["-" * width for width in widths], *lines[1:]):
        for parts in zip_longest(*map(_wrap, line, widths), fillvalue=""):
            yield [part.ljust(width) for part, width in zip(parts, widths, strict=True)]


def _wrap(cell: str, width: int) -> list[str]:
    """Return a cell as lines of at most `width` letters, broken between words; only a longer word exceeds them."""
    return textwrap.wrap(cell, width, break_long_words=False, break_on_hyphens=False) if len(cell) > width else [cell]


def _widths(lines: Sequence[Sequence[str]], most: int | None) -> list[int]:
    """Return the width of each column of `lines`, in letters: that of its longest cell, or less so that lines fit.

    The widest columns get narrower, until a line has `most` letters (None: no limit), but none narrower than a number
    or a word in it.
    """
    columns = list(zip(*lines, strict=True))
    words = [[[cell] if NUMERIC.fullmatch(cell) else cell.split() for cell in column] for column in columns]
    least = [max(len(word) for cell in column for word in cell or [""]) for column in words]
    widths = [max(map(len, column)) for column in columns]
    excess = 0 if most is None else sum(widths) + COLUMN_GAP * (len(widths) - 1) - most
    while excess > 0 and (wide := [(width, at) for at, width in enumerate(widths) if width > least[at]]):
        widths[max(wide)[1]] -= 1
        excess -= 1
    return widths
