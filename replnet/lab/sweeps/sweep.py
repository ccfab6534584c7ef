"""Run an experiment: every cell once, on any number of workers, into a directory that can be carried on with.

The table is the same, byte for byte, whatever the workers, the order in which
cells finish and the interruptions: a record depends on its cell, and the table on
the records in the order of the cells. Cells whose rows differ from their
prediction, all cells judged together, are run again four times longer under a key
of their own before they are called so; which these are follows from the first
records alone.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, final

from replnet.deadline import OutOfTime, UnreasonableError, require_time, seconds_left, within
from replnet.lab.experiment import SUBJECTS, Cell, Experiment, key_of_longer, load_experiment
from replnet.lab.kept_run import instruction_sets, run_record
from replnet.lab.sweeps.finished import FAILURES, Sweep
from replnet.lab.sweeps.loggers import Loggers
from replnet.lab.sweeps.stored_table import run_id
from replnet.live import LiveLost
from replnet.run import INTERRUPTED, commit
from replnet.store import (
    Contents,
    DiskError,
    RefusedError,
    Store,
    changed_fields,
    json_data,
    read_contents,
    seal,
    write_whole,
)
from replnet.text import FieldError, file_path, require_callable, short_repr
from replnet.version import __version__
from replnet.workers import Failure, RayUnreachableError
from replnet.workers import jobs as worker_jobs

__all__ = [
    "DiskError",
    "RayLost",
    "RefusedError",
    "Sweep",
    "SweepGlimpse",
    "SweepProgress",
    "earlier_run",
    "run_cell",
    "sweep",
]

RayLost = (LiveLost, RayUnreachableError)
SECONDS_ALONE = 5.0  # seconds of work in this process before Ray is started, if nobody said how many workers
MOST_CELLS_SCANNED = 3 * (1 << 10)  # cells that are looked at one by one for a warm-up

ExperimentSource = Experiment | str | Path | Mapping[str, Any]
CellResult = Mapping[str, Any] | Failure


@final
@dataclass(frozen=True)
class SweepGlimpse:
    """The progress of a round of a sweep: how many of its `cells` are `done`, and the `cell` that came in last, if any.

    Of that cell there is the `record`, or a text, `failure`, that says why it failed. `before` of the cells were
    finished when the round began, `seconds` ago; `longer` is whether it is the second round, of cells that differed.
    """

    done: int
    cells: int
    before: int  # cells that an earlier run had finished
    seconds: float
    longer: bool  # whether this is the second round, of cells that differed
    cell: Cell | None = None
    record: Mapping[str, Any] | None = None
    failure: str = ""

    @property
    def rate(self) -> float:
        """The cells finished per second since the round began, without those finished before."""
        return (self.done - self.before) / self.seconds if self.seconds else 0.0

    @property
    def left(self) -> float:
        """The seconds that the rest of the round will take at this rate; NaN before a cell is finished."""
        return (self.cells - self.done) / self.rate if self.rate else math.nan


SweepProgress = Callable[[SweepGlimpse], None]


def run_cell(cell: Cell) -> dict[str, Any]:
    """Run a cell, four times as long if it is to run longer, and return its record: rows, events, why it is
    incomplete.
    """
    rows, events, incomplete = cell.subject.run(cell.settings, cell.longer)
    return run_record(rows, events, incomplete)


def _run_job(cell_and_budget: tuple[Cell, float | None]) -> dict[str, Any] | UnreasonableError | OutOfTime:
    """Run a cell within a budget of seconds (None: no limit), and return its record, or the error that ends the sweep.

    Any other error is raised.
    """
    cell, budget = cell_and_budget
    try:
        with within(budget):
            record = run_cell(cell)
            require_time()  # otherwise the record would depend on how fast this machine is
        return record
    except OutOfTime as why:
        return why
    except UnreasonableError as why:
        return UnreasonableError(f"{why}{f', where {cell.words}' if cell.values else ''}")


def cost(cell: Cell) -> float:
    """Return roughly what a cell costs in proportion to other cells, as a number without a unit."""
    return cell.subject.cost(cell.settings)


def sweep(
    experiment: ExperimentSource,
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

    With `out` the sweep is kept in that directory, where an earlier run of the same is carried on with; else it is in
    memory. With `workers` of 0 it runs in this process, without Ray; if their number is left out, Ray is started on all
    CPUs for what is left after some seconds. `address` is that of a Ray cluster to join instead. `quick` applies the
    section of that name. `progress` is called with a SweepGlimpse before the first cell and after each. `overrides` are
    as after -s, `zips` lists of axes such as `a,b`; cells run the largest by `order` first, and share their random
    numbers. Ctrl-C ends the sweep with the cells finished by then, and so does a `budget` in seconds, or such as 10m.
    The result has `.table`, `.claims`, `.verdict`, `.incomplete` and `.plot()`.

    >>> result = rn.sweep("p2p/fig3", "runs/fig3", quick=True, workers=0)
    >>> result.verdict, result.done == len(result.cells)
    ('agree', True)
    """
    worker_jobs.require_workers(workers)
    require_callable("progress", progress)
    checked = _experiment(experiment, overrides, zips)
    checked = checked.quick() if quick else checked
    folder = None if out is None else file_path("out", out)
    earlier = earlier_run(folder, checked) if folder else None
    about = {"instructions": instruction_sets(earlier, (cell.key for cell in checked.cells()))} if folder else {}
    sweep_run = _SweepRun(checked, folder, about, progress, order, workers, address)
    with within(budget):
        return sweep_run.run_all(earlier.records if earlier else ())


