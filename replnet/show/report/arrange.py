"""From the rows of a table to panels of series of marks: what a figure shows, before anything is drawn.

Rows that x, series and panel do not tell apart are told apart by the other axes
and the group: the first of these makes the panels if nothing else does, the
rest name series. Where there is more than an eye can follow, an even choice is
drawn, and the arrangement says what it leaves out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, final

import numpy as np

from replnet.laws import Floats
from replnet.measure import AT, TIME
from replnet.show.report.section import FigureSpec, Section
from replnet.text import finite_or_nan, is_number, text

MOST_PANELS, MOST_SERIES, MOST_MARKS = 9, 24, 30
PARTS = ("measured", "ci_low", "ci_high", "predicted", "printed")  # of a mark, beside its x

Row = dict[str, Any]
Key = tuple[Any, ...]
# Columns: x and PARTS of every mark, NaN where there is nothing; and curve_x and curve_y, of predicted values.
Series = dict[str, Floats]


@final
@dataclass(frozen=True, eq=False)
class Arrangement:
    """The panels of a figure, each with series of marks: what is drawn, and sentences on what is `left_out`.

    `x` and `y` are the column along x and the metric, `heading` has the columns whose values are the `labels` of
    series, a panel is its title with its series by label, `names` are texts along x if it has no numbers, and `log` the
    axes, of "x" and "y", that are logarithmic.
    """

    x: str
    y: str
    heading: str  # the columns whose values are the labels
    labels: tuple[str, ...]  # of all panels
    panels: tuple[tuple[str, dict[str, Series]], ...]  # title, and series by label
    names: tuple[str, ...]  # along x, where x is no number
    log: frozenset[str]
    left_out: tuple[str, ...]

    def marks(self, part: str) -> Floats:
        """Return one column, "x" or one of PARTS, of the marks of all panels and series in one array; NaN for no
        value.
        """
        return np.concatenate([columns[part] for _, panel in self.panels for columns in panel.values()])

    def has(self, part: str) -> bool:
        """Whether any mark has a value of this part: measured, ci_low, ci_high, predicted or printed."""
        return not np.isnan(self.marks(part)).all()


def arrange(section: Section) -> Arrangement | None:
    """Return the panels and series of the section's figure; None if it has no figure, or no number to draw in it."""
    spec = section.figure
    timed = (
        _rows_at_times(section.rows, spec.y) if spec and spec.x == TIME and TIME not in section.axes else section.rows
    )
    rows = [row for row in timed if spec and row.get("metric", spec.y) == spec.y and _has_number(row)]
    if spec is None or not rows:
        return None
    panel_by, series_by = _distinguishing_columns(rows, section, spec)
    names = () if all(is_number(row[spec.x]) for row in rows) else tuple(_distinct(text(row[spec.x]) for row in rows))
    drawn_keys, left_out = [], []
    for by, most in ((panel_by, MOST_PANELS), (series_by, MOST_SERIES)):
        all_keys = _distinct(_key(row, by) for row in rows)
        drawn_keys.append(_evenly(all_keys, most))
        if len(all_keys) > most:
            left_out.append(f"{most} of {len(all_keys)} values of {', '.join(by)} are drawn")
    points = len(_distinct(row[spec.x] for row in rows))
    if points > MOST_MARKS and not names:
        left_out.append(f"about {MOST_MARKS} of {points} values of {spec.x} have a mark")
    cells: dict[tuple[Key, Key], list[Row]] = defaultdict(list)
    for row in rows:
        cells[_key(row, panel_by), _key(row, series_by)].append(row)
    curves = _curves(spec, panel_by, series_by)
    panels = []
    for panel in drawn_keys[0]:
        rows_of = {key: cells[panel, key] for key in drawn_keys[1] if (panel, key) in cells}
        series = {_label(key): _series(group, spec.x, names, curves(panel, key)) for key, group in rows_of.items()}
        panels.append((_title(panel, panel_by), series))
    labels, log = tuple(map(_label, drawn_keys[1])), _logarithms(spec, rows, names)
    return Arrangement(spec.x, spec.y, ", ".join(series_by), labels, tuple(panels), names, log, tuple(left_out))


def _rows_at_times(rows: Iterable[Row], y: str) -> Iterable[Row]:
    """Yield the rows of metric `y` at instants (`y@time`), as rows of `y` with the time in a column of its own."""
    for row in rows:
        name, at, time = str(row.get("metric")).partition(AT)
        if at and name == y:
            yield {**row, "metric": y, TIME: float(time)}


def _has_number(row: Row) -> bool:
    """Whether a row has a measured, predicted or printed value that can be drawn."""
    return any(is_number(row.get(name)) for name in ("measured", "predicted", "printed"))


