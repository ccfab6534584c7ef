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

from replnet.laws.law import Array, Floats, Ints, family
from replnet.laws.numeric import Numerical
from replnet.laws.processes.order import Flow, Ordered, Walk
from replnet.laws.processes.streams import Chance
from replnet.text.errors import FieldError, one_of, positive
from replnet.text.grammar import number

SAME = 1e-14  # periods by which rounding may move the end of an interval
DEEPEST = 1e6  # events in a period, above which floats no longer tell them apart after a million periods


class Parts(NamedTuple):
    """Of a mixture: the chance of each, where it begins, and where it ends."""

    chance: Floats
    low: Floats
    high: Floats


@final
@dataclass(frozen=True, repr=False)
class WindowGap(Numerical):
    """The intervals (2), each as likely as any other."""

    mean_rate: float
    window: float
    period: float
    share: float

    def __str__(self) -> str:
        return f"shuffled({_window(self)})"

    @property
    def mean(self) -> float:
        return 1 / self.mean_rate

    @property
    def step(self) -> float:
        """1 / n of (2)."""
        return 1 / (self.mean_rate * self.period)

    def shown(self, u: Floats) -> Floats:
        """R of (1)."""
        day = np.floor(u)
        return np.asarray(day + np.interp(u - day, (0.0, self.share, 1.0), (0.0, self.window / self.period, 1.0)))

    @cached_property
    def parts(self) -> Parts:
        """Of (2)."""
        w, s = self.window / self.period, self.share
        edges = np.unique(np.concatenate([[0.0, s, 1.0], (np.array([0.0, s]) - self.step) % 1.0]))
        chance, middle = np.diff(edges), (edges[1:] + edges[:-1]) / 2
        slow, fast = w / s, (1 - w) / (1 - s) if s < 1 else 0.0
        first, last = (np.where(u % 1.0 < s, slow, fast) for u in (middle, middle + self.step))
        width = np.abs(last - first) * chance
        low = self.shown(middle + self.step) - self.shown(middle) - width / 2
        ends = _settled(np.concatenate([low, low + width])) * self.period
        return Parts(chance, ends[: low.size], ends[low.size :])

    def _sum(self, x: Array, value: Callable[[Floats, float, float], Floats]) -> Array:
        """Over parts, of what is asked of x and the ends of each."""
        points = np.asarray(x, dtype=float)
        parts = zip(*(one.tolist() for one in self.parts), strict=True)
        return sum(chance * value(points, low, high) for chance, low, high in parts)

    def tail(self, x: Array) -> Array:
        return self._sum(x, lambda x, low, high: _even(high - x, high - low, x < low))

    def cdf(self, x: Array) -> Array:
        return self._sum(x, lambda x, low, high: _even(x - low, high - low, x >= high))

    def excess(self, x: Array) -> Array:
        def part(x: Floats, low: float, high: float) -> Floats:
            left, width = np.maximum(high - x, 0.0), high - low
            return np.where(x < low, left - width / 2, left**2 / 2 / (width or 1.0))

        return self._sum(x, part)

    def integrated_tail(self, x: Array) -> Array:
        def part(x: Floats, low: float, high: float) -> Floats:
            over = np.clip(x - low, 0.0, high - low)
            return np.minimum(x, high) - over**2 / 2 / (high - low or 1.0)

        return self._sum(x, part)

    @cached_property
    def _quantiles(self) -> tuple[Floats, Floats]:
        """Points between which the quantile is a line: what is below the end of a part, and at it; and these ends."""
        ends = np.unique(np.concatenate(self.parts[1:]))
        at = np.asarray(self.cdf(ends))
        atoms = self._sum(ends, lambda x, low, high: 1.0 * ((x == low) & (low == high)))
        return np.column_stack([at - atoms, at]).ravel(), np.repeat(ends, 2)

    def quantile(self, p: Array) -> Array:
        below, ends = self._quantiles
        p = np.minimum(np.asarray(p, dtype=float), below[-1])
        after = np.searchsorted(below, p)
        before = np.maximum(after - 1, 0)
        gap = below[after] - below[before]
        share = (p - below[before]) / np.where(gap > 0, gap, 1.0)
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
        return float(self.parts.high.max())

    @property
    def breaks(self) -> tuple[float, ...]:
        return tuple(np.unique(np.concatenate(self.parts[1:])).tolist())


def _even(part: Floats, width: float, atom: NDArray[np.bool_]) -> Floats:
    """The share of a width that a part of it is; of an atom, which has none, 1 where `atom` says so."""
    return np.clip(part / width, 0.0, 1.0) if width > 0 else np.where(atom, 1.0, 0.0)


def _settled(values: Floats) -> Floats:
    """What differs by rounding alone is the same."""
    order = np.argsort(values)
    first = np.diff(values[order], prepend=-np.inf) > SAME
    found = np.empty_like(values)
    found[order] = values[order][first][np.cumsum(first) - 1]
    return found


def _window(gap: WindowGap) -> str:
    share = f", share={number(gap.share)}" if gap.share < 1 else ""
    sizes = f"rate={number(gap.mean_rate)}, window={number(gap.window)}, period={number(gap.period)}"
    return f"windowed({sizes}{share})"


@final
@dataclass(frozen=True, repr=False)
class Windowed(Ordered):
    """Events at equal distances on the clock (1)."""

    marginal: WindowGap

    def flow(self, chance: Chance) -> Flow:
        time, phase = np.exp(-chance.starts(0)), np.exp(-chance.starts(1))
        w, s = self.marginal.window / self.marginal.period, self.marginal.share
        # Where nothing happens outside the window, its end is all that the rest of the day is on the even clock.
        now = np.interp(time, (0.0, w, 1.0), (0.0, s, 1.0))
        return Flow.outwards(time.size, self._walk(time, now, phase, 1), lambda: self._walk(time, now, 1 - phase, -1))

    def _walk(self, time: Floats, now: Floats, phase: Floats, way: int) -> Walk:
        """From a time of the day, and its u, on or back (`way` -1); the first event is `phase` steps away."""
        gap, given = self.marginal, np.zeros(time.size, np.int64)

        def walk(rows: Ints, block: int) -> Floats:
            turn = given[rows, None] + np.arange(block + 1)
            u = now[rows, None] + way * (turn - 1 + phase[rows, None]) * gap.step
            at = np.where(turn > 0, gap.shown(u), time[rows, None])
            given[rows] += block
            return np.asarray(np.maximum(way * np.diff(at, axis=1), 0.0) * gap.period)

        return walk


@family("windowed(rate=2, window=6, period=24)")
def windowed(
    window: float, period: float, share: float = 1.0, *, rate: float | None = None, mean: float | None = None
) -> Ordered:
    """At equal distances, but that a share of all that happens in a period, or all of it, falls in a window of it.

    >>> rn.windowed(window=6, period=24, rate=1).rate
    1.0
    """
    period, window, share = positive("period", period), positive("window", window), positive("share", share)
    if window > period:
        raise FieldError("window", f"{number(window)} is longer than the period", f"at most {number(period)}")
    if share > 1:
        raise FieldError("share", f"{number(share)} is out of range", "above 0, at most 1")
    if share < 1 and window == period:
        raise FieldError("share", f"{number(share)} in the whole period", "1, or a window that is shorter")
    name, value = one_of(rate=rate, mean=mean)
    gap = WindowGap(value if name == "rate" else 1 / value, window, period, share)
    if not gap.step * DEEPEST > 1:
        raise FieldError("rate", f"{gap.mean_rate * period:.3g} in a period", f"at most {DEEPEST:g}")
    return Windowed(gap, _window(gap))
