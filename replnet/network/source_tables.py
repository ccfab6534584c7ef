"""Tables of sources, a row for each: how often it changes, what it counts, how often it is downloaded, its name.

A table is a CSV or Parquet file or a DataFrame. Columns are known by their heads:

    rates       rate, or interval: updates per unit of time, or the mean time between two
    weights     weight
    allocate    visit_rate, or visit_interval: downloads per unit of time, or the time between two
    names       name, in any of these

A time is read where there is no rate. Values may have units of their own, such as 3/d or 20min. A table of rates gives
weights and names too, unless they are given elsewhere; a column of weights that is empty counts as none. Tables of one
network that have names are put in the order of the first.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import numpy as np

from replnet.laws import Floats
from replnet.network.long_lists import listed_names
from replnet.network.source_files import MOST_FAULTS, Fault, Reader, is_table, reader_of, refuse
from replnet.text import (
    LARGEST,
    SMALLEST,
    WORDS,
    FieldError,
    FieldsError,
    as_cell,
    convert_times,
    in_unit,
    positive,
    short_repr,
)

COLUMNS = {"rates": ("rate", "interval"), "weights": ("weight",), "allocate": ("visit_rate", "visit_interval")}
"""The heads of columns by the field that is read from them: a rate or weight, and where that is missing a time."""
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
        table_or_path = fields.get(field)
        if not is_table(table_or_path):
            continue
        try:
            table = _read(table_or_path, field, folder, unit)
            table = _in_order_of(listed_names(fields.get("names")), table, _name_of(table_or_path))
        except FieldsError as error:
            fields[field] = error
            continue
        fields[field] = table.values
        if table.names is not None and fields.get("names") is None:
            fields["names"] = table.names
        if field == "rates" and table.weights is not None and fields.get("weights") is None:
            fields["weights"] = table.weights
        if table.ignored:
            notes.append(f"{_name_of(table_or_path)}: nothing is read from {', '.join(table.ignored)}")
    return fields, tuple(notes)


def _in_order_of(names: Any, table: SourceTable, file: str) -> SourceTable:
    """Return a table with its rows in the order of these names, those of the sources of the network so far.

    They stay in their order if either has no names. Raise FieldsError, which names the `file`, if the table has no row
    for one of the names, or a row too many.
    """
    if names is None or table.names is None or names == table.names:
        return table
    place = {name: row for row, name in enumerate(table.names)}
    missing = [name for name in names if name not in place]
    if missing:
        refuse(f"{file}: has no row for {short_repr(missing[0])}", "a row for each source, by its name")
    if len(place) > len(names):
        extra = next(iter(place.keys() - set(names)))
        refuse(f"{file}: has a row for {short_repr(extra)}, which is no source", "a row for each source, by its name")
    rows = [place[name] for name in names]
    weights = None if table.weights is None else table.weights[rows]
    return replace(table, values=table.values[rows], weights=weights, names=list(names))


def _name_of(table: Any) -> str:
    """Return what errors call a table: the path of its file, or "the table" for a DataFrame."""
    return str(table) if isinstance(table, str | os.PathLike) else "the table"


def _read(table_or_path: Any, field: str, folder: Path | None, unit: str | None) -> SourceTable:
    """Return the columns of a table for a field of a network, one of COLUMNS; see `with_tables`.

    Raise FieldsError with what is wrong, with the line and the column where it is.
    """
    source = reader_of(table_or_path, folder)
    heads = source.heads()
    wanted = {head.strip().lower(): head for head in heads}
    heads_read = (*COLUMNS[field], *(("weight",) if field == "rates" else ()), "name")
    for head in heads_read:
        if sum(other.strip().lower() == head for other in heads) > 1:
            refuse(f"{source.name}: has several columns {head}", "one")
    main = next((head for head in COLUMNS[field] if head in wanted), None)
    if main is None:
        first_heads = ", ".join(short_repr(head) for head in heads[:10]) or "none"
        wrong = f"{source.name}: has no column {' or '.join(COLUMNS[field])}; its columns are {first_heads}"
        refuse(wrong, f"a column {' or '.join(COLUMNS[field])}")
    used = [main, *(head for head in heads_read if head in wanted and head not in COLUMNS[field])]
    columns = dict(zip(used, source.columns([wanted[head] for head in used]), strict=True))
    if not len(columns[main]):
        refuse(f"{source.name}: has no rows", "a row for each source")
    faults: list[Fault] = []
    numbers: dict[str, Floats] = {}
    for head in (head for head in used if head != "name"):
        column = _Column(source, wanted[head], head, columns[head])
        if head != main and column.is_empty:
            continue
        numbers[head], faults_of_column = column.numbers(unit)
        faults += faults_of_column
    names = None
    if "name" in used:
        names, faults_of_names = _names(source, wanted["name"], columns["name"])
        faults += faults_of_names
    if faults:
        raise FieldsError(faults)
    result = 1 / numbers[main] if main.endswith("interval") else numbers[main]
    if main != "weight":
        result = result * _units_per(getattr(table_or_path, "attrs", {}).get("unit"), unit)
    ignored = tuple(head for head in heads if head.strip().lower() not in used and head)
    return SourceTable(result, numbers.get("weight") if field == "rates" else None, names, ignored)


def _units_per(table_unit: str | None, unit: str | None) -> float:
    """Return how many of `table_unit`, the unit of the rates of a DataFrame, make one `unit`, that of the network.

    It is 1 if the DataFrame has no unit. Raise FieldsError if the network has no unit (None), and the DataFrame one.
    """
    if table_unit in WORDS and unit is None:
        refuse(
            f"the table: has rates per {WORDS[table_unit]}, but the network has no unit for its times",
            f"unit: {table_unit}",
        )
    return 1.0 if table_unit not in WORDS or unit is None else convert_times(1.0, unit, table_unit)


# ---- Columns


@final
class _Column:
    """A column of numbers of a table: the head in the table, `head` as it is known, and its entries."""

    def __init__(self, source: Reader, written: str, head: str, entries: Any) -> None:
        self._source, self._written, self._head, self._entries = source, written, head, entries

    @property
    def is_empty(self) -> bool:
        """Whether all entries of the column are missing or blank."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if self._entries.type in (pa.string(), pa.large_string()):
            return not pc.any(pc.not_equal(pc.utf8_trim_whitespace(self._entries), "")).as_py()
        return bool(self._entries.null_count == len(self._entries))

    def numbers(self, unit: str | None) -> tuple[Floats, list[Fault]]:
        """Return the numbers in the column, in the unit of the network, and the faults of those that are wrong.

        A fault is an empty path, what is wrong with the file, line and column, and what would be right. There are some
        of them if many numbers are wrong, and one that counts the rest. Raise FieldsError if the column is of another
        type.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        is_length = self._head.endswith("interval")
        errors: dict[int, FieldError] = {}
        kind, codes = self._entries.type, None
        if kind in (pa.string(), pa.large_string()):
            texts = pc.utf8_trim_whitespace(self._entries)
            try:
                values = pc.cast(texts, pa.float64())
            except pa.ArrowInvalid:
                values, codes, errors = self._parse(texts, unit)
        elif pa.types.is_boolean(kind) or pa.types.is_nested(kind) or pa.types.is_temporal(kind):
            refuse(f"{self._source.name}: column {self._written} is of type {kind}", "numbers")
        else:
            values = pc.cast(self._entries, pa.float64(), safe=False)
        numbers = np.asarray(values if codes is not None else pc.fill_null(values, np.nan), dtype=float)
        fits = (numbers >= SMALLEST) & (numbers <= LARGEST)
        bad = np.flatnonzero(~(fits if is_length else fits | (numbers == 0)))
        if not bad.size:
            return numbers, []
        rows_told = bad[:MOST_FAULTS].tolist()
        faults: list[Fault] = []
        for row, place in zip(rows_told, self._source.places(rows_told), strict=True):
            error = errors.get(-1 if codes is None else int(codes[row])) or self._error(row, float(numbers[row]))
            faults.append(((), f"{self._source.name}: {place}, column {self._written}: {error.wrong}", error.right))
        if bad.size > len(rows_told):
            rest = f"{self._source.name}: column {self._written}: {bad.size - len(rows_told):,} more such rows"
            faults.append(((), rest, LENGTH if is_length else AMOUNT))
        return numbers, faults

    def _error(self, row: int, number: float) -> FieldError:
        """Return the FieldError, without a field, for the wrong number of a row: missing, 0, too large or the like."""
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


def _names(source: Reader, written: str, column: Any) -> tuple[list[str], list[Fault]]:
    """Return the names in a column, as texts, and faults, as of `_Column.numbers`, for missing and repeated ones.

    `written` is the head of the column in the table, for messages.
    """
    names = ["" if name is None else str(name) for name in column.to_pylist()]
    # As names like formulas are written in CSV (text.as_cell).
    names = [name[1:] if name[:1] == "'" and as_cell(name[1:]) == name else name for name in names]
    first: dict[str, int] = {}
    bad = [row for row, name in enumerate(names) if first.setdefault(name, row) != row or not name.strip()]
    if not bad:
        return names, []
    rows_told = bad[:MOST_FAULTS]
    faults: list[Fault] = []
    for row, place in zip(rows_told, source.places(rows_told), strict=True):
        wrong, right = "is missing", "a name for each source"
        if names[row].strip():
            wrong = f"{short_repr(names[row])} is the name of {source.places([first[names[row]]])[0]} too"
            right = "a name of its own for each source"
        faults.append(((), f"{source.name}: {place}, column {written}: {wrong}", right))
    if len(bad) > len(rows_told):
        wrong = f"{source.name}: column {written}: {len(bad) - len(rows_told):,} more such rows"
        faults.append(((), wrong, "a name of its own for each source"))
    return names, faults
