"""Freshness and age of a database whose elements change at rates that follow a law (Sync 5.1, App. C).

Let L be the change rate of an element drawn at random, with mean lambda, and f the
mean frequency of synchronisation, r = lambda / f. Under the uniform allocation every
element gets f, under the proportional one f L / lambda, so with h and a of `sync_order`

    uniform        F = E[h(L / f)]      A = E[a(L / f)] / f                           (1)
    proportional   F = h(r)             A = lambda E[1 / L] a(r) / f                  (2)

The last is infinite where rates near zero are common enough: for a gamma law with
shape 1 or less (delta >= 1), uniform on [0, b], Pareto. Expectations are integrals
over the quantiles of L.

For gamma rates with variance (delta lambda)^2 and fixed order (1) is Table 3. With
s = delta^2 and t = log(1 + r s) / s,

    F = (exp((s - 1) t) - 1) / ((s - 1) r)                                            (3)
    A f = 1/2 - (F (1 + r s) - 1) / (r (2 s - 1))                                     (4)
        = 1/2 - (1 - (exp((2 s - 1) t) - 1) / ((2 s - 1) r)) / (r (1 - s))            (5)
        = - sum from n = 1 of (-r)^n (1 + s)(1 + 2 s) ... (1 + (n-1) s) / (n + 2)!    (6)

(3) is finite at s = 1, F = log(1 + r) / r, and (4) removes the singularity that the
printed age has there. (5) is finite at s = 1/2. (6) serves small r, where both cancel.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from replnet.laws.law import Array, Law
from replnet.laws.numeric import TailIntegral
from replnet.papers.sync_order import FIXED, Floats, SyncOrder
from replnet.text.errors import FieldError

# (6) has an error of 2^-POWERS; (4) and (5) meet at WIDE, midway between their singularities.
SERIES_UP_TO, POWERS, WIDE = 0.4, 40, 0.75

NEAR_ZERO, ROUNDING = -200, 1e-9  # octaves below the mean where a power shows; what its exponent may be off


class Pair(NamedTuple):
    """Freshness, and age in units of time."""

    freshness: float
    age: float


def uniform_average(rates: Law, frequency: float, order: SyncOrder = FIXED) -> Pair:
    """(1): every element is synchronised at `frequency`. Poisson changes."""
    _require(rates, frequency)
    stale = _mean(lambda rate: 1 - np.asarray(order.freshness_at(rate / frequency)), rates)
    return Pair(1 - stale, _mean(lambda rate: order.age_at(rate / frequency), rates) / frequency)


def proportional_average(rates: Law, frequency: float, order: SyncOrder = FIXED) -> Pair:
    """(2): elements are synchronised in proportion to their change rates, at `frequency` on average."""
    _require(rates, frequency)
    ratio = rates.mean / frequency
    age = rates.mean * mean_interval(rates) * float(order.age_at(ratio)) / frequency
    return Pair(float(order.freshness_at(ratio)), age)


def mean_interval(rates: Law) -> float:
    """E[1 / L], the mean interval between changes over elements; infinite where rates near zero are common."""

    def below(x: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.where(np.asarray(x) > 0, rates.cdf(1 / np.asarray(x)), 1.0)

    if _crowded(rates):
        return math.inf
    low = float(rates.isf(1.0))
    ends = [1 / b for b in rates.breaks if b > 0]
    integral = TailIntegral(below, around=1 / rates.mean, bends=ends, end=1 / low if low > 0 else math.inf)
    return float(integral.beyond(0.0))


def _crowded(rates: Law) -> bool:
    """Whether P(L <= x) ~ x^a near zero with a at most 1, up to rounding, so that E[1 / L] diverges."""
    tiny = rates.mean * 2.0**NEAR_ZERO
    near, nearer = float(rates.cdf(2 * tiny)), float(rates.cdf(tiny))
    return nearer > 0 and math.log2(near / nearer) < 1 + ROUNDING


def gamma_uniform_freshness(ratio: Array, spread: Array) -> Array:
    """(3), Sync Table 3: mean rate over frequency, and standard deviation over mean, delta."""
    r, s, t = _gamma(ratio, spread)
    return _freshness(r, s, t)[()]


def gamma_uniform_age(ratio: Array, spread: Array) -> Array:
    """(4) to (6), Sync Table 3, in units of the interval 1 / f."""
    r, s, t = _gamma(ratio, spread)
    small = r * np.maximum(s, 1.0) < SERIES_UP_TO
    value = np.empty_like(r)
    value[small] = _age_series(r[small], s[small])
    wide = ~small & (s >= WIDE)
    r_, s_, t_ = r[wide], s[wide], t[wide]
    value[wide] = 1 / 2 - (_freshness(r_, s_, t_) * (1 + r_ * s_) - 1) / (r_ * (2 * s_ - 1))
    narrow = ~small & (s < WIDE)
    r_, s_, t_ = r[narrow], s[narrow], t[narrow]
    value[narrow] = 1 / 2 - (1 - _growth((2 * s_ - 1) * t_) * t_ / r_) / (r_ * (1 - s_))
    return value[()]


def gamma_proportional_age(ratio: Array, spread: Array) -> Array:
    """a(r) / (1 - delta^2), Sync Table 3, in units of 1 / f; infinite from delta = 1 on."""
    r, s, _ = _gamma(ratio, spread)
    finite = s < 1
    whole = np.asarray(FIXED.age_at(r)) / np.where(finite, 1 - s, 1.0)
    return np.where(finite | (r == 0), whole, math.inf)[()]


def _gamma(ratio: Array, spread: Array) -> tuple[Floats, Floats, Floats]:
    """r, s and t of (3), in one shape."""
    r, delta = np.broadcast_arrays(np.asarray(ratio, dtype=float), np.asarray(spread, dtype=float))
    if not ((r >= 0) & (delta >= 0) & np.isfinite(r) & np.isfinite(delta)).all():
        raise FieldError("ratio, spread", "a number below 0, or none", "a ratio and a spread from 0 on")
    s = delta**2
    return r, s, np.where(s * r > 0, np.log1p(r * s) / np.where(s > 0, s, 1.0), r)


def _freshness(r: Floats, s: Floats, t: Floats) -> Floats:
    return np.where(r > 0, _growth((s - 1) * t) * t / np.where(r > 0, r, 1.0), 1.0)


def _growth(x: Floats) -> Floats:
    """(exp(x) - 1) / x."""
    return np.where(x == 0, 1.0, np.expm1(x) / np.where(x == 0, 1.0, x))


def _age_series(r: Floats, s: Floats) -> Floats:
    term, total = r / 6, np.zeros_like(r)
    for n in range(1, POWERS):
        total = total + term
        term = -term * r * (1 + n * s) / (n + 3)
    return total


def _mean(value: Callable[[Array], Array], rates: Law) -> float:
    """E[value(L)] of an increasing `value`, as an integral over the share of larger rates."""
    bends = [float(rates.tail(b)) for b in rates.breaks]
    integral = TailIntegral(lambda share: value(rates.isf(share)), around=0.5, bends=bends, end=1.0)
    return float(integral.before(1.0))


def _require(rates: Law, frequency: float) -> None:
    rates.require_finite_mean()
    if not 0 < frequency < math.inf:
        raise FieldError("frequency", f"{frequency!r} is not above 0", "a finite number above 0")
