"""Event times, read from what records them, as the plain CSV that `trace(file=...)` and `replnet audit` read.

Sources: CSV, text or Parquet with a column of times; JSON, as a list of times, of objects
with one, or as MediaWiki's API answers; MediaWiki's XML dumps; and the history of a path in
a git repository. Times are ISO 8601 dates, whose offsets count, or numbers, which are seconds
since 1970 unless their size or `unit` says otherwise. Dumps hold millions of pages; they are
read as a stream, packed or not, and no further than the page that is asked for.

The configuration of a repository, which nobody vouches for, can name programs that git starts: a transport that
fetches what a partial clone lacks, a monitor of its files, a checker of signatures, a filter of differences. So git
reads the commits from an empty repository of our own, which borrows nothing but the other's objects. There it knows
of no remote that could be asked for a missing object either, in versions that do not know GIT_NO_LAZY_FETCH yet.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import json
import lzma
import math
import os
import shutil
import subprocess
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, TextIO
from xml.etree.ElementTree import Element, ParseError, iterparse

import numpy as np
from numpy.typing import ArrayLike

from replnet.histories.history import History
from replnet.laws import Floats
from replnet.processes import TIME_COLUMNS, date_unit, read_times
from replnet.text import FieldError, convert_times

VARIABLES_KEPT = ("GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM")  # from the caller's environment
SAFE_ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_ALLOW_PROTOCOL": "",  # none
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
}
NO_CONFIGURATION = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_ATTR_NOSYSTEM": "1"}
INCOMPLETE_MESSAGES = ("bad object", "bad tree object", "unable to read", "could not read", "failed to traverse")


def commit_times(repository: Path, path: str) -> list[int]:
    """Return the committer dates of the commits that changed `path`, in seconds since 1970, latest first.

    They are those on the branch that is checked out; a side branch counts once, when it was merged. Raises a FieldError
    if git fails, or if the repository has no commits or lacks objects.
    """
    # Git starts no program for these two questions, and reads no object.
    answer = _git(
        repository, {}, "rev-parse", "--path-format=absolute", "--show-object-format",
        "--git-path", "objects", "--git-path", "shallow", "--show-cdup",
    )  # fmt: skip
    form, objects, shallow, *up = answer.removesuffix("\n").split("\n")
    if len(up) > 1:
        raise FieldError(str(repository), "lies in a folder whose name has a line break", "a folder with a plain name")
    head = _git(repository, {}, "rev-parse", "--quiet", "--verify", "HEAD", silent="does not have any commits")
    with TemporaryDirectory(prefix="replnet-git-") as scratch:
        empty = Path(scratch) / "empty.git"
        _git(repository, NO_CONFIGURATION, "init", "-q", "--bare", "--template=", f"--object-format={form}", str(empty))
        if Path(shallow).is_file():
            # Where a shallow clone ends, its first commit is one that has no parents.
            shutil.copyfile(shallow, empty / "shallow")
        top = repository.joinpath(*up).resolve()  # of the work tree, or the folder itself where there is none
        ours = {"GIT_DIR": str(empty), "GIT_WORK_TREE": str(top), "GIT_OBJECT_DIRECTORY": objects}
        log = _git(
            repository, NO_CONFIGURATION | ours, "--literal-pathspecs", "log", "--first-parent", "--format=%ct",
            "--no-ext-diff", "--no-textconv", "--no-show-signature", "--no-mailmap", head.strip(), "--", path,
        )  # fmt: skip
    return [int(stamp) for stamp in log.split()]


def _git(repository: Path, variables: dict[str, str], *arguments: str, silent: str = "") -> str:
    """Run git in a repository with these arguments, and return what it prints.

    `variables` are added to its environment. Raise a FieldError if git fails, with `silent` as the reason if git gives
    none.
    """
    environment = {
        name: text for name, text in os.environ.items() if not name.startswith("GIT_") or name in VARIABLES_KEPT
    }
    command = ["git", "-C", str(repository), "-c", "protocol.allow=never", "-c", "core.fsmonitor=false", *arguments]
    try:
        run = subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False, stdin=subprocess.DEVNULL,
            env={**environment, **SAFE_ENVIRONMENT, **variables},
        )  # fmt: skip
    except FileNotFoundError:
        raise FieldError(str(repository), "git is not installed", "git on the PATH") from None
    if run.returncode:
        wrong = (run.stderr.strip().splitlines() or [silent or f"git ended with {run.returncode}"])[0]
        wrong, right = wrong.removeprefix("fatal: ").removeprefix("error: "), "a git repository with commits"
        if any(words in wrong.lower() for words in INCOMPLETE_MESSAGES):
            wrong = f"lacks objects that its commits name: {wrong}"
            right = (
                "a complete clone: nothing is fetched for one that is partial, which `git fetch --refetch` makes whole"
            )
        raise FieldError(str(repository), wrong, right)
    return run.stdout


Entry = tuple[str, object]  # the place in the source, and the time as it is written there
Page = tuple[str, Sequence[object]]  # title, and the timestamps of its revisions

UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
UNIT_SIZES = (("ns", 1e17), ("us", 1e14), ("ms", 1e11))  # of times since 1970, from 1973 on
KINDS = ("csv", "parquet", "json", "xml", "git")
ENDINGS = {".parquet": "parquet", ".pq": "parquet", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".xml": "xml"}
OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
API_KEYS = {"query", "batchcomplete", "continue"}
MOST_TITLES_LISTED = 5  # in a message


def import_trace(
    source: Path, *, kind: str | None = None, column: str | None = None, unit: str | None = None,
    path: str | None = None, page: str | None = None,
) -> tuple[Floats, list[str]]:  # fmt: skip
    """Return the times of events recorded in `source`, in ascending order, and notes on what was done to them.

    Times are in seconds, or in the record's own unit. `kind`, such as csv or git, is told by the name unless given;
    `column` names the times in CSV and Parquet; `unit` (s, ms, us, ns) is that of numbers, told by their size unless
    given; `path` is a path in a git repository, `page` a title in a dump or an answer of MediaWiki, needed if that has
    several. Raises a FieldError if the source cannot be read so, or has events at fewer than 2 instants.
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
        "xml": lambda: _dump_entries(source, page),
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
    """Write times to a file as one column with the header timestamp; whole seconds as whole numbers."""
    to.write("timestamp\n")
    to.writelines(f"{time:.0f}\n" if time == math.floor(time) else f"{time!r}\n" for time in times.tolist())


