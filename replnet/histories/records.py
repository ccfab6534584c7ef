"""What somebody recorded of nodes: rows of a time and a node, with the version or the departure of what that had.

A row says what a node had at an instant, or why nobody could tell:

    time     when, as it is written: a number, or a date
    node     the name of the node
    version  what tells one content from another; None where nothing does
    left     when the data left its source, as it is written; None where nobody knows
    changed  whether the node had something else than at the visit before, in a crawler's log
    fault    why the visit brought nothing; None if it did
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from replnet.histories.times import Entry
from replnet.laws import Flags
from replnet.text import FieldError

SOURCE = "source"  # the name of the source, unless another is given
COLUMNS = ("time", "node", "version", "left", "changed", "fault")
YES = {"1", "1.0", "true", "yes", "y", "t", "changed"}
NO = {"0", "0.0", "false", "no", "n", "f", "unchanged"}


@final
@dataclass(frozen=True, eq=False)
class Record:
    """Rows of what nodes had when, of one `kind`, as the `name` of their file or files tells.

    `table` is a DataFrame with the columns time and node, and those others of COLUMNS that its kind has. `complete`
    says that there is a row at every change, and `notes` are texts on how the rows were read.
    """

    name: str
    kind: str
    table: Any
    notes: tuple[str, ...] = ()
    complete: bool = False


def record_of_rows(name: str, kind: str, rows: Iterable[Mapping[str, Any]], notes: Sequence[str] = ()) -> Record:
    """Return the record with these rows, each by the names in COLUMNS; raise a FieldError if there are none."""
    import pandas as pd

    table = pd.DataFrame(list(rows), dtype=object)
    if table.empty:
        raise FieldError(name, "names no node", f"{kind} with one node or more")
    return Record(name, kind, table[[column for column in COLUMNS if column in table]], tuple(notes))


def join_records(records: Sequence[Record]) -> Record:
    """Return one record with the rows of all, each once; raise a FieldError if they are of different kinds.

    The same row may stand in several files, as when each has the last day.
    """
    import pandas as pd

    if len(records) == 1:
        return records[0]
    kinds = dict.fromkeys(record.kind for record in records)
    name = f"{records[0].name} and {len(records) - 1} more"
    if len(kinds) > 1:
        raise FieldError(name, f"are of several kinds: {', '.join(kinds)}", "files of one kind")
    table = pd.concat([record.table for record in records], ignore_index=True).astype(object)
    table = table.where(table.notna(), None).drop_duplicates(ignore_index=True)
    notes = dict.fromkeys(note for record in records for note in record.notes)
    return replace(records[0], name=name, table=table, notes=tuple(notes))


def placed_entries(name: str, table: Any, column: str) -> list[Entry]:
    """Return each value that there is in a column of a record's table, after its place, such as "NAME: row 1"."""
    values = table[column].astype(object).tolist()
    return [(f"{name}: row {row}", value) for row, value in enumerate(values, 1) if not is_missing(value)]


def is_missing(value: Any) -> bool:
    """Whether a cell of a table is empty."""
    return value is None or value != value or (isinstance(value, str) and not value.strip())


def is_yes(name: str, values: Iterable[object]) -> Flags:
    """Return whether each of the values in a column `changed` of the record `name` says yes; raise a FieldError if one
    is neither yes nor no.
    """
    words = [str(value).strip().lower() for value in values]
    wrong = next((word for word in words if word not in YES | NO), None)
    if wrong is not None:
        raise FieldError(name, f"{wrong!r} is neither yes nor no", "1 or 0, yes or no, in the column changed")
    return np.array([word in YES for word in words], dtype=bool)
