"""Figures with matplotlib: measured points with intervals over the predicted curve, printed values as open marks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from replnet.laws import Floats
from replnet.show.pictures import TEXT_SEPARATOR
from replnet.show.report.arrange import Arrangement, Series, arrange
from replnet.show.report.section import Section
from replnet.show.theme import SERIES, light, shades
from replnet.text import FieldError, decimal_text, places, require_extra, text

SHAPES = "os^vPX<>"
FONT_SIZE = 9  # points
WIDE, NARROW = 7.2, 3.5  # inches
MOST_LABELS = 12  # in the legend of an ordered scale
MOST_TICKS = 12  # at the values of x themselves
SMALL_MARKS_ABOVE = 15  # marks in a series
POINTER_REACH = 8  # points across: the spot in which a pointer reads a value
LETTERS_PER_INCH, LINES_PER_INCH = 15, 5  # in the font of tick labels
LONGEST_LABEL = 30  # letters
LEGEND: dict[str, Any] = {"frameon": False, "fontsize": FONT_SIZE - 1, "borderaxespad": 0.3}


def figure_of(section: Section) -> Any:
    """Return the figure of the section as a matplotlib Figure; raise FieldError if there is nothing to draw."""
    plan = arrange(section)
    if plan is None:
        raise FieldError(section.name, "nothing to draw", "a figure of a metric that the table holds")
    return draw_figure(plan)


def draw_figure(plan: Arrangement, narrow: bool = False) -> Any:
    """Return a matplotlib Figure of all panels and series; `narrow` for a phone, with the panels below one another.

    Raises an error that says what to install if matplotlib is missing.
    """
    require_extra("matplotlib", "figures")
    from matplotlib.figure import Figure

    panels = len(plan.panels)
    columns = 1 if narrow else 2 if panels in (2, 4) else min(3, panels)
    rows = -(-panels // columns)
    # A row of panels is lower than a panel that stands alone.
    height = (2.9 if narrow else 3.6) if rows == columns == 1 else 2.4
    figure = Figure(figsize=(NARROW if narrow else WIDE, height * rows + 0.5), layout="constrained")
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    colours = _colours(len(plan.labels))
    panel_inches = (NARROW - 0.6 if narrow else WIDE - 1.6) / columns, height - 0.6
    for place, axes in enumerate(grid.flat):
        if place >= panels:
            axes.set_axis_off()
            continue
        title, panel = plan.panels[place]
        for label, series in panel.items():
            _draw_series(axes, plan, series, plan.labels.index(label), colours)
        if title:
            axes.set_title(_short(title), fontsize=FONT_SIZE, color=light("ink"), loc="left")
        _style(axes, plan, outer=(place + columns >= panels, place % columns == 0))
    # Panels share their scales, which are known when all of them are drawn.
    for axes in grid.flat[:panels]:
        _set_ticks(axes.xaxis, "x" in plan.log, np.unique(plan.marks("x")).tolist(), panel_inches[0])
        _set_ticks(axes.yaxis, "y" in plan.log, [], panel_inches[1])
    if plan.names:
        _name_ticks(grid, plan.names, panel_inches[0])
    _add_mark_legend(figure, plan, narrow)
    if len(plan.labels) > 1:
        _add_series_legend(figure, plan, colours, narrow)
    return figure


def _colours(count: int) -> list[str]:
    """Return #rrggbb for `count` series: distinct colours, or steps of the ordered scale if these are too few."""
    return [pair[0] for pair in SERIES[:count]] if count <= len(SERIES) else shades(count)


def _shape(plan: Arrangement, place: int) -> str:
    """Return the matplotlib marker of the series whose label is at `place` among all labels.

    Each has its own, but if there are more series than markers, all have a dot.
    """
    return SHAPES[place] if len(plan.labels) <= len(SHAPES) else "o"


