"""Pictures of a recorded history: tail, correlation, rate over the day, and staleness (Staleness Fig. 9)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from replnet.histories.history import DAY, tail
from replnet.histories.trace_fit import TraceFit
from replnet.network.pictures.drawing import FORMATS, save
from replnet.report.markup import light
from replnet.text.errors import FieldError

Words = tuple[str, str, str]  # title, unit of x, and the place of the legend, if there is one

SHOWN = 3  # fitted laws
POINTS = 400  # of a recorded tail, which may have a million


def draw(found: TraceFit, path: Path) -> None:
    """Write the picture, of the kind that the ending of `path` says."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        right = f"a file that ends in {', '.join(f'.{one}' for one in FORMATS)}"
        raise FieldError(str(path), "is no kind of picture", right)
    try:
        save(lambda: figure(found), path, kind, {"font.size": 8})
    except OSError as error:
        wrong = f"cannot be written: {error.strerror or error}"
        raise FieldError(str(path), wrong, "a file in a folder that exists") from None


def figure(found: TraceFit) -> Any:
    """A matplotlib Figure of four panels, or three where times are no dates."""
    from matplotlib.figure import Figure

    dated = found.history.dated
    made = Figure(figsize=(8.6, 6.2) if dated else (11, 3.4), layout="constrained")
    panels = [_tail, _correlation, *([_hours] if dated else []), _staleness]
    for axes, panel in zip((made.subplots(2, 2) if dated else made.subplots(1, 3)).ravel(), panels, strict=True):
        title, unit, legend = panel(axes, found)
        axes.set_title(title, loc="left")
        axes.set_xlabel(unit, color=light("quiet"))
        if legend:
            axes.legend(loc=legend, frameon=False)
        _quieten(axes)
    return made


def _quieten(axes: Any) -> None:
    """Light frames, so that the data is what one sees."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(light("quiet"))
    axes.tick_params(colors=light("quiet"), which="both", width=0.6)
    axes.grid(True, color=light("line"), linewidth=0.5)
    axes.set_axisbelow(True)


def _tail(axes: Any, found: TraceFit) -> Words:
    size, name = (3600.0, "hours") if found.history.dated else (1.0, "units of time")
    x, beyond = tail(found.history.intervals)
    # The last has nothing beyond it; of very many, as many at every order of magnitude.
    kept = np.unique(np.geomspace(1, x.size - 1, min(POINTS, x.size - 1)).astype(int)) - 1
    kept = np.union1d(kept, x.size - 2 - kept)
    axes.loglog(x[kept] / size, beyond[kept], ".", color=light("ink"), markersize=3.5, label="recorded")
    grid = np.geomspace(x[0], x[-1] * 2, 300)
    shown = found.fits[:SHOWN] + [one for one in found.fits[SHOWN:] if one.family == "exponential"]
    for place, fit in enumerate(shown):
        style = "--" if fit.family == "exponential" else "-"
        axes.loglog(grid / size, fit.law.tail(grid), style, color=light(f"series-{place}"), lw=1.2, label=fit.family)
    axes.set_ylim(beyond[-2] / 3, 1.5)
    return "share of longer intervals", name, "lower left"


def _correlation(axes: Any, found: TraceFit) -> Words:
    rho, exponent = found.correlation, found.correlation_exponent
    lags, noise = np.arange(1, rho.size + 1), 2 / np.sqrt(found.history.intervals.size)
    axes.axhspan(-noise, noise, color=light("faint"), zorder=0)
    axes.semilogx(lags, rho, ".", color=light("series-0"), markersize=4)
    if np.isfinite(exponent):
        upto = int(np.argmax(rho < noise)) or rho.size
        h = lags[:upto]
        level = np.exp(np.average(np.log(rho[:upto]) + exponent * np.log(h), weights=1 / h))
        axes.semilogx(h, level * h**-exponent, color=light("series-1"), lw=1.2, label=f"lag^-{exponent:.2f}")
    return "correlation of intervals (shaded: noise)", "lag", "upper right" if np.isfinite(exponent) else ""


def _hours(axes: Any, found: TraceFit) -> Words:
    assert found.hours is not None
    days = (found.history.end - found.history.start) / DAY
    axes.bar(np.arange(24) + 0.5, found.hours / days, width=0.85, color=light("series-0"))
    axes.set_xlim(0, 24)
    axes.set_xticks(range(0, 25, 6))
    return "events an hour, over the day", "hour, UTC", ""


def _staleness(axes: Any, found: TraceFit) -> Words:
    per, name = (DAY, "downloads a day") if found.history.dated else (1.0, "downloads a unit of time")
    of = {column: np.array([one[column] for one in found.staleness]) for column in found.staleness[0]}
    rate = of["rate"] * per
    axes.fill_between(
        rate, of["low"], of["high"], color=light("series-0"), alpha=0.25, linewidth=0, label="measured, by phase"
    )
    axes.semilogx(rate, of["measured"], "o", color=light("ink"), markersize=3.5, label="measured")
    axes.semilogx(rate, of["empirical"], color=light("series-0"), lw=1.2, label="recorded law")
    axes.semilogx(rate, of["poisson"], "--", color=light("series-1"), lw=1.2, label="Poisson")
    axes.set_ylim(0, 1)
    return "staleness under constant downloads", name, "upper right"
