"""From the rows of a table to panels of series of marks: what a figure shows, before anything is drawn.

Rows that x, series and panel do not tell apart are told apart by the other axes
and the group: the first of these makes the panels if nothing else does, the
rest name series. Where there is more than an eye can follow, an even choice is
drawn, and the arrangement says what it leaves out.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, final

from replnet.report.section import FigureSpec, Section
from replnet.text.numbers import finite, is_number, text

MOST_PANELS, MOST_SERIES, MOST_MARKS = 9, 24, 30
Row = dict[str, Any]
Key = tuple[Any, ...]
Place = tuple[float, float]


@final
@dataclass(frozen=True)
class Mark:
    """One row at its place on the x axis; NaN where there is nothing."""

    x: float
    measured: float
    low: float
    high: float
    predicted: float
    printed: float


@final
@dataclass(frozen=True)
class Series:
    marks: tuple[Mark, ...]
    curve: tuple[Place, ...]  # of predicted values

    @property
    def is_predicted(self) -> bool:
        return any(not math.isnan(y) for _, y in self.curve)


@final
@dataclass(frozen=True)
class Panel:
    title: str
    series: dict[str, Series]  # by label


@final
@dataclass(frozen=True)
class Arrangement:
    x: str
    y: str
    heading: str  # what the labels are values of
    labels: tuple[str, ...]  # of all panels
    panels: tuple[Panel, ...]
    names: tuple[str, ...]  # along x, where x is no number
    log: frozenset[str]
    left_out: tuple[str, ...]

    def has(self, part: str) -> bool:
        """True if some mark has a `measured`, a `low`, a `predicted` or a `printed`."""
        return any(not math.isnan(getattr(mark, part)) for mark in self.marks())

    def marks(self) -> Iterable[Mark]:
        return (mark for panel in self.panels for one in panel.series.values() for mark in one.marks)


def arrange(section: Section) -> Arrangement | None:
    """What to draw, or None where there is no number to draw."""
    spec = section.figure
    rows = [row for row in section.rows if spec and row.get("metric", spec.y) == spec.y and _shown(row)]
    if spec is None or not rows:
        return None
    panel_by, series_by = _told_apart(rows, section, spec)
    names = () if all(is_number(row[spec.x]) for row in rows) else tuple(_distinct(text(row[spec.x]) for row in rows))
    keys, left_out = {}, []
    for what, by, most in (("panels", panel_by, MOST_PANELS), ("series", series_by, MOST_SERIES)):
        everyone = _distinct(_key(row, by) for row in rows)
        keys[what] = _evenly(everyone, most)
        if len(everyone) > most:
            left_out.append(f"{most} of {len(everyone)} values of {', '.join(by)} are drawn")
    points = _distinct(row[spec.x] for row in rows)
    if len(points) > MOST_MARKS and not names:
        left_out.append(f"about {MOST_MARKS} of {len(points)} values of {spec.x} have a mark")
    cells: dict[tuple[Key, Key], list[Row]] = defaultdict(list)
    for row in rows:
        cells[_key(row, panel_by), _key(row, series_by)].append(row)
    curves = _curves(spec, panel_by, series_by)
    panels = []
    for panel in keys["panels"]:
        series = {}
        for key in keys["series"]:
            if mine := cells.get((panel, key)):
                series[_label(key)] = _series(mine, spec.x, names, curves(panel, key))
        panels.append(Panel(_title(panel, panel_by), series))
    labels = tuple(_label(key) for key in keys["series"])
    log = _logarithms(spec, rows, names)
    return Arrangement(spec.x, spec.y, ", ".join(series_by), labels, tuple(panels), names, log, tuple(left_out))


def _shown(row: Row) -> bool:
    return any(is_number(row.get(name)) for name in ("measured", "predicted", "printed"))


def _told_apart(rows: list[Row], section: Section, spec: FigureSpec) -> tuple[list[str], list[str]]:
    """The columns that make panels, and those that make series."""
    panel_by = [spec.panel] if spec.panel else []
    series_by = [spec.series] if spec.series else []
    used = list(spec.columns)
    others = [name for name in ("group", *section.axes) if name not in used and name in rows[0]]
    for name in others:
        known = len({_key(row, used) for row in rows})
        if known == len(rows):
            break
        if len({_key(row, [*used, name]) for row in rows}) > known:
            used.append(name)
            if series_by and not panel_by:
                panel_by.append(name)
            else:
                series_by.append(name)
    return panel_by, series_by


def _series(rows: list[Row], x: str, names: tuple[str, ...], finer: list[Place]) -> Series:
    marks = sorted((_mark(row, x, names) for row in rows), key=lambda mark: mark.x)
    return Series(tuple(_evenly(marks, MOST_MARKS)), tuple(finer or [(mark.x, mark.predicted) for mark in marks]))


def _curves(spec: FigureSpec, panel_by: list[str], series_by: list[str]) -> Callable[[Key, Key], list[Place]]:
    """The predicted points on the finer grid, by panel and series; a column that the grid lacks tells nothing apart."""
    if spec.curve is None:
        return lambda panel, series: []
    known = [name in spec.curve.columns for name in (*panel_by, *series_by)]
    by = [name for name in (*panel_by, *series_by) if name in spec.curve.columns]
    found: dict[Key, list[Place]] = defaultdict(list)
    for row in spec.curve.to_dict("records"):
        if row.get("metric", spec.y) == spec.y and is_number(row[spec.x]):
            found[_key(row, by)].append((finite(row[spec.x]), finite(row["predicted"])))
    return lambda panel, series: sorted(found[tuple(compress((*panel, *series), known))])


def _mark(row: Row, x: str, names: tuple[str, ...]) -> Mark:
    place = float(names.index(text(row[x]))) if names else finite(row[x])
    parts = ("measured", "ci_low", "ci_high", "predicted", "printed")
    return Mark(place, *(finite(row.get(part)) for part in parts))


def _logarithms(spec: FigureSpec, rows: list[Row], names: tuple[str, ...]) -> frozenset[str]:
    """The asked logarithmic axes, without those that have nothing above zero or no numbers."""
    log = set(spec.log)
    if names or not all(finite(row[spec.x]) > 0 for row in rows):
        log.discard("x")
    values = [finite(row.get(part)) for row in rows for part in ("measured", "predicted", "printed")]
    if not all(value > 0 for value in values if value == value):
        log.discard("y")
    return frozenset(log)


def _key(row: Row, by: Sequence[str]) -> Key:
    # Missing values are all the same, unlike NaN.
    return tuple(
        [value if type(value) in (str, int) or is_number(value) else text(value) for value in map(row.get, by)]
    )


def _label(key: Key) -> str:
    return ", ".join(text(value) for value in key)


def _title(key: Key, by: list[str]) -> str:
    return ", ".join(
        text(value) if name in ("group", "metric") else f"{name} = {text(value)}"
        for name, value in zip(by, key, strict=True)
    )


def _distinct(values: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(values))


def _evenly(values: Sequence[Any], most: int) -> list[Any]:
    """All of them, or so many from the first to the last."""
    if len(values) <= most:
        return list(values)
    return [values[round(i * (len(values) - 1) / (most - 1))] for i in range(most)]
