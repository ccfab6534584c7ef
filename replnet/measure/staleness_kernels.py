"""The compiled loops of stretches.py: where instants lie among updates, and every missed update of every stretch."""

from __future__ import annotations

from replnet.compiler import njit


@njit(cache=True)
def find_places(updates, begin, row, instants, including, indices):
    """Write into `indices` where each instant lies among the updates of its row: the index after all those before it.

    With `including` also after those at the very instant. The updates of row s are updates[begin[s] : begin[s + 1]].
    Each search sets out from the index of the instant before, in steps that double, as neighbours are near.
    """
    x, last_row = 0, -1
    for q in range(instants.size):
        t, start, n = instants[q], begin[row[q]], begin[row[q] + 1]
        if row[q] != last_row:
            x, last_row = start, row[q]
        low, high, step = start, n, 1
        if x < n and (updates[x] < t or (including and updates[x] == t)):
            low = x + 1
            while low + step < n and (updates[low + step] < t or (including and updates[low + step] == t)):
                low += step + 1
                step *= 2
            high = min(low + step, n)
        else:
            high = x
            while high - step > start and not (updates[high - step] < t or (including and updates[high - step] == t)):
                high -= step
                step *= 2
            low = max(high - step, start)
        while low < high:
            middle = (low + high) // 2
            if updates[middle] < t or (including and updates[middle] == t):
                low = middle + 1
            else:
                high = middle
        indices[q] = x = low


@njit(cache=True)
def missed_ages(begin, end, updates, first, at_begin, at_end, end_ages, begin_ages):
    """Write the ages of all missed updates at the end of every stretch into `end_ages`, at its begin into `begin_ages`.

    Stretch q, from begin[q] to end[q], misses updates[first[q] : at_end[q]] by its end, and those before at_begin[q]
    already at its begin. Ages are written one after another, stretch by stretch.
    """
    n = m = 0
    for q in range(begin.size):
        for x in range(first[q], at_end[q]):
            end_ages[n] = end[q] - updates[x]
            n += 1
        for x in range(first[q], at_begin[q]):
            begin_ages[m] = begin[q] - updates[x]
            m += 1


@njit(cache=True)
def add_costs(cost, count, sign, sums):
    """Add to sums[q] the sum of the next count[q] of the costs, times `sign`, for every stretch q in turn."""
    n = 0
    for q in range(count.size):
        total = 0.0
        for _ in range(count[q]):
            total += cost[n]
            n += 1
        sums[q] += sign * total
