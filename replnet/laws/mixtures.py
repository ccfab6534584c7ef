"""Mixtures of exponentials."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from replnet.laws.law import Array, Law
from replnet.text.errors import LARGEST, SMALLEST, FieldError, many
from replnet.text.grammar import listed


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Hyperexponential(Law):
    """Exponential at a rate chosen anew for each interval; weights count relative to their sum.

    Its age mixes the same rates, each weighted by the time it takes.
    """

    weights: tuple[float, ...]
    rates: tuple[float, ...]

    def __init__(self, weights: Sequence[float], rates: Sequence[float]) -> None:
        weights, rates = many("weights", weights), many("rates", rates)
        if len(weights) != len(rates):
            raise FieldError("rates", f"{len(rates)} rates for {len(weights)} weights", "one rate per weight")
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "rates", rates)

    def __str__(self) -> str:
        return f"hyperexponential(weights={listed(self.weights)}, rates={listed(self.rates)})"

    def _mixed(self, part: Array) -> Array:
        """The average of `part`, whose last axis runs over the rates."""
        # Term by term: a dot product rounds by the length of the array.
        total = sum(self.weights)
        return sum(weight / total * part[..., place] for place, weight in enumerate(self.weights))

    def _decay(self, x: Array) -> Array:
        return np.asarray(x, dtype=float)[..., None] * np.array(self.rates)

    @property
    def mean(self) -> float:
        return float(self._mixed(1 / np.array(self.rates)))

    @property
    def second_moment(self) -> float:
        return float(self._mixed(2 / np.array(self.rates) ** 2))

    def tail(self, x: Array) -> Array:
        return self._mixed(np.exp(-self._decay(x)))

    def cdf(self, x: Array) -> Array:
        return self._mixed(-np.expm1(-self._decay(x)))

    def excess(self, x: Array) -> Array:
        return self._mixed(np.exp(-self._decay(x)) / np.array(self.rates))

    def integrated_tail(self, x: Array) -> Array:
        return self._mixed(-np.expm1(-self._decay(x)) / np.array(self.rates))

    def solve(self, e: Array) -> Array:
        from replnet.laws.inversion import solved

        return solved(self, e, around=self.mean)

    def draw(self, e: Array) -> Array:
        from replnet.laws.draw_tables import interpolated

        return interpolated(self, e)

    @property
    def age(self) -> Hyperexponential:
        times = [weight / rate for weight, rate in zip(self.weights, self.rates, strict=True)]
        if not SMALLEST <= min(times) <= max(times) <= LARGEST:
            # Only their ratios count, and a power of two keeps the digits.
            unit = -math.frexp(max(times))[1]
            times = [max(math.ldexp(time, unit), SMALLEST) for time in times]
        return Hyperexponential(times, self.rates)
