"""What every interval law knows.

Notation of the papers: F the distribution function of an interval X, rate =
1/E[X], and in equilibrium the age A (time since the last event) with

    P(A > x) = rate * integral from x to infinity of (1 - F)                 (1)

A law answers with four functions: `tail` = 1 - F, its inverse `isf`, `excess`
(the integral in (1)) and `integrated_tail` (the same from 0 to x). The rest
follows, the age too, which is a law again.

Sampling maps a standard exponential e to the interval x that solves

    -log tail(x) = e,                                                        (2)

one e per interval. So the same stream drives any law, and larger e means a
longer interval under every law, which is what makes differences between laws
smooth. The interval that covers an age a in equilibrium is longer than a and
otherwise as usual, P(X > x | X > a) = tail(x) / tail(a), so it solves

    -log tail(x) = -log tail(a) + e.                                         (3)
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from replnet.text.errors import FieldError
from replnet.text.grammar import listed, number

OLDEST = 1e300
FELT = 0.01  # of the mean: spans above it
FINEST = 10_000  # denominator of the ratio of two spans beyond which no path is long enough to tell
EXACT = 1e-12  # relative, of that ratio

Array = Any  # a float or an array of floats; what goes in shaped comes out shaped
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.integer[Any]]
Flags = npt.NDArray[np.bool_]
Given = float | None  # an argument that stands for the same as others, such as rate, mean and scale
Maker = TypeVar("Maker", bound="Callable[..., Law]")


class Law(ABC):
    """The law of a positive interval."""

    __slots__ = ()

    @property
    @abstractmethod
    def mean(self) -> float:
        """May be infinite: the age of a heavy tail is a law too."""

    @abstractmethod
    def tail(self, x: Array) -> Array:
        """P(X > x), for x >= 0."""

    def isf(self, q: Array) -> Array:
        """The smallest x with tail(x) <= q, for q in [0, 1]. A law has a formula for this or for `solve`."""
        with np.errstate(divide="ignore"):
            return self.solve(-np.log(q))

    @abstractmethod
    def excess(self, x: Array) -> Array:
        """Integral of the tail from x to infinity, E[(X - x)+]."""

    def integrated_tail(self, x: Array) -> Array:
        """Integral of the tail from 0 to x, E[min(X, x)]; finite even where the mean is not."""
        return self.mean - self.excess(x)

    @property
    def rate(self) -> float:
        """Events per unit of time."""
        return 1 / self.mean

    def cdf(self, x: Array) -> Array:
        """P(X <= x); laws that can are precise where it is small."""
        return 1 - self.tail(x)

    def quantile(self, p: Array) -> Array:
        """The smallest x with cdf(x) >= p, for p in [0, 1]."""
        p = np.asarray(p, dtype=float)
        with np.errstate(divide="ignore"):
            return np.where(p > 0, self.solve(-np.log1p(-p)), 0.0)[()]

    def hazard(self, x: Array) -> Array:
        """-log tail(x), the left side of (2)."""
        below = np.minimum(self.cdf(x), 1.0)
        # Each form keeps its digits on its own side of the median.
        with np.errstate(divide="ignore"):
            return np.where(below < 0.5, -np.log1p(-below), -np.log(self.tail(x)))[()]

    def solve(self, e: Array) -> Array:
        """The interval that solves (2), to the last digits."""
        return self.isf(np.exp(-np.asarray(e)))

    def draw(self, e: Array) -> Array:
        """The interval that solves (2), quickly: laws whose `solve` is slow interpolate it to 1e-11.

        An element's value depends on nothing but that element.
        """
        # NumPy rounds differently where memory is strided.
        return self.solve(np.asarray(e, dtype=float, order="C"))

    def covering(self, age: Array, e: Array) -> Array:
        """The interval that covers `age`, which solves (3); never below `age`."""
        return np.maximum(self.draw(self.hazard(age) + e), age)

    def around_zero(self, first: Array, second: Array) -> tuple[Array, Array]:
        """The age at time zero in equilibrium, and the interval around it, from two standard exponentials.

        An age that floats do not reach is the `OLDEST`, which is before anything that a path looks up.
        """
        with np.errstate(over="ignore"):
            age = np.minimum(self.age.draw(first), OLDEST)
            return age, np.minimum(self.covering(age, second), np.finfo(float).max)

    @property
    @abstractmethod
    def second_moment(self) -> float:
        """E[X^2], infinite where the tail says so."""

    @property
    def variance(self) -> float:
        return self.second_moment - self.mean**2

    @property
    @abstractmethod
    def age(self) -> Law:
        """The law of (1)."""

    @property
    def breaks(self) -> tuple[float, ...]:
        """Where the tail jumps or bends: quadrature must not step across."""
        return ()

    @property
    def span(self) -> float | None:
        """The lattice on which all intervals lie, or None."""
        return None

    def require_finite_mean(self) -> None:
        if not math.isfinite(self.mean):
            raise FieldError("law", f"{self} has infinite mean, so no stationary age", "a law with a finite mean")

    def __repr__(self) -> str:
        return str(self)

    def _set(self, **values: object) -> None:
        """Give a new law its fields, which stay as they are from then on."""
        for name, value in values.items():
            object.__setattr__(self, name, value)


def coarse(law: Law) -> bool:
    """On a lattice whose step is felt: a record in whole seconds with hours between its events is not."""
    return law.span is not None and law.span > FELT * law.mean


def span_ratio(a: float, b: float) -> Fraction | None:
    """a / b as a fraction of small numbers, if it is one up to rounding."""
    found = Fraction(a / b).limit_denominator(FINEST)
    return found if abs(float(found) * b - a) <= EXACT * a else None


def commensurable(a: float, b: float) -> bool:
    """Processes on lattices of these spans keep their phases."""
    return span_ratio(a, b) is not None


def distinct(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """In order, each once. Of whole numbers np.unique makes a table, which of millions takes 180 times as long."""
    ordered = np.sort(numbers, axis=None)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if ordered.size else ordered


def special() -> Any:
    """The special functions of SciPy, which few laws need and which take a while to load."""
    from scipy import special

    return special


FAMILIES: dict[str, tuple[Callable[..., Law], str]] = {}
"""By name, what makes laws that users write, and an example; every module of laws adds its own."""


def family(example: str) -> Callable[[Maker], Maker]:
    """Marks a class of laws, or a function that makes some, as what users write like `example`.

    A class becomes frozen, its laws equal where their fields are, and written with the names of these. If its
    constructor takes other arguments by name alone (rate=, mean=, ...), one of them stands for the last field.
    """

    def register(maker: Maker) -> Maker:
        made: Any = maker
        if isinstance(maker, type):
            made = dataclass(frozen=True, init=False, repr=False, eq=made.__eq__ is object.__eq__)(made)
            if made.__str__ is object.__str__:
                made.__str__ = text_of
        FAMILIES[example.split("(")[0]] = made, example
        return made  # type: ignore[no-any-return]

    return register


def choices_of(law: Law) -> tuple[str, ...]:
    """The arguments, such as rate and mean, of which one stands for the last field of a law."""
    return tuple(type(law).__init__.__kwdefaults__ or ())


def fields_of(law: Law) -> dict[str, Any]:
    """What a law of a `family` is made of, in order."""
    return {field.name: getattr(law, field.name) for field in fields(law)}  # type: ignore[arg-type]


def text_of(law: Law, *choices: str) -> str:
    """The shortest text that gives exactly this law back, with one of `choices`, or of what its constructor takes."""
    shape, choices = fields_of(law), choices or choices_of(law)
    if not choices:
        return _text(law, shape)
    shape.popitem()
    values = [(name, getattr(law, name)) for name in choices]
    ways = [{**shape, name: number} for name, value in values for number in (float(f"{value:.15g}"), value)]
    exact = [way for way in ways if _gives(law, way)] or ways[-1:]
    return min((_text(law, way) for way in exact), key=len)


def _gives(law: Law, arguments: Mapping[str, Any]) -> bool:
    try:
        return type(law)(**arguments) == law
    except ValueError:  # these arguments do not reach so far, as with the rate of an infinite mean
        return False


def _text(law: Law, arguments: Mapping[str, Any]) -> str:
    values = (f"{name}={listed(a) if isinstance(a, tuple) else number(a)}" for name, a in arguments.items())
    return f"{type(law).__name__.lower()}({', '.join(values)})"
