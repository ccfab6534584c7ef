"""From rows to charts: plain data as ECharts takes it.

What is predicted is a line or a hollow diamond, what is measured a filled dot with its interval, so that the two
are told apart without colours. Every colour is readable on a light page and on a dark one; letters take theirs from
the style sheet, as charts are SVG.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from replnet.report.arrange import PARTS, Arrangement, Series
from replnet.report.html_table import VERDICTS
from replnet.text.numbers import number
from replnet.web.outage_bands import Band

Row = Mapping[str, Any]
Options = dict[str, Any]

COLOURS = ("#2a8fd0", "#dd6b1c", "#0f9d77", "#b9649f", "#b98208", "#7c8791", "#4f6bd8", "#8a8a1e")
GRID, QUIET = "rgba(128, 140, 150, 0.28)", "#7c8791"
BAND, LIGHT, DARK = "#c2570c", 0.06, 0.3  # and how opaque
MOST_GROUPS = 60  # along an axis
TIME: Mapping[str, Any] = {
    "type": "value", "name": "time", "min": 0, "max": "dataMax", "axisLabel": {"showMaxLabel": False},
}  # fmt: skip
SHAPES, OFTEN = ("circle", "rect", "triangle", "diamond", "roundRect", "pin", "arrow", "circle"), 25  # of curves
# A stroke from the low to the high end of an interval, with two caps.
WHISKER = """(params, api) => {
  const low = api.coord([api.value(0), api.value(1)]), high = api.coord([api.value(0), api.value(2)]);
  const line = (a, b) => ({type: 'line', shape: {x1: a[0], y1: a[1], x2: b[0], y2: b[1]},
    style: {stroke: api.visual('color'), lineWidth: 1.5}});
  return {type: 'group', children: [line(low, high),
    ...[low, high].map(at => line([at[0] - 4, at[1]], [at[0] + 4, at[1]]))]};
}"""


def shown(value: Any) -> float | None:
    """A number as JSON has it; None for what is none."""
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def base(x: Row, y: Row, series: list[Options]) -> Options:
    """A chart with these axes; it moves only where the page does."""
    axis: Options = {"axisLine": {"lineStyle": {"color": QUIET}}, "splitLine": {"lineStyle": {"color": GRID}}}
    name = {"nameLocation": "middle", "nameGap": 30}
    return {
        "animation": False,
        "aria": {"enabled": True},
        "grid": {"left": 52, "right": 18, "top": 40, "bottom": 48},
        "legend": {"type": "scroll", "top": 0, "left": 0},
        "tooltip": {"trigger": "item", "confine": True},
        "xAxis": {**axis, **name, **x},
        "yAxis": {**axis, **name, "nameGap": 38, **y},
        "series": series,
    }


def by_group(rows: Sequence[Row], metric: str = "freshness") -> Options:
    """A metric group by group: predicted, and measured with its interval."""
    mine = [row for row in rows if row["metric"] == metric][:MOST_GROUPS]
    hollow = {"color": "transparent", "borderColor": COLOURS[0], "borderWidth": 2}
    predicted: Options = {"name": "predicted", "type": "line", "symbol": "diamond", "symbolSize": 13}
    predicted |= {"itemStyle": hollow, "lineStyle": {"color": COLOURS[0], "width": 1.5, "type": "dashed"}}
    predicted["data"] = [shown(row["predicted"]) for row in mine]
    measured = [(at, row) for at, row in enumerate(mine) if row["measured"] is not None]
    groups = [row["group"] for row in mine]
    series = [predicted, *marks("measured", COLOURS[1], measured)]
    return base({"type": "category", "data": groups}, {"type": "value", "name": metric, "min": 0, "max": 1}, series)


def by_axis(plan: Arrangement) -> list[tuple[str, Options]]:
    """The panels of a report's figure: their titles, and the curves with what was measured and printed."""
    return [(title, _panel(plan, panel)) for title, panel in plan.panels]


def _panel(plan: Arrangement, panel: Mapping[str, Series]) -> Options:
    drawn: list[Options] = []
    names = ("x", *PARTS)
    for label, one in panel.items():
        place, name = plan.labels.index(label), label or plan.y
        colour, symbol = COLOURS[place % len(COLOURS)], SHAPES[place % len(SHAPES)]
        curve = list(zip(map(shown, one["curve_x"].tolist()), map(shown, one["curve_y"].tolist()), strict=True))
        predicted: Options = {"name": name, "type": "line", "symbol": "none", "data": curve}
        if plan.names:  # nothing lies between two names
            predicted |= {"type": "scatter", "symbol": "diamond"}
        style = {"color": colour}
        drawn.append(predicted | {"itemStyle": style, "lineStyle": {**style, "width": 1.5}})
        columns = zip(*(one[part].tolist() for part in names), strict=True)
        rows = [dict(zip(names, values, strict=True)) for values in columns]
        drawn += marks(name, colour, [(row["x"], row) for row in rows if shown(row["measured"]) is not None], symbol)
        printed = [[row["x"], row["printed"]] for row in rows if shown(row["printed"]) is not None]
        edge = {"color": "transparent", "borderColor": colour, "borderWidth": 1.5}
        large: Options = {"name": name, "type": "scatter", "symbol": "rect", "symbolSize": 15, "itemStyle": edge}
        drawn.append(large | {"data": printed})
    x: Options = {"type": "log" if "x" in plan.log else "value", "name": plan.x, "scale": True}
    if plan.names:
        x = {"type": "category", "name": plan.x, "data": list(plan.names)}
    return base(x, {"type": "log" if "y" in plan.log else "value", "name": plan.y, "scale": True}, drawn)


