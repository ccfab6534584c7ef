"""What an age costs: weight functions w and their repeated integrals (Staleness II-C, eq. 24).

    w1 = w,   w2(x) = integral of w from 0 to x,   w3(x) = integral of w2 from 0 to x          (1)

    weight         w2                           w3
    x^n            x^(n+1) / (n+1)              x^(n+2) / ((n+1) (n+2))
    1/(1+x)        log(1+x)                     (1+x) log(1+x) - x
    log(1+x)       (1+x) log(1+x) - x           (1+x)^2 log(1+x) / 2 - x/2 - 3 x^2 / 4
    threshold(t)   (x - t)+                     (x - t)+^2 / 2

The threshold is 1 from t on, and a constant is x^0. Any other expression of x is
integrated as a piecewise polynomial that is right to about 12 digits on every panel,
so (1) keeps at least 10 digits relative to itself, jumps and bends included.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from replnet.ages.curve import Curve, Extended, fit, panel_points
from replnet.laws.law import Array
from replnet.text.arithmetic import Function, compiled
from replnet.text.errors import FieldError, finite
from replnet.text.grammar import number

FIELD = "weight"
STEP = 4.0  # from a panel to the next: powers keep 12 digits across it
SMALL = 0.05  # where closed forms lose digits to cancellation and their series takes over
TERMS = np.arange(2, 14)
GRADED = 2.0**-24  # of the scale, where panels towards a singular 0 end
DIGITS = 1e-12  # of a panel of an expression, relative to its largest value
FAINT = 1e-3  # of the largest value below age 1
GRID = 2.0 ** np.arange(-60, 61)  # where expressions are checked
FAR = 1e300


class Weight(ABC):
    """A non-negative function of ages from 0 on."""

    @abstractmethod
    def __call__(self, x: Array) -> Array:
        """w(x)."""

    @abstractmethod
    def integral(self, x: Array) -> Array:
        """w2(x) of (1)."""

    @abstractmethod
    def second_integral(self, x: Array) -> Array:
        """w3(x) of (1)."""

    @abstractmethod
    def edges(self, upto: float, scale: float) -> Array:
        """Points on (0, upto) between which w is smooth enough for quadrature of ages of about `scale`."""

    @property
    @abstractmethod
    def is_measure(self) -> bool:
        """Whether w never decreases, what Staleness V-B calls a measure."""

    @property
    @abstractmethod
    def limit(self) -> float:
        """w at infinity."""

    def order(self, n: int) -> Callable[[Array], Array]:
        """w_n of (1), n from 1 to 3."""
        return (self, self.integral, self.second_integral)[n - 1]


def graded(upto: float, start: float, step: float = STEP) -> Array:
    """Points from `start` to `upto`, each `step` times the last."""
    if start >= upto:
        return np.empty(0)
    return start * step ** np.arange(math.ceil(math.log(upto / start, step)))


@final
@dataclass(frozen=True, slots=True)
class Power(Weight):
    """x^exponent; the constant 1 where that is 0."""

    exponent: float = 0.0

    def __post_init__(self) -> None:
        if finite("exponent", self.exponent) < 0:
            raise FieldError("exponent", f"{self.exponent:g} makes a weight infinite at 0", "0 or more")

    def __str__(self) -> str:
        return {0.0: "1", 1.0: "x"}.get(self.exponent) or f"x^{number(self.exponent)}"

    def __call__(self, x: Array) -> Array:
        return np.power(np.asarray(x, dtype=float), self.exponent)

    def integral(self, x: Array) -> Array:
        return np.power(np.asarray(x, dtype=float), self.exponent + 1) / (self.exponent + 1)

    def second_integral(self, x: Array) -> Array:
        n = self.exponent
        return np.power(np.asarray(x, dtype=float), n + 2) / ((n + 1) * (n + 2))

    def edges(self, upto: float, scale: float) -> Array:
        return np.empty(0) if self.exponent == int(self.exponent) < 12 else graded(upto, scale * GRADED)

    @property
    def is_measure(self) -> bool:
        return True

    @property
    def limit(self) -> float:
        return math.inf if self.exponent else 1.0


def _log_integral(x: Array) -> Array:
    """(1+x) log(1+x) - x."""
    x = np.asarray(x, dtype=float)
    value = np.asarray((1 + x) * np.log1p(x) - x)
    small = x[x < SMALL][:, None]
    value[x < SMALL] = ((-small) ** TERMS / (TERMS * (TERMS - 1))).sum(axis=-1)
    return value[()]


def _log_second_integral(x: Array) -> Array:
    """(1+x)^2 log(1+x) / 2 - x/2 - 3 x^2 / 4."""
    x = np.asarray(x, dtype=float)
    value = np.asarray((1 + x) ** 2 * np.log1p(x) / 2 - x / 2 - 0.75 * x**2)
    small = x[x < SMALL][:, None]
    value[x < SMALL] = ((-small) ** TERMS * small / ((TERMS + 1) * TERMS * (TERMS - 1))).sum(axis=-1)
    return value[()]


@final
@dataclass(frozen=True, slots=True)
class Reciprocal(Weight):
    """1 / (1 + x)."""

    def __str__(self) -> str:
        return "1/(1+x)"

    def __call__(self, x: Array) -> Array:
        return 1 / (1 + np.asarray(x, dtype=float))

    def integral(self, x: Array) -> Array:
        return np.log1p(x)

    def second_integral(self, x: Array) -> Array:
        return _log_integral(x)

    def edges(self, upto: float, scale: float) -> Array:
        return graded(upto, 0.5)

    @property
    def is_measure(self) -> bool:
        return False

    @property
    def limit(self) -> float:
        return 0.0


@final
@dataclass(frozen=True, slots=True)
class Logarithm(Weight):
    """log(1 + x)."""

    def __str__(self) -> str:
        return "log(1+x)"

    def __call__(self, x: Array) -> Array:
        return np.log1p(x)

    def integral(self, x: Array) -> Array:
        return _log_integral(x)

    def second_integral(self, x: Array) -> Array:
        return _log_second_integral(x)

    def edges(self, upto: float, scale: float) -> Array:
        return graded(upto, 0.5)

    @property
    def is_measure(self) -> bool:
        return True

    @property
    def limit(self) -> float:
        return math.inf


@final
@dataclass(frozen=True, slots=True)
class Threshold(Weight):
    """1 from `start` on, 0 before."""

    start: float

    def __post_init__(self) -> None:
        if finite("threshold", self.start) < 0:
            raise FieldError("threshold", f"{self.start:g} is negative", "an age of 0 or more")

    def __str__(self) -> str:
        return f"threshold({number(self.start)})"

    def __call__(self, x: Array) -> Array:
        return np.where(np.asarray(x) >= self.start, 1.0, 0.0)

    def integral(self, x: Array) -> Array:
        return np.maximum(np.asarray(x) - self.start, 0.0)

    def second_integral(self, x: Array) -> Array:
        return np.maximum(np.asarray(x) - self.start, 0.0) ** 2 / 2

    def edges(self, upto: float, scale: float) -> Array:
        return np.array([self.start] if 0 < self.start < upto else [])

    @property
    def is_measure(self) -> bool:
        return True

    @property
    def limit(self) -> float:
        return 1.0


@final
@dataclass(frozen=True)
class Expression(Weight):
    """Any arithmetic of x, as text."""

    text: str

    def __post_init__(self) -> None:
        w = np.asarray(self(np.append(0.0, GRID)))
        if np.isnan(w).any() or (w < 0).any():
            x = float(np.append(0.0, GRID)[np.isnan(w) | (w < 0)][0])
            raise FieldError(FIELD, f"{self.text!r} is not a cost at x = {x:g}", "a number of 0 or more at every age")
        if not np.isfinite(w[0]):
            raise FieldError(FIELD, f"{self.text!r} is infinite at 0", "a weight that is finite there")

    def __str__(self) -> str:
        return self.text

    def __call__(self, x: Array) -> Array:
        return self._function(x)

    def integral(self, x: Array) -> Array:
        return self._integrated(x, 1)

    def second_integral(self, x: Array) -> Array:
        return self._integrated(x, 2)

    def edges(self, upto: float, scale: float) -> Array:
        edges = self._upto(upto).edges
        return edges[(edges > scale * GRADED) & (edges < upto)]

    @cached_property
    def is_measure(self) -> bool:
        with np.errstate(all="ignore"):
            return bool((np.diff(self(np.append(0.0, GRID))) >= 0).all())

    @cached_property
    def limit(self) -> float:
        near, far = (float(self(x)) for x in (FAR**0.5, FAR))
        # What still moves over 150 powers of ten grows without bound, or vanishes.
        return far if abs(far - near) <= 1e-9 * near else math.inf if far > near else 0.0

    @cached_property
    def _function(self) -> Function:
        return compiled(self.text, FIELD)

    @cached_property
    def _extended(self) -> Extended:
        return Extended(lambda upto: relative_fit(self._function, np.array([0.0, *graded(upto, GRID[0], 2.0), upto])))

    def _upto(self, x: Array) -> Curve:
        return self._extended.upto(max(float(np.max(x, initial=0.0)), 1.0))

    def _integrated(self, x: Array, times: int) -> Array:
        curve = self._upto(x)
        last = float(curve.edges[-1])  # before the largest x where w overflows
        for _ in range(times):
            curve = curve.antiderivative()
        return np.where(np.asarray(x) > last, math.inf, curve(x))[()]


def relative_fit(f: Callable[[Array], Array], edges: Array) -> Curve:
    """`f` as a curve whose panels are right to DIGITS of their own size, up to where f overflows."""
    whole = np.isfinite(f(panel_points(edges[:-1], edges[1:]))).all(axis=1)
    edges = edges[: len(whole) + 1 if whole.all() else int(np.argmin(whole)) + 1]
    sizes = np.abs(f(panel_points(edges[:-1], edges[1:]))).max(axis=1)
    # Smaller values near 0 may be differences of larger ones, and what is rounding must not be resolved.
    sizes = np.maximum(sizes, FAINT * sizes[edges[:-1] < 1].max())
    sizes[sizes == 0] = 1.0

    def panel(x: Array) -> Array:
        # Around a jump panels shrink to rounding, so that points of the last may be its end.
        return np.minimum(np.searchsorted(edges, x, side="right") - 1, len(sizes) - 1)

    curve = fit(lambda x: f(x) / sizes[panel(x)], edges, tolerance=DIGITS)
    return Curve(curve.edges, curve.powers * sizes[panel(curve.edges[:-1])], 0.0)


_POWER = re.compile(r"x(?:(?:\^|\*\*)\(?(\d+(?:\.\d*)?(?:e-?\d+)?)\)?)?")
_THRESHOLD = re.compile(r"threshold\((.*)\)")
_NAMED: dict[str, Weight] = {
    "1": Power(0.0),
    "constant": Power(0.0),
    "1/(1+x)": Reciprocal(),
    "1/(x+1)": Reciprocal(),
    "log(1+x)": Logarithm(),
    "log(x+1)": Logarithm(),
    "log1p(x)": Logarithm(),
}


def weight(text: str | float | Weight) -> Weight:
    """The weight that `text` names: a closed form where it is one of those above, else an expression."""
    if isinstance(text, Weight):
        return text
    plain = re.sub(r"\s+", "", str(text))
    if plain in _NAMED:
        return _NAMED[plain]
    if power := _POWER.fullmatch(plain):
        return Power(float(power[1] or 1))
    if threshold := _THRESHOLD.fullmatch(plain):
        try:
            start = float(threshold[1])
        except ValueError as error:
            raise FieldError(FIELD, f"{threshold[1]!r} is not an age", "threshold(2), for example") from error
        return Threshold(start)
    return Expression(str(text).strip())
