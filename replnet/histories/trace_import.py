"""Event times from what records them, as the plain CSV that `trace(file=...)` and `replnet audit` read.

Sources: CSV, text or Parquet with a column of times; JSON, as a list of times, of objects
with one, or as MediaWiki's API answers; MediaWiki's XML dumps (`mediawiki`); and the
history of a path in a git repository. Times are ISO 8601 dates, whose offsets count, or
numbers, which are seconds since 1970 unless their size or `unit` says otherwise.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO, final

import numpy as np
from numpy.typing import NDArray

from replnet.histories.git_history import GitError, commit_times
from replnet.histories.history import History
from replnet.histories.mediawiki import API_KEYS, pick, revisions_of_api, revisions_of_dump
from replnet.laws.trace import TIME_COLUMNS, read_times

Floats = NDArray[np.float64]
Entry = tuple[str, object]  # where it stands, and the time as it is written there

UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
SIZES = (("ns", 1e17), ("us", 1e14), ("ms", 1e11))  # of times since 1970, from 1973 on
KINDS = ("csv", "parquet", "json", "xml", "git")
ENDINGS = {".parquet": "parquet", ".pq": "parquet", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".xml": "xml"}
PACKED = (".gz", ".bz2", ".xz")


class TraceError(ValueError):
    """A record that cannot be read: where, what is wrong, what would be right."""

    def __init__(self, place: object, wrong: str, right: str) -> None:
        super().__init__(f"{place}: {wrong} ({right})")


@final
@dataclass(frozen=True, eq=False)
class Imported:
    """Event times in seconds, or in the record's own unit, ascending; and what had to be done to them."""

    times: Floats
    notes: tuple[str, ...]

    def write(self, to: TextIO) -> None:
        """One column with a header; whole seconds as whole numbers."""
        to.write("timestamp\n")
        to.writelines(f"{time:.0f}\n" if time == math.floor(time) else f"{time!r}\n" for time in self.times.tolist())


def import_trace(
    source: Path, *, kind: str | None = None, column: str | None = None, unit: str | None = None,
    path: str | None = None, page: str | None = None,
) -> Imported:  # fmt: skip
    """The events recorded in `source`, whose kind its name tells.

    `column` names the times in CSV and Parquet; `path` is a path in a git repository, `page` a title in a dump.
    """
    if not source.exists():
        raise TraceError(source, "does not exist", "a file of event times, or a git repository")
    kind = kind or _kind(source)
    if source.is_dir() and kind != "git":
        raise TraceError(source, "is a directory", "a file, or a git repository with --path")
    if (path is not None) != (kind == "git"):
        raise TraceError(source, "needs a path" if kind == "git" else "has no paths", "--path FILE of a git repository")
    if page is not None and kind not in ("xml", "json"):
        raise TraceError(source, "has no pages", "--page TITLE of a MediaWiki export")
    readers: dict[str, Callable[[], Iterable[Entry]]] = {
        "csv": lambda: _of_csv(source, column),
        "parquet": lambda: _of_parquet(source, column),
        "json": lambda: _of_json(source, page),
        "xml": lambda: revisions_of_dump(source, page),
        "git": lambda: _of_git(source, str(path)),
    }
    try:
        entries = list(readers[kind]())
    except UnicodeDecodeError:
        raise TraceError(source, "is not text", f"one of the kinds {', '.join(KINDS)}") from None
    except OSError as error:
        raise TraceError(source, f"cannot be read: {error.strerror or error}", "a readable file") from None
    return _ordered(source, *_seconds(source, entries, unit))


def _kind(source: Path) -> str:
    if source.is_dir():
        return "git"
    endings = [ending.lower() for ending in source.suffixes]
    if endings and endings[-1] in PACKED:
        endings.pop()
    return ENDINGS.get(endings[-1] if endings else "", "csv")


def _seconds(source: Path, entries: Sequence[Entry], unit: str | None) -> tuple[Floats, list[str]]:
    """All entries as numbers of one unit."""
    if not entries:
        raise TraceError(source, "has no events", "2 or more")
    numbers, zones, notes = [], dict[bool, str](), []
    dates = 0
    for place, written in entries:
        time, zoned = read_time(place, written)
        if zoned is not None:
            dates += 1
            zones.setdefault(zoned, place)
        numbers.append(time)
    if len(zones) == 2:
        raise TraceError(zones[False], "a date without a zone", f"an offset or Z, as at {zones[True]}")
    if dates and dates < len(entries):
        raise TraceError(source, f"{dates} dates among {len(entries) - dates} numbers", "one or the other")
    if False in zones:
        notes.append("dates have no zone: taken as UTC")
    times = np.array(numbers)
    if dates:
        return times, notes
    middle = float(np.median(np.abs(times)))
    guessed = unit or next((name for name, size in SIZES if middle >= size), "s")
    if guessed != "s" and unit is None:
        notes.append(f"times are taken as {guessed} since 1970, by their size")
    return times * UNITS[guessed], notes


def _ordered(source: Path, times: Floats, notes: list[str]) -> Imported:
    back = int(np.count_nonzero(np.diff(times) < 0))
    if back and back < times.size - 1 and not np.all(np.diff(times) <= 0):
        notes.append(f"out of order: {back}, sorted")
    times = np.sort(times)
    same = int(np.count_nonzero(np.diff(times) == 0))
    if same == times.size - 1:
        wrong = "has 1 event" if times.size == 1 else f"has {times.size} events of one instant"
        raise TraceError(source, wrong, "events at 2 or more instants")
    if same:
        notes.append(f"in the same instant as another: {same}, kept")
    return Imported(times, tuple(notes))


