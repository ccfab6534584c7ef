"""The compiled loops of `staleness`: where instants lie among updates, and every missed update of every stretch."""

from __future__ import annotations

from replnet.compiler import njit


@njit(cache=True)
def places(updates, begin, row, instants, right, found):
    """The place in its row after all updates before each instant, or with `right` not after it.

    From the place of the instant before in steps that double, as neighbours are near.
    """
    x, known = 0, -1
    for q in range(instants.size):
        t, start, n = instants[q], begin[row[q]], begin[row[q] + 1]
        if row[q] != known:
            x, known = start, row[q]
        low, high, step = start, n, 1
        if x < n and (updates[x] < t or (right and updates[x] == t)):
            low = x + 1
            while low + step < n and (updates[low + step] < t or (right and updates[low + step] == t)):
                low += step + 1
                step *= 2
            high = min(low + step, n)
        else:
            high = x
            while high - step > start and not (updates[high - step] < t or (right and updates[high - step] == t)):
                high -= step
                step *= 2
            low = max(high - step, start)
        while low < high:
            middle = (low + high) // 2
            if updates[middle] < t or (right and updates[middle] == t):
                low = middle + 1
            else:
                high = middle
        found[q] = x = low


@njit(cache=True)
def missed(begin, end, updates, first, before, upto, late, early):
    """By how much the end of every stretch is after each update that it misses, and by how much its begin is."""
    n = m = 0
    for q in range(begin.size):
        for x in range(first[q], upto[q]):
            late[n] = end[q] - updates[x]
            n += 1
        for x in range(first[q], before[q]):
            early[m] = begin[q] - updates[x]
            m += 1


@njit(cache=True)
def add_up(cost, count, sign, found):
    """Adds to every stretch the next so many costs."""
    n = 0
    for q in range(count.size):
        total = 0.0
        for _ in range(count[q]):
            total += cost[n]
            n += 1
        found[q] += sign * total
