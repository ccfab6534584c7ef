"""The passes of `array`: what a window does to the copies.

A copy is one number, and every exchange is the same statement,

    copy[i] = max(copy[i], copy[j]),                                         (1)

where the number is

    sampled      the instant at which the copy goes stale, i.e. the first update after it left
    else         the instant at which the copy left its source.

Both grow with the freshness of the data, so (1) holds for both. At a source the
first is its next update and the second is now. If all that is asked for is how long copies
were fresh, a change of copy[i] from a to b at time t adds to it

    max(b - t, 0) - max(a - t, 0).                                           (2)

Else the pass yields stretches, (begin, end, slot, left): from begin to end the copy was there
and had left its source at `left`. All that is measured is a function of these.

The pulls of a component (layout.py) are applied in order of time, each to the copies of all sources that
it brings. Pulls are answered and arrive in the order in which they were sent, so the sorted pulls are the
queue: those before `asked` have been sent, those before `answered` are on their way back. A
pull that comes to nothing stays in it and brings nothing. A copy that is not there is -inf. The
lines are (1) of lines.py.

Passes are specialised by what a network has. Helpers of what happens often take arrays and never
tuples of arrays: to take an array out of a tuple costs more than most of them do.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from replnet.compiler import njit, prefetch
from replnet.laws.processes.kernels import natural

# What goes with the number of who is asked, in the lower half of a pair.
NODE = (1 << 28) - 1
NOBODY = NODE
MUTE = 1 << 28  # the reply gets lost
GONE = 1 << 29  # the pull itself does
RECENT = 1 << 30  # "the n-th of the list that my upstream handed me"
DIRECT = 1 << 31  # a source is asked, one of several of its component

SOON = 16  # pulls, for what is asked for to be there

NEVER = -np.finfo(float).max  # in the place of the instant at which a copy left its source: it never came

# Of a place, but for its copies.
NODES = np.dtype(
    [
        # Of clients: how many a query asks, 0 for all others; the answers outstanding of the one under way, and how
        # late it is.
        ("asks", "i8"), ("left", "i8"), ("late", "f8"),
        # Of nodes that go down: whether they are, since when, and when they next do.
        ("down", "?"), ("fell", "f8"), ("falls", "f8"),
        # The line: what a message costs, 0 where there is no limit; F of the exchange, and of all; how long it may be;
        # whether it is a client's, or spends on answers to replicas.
        ("cost", "f8"), ("first", "f8"), ("free", "f8"), ("limit", "f8"), ("client", "?"), ("answers", "?"),
        # What lines.Counts has.
        ("spare", "f8"), ("served", "i8"), ("came", "i8"), ("refused", "i8"), ("sent", "i8"), ("waited", "f8"),
    ],
    align=True,
)  # fmt: skip
# What a pass adds up per cell (layout.py), but for fresh time.
SUMS = np.dtype([("absent", "f8"), ("answers", "i8"), ("good", "i8"), ("ended", "i8")], align=True)
# Who goes down and comes back, in order.
TURNS = np.dtype([("at", "f8"), ("up", "?"), ("who", "i8"), ("empties", "?"), ("falls", "f8")], align=True)


class SourceColumns(NamedTuple):
    """The sources of component c are begin[c] to begin[c + 1]."""

    begin: Any
    place: Any
    row: Any  # of its updates in a window
    layer: Any
    which: Any  # of every place, the source that it is, or -1


class Trees(NamedTuple):
    """Who asks in networks without a cycle: of component c, order[begin[c]] to order[begin[c + 1]], upstreams first."""

    begin: Any
    order: Any
    row: Any  # of a window
    place: Any
    upstream: Any
    feeds: Any  # whether anyone pulls from it


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
    """Per pull, what is on its way back."""

    held: Any  # a copy for every slot of a place
    waits: Any  # -1: there is no reply
    lists: Any  # empty where no contacts are handed over


class HeldCopies(NamedTuple):
    """What every place holds, by slot, and what that adds up to, by cell."""

    base: Any  # the first slot of every place
    copy: Any
    kept: Any  # what a node that is down will come back with
    since: Any  # when the copy last changed
    cell: Any
    fresh: Any
    sums: Any  # SUMS


class Views(NamedTuple):
    """At place i look viewers[first[i] : first[i + 1]]; of these, v looks at looked[begin[v] : begin[v + 1]]."""

    first: Any
    viewers: Any
    begin: Any
    looked: Any


class ContactLists(NamedTuple):
    """Lists of recent contacts: those that upstreams keep, and those that they handed over.

    An upstream's list is a register; `older` and `newer` link its members, latest first.
    """

    register: Any  # the register in which a place appears, or -1
    upstream: Any  # who keeps it
    need: Any  # how long a list must be before the place polls whom it should
    latest: Any
    older: Any
    newer: Any
    handed: Any  # the list that a place was last handed, and its length
    length: Any
    lacking: Any  # how many still wait for that


class Trouble(NamedTuple):
    """Who goes down and comes back, and which ways are cut when."""

    turns: Any  # TURNS, component after component
    begin: Any  # of every component
    turned: Any  # of every component, where its next turn is
    side: Any  # per cut and place, bits of the two sides
    first: Any  # cut c lasts over the spans first[c] to first[c + 1]
    starts: Any
    ends: Any


class Yield(NamedTuple):
    """Stretches, and answers to clients, in the order in which they came about."""

    begin: Any
    end: Any
    who: Any  # a slot
    left: Any
    answered: Any
    client: Any  # a slot
    brought: Any  # when the answer's copy left its source


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
def become(k, t, new, horizon, sampled, strict, copy, since, cell, fresh, sums, begin, end, who, left, n):
    """The copy in slot k becomes `new` at t, which may end a stretch; returns how many there are."""
    old = copy[k]
    copy[k] = new
    if old == new:
        return n
    if strict:
        if old == -np.inf:
            sums[cell[k]].absent -= horizon - t
        if new == -np.inf:
            sums[cell[k]].absent += horizon - t
    if sampled:
        fresh[cell[k]] += max(new - t, 0.0) - max(old - t, 0.0)
        return n
    if old > -np.inf and since[k] < t:
        begin[n], end[n], who[n], left[n] = since[k], t, k, old
        n += 1
    since[k] = t
    return n


@njit(cache=True)
def look(i, layer, t, horizon, sampled, strict, copies, views, out, n):
    """Those who look at place i see what it has now; returns the number of stretches."""
    base, copy = copies.base, copies.copy
    for z in range(views.first[i], views.first[i + 1]):
        v, best = views.viewers[z], -np.inf
        for y in range(views.begin[v], views.begin[v + 1]):
            best = max(best, copy[base[views.looked[y]] + layer])
        n = become(
            base[v] + layer, t, best, horizon, sampled, strict, copy, copies.since, copies.cell, copies.fresh,
            copies.sums, out.begin, out.end, out.who, out.left, n,
        )  # fmt: skip
    return n


@njit(cache=True)
def turn(z, turns, layers, horizon, sampled, copies, nodes, views, out, n):
    """A node goes down or comes back, and so do its copies; returns the number of stretches."""
    t, i, up = turns[z].at, turns[z].who, turns[z].up
    nodes[i].down = not up
    if nodes[i].cost > 0:
        if not up:
            idle(i, t, nodes, horizon)
        nodes[i].first = t
        nodes[i].free = t if up else np.inf
    nodes[i].falls = turns[z].falls
    if not up:
        nodes[i].fell = t
    for layer in range(0 if nodes[i].client else layers):
        k = copies.base[i] + layer
        new = copies.kept[k] if up else -np.inf
        if not up:
            copies.kept[k] = -np.inf if turns[z].empties else copies.copy[k]
        n = become(
            k, t, new, horizon, sampled, True, copies.copy, copies.since, copies.cell, copies.fresh, copies.sums,
            out.begin, out.end, out.who, out.left, n,
        )  # fmt: skip
        n = look(i, layer, t, horizon, sampled, True, copies, views, out, n)
    return n


@njit(cache=True)
def forget(t, floor, which, horizon, sampled, strict, copies, nodes, out, n):
    """Copies become unknown; returns the number of stretches."""
    for i in range(copies.base.size):
        last = copies.base[i + 1] if i + 1 < copies.base.size else copies.copy.size
        for k in range(copies.base[i], copies.base[i] if nodes[i].client or which[i] >= 0 else last):
            if copies.copy[k] > floor:
                n = become(
                    k, t, floor, horizon, sampled, strict, copies.copy, copies.since, copies.cell, copies.fresh,
                    copies.sums, out.begin, out.end, out.who, out.left, n,
                )  # fmt: skip
    return n


@njit(cache=True)
def gather(i, base, held, wait, layers, copy, nodes):
    """An answer to a query of client i has come, with what was `held`; whether it was the last one."""
    for layer in range(layers):
        copy[base + layer] = max(held[layer], copy[base + layer])
    nodes[i].late = max(nodes[i].late, wait)
    nodes[i].left -= 1
    return nodes[i].left == 0


@njit(cache=True)
def conclude(
    i, layers, t, horizon, sampled, strict, base, copy, cell, nodes, sums, answered, client, brought, answers
):  # fmt: skip
    """The last answer to a query of client i has come; returns the number of answers."""
    nodes[i].left, nodes[i].late = nodes[i].asks, 0.0
    for k in range(base[i], base[i] + layers):
        held = copy[k]
        copy[k] = -np.inf
        if not 0 <= t < horizon:
            continue
        sums[cell[k]].ended += 1
        if held == -np.inf and strict:
            continue
        sums[cell[k]].answers += 1
        if sampled:
            sums[cell[k]].good += held > t
        else:
            answered[answers], client[answers], brought[answers] = t, k, held
            answers += 1
    return answers


@njit(cache=True, inline="always")
def upto(s, t, points, coming):
    """The first update of a source after t; coming[s] is where it is among the points."""
    x = coming[s]
    while points[x] <= t:
        x += 1
    coming[s] = x
    return points[x]


@cache
def plain_pass(sampled: bool, single: bool, watched: bool, far: bool) -> Any:
    """The pass over networks where everyone asks by name, is answered at once and keeps what it gets.

    In `single` ones no component has several sources, so that a place is a slot; in `watched` ones there are views.
    What is `far` does not fit the cache, and is asked for before it is come to.
    """

    @njit(cache=True)
    def one_pass(horizon, sources, pulled, points, coming, copies, views, out):
        times, pairs, base = pulled.times, pulled.pairs, copies.base
        copy, since, cell, fresh = copies.copy, copies.since, copies.cell, copies.fresh
        begin, end, who, left, n = out.begin, out.end, out.who, out.left, 0
        now, total = 0, fresh[0]  # the cell at hand, and what it adds up to: sums in memory wait for one another
        for c in range(sources.begin.size - 1):
            s = sources.begin[c]
            layers = sources.begin[c + 1] - s
            if pulled.begin[c] == pulled.begin[c + 1] or layers == 0:
                continue
            own, x, low, high = sources.place[s], coming[s], 0, 1
            after = points[x]
            if single:
                copy[own] = min(after, horizon)
            for q in range(pulled.begin[c], pulled.begin[c + 1]):
                if far:
                    then = pairs[min(q + SOON, pulled.begin[c + 1] - 1)]
                    prefetch(copy, natural(then >> 32))
                    prefetch(cell, natural(then >> 32))
                    prefetch(copy, natural(then & NODE))
                t, i, j = times[q], pairs[q] >> 32, pairs[q] & NODE
                if single:
                    if not sampled:
                        copy[own] = t
                    elif after <= t:
                        while after <= t:
                            x += 1
                            after = points[x]
                        copy[own] = min(after, horizon)
                    first, shift = i, j - i
                else:
                    low, high, new = 0, layers, t
                    if pairs[q] & DIRECT:
                        s = sources.which[j]
                        low, high = sources.layer[s], sources.layer[s] + 1
                        if sampled:
                            new = min(upto(s, t, points, coming), horizon)
                    first, shift = base[i], base[j] - base[i]
                for k in range(first + low, first + high):
                    if single or not pairs[q] & DIRECT:
                        new = copy[k + shift]
                    old = copy[k]
                    if sampled and not watched:
                        # No branch on which is newer, as nothing foretells that; what changes nothing adds 0.
                        held = max(new, old)
                        copy[k] = held
                        if cell[k] != now:
                            fresh[now], now = total, cell[k]
                            total = fresh[now]
                        total += max(held - t, 0.0) - max(old - t, 0.0)
                    elif new > old:
                        copy[k] = new
                        if sampled:
                            fresh[cell[k]] += max(new - t, 0.0) - max(old - t, 0.0)
                        else:
                            begin[n], end[n], who[n], left[n] = since[k], t, k, old
                            since[k] = t
                            n += 1
                        if watched:
                            n = look(i, k - first, t, horizon, sampled, False, copies, views, out, n)
            if single:
                coming[s] = x
        if sampled and not watched:
            fresh[now] = total
        return n

    return one_pass


@cache
def whole_pass(sampled: bool, strict: bool, listing: bool) -> Any:
    """The pass over any network.

    In `strict` ones pulls may come to nothing; in `listing` ones upstreams hand over lists of recent contacts.
    Arrays are taken out of their tuples first: to look one up costs more than what is done with it.
    """

    @njit(cache=True)
    def one_pass(
        until, delay, horizon, floor, sources, pulled, points, coming, copies, nodes, views, contacts, trouble, replies,
        out,
    ):  # fmt: skip
        times, pairs, held, waits, n, answers = pulled.times, pulled.pairs, replies.held, replies.waits, 0, 0
        base, copy, since, cell = copies.base, copies.copy, copies.since, copies.cell
        fresh, sums, which, layer_of = copies.fresh, copies.sums, sources.which, sources.layer
        begin, end, who, left, viewed = out.begin, out.end, out.who, out.left, views.first
        answered_at, client, brought, lists = out.answered, out.client, out.brought, replies.lists
        side, spans, starts, ends, turns = trouble.side, trouble.first, trouble.starts, trouble.ends, trouble.turns
        register, upstream, need, latest, older, newer, handed, length, lacking = contacts
        for c in range(sources.begin.size - 1):
            first, last = pulled.begin[c], pulled.begin[c + 1]
            asked, answered, arrived = first + pulled.sent[c], first + pulled.answered[c], first
            z, layers = trouble.turned[c], max(sources.begin[c + 1] - sources.begin[c], 1)
            while True:
                next_ask = times[asked] if asked < last else until
                next_answer = times[answered] + delay if answered < asked else until
                t = times[arrived] + delay + delay if arrived < answered else until
                soonest = min(next_ask, next_answer, t)
                if strict and z < trouble.begin[c + 1] and turns[z].at <= soonest and turns[z].at < until:
                    n = turn(z, turns, layers, horizon, sampled, copies, nodes, views, out, n)
                    z += 1
                elif t < until and t == soonest:
                    q, i = arrived, pairs[arrived] >> 32
                    arrived += 1
                    if nodes[i].asks > 0:
                        if gather(i, base[i], held[q], waits[q], layers, copy, nodes):
                            answers = conclude(
                                i, layers, t + nodes[i].late, horizon, sampled, strict, base, copy, cell, nodes, sums,
                                answered_at, client, brought, answers,
                            )  # fmt: skip
                    elif nodes[i].fell < times[q]:
                        for layer in range(layers):
                            if held[q, layer] > copy[base[i] + layer]:
                                n = become(
                                    base[i] + layer, t, held[q, layer], horizon, sampled, strict, copy, since, cell,
                                    fresh, sums, begin, end, who, left, n,
                                )  # fmt: skip
                                if viewed[i] < viewed[i + 1]:
                                    n = look(i, layer, t, horizon, sampled, strict, copies, views, out, n)
                    if listing and lists[q, 0] >= 0 and receive_list(i, need, handed, length, lacking, lists[q]):
                        # From here on every poll asks whom it should; what was held before may be wrong.
                        n = forget(t, floor, which, horizon, sampled, strict, copies, nodes, out, n)
                        held[arrived:answered] = -np.inf
                elif next_answer < until and next_answer == soonest:
                    q, t, i, j = answered, next_answer, pairs[answered] >> 32, pairs[answered] & NODE
                    answered += 1
                    wait = -1.0 if j == NOBODY else admitted(t, i, j, horizon, nodes)
                    silent = wait < 0 or (pairs[q] & MUTE) != 0
                    if strict:
                        silent = silent or is_cut(side, spans, starts, ends, j, i, t)
                    for layer in range(layers):
                        held[q, layer] = -np.inf if silent else copy[base[j] + layer]
                    if not silent and which[j] >= 0:
                        new = min(upto(which[j], t, points, coming), horizon) if sampled else t
                        held[q, layer_of[which[j]]] = new
                    waits[q] = -1.0 if silent else wait
                    if listing:
                        lists[q, 0] = -1
                        if wait >= 0 and register[i] >= 0 and j == upstream[i]:
                            hand_over(i, register, latest, older, newer, lists[q])
                elif next_ask < until:
                    q, t, i, j = asked, next_ask, pairs[asked] >> 32, pairs[asked] & NODE
                    asked += 1
                    if listing and pairs[q] & RECENT:
                        j = handed[i, j] if j < length[i] else NOBODY
                        pairs[q] = i << 32 | j
                    if strict and j != NOBODY:
                        goes = sendable(t, i, pairs[q], horizon, nodes)
                        if not goes or is_cut(side, spans, starts, ends, i, j, t):
                            pairs[q] = i << 32 | NOBODY
                else:
                    break
            trouble.turned[c] = z
            pulled.reached[c], pulled.arrived[c] = answered - first, arrived - first
        return n, answers

    return one_pass


@njit(cache=True)
def add_up(amounts, cells, out):
    """One after the other: a sum does not depend on who else is in the window, nor on where windows end."""
    for q in range(amounts.size):
        out[cells[q]] += amounts[q]