def _distinguishing_columns(rows: list[Row], section: Section, spec: FigureSpec) -> tuple[list[str], list[str]]:
    """Return the columns whose values make panels, and those whose values make series, to tell all rows apart.

    Those that `spec` names come first; of the group and the other axes, as many are added as it takes.
    """
    panel_by = [spec.panel] if spec.panel else []
    series_by = [spec.series] if spec.series else []
    used = list(spec.columns)
    others = [name for name in ("group", *section.axes) if name not in used and name in rows[0]]
    for name in others:
        distinct = len({_key(row, used) for row in rows})
        if distinct == len(rows):
            break
        if len({_key(row, [*used, name]) for row in rows}) > distinct:
            used.append(name)
            if series_by and not panel_by:
                panel_by.append(name)
            else:
                series_by.append(name)
    return panel_by, series_by


def _series(rows: list[Row], x: str, names: tuple[str, ...], finer: list[tuple[float, float]]) -> Series:
    """Return the marks of rows as arrays by column, in the order of the column `x`, and the curve of predictions.

    Where x is no number, a mark stands at the place of its text in `names`, which is empty otherwise. The curve goes
    through `finer`, points (x, predicted), or if that is empty through the predictions of the rows. Of many rows, an
    even choice has marks.
    """
    places = np.array([names.index(text(row[x])) if names else finite_or_nan(row[x]) for row in rows], dtype=float)
    order = np.argsort(places, kind="stable")
    columns = {part: np.array([finite_or_nan(row.get(part)) for row in rows])[order] for part in PARTS}
    columns["x"] = places[order]
    curve_x, curve_y = np.array(finer).T if finer else (columns["x"], columns["predicted"])
    drawn = _evenly(range(len(rows)), MOST_MARKS)
    return {"curve_x": curve_x, "curve_y": curve_y, **{part: values[drawn] for part, values in columns.items()}}


def _curves(
    spec: FigureSpec, panel_by: list[str], series_by: list[str]
) -> Callable[[Key, Key], list[tuple[float, float]]]:
    """Return a function from the keys of a panel and a series to the points (x, predicted) on the finer grid.

    They are in order, and none if the figure has no curve. A key has the values of the columns `panel_by` or
    `series_by`; columns that the finer grid lacks do not matter: all their values have the same curve.
    """
    if spec.curve is None:
        return lambda panel, series: []
    in_grid = [name in spec.curve.columns for name in (*panel_by, *series_by)]
    by = list(compress((*panel_by, *series_by), in_grid))
    points: dict[Key, list[tuple[float, float]]] = defaultdict(list)
    for row in spec.curve.to_dict("records"):
        if row.get("metric", spec.y) == spec.y and is_number(row[spec.x]):
            points[_key(row, by)].append((finite_or_nan(row[spec.x]), finite_or_nan(row["predicted"])))
    return lambda panel, series: sorted(points[tuple(compress((*panel, *series), in_grid))])


def _logarithms(spec: FigureSpec, rows: list[Row], names: tuple[str, ...]) -> frozenset[str]:
    """Return which axes, of "x" and "y", are logarithmic: those that `spec` asks for, if all values are above zero.

    If there are `names` along x, because it is no number, x is not.
    """
    log = set(spec.log)
    if names or not all(finite_or_nan(row[spec.x]) > 0 for row in rows):
        log.discard("x")
    values = [finite_or_nan(row.get(part)) for row in rows for part in ("measured", "predicted", "printed")]
    if any(value <= 0 for value in values):
        log.discard("y")
    return frozenset(log)


def _key(row: Row, by: Sequence[str]) -> Key:
    """Return the values of the columns `by` in a row, for comparison; an empty text for each that is missing."""
    # Missing values are all the same, unlike NaN.
    return tuple(
        [value if type(value) in (str, int) or is_number(value) else text(value) for value in map(row.get, by)]
    )


def _label(key: Key) -> str:
    """Return the values in the key of a series as one text, with commas between them, for the legend."""
    return ", ".join(map(text, key))


def _title(key: Key, by: list[str]) -> str:
    """Return the text of the key of a panel, for its head: each value after the name of its column, which `by` has.

    Values of group and metric stand alone.
    """
    return ", ".join(
        text(value) if name in ("group", "metric") else f"{name} = {text(value)}"
        for name, value in zip(by, key, strict=True)
    )


def _distinct(values: Iterable[Any]) -> list[Any]:
    """Return the values in their order, each once."""
    return list(dict.fromkeys(values))


def _evenly(values: Sequence[Any], most: int) -> list[Any]:
    """Return all values, or `most` of them, evenly from the first to the last."""
    if len(values) <= most:
        return list(values)
    return [values[round(i * (len(values) - 1) / (most - 1))] for i in range(most)]
