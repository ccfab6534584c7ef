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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol, final

from replnet.live import LiveLost, Unreachable, pool
from replnet.study.experiment.cells import Cell
from replnet.study.experiment.experiment import Experiment, load_experiment
from replnet.study.experiment.models import SUBJECTS
from replnet.study.provenance import commit, instructions
from replnet.study.store.durable import DiskError, canonical, sealed, write_whole
from replnet.study.store.store import Contents, RefusedError, Store, differences, read
from replnet.study.sweeps.cell import Job, Record, run, size
from replnet.study.sweeps.finished import FAILURES, Sweep, longer
from replnet.version import __version__

__all__ = ["DiskError", "Glimpse", "Progress", "RayLost", "RefusedError", "Sweep", "known", "longer", "sweep"]

RayLost = (LiveLost, Unreachable, pool.PoolLost)
PATIENCE = 5.0  # seconds of work in this process before Ray is started, if nobody said how many workers
HEAD = 3 * (1 << 10)  # cells that are looked at one by one for a warm-up


@final
@dataclass(frozen=True)
class Glimpse:
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


Progress = Callable[[Glimpse], None]


def sweep(
    experiment: Experiment | str | Path | Mapping[str, Any],
    out: str | Path | None = None,
    *,
    workers: int | None = None,
    address: str | None = None,
    overrides: Iterable[str] = (),
    zips: Iterable[str] = (),
    quick: bool = False,
    progress: Progress | None = None,
    order: Callable[[Cell], float] = size,
) -> Sweep:
    """Run an experiment: its object, its file or the name of one that ships with replnet, or plain data.

    With `out` into that directory, where an earlier run of the same is carried on with; else in memory.
    `workers` of 0 run it in this process, without Ray; if not said, Ray is started on all CPUs for what is
    left after some seconds. `overrides` are as after -s, `zips` lists of axes such as `a,b`; cells run the
    largest by `order` first, and share their random numbers. Ctrl-C ends it with what there is. The result
    has `.table`, `.claims`, `.verdict`, `.incomplete` and `.plot()`.
    """
    asked = _experiment(experiment, overrides, zips)
    asked = asked.quick() if quick else asked
    found = _Run(asked, workers, address, progress, order)
    if out is None:
        memory = _Memory({})
        return found.whole({}, lambda keys: nullcontext(memory))
    folder = Path(out)
    there = known(folder, asked)
    records = there.records if there else {}
    before = there.about.get("instructions", []) if there else []
    complete = there and there.provenance and all(cell.key in records for cell in asked.cells())
    here = [] if complete else [instructions()]
    about = {"instructions": list(dict.fromkeys([*before, *here]))}
    made = found.whole(records, lambda keys: _stored(folder, asked, keys, about), folder)
    return replace(made, about=about)


def _experiment(
    given: Experiment | str | Path | Mapping[str, Any], overrides: Iterable[str], zips: Iterable[str]
) -> Experiment:
    if isinstance(given, str | Path):
        return load_experiment(given, overrides, zips)
    if list(overrides) or list(zips):
        raise ValueError("overrides: are of experiments from files (change the object or the data instead)")
    return given if isinstance(given, Experiment) else Experiment.from_data(given)


# ---- The directory


class _Records(Protocol):
    """Where finished cells go: a store, or memory."""

    @property
    def finished(self) -> Mapping[str, Any]: ...

    def append(self, key: str, record: Any) -> None: ...

    def complete(self, table: Any, provenance: Mapping[str, Any]) -> None: ...


@final
@dataclass(frozen=True)
class _Memory:
    finished: dict[str, Any]

    def append(self, key: str, record: Any) -> None:
        self.finished[key] = record

    def complete(self, table: Any, provenance: Mapping[str, Any]) -> None:
        """Nothing is kept."""


@contextmanager
def _stored(folder: Path, experiment: Experiment, keys: Sequence[str], about: Mapping[str, Any]) -> Iterator[Store]:
    said = {"experiment": experiment.data, "commit": commit(), **about}
    with Store.writing(folder, _header(experiment), keys, said) as store:
        yield store


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
    keys |= {longer(key) for key in keys}
    if contents.header == _again(_header(experiment)) and not contents.records.keys() <= keys:
        changes = differences(contents.about["experiment"], _again(experiment.data))
        lost = len(contents.records.keys() - keys)
        lines = "".join(f"\n    {line}" for line in changes)
        raise RefusedError(
            f"{folder}: {lost} of {len(contents.records)} finished cells are not among those asked for now "
            f"(ask for those as well, or use another directory){lines}"
        )
    return contents


def _again(data: Any) -> Any:
    """As it will be read from a file."""
    return json.loads(canonical(data))


