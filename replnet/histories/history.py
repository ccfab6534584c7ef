"""A recorded history of events: when they came, and what their intervals have in common.

With intervals x_1, x_2, ... between n instants, ranks r_i of x_i, and the mean rank r,

    correlation at lag h     rho(h) = sum (y_i - y)(y_{i+h} - y) / sum (y_i - y)^2                  (1)
    correlated at all        Q = n (n + 2) sum_{h <= H} rho(h)^2 / (n - h), chi-squared with H      (2)

Ranks stand in for y where a test is made: intervals with heavy tails have no moments
that (2) could rest on. Drift is an analysis of variance of mean ranks in stretches,
compared with those of pieces inside a stretch, so that correlation over less than
a piece does not count as drift:

    F = B^2 / W^2,  B^2 between stretches, W^2 between the pieces of one             (3)

An interval of a record is off by up to one step of the decimals, seconds or minutes that its instants are
written in, or of the floats that hold them. Ranks of such errors make patterns of their own, such as 0.3 and
0.4 in turns where the interval is 0.35. So where a step is given, intervals within a step and a half of their
median are equal, and so are those of every further 3 steps. What is left to see are differences above that.

A rhythm of the day shows in the counts c_h of the hours. Every day is turned by
an hour of its own: bursts stay together, the rhythm is lost, and the share of
turned records with sum c_h^2 as large is the chance of what was seen            (4)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from replnet.processes import date_unit
from replnet.text import FieldError

Floats = NDArray[np.float64]

DAY = 86_400.0
PORTMANTEAU = 10  # lags of (2)
STRETCHES = ((200, 10, 5), (24, 4, 3))  # intervals needed, stretches, pieces of each, for (3)
TURNS = 199  # records turned at random, (4)
CALENDAR = (60.0, 300.0, 900.0, 1800.0, 3600.0, 21_600.0, 43_200.0, DAY, 7 * DAY)
CLOCK = (DAY, 60.0)  # steps that dates are written in, beside seconds and their decimals
STEPS_PER_CELL = 3  # an interval that is written with an error of one at most stays with those like it
BEAT_STRENGTH = 0.8  # length of the mean phase from which intervals count as multiples of a beat


@final
@dataclass(frozen=True, eq=False)
class History:
    """A recorded history: the instants of its events in ascending order (`times`), of which several may be the same.

    `name` is what errors call it. It raises a FieldError unless the times are finite numbers in order, at 2 or more
    different instants.
    """

    times: Floats
    name: str = "history"

    def __repr__(self) -> str:
        return f"History({self.name}, {self.times.size:,} events from {self.start:.10g} to {self.end:.10g})"

    def __post_init__(self) -> None:
        times = np.asarray(self.times)
        if times.ndim != 1 or times.dtype.kind not in "iuf":
            raise FieldError(self.name, "not a plain list of numbers", "the instants of events, in ascending order")
        times = times.astype(float)
        bad = np.flatnonzero(~np.isfinite(times))
        if bad.size:
            raise FieldError(self.name, f"event {bad[0] + 1} is at {times[bad[0]]}", "a finite instant")
        back = np.flatnonzero(np.diff(times) < 0)
        if back.size:
            raise FieldError(self.name, f"event {back[0] + 2} is earlier than the one before it", "ascending order")
        if times.size < 2 or times[0] == times[-1]:
            raise FieldError(self.name, f"events at {min(times.size, 1)} instant", "at least 2 instants")
        times.setflags(write=False)
        object.__setattr__(self, "times", times)

    @property
    def start(self) -> float:
        """The first instant."""
        return float(self.times[0])

    @property
    def end(self) -> float:
        """The last instant."""
        return float(self.times[-1])

    @property
    def intervals(self) -> Floats:
        """The intervals between successive instants with an event, none of which is zero, in the order of time."""
        gaps = np.diff(self.times)
        return gaps[gaps > 0]

    @property
    def rate(self) -> float:
        """The number of intervals above zero per unit of time; events of one instant count as one."""
        return self.intervals.size / (self.end - self.start)

    @property
    def dated(self) -> bool:
        """Whether the times are seconds since 1970, so that there are days and hours."""
        return are_dates(self.times)


def are_dates(times: Floats) -> bool:
    """Whether all times, taken as seconds since 1970, lie between 1990 and 2100, so that they must be dates."""
    return date_unit(times) == "s"


def resolution(times: Floats) -> float:
    """Return the largest step of which all `times` are multiples: 1, 0.1, ..., or a minute or a day if they are dates.

    If there is none that floats of this size can tell, it is twice the distance of neighbouring floats.
    """
    rounding = 2 * float(np.spacing(np.abs(times).max()))
    clock = CLOCK if are_dates(times) else ()
    for step in (*clock, *(10.0**-digits for digits in range(16))):
        if step <= 4 * rounding:
            break
        if np.all(np.abs(times - step * np.rint(times / step)) <= rounding):
            return float(step)
    return rounding


def cell_numbers(values: Floats, step: float) -> Floats:
    """Return the number of the bin of each value, counted from the one around the median; bins are 3 steps wide.

    `step` is how exactly values are recorded; if it is 0, return the values themselves.
    """
    return np.rint((values - np.median(values)) / (STEPS_PER_CELL * step)) if step else values


def correlation(values: Floats, most: int) -> Floats:
    """Return an array of the correlations (1) of `values` with themselves at lags 1 to `most`, each from -1 to 1.

    They are zeros if all values are the same.
    """
    centred = values - values.mean()
    whole = float(centred @ centred)
    if whole == 0:
        return np.zeros(most)
    size = 1 << (2 * values.size - 1).bit_length()
    spectrum = np.abs(np.fft.rfft(centred, size)) ** 2
    return np.asarray(np.fft.irfft(spectrum, size)[1 : most + 1] / whole)


def ranks(values: Floats) -> Floats:
    """Return the rank of each value in ascending order, from 1; equal values share the mean of their ranks."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(count) - (count - 1) / 2)[place], dtype=float)


