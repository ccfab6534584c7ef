"""A run in a directory: an experiment of one cell, whose replications are stored as they are made.

The record of the cell comes last, so until then the directory is that of a sweep whose only cell is not finished.
The parts of the cell hold the exact measurements of its replications. The same run in the same directory starts from
them, takes the same decisions on the way, and makes the missing replications. The parts stay when the run is finished,
as the measurements of each replication.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from os import PathLike
from pathlib import Path as File
from typing import Any, final

import numpy as np

from replnet.engines import Path
from replnet.lab.experiment import Cell, Experiment, Run
from replnet.laws import Floats
from replnet.measure import Comparison, Estimate, Row
from replnet.network import Network
from replnet.run import EVENTS, Emulated, Key, Replications, Settings, commit, instructions, replications_of
from replnet.store import Contents, RefusedError, Store, part_key, parts_of_cell, read_contents
from replnet.version import __version__

SECONDS_PER_PART = 1.0  # seconds between parts: so much work a run that is killed has to make again


@final
class RunStore:
    """The directory of one run, to which new paths are added; `paths` are those that earlier attempts stored, in order.

    `finished` is whether an earlier attempt has finished the run.
    """

    def __init__(self, store: Store, experiment: Experiment, header: Mapping[str, Any]) -> None:
        self._store, self._experiment, self._header = store, experiment, header
        (self._cell,) = experiment.cells()
        self.finished = self._cell.key in store.finished
        self.paths = stored_paths(self._cell, store.finished)
        self._stored, self._due = len(self.paths), time.monotonic() + SECONDS_PER_PART

    def add(self, series: Replications[Path]) -> None:
        """Store the new paths of a run under way, unless the last were stored less than a second ago.

        Paths that are passed over are stored by a later call, or by `flush`.
        """
        if time.monotonic() >= self._due:
            self.flush(series.paths)
            self._due = time.monotonic() + SECONDS_PER_PART

    def flush(self, paths: Sequence[Path]) -> None:
        """Store those of `paths`, all of the run so far, that are not yet stored; do nothing after a write that broke
        off.

        The next run in the same directory makes such paths again.
        """
        new = range(self._stored, len(paths))
        if new and self._store.open:
            self._store.append(part_key(self._cell.key, new), _part_of_paths(paths[self._stored :]))
            self._stored = len(paths)

    def end(self, result: Emulated, paths: Sequence[Path], stopped: bool = False) -> None:
        """Store the remaining paths; unless the run was `stopped`, store its record, its table and its provenance too.

        `paths` are all of the run so far. A run that was stopped can be carried on with, any other is finished.
        """
        from replnet.lab.sweeps import Sweep, run_id

        self.flush(paths)
        if stopped:
            return
        self._store.append(self._cell.key, run_record(result.rows, result.events, result.incomplete))
        records = {self._cell.key: self._store.finished[self._cell.key]}
        whole = Sweep(self._experiment, records, run=run_id(self._header, self._experiment.data))
        self._store.complete(whole.stored_table, result.provenance)


@contextmanager
def open_run_store(folder: str | PathLike[str], network: Network, how: Mapping[str, Any]) -> Iterator[RunStore]:
    """Open the store of a run in a directory, a new one or that of the same run, for the time of a `with`.

    `how` are the arguments of emulate on which the result depends. Raises RefusedError if the directory has a finished
    run on the wall clock, which is never repeated.
    """
    experiment = _experiment(network, how)
    keys = [cell.key for cell in experiment.cells()]
    header = {"replnet": __version__, "network": network.data(), "run": how}
    folder = File(folder)
    earlier = read_contents(folder) if (folder / "header.json").exists() else None
    about = {"experiment": experiment.data, "commit": commit(), "instructions": instruction_sets(earlier, keys)}
    with Store.open_to_write(folder, header, keys, about) as store:
        run_store = RunStore(store, experiment, header)
        if run_store.finished and how["engine"] not in EVENTS:
            raise RefusedError(f"{folder}: has this run on the wall clock already (name another directory)")
        yield run_store


def instruction_sets(earlier: Contents | None, keys: Iterable[str]) -> list[str]:
    """Return the names of the instruction sets of the CPUs that made the records of a run, the earliest first.

    `earlier` are the contents of its directory so far, if there are any, and `keys` those of all its cells. The set of
    this CPU is among them unless all are finished.
    """
    before = earlier.about.get("instructions", []) if earlier else []
    is_finished = earlier and earlier.provenance and all(key in earlier.records for key in keys)
    return list(dict.fromkeys([*before, *([] if is_finished else [instructions()])]))


def _experiment(network: Network, how: Mapping[str, Any]) -> Experiment:
    """Return the experiment whose only cell is the run of this network with the arguments `how` of emulate."""
    # Those of a live run are none that a cell could be run with.
    settings = {name: how[name] for name in Run.model_fields if how.get(name) is not None and how["engine"] in EVENTS}
    data = {"name": network.name, "title": f"One run of {network.name}", "network": network.data(), "run": settings}
    return Experiment.from_data(data)


# ---- Reading a run again


def records_so_far(contents: Contents, cell: Cell) -> dict[str, Any]:
    """Return the records of a run directory by the keys of cells; it has one, or none without a stored path.

    `cell` is the only cell of the run. The record of an unfinished run is judged by its paths so far, and has a field
    `unfinished`, which is True.
    """
    paths = stored_paths(cell, contents.parts)
    if cell.key in contents.records or not paths:
        return dict(contents.records)
    how, network = contents.header["run"], Network.from_data(contents.header["network"])
    series = replications_of(network, Settings(**how | {"measure": tuple(how["measure"])}))
    series.paths = paths
    record = run_record(series.judgement.rows(), series.counts[0], f"{len(paths)} replications so far")
    return {cell.key: record | {"unfinished": True}}


def run_record(rows: Sequence[Row], events: int, incomplete: str) -> dict[str, Any]:
    """Return the record of a run as plain data, as of a cell of a sweep: its rows, its events, why it is incomplete.

    A row that was judged against something else than its formula (Row.against) has that in its field `against`.
    """
    records = [
        row.record() | ({"against": _finite_or_none(asdict(row.against))} if row.against else {}) for row in rows
    ]
    return {"rows": records, "events": events, "incomplete": incomplete}


def row_from_record(record: Mapping[str, Any]) -> Row:
    """Return the row that a record holds, with what it is to be judged against if that is not its formula."""
    row, against = Row.of_record(record), record.get("against")
    if against is None:
        return row
    numbers: dict[str, Any] = {
        name: math.nan if value is None else value for name, value in against["estimate"].items()
    }
    return replace(row, against=Comparison(**against | {"estimate": Estimate(**numbers)}))


def _finite_or_none(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested `data` with None in place of every NaN and infinity, which JSON does not have."""

    def convert(value: Any) -> Any:
        """Return a value or a mapping of values with None in place of NaN and infinity."""
        if isinstance(value, Mapping):
            return _finite_or_none(value)
        return None if isinstance(value, float) and not math.isfinite(value) else value

    return {name: convert(value) for name, value in data.items()}


