"""Recorded times as they stand in files: a column of CSV or of plain lines, and the times that are written in it.

Times are numbers in any unit, or ISO 8601 dates (without a zone: UTC), which become seconds since 1970. Of lines, empty
ones and those that start with # are skipped.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, final

import numpy as np

from replnet.laws import Floats
from replnet.text import FieldError, convert_times

TIME_COLUMNS = ("timestamp", "time", "date", "datetime", "instant")
FIRST_DATE, LAST_DATE = 631_152_000.0, 4_102_444_800.0  # 1990 and 2100, in seconds since 1970


@final
class RecordRow(NamedTuple):
    """The cells of a line of a file, and its number, from 1."""

    line: int
    cells: list[str]


@final
class Time(NamedTuple):
    """A time: a number, or the seconds since 1970 of a date. `zoned` says if the date has a zone; None of a number."""

    value: float
    zoned: bool | None = None


def read_rows(lines: Iterable[str]) -> list[RecordRow]:
    """Return the rows of a table, cut into cells at commas, or else at semicolons or tabs, whichever its first row has.

    If that has none of these, every row is a single cell. Lines that are empty or start with # are left out.
    """
    content = [(n, line) for n, line in enumerate(lines, 1) if line.strip() and not line.lstrip().startswith("#")]
    mark = next((mark for mark in ",;\t" if content and mark in content[0][1]), None)
    if mark is None:
        return [RecordRow(n, [line]) for n, line in content]
    rows = csv.reader((line for _, line in content), delimiter=mark)
    return [RecordRow(n, cells) for (n, _), cells in zip(content, rows, strict=False)]


def find_column(file: str, names: Sequence[str], column: str | None = None) -> int:
    """Return the index, from 0, of `column` among the names of columns; without one, of the first with a usual name.

    Usual names are timestamp, time, date, datetime and instant, in this order; if no column has one, it is the first.
    Raise a FieldError, which names `file`, if there is no such column.
    """
    stripped = [name.strip() for name in names]
    if column is None:
        lowered = [name.lower() for name in stripped]
        return next((lowered.index(name) for name in TIME_COLUMNS if name in lowered), 0)
    if column not in stripped:
        raise FieldError(file, f"has no column {column!r}", f"one of {', '.join(stripped)}")
    return stripped.index(column)


def time_cells(file: str, rows: Sequence[RecordRow], index: int, headed: bool = False) -> list[tuple[int, str]]:
    """Return the cells in the column `index`, each with the number of its line, without that of a header.

    The first row is one if the table is `headed`, or if its cell is neither a time nor begins like a number. Raise a
    FieldError, which names `file` and the line, if a row is too short.
    """
    for row in rows:
        if index >= len(row.cells):
            raise FieldError(f"{file}:{row.line}", f"has {len(row.cells)} columns", f"at least {index + 1}")
    cells = [(row.line, row.cells[index]) for row in rows]
    return cells[headed or (bool(cells) and _is_header(cells[0][1])) :]


def _is_header(text: str) -> bool:
    """Whether a text is a header: neither a time nor something that begins like a number."""
    return bool(text.strip()) and parse_time(text) is None and text.lstrip()[0] not in "0123456789+-."


def parse_time(written: object) -> Time | None:
    """Return the time that a number, a text or a datetime says; None if it says none, or is not finite."""
    if isinstance(written, str):
        text = written.strip()
        try:
            written = float(text)
        except ValueError:
            try:
                written = datetime.fromisoformat(text)
            except ValueError:
                return None
    if isinstance(written, datetime):
        if written != written:  # what pandas has for no time
            return None
        dated = written if written.tzinfo else written.replace(tzinfo=UTC)
        return Time(dated.timestamp(), written.tzinfo is not None)
    if isinstance(written, bool) or not isinstance(written, (int, float)):
        return None
    try:
        value = float(written)
    except OverflowError:
        return None
    return Time(value) if math.isfinite(value) else None


def parse_numbers(written: Sequence[object]) -> Floats | None:
    """Return the finite numbers that all of these numbers and texts say, as an array; None if not all do.

    It is much faster than `parse_time` one by one.
    """
    if not {type(time) for time in written} <= {int, float, str}:
        return None
    try:
        values = np.array(written, dtype=float)
    except (ValueError, OverflowError):
        return None
    return values if np.isfinite(values).all() else None


def date_unit(times: Floats) -> str | None:
    """Return the unit, s, ms or us, in which all these numbers are times since 1970, from 1990 to 2100.

    None if they are no dates.
    """
    low, high = float(np.min(times)), float(np.max(times))
    return next(
        (
            unit
            for unit in ("s", "ms", "us")
            if convert_times(FIRST_DATE, "s", unit) <= low and high <= convert_times(LAST_DATE, "s", unit)
        ),
        None,
    )