def _tell_failures(folder: Path, failures: Mapping[str, str]) -> None:
    if failures:
        write_whole(folder / FAILURES, sealed({"failures": dict(failures)}, "failures"))
    else:
        (folder / FAILURES).unlink(missing_ok=True)


# ---- The run

Open = Callable[[Sequence[str]], AbstractContextManager[_Records]]
"""Opens the place for the records of cells of these keys."""


@final
class _Run:
    """All cells of an experiment, in two rounds."""

    def __init__(
        self,
        experiment: Experiment,
        workers: int | None,
        address: str | None,
        progress: Progress | None,
        order: Callable[[Cell], float],
    ) -> None:
        self._experiment = experiment
        self._workers, self._address, self._progress, self._order = workers, address, progress, order
        self._cells = {cell.key: cell for cell in experiment.cells()}
        self._finished: Mapping[str, Any] = {}
        self._failures: dict[str, str] = {}

    def whole(self, known: Mapping[str, Any], open_: Open, folder: Path | None = None) -> Sweep:
        """Both rounds, and the table if nothing is missing."""
        stopped = ""
        try:
            self._rounds([*self._cells, *(longer(key) for key in self._cells if longer(key) in known)], open_, folder)
        except KeyboardInterrupt:
            stopped = "interrupted"
        if folder is not None:
            _tell_failures(folder, self._failures)
        return replace(self._sweep(folder), stopped=stopped)

    def _rounds(self, keys: list[str], open_: Open, folder: Path | None) -> None:
        with open_(keys) as records:
            self._round([Job(key, cell) for key, cell in self._cells.items()], records)
        again = [Job(longer(key), self._cells[key], longer=True) for key in self._doubtful()]
        before = self._finished.keys()
        with open_([*dict.fromkeys([*keys, *(job.key for job in again)])]) as records:
            if lost := len(before - records.finished.keys()):
                raise DiskError(f"{folder}: removed while the sweep ran, and with it {lost} finished cells")
            self._round(again, records)
            if not self._failures:
                found = self._sweep(folder)
                records.complete(found.table, found.provenance)

    def _sweep(self, folder: Path | None) -> Sweep:
        return Sweep(self._experiment, dict(self._finished), dict(self._failures), folder=folder)

    def _doubtful(self) -> list[str]:
        """The cells that differ, once all are there."""
        missing = any(key not in self._finished for key in self._cells)
        return [] if missing else self._sweep(None).differing(self._finished)

    def _round(self, jobs: Sequence[Job], records: _Records) -> None:
        self._finished = records.finished
        open_ = [job for job in jobs if job.key not in records.finished]
        now = Glimpse(len(jobs) - len(open_), len(jobs), len(jobs) - len(open_), 0.0, any(job.longer for job in jobs))
        self._tell(now)
        begun = time.perf_counter()
        for job, result in self._results(open_):
            now = replace(now, seconds=time.perf_counter() - begun, cell=job.cell)
            if isinstance(result, pool.Failure):
                self._failures[job.cell.key] = result.reason
                self._tell(replace(now, failure=result.reason))
            else:
                records.append(job.key, result)
                now = replace(now, done=now.done + 1)
                self._tell(replace(now, record=result))

    def _tell(self, now: Glimpse) -> None:
        if self._progress and now.cells:
            self._progress(now)

    def _results(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, Record | pool.Failure]]:
        """As they are done, the largest first."""
        sizes = {job.key: self._order(job.cell) for job in jobs}
        left = {job.key: job for job in jobs}
        workers = self._workers
        if workers is None and self._address is None:
            for job, result in self._by(list(jobs), sizes, 0, time.perf_counter() + PATIENCE):
                del left[job.key]
                yield job, result
        if left:
            yield from self._by(list(left.values()), sizes, workers, None)

    def _by(
        self, jobs: list[Job], sizes: Mapping[str, float], workers: int | None, until: float | None
    ) -> Iterator[tuple[Job, Record | pool.Failure]]:
        warm = [] if workers == 0 else _samples(jobs)
        largest = [sizes[job.key] for job in jobs]
        with closing(pool.run(run, jobs, largest, workers, self._address, warm)) as results:
            for i, result in results:
                yield jobs[i], result
                if until is not None and time.perf_counter() > until:
                    return


def _samples(jobs: Sequence[Job]) -> list[Job]:
    """A short job per kind of network, to compile what they need."""
    found: dict[Any, Job] = {}
    for job in jobs[:HEAD]:
        data = job.cell.network
        kind = (job.cell.settings.estimator, job.cell.settings.engine, data.get("kind"), data.get("select"))
        if data and kind not in found:
            brief = replace(job.cell.settings, horizon=1.0, precision=None, replications=1)
            found[kind] = Job("warm", replace(job.cell, settings=brief))
    return list(found.values())
