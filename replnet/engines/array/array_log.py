"""The log of a path in `array`, whose columns are those of `engines/log`.

`array` has no events, but the sorted pulls of a window, and after a pass over them

    the place that each pull asked, or NOBODY,                                        (1)
    of the pulls whose reply has arrived, the copies that it brought, if any.         (2)

A pull belongs to a wake of the same node at the same instant, so if both are sorted
alike they match one to one. (1) is NOBODY if a pull failed, but also at nodes that
are down, which the outages tell, and if a list of recent contacts is shorter than the
poll asks for. If bandwidth is limited, it may also be a pull that was turned away: so
failed polls of recent contacts have no row then, in any engine.
"""

from __future__ import annotations

from typing import final

import numpy as np

from replnet.engines.array.layout import Layout
from replnet.engines.array.passes import NOBODY, NODE, PullQueue, Replies
from replnet.engines.log import ANSWER, FAILED, NO_ONE, REPLY, START, Columns, Keep, columns, logged_departures
from replnet.engines.outages import Outages
from replnet.engines.plan import QUERIES, UPDATES
from replnet.laws import Flags, Floats, Ints
from replnet.measure import NOT_HELD, marked_unknown
from replnet.network import runs
from replnet.processes import Window, Words


@final
class ArrayLog:
    """The log of one replication in `array`, taken from its windows.

    `phase` has for each asker which wakes of its row are its own; a caller that draws phases sets it before `begin`.
    """

    def __init__(self, layout: Layout, run: Words, asking: slice, horizon: float, keep: Keep) -> None:
        """Begin a log of the replication with the seed words `run`; `keep` takes its rows.

        The rows `asking` of a window are those of the wakes at which nodes pull.
        """
        self._layout, self._plan, self._asking = layout, layout.plan, asking
        self._run, self._horizon, self._keep = run, horizon, keep
        p = self._plan.processes
        self._purpose = p.purpose[layout.askers.process]
        self._asks, queries = np.ones(self._plan.size, np.int64), p.purpose == QUERIES
        self._asks[p.node[queries]] = np.maximum(p.ask[queries], 1)
        self._rows = list[Columns]()
        self.phase = layout.askers.phase

    def begin(self, depth: float) -> None:
        """Begin the log of a path whose past begins at -depth, and drop the rows of an earlier attempt."""
        self._rows.clear()
        self._floor = -depth
        self._down = Outages(self._plan, self._run, depth, self._horizon).by_node

    def start(self, ages: Floats, held: Floats) -> None:
        """Add the rows of time zero: the sources' last updates, and the copies that replicas hold.

        `ages` has the age of each source's last update, and `held` the number that passes keep of the copy in every
        slot. The rows are handed on with those of the next window.
        """
        sources = self._plan.sources
        self._add_rows(columns(np.zeros(ages.size), START, sources, left=-ages, source=sources))
        self._record_held(
            START, np.zeros(self._plan.size), np.arange(self._plan.size), NO_ONE, ~self._plan.clients, held
        )

    def record_pass(self, window: Window, pulled: PullQueue, replies: Replies) -> None:
        """Add the rows of a window after the pass over it, and hand them on unless it is of the past.

        `pulled` is the queue of pulls that the pass went through, and `replies` those that it wrote, a row per pull.
        Rows from the past, of replies that come after time zero, wait for the next window.
        """
        if window.start >= 0:
            for row, source in enumerate(self._plan.sources.tolist()):
                self._add_rows(columns(window.of(row).copy(), UPDATES, source, source=source))
            sent = runs(pulled.begin[:-1] + pulled.sent, np.diff(pulled.begin) - pulled.sent)
            self._record_pulls(window, pulled.times[sent], pulled.pairs[sent])
        arrived = runs(pulled.begin[:-1], pulled.arrived_after)
        self._record_arrivals(
            pulled.times[arrived], pulled.pairs[arrived], replies.held[arrived], replies.waits[arrived]
        )
        if window.start >= 0:
            for rows in self._rows:
                self._keep(rows)
            self._rows.clear()

    def _record_pulls(self, window: Window, times: Floats, pairs: Ints) -> None:
        """Add the rows of the pulls that a window has sent, or failed to send.

        `times` has the instant of each pull, and `pairs` its asker's place << 32 | the place asked, which is NOBODY if
        it failed.
        """
        place, peer = pairs >> 32, pairs & NODE
        process, nobody, node = self._askers_of(window, times, place), peer == NOBODY, self._layout.places.node[place]
        _, back = self._last_outage(node, times)
        failed = nobody & ~self._layout.askers.recent[process] & (times >= back)
        event, rows = np.where(failed, FAILED, self._purpose[process]), ~nobody | failed
        peer = np.where(nobody, NO_ONE, self._layout.places.node[np.where(nobody, 0, peer)])
        self._add_rows(columns(times[rows], event[rows], node[rows], peer[rows]))

    def _askers_of(self, window: Window, times: Floats, place: Ints) -> Ints:
        """Return the number, among the askers of the layout, of the one that sent each pull of a window.

        `times` and `place` have the instant of each pull and the place that sent it, in the order of both.
        """
        askers, rows = self._layout.askers, self._asking.start + self._layout.askers.row
        number = window.last[rows] - window.first[rows]
        asker = np.repeat(np.arange(number.size), number)
        at = window.points[runs(window.offset[rows] + window.first[rows], number)]
        wake = runs(window.serial[rows], number)
        is_own = wake % askers.turns[asker] == self.phase[asker]
        asker, at = asker[is_own], at[is_own]
        pulls = askers.pulls[asker]
        asker, at = np.repeat(asker, pulls), np.repeat(at, pulls)
        result = np.empty_like(asker)
        result[np.lexsort((times, place))] = asker[np.lexsort((at, askers.place[asker]))]
        return result

    def _last_outage(self, node: Ints, at: Floats) -> tuple[Floats, Floats]:
        """Return the begin and the end of each node's last outage that began by an instant, both -inf without one.

        `node` and `at` have an entry per node and instant to look up, and so do the two arrays returned. The end may be
        later than the instant.
        """
        begin, end = np.full(at.size, -np.inf), np.full(at.size, -np.inf)
        order = np.argsort(node, kind="stable") if self._down else np.empty(0, np.int64)
        for i, spans in self._down.items():
            low, high = np.searchsorted(node[order], [i, i + 1])
            of_node = order[low:high]
            span_number = np.searchsorted(spans[:, 0], at[of_node], side="right") - 1
            of_node, span_number = of_node[span_number >= 0], span_number[span_number >= 0]
            begin[of_node], end[of_node] = spans[span_number].T
        return begin, end

    def _record_arrivals(self, sent: Floats, pairs: Ints, held: Floats, waits: Floats) -> None:
        """Add the rows of the replies that have arrived, and of the answers that they complete.

        The arrays have a row per pull: the instant at which it was sent, its asker's place << 32 | the place asked, the
        copies that the reply brings, and how long it waited in line, -1 if there is no reply.
        """
        delay, place = self._layout.delay, pairs >> 32
        peer = self._layout.places.node[np.minimum(pairs & NODE, self._last_place)]
        node = self._layout.places.node[place]
        # Added in the same order as in `step`, so that not even the rounding differs.
        at = (sent + delay) + (delay + np.maximum(waits, 0.0) if self._plan.bandwidth is not None else delay)
        fell, _ = self._last_outage(node, at)
        has_arrived = (waits >= 0) & (fell < sent) & (at >= 0) & (at < self._horizon)
        self._record_copies(REPLY, at, place, peer, has_arrived, held)
        of_clients = np.flatnonzero(self._plan.clients[node])
        if of_clients.size:
            self._record_answers(place[of_clients], at[of_clients], held[of_clients])

    @property
    def _last_place(self) -> int:
        """The last place, which stands in for NOBODY."""
        return int(self._layout.places.node.size - 1)

    def _record_answers(self, place: Ints, at: Floats, held: Floats) -> None:
        """Add the rows of the answers to queries, each of which ends with the last reply to its pulls.

        The arrays have an entry per reply: the client's place, the instant, and the copies that it brought, one per
        slot of a place. The pulls of a query were sent together, and follow one another among those of their client.
        """
        order = np.argsort(place, kind="stable")
        place, node = place[order], self._layout.places.node[place[order]]
        first = np.flatnonzero(np.diff(place, prepend=-1))
        number = np.arange(place.size) - np.repeat(first, np.diff(first, append=place.size))
        query = np.flatnonzero(number % self._asks[node] == 0)
        at = np.maximum.reduceat(at[order], query)
        best = np.maximum.reduceat(held[order], query, axis=0)
        is_counted = (at >= 0) & (at < self._horizon)
        self._record_copies(ANSWER, at, place[query], np.full(query.size, NO_ONE), is_counted, best)

    def _record_copies(self, event: int, at: Floats, place: Ints, peer: Ints, is_counted: Flags, held: Floats) -> None:
        """Add the rows of copies that came to places, one for every source for which the node counts.

        The arrays have an entry per reply or answer: the instant, the place that it came to, the peer that sent it, and
        in `held` a copy for every slot of a place. Only entries with `is_counted` get rows; `event` is the same for
        all.
        """
        components = self._layout.source_component
        node, component = self._layout.places.node[place], self._layout.places.component[place]
        taken = np.flatnonzero(is_counted)
        for row, source in enumerate(self._plan.sources.tolist()):
            counts = self._counts_for(row)[node[taken]]
            entries = taken[counts]
            can_have = (component[entries] == components[row]) & (self._can_hear(row)[node[entries]])
            left = np.where(can_have, held[entries, self._layout.source_layer[row]], NOT_HELD)
            self._add_rows(columns(at[entries], event, node[entries], peer[entries], self._departures(left), source))

    def _record_held(self, event: int, at: Floats, node: Ints, peer: int, is_counted: Flags, held: Floats) -> None:
        """Add the rows of the copies that nodes hold, one for every source for which the node counts in tables.

        `at`, `node` and `is_counted` have an entry per node, of which only those with `is_counted` get rows. `held` has
        the number that passes keep of the copy in every slot; `event`, a place in EVENTS, and `peer` are the same for
        all.
        """
        for row, source in enumerate(self._plan.sources.tolist()):
            entries = np.flatnonzero(is_counted & self._counts_for(row)[node])
            left = np.where(
                self._can_hear(row)[node[entries]],
                held[self._layout.find_slots(node[entries], np.full(entries.size, row))],
                NOT_HELD,
            )
            self._add_rows(columns(at[entries], event, node[entries], peer, self._departures(left), source))

    def _counts_for(self, row: int) -> Flags:
        """Return a mask of the nodes that count in tables for the source in a row, though some may not hear of it."""
        result = np.zeros(self._plan.size, np.bool_)
        sources = self._plan.counted_sources
        result[sources.owners[sources.members == row]] = True
        return result

    def _can_hear(self, row: int) -> Flags:
        """Return a mask of the nodes that can hear of the source in a row, and so may hold a copy of it."""
        return np.asarray(self._plan.can_hold[row])

    def _departures(self, numbers: Floats) -> Floats:
        """Return the departures for the log from the numbers that passes keep: NaN without a copy, -inf if unknown."""
        return logged_departures(marked_unknown(numbers, self._floor))

    def _add_rows(self, rows: Columns) -> None:
        """Add rows to those that wait to be handed on."""
        if rows.at.size:
            self._rows.append(rows)
