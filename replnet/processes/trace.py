"""Recorded event times from a file: plain numbers, one to a line, or a column of CSV.

Times are numbers in any unit or dates, whose intervals are seconds of real time: ISO 8601 dates (without a zone: UTC),
and numbers that all are seconds, milliseconds or microseconds since 1970 from 1990 to 2100, whatever their column is
called. Empty lines and lines that start with # are skipped.
"""

from __future__ import annotations

import csv
import math
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path

import numpy as np

from replnet.laws import Empirical, Floats, Law, family
from replnet.processes.sequences import Cycle
from replnet.text import MICROSECONDS, FieldError, convert_times, number_text, quote

FIRST_DATE, LAST_DATE = 631_152_000.0, 4_102_444_800.0  # 1990 and 2100, in seconds since 1970
TIME_COLUMNS = ("timestamp", "time", "date", "datetime", "instant")
Line = tuple[int, str]  # its number in the file, from 1


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


def read_times(path: Path, column: str | int | None = None) -> tuple[Floats, str | None]:
    """Return the event times in a file, which must ascend there, and their unit if they are dates, else None.

    `column` is a header's name or a number from 1; without it, the column with a usual name, such as timestamp, else
    the first. Raises a FieldError if the file cannot be read so, or has fewer than 2 events.
    """
    entries = _read_entries(path, column)
    times, unit = _parse_times(path, entries)
    if times.size < 2:
        raise FieldError("file", f"{path} has {times.size} event{'s'[: times.size != 1]}", "2 or more")
    descents = np.flatnonzero(np.diff(times) < 0)
    if descents.size:
        line, _ = entries[descents[0] + 1]
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


def _read_entries(path: Path, column: str | int | None) -> list[Line]:
    """Return the text of each event's time in a file, with the number of its line.

    `column` is a header's name or a number from 1; without it, the column with a usual name, else the first. Empty
    lines, comments and the header are left out. Raise a FieldError if the file cannot be read, or lacks the column.
    """
    lines = _read_text(path).splitlines()
    content = [
        (place, line) for place, line in enumerate(lines, 1) if line.strip() and not line.lstrip().startswith("#")
    ]
    if not content:
        return []
    separator = next((separator for separator in ",;\t" if separator in content[0][1]), None)
    if separator is None and column is None:
        return content[_is_header(content[0][1]) :]
    rows = csv.reader((line for _, line in content), delimiter=separator or ",")
    first = next(rows)
    place = _find_column(path, [name.strip() for name in first], column)
    has_header = isinstance(column, str) or _is_header(first[place])
    entries = []
    for (line, _), row in islice(zip(content, chain([first], rows), strict=False), has_header, None):
        if place >= len(row):
            raise FieldError("file", f"{path}:{line}: has {len(row)} columns", f"at least {place + 1}")
        entries.append((line, row[place]))
    return entries


def _find_column(path: Path, first: list[str], column: str | int | None) -> int:
    """Return the index of the times in a row, given the texts of the `first` row.

    `column` is one of these texts, or a number from 1; without it, the first usual name, such as timestamp, else the
    first column. Raise a FieldError, which names `path`, if there is no such column.
    """
    if isinstance(column, bool) or not isinstance(column, (int, str, type(None))):
        raise FieldError("column", f"{column!r} is not a column", "a name of the header, or a number from 1")
    if isinstance(column, int):
        if not 1 <= column <= len(first):
            raise FieldError("column", f"{path} has no column {column}", f"1 to {len(first)}")
        return column - 1
    if isinstance(column, str):
        if column not in first:
            raise FieldError("column", f"{path} has no column {column!r}", "one of " + ", ".join(first))
        return first.index(column)
    lowered = [name.lower() for name in first]
    return next((lowered.index(name) for name in TIME_COLUMNS if name in lowered), 0)


def _is_header(text: str) -> bool:
    """Whether a text is a header: neither a time nor something that begins like a number."""
    return bool(text.strip()) and _parse_time(text) is None and text.lstrip()[0] not in "0123456789+-."


def _parse_times(path: Path, entries: list[Line]) -> tuple[Floats, str | None]:
    """Return the times, and the unit in which they count since 1970 if they are dates; None if they are plain numbers.

    Raise a FieldError, which names `path` and a line, if one is no time, or if dates and numbers are mixed.
    """
    try:
        times = np.array([text for _, text in entries], dtype=float)
        if np.isfinite(times).all():
            return times, date_unit(times) if times.size else None
    except ValueError:
        pass
    # Not all plain numbers: one by one, to read dates and to name the line that is none.
    values, kinds = [], []
    for line, text in entries:
        time = _parse_time(text)
        if time is None:
            wrong = f"{path}:{line}: {text.strip()[:40]!r} is not a time"
            raise FieldError("file", wrong, "a number or an ISO 8601 date")
        values.append(time[0])
        kinds.append(time[1])
        if kinds[-1] != kinds[0]:
            raise FieldError("file", f"{path}:{line}: a {kinds[-1]} after a {kinds[0]}", "one or the other")
    return np.array(values, dtype=float), "s"


def _parse_time(text: str) -> tuple[float, str] | None:
    """Return the number, or the seconds since 1970 of a date, with the word "number" or "date"; None for other text."""
    try:
        time = float(text)
    except ValueError:
        try:
            date = datetime.fromisoformat(text.strip())
        except ValueError:
            return None
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp(), "date"
    return (time, "number") if math.isfinite(time) else None
