"""The compiled loops of `array`: events of a window in time order, then one pass.

A copy is one number, and every exchange is the same statement,

    copy[i] = max(copy[i], copy[j]),                                         (1)

where the number is, as the estimator needs it,

    sampled        the instant at which the copy goes stale, i.e. the first update after it left
    conditional    the instant at which the copy left the source.

Both grow with the freshness of the data, so (1) holds for both. At a source the
first is its next update and the second is now. A change of copy[i] from a to b
at time t adds to the time that i is fresh from t on

    sampled        max(b - t, 0) - max(a - t, 0)                             (2)
    conditional    F(t - a) - F(t - b),  F = integrated tail of the update age   (3)

where (3) is the expected time over what the updates may be. Sums of (2) and (3)
telescope, so changes before time zero count as if they happened at zero. (3) is
left to vectorised code: a pass only writes down t - a and t - b.

The kernels consume arrays and never seed. Peers are words of the stream of the
process that asks, numbered by its wakes, so they do not depend on the window.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from replnet.compiler import njit
from replnet.engines.general import GONE, MUTE, RECENT
from replnet.laws.compiled import word


class Losses(NamedTuple):
    """Messages that get lost: shares between sides, and a stream per process that asks."""

    share: Any
    side: Any  # per share and node, bits of the two sides
    key: Any
    gamma: Any


class Askers(NamedTuple):
    """Per process that asks: who wakes and among whom it chooses."""

    node: Any
    pulls: Any  # how many are asked at a wake
    recent: Any  # whether they come from the list that the upstream hands over
    begin: Any  # candidates are listed[begin : begin + size]
    size: Any
    own: Any  # where the asker stands in that list, or size
    listed: Any


@njit(cache=True, inline="always")
def below(w, n):
    """A number in 0..n-1 from the upper half of a word; chances are even to one part in 2**32 / n."""
    return np.int64(((w >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@njit(cache=True)
def choose(key, gamma, wake, k, n, out):
    """out[:k]: k distinct numbers of 0..n-1, every set equally likely (Floyd's method)."""
    if k == n:
        for q in range(k):
            out[q] = q
        return
    for q in range(k):
        top = n - k + q
        pick = below(word(key, gamma, wake * k + q), top + 1)
        for z in range(q):
            if out[z] == pick:
                pick = top
                break
        out[q] = pick


@njit(cache=True)
def lost(losses, p, pull, i, j):
    """GONE if this pull of process p from i to j gets lost, MUTE if the reply does."""
    arrive = 1.0
    for z in range(losses.share.size):
        a, b = losses.side[z, i], losses.side[z, j]
        if (a & 1 and b & 2) or (a & 2 and b & 1):
            arrive *= 1.0 - losses.share[z]
    share, flags = 1.0 - arrive, 0
    if np.float64(np.int64(word(losses.key[p], losses.gamma[p], 2 * pull) >> np.uint64(11))) * 2.0**-53 < share:
        flags |= GONE
    if np.float64(np.int64(word(losses.key[p], losses.gamma[p], 2 * pull + 1) >> np.uint64(11))) * 2.0**-53 < share:
        flags |= MUTE
    return flags


@njit(cache=True)
def count(start, scale, window, pulls, head):
    """head[b]: where the pulls of bucket b begin."""
    points, offset, first, last = window
    head[:] = 0
    for p in range(pulls.size):
        o = offset[p]
        for j in range(o + first[p], o + last[p]):
            head[np.int64((points[j] - start) * scale) + 1] += pulls[p]
    for b in range(head.size - 1):
        head[b + 1] += head[b]


@njit(cache=True)
def scatter(start, scale, window, serial, askers, key, gamma, losses, head, times, pairs, chosen):
    """Write every pull, as (time, who << 32 | asked), into its bucket."""
    lossy = losses.share.size > 0
    points, offset, first, last = window
    node, pulls, recent, begin, size, own, listed = askers
    for p in range(pulls.size):
        k, n, me, base = pulls[p], size[p], own[p], begin[p]
        o, who = offset[p], node[p] << 32
        others = n - 1 if me < n else n
        single, one_of_many = others == 1 and k == 1, k == 1 and not recent[p] and not lossy
        for j in range(o + first[p], o + last[p]):
            t = points[j]
            b = np.int64((t - start) * scale)
            z = head[b]
            head[b] = z + k
            wake = serial[p] + j - o - first[p]
            if one_of_many:
                c = 0 if single else below(word(key[p], gamma[p], wake), others)
                times[z] = t
                pairs[z] = who | listed[base + c + (c >= me)]
                continue
            if not recent[p]:
                choose(key[p], gamma[p], wake, k, others, chosen)
            for q in range(k):
                c = chosen[q]
                times[z + q] = t
                asked = RECENT | q if recent[p] else listed[base + c + (c >= me)]
                if lossy:
                    asked |= lost(losses, p, wake * k + q, node[p], asked)
                pairs[z + q] = who | asked


@njit(cache=True)
def absent(window, spans, first, purpose, counts):
    """Takes off counts, by purpose, the wakes of nodes that are down: process p over spans first[p] to first[p + 1]."""
    points, offset, begun, ended = window
    for p in range(offset.size):
        j, last = offset[p] + begun[p], offset[p] + ended[p]
        for z in range(first[p], first[p + 1]):
            while j < last and points[j] < spans[z, 0]:
                j += 1
            while j < last and points[j] < spans[z, 1]:
                j += 1
                counts[purpose[p]] -= 1


@njit(cache=True)
def refine(start, width, ends, loose_times, loose_pairs, head, times, pairs):
    """Sort each bucket of a coarse sort, of which slice s ends at ends[s], by buckets of its own."""
    begin = 0
    for s in range(ends.size):
        n, low = ends[s] - begin, start + s * width
        scale = n / width
        head[: n + 1] = 0
        for q in range(begin, ends[s]):
            head[min(max(np.int64((loose_times[q] - low) * scale), 0), n - 1) + 1] += 1
        head[0] = begin
        for b in range(n):
            head[b + 1] += head[b]
        for q in range(begin, ends[s]):
            t = loose_times[q]
            b = min(max(np.int64((t - low) * scale), 0), n - 1)
            z = head[b]
            head[b] = z + 1
            times[z] = t
            pairs[z] = loose_pairs[q]
        begin = ends[s]


@njit(cache=True)
def settle(times, pairs):
    """Insertion sort, for times that are nearly in order; stable, so ties keep the order of processes."""
    for q in range(1, times.size):
        t = times[q]
        if times[q - 1] > t:
            pair = pairs[q]
            z = q
            while z > 0 and times[z - 1] > t:
                times[z] = times[z - 1]
                pairs[z] = pairs[z - 1]
                z -= 1
            times[z] = t
            pairs[z] = pair


@njit(cache=True)
def sampled_pass(times, pairs, updates, horizon, source, copy, group, fresh):
    """(1) and (2), where everyone asks by name, is answered at once and keeps what it gets.

    `updates` are those of the window and the one after.
    """
    x, coming = 0, updates[0]
    copy[source] = min(coming, horizon)
    for q in range(times.size):
        t = times[q]
        if coming <= t:
            while coming <= t:
                x += 1
                coming = updates[x]
            copy[source] = min(coming, horizon)
        pair = pairs[q]
        i = pair >> 32
        new, old = copy[pair & 0xFFFFFFFF], copy[i]
        if new > old:
            copy[i] = new
            fresh[group[i]] += max(new - t, 0.0) - max(old - t, 0.0)


@njit(cache=True)
def conditional_pass(times, pairs, source, copy, group, changes):
    """The same with (3) in the place of (2); returns the number of changes."""
    before, after, who = changes.before, changes.after, changes.who
    n = 0
    for q in range(times.size):
        t = times[q]
        copy[source] = t
        pair = pairs[q]
        i = pair >> 32
        new, old = copy[pair & 0xFFFFFFFF], copy[i]
        if new > old:
            copy[i] = new
            before[n] = t - old
            after[n] = t - new
            who[n] = group[i]
            n += 1
    return n
