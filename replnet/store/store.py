"""A run directory: what was asked, every finished cell, and at the end the table.

    header.json         what the records were made under (`header`), what may change (`about`), how many cells there are
    journal             the finished cells, and parts of those that are not, see `journal`
    lock                held by the one process that writes
    table.parquet       when every cell is finished
    provenance.json     where the table comes from, and its SHA-256; written last, so with it the run is complete

The digest of `header` is the bond of the journal: records made under another
specification, seed or version do not verify here.

A cell that takes long may be kept in parts, each some of its replications, so that it need not begin anew. The key of
a part is that of its cell, a blank, and which replications it has (`part_key`).
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import Any, final

from replnet.deadline import UnreasonableError
from replnet.store import durable
from replnet.store.durable import LOCK, PARTIAL, DiskError, RefusedError
from replnet.store.journal import Journal, scan
from replnet.text import field_name, short_repr

__all__ = [
    "Contents",
    "DiskError",
    "RefusedError",
    "Store",
    "changed_fields",
    "part_key",
    "parts_of_cell",
    "read_contents",
]

FORMAT = 1  # version of the layout of run directories
HEADER, JOURNAL, TABLE, PROVENANCE = "header.json", "journal", "table.parquet", "provenance.json"
MOST_SHOWN = 20  # differences in a message


@final
@dataclass(frozen=True)
class Contents:
    """The contents of a run directory, finished or not.

    `header` is what all records depend on, and `about` the rest of what was asked. `records` has those of finished
    cells by key, in the order in which they finished, and `parts` those of parts of cells. `provenance` is None until
    the run is complete, and `note` says how far it is, and what is wrong if anything is.
    """

    header: Mapping[str, Any]
    about: Mapping[str, Any]
    records: Mapping[str, Any]  # of finished cells, by key, in the order in which they finished
    parts: Mapping[str, Any]  # records of parts of cells, by key, in the order in which they were made
    provenance: Mapping[str, Any] | None  # None until the run is complete
    note: str  # how far it is, and what is wrong if anything is


@final
class Store:
    """A run directory that this process writes.

    `cells` are the keys of all cells of the run; `finished` has the records that are kept, by key, of cells and of
    parts of cells; `note` says what damage was repaired, and is empty if there was none.
    """

    def __init__(self, folder: Path, cells: frozenset[str], journal: Journal) -> None:
        self.folder, self.cells, self._journal = folder, cells, journal
        self.finished: Mapping[str, Any] = journal.records  # by key
        self.note = journal.note  # on damage that was repaired; mostly empty

    @classmethod
    @contextmanager
    def open_to_write(
        cls, folder: str | Path, header: Mapping[str, Any], cells: Sequence[str], about: Mapping[str, Any] | None = None
    ) -> Iterator[Store]:
        """Begin a run in a directory, or carry on with it; yield its store, and hold its lock during the block.

        `header` is what every record depends on: it may never change. `about` may, and `cells`, the keys of all cells,
        may become more. Raises RefusedError if the directory is in use, of another run, or damaged, and DiskError if it
        cannot be written. If the block raises UnreasonableError, as the run would take too long, a new folder is
        removed, so that the run may be asked for in another way.
        """
        folder = Path(folder)
        new = not folder.exists()
        content = _header_content(header, about or {}, cells)
        with durable.only_writer(folder):
            old = _read_header(folder, new=True)
            if old is None:
                durable.write_whole(folder / HEADER, durable.seal(content, "header"))
            elif changes := changed_fields(old["header"], content["header"]):
                raise RefusedError(
                    f"{folder}: its cells were made with another specification, seed or version (restore that, or use "
                    "another directory)\n" + _indented_list(changes)
                )
            journal = Journal(folder / JOURNAL, _bond(content))
            try:
                store = cls(folder, frozenset(cells), journal)
                store._begin(old or content, content)
                yield store
            except UnreasonableError:
                if new and store.finished.keys().isdisjoint(cells):
                    rmtree(folder)
                raise
            finally:
                journal.close()

    @property
    def open(self) -> bool:
        """Whether records can be appended: not after an append failed, which loses nothing that was appended before."""
        return self._journal.open

    def append(self, key: str, record: Any) -> None:
        """Keep the record of a cell, or of a part of one; once this returns it is safe from a crash or a loss of power.

        `key` is that of the cell, or one from `part_key`. A record that is kept already is not written again. Raises
        ValueError if the cell is not one of this run, or is finished with another record, or if JSON cannot hold the
        record, and DiskError if it cannot be written.
        """
        if _cell_of(key) not in self.cells:
            raise ValueError(f"cell {key}: is not one of the {len(self.cells)} of this run")
        if key in self.finished:
            new = durable.json_data(record, "record")
            if durable.canonical_json(new) != durable.canonical_json(self.finished[key]):
                changes = _indented_list(changed_fields(self.finished[key], new))
                raise ValueError(f"cell {key}: it is finished, with another result\n{changes}")
            return
        self._journal.append(key, record)

    def complete(self, table: Any, provenance: Mapping[str, Any]) -> None:
        """Write the table, a pyarrow Table, and its `provenance`.

        If the table on the disk says the same, both stay as they are. Raises ValueError if cells are not finished or an
        append failed, and DiskError if it cannot be written.
        """
        missing = len(self.cells - self.finished.keys())
        if missing or not self.open:
            raise ValueError(f"{self.folder}: {missing} of {len(self.cells)} cells are not finished")
        parquet = _parquet_file(table)
        written = _read_table(self.folder)
        if written is not None and written[1] == parquet:
            return
        content = {"table": hashlib.sha256(parquet).hexdigest(), "provenance": dict(provenance)}
        seal = durable.seal(content, "provenance")
        self._remove_table()
        durable.write_whole(self.folder / TABLE, parquet)
        durable.write_whole(self.folder / PROVENANCE, seal)

    def _begin(self, old: Mapping[str, Any], content: dict[str, Any]) -> None:
        """Bring the header up to date, and remove a table of fewer cells; refuse to drop cells that are finished.

        `old` is the content of the header on the disk, `content` what it is to be. It raises RefusedError, and changes
        nothing, if there are finished cells that are not of this run.
        """
        if dropped := {_cell_of(key) for key in self.finished} - self.cells:
            raise RefusedError(
                f"{self.folder}: {len(dropped)} of {len(self.finished)} finished cells are not among the "
                f"{len(self.cells)} asked for now (ask for those as well, or use another directory)"
            )
        for name in (HEADER, TABLE, PROVENANCE):
            (self.folder / (name + PARTIAL)).unlink(missing_ok=True)  # left by a process that died
        if self.cells - self.finished.keys():
            self._remove_table()
        if durable.json_line(old, "header") != durable.json_line(content, "header"):  # the order of axes counts
            durable.write_whole(self.folder / HEADER, durable.seal(content, "header"))

    def _remove_table(self) -> None:
        """Remove the table and its provenance, which only a complete run has; do nothing if there are none.

        Raises DiskError if the folder cannot be brought to the disk.
        """
        for name in (PROVENANCE, TABLE):
            (self.folder / name).unlink(missing_ok=True)
        durable.sync_folder(self.folder)


def read_contents(folder: str | Path) -> Contents:
    """Return the contents of a run directory as they are now, also while a process writes there; change nothing.

    Raises RefusedError if it is not the directory of a run, or its header is damaged.
    """
    folder = Path(folder)
    content = _read_header(folder)
    assert content is not None
    try:
        journal = scan(durable.read_plain_file(folder / JOURNAL), _bond(content))
    except FileNotFoundError:
        journal = scan(b"", "")
    parts = {key: record for key, record in journal.records.items() if key != _cell_of(key)}
    whole = {key: record for key, record in journal.records.items() if key not in parts}
    notes = [f"{len(whole)} of {content['cells']} cells are finished"]
    if begun := {_cell_of(key) for key in parts} - whole.keys():
        notes.append(f"parts of {len(begun)} more are kept")
    busy = durable.writer(folder)
    notes += [f"{busy} is writing"] if busy else []
    # While a run goes on, a last record that is half written is no damage.
    notes += [journal.note] if journal.damage or not busy else []
    table = _read_table(folder)
    if table is None and (folder / PROVENANCE).exists():
        notes.append(f"{TABLE} or {PROVENANCE} is damaged: the same sweep writes it again from the journal")
    provenance = table[0] if table else None
    note = "; ".join(filter(None, notes))
    return Contents(content["header"], content["about"], whole, parts, provenance, note)


def part_key(cell: str, replications: range) -> str:
    """Return the key under which the record of some replications of a cell is kept, such as "CELL 0:4".

    `cell` is the key of the cell, and `replications` are their numbers, from 0.
    """
    return f"{cell} {replications.start}:{replications.stop}"


def parts_of_cell(cell: str, records: Mapping[str, Any]) -> list[tuple[range, Any]]:
    """Return the parts of a cell that are kept, first replications first: each as (range of replications, record).

    `cell` is the key of the cell, and `records` has those of all cells and parts by key.
    """
    keys = [key for key in records if key != cell and _cell_of(key) == cell]
    numbers = [tuple(map(int, key.partition(" ")[2].split(":"))) for key in keys]
    parts = [(range(*ends), records[key]) for ends, key in zip(numbers, keys, strict=True)]
    return sorted(parts, key=lambda part: (part[0].start, part[0].stop))


def _cell_of(key: str) -> str:
    """Return the key of the cell to which the record with this key belongs, whether of the whole cell or of a part."""
    return key.partition(" ")[0]


def changed_fields(old: Any, new: Any, path: tuple[str | int, ...] = ()) -> list[str]:
    """Return a line for each field in which two JSON values differ, such as `network.peers: 1 -> 2`.

    `path` has the names and indices that lead to both values, with which lines begin.
    """
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        keys: list[Any] = list(dict.fromkeys([*old, *new]))
        pairs = [(key, old.get(key, _ABSENT), new.get(key, _ABSENT)) for key in keys]
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = [(i, *values) for i, values in enumerate(zip(old, new, strict=True))]
    elif old is _ABSENT or new is _ABSENT or durable.canonical_json(old) != durable.canonical_json(new):
        before, after = ("nothing" if value is _ABSENT else short_repr(value) for value in (old, new))
        return [f"{field_name(path) or 'all'}: {before} -> {after}"]
    else:
        return []
    return [line for key, before, after in pairs for line in changed_fields(before, after, (*path, key))]


_ABSENT = object()


def _indented_list(lines: Sequence[str]) -> str:
    """Return lines of text as an indented list, of which at most MOST_SHOWN are shown."""
    more = [f"... and {len(lines) - MOST_SHOWN} more"] if len(lines) > MOST_SHOWN else []
    return "\n".join(f"    {line}" for line in [*lines[:MOST_SHOWN], *more])


def _header_content(header: Mapping[str, Any], about: Mapping[str, Any], cells: Sequence[str]) -> dict[str, Any]:
    """Return the content of header.json for this run, as it will be read again.

    Raises ValueError if JSON cannot hold it.
    """
    content = {"format": FORMAT, "header": header, "about": about, "cells": len(set(cells))}
    return dict(durable.json_data(content, "header"))


def _bond(content: Mapping[str, Any]) -> str:
    """Return the SHA-256, as hexadecimal digits, of `header` in the content of header.json.

    The lines of the journal are made under it.
    """
    return durable.digest(durable.canonical_json(content["header"]))


def _read_header(folder: Path, new: bool = False) -> dict[str, Any] | None:
    """Return the content of header.json; with `new`, None if the directory holds nothing yet.

    Raises RefusedError if the directory is not that of a run, or the header is damaged.
    """
    try:
        content = durable.unseal(durable.read_plain_file(folder / HEADER))
    except FileNotFoundError:
        files = sorted(p.name for p in folder.glob("*") if p.name not in (LOCK, HEADER + PARTIAL))
        if new and not files:
            return None
        contents = f"it holds {', '.join(files[:3])}, but no {HEADER}" if files else f"there is no {HEADER}"
        right = "give a new or empty directory, or one of a run"
        raise RefusedError(f"{folder}: not the directory of a run: {contents} ({right})") from None
    if content is None or not content.keys() >= {"format", "header", "about", "cells"}:
        raise RefusedError(f"{folder / HEADER}: damaged, so nothing says what its cells are of (use another directory)")
    if content.get("format") != FORMAT:
        raise RefusedError(f"{folder}: written by another version of replnet (use that, or another directory)")
    return content


def _read_table(folder: Path) -> tuple[dict[str, Any], bytes] | None:
    """Return (provenance, bytes of the Parquet file) of the table; None if they are missing or damaged."""
    while True:
        try:
            seal = durable.read_plain_file(folder / PROVENANCE)
            parquet = durable.read_plain_file(folder / TABLE)
            unchanged = durable.read_plain_file(folder / PROVENANCE) == seal
        except FileNotFoundError:
            return None
        content = durable.unseal(seal)
        if content is not None and content["table"] == hashlib.sha256(parquet).hexdigest():
            return content["provenance"], parquet
        if unchanged:  # otherwise another process replaced them meanwhile, so read again
            return None


def _parquet_file(table: Any) -> bytes:
    """Return a pyarrow Table as the bytes of a Parquet file; equal tables have equal bytes."""
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()
