"""Functions as piecewise polynomials: fitted panel by panel, evaluated, integrated, refined.

On a panel a function is the polynomial of degree NODES - 1 that meets it in as many Chebyshev points (1): powers of t,
which runs from -1 to 1 across the panel. Panels are halved until the last coefficients of that polynomial, in Chebyshev
polynomials, vanish in rounding (2). Panels begin at the points where a function jumps or bends, so jumps are
represented exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from replnet.laws.law import Array, Flags, Floats, Ints

NODES = 14  # interpolation points per panel
RESOLVED = 1e-11  # size of the last coefficients of a panel that needs no split
MAX_ROUNDS = 48  # of halving panels: enough for a power singularity at zero
MAX_PANELS = 4000


def chebyshev_points(count: int) -> Floats:
    """Return the zeros of the Chebyshev polynomial of degree `count`, all between -1 and 1, descending."""
    return np.asarray(np.cos(np.pi * (np.arange(count) + 0.5) / count))


_POINTS = chebyshev_points(NODES)[::-1]
_TO_POWERS = np.linalg.inv(np.vander(_POINTS, NODES, increasing=True))
_TO_CHEBYSHEV = np.linalg.inv(np.polynomial.chebyshev.chebvander(_POINTS, NODES - 1))
_DEGREES = np.arange(1, NODES + 1)
# From values at the points of a panel from -1 to 1 to the integrals from -1 to each point.
INTEGRALS_TO_POINTS = ((_POINTS[:, None] ** _DEGREES - (-1.0) ** _DEGREES) / _DEGREES) @ _TO_POWERS


def panel_points(low: Array, high: Array) -> Array:
    """Return the 14 interpolation points of each of the panels from `low` to `high`, ascending, on a new last axis."""
    low, high = np.asarray(low)[..., None], np.asarray(high)[..., None]
    return (low + high) / 2 + (high - low) / 2 * _POINTS


def to_powers(values: Array) -> Array:
    """Return the coefficients of t**r, t from -1 to 1 across a panel, from values at its `panel_points`.

    The first axis of the values runs over these points, and of the result over r; the others are kept.
    """
    return _TO_POWERS @ values


def resolution_error(values: Array) -> Array:
    """Return the largest of the last three Chebyshev coefficients in size: how badly a polynomial resolves a function.

    The first axis of the values runs over the `panel_points` of a panel; the others, such as the panels, are kept.
    """
    return np.abs(_TO_CHEBYSHEV[-3:] @ values).max(axis=0)


def evaluate(powers: Floats, panel: Ints, place: Floats, value: Floats) -> None:
    """Fill `value` with the values of polynomials at `place`, an array, each of the polynomial that `panel` says.

    Row r of `powers` holds the coefficients of place**r, a column for each polynomial; `panel` has numbers of columns,
    in the shape of `place` or in one that extends to it.
    """
    coefficient = powers[-1].take(panel, mode="clip")
    value[...] = coefficient
    for row in powers[-2::-1]:
        row.take(panel, out=coefficient, mode="clip")
        value *= place
        value += coefficient


@final
@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """A piecewise polynomial on the panels between `edges`, which has the value `beyond` past the last edge.

    Row r of `powers` holds the coefficients of t**r, a column per panel, where t runs from -1 to 1 across each panel.
    """

    edges: Array
    powers: Array
    beyond: float  # the value past the last edge

    def __call__(self, x: Array) -> Array:
        """Return the values at the points x, a number or an array, in its shape; past the last edge `beyond`."""
        x = np.asarray(x, dtype=float)
        return self.along(x[..., None], x)[..., 0]

    def along(self, points: Array, inside: Array) -> Array:
        """Return the values at `points`, whose last axis runs over points within one panel.

        `inside` has the other axes, and for each row a point that tells which panel this is.
        """
        panel = self.panel_of(inside)
        low, high = self.edges[panel], self.edges[panel + 1]
        t = (points - low[..., None]) * (2 / (high - low))[..., None] - 1
        value = np.empty(t.shape)
        evaluate(self.powers, panel[..., None], t, value)
        value[~(inside < self.edges[-1])] = self.beyond
        return value

    def panel_of(self, x: Array) -> Ints:
        """Return the number of the panel in which each x lies, or of the nearest one."""
        return np.asarray(np.clip(np.searchsorted(self.edges, x, side="right") - 1, 0, len(self.edges) - 2))

    def derivative(self) -> Curve:
        """Return the derivative as a curve, 0 past the last edge."""
        degree = np.arange(1, len(self.powers))[:, None]
        return Curve(self.edges, self.powers[1:] * degree * 2 / np.diff(self.edges), 0.0)

    def panel_integrals(self) -> Floats:
        """Return the integral over each panel, as an array with an element per panel."""
        even_powers = self.powers[::2]  # odd ones cancel between t = -1 and t = 1
        means = (even_powers / np.arange(1, 2 * len(even_powers), 2)[:, None]).sum(axis=0)
        return np.asarray(means * np.diff(self.edges))

    def panel_antiderivative(self) -> Curve:
        """Return the integral from the left edge of the panel in which a point lies, as a curve that is 0 at edges."""
        degree = np.arange(1, len(self.powers) + 1)[:, None]
        body = self.powers / degree * np.diff(self.edges) / 2
        signs = np.where(degree % 2 == 0, 1.0, -1.0)
        return Curve(self.edges, np.vstack([-(body * signs).sum(axis=0), body]), 0.0)

    def antiderivative(self) -> Curve:
        """Return the integral from the first edge as a curve, constant past the last one."""
        reached = np.append(0.0, np.cumsum(self.panel_integrals()))
        powers = self.panel_antiderivative().powers
        powers[0] += reached[:-1]
        return Curve(self.edges, powers, float(reached[-1]))

    def times(self, factor: float) -> Curve:
        """Return the curve times a factor, its value past the last edge too."""
        return Curve(self.edges, self.powers * factor, self.beyond * factor)

    def complement(self) -> Curve:
        """Return 1 minus the curve, also past the last edge, as a curve."""
        powers = -self.powers
        powers[0] += 1
        return Curve(self.edges, powers, 1 - self.beyond)


def sample_panels(f: Callable[[Array], Array], low: Floats, high: Floats) -> Floats:
    """Return f at the points of the panels from `low` to `high`, with a row per point and a column per panel.

    f is called once, with all points in a flat array.
    """
    return np.asarray(f(panel_points(low, high).ravel())).reshape(len(low), NODES).T


def halve(f: Callable[[Array], Array], edges: Floats, values: Floats, wide: Flags) -> tuple[Floats, Floats]:
    """Return the edges of panels, and f at their points (a column per panel), after those that are `wide` are halved.

    `edges` and `values` are those before, and `wide` has a flag for each panel.
    """
    middle = (edges[:-1] + edges[1:])[wide] / 2
    edges = np.insert(edges, np.flatnonzero(wide) + 1, middle)
    is_new = np.repeat(wide, 1 + wide)
    values = np.repeat(values, 1 + wide, axis=1)
    values[:, is_new] = sample_panels(f, edges[:-1][is_new], edges[1:][is_new])
    return edges, values


def fit_curve(
    f: Callable[[Array], Array],
    edges: Array,
    *,
    tolerance: float = RESOLVED,
    beyond: float | None = None,
    most: int = MAX_PANELS,
) -> Curve:
    """Return the function `f` of an array as a piecewise polynomial between the first and the last of `edges`.

    Panels between these are halved until their last coefficients are below `tolerance`, or until there are `most`.
    `beyond` is the value past the last edge; None takes the value at that edge.
    """
    values = sample_panels(f, edges[:-1], edges[1:])
    new = len(edges) - 1
    for _ in range(MAX_ROUNDS - 1):
        wide = resolution_error(values) > tolerance
        if not wide.any() or len(edges) - 1 + new > most:
            break
        edges, values = halve(f, edges, values, wide)
        new = 2 * int(wide.sum())
    powers = to_powers(values)
    return Curve(edges, powers, float(powers[:, -1].sum()) if beyond is None else beyond)
