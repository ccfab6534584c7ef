"""The whole law of how old copies are, or for how long they have missed something, from a path.

Over a stretch such an age grows with time from `low` to `high`, so the time for which it was at most x is

    C(x) = sum over stretches of (x - low)+ - (x - high)+.                                        (1)

What has the same place on a grid of equal factors is kept together, by its number n and its sum s, so that at the edges
of the grid (1) is exact: C = x n - s over all that lies below x. Of answers, which have one age each, n alone counts.
Between edges C is taken as straight; they are 2 % apart.
"""

from __future__ import annotations

import numpy as np

from replnet.laws.law import Floats, Ints

PER_OCTAVE, OCTAVES = 32, 30  # on each side of 1
EDGES = 2.0 ** (np.arange(-PER_OCTAVE * OCTAVES, PER_OCTAVE * OCTAVES + 1) / PER_OCTAVE)
PLACES = EDGES.size  # below an edge, each but the last


def grid_places(ages: Floats) -> Ints:
    """Where they are on the grid."""
    found = np.ceil(np.log2(np.clip(ages, EDGES[0], EDGES[-1])) * PER_OCTAVE) + PER_OCTAVE * OCTAVES
    return np.asarray(found, np.int64)


def reached(number: Floats, total: Floats, lasting: bool) -> Floats:
    """C at the edges, from n and s by place; of answers without `lasting`."""
    below = np.cumsum(number)
    return EDGES * below - np.cumsum(total) if lasting else below


def quantile(curve: Floats, whole: float, level: float) -> float:
    """The age that a share `level` of the whole does not exceed; infinite where no edge is that far out."""
    at = int(np.searchsorted(curve, level * whole))
    if at == 0:
        return 0.0
    if at == PLACES:
        return float("inf")
    low, high = float(curve[at - 1]), float(curve[at])
    return float(EDGES[at - 1] + (EDGES[at] - EDGES[at - 1]) * (level * whole - low) / (high - low))


def pseudo_values(curves: Floats, wholes: Floats, level: float) -> Floats:
    """By replication (row), what has the quantile of all as its mean, and its error as that of a mean.

    The quantile is as far off as C is, divided by the slope of C there.
    """
    curve, whole = curves.sum(axis=0), float(wholes.sum())
    value = quantile(curve, whole, level)
    if not 0 < value < np.inf:
        return np.full(wholes.size, value)
    below = np.array([np.interp(value, EDGES, one) for one in curves])
    off = below - level * wholes
    # The slope over as much of the curve as the error may make up.
    spread = max(float(np.sqrt(off @ off)) / whole, 1e-9)
    low, high = (quantile(curve, whole, min(max(level + sign * spread, 0.0), 1.0)) for sign in (-1, 1))
    slope = 2 * spread / max(high - low, 1e-300) if np.isfinite(high) else np.nan
    return np.asarray(value - off / slope / wholes.mean())
