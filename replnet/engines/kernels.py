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
from numba import njit

from replnet.laws.renewal import word

# An asked node from here on means "the n-th of the list that my upstream handed me".
RECENT = 1 << 30
NOBODY = (1 << 31) - 1  # the list is not that long


class Askers(NamedTuple):
    """Per process that asks: who wakes and among whom it chooses."""

    node: Any
    pulls: Any  # how many are asked at a wake
    recent: Any  # whether they come from the list that the upstream hands over
    begin: Any  # candidates are listed[begin : begin + size]
    size: Any
    own: Any  # where the asker stands in that list, or size
    listed: Any


class Copies(NamedTuple):
    """What every node holds of one source, and what is on its way."""

    copy: Any
    group: Any
    # clients: answers outstanding of the query under way, and how many a query asks
    left: Any
    asks: Any
    # lists of recent contacts: one per register; newer/older link its members, latest first
    register: Any  # the register of a node's pool at its upstream, or -1
    upstream: Any
    latest: Any
    older: Any
    newer: Any
    handed: Any  # the list that a node was last handed, and its length
    length: Any
    need: Any


class Totals(NamedTuple):
    """What a pass adds up, per group; `lacking` counts nodes whose list is not complete."""

    fresh: Any
    answers: Any
    good: Any
    lacking: Any


class Changes(NamedTuple):
    """Ages before and after every change, and the ages of answers, each with its group, for (3)."""

    before: Any
    after: Any
    who: Any
    answer: Any
    client: Any


