"""The age of any law, by quadrature and inversion.

With X the interval and A its age,

    P(A > x) = rate * excess(x)            P(A <= x) = rate * integrated_tail(x)    (1)
    E[A] = E[X^2] / (2 E[X])               E[A^2] = 2 * integral of x P(A > x)      (2)

and the age's own excess is an integral of an excess. Both sides of (1) are used, each
where it is small, so neither short nor long ages lose digits that X's law has.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np

from replnet.laws.integral import TailIntegral
from replnet.laws.inversion import solved
from replnet.laws.law import Array, Law


@final
@dataclass(frozen=True, slots=True, repr=False)
class Age(Law):
    """The time since the last event of a stationary renewal process with intervals of `law`."""

    law: Law

    def __post_init__(self) -> None:
        self.law.require_finite_mean()

    def __str__(self) -> str:
        return f"age({self.law})"

    @property
    def mean(self) -> float:
        return self.law.second_moment / (2 * self.law.mean)

    @property
    def second_moment(self) -> float:
        return 2 * self.law.rate * excess_integral(self.law).weighted() if math.isfinite(self.mean) else math.inf

    def tail(self, x: Array) -> Array:
        return self.law.rate * self.law.excess(x)

    def cdf(self, x: Array) -> Array:
        return self.law.rate * self.law.integrated_tail(x)

    def solve(self, e: Array) -> Array:
        return solved(self, e, around=self.law.mean, end=float(self.law.isf(0.0)))

    def draw(self, e: Array) -> Array:
        from replnet.laws.draw_tables import interpolated

        return interpolated(self, e)

    def excess(self, x: Array) -> Array:
        if math.isinf(self.mean):
            return np.full_like(np.asarray(x, dtype=float), math.inf)[()]
        return self.law.rate * excess_integral(self.law).beyond(x)

    def integrated_tail(self, x: Array) -> Array:
        return self.law.rate * excess_integral(self.law).before(x)

    @property
    def age(self) -> Age:
        return Age(self)

    @property
    def breaks(self) -> tuple[float, ...]:
        return self.law.breaks


@lru_cache(maxsize=256)
def excess_integral(law: Law) -> TailIntegral:
    """The integrals of the law's excess."""
    return TailIntegral(law.excess, around=law.mean, bends=law.breaks, end=float(law.isf(0.0)))
