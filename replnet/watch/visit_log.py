"""All visits, in an SQLite file: one row each, on the disk when the visit is over, so that a kill loses none.

    visits(time, node, version, left, clock, seconds, fault)

`time` is the instant of the visit, in seconds since 1970; `left` the instant at which the data left the source, where a
node tells; `clock` how far its clock was ahead; `seconds` how long the visit took; `fault` why there is no version.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import final

from replnet.text import DocumentError, file_error

COLUMNS = "time, node, version, left, clock, seconds, fault"
TABLE = """
create table if not exists visits(
    time real not null, node text not null, version text, left real, clock real, seconds real not null, fault text
) strict
"""


@final
@dataclass(frozen=True)
class Visit:
    """A visit of a node, with the version that it had, or the fault for which there is none (else None)."""

    time: float
    node: str
    version: str | None
    left: float | None
    clock: float | None
    seconds: float
    fault: str | None


@final
class VisitLog:
    """The visits in a file, to which more are added unless it is only read; a context that closes it.

    Raise DocumentError if the file is no history, or cannot be written.
    """

    def __init__(self, path: Path, *, only_read: bool = False) -> None:
        try:
            if only_read:  # the database may be anybody's, and its folder too: both stay as they are
                place = path.resolve()
                # Unless somebody is writing, SQLite need not lock it, for which it would make files beside it.
                is_open = any(place.with_name(place.name + end).exists() for end in ("-wal", "-journal"))
                address = f"{place.as_uri()}?mode=ro{'' if is_open else '&immutable=1'}"
                self._database = sqlite3.connect(address, timeout=10.0, uri=True)
                self._database.execute(f"select {COLUMNS} from visits limit 1")
            else:
                self._database = sqlite3.connect(path, timeout=10.0, isolation_level=None)
                self._database.execute("pragma journal_mode=wal")
                self._database.execute(TABLE)
        except sqlite3.Error as error:
            raise _no_history(path, error) from None
        self.path = path

    def __enter__(self) -> VisitLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.close()

    def add(self, visit: Visit) -> None:
        """Add a visit, which is on the disk when this returns."""
        values = (visit.time, visit.node, visit.version, visit.left, visit.clock, visit.seconds, visit.fault)
        self._database.execute("insert into visits values (?, ?, ?, ?, ?, ?, ?)", values)

    def __iter__(self) -> Iterator[Visit]:
        """Yield all visits, by time; raise DocumentError if the file is damaged."""
        try:
            for row in self._database.execute(f"select {COLUMNS} from visits order by time"):
                yield Visit(*row)
        except sqlite3.Error as error:
            raise file_error(str(self.path), f"is damaged ({error})", "a whole history of replnet watch") from None

    def __len__(self) -> int:
        return int(self._database.execute("select count(*) from visits").fetchone()[0])


def _no_history(path: Path, error: sqlite3.Error) -> DocumentError:
    """Return the DocumentError for a file that is no history of visits, or that cannot be written, as `error` says."""
    return file_error(str(path), f"is no history of visits ({error})", "a file that replnet watch has written, or none")
