"""Laws on finitely many values: every answer is a sum over the values beyond x.

With values v_0 < v_1 < ... of weight w_i, and sums over v_i > x,

    tail(x) = sum w_i / W        excess(x) = sum w_i (v_i - x) / W          (1)

The age mixes uniforms on (0, v_i) with weights w_i v_i, so its tail is excess / mean,
a polygon with corners at the values, and its excess

    sum w_i (v_i - x)^2 / (2 W mean).                                      (2)
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from replnet.laws.law import Array, Law

Floats = NDArray[np.float64]

MOST_BREAKS = 256
CROWDED = 4  # values in one cell of the index beyond which bisection is quicker


@final
class Steps:
    """Values in ascending order, their weights, and the sums of (1) and (2).

    Index i of a sum is the sum over values from i on, or up to i without it.
    """

    def __init__(self, values: ArrayLike, weights: ArrayLike) -> None:
        self.values = np.asarray(values, dtype=float)
        self.weights = np.asarray(weights, dtype=float)

    @cached_property
    def total(self) -> float:
        return float(self.count_beyond[0])

    @cached_property
    def count_beyond(self) -> Floats:
        return _from(self.weights)

    @cached_property
    def sum_beyond(self) -> Floats:
        return _from(self.weights * self.values)

    @cached_property
    def count_before(self) -> Floats:
        return _up_to(self.weights)

    @cached_property
    def sum_before(self) -> Floats:
        return _up_to(self.weights * self.values)

    @cached_property
    def squares_beyond(self) -> Floats:
        return _from(self.weights * self.values**2)

    @cached_property
    def squares_before(self) -> Floats:
        return _up_to(self.weights * self.values**2)

    @cached_property
    def cubes_total(self) -> float:
        return float(_from(self.weights * self.values**3)[0])

    @cached_property
    def hazard(self) -> Floats:
        """-log tail at each value; infinite at the last."""
        before, beyond = self.count_before[1:] / self.total, self.count_beyond[1:] / self.total
        with np.errstate(divide="ignore"):
            return np.where(before < 0.5, -np.log1p(-np.minimum(before, 0.5)), -np.log(beyond))

    @cached_property
    def _index(self) -> NDArray[np.int64] | None:
        """For cells of equal probability, the first value whose hazard reaches the cell; None if cells are crowded."""
        cells = 4 * self.values.size
        first = np.searchsorted(self.hazard, -np.log1p(-np.arange(cells) / cells))
        return first if np.diff(first).max(initial=0) <= CROWDED else None

    def place(self, e: Floats) -> NDArray[np.int64]:
        """The first value whose hazard is at least e."""
        if self._index is None:
            return np.searchsorted(self.hazard, e)
        cell = (-np.expm1(-e) * self._index.size).astype(np.int64)
        # One cell back, for a hazard that rounds across its edge.
        place = self._index.take(cell - 1, mode="clip")
        while (short := self.hazard.take(place) < e).any():
            place = place + short
        return place


def _from(terms: Floats) -> Floats:
    """Sums from each term to the last, and 0 for none; long doubles keep a million terms exact enough."""
    return np.append(np.cumsum(terms[::-1].astype(np.longdouble))[::-1], 0.0).astype(float)


def _up_to(terms: Floats) -> Floats:
    return np.append(0.0, np.cumsum(terms.astype(np.longdouble))).astype(float)


class Discrete(Law):
    """A law on finitely many values; a subclass says which."""

    __slots__ = ()

    steps: Steps

    @property
    def mean(self) -> float:
        return float(self.steps.sum_beyond[0]) / self.steps.total

    @property
    def second_moment(self) -> float:
        return float(self.steps.squares_beyond[0]) / self.steps.total

    def tail(self, x: Array) -> Array:
        return self.steps.count_beyond[self._beyond(x)] / self.steps.total

    def cdf(self, x: Array) -> Array:
        return self.steps.count_before[self._beyond(x)] / self.steps.total

    def _beyond(self, x: Array) -> Array:
        """The first value above x."""
        return np.searchsorted(self.steps.values, x, side="right")

    def isf(self, q: Array) -> Array:
        q = np.asarray(q, dtype=float)
        tails = self.steps.count_beyond[1:] / self.steps.total
        place = np.minimum(np.searchsorted(-tails, -q), tails.size - 1)
        return np.where(q < 1, self.steps.values[place], 0.0)[()]

    def solve(self, e: Array) -> Array:
        e = np.asarray(e, dtype=float)
        return self.steps.values[self.steps.place(e.reshape(-1))].reshape(e.shape)[()]

    def covering(self, age: Array, e: Array) -> Array:
        age = np.asarray(age, dtype=float)
        place = self.steps.place(np.atleast_1d(self.hazard(age) + e))
        # However small e is, the interval ends after the age.
        place = np.maximum(place.reshape(np.broadcast(age, e).shape), self._beyond(age))
        return np.maximum(self.steps.values[np.minimum(place, self.steps.values.size - 1)], age)[()]

    def excess(self, x: Array) -> Array:
        x, place = np.asarray(x, dtype=float), self._beyond(x)
        with np.errstate(invalid="ignore"):
            beyond = (self.steps.sum_beyond[place] - x * self.steps.count_beyond[place]) / self.steps.total
        return np.where(place < self.steps.values.size, np.maximum(beyond, 0.0), 0.0)[()]

    def integrated_tail(self, x: Array) -> Array:
        x, place = np.minimum(x, self.steps.values[-1]), self._beyond(x)
        return (self.steps.sum_before[place] + x * self.steps.count_beyond[place]) / self.steps.total

    @property
    def age(self) -> StepAge:
        return StepAge(self)

    @property
    def breaks(self) -> tuple[float, ...]:
        # Past some hundreds, the jumps are so small that quadrature sees a smooth
        # tail, and would spend its time on the breaks; these are evenly spread.
        values = self.steps.values
        if values.size > MOST_BREAKS:
            values = np.unique(self.isf(np.linspace(0, 1, MOST_BREAKS + 1)[:-1]))
        return tuple(values.tolist())

    @property
    @abstractmethod
    def span(self) -> float | None: ...


@final
@dataclass(frozen=True, slots=True, repr=False)
class StepAge(Law):
    """The age of a law on finitely many values, whose tail is a polygon: a mixture of uniforms."""

    law: Discrete

    def __str__(self) -> str:
        return f"age({self.law})"

    @property
    def mean(self) -> float:
        return self.law.second_moment / (2 * self.law.mean)

    @property
    def second_moment(self) -> float:
        return self.law.steps.cubes_total / self.law.steps.total / (3 * self.law.mean)

    def tail(self, x: Array) -> Array:
        return self.law.rate * self.law.excess(x)

    def cdf(self, x: Array) -> Array:
        return self.law.rate * self.law.integrated_tail(x)

    def solve(self, e: Array) -> Array:
        """On the side of the polygon that e falls on, from its left corner for short ages, its right for long."""
        steps = self.law.steps
        e = np.asarray(e, dtype=float)
        side = np.minimum(np.searchsorted(self.hazard(steps.values), e), steps.values.size - 1)
        count = steps.count_beyond[side]
        covered = -np.expm1(-e) * self.law.mean * steps.total
        left = np.exp(-e) * self.law.mean * steps.total
        short, long = (covered - steps.sum_before[side]) / count, (steps.sum_beyond[side] - left) / count
        low = np.append(0.0, steps.values)[side]
        return np.clip(np.where(e < 0.7, short, long), low, steps.values[side])[()]

    def excess(self, x: Array) -> Array:
        steps = self.law.steps
        x = np.minimum(x, steps.values[-1])
        place = self.law._beyond(x)
        squares = steps.squares_beyond[place] - x * (2 * steps.sum_beyond[place] - x * steps.count_beyond[place])
        return np.maximum(squares, 0.0) / (2 * steps.total * self.law.mean)

    def integrated_tail(self, x: Array) -> Array:
        steps = self.law.steps
        x = np.minimum(x, steps.values[-1])
        place = self.law._beyond(x)
        squares = steps.squares_before[place] + x * (2 * steps.sum_beyond[place] - x * steps.count_beyond[place])
        return squares / (2 * steps.total * self.law.mean)

    @property
    def age(self) -> Law:
        from replnet.laws.numeric import Age

        return Age(self)

    @property
    def breaks(self) -> tuple[float, ...]:
        return self.law.breaks
