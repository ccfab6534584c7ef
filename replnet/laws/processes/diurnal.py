"""A Poisson process whose rate follows the clock, as people do.

    rate(t) = r (1 + s cos(2 pi t / T)),    integral over (t, t + x) of it =
              r x + (r s T / pi) sin(pi x / T) cos(2 pi (t + x / 2) / T)                  (1)

At time zero it is any time of the day. Averaged over the day, with z = (r s T / pi) sin(pi x / T)
and I_n the modified Bessel functions, the age has the tail

    G(x) = exp(-r x) I_0(z),                                                              (2)

and an interval the tail -G'(x) / r,

    exp(-r x) (I_0(z) - s cos(pi x / T) I_1(z)).                                          (3)

Backwards in time the rate is the same function.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from replnet.laws.inversion import solved
from replnet.laws.law import Array, Law
from replnet.laws.numeric import Age, excess_integral
from replnet.laws.processes.order import Chance, Floats, Flow, Ints, Order, Ordered, Walk
from replnet.laws.processes.streams import FUTURE, PAST, Streams
from replnet.text.errors import FieldError, finite, one_of, positive
from replnet.text.grammar import number


@final
@dataclass(frozen=True, slots=True)
class Diurnal(Order):
    """The mean rate, its swing as a share of it, and the length of a day."""

    rate: float
    swing: float
    period: float

    def __str__(self) -> str:
        return f"diurnal(rate={number(self.rate)}, swing={number(self.swing)}, period={number(self.period)})"

    @property
    def marginal(self) -> DayGap:
        return DayGap(self)

    def flow(self, chance: Chance) -> Flow:
        phase = np.exp(-chance.starts(0))
        ahead = _Day(self, phase, chance.streams(FUTURE))
        # The rate is even in time: backwards from a phase is forwards from its negative.
        return Flow.outwards(phase.size, ahead, lambda: _Day(self, -phase, chance.streams(PAST)))


@final
class _Day(Walk):
    """From the time of the day at time zero on, as a share of the day."""

    def __init__(self, order: Diurnal, phase: Floats, chance: Streams) -> None:
        self._order, self._phase = order, phase.copy()
        self._chance, self._used = chance, np.zeros(phase.size, np.int64)

    def next(self, rows: Ints, block: int) -> Floats:
        from replnet.laws.processes.kernels import by_the_clock

        waits, of = np.empty((rows.size, block)), self._order
        by_the_clock(
            self._chance.key, self._chance.gamma, self._used, rows, of.rate, of.swing, of.period, self._phase, waits
        )
        return waits


@final
@dataclass(frozen=True, slots=True, repr=False)
class DayGap(Law):
    """The intervals of a diurnal process, each as likely as any other."""

    of: Diurnal

    def __str__(self) -> str:
        return f"shuffled({self.of})"

    @property
    def mean(self) -> float:
        return 1 / self.of.rate

    @property
    def second_moment(self) -> float:
        return 2 * float(excess_integral(self).beyond(0.0))

    def _bessel(self, x: Array) -> tuple[Array, Array, Array]:
        """exp(-r x) I_0(z) and I_1(z), and the cosine of (3)."""
        from scipy.special import i0e, i1e

        x = np.asarray(x, dtype=float)
        turn = math.pi * (x / self.of.period % 2)
        z = self.of.rate * self.of.swing * self.of.period / math.pi * np.sin(turn)
        size = np.exp(np.abs(z) - self.of.rate * x)
        return size * i0e(z), size * i1e(z), np.cos(turn)

    def tail(self, x: Array) -> Array:
        zeroth, first, cosine = self._bessel(x)
        return np.clip(zeroth - self.of.swing * cosine * first, 0.0, 1.0)[()]

    def excess(self, x: Array) -> Array:
        return self._bessel(x)[0] / self.of.rate

    def solve(self, e: Array) -> Array:
        return solved(self, e, around=self.mean)

    def draw(self, e: Array) -> Array:
        from replnet.laws.draw_tables import interpolated

        return interpolated(self, e)

    @property
    def age(self) -> Law:
        return Age(self)


def diurnal(*, swing: float, period: float, rate: float | None = None, mean: float | None = None) -> Ordered:
    """Poisson at a rate that goes from 1 - swing to 1 + swing of its mean and back in each period."""
    swing = finite("swing", swing)
    if not 0 < swing <= 1:
        raise FieldError("swing", f"{number(swing)} is out of range", "above 0, at most 1")
    name, value = one_of(rate=rate, mean=mean)
    return Ordered(Diurnal(value if name == "rate" else 1 / value, swing, positive("period", period)))
