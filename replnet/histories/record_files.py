"""Files of what others recorded, told apart by what is in them and not by their names.

    what it begins with              what it is
    SQLite format 3                  a history of `replnet watch`
    PAR1                             Parquet, a table
    {"urls": ...}                    mirror status of Arch Linux (mirror_status)
    {"status": ..., "data": ...}     an answer of Prometheus (monitoring)
    [ ...                            JSON, a table: a list of objects with the same keys
    service:, metric:, ...           YAML of RSSAC002 (monitoring)
    scheme://...  with 7 fields      the state of mirmon (mirror_status)
    anything else                    CSV, a table

Tables have a column of times and, unless there is one node, of nodes; and of versions, of departures (`left`), of
changes seen by a crawler (`changed`), or nothing more where each row is a change.
"""

from __future__ import annotations

import csv
import json
import stat
from pathlib import Path
from typing import Any

import numpy as np

from replnet.histories.mirror_status import arch_status, is_arch_status, is_mirmon_state, mirmon_state
from replnet.histories.monitoring import is_load_time, is_prometheus_answer, load_times, prometheus_answer
from replnet.histories.records import COLUMNS, Record, join_records, record_of_rows
from replnet.processes import TIME_COLUMNS
from replnet.text import FieldError, count_text, short_repr
from replnet.watch import VisitLog

RecordSource = str | Path | Any  # a file or a folder, several of them in a list, or a DataFrame

COLUMN_NAMES = {
    "time": TIME_COLUMNS,
    "node": ("node", "name", "host", "server", "replica", "url", "page"),
    "version": ("version", "serial", "etag", "hash", "checksum", "digest", "sha256", "md5"),
    "left": ("left", "departure", "last_sync", "lastsync"),
    "changed": ("changed",),
    "fault": ("fault", "error"),
}
TABLE = "table"
WATCHED = "history of replnet watch"
NO_VALUES = ("NA", "NaN", "nan", "NULL", "null", "None")  # but as names and versions, which may be any text
BEGIN_BYTES = 4096
FEWEST_CLOCKS = 3  # visits with a Date before a clock is judged
CLOCK_ERROR = 5.0  # seconds by which a clock is off, before it is said
RIGHT = "CSV, Parquet, SQLite, JSON or YAML that was recorded, with the columns time, node, version in a table"


def read_records(source: RecordSource, *, one_node: bool = False) -> Record:
    """Return what a file, a folder, several of them, or a DataFrame recorded; several are one history.

    `one_node` says that a table without a column of nodes is of one node, which has the name of its file. Raise a
    FieldError if something cannot be read, is of no kind that is known, or of another than the rest.
    """
    if hasattr(source, "columns"):
        return _table_record("record", source, one_node)
    paths = source if isinstance(source, list | tuple) else [source]
    if not all(isinstance(path, str | Path) for path in paths):
        raise FieldError("record", f"{short_repr(source)} is no record of visits", "a file, or a DataFrame")
    files = [file for path in paths for file in _files(Path(path))]
    texts = {file: _begin(file) for file in files}
    loads = [file for file in files if is_load_time(texts[file])]
    records = [load_times(loads)] if loads else []
    records += [_read_record(file, texts[file], one_node) for file in files if file not in loads]
    if not records:
        raise FieldError(str(source), "names no file", "one file of a record or more")
    return join_records(records)


def _files(path: Path) -> list[Path]:
    """Return a file, or those in a folder and below it, without hidden ones; raise a FieldError if there are none."""
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.rglob("*") if file.is_file() and not file.name.startswith("."))
    if not files:
        raise FieldError(str(path), "is an empty folder", "files of one record")
    return files


def _begin(file: Path) -> str:
    """Return the first 4096 bytes of a file as text, in which marks stand for what is not UTF-8.

    Raise a FieldError if there is no such file, or if it cannot be read.
    """
    try:
        mode = file.stat().st_mode
        if not stat.S_ISREG(mode):
            raise FieldError(str(file), "is no file on a disk", RIGHT)
        with file.open("rb") as opened:
            return opened.read(BEGIN_BYTES).decode("utf-8-sig", "replace")
    except FileNotFoundError:
        raise FieldError(str(file), "does not exist", "a file of visits: time, node, version") from None
    except OSError as error:
        raise FieldError(str(file), f"cannot be read: {error.strerror or error}", RIGHT) from None


def _read_record(file: Path, begin: str, one_node: bool) -> Record:
    """Return the record in a file, of which `begin` is the first text; raise a FieldError if it is none."""
    name = str(file)
    if begin.startswith("SQLite format 3\0"):
        return _watched_visits(file)
    if not begin.strip():
        raise FieldError(name, "is empty", RIGHT)
    if file.suffix in (".yaml", ".yml"):
        raise FieldError(name, "is YAML and no record", "what `replnet watch` writes beside its file, with .sqlite")
    try:
        if begin.startswith("PAR1"):
            import pandas as pd

            return _table_record(name, pd.read_parquet(file), one_node)
        if begin.lstrip()[:1] in ("{", "["):
            return _json_record(name, json.loads(file.read_text("utf-8-sig")), one_node)
        lines = begin.splitlines()
        if is_mirmon_state(lines[: max(len(lines) - 1, 1)]):
            return mirmon_state(name, file.read_text("utf-8-sig").splitlines())
        return _table_record(name, _csv_table(file), one_node, csv_file=file)
    except json.JSONDecodeError as error:
        raise FieldError(f"{name}:{error.lineno}", f"is not JSON: {error.msg}", "a whole file of JSON") from None
    except RecursionError:
        raise FieldError(name, "is nested too deeply", RIGHT) from None
    except FieldError:
        raise
    except (ValueError, OSError) as error:
        raise FieldError(name, f"cannot be read: {(str(error).splitlines() or [''])[0][:80]}", RIGHT) from None


