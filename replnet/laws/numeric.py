"""Laws without formulas: the age of any law, and the quadrature that it needs.

With X the interval and A its age,

    P(A > x) = rate * excess(x)            P(A <= x) = rate * integrated_tail(x)    (1)
    E[A] = E[X^2] / (2 E[X])               E[A^2] = 2 * integral of x P(A > x)      (2)

and the age's own excess is an integral of an excess. Both sides of (1) are used, each
where it is small, so neither short nor long ages lose digits that X's law has.

The integral of a decreasing function f, from x to infinity and from 0 to x: the half line is
cut into panels: octaves, the bends of f, and ever shorter panels towards the end of a bounded
support. On each, f is a polynomial, and the panel is halved until its last coefficients are
less than 1e-13 of the panel's own integral, so that f cannot fall by much in it. Both
integrals keep about 12 digits relative to themselves, far out too, because sums run from the
far end. Past the last panel f has either vanished or is a power x^-a, as laws with heavy
tails become; then the integral beyond x is x f(x) / (a - 1), infinite for a <= 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import final

import numpy as np

from replnet.laws.inversion import interpolate, invert
from replnet.laws.law import Array, Floats, Ints, Law
from replnet.laws.piecewise import Curve, halve, resolution_error, sample_panels, to_powers

LOWEST_OCTAVE, HIGHEST_OCTAVE = -140, 200  # relative to `around`; powers up to x^-4 have not vanished there
VANISHED_SHARE = 1e-290  # of f(0)
LARGEST_NOISE = 1e-10  # errors below this that halving does not help are rounding in f
RESOLVED_SHARE = 1e-13  # of its integral: size of the last coefficients of a panel that needs no split
MOST_PANELS = 3000


class Numerical(Law):
    """A law that is known by its tail and the tail's integrals; search and quadrature give all else."""

    __slots__ = ()

    @property
    def around(self) -> float:
        """The order of magnitude of its intervals, by default their mean."""
        return self.mean

    @property
    def end(self) -> float:
        """The end of its support: no interval is longer; infinite if there is none."""
        return math.inf

    def solve(self, e: Array) -> Array:
        return invert(self, e, around=self.around, end=self.end)

    def draw(self, e: Array) -> Array:
        return interpolate(self, e)

    @property
    def second_moment(self) -> float:
        return 2 * float(excess_integral(self).beyond(0.0))

    @property
    def age(self) -> Law:
        return Age(self)


@dataclass(frozen=True, slots=True, repr=False)
class Age(Numerical):
    """The time since the last event of a stationary renewal process with intervals of `law`, as a law of its own.

    Raises FieldError if the mean of `law` is infinite.
    """

    law: Law

    def __post_init__(self) -> None:
        self.law.require_finite_mean()

    def __str__(self) -> str:
        return f"age({self.law})"

    @property
    def unit(self) -> str | None:
        return self.law.unit

    def counted_in(self, unit: str) -> Law:
        return replace(self, law=self.law.counted_in(unit))

    @property
    def around(self) -> float:
        return self.law.mean

    @property
    def end(self) -> float:
        return float(self.law.isf(0.0))

    @property
    def mean(self) -> float:
        return self.law.second_moment / (2 * self.law.mean)

    @property
    def second_moment(self) -> float:
        return 2 * self.law.rate * excess_integral(self.law).first_moment() if math.isfinite(self.mean) else math.inf

    def tail(self, x: Array) -> Array:
        return self.law.rate * self.law.excess(x)

    def cdf(self, x: Array) -> Array:
        return self.law.rate * self.law.integrated_tail(x)

    def excess(self, x: Array) -> Array:
        if math.isinf(self.mean):
            return np.full_like(np.asarray(x, dtype=float), math.inf)[()]
        return self.law.rate * excess_integral(self.law).beyond(x)

    def integrated_tail(self, x: Array) -> Array:
        return self.law.rate * excess_integral(self.law).before(x)

    @property
    def breaks(self) -> tuple[float, ...]:
        return self.law.breaks


@lru_cache(maxsize=256)
def excess_integral(law: Law) -> TailIntegral:
    """Return the object that integrates the law's excess E[(X - x)+], from 0 to any x and from x to infinity.

    It is computed once for each law.
    """
    return TailIntegral(law.excess, around=law.mean, bends=law.breaks, end=float(law.isf(0.0)))