def _draw_series(axes: Any, plan: Arrangement, series: Series, place: int, colours: list[str]) -> None:
    """Draw the predicted, measured and printed values of a series into a panel, `axes`.

    `place` is that of its label among all labels, and that of its colour in `colours`.
    """
    # Names on the x axis have room for series side by side.
    shift = 0.5 * ((place + 0.5) / len(plan.labels) - 0.5) if plan.names else 0.0
    colour, x, low, high = colours[place], series["x"] + shift, series["ci_low"], series["ci_high"]
    _draw_curve(axes, series["curve_x"] + shift, series["curve_y"], colour, bool(plan.names))
    present = ~np.isnan(series["measured"])
    has_interval = present & (low <= high)
    axes.vlines(x[has_interval], low[has_interval], high[has_interval], color=colour, linewidth=1.1, zorder=2.5)
    style = _measured_style(colour, _shape(plan, place)) | (
        {"markersize": 4} if present.sum() > SMALL_MARKS_ABOVE else {}
    )
    axes.plot(x[present], series["measured"][present], **style, zorder=3)
    present = ~np.isnan(series["printed"])
    edge = light("ink") if len(plan.labels) == 1 else colour
    axes.plot(x[present], series["printed"][present], **_printed_style(edge), zorder=4)
    _add_readable_points(axes, plan, series, x, plan.labels[place])


def _add_readable_points(axes: Any, plan: Arrangement, series: Series, x: Floats, label: str) -> None:
    """Add to a panel an invisible mark at every point of a series, with a text that a page shows to a pointer.

    `x` is where the points stand. A point is at the measured value, or if there is none at the predicted or printed
    one.
    """
    y = np.where(np.isnan(series["measured"]), series["predicted"], series["measured"])
    y = np.where(np.isnan(y), series["printed"], y)
    present = ~np.isnan(y)
    words = [_point_text(plan, series, place, label) for place in np.flatnonzero(present).tolist()]
    name = f"values-{sum(len(axes_of_figure.lines) for axes_of_figure in axes.figure.axes)}"
    unseen = {"marker": "o", "markersize": POINTER_REACH, "markeredgewidth": 0, "linestyle": "none", "alpha": 0}
    axes.plot(x[present], y[present], **unseen, gid=name, label=TEXT_SEPARATOR.join(words), zorder=5)


def _point_text(plan: Arrangement, series: Series, place: int, label: str) -> str:
    """Return the text of one point: a line each for its x, its series, and its measured, predicted and printed value.

    `place` is its number in the series, and `label` the name of the series. Values that are missing have no line.
    """
    at = series["x"][place]
    lines = [f"{_line(plan.x)}: {_line(plan.names[int(at)] if plan.names else at)}"]
    lines += [f"{_line(plan.heading)}: {_line(label)}"] if plan.heading else []
    low, high = series["ci_low"][place], series["ci_high"][place]
    for part in ("measured", "predicted"):
        if not math.isnan(value := series[part][place]):
            value_text, *ends = (decimal_text(x, places(value, low, high)) for x in (value, low, high))
            lines.append(
                f"{part} {value_text}" + (f" ({' – '.join(ends)})" if part == "measured" and low <= high else "")
            )
    if not math.isnan(value := series["printed"][place]):
        lines.append(f"printed {text(value)}")
    return "\n".join(lines)


def _draw_curve(axes: Any, x: Floats, y: Floats, colour: str, x_has_names: bool) -> None:
    """Draw predicted values into a panel as a line; those without a neighbour, or all if x has names, as dashes."""
    lone = np.ones(y.size, dtype=bool)
    if not x_has_names:
        present = ~np.isnan(y)
        lone[1:] &= ~present[:-1]
        lone[:-1] &= ~present[1:]
        axes.plot(x, y, color=colour, linewidth=1.3, zorder=2)
    axes.plot(x[lone], y[lone], "_", color=colour, markersize=12, zorder=2)


def _measured_style(colour: str, shape: str) -> dict[str, Any]:
    """Return the properties, for matplotlib, of marks of measured values; `shape` is a marker of matplotlib."""
    rim = {"markeredgecolor": light("paper"), "markeredgewidth": 0.7}
    return {"color": colour, "marker": shape, "markersize": 5.5, "linestyle": "none", **rim}


def _printed_style(colour: str) -> dict[str, Any]:
    """Return the properties, for matplotlib, of marks of printed values: open diamonds of this colour."""
    rim = {"markerfacecolor": "none", "markeredgecolor": colour, "markeredgewidth": 1.2}
    return {"marker": "D", "markersize": 9, "linestyle": "none", **rim}


