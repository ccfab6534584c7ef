"""Families with a shape: Weibull, gamma, lognormal.

P and Q are the regularised incomplete gamma functions, Phi the normal distribution.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import final

import numpy as np

from replnet.laws.law import Array, Law
from replnet.laws.spelling import spelled
from replnet.text.errors import FieldError, positive, scale_of

SURE = 1e-16  # a hazard below this leaves a tail of 1; powers below 1e-308 have no digits
FARTHEST = 1e50  # times the scale: a mean beyond that leaves no digits for the rest


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Weibull(Law):
    """P(X > x) = exp(-(x / scale) ** shape): bursts below shape 1, regular above."""

    shape: float
    scale: float

    def __init__(
        self, shape: float, *, rate: float | None = None, mean: float | None = None, scale: float | None = None
    ) -> None:
        shape = positive("shape", shape)
        unit_mean = _finite("shape", shape, lambda: math.gamma(1 + 1 / shape), "0.025 or more")
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "scale", scale_of(unit_mean, rate=rate, mean=mean, scale=scale))

    def __str__(self) -> str:
        return spelled(self, {"shape": self.shape}, rate=self.rate, mean=self.mean, scale=self.scale)

    @property
    def mean(self) -> float:
        return self.scale * math.gamma(1 + 1 / self.shape)

    @property
    def second_moment(self) -> float:
        return _or_infinite(lambda: self.scale**2 * math.gamma(1 + 2 / self.shape))

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
        from scipy.special import gammaincc

        hazard = self.hazard(x)
        return np.where(hazard < SURE, self.mean - x, self.mean * gammaincc(1 / self.shape, hazard))[()]

    def integrated_tail(self, x: Array) -> Array:
        from scipy.special import gammainc

        hazard = self.hazard(x)
        return np.where(hazard < SURE, x, self.mean * gammainc(1 / self.shape, hazard))[()]

    @property
    def age(self) -> Law:
        from replnet.laws.numeric import Age

        return Age(self)


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Gamma(Law):
    """A sum of `shape` exponential stages of mean `scale`, for any shape above zero."""

    shape: float
    scale: float

    def __init__(
        self, shape: float, *, rate: float | None = None, mean: float | None = None, scale: float | None = None
    ) -> None:
        object.__setattr__(self, "shape", positive("shape", shape))
        object.__setattr__(self, "scale", scale_of(self.shape, rate=rate, mean=mean, scale=scale))

    def __str__(self) -> str:
        return spelled(self, {"shape": self.shape}, rate=self.rate, mean=self.mean, scale=self.scale)

    @property
    def mean(self) -> float:
        return self.shape * self.scale

    @property
    def second_moment(self) -> float:
        return self.shape * (self.shape + 1) * self.scale**2

    def tail(self, x: Array) -> Array:
        from scipy.special import gammaincc

        return gammaincc(self.shape, np.asarray(x) / self.scale)

    def cdf(self, x: Array) -> Array:
        from scipy.special import gammainc

        return gammainc(self.shape, np.asarray(x) / self.scale)

    def isf(self, q: Array) -> Array:
        from scipy.special import gammainccinv

        return self.scale * gammainccinv(self.shape, q)

    def solve(self, e: Array) -> Array:
        from scipy.special import gammainccinv, gammaincinv

        e = np.asarray(e, dtype=float)
        # -expm1(-e) is exact where exp(-e) rounds to 1.
        short = gammaincinv(self.shape, -np.expm1(-np.minimum(e, 1.0)))
        return self.scale * np.where(e < 0.5, short, gammainccinv(self.shape, np.exp(-e)))[()]

    def draw(self, e: Array) -> Array:
        from replnet.laws.draw_tables import interpolated

        return interpolated(self, e)

    def excess(self, x: Array) -> Array:
        # Q(shape + 1, z) = Q(shape, z) + z^shape exp(-z) / Gamma(shape + 1), which
        # leaves one difference of order 1 / z instead of two of order 1.
        from scipy.special import gammaincc, gammaln, xlogy

        z = np.asarray(x, dtype=float) / self.scale
        edge = np.exp(xlogy(self.shape, z) - z - gammaln(self.shape))
        return self.scale * np.maximum((self.shape - z) * gammaincc(self.shape, z) + edge, 0.0)

    def integrated_tail(self, x: Array) -> Array:
        from scipy.special import gammainc

        x = np.asarray(x, dtype=float)
        with np.errstate(invalid="ignore"):
            whole = self.mean * gammainc(self.shape + 1, x / self.scale) + x * self.tail(x)
        return np.where(np.isinf(x), self.mean, whole)[()]

    @property
    def age(self) -> Law:
        from replnet.laws.numeric import Age

        return Age(self)


def erlang(stages: int, *, rate: float | None = None, mean: float | None = None) -> Gamma:
    """A sum of `stages` equal exponentials; rate and mean are those of the sum."""
    if isinstance(stages, bool) or not isinstance(stages, Integral) or stages < 1:
        raise FieldError("stages", f"{stages!r} is not a number of stages", "a whole number from 1")
    return Gamma(float(stages), rate=rate, mean=mean)


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Lognormal(Law):
    """X = scale * exp(sigma * N) with N standard normal; scale is the median."""

    sigma: float
    scale: float

    def __init__(
        self, sigma: float, *, rate: float | None = None, mean: float | None = None, scale: float | None = None
    ) -> None:
        sigma = positive("sigma", sigma)
        unit_mean = _finite("sigma", sigma, lambda: math.exp(sigma**2 / 2), "15 or less")
        object.__setattr__(self, "sigma", sigma)
        object.__setattr__(self, "scale", scale_of(unit_mean, rate=rate, mean=mean, scale=scale))

    def __str__(self) -> str:
        return spelled(self, {"sigma": self.sigma}, rate=self.rate, mean=self.mean, scale=self.scale)

    @property
    def mean(self) -> float:
        return self.scale * math.exp(self.sigma**2 / 2)

    @property
    def second_moment(self) -> float:
        return _or_infinite(lambda: self.scale**2 * math.exp(2 * self.sigma**2))

    def _normal(self, x: Array) -> Array:
        """The N that makes X = x."""
        with np.errstate(divide="ignore"):
            return np.log(np.asarray(x) / self.scale) / self.sigma

    def tail(self, x: Array) -> Array:
        from scipy.special import ndtr

        return ndtr(-self._normal(x))

    def cdf(self, x: Array) -> Array:
        from scipy.special import ndtr

        return ndtr(self._normal(x))

    def hazard(self, x: Array) -> Array:
        from scipy.special import log_ndtr

        return -log_ndtr(-self._normal(x))

    def solve(self, e: Array) -> Array:
        from scipy.special import ndtri_exp

        return self.scale * np.exp(-self.sigma * ndtri_exp(-np.asarray(e, dtype=float)))

    def draw(self, e: Array) -> Array:
        from replnet.laws.draw_tables import interpolated

        return interpolated(self, e)

    def excess(self, x: Array) -> Array:
        from scipy.special import ndtr

        x = np.asarray(x, dtype=float)
        normal = self._normal(x)
        with np.errstate(invalid="ignore"):
            beyond = self.mean * ndtr(self.sigma - normal) - x * ndtr(-normal)
        return np.where(np.isinf(x), 0.0, np.maximum(beyond, 0.0))[()]

    def integrated_tail(self, x: Array) -> Array:
        from scipy.special import ndtr

        x = np.asarray(x, dtype=float)
        normal = self._normal(x)
        with np.errstate(invalid="ignore"):
            whole = self.mean * ndtr(normal - self.sigma) + x * ndtr(-normal)
        return np.where(np.isinf(x), self.mean, whole)[()]

    @property
    def age(self) -> Law:
        from replnet.laws.numeric import Age

        return Age(self)


def _finite(field: str, value: float, compute: Callable[[], float], right: str) -> float:
    """`compute()`, the mean at scale 1, or a refusal of the shape that puts it worlds away from the scale."""
    result = _or_infinite(compute)
    if result > FARTHEST:
        raise FieldError(field, f"{value:g} spreads over more than {FARTHEST:g} times the scale", right)
    return result


def _or_infinite(compute: Callable[[], float]) -> float:
    try:
        return compute()
    except OverflowError:
        return math.inf