@final
class TailIntegral:
    """The two integrals of a decreasing function `f`, from 0 to x and from x to infinity."""

    def __init__(
        self, f: Callable[[Array], Array], *, around: float, bends: Iterable[float] = (), end: float = math.inf
    ) -> None:
        """Cut the half line into panels on which f is nearly a polynomial, and integrate it over each.

        f changes at about the size `around`, bends at `bends`, and is 0 from `end` on.
        """
        with np.errstate(all="ignore"):
            self._curve = _refine_panels(f, _first_edges(f, around, bends, end))
            self._last = float(self._curve.edges[-1])
            half_way_height, height = float(f(self._last / 2)), float(f(self._last))
        # The a of f ~ x^-a at the last edge, and f there; no height where f has vanished.
        self._power, self._height = (
            (math.log2(half_way_height / height), height) if height > VANISHED_SHARE else (math.inf, 0.0)
        )
        self._from_left_edge, self._panel_integrals = self._curve.panel_antiderivative(), self._curve.panel_integrals()
        outside = self._height * self._last / (self._power - 1) if self._power > 1 else 0.0
        # From the small end of each sum to the large one.
        self._beyond = np.cumsum(np.append(outside, self._panel_integrals[::-1]))[::-1]
        self._before = np.append(0.0, np.cumsum(self._panel_integrals))

    def beyond(self, x: Array) -> Array:
        """Return the integral of f from x to infinity, for a number or an array; infinite if it diverges."""
        x = np.asarray(x, dtype=float)
        if self._power <= 1:
            return np.full_like(x, math.inf)[()]
        panel, from_left_edge = self._find_panel(x)
        inside = self._beyond[panel + 1] + (self._panel_integrals[panel] - from_left_edge)
        with np.errstate(invalid="ignore", divide="ignore"):
            beyond_last_panel = (
                self._beyond[-1] * np.power(x / self._last, 1 - self._power) if self._height else 0 * inside
            )
        return np.where(x >= self._last, beyond_last_panel, np.maximum(inside, 0.0))[()]

    def before(self, x: Array) -> Array:
        """Return the integral of f from 0 to x, for a number or an array."""
        x = np.asarray(x, dtype=float)
        panel, from_left_edge = self._find_panel(x)
        inside = self._before[panel] + from_left_edge
        return np.where(x >= self._last, self._before[-1] + self._far_before(x), inside)[()]

    def first_moment(self) -> float:
        """Return the integral of x f(x) from 0 to infinity; infinite if it diverges."""
        if self._height and self._power <= 2 + 1e-9:
            return math.inf
        edges, powers = self._curve.edges, self._curve.powers
        # x is middle + half t, and times t the powers move up by one.
        half, middle = np.diff(edges) / 2, (edges[:-1] + edges[1:]) / 2
        moments = Curve(edges, np.vstack([middle * powers, 0 * half]) + np.vstack([0 * half, half * powers]), 0.0)
        inside = float(np.sum(moments.panel_integrals()))
        return inside + (self._height * self._last**2 / (self._power - 2) if self._height else 0.0)

    def _find_panel(self, x: Array) -> tuple[Ints, Floats]:
        """Return the number of the panel in which each x lies, and the integral of f from the panel's left edge to x.

        The integral is 0 for an x that is in no panel.
        """
        x = np.clip(x, 0.0, self._last)
        return self._curve.panel_of(x), self._from_left_edge(x)

    def _far_before(self, x: Array) -> Array:
        """Return the integral of f from the end of the last panel to every x, 0 for x before it.

        f is a power of x there, or has vanished.
        """
        if not self._height:
            return 0.0
        growth = np.log(np.maximum(x / self._last, 1.0))
        if abs(self._power - 1) < 1e-9:
            return self._height * self._last * growth
        return self._height * self._last * np.expm1((1 - self._power) * growth) / (1 - self._power)


def _first_edges(f: Callable[[Array], Array], around: float, bends: Iterable[float], end: float) -> Floats:
    """Return the ascending edges of panels to begin with, for a decreasing function f.

    They are zero, octaves around `around` up to where f has vanished, `bends`, and ever closer ones towards `end` if
    that is finite.
    """
    octaves = np.ldexp(around, np.arange(LOWEST_OCTAVE, HIGHEST_OCTAVE + 1))
    octaves = octaves[np.isfinite(octaves) & (octaves < end)]
    edges = np.concatenate(([0.0], octaves, [bend for bend in bends if 0 < bend < end]))
    if math.isfinite(end):
        edges = np.append(edges, end - end * np.ldexp(1.0, -np.arange(1, 52)))
        return np.unique(np.append(edges, end))
    edges = np.unique(edges)
    return edges[: max(2, 1 + int(np.searchsorted(-f(edges), -VANISHED_SHARE * f(0.0), side="left")))]


def _refine_panels(f: Callable[[Array], Array], edges: Floats) -> Curve:
    """Return the decreasing function f as a curve that is exact to rounding on each panel, as a share of its integral.

    `edges` are those of the first panels, which are halved until that holds, or there are some 3,000 panels.
    """
    values = sample_panels(f, edges[:-1], edges[1:])
    parent_error = np.full(edges.size - 1, math.inf)  # the error of the panel that each one is half of
    while True:
        curve = Curve(edges, to_powers(values), 0.0)
        width = np.diff(edges)
        error = resolution_error(values) * width / np.abs(curve.panel_integrals())
        noise = (error < LARGEST_NOISE) & (error > 0.7 * parent_error)
        wide = (error > RESOLVED_SHARE) & ~noise & (width > 1e-13 * edges[1:])
        if not wide.any() or edges.size >= MOST_PANELS:
            return curve
        parent_error = np.repeat(np.where(wide, error, parent_error), 1 + wide)
        edges, values = halve(f, edges, values, wide)
