"""A fast `draw` for laws whose `solve` is slow: piecewise polynomials of x in e.

The panels are the floats themselves: every octave of e is cut into 2^k equal
panels, so the leading bits of e are the panel's number and the remaining bits the
place inside it. No search, no division; one polynomial, whose coefficients are
gathered.

A panel is kept where the polynomial meets `solve` within a relative 1e-11 at points
between its nodes. Elsewhere (a bend of the law, e outside the octaves) the element
is solved. A law that bends everywhere has no table and is always solved.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from replnet.laws.law import Array, Law

Floats = NDArray[np.float64]

DEGREE = 6
LOWEST, HIGHEST = -40, 6  # octaves of e: below lies a share 1e-12 of the draws, above 1e-28
SPLITS = (4, 5, 6, 7)  # k, the coarsest first
ERROR = 1e-11
RARE = 1e-4  # share of draws that may need solving before finer panels are tried
OFTEN = 0.3  # share beyond which a table is not worth having
BLOCK = 8192  # elements that stay in cache from one coefficient to the next

MANTISSA = 52
ONE = np.int64(0x3FF0000000000000)  # the bits of 1.0


def interpolated(law: Law, e: Array) -> Array:
    """law.solve(e) within a relative 1e-11."""
    e = np.asarray(e, dtype=float, order="C")  # NumPy rounds differently where memory is strided
    table = _table(law)
    if table is None:
        return law.solve(e)
    flat = e.reshape(-1)
    x = np.empty_like(flat)
    for start in range(0, flat.size, BLOCK):
        _read(table, flat[start : start + BLOCK], x[start : start + BLOCK])
    missing = np.flatnonzero(np.isnan(x))
    if missing.size:
        x[missing] = law.solve(flat[missing])
    return x.reshape(e.shape)[()]


@lru_cache(maxsize=256)
def _table(law: Law) -> Floats | None:
    """Coefficients by power and panel, the last panel standing for outside; NaN where `solve` must answer."""
    for k in SPLITS:
        table, missing = _fitted(law, k)
        if missing < RARE:
            break
    return table if missing < OFTEN else None


def _fitted(law: Law, k: int) -> tuple[Floats, float]:
    """The table with 2^k panels to the octave, and the share of draws it leaves out."""
    panels = (HIGHEST - LOWEST) << k
    nodes = 0.5 * np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))
    tests = np.append(0.5 * (nodes[1:] + nodes[:-1]), (-0.5, 0.4999))
    left, width = _edges(k)
    with np.errstate(all="ignore"):
        x = law.solve(left[:, None] + width[:, None] * (nodes + 0.5))
        coefficients = np.linalg.solve(np.vander(nodes, increasing=True), x.T)
        exact = law.solve(left[:, None] + width[:, None] * (tests + 0.5))
        fit = np.polynomial.polynomial.polyval(tests, coefficients)
        good = np.all(np.abs(fit - exact) <= ERROR * exact, axis=1)
    table = np.full((DEGREE + 1, panels + 1), np.nan)
    table[:, :-1] = np.where(good, coefficients, np.nan)
    share = np.exp(-left) * -np.expm1(-width)
    return table, float(share[~good].sum())


def _edges(k: int) -> tuple[Floats, Floats]:
    """Where the panels start, and how wide they are."""
    number = np.arange((HIGHEST - LOWEST) << k)
    octave = np.ldexp(1.0, LOWEST + (number >> k))
    return octave * (1 + (number & ((1 << k) - 1)) / (1 << k)), octave / (1 << k)


def _read(table: Floats, e: Floats, x: Floats) -> None:
    """Fill `x` with the polynomials at `e`."""
    outside = table.shape[1] - 1
    k = (outside // (HIGHEST - LOWEST)).bit_length() - 1
    bits = e.view(np.int64)
    first = np.int64(1023 + LOWEST) << np.int64(k)
    # Read as unsigned, a panel before the first is beyond the last.
    panel = np.minimum(((bits >> np.int64(MANTISSA - k)) - first).view(np.uint64), np.uint64(outside)).view(np.int64)
    inside = (bits << np.int64(k)) & np.int64((1 << MANTISSA) - 1)
    place = (inside | ONE).view(np.float64)
    place -= 1.5
    table[DEGREE].take(panel, out=x, mode="clip")
    row = np.empty_like(x)
    for power in range(DEGREE - 1, -1, -1):
        table[power].take(panel, out=row, mode="clip")
        x *= place
        x += row
