"""The result of a sweep, finished or not: its records, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, final

from replnet.measure.verdict import overall
from replnet.study.experiment.cells import Cell
from replnet.study.experiment.experiment import Experiment
from replnet.study.provenance import provenance
from replnet.study.store.durable import canonical, digest, read_plain, unsealed
from replnet.study.store.store import Contents, RefusedError, read
from replnet.study.sweeps import errata, table
from replnet.study.sweeps.claims import Checked, checked
from replnet.study.sweeps.errata import Expectation, ShownErratum

FAILURES = "failures.json"  # in a run directory: cells that failed the last time, by key


class View(Protocol):
    """What draws a sweep: the report, which stands above this layer."""

    def plot(self, sweep: Sweep) -> Any: ...

    def html(self, sweep: Sweep) -> str: ...


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
        if "experiment" not in contents.about:
            raise RefusedError(f"{folder}: not the run of an experiment (give a directory that a sweep wrote)")
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
            again = {key: self.records.get(longer(key)) for key in self.differing(records)}
            records |= {key: record for key, record in again.items() if record is not None}
        return records

    def lines(self, records: Mapping[str, Any]) -> list[table.Line]:
        """Of the metrics and the groups that the experiment keeps: all that is judged, shown or claimed."""
        return table.lines(self.cells, records, self.experiment.measure, self.experiment.groups)

    def differing(self, records: Mapping[str, Any]) -> list[str]:
        """The keys of the cells that are to be run longer."""
        return table.differing(self.lines(records))

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The finished table, of what is finished."""
        e = self.experiment
        return table.table(self.cells, self.lines(self.final), self.failures, e.printed, e.expected)

    @cached_property
    def table(self) -> Any:
        """The rows as a DataFrame."""
        return table.frame(self.rows, self.experiment.axes)

    @cached_property
    def claims(self) -> tuple[Checked, ...]:
        found, e = self.lines(self.final), self.experiment
        return tuple(checked(claim, found, e.axes, e.zips) for claim in e.claims)

    @property
    def contradictions(self) -> list[str]:
        """Printed values that contradict a prediction that the measurement confirms."""
        return errata.contradictions(self.experiment, self.rows)

    @cached_property
    def errata(self) -> tuple[ShownErratum, ...]:
        """The mistakes of the paper that the table shows, each with its kind."""
        return errata.shown_errata(self.experiment, self.rows, self.claims)

    @cached_property
    def expectations(self) -> tuple[Expectation, ...]:
        """What became of values that no paper prints."""
        return errata.expectations(self.experiment, self.rows)

    @property
    def verdict(self) -> str:
        """`agree`, `differ` or `unresolved` over all rows; a claim that fails differs, unless the paper is wrong."""
        failed = any(claim.fails and claim.erratum is None for claim in self.claims)
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
    def mixed(self) -> str:
        """What is to be known of cells that CPUs of several kinds have computed; mostly empty."""
        sets = self.about.get("instructions") or []
        if len(sets) < 2:
            return ""
        return f"cells were computed with different instructions ({'; '.join(sets)}): last digits may differ"

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


def _failures(folder: Path) -> dict[str, str]:
    try:
        content = unsealed(read_plain(folder / FAILURES))
    except FileNotFoundError:
        return {}
    return {} if content is None else content["failures"]


def _origin(contents: Contents) -> dict[str, Any]:
    of = {name: contents.about.get(name) for name in ("commit", "instructions")}
    return {"note": contents.note, **of, "provenance": contents.provenance}
