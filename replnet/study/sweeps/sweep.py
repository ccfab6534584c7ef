"""Run an experiment: every cell once, on any number of workers, into a directory that can be carried on with.

The table is the same, byte for byte, whatever the workers, the order in which
cells finish and the interruptions: a record depends on its cell, and the table on
the records in the order of the cells. Cells whose rows differ from their
prediction, all cells judged together, are run again four times longer under a key
of their own before they are called so; which these are follows from the first
records alone.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, final

from replnet.deadline import OutOfTime, UnreasonableError, left, require_time, within
from replnet.live import LiveLost, Unreachable, pool
from replnet.study.experiment.cells import Cell, key_of_longer
from replnet.study.experiment.experiment import Experiment, load_experiment
from replnet.study.experiment.sections import SUBJECTS
from replnet.study.kept_run import record_of
from replnet.study.replications import INTERRUPTED
from replnet.study.result import commit, instructions
from replnet.study.store.durable import DiskError, canonical, sealed, write_whole
from replnet.study.store.store import Contents, RefusedError, Store, differences, read
from replnet.study.sweeps.finished import FAILURES, Sweep
from replnet.version import __version__

__all__ = ["DiskError", "RayLost", "RefusedError", "Sweep", "SweepGlimpse", "SweepProgress", "known", "run", "sweep"]

RayLost = (LiveLost, Unreachable, pool.PoolLost)
PATIENCE = 5.0  # seconds of work in this process before Ray is started, if nobody said how many workers
HEAD = 3 * (1 << 10)  # cells that are looked at one by one for a warm-up

Given = Experiment | str | Path | Mapping[str, Any]
Result = Mapping[str, Any] | pool.Failure


@final
@dataclass(frozen=True)
class SweepGlimpse:
    """How far a sweep is, and what came in last."""

    done: int
    cells: int
    before: int  # that were there already
    seconds: float
    longer: bool  # whether these are cells that differed
    cell: Cell | None = None
    record: Mapping[str, Any] | None = None
    failure: str = ""

    @property
    def rate(self) -> float:
        """Cells per second."""
        return (self.done - self.before) / self.seconds if self.seconds else 0.0

    @property
    def left(self) -> float:
        """Seconds, if the rest is like what was done."""
        return (self.cells - self.done) / self.rate if self.rate else math.nan


SweepProgress = Callable[[SweepGlimpse], None]


def run(cell: Cell) -> dict[str, Any]:
    """The record of a cell."""
    rows, events, incomplete = cell.subject.run(cell.settings, cell.longer)
    return record_of(rows, events, incomplete)


def _job(given: tuple[Cell, float | None]) -> dict[str, Any] | UnreasonableError | OutOfTime:
    """The record of a cell that has so many seconds, or any number of them; or why it ends the sweep."""
    cell, budget = given
    try:
        with within(budget):
            found = run(cell)
            require_time()  # or what is missing in it would depend on how fast this machine is
        return found
    except OutOfTime as why:
        return why
    except UnreasonableError as why:
        return UnreasonableError(f"{why}{f', where {cell.words}' if cell.values else ''}")


def cost(cell: Cell) -> float:
    """Roughly what a cell costs beside other cells."""
    return cell.subject.cost(cell.settings)


def sweep(
    experiment: Given,
    out: str | Path | None = None,
    *,
    workers: int | None = None,
    address: str | None = None,
    overrides: Iterable[str] = (),
    zips: Iterable[str] = (),
    quick: bool = False,
    progress: SweepProgress | None = None,
    order: Callable[[Cell], float] = cost,
    budget: float | str | None = None,
) -> Sweep:
    """Run an experiment: its object, its file or the name of one that ships with replnet, or plain data.

    With `out` into that directory, where an earlier run of the same is carried on with; else in memory.
    `workers` of 0 run it in this process, without Ray; if not said, Ray is started on all CPUs for what is
    left after some seconds. `overrides` are as after -s, `zips` lists of axes such as `a,b`; cells run the
    largest by `order` first, and share their random numbers. Ctrl-C ends it with what there is, and so does a `budget`
    of seconds, or such as 10m. The result has `.table`, `.claims`, `.verdict`, `.incomplete` and `.plot()`.

    >>> found = rn.sweep("p2p/fig3", "runs/fig3", quick=True, workers=0)
    >>> found.verdict, found.done == len(found.cells)
    ('agree', True)
    """
    asked = _experiment(experiment, overrides, zips)
    asked = asked.quick() if quick else asked
    folder = None if out is None else Path(out)
    there = known(folder, asked) if folder else None
    about: dict[str, Any] = {}
    if folder:
        before = there.about.get("instructions", []) if there else []
        complete = there and there.provenance and all(cell.key in there.records for cell in asked.cells())
        about = {"instructions": list(dict.fromkeys([*before, *([] if complete else [instructions()])]))}
    begun = _SweepRun(asked, folder, about, progress, order, workers, address)
    with within(budget):
        return begun.whole(there.records if there else ())


def _experiment(given: Given, overrides: Iterable[str], zips: Iterable[str]) -> Experiment:
    if isinstance(given, str | Path):
        return load_experiment(given, overrides, zips)
    if list(overrides) or list(zips):
        raise ValueError("overrides: are of experiments from files (change the object or the data instead)")
    return given if isinstance(given, Experiment) else Experiment.from_data(given)


# ---- The directory


def _header(experiment: Experiment) -> dict[str, Any]:
    """What records depend on beside the values of their axes."""
    parts = {name: experiment.data.get(name) for name in ("values", *SUBJECTS, "set")}
    said = {name: part for name, part in parts.items() if part}
    return {"replnet": __version__, **said, "run": asdict(experiment.settings)}


def known(folder: Path, experiment: Experiment) -> Contents | None:
    """What an earlier run has left, if there was one; refuses one of other cells, with the difference."""
    if not (folder / "header.json").exists():
        return None
    contents = read(folder)
    keys = {cell.key for cell in experiment.cells()}
    lost = contents.records.keys() - keys - set(map(key_of_longer, keys))
    if lost and contents.header == _again(_header(experiment)):
        changes = differences(contents.about["experiment"], _again(experiment.data))
        lines = "".join(f"\n    {line}" for line in changes)
        raise RefusedError(
            f"{folder}: {len(lost)} of {len(contents.records)} finished cells are not among those asked for now "
            f"(ask for those as well, or use another directory){lines}"
        )
    return contents


def _again(data: Any) -> Any:
    """As it will be read from a file."""
    return json.loads(canonical(data))


# ---- The run


@final
@dataclass
class _SweepRun:
    """All cells of an experiment, in two rounds, into a folder or into memory."""

    experiment: Experiment
    folder: Path | None
    about: Mapping[str, Any]
    progress: SweepProgress | None
    order: Callable[[Cell], float]
    workers: int | None
    address: str | None
    finished: Mapping[str, Any] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def whole(self, known: Container[str]) -> Sweep:
        """Both rounds, and the table if nothing is missing."""
        stopped = ""
        try:
            self._rounds({cell.key: cell for cell in self.experiment.cells()}, known)
        except KeyboardInterrupt as why:
            stopped = why.args[0] if why.args else INTERRUPTED
        if self.folder and self.failures:
            write_whole(self.folder / FAILURES, sealed({"failures": self.failures}, "failures"))
        elif self.folder:
            (self.folder / FAILURES).unlink(missing_ok=True)
        return replace(self._sweep(), stopped=stopped, about=self.about)

    def _rounds(self, cells: Mapping[str, Cell], known: Container[str]) -> None:
        keys = [*cells, *(key for key in map(key_of_longer, cells) if key in known)]
        with self._opened(keys) as store:
            self._round(cells.values(), store)
        again = [replace(cells[key], longer=True) for key in self._sweep().differing]
        before = self.finished.keys()
        with self._opened(list(dict.fromkeys([*keys, *(cell.record for cell in again)]))) as store:
            if store and (lost := len(before - store.finished.keys())):
                raise DiskError(f"{self.folder}: removed while the sweep ran, and with it {lost} finished cells")
            self._round(again, store)
            if store and not self.failures:
                found = self._sweep()
                store.complete(found.table, found.provenance)

    def _opened(self, keys: Sequence[str]) -> AbstractContextManager[Store | None]:
        if self.folder is None:
            return nullcontext()
        said = {"experiment": self.experiment.data, "commit": commit(), **self.about}
        return Store.writing(self.folder, _header(self.experiment), keys, said)

    def _sweep(self) -> Sweep:
        return Sweep(self.experiment, dict(self.finished), dict(self.failures), folder=self.folder)

    def _round(self, cells: Collection[Cell], store: Store | None) -> None:
        kept: dict[str, Any] = {} if store else dict(self.finished)
        self.finished = store.finished if store else kept
        keep = store.append if store else kept.__setitem__
        missing = [cell for cell in cells if cell.record not in self.finished]
        there = len(cells) - len(missing)
        now = SweepGlimpse(there, len(cells), there, 0.0, any(cell.longer for cell in cells))
        self._tell(now)
        begun = time.perf_counter()
        for cell, result in self._results(missing):
            now = replace(now, seconds=time.perf_counter() - begun, cell=cell)
            if isinstance(result, pool.Failure):
                self.failures[cell.key] = result.reason
                self._tell(replace(now, failure=result.reason))
            else:
                keep(cell.record, result)
                now = replace(now, done=now.done + 1)
                self._tell(replace(now, record=result))

    def _tell(self, now: SweepGlimpse) -> None:
        if self.progress and now.cells:
            self.progress(now)

    def _results(self, cells: Sequence[Cell]) -> Iterator[tuple[Cell, Result]]:
        """As they are done, the largest first."""
        missing = {cell.record: cell for cell in cells}
        if self.workers is None and self.address is None:
            until = time.perf_counter() + PATIENCE
            for cell, result in self._by(list(cells), 0):
                del missing[cell.record]
                yield cell, result
                if time.perf_counter() > until:
                    break
        if missing:
            yield from self._by(list(missing.values()), self.workers)

    def _by(self, cells: Sequence[Cell], workers: int | None) -> Iterator[tuple[Cell, Result]]:
        warm = [] if workers == 0 else [(cell, None) for cell in _samples(cells)]
        jobs, costs = [(cell, left()) for cell in cells], [self.order(cell) for cell in cells]
        with closing(pool.run(_job, jobs, costs, workers, self.address, warm)) as results:
            for i, result in results:
                if isinstance(result, UnreasonableError | OutOfTime):
                    raise result
                yield cells[i], result


def _samples(cells: Sequence[Cell]) -> list[Cell]:
    """A short cell per kind of subject, to compile what they need."""
    found: dict[Any, Cell] = {}
    for cell in cells[:HEAD]:
        kind = (cell.settings.estimator, cell.settings.engine, *cell.subject.kernels)
        if cell.subject.kernels and kind not in found:
            brief = replace(cell.settings, horizon=1.0, precision=None, replications=1)
            found[kind] = replace(cell, settings=brief)
    return list(found.values())