HistorySource = History | str | Path | ArrayLike


def history_of(source: HistorySource) -> History:
    """Return the history in a file that `import_trace` wrote, or that `trace(file=...)` reads; or of these times.

    Times need not be in order, those of a file must. Dates are in seconds. A history is returned as it is.
    """
    if isinstance(source, History):
        return source
    if isinstance(source, str | Path):
        (times, unit), name = read_times(Path(source)), str(source)
    else:
        times, name = np.sort(np.asarray(source, dtype=float)), "times"
        unit = date_unit(times) if times.size else None
    return History(times if unit is None else convert_times(times, unit, "s"), name)


def _kind(source: Path) -> str:
    """Return the kind of a source, a member of KINDS, by its name: git for a folder, csv for an unknown ending."""
    if source.is_dir():
        return "git"
    endings = [ending.lower() for ending in source.suffixes]
    if endings and endings[-1] in OPENERS:
        endings.pop()
    return ENDINGS.get(endings[-1] if endings else "", "csv")


def times_of_entries(source: str, entries: Sequence[Entry], unit: str | None) -> tuple[Floats, list[str]]:
    """Return the times of all entries, in their order, and notes on how they were read.

    Dates become seconds since 1970. Numbers are converted to seconds from `unit`, which is told by their size if None.
    Raise a FieldError, which names `source` or an entry, if there are no entries, if one is no time, if dates and
    numbers are mixed, or dates with and without a zone.
    """
    if not entries:
        raise FieldError(source, "has no events", "2 or more")
    values, zones, dates = [], dict[bool, str](), 0
    for place, written in entries:
        time, zoned = read_time(place, written)
        if zoned is not None:
            dates += 1
            zones.setdefault(zoned, place)
        values.append(time)
    if len(zones) == 2:
        raise FieldError(zones[False], "a date without a zone", f"an offset or Z, as at {zones[True]}")
    if dates and dates < len(entries):
        raise FieldError(source, f"{dates} dates among {len(entries) - dates} numbers", "one or the other")
    times = np.array(values)
    if dates:
        return times, ["dates have no zone: taken as UTC"] if False in zones else []
    if unit is not None:
        return times * UNITS[unit], []
    middle = float(np.median(np.abs(times)))
    likely_unit = next((name for name, size in UNIT_SIZES if middle >= size), "s")
    notes = [] if likely_unit == "s" else [f"times are taken as {likely_unit} since 1970, by their size"]
    return times * UNITS[likely_unit], notes


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


