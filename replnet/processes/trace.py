"""Recorded event times from a file: plain numbers, one to a line, or a column of CSV.

Times are numbers in any unit or dates, whose intervals are seconds of real time: ISO 8601 dates, and numbers that all
are seconds, milliseconds or microseconds since 1970 from 1990 to 2100, whatever their column is called.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from replnet.laws import Empirical, Floats, Law, family
from replnet.processes.recorded_times import date_unit, find_column, parse_numbers, parse_time, read_rows, time_cells
from replnet.processes.sequences import Cycle
from replnet.text import MICROSECONDS, FieldError, convert_times, number_text, quote


@family("trace(file=updates.csv)")
def trace(
    file: str | Path, *, column: str | int | None = None, unit: str | None = None, order: str = "shuffled"
) -> Law:
    """Return the law of the intervals between the events in `file`, in any order, or the process that plays them again.

    `column` is a header's name or a number from 1; without it, the column called timestamp, time or date, else the
    first. With `order` "shuffled" each interval is as likely as any other, whatever came before; with "recorded" the
    record is played over and over, from a random place in it.

    `unit` is the unit of the intervals, such as h. Dates are converted to it, to seconds if left out; plain numbers are
    in that unit already, or in any if left out. A network converts a law that has a unit to its own.

    >>> from pathlib import Path
    >>> _ = Path("events.csv").write_text("time\\n0\\n1\\n3\\n4\\n")
    >>> rn.trace(file="events.csv").rate
    0.75
    >>> _ = Path("dates.csv").write_text("2026-01-01T00:00\\n2026-01-01T01:00\\n2026-01-01T04:00\\n")
    >>> rn.trace(file="dates.csv"), rn.trace(file="dates.csv").mean
    (trace(file="dates.csv", unit=s), 7200.0)
    """
    if not isinstance(file, (str, Path)) or not str(file):
        raise FieldError("file", f"{file!r} is not a file name", "a path such as data/updates.csv")
    if order not in ("shuffled", "recorded"):
        raise FieldError("order", f"{order!r} is no order", "shuffled or recorded")
    if not (unit is None or (isinstance(unit, str) and unit in MICROSECONDS)):
        raise FieldError("unit", f"{unit!r} is no unit of time", f"one of {', '.join(MICROSECONDS)}")
    path = Path(file)
    times, date_unit_found = read_times(path, column)
    intervals = np.diff(times)
    if not intervals.any():
        raise FieldError("file", f"{path} has fewer than 2 instants with an event", "2 or more")
    if date_unit_found is not None:
        intervals, unit = convert_times(intervals, date_unit_found, unit or "s"), unit or "s"
    column_text = (
        "" if column is None else f", column={number_text(column) if isinstance(column, int) else quote(column)}"
    )
    law = Empirical.from_record(intervals, f"trace(file={quote(str(path))}{column_text})", unit)
    return law if order == "shuffled" else Cycle(law, f"{str(law)[:-1]}, order=recorded)", intervals[intervals > 0])


def read_times(path: Path, column: str | int | None = None) -> tuple[Floats, str | None]:
    """Return the event times in a file, which must not descend there, and the unit of dates, None for other numbers.

    Dates, in ISO 8601 or as numbers that lie from 1990 to 2100, count since 1970 in s, ms or us. `column` is a header's
    name or a number from 1; without it, the column with a usual name, such as timestamp, else the first. Raises a
    FieldError if the file cannot be read so, or has fewer than 2 events.
    """
    rows = read_rows(_read_text(path).splitlines())
    index = _column_index(path, rows[0].cells, column) if rows else 0
    try:
        cells = time_cells(str(path), rows, index, isinstance(column, str))
    except FieldError as error:
        raise FieldError("file", f"{error.field}: {error.wrong}", error.right) from None
    times, unit = _parse_times(path, cells)
    if times.size < 2:
        raise FieldError("file", f"{path} has {times.size} event{'s'[: times.size != 1]}", "2 or more")
    descents = np.flatnonzero(np.diff(times) < 0)
    if descents.size:
        line, _ = cells[descents[0] + 1]
        raise FieldError("file", f"{path}:{line}: earlier than the event before it", "times in order")
    return times, unit


def _read_text(path: Path) -> str:
    """Return the text of a file; raise FieldError if it cannot be read, or is no text."""
    try:
        if not path.is_file():
            wrong = "is a directory" if path.is_dir() else "does not exist"
            raise FieldError("file", f"{path} {wrong}", "a file of event times")
        content = path.read_bytes()
    except FieldError:
        raise
    except (OSError, ValueError) as error:
        raise FieldError("file", f"{path} cannot be read: {error}", "a readable file") from None
    try:
        if b"\0" in content:
            raise ValueError
        return content.decode("utf-8-sig")
    except ValueError:
        raise FieldError("file", f"{path} is not text", "event times, one to a line, or CSV") from None


def _column_index(path: Path, names: list[str], column: str | int | None) -> int:
    """Return the index of the times in a row, given the texts of the first row, which may be the `names` of columns.

    `column` is one of these texts, or a number from 1; without it, the first usual name, such as timestamp, else the
    first column. Raise a FieldError, which names `path`, if there is no such column.
    """
    if isinstance(column, bool) or not isinstance(column, (int, str, type(None))):
        raise FieldError("column", f"{column!r} is not a column", "a name of the header, or a number from 1")
    if isinstance(column, int):
        if not 1 <= column <= len(names):
            raise FieldError("column", f"{path} has no column {column}", f"1 to {len(names)}")
        return column - 1
    try:
        return find_column(str(path), names, column)
    except FieldError as error:
        raise FieldError("column", f"{path} {error.wrong}", error.right) from None


def _parse_times(path: Path, cells: list[tuple[int, str]]) -> tuple[Floats, str | None]:
    """Return the times, and the unit in which they count since 1970 if they are dates; None if they are plain numbers.

    Raise a FieldError, which names `path` and a line, if one is no time, or if dates and numbers are mixed.
    """
    times = parse_numbers([text for _, text in cells])
    if times is not None:
        return times, date_unit(times) if times.size else None
    # Not all plain numbers: one by one, to read dates and to name the line that is none.
    values, kinds = [], []
    for line, text in cells:
        time = parse_time(text)
        if time is None:
            wrong = f"{path}:{line}: {text.strip()[:40]!r} is not a time"
            raise FieldError("file", wrong, "a number or an ISO 8601 date")
        values.append(time.value)
        kinds.append("number" if time.zoned is None else "date")
        if kinds[-1] != kinds[0]:
            raise FieldError("file", f"{path}:{line}: a {kinds[-1]} after a {kinds[0]}", "one or the other")
    return np.array(values, dtype=float), "s"
