"""The passes of `array`: what a window does to the copies.

A copy is one number, and every exchange is the same statement,

    copy[i] = max(copy[i], copy[j]),                                         (1)

where j is what i asked: a download, a poll or a query, which are all pulls. The number is

    sampled      the instant at which the copy goes stale, i.e. the first update after it left
    else         the instant at which the copy left its source.

Both grow with the freshness of the data, so (1) holds for both. At a source the
first is its next update and the second is now. If only the fresh time of copies is asked for, a change of
copy[i] from a to b at time t adds to it

    max(b - t, 0) - max(a - t, 0).                                           (2)

Else the pass puts out stretches, (begin, end, slot, departure): from begin to end the slot held the copy that left
its source at `departure`. All measures are functions of these.

The pulls of a component (layout.py) are applied in order of time, each to the copies of all sources that
it brings. Pulls are answered and replies arrive in the order in which pulls were sent, so the sorted pulls are
the queue: those before `sent` have been sent, those before `answered` are on their way back. A
pull that fails stays in the queue and brings nothing. The number of a missing copy is NOT_HELD. Lines of messages
follow (1) of lines.py.

A slot is the room for a copy of one source at one place; the slots of a place lie one after another, its layers. A
turn is an instant at which a node goes down or comes back.

Passes are compiled for the features that a network has. Helpers that are called often take arrays and never
tuples of arrays: to take an array out of a tuple costs more than most of them do.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from replnet.compiler import njit, prefetch
from replnet.measure import NOT_HELD
from replnet.processes import natural

# A pull is a pair of numbers: the asker's place in the upper half, the place asked, and flags, in the lower half.
NODE = (1 << 28) - 1  # the bits of the place asked
NOBODY = NODE
MUTE = 1 << 28  # the reply gets lost
GONE = 1 << 29  # the pull gets lost
RECENT = 1 << 30  # the number is not a place but n: the n-th of the contacts that the upstream handed over
DIRECT = 1 << 31  # the place asked is a source, one of several of its component

PULLS_AHEAD = 16  # pulls between the fetch of a copy into the cache and its use

# The state of a place, but for its copies.
NODE_DTYPE = np.dtype(
    [
        # Of clients: how many nodes a query asks, 0 for other nodes; the replies that the query under way still waits
        # for, and the longest wait of those that have come.
        ("asks", "i8"), ("left", "i8"), ("late", "f8"),
        # Of nodes that go down: whether they are down, when they last went down, and when they will next.
        ("down", "?"), ("fell", "f8"), ("falls", "f8"),
        # The line: the time that a message takes, 0 without a limit; F of messages to replicas, and of all messages;
        # the longest wait; whether the node is a client, and whether it pays for answers to replicas.
        ("cost", "f8"), ("first", "f8"), ("free", "f8"), ("limit", "f8"), ("client", "?"), ("answers", "?"),
        # The columns of lines.Counts.
        ("spare", "f8"), ("served", "i8"), ("came", "i8"), ("refused", "i8"), ("sent", "i8"), ("waited", "f8"),
    ],
    align=True,
)  # fmt: skip
# The sums that a pass keeps per cell (layout.py), but for fresh time.
SUM_DTYPE = np.dtype([("absent", "f8"), ("answers", "i8"), ("good", "i8"), ("ended", "i8")], align=True)
# The turns of places, in order of time.
TURN_DTYPE = np.dtype([("at", "f8"), ("up", "?"), ("who", "i8"), ("empties", "?"), ("falls", "f8")], align=True)


class SourceColumns(NamedTuple):
    """The sources of all components in columns; those of component c are the rows from begin[c] to begin[c + 1].

    By source: its `place`, the `row` of its updates in a window, and the `layer`, which of the slots of a place is for
    its copies. `source_at` has, by place, the source that stands there, or -1.
    """

    begin: Any
    place: Any
    row: Any  # the row of its updates in a window
    layer: Any  # which of the slots of a place is for this source
    source_at: Any  # by place, the source that stands there, or -1


class Trees(NamedTuple):
    """The pulls in networks without a cycle; those of component c are order[begin[c]] to order[begin[c + 1]].

    `order` has numbers of pulls, upstreams first. By pull: the `row` of its wakes in a window, the `place` that pulls,
    the place `upstream` that it asks, and whether another place pulls from it (`feeds`).
    """

    begin: Any
    order: Any
    row: Any  # the row of its wakes in a window
    place: Any
    upstream: Any
    feeds: Any  # whether another place pulls from it


class PullQueue(NamedTuple):
    """The pulls that a pass works on, in order of time; those of component c are begin[c] to begin[c + 1].

    Of these, the first sent[c] were sent in earlier windows, and the first answered[c] of them are on their way back.
    By pull: `times`, and `pairs`, which are asker's place << 32 | place asked, with flags. `answered_after` and
    `arrived_after` are filled by the pass, by component: how many pulls have been answered by its end, and how many
    replies have arrived.
    """

    begin: Any
    sent: Any
    answered: Any
    times: Any
    pairs: Any  # asker << 32 | place asked, with flags
    answered_after: Any  # filled by the pass: how many are answered after the window
    arrived_after: Any  # and how many of these have arrived


class Replies(NamedTuple):
    """The replies on their way back, one row per pull of the queue.

    `held` has the copies that each brings, one for every slot of a place, `waits` how long it waits in line, -1 if
    there is no reply, and `lists` the contacts that it brings behind their number, which is -1 without a list; empty if
    no upstream hands over any.
    """

    held: Any  # the copies that it brings, one for every slot of a place
    waits: Any  # how long it waits in line; -1: there is no reply
    lists: Any  # the contacts that it brings; empty if no upstream hands over any


class HeldCopies(NamedTuple):
    """The copies that every place holds, by slot, and the sums that they add to, by cell.

    A copy is a number: the instant until which it is fresh if freshness is sampled, else the instant of its departure.
    `first_slot` has the first slot of every place. By slot: the `copy`, the one `saved` for when a node that is down
    comes back, `since` when it is held, and the `cell` where it counts. By cell: `fresh`, the fresh time, and `sums`,
    the others (SUM_DTYPE).
    """

    first_slot: Any  # by place
    copy: Any
    saved: Any  # the copy that a node that is down will come back with
    since: Any  # when the copy last changed
    cell: Any
    fresh: Any  # fresh time, by cell
    sums: Any  # SUM_DTYPE, by cell


class Views(NamedTuple):
    """The choices of views (Plan.views) that look at a place, and the places that each choice looks at.

    Place i is looked at by viewers[first[i] : first[i + 1]], and choice v looks at viewed[begin[v] : begin[v + 1]].
    """

    first: Any
    viewers: Any
    begin: Any
    viewed: Any


class ContactLists(NamedTuple):
    """The lists of recent contacts: those that upstreams keep, and those that they handed over.

    An upstream's list is a register; by register `latest` has its first member, and `older` and `newer` link the
    members, latest first, -1 at the ends. By place: the number of the `register` in which it appears, or -1, the place
    `upstream` that keeps this, the list that it was last `handed`, the `length` of that, and the `need`, how long it
    must be before the place polls as specified. lacking[0] counts the places whose list is still too short.
    """

    register: Any  # the register in which a place appears, or -1
    upstream: Any  # the place that keeps it
    need: Any  # how long a list must be before the place polls as specified
    latest: Any
    older: Any
    newer: Any
    handed: Any  # the list that a place was last handed, and its length
    length: Any
    lacking: Any  # how many places still wait for a list of the length that they need


class FaultArrays(NamedTuple):
    """The faults of one replication: when which place goes down and comes back, and which places are cut off when.

    The turns of component c, which are such instants, are turns[begin[c] : begin[c + 1]], and next_turn[c] is the next
    of them. Cut c lasts over the spans from starts[z] to ends[z] for z from first[c] to first[c + 1]; `side` has, per
    cut and place, a bit for either side that the place is on.
    """

    turns: Any  # TURN_DTYPE, component after component
    begin: Any  # the first turn of every component
    next_turn: Any  # the next turn of every component
    side: Any  # per cut and place, bits of the two sides
    first: Any  # cut c lasts over the spans first[c] to first[c + 1]
    starts: Any
    ends: Any


class PassOutput(NamedTuple):
    """The stretches and the answers to clients that a pass puts out, in the order in which they came about.

    A stretch has its `begin` and `end`, its `slot`, and the `departure` of the copy in that; an answer the instant
    `answered_at`, and for each source the slot of the client and the departure of the copy that it brought. Arrays are
    longer than what is written to them; a pass returns how much that is.
    """

    begin: Any
    end: Any
    slot: Any
    departure: Any  # of the copy that the slot held
    answered_at: Any
    client_slot: Any
    brought_departure: Any  # of the copy in the answer


@njit(cache=True)
def hand_over(i, register, latest, older, newer, contacts):
    """Write the contacts that an upstream hands to place i into `contacts`, then move i to the front of its register.

    contacts[0] is their number; the contacts follow, latest first and without i, as many as there is room for.
    `register` has the register of every place; by register `latest` has its first member, and `older` and `newer` link
    the members.
    """
    r, n = register[i], 0
    j = latest[r]
    while j >= 0 and n < contacts.size - 1:
        if j != i:
            n += 1
            contacts[n] = j
        j = older[j]
    contacts[0] = n
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
def receive_list(i, need, handed, length, lacking, contacts):
    """Store the list of `contacts` that came with a reply to place i in handed[i], and its length in length[i].

    contacts[0] is their number, and need[i] how many the place waits for; lacking[0] counts the places that still wait,
    and goes down by one if i no longer does. Return whether no place waits any more since this call.
    """
    n = contacts[0]
    was_short = length[i] < need[i]
    length[i] = n
    for q in range(n):  # a slice would take one more second to compile
        handed[i, q] = contacts[q + 1]
    if was_short and n >= need[i]:
        lacking[0] -= 1
        return lacking[0] == 0
    return False


@njit(cache=True)
def is_cut(side, first, starts, ends, i, j, t):
    """Whether a cut stops messages from place i to place j at time t.

    side[c, i] has a bit for each of the two sides of cut c on which place i is; the cut lasts over the spans from
    starts[z] to ends[z] for z from first[c] to first[c + 1].
    """
    for c in range(side.shape[0]):
        a, b = side[c, i], side[c, j]
        if (a & 1 and b & 2) or (a & 2 and b & 1):
            low, high = first[c], first[c + 1]
            z = low + np.searchsorted(starts[low:high], t, side="right") - 1
            if z >= low and t < ends[z]:
                return True
    return False


@njit(cache=True)
def count_idle(i, t, nodes, horizon):
    """Add the time up to t, within [0, horizon), in which place i had nothing to send to its spare time.

    That is in nodes[i], where the line is then busy until t; nothing happens if it is busy until later.
    """
    free = nodes[i].free
    if free < t:
        nodes[i].spare += max(min(t, horizon) - max(free, 0.0), 0.0)
        nodes[i].free = t


@njit(cache=True)
def send_to_replica(i, t, nodes, horizon):
    """Put a message of place i to a replica in line at time t, count it, and return whether there was room for it.

    Lines and counts are in `nodes`, and change there.
    """
    count_idle(i, t, nodes, horizon)
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
def answer_client(j, client, t, nodes, horizon):
    """Put an answer of place j to a client's place in line at time t, count it, and return how long it waits.

    Return -1 if the answer is turned away, or would wait until the node goes down. Lines and counts are in `nodes`, and
    change there; `horizon` ends the counting.
    """
    count_idle(j, t, nodes, horizon)
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
def can_send(t, i, pair, horizon, nodes):
    """Whether place i can send a pull at time t: it is up, its line has room, and the pull does not get lost.

    If the line is limited and i is no client, the pull is put in it, in `nodes`, even if it gets lost. `pair` has the
    flag GONE if it does. Counts are over [0, horizon).
    """
    if nodes[i].down:
        return False
    if nodes[i].cost > 0 and not nodes[i].client and not send_to_replica(i, t, nodes, horizon):
        return False
    return not pair & GONE


@njit(cache=True)
def answer_wait(t, i, j, horizon, nodes):
    """Return how long the answer of place j to a pull of place i waits at time t, or -1 if there is no answer.

    There is none if j is down, its line has no room, or it goes down before the answer to a client leaves. Otherwise
    the answer is put in the line, if it costs j bandwidth, in `nodes`; answers to replicas wait 0.
    """
    if nodes[j].down:
        return -1.0
    if nodes[j].cost > 0:
        if nodes[i].client:
            return answer_client(j, i, t, nodes, horizon)
        if nodes[j].answers and not send_to_replica(j, t, nodes, horizon):
            return -1.0
    return 0.0


@njit(cache=True)
def replace_copy(k, t, new, horizon, sampled, strict, copy, since, cell, fresh, sums, begin, end, who, left, n):
    """Replace the copy in slot k by `new` at time t, and write the stretch that this ends, if any.

    Return the number of stretches so far, of which there were n. `cell` has the cell of every slot, `since` the begin
    of its stretch. With `sampled` a copy is the instant until which it is fresh, and `fresh`, by cell, changes by the
    fresh time to come; else it is its departure, and the stretch of the old copy goes to place n of `begin`, `end`,
    `who` (slots) and `left` (departures). With `strict`, copies may go missing (NOT_HELD): the time from t to
    `horizon`, where the run ends, is then added to `absent` of the cell in `sums`, and taken off when a copy comes.
    """
    old = copy[k]
    copy[k] = new
    if old == new:
        return n
    if strict:
        if old == NOT_HELD:
            sums[cell[k]].absent -= horizon - t
        if new == NOT_HELD:
            sums[cell[k]].absent += horizon - t
    if sampled:
        fresh[cell[k]] += max(new - t, 0.0) - max(old - t, 0.0)
        return n
    if old > NOT_HELD and since[k] < t:
        begin[n], end[n], who[n], left[n] = since[k], t, k, old
        n += 1
    since[k] = t
    return n


@njit(cache=True)
def update_viewers(i, layer, t, horizon, sampled, strict, copies, views, out, n):
    """Set all views that look at place i to the freshest copies they see, after its copy in a layer changed at time t.

    A view is a place that shows, layer by layer, the freshest copy among several places. Return the number of stretches
    written to `out` so far, of which there were n. With `sampled` copies are instants until which they are fresh, and
    fresh time is added up in place of stretches; with `strict`, copies may go missing, and the time without one is
    added up.
    """
    base, copy = copies.first_slot, copies.copy
    for z in range(views.first[i], views.first[i + 1]):
        v, best = views.viewers[z], NOT_HELD
        for y in range(views.begin[v], views.begin[v + 1]):
            best = max(best, copy[base[views.viewed[y]] + layer])
        n = replace_copy(
            base[v] + layer, t, best, horizon, sampled, strict, copy, copies.since, copies.cell, copies.fresh,
            copies.sums, out.begin, out.end, out.slot, out.departure, n,
        )  # fmt: skip
    return n


@njit(cache=True)
def apply_turn(z, turns, layers, horizon, sampled, copies, nodes, views, out, n):
    """Let a node go down or come back at one of its places as turns[z] says, and with it the copies there.

    A node that is down holds nothing; it comes back with the copies that it had, or without any if turns[z].empties.
    There are as many copies as `layers`. Return the number of stretches written to `out` so far, of which there were n.
    With `sampled` copies are instants until which they are fresh, and fresh time is added up in place of stretches.
    """
    t, i, up = turns[z].at, turns[z].who, turns[z].up
    nodes[i].down = not up
    if nodes[i].cost > 0:
        if not up:
            count_idle(i, t, nodes, horizon)
        nodes[i].first = t
        nodes[i].free = t if up else np.inf
    nodes[i].falls = turns[z].falls
    if not up:
        nodes[i].fell = t
    for layer in range(0 if nodes[i].client else layers):
        k = copies.first_slot[i] + layer
        new = copies.saved[k] if up else NOT_HELD
        if not up:
            copies.saved[k] = NOT_HELD if turns[z].empties else copies.copy[k]
        n = replace_copy(
            k, t, new, horizon, sampled, True, copies.copy, copies.since, copies.cell, copies.fresh, copies.sums,
            out.begin, out.end, out.slot, out.departure, n,
        )  # fmt: skip
        n = update_viewers(i, layer, t, horizon, sampled, True, copies, views, out, n)
    return n


@njit(cache=True)
def forget_copies(t, floor, source_at, horizon, sampled, strict, copies, nodes, out, n):
    """Set all copies that are newer than `floor` to `floor`, which stands for an unknown age, at time t.

    Copies of clients, and at places where source_at[i] tells of a source, stay. Return the number of stretches written
    to `out` so far, of which there were n. With `sampled` copies are instants until which they are fresh, and fresh
    time is added up in place of stretches; with `strict`, so is the time without a copy.
    """
    for i in range(copies.first_slot.size):
        last = copies.first_slot[i + 1] if i + 1 < copies.first_slot.size else copies.copy.size
        for k in range(copies.first_slot[i], copies.first_slot[i] if nodes[i].client or source_at[i] >= 0 else last):
            if copies.copy[k] > floor:
                n = replace_copy(
                    k, t, floor, horizon, sampled, strict, copies.copy, copies.since, copies.cell, copies.fresh,
                    copies.sums, out.begin, out.end, out.slot, out.departure, n,
                )  # fmt: skip
    return n


@njit(cache=True)
def merge_reply(i, base, held, wait, layers, copy, nodes):
    """Merge a reply to a query of client i, which brought the copies `held`, into the freshest copies so far.

    There is a copy per layer, and those so far are in `copy` from slot `base` on; the reply has waited in line for
    `wait`, -1 if there is none. Return whether it was the last reply that the query waits for. The number of those and
    the longest wait are kept in nodes[i].
    """
    for layer in range(layers):
        copy[base + layer] = max(held[layer], copy[base + layer])
    nodes[i].late = max(nodes[i].late, wait)
    nodes[i].left -= 1
    return nodes[i].left == 0


@njit(cache=True)
def close_query(
    i, layers, t, horizon, sampled, strict, base, copy, cell, nodes, sums, answered_at, slots, departures, answers
):  # fmt: skip
    """Write the answer to a query of client i, whose last reply has come, and forget the copies that it brought.

    They are in the slots base[i] to base[i] + layers, and count in the cells of these if t, the instant of the answer,
    is in [0, horizon). With `sampled`, copies that are still fresh are counted in `sums`; else the instant, slot and
    departure of each copy go to the next place of the arrays for answers. With `strict`, a query that brought no copy
    is not answered. Return the number of answers so far, of which there were `answers`.
    """
    nodes[i].left, nodes[i].late = nodes[i].asks, 0.0
    counts = not strict  # where pulls may fail, a query that brought no copy of any source is not answered
    if strict:
        for k in range(base[i], base[i] + layers):
            counts = counts or copy[k] > NOT_HELD
    for k in range(base[i], base[i] + layers):
        held = copy[k]
        copy[k] = NOT_HELD
        if not 0 <= t < horizon:
            continue
        sums[cell[k]].ended += 1
        if not counts:
            continue
        sums[cell[k]].answers += 1
        if sampled:
            sums[cell[k]].good += held > t
        else:
            answered_at[answers], slots[answers], departures[answers] = t, k, held
            answers += 1
    return answers


@njit(cache=True, inline="always")
def next_update(s, t, points, coming):
    """Return the instant of the first update of source s after t, which must be in `points`.

    coming[s] is the place in `points` of that update or an earlier one of s, and is moved on to it.
    """
    x = coming[s]
    while points[x] <= t:
        x += 1
    coming[s] = x
    return points[x]


@cache
def plain_pass(sampled: bool, single: bool, watched: bool, far: bool) -> Any:
    """Return the compiled pass over networks in which nodes ask by name, get answers at once and keep their copies.

    The pass applies the pulls of a window to the copies, and returns the number of stretches that it wrote. Flags
    specialise it. `sampled`: a copy is the instant until which it is fresh, and fresh time is added up; else it is its
    departure, and stretches are written. `single`: no component has several sources, so that a place is a slot.
    `watched`: there are views. `far`: the copies do not fit the cache, and are fetched ahead.
    """

    @njit(cache=True)
    def one_pass(horizon, sources, pulled, points, coming, copies, views, out):
        """Apply the pulls of a window to the copies, and return the number of stretches written to `out`.

        `points` has the updates of all sources, and coming[s] the place of the next one of source s, which is moved on.
        """
        times, pairs, base = pulled.times, pulled.pairs, copies.first_slot
        copy, since, cell, fresh = copies.copy, copies.since, copies.cell, copies.fresh
        begin, end, who, left, n = out.begin, out.end, out.slot, out.departure, 0
        now, total = 0, fresh[0]  # the cell at hand and its sum, in registers: sums in memory wait for one another
        for c in range(sources.begin.size - 1):
            s = sources.begin[c]
            layers = sources.begin[c + 1] - s
            if pulled.begin[c] == pulled.begin[c + 1] or layers == 0:
                continue
            source, x, low, high = sources.place[s], coming[s], 0, 1
            after = points[x]
            if single:
                copy[source] = min(after, horizon)
            for q in range(pulled.begin[c], pulled.begin[c + 1]):
                if far:
                    then = pairs[min(q + PULLS_AHEAD, pulled.begin[c + 1] - 1)]
                    prefetch(copy, natural(then >> 32))
                    prefetch(cell, natural(then >> 32))
                    prefetch(copy, natural(then & NODE))
                t, i, j = times[q], pairs[q] >> 32, pairs[q] & NODE
                if single:
                    if not sampled:
                        copy[source] = t
                    elif after <= t:
                        while after <= t:
                            x += 1
                            after = points[x]
                        copy[source] = min(after, horizon)
                    first, shift = i, j - i
                else:
                    low, high, new = 0, layers, t
                    if pairs[q] & DIRECT:
                        s = sources.source_at[j]
                        low, high = sources.layer[s], sources.layer[s] + 1
                        if sampled:
                            new = min(next_update(s, t, points, coming), horizon)
                    first, shift = base[i], base[j] - base[i]
                for k in range(first + low, first + high):
                    if single or not pairs[q] & DIRECT:
                        new = copy[k + shift]
                    old = copy[k]
                    if sampled and not watched:
                        # No branch on which copy is newer, as it cannot be predicted; a pull without effect adds 0.
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
                            n = update_viewers(i, k - first, t, horizon, sampled, False, copies, views, out, n)
            if single:
                coming[s] = x
        if sampled and not watched:
            fresh[now] = total
        return n

    return one_pass


@cache
def whole_pass(sampled: bool, strict: bool, listing: bool) -> Any:
    """Return the compiled pass over any network.

    The pass applies a window to the copies, and returns the numbers of stretches and of answers that it wrote. Flags
    specialise it. `sampled`: a copy is the instant until which it is fresh, and fresh time is added up; else it is its
    departure, and stretches are written. `strict`: pulls may fail. `listing`: upstreams hand over recent contacts.
    Arrays are taken out of their tuples first, as each look into a tuple costs more than the work done.
    """

    @njit(cache=True)
    def one_pass(
        until, delay, horizon, floor, sources, pulled, points, coming, copies, nodes, views, contacts, faults, replies,
        out,
    ):  # fmt: skip
        """Apply turns, pulls, answers and replies up to `until`; return how many stretches and answers are in `out`."""
        times, pairs, held, waits, n, answers = pulled.times, pulled.pairs, replies.held, replies.waits, 0, 0
        base, copy, since, cell = copies.first_slot, copies.copy, copies.since, copies.cell
        fresh, sums, source_at, layer_of = copies.fresh, copies.sums, sources.source_at, sources.layer
        begin, end, who, left, viewed = out.begin, out.end, out.slot, out.departure, views.first
        answered_at, client, brought, lists = out.answered_at, out.client_slot, out.brought_departure, replies.lists
        side, spans, starts, ends, turns = faults.side, faults.first, faults.starts, faults.ends, faults.turns
        register, upstream, need, latest, older, newer, handed, length, lacking = contacts
        for c in range(sources.begin.size - 1):
            first, last = pulled.begin[c], pulled.begin[c + 1]
            sent, answered, arrived = first + pulled.sent[c], first + pulled.answered[c], first
            z, layers = faults.next_turn[c], max(sources.begin[c + 1] - sources.begin[c], 1)
            while True:
                next_ask = times[sent] if sent < last else until
                next_answer = times[answered] + delay if answered < sent else until
                t = times[arrived] + delay + delay if arrived < answered else until
                soonest = min(next_ask, next_answer, t)
                if strict and z < faults.begin[c + 1] and turns[z].at <= soonest and turns[z].at < until:
                    n = apply_turn(z, turns, layers, horizon, sampled, copies, nodes, views, out, n)
                    z += 1
                elif t < until and t == soonest:
                    q, i = arrived, pairs[arrived] >> 32
                    arrived += 1
                    if nodes[i].asks > 0:
                        if merge_reply(i, base[i], held[q], waits[q], layers, copy, nodes):
                            answers = close_query(
                                i, layers, t + nodes[i].late, horizon, sampled, strict, base, copy, cell, nodes, sums,
                                answered_at, client, brought, answers,
                            )  # fmt: skip
                    elif nodes[i].fell < times[q]:
                        for layer in range(layers):
                            if held[q, layer] > copy[base[i] + layer]:
                                n = replace_copy(
                                    base[i] + layer, t, held[q, layer], horizon, sampled, strict, copy, since, cell,
                                    fresh, sums, begin, end, who, left, n,
                                )  # fmt: skip
                                if viewed[i] < viewed[i + 1]:
                                    n = update_viewers(i, layer, t, horizon, sampled, strict, copies, views, out, n)
                    if listing and lists[q, 0] >= 0 and receive_list(i, need, handed, length, lacking, lists[q]):
                        # From here on every poll asks as specified; copies held before may be wrong.
                        n = forget_copies(t, floor, source_at, horizon, sampled, strict, copies, nodes, out, n)
                        held[arrived:answered] = NOT_HELD
                elif next_answer < until and next_answer == soonest:
                    q, t, i, j = answered, next_answer, pairs[answered] >> 32, pairs[answered] & NODE
                    answered += 1
                    wait = -1.0 if j == NOBODY else answer_wait(t, i, j, horizon, nodes)
                    silent = wait < 0 or (pairs[q] & MUTE) != 0
                    if strict:
                        silent = silent or is_cut(side, spans, starts, ends, j, i, t)
                    for layer in range(layers):
                        held[q, layer] = NOT_HELD if silent else copy[base[j] + layer]
                    if not silent and source_at[j] >= 0:
                        new = min(next_update(source_at[j], t, points, coming), horizon) if sampled else t
                        held[q, layer_of[source_at[j]]] = new
                    waits[q] = -1.0 if silent else wait
                    if listing:
                        lists[q, 0] = -1
                        if wait >= 0 and register[i] >= 0 and j == upstream[i]:
                            hand_over(i, register, latest, older, newer, lists[q])
                elif next_ask < until:
                    q, t, i, j = sent, next_ask, pairs[sent] >> 32, pairs[sent] & NODE
                    sent += 1
                    if listing and pairs[q] & RECENT:
                        j = handed[i, j] if j < length[i] else NOBODY
                        pairs[q] = i << 32 | j
                    if strict and j != NOBODY:
                        goes = can_send(t, i, pairs[q], horizon, nodes)
                        if not goes or is_cut(side, spans, starts, ends, i, j, t):
                            pairs[q] = i << 32 | NOBODY
                else:
                    break
            faults.next_turn[c] = z
            pulled.answered_after[c], pulled.arrived_after[c] = answered - first, arrived - first
        return n, answers

    return one_pass


@njit(cache=True)
def add_up(amounts, cells, out):
    """Add every amount to its cell in `out`, in place, one after another.

    `cells` has the index in `out` for each amount. Adding in order keeps the rounding the same, however replications
    share windows and windows are cut.
    """
    for q in range(amounts.size):
        out[cells[q]] += amounts[q]
