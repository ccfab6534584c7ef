"""Laws on listed values: a lattice, and the intervals of a record."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from replnet.laws.steps import Discrete, Steps
from replnet.text.errors import LARGEST, SMALLEST, FieldError, many
from replnet.text.grammar import listed, number

FINEST = 10**6  # lattices finer than a millionth of the longest interval count as none
MOST_FRACTIONS = 10_000
SHORT = 200  # intervals that are printed in full


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Lattice(Discrete):
    """The listed values, in proportion to their weights."""

    values: tuple[float, ...]
    weights: tuple[float, ...]
    steps: Steps = field(compare=False)

    def __init__(self, values: Sequence[float], weights: Sequence[float] | None = None) -> None:
        values = many("values", values)
        weights = (1.0,) * len(values) if weights is None else many("weights", weights)
        if len(weights) != len(values):
            raise FieldError("weights", f"{len(weights)} weights for {len(values)} values", "one weight per value")
        merged: dict[float, float] = {}
        for value, weight in sorted(zip(values, weights, strict=True)):
            merged[value] = merged.get(value, 0.0) + weight
        object.__setattr__(self, "values", tuple(merged))
        even = len(set(merged.values())) == 1
        object.__setattr__(self, "weights", (1.0,) * len(merged) if even else tuple(merged.values()))
        object.__setattr__(self, "steps", Steps(self.values, self.weights))

    def __str__(self) -> str:
        weights = "" if set(self.weights) == {1.0} else f", weights={listed(self.weights)}"
        return f"lattice(values={listed(self.values)}{weights})"

    @property
    def span(self) -> float | None:
        return common_step(self.values)


@final
@dataclass(frozen=True, slots=True, init=False, repr=False, eq=False)
class Empirical(Discrete):
    """The intervals of a record, each as likely as any other.

    Zero intervals are left out: nothing that looks at the process can tell events of one instant
    apart, and ages do not depend on them. So `rate` counts instants with an event, not events.
    """

    steps: Steps
    text: str  # what made it, if not a list: trace(file=...)

    def __init__(self, intervals: ArrayLike) -> None:
        values, counts = np.unique(_checked(intervals), return_counts=True)
        object.__setattr__(self, "steps", Steps(values, counts))
        object.__setattr__(self, "text", "")

    @classmethod
    def recorded(cls, intervals: ArrayLike, text: str) -> Empirical:
        """The law of `intervals`, which writes itself as `text`."""
        law = cls(intervals)
        object.__setattr__(law, "text", text)
        return law

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Empirical)
            and np.array_equal(self.steps.values, other.steps.values)
            and np.array_equal(self.steps.weights, other.steps.weights)
        )

    def __hash__(self) -> int:
        return hash((Empirical, self.steps.total, self.mean, self.second_moment))

    def __str__(self) -> str:
        """Reads back as the same law, except a long list, which is only described."""
        if self.text:
            return self.text
        if self.steps.total > SHORT:
            return f"empirical(intervals=[... {self.steps.total:.0f} of mean {number(self.mean)}])"
        return f"empirical(intervals={listed(np.repeat(self.steps.values, self.steps.weights.astype(int)))})"

    @property
    def span(self) -> float | None:
        return common_step(self.steps.values)


def _checked(intervals: ArrayLike) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The intervals above zero, as an array."""
    if isinstance(intervals, (str, bytes)):
        raise FieldError("intervals", f"{intervals!r} is not a list", "a list such as [1, 2.5]")
    try:
        given = np.asarray(intervals)
    except ValueError:
        given = np.empty((0, 0))
    if given.ndim != 1 or given.dtype.kind not in "iuf":
        raise FieldError("intervals", "not a plain list of numbers", "a list such as [1, 2.5]")
    values = given.astype(float)
    bad = np.flatnonzero(~((values == 0) | ((values >= SMALLEST) & (values <= LARGEST))))
    if bad.size:
        wrong = f"{values[bad[0]]:g} is not an interval"
        raise FieldError(f"intervals[{bad[0]}]", wrong, f"0, or a number from {SMALLEST:g} to {LARGEST:g}")
    values = values[values > 0]
    if not values.size:
        raise FieldError("intervals", "no interval is above 0", "at least one number above 0")
    return values


def common_step(values: ArrayLike) -> float | None:
    """The greatest step of which every value is a whole multiple, or None.

    Every value over the largest must be a fraction, exact to rounding, and all with one denominator up to
    a million: finer lattices cannot be told from rounding.
    """
    values = np.unique(np.asarray(values, dtype=float))
    largest = float(values[-1])
    if largest < 2**53 and np.all(values == np.floor(values)):
        step = float(np.gcd.reduce(values.astype(np.int64)))
        return step if largest <= FINEST * step else None
    if values.size > MOST_FRACTIONS:
        return None
    tops, common = [], 1
    for share in (values / largest).tolist():
        fraction = Fraction(share).limit_denominator(FINEST)
        common = math.lcm(common, fraction.denominator)
        if abs(float(fraction) - share) > 4 * math.ulp(share) or common > FINEST:
            return None
        tops.append(fraction)
    parts = math.gcd(*(int(top * common) for top in tops))
    # Through the decimal that was written: a third of 0.3 is 0.1.
    return float(Fraction(repr(largest)) * parts / common)
