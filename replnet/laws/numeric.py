"""Laws without formulas: the age of any law, and the quadrature that it needs.

With X the interval and A its age,

    P(A > x) = rate * excess(x)            P(A <= x) = rate * integrated_tail(x)    (1)
    E[A] = E[X^2] / (2 E[X])               E[A^2] = 2 * integral of x P(A > x)      (2)

and the age's own excess is an integral of an excess. Both sides of (1) are used, each
where it is small, so neither short nor long ages lose digits that X's law has.

The integral of a decreasing function f, from x to infinity and from 0 to x: the half line is
cut into panels: octaves, the bends of f, and ever shorter panels towards the end of a bounded
support. On each, f is a Chebyshev polynomial of degree 16, and the panel is halved until

    the polynomial is off by less than 1e-14 of the panel's own integral, and      (3)
    what lies beyond the panel is at least a thousandth of it,                     (4)

so both integrals keep about 12 digits relative to themselves, far out too, because
sums run from the far end. Past the last panel f has either vanished or is a power
x^-a, as laws with heavy tails become; then the integral beyond x is x f(x) / (a - 1),
infinite for a <= 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import final

import numpy as np

from replnet.laws.inversion import interpolate, invert
from replnet.laws.law import Array, Floats, Law

DEGREE = 16
LOWEST_OCTAVE, HIGHEST_OCTAVE = -140, 200  # relative to `around`; powers up to x^-4 have not vanished there
VANISHED_SHARE = 1e-290  # of f(0)
LARGEST_NOISE = 1e-10  # errors below this that halving does not help are rounding in f
MOST_PANELS = 3000

_ORDERS = np.arange(DEGREE + 1)
_NODES = np.cos(np.pi * _ORDERS / DEGREE)
_FIT = np.linalg.inv(np.polynomial.chebyshev.chebvander(_NODES, DEGREE))
_OVER = np.where(
    _ORDERS % 2 == 0, 2 / (1 - np.where(_ORDERS == 1, 2, _ORDERS) ** 2.0), 0.0
)  # integral of T_j over [-1, 1]


class Numerical(Law):
    """A law that is known by its tail and the tail's integrals; search and quadrature give all else."""

    __slots__ = ()

    @property
    def around(self) -> float:
        """The order of magnitude of its intervals."""
        return self.mean

    @property
    def end(self) -> float:
        """The end of its support: no interval is longer."""
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
    """The time since the last event of a stationary renewal process with intervals of `law`."""

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
    """Return the integrals of the law's excess E[(X - x)+] as a function of x, from 0 on and to infinity; cached."""
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
            self._edges, self._fit = _refine_panels(f, _first_edges(f, around, bends, end))
            self._last = float(self._edges[-1])
            half_way_height, height = float(f(self._last / 2)), float(f(self._last))
        # The a of f ~ x^-a at the last edge, and f there; no height where f has vanished.
        self._power, self._height = (
            (math.log2(half_way_height / height), height) if height > VANISHED_SHARE else (math.inf, 0.0)
        )
        self._half = np.diff(self._edges) / 2
        self._panel_integrals = np.asarray(self._fit @ _OVER * self._half)
        # By order and panel, the integral from the panel's left edge.
        self._left = np.polynomial.chebyshev.chebint(self._fit.T, lbnd=-1) * self._half
        outside = self._height * self._last / (self._power - 1) if self._power > 1 else 0.0
        # From the small end of each sum to the large one.
        self._beyond = np.cumsum(np.append(outside, self._panel_integrals[::-1]))[::-1]
        self._before = np.append(0.0, np.cumsum(self._panel_integrals))

    def beyond(self, x: Array) -> Array:
        """Return the integral of f from x to infinity."""
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
        """Return the integral of f from 0 to x."""
        x = np.asarray(x, dtype=float)
        panel, from_left_edge = self._find_panel(x)
        return np.where(x >= self._last, self._before[-1] + self._far_before(x), self._before[panel] + from_left_edge)[
            ()
        ]

    def first_moment(self) -> float:
        """Return the integral of x f(x) over the half line."""
        if self._height and self._power <= 2 + 1e-9:
            return math.inf
        low, width = self._edges[:-1], np.diff(self._edges)
        x = low[:, None] + width[:, None] * (_NODES + 1) / 2
        f = np.polynomial.chebyshev.chebval(_NODES, self._fit.T)
        inside = float(np.sum((x * f) @ _FIT.T @ _OVER * self._half))
        return inside + (self._height * self._last**2 / (self._power - 2) if self._height else 0.0)

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

    def _find_panel(self, x: Array) -> tuple[Array, Array]:
        """Return the number of the panel in which each x lies, and the integral of f from the panel's left edge to x.

        An x past the last panel counts as its end.
        """
        panel = np.clip(np.searchsorted(self._edges, x, side="right") - 1, 0, self._half.size - 1)
        place = np.clip((x - self._edges[panel]) / self._half[panel] - 1, -1.0, 1.0)
        total, older = np.zeros_like(place), np.zeros_like(place)
        for order in range(DEGREE + 1, 0, -1):  # Clenshaw's recurrence
            total, older = self._left[order][panel] + 2 * place * total - older, total
        return panel, self._left[0][panel] + place * total - older


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


def _refine_panels(f: Callable[[Array], Array], edges: Floats) -> tuple[Floats, Floats]:
    """Return the edges of panels on which f is a polynomial to rounding, and its Chebyshev coefficients in rows.

    `edges` are those of the first panels, which are halved until that holds, and until what lies beyond each is at
    least a thousandth of its own integral; at most some 3,000 panels.
    """
    fit = _fit_panels(f, edges[:-1], edges[1:])
    parent_error = np.full(edges.size - 1, math.inf)  # the error of the panel that each one is half of
    while edges.size < MOST_PANELS:
        width = np.diff(edges)
        panel_integrals = fit @ _OVER * width / 2
        integral_beyond = np.cumsum(panel_integrals[::-1])[::-1] - panel_integrals
        error = np.abs(fit[:, -3:]).max(axis=1) * width / np.abs(panel_integrals)
        noise = (error < LARGEST_NOISE) & (error > 0.7 * parent_error)
        too_wide = ((error > 1e-14) & ~noise) | ((integral_beyond < 1e-3 * panel_integrals) & (integral_beyond > 0))
        too_wide &= width > 1e-13 * edges[1:]
        if not too_wide.any():
            break
        low, high = edges[:-1][too_wide], edges[1:][too_wide]
        middle = (low + high) / 2
        order = np.argsort(np.concatenate((edges[:-1][~too_wide], low, middle)), kind="stable")
        fit = np.concatenate((fit[~too_wide], _fit_panels(f, low, middle), _fit_panels(f, middle, high)))[order]
        parent_error = np.concatenate((parent_error[~too_wide], error[too_wide], error[too_wide]))[order]
        edges = np.unique(np.concatenate((edges, middle)))
    return edges, fit


def _fit_panels(f: Callable[[Array], Array], low: Floats, high: Floats) -> Floats:
    """Return the Chebyshev coefficients of f on panels from `low` to `high`, a row for each."""
    x = low[:, None] + (high - low)[:, None] * (_NODES + 1) / 2
    return np.asarray(f(x) @ _FIT.T)
