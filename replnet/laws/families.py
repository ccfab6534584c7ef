"""The families with closed forms for nearly everything, the age included."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import final

import numpy as np

from replnet.laws.law import Array, Given, Law, family, text_of
from replnet.laws.numeric import Age, Numerical
from replnet.text import LARGEST, SMALLEST, FieldError, finite, many, positive, scale_of

STEEPEST_POWER = 1e4  # an alpha above which rounding of 1 + x / scale shows in its power


@final
@family("exponential(rate=2)")
class Exponential(Law):
    """Exponential intervals, P(X > x) = exp(-rate x): memoryless, so the age has the same law.

    It is given by its rate or its mean, and raises FieldError unless by one of them, a positive number.

    >>> rn.exponential(rate=2).age, float(rn.exponential(rate=2).tail(0))
    (exponential(rate=2), 1.0)
    """

    scale: float

    def __init__(self, *, rate: Given = None, mean: Given = None) -> None:
        self._set(scale=scale_of(1.0, rate=rate, mean=mean))

    @property
    def mean(self) -> float:
        return self.scale

    @property
    def second_moment(self) -> float:
        return 2 * self.scale**2

    def tail(self, x: Array) -> Array:
        return np.exp(-np.asarray(x) / self.scale)

    def cdf(self, x: Array) -> Array:
        return -np.expm1(-np.asarray(x) / self.scale)

    def excess(self, x: Array) -> Array:
        return self.scale * self.tail(x)

    def integrated_tail(self, x: Array) -> Array:
        return self.scale * self.cdf(x)

    def hazard(self, x: Array) -> Array:
        return np.asarray(x) / self.scale

    def solve(self, e: Array) -> Array:
        return self.scale * np.asarray(e)

    def covering(self, age: Array, e: Array) -> Array:
        return np.asarray(age) + self.scale * np.asarray(e)

    @property
    def age(self) -> Exponential:
        return self


@final
@family("constant(period=2)")
class Constant(Law):
    """Intervals that are all `period` long; the age is uniform.

    It is given by its period, its rate or its mean, and raises FieldError unless by one of them, a positive number.

    >>> rn.constant(period=0.5).rate, rn.constant(period=0.5).age
    (2.0, uniform(low=0, high=0.5))
    """

    period: float

    def __init__(self, *, period: Given = None, rate: Given = None, mean: Given = None) -> None:
        self._set(period=scale_of(1.0, period=period, rate=rate, mean=mean))

    def __str__(self) -> str:
        return text_of(self, "rate", "period")

    @property
    def mean(self) -> float:
        return self.period

    @property
    def second_moment(self) -> float:
        return self.period**2

    def tail(self, x: Array) -> Array:
        return np.where(np.asarray(x) < self.period, 1.0, 0.0)

    def isf(self, q: Array) -> Array:
        return np.where(np.asarray(q) < 1, self.period, 0.0)

    def excess(self, x: Array) -> Array:
        return np.maximum(self.period - np.asarray(x), 0.0)

    def integrated_tail(self, x: Array) -> Array:
        return np.minimum(x, self.period)

    def solve(self, e: Array) -> Array:
        return np.full_like(e, self.period, dtype=float)

    @property
    def age(self) -> Uniform:
        return Uniform(low=0.0, high=self.period)

    @property
    def breaks(self) -> tuple[float, ...]:
        return (self.period,)

    @property
    def span(self) -> float:
        return self.period


@final
@family("pareto(alpha=3, rate=2)")
class Pareto(Law):
    """Intervals with a power tail that starts at zero, P(X > x) = (1 + x / scale) ** -alpha.

    Its age is the same family one moment heavier: alpha drops by one. It is given by alpha and one of rate, mean and
    scale; at alpha of 1 or less the mean is infinite, and only a scale will do. Raises FieldError for anything else.

    >>> rn.pareto(alpha=3, rate=2), rn.pareto(alpha=3, rate=2).age
    (pareto(alpha=3, rate=2), pareto(alpha=2, rate=1))
    """

    alpha: float
    scale: float

    def __init__(self, alpha: float, *, rate: Given = None, mean: Given = None, scale: Given = None) -> None:
        alpha = positive("alpha", alpha)
        if alpha <= 1 and scale is None:
            raise FieldError("alpha", f"{alpha:g} gives an infinite mean", "alpha above 1")
        unit_mean = 1 / (alpha - 1) if alpha > 1 else math.inf
        self._set(alpha=alpha, scale=scale_of(unit_mean, rate=rate, mean=mean, scale=scale))

    @property
    def mean(self) -> float:
        return self.scale / (self.alpha - 1) if self.alpha > 1 else math.inf

    @property
    def second_moment(self) -> float:
        if self.alpha <= 2:
            return math.inf
        return 2 * self.scale**2 / ((self.alpha - 1) * (self.alpha - 2))

    def tail(self, x: Array) -> Array:
        if self.alpha > STEEPEST_POWER:
            return np.exp(-self.hazard(x))
        # np.power, not **: the operator rounds a lone number and an array differently.
        return np.power(1 + np.asarray(x) / self.scale, -self.alpha)

    def cdf(self, x: Array) -> Array:
        return -np.expm1(-self.hazard(x))

    def excess(self, x: Array) -> Array:
        if self.alpha <= 1:
            return np.full_like(np.asarray(x, dtype=float), math.inf)
        if self.alpha > STEEPEST_POWER:
            return self.mean * np.exp((1 - self.alpha) * np.log1p(np.asarray(x) / self.scale))
        return self.mean * np.power(1 + np.asarray(x) / self.scale, 1 - self.alpha)

    def integrated_tail(self, x: Array) -> Array:
        growth = np.log1p(np.asarray(x) / self.scale)
        if self.alpha == 1:
            return self.scale * growth
        return self.scale * np.expm1((1 - self.alpha) * growth) / (1 - self.alpha)

    def hazard(self, x: Array) -> Array:
        return self.alpha * np.log1p(np.asarray(x) / self.scale)

    def solve(self, e: Array) -> Array:
        # expm1 and log1p keep full precision where the interval is short.
        return self.scale * np.expm1(np.asarray(e) / self.alpha)

    def covering(self, age: Array, e: Array) -> Array:
        return np.asarray(age) + (self.scale + np.asarray(age)) * np.expm1(np.asarray(e, order="C") / self.alpha)

    @property
    def age(self) -> Pareto:
        self.require_finite_mean()
        return Pareto(self.alpha - 1, scale=self.scale)


@final
@family("uniform(low=0, high=1)")
class Uniform(Law):
    """Intervals evenly spread between low and high; raises FieldError unless low is 0 or more, and below high.

    >>> rn.uniform(low=0, high=1).mean
    0.5
    """

    low: float
    high: float

    def __init__(self, low: float, high: float) -> None:
        low, high = finite("low", low), positive("high", high)
        if low < 0:
            raise FieldError("low", f"{low:g} is negative", "0 or more")
        if high <= low:
            raise FieldError("high", f"{high:g} is not above low = {low:g}", "a number above low")
        self._set(low=low, high=high)

    @property
    def mean(self) -> float:
        return (self.low + self.high) / 2

    @property
    def second_moment(self) -> float:
        return (self.low**2 + self.low * self.high + self.high**2) / 3

    def tail(self, x: Array) -> Array:
        return np.clip((self.high - np.asarray(x)) / (self.high - self.low), 0.0, 1.0)

    def cdf(self, x: Array) -> Array:
        return np.clip((np.asarray(x) - self.low) / (self.high - self.low), 0.0, 1.0)

    def isf(self, q: Array) -> Array:
        return np.where(np.asarray(q) < 1, self.high - (self.high - self.low) * np.asarray(q), 0.0)

    def excess(self, x: Array) -> Array:
        x = np.asarray(x)
        inside = np.clip(self.high - x, 0.0, self.high - self.low) ** 2 / (2 * (self.high - self.low))
        return inside + np.maximum(self.low - x, 0.0)

    def integrated_tail(self, x: Array) -> Array:
        x = np.clip(x, 0.0, self.high)
        return x - np.maximum(x - self.low, 0.0) ** 2 / (2 * (self.high - self.low))

    def solve(self, e: Array) -> Array:
        return self.low - (self.high - self.low) * np.expm1(-np.asarray(e))

    def covering(self, age: Array, e: Array) -> Array:
        # What is left of the interval is uniform again.
        start = np.maximum(age, self.low)
        return np.maximum(start - (self.high - start) * np.expm1(-np.asarray(e, order="C")), age)

    @property
    def age(self) -> Age:
        return Age(self)

    @property
    def breaks(self) -> tuple[float, ...]:
        return (self.low, self.high) if self.low > 0 else (self.high,)


@final
@family("hyperexponential(weights=[0.9, 0.1], rates=[2, 0.1])")
class Hyperexponential(Numerical):
    """A mixture: exponential at a rate that is chosen anew for each interval; weights are relative to their sum.

    The weights say how often each rate is chosen. The age mixes the same rates, each weighted by the time it takes.

    >>> round(rn.hyperexponential(weights=[0.9, 0.1], rates=[10, 0.5]).mean, 4)
    0.29
    """

    weights: tuple[float, ...]
    rates: tuple[float, ...]

    def __init__(self, weights: Sequence[float], rates: Sequence[float]) -> None:
        weights, rates = many("weights", weights), many("rates", rates)
        if len(weights) != len(rates):
            raise FieldError("rates", f"{len(rates)} rates for {len(weights)} weights", "one rate per weight")
        self._set(weights=weights, rates=rates)

    def _mean_over_rates(self, part: Array) -> Array:
        """Return the weighted mean of `part`, whose last axis runs over the rates."""
        # Term by term: a dot product rounds by the length of the array.
        total = sum(self.weights)
        return sum(weight / total * part[..., place] for place, weight in enumerate(self.weights))

    def _exponents(self, x: Array) -> Array:
        """Return x times each rate, on a new last axis."""
        return np.asarray(x, dtype=float)[..., None] * np.array(self.rates)

    @property
    def mean(self) -> float:
        return float(self._mean_over_rates(1 / np.array(self.rates)))

    @property
    def second_moment(self) -> float:
        return float(self._mean_over_rates(2 / np.array(self.rates) ** 2))

    def tail(self, x: Array) -> Array:
        return self._mean_over_rates(np.exp(-self._exponents(x)))

    def cdf(self, x: Array) -> Array:
        return self._mean_over_rates(-np.expm1(-self._exponents(x)))

    def excess(self, x: Array) -> Array:
        return self._mean_over_rates(np.exp(-self._exponents(x)) / np.array(self.rates))

    def integrated_tail(self, x: Array) -> Array:
        return self._mean_over_rates(-np.expm1(-self._exponents(x)) / np.array(self.rates))

    @property
    def age(self) -> Hyperexponential:
        times = [weight / rate for weight, rate in zip(self.weights, self.rates, strict=True)]
        if not SMALLEST <= min(times) <= max(times) <= LARGEST:
            # Only their ratios count, and a power of two keeps the digits.
            unit = -math.frexp(max(times))[1]
            times = [max(math.ldexp(time, unit), SMALLEST) for time in times]
        return Hyperexponential(times, self.rates)


# As users write them.
constant, exponential, hyperexponential, pareto, uniform = Constant, Exponential, Hyperexponential, Pareto, Uniform
