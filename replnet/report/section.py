"""What a report is made of: one section per experiment, as plain as the figure and the page need it.

A sweep, or its directory, becomes a section here; and sweeps draw themselves as their sections.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, wraps
from pathlib import Path
from typing import Any, ParamSpec, final

from replnet.measure.row import TIME
from replnet.study.experiment.axes import Axis
from replnet.study.experiment.experiment import Experiment
from replnet.study.experiment.sections import GROUP, SUBJECTS
from replnet.study.sweeps import sweep as sweeps
from replnet.study.sweeps.judged_table import frame
from replnet.study.sweeps.statements import Checked, Expectation, ShownErratum
from replnet.study.sweeps.sweep import Sweep
from replnet.text.errors import InputError

P = ParamSpec("P")

LOGS = frozenset({"x", "y"})
FINEST, BUDGET = 60, 150  # points of a predicted curve, and of all curves of a figure
ORDER = ("differ", "unresolved", "agree")  # of verdicts, the bad ones first


@final
@dataclass(frozen=True, eq=False)
class FigureSpec:
    """One metric over one column of the table; series in colours, panels side by side.

    `curve` holds predicted points on a finer grid: the column x, those of series
    and panel where there are some, and `predicted`.
    """

    x: str
    y: str
    series: str | None = None
    panel: str | None = None
    log: Collection[str] = ()
    curve: Any = None

    def __post_init__(self) -> None:
        if not set(self.log) <= LOGS:
            raise ValueError(f"log: {sorted(self.log)} is not a choice of axes (x, y, or both)")

    @property
    def columns(self) -> list[str]:
        return [name for name in (self.x, self.series, self.panel) if name is not None]


@final
@dataclass(frozen=True, eq=False)
class Section:
    """An experiment and its finished table: axes, group, metric, measured, predicted, printed, verdicts."""

    name: str
    title: str
    table: Any
    axes: tuple[str, ...]
    verdict: str
    claim: str = ""
    paper: str = ""
    figure: FigureSpec | None = None
    claims: tuple[Checked, ...] = ()
    errata: tuple[ShownErratum, ...] = ()
    expectations: tuple[Expectation, ...] = ()
    progress: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("name: a section without a name has no files (a word, such as p2p/fig3)")
        asked = [*self.axes, *(self.figure.columns if self.figure else ())]
        missing = [name for name in asked if len(self.table) and name not in (*self.table.columns, TIME)]
        if missing:
            raise ValueError(f"{self.name}: {missing[0]} is not a column of the table (one of {list(self.table)})")

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of the table, one mapping each, column to value."""
        rows: list[dict[str, Any]] = self.table.to_dict("records")
        return rows

    @property
    def cells(self) -> int:
        """Emulated networks: rows that differ in the axes."""
        if not self.axes or not len(self.table):
            return min(1, len(self.table))
        return len(self.table[list(self.axes)].drop_duplicates())

    def count(self, column: str) -> dict[str, int]:
        """How often each word stands in a column of verdicts, the bad ones first."""
        words = [word for word in self.table[column] if isinstance(word, str) and word] if column in self.table else []
        known = sorted(set(words), key=lambda word: (ORDER.index(word) if word in ORDER else -1, word))
        return {word: words.count(word) for word in known}


def holds(claim: Checked) -> bool:
    """Nothing that could be checked speaks against the claim, and something for it."""
    return not claim.fails and True in (claim.measured, claim.predicted)


def section(sweep: Sweep) -> Section:
    """All that a report says of a sweep."""
    e = sweep.experiment
    told = ("values", "vary", "zip", *SUBJECTS, "set", "measure", "groups")
    run = {name: value for name, value in asdict(e.settings).items() if value is not None}
    counted = {"events emulated": sweep.events, "table": sweep.hash} if sweep.records else {}
    return Section(
        name=e.name,
        title=e.title,
        table=sweep.table,
        axes=tuple(axis.name for axis in e.axes),
        verdict=sweep.verdict,
        claim=e.claim or "",
        paper=e.paper or "",
        figure=_figure(sweep),
        claims=sweep.claims,
        errata=sweep.errata,
        expectations=sweep.expectations,
        progress=sweep.incomplete,
        about={**{name: e.data[name] for name in told if e.data.get(name)}, "run": run, **counted, **sweep.provenance},
    )


