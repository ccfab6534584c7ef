"""Families with a shape: Weibull, gamma, lognormal.

P and Q are the regularised incomplete gamma functions, Phi the normal distribution.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Integral
from typing import final

import numpy as np

from replnet.laws.law import Array, Given, Law, family, special
from replnet.laws.numeric import Age, Numerical
from replnet.text import FieldError, positive, scale_of

NEGLIGIBLE_HAZARD = 1e-16  # a hazard below this leaves a tail of 1; powers below 1e-308 have no digits
LARGEST_UNIT_MEAN = 1e50  # times the scale: a mean beyond that leaves no digits for the rest


@final
@family("weibull(shape=0.6, rate=2)")
class Weibull(Law):
    """Intervals with P(X > x) = exp(-(x / scale) ** shape): bursts below shape 1, regular above.

    It is given by its shape, about 0.025 or more, and one of rate, mean and scale; else it raises FieldError.

    >>> rn.weibull(shape=0.6, rate=2).mean
    0.5
    """

    shape: float
    scale: float

    def __init__(self, shape: float, *, rate: Given = None, mean: Given = None, scale: Given = None) -> None:
        shape = positive("shape", shape)
        unit_mean = _check_unit_mean("shape", shape, _or_infinite(math.gamma, 1 + 1 / shape), "0.025 or more")
        self._set(shape=shape, scale=scale_of(unit_mean, rate=rate, mean=mean, scale=scale))

    @property
    def mean(self) -> float:
        return self.scale * math.gamma(1 + 1 / self.shape)

    @property
    def second_moment(self) -> float:
        return self.scale**2 * _or_infinite(math.gamma, 1 + 2 / self.shape)

    def tail(self, x: Array) -> Array:
        return np.exp(-self.hazard(x))

    def cdf(self, x: Array) -> Array:
        return -np.expm1(-self.hazard(x))

    def hazard(self, x: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.power(np.asarray(x) / self.scale, self.shape)

    def solve(self, e: Array) -> Array:
        return self.scale * np.power(e, 1 / self.shape)

    def excess(self, x: Array) -> Array:
        hazard = self.hazard(x)
        return np.where(
            hazard < NEGLIGIBLE_HAZARD, self.mean - x, self.mean * special().gammaincc(1 / self.shape, hazard)
        )[()]

    def integrated_tail(self, x: Array) -> Array:
        hazard = self.hazard(x)
        return np.where(hazard < NEGLIGIBLE_HAZARD, x, self.mean * special().gammainc(1 / self.shape, hazard))[()]

    @property
    def age(self) -> Age:
        return Age(self)


@final
@family("gamma(shape=2, rate=2)")
class Gamma(Numerical):
    """Intervals that are a sum of `shape` exponential stages of mean `scale`, for any shape above zero.

    It is given by its shape and one of rate, mean and scale; else it raises FieldError.

    >>> rn.gamma(shape=2, rate=2).second_moment
    0.375
    """

    shape: float
    scale: float

    def __init__(self, shape: float, *, rate: Given = None, mean: Given = None, scale: Given = None) -> None:
        shape = positive("shape", shape)
        self._set(shape=shape, scale=scale_of(shape, rate=rate, mean=mean, scale=scale))

    @property
    def mean(self) -> float:
        return self.shape * self.scale

    @property
    def second_moment(self) -> float:
        return self.shape * (self.shape + 1) * self.scale**2

    def tail(self, x: Array) -> Array:
        return special().gammaincc(self.shape, np.asarray(x) / self.scale)

    def cdf(self, x: Array) -> Array:
        return special().gammainc(self.shape, np.asarray(x) / self.scale)

    def isf(self, q: Array) -> Array:
        return self.scale * special().gammainccinv(self.shape, q)

    def solve(self, e: Array) -> Array:
        e = np.asarray(e, dtype=float)
        # -expm1(-e) is exact where exp(-e) rounds to 1.
        if_short = special().gammaincinv(self.shape, -np.expm1(-np.minimum(e, 1.0)))
        return self.scale * np.where(e < 0.5, if_short, special().gammainccinv(self.shape, np.exp(-e)))[()]

    def excess(self, x: Array) -> Array:
        # Q(shape + 1, z) = Q(shape, z) + z^shape exp(-z) / Gamma(shape + 1), which
        # leaves one difference of order 1 / z instead of two of order 1.
        z = np.asarray(x, dtype=float) / self.scale
        edge = np.exp(special().xlogy(self.shape, z) - z - special().gammaln(self.shape))
        return self.scale * np.maximum((self.shape - z) * special().gammaincc(self.shape, z) + edge, 0.0)

    def integrated_tail(self, x: Array) -> Array:
        x = np.asarray(x, dtype=float)
        with np.errstate(invalid="ignore"):
            integral = self.mean * special().gammainc(self.shape + 1, x / self.scale) + x * self.tail(x)
        return np.where(np.isinf(x), self.mean, integral)[()]


@family("erlang(stages=3, rate=2)")
def erlang(stages: int, *, rate: Given = None, mean: Given = None) -> Gamma:
    """Return the law of a sum of `stages` equal exponentials; rate and mean are those of the sum.

    Raises FieldError unless `stages` is a whole number from 1, and exactly one of rate and mean is given.

    >>> rn.erlang(stages=3, rate=2)
    gamma(shape=3, rate=2)
    """
    if isinstance(stages, bool) or not isinstance(stages, Integral) or stages < 1:
        raise FieldError("stages", f"{stages!r} is not a number of stages", "a whole number from 1")
    return Gamma(float(stages), rate=rate, mean=mean)


@final
@family("lognormal(sigma=1, rate=2)")
class Lognormal(Numerical):
    """Intervals scale * exp(sigma * N) with N standard normal; scale is the median.

    It is given by sigma, about 15 or less, and one of rate, mean and scale; else it raises FieldError.

    >>> rn.lognormal(sigma=1, mean=2).mean
    2.0
    """

    sigma: float
    scale: float

    def __init__(self, sigma: float, *, rate: Given = None, mean: Given = None, scale: Given = None) -> None:
        sigma = positive("sigma", sigma)
        unit_mean = _check_unit_mean("sigma", sigma, _or_infinite(math.exp, sigma**2 / 2), "15 or less")
        self._set(sigma=sigma, scale=scale_of(unit_mean, rate=rate, mean=mean, scale=scale))

    @property
    def mean(self) -> float:
        return self.scale * math.exp(self.sigma**2 / 2)

    @property
    def second_moment(self) -> float:
        return self.scale**2 * _or_infinite(math.exp, 2 * self.sigma**2)

    def _normal(self, x: Array) -> Array:
        """Return the value of the standard normal variable that gives the interval x, log(x / scale) / sigma."""
        with np.errstate(divide="ignore"):
            return np.log(np.asarray(x) / self.scale) / self.sigma

    def tail(self, x: Array) -> Array:
        return special().ndtr(-self._normal(x))

    def cdf(self, x: Array) -> Array:
        return special().ndtr(self._normal(x))

    def hazard(self, x: Array) -> Array:
        return -special().log_ndtr(-self._normal(x))

    def solve(self, e: Array) -> Array:
        return self.scale * np.exp(-self.sigma * special().ndtri_exp(-np.asarray(e, dtype=float)))

    def excess(self, x: Array) -> Array:
        x = np.asarray(x, dtype=float)
        with np.errstate(invalid="ignore"):
            integral = self.mean * special().ndtr(self.sigma - self._normal(x)) - x * self.tail(x)
        return np.where(np.isinf(x), 0.0, np.maximum(integral, 0.0))[()]

    def integrated_tail(self, x: Array) -> Array:
        x = np.asarray(x, dtype=float)
        with np.errstate(invalid="ignore"):
            integral = self.mean * special().ndtr(self._normal(x) - self.sigma) + x * self.tail(x)
        return np.where(np.isinf(x), self.mean, integral)[()]


def _check_unit_mean(field: str, value: float, unit_mean: float, right: str) -> float:
    """Return `unit_mean`, the mean of a law at scale 1; raise FieldError for `field` if it is above 1e50.

    Such a shape, the `value` of the field, leaves no digits for the rest; `right` says which shapes do.
    """
    if unit_mean > LARGEST_UNIT_MEAN:
        raise FieldError(field, f"{value:g} spreads over more than {LARGEST_UNIT_MEAN:g} times the scale", right)
    return unit_mean


def _or_infinite(function: Callable[[float], float], x: float) -> float:
    """Return function(x), infinite where it overflows."""
    try:
        return function(x)
    except OverflowError:
        return math.inf


# As users write them.
gamma, lognormal, weibull = Gamma, Lognormal, Weibull
