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
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import Any, final

from replnet.deadline import UnreasonableError
from replnet.study.store import durable
from replnet.study.store.durable import LOCK, PARTIAL, DiskError, RefusedError
from replnet.study.store.journal import Journal, scan
from replnet.text.errors import field_name, shown

__all__ = ["Contents", "DiskError", "RefusedError", "Store", "differences", "part_key", "parts_of", "read"]

FORMAT = 1  # of the directory
HEADER, JOURNAL, TABLE, PROVENANCE = "header.json", "journal", "table.parquet", "provenance.json"
MOST_SHOWN = 20  # differences


@final
@dataclass(frozen=True)
class Contents:
    """What a run directory holds, finished or not."""

    header: Mapping[str, Any]
    about: Mapping[str, Any]
    records: Mapping[str, Any]  # of the finished ones, by key, in the order in which they finished
    parts: Mapping[str, Any]  # of cells, by key, in the order in which they were made
    provenance: Mapping[str, Any] | None  # once the run is complete
    note: str  # how far it is, and what is wrong if anything is


@final
class Store:
    """A run directory that this process writes."""

    def __init__(self, folder: Path, cells: frozenset[str], journal: Journal) -> None:
        self.folder, self.cells, self._journal = folder, cells, journal
        self.finished: Mapping[str, Any] = journal.records  # by key
        self.note = journal.note  # what was found damaged and put right; mostly empty

    @classmethod
    @contextmanager
    def writing(
        cls, folder: str | Path, header: Mapping[str, Any], cells: Sequence[str], about: Mapping[str, Any] | None = None
    ) -> Iterator[Store]:
        """Begin a run, or carry on with it.

        `header` is what every record depends on: it may never change. `about` may, and `cells` may
        become more. Nobody else writes in the folder meanwhile. What is refused for the time that it would take leaves
        no folder, so that it may be asked for in another way.
        """
        folder = Path(folder)
        new = not folder.exists()
        content = _content(header, about or {}, cells)
        with durable.only_writer(folder):
            old = _header(folder, new=True)
            if old is None:
                durable.write_whole(folder / HEADER, durable.sealed(content, "header"))
            else:
                _check_same(folder, old["header"], content["header"])
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
        """False after an append that failed; what it was told before is kept."""
        return self._journal.open

    def append(self, key: str, record: Any) -> None:
        """Once this returns, the cell is finished, whatever happens to process, machine or power."""
        if _cell_of(key) not in self.cells:
            raise ValueError(f"cell {key}: is not one of the {len(self.cells)} of this run")
        if key in self.finished:
            given = json.loads(durable.plain(record, "record"))
            if durable.canonical(given) != durable.canonical(self.finished[key]):
                changes = _listed(differences(self.finished[key], given))
                raise ValueError(f"cell {key}: it is finished, with another result\n{changes}")
            return
        self._journal.append(key, record)

    def complete(self, table: Any, provenance: Mapping[str, Any]) -> None:
        """Add the table, a DataFrame. What is already there and says the same stays as it is."""
        missing = len(self.cells - self.finished.keys())
        if missing or not self.open:
            raise ValueError(f"{self.folder}: {missing} of {len(self.cells)} cells are not finished")
        parquet = _parquet(table)
        there = _table(self.folder)
        if there is not None and there[1] == parquet:
            return
        content = {"table": hashlib.sha256(parquet).hexdigest(), "provenance": dict(provenance)}
        seal = durable.sealed(content, "provenance")
        self._incomplete()
        durable.write_whole(self.folder / TABLE, parquet)
        durable.write_whole(self.folder / PROVENANCE, seal)

    def _begin(self, old: Mapping[str, Any], content: dict[str, Any]) -> None:
        """The header as it is now, and no table of fewer cells."""
        if dropped := {_cell_of(key) for key in self.finished} - self.cells:
            raise RefusedError(
                f"{self.folder}: {len(dropped)} of {len(self.finished)} finished cells are not among the "
                f"{len(self.cells)} asked for now (ask for those as well, or use another directory)"
            )
        for name in (HEADER, TABLE, PROVENANCE):
            (self.folder / (name + PARTIAL)).unlink(missing_ok=True)  # of a process that died
        if self.cells - self.finished.keys():
            self._incomplete()
        if durable.plain(old, "header") != durable.plain(content, "header"):
            durable.write_whole(self.folder / HEADER, durable.sealed(content, "header"))

    def _incomplete(self) -> None:
        for name in (PROVENANCE, TABLE):
            (self.folder / name).unlink(missing_ok=True)
        durable.sync_folder(self.folder)