def stored_paths(cell: Cell, records: Mapping[str, Any]) -> list[Path]:
    """Return the stored replications of a cell, in order from the first one on up to a gap.

    `records` hold the parts of the cell, beside others, by their keys.
    """
    paths: list[Path] = []
    for numbers, part in parts_of_cell(cell.key, records):
        if numbers.start <= len(paths):
            paths += _paths_of_part(part)[len(paths) - numbers.start :]
    return paths


def draws_of(paths: Sequence[Path]) -> dict[Key, tuple[Floats, Floats]]:
    """Return by (group, metric) two arrays with an element per path: the amounts, and the wholes that these are shares
    of.

    Without paths the mapping is empty.
    """
    pairs = {key: np.array([path.shares[key] for path in paths]).T for key in (paths[0].shares if paths else ())}
    return {key: (amounts, wholes) for key, (amounts, wholes) in pairs.items()}


# ---- Replications as plain data, exactly


def _part_of_paths(paths: Sequence[Path]) -> dict[str, Any]:
    """Return the measurements of one path or more as plain data for JSON, exactly."""
    return {
        "measured": [list(key) for key in paths[0].shares],
        "paths": [
            {
                "shares": [[_plain(amount), _plain(whole)] for amount, whole in path.shares.values()],
                "counts": list(map(int, path.counts)),
                "depth": _plain(path.depth),
                "unproven": int(path.unproven),
                "undated": {name: _plain(share) for name, share in path.unknown_shares.items()},
            }
            for path in paths
        ],
    }


def _paths_of_part(part: Mapping[str, Any]) -> list[Path]:
    """Return the paths that _part_of_paths wrote, with the same numbers to the last bit."""
    keys = [(group, metric) for group, metric in part["measured"]]
    return [
        Path(
            shares={key: (float(a), float(b)) for key, (a, b) in zip(keys, path["shares"], strict=True)},
            counts=tuple(path["counts"]),
            depth=float(path["depth"]),
            unproven=path["unproven"],
            unknown_shares={name: float(share) for name, share in path["undated"].items()},
        )
        for path in part["paths"]
    ]


def _plain(number: float) -> float | str:
    """Return a number as JSON takes it: infinities and NaN as text, such as "inf", all others as they are, exactly."""
    return float(number) if math.isfinite(number) else str(float(number))
