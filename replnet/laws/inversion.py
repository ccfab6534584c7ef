"""Solves hazard(x) = e for laws without a formula, for whole arrays.

A geometric grid over every magnitude brackets the root within a factor of two;
Chandrupatla's method (1997: inverse quadratic where it is safe, else bisection)
then shrinks the bracket to the last digits. Each element stops by itself, so its
value does not depend on its neighbours.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from replnet.laws.law import Array, Law

Floats = NDArray[np.float64]

OCTAVES = 960  # each side of `around`: the whole range of floats, near enough
ROUNDS = 120  # bisection alone needs about 55


def solved(law: Law, e: Array, *, around: float, end: float = np.inf) -> Array:
    """The x with law.hazard(x) = e, for a law of size about `around` whose support stops at `end`."""
    e = np.asarray(e, dtype=float)
    flat = e.ravel()
    x, hazard = _grid(law, around, end)
    right = np.searchsorted(hazard, flat)
    result = np.where(right == 0, 0.0, end)
    inside = np.flatnonzero((right > 0) & (right < x.size) & np.isfinite(flat))
    at = right[inside]
    with np.errstate(all="ignore"):
        result[inside] = _chandrupatla(law, flat[inside], x[at - 1], x[at], hazard[at - 1], hazard[at])
    result[np.isnan(flat)] = np.nan
    return result.reshape(e.shape)[()]


@lru_cache(maxsize=256)
def _grid(law: Law, around: float, end: float) -> tuple[Floats, Floats]:
    with np.errstate(all="ignore"):
        x = np.ldexp(around, np.arange(-OCTAVES, OCTAVES + 1))
        x = x[(x > 0) & (x < end)]
        if np.isfinite(end):
            x = np.append(x, end)
        # Rounding must not make the grid turn back.
        hazard = np.maximum.accumulate(np.nan_to_num(law.hazard(x), nan=0.0, posinf=np.inf))
    if np.isfinite(end):
        hazard[-1] = np.inf
    return x, hazard


def _chandrupatla(law: Law, e: Floats, a: Floats, b: Floats, ha: Floats, hb: Floats) -> Floats:
    """The roots of log(hazard / e) between a and b, where it changes sign."""
    result = np.empty_like(e)
    where = np.arange(e.size)
    fa, fb = np.log(ha / e), np.log(hb / e)
    step = _straight(fa, fb)
    for _ in range(ROUNDS):
        x = a + step * (b - a)
        f = np.log(law.hazard(x) / e)
        same = (f < 0) == (fa < 0)
        c, fc = np.where(same, a, b), np.where(same, fa, fb)
        b, fb = np.where(same, b, a), np.where(same, fb, fa)
        a, fa = x, f
        best = np.where(np.abs(fa) < np.abs(fb), a, b)
        floor = 2e-16 * best / np.abs(b - a)
        done = (floor > 0.5) | (f == 0)
        result[where[done]] = np.where(f == 0, x, best)[done]
        keep = ~done
        if not keep.any():
            return result
        where, e, floor, best = where[keep], e[keep], floor[keep], best[keep]
        a, b, c, fa, fb, fc = (part[keep] for part in (a, b, c, fa, fb, fc))
        step = np.clip(_next(a, b, c, fa, fb, fc), floor, 1 - floor)
    result[where] = best
    return result


def _straight(fa: Floats, fb: Floats) -> Floats:
    """Where the chord crosses zero; the middle where an end is infinite."""
    share = fa / (fa - fb)
    return np.where(np.isfinite(share), np.clip(share, 1e-3, 1 - 1e-3), 0.5)


def _next(a: Floats, b: Floats, c: Floats, fa: Floats, fb: Floats, fc: Floats) -> Floats:
    """The share of the way from a to b at which to look next."""
    xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
    quadratic = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
    safe = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi) & np.isfinite(quadratic)
    return np.where(safe, quadratic, 0.5)
