"""Sections, of which a report is made, as plain as the figure and the page need them; of a sweep, or of one result."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, final

from replnet.lab.experiment import GROUP, SUBJECTS, Axis, Experiment
from replnet.lab.sweeps import CheckedClaim, Expectation, ShownErratum, Sweep, table_of_rows
from replnet.measure import AT, TIME
from replnet.run import Result
from replnet.text import DocumentError, FieldError, short_repr

LOGARITHMIC_AXES = frozenset({"x", "y"})
MOST_CURVE_POINTS, MOST_POINTS_PREDICTED = 60, 150  # of one predicted curve, and of all curves of a figure
VERDICT_ORDER = ("differ", "unresolved", "agree")  # the bad ones first


@final
@dataclass(frozen=True, eq=False)
class FigureSpec:
    """A specification of a figure: the metric `y` over the column `x` of a table, or over time or groups.

    The values of the column `series` are drawn in colours of their own, and those of `panel` in panels side by side;
    None if no column is. Axes in `log`, of x and y, are logarithmic. `curve` is a DataFrame of predicted points on a
    finer grid, or None: the column x, those of series and panel where there are some, and `predicted`.
    """

    x: str
    y: str
    series: str | None = None
    panel: str | None = None
    log: Collection[str] = ()
    curve: Any = None

    def __post_init__(self) -> None:
        if not set(self.log) <= LOGARITHMIC_AXES:
            raise FieldError("log", f"{sorted(self.log)} is not a choice of axes", "x, y, or both")

    @property
    def columns(self) -> list[str]:
        """The names of the columns of the table that x, series and panel of the figure stand for, without None."""
        return [column for column in (self.x, self.series, self.panel) if column is not None]


@final
@dataclass(frozen=True, eq=False)
class Section:
    """A section of a report: an experiment, or one network, with its finished rows and what is written about them.

    `table` is a DataFrame with a column for each of `axes`, and with group, metric, measured, predicted, printed and
    verdicts. `verdict` is the worst of all, `claim` what the experiment should show, and `paper` where it comes from.
    `claims` are checked, `errata` mistakes of the paper that show, and `expectations` reasons for values beyond it.
    `progress` says what is missing, empty if nothing is; `about` says by name what was run, and where.
    """

    name: str
    title: str
    table: Any
    axes: tuple[str, ...]
    verdict: str
    claim: str = ""
    paper: str = ""
    figure: FigureSpec | None = None
    claims: tuple[CheckedClaim, ...] = ()
    errata: tuple[ShownErratum, ...] = ()
    expectations: tuple[Expectation, ...] = ()
    progress: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.name:
            raise FieldError("name", "a section without a name has no files", "a word, such as p2p/fig3")
        needed = [*self.axes, *(self.figure.columns if self.figure else ())]
        missing = [name for name in needed if len(self.table) and name not in (*self.table.columns, TIME)]
        if missing:
            wrong = f"{missing[0]} is not a column of the table"
            raise FieldError(self.name, wrong, f"one of {list(self.table)}")

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of the table, one mapping each, column to value."""
        rows: list[dict[str, Any]] = self.table.to_dict("records")
        return rows

    @property
    def cells(self) -> int:
        """The number of emulated networks: of combinations of values of the axes in the table; 1 without axes."""
        if not self.axes or not len(self.table):
            return min(1, len(self.table))
        return len(self.table[list(self.axes)].drop_duplicates())

    def count(self, column: str) -> dict[str, int]:
        """Return how often each verdict stands in a column, the bad ones first; empty if there is no such column."""
        verdicts = (
            [word for word in self.table[column] if isinstance(word, str) and word] if column in self.table else []
        )
        distinct = sorted(
            set(verdicts),
            key=lambda word: (VERDICT_ORDER.index(word) if word in VERDICT_ORDER else -1, word),
        )
        return {word: verdicts.count(word) for word in distinct}


def holds(claim: CheckedClaim) -> bool:
    """Whether the measurement or the prediction speaks for the claim, and neither against it."""
    return claim.holds


def section_of(of: Sweep | Result, metric: str | None = None) -> Section:
    """Return the section of a report about `of`: a sweep, or a network that was predicted or emulated.

    Its figure is of `metric`; if that is None, of what the experiment draws, or of the first metric. Raise FieldError
    if no row has the metric.
    """
    if not isinstance(of, Sweep | Result):
        raise FieldError("of", f"{short_repr(of)} is no result", "what sweep, emulate or predict return")
    section = _section_of_sweep(of) if isinstance(of, Sweep) else _section_of_result(of)
    metrics = dict.fromkeys(name for row in section.rows for name in (row["metric"], row["metric"].partition(AT)[0]))
    if metric is None:
        return section
    if metric not in metrics:
        raise FieldError("metric", f"{metric!r} has no row", ", ".join(filter(None, metrics)))
    x = section.figure.x if section.figure and section.figure.x != TIME else GROUP
    over_time = not any(row["metric"] == metric for row in section.rows)
    return replace(section, figure=FigureSpec(TIME if over_time else x, metric))


