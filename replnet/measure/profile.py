"""The distribution of an age along a path, for quantiles: that of the data, or the time since the first missed update.

Over a stretch such an age grows with time from `low` to `high`, so the time for which it was at most x is

    C(x) = sum over stretches of (x - low)+ - (x - high)+.                                        (1)

The ages low and high that lie between the same two edges of a grid of equal factors are stored only by their number n
and their sum s, with a minus sign for high. At the edges of the grid that makes (1) exact: C = x n - s, summed over
all places below x. Answers have one age each, so C is the number of those below x. Between edges C is taken as linear;
they are 2 % apart.
"""

from __future__ import annotations

import numpy as np

from replnet.laws import Floats, Ints

PER_OCTAVE, OCTAVES = 32, 30  # grid edges per octave, and octaves on each side of 1
EDGES = 2.0 ** (np.arange(-PER_OCTAVE * OCTAVES, PER_OCTAVE * OCTAVES + 1) / PER_OCTAVE)
PLACES = EDGES.size  # place i has the ages up to edge i, above the edge before; the last one also all larger ages


def length_below(begins: Floats, ends: Floats, x: Floats) -> Floats:
    """Return, for every x, the length below it of the spans from `begins` to `ends`, added up over all of them, (1)."""

    def sums_below(points: Floats) -> Floats:
        """Return, for every x, the sum over these points of how far x lies above each, if it does."""
        ascending = np.sort(points)
        count = np.searchsorted(ascending, x, side="right")
        return np.asarray(count * x - np.append(0.0, np.cumsum(ascending))[count])

    return sums_below(begins) - sums_below(ends)


def grid_places(ages: Floats) -> Ints:
    """Return for every age its place on the grid: the index of the least of EDGES that is not below it.

    Ages beyond the last edge get the last place.
    """
    places = np.ceil(np.log2(np.clip(ages, EDGES[0], EDGES[-1])) * PER_OCTAVE) + PER_OCTAVE * OCTAVES
    return np.asarray(places, np.int64)


def cumulative_curve(number: Floats, total: Floats, lasting: bool) -> Floats:
    """Return, for each edge of the grid of ages, the time, or number of answers, with an age of at most that.

    `number` and `total` have, for every place between two edges, how many ages are in it and their sum. With `lasting`
    they are the ages at the begin of stretches, minus those at the end, and time is returned; otherwise those of
    answers, and numbers are.
    """
    below = np.cumsum(number)
    return EDGES * below - np.cumsum(total) if lasting else below


def curve_quantile(curve: Floats, whole: float, level: float) -> float:
    """Return the age that a share `level` (0 to 1) of the whole does not exceed; infinite if it is beyond the grid.

    `curve` has the time, or the number of answers, with an age of at most each edge of the grid, and `whole` is all
    time, or the number of all answers. Between edges the curve is taken as linear. The age is 0 if it is below the
    first edge.
    """
    edge = int(np.searchsorted(curve, level * whole))
    if edge == 0:
        return 0.0
    if edge == PLACES:
        return float("inf")
    low, high = float(curve[edge - 1]), float(curve[edge])
    return float(EDGES[edge - 1] + (EDGES[edge] - EDGES[edge - 1]) * (level * whole - low) / (high - low))


def pseudo_values(curves: Floats, wholes: Floats, level: float) -> Floats:
    """Return a number per replication: their mean is the quantile at `level` over all, and their scatter its error.

    `curves` has a row per replication: the time, or number of answers, with an age of at most each edge of the grid;
    `wholes` has all the time, or answers, of each. If the quantile is 0 or infinite, so is every number; if only the
    curve around it is beyond the grid, they are NaN.
    """
    curve, whole = curves.sum(axis=0), float(wholes.sum())
    value = curve_quantile(curve, whole, level)
    if not 0 < value < np.inf:
        return np.full(wholes.size, value)
    below = np.array([np.interp(value, EDGES, of_one) for of_one in curves])
    off = below - level * wholes
    # The slope is taken over as much of the curve as the error of C may be.
    spread = max(float(np.sqrt(off @ off)) / whole, 1e-9)
    low, high = (curve_quantile(curve, whole, min(max(level + sign * spread, 0.0), 1.0)) for sign in (-1, 1))
    slope = 2 * spread / max(high - low, 1e-300) if np.isfinite(high) else np.nan
    return np.asarray(value - off / slope / wholes.mean())
