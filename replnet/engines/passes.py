"""The pass of `array`: what a window does to the copies of every source.

A copy is one number, and every exchange is the same statement,

    copy[i] = max(copy[i], copy[j]),                                         (1)

where the number is

    sampled      the instant at which the copy goes stale, i.e. the first update after it left
    else         the instant at which the copy left its source.

Both grow with the freshness of the data, so (1) holds for both. At a source the
first is its next update and the second is now. If all that is asked for is how long copies
were fresh, a change of copy[i] from a to b at time t adds to it

    max(b - t, 0) - max(a - t, 0).                                           (2)

Else the pass yields stretches, (begin, end, who, left): from begin to end the copy was there
and had left its source at `left`. All that is measured is a function of these.

The pulls of a component (tiling.py) are applied once for each of its sources, in order of time. Pulls
are answered and arrive in the order in which they were sent, so the sorted pulls are the
queue: those before `asked` have been sent, those before `answered` are on their way back. A
pull that comes to nothing stays in it and brings nothing. A copy that is not there is -inf. The
lines are (1) of lines.py.

`instant_pass` is for networks where everyone asks by name, is answered at once and keeps what it gets;
`general_pass` for all. Helpers of what happens often take arrays and never tuples of arrays: to take an array
out of a tuple costs more than most of them do.
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

# In the place of the row of a source's updates: there is no source, and nothing ever comes; everyone always has a copy.
NOWHERE, EVERYWHERE = -1, -2

# Of a node, but for its copy.
NODES = np.dtype(
    [
        # Of clients: how many a query asks, 0 for all others; the answers outstanding of the one under way, and how
        # late it is.
        ("asks", "i8"), ("left", "i8"), ("late", "f8"),
        # Of nodes that go down: whether they are, since when, what they will come back with, and when they next do.
        ("down", "?"), ("fell", "f8"), ("kept", "f8"), ("falls", "f8"),
        # The line: what a message costs, 0 where there is no limit; F of the exchange, and of all; how long it may be;
        # whether it is a client's, or spends on answers to replicas.
        ("cost", "f8"), ("first", "f8"), ("free", "f8"), ("limit", "f8"), ("client", "?"), ("answers", "?"),
        # What lines.Counts has.
        ("spare", "f8"), ("served", "i8"), ("came", "i8"), ("refused", "i8"), ("sent", "i8"), ("waited", "f8"),
    ],
    align=True,
)  # fmt: skip
# What a pass adds up per cell (tiling.py), but for fresh time.
SUMS = np.dtype([("absent", "f8"), ("answers", "i8"), ("good", "i8"), ("ended", "i8")], align=True)
# Who goes down and comes back, in order.
TURNS = np.dtype([("at", "f8"), ("up", "?"), ("who", "i8"), ("empties", "?"), ("falls", "f8")], align=True)


class Layers(NamedTuple):
    """The sources of every component: those of component c are begin[c] to begin[c + 1], each in a layer of its own."""

    begin: Any
    source: Any  # the node; one past all nodes where a component has no source
    row: Any  # of its updates in a window, or NOWHERE or EVERYWHERE


class Pulled(NamedTuple):
    """The pulls in hand, those of component c from begin[c] to begin[c + 1].

    Of these the first `sent` were sent in earlier windows, and the first `answered` of these are on their way back.
    """

    begin: Any
    sent: Any
    answered: Any
    times: Any
    pairs: Any  # who << 32 | asked
    reached: Any  # what the pass says: how many are answered now, and how many have come to their end
    arrived: Any


class Replies(NamedTuple):
    """Per layer and pull, what is on its way back."""

    held: Any
    waits: Any  # empty where no bandwidth is limited
    lists: Any  # per layer, pull and place; empty where no contacts are handed over
    original: Any  # the pairs once more, if every layer strikes out pulls by itself; else empty


class Copies(NamedTuple):
    """What every node holds, per layer, and what that adds up to, per cell."""

    copy: Any
    since: Any  # when that last changed
    cell: Any
    nodes: Any  # NODES
    fresh: Any
    sums: Any  # SUMS


class Contacts(NamedTuple):
    """Lists of recent contacts: those that upstreams keep, and those that they handed over; each with a layer.

    An upstream's list is a register; `older` and `newer` link its members, latest first.
    """

    register: Any  # the register in which a node appears, or -1
    upstream: Any  # who keeps it
    need: Any  # how long a list must be before the node polls whom it should
    latest: Any
    older: Any
    newer: Any
    handed: Any  # the list that a node was last handed, and its length
    length: Any
    lacking: Any  # per layer, how many nodes still wait for that


class Trouble(NamedTuple):
    """Who goes down and comes back, and which ways are cut when."""

    turns: Any  # TURNS, component after component
    begin: Any  # of every component
    turned: Any  # per layer of a component, where its next turn is
    side: Any  # per cut and node, bits of the two sides
    first: Any  # cut c lasts over the spans first[c] to first[c + 1]
    starts: Any
    ends: Any


class Yield(NamedTuple):
    """Stretches, and answers to clients, in the order in which they came about."""

    begin: Any
    end: Any
    who: Any  # layer * nodes + node
    left: Any
    answered: Any
    client: Any  # as who
    brought: Any  # when the answer's copy left its source


class Rules(NamedTuple):
    """What does not change on the way."""

    delay: Any
    horizon: Any
    floor: Any
    sampled: Any
    strict: Any  # only answers that bring a copy count
    listing: Any  # upstreams hand over lists of recent contacts


class Place(NamedTuple):
    """Where a pass is in its component."""

    source: Any
    row: Any  # of its updates, or NOWHERE or EVERYWHERE
    update: Any  # the first of the window
    arrived: Any
    answered: Any
    asked: Any
    last: Any
    turn: Any
    last_turn: Any
    base: Any  # of the nodes of its layer


@njit(cache=True)
def hand_over(i, register, latest, older, newer, given):
    """given = how many, then the latest contacts other than i, who moves to the front of its register."""
    r, n = register[i], 0
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
def receive_list(i, need, handed, length, lacking, given):
    """Take the list that came with a reply; true if it was the last one that someone waited for."""
    n = given[0]
    was_short = length[i] < need[i]
    length[i] = n
    for q in range(n):  # a slice would take a second more to compile
        handed[i, q] = given[q + 1]
    if was_short and n >= need[i]:
        lacking[0] -= 1
        return lacking[0] == 0
    return False


@njit(cache=True)
def is_cut(side, first, starts, ends, i, j, t):
    """Whether no message passes from i to j."""
    for c in range(side.shape[0]):
        a, b = side[c, i], side[c, j]
        if (a & 1 and b & 2) or (a & 2 and b & 1):
            low, high = first[c], first[c + 1]
            z = low + np.searchsorted(starts[low:high], t, side="right") - 1
            if z >= low and t < ends[z]:
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
    """How long the answer of node j to a client waits; -1 if it is turned away, or waits until the node goes down."""
    idle(j, t, nodes, horizon)
    wait = nodes[j].free - t
    full = wait + nodes[j].cost > nodes[j].limit
    if t >= 0:
        nodes[client].came += 1
        nodes[client].refused += full
    if full or t + wait >= nodes[j].falls:
        return -1.0
    nodes[j].free += nodes[j].cost
    nodes[j].served += 0 <= t + wait < horizon
    if t >= 0:
        nodes[client].sent += 1
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
def become(i, t, new, base, rules, copy, since, cell, fresh, sums, begin, end, who, left, n):
    """copy[i] becomes `new` at t, which may end a stretch; returns how many there are."""
    old = copy[i]
    copy[i] = new
    if old == new:
        return n
    if rules.strict:
        if old == -np.inf:
            sums[cell[i]].absent -= rules.horizon - t
        if new == -np.inf:
            sums[cell[i]].absent += rules.horizon - t
    if rules.sampled:
        fresh[cell[i]] += max(new - t, 0.0) - max(old - t, 0.0)
        return n
    if old > -np.inf and since[i] < t:
        begin[n], end[n], who[n], left[n] = since[i], t, base + i, old
        n += 1
    since[i] = t
    return n


@njit(cache=True)
def turn(z, turns, at, rules, copies, out, n):
    """A node goes down or comes back; returns the number of stretches."""
    copy, since, cell, nodes, fresh, sums = copies
    t, i, up = turns[z].at, turns[z].who, turns[z].up
    nodes[i].down = not up
    if nodes[i].cost > 0:
        if not up:
            idle(i, t, nodes, rules.horizon)
        nodes[i].first = t
        nodes[i].free = t if up else np.inf
    nodes[i].falls = turns[z].falls
    if nodes[i].client or i == at.source:
        return n
    new = nodes[i].kept if up else -np.inf
    if not up:
        nodes[i].fell = t
        nodes[i].kept = -np.inf if turns[z].empties and at.row != EVERYWHERE else copy[i]
    return become(i, t, new, at.base, rules, copy, since, cell, fresh, sums, out.begin, out.end, out.who, out.left, n)


@njit(cache=True)
def forget(t, at, rules, copies, out, n):
    """Copies become unknown; returns the number of stretches."""
    copy, since, cell, nodes, fresh, sums = copies
    begin, end, who, left = out.begin, out.end, out.who, out.left
    for i in range(copy.size):
        if copy[i] > rules.floor and i != at.source and not nodes[i].client:
            n = become(i, t, rules.floor, at.base, rules, copy, since, cell, fresh, sums, begin, end, who, left, n)
    return n


@njit(cache=True)
def conclude(i, t, base, rules, copy, cell, nodes, sums, answered, client, brought, answers):
    """The last answer to a query of client i has come; returns the number of answers."""
    held = copy[i]
    nodes[i].left, nodes[i].late, copy[i] = nodes[i].asks, 0.0, -np.inf
    if not 0 <= t < rules.horizon:
        return answers
    sums[cell[i]].ended += 1
    if held == -np.inf and rules.strict:
        return answers
    sums[cell[i]].answers += 1
    if rules.sampled:
        sums[cell[i]].good += held > t
        return answers
    answered[answers], client[answers], brought[answers] = t, base + i, held
    return answers + 1


@njit(cache=True)
def instant_pass(sampled, layers, pulled, points, coming_at, copies, horizon, out):
    """A window where everyone asks by name, is answered at once and keeps what it gets; the number of stretches."""
    times, pairs = pulled.times, pulled.pairs
    begin, end, who, left, n = out.begin, out.end, out.who, out.left, 0
    for c in range(layers.begin.size - 1):
        first, last = pulled.begin[c], pulled.begin[c + 1]
        if first == last:
            continue
        for z in range(layers.begin[c], layers.begin[c + 1]):
            layer, source, row = z - layers.begin[c], layers.source[z], layers.row[z]
            if row < 0:
                continue
            copy, since, cell = copies.copy[layer], copies.since[layer], copies.cell[layer]
            fresh, base, x = copies.fresh, layer * copy.size, coming_at[row]
            coming = points[x]
            copy[source] = min(coming, horizon)
            for q in range(first, last):
                t = times[q]
                if not sampled:
                    copy[source] = t
                elif coming <= t:
                    while coming <= t:
                        x += 1
                        coming = points[x]
                    copy[source] = min(coming, horizon)
                pair = pairs[q]
                i = pair >> 32
                new, old = copy[pair & 0xFFFFFFFF], copy[i]
                if new > old:
                    copy[i] = new
                    if sampled:
                        fresh[cell[i]] += max(new - t, 0.0) - max(old - t, 0.0)
                        continue
                    begin[n], end[n], who[n], left[n] = since[i], t, base + i, old
                    since[i] = t
                    n += 1
    return n


@njit(cache=True)
def one_pass(until, at, rules, times, pairs, points, replies, copies, contacts, trouble, out, n, answers):
    """What is due before `until` of one source in its component; all that has layers is of its layer.

    Returns how far pulls are answered and have arrived, the next turn, and the numbers of stretches and of answers.
    """
    delay, horizon, strict, listing = rules.delay, rules.horizon, rules.strict, rules.listing
    source, row, x, arrived, answered, asked, last, z, last_turn, base = at
    held, waits, lists, _ = replies
    copy, since, cell, nodes, fresh, sums = copies
    register, upstream, need, latest, older, newer, handed, length, lacking = contacts
    turns, side, spans, starts, ends = trouble.turns, trouble.side, trouble.first, trouble.starts, trouble.ends
    begin, end, who, left, ended, client, brought = out
    limited, cutting = waits.size > 0, side.size > 0
    while True:
        next_ask = times[asked] if asked < last else until
        next_answer = times[answered] + delay if answered < asked else until
        arrival = times[arrived] + delay + delay if arrived < answered else until
        soonest = min(next_ask, next_answer, arrival)
        if z < last_turn and turns[z].at <= soonest and turns[z].at < until:
            n = turn(z, turns, at, rules, copies, out, n)
            z += 1
        elif arrival < until and arrival == soonest:
            i, new = pairs[arrived] >> 32, held[arrived]
            if nodes[i].asks > 0:
                copy[i] = max(new, copy[i])
                if limited:
                    nodes[i].late = max(nodes[i].late, waits[arrived])
                nodes[i].left -= 1
                if nodes[i].left == 0:
                    t = arrival + nodes[i].late
                    answers = conclude(i, t, base, rules, copy, cell, nodes, sums, ended, client, brought, answers)
            elif new > copy[i] and nodes[i].fell < times[arrived]:
                n = become(i, arrival, new, base, rules, copy, since, cell, fresh, sums, begin, end, who, left, n)
            came = listing and lists[arrived, 0] >= 0
            if came and receive_list(i, need, handed, length, lacking, lists[arrived]):
                # From here on every poll asks whom it should; what was held before may be wrong.
                n = forget(arrival, at, rules, copies, out, n)
                held[arrived + 1 : answered] = -np.inf
            arrived += 1
        elif next_answer < until and next_answer == soonest:
            if row >= 0:
                while points[x] <= next_answer:
                    x += 1
                copy[source] = min(points[x], horizon) if rules.sampled else next_answer
            pair = pairs[answered]
            i, j = pair >> 32, pair & NODE
            wait = -1.0 if j == NOBODY else admitted(next_answer, i, j, horizon, nodes) if strict else 0.0
            silent = wait < 0 or (pair & MUTE) != 0
            silent = silent or (cutting and is_cut(side, spans, starts, ends, j, i, next_answer))
            held[answered] = -np.inf if silent else copy[j]
            if limited:
                waits[answered] = 0.0 if silent else wait
            if listing:
                lists[answered, 0] = -1
                if wait >= 0 and register[i] >= 0 and j == upstream[i]:
                    hand_over(i, register, latest, older, newer, lists[answered])
            answered += 1
        elif next_ask < until:
            pair = pairs[asked]
            i, j = pair >> 32, pair & NODE
            if listing and pair & RECENT:
                j = handed[i, j] if j < length[i] else NOBODY
                pairs[asked] = i << 32 | j
            if strict and j != NOBODY:
                goes = sendable(next_ask, i, pair, horizon, nodes)
                if not goes or (cutting and is_cut(side, spans, starts, ends, i, j, next_ask)):
                    pairs[asked] = i << 32 | NOBODY
            asked += 1
        else:
            return answered, arrived, z, n, answers


@njit(cache=True)
def general_pass(until, layers, pulled, replies, points, coming_at, copies, contacts, trouble, rules, out):
    """A window of any network; the numbers of stretches and of answers."""
    n, answers, pairs = 0, 0, pulled.pairs
    for c in range(layers.begin.size - 1):
        first, last = pulled.begin[c], pulled.begin[c + 1]
        asked, answered, arrived = first + pulled.sent[c], first, first
        for y in range(layers.begin[c], layers.begin[c + 1]):
            layer, row = y - layers.begin[c], layers.row[y]
            if layer > 0 and replies.original.size > 0:
                pairs[asked:last] = replies.original[asked:last]
            x = coming_at[row] if row >= 0 else 0
            at = Place(
                layers.source[y], row, x, first, first + pulled.answered[c], asked, last, trouble.turned[y],
                trouble.begin[c + 1], layer * copies.copy.shape[1],
            )  # fmt: skip
            answered, arrived, trouble.turned[y], n, answers = one_pass(
                until, at, rules, pulled.times, pairs, points,
                Replies(replies.held[layer], replies.waits[layer], replies.lists[layer], replies.original),
                Copies(
                    copies.copy[layer], copies.since[layer], copies.cell[layer], copies.nodes[layer], copies.fresh,
                    copies.sums,
                ),
                Contacts(
                    contacts.register, contacts.upstream, contacts.need, contacts.latest[layer], contacts.older[layer],
                    contacts.newer[layer], contacts.handed[layer], contacts.length[layer], contacts.lacking[layer],
                ),
                trouble, out, n, answers,
            )  # fmt: skip
        pulled.reached[c], pulled.arrived[c] = answered - first, arrived - first
    return n, answers


@njit(cache=True)
def add_up(amounts, cells, out):
    """One after the other: a sum does not depend on who else is in the window, nor on where windows end."""
    for q in range(amounts.size):
        out[cells[q]] += amounts[q]
