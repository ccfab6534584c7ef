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
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, final

from replnet.engines import pool
from replnet.engines.live import LiveLost, Unreachable
from replnet.experiment import compare
from replnet.experiment.cell import Job, Record, run, size
from replnet.experiment.claims import Checked, checked
from replnet.experiment.durable import DiskError, canonical, digest, sealed, unsealed, write_whole
from replnet.experiment.provenance import commit, provenance
from replnet.experiment.spec_cells import Cell
from replnet.experiment.specification import Experiment, load_experiment
from replnet.experiment.store import Contents, RefusedError, Store, differences, read
from replnet.measure.verdict import overall
from replnet.version import __version__

__all__ = ["DiskError", "Glimpse", "Progress", "RayLost", "RefusedError", "Sweep", "known", "longer", "sweep"]

RayLost = (LiveLost, Unreachable, pool.PoolLost)
FAILURES = "failures.json"  # in a run directory: cells that failed the last time, by key
PATIENCE = 5.0  # seconds of work in this process before Ray is started, if nobody said how many workers
HEAD = 3 * (1 << 10)  # cells that are looked at one by one for a warm-up


class View(Protocol):
    """What draws a sweep: the report, which stands above this layer."""

    def plot(self, sweep: Sweep) -> Any: ...

    def html(self, sweep: Sweep) -> str: ...


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