def _experiment(source: ExperimentSource, overrides: Iterable[str], zips: Iterable[str]) -> Experiment:
    """Return the experiment that a user names, or gives as an object or as plain data.

    Raises FieldError if there are overrides or zips and no file or name that they apply to.
    """
    if isinstance(source, str | Path):
        return load_experiment(source, overrides, zips)
    if list(overrides) or list(zips):
        wrong, right = "only an experiment from a file takes them", "change the object or the data instead"
        raise FieldError("overrides", wrong, right)
    if not isinstance(source, Experiment | Mapping):
        raise FieldError("experiment", f"{short_repr(source)} is no experiment", "a file, a name, or plain data")
    return source if isinstance(source, Experiment) else Experiment.from_data(source)


# ---- The directory


def _header(experiment: Experiment) -> dict[str, Any]:
    """Return the header of the run directory: all that records depend on beside the values of their axes."""
    parts = {name: experiment.data.get(name) for name in ("values", *SUBJECTS, "set")}
    named = {name: part for name, part in parts.items() if part}
    return {"replnet": __version__, **named, "run": experiment.settings.of_cell()}


def earlier_run(folder: Path, experiment: Experiment) -> Contents | None:
    """Return the contents that an earlier run has left in a directory; None if it has none. Nothing is changed there.

    Raises RefusedError, with the differences, if it has finished cells that are not among those of the experiment.
    """
    if not (folder / "header.json").exists():
        return None
    contents = read_contents(folder)
    keys = {cell.key for cell in experiment.cells()}
    lost = contents.records.keys() - keys - set(map(key_of_longer, keys))
    if lost and contents.header == json_data(_header(experiment), "header"):
        changes = changed_fields(contents.about["experiment"], json_data(experiment.data, "experiment"))
        lines = "".join(f"\n    {line}" for line in changes)
        raise RefusedError(
            f"{folder}: {len(lost)} of {len(contents.records)} finished cells are not among those asked for now "
            f"(ask for those as well, or use another directory){lines}"
        )
    return contents


# ---- The run


