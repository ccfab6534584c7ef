"""Event times, read from what records them, as the plain CSV that `trace(file=...)` and `replnet audit` read.

Sources: CSV, text or Parquet with a column of times; JSON, as a list of times, of objects
with one, or as MediaWiki's API answers; MediaWiki's XML dumps; and the history of a path in
a git repository.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import ArrayLike

from replnet.histories.git_history import commit_times
from replnet.histories.history import History
from replnet.histories.mediawiki import API_KEYS, OPENERS, api_entries, dump_entries
from replnet.histories.times import Entry, times_of_entries
from replnet.laws import Floats
from replnet.processes import TIME_COLUMNS, date_unit, find_column, read_rows, read_times, time_cells
from replnet.text import FieldError, convert_times, short_repr

KINDS = ("csv", "parquet", "json", "xml", "git")
ENDINGS = {".parquet": "parquet", ".pq": "parquet", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".xml": "xml"}


def import_trace(
    source: Path, *, kind: str | None = None, column: str | None = None, unit: str | None = None,
    path: str | None = None, page: str | None = None,
) -> tuple[Floats, list[str]]:  # fmt: skip
    """Return the times of events recorded in `source`, in ascending order, and notes on what was done to them.

    Times are seconds (dates: since 1970); small numbers stay in the record's own unit unless `unit` (s, ms, us, ns) is
    given, and large ones are taken as in one of these, by their size. `kind` (csv, parquet, json, xml or git) is told
    by the name unless given; `column` names the times in CSV and Parquet; `path` is a path in a git repository, `page`
    a title in a dump or an answer of MediaWiki, needed if that has several. Raises a FieldError if the source cannot be
    read so, or has events at fewer than 2 instants.
    """
    if not source.exists():
        raise FieldError(str(source), "does not exist", "a file of event times, or a git repository")
    kind = kind or _kind(source)
    if source.is_dir() and kind != "git":
        raise FieldError(str(source), "is a directory", "a file, or a git repository with --path")
    if (path is not None) != (kind == "git"):
        wrong = "needs a path" if kind == "git" else "has no paths"
        raise FieldError(str(source), wrong, "--path FILE of a git repository")
    if page is not None and kind not in ("xml", "json"):
        raise FieldError(str(source), "has no pages", "--page TITLE of a MediaWiki export")
    readers: dict[str, Callable[[], Iterable[Entry]]] = {
        "csv": lambda: _csv_entries(source, column),
        "parquet": lambda: _parquet_entries(source, column),
        "json": lambda: _json_entries(source, page),
        "xml": lambda: dump_entries(source, page),
        "git": lambda: _git_entries(source, str(path)),
    }
    try:
        entries = list(readers[kind]())
    except UnicodeDecodeError:
        raise FieldError(str(source), "is not text", f"one of the kinds {', '.join(KINDS)}") from None
    except OSError as error:
        raise FieldError(str(source), f"cannot be read: {error.strerror or error}", "a readable file") from None
    return _sort_times(str(source), *times_of_entries(str(source), entries, unit))


def write_times(times: Floats, to: TextIO) -> None:
    """Write times to an open text file, one a line, after the header timestamp; whole numbers without a point."""
    to.write("timestamp\n")
    to.writelines(f"{time:.0f}\n" if time == math.floor(time) else f"{time!r}\n" for time in times.tolist())


HistorySource = History | str | Path | ArrayLike


def history_of(source: HistorySource, name: str = "times") -> History:
    """Return the history in a file that `write_times` wrote, or that `trace(file=...)` reads; or of these times.

    `name` is what messages call times that come from no file. Times need not be in order, those of a file must. Dates
    are in seconds since 1970. A history is returned as it is. Raises a FieldError if the file cannot be read, or if the
    times are not finite numbers at 2 or more instants.
    """
    if isinstance(source, History):
        return source
    if isinstance(source, str | Path):
        (times, unit), name = read_times(Path(source)), str(source)
    else:
        times = np.sort(_numbers(name, source))
        unit = date_unit(times) if times.size else None
    return History(times if unit is None else convert_times(times, unit, "s"), name)


def _numbers(field: str, source: object) -> Floats:
    """Return `source` as an array of floats; raise FieldError for `field` unless it is a list of numbers."""
    try:
        times = np.asarray(source, dtype=float)
    except (TypeError, ValueError):
        times = np.empty((0, 0))
    if times.ndim != 1:
        raise FieldError(field, f"{short_repr(source)} are no times", "a list of numbers, or the name of a file")
    return times


def _kind(source: Path) -> str:
    """Return the kind of a source, a member of KINDS, by its name: git for a folder, csv for an unknown ending."""
    if source.is_dir():
        return "git"
    endings = [ending.lower() for ending in source.suffixes]
    if endings and endings[-1] in OPENERS:
        endings.pop()
    return ENDINGS.get(endings[-1] if endings else "", "csv")


def _sort_times(source: str, times: Floats, notes: list[str]) -> tuple[Floats, list[str]]:
    """Return times in ascending order, and `notes`, to which one is added if they were not, or if some are the same.

    Raise a FieldError, which names `source`, if all are the same.
    """
    back = int(np.count_nonzero(np.diff(times) < 0))
    if back and back < times.size - 1 and not np.all(np.diff(times) <= 0):
        notes.append(f"out of order: {back}, sorted")
    times = np.sort(times)
    same = int(np.count_nonzero(np.diff(times) == 0))
    if same == times.size - 1:
        wrong = "has 1 event" if times.size == 1 else f"has {times.size} events of one instant"
        raise FieldError(source, wrong, "events at 2 or more instants")
    if same:
        notes.append(f"in the same instant as another: {same}, kept")
    return times, notes


# Kinds of sources


def _csv_entries(source: Path, column: str | None) -> list[Entry]:
    """Return the times in one column as they are written, each with its line as place.

    `column` is its name, or None for the first with a usual name, else the first of all. Raise a FieldError if a line
    is too short, or there is no such column.
    """
    rows = read_rows(source.read_text(encoding="utf-8-sig").splitlines())
    index = find_column(str(source), rows[0].cells, column) if rows else 0
    return [(f"{source}:{n}", text) for n, text in time_cells(str(source), rows, index, column is not None)]


def _parquet_entries(source: Path, column: str | None) -> list[Entry]:
    """Return the times in one column as they are stored, each with its row as place.

    `column` is its name, or None for the first with a usual name, else the first of all. Raise a FieldError if there is
    none, or if the file cannot be read.
    """
    try:
        import pandas as pd

        table = pd.read_parquet(source, engine="pyarrow")
    except ImportError:
        raise FieldError(str(source), "needs pyarrow to be read", "pip install pyarrow, or write CSV") from None
    except ValueError as error:  # what pyarrow raises is one
        wrong = f"is not Parquet: {str(error).splitlines()[0][:80]}"
        raise FieldError(str(source), wrong, "a Parquet file") from None
    names = [str(name) for name in table.columns]
    if not names:
        raise FieldError(str(source), "has no columns", "a column of times")
    values = table.iloc[:, find_column(str(source), names, column)].astype(object).tolist()
    return [(f"{source}: row {row}", value) for row, value in enumerate(values, 1)]


def _json_entries(source: Path, page: str | None) -> Iterator[Entry]:
    """Yield the times in a list of times, of objects with a time, or of answers of MediaWiki; or one such per line.

    Each comes as it is written, with its place in the file. `page` is a title to look for in answers, None for the only
    one. Raise a FieldError if the file is nothing of that kind.
    """
    text = source.read_text(encoding="utf-8-sig")
    data: Any
    try:
        data = json.loads(text)
    except RecursionError:
        raise FieldError(str(source), "is nested too deeply", "a list of times") from None
    except json.JSONDecodeError as error:
        try:
            data = [json.loads(line) for line in text.splitlines() if line.strip()]
        except json.JSONDecodeError:
            raise FieldError(f"{source}:{error.lineno}", f"is not JSON: {error.msg}", "a list of times") from None
    answers = data if isinstance(data, list) else [data]
    if any(isinstance(answer, dict) and API_KEYS & answer.keys() for answer in answers):
        yield from api_entries(source, answers, page)
        return
    if page is not None:
        raise FieldError(str(source), "has no pages", "--page TITLE of a MediaWiki export")
    if not isinstance(data, list):
        raise FieldError(str(source), "is not a list", "a list of times, or an answer of MediaWiki's API")
    for number, item in enumerate(data, 1):
        place = f"{source}: entry {number}"
        yield place, _time_of_object(place, item) if isinstance(item, dict) else item


def _time_of_object(place: str, item: dict[str, Any]) -> object:
    """Return the time in an object of JSON, as it is written; raise a FieldError that names `place` if it has none."""
    lowered = {str(name).lower(): value for name, value in item.items()}
    name = next((column for column in TIME_COLUMNS if column in lowered), None)
    if name is None:
        raise FieldError(place, "has no time", "one of the keys " + ", ".join(TIME_COLUMNS))
    return lowered[name]


def _git_entries(repository: Path, path: str) -> list[Entry]:
    """Return the times of the commits that changed a path, seconds since 1970, from first to last, each with a place.

    The place is the number of the commit among these, as text. Raise a FieldError if there are none.
    """
    if "\0" in path:
        raise FieldError(str(repository), f"{path!r} is not a path", "a path in the repository")
    stamps = commit_times(repository, path)
    if not stamps:
        raise FieldError(str(repository), f"no commit changed {path}", "a path as `git log -- PATH` knows it")
    # Latest first, as git prints them.
    return [(f"{repository}: commit {place}", stamp) for place, stamp in enumerate(reversed(stamps), 1)]