def marks(name: str, colour: str, places: Sequence[tuple[float, Row]], symbol: str = "circle") -> list[Options]:
    """Dots of what was measured, and their intervals."""
    ends = [(x, shown(row["ci_low"]), shown(row["ci_high"])) for x, row in places]
    return [
        {"name": name, "type": "scatter", "symbol": symbol, "symbolSize": 8, "itemStyle": {"color": colour},
         "data": [[x, shown(row["measured"])] for x, row in places]},
        {"name": name, "type": "custom", "silent": True, ":renderItem": WHISKER, "itemStyle": {"color": colour},
         "encode": {"x": 0, "y": [1, 2]}, "data": [list(one) for one in ends if None not in one]},
    ]  # fmt: skip


def over_time(
    middles: Sequence[float],
    levels: Mapping[str, Sequence[float]],
    predicted: Mapping[str, float],
    time: float,
    bands: Sequence[Band] = (),
) -> Options:
    """How fresh every group was over time; thin and dashed, what is predicted of it; and a line at a `time`."""
    drawn: list[Options] = []
    for at, (name, shares) in enumerate(levels.items()):
        line: Options = {"name": name, "type": "line", "itemStyle": {"color": COLOURS[at % len(COLOURS)]}}
        few = f"(value, about) => about.dataIndex % {OFTEN} == {at} ? 9 : 0"
        data = list(zip(middles, map(shown, shares), strict=True))
        marked = {"symbol": SHAPES[at % len(SHAPES)], "showAllSymbol": True, ":symbolSize": few}
        drawn.append({**line, **marked, "connectNulls": True, "lineStyle": {"width": 1.5}, "data": data})
        if name in predicted:
            ends = [[x, predicted[name]] for x in (0, middles[-1])]
            label = {"show": True, "formatter": "{a}", "textBorderColor": "transparent"}
            thin = {"symbol": "none", "silent": True, "lineStyle": {"type": "dashed", "width": 1}, "endLabel": label}
            thin["labelLayout"] = {"moveOverlap": "shiftY"}
            drawn.append({**line, **thin, "data": ends})
    now = {"id": "now", "type": "line", "symbol": "none", "silent": True, "lineStyle": {"color": QUIET, "width": 2}}
    drawn += [banded(bands), {**now, "data": at_time(time)}]
    made = base(TIME, {"type": "value", "name": "freshness", "min": 0, "max": 1}, drawn)
    return made | {"grid": made["grid"] | {"right": 64}}


def banded(bands: Iterable[Band]) -> Options:
    """Times at which something was out of order: the darker, the more of it."""
    areas = []
    for band in bands:
        colour = {"color": BAND, "opacity": LIGHT + (DARK - LIGHT) * band.share}
        areas.append([{"xAxis": band.begin, "itemStyle": colour}, {"xAxis": band.end}])
    return {"id": "bands", "type": "line", "silent": True, "data": [], "markArea": {"data": areas}}


def at_time(time: float) -> list[list[float]]:
    """The line that marks a time."""
    return [[time, 0.0], [time, 1.0]]


def pace(times: Sequence[float], rates: Sequence[float], slips: Sequence[float]) -> Options:
    """How many messages were sent per unit of time, and how late wakes were, each with an axis of its own."""
    said = (("messages per unit of time", rates), ("mean lateness of wakes", slips))
    made = counted(times, dict(said), [])
    made["series"][-1]["yAxisIndex"] = 1
    right = made["yAxis"] | {"splitLine": {"show": False}}
    return made | {"yAxis": [made["yAxis"], right], "grid": made["grid"] | {"right": 64}}


def queues(times: Sequence[float], lines: Mapping[str, tuple[Sequence[float], Sequence[float]]]) -> Options:
    """How many messages a node of each group had in line: on average, and dashed the most of any."""
    curves: dict[str, Sequence[float]] = {}
    for group, (mean, most) in list(lines.items())[: len(COLOURS)]:
        curves |= {f"{group}, mean": mean, f"{group}, longest": most}
    return counted(times, curves, [])


def counted(times: Sequence[float], curves: Mapping[str, Sequence[float]], bands: Iterable[Band]) -> Options:
    """Curves of what is counted; every second one is dashed."""
    drawn = [banded(bands)]
    for at, (name, values) in enumerate(curves.items()):
        line: Options = {"name": name, "type": "line", "itemStyle": {"color": COLOURS[at % len(COLOURS)]}}
        look = {"symbol": "none", "lineStyle": {"width": 1.5, "type": ("solid", "dashed")[at % 2]}}
        drawn.append({**line, **look, "data": list(zip(times, map(shown, values), strict=True))})
    made = base(TIME, {"type": "value", "min": 0, "splitNumber": 4}, drawn)
    return made | {"grid": made["grid"] | {"left": 64}}


def cells(row: Row) -> Options:
    """A row of a table: numbers that can be sorted, to as many digits as anyone reads, and words."""
    low, high = row["ci_low"], row["ci_high"]
    found = {name: _brief(value) for name, value in row.items() if name not in ("ci_low", "ci_high")}
    found["interval"] = "" if low is None else f"{number(low)} .. {number(high)}"
    found["verdict"] = " ".join(filter(None, (VERDICTS.get(row["verdict"], ("", ""))[1], row["verdict"])))
    return found


def _brief(value: Any) -> Any:
    return float(f"{value:.5g}") if isinstance(value, float) and math.isfinite(value) else value


def columns(rows: Sequence[Row], names: Iterable[str]) -> list[Options]:
    """Those of the columns that have something in them, sortable."""
    filled = [name for name in names if any(row.get(name) not in (None, "") for row in rows)]
    wide = {"note": "white-space: normal; min-width: 18rem"}
    return [
        {"name": name, "label": name, "field": name, "align": "left", "sortable": True, "style": wide.get(name, "")}
        for name in filled
    ]