@final
@dataclass
class _SweepRun:
    """A run of all cells of an experiment, in two rounds, into a folder, or into memory if that is None.

    `about` is stored beside the records, `progress` is called after every cell, and cells run the largest by `order`
    first, on so many `workers` of the Ray cluster at `address`: one per CPU of this machine if both are None.
    `finished` are the records and `failures` the reasons of cells by their keys, so far.
    """

    experiment: Experiment
    folder: Path | None
    about: Mapping[str, Any]
    progress: SweepProgress | None
    order: Callable[[Cell], float]
    workers: int | None
    address: str | None
    finished: Mapping[str, Any] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._run = run_id(_header(self.experiment), self.experiment.data)
        self._loggers = Loggers(self._run, self.experiment.name)

    def run_all(self, earlier: Container[str]) -> Sweep:
        """Run both rounds, and return the sweep; after an interrupt or the end of a budget, that with the cells so far.

        `earlier` has the keys of cells that an earlier run has finished. The failures are written to the folder, in the
        place of earlier ones.
        """
        stopped = ""
        try:
            self._run_rounds({cell.key: cell for cell in self.experiment.cells()}, earlier)
        except KeyboardInterrupt as why:
            stopped = why.args[0] if why.args else INTERRUPTED
        if self.folder and self.failures:
            write_whole(self.folder / FAILURES, seal({"failures": self.failures}, "failures"))
        elif self.folder:
            (self.folder / FAILURES).unlink(missing_ok=True)
        result = replace(self._sweep(), stopped=stopped, about=self.about)
        try:
            self._loggers.tell_end(result)
        except KeyboardInterrupt:
            self._loggers.notes.append("loggers: interrupted at the end of the sweep")
        return replace(result, notes=tuple(self._loggers.notes))

    def _run_rounds(self, cells: Mapping[str, Cell], earlier: Container[str]) -> None:
        """Run all `cells`, given by key, and then those that differ four times longer; then write the table.

        The table is not written if any have failed, or without a folder. Raises DiskError if the folder was removed
        meanwhile. `earlier` has the keys of cells that an earlier run has finished, longer ones among them.
        """
        keys = [*cells, *(key for key in map(key_of_longer, cells) if key in earlier)]
        with self._open_store(keys) as store:
            self._run_round(cells.values(), store)
        again = [replace(cells[key], longer=True) for key in self._sweep().differing]
        before = self.finished.keys()
        with self._open_store(list(dict.fromkeys([*keys, *(cell.record_key for cell in again)]))) as store:
            if store and (lost := len(before - store.finished.keys())):
                raise DiskError(f"{self.folder}: removed while the sweep ran, and with it {lost} finished cells")
            self._run_round(again, store)
            if store and not self.failures:
                finished = self._sweep()
                store.complete(finished.stored_table, finished.provenance)

    def _open_store(self, keys: Sequence[str]) -> AbstractContextManager[Store | None]:
        """Return a context with the store of the run directory for cells of these keys; None in it without a folder."""
        if self.folder is None:
            return nullcontext()
        about = {"experiment": self.experiment.data, "commit": commit(), **self.about}
        return Store.open_to_write(self.folder, _header(self.experiment), keys, about)

    def _sweep(self) -> Sweep:
        """Return the sweep with the records and failures that there are by now."""
        return Sweep(self.experiment, dict(self.finished), dict(self.failures), folder=self.folder, run=self._run)

    def _run_round(self, cells: Collection[Cell], store: Store | None) -> None:
        """Run those of the cells that are not finished, and keep their records, in the store if there is one.

        Failures are kept by key, and progress is reported before the first cell and after each.
        """
        in_memory: dict[str, Any] = {} if store else dict(self.finished)
        self.finished = store.finished if store else in_memory
        keep = store.append if store else in_memory.__setitem__
        missing = [cell for cell in cells if cell.record_key not in self.finished]
        before = len(cells) - len(missing)
        now = SweepGlimpse(before, len(cells), before, 0.0, any(cell.longer for cell in cells))
        self._report(now)
        begun = time.perf_counter()
        for cell, result in self._results(missing):
            now = replace(now, seconds=time.perf_counter() - begun, cell=cell)
            if isinstance(result, Failure):
                self.failures[cell.key] = result.reason
                self._report(replace(now, failure=result.reason))
            else:
                keep(cell.record_key, result)
                self._loggers.tell_cell(cell, result)
                now = replace(now, done=now.done + 1)
                self._report(replace(now, record=result))

    def _report(self, now: SweepGlimpse) -> None:
        """Report progress to the caller, unless there are no cells."""
        if self.progress and now.cells:
            self.progress(now)

    def _results(self, cells: Sequence[Cell]) -> Iterator[tuple[Cell, CellResult]]:
        """Yield the cells with their records, or failures, as they are done, the largest first.

        If nobody said how many workers, this process does the first seconds alone.
        """
        missing = {cell.record_key: cell for cell in cells}
        if self.workers is None and self.address is None:
            until = time.perf_counter() + SECONDS_ALONE
            for cell, result in self._run_jobs(list(cells), 0):
                del missing[cell.record_key]
                yield cell, result
                if time.perf_counter() > until:
                    break
        if missing:
            yield from self._run_jobs(list(missing.values()), self.workers)

    def _run_jobs(self, cells: Sequence[Cell], workers: int | None) -> Iterator[tuple[Cell, CellResult]]:
        """Yield the cells with their records, or failures, as so many workers do them; 0 is this process.

        Raises an error that ends the sweep: UnreasonableError or OutOfTime.
        """
        warm = [] if workers == 0 else [(cell, None) for cell in _warm_up_cells(cells)]
        jobs, costs = [(cell, seconds_left()) for cell in cells], [self.order(cell) for cell in cells]
        with closing(worker_jobs.run(_run_job, jobs, costs, workers, self.address, warm)) as results:
            for i, result in results:
                if isinstance(result, UnreasonableError | OutOfTime):
                    raise result
                yield cells[i], result


def _warm_up_cells(cells: Sequence[Cell]) -> list[Cell]:
    """Return cells made very short that compile all that `cells` need: one for each estimator, engine and kernels.

    Only the first 3072 cells are looked at.
    """
    samples: dict[Any, Cell] = {}
    for cell in cells[:MOST_CELLS_SCANNED]:
        kind = (cell.settings.estimator, cell.settings.engine, *cell.subject.kernels)
        if cell.subject.kernels and kind not in samples:
            brief = replace(cell.settings, horizon=1.0, precision=None, replications=1)
            samples[kind] = replace(cell, settings=brief)
    return list(samples.values())
