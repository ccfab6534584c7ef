"""From rows to charts: plain data as ECharts takes it.

What is predicted is a line or a hollow diamond, what is measured a filled dot with its interval, so that the two
are told apart without colours. Every colour is readable on a light page and on a dark one; letters take theirs from
the style sheet, as charts are SVG.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from replnet.text.numbers import number

Row = Mapping[str, Any]
Options = dict[str, Any]

COLOURS = ("#2a8fd0", "#dd6b1c", "#0f9d77", "#b9649f", "#b98208", "#7c8791", "#4f6bd8", "#8a8a1e")
GRID, QUIET = "rgba(128, 140, 150, 0.28)", "#7c8791"
MOST_GROUPS = 60  # along an axis
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


def base(x: Options, y: Options, series: list[Options], legend: bool = True) -> Options:
    """A chart with these axes; it moves only where the page does."""
    axis: Options = {"axisLine": {"lineStyle": {"color": QUIET}}, "splitLine": {"lineStyle": {"color": GRID}}}
    name = {"nameLocation": "middle", "nameGap": 30}
    return {
        "animation": False,
        "aria": {"enabled": True},
        "grid": {"left": 52, "right": 18, "top": 40 if legend else 16, "bottom": 48},
        "legend": {"show": legend, "type": "scroll", "top": 0, "left": 0},
        "tooltip": {"trigger": "item", "confine": True},
        "xAxis": {**axis, **name, **x},
        "yAxis": {**axis, **name, "nameGap": 38, **y},
        "series": series,
    }


def by_group(predicted: Iterable[Row], emulated: Iterable[Row], metric: str = "freshness") -> Options:
    """A metric group by group: predicted, and measured with its interval."""
    formulas, measured = _of(predicted, metric), _of(emulated, metric)
    groups = list(dict.fromkeys([*formulas, *measured]))[:MOST_GROUPS]
    hollow = {"color": "transparent", "borderColor": COLOURS[0], "borderWidth": 2}
    series = [
        {"name": "predicted", "type": "line", "symbol": "diamond", "symbolSize": 13, "itemStyle": hollow,
         "lineStyle": {"color": COLOURS[0], "width": 1.5, "type": "dashed"},
         "data": [shown(formulas[one]["predicted"]) if one in formulas else None for one in groups]},
        *marks("measured", COLOURS[1], [(at, measured[one]) for at, one in enumerate(groups) if one in measured]),
    ]  # fmt: skip
    low = min((shown(row["predicted"]) or 0.0 for row in formulas.values()), default=0.0)
    y: Options = {"type": "value", "name": metric, "min": 0, "max": 1 if low <= 1 else None}
    return base({"type": "category", "data": groups}, y, series)


def marks(name: str, colour: str, places: Sequence[tuple[float, Row]]) -> list[Options]:
    """Dots of what was measured, and their intervals."""
    ends = [(x, shown(row["ci_low"]), shown(row["ci_high"])) for x, row in places]
    return [
        {"name": name, "type": "scatter", "symbol": "circle", "symbolSize": 7, "itemStyle": {"color": colour},
         "data": [[x, shown(row["measured"])] for x, row in places]},
        {"name": name, "type": "custom", "silent": True, ":renderItem": WHISKER, "itemStyle": {"color": colour},
         "encode": {"x": 0, "y": [1, 2]}, "data": [list(one) for one in ends if None not in one]},
    ]  # fmt: skip


def table_rows(predicted: Sequence[Row], emulated: Sequence[Row]) -> list[Options]:
    """What is predicted and what is measured, side by side, as text."""
    measured = {(row["group"], row["metric"]): row for row in emulated}
    keys = list(dict.fromkeys([*((row["group"], row["metric"]) for row in predicted), *measured]))
    formulas = {(row["group"], row["metric"]): row for row in predicted}
    found = []
    for key in keys:
        row = measured.get(key, {})
        interval = "" if row.get("ci_low") is None else f"{number(row['ci_low'])} .. {number(row['ci_high'])}"
        cells = {"predicted": number(formulas.get(key, row).get("predicted")), "measured": number(row.get("measured"))}
        about = {"group": key[0], "metric": key[1], "interval": interval, "verdict": row.get("verdict", "")}
        found.append({**about, **cells})
    return found


def _of(rows: Iterable[Row], metric: str) -> dict[str, Row]:
    return {row["group"]: row for row in rows if row["metric"] == metric}