def read_time(place: str, written: object) -> tuple[float, bool | None]:
    """Return a number, or the seconds since 1970 of a date, and whether the date says its zone (None for a number).

    `written` is a number, a text or a datetime. Raise a FieldError, which names `place`, if it is no time.
    """
    right = "a number, or an ISO 8601 date such as 2024-05-01T12:00:00Z"
    if isinstance(written, datetime):
        if written != written:  # what pandas has for no time
            raise FieldError(place, "no time", right)
        return (written if written.tzinfo else written.replace(tzinfo=UTC)).timestamp(), written.tzinfo is not None
    if isinstance(written, bool) or not isinstance(written, (int, float, str)):
        raise FieldError(place, f"{str(written)[:40]!r} is not a time", right)
    try:
        time = float(written)
    except OverflowError:
        time = math.inf
    except ValueError:
        try:
            return read_time(place, datetime.fromisoformat(str(written).strip()))
        except ValueError:
            raise FieldError(place, f"{str(written).strip()[:40]!r} is not a time", right) from None
    if not math.isfinite(time):
        raise FieldError(place, f"{written} is not a time", right)
    return time, None


# Tables


def _csv_entries(source: Path, column: str | None) -> Iterator[Entry]:
    """Yield the times in one column as they are written, each with its line as place.

    `column` is its name, or None for the first with a usual name, else the first of all. Lines that are empty or begin
    with # do not count. Raise a FieldError if a line is too short, or there is no such column.
    """
    with source.open(encoding="utf-8-sig", newline="") as file:
        lines = ((n, line) for n, line in enumerate(file, 1) if line.strip() and not line.lstrip().startswith("#"))
        first = next(lines, None)
        if first is None:
            return
        mark = next((mark for mark in ",;\t" if mark in first[1]), ",")
        names = [name.strip() for name in next(csv.reader([first[1]], delimiter=mark))]
        at, headed = _find_column(str(source), names, column)
        if not headed:
            yield f"{source}:{first[0]}", names[at]
        for n, line in lines:
            row = next(csv.reader([line], delimiter=mark))
            if at >= len(row):
                raise FieldError(f"{source}:{n}", f"has {len(row)} columns", f"at least {at + 1}")
            yield f"{source}:{n}", row[at]


def _find_column(source: str, names: list[str], column: str | None) -> tuple[int, bool]:
    """Return the index of the column of times, and whether the first line is a header.

    `names` are the texts of the first line. `column` is a name to find, for which a FieldError that names `source` is
    raised if it is missing; without one it is the first with a usual name, such as timestamp, else the first of all.
    """
    if column is not None:
        if column not in names:
            raise FieldError(source, f"has no column {column!r}", "one of " + ", ".join(names))
        return names.index(column), True
    lowered = [name.lower() for name in names]
    index = next((lowered.index(name) for name in TIME_COLUMNS if name in lowered), None)
    if index is not None:
        return index, True
    try:
        read_time("", names[0])
    except FieldError:
        # A first line of words is a header; one that begins like a number is a bad time.
        return 0, bool(names[0]) and names[0][0].isalpha()
    return 0, False


