"""Laws on finitely many values: a lattice, the intervals of a record, and their ages.

With values v_0 < v_1 < ... of weight w_i, and sums over v_i > x,

    tail(x) = sum w_i / W        excess(x) = sum w_i (v_i - x) / W          (1)

The age mixes uniforms on (0, v_i) with weights w_i v_i, so its tail is excess / mean,
a polygon with corners at the values, and its excess

    sum w_i (v_i - x)^2 / (2 W mean).                                      (2)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from replnet.laws.law import Array, Floats, Ints, Law, family
from replnet.laws.numeric import Age
from replnet.text import LARGEST, SMALLEST, FieldError, convert_times, field_name, list_text, many, number_text

MOST_BREAKS = 256
MOST_PER_CELL = 4  # values in a cell of the index: with more, bisection is quicker
LARGEST_DENOMINATOR = 10**6  # of steps: finer than a millionth of the longest interval is no lattice
MOST_FRACTIONS = 10_000
LONGEST_PRINTED = 200  # intervals: longer lists are only described


class Discrete(Law):
    """An abstract law on finitely many `values`, in ascending order, each with one of the `weights`.

    Weights need not add up to 1: the chance of a value is the share of its weight in their sum. Sums of weights are
    cumulative: element i is over values from i on (`_beyond`), or over those before i (`_before`).
    """

    values: Floats
    weights: Floats

    def _set_values(self, values: ArrayLike, weights: ArrayLike) -> None:
        """Set the values and weights of a new law."""
        self._set(values=np.asarray(values, dtype=float), weights=np.asarray(weights, dtype=float))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Discrete)
            and type(other) is type(self)
            and other.unit == self.unit
            and np.array_equal(self.values, other.values)
            and np.array_equal(self.weights, other.weights)
        )

    def __hash__(self) -> int:
        return hash((type(self), self.total, self.mean, self.second_moment))

    @cached_property
    def count_beyond(self) -> Floats:
        """The sums of weights from each value on, and a 0 at the end."""
        return _sums_from(self.weights)

    @cached_property
    def count_before(self) -> Floats:
        """The sums of weights before each value, and the sum of all at the end."""
        return _sums_before(self.weights)

    @cached_property
    def sum_beyond(self) -> Floats:
        """The sums of weight times value from each value on, and a 0 at the end."""
        return _sums_from(self.weights * self.values)

    @cached_property
    def sum_before(self) -> Floats:
        """The sums of weight times value before each value, and the sum of all at the end."""
        return _sums_before(self.weights * self.values)

    @cached_property
    def squares_beyond(self) -> Floats:
        """The sums of weight times squared value from each value on, and a 0 at the end."""
        return _sums_from(self.weights * self.values**2)

    @cached_property
    def squares_before(self) -> Floats:
        """The sums of weight times squared value before each value, and the sum of all at the end."""
        return _sums_before(self.weights * self.values**2)

    @cached_property
    def cubes(self) -> float:
        """The sum of weight times cubed value, over all values."""
        return float(_sums_from(self.weights * self.values**3)[0])

    @property
    def total(self) -> float:
        """The sum of all weights."""
        return float(self.count_beyond[0])

    @property
    def mean(self) -> float:
        return float(self.sum_beyond[0]) / self.total

    @property
    def second_moment(self) -> float:
        return float(self.squares_beyond[0]) / self.total

    def tail(self, x: Array) -> Array:
        return self.count_beyond[self.above(x)] / self.total

    def cdf(self, x: Array) -> Array:
        return self.count_before[self.above(x)] / self.total

    def above(self, x: Array) -> Array:
        """Return, for every x, the index of the first value above it; the number of values if there is none."""
        return np.searchsorted(self.values, x, side="right")

    def isf(self, q: Array) -> Array:
        q = np.asarray(q, dtype=float)
        tails = self.count_beyond[1:] / self.total
        place = np.minimum(np.searchsorted(-tails, -q), tails.size - 1)
        return np.where(q < 1, self.values[place], 0.0)[()]

    @cached_property
    def hazards(self) -> Floats:
        """The hazard -log tail at each value; infinite at the last."""
        cdf, tail = self.count_before[1:] / self.total, self.count_beyond[1:] / self.total
        with np.errstate(divide="ignore"):
            return np.where(cdf < 0.5, -np.log1p(-np.minimum(cdf, 0.5)), -np.log(tail))

    @cached_property
    def _first_in_cell(self) -> Ints | None:
        """The index of the first value whose hazard reaches each of many probabilities, evenly spaced from 0 to 1.

        It serves to find values quickly. None if more than four values lie between two of them, so that bisection is
        quicker.
        """
        cells = 4 * self.values.size
        first = np.searchsorted(self.hazards, -np.log1p(-np.arange(cells) / cells))
        return first if np.diff(first).max(initial=0) <= MOST_PER_CELL else None

    def _place(self, e: Floats) -> Ints:
        """Return, for every e in a flat array, the index of the first value whose hazard is at least e.

        The hazard of a value is -log P(X > value).
        """
        if self._first_in_cell is None:
            return np.searchsorted(self.hazards, e)
        cell = (-np.expm1(-e) * self._first_in_cell.size).astype(np.int64)
        # One cell back, for a hazard that rounds across its edge.
        place = self._first_in_cell.take(cell - 1, mode="clip")
        while (is_short := self.hazards.take(place) < e).any():
            place = place + is_short
        return place

    def solve(self, e: Array) -> Array:
        e = np.asarray(e, dtype=float)
        return self.values[self._place(e.reshape(-1))].reshape(e.shape)[()]

    def covering(self, age: Array, e: Array) -> Array:
        age = np.asarray(age, dtype=float)
        place = self._place(np.atleast_1d(self.hazard(age) + e))
        # However small e is, the interval ends after the age.
        place = np.maximum(place.reshape(np.broadcast(age, e).shape), self.above(age))
        return np.maximum(self.values[np.minimum(place, self.values.size - 1)], age)[()]

    def excess(self, x: Array) -> Array:
        x, place = np.asarray(x, dtype=float), self.above(x)
        with np.errstate(invalid="ignore"):
            beyond = (self.sum_beyond[place] - x * self.count_beyond[place]) / self.total
        return np.where(place < self.values.size, np.maximum(beyond, 0.0), 0.0)[()]

    def integrated_tail(self, x: Array) -> Array:
        x, place = np.minimum(x, self.values[-1]), self.above(x)
        return (self.sum_before[place] + x * self.count_beyond[place]) / self.total

    @property
    def age(self) -> StepAge:
        return StepAge(self)

    @property
    def breaks(self) -> tuple[float, ...]:
        # Past some hundreds, the jumps are so small that quadrature sees a smooth
        # tail, and would spend its time on the breaks; these are evenly spread.
        values = self.values
        if values.size > MOST_BREAKS:
            values = np.unique(self.isf(np.linspace(0, 1, MOST_BREAKS + 1)[:-1]))
        return tuple(values.tolist())

    @property
    def span(self) -> float | None:
        return common_step(self.values)


def _sums_from(terms: Floats) -> Floats:
    """Return sums from each term to the last, and 0 behind: one element more than terms.

    Long doubles keep a million terms exact enough.
    """
    return np.append(np.cumsum(terms[::-1].astype(np.longdouble))[::-1], 0.0).astype(float)


def _sums_before(terms: Floats) -> Floats:
    """Return sums of the terms before each term, and of all terms behind: one element more than terms."""
    return np.append(0.0, np.cumsum(terms.astype(np.longdouble))).astype(float)


@final
@family("lattice(values=[1, 2], weights=[3, 1])")
class Lattice(Discrete):
    """Intervals on the listed values, in proportion to their weights; without weights, all equally likely.

    >>> round(rn.lattice(values=[1, 2], weights=[0.7, 0.3]).mean, 4)
    1.3
    """

    def __init__(self, values: Sequence[float], weights: Sequence[float] | None = None) -> None:
        values = many("values", values)
        weights = (1.0,) * len(values) if weights is None else many("weights", weights)
        if len(weights) != len(values):
            raise FieldError("weights", f"{len(weights)} weights for {len(values)} values", "one weight per value")
        merged: dict[float, float] = {}
        for value, weight in sorted(zip(values, weights, strict=True)):
            merged[value] = merged.get(value, 0.0) + weight
        even = len(set(merged.values())) == 1
        self._set_values(list(merged), [1.0] * len(merged) if even else list(merged.values()))

    def __str__(self) -> str:
        weights = "" if (self.weights == 1).all() else f", weights={list_text(self.weights)}"
        return f"lattice(values={list_text(self.values)}{weights})"


@final
@family("empirical(intervals=[0.5, 1, 3])")
class Empirical(Discrete):
    """Intervals of a record, each as likely as any other.

    Zero intervals are left out: events of one instant cannot be told apart from outside, and ages do not
    depend on them. So `rate` counts instants with an event, not events.

    >>> rn.empirical(intervals=[1, 2, 2, 5]).mean
    2.5
    """

    text: str  # its text if not built from a list: trace(file=...)
    unit: str | None = None

    def __init__(self, intervals: ArrayLike) -> None:
        self._set_values(*np.unique(_check_intervals(intervals), return_counts=True))
        self._set(text="")

    @classmethod
    def from_record(cls, intervals: ArrayLike, text: str, unit: str | None) -> Empirical:
        """Return the law of `intervals`, which are counted in `unit`, or are plain numbers if that is None.

        It is written as `text`, such as trace(file=a.csv), with the unit added as last argument.
        """
        law = cls(intervals)
        law._set(text=text, unit=unit)
        return law

    def counted_in(self, unit: str) -> Empirical:
        if self.unit in (None, unit):
            return self
        law = Empirical.__new__(Empirical)
        law._set_values(convert_times(self.values, self.unit, unit), self.weights)
        law._set(text=self.text, unit=unit)
        return law

    def __str__(self) -> str:
        """Return a text that reads back as the same law, except for a long list, which is only described."""
        if self.text:
            return self.text if self.unit is None else f"{self.text[:-1]}, unit={self.unit})"
        if self.total > LONGEST_PRINTED:
            return f"empirical(intervals=[... {self.total:.0f} of mean {number_text(self.mean)}])"
        return f"empirical(intervals={list_text(np.repeat(self.values, self.weights.astype(int)))})"


def _check_intervals(intervals: ArrayLike) -> Floats:
    """Return the intervals above zero as an array of floats; zeros are left out.

    Raises FieldError if `intervals` is no list of numbers of 0 or more, or if none is above 0.
    """
    if isinstance(intervals, (str, bytes)):
        raise FieldError("intervals", f"{intervals!r} is not a list", "a list such as [1, 2.5]")
    try:
        array = np.asarray(intervals)
    except ValueError:
        array = np.empty((0, 0))
    if array.ndim != 1 or array.dtype.kind not in "iuf":
        raise FieldError("intervals", "not a plain list of numbers", "a list such as [1, 2.5]")
    values = array.astype(float)
    bad = np.flatnonzero(~((values == 0) | ((values >= SMALLEST) & (values <= LARGEST))))
    if bad.size:
        wrong = f"{values[bad[0]]:g} is not an interval"
        raise FieldError(
            field_name(("intervals", int(bad[0]))), wrong, f"0, or a number from {SMALLEST:g} to {LARGEST:g}"
        )
    values = values[values > 0]
    if not values.size:
        raise FieldError("intervals", "no interval is above 0", "at least one number above 0")
    return values


@final
@dataclass(frozen=True, slots=True, repr=False)
class StepAge(Age):
    """The age of `law`, one on finitely many values, whose tail is a polygon: a mixture of uniforms."""

    law: Discrete

    @property
    def second_moment(self) -> float:
        return self.law.cubes / self.law.total / (3 * self.law.mean)

    def solve(self, e: Array) -> Array:
        """Return the age x with -log P(age > x) = e, for every e.

        It is found from the left corner of its side of the tail's polygon if e is small, else from the right one.
        """
        law, e = self.law, np.asarray(e, dtype=float)
        side = np.minimum(np.searchsorted(self.hazard(law.values), e), law.values.size - 1)
        covered, uncovered = -np.expm1(-e) * law.mean * law.total, np.exp(-e) * law.mean * law.total
        offset_if_short, offset_if_long = covered - law.sum_before[side], law.sum_beyond[side] - uncovered
        low = np.append(0.0, law.values)[side]
        return np.clip(
            np.where(e < 0.7, offset_if_short, offset_if_long) / law.count_beyond[side], low, law.values[side]
        )[()]

    def draw(self, e: Array) -> Array:
        return Law.draw(self, e)

    def excess(self, x: Array) -> Array:
        law, x = self.law, np.minimum(x, self.law.values[-1])
        place = law.above(x)
        squares = law.squares_beyond[place] - x * (2 * law.sum_beyond[place] - x * law.count_beyond[place])
        return np.maximum(squares, 0.0) / (2 * law.total * law.mean)

    def integrated_tail(self, x: Array) -> Array:
        law, x = self.law, np.minimum(x, self.law.values[-1])
        place = law.above(x)
        squares = law.squares_before[place] + x * (2 * law.sum_beyond[place] - x * law.count_beyond[place])
        return squares / (2 * law.total * law.mean)


def common_step(values: ArrayLike) -> float | None:
    """Return the greatest step of which every value, above 0, is a whole multiple, or None if there is none.

    Every value over the largest must be a fraction, exact to rounding, and all with one denominator up to a million:
    finer lattices cannot be told from rounding. Nor is there one for over 10,000 values that are not whole.
    """
    values = np.unique(np.asarray(values, dtype=float))
    largest = float(values[-1])
    if largest < 2**53 and np.all(values == np.floor(values)):
        step = float(np.gcd.reduce(values.astype(np.int64)))
        return step if largest <= LARGEST_DENOMINATOR * step else None
    if values.size > MOST_FRACTIONS:
        return None
    tops, common = [], 1
    for share in (values / largest).tolist():
        fraction = Fraction(share).limit_denominator(LARGEST_DENOMINATOR)
        common = math.lcm(common, fraction.denominator)
        if abs(float(fraction) - share) > 4 * math.ulp(share) or common > LARGEST_DENOMINATOR:
            return None
        tops.append(fraction)
    parts = math.gcd(*(int(top * common) for top in tops))
    # Through the decimal that was written: a third of 0.3 is 0.1.
    return float(Fraction(repr(largest)) * parts / common)


# As users write them.
empirical, lattice = Empirical, Lattice