def _figure(sweep: Sweep) -> FigureSpec | None:
    """The figure that the experiment asks for, or its first metric over its last axis, or over the groups."""
    e = sweep.experiment
    if e.figure is not None:
        asked = FigureSpec(e.figure.x, e.figure.y, e.figure.series, e.figure.panel, e.figure.log)
    else:
        wide = [axis.name for axis in e.axes if len(axis.values) > 1]
        metrics = [row["metric"] for row in sweep.rows if row["metric"]]
        many = len({row["group"] for row in sweep.rows}) > 1
        if not metrics or not (wide or many):
            return None
        asked = FigureSpec(wide[-1] if wide else GROUP, e.measure[0] if e.measure else metrics[0])
    return replace(asked, curve=_curve(e, asked))


def _curve(experiment: Experiment, figure: FigureSpec) -> Any:
    """Predicted points between the cells, where x is a number that stands for itself; None where there are none."""
    axis = next((axis for axis in experiment.axes if axis.name == figure.x), None)
    if axis is None or figure.x == GROUP or any(figure.x in names for names in experiment.zips):
        return None
    points = _between(axis, BUDGET * len(axis.values) // max(len(experiment.cells()), 1), "x" in figure.log)
    if len(points) <= len(axis.values):
        return None
    kept = ("name", "title", "values", "vary", "zip", *SUBJECTS, "set", "run")
    data = {name: experiment.data[name] for name in kept if name in experiment.data}
    data["vary"] = {**data["vary"], axis.name: points}
    try:
        finer = Experiment.from_data(data)
        rows = [
            {**cell.values, **row.record()}
            for cell in finer.cells()
            for row in cell.subject.predict(cell.settings)
            if row.metric == figure.y and (not experiment.groups or row.group in experiment.groups)
        ]
    except InputError:  # a network between two that are possible need not be
        return None
    return frame(rows, finer.axes) if rows else None


def _between(axis: Axis, most: int, logarithmic: bool) -> list[int | float]:
    """The values of an axis and others between them, whole where they are whole."""
    values = sorted(value for value in axis.values if isinstance(value, int | float) and not isinstance(value, bool))
    if len(values) != len(axis.values) or axis.values != axis.meanings or len(values) < 2:
        return []
    count, low, high = min(most, FINEST), values[0], values[-1]
    steps = [i / (count - 1) for i in range(count)] if count > 1 else []
    if logarithmic and low > 0:
        found = [low * (high / low) ** step for step in steps]
    else:
        found = [low + (high - low) * step for step in steps]
    whole = all(isinstance(value, int) for value in values)
    return sorted({*values, *(round(x) if whole else float(f"{x:.6g}") for x in found)})


# Sweeps that draw themselves


@final
class Drawn:
    """How a sweep shows itself."""

    def plot(self, sweep: Sweep) -> Any:
        from replnet.report.figure import plot

        return plot(section(sweep))

    def html(self, sweep: Sweep) -> str:
        from replnet.report.page import notebook

        return notebook(section(sweep))


def _drawn(run: Callable[P, Sweep]) -> Callable[P, Sweep]:
    """The same, whose sweep draws itself."""

    @wraps(run)
    def with_view(*given: P.args, **options: P.kwargs) -> Sweep:
        return replace(run(*given, **options), view=Drawn())

    return with_view


sweep = _drawn(sweeps.sweep)


def open(folder: str | Path) -> Sweep:
    """The sweep of a run directory, finished or not.

    >>> _ = rn.sweep("p2p/fig3", "runs/fig3", quick=True, workers=0)
    >>> rn.open("runs/fig3").experiment.title
    'Freshness of a single replica by the rate of its downloads'
    """
    return replace(Sweep.read(folder), view=Drawn())