def recorded(file: Path) -> History:
    """The history in a file that `import_trace` wrote, or any other that `trace(file=...)` reads."""
    return History(read_times(file), str(file))


def read_time(place: str, written: object) -> tuple[float, bool | None]:
    """A number, or seconds since 1970 and whether the date said its zone."""
    right = "a number, or an ISO 8601 date such as 2024-05-01T12:00:00Z"
    if isinstance(written, datetime):
        if written != written:  # what pandas has for no time
            raise TraceError(place, "no time", right)
        return (written if written.tzinfo else written.replace(tzinfo=UTC)).timestamp(), written.tzinfo is not None
    if isinstance(written, bool) or not isinstance(written, (int, float, str)):
        raise TraceError(place, f"{str(written)[:40]!r} is not a time", right)
    try:
        time = float(written)
    except OverflowError:
        time = math.inf
    except ValueError:
        try:
            return read_time(place, datetime.fromisoformat(str(written).strip()))
        except ValueError:
            raise TraceError(place, f"{str(written).strip()[:40]!r} is not a time", right) from None
    if not math.isfinite(time):
        raise TraceError(place, f"{written} is not a time", right)
    return time, None


def _of_csv(source: Path, column: str | None) -> Iterator[Entry]:
    """Times in one column; lines that are empty or begin with # do not count."""
    with source.open(encoding="utf-8-sig", newline="") as file:
        kept = ((n, line) for n, line in enumerate(file, 1) if line.strip() and not line.lstrip().startswith("#"))
        first = next(kept, None)
        if first is None:
            return
        mark = next((mark for mark in ",;\t" if mark in first[1]), ",")
        names = [name.strip() for name in next(csv.reader([first[1]], delimiter=mark))]
        at, headed = _column(source, names, column)
        if not headed:
            yield f"{source}:{first[0]}", names[at]
        for n, line in kept:
            row = next(csv.reader([line], delimiter=mark))
            if at >= len(row):
                raise TraceError(f"{source}:{n}", f"has {len(row)} columns", f"at least {at + 1}")
            yield f"{source}:{n}", row[at]


def _column(source: Path, names: list[str], column: str | None) -> tuple[int, bool]:
    """Where the times stand, and whether the first line is a header."""
    if column is not None:
        if column not in names:
            raise TraceError(source, f"has no column {column!r}", "one of " + ", ".join(names))
        return names.index(column), True
    lowered = [name.lower() for name in names]
    known = next((lowered.index(name) for name in TIME_COLUMNS if name in lowered), None)
    if known is not None:
        return known, True
    try:
        read_time("", names[0])
    except TraceError:
        # A first line of words is a header; one that begins like a number is a bad time.
        return 0, bool(names[0]) and names[0][0].isalpha()
    return 0, False


def _of_parquet(source: Path, column: str | None) -> Iterator[Entry]:
    try:
        import pandas as pd

        table = pd.read_parquet(source, engine="pyarrow")
    except ImportError:
        raise TraceError(source, "needs pyarrow to be read", "pip install pyarrow, or write CSV") from None
    except ValueError as error:  # what pyarrow raises is one
        raise TraceError(source, f"is not Parquet: {str(error).splitlines()[0][:80]}", "a Parquet file") from None
    names = [str(name) for name in table.columns]
    if not names:
        raise TraceError(source, "has no columns", "a column of times")
    at, _ = _column(source, names, column)
    values = table.iloc[:, at].astype(object).tolist()
    yield from ((f"{source}: row {row}", value) for row, value in enumerate(values, 1))


def _of_json(source: Path, page: str | None) -> Iterator[Entry]:
    """A list of times, of objects with a time, or answers of MediaWiki; or one such per line."""
    text = source.read_text(encoding="utf-8-sig")
    data: Any
    try:
        data = json.loads(text)
    except RecursionError:
        raise TraceError(source, "is nested too deeply", "a list of times") from None
    except json.JSONDecodeError as error:
        try:
            data = [json.loads(line) for line in text.splitlines() if line.strip()]
        except json.JSONDecodeError:
            raise TraceError(f"{source}:{error.lineno}", f"is not JSON: {error.msg}", "a list of times") from None
    answers = data if isinstance(data, list) else [data]
    if any(isinstance(one, dict) and API_KEYS & one.keys() for one in answers):
        yield from pick(source, revisions_of_api(source, answers), page)
        return
    if page is not None:
        raise TraceError(source, "has no pages", "--page TITLE of a MediaWiki export")
    if not isinstance(data, list):
        raise TraceError(source, "is not a list", "a list of times, or an answer of MediaWiki's API")
    for place, one in enumerate(data, 1):
        yield f"{source}: entry {place}", _member(source, place, one) if isinstance(one, dict) else one


def _member(source: Path, place: int, one: dict[str, Any]) -> object:
    lowered = {str(name).lower(): value for name, value in one.items()}
    known = next((name for name in TIME_COLUMNS if name in lowered), None)
    if known is None:
        raise TraceError(f"{source}: entry {place}", "has no time", "one of the keys " + ", ".join(TIME_COLUMNS))
    return lowered[known]


def _of_git(repository: Path, path: str) -> Iterator[Entry]:
    if "\0" in path:
        raise TraceError(repository, f"{path!r} is not a path", "a path in the repository")
    try:
        stamps = commit_times(repository, path)
    except GitError as error:
        raise TraceError(repository, error.wrong, error.right) from None
    if not stamps:
        raise TraceError(repository, f"no commit changed {path}", "a path as `git log -- PATH` knows it")
    # Latest first, as git prints them.
    yield from ((f"{repository}: commit {place}", stamp) for place, stamp in enumerate(reversed(stamps), 1))
