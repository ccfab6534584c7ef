"""The interface of interval laws, and the register of their families.

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

from replnet.text import FieldError, list_text, number_text, printable

LONGEST_REPR = 200  # letters of the repr of a law; its text is whole
OLDEST = 1e300  # an age; floats reach hardly further
COARSE_SPAN = 0.01  # of the mean: wider lattices are felt
LARGEST_DENOMINATOR = 10_000  # of the ratio of two spans: with a larger one, no path is long enough to see the lattice
RATIO_ERROR = 1e-12  # relative

Array = Any  # a float or an array of floats; what goes in shaped comes out shaped
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.integer[Any]]
Flags = npt.NDArray[np.bool_]
Given = float | None  # an argument that may be left out, as another one is given: rate, mean or scale
Maker = TypeVar("Maker", bound="Callable[..., Law]")


class Law(ABC):
    """The abstract law of a positive interval X, such as the time between two updates."""

    __slots__ = ()

    @property
    @abstractmethod
    def mean(self) -> float:
        """The mean interval; may be infinite, as the age of a heavy tail is a law too."""

    @abstractmethod
    def tail(self, x: Array) -> Array:
        """Return P(X > x), for x >= 0; like all functions of a law, for a number or an array, and in its shape."""

    def isf(self, q: Array) -> Array:
        """Return the smallest x with tail(x) <= q, for q in [0, 1]; at q = 0, the longest interval.

        A law has a formula for this or for `solve`.
        """
        with np.errstate(divide="ignore"):
            return self.solve(-np.log(q))

    @abstractmethod
    def excess(self, x: Array) -> Array:
        """Return the integral of the tail from x to infinity, E[(X - x)+]; infinite if the mean interval is."""

    def integrated_tail(self, x: Array) -> Array:
        """Return the integral of the tail from 0 to x, E[min(X, x)], for finite x also where the mean is infinite."""
        return self.mean - self.excess(x)

    @property
    def rate(self) -> float:
        """The number of events per unit of time, 1 / mean; 0 if the mean interval is infinite."""
        return 1 / self.mean

    def cdf(self, x: Array) -> Array:
        """Return P(X <= x); laws with a formula for it are precise where it is small."""
        return 1 - self.tail(x)

    def quantile(self, p: Array) -> Array:
        """Return the smallest x with cdf(x) >= p, for p in [0, 1]."""
        p = np.asarray(p, dtype=float)
        with np.errstate(divide="ignore"):
            return np.where(p > 0, self.solve(-np.log1p(-p)), 0.0)[()]

    def hazard(self, x: Array) -> Array:
        """Return -log tail(x), the integrated hazard rate; infinite where the tail is 0."""
        cdf = np.minimum(self.cdf(x), 1.0)
        # Each form keeps its digits on its own side of the median.
        with np.errstate(divide="ignore"):
            return np.where(cdf < 0.5, -np.log1p(-cdf), -np.log(self.tail(x)))[()]

    def solve(self, e: Array) -> Array:
        """Return the interval x with -log tail(x) = e, to the last digits; if the tail jumps past e, that of the jump.

        A standard exponential e gives a draw of the law.
        """
        return self.isf(np.exp(-np.asarray(e)))

    def draw(self, e: Array) -> Array:
        """Return the interval x with -log tail(x) = e, quickly: laws whose `solve` is slow interpolate it to 1e-11.

        A standard exponential e gives a draw of the law. An element's value depends on nothing but that element.
        """
        # NumPy rounds differently where memory is strided.
        return self.solve(np.asarray(e, dtype=float, order="C"))

    def covering(self, age: Array, e: Array) -> Array:
        """Return the interval that covers an age, a draw of X given X > age; never below `age`.

        The draw is made from a standard exponential e.
        """
        return np.maximum(self.draw(self.hazard(age) + e), age)

    def around_zero(self, first: Array, second: Array) -> tuple[Array, Array]:
        """Return the age at time zero in equilibrium, and the interval around it, from two standard exponentials.

        An age beyond 1e300 is cut to that, which is before anything that a path looks up.
        """
        with np.errstate(over="ignore"):
            age = np.minimum(self.age.draw(first), OLDEST)
            return age, np.minimum(self.covering(age, second), np.finfo(float).max)

    @property
    @abstractmethod
    def second_moment(self) -> float:
        """The second moment E[X^2], infinite for heavy tails."""

    @property
    def variance(self) -> float:
        """The variance of the interval, infinite for heavy tails."""
        return self.second_moment - self.mean**2

    @property
    @abstractmethod
    def age(self) -> Law:
        """The law of the age: the time since the last event, seen at a random time.

        Raises FieldError if the mean interval is infinite.
        """

    @property
    def breaks(self) -> tuple[float, ...]:
        """The points above 0 at which the tail jumps or bends, which quadrature must not step across; empty if none."""
        return ()

    @property
    def span(self) -> float | None:
        """The step of the lattice on which all intervals lie, of which they are multiples; None if there is none."""
        return None

    @property
    def unit(self) -> str | None:
        """The unit in which the law counts time, such as s for a record of dates; None if it has none, for any unit."""
        return None

    def counted_in(self, unit: str) -> Law:
        """Return the same law with time in this unit, such as h; a law of plain numbers stays as it is."""
        return self

    def require_finite_mean(self) -> None:
        """Raise FieldError if the mean is infinite."""
        if not math.isfinite(self.mean):
            raise FieldError("law", f"{self} has infinite mean, so no stationary age", "a law with a finite mean")

    def __repr__(self) -> str:
        return printable(str(self), LONGEST_REPR)

    def _set(self, **values: object) -> None:
        """Set the fields of a new law, which is frozen otherwise."""
        for name, value in values.items():
            object.__setattr__(self, name, value)


def has_coarse_lattice(law: Law) -> bool:
    """Whether intervals lie on a lattice whose step is felt, as it is above a hundredth of the mean interval."""
    return law.span is not None and law.span > COARSE_SPAN * law.mean


def span_ratio(a: float, b: float) -> Fraction | None:
    """Return a / b as a fraction with a denominator up to 10,000, or None if it is no such fraction, up to rounding."""
    ratio = Fraction(a / b).limit_denominator(LARGEST_DENOMINATOR)
    return ratio if abs(float(ratio) * b - a) <= RATIO_ERROR * a else None


def commensurable(a: float, b: float) -> bool:
    """Whether lattices of the steps a and b have a common multiple, so that processes on them keep their phases.

    Only a ratio a / b with a denominator up to 10,000 counts.
    """
    return span_ratio(a, b) is not None


def sorted_distinct(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the distinct values in ascending order.

    For integers np.unique makes a hash table, which takes 180 times as long for millions.
    """
    ordered = np.sort(numbers, axis=None)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if ordered.size else ordered


