"""An append-only file of records, one line each, that knows what is missing from it.

A line is

    <SHA-256 of bond, number and text>  <number>  <text: JSON of [key, record]>        (1)

with single blanks between. Numbers count from 0, so that a lost line is seen.
The bond is the digest of what all records were made under: a line that verifies
is, byte for byte, what was appended under this bond as this number, wherever in
the file it stands and whatever happened to its neighbours. That is why good
lines behind a damaged one can be kept.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, final

from replnet.store import durable
from replnet.store.durable import DiskError, RefusedError

HEX = 64  # digits of a SHA-256
_sync = getattr(os, "fdatasync", os.fsync)  # both also sync the length of a file


@final
@dataclass
class Scan:
    """The content of a journal: its intact records by key of a cell or part, its whole lines, and where it is wrong.

    `lines` counts whole lines, good or not; `damage` has the byte at which each line begins that is wrong or out of
    place; `end` is the byte after the last whole line; and `torn` counts the bytes after that, of an append that did
    not finish.
    """

    records: dict[str, Any] = field(default_factory=dict)
    lines: int = 0  # number of whole lines, good or not
    damage: list[int] = field(default_factory=list)  # the bytes at which a line is wrong or out of place
    end: int = 0  # the byte after the last whole line
    torn: int = 0  # bytes after that, of an append that did not finish

    @property
    def note(self) -> str:
        """A sentence on what is wrong with the journal, and how many records are kept; empty if nothing is wrong."""
        intact = f"{len(self.records)} finished cells verify and are kept"
        if self.damage:
            places = f" in {len(self.damage)} places, first" if len(self.damage) > 1 else ""
            return f"the journal is damaged{places} at byte {self.damage[0]}: {intact}, the others run again"
        if self.torn:
            return f"the last {self.torn} bytes of the journal are of an append that did not finish: {intact}"
        return ""


def scan(raw: bytes, bond: str) -> Scan:
    """Return the records of a journal that verify under `bond`, and where it is damaged or torn.

    `raw` is the content of its file, and `bond` the digest of what the records were made under. Raises RefusedError if
    two records of a key differ.
    """
    result = Scan()
    expected = 0
    while (end := raw.find(b"\n", result.end)) >= 0:
        entry = _parse_line(raw[result.end : end], bond)
        if entry is None or entry[0] != expected:
            result.damage.append(result.end)
        expected += 1
        if entry is not None:
            number, key, record = entry
            if key in result.records and durable.canonical_json(result.records[key]) != durable.canonical_json(record):
                raise RefusedError(f"journal: two different results of cell {key} (start again in another directory)")
            result.records[key] = record
            expected = number + 1
        result.lines += 1
        result.end = end + 1
    result.torn = len(raw) - result.end
    return result


def line(bond: str, number: int, key: str, record: Any) -> bytes:
    """Return the line of a journal that holds a record: its SHA-256, `number`, and the JSON of [`key`, `record`].

    `bond`, the digest of what the records are made under, enters the SHA-256. `number` counts lines from 0.
    """
    body = f"{number} {durable.json_line([key, record], 'record')}".encode()
    return _checksum(bond, body) + b" " + body + b"\n"


def _checksum(bond: str, body: bytes) -> bytes:
    """Return the hexadecimal SHA-256 with which a line begins: that of `bond` and of `body`, the rest of the line."""
    return hashlib.sha256(bond.encode() + b"\n" + body).hexdigest().encode()


def _parse_line(raw: bytes, bond: str) -> tuple[int, str, Any] | None:
    """Return (number, key, record) of a line, `raw` without its line end; None if it does not verify under `bond`."""
    body = raw[HEX + 1 :]
    if raw[: HEX + 1] != _checksum(bond, body) + b" ":
        return None
    key, record = _key_and_record(raw)
    return int(body.split(b" ", 1)[0]), key, record


def _key_and_record(line: bytes) -> tuple[str, Any]:
    """Return (key, record) of a whole line, which is taken to be intact."""
    key, record = json.loads(line.split(b" ", 2)[2])
    return key, record


@final
class Journal:
    """A journal that is open for writing; a record is on the disk once `append` returns.

    `bond` is the digest of what all records are made under. When it is opened a missing file is created, a torn end cut
    off, and a damaged file replaced by its records that verify; `records` has these by key, and `note` says what was
    wrong. Raises RefusedError if none verifies, or the file is not a plain one or cannot be written, and DiskError if
    the disk is full.
    """

    def __init__(self, path: Path, bond: str) -> None:
        self._path, self._bond = path, bond
        new = not path.exists()
        content = scan(b"" if new else durable.read_plain_file(path), bond)
        self.note = content.note
        if content.damage:
            self.note += f"; the damaged file is kept as {self._repair(content.records, content.lines)}"
            content = scan(durable.read_plain_file(path), bond)
        self.records: dict[str, Any] = content.records
        self._lines, self._end = content.lines, content.end
        with durable.explain_failures(path):
            self._fd = durable.open_plain_file(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            if content.torn:
                self._cut()
        if new:
            durable.sync_folder(path.parent)

    @property
    def open(self) -> bool:
        """Whether records can be appended: the journal was neither closed nor did an append fail."""
        return self._fd >= 0

    def append(self, key: str, record: Any) -> None:
        """Write the record of a cell, or a part of one, with this key to the disk.

        If the disk takes no more it raises DiskError; after any failure to write, nothing of the record stays in the
        file, and the journal is closed. Raises ValueError if it is closed already, or if JSON cannot hold the record.
        """
        if not self.open:
            raise ValueError("journal: it is closed, because an append failed (open it again)")
        entry = line(self._bond, self._lines, key, record)
        try:
            unwritten = memoryview(entry)
            while unwritten:
                unwritten = unwritten[os.write(self._fd, unwritten) :]
            _sync(self._fd)
            self._check_still_there()
            self._end += len(entry)
            self._lines += 1
            # The record as it was written, so that it is the same now and after a resume.
            self.records[key] = _key_and_record(entry)[1]
        except BaseException as error:
            # Also when Ctrl-C comes in between: a record that was not acknowledged must not stay in the file.
            self._withdraw()
            if isinstance(error, OSError) and not isinstance(error, DiskError):
                advice = f"{len(self.records)} finished cells are kept (make room, then the same command carries on)"
                raise DiskError(f"{self._path}: {error.strerror or error}; {advice}") from error
            raise

    def _check_still_there(self) -> None:
        """Raise DiskError if the file has lost its name, so that nobody will ever read what is written into it."""
        if not durable.is_at(self._path, self._fd):
            raise DiskError(
                f"{self._path}: removed, moved or replaced while it was written, and with it {len(self.records)} "
                "finished cells (put it back, then the same command carries on; without it, the command begins anew)"
            )

    def close(self) -> None:
        """Close the file; a second time does nothing."""
        if self.open:
            os.close(self._fd)
            self._fd = -1

    def _withdraw(self) -> None:
        """Take back an append that failed, and close the journal.

        If the disk refuses even that, a torn tail is left, which is cut off when the journal is opened again.
        """
        with suppress(OSError):
            self._cut()
        self.close()

    def _cut(self) -> None:
        """Cut the file off after its last whole line that is acknowledged, and bring that to the disk.

        Raises OSError if the disk refuses.
        """
        os.ftruncate(self._fd, self._end)
        _sync(self._fd)

    def _repair(self, records: Mapping[str, Any], lines: int) -> str:
        """Write the journal anew with the `records` that verify, and keep a copy of the damaged file beside it.

        `lines` is the number of its lines, for the error. Returns the name of the copy. Raises RefusedError, and
        changes nothing, if no record verifies.
        """
        if not records:
            raise RefusedError(
                f"{self._path}: none of its {lines} records belongs to the header beside it "
                "(it is damaged or of another run: start again in another directory)"
            )
        aside = next(
            path for n in count(1) if not (path := self._path.with_name(f"{self._path.name}.damaged-{n}")).exists()
        )
        durable.write_whole(aside, durable.read_plain_file(self._path))
        again = b"".join(line(self._bond, i, *entry) for i, entry in enumerate(records.items()))
        durable.write_whole(self._path, again)
        return aside.name
