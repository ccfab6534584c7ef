"""Pictures of a recorded history: tail, correlation, rate over the day, and staleness (Staleness Fig. 9)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from replnet.histories import DAY, TraceFit, tail
from replnet.show.pictures import write_picture
from replnet.show.theme import light

PanelLabels = tuple[str, str, str]  # title, unit of x, and the place of the legend, if there is one

MOST_LAWS_SHOWN = 3
MOST_POINTS = 400  # of a recorded tail, which may have a million


def draw(fit: TraceFit, path: Path) -> None:
    """Write a picture of a fitted history to `path`, as PNG, SVG or PDF by its ending, over a file that is there.

    Raise FieldError for another ending.
    """
    write_picture(path, lambda: figure(fit), fit.history.name, **{"font.size": 8})


def figure(fit: TraceFit) -> Any:
    """Return a matplotlib Figure of a fitted history: panels for its tail, correlation and staleness.

    If its times are dates, a fourth panel shows the events by hour of the day.
    """
    from matplotlib.figure import Figure

    dated = fit.history.dated
    drawing = Figure(figsize=(8.6, 6.2) if dated else (11, 3.4), layout="constrained")
    panels = [_tail, _correlation, *([_hours] if dated else []), _staleness]
    for axes, panel in zip((drawing.subplots(2, 2) if dated else drawing.subplots(1, 3)).ravel(), panels, strict=True):
        title, unit, legend = panel(axes, fit)
        axes.set_title(title, loc="left")
        axes.set_xlabel(unit, color=light("quiet"))
        if legend:
            axes.legend(loc=legend, frameon=False)
        _quieten(axes)
    return drawing


def _quieten(axes: Any) -> None:
    """Give a panel a quiet frame on two sides, quiet ticks, and a grid below its data."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(light("quiet"))
    axes.tick_params(colors=light("quiet"), which="both", width=0.6)
    axes.grid(True, color=light("line"), linewidth=0.5)
    axes.set_axisbelow(True)


def _tail(axes: Any, fit: TraceFit) -> PanelLabels:
    """Draw into a panel the share of recorded intervals that are longer than x, and that by the laws that fit best.

    The exponential law is drawn, too, if it was fitted. Return the panel's title, the unit of x, and the place of the
    legend.
    """
    size, name = (3600.0, "hours") if fit.history.dated else (1.0, "units of time")
    x, beyond = tail(fit.history.intervals)
    # The last has nothing beyond it; of very many, as many at every order of magnitude.
    drawn = np.unique(np.geomspace(1, x.size - 1, min(MOST_POINTS, x.size - 1)).astype(int)) - 1
    drawn = np.union1d(drawn, x.size - 2 - drawn)
    axes.loglog(x[drawn] / size, beyond[drawn], ".", color=light("ink"), markersize=3.5, label="recorded")
    grid = np.geomspace(x[0], x[-1] * 2, 300)
    fits = fit.fits[:MOST_LAWS_SHOWN] + [other for other in fit.fits[MOST_LAWS_SHOWN:] if other.family == "exponential"]
    for place, fitted in enumerate(fits):
        style = "--" if fitted.family == "exponential" else "-"
        axes.loglog(
            grid / size, fitted.law.tail(grid), style, color=light(f"series-{place}"), lw=1.2, label=fitted.family
        )
    axes.set_ylim(beyond[-2] / 3, 1.5)
    return "share of longer intervals", name, "lower left"


def _correlation(axes: Any, fit: TraceFit) -> PanelLabels:
    """Draw into a panel the correlation of intervals by lag, with the power law that was fitted, if any.

    Return the panel's title, the name of x, and the place of the legend (empty: none).
    """
    rho, exponent = fit.correlation, fit.correlation_exponent
    lags, noise = np.arange(1, rho.size + 1), 2 / np.sqrt(fit.history.intervals.size)
    axes.axhspan(-noise, noise, color=light("faint"), zorder=0)
    axes.semilogx(lags, rho, ".", color=light("series-0"), markersize=4)
    if np.isfinite(exponent):
        lags_above_noise = int(np.argmax(rho < noise)) or rho.size
        h = lags[:lags_above_noise]
        level = np.exp(np.average(np.log(rho[:lags_above_noise]) + exponent * np.log(h), weights=1 / h))
        axes.semilogx(h, level * h**-exponent, color=light("series-1"), lw=1.2, label=f"lag^-{exponent:.2f}")
    return "correlation of intervals (shaded: noise)", "lag", "upper right" if np.isfinite(exponent) else ""


def _hours(axes: Any, fit: TraceFit) -> PanelLabels:
    """Draw into a panel the mean number of events in each hour of the day.

    Return the panel's title, the unit of x, and an empty text, as there is no legend.
    """
    assert fit.hours is not None
    days = (fit.history.end - fit.history.start) / DAY
    axes.bar(np.arange(24) + 0.5, fit.hours / days, width=0.85, color=light("series-0"))
    axes.set_xlim(0, 24)
    axes.set_xticks(range(0, 25, 6))
    return "events an hour, over the day", "hour, UTC", ""


def _staleness(axes: Any, fit: TraceFit) -> PanelLabels:
    """Draw into a panel the staleness by the rate of constant downloads: measured, by the recorded law, and if Poisson.

    Return the panel's title, the unit of x, and the place of the legend.
    """
    per, name = (DAY, "downloads a day") if fit.history.dated else (1.0, "downloads a unit of time")
    columns = {column: np.array([row[column] for row in fit.staleness]) for column in fit.staleness[0]}
    rate = columns["rate"] * per
    axes.fill_between(
        rate,
        columns["low"],
        columns["high"],
        color=light("series-0"),
        alpha=0.25,
        linewidth=0,
        label="measured, by phase",
    )
    axes.semilogx(rate, columns["measured"], "o", color=light("ink"), markersize=3.5, label="measured")
    axes.semilogx(rate, columns["empirical"], color=light("series-0"), lw=1.2, label="recorded law")
    axes.semilogx(rate, columns["poisson"], "--", color=light("series-1"), lw=1.2, label="Poisson")
    axes.set_ylim(0, 1)
    return "staleness under constant downloads", name, "upper right"
