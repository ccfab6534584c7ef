"""The compiled loops of processes: words to uniforms and intervals, intervals to instants."""

from __future__ import annotations

import math

import numpy as np

from replnet.compiler import njit, prefetch

# The type of indices in loops that do little else: for a signed index, Numba checks at every use whether it counts
# from the end, which takes up to a third of their time. A sum with a signed number would be a float.
natural = np.uint64
ONE = natural(1)
# Rows lie far apart, so that the memory cannot foresee which is next: each is fetched some rows in advance.
AHEAD, LINE = 8, natural(8)  # rows in advance, and numbers in a cache line


@njit(cache=True, inline="always")
def fetch(points, begin):
    """Have the processor load the three cache lines from points[begin] on into its cache; no value changes.

    Beyond them it reads ahead by itself.
    """
    index = natural(begin)
    prefetch(points, index)
    prefetch(points, index + LINE)
    prefetch(points, index + LINE + LINE)


@njit(cache=True, inline="always")
def word(key, gamma, n):
    """Return the n-th 64-bit word, from 0, of the stream with this key and gamma (streams.py, eq. 1), as an np.uint64.

    `n` may be negative.
    """
    z = key + np.uint64(n + 1) * gamma
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True, inline="always")
def uniform(key, gamma, n):
    """Return the n-th word, from 0, of the random stream with this key and gamma as a float in (0, 1]."""
    return (np.float64(np.int64(word(key, gamma, n) >> np.uint64(11))) + 1.0) * 2.0**-53


@njit(cache=True)
def fill_uniforms(key, gamma, used, rows, out):
    """Fill row q of `out` with the next uniforms in (0, 1] of the stream rows[q], and count them in `used`.

    Stream p has key[p] and gamma[p], of whose words used[p] were taken before.
    """
    for q in range(rows.size):
        p = rows[q]
        k, g, first = key[p], gamma[p], used[p]
        for j in range(out.shape[1]):
            out[q, j] = uniform(k, g, first + j)
        used[p] = first + out.shape[1]


@njit(cache=True)
def find_short_rows(until, block, rows, offset, head, tail, room, points, out):
    """Write the rows whose last instant is before `until` to `out`, and return how many there are, and a limit.

    Row p has the instants points[offset[p] + head[p] : offset[p] + tail[p]]. The limit is the least last instant of the
    rows written that have no room for another `block` of instants, as these would exceed room[p]; infinite if all have
    room.
    """
    n, least_last = 0, np.inf
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
                least_last = min(least_last, last)
    return n, least_last


@njit(cache=True)
def append_instants(intervals, rows, offset, head, tail, points):
    """Move the remaining instants of each row to its front, and append those that follow after `intervals` behind them.

    The remaining instants of row p are points[offset[p] + head[p] : offset[p] + tail[p]]. intervals[q] go to rows[q];
    `head` and `tail` are kept up to date.
    """
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
def find_window_ends(until, offset, head, tail, points, ends):
    """Set ends[p] to where the instants before `until` end in row p, and return how many there are in all rows.

    The instants of row p are points[offset[p] + head[p] : offset[p] + tail[p]], and `ends` count from offset[p] as
    well.
    """
    total = 0
    for p in range(head.size):
        if p + AHEAD < head.size:
            fetch(points, offset[p + AHEAD] + ((head[p + AHEAD] + tail[p + AHEAD]) >> 1) - 8)
        o, h, e = offset[p], head[p], tail[p]
        # Galloping is not worth it: a row's window is short or its scan is cheap beside its use.
        low, high = h, e
        while low < high:
            mid = (low + high) >> 1
            if points[o + mid] < until:
                low = mid + 1
            else:
                high = mid
        ends[p] = low
        total += low - h
    return total