def decay(rho: Floats, n: int) -> float:
    """Return the exponent b of the correlation rho(h) = c h^-b, fitted to the lags before rho first drowns in noise.

    `rho` has the correlations of `n` values at lags 1, 2, ..., and noise is what is below 2 / sqrt(n). NaN if fewer
    than 5 lags come before it.
    """
    drowned = np.flatnonzero(rho < 2 / math.sqrt(n))
    lags_above_noise = int(drowned[0]) if drowned.size else rho.size
    if lags_above_noise < 5:
        return math.nan
    h = np.arange(1, lags_above_noise + 1)
    # Every octave weighs the same, or the many large lags would decide alone.
    slope = np.polynomial.polynomial.polyfit(np.log(h), np.log(rho[:lags_above_noise]), 1, w=1 / np.sqrt(h))[1]
    return -float(slope)


def rank_correlation(intervals: Floats, step: float = 0.0) -> tuple[float, float]:
    """Return the correlation of the ranks of neighbouring intervals, and the chance of so much in independent ones.

    The chance is that of a portmanteau test over the first 10 lags, (2). Intervals count as equal within `step`, the
    `resolution` of the instants, unless it is 0. Of fewer than 4 intervals, or equal ones, the result is 0 and 1.
    """
    from scipy.special import chdtrc

    n, order = intervals.size, ranks(cell_numbers(intervals, step))
    lags = min(PORTMANTEAU, n // 4)
    if lags < 1 or np.all(order == order[0]):
        return 0.0, 1.0
    rho = correlation(order, lags)
    q = n * (n + 2) * float(np.sum(rho**2 / (n - np.arange(1, lags + 1))))
    return float(rho[0]), float(chdtrc(lags, q))


def drift(intervals: Floats, step: float = 0.0) -> tuple[float, float]:
    """Return the largest mean interval of a part of the record over the smallest, and the chance of that without drift.

    The record is cut into 4 parts, or 10 from 200 intervals on, whose mean ranks are compared with the scatter inside
    the parts, (3). Intervals count as equal within `step`, the `resolution` of the instants, unless it is 0. Both are
    NaN for fewer than 24 intervals.
    """
    from scipy.special import fdtrc

    fitting = [shape for needed, *shape in STRETCHES if intervals.size >= needed]
    if not fitting:
        return math.nan, math.nan
    stretches, pieces = fitting[0]
    parts = np.array_split(ranks(cell_numbers(intervals, step)), stretches * pieces)
    mean = np.array([part.mean() for part in parts]).reshape(stretches, pieces)
    between = pieces * float(mean.mean(axis=1).var(ddof=1))
    within = float(mean.var(axis=1, ddof=1).mean())
    lengths = [part.mean() for part in np.array_split(intervals, stretches)]
    ratio = max(lengths) / min(lengths)
    if within == 0:
        return ratio, 1.0 if between == 0 else 0.0
    return ratio, float(fdtrc(stretches - 1, stretches * (pieces - 1), between / within))


def hourly(times: Floats) -> NDArray[np.int64]:
    """Return an array of how many events there are in each of the 24 hours of the day (UTC), over all days together.

    `times` are seconds since 1970.
    """
    return np.bincount((times % DAY // 3600).astype(np.int64), minlength=24)


def rhythm(times: Floats, rng: np.random.Generator) -> tuple[float, float]:
    """Return the busiest hour's events over the mean hour's, and the chance of so uneven a day without a rhythm.

    `times` are seconds since 1970. The chance is the share of records as uneven, of those in which every day is turned
    by a random number of hours, drawn by `rng`, (4).
    """
    days, row = np.unique((times // DAY).astype(np.int64), return_inverse=True)
    hour = (times % DAY // 3600).astype(np.int64)
    total = hourly(times)
    seen = float(total @ total)
    larger = 0
    for _ in range(TURNS):
        turned = np.bincount((hour + rng.integers(0, 24, days.size)[row]) % 24, minlength=24)
        larger += float(turned @ turned) >= seen
    return float(total.max() / total.mean()), (larger + 1) / (TURNS + 1)


def beat(intervals: Floats) -> dict[str, float] | None:
    """Return the longest `period` of which intervals are about multiples, and their deviation from these as `jitter`.

    The period is the median interval or one of the calendar, such as an hour, and at most twice the median.
    The jitter is a standard deviation. None if there is no period.
    """
    median = float(np.median(intervals))
    longest_beat = None
    for period in sorted({*CALENDAR, median}):
        if period > 2 * median or period < 0.01 * float(intervals.mean()):
            continue
        length = min(abs(complex(np.exp(2j * np.pi * (intervals % period) / period).mean())), 1.0)
        if length >= BEAT_STRENGTH:
            jitter = period * math.sqrt(-2 * math.log(length)) / (2 * math.pi)
            longest_beat = {"period": period, "jitter": jitter}
    return longest_beat


def tail(intervals: Floats) -> tuple[Floats, Floats]:
    """Return the distinct intervals in ascending order, and the share of all intervals that are longer than each."""
    values, counts = np.unique(intervals, return_counts=True)
    return values, 1 - np.cumsum(counts) / intervals.size
