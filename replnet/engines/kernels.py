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

from replnet.laws.compiled import word

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
    """What every node holds of one source."""

    copy: Any
    group: Any
    # of clients: how many a query asks, 0 for all others, and the answers outstanding of the one under way
    asks: Any
    left: Any


class Contacts(NamedTuple):
    """Lists of recent contacts: those that upstreams keep, and those that they handed over.

    An upstream's list is a register; `older` and `newer` link its members, latest first.
    """

    register: Any  # the register in which a node appears, or -1
    upstream: Any  # who keeps it
    latest: Any
    older: Any
    newer: Any
    handed: Any  # the list that a node was last handed, and its length
    length: Any
    need: Any  # how long it must be before the node polls whom it should
    lacking: Any  # how many nodes still wait for that


class Totals(NamedTuple):
    """What a pass adds up, per group."""

    fresh: Any
    answers: Any
    good: Any


class Changes(NamedTuple):
    """Ages before and after every change, and the ages of answers, each with its group, for (3)."""

    before: Any
    after: Any
    who: Any
    answer: Any
    client: Any


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
def scatter(start, scale, window, serial, askers, key, gamma, head, times, pairs, chosen):
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


@njit(cache=True)
def hand_over(i, contacts, given):
    """given = how many, then the latest contacts other than i, who moves to the front of its register."""
    latest, older, newer = contacts.latest, contacts.older, contacts.newer
    r, n = contacts.register[i], 0
    j = latest[r]
    while j >= 0 and n < given.size - 1:
        if j != i:
            n += 1
            given[n] = j
        j = older[j]
    given[0] = n
    if latest[r] == i:
        return
    before, after, front = newer[i], older[i], latest[r]
    if before >= 0:
        older[before] = after
    if after >= 0:
        newer[after] = before
    newer[i], older[i], latest[r] = -1, front, i
    if front >= 0:
        newer[front] = i


@njit(cache=True)
def receive_list(i, contacts, given):
    """Take the list that came with a reply; true if it was the last one that someone waited for."""
    n, need = given[0], contacts.need[i]
    was_short = contacts.length[i] < need
    contacts.length[i] = n
    contacts.handed[i, :n] = given[1 : n + 1]
    if was_short and n >= need:
        contacts.lacking[0] -= 1
        return contacts.lacking[0] == 0
    return False


@njit(cache=True)
def forget(floor, sampled, copies, totals, changes, n):
    """Copies become unknown, which counts as a change at time zero."""
    copy, group = copies.copy, copies.group
    for i in range(copy.size):
        if copy[i] > floor and group[i] >= 0 and copies.asks[i] == 0:
            if sampled:
                totals.fresh[group[i]] -= max(copy[i], 0.0)
            else:
                changes.before[n], changes.after[n], changes.who[n] = -copy[i], -floor, group[i]
                n += 1
            copy[i] = floor
    return n


@njit(cache=True)
def general_pass(
    asked, answered, until, times, pairs, held, delay, updates, horizon, floor, source, sampled, copies, totals,
    changes, contacts, lists,
):  # fmt: skip
    """(1) to (3) for every network: messages that take `delay`, clients, lists of recent contacts.

    Pulls are answered and arrive in the order in which they were sent, so the
    sorted entries are the queue: those before `asked` have been sent, those before
    `answered` are on their way back. What is due at `until` or later stays in it.
    `lists` holds what replies carry with them, and is empty if there are no lists.
    Returns (updates passed, answered, arrived, changes, answers).
    """
    copy, group, asks, left = copies.copy, copies.group, copies.asks, copies.left
    fresh, count_answers, good = totals.fresh, totals.answers, totals.good
    before, after, who, answer, client = changes.before, changes.after, changes.who, changes.answer, changes.client
    register, upstream, handed, length = contacts.register, contacts.upstream, contacts.handed, contacts.length
    listing = lists.shape[0] > 0
    arrived, x, n, answers = 0, 0, 0, 0
    while True:
        next_ask = times[asked] if asked < times.size else until
        next_answer = times[answered] + delay if answered < asked else until
        arrival = times[arrived] + delay + delay if arrived < answered else until
        if arrival < until and arrival <= next_answer and arrival <= next_ask:
            t = max(arrival, 0.0)
            i, new = pairs[arrived] >> 32, held[arrived]
            old = copy[i]
            copy[i] = max(new, old)
            if asks[i] > 0:
                left[i] -= 1
                if left[i] == 0:
                    left[i] = asks[i]
                    if arrival >= 0:
                        count_answers[group[i]] += 1
                        if sampled:
                            good[group[i]] += copy[i] > t
                        else:
                            answer[answers], client[answers] = t - copy[i], group[i]
                            answers += 1
                    copy[i] = -np.inf
            elif new > old:
                if sampled:
                    fresh[group[i]] += max(new - t, 0.0) - max(old - t, 0.0)
                else:
                    before[n], after[n], who[n] = t - old, t - new, group[i]
                    n += 1
            if listing and lists[arrived, 0] >= 0 and receive_list(i, contacts, lists[arrived]):
                # From here on every poll asks whom it should; what was held before may be wrong.
                n = forget(floor, sampled, copies, totals, changes, n)
                held[arrived + 1 : answered] = -np.inf
            arrived += 1
        elif next_answer < until and next_answer <= next_ask:
            while updates[x] <= next_answer:
                x += 1
            copy[source] = min(updates[x], horizon) if sampled else next_answer
            i, j = pairs[answered] >> 32, pairs[answered] & 0xFFFFFFFF
            held[answered] = copy[j] if j != NOBODY else -np.inf
            if listing:
                lists[answered, 0] = -1
                if register[i] >= 0 and j == upstream[i]:
                    hand_over(i, contacts, lists[answered])
            answered += 1
        elif next_ask < until:
            if listing:
                i, j = pairs[asked] >> 32, pairs[asked] & 0xFFFFFFFF
                if j >= RECENT and j != NOBODY:
                    j = handed[i, j - RECENT] if j - RECENT < length[i] else NOBODY
                    pairs[asked] = i << 32 | j
            asked += 1
        else:
            return x, answered, arrived, n, answers
