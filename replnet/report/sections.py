"""From a sweep, or its directory, to a section of the report; and sweeps that draw themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, final

from replnet.report.figure import plot
from replnet.report.page import notebook
from replnet.report.section import ClaimResult, FigureSpec, Section
from replnet.study.experiment.axes import Axis
from replnet.study.experiment.experiment import Experiment
from replnet.study.experiment.sections import GROUP, SUBJECTS
from replnet.study.sweeps import sweep as sweeps
from replnet.study.sweeps.sweep import Sweep
from replnet.study.sweeps.table import frame
from replnet.text.errors import InputError

P = ParamSpec("P")

FINEST, BUDGET = 60, 150  # points of a predicted curve, and of all curves of a figure


def _drawn(run: Callable[P, Sweep]) -> Callable[P, Sweep]:
    """The same, whose sweep draws itself."""

    @wraps(run)
    def with_view(*given: P.args, **options: P.kwargs) -> Sweep:
        return replace(run(*given, **options), view=Drawn())

    return with_view


sweep = _drawn(sweeps.sweep)


def opened(folder: str | Path) -> Sweep:
    """The sweep of a run directory, finished or not."""
    return replace(Sweep.read(folder), view=Drawn())


@final
class Drawn:
    """How a sweep shows itself."""

    def plot(self, sweep: Sweep) -> Any:
        return plot(section(sweep))

    def html(self, sweep: Sweep) -> str:
        return notebook(section(sweep))


def section(sweep: Sweep) -> Section:
    """All that a report says of a sweep."""
    e = sweep.experiment
    return Section(
        name=e.name,
        title=e.title,
        table=sweep.table,
        axes=tuple(axis.name for axis in e.axes),
        verdict=sweep.verdict,
        claim=e.claim or "",
        paper=e.paper or "",
        figure=_figure(sweep),
        claims=tuple(
            ClaimResult(one.text, one.measured, one.predicted, one.detail, one.erratum or "") for one in sweep.claims
        ),
        errata=sweep.errata,
        expectations=sweep.expectations,
        progress=sweep.incomplete,
        about=_about(sweep),
    )


def _about(sweep: Sweep) -> dict[str, Any]:
    e = sweep.experiment
    said = ("values", "vary", "zip", *SUBJECTS, "set", "measure", "groups")
    parts = {name: e.data[name] for name in said if e.data.get(name)}
    run = {name: value for name, value in asdict(e.settings).items() if value is not None}
    counted = {"events emulated": sweep.events, "table": sweep.hash} if sweep.records else {}
    return {**parts, "run": run, **counted, **sweep.provenance}


def _figure(sweep: Sweep) -> FigureSpec | None:
    figure, axes = sweep.experiment.figure, sweep.experiment.axes
    if figure is not None:
        asked = FigureSpec(figure.x, figure.y, figure.series, figure.panel, figure.log)
    else:
        wide = [axis.name for axis in axes if len(axis.values) > 1]
        metrics = [row["metric"] for row in sweep.rows if row["metric"]]
        if not wide or not metrics:
            return None
        asked = FigureSpec(wide[-1], sweep.experiment.measure[0] if sweep.experiment.measure else metrics[0])
    return replace(asked, curve=_curve(sweep.experiment, asked))


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
    count = min(most, FINEST)
    low, high = values[0], values[-1]
    steps: Sequence[float] = [i / (count - 1) for i in range(count)] if count > 1 else []
    if logarithmic and low > 0:
        found = [low * (high / low) ** step for step in steps]
    else:
        found = [low + (high - low) * step for step in steps]
    whole = all(isinstance(value, int) for value in values)
    inner = [round(x) if whole else float(f"{x:.6g}") for x in found]
    return sorted({*values, *inner})