def _section_of_result(result: Result) -> Section:
    """Return the section about one network that was predicted or emulated; it has no axes, claims or errata."""
    figure = _usual_figure([row.metric for row in result.rows], [], many=True)
    return Section(result.title, result.title, result.table, (), result.verdict, figure=figure)


def _section_of_sweep(sweep: Sweep) -> Section:
    """Return the section about a sweep, finished or not, with the figure, claims and errata of its experiment."""
    experiment = sweep.experiment
    shown_fields = ("values", "vary", "zip", *SUBJECTS, "set", "measure", "groups")
    run = {name: value for name, value in experiment.settings.of_cell().items() if value is not None}
    counted = {"events emulated": sweep.events, "table": sweep.hash} if sweep.records else {}
    return Section(
        name=experiment.name,
        title=experiment.title,
        table=sweep.table,
        axes=tuple(axis.name for axis in experiment.axes),
        verdict=sweep.verdict,
        claim=experiment.claim or "",
        paper=experiment.paper or "",
        figure=_figure(sweep),
        claims=sweep.claims,
        errata=sweep.errata,
        expectations=sweep.expectations,
        progress=sweep.incomplete,
        about={
            **{name: experiment.data[name] for name in shown_fields if experiment.data.get(name)},
            "run": run,
            **counted,
            **sweep.provenance,
        },
    )


def _figure(sweep: Sweep) -> FigureSpec | None:
    """Return the figure that the experiment asks for, else its first metric over its last axis with several values.

    Without such an axis, it is over time or over the groups, and None if there are no instants and only one group. The
    figure has the curve of predictions if one can be computed.
    """
    experiment = sweep.experiment
    if experiment.figure is not None:
        figure = FigureSpec(
            experiment.figure.x,
            experiment.figure.y,
            experiment.figure.series,
            experiment.figure.panel,
            experiment.figure.log,
        )
    else:
        wide = [axis.name for axis in experiment.axes if len(axis.values) > 1]
        metrics = [*experiment.measure, *(row["metric"] for row in sweep.rows if row["metric"])]
        usual = _usual_figure(metrics, wide, len({row["group"] for row in sweep.rows}) > 1)
        if usual is None:
            return None
        figure = usual
    return replace(figure, curve=_predicted_curve(experiment, figure))


def _usual_figure(metrics: Sequence[str], wide: Sequence[str], many: bool) -> FigureSpec | None:
    """Return a figure of the first metric over the last of the axes in `wide`, which have several values.

    Without such axes, of a metric at instants over time, if there is one; else over the groups, if there are `many`;
    else None.
    """
    if metrics and wide:
        return FigureSpec(wide[-1], metrics[0])
    if timed := next((metric for metric in metrics if AT in metric), None):
        return FigureSpec(TIME, timed.partition(AT)[0])
    return FigureSpec(GROUP, metrics[0]) if metrics and many else None


def _predicted_curve(experiment: Experiment, figure: FigureSpec) -> Any:
    """Return a DataFrame of predictions at values of the figure's x between those of the cells, for its curve.

    None if x is not an axis of numbers that varies alone, if its values stand for something else or are as many as a
    curve has points, or if a network between two possible ones is impossible.
    """
    axis = next((axis for axis in experiment.axes if axis.name == figure.x), None)
    if axis is None or figure.x == GROUP or any(figure.x in names for names in experiment.zips):
        return None
    points = _finer_values(
        axis, MOST_POINTS_PREDICTED * len(axis.values) // max(len(experiment.cells()), 1), "x" in figure.log
    )
    if len(points) <= len(axis.values):
        return None
    fields = ("name", "title", "values", "vary", "zip", *SUBJECTS, "set", "run")
    data = {name: experiment.data[name] for name in fields if name in experiment.data}
    data["vary"] = {**data["vary"], axis.name: points}
    try:
        finer = Experiment.from_data(data)
        rows = [
            {**cell.values, **row.record()}
            for cell in finer.cells()
            for row in cell.subject.predict(cell.settings)
            if row.metric == figure.y and (not experiment.groups or row.group in experiment.groups)
        ]
    except DocumentError:  # a network between two that are possible need not be
        return None
    return table_of_rows(rows, finer.axes) if rows else None


def _finer_values(axis: Axis, most: int, logarithmic: bool) -> list[int | float]:
    """Return the values of an axis, and values between them for a smooth curve, in order and each once.

    At most `most` are added, spread evenly over the range, by their logarithm if `logarithmic`; all are whole if those
    of the axis are. The list is empty if these are fewer than two, not all numbers, or stand for something else.
    """
    values = sorted(value for value in axis.values if isinstance(value, int | float) and not isinstance(value, bool))
    if len(values) != len(axis.values) or axis.values != axis.meanings or len(values) < 2:
        return []
    count, low, high = min(most, MOST_CURVE_POINTS), values[0], values[-1]
    steps = [i / (count - 1) for i in range(count)] if count > 1 else []
    if logarithmic and low > 0:
        between = [low * (high / low) ** step for step in steps]
    else:
        between = [low + (high - low) * step for step in steps]
    whole = all(isinstance(value, int) for value in values)
    return sorted({*values, *(round(x) if whole else float(f"{x:.6g}") for x in between)})