def _csv_table(file: Path) -> Any:
    """Return the table in a file of CSV, all cells as texts; commas, semicolons or tabs part its columns."""
    import pandas as pd

    table = pd.read_csv(
        file, sep=_separator(file), dtype=str, encoding="utf-8-sig", comment=None, keep_default_na=False, na_values=[""]
    )
    for column in table.columns:
        if str(column).strip().lower() not in (*COLUMN_NAMES["node"], *COLUMN_NAMES["version"]):
            table[column] = table[column].mask(table[column].isin(NO_VALUES))
    return table


def _separator(file: Path) -> str:
    """Return what parts the columns in the first line of a file: a comma, a semicolon or a tab."""
    with file.open(encoding="utf-8-sig") as opened:
        heads = opened.readline()
    return next((mark for mark in ",;\t" if mark in heads), ",")


def _line_of_row(file: Path, row: int) -> int:
    """Return the line of a CSV file, from 1, in which a row begins; rows count from 0 below the line of heads."""
    line, seen = 1, -1  # the heads are row -1
    with file.open(encoding="utf-8-sig", newline="") as opened:
        reader = csv.reader(opened, delimiter=_separator(file))
        for cells in reader:
            if len(cells) > 1 or any(map(str.strip, cells)):  # pandas leaves out empty lines
                if seen == row:
                    break
                seen += 1
            line = reader.line_num + 1
    return line


def _json_record(name: str, data: Any, one_node: bool) -> Record:
    """Return the record in data of JSON from the file `name`; raise a FieldError if it is none.

    `one_node` says that a list of rows without nodes is of one node.
    """
    import pandas as pd

    if is_arch_status(data):
        return arch_status(name, data)
    if is_prometheus_answer(data):
        return prometheus_answer(name, data)
    if isinstance(data, list) and data and all(isinstance(row, dict) for row in data):
        return _table_record(name, pd.DataFrame(data, dtype=object), one_node)
    right = "mirror status of Arch Linux, an answer of Prometheus, or a list of rows with time, node and version"
    raise FieldError(name, "is JSON that is no record", right)


def _table_record(name: str, table: Any, one_node: bool, csv_file: Path | None = None) -> Record:
    """Return the record in a DataFrame, with its columns by the names of COLUMNS; `name` is that of its file.

    `csv_file` is the CSV file that the table was read from, whose lines errors name; None if it is from elsewhere.

    Without a column of nodes, all rows are of the node that has the name of the file, if `one_node`, or if they have
    departures or changes. Raise a FieldError if there is no column of times, or none of nodes, or no row, or if a row
    lacks a value.
    """
    import pandas as pd

    lowered = {str(column).strip().lower(): column for column in table.columns}
    columns = {}
    for meaning, names in COLUMN_NAMES.items():
        column = next((lowered[candidate] for candidate in names if candidate in lowered), None)
        if column is not None:
            columns[meaning] = table[column]
    if "node" not in columns and "time" in columns and (one_node or "left" in columns or "changed" in columns):
        columns["node"] = pd.Series(Path(name).stem, index=table.index)
    for meaning in ("time", "node"):
        if meaning not in columns:
            right = f"one of {', '.join(COLUMN_NAMES[meaning])}; and version, where nodes were visited"
            raise FieldError(name, f"has no column {meaning}", right)
    rows = pd.DataFrame({column: columns[column] for column in COLUMNS if column in columns})
    if rows.empty:
        raise FieldError(name, "has no rows", "a row for each visit, or each change")
    if empty := _empty_cell(rows):
        row, meaning = empty
        place = f"row {row + 1}" if csv_file is None else f"line {_line_of_row(csv_file, row)}"
        head = columns[meaning].name
        right = "a value in every cell; leave out visits that failed, or say why in a column fault"
        raise FieldError(name, f"{place}, column {head} is empty", right)
    return Record(name, TABLE, rows)


def _empty_cell(rows: Any) -> tuple[int, str] | None:
    """Return the first row, from 0, without a time, a node, or all that says what the node had, and that column's name.

    The name is one of COLUMNS; None stands for no such row.
    A row with a fault needs nothing else, nor does one without a departure, which is a fault itself.
    """
    needed = rows[["time", "node"]].isna()
    values = [column for column in ("version", "left", "changed") if column in rows]
    if values and "left" not in values:
        excused = rows["fault"].notna() if "fault" in rows else np.zeros(len(rows), dtype=bool)
        needed = needed.assign(**{values[0]: rows[values].isna().all(axis=1) & ~excused})
    if not needed.any(axis=None):
        return None
    at = int(np.flatnonzero(needed.any(axis=1))[0])
    return at, str(needed.columns[needed.iloc[at]][0])


def _watched_visits(file: Path) -> Record:
    """Return the visits in a history of `replnet watch`, with notes on clocks that are wrong."""
    rows, clocks = list[dict[str, Any]](), dict[str, list[float]]()
    with VisitLog(file, only_read=True) as history:
        for visit in history:
            rows.append(
                {"time": visit.time, "node": visit.node, "version": visit.version, "left": visit.left,
                 "fault": visit.fault}
            )  # fmt: skip
            if visit.clock is not None:
                clocks.setdefault(visit.node, []).append(visit.clock)
    notes = []
    for node, errors in clocks.items():
        error = float(np.median(errors))
        if len(errors) >= FEWEST_CLOCKS and abs(error) > CLOCK_ERROR:
            side = "ahead" if error > 0 else "behind"
            notes.append(
                f"{node}: its clock is {abs(error):,.0f} s {side}, by the Date of {count_text(len(errors), 'answer')}"
            )
    return record_of_rows(str(file), WATCHED, rows, notes)