@njit(cache=True)
def step_back(intervals, since, last, times, counts):
    """Step back from last[q] by the intervals of each row q, and write the instants, latest first, down to `since`.

    They go to `times`, row after row; return how many there are in all. counts[q] becomes how many are of row q, and
    last[q] the last instant of row q that was computed, which may be before `since`.
    """
    total = 0
    for q in range(last.size):
        t, begin = last[q], total
        for j in range(intervals.shape[1]):
            t -= intervals[q, j]
            if t < since:
                break
            times[total] = t
            total += 1
        counts[q], last[q] = total - begin, t
    return total


@njit(cache=True)
def write_in_order(times, rows, counts, place, points):
    """Write each row's instants, which descend in `times`, to `points` in ascending order.

    counts[q] instants of rows[q] go to the places before place[rows[q]], which moves down by as many.
    """
    done = 0
    for q in range(rows.size):
        last = place[rows[q]] - 1
        for j in range(counts[q]):
            points[last - j] = times[done + j]
        place[rows[q]] -= counts[q]
        done += counts[q]


@njit(cache=True)
def sum_autoregressions(rows, normals, decay, kick, summands, out):
    """Fill row q of `out` with sums of first-order autoregressions of the process rows[q], and step these on.

    Each step (sequences.py, eq. 3) of summand i is decay[i] times its value in `summands`, which is kept up to date,
    plus kick[i] times a normal; row q of `normals` has one for each summand of a step, step after step.
    """
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
def draw_modulated_intervals(key, gamma, used, rows, rates, leave, state, out):
    """Fill row q of `out` with the next intervals of process rows[q], Poisson at a rate that changes at random.

    State s has events at rates[s] and is left at leave[s], to any other state alike; the two race with two words each.
    Process p has the stream key[p], gamma[p]. How many words it used, and its `state`, are kept up to date.
    """
    for q in range(rows.size):
        p = rows[q]
        n, s = used[p], state[p]
        for j in range(out.shape[1]):
            wait = 0.0
            while True:
                total_rate = rates[s] + leave[s]
                wait -= math.log(uniform(key[p], gamma[p], n)) / total_rate
                excess = uniform(key[p], gamma[p], n + 1) * total_rate - rates[s]
                n += 2
                if excess <= 0.0:
                    break
                target = min(int(excess / leave[s] * (rates.size - 1)), rates.size - 2)
                s = target + (target >= s)
            out[q, j] = wait
        used[p], state[p] = n, s


@njit(cache=True)
def draw_diurnal_intervals(key, gamma, used, rows, rate, swing, period, phase, out):
    """Fill row q of `out` with the next intervals of process rows[q], Poisson at a rate that swings once per period.

    `rate` is the mean and `swing` the largest deviation from it, as a share (poisson.py, eq. 1). `phase` is the time of
    day of each process's last event, as a share of the period. Process p has the stream key[p], gamma[p]. How many
    words it used, and its `phase`, are kept up to date.
    """
    per_period = rate * period
    reach = swing * per_period / math.pi
    for q in range(rows.size):
        p = rows[q]
        n, time_of_day = used[p], phase[p]
        for j in range(out.shape[1]):
            e = -math.log(uniform(key[p], gamma[p], n + j))
            whole_periods = math.floor(e / per_period)
            e -= whole_periods * per_period
            # In units of a period; Newton's method, held inside a bracket, as the rate may touch zero.
            low, high, y = 0.0, 1.0, min(e / per_period, 1.0)
            for _ in range(100):
                middle = 2 * math.pi * (time_of_day + y / 2)
                excess = per_period * y + reach * math.sin(math.pi * y) * math.cos(middle) - e
                if excess > 0:
                    high = y
                else:
                    low = y
                slope = per_period * (1 + swing * math.cos(2 * math.pi * (time_of_day + y)))
                step = y - excess / slope if slope > 0 else low
                if not low < step < high:
                    step = (low + high) / 2
                done = abs(step - y) <= 1e-12 * step  # it doubles the digits at every step
                y = step
                if done:
                    break
            time_of_day = (time_of_day + y) % 1.0
            out[q, j] = (whole_periods + y) * period
        used[p], phase[p] = n + out.shape[1], time_of_day