def _parquet_entries(source: Path, column: str | None) -> Iterator[Entry]:
    """Yield the times in one column as they are stored, each with its row as place.

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
    at, _ = _find_column(str(source), names, column)
    values = table.iloc[:, at].astype(object).tolist()
    yield from ((f"{source}: row {row}", value) for row, value in enumerate(values, 1))


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
        yield from _api_entries(source, answers, page)
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


def _git_entries(repository: Path, path: str) -> Iterator[Entry]:
    """Yield the times of the commits that changed a path, in seconds and ascending, each with the commit as place.

    Raise a FieldError if there are none.
    """
    if "\0" in path:
        raise FieldError(str(repository), f"{path!r} is not a path", "a path in the repository")
    stamps = commit_times(repository, path)
    if not stamps:
        raise FieldError(str(repository), f"no commit changed {path}", "a path as `git log -- PATH` knows it")
    # Latest first, as git prints them.
    yield from ((f"{repository}: commit {place}", stamp) for place, stamp in enumerate(reversed(stamps), 1))


# Pages of a MediaWiki


def _dump_entries(source: Path, page: str | None) -> Iterator[Entry]:
    """Yield the timestamps of the revisions of the page with this title, or of the only page if it is None.

    The file is an XML dump of MediaWiki, packed or not. Raise a FieldError if it is damaged, or has no such page.
    """
    try:
        with OPENERS.get(source.suffix.lower(), Path.open)(source, "rb") as file:
            revisions = _revision_entries(source, _pages(file), page)
    except ParseError as error:
        line, column = error.position
        raise FieldError(f"{source}:{line}:{column + 1}", f"is not XML: {error}", "a dump of MediaWiki") from None
    except (EOFError, lzma.LZMAError, gzip.BadGzipFile, UnicodeError) as error:
        raise FieldError(str(source), f"is damaged: {error}", "a whole file") from None
    yield from revisions


def _pages(file: IO[bytes]) -> Iterator[Page]:
    """Yield title and timestamps of every page of an XML dump.

    Elements are dropped as soon as they end, so memory does not grow.
    """
    path: list[Element] = []
    title, stamps = "", list[object]()
    for event, element in iterparse(file, events=("start", "end")):
        if event == "start":
            path.append(element)
            continue
        path.pop()
        name, parent = _name(element), _name(path[-1]) if path else ""
        if name == "title" and parent == "page":
            title = element.text or ""
        elif name == "timestamp" and parent == "revision":
            stamps.append(element.text or "")
        elif name == "page":
            yield title, stamps
            title, stamps = "", []
        if path:
            path[-1].remove(element)


def _name(element: Element) -> str:
    """Return the name of an element without its namespace, which differs from version to version."""
    return str(element.tag).rpartition("}")[2]


def _api_entries(source: Path, answers: list[Any], page: str | None) -> list[Entry]:
    """Return the times of the revisions of a page in answers of MediaWiki to prop=revisions, of either format version.

    Each comes with its place in `source`. `page` is a title, or None for the only page. Raise a FieldError if there is
    no such page, or several without a title, or if a revision has no time.
    """
    pages: dict[str, list[object]] = {}
    for answer in answers:
        query = answer.get("query") if isinstance(answer, dict) else None
        page_list = query.get("pages", []) if isinstance(query, dict) else []
        for page_data in page_list.values() if isinstance(page_list, dict) else page_list:
            stamps = pages.setdefault(str(page_data.get("title", page_data.get("pageid"))), [])
            for revision in page_data.get("revisions", []):
                if "timestamp" not in revision:
                    wrong = f"revision {len(stamps) + 1} of {page_data.get('title')!r} has no timestamp"
                    raise FieldError(str(source), wrong, "answers to rvprop=timestamp")
                stamps.append(revision["timestamp"])
    if page is not None and page not in pages:
        raise _no_page(source, page, list(pages)[:MOST_TITLES_LISTED])
    return _revision_entries(source, pages.items(), page)


def _revision_entries(source: Path, pages: Iterable[Page], page: str | None) -> list[Entry]:
    """Return the times of the revisions of `page`, or of the only page if it is None, each with its place in `source`.

    Pages after it are not read. Raise a FieldError if there is no such page, or several without a title.
    """
    chosen: Page | None = None
    others = deque[str](maxlen=MOST_TITLES_LISTED)
    for title, stamps in pages:
        if page is not None and title != page:
            others.append(title)
            continue
        if chosen is not None:
            wrong = f"holds several pages, such as {chosen[0]!r} and {title!r}"
            raise FieldError(str(source), wrong, "one of them by --page")
        chosen = title, stamps
        if page is not None:
            break
    if chosen is None:
        raise _no_page(source, page, others)
    return [(f"{source}: revision {place}", stamp) for place, stamp in enumerate(chosen[1], 1)]


def _no_page(source: Path, page: str | None, others: Iterable[str]) -> FieldError:
    """Return the error that a source has no page with this title, or none at all, with the titles of others."""
    titles = ", ".join(map(repr, others))
    right = f"there is {titles}" if titles else "a dump or an answer with revisions"
    return FieldError(str(source), f"has no page{'' if page is None else f' {page!r}'}", right)
