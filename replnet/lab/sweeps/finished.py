"""The result of a sweep, finished or not: its records, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path as File
from typing import TYPE_CHECKING, Any, final

import replnet
from replnet.engines import Path
from replnet.lab.experiment import Cell, Experiment, key_of_longer
from replnet.lab.kept_run import draws_of, records_so_far, stored_paths
from replnet.lab.sweeps import statements
from replnet.lab.sweeps.judged_table import (
    DIFFERENCES,
    Line,
    compare_sweeps,
    judged_lines,
    table_of_rows,
    with_stated_values,
)
from replnet.lab.sweeps.stored_table import run_id, stored_table
from replnet.measure import worst_verdict
from replnet.run import TabularResult, provenance, samples_frame
from replnet.store import RefusedError, canonical_json, digest, read_contents, read_plain_file, unseal
from replnet.text import file_path

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


def open(folder: str | File) -> Sweep:
    """Return the sweep of a run directory, finished or not; a run that `emulate` kept is one of a single cell.

    Nothing is changed there. Raises RefusedError if no sweep or run wrote it.

    >>> _ = rn.sweep("p2p/fig3", "runs/fig3", quick=True, workers=0)
    >>> rn.open("runs/fig3").experiment.title
    'Freshness of a single replica by the rate of its downloads'
    """
    return Sweep.read(folder)


def compare(first: str | File | Sweep, second: str | File | Sweep) -> Any:
    """Return the differences of two runs, first minus second, as a DataFrame; `attrs["verdict"]` is over all of them.

    Runs are given as directories or as sweeps. There is a row for each cell, group and metric that both have measured,
    with both values, their difference and its interval. Raises ValueError if there are none.

    >>> for seed in (1, 2):
    ...     _ = rn.sweep("p2p/fig3", f"runs/{seed}", quick=True, overrides=[f"run.seed={seed}"], workers=0)
    >>> rn.compare("runs/1", "runs/2").attrs["verdict"]
    'agree'
    """
    import pandas as pd

    left, right = (run if isinstance(run, Sweep) else Sweep.read(run) for run in (first, second))
    axes, rows, verdict = compare_sweeps(left, right)
    table = pd.DataFrame(rows, columns=[*axes, *DIFFERENCES])
    table.attrs["verdict"] = verdict
    return table


FAILURES = "failures.json"  # in a run directory: cells that failed the last time, by key


@final
@dataclass(frozen=True, eq=False, repr=False)
class Sweep(TabularResult):
    """A sweep: an experiment and the records of its finished cells, by their keys.

    `failures` says by key why other cells failed, `stopped` why the sweep ended early, or "", `folder` is the run
    directory, if there is one, `about` what that says of commit, machine, provenance and note, and `run` the id that
    tells its rows from those of other runs. `paths` are the replications of a run that `emulate` kept, whose only cell
    they make up, and `notes` say what is wrong with loggers, if anything is.
    """

    experiment: Experiment
    records: Mapping[str, Any] = field(repr=False)
    failures: Mapping[str, str] = field(default_factory=dict, repr=False)
    stopped: str = ""  # why it ended early, if it did
    folder: File | None = None
    about: Mapping[str, Any] = field(default_factory=dict, repr=False)
    run: str = ""  # its id, see `run_id`
    paths: Sequence[Path] = field(default=(), repr=False)  # the replications of a run that is its only cell
    notes: Sequence[str] = ()  # on loggers that failed

    @classmethod
    def read(cls, folder: str | File) -> Sweep:
        """Return the sweep of a run directory, finished or not; nothing is changed there.

        Raises RefusedError if no sweep or run wrote it.
        """
        folder = file_path("folder", folder)
        contents = read_contents(folder)
        if "experiment" not in contents.about:
            raise RefusedError(f"{folder}: not the run of an experiment (give a directory that a sweep wrote)")
        try:
            failed = unseal(read_plain_file(folder / FAILURES))
        except FileNotFoundError:
            failed = None
        about = {name: contents.about.get(name) for name in ("commit", "instructions")}
        about |= {"note": contents.note, "provenance": contents.provenance}
        experiment, failures = Experiment.from_data(contents.about["experiment"]), (failed or {}).get("failures", {})
        run = run_id(contents.header, contents.about["experiment"])
        if not contents.parts:
            return cls(experiment, contents.records, failures, folder=folder, about=about, run=run)
        (cell,) = experiment.cells()
        paths = stored_paths(cell, contents.parts)
        return cls(
            experiment, records_so_far(contents, cell), failures, folder=folder, about=about, run=run, paths=paths
        )

    @property
    def cells(self) -> list[Cell]:
        """The cells of the experiment."""
        return self.experiment.cells()

    @cached_property
    def done(self) -> int:
        """The number of cells that are finished; one that failed, or whose run goes on, does not count."""
        records = (self.records.get(cell.key) for cell in self.cells)
        return sum(record is not None and not record.get("unfinished") for record in records)

    @cached_property
    def final(self) -> dict[str, Any]:
        """The records that count, by the keys of their cells: of a cell that differed, the record of its longer run."""
        first = {cell.key: self.records[cell.key] for cell in self.cells if cell.key in self.records}
        again = {key: self.records.get(key_of_longer(key)) for key in self.differing}
        return first | {key: record for key, record in again.items() if record is not None}

    @cached_property
    def differing(self) -> list[str]:
        """The keys of the cells whose first runs differ from their predictions; none until all cells are finished."""
        if self.done < len(self.cells):
            return []
        return list(dict.fromkeys(line.cell.key for line in self._first if line.row.verdict == "differ"))

    @cached_property
    def lines(self) -> list[Line]:
        """The rows of the table with their cells: those of finished cells, judged, of the metrics and groups that the
        experiment keeps, beside printed and expected values; and one for each cell that failed.

        Of a cell that differed they are those of its longer run, if that is finished.
        """
        judged = self._judge(self.final) if self.differing else self._first
        return with_stated_values(judged, self.experiment.printed, self.experiment.expected)

    @cached_property
    def _first(self) -> list[Line]:
        """The rows of the first runs of all cells, judged together."""
        return self._judge(self.records)

    def _judge(self, records: Mapping[str, Any]) -> list[Line]:
        """Return the rows of these records, which are by keys of cells, judged together, and one per failed cell."""
        return judged_lines(self.cells, records, self.experiment.measure, self.experiment.groups, self.failures)

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of the table, each a mapping from columns to plain data."""
        return [line.data() for line in self.lines]

    @cached_property
    def table(self) -> pd.DataFrame:
        """The rows as a pandas DataFrame, the axes as its first columns."""
        return table_of_rows(self.rows, self.experiment.axes)

    @property
    def stored_table(self) -> Any:
        """The table as a pyarrow Table with the columns of table.parquet, which are the same for every run."""
        return stored_table(self.run, self.experiment.name, self.lines)

    def to_xarray(self) -> xr.Dataset:
        """Return the table as an xarray Dataset, whose dimensions are the axes, `group` and `metric`.

        Its variables are the other columns: measured, ci_low, predicted, verdict, and so on. Of axes that move together
        the first is a dimension, and the others are coordinates along it. Raises FieldError if xarray is not installed.
        """
        from replnet.lab.sweeps.labelled_arrays import dataset_of

        e = self.experiment
        about = {"experiment": e.name, "title": e.title, "verdict": self.verdict, "incomplete": self.incomplete}
        return dataset_of(self.table, e.axes, e.zips, about)

    @cached_property
    def claims(self) -> tuple[statements.CheckedClaim, ...]:
        """The claims of the experiment, checked on the table."""
        e = self.experiment
        return tuple(statements.check_claim(claim, self.lines, e.axes, e.zips) for claim in e.claims)

    @property
    def contradictions(self) -> list[str]:
        """Sentences on printed values that contradict a prediction that the measurement confirms."""
        return statements.contradictions(self.lines)

    @cached_property
    def errata(self) -> tuple[statements.ShownErratum, ...]:
        """The mistakes of the paper that the table shows, each with its kind."""
        return statements.shown_errata(self.experiment.errata, self.lines, self.claims)

    @cached_property
    def expectations(self) -> tuple[statements.Expectation, ...]:
        """The reasons to expect values that no paper prints, each with how many of its values agree."""
        return statements.expectations(self.lines)

    @property
    def verdict(self) -> str:
        """The worst verdict of all rows: `agree`, `differ` or `unresolved`; also `differ` if a claim without erratum
        fails, and `unresolved` if rows that have no interval could not test one.
        """
        verdicts = [line.row.verdict for line in self.lines]
        verdicts += ["differ" for claim in self.claims if claim.fails and claim.erratum is None]
        verdicts += ["unresolved" for claim in self.claims if claim.untested]
        return worst_verdict(verdicts)

    @property
    def incomplete(self) -> str:
        """A text that says which cells or replications are missing, and why; empty if none are."""
        words = [self.stopped] if self.stopped else []
        if self.done < len(self.cells):
            words.append(f"{self.done} of {len(self.cells)} cells are finished")
        if self.failures:
            words.append(f"{len(self.failures)} failed: {next(iter(self.failures.values()))}")
        short = dict.fromkeys(record["incomplete"] for record in self.final.values() if record["incomplete"])
        return "; ".join([*words, *islice(short, 3)])

    @property
    def mixed(self) -> str:
        """A note if CPUs of several kinds have computed the cells, whose last digits may differ; empty otherwise."""
        sets = self.about.get("instructions") or []
        if len(sets) < 2:
            return ""
        return f"cells were computed with different instructions ({'; '.join(sets)}): last digits may differ"

    @property
    def events(self) -> int:
        """The number of events emulated in all finished cells, of a cell that was run longer those of its longer
        run.
        """
        return sum(int(record["events"]) for record in self.final.values())

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """The provenance of the table: version, commit, seed, specification and machine."""
        current = provenance(self.experiment.data, seed=self.experiment.settings.seed)
        return {**current, **dict(self.about.get("provenance") or {})}

    @cached_property
    def draws(self) -> dict[tuple[str, str], tuple[Any, Any]]:
        """Two arrays by (group, metric) with an element per replication: measured amounts, and the wholes of which they
        are shares.

        Only a run in a directory that `emulate` made has them; it is empty for others.
        """
        return draws_of(self.paths)

    @cached_property
    def samples(self) -> Any:
        """The measurements of every replication of a run that `emulate` kept in a directory, as a DataFrame.

        It is empty for other sweeps.
        """
        return samples_frame(self.draws)

    @property
    def hash(self) -> str:
        """A hash of the table as text, equal for equal tables."""
        return digest(canonical_json(self.rows))

    def plot(self, metric: str | None = None) -> Any:
        """Return a matplotlib Figure of one metric over an axis; if none is named, of what the experiment draws."""
        return replnet.show.plot(self, metric)

    def _words(self) -> str:
        """Return the title of the experiment, how far the sweep is, and its verdict, in words."""
        e, title = self.experiment, self.experiment.title
        return " · ".join(filter(None, (f"{e.name}: {title}", f"{self.done} of {len(self.cells)} cells", self.verdict)))

    def _repr_html_(self) -> str:
        """Return the sweep as HTML, as notebooks show it."""
        return str(replnet.show.notebook(self))