def _style(axes: Any, plan: Arrangement, outer: tuple[bool, bool]) -> None:
    """Style frame, grid and ticks of a panel; `outer` says whether it names the x axis, and whether the y axis."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set(color=light("quiet"), linewidth=0.8)
    axes.set_facecolor("none")
    axes.set_axisbelow(True)
    axes.grid(True, axis="y" if plan.names else "both", color=light("line"), linewidth=0.7)
    axes.tick_params(labelsize=FONT_SIZE - 1, color=light("quiet"), labelcolor=light("quiet"), width=0.8, length=3)
    axes.tick_params(which="minor", color=light("quiet"), width=0.6, length=2)
    axes.margins(0.05, 0.08)
    words = {"fontsize": FONT_SIZE, "color": light("ink")}
    if outer[0]:
        axes.set_xlabel(_short(plan.x), **words)
        axes.tick_params(labelbottom=True)
    if outer[1]:
        axes.set_ylabel(_short(plan.y.replace("_", " ")), **words)


def _set_ticks(axis: Any, logarithmic: bool, values: list[float], inches: float) -> None:
    """Set the ticks of an axis, of this length in inches, so that their labels do not touch.

    They are at `values`, if these are few, whole and not too close. A logarithmic axis gets its scale, too, and ticks
    at 1, 2 and 5 of every decade, or fewer.
    """
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullFormatter, ScalarFormatter

    stacked = axis.axis_name == "y"
    if logarithmic:
        axis.axes.set(**{f"{axis.axis_name}scale": "log"})
        axis.set_minor_formatter(NullFormatter())
        low, high = axis.get_view_interval()
        if len(ticks := _log_ticks(low, high, inches, stacked)) > 1:
            axis.set_major_locator(FixedLocator(ticks))
            axis.set_major_formatter(FuncFormatter(lambda value, _: text(value)))
            return
    # Ticks at the values themselves, if these are whole and no two would stand too close.
    gaps = np.diff(values)
    most = min(MOST_TICKS, int(inches / _label_size(axis.get_view_interval(), stacked)))
    if 0 < len(values) <= most and not np.any(np.mod(values, 1)) and np.all(gaps >= sum(gaps) / most):
        axis.set_major_locator(FixedLocator(values))
    else:
        axis.set_major_locator(MaxNLocator(max(1, min(6, most - 1))))
    plain = ScalarFormatter(useOffset=False, useMathText=False)
    plain.set_scientific(False)
    axis.set_major_formatter(plain)


def _log_ticks(low: float, high: float, inches: float, stacked: bool) -> list[float]:
    """Return the ticks of a logarithmic axis from `low` to `high`: at 1, 2 and 5 of every decade.

    Where their labels would touch, at 1; and where these would, at every second decade, every third and so on. The axis
    is so many inches long; labels are `stacked` if it is upright, so that each takes the height of a line.
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    decade = inches / math.log10(high / low)
    ticks: list[float] = []
    for steps, stride in (((1, 2, 5), 1), *(((1,), stride) for stride in range(1, last - first + 2))):
        powers = [power for power in range(first, last + 1) if power % stride == 0]
        ticks = [tick for power in powers for step in steps if low <= (tick := float(f"{step}e{power}")) <= high]
        closest = math.log10(2) if len(steps) > 1 else stride
        if decade * closest >= _label_size(ticks, stacked):
            break
    return ticks


def _label_size(ticks: Sequence[float], stacked: bool) -> float:
    """Return the inches that the label of a tick takes along its axis, with the gap to the next.

    If labels are `stacked`, along an upright axis, that is the height of a line; else the width of the longest label.
    """
    return (
        1 / LINES_PER_INCH
        if stacked
        else (max((len(text(float(f"{tick:.3g}"))) for tick in ticks), default=0) + 1) / LETTERS_PER_INCH
    )


