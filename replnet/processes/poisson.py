"""Poisson processes whose rate changes: by the clock, as people do, or at random, in bursts and lulls.

`diurnal` has the rate and, from any time t on, the expected events

    rate(t) = r (1 + s cos(2 pi t / T)),    integral over (t, t + x) of it =
              r x + (r s T / pi) sin(pi x / T) cos(2 pi (t + x / 2) / T)                  (1)

At time zero it is any time of the day. Averaged over the day, with z = (r s T / pi) sin(pi x / T)
and I_n the modified Bessel functions, the age has the tail

    G(x) = exp(-r x) I_0(z),                                                              (2)

and an interval the tail -G'(x) / r,

    exp(-r x) (I_0(z) - s cos(pi x / T) I_1(z)).                                          (3)

Backwards in time the rate is the same function.

`modulated`, the Markov-modulated Poisson process, stays in a state i for an exponential time of
mean m_i, with events at the rate l_i, and goes over to any of the other states, each as likely. Let
D be the generator of that chain and L the diagonal of the rates. In equilibrium state i has the share
s_i = m_i / sum m, and the flows s_i D_ij are symmetric, so the chain looks the same backwards and
S = R (D - L) / R is symmetric for R = diag(sqrt(s)). With its eigenvalues -t_k and unit vectors v_k
the age, the time without an event, has the tail

    P(A > x) = s exp((D - L) x) 1 = sum over k of (v_k . sqrt(s))^2 exp(-t_k x),          (4)

a mixture of exponentials, and so is the law of an interval, with the weights of (4) times t_k.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from replnet.laws import Array, Floats, Hyperexponential, Numerical, family, special
from replnet.processes.order import IntervalGenerator, Ordered, StationaryProcesses, compiled_generator
from replnet.processes.streams import FUTURE, PAST, ProcessStreams
from replnet.text import FieldError, field_name, finite, list_text, many, number_text, one_of, positive, sequence

NEGLIGIBLE = 1e-14  # weight of a mode that rounding alone may have made
DIGITS = 1e-6  # relative error of the rate from which on too little is left of the modes


@final
@dataclass(frozen=True, repr=False)
class DayGap(Numerical):
    """The law of the intervals of a Poisson process whose rate swings once per `period`, each as likely as any other.

    `mean_rate` is the mean number of events per unit of time, and `swing` the largest deviation of the rate from it, as
    a share of it.
    """

    mean_rate: float
    swing: float
    period: float

    def __str__(self) -> str:
        return f"shuffled({_diurnal_text(self)})"

    @property
    def mean(self) -> float:
        return 1 / self.mean_rate

    def _bessel(self, x: Array) -> tuple[Array, Array, Array]:
        """Return exp(-r x) I_0(z), exp(-r x) I_1(z) and cos(pi x / T), for a process of mean rate r and period T.

        I_n are modified Bessel functions, z = (r s T / pi) sin(pi x / T), and s is the swing.
        """
        x = np.asarray(x, dtype=float)
        turn = math.pi * (x / self.period % 2)
        z = self.mean_rate * self.swing * self.period / math.pi * np.sin(turn)
        size = np.exp(np.abs(z) - self.mean_rate * x)
        return size * special().i0e(z), size * special().i1e(z), np.cos(turn)

    def tail(self, x: Array) -> Array:
        zeroth, first, cosine = self._bessel(x)
        return np.clip(zeroth - self.swing * cosine * first, 0.0, 1.0)[()]

    def excess(self, x: Array) -> Array:
        return self._bessel(x)[0] / self.mean_rate


def _diurnal_text(gap: DayGap) -> str:
    """Return the text of the diurnal process with these intervals, such as "diurnal(rate=1, swing=0.5, period=24)"."""
    return (
        f"diurnal(rate={number_text(gap.mean_rate)}, swing={number_text(gap.swing)}, period={number_text(gap.period)})"
    )


@final
@dataclass(frozen=True, repr=False)
class Diurnal(Ordered):
    """A Poisson process whose rate swings about its mean once a period, as a cosine.

    Time zero is a random time of the period. `marginal` has the mean rate, the swing and the period.
    """

    marginal: DayGap

    def start_processes(self, processes: ProcessStreams) -> StationaryProcesses:
        """Start one diurnal process for each of `processes`, from its streams, at a random time of the day."""
        from replnet.processes.kernels import draw_diurnal_intervals

        phase, gap = np.exp(-processes.start_exponentials(0)), self.marginal
        day = gap.mean_rate, gap.swing, gap.period
        forwards = compiled_generator(draw_diurnal_intervals, processes.streams(FUTURE), *day, phase.copy())
        # The rate is even in time: backwards from a phase is forwards from its negative.
        return StationaryProcesses.from_time_zero(
            phase.size,
            forwards,
            lambda: compiled_generator(draw_diurnal_intervals, processes.streams(PAST), *day, -phase),
        )


@family("diurnal(rate=10, swing=0.8, period=24)")
def diurnal(*, swing: float, period: float, rate: float | None = None, mean: float | None = None) -> Ordered:
    """Return the Poisson process whose rate goes from 1 - swing to 1 + swing times its mean and back in each period.

    Either the mean `rate` or the `mean` interval is given. Raises a FieldError if not, or if an argument is out of
    range.

    >>> rn.diurnal(rate=10, swing=0.8, period=24)
    diurnal(rate=10, swing=0.8, period=24)
    """
    swing = finite("swing", swing)
    if not 0 < swing <= 1:
        raise FieldError("swing", f"{number_text(swing)} is out of range", "above 0, at most 1")
    name, value = one_of(rate=rate, mean=mean)
    gap = DayGap(value if name == "rate" else 1 / value, swing, positive("period", period))
    return Diurnal(gap, _diurnal_text(gap))


@final
@dataclass(frozen=True, repr=False)
class Modulated(Ordered):
    """A Poisson process at the rate of its state, which changes at random.

    `rates` has the rate of events in each state, and `means` the mean time that each state lasts.
    """

    rates: tuple[float, ...]
    means: tuple[float, ...]

    def start_processes(self, processes: ProcessStreams) -> StationaryProcesses:
        """Start one modulated process for each of `processes`, from its streams.

        Its state at time zero is drawn by the share of time of the states.
        """
        from replnet.processes.kernels import draw_modulated_intervals

        cumulative = np.cumsum(self.means) / sum(self.means)
        state = np.minimum(np.searchsorted(cumulative, np.exp(-processes.start_exponentials(0))), cumulative.size - 1)
        rates, leave = np.array(self.rates), 1 / np.array(self.means)

        def generator(part: int) -> IntervalGenerator:
            return compiled_generator(draw_modulated_intervals, processes.streams(part), rates, leave, state.copy())

        return StationaryProcesses.from_time_zero(state.size, generator(FUTURE), lambda: generator(PAST))


@family("modulated(rates=[10, 1], means=[1, 5])")
def modulated(rates: Sequence[float], means: Sequence[float]) -> Ordered:
    """Return the Poisson process at the rate of its state, which lasts an exponential time until any other comes.

    `rates` has the rate of events and `means` the mean time of each state; the next state is any other, all as likely.
    Raises a FieldError unless they are as many, two or more, with a rate above 0, or if states change so fast that it
    makes no difference.

    >>> rn.modulated(rates=[10, 1], means=[1, 5])
    modulated(rates=[10, 1], means=[1, 5])
    """
    means = many("means", means)
    named = ((field_name(("rates", place)), rate) for place, rate in enumerate(sequence("rates", rates)))
    rates = tuple(0.0 if finite(name, rate) == 0 else positive(name, rate) for name, rate in named)
    if len(rates) < 2:
        raise FieldError("rates", "a single rate", "two or more, or exponential(rate=...)")
    if len(means) != len(rates):
        raise FieldError("means", f"{len(means)} means for {len(rates)} rates", "one mean time per rate")
    if not any(rates):
        raise FieldError("rates", "all are 0", "one or more above 0")
    weight, decay = _modes(np.array(rates), np.array(means))
    rate = float(np.dot(rates, means)) / sum(means)
    # The weights add up to the rate, of which rounding leaves nothing if states last no part of an interval.
    if not abs(float(weight.sum()) - rate) <= DIGITS * rate:
        wrong = "states change so much faster than there are events that they make no difference"
        raise FieldError("rates", wrong, f"exponential(rate={rate:g})")
    text = f"modulated(rates={list_text(rates)}, means={list_text(means)})"
    return Modulated(Hyperexponential(weight.tolist(), decay.tolist()), text, rates, means)


def _modes(rates: Floats, means: Floats) -> tuple[Floats, Floats]:
    """Return the weights and the rates of the exponentials that the law of an interval is a mixture of.

    `rates` and `means` are the rates of events and the mean times of the states of a modulated process. The weights are
    those of (4) times the rates of the exponentials, and add up to the mean rate of the process.
    """
    n, root = rates.size, np.sqrt(means / sum(means))
    flow = (1 / means)[:, None] * (1 - np.eye(n)) / (n - 1)
    flow -= np.diag(flow.sum(axis=1) + rates)
    decay, modes = np.linalg.eigh(-flow * root[:, None] / root)
    weight = (root @ modes) ** 2 * decay
    is_counted = weight > NEGLIGIBLE * weight.sum()
    return weight[is_counted], decay[is_counted]
