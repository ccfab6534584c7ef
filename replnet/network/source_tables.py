"""Tables of sources, a row for each: how often it changes, what it counts, how often it is downloaded, its name.

A table is a CSV or Parquet file or a DataFrame. Columns are known by their heads:

    rates       rate, or interval: updates per unit of time, or the mean time between two
    weights     weight
    allocate    visit_rate, or visit_interval: downloads per unit of time, or the time between two
    names       name, in any of these

Values may have units of their own, such as 3/d or 20min. A table of rates gives weights and names too, unless they are
given elsewhere; a column of weights that is empty counts as none. Tables of one network that both have names are put
in the order of the first.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, final

import numpy as np

from replnet.laws import Floats
from replnet.text import LARGEST, SMALLEST, FieldError, FieldsError, in_unit, positive, short_repr

if TYPE_CHECKING:
    import pyarrow as pa

ENDINGS = (".csv", ".tsv", ".txt", ".parquet", ".pq")
PARQUET_ENDINGS = (".parquet", ".pq")
SEPARATORS = ",;\t"
COLUMNS = {"rates": ("rate", "interval"), "weights": ("weight",), "allocate": ("visit_rate", "visit_interval")}
"""The heads of the columns that a field of a network is read from: a rate or weight, and a time that may stand for it."""
MOST_FAULTS = 50  # of a column that are told one by one
AMOUNT = "0, or a number above 0"
LENGTH = "a time above 0"


@final
@dataclass(frozen=True, slots=True, eq=False)
class SourceTable:
    """The columns of a table that a network needs: an entry per source in each, None for a column that it lacks.

    `values` are what the field of the network is, `ignored` the heads of the columns that nothing is read from.
    """

    values: Floats
    weights: Floats | None
    names: list[str] | None
    ignored: tuple[str, ...]


def is_table(value: object) -> bool:
    """Whether the value of a field is a table: a DataFrame, a path, or the name of a CSV or Parquet file as text."""
    if isinstance(value, str):
        return value.lower().endswith(ENDINGS)
    return isinstance(value, os.PathLike) or hasattr(value, "columns")


def with_tables(data: Any, folder: Path | None, unit: str | None) -> tuple[Any, tuple[str, ...]]:
    """Return the fields of a network with lists in place of the tables that it names, and notes on unread columns.

    `data` are its fields by name; anything else is returned as it is. Relative names of files count from `folder`, or
    from the working directory if it is None or has no such file; numbers with a unit are converted to `unit`, that of
    the network. A field whose table is wrong gets the FieldsError that says what is.
    """
    if not isinstance(data, Mapping) or not any(is_table(data.get(field)) for field in COLUMNS):
        return data, ()
    fields, notes = dict(data), []
    for field in COLUMNS:
        given = fields.get(field)
        if not is_table(given):
            continue
        try:
            table = _read(given, field, folder, unit)
            values = _in_order_of(fields.get("names"), table)
        except FieldsError as error:
            fields[field] = error
            continue
        fields[field] = values
        if table.names is not None and fields.get("names") is None:
            fields["names"] = table.names
        if field == "rates" and table.weights is not None and fields.get("weights") is None:
            fields["weights"] = table.weights
        if table.ignored:
            notes.append(f"{_name_of(given)}: nothing is read from {', '.join(table.ignored)}")
    return fields, tuple(notes)


def _in_order_of(names: Any, table: SourceTable) -> Floats:
    """Return the values of a table in the order of these names, those of the sources of the network so far.

    They stay in their order if either has no names. Raise FieldsError if the table has no row for one of the names, or
    a row too many.
    """
    if names is None or table.names is None or names == table.names:
        return table.values
    place = {name: row for row, name in enumerate(table.names)}
    missing = [name for name in names if name not in place]
    if missing:
        _refuse(f"has no row for {short_repr(missing[0])}", "a row for each source, by its name")
    if len(place) > len(names):
        extra = next(iter(place.keys() - set(names)))
        _refuse(f"has a row for {short_repr(extra)}, which is no source", "a row for each source, by its name")
    return table.values[[place[name] for name in names]]


def _refuse(wrong: str, right: str) -> NoReturn:
    """Raise the FieldsError of a single fault of a whole field."""
    raise FieldsError([((), wrong, right)])


def _name_of(table: Any) -> str:
    """Return what errors call a table: the path of its file, or "the table" for a DataFrame."""
    return str(table) if isinstance(table, str | os.PathLike) else "the table"


def _read(given: Any, field: str, folder: Path | None, unit: str | None) -> SourceTable:
    """Return the columns of a table for a field of a network, one of COLUMNS; see `with_tables`.

    Raise FieldsError with what is wrong, with the line and the column where it is.
    """
    source = _source_of(given, folder)
    heads = source.heads()
    wanted = {head.strip().lower(): head for head in heads}
    known = (*COLUMNS[field], *(("weight",) if field == "rates" else ()), "name")
    for head in known:
        if sum(other.strip().lower() == head for other in heads) > 1:
            _refuse(f"{source.name}: has several columns {head}", "one")
    values = [head for head in COLUMNS[field] if head in wanted]
    if len(values) != 1:
        shown = ", ".join(islice((short_repr(head) for head in heads), 10)) or "none"
        has = f"has columns {' and '.join(values)}" if values else f"has no column {' or '.join(COLUMNS[field])}"
        _refuse(f"{source.name}: {has}; its columns are {shown}", f"one column {' or '.join(COLUMNS[field])}")
    used = [head for head in known if head in wanted]
    columns = dict(zip(used, source.columns([wanted[head] for head in used]), strict=True))
    if not len(columns[values[0]]):
        _refuse(f"{source.name}: has no rows", "a row for each source")
    faults: list[tuple[tuple[()], str, str]] = []
    numbers: dict[str, Floats] = {}
    for head in (*values, *(["weight"] if "weight" in used and field == "rates" else ())):
        column = _Column(source, wanted[head], head, columns[head])
        if head == "weight" and column.is_empty:
            continue
        numbers[head], wrong = column.numbers(unit)
        faults += wrong
    names, wrong = (None, []) if "name" not in used else _names(source, wanted["name"], columns["name"])
    if faults or wrong:
        raise FieldsError([*faults, *wrong])
    result = numbers[values[0]]
    if values[0].endswith("interval"):
        result = 1 / result
    ignored = tuple(head for head in heads if head.strip().lower() not in known and head)
    return SourceTable(result, numbers.get("weight") if field == "rates" else None, names, ignored)


# ---- Where tables come from


def _source_of(given: Any, folder: Path | None) -> _Frame | _ParquetFile | _CsvFile:
    """Return the reader of a table: a DataFrame, or a file; raise FieldsError if there is no such file."""
    if hasattr(given, "columns"):
        return _Frame(given)
    path = Path(given) if folder is None else folder / given
    if not path.exists() and Path(given).exists():
        path = Path(given)  # as one is typed on the command line, beside a network from elsewhere
    if not path.is_file():
        _refuse(f"{path}: {'is no file' if path.exists() else 'does not exist'}", "a CSV or Parquet file")
    return (_ParquetFile if path.suffix.lower() in PARQUET_ENDINGS else _CsvFile)(path)


@final
class _Frame:
    """A DataFrame as a table of sources."""

    name = "the table"

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def heads(self) -> list[str]:
        """Return the names of its columns."""
        return [str(head) for head in self._frame.columns]

    def columns(self, heads: Sequence[str]) -> list[pa.Array]:
        """Return the columns with these names."""
        import pyarrow as pa

        place = {str(head): head for head in self._frame.columns}
        try:
            return [pa.array(self._frame[place[head]], from_pandas=True) for head in heads]
        except (pa.ArrowException, TypeError) as error:
            _refuse(f"the table: {str(error).splitlines()[0][:200]}", "columns of numbers, or of texts")

    def places(self, rows: Sequence[int]) -> list[str]:
        """Return what errors call these rows, which count from 0."""
        return [f"row {row + 1}" for row in rows]


@final
class _ParquetFile:
    """A Parquet file as a table of sources."""

    def __init__(self, path: Path) -> None:
        self._path, self.name = path, str(path)

    def heads(self) -> list[str]:
        """Return the names of its columns; raise FieldsError if it is no Parquet file."""
        import pyarrow.parquet as pq

        return [str(name) for name in self._try(lambda: pq.read_schema(self._path)).names]

    def columns(self, heads: Sequence[str]) -> list[pa.ChunkedArray]:
        """Return the columns with these names."""
        import pyarrow.parquet as pq

        table = self._try(lambda: pq.read_table(self._path, columns=list(heads)))
        return [table.column(head) for head in heads]

    def _try(self, read: Any) -> Any:
        """Return `read()`; raise FieldsError if the file cannot be read."""
        import pyarrow as pa

        try:
            return read()
        except (pa.ArrowException, OSError, ValueError) as error:
            _refuse(f"{self.name}: cannot be read: {str(error).splitlines()[0][:100]}", "a Parquet file")

    def places(self, rows: Sequence[int]) -> list[str]:
        """Return what errors call these rows, which count from 0."""
        return [f"row {row + 1}" for row in rows]


@final
class _CsvFile:
    """A CSV file in UTF-8 as a table of sources: a line of heads, then rows, between commas, semicolons or tabs."""

    def __init__(self, path: Path) -> None:
        self._path, self.name = path, str(path)

    def heads(self) -> list[str]:
        """Return the names of its columns; raise FieldsError if it is empty or no text."""
        try:
            with self._path.open(encoding="utf-8-sig", newline="") as file:
                first = next((line for line in file if line.strip()), "")
            if "\0" in first:
                _refuse(f"{self.name}: is binary", "a text file in UTF-8, or Parquet by its ending")
        except UnicodeDecodeError as error:
            self._refuse_bytes(error)
        except OSError as error:
            _refuse(f"{self.name}: cannot be read: {error.strerror or error}", "a CSV or Parquet file")
        if not first:
            _refuse(f"{self.name}: is empty", "a line of heads, then a row for each source")
        self._separator = max(SEPARATORS, key=first.count)
        return next(csv.reader([first], delimiter=self._separator))

    def columns(self, heads: Sequence[str]) -> list[pa.ChunkedArray]:
        """Return the columns with these names, as texts; raise FieldsError with the lines that have other columns."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        layout = arrow_csv.ParseOptions(delimiter=self._separator, newlines_in_values=True)
        texts = arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(heads, pa.string()), include_columns=list(heads), strings_can_be_null=False
        )
        try:
            table = arrow_csv.read_csv(self._path, parse_options=layout, convert_options=texts)
        except pa.ArrowException as error:
            self._refuse_lines()
            _refuse(f"{self.name}: cannot be read: {str(error).splitlines()[0][:100]}", "a CSV file")
        return [table.column(head) for head in heads]

    def _refuse_lines(self) -> None:
        """Raise FieldsError with the first lines that have more or fewer values than heads, or bytes not in UTF-8."""
        faults, count = [], 0
        try:
            for line, row in self._rows():
                count = count or len(row)
                if len(row) != count and len(faults) < MOST_FAULTS:
                    wrong = f"{self.name}: line {line}: has {len(row)} values for {count} columns"
                    faults.append(((), wrong, "as many as columns; texts with separators in quotes"))
        except UnicodeDecodeError as error:
            self._refuse_bytes(error)
        except csv.Error as error:
            _refuse(f"{self.name}: cannot be read: {error}", "a CSV file")
        if faults:
            raise FieldsError(faults)

    def _refuse_bytes(self, error: UnicodeDecodeError) -> NoReturn:
        """Raise the FieldsError of a file that is not in UTF-8, with the first line that is not."""
        line = 1
        with self._path.open("rb") as file:
            for line, raw in enumerate(file, 1):  # noqa: B007
                try:
                    raw.decode()
                except UnicodeDecodeError:
                    break
        byte = error.object[error.start]
        _refuse(f"{self.name}: line {line}: byte 0x{byte:02x} is not UTF-8", "a text file in UTF-8")

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the line in which each row begins, from 1, and its values; the heads first, and no empty lines."""
        with self._path.open(encoding="utf-8-sig", newline="") as file:
            reader, line = csv.reader(file, delimiter=self._separator), 1
            for row in reader:
                if row:
                    yield line, row
                line = reader.line_num + 1

    def places(self, rows: Sequence[int]) -> list[str]:
        """Return what errors call these rows, which count from 0: the lines in which they begin."""
        wanted, lines = set(rows), dict[int, int]()
        for row, (line, _) in enumerate(islice(self._rows(), max(rows) + 2), -1):
            if row in wanted:
                lines[row] = line
        return [f"line {lines[row]}" for row in rows]


# ---- Columns


@final
class _Column:
    """A column of numbers of a table: the head in the table, `head` as it is known, and its entries."""

    def __init__(self, source: Any, written: str, head: str, entries: Any) -> None:
        self._source, self._written, self._head, self._entries = source, written, head, entries

    @property
    def is_empty(self) -> bool:
        """Whether it has no entry at all."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if pa.types.is_string(self._entries.type):
            return not pc.any(pc.not_equal(pc.utf8_trim_whitespace(self._entries), "")).as_py()
        return bool(self._entries.null_count == len(self._entries))

    def numbers(self, unit: str | None) -> tuple[Floats, list[tuple[tuple[()], str, str]]]:
        """Return the numbers in the column, in the unit of the network, and the faults of those that are wrong.

        A fault is an empty path, what is wrong with the file, line and column, and what would be right. There are some
        of them if many numbers are wrong, and one that counts the rest.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        is_length = self._head.endswith("interval")
        errors: dict[int, FieldError] = {}
        kind, codes = self._entries.type, None
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            texts = pc.utf8_trim_whitespace(self._entries)
            try:
                values = pc.cast(texts, pa.float64())
            except pa.ArrowInvalid:
                values, codes, errors = self._parse(texts, unit)
        elif pa.types.is_boolean(kind) or pa.types.is_nested(kind) or pa.types.is_temporal(kind):
            _refuse(f"{self._source.name}: column {self._written} is of type {kind}", "numbers")
        else:
            values = pc.cast(self._entries, pa.float64(), safe=False)
        numbers = np.asarray(values if codes is not None else pc.fill_null(values, np.nan), dtype=float)
        fits = (numbers >= SMALLEST) & (numbers <= LARGEST)
        bad = np.flatnonzero(~(fits if is_length else fits | (numbers == 0)))
        if not bad.size:
            return numbers, []
        shown = bad[:MOST_FAULTS].tolist()
        faults = []
        for row, place in zip(shown, self._source.places(shown), strict=True):
            error = errors.get(-1 if codes is None else int(codes[row])) or self._error(row, float(numbers[row]))
            faults.append(((), f"{self._source.name}: {place}, column {self._written}: {error.wrong}", error.right))
        if bad.size > len(shown):
            rest = f"{self._source.name}: column {self._written}: {bad.size - len(shown):,} more such rows"
            faults.append(((), rest, LENGTH if is_length else AMOUNT))
        return numbers, faults  # type: ignore[return-value]

    def _error(self, row: int, number: float) -> FieldError:
        """Return what is wrong with the number of a row."""
        right = LENGTH if self._head.endswith("interval") else AMOUNT
        entry = self._entries[row].as_py()
        if entry is None or (isinstance(entry, str) and not entry.strip()):
            return FieldError("", "is missing", right)
        if number == 0:
            right = "a time above 0; a source that never changes has the rate 0, in a column rate"
            return FieldError("", "0 is not above 0", right)
        if 0 < number < np.inf:
            try:
                positive("", number)
            except FieldError as error:
                return error
        return FieldError("", f"{number:g} is {'negative' if number < 0 else 'not finite'}", right)

    def _parse(self, texts: Any, unit: str | None) -> tuple[Floats, Any, dict[int, FieldError]]:
        """Return the numbers of texts of which some have units, NaN for others; the code of each text; errors by code.

        Equal texts have one code, and are read once.
        """
        encoded = texts.combine_chunks() if hasattr(texts, "combine_chunks") else texts
        encoded = encoded.dictionary_encode()
        argument = "mean" if self._head.endswith("interval") else "rate"
        distinct, errors = np.full(len(encoded.dictionary), np.nan), {}
        for code, text in enumerate(encoded.dictionary.to_pylist()):
            try:
                distinct[code] = _number(text, unit, "" if self._head == "weight" else argument)
            except FieldError as error:
                errors[code] = error
        codes = np.asarray(encoded.indices)
        return distinct[codes], codes, errors


def _number(text: str, unit: str | None, argument: str) -> float:
    """Return the number that a text is, in `unit` if it has one of its own; NaN for an empty text.

    `argument` is rate or mean, for what a number with a unit may be, or empty where none may. Raise FieldError for
    other texts.
    """
    value = in_unit(text, unit, argument) if argument else text
    if not text or not isinstance(value, str):
        return float(value or "nan")
    right = "a number, with a point for decimals" + (", or one with a unit such as 3/d" if argument == "rate" else "")
    right += ", or one with a unit such as 20min" if argument == "mean" else ""
    try:
        if "_" not in text:
            return float(text)
    except ValueError:
        pass
    raise FieldError("", f"{short_repr(text)} is not a number", right)


def _names(source: Any, written: str, column: Any) -> tuple[list[str], list[tuple[tuple[()], str, str]]]:
    """Return the names in a column, as texts, and faults, as of `_Column.numbers`, for missing and repeated ones."""
    names = ["" if name is None else str(name) for name in column.to_pylist()]
    first: dict[str, int] = {}
    bad = [row for row, name in enumerate(names) if first.setdefault(name, row) != row or not name.strip()]
    if not bad:
        return names, []
    shown = bad[:MOST_FAULTS]
    faults = []
    for row, place in zip(shown, source.places(shown), strict=True):
        wrong, right = "is missing", "a name for each source"
        if names[row].strip():
            wrong = f"{short_repr(names[row])} is the name of {source.places([first[names[row]]])[0]} too"
            right = "a name of its own for each source"
        faults.append(((), f"{source.name}: {place}, column {written}: {wrong}", right))
    if len(bad) > len(shown):
        wrong = f"{source.name}: column {written}: {len(bad) - len(shown):,} more such rows"
        faults.append(((), wrong, "a name of its own for each source"))
    return names, faults  # type: ignore[return-value]


def checked_names(value: object) -> tuple[str, ...]:
    """Return names of sources, a list of texts, as a tuple; raise FieldError for other values, or repeated names."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(value, Iterable) or isinstance(value, str | bytes | Mapping):
        raise FieldError("", f"{short_repr(value)} is not a list of names", "a name for each source")
    names = tuple(value)
    for name in names if not {type(name) for name in names} <= {str} or "" in names else ():
        if not isinstance(name, str) or not name:
            raise FieldError("", f"{short_repr(name)} is not a name", "a text")
    if not names:
        raise FieldError("", "is empty", "a name for each source")
    if len(set(names)) < len(names):
        again = next(name for row, name in enumerate(names) if name in names[:row])
        raise FieldError("", f"{short_repr(again)} is the name of two sources", "a name of its own for each source")
    return names