@njit(cache=True, inline="always")
def below(w, n):  # type: ignore[no-untyped-def]
    """A number in 0..n-1 from the upper half of a word; n < 2**31 keeps the bias under 2**-1 per word of 2**32."""
    return np.int64(((w >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@njit(cache=True)
def choose(key, gamma, wake, k, n, out):  # type: ignore[no-untyped-def]
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
def count(start, scale, window, pulls, head):  # type: ignore[no-untyped-def]
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
def scatter(start, scale, window, serial, askers, key, gamma, head, times, pairs, chosen):  # type: ignore[no-untyped-def]
    """Write every pull, as (time, who << 32 | asked), into its bucket."""
    points, offset, first, last = window
    node, pulls, recent, begin, size, own, listed = askers
    for p in range(pulls.size):
        k, n, me, base = pulls[p], size[p], own[p], begin[p]
        o, who = offset[p], node[p] << 32
        others = n - 1 if me < n else n
        single, one_of_many = others == 1 and k == 1, k == 1 and not recent[p]
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
                pairs[z + q] = who | (RECENT + q if recent[p] else listed[base + c + (c >= me)])


@njit(cache=True)
def settle(times, pairs):  # type: ignore[no-untyped-def]
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
def sampled_pass(times, pairs, updates, horizon, source, copy, group, fresh):  # type: ignore[no-untyped-def]
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
def conditional_pass(times, pairs, source, copy, group, changes):  # type: ignore[no-untyped-def]
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


@njit(cache=True)
def hand_over(i, k, at, state, lists):  # type: ignore[no-untyped-def]
    """Write the k latest contacts other than i into lists[at], then move i to the front of its register."""
    r, n = state.register[i], 0
    j = state.latest[r]
    while j >= 0 and n < k:
        if j != i:
            lists[at, n + 1] = j
            n += 1
        j = state.older[j]
    lists[at, 0] = n
    if state.latest[r] == i:
        return
    before, after = state.newer[i], state.older[i]
    if before >= 0:
        state.older[before] = after
    if after >= 0:
        state.newer[after] = before
    front = state.latest[r]
    state.newer[i], state.older[i], state.latest[r] = -1, front, i
    if front >= 0:
        state.newer[front] = i


@njit(cache=True)
def receive_list(i, at, state, lists, totals):  # type: ignore[no-untyped-def]
    """Take the list that came with a reply; true if it was the last one missing."""
    n = lists[at, 0]
    was_short = state.length[i] < state.need[i]
    state.length[i] = n
    for q in range(n):
        state.handed[i, q] = lists[at, q + 1]
    if was_short and n >= state.need[i]:
        totals.lacking[0] -= 1
        return totals.lacking[0] == 0
    return False


@njit(cache=True)
def general_pass(  # type: ignore[no-untyped-def]
    asked, answered, until, times, pairs, held, lists, delay, updates, horizon, floor, source, sampled, state, totals,
    changes,
):  # fmt: skip
    """(1) to (3) for every network: messages that take `delay`, clients, lists of recent contacts.

    Pulls are answered and arrive in the order in which they were sent, so the
    sorted entries are the queue: those before `asked` have been sent, those before
    `answered` are on their way back. What is due at `until` or later stays in it.
    Returns (updates passed, answered, arrived, changes, answers).
    """
    copy = state.copy
    arrived, x, n, answers = 0, 0, 0, 0
    while True:
        next_ask = times[asked] if asked < times.size else until
        next_answer = times[answered] + delay if answered < asked else until
        arrival = times[arrived] + delay + delay if arrived < answered else until
        if arrival < until and arrival <= next_answer and arrival <= next_ask:
            n, answers = arrive(
                arrived, answered, arrival, pairs, held, lists, floor, sampled, state, totals, changes, n, answers
            )
            arrived += 1
        elif next_answer < until and next_answer <= next_ask:
            while updates[x] <= next_answer:
                x += 1
            copy[source] = min(updates[x], horizon) if sampled else next_answer
            i, j = pairs[answered] >> 32, pairs[answered] & 0xFFFFFFFF
            held[answered] = copy[j] if j != NOBODY else -np.inf
            lists[answered % lists.shape[0], 0] = -1
            if state.register[i] >= 0 and j == state.upstream[i]:
                hand_over(i, lists.shape[1] - 1, answered % lists.shape[0], state, lists)
            answered += 1
        elif next_ask < until:
            i, j = pairs[asked] >> 32, pairs[asked] & 0xFFFFFFFF
            if j >= RECENT and j != NOBODY:
                j = state.handed[i, j - RECENT] if j - RECENT < state.length[i] else NOBODY
                pairs[asked] = i << 32 | j
            asked += 1
        else:
            return x, answered, arrived, n, answers


@njit(cache=True, inline="always")
def note(i, old, new, t, sampled, state, totals, changes, n):  # type: ignore[no-untyped-def]
    """Account for a change of copy[i] at t by (2), or write it down for (3)."""
    if sampled:
        totals.fresh[state.group[i]] += max(new - t, 0.0) - max(old - t, 0.0)
        return n
    changes.before[n] = t - old
    changes.after[n] = t - new
    changes.who[n] = state.group[i]
    return n + 1


@njit(cache=True)
def arrive(  # type: ignore[no-untyped-def]
    entry, answered, now, pairs, held, lists, floor, sampled, state, totals, changes, n, answers
):
    """The reply to pull `entry` reaches the one who asked; those before `answered` are on their way."""
    copy = state.copy
    t = max(now, 0.0)
    i, new = pairs[entry] >> 32, held[entry]
    old = copy[i]
    if new > old:
        copy[i] = new
    if state.asks[i] > 0:
        state.left[i] -= 1
        if state.left[i] == 0:
            state.left[i] = state.asks[i]
            if now >= 0:
                g = state.group[i]
                totals.answers[g] += 1
                if sampled:
                    totals.good[g] += copy[i] > t
                else:
                    changes.answer[answers] = t - copy[i]
                    changes.client[answers] = g
                    answers += 1
            copy[i] = -np.inf
        return n, answers
    if new > old:
        n = note(i, old, new, t, sampled, state, totals, changes, n)
    at = entry % lists.shape[0]
    if state.register[i] >= 0 and lists[at, 0] >= 0 and receive_list(i, at, state, lists, totals):
        # From here on every poll asks whom it should; what was held before may be wrong and is forgotten.
        for i in range(copy.size):
            if copy[i] > floor and state.group[i] >= 0 and state.asks[i] == 0:
                n = note(i, copy[i], floor, t, sampled, state, totals, changes, n)
                copy[i] = floor
        held[entry + 1 : answered] = -np.inf
    return n, answers
