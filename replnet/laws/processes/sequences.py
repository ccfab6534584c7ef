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
from dataclasses import dataclass
from typing import final

import numpy as np

from replnet.laws.discrete import Lattice
from replnet.laws.law import Floats, Ints, family, special
from replnet.laws.processes.order import Flow, Ordered, Walk, independent, kernel_walk
from replnet.laws.processes.streams import FUTURE, PAST, Chance, Streams
from replnet.text.errors import FieldError, finite, many
from replnet.text.grammar import listed, number

TOP, RATIO, SUMMANDS = 16.0, 3.0, 16
BELOW_ONE = 1 - 2.0**-53  # of a normal, the largest uniform that is not infinite


@final
@dataclass(frozen=True, repr=False, eq=False)
class Cycle(Ordered):
    """`intervals` in this order, without end."""

    intervals: Floats

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cycle) and np.array_equal(self.intervals, other.intervals)

    def __hash__(self) -> int:
        return hash((Cycle, self.intervals.size, self.marginal))

    def flow(self, chance: Chance) -> Flow:
        ends = np.cumsum(self.intervals)
        point = np.exp(-chance.starts(0)) * ends[-1]
        at = np.minimum(np.searchsorted(ends, point, side="right"), ends.size - 1)
        age = np.clip(point - (ends[at] - self.intervals[at]), 0.0, self.intervals[at])
        ahead = _cycle_walk(self.intervals, at + 1)
        return Flow(age, self.intervals[at] - age, ahead, lambda: _cycle_walk(self.intervals[::-1], ends.size - at))


def _cycle_walk(intervals: Floats, begin: Ints) -> Walk:
    """Round and round the list, every process from its place."""
    place = begin % intervals.size

    def walk(rows: Ints, block: int) -> Floats:
        passed = (place[rows, None] + np.arange(block + 1)) % intervals.size
        place[rows] = passed[:, -1]
        return np.asarray(intervals[passed[:, :-1]])

    return walk


@family("alternating(values=[1, 3])")
def alternating(values: Sequence[float]) -> Ordered:
    """The listed intervals in turn, over and over.

    >>> rn.alternating(values=[1, 3])
    alternating(values=[1, 3])
    """
    values = many("values", values)
    if len(values) < 2:
        raise FieldError("values", "a single interval", "two or more in turn, or constant(period=...)")
    return Cycle(Lattice(values), f"alternating(values={listed(values)})", np.array(values))


@final
@dataclass(frozen=True, repr=False)
class Gaussian(Ordered):
    """(1) with the correlations (3)."""

    decays: tuple[float, ...]
    weights: tuple[float, ...]

    def correlation(self, lag: int) -> float:
        """r(lag) of (3)."""
        return math.fsum(w * d**lag for w, d in zip(self.weights, self.decays, strict=True))

    def flow(self, chance: Chance) -> Flow:
        age, covering = self.marginal.around_zero(chance.starts(0), chance.starts(1))
        summands = self._summands(self._normal(covering, chance), chance)
        residual = np.maximum(covering - age, 0.0)
        ahead = self._walk(summands, chance.streams(FUTURE))
        return Flow(age, residual, ahead, lambda: self._walk(summands, chance.streams(PAST)))

    def _normal(self, interval: Floats, chance: Chance) -> Floats:
        """The Z_0 behind an interval."""
        low, high = self.marginal.tail(interval), self.marginal.tail(np.nextafter(interval, 0.0))
        beyond = low + np.exp(-chance.starts(2)) * (high - low)
        return np.asarray(-special().ndtri(np.clip(beyond, 1e-300, BELOW_ONE)))

    def _summands(self, total: Floats, chance: Chance) -> Floats:
        """(5)."""
        uniforms = np.exp(-np.array([chance.starts(3 + i) for i in range(len(self.weights))]))
        w = np.array(self.weights)[:, None]
        y = np.sqrt(w) * special().ndtri(np.minimum(uniforms, BELOW_ONE))
        return np.asarray((w * total + y - w * y.sum(axis=0)).T, order="C")

    def _walk(self, summands: Floats, of: Streams) -> Walk:
        """From the summands of time zero on; a word for every summand of every interval."""
        from replnet.laws.processes.kernels import fill, remember

        decay, summands = np.array(self.decays), summands.copy()
        kick = np.sqrt(np.array(self.weights) * (1 - decay) * (1 + decay))
        uniforms = kernel_walk(fill, of)

        def walk(rows: Ints, block: int) -> Floats:
            normals, values = uniforms(rows, block * decay.size), np.empty((rows.size, block))
            special().ndtri(np.minimum(normals, BELOW_ONE, out=normals), out=normals)
            remember(rows, normals, decay, kick, summands, values)
            return np.asarray(self.marginal.draw(-special().log_ndtr(-values)), dtype=float)

        return walk


@family("correlated(law=pareto(alpha=3, rate=2), rho=0.9)")
def correlated(law: object, rho: float) -> Ordered:
    """Intervals of `law`, where neighbours have the normal correlation `rho`, and those k apart rho^k.

    >>> rn.correlated(law=rn.pareto(alpha=3, rate=2), rho=0.9)
    correlated(law=pareto(alpha=3, rate=2), rho=0.9)
    """
    law, rho = independent("law", law), finite("rho", rho)
    if not -1 < rho < 1:
        raise FieldError("rho", f"{number(rho)} is out of range", "a correlation between -1 and 1")
    return Gaussian(law, f"correlated(law={law}, rho={number(rho)})", (rho,), (1.0,))


@family("longrange(law=pareto(alpha=3, rate=2), hurst=0.8)")
def longrange(law: object, hurst: float) -> Ordered:
    """Intervals of `law` whose correlations fall so slowly that no stretch of them is long: (4).

    >>> rn.longrange(law=rn.pareto(alpha=3, rate=2), hurst=0.8)
    longrange(law=pareto(alpha=3, rate=2), hurst=0.8)
    """
    law, hurst = independent("law", law), finite("hurst", hurst)
    if not 0.5 < hurst < 1:
        raise FieldError("hurst", f"{number(hurst)} is out of range", "a number between 0.5 (no memory) and 1")
    # The trapezoidal rule in log s, and the mean of all slower s.
    power, s = 2 - 2 * hurst, TOP * RATIO ** -np.arange(SUMMANDS)
    w = math.log(RATIO) * np.exp(power * np.log(s) - s - math.lgamma(power))
    w[-1] /= 2
    weights = np.append(w, float(special().gammainc(power, s[-1])))
    decays = np.exp(-np.append(s, s[-1] * power / (power + 1)))
    text = f"longrange(law={law}, hurst={number(hurst)})"
    return Gaussian(law, text, tuple(decays.tolist()), tuple((weights / weights.sum()).tolist()))
