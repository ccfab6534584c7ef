"""What a report is made of: sections, as plain as the figure and the page need them; of a sweep, or of one result."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, final

from replnet.measure.row import AT, TIME
from replnet.study.experiment.axes import Axis
from replnet.study.experiment.experiment import Experiment
from replnet.study.experiment.sections import GROUP, SUBJECTS
from replnet.study.result import Result
from replnet.study.sweeps.finished import Sweep
from replnet.study.sweeps.judged_table import frame
from replnet.study.sweeps.statements import Checked, Expectation, ShownErratum
from replnet.text.errors import InputError

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


def section_of(of: Sweep | Result, metric: str | None = None) -> Section:
    """All that a report says of a sweep, or of a network that was predicted or emulated; with a figure of this metric
    if it is named."""
    made = _of_sweep(of) if isinstance(of, Sweep) else _of_result(of)
    known = dict.fromkeys(name for row in made.rows for name in (row["metric"], row["metric"].partition(AT)[0]))
    if metric is None:
        return made
    if metric not in known:
        raise ValueError(f"metric: {metric!r} has no row ({', '.join(filter(None, known))})")
    x = made.figure.x if made.figure and made.figure.x != TIME else GROUP
    timed = not any(row["metric"] == metric for row in made.rows)
    return replace(made, figure=FigureSpec(TIME if timed else x, metric))


def _of_result(result: Result) -> Section:
    figure = _usual_figure([row.metric for row in result.rows], [], many=True)
    return Section(result.title, result.title, result.table, (), result.verdict, figure=figure)


def _of_sweep(sweep: Sweep) -> Section:
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
        metrics = [*e.measure, *(row["metric"] for row in sweep.rows if row["metric"])]
        usual = _usual_figure(metrics, wide, len({row["group"] for row in sweep.rows}) > 1)
        if usual is None:
            return None
        asked = usual
    return replace(asked, curve=_curve(e, asked))


def _usual_figure(metrics: Sequence[str], wide: Sequence[str], many: bool) -> FigureSpec | None:
    """The first metric over the last axis; else one over time, if any is looked at at times; else over many groups."""
    if metrics and wide:
        return FigureSpec(wide[-1], metrics[0])
    if timed := next((metric for metric in metrics if AT in metric), None):
        return FigureSpec(TIME, timed.partition(AT)[0])
    return FigureSpec(GROUP, metrics[0]) if metrics and many else None


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
