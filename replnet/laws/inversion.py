"""The interval x that solves hazard(x) = e for a standard exponential e, for laws without a formula.

`invert` finds x to the last digits. A geometric grid over every magnitude brackets the root within a
factor of two; Chandrupatla's method (1997: inverse quadratic where it is safe, else bisection) then
shrinks the bracket. Each element stops by itself, so its value does not depend on its neighbours.

`interpolate` is quick, and within a relative 1e-11 of a law's own `solve`: piecewise polynomials of x in
e. The panels are the floats themselves: every octave of e is cut into 2^k equal panels, so the leading
bits of e are the panel's number and the remaining bits the place inside it. No search, no division; one
polynomial, whose coefficients are gathered.

A panel is kept where the polynomial meets `solve` within 1e-11 at points between its nodes. Elsewhere (a
bend of the law, e outside the octaves) the element is solved. A law that bends everywhere has no table.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from replnet.laws.law import Array, Floats, Law
from replnet.laws.piecewise import chebyshev_points, evaluate

GRID_OCTAVES = 960  # of the grid, on each side of `around`: the whole range of floats, near enough
MOST_ROUNDS = 120  # bisection alone needs about 55

DEGREE = 6
LOWEST_OCTAVE, HIGHEST_OCTAVE = -40, 6  # octaves of e: below lies a share 1e-12 of the draws, above 1e-28
PANELS_LOG2 = (4, 5, 6, 7)  # k, the coarsest first
LARGEST_ERROR = 1e-11
RARELY_MISSING = 1e-4  # share of draws that may need solving before finer panels are tried
OFTEN_MISSING = 0.3  # share beyond which a table is not worth having
BLOCK_SIZE = 8192  # elements that stay in cache from one coefficient to the next

MANTISSA_BITS = 52
BITS_OF_ONE = np.int64(0x3FF0000000000000)  # the bits of 1.0


def invert(law: Law, e: Array, *, around: float, end: float = np.inf) -> Array:
    """Return, for every e, the x with law.hazard(x) = e, to the last digits.

    Where no x has such a hazard, it is 0 or `end`, the longest interval; NaN gives NaN. `around` is the size of the
    law's intervals.
    """
    e = np.asarray(e, dtype=float)
    flat = e.ravel()
    x, hazard = _grid(law, around, end)
    right = np.searchsorted(hazard, flat)
    result = np.where(right == 0, 0.0, end)
    inside = np.flatnonzero((right > 0) & (right < x.size) & np.isfinite(flat))
    edge = right[inside]
    with np.errstate(all="ignore"):
        result[inside] = _chandrupatla(law, flat[inside], x[edge - 1], x[edge], hazard[edge - 1], hazard[edge])
    result[np.isnan(flat)] = np.nan
    return result.reshape(e.shape)[()]


@lru_cache(maxsize=256)
def _grid(law: Law, around: float, end: float) -> tuple[Floats, Floats]:
    """Return the ascending points of a grid, and the law's hazard at each.

    They are at every octave around `around`, and at `end`, the longest interval, if that is finite.
    """
    with np.errstate(all="ignore"):
        x = np.ldexp(around, np.arange(-GRID_OCTAVES, GRID_OCTAVES + 1))
        x = x[(x > 0) & (x < end)]
        if np.isfinite(end):
            x = np.append(x, end)
        # Rounding must not make the grid turn back.
        hazard = np.maximum.accumulate(np.nan_to_num(law.hazard(x), nan=0.0, posinf=np.inf))
    if np.isfinite(end):
        hazard[-1] = np.inf
    return x, hazard


def _chandrupatla(law: Law, e: Floats, a: Floats, b: Floats, ha: Floats, hb: Floats) -> Floats:
    """Return, for each e, the root x of log(law.hazard(x) / e) between a and b, at which the hazard is ha and hb.

    All are arrays of one length.
    """
    result = np.empty_like(e)
    places = np.arange(e.size)
    fa, fb = np.log(ha / e), np.log(hb / e)
    # First where the chord crosses zero; in the middle where an end is infinite.
    share = fa / (fa - fb)
    step = np.where(np.isfinite(share), np.clip(share, 1e-3, 1 - 1e-3), 0.5)
    for _ in range(MOST_ROUNDS):
        x = a + step * (b - a)
        f = np.log(law.hazard(x) / e)
        same_sign = (f < 0) == (fa < 0)
        c, fc = np.where(same_sign, a, b), np.where(same_sign, fa, fb)
        b, fb = np.where(same_sign, b, a), np.where(same_sign, fb, fa)
        a, fa = x, f
        best = np.where(np.abs(fa) < np.abs(fb), a, b)
        floor = 2e-16 * best / np.abs(b - a)
        is_done = (floor > 0.5) | (f == 0)
        result[places[is_done]] = np.where(f == 0, x, best)[is_done]
        is_open = ~is_done
        if not is_open.any():
            return result
        places, e, floor, best = places[is_open], e[is_open], floor[is_open], best[is_open]
        a, b, c, fa, fb, fc = (part[is_open] for part in (a, b, c, fa, fb, fc))
        step = np.clip(_next(a, b, c, fa, fb, fc), floor, 1 - floor)
    result[places] = best
    return result


def _next(a: Floats, b: Floats, c: Floats, fa: Floats, fb: Floats, fc: Floats) -> Floats:
    """Return the share of the way from a to b at which Chandrupatla's method evaluates a function next.

    a, b and c are the last three points, with values fa, fb and fc; a and b bracket the root.
    """
    xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
    quadratic = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
    safe = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi) & np.isfinite(quadratic)
    return np.where(safe, quadratic, 0.5)


def interpolate(law: Law, e: Array) -> Array:
    """Return law.solve(e) within a relative 1e-11, much faster where the law's `solve` is slow.

    It takes polynomials that are fitted once for each law; where they do not reach, or fit, it calls `solve`.
    """
    e = np.asarray(e, dtype=float, order="C")  # NumPy rounds differently where memory is strided
    table = _table(law)
    if table is None:
        return law.solve(e)
    flat = e.reshape(-1)
    x = np.empty_like(flat)
    for start in range(0, flat.size, BLOCK_SIZE):
        _evaluate_table(table, flat[start : start + BLOCK_SIZE], x[start : start + BLOCK_SIZE])
    missing = np.flatnonzero(np.isnan(x))
    if missing.size:
        x[missing] = law.solve(flat[missing])
    return x.reshape(e.shape)[()]


@lru_cache(maxsize=256)
def _table(law: Law) -> Floats | None:
    """Return the coefficients of polynomials in e that give law.solve(e), by power (rows) and panel of e (columns).

    They are NaN where `solve` must answer, and so is the last panel, for all e outside. None if `solve` would have to
    answer for 30 % of draws or more.
    """
    for k in PANELS_LOG2:
        table, missing = _fit_table(law, k)
        if missing < RARELY_MISSING:
            break
    return table if missing < OFTEN_MISSING else None


def _fit_table(law: Law, k: int) -> tuple[Floats, float]:
    """Return polynomials for law.solve(e), as coefficients by power and panel of e, and how often they are of no use.

    Each octave of e has 2^k panels, in which the variable goes from -0.5 to 0.5. Panels on which the fit is off by more
    than 1e-11 are NaN, as is a last one for all other e; the second value is the probability that a standard
    exponential e falls on the former.
    """
    nodes = 0.5 * chebyshev_points(DEGREE + 1)
    tests = np.append(0.5 * (nodes[1:] + nodes[:-1]), (-0.5, 0.4999))
    panel = np.arange((HIGHEST_OCTAVE - LOWEST_OCTAVE) << k)
    octave = np.ldexp(1.0, LOWEST_OCTAVE + (panel >> k))
    panel_begin, width = octave * (1 + (panel & ((1 << k) - 1)) / (1 << k)), octave / (1 << k)
    with np.errstate(all="ignore"):
        x = law.solve(panel_begin[:, None] + width[:, None] * (nodes + 0.5))
        coefficients = np.linalg.solve(np.vander(nodes, increasing=True), x.T)
        exact = law.solve(panel_begin[:, None] + width[:, None] * (tests + 0.5))
        fit = np.polynomial.polynomial.polyval(tests, coefficients)
        is_precise = np.all(np.abs(fit - exact) <= LARGEST_ERROR * exact, axis=1)
    table = np.full((DEGREE + 1, panel.size + 1), np.nan)
    table[:, :-1] = np.where(is_precise, coefficients, np.nan)
    share = np.exp(-panel_begin) * -np.expm1(-width)
    return table, float(share[~is_precise].sum())


def _evaluate_table(table: Floats, e: Floats, x: Floats) -> None:
    """Fill `x` with the values at `e` of the polynomials in a table, or with NaN where it has none.

    The table has their coefficients by power and panel of e.
    """
    outside = table.shape[1] - 1
    k = (outside // (HIGHEST_OCTAVE - LOWEST_OCTAVE)).bit_length() - 1
    bits = e.view(np.int64)
    first = np.int64(1023 + LOWEST_OCTAVE) << np.int64(k)
    # Read as unsigned, a panel before the first is beyond the last.
    panel = np.minimum(((bits >> np.int64(MANTISSA_BITS - k)) - first).view(np.uint64), np.uint64(outside)).view(
        np.int64
    )
    inside = (bits << np.int64(k)) & np.int64((1 << MANTISSA_BITS) - 1)
    place = (inside | BITS_OF_ONE).view(np.float64)
    place -= 1.5
    evaluate(table, panel, place, x)
