"""The pass of `array` over trees: no global order of events is needed.

In a tree every replica pulls from one upstream and keeps what it gets, so what
it holds at an instant d of its own is what the upstream held at d. A window is
done replica by replica, upstreams first: merge its instants with the changes of
the upstream, look up the values, keep those that are new, add up (2) of passes.py
over these, and leave them for those below. At the top the changes are the updates,
and the value between two of them is the instant of the next.
"""

from __future__ import annotations

import numpy as np

from replnet.compiler import njit
from replnet.processes import ONE, natural


@njit(cache=True)
def rank_rest(changes, d, j, end, q, last, rank):
    """Write into rank[j:end] how many of the `changes` are not after each of d[j:end], by a plain merge.

    `changes` and `d` are instants in ascending order. These numbers are known to be at least q and at most `last`.
    """
    while j < end:
        while q < last and changes[q] <= d[j]:
            q += ONE
        rank[j] = q
        j += ONE


@njit(cache=True)
def rank_instants(changes, d, rank):
    """Write into `rank`, for every instant d[j], the number of changes that are not after it; both ascend.

    A merge has one unpredictable branch per step. Without branches a step waits for the one before, so four quarters of
    d are merged at once.
    """
    n, m = natural(d.size), natural(changes.size)
    j0, j1, j2, j3 = natural(0), natural(d.size // 4), natural(d.size // 2), natural(3 * d.size // 4)
    e0, e1, e2 = j1, j2, j3
    q0 = natural(0)
    q1 = natural(np.searchsorted(changes, d[j1], side="right") if n else 0)
    q2 = natural(np.searchsorted(changes, d[j2], side="right") if n else 0)
    q3 = natural(np.searchsorted(changes, d[j3], side="right") if n else 0)
    l0, l1, l2 = q1, q2, q3
    while j0 < e0 and j1 < e1 and j2 < e2 and j3 < n and q0 < l0 and q1 < l1 and q2 < l2 and q3 < m:
        s0 = natural(changes[q0] <= d[j0])
        s1 = natural(changes[q1] <= d[j1])
        s2 = natural(changes[q2] <= d[j2])
        s3 = natural(changes[q3] <= d[j3])
        rank[j0], rank[j1], rank[j2], rank[j3] = q0, q1, q2, q3
        q0, q1, q2, q3 = q0 + s0, q1 + s1, q2 + s2, q3 + s3
        j0, j1, j2, j3 = j0 + ONE - s0, j1 + ONE - s1, j2 + ONE - s2, j3 + ONE - s3
    rank_rest(changes, d, j0, e0, q0, l0, rank)
    rank_rest(changes, d, j1, e1, q1, l1, rank)
    rank_rest(changes, d, j2, e2, q2, l2, rank)
    rank_rest(changes, d, j3, n, q3, m, rank)


@njit(cache=True)
def keep_changes(d, rank, value, before, times, values):
    """Write the instants at which a copy changed, and what it then was, into `times` and `values`; return their number.

    The pull at d[j] finds value[rank[j]]. values[0] is the copy `before` the first change, and values[n + 1] what the
    n-th one, counted from 0, has left. Pulls that find the same copy as before are no changes.
    """
    n = natural(0)
    values[0] = before
    for j in range(d.size):
        after = value[natural(rank[j])]
        times[n] = d[j]
        values[n + ONE] = after
        n += natural(after != before)
        before = after
    return np.int64(n)


@njit(cache=True)
def add_fresh_time(times, values, n, total):
    """Return `total` plus the fresh time that n changes of a copy add, one after another.

    At times[q] the copy, which is the instant until which it is fresh, changes from values[q] to values[q + 1].
    """
    for q in range(n):
        total += max(values[q + 1] - times[q], 0.0) - max(values[q] - times[q], 0.0)
    return total


@njit(cache=True)
def tree_pass(window, asks, trees, sources, horizon, copy, cell, fresh, begin, size, times, values, rank):
    """Apply a window to trees, replica by replica: change their copies, and add fresh time to their cells in `fresh`.

    Row w of the window has the instants points[offset[w] + first[w]] to points[offset[w] + last[w]]; rows from `asks`
    on are those of pulls. A copy is the instant until which it is fresh, `horizon` at most. The changes of place i are
    values[b] before the first, and values[b + 1 + c] after the c-th, which was at times[b + c], where b = begin[i];
    there are size[i] of them. `rank` is room for a replica's pulls.
    """
    points, offset, first, last = window
    for c in range(sources.begin.size - 1):
        if sources.begin[c] == sources.begin[c + 1]:
            continue  # nothing ever comes
        source, row, room = sources.place[sources.begin[c]], sources.row[sources.begin[c]], 0
        begin[source], size[source] = 0, last[row] - first[row]
        for q in range(size[source] + 1):  # and the one after
            at = points[offset[row] + first[row] + q]
            times[q] = at
            values[q] = min(at, horizon)
        room = size[source] + 1
        for o in range(trees.begin[c], trees.begin[c + 1]):
            p = trees.order[o]
            i, u, w = trees.place[p], trees.upstream[p], asks + trees.row[p]
            d = points[offset[w] + first[w] : offset[w] + last[w]]
            b = begin[u]
            rank_instants(times[b : b + size[u]], d, rank)
            n = keep_changes(d, rank, values[b:], copy[i], times[room:], values[room:])
            fresh[cell[i]] = add_fresh_time(times[room:], values[room:], n, fresh[cell[i]])
            copy[i] = values[room + n]
            if trees.feeds[p]:
                begin[i], size[i] = room, n
                room += n + 2
