"""Recorded event times from a file: plain numbers, one to a line, or a column of CSV.

Times are numbers in any unit or ISO 8601 dates (without a zone: UTC), which become
seconds. Empty lines and lines that start with # are skipped.
"""

from __future__ import annotations

import csv
import math
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path

import numpy as np

from replnet.laws.discrete import Empirical
from replnet.laws.law import Floats, Law, family
from replnet.laws.processes.sequences import Cycle
from replnet.text.errors import FieldError
from replnet.text.grammar import number, quoted

TIME_COLUMNS = ("timestamp", "time", "date", "datetime", "instant")
Line = tuple[int, str]  # its number in the file, from 1


@family("trace(file=updates.csv)")
def trace(file: str | Path, *, column: str | int | None = None, order: str = "shuffled") -> Law:
    """The intervals between the events recorded in `file`, each as likely as any other, or as they follow one another.

    `column` is a header's name or a number from 1; without it, the column called timestamp, time or
    date, else the first. With `order` "recorded" the record is played over and over, from anywhere in it.

    >>> from pathlib import Path
    >>> _ = Path("events.csv").write_text("time\\n0\\n1\\n3\\n4\\n")
    >>> rn.trace(file="events.csv").rate
    0.75
    """
    if not isinstance(file, (str, Path)) or not str(file):
        raise FieldError("file", f"{file!r} is not a file name", "a path such as data/updates.csv")
    if order not in ("shuffled", "recorded"):
        raise FieldError("order", f"{order!r} is no order", "shuffled or recorded")
    path = Path(file)
    intervals = np.diff(read_times(path, column))
    if not intervals.any():
        raise FieldError("file", f"{path} has fewer than 2 instants with an event", "2 or more")
    said = "" if column is None else f", column={number(column) if isinstance(column, int) else quoted(column)}"
    law = Empirical.recorded(intervals, f"trace(file={quoted(str(path))}{said})")
    if order == "shuffled":
        return law
    return Cycle(law, f"{law.text[:-1]}, order=recorded)", intervals[intervals > 0])


def read_times(path: Path, column: str | int | None = None) -> Floats:
    """The event times in `path`, which ascend there."""
    entries = _entries(path, column)
    times = _numbers(path, entries)
    if times.size < 2:
        raise FieldError("file", f"{path} has {times.size} event{'s'[: times.size != 1]}", "2 or more")
    back = np.flatnonzero(np.diff(times) < 0)
    if back.size:
        line, _ = entries[back[0] + 1]
        raise FieldError("file", f"{path}:{line}: earlier than the event before it", "times in order")
    return times


def _read(path: Path) -> str:
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


def _entries(path: Path, column: str | int | None) -> list[Line]:
    """The text of each event's time."""
    lines = _read(path).splitlines()
    kept = [(place, line) for place, line in enumerate(lines, 1) if line.strip() and not line.lstrip().startswith("#")]
    if not kept:
        return []
    mark = next((mark for mark in ",;\t" if mark in kept[0][1]), None)
    if mark is None and column is None:
        return kept[_is_header(kept[0][1]) :]
    rows = csv.reader((line for _, line in kept), delimiter=mark or ",")
    first = next(rows)
    place = _column(path, [name.strip() for name in first], column)
    headed = isinstance(column, str) or _is_header(first[place])
    found = []
    for (line, _), row in islice(zip(kept, chain([first], rows), strict=False), headed, None):
        if place >= len(row):
            raise FieldError("file", f"{path}:{line}: has {len(row)} columns", f"at least {place + 1}")
        found.append((line, row[place]))
    return found


def _column(path: Path, first: list[str], column: str | int | None) -> int:
    """Where the times stand, given the first line."""
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
    return bool(text.strip()) and _time(text) is None and text.lstrip()[0] not in "0123456789+-."


def _numbers(path: Path, entries: list[Line]) -> Floats:
    try:
        times = np.array([text for _, text in entries], dtype=float)
        if np.isfinite(times).all():
            return times
    except ValueError:
        pass
    # Not all plain numbers: one by one, to read dates and to name the line that is neither.
    values = []
    for line, text in entries:
        time = _time(text)
        if time is None:
            wrong = f"{path}:{line}: {text.strip()[:40]!r} is not a time"
            raise FieldError("file", wrong, "a number or an ISO 8601 date")
        values.append(time)
    return np.array(values, dtype=float)


def _time(text: str) -> float | None:
    """A number, or the seconds since 1970 of a date; None for anything else."""
    try:
        time = float(text)
    except ValueError:
        try:
            date = datetime.fromisoformat(text.strip())
        except ValueError:
            return None
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    return time if math.isfinite(time) else None