@final
@dataclass(frozen=True, eq=False)
class Sweep:
    """An experiment and the records of its finished cells."""

    experiment: Experiment
    records: Mapping[str, Any] = field(repr=False)
    failures: Mapping[str, str] = field(default_factory=dict, repr=False)
    stopped: str = ""  # why it ended early, if it did
    folder: Path | None = None
    about: Mapping[str, Any] = field(default_factory=dict, repr=False)
    view: View | None = field(default=None, repr=False)

    @classmethod
    def read(cls, folder: str | Path) -> Sweep:
        """What a run directory holds, finished or not; nothing is changed."""
        contents = read(folder)
        experiment = Experiment.from_data(contents.about["experiment"])
        failures = _failures(Path(folder))
        return cls(experiment, contents.records, failures, folder=Path(folder), about=_origin(contents))

    @property
    def cells(self) -> list[Cell]:
        return self.experiment.cells()

    @cached_property
    def done(self) -> int:
        """Cells that are finished."""
        return sum(cell.key in self.records for cell in self.cells)

    @cached_property
    def final(self) -> dict[str, Any]:
        """By key, the record that counts: the longer one of a cell that differed, where there is one."""
        records = {cell.key: self.records[cell.key] for cell in self.cells if cell.key in self.records}
        if self.done == len(self.cells):
            again = {key: self.records.get(longer(key)) for key in compare.differing(self.cells, records)}
            records |= {key: record for key, record in again.items() if record is not None}
        return records

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The finished table, of what is finished."""
        e = self.experiment
        return compare.table(self.cells, self.final, self.failures, e.printed, e.measure, e.groups)

    @cached_property
    def table(self) -> Any:
        """The rows as a DataFrame."""
        return compare.frame(self.rows, self.experiment.axes)

    @cached_property
    def claims(self) -> tuple[Checked, ...]:
        found, e = compare.lines(self.cells, self.final), self.experiment
        return tuple(checked(claim, found, e.axes, e.zips) for claim in e.claims)

    @property
    def contradictions(self) -> list[str]:
        """Printed values that contradict a prediction that the measurement confirms."""
        return compare.contradictions(self.rows, self.experiment.axes, self.experiment.printed)

    @property
    def verdict(self) -> str:
        """`agree`, `differ` or `unresolved` over all rows; a claim that fails differs too."""
        failed = any(False in (claim.measured, claim.predicted) for claim in self.claims)
        return overall([*(row["verdict"] for row in self.rows), *(["differ"] if failed else [])])

    @property
    def incomplete(self) -> str:
        """What is missing, and why; empty if nothing is."""
        missing = len(self.cells) - self.done
        words = [self.stopped] if self.stopped else []
        if missing:
            words.append(f"{self.done} of {len(self.cells)} cells are finished")
        if self.failures:
            first = next(iter(self.failures.values()))
            words.append(f"{len(self.failures)} failed: {first}")
        short = dict.fromkeys(record["incomplete"] for record in self.final.values() if record["incomplete"])
        return "; ".join([*words, *islice(short, 3)])

    @property
    def events(self) -> int:
        """Emulated in all cells."""
        return sum(int(record["events"]) for record in self.final.values())

    @cached_property
    def provenance(self) -> dict[str, Any]:
        found = provenance(self.experiment.data, seed=self.experiment.settings.seed)
        return {**found, **dict(self.about.get("provenance") or {})}

    @property
    def hash(self) -> str:
        """Of the table: equal for equal tables."""
        return digest(canonical(self.rows))

    def plot(self) -> Any:
        """A matplotlib figure."""
        return self._view.plot(self)

    def _repr_html_(self) -> str:
        return self._view.html(self)

    @property
    def _view(self) -> View:
        if self.view is None:
            raise ValueError("view: nothing draws this sweep (that of replnet.sweep is drawn by the report)")
        return self.view


def longer(key: str) -> str:
    """The key of the longer run of a cell."""
    return digest(f"{key} longer")


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
    """Run what is not yet there of an experiment: an object, a file, the name of one, or plain data.

    With `out` into that directory, where an earlier run of the same is carried on with; else in memory.
    `workers` of 0 run it in this process, without Ray; if not said, Ray is started on all CPUs for what
    is left after some seconds. Ctrl-C ends it with what there is.
    """
    asked = _experiment(experiment, overrides, zips)
    asked = asked.quick() if quick else asked
    found = _Run(asked, workers, address, progress, order)
    if out is None:
        memory = _Memory({})
        return found.whole({}, lambda keys: nullcontext(memory))
    folder = Path(out)
    there = known(folder, asked)
    return found.whole(there, lambda keys: _stored(folder, asked, keys), folder)


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
def _stored(folder: Path, experiment: Experiment, keys: Sequence[str]) -> Iterator[Store]:
    about = {"experiment": experiment.data, "commit": commit()}
    with Store.writing(folder, _header(experiment), keys, about) as store:
        yield store


def _header(experiment: Experiment) -> dict[str, Any]:
    """What records depend on beside the values of their axes."""
    parts = {name: experiment.data.get(name) for name in ("values", "network", "optimise", "set")}
    said = {name: part for name, part in parts.items() if part}
    return {"replnet": __version__, **said, "run": asdict(experiment.settings)}


def known(folder: Path, experiment: Experiment) -> Mapping[str, Any]:
    """What an earlier run has finished; refuses one of other cells, with the difference."""
    if not (folder / "header.json").exists():
        return {}
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
    return contents.records


def _again(data: Any) -> Any:
    """As it will be read from a file."""
    return json.loads(canonical(data))


def _failures(folder: Path) -> dict[str, str]:
    try:
        content = unsealed((folder / FAILURES).read_bytes())
    except FileNotFoundError:
        return {}
    return {} if content is None else content["failures"]


def _tell_failures(folder: Path, failures: Mapping[str, str]) -> None:
    if failures:
        write_whole(folder / FAILURES, sealed({"failures": dict(failures)}, "failures"))
    else:
        (folder / FAILURES).unlink(missing_ok=True)


def _origin(contents: Contents) -> dict[str, Any]:
    return {"note": contents.note, "commit": contents.about.get("commit"), "provenance": contents.provenance}


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
        with open_([*dict.fromkeys([*keys, *(job.key for job in again)])]) as records:
            self._round(again, records)
            if not self._failures:
                found = self._sweep(folder)
                records.complete(found.table, found.provenance)

    def _sweep(self, folder: Path | None) -> Sweep:
        return Sweep(self._experiment, dict(self._finished), dict(self._failures), folder=folder)

    def _doubtful(self) -> list[str]:
        """The cells that differ, once all are there."""
        missing = any(key not in self._finished for key in self._cells)
        return [] if missing else compare.differing(list(self._cells.values()), self._finished)

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
        data = job.cell.optimise or job.cell.network
        kind = (job.cell.settings.estimator, job.cell.settings.engine, data.get("kind"), data.get("select"))
        if kind not in found and job.cell.optimise is None:
            brief = replace(job.cell.settings, horizon=1.0, precision=None, replications=1)
            found[kind] = Job("warm", replace(job.cell, settings=brief))
    return list(found.values())
