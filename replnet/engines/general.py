"""The pass of `array` over any network: messages that take time, clients, lines, faults, lists of contacts.

Pulls are answered and arrive in the order in which they were sent, so the
sorted pulls are the queue: those before `asked` have been sent, those before
`answered` are on their way back. A pull that comes to nothing stays in it and
brings nothing.

What a copy is, and what its changes add up to, is (1) to (3) of kernels.py. A
copy that is not there is -inf, and adds nothing to (2) or (3) nor to the time
in which there was one. The lines are (1) of lines.py.

Helpers take arrays and never tuples of arrays: to take an array out of a tuple
costs more than most of them do.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from replnet.compiler import njit

# What goes with the number of who is asked, in the lower half of a pair.
NODE = (1 << 28) - 1
NOBODY = NODE
MUTE = 1 << 28  # the reply gets lost
GONE = 1 << 29  # the pull itself does
RECENT = 1 << 30  # "the n-th of the list that my upstream handed me"


# Of a node, but for its copy and its group.
NODES = np.dtype(
    [
        # Of clients: how many a query asks, 0 for all others; the answers outstanding of the one under way, and how
        # late it is.
        ("asks", "i8"), ("left", "i8"), ("late", "f8"),
        # Of nodes that go down: whether they are, since when, and what they will come back with.
        ("down", "?"), ("fell", "f8"), ("kept", "f8"),
        # The line: what a message costs, 0 where there is no limit; F of the exchange, and of all; how long it may be;
        # whether it is a client's, or spends on answers to replicas.
        ("cost", "f8"), ("first", "f8"), ("free", "f8"), ("limit", "f8"), ("client", "?"), ("answers", "?"),
        # What lines.Counts has.
        ("spare", "f8"), ("served", "i8"), ("came", "i8"), ("refused", "i8"), ("waited", "f8"),
    ],
    align=True,
)  # fmt: skip
# What a pass adds up per group, but for fresh time.
SUMS = np.dtype([("absent", "f8"), ("answers", "i8"), ("good", "i8"), ("ended", "i8")], align=True)
# Who goes down and comes back, in order.
TURNS = np.dtype([("at", "f8"), ("up", "?"), ("who", "i8"), ("empties", "?")], align=True)


class Copies(NamedTuple):
    """What every node holds of one source, and what that adds up to."""

    copy: Any
    group: Any
    nodes: Any  # NODES
    fresh: Any  # per group
    sums: Any  # SUMS, per group


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


class Trouble(NamedTuple):
    """Who goes down and comes back, and which ways are cut when."""

    turns: Any  # TURNS
    turned: Any  # how many of these have happened
    side: Any  # per cut and node, bits of the two sides
    first: Any  # cut c lasts over the spans first[c] to first[c + 1]
    begin: Any
    end: Any


class Changes(NamedTuple):
    """Ages before and after every change, and the ages of answers, each with its group, for (3)."""

    before: Any
    after: Any
    who: Any
    answer: Any
    client: Any


class Rules(NamedTuple):
    """What does not change on the way."""

    delay: Any
    horizon: Any
    floor: Any
    source: Any
    sampled: Any
    strict: Any  # only answers that bring a copy count


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
    for q in range(n):  # a slice would take a second more to compile
        contacts.handed[i, q] = given[q + 1]
    if was_short and n >= need:
        contacts.lacking[0] -= 1
        return contacts.lacking[0] == 0
    return False


@njit(cache=True)
def become(i, t, new, rules, copy, group, fresh, sums, before, after, who, n):
    """copy[i] becomes `new` at t; returns the number of changes."""
    old, g, t = copy[i], group[i], max(t, 0.0)
    copy[i] = new
    if old == new:
        return n
    if old == -np.inf:
        sums[g].absent -= rules.horizon - t
    if new == -np.inf:
        sums[g].absent += rules.horizon - t
    if rules.sampled:
        fresh[g] += max(new - t, 0.0) - max(old - t, 0.0)
        return n
    before[n] = t - old if old > -np.inf else 0.0
    after[n] = t - new if new > -np.inf else 0.0
    who[n] = g
    return n + 1


@njit(cache=True)
def forget(rules, copies, changes, n):
    """Copies become unknown, which counts as a change at time zero."""
    copy, group, nodes, fresh, sums = copies
    before, after, who = changes.before, changes.after, changes.who
    for i in range(copy.size):
        if copy[i] > rules.floor and group[i] >= 0 and nodes[i].asks == 0:
            n = become(i, 0.0, rules.floor, rules, copy, group, fresh, sums, before, after, who, n)
    return n


@njit(cache=True)
def turn(z, turns, rules, copies, changes, n):
    """A node goes down or comes back; returns the number of changes."""
    copy, group, nodes, fresh, sums = copies
    t, i, up = turns[z].at, turns[z].who, turns[z].up
    nodes[i].down = not up
    if nodes[i].cost > 0:
        if not up:
            idle(i, t, nodes, rules.horizon)
        nodes[i].first = t
        nodes[i].free = t if up else np.inf
    if group[i] < 0:
        return n
    new = nodes[i].kept if up else -np.inf
    if not up:
        nodes[i].fell = t
        nodes[i].kept = -np.inf if turns[z].empties else copy[i]
    return become(i, t, new, rules, copy, group, fresh, sums, changes.before, changes.after, changes.who, n)


@njit(cache=True)
def is_cut(trouble, i, j, t):
    """Whether no message passes from i to j."""
    for c in range(trouble.side.shape[0]):
        a, b = trouble.side[c, i], trouble.side[c, j]
        if (a & 1 and b & 2) or (a & 2 and b & 1):
            first, last = trouble.first[c], trouble.first[c + 1]
            z = first + np.searchsorted(trouble.begin[first:last], t, side="right") - 1
            if z >= first and t < trouble.end[z]:
                return True
    return False


@njit(cache=True)
def idle(i, t, nodes, horizon):
    """Account for the time in which a node had nothing to send."""
    free = nodes[i].free
    if free < t:
        nodes[i].spare += max(min(t, horizon) - max(free, 0.0), 0.0)
        nodes[i].free = t


@njit(cache=True)
def exchange(i, t, nodes, horizon):
    """Whether node i has room for a message to a replica; then it is sent."""
    idle(i, t, nodes, horizon)
    first, cost = max(nodes[i].first, t), nodes[i].cost
    sent = first - t + cost <= nodes[i].limit
    if t >= 0:
        nodes[i].came += 1
        nodes[i].refused += not sent
    if sent:
        nodes[i].first = first + cost
        nodes[i].free += cost
    return sent


@njit(cache=True)
def serve(j, client, t, nodes, horizon):
    """How long the answer of node j to a client waits, or -1 if it is turned away."""
    idle(j, t, nodes, horizon)
    wait = nodes[j].free - t
    full = wait + nodes[j].cost > nodes[j].limit
    if t >= 0:
        nodes[client].came += 1
        nodes[client].refused += full
    if full:
        return -1.0
    nodes[j].free += nodes[j].cost
    if t >= 0:
        nodes[j].served += 1
        nodes[client].waited += wait
    return wait


@njit(cache=True)
def sendable(t, i, pair, horizon, nodes):
    """Whether a node is up, has room for a pull, and the pull does not get lost."""
    if nodes[i].down:
        return False
    if nodes[i].cost > 0 and not nodes[i].client and not exchange(i, t, nodes, horizon):
        return False
    return not pair & GONE


@njit(cache=True)
def admitted(t, i, j, horizon, nodes):
    """How long the answer of j to a pull of i waits, or -1 if there is none."""
    if nodes[j].down:
        return -1.0
    if nodes[j].cost > 0:
        if nodes[i].client:
            return serve(j, i, t, nodes, horizon)
        if nodes[j].answers and not exchange(j, t, nodes, horizon):
            return -1.0
    return 0.0


@njit(cache=True)
def conclude(i, t, rules, copy, group, nodes, sums, answer, client, answers):
    """The last answer to a query of client i has come; returns the number of answers that (3) needs."""
    held, g = copy[i], group[i]
    if 0 <= t < rules.horizon:
        sums[g].ended += 1
        if held > -np.inf or not rules.strict:
            sums[g].answers += 1
            if rules.sampled:
                sums[g].good += held > t
            else:
                answer[answers], client[answers] = t - held, g
                answers += 1
    nodes[i].left, nodes[i].late, copy[i] = nodes[i].asks, 0.0, -np.inf
    return answers


@njit(cache=True)
def general_pass(
    asked, answered, until, times, pairs, held, waits, lists, updates, rules, copies, changes, contacts, trouble
):
    """What is due before `until`. `lists` holds what replies carry, and is empty if there are no lists, as is `waits`.

    Returns (updates passed, answered, arrived, changes, answers).
    """
    copy, group, nodes, fresh, sums = copies
    before, after, who, answer, client = changes
    delay, horizon, sampled, source = rules.delay, rules.horizon, rules.sampled, rules.source
    turns, z, cutting = trouble.turns, trouble.turned[0], trouble.side.size > 0
    listing, limited, strict = lists.shape[0] > 0, waits.size > 0, rules.strict
    arrived, x, n, answers = 0, 0, 0, 0
    while True:
        next_ask = times[asked] if asked < times.size else until
        next_answer = times[answered] + delay if answered < asked else until
        arrival = times[arrived] + delay + delay if arrived < answered else until
        first = min(next_ask, next_answer, arrival)
        if z < turns.size and turns[z].at <= first and turns[z].at < until:
            n = turn(z, turns, rules, copies, changes, n)
            z += 1
        elif arrival < until and arrival == first:
            i, new = pairs[arrived] >> 32, held[arrived]
            if nodes[i].asks > 0:
                copy[i] = max(new, copy[i])
                if limited:
                    nodes[i].late = max(nodes[i].late, waits[arrived])
                nodes[i].left -= 1
                if nodes[i].left == 0:
                    t = arrival + nodes[i].late
                    answers = conclude(i, t, rules, copy, group, nodes, sums, answer, client, answers)
            elif new > copy[i] and nodes[i].fell < times[arrived]:
                n = become(i, arrival, new, rules, copy, group, fresh, sums, before, after, who, n)
            if listing and lists[arrived, 0] >= 0 and receive_list(i, contacts, lists[arrived]):
                # From here on every poll asks whom it should; what was held before may be wrong.
                n = forget(rules, copies, changes, n)
                held[arrived + 1 : answered] = -np.inf
            arrived += 1
        elif next_answer < until and next_answer == first:
            while updates[x] <= next_answer:
                x += 1
            copy[source] = min(updates[x], horizon) if sampled else next_answer
            pair = pairs[answered]
            i, j = pair >> 32, pair & NODE
            wait = -1.0 if j == NOBODY else admitted(next_answer, i, j, horizon, nodes) if strict else 0.0
            silent = wait < 0 or (pair & MUTE) or (cutting and is_cut(trouble, j, i, next_answer))
            held[answered] = -np.inf if silent else copy[j]
            if limited:
                waits[answered] = 0.0 if silent else wait
            if listing:
                lists[answered, 0] = -1
                if wait >= 0 and contacts.register[i] >= 0 and j == contacts.upstream[i]:
                    hand_over(i, contacts, lists[answered])
            answered += 1
        elif next_ask < until:
            pair = pairs[asked]
            i, j = pair >> 32, pair & NODE
            if pair & RECENT:
                j = contacts.handed[i, j] if j < contacts.length[i] else NOBODY
                pairs[asked] = i << 32 | j
            if (
                strict
                and j != NOBODY
                and (not sendable(next_ask, i, pair, horizon, nodes) or (cutting and is_cut(trouble, i, j, next_ask)))
            ):
                pairs[asked] = i << 32 | NOBODY
            asked += 1
        else:
            trouble.turned[0] = z
            return x, answered, arrived, n, answers
