"""The compiled loops of processes: words to uniforms and intervals, intervals to instants."""

from __future__ import annotations

import math

import numpy as np

from replnet.compiler import njit, prefetch

# What loops that do little else take for indices: of a signed one Numba asks at every use whether it counts from the
# end, which takes up to a third of their time. A sum with a signed number would be a float.
natural = np.uint64
ONE = natural(1)
# Rows lie far apart, so that the memory cannot tell which is next: some rows before it is come to, one is asked for.
AHEAD, LINE = 8, natural(8)  # rows, and numbers that come at once


@njit(cache=True, inline="always")
def fetch(points, begin):
    """Ask for what is at points[begin], as much as is read before more comes by itself."""
    at = natural(begin)
    prefetch(points, at)
    prefetch(points, at + LINE)
    prefetch(points, at + LINE + LINE)


@njit(cache=True, inline="always")
def word(key, gamma, n):
    """The n-th word of a stream (streams.py, eq. 1)."""
    z = key + np.uint64(n + 1) * gamma
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True, inline="always")
def uniform(key, gamma, n):
    """The n-th word of a stream as a number in (0, 1]."""
    return (np.float64(np.int64(word(key, gamma, n) >> np.uint64(11))) + 1.0) * 2.0**-53


@njit(cache=True)
def fill(key, gamma, used, rows, out):
    """The next out.shape[1] uniforms of every stream in `rows`."""
    for q in range(rows.size):
        p = rows[q]
        k, g, first = key[p], gamma[p], used[p]
        for j in range(out.shape[1]):
            out[q, j] = uniform(k, g, first + j)
        used[p] = first + out.shape[1]


@njit(cache=True)
def short_of(until, block, rows, offset, head, tail, room, points, out):
    """How many rows have their last instant before `until`, which are put into `out`, and how far all of these come
    that have no room for a block more."""
    n, reached = 0, np.inf
    for q in range(rows.size):
        if q + AHEAD < rows.size:
            p = rows[q + AHEAD]
            prefetch(points, natural(offset[p] + tail[p] - 1))
        p = rows[q]
        last = points[offset[p] + tail[p] - 1]
        if last < until:
            out[n] = p
            n += 1
            if tail[p] - head[p] + block > room[p]:
                reached = min(reached, last)
    return n, reached


@njit(cache=True)
def append(intervals, rows, offset, head, tail, points):
    """Move what is left of each row to its front and add a block of instants behind."""
    for q in range(rows.size):
        if q + AHEAD < rows.size:
            p = rows[q + AHEAD]
            fetch(points, offset[p] + head[p])
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
        if p + AHEAD < head.size:
            fetch(points, offset[p + AHEAD] + ((head[p + AHEAD] + tail[p + AHEAD]) >> 1) - 8)
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
def descend(intervals, since, last, times, counts):
    """The instants that lie so far apart before last[q], latest first, down to `since`; returns how many in all.

    counts[q] of them are of row q, and last[q] becomes the last of its row that was looked at.
    """
    at = 0
    for q in range(last.size):
        t, begun = last[q], at
        for j in range(intervals.shape[1]):
            t -= intervals[q, j]
            if t < since:
                break
            times[at] = t
            at += 1
        counts[q], last[q] = at - begun, t
    return at


@njit(cache=True)
def turn(times, rows, counts, place, points):
    """The instants of each row, so many that descend, in ascending order up to place[p], which goes down."""
    at = 0
    for q in range(rows.size):
        last = place[rows[q]] - 1
        for j in range(counts[q]):
            points[last - j] = times[at + j]
        place[rows[q]] -= counts[q]
        at += counts[q]


@njit(cache=True)
def remember(rows, normals, decay, kick, summands, out):
    """Sums of autoregressions (sequences.py, eq. 3), a normal for each of them at every step."""
    n = decay.size
    for q in range(rows.size):
        p = rows[q]
        for j in range(out.shape[1]):
            total = 0.0
            for i in range(n):
                summands[p, i] = decay[i] * summands[p, i] + kick[i] * normals[q, j * n + i]
                total += summands[p, i]
            out[q, j] = total


@njit(cache=True)
def race(key, gamma, used, rows, rates, leave, state, out):
    """Events against changes of state, two words for each of both (poisson.py)."""
    for q in range(rows.size):
        p = rows[q]
        n, s = used[p], state[p]
        for j in range(out.shape[1]):
            wait = 0.0
            while True:
                both = rates[s] + leave[s]
                wait -= math.log(uniform(key[p], gamma[p], n)) / both
                excess = uniform(key[p], gamma[p], n + 1) * both - rates[s]
                n += 2
                if excess <= 0.0:
                    break
                other = min(int(excess / leave[s] * (rates.size - 1)), rates.size - 2)
                s = other + (other >= s)
            out[q, j] = wait
        used[p], state[p] = n, s


@njit(cache=True)
def by_the_clock(key, gamma, used, rows, rate, swing, period, phase, out):
    """Solves (1) of poisson.py for interval after interval; `phase` is that of the last event."""
    per_period = rate * period
    reach = swing * per_period / math.pi
    for q in range(rows.size):
        p = rows[q]
        n, at = used[p], phase[p]
        for j in range(out.shape[1]):
            e = -math.log(uniform(key[p], gamma[p], n + j))
            whole = math.floor(e / per_period)
            e -= whole * per_period
            # In units of a period; Newton's method, held inside a bracket, as the rate may touch zero.
            low, high, y = 0.0, 1.0, min(e / per_period, 1.0)
            for _ in range(100):
                middle = 2 * math.pi * (at + y / 2)
                excess = per_period * y + reach * math.sin(math.pi * y) * math.cos(middle) - e
                if excess > 0:
                    high = y
                else:
                    low = y
                slope = per_period * (1 + swing * math.cos(2 * math.pi * (at + y)))
                step = y - excess / slope if slope > 0 else low
                if not low < step < high:
                    step = (low + high) / 2
                done = abs(step - y) <= 1e-12 * step  # it doubles the digits at every step
                y = step
                if done:
                    break
            at = (at + y) % 1.0
            out[q, j] = (whole + y) * period
        used[p], phase[p] = n + out.shape[1], at
