"""Intervals that follow one another in an order: as they are listed, or each alike those before it.

`alternating` and recorded histories go round and round a list. Time zero falls anywhere in it, each point
of its length as likely, so an interval covers it in proportion to its length, as (1) of order.py says.

`correlated` and `longrange` turn the values of a Gaussian sequence into intervals of any law. With Z_n
standard normal and stationary, and F the law's distribution function,

    X_n = the interval that solves  -log tail(X_n) = -log P(Z > Z_n)                  (1)

has the law F, and its rank correlation (Spearman's) with X_(n + k) is

    (6 / pi) asin(r(k) / 2),    r(k) = correlation of Z_n and Z_(n + k).              (2)

Z is a sum of independent autoregressions of weights w and decays d, so that

    r(k) = sum of w_i d_i^k,   sum of w_i = 1.                                        (3)

It is a Markov chain in its summands and looks the same backwards. `correlated` has one
summand. `longrange` wants r(k) = (1 + k)^(2 H - 2), whose sum over k is infinite, as that
of fractional Gaussian noise; with b = 2 - 2 H it is a mixture of decays exp(-s),

    (1 + k)^-b = integral of exp(-k s) s^(b - 1) exp(-s) ds / Gamma(b),               (4)

taken as a sum over s = TOP RATIO^-j, and one summand for all slower ones. That is within
1 % of (4) up to a lag of 100,000; after some tens of millions of intervals nothing is left.

The interval over time zero follows (1) of order.py. Given it, Z_0 is what (1) inverts to
(where the law has atoms, any of the values that give this one), and given their sum the
summands of Z_0 are normal with

    c_i = w_i Z_0 + y_i - w_i sum of y_j,    y_i normal of variance w_i.              (5)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from replnet.laws import Floats, Ints, Lattice, family, special
from replnet.processes.order import (
    IntervalGenerator,
    Ordered,
    StationaryProcesses,
    compiled_generator,
    independent_law,
)
from replnet.processes.streams import FUTURE, PAST, ProcessStreams, Streams
from replnet.text import FieldError, convert_times, finite, list_text, many, number_text

TOP, RATIO, SUMMANDS = 16.0, 3.0, 16
BELOW_ONE = 1 - 2.0**-53  # of a normal, the largest uniform that is not infinite


@final
@dataclass(frozen=True, repr=False, eq=False)
class Cycle(Ordered):
    """A process that repeats `intervals` in this order, without end."""

    intervals: Floats

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cycle) and other.unit == self.unit and np.array_equal(self.intervals, other.intervals)

    def __hash__(self) -> int:
        return hash((Cycle, self.intervals.size, self.marginal))

    def counted_in(self, unit: str) -> Cycle:
        old_unit = self.unit
        if old_unit is None:
            return self
        return replace(super().counted_in(unit), intervals=convert_times(self.intervals, old_unit, unit))

    def start_processes(self, processes: ProcessStreams) -> StationaryProcesses:
        """Start one such process for each of `processes`, from its stream, at a random place of the cycle."""
        ends = np.cumsum(self.intervals)
        point = np.exp(-processes.start_exponentials(0)) * ends[-1]
        place = np.minimum(np.searchsorted(ends, point, side="right"), ends.size - 1)
        age = np.clip(point - (ends[place] - self.intervals[place]), 0.0, self.intervals[place])
        forwards = _cycle_generator(self.intervals, place + 1)
        return StationaryProcesses(
            age,
            self.intervals[place] - age,
            forwards,
            lambda: _cycle_generator(self.intervals[::-1], ends.size - place),
        )


def _cycle_generator(intervals: Floats, begin: Ints) -> IntervalGenerator:
    """Return a generator that goes round and round the list of intervals, from the place begin[p] for process p."""
    place = begin % intervals.size

    def generate(rows: Ints, count: int) -> Floats:
        places_passed = (place[rows, None] + np.arange(count + 1)) % intervals.size
        place[rows] = places_passed[:, -1]
        return np.asarray(intervals[places_passed[:, :-1]])

    return generate


@family("alternating(values=[1, 3])")
def alternating(values: Sequence[float]) -> Ordered:
    """Return the process that has the listed intervals in turn, over and over; raise a FieldError for a single one.

    Intervals are numbers above 0; for others a FieldError is raised too.

    >>> rn.alternating(values=[1, 3])
    alternating(values=[1, 3])
    """
    values = many("values", values)
    if len(values) < 2:
        raise FieldError("values", "a single interval", "two or more in turn, or constant(period=...)")
    return Cycle(Lattice(values), f"alternating(values={list_text(values)})", np.array(values))


@final
@dataclass(frozen=True, repr=False)
class Gaussian(Ordered):
    """A process whose intervals are those of a law, and depend on one another as a Gaussian sequence does.

    The normal values behind them have the correlation sum of weights[i] * decays[i]**k at lag k, (3).
    """

    decays: tuple[float, ...]
    weights: tuple[float, ...]

    def correlation(self, lag: int) -> float:
        """Return the correlation of the normal values behind two intervals that are `lag` apart."""
        return math.fsum(w * d**lag for w, d in zip(self.weights, self.decays, strict=True))

    def start_processes(self, processes: ProcessStreams) -> StationaryProcesses:
        """Start one process with correlated intervals for each of `processes`, from its streams."""
        age, covering = self.marginal.around_zero(processes.start_exponentials(0), processes.start_exponentials(1))
        summands = self._summands(self._normal(covering, processes), processes)
        residual = np.maximum(covering - age, 0.0)
        forwards = self._generator(summands, processes.streams(FUTURE))
        return StationaryProcesses(age, residual, forwards, lambda: self._generator(summands, processes.streams(PAST)))

    def _normal(self, interval: Floats, processes: ProcessStreams) -> Floats:
        """Return the normal value behind the `interval` of each process over time zero, drawn from all that give it."""
        low, high = self.marginal.tail(interval), self.marginal.tail(np.nextafter(interval, 0.0))
        tail = low + np.exp(-processes.start_exponentials(2)) * (high - low)
        return np.asarray(-special().ndtri(np.clip(tail, 1e-300, BELOW_ONE)))

    def _summands(self, total: Floats, processes: ProcessStreams) -> Floats:
        """Return the summands of the normal values behind intervals, which add up to `total`, one for each process.

        There is a row for each process, with one summand for each weight, drawn by (5) from the streams of `processes`.
        """
        uniforms = np.exp(-np.array([processes.start_exponentials(3 + i) for i in range(len(self.weights))]))
        w = np.array(self.weights)[:, None]
        y = np.sqrt(w) * special().ndtri(np.minimum(uniforms, BELOW_ONE))
        return np.asarray((w * total + y - w * y.sum(axis=0)).T, order="C")

    def _generator(self, summands: Floats, streams: Streams) -> IntervalGenerator:
        """Return a generator of the intervals after those with these summands, one row for each process and its stream.

        Each interval takes a word of the stream per summand. It works on a copy of the summands.
        """
        from replnet.processes.kernels import fill_uniforms, sum_autoregressions

        decay, summands = np.array(self.decays), summands.copy()
        kick = np.sqrt(np.array(self.weights) * (1 - decay) * (1 + decay))
        uniforms = compiled_generator(fill_uniforms, streams)

        def generate(rows: Ints, count: int) -> Floats:
            normals, values = uniforms(rows, count * decay.size), np.empty((rows.size, count))
            special().ndtri(np.minimum(normals, BELOW_ONE, out=normals), out=normals)
            sum_autoregressions(rows, normals, decay, kick, summands, values)
            return np.asarray(self.marginal.draw(-special().log_ndtr(-values)), dtype=float)

        return generate


@family("correlated(law=pareto(alpha=3, rate=2), rho=0.9)")
def correlated(law: object, rho: float) -> Ordered:
    """Return the process of intervals of `law`, with normal correlation `rho` of neighbours and rho^k at distance k.

    That is the correlation of the normal values behind the intervals. Raises a FieldError unless `rho` lies between -1
    and 1, and `law` is one of independent intervals with a finite mean.

    >>> rn.correlated(law=rn.pareto(alpha=3, rate=2), rho=0.9)
    correlated(law=pareto(alpha=3, rate=2), rho=0.9)
    """
    law, rho = independent_law("law", law), finite("rho", rho)
    if not -1 < rho < 1:
        raise FieldError("rho", f"{number_text(rho)} is out of range", "a correlation between -1 and 1")
    return Gaussian(law, f"correlated(law={law}, rho={number_text(rho)})", (rho,), (1.0,))


@family("longrange(law=pareto(alpha=3, rate=2), hurst=0.8)")
def longrange(law: object, hurst: float) -> Ordered:
    """Return the process of intervals of `law` with long-range dependence, whose correlations fall very slowly.

    At lag k the normal values behind them have about the correlation (1 + k)^(2 hurst - 2). Raises a FieldError unless
    `hurst` lies between 0.5 and 1, and `law` is one of independent intervals with a finite mean.

    >>> rn.longrange(law=rn.pareto(alpha=3, rate=2), hurst=0.8)
    longrange(law=pareto(alpha=3, rate=2), hurst=0.8)
    """
    law, hurst = independent_law("law", law), finite("hurst", hurst)
    if not 0.5 < hurst < 1:
        raise FieldError("hurst", f"{number_text(hurst)} is out of range", "a number between 0.5 (no memory) and 1")
    # The trapezoidal rule in log s, and the mean of all slower s.
    power, s = 2 - 2 * hurst, TOP * RATIO ** -np.arange(SUMMANDS)
    w = math.log(RATIO) * np.exp(power * np.log(s) - s - math.lgamma(power))
    w[-1] /= 2
    weights = np.append(w, float(special().gammainc(power, s[-1])))
    decays = np.exp(-np.append(s, s[-1] * power / (power + 1)))
    text = f"longrange(law={law}, hurst={number_text(hurst)})"
    return Gaussian(law, text, tuple(decays.tolist()), tuple((weights / weights.sum()).tolist()))
