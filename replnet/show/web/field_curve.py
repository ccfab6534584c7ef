"""The chart of a metric over one field of a network: its predicted curves, and on them the point that the network is.

A second variant of the network, if there is one, is drawn dashed in the same colours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from replnet.show import EITHER_QUIET, EITHER_SERIES
from replnet.show.web.controls import Control
from replnet.show.web.series import (
    AXIS_TOOLTIP,
    MARK_SIZES,
    SHAPES,
    Options,
    Row,
    chart_with_axes,
    measured_marks,
    number_or_none,
)

MOST_CURVES = len(EITHER_SERIES)
MOST_POINTS = 33  # of a curve
Points = Sequence[tuple[float, Mapping[str, float | None]]]
"""The points of all curves, in order: (value of the field, {group: value of the metric})."""


class Variant(NamedTuple):
    """A network as a chart shows it: its rows, the points of its curves, and the value `x` of the field.

    `x` is None if the field has no value that is a number.
    """

    rows: Sequence[Row]
    points: Points
    x: float | None


def field_chart(field: Control, metric: str, now: Variant, reference: Variant | None = None) -> Options:
    """Return the ECharts options of a chart of a metric over a field, group by group, for at most MOST_CURVES groups.

    There are the predicted curves of the network as it is `now`, its predicted and measured values at its own value of
    the field, and the same, without measured values, of the variant that was `reference`.
    """
    groups = _groups(metric, now)
    series: list[Options] = []
    for place, group in enumerate(groups[:MOST_CURVES]):
        colour = EITHER_SERIES[place]
        shape = SHAPES[place % len(SHAPES)]
        marks = {"symbol": shape, "showAllSymbol": True, ":symbolSize": MARK_SIZES[place]}
        series.append(_curve(group, group, colour, now.points, "solid") | marks)
        if reference is not None:
            series.append(_curve(f"{group}, kept", group, colour, reference.points, "dashed"))
            series.append(_mark(f"{group}, kept", colour, reference, metric, group))
        series.append(_mark(group, colour, now, metric, group))
        measured = [row for row in now.rows if (row["group"], row["metric"]) == (group, metric)]
        if now.x is not None and measured and measured[0].get("measured") is not None:
            series += measured_marks(group, colour, [(now.x, measured[0])], shape)
    if now.x is not None and series:
        line = {"color": EITHER_QUIET, "type": "solid", "width": 1}
        series[0]["markLine"] = {
            "silent": True, "symbol": "none", "label": {"show": False}, "lineStyle": line, "data": [{"xAxis": now.x}],
        }  # fmt: skip
    x: Options = {"type": "log" if field.logarithmic else "value", "name": field.label}
    if ends := [value for variant in (now, reference) if variant for value, _ in variant.points]:
        x |= {"min": min(ends), "max": max(ends)}
    options = chart_with_axes(x, {"type": "value", "name": metric.replace("_", " "), "scale": True}, series)
    options["tooltip"] = AXIS_TOOLTIP
    return options | {"grid": options["grid"] | {"left": 60, "right": 24}}


def left_out(metric: str, now: Variant) -> str:
    """Return a sentence about the groups that are not in the chart of a metric; empty if all are."""
    count = len(_groups(metric, now))
    return f"The first {MOST_CURVES} of {count:,} groups are drawn." if count > MOST_CURVES else ""


def _groups(metric: str, variant: Variant) -> list[str]:
    """Return the names of the groups that have the metric, in the order of the rows."""
    return [row["group"] for row in variant.rows if row["metric"] == metric]


def _curve(name: str, group: str, colour: str, points: Points, style: str) -> Options:
    """Return an ECharts series called `name` with the predicted curve of a group; `style` is solid or dashed."""
    curve: Options = {"name": name, "type": "line", "symbol": "none", "itemStyle": {"color": colour}}
    curve["lineStyle"] = {"color": colour, "width": 2, "type": style}
    return curve | {"data": [[x, number_or_none(values.get(group))] for x, values in points]}


def _mark(name: str, colour: str, variant: Variant, metric: str, group: str) -> Options:
    """Return an ECharts series called `name` with a group's predicted `metric` at the variant's value of the field.

    It has no point if the variant has no such value, or no prediction.
    """
    key = group, metric
    values = [number_or_none(row["predicted"]) for row in variant.rows if (row["group"], row["metric"]) == key]
    style = {"color": "transparent", "borderColor": colour, "borderWidth": 2}
    mark: Options = {"name": name, "type": "scatter", "symbol": "diamond", "symbolSize": 14, "itemStyle": style}
    places: list[Any] = [[variant.x, value] for value in values[:1] if variant.x is not None and value is not None]
    return mark | {"data": places}