def _name_ticks(grid: Any, names: tuple[str, ...], width: float) -> None:
    """Put names at the ticks of x, in every panel of `grid`, turned where they do not fit side by side.

    `width` is that of a panel, in inches.
    """
    from matplotlib.ticker import FixedFormatter, FixedLocator

    letters = sum(len(_short(name)) + 2 for name in names)
    turned = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if letters > LETTERS_PER_INCH * width else {}
    for axes in grid.flat:
        axes.xaxis.set_major_locator(FixedLocator(range(len(names))))
        axes.xaxis.set_major_formatter(FixedFormatter([_short(name) for name in names]))
        axes.set_xlim(-0.6, len(names) - 0.4)
        for label in axes.get_xticklabels():
            label.set(**turned)


def _add_mark_legend(figure: Any, plan: Arrangement, narrow: bool) -> None:
    """Add a legend above the panels that says what marks and lines mean, closer together if the figure is `narrow`."""
    from matplotlib.lines import Line2D

    colour = light("quiet" if len(plan.labels) > 1 else "series-0")
    handles: list[Any] = []
    labels = []
    if plan.has("measured"):
        bar = Line2D([], [], color=colour, marker="|", markersize=11, linestyle="none")
        dot = Line2D([], [], **_measured_style(colour, "o"))
        handles.append((bar, dot) if plan.has("ci_low") else dot)
        labels.append("measured, 95 %" if plan.has("ci_low") else "measured")
    if plan.has("predicted"):
        line = {"marker": "_", "markersize": 12, "linestyle": "none"} if plan.names else {"linewidth": 1.3}
        handles.append(Line2D([], [], color=colour, **line))
        labels.append("predicted")
    if plan.has("printed"):
        handles.append(Line2D([], [], **_printed_style(light("quiet" if len(plan.labels) > 1 else "ink"))))
        labels.append("printed")
    space = {"columnspacing": 1.1 if narrow else 1.8, "handletextpad": 0.4}
    place = {"loc": "outside upper left", "ncols": len(labels)}
    figure.legend(handles, labels, labelcolor=light("quiet"), **place, **space, **LEGEND)


def _add_series_legend(figure: Any, plan: Arrangement, colours: list[str], narrow: bool) -> None:
    """Add a legend of the series beside the panels, or below them if the figure is `narrow`.

    `colours` are those of all series, in the order of their labels; of many labels an even choice is shown.
    """
    from matplotlib.lines import Line2D

    most = min(MOST_LABELS, len(plan.labels))
    label_places = [round(i * (len(plan.labels) - 1) / (most - 1)) for i in range(most)]
    panels = [panel for _, panel in plan.panels]
    predicted = {
        label for panel in panels for label, columns in panel.items() if not np.isnan(columns["curve_y"]).all()
    }
    handles = []
    for i in label_places:
        line = "-" if plan.labels[i] in predicted and not plan.names else "none"
        shape = _shape(plan, i) if plan.has("measured") else "_" if plan.names else ""
        rim = {"markeredgecolor": colours[i], "markersize": 12} if shape == "_" else {}
        style = _measured_style(colours[i], shape) | {"linestyle": line, "linewidth": 1.3, **rim}
        handles.append(Line2D([], [], **style))
    labels = [_short(plan.labels[i]) for i in label_places]
    place: dict[str, Any] = {"loc": "outside right upper"}
    if narrow:  # as many side by side as fit on a phone
        place = {"loc": "outside lower left", "ncols": max(1, min(4, 34 // (6 + max(map(len, labels)))))}
    look = {"labelcolor": light("ink"), "alignment": "left", **LEGEND}
    legend = figure.legend(handles, labels, title=_short(plan.heading), **place, **look)
    legend.get_title().set(fontsize=FONT_SIZE - 1, color=light("quiet"))


def _short(words: str) -> str:
    """Return words as one line for matplotlib, cut to 30 letters, in which a dollar starts no formula; (empty) for
    none.

    A hair space goes before a leading underscore, as a legend would leave out words that start with one.
    """
    line = _line(words)
    line = line if len(line) <= LONGEST_LABEL else line[: LONGEST_LABEL - 1] + "…"
    return ("\N{HAIR SPACE}" + line if line.startswith("_") else line).replace("$", r"\$") or "(empty)"


def _line(words: Any) -> str:
    """Return words, or any value as text, as one line: with one space for every stretch of white space."""
    return " ".join(text(words).split())
