"""Events that fall into a window of the day: a crawler that mostly works at night (Sync 3, Fig. 5).

An element that is synchronised n times a day at equal distances has events at u = (k + phase) / n of a clock that runs
evenly. A clock on which a share s of the day passes within a window of it of length w shows at u the time

    R(u) = floor(u) + T(u - floor(u)),   T(v) = v w / s up to s,  w + (v - s) (1 - w) / (1 - s) from there on,     (1)

in days. With s = 1 nothing happens outside the window. In equilibrium time zero is any time of the day, and u at
events is even, so that an interval is

    x(u) = R(u + 1 / n) - R(u),   u even on (0, 1).                                                                 (2)

Between the u at which u or u + 1 / n reach the begin or the end of the window x is a line, so its law is a mixture
of at most four parts, each a constant or even between two ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from replnet.laws import Array, Floats, Ints, Numerical, family
from replnet.processes.order import IntervalGenerator, Ordered, StationaryProcesses
from replnet.processes.streams import ProcessStreams
from replnet.text import FieldError, number_text, one_of, positive

ROUNDING = 1e-14  # periods by which rounding may move the end of an interval
MOST_IN_PERIOD = 1e6  # events in a period, above which floats no longer tell them apart after a million periods


class Parts(NamedTuple):
    """The parts of a mixture of constants and uniforms, as arrays: the chance of each, and its ends `low` and `high`.

    The ends of a constant are equal.
    """

    chance: Floats
    low: Floats
    high: Floats


@final
@dataclass(frozen=True, repr=False)
class WindowGap(Numerical):
    """The law of the intervals of events at equal distances on a clock that is fast or slow in a window of each period.

    There are `mean_rate` events per unit of time. On that clock a `share` of the `period` passes while the `window`, a
    length of time, lasts, and the rest outside. Of all events each is as likely as any other to begin the interval.
    """

    mean_rate: float
    window: float
    period: float
    share: float

    def __str__(self) -> str:
        return f"shuffled({_windowed_text(self)})"

    @property
    def mean(self) -> float:
        return 1 / self.mean_rate

    @property
    def step(self) -> float:
        """The distance of events, as a share of the period, on the clock on which they are equally far apart."""
        return 1 / (self.mean_rate * self.period)

    def clock_time(self, u: Floats) -> Floats:
        """Return the time R(u) of (1), in periods, at which the clock on which events are equally far apart shows `u`.

        That clock is slow or fast: a share of its period passes while the window lasts, the rest outside.
        """
        day = np.floor(u)
        return np.asarray(day + np.interp(u - day, (0.0, self.share, 1.0), (0.0, self.window / self.period, 1.0)))

    @cached_property
    def parts(self) -> Parts:
        """The mixture that an interval has: of constants and of uniforms between two ends."""
        w, s = self.window / self.period, self.share
        edges = np.unique(np.concatenate([[0.0, s, 1.0], (np.array([0.0, s]) - self.step) % 1.0]))
        chance, middle = np.diff(edges), (edges[1:] + edges[:-1]) / 2
        slow, fast = w / s, (1 - w) / (1 - s) if s < 1 else 0.0
        first, last = (np.where(u % 1.0 < s, slow, fast) for u in (middle, middle + self.step))
        width = np.abs(last - first) * chance
        low = self.clock_time(middle + self.step) - self.clock_time(middle) - width / 2
        ends = _merge_near(np.concatenate([low, low + width])) * self.period
        return Parts(chance, ends[: low.size], ends[low.size :])

    def _sum(self, x: Array, value: Callable[[Floats, float, float], Floats]) -> Array:
        """Return the mean of `value(x, low, high)` over the parts of the mixture, weighted by their chance.

        A part goes from `low` to `high`; `value` is called with x as an array. The mean has the shape of x.
        """
        points = np.asarray(x, dtype=float)
        parts = zip(*(column.tolist() for column in self.parts), strict=True)
        return sum(chance * value(points, low, high) for chance, low, high in parts)

    def tail(self, x: Array) -> Array:
        return self._sum(x, lambda x, low, high: _share_below(high - x, high - low, x < low))

    def cdf(self, x: Array) -> Array:
        return self._sum(x, lambda x, low, high: _share_below(x - low, high - low, x >= high))

    def excess(self, x: Array) -> Array:
        def part(x: Floats, low: float, high: float) -> Floats:
            excess_of_high, width = np.maximum(high - x, 0.0), high - low
            return np.where(x < low, excess_of_high - width / 2, excess_of_high**2 / 2 / (width or 1.0))

        return self._sum(x, part)

    def integrated_tail(self, x: Array) -> Array:
        def part(x: Floats, low: float, high: float) -> Floats:
            excess_over_low = np.clip(x - low, 0.0, high - low)
            return np.minimum(x, high) - excess_over_low**2 / 2 / (high - low or 1.0)

        return self._sum(x, part)

    @cached_property
    def _quantiles(self) -> tuple[Floats, Floats]:
        """The polygon of the quantile function: the probabilities below and up to each end of a part, and these ends.

        Both arrays ascend, with two elements for each end.
        """
        ends = np.unique(np.concatenate(self.parts[1:]))
        cumulative = np.asarray(self.cdf(ends))
        atoms = self._sum(ends, lambda x, low, high: 1.0 * ((x == low) & (low == high)))
        return np.column_stack([cumulative - atoms, cumulative]).ravel(), np.repeat(ends, 2)

    def quantile(self, p: Array) -> Array:
        cumulative, ends = self._quantiles
        p = np.minimum(np.asarray(p, dtype=float), cumulative[-1])
        after = np.searchsorted(cumulative, p)
        before = np.maximum(after - 1, 0)
        gap = cumulative[after] - cumulative[before]
        share = (p - cumulative[before]) / np.where(gap > 0, gap, 1.0)
        return np.where(p > 0, ends[before] + share * (ends[after] - ends[before]), 0.0)[()]

    def isf(self, q: Array) -> Array:
        return self.quantile(1 - np.asarray(q, dtype=float))

    def solve(self, e: Array) -> Array:
        return self.quantile(-np.expm1(-np.asarray(e, dtype=float)))

    def draw(self, e: Array) -> Array:
        return self.solve(e)

    @property
    def second_moment(self) -> float:
        chance, low, high = self.parts
        return float(chance @ (low**2 + low * high + high**2)) / 3

    @cached_property
    def end(self) -> float:
        """The largest interval."""
        return float(self.parts.high.max())

    @property
    def breaks(self) -> tuple[float, ...]:
        return tuple(np.unique(np.concatenate(self.parts[1:])).tolist())


def _share_below(part: Floats, width: float, atom: NDArray[np.bool_]) -> Floats:
    """Return `part` as a share of `width`, from 0 to 1; for a constant, of width 0, 1 where `atom` is true."""
    return np.clip(part / width, 0.0, 1.0) if width > 0 else np.where(atom, 1.0, 0.0)


def _merge_near(values: Floats) -> Floats:
    """Return `values`, in their order, with those made equal that differ by rounding alone, by at most 1e-14.

    They become equal to the least of them.
    """
    order = np.argsort(values)
    first = np.diff(values[order], prepend=-np.inf) > ROUNDING
    merged = np.empty_like(values)
    merged[order] = values[order][first][np.cumsum(first) - 1]
    return merged


def _windowed_text(gap: WindowGap) -> str:
    """Return the text of the process with these intervals, such as "windowed(rate=2, window=6, period=24)"."""
    share = f", share={number_text(gap.share)}" if gap.share < 1 else ""
    sizes = f"rate={number_text(gap.mean_rate)}, window={number_text(gap.window)}, period={number_text(gap.period)}"
    return f"windowed({sizes}{share})"


@final
@dataclass(frozen=True, repr=False)
class Windowed(Ordered):
    """A process with events at equal distances on a clock that is faster or slower in a window of each period."""

    marginal: WindowGap

    def start_processes(self, processes: ProcessStreams) -> StationaryProcesses:
        """Start one process for each of `processes`, from its stream, at a random time of day and a random phase."""
        time, phase = np.exp(-processes.start_exponentials(0)), np.exp(-processes.start_exponentials(1))
        w, s = self.marginal.window / self.marginal.period, self.marginal.share
        # If nothing happens outside the window, the whole rest of the day is one instant of the even clock.
        now = np.interp(time, (0.0, w, 1.0), (0.0, s, 1.0))
        return StationaryProcesses.from_time_zero(
            time.size, self._generator(time, now, phase, 1), lambda: self._generator(time, now, 1 - phase, -1)
        )

    def _generator(self, time: Floats, now: Floats, phase: Floats, direction: int) -> IntervalGenerator:
        """Return a generator of intervals from a `time` of the day on, at which the clock of the events shows `now`.

        On that clock they are equally far apart. Both count in periods, but the intervals in units of time. All three
        arrays have an element per process. The first event is `phase` steps away, from 0 to 1; `direction` is 1 to go
        on in time, and -1 to go back.
        """
        gap, intervals_given = self.marginal, np.zeros(time.size, np.int64)

        def generate(rows: Ints, count: int) -> Floats:
            turn = intervals_given[rows, None] + np.arange(count + 1)
            u = now[rows, None] + direction * (turn - 1 + phase[rows, None]) * gap.step
            times = np.where(turn > 0, gap.clock_time(u), time[rows, None])
            intervals_given[rows] += count
            return np.asarray(np.maximum(direction * np.diff(times, axis=1), 0.0) * gap.period)

        return generate


@family("windowed(rate=2, window=6, period=24)")
def windowed(
    window: float, period: float, share: float = 1.0, *, rate: float | None = None, mean: float | None = None
) -> Ordered:
    """Return the process with equally distant events, squeezed so that a share, or all, fall into a window of a period.

    `window` is the length of the window, at most that of the `period`, and `share` that of the events in it. Either
    the `rate` of events or their `mean` interval is given. Raises a FieldError if an argument is out of range.

    >>> rn.windowed(window=6, period=24, rate=1).rate
    1.0
    """
    period, window, share = positive("period", period), positive("window", window), positive("share", share)
    if window > period:
        raise FieldError("window", f"{number_text(window)} is longer than the period", f"at most {number_text(period)}")
    if share > 1:
        raise FieldError("share", f"{number_text(share)} is out of range", "above 0, at most 1")
    if share < 1 and window == period:
        raise FieldError("share", f"{number_text(share)} in the whole period", "1, or a window that is shorter")
    name, value = one_of(rate=rate, mean=mean)
    gap = WindowGap(value if name == "rate" else 1 / value, window, period, share)
    if not gap.step * MOST_IN_PERIOD > 1:
        raise FieldError("rate", f"{gap.mean_rate * period:.3g} in a period", f"at most {MOST_IN_PERIOD:g}")
    return Windowed(gap, _windowed_text(gap))
