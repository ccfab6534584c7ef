"""Pictures of a recorded history: tail, correlation, rate over the day, and staleness (Staleness Fig. 9)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from replnet.histories.history import tail
from replnet.histories.trace_fit import TraceFit
from replnet.network.pictures.drawing import FORMATS, save
from replnet.report.markup import light

DAY = 86_400.0
SHOWN = 3  # fitted laws
POINTS = 400  # of a recorded tail, which may have a million


def draw(study: TraceFit, path: Path) -> None:
    """Write the picture, of the kind that the ending of `path` says."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        raise ValueError(
            f"{path}: is no kind of picture (a file that ends in {', '.join(f'.{one}' for one in FORMATS)})"
        )
    try:
        save(lambda: figure(study), path, kind, {"font.size": 8})
    except OSError as error:
        raise ValueError(
            f"{path}: cannot be written: {error.strerror or error} (a file in a folder that exists)"
        ) from None


def figure(study: TraceFit) -> Any:
    """A matplotlib Figure of four panels, or three where times are no dates."""
    from matplotlib.figure import Figure

    panels = [_tail, _correlation, *([_hours] if study.hours is not None else []), _staleness]
    made = Figure(figsize=(8.6, 6.2) if len(panels) == 4 else (11, 3.4), layout="constrained")
    grid = made.subplots(2, 2) if len(panels) == 4 else made.subplots(1, 3)
    for axes, panel in zip(grid.ravel(), panels, strict=True):
        panel(axes, study)
        _quieten(axes)
    return made


def _quieten(axes: Any) -> None:
    """Light frames, so that the data is what one sees."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(light("quiet"))
    axes.tick_params(colors=light("quiet"), which="both", width=0.6)
    axes.grid(True, color=light("line"), linewidth=0.5)
    axes.set_axisbelow(True)
    axes.title.set_color(light("ink"))
    axes.xaxis.label.set_color(light("quiet"))
    legend = axes.get_legend()
    if legend:
        legend.set_frame_on(False)


def _unit(study: TraceFit) -> tuple[float, str]:
    return (3600.0, "hours") if study.history.dated else (1.0, "units of time")


def _tail(axes: Any, study: TraceFit) -> None:
    size, name = _unit(study)
    x, beyond = tail(study.history.intervals)
    # The last has nothing beyond it; of very many, as many at every order of magnitude.
    kept = np.unique(np.geomspace(1, x.size - 1, min(POINTS, x.size - 1)).astype(int)) - 1
    kept = np.union1d(kept, x.size - 2 - kept)
    axes.loglog(x[kept] / size, beyond[kept], ".", color=light("ink"), markersize=3.5, label="recorded")
    grid = np.geomspace(x[0], x[-1] * 2, 300)
    shown = list(study.fits[:SHOWN])
    shown += [one for one in study.fits[SHOWN:] if one.family == "exponential"]
    for place, fit in enumerate(shown):
        style = "--" if fit.family == "exponential" else "-"
        axes.loglog(grid / size, fit.law.tail(grid), style, color=light(f"series-{place}"), lw=1.2, label=fit.family)
    axes.set_ylim(beyond[-2] / 3, 1.5)
    axes.set_title("share of longer intervals", loc="left")
    axes.set_xlabel(name)
    axes.legend(loc="lower left")


def _correlation(axes: Any, study: TraceFit) -> None:
    lags, noise = np.arange(1, study.rho.size + 1), 2 / np.sqrt(study.history.intervals.size)
    axes.axhspan(-noise, noise, color=light("faint"), zorder=0)
    axes.semilogx(lags, study.rho, ".", color=light("series-0"), markersize=4)
    if np.isfinite(study.exponent):
        upto = int(np.argmax(study.rho < noise)) or study.rho.size
        h = lags[:upto]
        level = np.exp(np.average(np.log(study.rho[:upto]) + study.exponent * np.log(h), weights=1 / h))
        axes.semilogx(
            h, level * h**-study.exponent, color=light("series-1"), lw=1.2, label=f"lag^-{study.exponent:.2f}"
        )
        axes.legend(loc="upper right")
    axes.set_title("correlation of intervals (shaded: noise)", loc="left")
    axes.set_xlabel("lag")


def _hours(axes: Any, study: TraceFit) -> None:
    assert study.hours is not None
    days = (study.history.end - study.history.start) / DAY
    axes.bar(np.arange(24) + 0.5, study.hours / days, width=0.85, color=light("series-0"))
    axes.set_xlim(0, 24)
    axes.set_xticks(range(0, 25, 6))
    axes.set_title("events an hour, over the day", loc="left")
    axes.set_xlabel("hour, UTC")


def _staleness(axes: Any, study: TraceFit) -> None:
    per, name = (DAY, "downloads a day") if study.history.dated else (1.0, "downloads a unit of time")
    of = {column: np.array([one[column] for one in study.curve]) for column in study.curve[0]}
    rate = of["rate"] * per
    axes.fill_between(
        rate, of["low"], of["high"], color=light("series-0"), alpha=0.25, linewidth=0, label="measured, by phase"
    )
    axes.semilogx(rate, of["measured"], "o", color=light("ink"), markersize=3.5, label="measured")
    axes.semilogx(rate, of["empirical"], color=light("series-0"), lw=1.2, label="recorded law")
    axes.semilogx(rate, of["poisson"], "--", color=light("series-1"), lw=1.2, label="Poisson")
    axes.set_ylim(0, 1)
    axes.set_title("staleness under constant downloads", loc="left")
    axes.set_xlabel(name)
    axes.legend(loc="upper right")
