"""Intervals of any law that remember: a Gaussian sequence, each of its values turned into an interval.

With Z_n standard normal and stationary, and F the law's distribution function,

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

The interval over time zero follows (1) of ordered.py. Given it, Z_0 is what (1) inverts to
(where the law has atoms, any of the values that give this one), and given their sum the
summands of Z_0 are normal with

    c_i = w_i Z_0 + y_i - w_i sum of y_j,    y_i normal of variance w_i.              (5)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from replnet.laws.law import Law
from replnet.laws.processes.order import Chance, Floats, Flow, Ints, Order, Ordered, Walk, independent
from replnet.laws.processes.streams import FUTURE, PAST, Streams
from replnet.text.errors import FieldError, finite
from replnet.text.grammar import number

TOP, RATIO, SUMMANDS = 16.0, 3.0, 16
BELOW_ONE = 1 - 2.0**-53  # of a normal, the largest uniform that is not infinite


@final
@dataclass(frozen=True, slots=True)
class Gaussian(Order):
    """(1) with the correlations (3)."""

    law: Law
    decays: tuple[float, ...]
    weights: tuple[float, ...]
    text: str

    def __str__(self) -> str:
        return self.text

    @property
    def marginal(self) -> Law:
        return self.law

    def correlation(self, lag: int) -> float:
        """r(lag) of (3)."""
        return math.fsum(w * d**lag for w, d in zip(self.weights, self.decays, strict=True))

    def flow(self, chance: Chance) -> Flow:
        age, covering = self.law.around_zero(chance.starts(0), chance.starts(1))
        summands = self._summands(self._normal(covering, chance), chance)
        ahead = _Remembering(self, summands, chance.streams(FUTURE))
        residual = np.maximum(covering - age, 0.0)
        return Flow(age, residual, ahead, lambda: _Remembering(self, summands, chance.streams(PAST)))

    def _normal(self, interval: Floats, chance: Chance) -> Floats:
        """The Z_0 behind an interval."""
        from scipy.special import ndtri

        low, high = self.law.tail(interval), self.law.tail(np.nextafter(interval, 0.0))
        return np.asarray(-ndtri(np.clip(low + np.exp(-chance.starts(2)) * (high - low), 1e-300, BELOW_ONE)))

    def _summands(self, total: Floats, chance: Chance) -> Floats:
        """(5)."""
        from scipy.special import ndtri

        uniforms = np.exp(-np.array([chance.starts(3 + i) for i in range(len(self.weights))]))
        w = np.array(self.weights)[:, None]
        y = np.sqrt(w) * ndtri(np.minimum(uniforms, BELOW_ONE))
        return np.asarray((w * total + y - w * y.sum(axis=0)).T, order="C")


@final
class _Remembering(Walk):
    """From the summands of time zero on; a word for every summand of every interval."""

    def __init__(self, order: Gaussian, summands: Floats, chance: Streams) -> None:
        self._law, self._summands, self._chance = order.law, summands.copy(), chance
        self._decay = np.array(order.decays)
        self._kick = np.sqrt(np.array(order.weights) * (1 - self._decay) * (1 + self._decay))
        self._used = np.zeros(len(summands), np.int64)

    def next(self, rows: Ints, block: int) -> Floats:
        from scipy.special import log_ndtr, ndtri

        from replnet.laws.processes.kernels import fill, remember

        normals = np.empty((rows.size, block * self._decay.size))
        fill(self._chance.key, self._chance.gamma, self._used, rows, normals)
        np.minimum(normals, BELOW_ONE, out=normals)
        ndtri(normals, out=normals)
        values = np.empty((rows.size, block))
        remember(rows, normals, self._decay, self._kick, self._summands, values)
        return np.asarray(self._law.draw(-log_ndtr(-values)), dtype=float)


def correlated(law: Law, rho: float) -> Ordered:
    """Intervals of `law`, where neighbours have the normal correlation `rho`, and those k apart rho^k."""
    law, rho = independent("law", law), finite("rho", rho)
    if not -1 < rho < 1:
        raise FieldError("rho", f"{number(rho)} is out of range", "a correlation between -1 and 1")
    return Ordered(Gaussian(law, (rho,), (1.0,), f"correlated(law={law}, rho={number(rho)})"))


def longrange(law: Law, hurst: float) -> Ordered:
    """Intervals of `law` whose correlations fall so slowly that no stretch of them is long: (4)."""
    law, hurst = independent("law", law), finite("hurst", hurst)
    if not 0.5 < hurst < 1:
        raise FieldError("hurst", f"{number(hurst)} is out of range", "a number between 0.5 (no memory) and 1")
    decays, weights = _spread(2 - 2 * hurst)
    return Ordered(Gaussian(law, decays, weights, f"longrange(law={law}, hurst={number(hurst)})"))


def _spread(power: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Decays and weights whose (3) is (4): the trapezoidal rule in log s, and the mean of all slower s."""
    from scipy.special import gammainc

    s = TOP * RATIO ** -np.arange(SUMMANDS)
    w = math.log(RATIO) * np.exp(power * np.log(s) - s - math.lgamma(power))
    w[-1] /= 2
    below = float(gammainc(power, s[-1]))
    decays = np.exp(-np.append(s, s[-1] * power / (power + 1)))
    weights = np.append(w, below)
    return tuple(decays.tolist()), tuple((weights / weights.sum()).tolist())
