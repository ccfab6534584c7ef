"""The events of a run in a Parquet file: replication, at, event, node, peer, left, source (engines/log.py).

The file grows as FILE.part, which one process at a time may write, and gets its name
when it is complete; what an interrupted run leaves is a whole file as well, which ends early. Rows come
roughly in order of time, replication after replication; those of `live` as hosts hand them on.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias, final

import numpy as np
import numpy.typing as npt

from replnet.engines.log import EVENTS, NO_ONE, Columns, Keep
from replnet.network.network import Network
from replnet.study.result import provenance
from replnet.study.store.durable import DiskError, RefusedError, lock

ROWS = 1 << 20  # of a row group

File: TypeAlias = str | os.PathLike[str]


@contextmanager
def event_log(file: File | None, network: Network, seed: int, engine: str) -> Iterator[EventLog | None]:
    """A log of a run, if a file for it is named; what there is when the run breaks off is kept."""
    if file is None:
        yield None
        return
    data = network.data()
    about = {"network": data, **provenance(data, seed=seed, engine=engine)}
    with _alone(Path(file)):
        log = EventLog(Path(file), network.topology.names, about)
        try:
            yield log
        except BaseException:
            log.close() if log.rows else log.discard()
            raise
        log.close()


@contextmanager
def _alone(file: Path) -> Iterator[None]:
    """No other process writes this file meanwhile."""
    _check(file)
    with ExitStack() as held:
        try:
            held.enter_context(lock(file.with_name(file.name + ".lock"), file, keep=False))
        except (RefusedError, DiskError) as error:
            raise ValueError(f"trace: {error}") from None
        yield


@final
class EventLog:
    def __init__(self, file: Path, names: tuple[str, ...], about: dict[str, Any]) -> None:
        """`names` of all nodes, by number."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._file, self._part = file, file.with_name(file.name + ".part")
        self._names = pa.array(names)
        word = pa.dictionary(pa.int32(), pa.string())
        fields = [
            pa.field("replication", pa.int32(), nullable=False),
            pa.field("at", pa.float64(), nullable=False),
            pa.field("event", pa.dictionary(pa.int8(), pa.string()), nullable=False),
            pa.field("node", word, nullable=False),
            pa.field("peer", word),
            pa.field("left", pa.float64()),
            pa.field("source", word),
        ]
        self._schema = pa.schema(fields, {"replnet": json.dumps(about, default=str)})
        _begin(file, self._part)
        # Not a file of Python's: Ctrl-C would end a write of that halfway.
        self._sink = pa.OSFile(str(self._part), "wb")
        names_only = ["replication", "event", "node", "peer", "source"]
        try:
            self._writer = pq.ParquetWriter(self._sink, self._schema, use_dictionary=names_only, compression="zstd")
        except OSError as error:
            self._sink.close()
            self._part.unlink()
            raise self._trouble(error) from None
        self._waiting, self._size, self.rows = list[tuple[int, Columns]](), 0, 0

    def keep(self, replication: int) -> Keep:
        """Takes the rows of one replication."""
        return lambda rows: self._take(replication, rows)

    def _take(self, replication: int, rows: Columns) -> None:
        self._waiting.append((replication, rows))
        self._size += rows.at.size
        self.rows += rows.at.size
        if self._size >= ROWS:
            self._write()

    def add(self, logged: Iterable[tuple[int, Columns]]) -> None:
        """Rows of any replications, as `live` hands them on."""
        for replication, rows in logged:
            self._take(replication, rows)

    def _write(self) -> None:
        waiting, self._waiting, self._size = self._waiting, [], 0
        if not waiting:
            return
        replications = np.repeat([of for of, _ in waiting], [rows.at.size for _, rows in waiting])
        rows = Columns(*map(np.concatenate, zip(*(rows for _, rows in waiting), strict=True)))
        try:
            self._writer.write_table(self._table(replications, rows))
        except OSError as error:
            self.discard()
            raise self._trouble(error) from None

    def _table(self, replications: npt.NDArray[np.int64], rows: Columns) -> Any:
        import pyarrow as pa

        made = [
            pa.array(replications.astype(np.int32)),
            pa.array(rows.at),
            pa.DictionaryArray.from_arrays(pa.array(rows.event), pa.array(EVENTS)),
            self._named(rows.node),
            self._named(rows.peer),
            pa.array(rows.left, mask=np.isnan(rows.left)),
            self._named(rows.source),
        ]
        return pa.Table.from_arrays(made, schema=self._schema)

    def _named(self, nodes: npt.NDArray[np.int32]) -> Any:
        import pyarrow as pa

        nobody = nodes == NO_ONE
        return pa.DictionaryArray.from_arrays(pa.array(np.where(nobody, 0, nodes), mask=nobody), self._names)

    def close(self) -> None:
        """All that was taken is in the file, under its name."""
        self._write()
        try:
            self._writer.close()
            self._sink.close()
            self._part.replace(self._file)
        except OSError as error:
            self.discard()
            raise self._trouble(error) from None

    def discard(self) -> None:
        """There was no run, or there is no room for its log."""
        self.rows = 0
        with suppress(OSError, ValueError):
            self._writer.close()
        with suppress(OSError):
            self._sink.close()
        self._part.unlink(missing_ok=True)

    def _trouble(self, error: OSError) -> ValueError:
        return ValueError(f"trace: {self._file} cannot be written: {error} (name a place with room for it)")


def _check(file: Path) -> None:
    if file.suffix != ".parquet":
        raise ValueError(f"trace: {file} is not a Parquet file by its name (name it {file.with_suffix('.parquet')})")
    if not file.parent.is_dir():
        raise ValueError(f"trace: there is no folder {file.parent} (make it, or name a file in one that there is)")
    if file.is_dir():
        raise ValueError(f"trace: {file} is a folder (name a file, such as {file / 'events.parquet'})")


def _begin(file: Path, part: Path) -> None:
    """A new file in the place of what a run that was killed, or anyone else, has left there, be it a link."""
    try:
        part.unlink(missing_ok=True)
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    except OSError as error:
        why = error.strerror or str(error)
        raise ValueError(f"trace: {file} cannot be written: {why} (name a file where you may write)") from None
