"""Integrals of functions of time on panels, and curves that are computed as far as they are needed.

Products and convolutions of curves (piecewise polynomials, laws/piecewise) are integrated
on the union of their panels, where Gauss-Legendre is exact for polynomials:

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

from replnet.laws import Array, Curve

GAUSS = 12  # quadrature points per panel: exact up to degree 23
BLOCK = 4_000  # panels that a convolution handles at once: keeps arrays in cache

_nodes, _weights = np.polynomial.legendre.leggauss(GAUSS)
GAUSS_NODES, GAUSS_WEIGHTS = (_nodes + 1) / 2, _weights / 2  # on (0, 1)


@final
@dataclass(frozen=True, slots=True)
class GrowingCurve:
    """A function of time that is computed as a curve as far as it is needed, and kept.

    `to` is a function that computes the curve from 0 to the horizon that it gets, and `known` has the curves so far by
    horizon.
    """

    to: Callable[[float], Curve]
    known: dict[float, Curve] = field(default_factory=dict)

    def cover(self, horizon: float) -> Curve:
        """Return the curve from 0 to `horizon` or beyond, which all callers share.

        One that is known is returned if it reaches up to eight times as far; else it is computed up to the next power
        of two, and kept.
        """
        for reached, curve in self.known.items():
            if horizon <= reached <= 8 * horizon:
                return curve
        reached = 2.0 ** math.ceil(math.log2(horizon * (1 + 1e-12)))
        return self.known.setdefault(reached, self.to(reached))


def clean_edges(points: Array, horizon: float) -> Array:
    """Return 0, those of the points that lie between, and `horizon`, in ascending order without near duplicates."""
    points = np.asarray(points, dtype=float)
    inside = np.sort(points[(points > 0) & (points < horizon * (1 - 1e-13))])
    if len(inside):
        keep = np.diff(inside, prepend=0.0) > 1e-13 * inside
        inside = inside[keep]
    return np.concatenate([[0.0], inside, [horizon]])


def panel_integrals(f: Callable[[Array], Array], edges: Array) -> Array:
    """Return an array of the integrals of f over the panels between neighbouring `edges`, one fewer than these.

    f is called once, with all points in a flat array, and returns its values there.
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

    f and g are functions of an array of points, in rows, and of an array with a point inside the panel of each row;
    they return values for the points, and must be smooth between neighbours of `f_edges` and of `g_edges`.
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