def special() -> Any:
    """Return scipy.special, imported only here: few laws need it, and it takes a while to load."""
    from scipy import special

    return special


FAMILIES: dict[str, tuple[Callable[..., Law], str]] = {}
"""Families by name: the class or function that builds the law, and an example. Every module of laws adds its own."""


def family(example: str) -> Callable[[Maker], Maker]:
    """Return a decorator that registers a class of laws, or a function that returns laws, under the name in `example`.

    A class becomes frozen, its laws equal where their fields are, and written with the names of these. If its
    constructor takes other arguments by name alone (rate=, mean=, ...), one of them stands for the last field.
    """

    def register(maker: Maker) -> Maker:
        registered: Any = maker
        if isinstance(maker, type):
            registered = dataclass(frozen=True, init=False, repr=False, eq=registered.__eq__ is object.__eq__)(
                registered
            )
            if registered.__str__ is object.__str__:
                registered.__str__ = text_of
        FAMILIES[example.split("(")[0]] = registered, example
        return registered  # type: ignore[no-any-return]

    return register


def scale_arguments(law: Law) -> tuple[str, ...]:
    """Return the names of the arguments, such as rate and mean, of which any one sets the last field of the law.

    Empty if its constructor has none.
    """
    return tuple(type(law).__init__.__kwdefaults__ or ())


def fields_of(law: Law) -> dict[str, Any]:
    """Return the fields of a law of a `family` by name, in the order of its constructor."""
    return {field.name: getattr(law, field.name) for field in fields(law)}  # type: ignore[arg-type]


def text_of(law: Law, *choices: str) -> str:
    """Return the shortest text that reads back as exactly this law, such as pareto(alpha=3, rate=2).

    Its last field is written as one of `choices`, such as rate or mean; if none are named, as any that its constructor
    takes.
    """
    shape, choices = fields_of(law), choices or scale_arguments(law)
    if not choices:
        return _call_text(law, shape)
    shape.popitem()
    values = [(name, getattr(law, name)) for name in choices]
    candidates = [
        {**shape, name: number_text} for name, value in values for number_text in (float(f"{value:.15g}"), value)
    ]
    exact = [arguments for arguments in candidates if _reproduces(law, arguments)] or candidates[-1:]
    return min((_call_text(law, arguments) for arguments in exact), key=len)


def _reproduces(law: Law, arguments: Mapping[str, Any]) -> bool:
    """Whether these arguments construct a law equal to `law`."""
    try:
        return type(law)(**arguments) == law
    except ValueError:  # these arguments do not reach so far, as with the rate of an infinite mean
        return False


def _call_text(law: Law, arguments: Mapping[str, Any]) -> str:
    """Return the text of a law of this class with these arguments, by name, such as pareto(alpha=3, rate=2)."""
    values = (f"{name}={list_text(a) if isinstance(a, tuple) else number_text(a)}" for name, a in arguments.items())
    return f"{type(law).__name__.lower()}({', '.join(values)})"