def read(folder: str | Path) -> Contents:
    """What is there now, also while somebody writes; nothing is changed."""
    folder = Path(folder)
    content = _header(folder)
    assert content is not None
    try:
        found = scan(durable.read_plain(folder / JOURNAL), _bond(content))
    except FileNotFoundError:
        found = scan(b"", "")
    parts = {key: record for key, record in found.records.items() if key != _cell_of(key)}
    whole = {key: record for key, record in found.records.items() if key not in parts}
    notes = [f"{len(whole)} of {content['cells']} cells are finished"]
    if begun := {_cell_of(key) for key in parts} - whole.keys():
        notes.append(f"parts of {len(begun)} more are kept")
    busy = durable.writer(folder)
    notes += [f"{busy} is writing"] if busy else []
    # The last record of a run that goes on may be half written, which is as it should be.
    notes += [found.note] if found.damage or not busy else []
    table = _table(folder)
    if table is None and (folder / PROVENANCE).exists():
        notes.append(f"{TABLE} or {PROVENANCE} is damaged: the same sweep writes it again from the journal")
    provenance = table[0] if table else None
    said = "; ".join(filter(None, notes))
    return Contents(content["header"], content["about"], whole, parts, provenance, said)


def part_key(cell: str, replications: range) -> str:
    """Of a record of some replications of a cell."""
    return f"{cell} {replications.start}:{replications.stop}"


def parts_of(cell: str, records: Mapping[str, Any]) -> list[tuple[range, Any]]:
    """Which replications of a cell there are records of, and these; the first replications first."""
    keys = [key for key in records if key != cell and _cell_of(key) == cell]
    numbers = [tuple(map(int, key.partition(" ")[2].split(":"))) for key in keys]
    found = [(range(*ends), records[key]) for ends, key in zip(numbers, keys, strict=True)]
    return sorted(found, key=lambda part: (part[0].start, part[0].stop))


def _cell_of(key: str) -> str:
    """The cell of a record, or of a part of one."""
    return key.partition(" ")[0]


def differences(old: Any, new: Any, path: tuple[str | int, ...] = ()) -> list[str]:
    """Field by field, such as `network.peers: 1 -> 2`."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        keys: list[Any] = list(dict.fromkeys([*old, *new]))
        pairs = [(key, old.get(key, _ABSENT), new.get(key, _ABSENT)) for key in keys]
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = [(i, *both) for i, both in enumerate(zip(old, new, strict=True))]
    elif old is _ABSENT or new is _ABSENT or durable.canonical(old) != durable.canonical(new):
        before, after = ("nothing" if value is _ABSENT else shown(value) for value in (old, new))
        return [f"{field_name(path) or 'all'}: {before} -> {after}"]
    else:
        return []
    return [line for key, before, after in pairs for line in differences(before, after, (*path, key))]


_ABSENT = object()


def _listed(lines: Sequence[str]) -> str:
    more = [f"... and {len(lines) - MOST_SHOWN} more"] if len(lines) > MOST_SHOWN else []
    return "\n".join(f"    {line}" for line in [*lines[:MOST_SHOWN], *more])


def _content(header: Mapping[str, Any], about: Mapping[str, Any], cells: Sequence[str]) -> dict[str, Any]:
    """Of header.json, as it will be read again."""
    content = {"format": FORMAT, "header": header, "about": about, "cells": len(set(cells))}
    again: dict[str, Any] = json.loads(durable.plain(content, "header"))
    return again


def _bond(content: Mapping[str, Any]) -> str:
    return durable.digest(durable.canonical(content["header"]))


def _header(folder: Path, new: bool = False) -> dict[str, Any] | None:
    """Of a run directory; None where a new one may begin."""
    try:
        content = durable.unsealed(durable.read_plain(folder / HEADER))
    except FileNotFoundError:
        there = sorted(p.name for p in folder.glob("*") if p.name not in (LOCK, HEADER + PARTIAL))
        if new and not there:
            return None
        what = f"it holds {', '.join(there[:3])}, but no {HEADER}" if there else f"there is no {HEADER}"
        right = "give a new or empty directory, or one of a run"
        raise RefusedError(f"{folder}: not the directory of a run: {what} ({right})") from None
    if content is None or not content.keys() >= {"format", "header", "about", "cells"}:
        raise RefusedError(
            f"{folder / HEADER}: damaged, so nothing says what the cells were made under (use another directory)"
        )
    if content.get("format") != FORMAT:
        raise RefusedError(f"{folder}: written by another version of replnet (use that, or another directory)")
    return content


def _check_same(folder: Path, old: Any, new: Any) -> None:
    if changes := differences(old, new):
        raise RefusedError(
            f"{folder}: its cells were made under something else (restore that, or use another directory)\n"
            + _listed(changes)
        )


def _table(folder: Path) -> tuple[dict[str, Any], bytes] | None:
    """Provenance and table, if both are what was written."""
    while True:
        try:
            seal = durable.read_plain(folder / PROVENANCE)
            parquet = durable.read_plain(folder / TABLE)
            unchanged = durable.read_plain(folder / PROVENANCE) == seal
        except FileNotFoundError:
            return None
        content = durable.unsealed(seal)
        if content is not None and content["table"] == hashlib.sha256(parquet).hexdigest():
            return content["provenance"], parquet
        if unchanged:  # else somebody replaced them meanwhile
            return None


def _parquet(table: Any) -> bytes:
    """The same bytes for the same table."""
    sink = io.BytesIO()
    try:
        table.to_parquet(sink, engine="pyarrow", index=False)
    except (ValueError, TypeError) as error:  # as Arrow's own errors are
        raise ValueError(f"table: {error} (every column of one kind: numbers, text or true and false)") from error
    return sink.getvalue()
