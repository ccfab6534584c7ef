"""Functions of time as piecewise polynomials.

A curve is a polynomial of degree NODES - 1 on each of its panels, found by
interpolation in Chebyshev points and split until its last coefficients vanish
in rounding. Panels begin at the points where a tail jumps or bends, so jumps
are represented exactly. Products and convolutions of curves are integrated on
the union of their panels, where Gauss-Legendre is exact for polynomials:

    (f * g)(x) = integral over y in (0, x) of f(y) g(x - y)                    (1)

with panels of f and the mirrored panels of g. What is lost is the error of
representation only, about 1e-11.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import final

import numpy as np

from replnet.laws import Array

NODES = 14  # interpolation points per panel
GAUSS = 12  # quadrature points per panel: exact up to degree 23
RESOLVED = 1e-11  # size of the last coefficients of a panel that needs no split
MAX_ROUNDS = 48  # of halving panels: enough for a power singularity at zero
MAX_PANELS = 4000
BLOCK = 4_000  # panels that a convolution handles at once: keeps arrays in cache

_CHEBYSHEV = np.cos(np.pi * (np.arange(NODES)[::-1] + 0.5) / NODES)  # on (-1, 1), ascending
_TO_POWERS = np.linalg.inv(np.vander(_CHEBYSHEV, NODES, increasing=True))
_TO_CHEBYSHEV = np.linalg.inv(np.polynomial.chebyshev.chebvander(_CHEBYSHEV, NODES - 1))
_nodes, _weights = np.polynomial.legendre.leggauss(GAUSS)
GAUSS_NODES, GAUSS_WEIGHTS = (_nodes + 1) / 2, _weights / 2  # on (0, 1)


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
        """Return the values at the points x."""
        x = np.asarray(x, dtype=float)
        return self.along(x[..., None], x)[..., 0]

    def along(self, points: Array, inside: Array) -> Array:
        """Return the values at `points`, whose last axis runs over points within one panel.

        `inside` has the other axes, and for each row a point that tells which panel this is.
        """
        panel = np.searchsorted(self.edges, inside, side="right") - 1
        outside = panel >= len(self.edges) - 1
        panel = np.clip(panel, 0, len(self.edges) - 2)
        low, high = self.edges[panel], self.edges[panel + 1]
        t = (points - low[..., None]) * (2 / (high - low))[..., None] - 1
        value = np.broadcast_to(self.powers[-1][panel][..., None], t.shape).copy()
        for row in self.powers[-2::-1]:
            value *= t
            value += row[panel][..., None]
        value[outside] = self.beyond
        return value

    def derivative(self) -> Curve:
        """Return the derivative as a curve, 0 past the last edge."""
        degree = np.arange(1, len(self.powers))[:, None]
        return Curve(self.edges, self.powers[1:] * degree * 2 / np.diff(self.edges), 0.0)

    def antiderivative(self) -> Curve:
        """Return the integral from the first edge as a curve, constant past the last one."""
        degree = np.arange(1, len(self.powers) + 1)[:, None]
        body = self.powers / degree * np.diff(self.edges) / 2
        signs = np.where(degree % 2 == 0, 1.0, -1.0)
        gains = 2 * body[::2].sum(axis=0)  # even powers cancel between t = -1 and t = 1
        reached = np.concatenate([[0.0], np.cumsum(gains)])
        start = reached[:-1] - (body * signs).sum(axis=0)
        return Curve(self.edges, np.vstack([start, body]), float(reached[-1]))

    def times(self, factor: float) -> Curve:
        """Return the curve times a factor."""
        return Curve(self.edges, self.powers * factor, self.beyond * factor)

    def complement(self) -> Curve:
        """Return 1 minus the curve."""
        powers = -self.powers
        powers[0] += 1
        return Curve(self.edges, powers, 1 - self.beyond)


@final
@dataclass(frozen=True, slots=True)
class GrowingCurve:
    """A function of time that is computed as a curve as far as it is needed, and kept.

    `to` computes the curve from 0 to a horizon, and `known` has the curves so far by horizon.
    """

    to: Callable[[float], Curve]
    known: dict[float, Curve] = field(default_factory=dict)

    def cover(self, horizon: float) -> Curve:
        """Return the curve on [0, a power of two of at least `horizon`], which all callers share.

        It is computed unless one that reaches at most eight times as far is known.
        """
        for reached, curve in self.known.items():
            if horizon <= reached <= 8 * horizon:
                return curve
        reached = 2.0 ** math.ceil(math.log2(horizon * (1 + 1e-12)))
        return self.known.setdefault(reached, self.to(reached))


def panel_points(low: Array, high: Array) -> Array:
    """Return the interpolation points of the panels from `low` to `high`, ascending, on a new last axis."""
    low, high = np.asarray(low)[..., None], np.asarray(high)[..., None]
    return (low + high) / 2 + (high - low) / 2 * _CHEBYSHEV


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


def clean_edges(points: Array, horizon: float) -> Array:
    """Return 0, those of the points that lie between, and `horizon`, in ascending order without near duplicates."""
    points = np.asarray(points, dtype=float)
    inside = np.sort(points[(points > 0) & (points < horizon * (1 - 1e-13))])
    if len(inside):
        keep = np.diff(inside, prepend=0.0) > 1e-13 * inside
        inside = inside[keep]
    return np.concatenate([[0.0], inside, [horizon]])


def fit(
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
    low, high = edges[:-1], edges[1:]
    done: list[tuple[Array, Array, Array]] = []
    count = 0
    for round_ in range(MAX_ROUNDS):
        values = np.asarray(f(panel_points(low, high).ravel())).reshape(len(low), NODES).T
        bad = resolution_error(values) > tolerance
        if round_ == MAX_ROUNDS - 1 or count + 2 * len(low) > most:
            bad[:] = False
        good = ~bad
        done.append((low[good], high[good], to_powers(values[:, good])))
        count += int(good.sum())
        if not bad.any():
            break
        middle = (low[bad] + high[bad]) / 2
        low, high = np.concatenate([low[bad], middle]), np.concatenate([middle, high[bad]])
    lows = np.concatenate([part[0] for part in done])
    order = np.argsort(lows)
    powers = np.hstack([part[2] for part in done])[:, order]
    last = float(powers[:, -1].sum()) if beyond is None else beyond
    return Curve(np.append(lows[order], edges[-1]), powers, last)


def panel_integrals(f: Callable[[Array], Array], edges: Array) -> Array:
    """Return the integral of f over each of the panels that `edges` bound, one fewer than these.

    f is called with all points in a flat array.
    """
    width = np.diff(edges)
    x = edges[:-1, None] + width[:, None] * GAUSS_NODES
    # Some functions take their points in one row only.
    return np.asarray(f(x.ravel())).reshape(x.shape) @ GAUSS_WEIGHTS * width


Along = Callable[[Array, Array], Array]  # points, in rows, and for each row a point inside its panel; to values


def split_points(f_edges: Array, g_edges: Array, x: Array, upto: float = np.inf) -> tuple[Array, Array, Array]:
    """Return the panels into which the integral of f(y) g(x - y) over y from 0 to x splits, for every x of an array.

    Each lies between neighbouring edges of both functions and below `upto`. The three arrays have, for every panel of
    any x, the index of that x, the panel's start, and its width.
    """
    top = np.minimum(x, upto)[:, None]
    cuts = np.concatenate([np.broadcast_to(f_edges, (len(x), len(f_edges))), x[:, None] - g_edges], axis=1)
    cuts = np.sort(np.concatenate([np.clip(cuts, 0, top), np.zeros_like(top), top], axis=1), axis=1)
    width = np.diff(cuts, axis=1)
    # Panels of the size of rounding come from edges that coincide.
    row, column = np.nonzero(width > 1e-14 * cuts[:, 1:])
    return row, cuts[row, column], width[row, column]


def convolve(f: Along, f_edges: Array, g: Along, g_edges: Array, x: Array, upto: float = np.inf) -> Array:
    """Return the integral of f(y) g(x - y) over y from 0 to x, or to `upto` if that is less, at every x of an array.

    Both are functions of an array of points, in rows, and of a point in the panel of each row; they must be smooth
    between their edges.
    """
    row, start, width = split_points(f_edges, g_edges, x, upto)
    total = np.zeros(len(x))
    for block in range(0, len(row), BLOCK):
        part = slice(block, block + BLOCK)
        y = start[part, None] + width[part, None] * GAUSS_NODES
        middle, at = start[part] + width[part] / 2, x[row[part]]
        inner = (f(y, middle) * g(at[:, None] - y, at - middle)) @ GAUSS_WEIGHTS
        total += np.bincount(row[part], inner * width[part], minlength=len(x))
    return total
