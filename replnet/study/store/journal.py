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
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

from replnet.study.store import durable
from replnet.study.store.durable import DiskError, RefusedError

HEX = 64  # digits of a SHA-256
_sync = getattr(os, "fdatasync", os.fsync)  # the length of a file is data to both


@final
@dataclass
class Scan:
    """What a journal says."""

    records: dict[str, Any] = field(default_factory=dict)
    lines: int = 0  # whole ones, good or not
    damage: list[int] = field(default_factory=list)  # where a line does not verify or is not the one that belongs there
    end: int = 0  # of the last whole line
    torn: int = 0  # bytes after it, of an append that did not finish

    @property
    def note(self) -> str:
        """What is wrong, if anything is."""
        kept = f"{len(self.records)} finished cells verify and are kept"
        if self.damage:
            places = f" in {len(self.damage)} places, first" if len(self.damage) > 1 else ""
            return f"the journal is damaged{places} at byte {self.damage[0]}: {kept}, the others run again"
        if self.torn:
            return f"the last {self.torn} bytes of the journal are of an append that did not finish: {kept}"
        return ""


def scan(raw: bytes, bond: str) -> Scan:
    """Every record that verifies, and whether that is all there was."""
    found = Scan()
    expected = 0
    while (end := raw.find(b"\n", found.end)) >= 0:
        entry = _verified(raw[found.end : end], bond)
        if entry is None or entry[0] != expected:
            found.damage.append(found.end)
        expected += 1
        if entry is not None:
            number, key, record = entry
            if key in found.records and durable.canonical(found.records[key]) != durable.canonical(record):
                raise RefusedError(f"journal: two different results of cell {key} (start again in another directory)")
            found.records[key] = record
            expected = number + 1
        found.lines += 1
        found.end = end + 1
    found.torn = len(raw) - found.end
    return found


def line(bond: str, number: int, key: str, record: Any) -> bytes:
    """(1)."""
    body = f"{number} {durable.plain([key, record], 'record')}".encode()
    return _sum(bond, body) + b" " + body + b"\n"


def _sum(bond: str, body: bytes) -> bytes:
    return hashlib.sha256(bond.encode() + b"\n" + body).hexdigest().encode()


def _verified(raw: bytes, bond: str) -> tuple[int, str, Any] | None:
    body = raw[HEX + 1 :]
    if raw[: HEX + 1] != _sum(bond, body) + b" ":
        return None
    key, record = _content(raw)
    return int(body.split(b" ", 1)[0]), key, record


def _content(line: bytes) -> tuple[str, Any]:
    key, record = json.loads(line.split(b" ", 2)[2])
    return key, record


@final
class Journal:
    """One that is written: what `append` has returned from is on the disk."""

    def __init__(self, path: Path, bond: str) -> None:
        self._path, self._bond = path, bond
        new = not path.exists()
        found = scan(b"" if new else durable.read_plain(path), bond)
        self.note = found.note
        if found.damage:
            aside, found = self._repair(found)
            self.note += f"; the damaged file is kept as {aside}"
        self.records: dict[str, Any] = found.records
        self._lines, self._end = found.lines, found.end
        self._fd = durable.open_plain(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        if found.torn:
            self._cut()
        if new:
            durable.sync_folder(path.parent)

    @property
    def open(self) -> bool:
        return self._fd >= 0

    def append(self, key: str, record: Any) -> None:
        """On the disk, or not in the file at all, and then the journal is closed."""
        if not self.open:
            raise ValueError("journal: it is closed, because an append failed (open it again)")
        entry = line(self._bond, self._lines, key, record)
        try:
            left = memoryview(entry)
            while left:
                left = left[os.write(self._fd, left) :]
            _sync(self._fd)
            self._check_there()
            self._end += len(entry)
            self._lines += 1
            # What was written, not what was given: so it is the same now and after a resume.
            self.records[key] = _content(entry)[1]
        except BaseException as error:
            # Also when Ctrl-C comes in between: what nobody was told of must not stay in the way.
            self._withdraw()
            if isinstance(error, OSError) and not isinstance(error, DiskError):
                kept = f"{len(self.records)} finished cells are kept (make room, then the same command carries on)"
                raise DiskError(f"{self._path}: {error.strerror or error}; {kept}") from error
            raise

    def _check_there(self) -> None:
        """What is written into a file that lost its name is written for nobody."""
        if not durable.is_at(self._path, self._fd):
            raise DiskError(
                f"{self._path}: removed, moved or replaced while it was written, and with it {len(self.records)} "
                "finished cells (put it back, then the same command carries on; without it, the command begins anew)"
            )

    def close(self) -> None:
        if self.open:
            os.close(self._fd)
            self._fd = -1

    def _withdraw(self) -> None:
        """If the disk refuses even that, a torn tail is left, which whoever opens it next cuts off."""
        with suppress(OSError):
            self._cut()
        self.close()

    def _cut(self) -> None:
        os.ftruncate(self._fd, self._end)
        _sync(self._fd)

    def _repair(self, found: Scan) -> tuple[str, Scan]:
        """Keep what verifies, and the damaged file under another name."""
        if not found.records:
            raise RefusedError(
                f"{self._path}: none of its {found.lines} records belongs to the header beside it "
                "(it is damaged or of another run: start again in another directory)"
            )
        number = 1
        while (aside := self._path.with_name(f"{self._path.name}.damaged-{number}")).exists():
            number += 1
        durable.write_whole(aside, durable.read_plain(self._path))
        again = b"".join(line(self._bond, i, *entry) for i, entry in enumerate(found.records.items()))
        durable.write_whole(self._path, again)
        return aside.name, scan(again, self._bond)
