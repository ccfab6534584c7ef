"""A run in a directory: an experiment of one cell, whose replications are kept as they are made.

Its record comes last, so until then the directory is that of a sweep whose only cell is not finished. The parts of
that cell hold what replications measured, exactly: who asks for the same run again is handed them, decides on the way
what was decided before, and makes the rest. They stay when the run is finished, as what each replication measured.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from os import PathLike
from pathlib import Path as File
from typing import Any, final

import numpy as np

from replnet.engines.path import Path
from replnet.engines.plan import plan
from replnet.laws.law import Floats
from replnet.measure.estimate import Estimate
from replnet.measure.metrics import metrics
from replnet.measure.row import Row
from replnet.measure.verdict import Comparison
from replnet.network.network import Network
from replnet.study.emulate import replicated
from replnet.study.experiment.cells import Cell
from replnet.study.experiment.experiment import Experiment
from replnet.study.findings import Key
from replnet.study.result import Emulated, commit, instructions
from replnet.study.store.durable import RefusedError
from replnet.study.store.store import Contents, Store, part_key, parts_of, read
from replnet.version import __version__

EVERY = 1.0  # seconds between parts: what a run that is killed has to make again
VIRTUAL = ("array", "step")  # engines whose paths are the same when they are made again
SETTINGS = ("engine", "estimator", "seed", "horizon", "precision", "replications", "resolution")


@final
class Keeper:
    """Of one run, into its directory."""

    def __init__(self, store: Store, experiment: Experiment) -> None:
        self._store, self._experiment = store, experiment
        (self._cell,) = experiment.cells()
        self.finished = self._cell.key in store.finished
        self.paths = paths_of(self._cell, store.finished)
        self._kept, self._due = len(self.paths), time.monotonic() + EVERY

    def keep(self, paths: Sequence[Path]) -> None:
        """Now and then, as a part of its own takes the disk some milliseconds."""
        if time.monotonic() >= self._due:
            self.flush(paths)
            self._due = time.monotonic() + EVERY

    def flush(self, paths: Sequence[Path]) -> None:
        """All of them; unless Ctrl-C came while some were written, which are then made again."""
        new = range(self._kept, len(paths))
        if new and self._store.open:
            self._store.append(part_key(self._cell.key, new), _part(paths[self._kept :]))
            self._kept = len(paths)

    def end(self, result: Emulated, paths: Sequence[Path], stopped: bool = False) -> None:
        """All that there is; and unless the run was `stopped`, it is finished."""
        from replnet.study.sweeps.finished import Sweep

        self.flush(paths)
        if stopped:
            return
        self._store.append(self._cell.key, record_of(result.rows, result.events, result.incomplete))
        whole = Sweep(self._experiment, {self._cell.key: self._store.finished[self._cell.key]})
        self._store.complete(whole.table, result.provenance)


@contextmanager
def keeping(folder: str | PathLike[str], network: Network, how: Mapping[str, Any]) -> Iterator[Keeper]:
    """What keeps a run in a directory, a new one or that of the same run; `how` are all arguments of emulate on which
    a result depends."""
    experiment = _experiment(network, how)
    header = {"replnet": __version__, "network": network.data(), "run": dict(how)}
    folder = File(folder)
    before = _instructions(folder)
    about = {"experiment": experiment.data, "commit": commit(), "instructions": before}
    with Store.writing(folder, header, [cell.key for cell in experiment.cells()], about) as store:
        keeper = Keeper(store, experiment)
        if keeper.finished and how["engine"] not in VIRTUAL:
            raise RefusedError(f"{folder}: has this run on the wall clock already (name another directory)")
        yield keeper


def _instructions(folder: File) -> list[str]:
    """Of the CPUs that have made replications of this run, and of this one if there are more to make."""
    there = read(folder) if (folder / "header.json").exists() else None
    before = there.about.get("instructions", []) if there else []
    return list(dict.fromkeys([*before, *([] if there and there.provenance else [instructions()])]))


def _experiment(network: Network, how: Mapping[str, Any]) -> Experiment:
    virtual = {name: how[name] for name in SETTINGS if how.get(name) is not None and how["engine"] in VIRTUAL}
    data = {"name": network.name, "title": f"One run of {network.name}", "network": network.data(), "run": virtual}
    return Experiment.from_data(data)


# ---- Read again


def so_far(contents: Contents, cell: Cell) -> dict[str, Any]:
    """The records of a run; of one that is not finished what there is of it, judged as it stands."""
    paths = paths_of(cell, contents.parts)
    if cell.key in contents.records or not paths:
        return dict(contents.records)
    how, network = contents.header["run"], Network.from_data(contents.header["network"])
    given = {name: how[name] for name in ("engine", "seed", "horizon", "replications", "resolution", "estimator", "by")}
    made = replicated(plan(network), **given, asked=metrics(how["measure"]), log=None)
    made.paths = paths
    found = record_of(made.found.rows(), made.counts[0], f"{len(paths)} replications so far")
    return {cell.key: found | {"unfinished": True}}


def record_of(rows: Sequence[Row], events: int, incomplete: str) -> dict[str, Any]:
    """Of a run, as the cells of a sweep have it; and what a row was judged by in the place of its formula."""
    against = [asdict(row.against) if row.against else None for row in rows]
    kept = [row.record() | ({"against": _finite(one)} if one else {}) for row, one in zip(rows, against, strict=True)]
    return {"rows": kept, "events": events, "incomplete": incomplete}


def row_of(record: Mapping[str, Any]) -> Row:
    """A row of a record, to be judged as it was."""
    row, against = Row.of_record(record), record.get("against")
    if against is None:
        return row
    numbers: dict[str, Any] = {
        name: math.nan if value is None else value for name, value in against["estimate"].items()
    }
    return replace(row, against=Comparison(**against | {"estimate": Estimate(**numbers)}))


def _finite(data: Mapping[str, Any]) -> dict[str, Any]:
    """With nothing in the place of what is no number."""

    def known(value: Any) -> Any:
        if isinstance(value, Mapping):
            return _finite(value)
        return None if isinstance(value, float) and not math.isfinite(value) else value

    return {name: known(value) for name, value in data.items()}


def paths_of(cell: Cell, records: Mapping[str, Any]) -> list[Path]:
    """The replications of a cell whose parts are there, from the first one on without a gap."""
    found: list[Path] = []
    for which, part in parts_of(cell.key, records):
        if which.start <= len(found):
            found += _paths(part)[len(found) - which.start :]
    return found


def draws_of(paths: Sequence[Path]) -> dict[Key, tuple[Floats, Floats]]:
    """By what is measured, an amount and the whole of which it is a share, of every replication."""
    both = {key: np.array([path.shares[key] for path in paths]).T for key in (paths[0].shares if paths else ())}
    return {key: (amounts, wholes) for key, (amounts, wholes) in both.items()}


# ---- Replications as plain data, exactly


def _part(paths: Sequence[Path]) -> dict[str, Any]:
    return {
        "measured": [list(key) for key in paths[0].shares],
        "paths": [
            {
                "shares": [[_plain(amount), _plain(whole)] for amount, whole in path.shares.values()],
                "counts": list(map(int, path.counts)),
                "depth": _plain(path.depth),
                "unproven": int(path.unproven),
                "undated": {name: _plain(share) for name, share in path.undated.items()},
            }
            for path in paths
        ],
    }


def _paths(part: Mapping[str, Any]) -> list[Path]:
    keys = [(group, metric) for group, metric in part["measured"]]
    return [
        Path(
            shares={key: (float(a), float(b)) for key, (a, b) in zip(keys, one["shares"], strict=True)},
            counts=tuple(one["counts"]),
            depth=float(one["depth"]),
            unproven=one["unproven"],
            undated={name: float(share) for name, share in one["undated"].items()},
        )
        for one in part["paths"]
    ]


def _plain(number: float) -> float | str:
    """As JSON takes it, which has no infinity; Python writes and reads all others exactly."""
    return float(number) if math.isfinite(number) else str(float(number))
