"""From rows to charts: plain data as ECharts takes it.

A prediction is a line or a hollow diamond, a measured value a filled dot with its interval, so that the two are told
apart without colours. Every colour is readable on a light page and on a dark one; letters take theirs from the style
sheet, as charts are SVG.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from replnet.show import EITHER_BAND, EITHER_GRID, EITHER_QUIET, EITHER_SERIES
from replnet.show.report import PARTS, Arrangement, Series
from replnet.show.web.outage_bands import Band

Row = Mapping[str, Any]
Options = dict[str, Any]

LIGHTEST_BAND, DARKEST_BAND = 0.06, 0.3  # the opacity of a band at share 0, and at share 1
MOST_GROUPS_ON_AXIS = 60
TIME_AXIS: Mapping[str, Any] = {
    "type": "value", "name": "time", "min": 0, "max": "dataMax", "axisLabel": {"showMaxLabel": False},
}  # fmt: skip
# Drawn as a part of the chart: otherwise it would be HTML, with names of the user in it. Its letters are dark on white,
# and the style sheet, which gives all others the colour of the page, knows them by theirs.
TOOLTIP: Mapping[str, Any] = {
    "trigger": "item", "confine": True, "renderMode": "richText", "backgroundColor": "#fff",
    "textStyle": {"color": "#1d2732"},
}  # fmt: skip
# Of all curves at the place of the mouse.
AXIS_TOOLTIP: Mapping[str, Any] = {
    **TOOLTIP, "trigger": "axis",
    ":valueFormatter": "value => value == null || Array.isArray(value) ? '-' : String(Number(value.toPrecision(4)))",
}  # fmt: skip
SHAPES, MARK_STRIDE = ("circle", "rect", "triangle", "diamond", "roundRect", "pin", "arrow", "circle"), 25  # of curves
# The size of the symbol at each point of a curve: one in MARK_STRIDE has one, others in each curve.
MARK_SIZES = tuple(f"(value, about) => about.dataIndex % {MARK_STRIDE} == {at} ? 9 : 0" for at in range(MARK_STRIDE))
# A stroke from the low to the high end of an interval, with two caps.
WHISKER = """(params, api) => {
  const low = api.coord([api.value(0), api.value(1)]), high = api.coord([api.value(0), api.value(2)]);
  const line = (a, b) => ({type: 'line', shape: {x1: a[0], y1: a[1], x2: b[0], y2: b[1]},
    style: {stroke: api.visual('color'), lineWidth: 1.5}});
  return {type: 'group', children: [line(low, high),
    ...[low, high].map(at => line([at[0] - 4, at[1]], [at[0] + 4, at[1]]))]};
}"""


def number_or_none(value: Any) -> float | None:
    """Return a value as a finite float, which JSON can hold; None if it is no number or not finite."""
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def chart_with_axes(x: Row, y: Row, series: list[Options]) -> Options:
    """Return the ECharts options of a chart of these series, without animation.

    `x` and `y` are options of the axes, which replace the usual ones.
    """
    axis: Options = {
        "axisLine": {"lineStyle": {"color": EITHER_QUIET}},
        "splitLine": {"lineStyle": {"color": EITHER_GRID}},
    }
    name = {"nameLocation": "middle", "nameGap": 30}
    return {
        "animation": False,
        "aria": {"enabled": True},
        "grid": {"left": 52, "right": 18, "top": 40, "bottom": 48},
        "legend": {"type": "scroll", "top": 0, "left": 0},
        "tooltip": TOOLTIP,
        "xAxis": {**axis, **name, **x},
        "yAxis": {**axis, **name, "nameGap": 38, **y},
        "series": series,
    }


def _colour(place: int) -> str:
    """Return the colour, as #rrggbb, of the series at `place` in a chart, counted from 0; they come again after the
    last.
    """
    return EITHER_SERIES[place % len(EITHER_SERIES)]


def by_group(rows: Sequence[Row], metric: str = "freshness") -> Options:
    """Return the ECharts options of a chart of a metric, group by group: predicted, and measured with its interval.

    `rows` are rows of a table as dictionaries; those of other metrics are left out.
    """
    metric_rows = [row for row in rows if row["metric"] == metric][:MOST_GROUPS_ON_AXIS]
    hollow = {"color": "transparent", "borderColor": EITHER_SERIES[0], "borderWidth": 2}
    predicted: Options = {"name": "predicted", "type": "line", "symbol": "diamond", "symbolSize": 13}
    predicted |= {"itemStyle": hollow, "lineStyle": {"color": EITHER_SERIES[0], "width": 1.5, "type": "dashed"}}
    predicted["data"] = [number_or_none(row["predicted"]) for row in metric_rows]
    measured = [(place, row) for place, row in enumerate(metric_rows) if row["measured"] is not None]
    groups = [row["group"] for row in metric_rows]
    series = [predicted, *measured_marks("measured", EITHER_SERIES[1], measured)]
    return chart_with_axes(
        {"type": "category", "data": groups},
        {"type": "value", "name": metric.replace("_", " "), "scale": True},
        series,
    )


def by_axis(plan: Arrangement) -> list[tuple[str, Options]]:
    """Return the title and the ECharts options of a chart for each panel of a report's figure.

    A chart has predicted curves, and measured and printed values.
    """
    return [(title, _panel(plan, panel)) for title, panel in plan.panels]


def _panel(plan: Arrangement, panel: Mapping[str, Series]) -> Options:
    """Return the ECharts options of one panel of the figure `plan`; `panel` has the columns of each series by its
    label.
    """
    series: list[Options] = []
    names = ("x", *PARTS)
    for label, columns in panel.items():
        place, name = plan.labels.index(label), label or plan.y
        colour, symbol = _colour(place), SHAPES[place % len(SHAPES)]
        curve = list(
            zip(
                map(number_or_none, columns["curve_x"].tolist()),
                map(number_or_none, columns["curve_y"].tolist()),
                strict=True,
            )
        )
        predicted: Options = {"name": name, "type": "line", "symbol": "none", "data": curve}
        if plan.names:  # nothing lies between two names
            predicted |= {"type": "scatter", "symbol": "diamond"}
        style = {"color": colour}
        series.append(predicted | {"itemStyle": style, "lineStyle": {**style, "width": 1.5}})
        records = zip(*(columns[part].tolist() for part in names), strict=True)
        rows = [dict(zip(names, values, strict=True)) for values in records]
        series += measured_marks(
            name, colour, [(row["x"], row) for row in rows if number_or_none(row["measured"]) is not None], symbol
        )
        printed = [[row["x"], row["printed"]] for row in rows if number_or_none(row["printed"]) is not None]
        edge = {"color": "transparent", "borderColor": colour, "borderWidth": 1.5}
        large: Options = {"name": name, "type": "scatter", "symbol": "rect", "symbolSize": 15, "itemStyle": edge}
        series.append(large | {"data": printed})
    x: Options = {"type": "log" if "x" in plan.log else "value", "name": plan.x, "scale": True}
    if plan.names:
        x = {"type": "category", "name": plan.x, "data": list(plan.names)}
    return chart_with_axes(x, {"type": "log" if "y" in plan.log else "value", "name": plan.y, "scale": True}, series)


def measured_marks(
    name: str, colour: str, places: Sequence[tuple[float, Row]], symbol: str = "circle"
) -> list[Options]:
    """Return two series: dots for measured values, and strokes for their intervals.

    `name` is that of both in the legend, `places` are (x, row of a table) of each value, and `symbol` is the shape of a
    dot.
    """
    ends = [(x, number_or_none(row["ci_low"]), number_or_none(row["ci_high"])) for x, row in places]
    return [
        {"name": name, "type": "scatter", "symbol": symbol, "symbolSize": 8, "itemStyle": {"color": colour},
         "data": [[x, number_or_none(row["measured"])] for x, row in places]},
        {"name": name, "type": "custom", "silent": True, "tooltip": {"show": False}, ":renderItem": WHISKER,
         "itemStyle": {"color": colour},
         "encode": {"x": 0, "y": [1, 2]}, "data": [list(triple) for triple in ends if None not in triple]},
    ]  # fmt: skip


def over_time(
    middles: Sequence[float],
    levels: Mapping[str, Sequence[float]],
    predicted: Mapping[str, float],
    time: float | None,
    bands: Sequence[Band] = (),
    half_widths: Mapping[str, Sequence[float]] | None = None,
) -> Options:
    """Return the ECharts options of a chart of the freshness of each group over time, with bands and a line at `time`.

    `levels` has the freshness of each group at each of the times `middles`; `predicted` has a value for each group that
    gets a dashed line. If `time` is None there is no such line, and the axis of freshness fits the curves. Groups in
    `half_widths` get a band of so much to either side of their curve.
    """
    series: list[Options] = []
    for place, (name, shares) in enumerate(levels.items()):
        line: Options = {
            "name": name,
            "type": "line",
            "itemStyle": {"color": EITHER_SERIES[place % len(EITHER_SERIES)]},
        }
        data = list(zip(middles, map(number_or_none, shares), strict=True))
        marked = {
            "symbol": SHAPES[place % len(SHAPES)],
            "showAllSymbol": True,
            ":symbolSize": MARK_SIZES[place % MARK_STRIDE],
        }
        series.append({**line, **marked, "connectNulls": True, "lineStyle": {"width": 1.5}, "data": data})
        series += _interval_band(line, middles, shares, (half_widths or {}).get(name, ()))
        if name in predicted:
            ends = [[x, predicted[name]] for x in (0, middles[-1])]
            label = {"show": True, "formatter": "{a}", "textBorderColor": "transparent"}
            thin = {
                "symbol": "none",
                "silent": True,
                "tooltip": {"show": False},
                "lineStyle": {"type": "dashed", "width": 1},
                "endLabel": label,
            }
            thin["labelLayout"] = {"moveOverlap": "shiftY"}
            series.append({**line, **thin, "data": ends})
    now = {
        "id": "now",
        "type": "line",
        "tooltip": {"show": False},
        "symbol": "none",
        "silent": True,
        "lineStyle": {"color": EITHER_QUIET, "width": 2},
    }
    series += [bands_series(bands), *([{**now, "data": time_line(time)}] if time is not None else [])]
    reach = {"min": 0, "max": 1} if time is not None else {"scale": True}
    options = chart_with_axes(TIME_AXIS, {"type": "value", "name": "freshness", **reach}, series)
    return options | {"grid": options["grid"] | {"right": 64}, "tooltip": AXIS_TOOLTIP}


def _interval_band(
    line: Row, times: Sequence[float], values: Sequence[float], widths: Sequence[float]
) -> list[Options]:
    """Return two series that fill the band of `widths` to either side of a curve: its lower edge, and its height.

    `line` has the name and the colour of the curve, and `values` its values at each of `times`. There are none without
    widths.
    """
    if not widths:
        return []
    quiet: Options = {**line, "symbol": "none", "silent": True, "tooltip": {"show": False}, "lineStyle": {"opacity": 0}}
    quiet |= {"stack": f"interval of {line['name']}", "stackStrategy": "all"}
    pairs = list(zip(times, values, widths, strict=True))
    low = [[at, number_or_none(value - width)] for at, value, width in pairs]
    height = [[at, number_or_none(2 * width)] for at, _, width in pairs]
    return [{**quiet, "data": low}, {**quiet, "data": height, "areaStyle": {"opacity": 0.25}}]


def bands_series(bands: Iterable[Band]) -> Options:
    """Return the options of a series without points that shows bands in the background: the darker, the larger their
    share.
    """
    areas = []
    for band in bands:
        colour = {"color": EITHER_BAND, "opacity": LIGHTEST_BAND + (DARKEST_BAND - LIGHTEST_BAND) * band.share}
        areas.append([{"xAxis": band.begin, "itemStyle": colour}, {"xAxis": band.end}])
    return {
        "id": "bands",
        "type": "line",
        "silent": True,
        "tooltip": {"show": False},
        "data": [],
        "markArea": {"data": areas},
    }


def time_line(time: float) -> list[list[float]]:
    """Return the two points [x, y] of an upright line that marks a time in a chart of freshness: [time, 0] and [time,
    1].
    """
    return [[time, 0.0], [time, 1.0]]


def pace(times: Sequence[float], rates: Sequence[float], slips: Sequence[float]) -> Options:
    """Return the ECharts options of a chart of messages per unit of time and of the mean lateness of wakes.

    `rates` and `slips` (in units of time) are their values at each of `times`; each curve has an axis of its own.
    """
    curves = (("messages per unit of time", rates), ("mean lateness of wakes", slips))
    options = count_curves(times, dict(curves), [])
    options["series"][-1]["yAxisIndex"] = 1
    right = options["yAxis"] | {"splitLine": {"show": False}}
    return options | {"yAxis": [options["yAxis"], right], "grid": options["grid"] | {"right": 64}}


def queues(times: Sequence[float], lines: Mapping[str, tuple[Sequence[float], Sequence[float]]]) -> Options:
    """Return the ECharts options of a chart of messages in line at a node: for each group the mean, and dashed the
    longest line.

    `lines` has both by group, at each of `times`. Only as many groups are drawn as there are colours.
    """
    curves: dict[str, Sequence[float]] = {}
    for group, (mean, most) in list(lines.items())[: len(EITHER_SERIES)]:
        curves |= {f"{group}, mean": mean, f"{group}, longest": most}
    return count_curves(times, curves, [])


def count_curves(times: Sequence[float], curves: Mapping[str, Sequence[float]], bands: Iterable[Band]) -> Options:
    """Return the ECharts options of a chart of numbers over time, with a curve for each name and bands behind them.

    `curves` has the values at each of `times`, by name; every second curve is dashed.
    """
    series = [bands_series(bands)]
    for place, (name, values) in enumerate(curves.items()):
        line: Options = {
            "name": name,
            "type": "line",
            "itemStyle": {"color": EITHER_SERIES[place % len(EITHER_SERIES)]},
        }
        style = {"symbol": "none", "lineStyle": {"width": 1.5, "type": ("solid", "dashed")[place % 2]}}
        series.append({**line, **style, "data": list(zip(times, map(number_or_none, values), strict=True))})
    options = chart_with_axes(TIME_AXIS, {"type": "value", "min": 0, "splitNumber": 4}, series)
    return options | {"grid": options["grid"] | {"left": 64}, "tooltip": AXIS_TOOLTIP}
