"""The compiled loops of renewal processes: words to uniforms, intervals to instants."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, inline="always")
def word(key, gamma, n):
    """The n-th word of a stream (streams.py, eq. 1)."""
    z = key + np.uint64(n + 1) * gamma
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True)
def fill(key, gamma, used, rows, out):
    """The next out.shape[1] uniforms of every stream in `rows`."""
    for q in range(rows.size):
        p = rows[q]
        k, g, first = key[p], gamma[p], used[p]
        for j in range(out.shape[1]):
            out[q, j] = (np.float64(np.int64(word(k, g, first + j) >> np.uint64(11))) + 1.0) * 2.0**-53
        used[p] = first + out.shape[1]


@njit(cache=True)
def short_of(until, rows, offset, tail, points, out):
    """The rows whose last instant is before `until`."""
    n = 0
    for q in range(rows.size):
        p = rows[q]
        if points[offset[p] + tail[p] - 1] < until:
            out[n] = p
            n += 1
    return n


@njit(cache=True)
def append(intervals, rows, offset, head, tail, points):
    """Move what is left of each row to its front and add a block of instants behind."""
    for q in range(rows.size):
        p = rows[q]
        o, h = offset[p], head[p]
        n = tail[p] - h
        if h > 0:
            for j in range(n):
                points[o + j] = points[o + h + j]
        t = points[o + n - 1]
        for j in range(intervals.shape[1]):
            t += intervals[q, j]
            points[o + n + j] = t
        head[p] = 0
        tail[p] = n + intervals.shape[1]


@njit(cache=True)
def spend(until, offset, head, tail, points, ends):
    """ends[p]: where the instants before `until` end in row p."""
    total = 0
    for p in range(head.size):
        o, h, e = offset[p], head[p], tail[p]
        # Galloping is not worth it: a row's window is short or its scan is cheap beside its use.
        lo, hi = h, e
        while lo < hi:
            mid = (lo + hi) >> 1
            if points[o + mid] < until:
                lo = mid + 1
            else:
                hi = mid
        ends[p] = lo
        total += lo - h
    return total


@njit(cache=True)
def turn(times, counts, offset, points):
    """The first counts[q] of each row, which descend, in ascending order from offset[q] on."""
    for q in range(counts.size):
        for j in range(counts[q]):
            points[offset[q] + j] = times[q, counts[q] - 1 - j]
