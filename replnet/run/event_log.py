"""The events of a run in a Parquet file: replication, at, event, node, peer, left, source (engines/log.py).

The file grows as FILE.part, which one process at a time may write, and gets its name when it is complete. An
interrupted run leaves a valid file as well, which ends early. A binary file that the caller has open gets the same
bytes at once when the run is over. Rows come roughly in order of time, replication after replication; those of `live`
in the order in which hosts send them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Protocol, TypeAlias, final

import numpy as np
import numpy.typing as npt

from replnet.engines import EVENTS, NO_ONE, Columns, Keep
from replnet.network import Network
from replnet.run.result import provenance
from replnet.store import DiskError, RefusedError, lock
from replnet.text import FieldError, InputError, short_repr

ROWS_PER_GROUP = 1 << 20  # of the Parquet file

File: TypeAlias = str | os.PathLike[str]
Trace: TypeAlias = File | IO[bytes]
"""The name of a Parquet file, or a binary file that is open for writing."""


@contextmanager
def event_log(trace: Trace | None, network: Network, seed: int, engine: str) -> Iterator[EventLog | None]:
    """Open the log of a run, in the file `trace`, for the block; yield None if `trace` is None.

    `network`, `seed` and `engine` go into the metadata of the file. A named file grows as FILE.part and gets its name
    when the block ends; if that raises, the rows so far are kept likewise, but without any rows a file of this name
    that was there before stays as it was. ValueError says that it cannot be written.
    """
    if trace is None:
        yield None
        return
    data = network.data()
    about = {"network": data, **provenance(data, seed=seed, engine=engine)}
    with _open_output(trace) as output:
        log = EventLog(output, network.topology.names, about)
        try:
            yield log
        except BaseException:
            log.close() if log.rows else log.discard()
            raise
        log.close()


@contextmanager
def _open_output(trace: Trace) -> Iterator[_Output]:
    """Open a place for the bytes of a log during the block: a file of this name, or memory for a file that is open.

    The caller keeps or discards the bytes. A named file is locked meanwhile; ValueError says that it cannot be written,
    or that `trace` is no file.
    """
    if not isinstance(trace, str | os.PathLike) and not hasattr(trace, "write"):
        raise FieldError("trace", f"{short_repr(trace)} is no file", "the name of a file, or a file open for bytes")
    if isinstance(trace, str | os.PathLike):
        with _write_alone(Path(trace)):
            yield _NamedFile(Path(trace))
    else:
        yield _OpenFile(trace)


@contextmanager
def _write_alone(file: Path) -> Iterator[None]:
    """Keep other processes from writing this file during the block, by a lock beside it.

    Raises FieldError if its name is wrong or its folder does not exist, and InputError if another process writes it, or
    if the folder cannot be written.
    """
    _check_name(file)
    with ExitStack() as locks:
        try:
            locks.enter_context(lock(file.with_name(file.name + ".lock"), file, keep=False))
        except (RefusedError, DiskError) as error:
            raise InputError(f"trace: {error}") from None
        yield


class _Output(Protocol):
    """A place for the bytes of a log: they are written to `sink`, an Arrow stream, and in the end kept or discarded.

    `name` is that of the file, for messages.
    """

    name: str
    sink: Any

    def keep(self) -> None:
        """Put the complete file in its place, over an earlier file of this name."""

    def discard(self) -> None:
        """Drop what was written so far; a file of this name that was there before stays as it was."""


@final
class _NamedFile:
    """The file FILE.part, which becomes FILE when it is complete."""

    def __init__(self, file: Path) -> None:
        import pyarrow as pa

        self.name, self._file, self._part = str(file), file, file.with_name(file.name + ".part")
        _create_part(file, self._part)
        # Not a Python file object: Ctrl-C would interrupt its write halfway.
        self.sink = pa.OSFile(str(self._part), "wb")

    def keep(self) -> None:
        """Close FILE.part and give it the name FILE, in the place of an earlier file; raise OSError if that fails."""
        self.sink.close()
        self._part.replace(self._file)

    def discard(self) -> None:
        """Remove FILE.part; a file FILE that was there before stays as it was."""
        with suppress(OSError):
            self.sink.close()
        self._part.unlink(missing_ok=True)


@final
class _OpenFile:
    """A buffer in memory that is written at the end into a file that the caller has open."""

    def __init__(self, file: IO[bytes]) -> None:
        import pyarrow as pa

        self.name, self._file = str(getattr(file, "name", "the file")), file
        self.sink = pa.BufferOutputStream()

    def keep(self) -> None:
        """Write the buffer into the open file, which stays open."""
        self._file.write(self.sink.getvalue())

    def discard(self) -> None:
        """Forget the buffer; nothing is written into the open file."""
        self.sink.close()


@final
class EventLog:
    """The Parquet writer of a run's events into `output`; `rows` counts them, also those not written yet.

    `names` are those of all nodes, by number, and `about` is the metadata of the file. ValueError says that the output
    cannot be written.
    """

    def __init__(self, output: _Output, names: tuple[str, ...], about: dict[str, Any]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._output, self._names = output, pa.array(names)
        name = pa.dictionary(pa.int32(), pa.string())
        fields = [
            pa.field("replication", pa.int32(), nullable=False),
            pa.field("at", pa.float64(), nullable=False),
            pa.field("event", pa.dictionary(pa.int8(), pa.string()), nullable=False),
            pa.field("node", name, nullable=False),
            pa.field("peer", name),
            pa.field("left", pa.float64()),
            pa.field("source", name),
        ]
        self._schema = pa.schema(fields, {"replnet": json.dumps(about, default=str)})
        names_only = ["replication", "event", "node", "peer", "source"]
        try:
            self._writer = pq.ParquetWriter(output.sink, self._schema, use_dictionary=names_only, compression="zstd")
        except OSError as error:
            output.discard()
            raise self._write_error(error) from None
        self._waiting, self._waiting_rows, self.rows = list[tuple[int, Columns]](), 0, 0

    def keep(self, replication: int) -> Keep:
        """Return a function that adds rows of the replication with this number to the log."""
        return lambda rows: self._take(replication, rows)

    def _take(self, replication: int, rows: Columns) -> None:
        """Take rows of a replication, and write what waits once it fills a row group."""
        self._waiting.append((replication, rows))
        self._waiting_rows += rows.at.size
        self.rows += rows.at.size
        if self._waiting_rows >= ROWS_PER_GROUP:
            self._write()

    def add(self, batches: Iterable[tuple[int, Columns]]) -> None:
        """Add batches (number of a replication, its rows) to the log, such as `live` sends them, in any order."""
        for replication, rows in batches:
            self._take(replication, rows)

    def _write(self) -> None:
        """Write the rows that wait, if any, as a row group; if that fails, discard the log and raise FieldError."""
        waiting, self._waiting, self._waiting_rows = self._waiting, [], 0
        if not waiting:
            return
        replications = np.repeat([replication for replication, _ in waiting], [rows.at.size for _, rows in waiting])
        rows = Columns(*map(np.concatenate, zip(*(rows for _, rows in waiting), strict=True)))
        try:
            self._writer.write_table(self._table(replications, rows))
        except OSError as error:
            self.discard()
            raise self._write_error(error) from None

    def _table(self, replications: npt.NDArray[np.int64], rows: Columns) -> Any:
        """Return `rows`, with the replication of each in `replications`, as an Arrow table of the file's columns."""
        import pyarrow as pa

        columns = [
            pa.array(replications.astype(np.int32)),
            pa.array(rows.at),
            pa.DictionaryArray.from_arrays(pa.array(rows.event), pa.array(EVENTS)),
            self._name_column(rows.node),
            self._name_column(rows.peer),
            pa.array(rows.left, mask=np.isnan(rows.left)),
            self._name_column(rows.source),
        ]
        return pa.Table.from_arrays(columns, schema=self._schema)

    def _name_column(self, nodes: npt.NDArray[np.int32]) -> Any:
        """Return the Arrow column of the names of these nodes, by number, with a null for every NO_ONE."""
        import pyarrow as pa

        nobody = nodes == NO_ONE
        return pa.DictionaryArray.from_arrays(pa.array(np.where(nobody, 0, nodes), mask=nobody), self._names)

    def close(self) -> None:
        """Write the remaining rows, and give the file its name.

        If that fails, discard the log and raise FieldError; a file of its name that was there before stays as it was.
        """
        self._write()
        try:
            self._writer.close()
            self._output.keep()
        except OSError as error:
            self.discard()
            raise self._write_error(error) from None

    def discard(self) -> None:
        """Drop all rows and write no file, as there was no run or its log cannot be written.

        A file of its name that was there before stays as it was.
        """
        self.rows = 0
        with suppress(OSError, ValueError):
            self._writer.close()
        self._output.discard()

    def _write_error(self, error: OSError) -> FieldError:
        """Return the FieldError of a log that cannot be written, with the reason that `error` gives."""
        return FieldError("trace", f"{self._output.name} cannot be written: {error}", "name a place with room for it")


def _check_name(file: Path) -> None:
    """Raise FieldError unless the name ends in .parquet, its folder exists, and it is not itself a folder."""
    if file.suffix != ".parquet":
        right = f"name it {file.with_suffix('.parquet')}"
        raise FieldError("trace", f"{file} is not a Parquet file by its name", right)
    if not file.parent.is_dir():
        raise FieldError("trace", f"there is no folder {file.parent}", "make it, or name a file in one that there is")
    if file.is_dir():
        raise FieldError("trace", f"{file} is a folder", f"name a file, such as {file / 'events.parquet'}")


def _create_part(file: Path, part: Path) -> None:
    """Create `part` as a new empty file, after removing what is there: the rest of a killed run, or a link of anyone's.

    If that fails it raises FieldError, which names `file`, the name that the log is to have in the end.
    """
    try:
        part.unlink(missing_ok=True)
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    except OSError as error:
        why = error.strerror or str(error)
        raise FieldError("trace", f"{file} cannot be written: {why}", "name a file where you may write") from None
