"""A log of what happens on a path: its columns, and how `array` comes by them.

A row per event from time zero on, and of what holds copies (start, reply, offer, answer) a row per source
for which the node counts: each that it can hear of, or the first where that is none.

    start     at = 0: what a replica holds, or of a source, when it last changed
    update    node is the source
    download, poll, query
              a pull that gets on its way, at the planned instant of the wake; peer is asked
    failed    one that does not, or not all the way: turned away by the line of the asker, lost, or cut;
              nobody is asked, and where nodes are down there is no pull either
    reply     at is its arrival, peer who sent it
    offer     a poll that goes both ways has come, peer sent it with what it had
    answer    a client's query has come to its end, with the freshest of what the replies brought

`left` is when the copy in question left its `source`. It is NaN where there is no copy, and -inf
where the copy is from before the replayed past, so that nobody knows. The `source` of an
update is its node, and a pull has none. So the rows of one source are what a replay of its copies takes.

`array` has no events, but the sorted pulls of a window, and after a pass over them

    whom each asked, or NOBODY,                                                       (1)
    of those whose answer has arrived, what it brought, and whether there was one.    (2)

A pull belongs to a wake of the same node at the same instant, so both sorted
alike match one to one. (1) is NOBODY where a pull failed, but also at nodes that
are down, which the outages tell, and where a list of recent contacts is shorter than the
poll would like. With lines besides, that may as well be a pull turned away: so polls of recent
contacts that fail have no row where bandwidth is limited, in no engine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, final

import numpy as np
import numpy.typing as npt

from replnet.engines.layout import Layout
from replnet.engines.outages import Outages
from replnet.engines.passes import NEVER, NOBODY, NODE, Pulled, Replies
from replnet.engines.plan import DOWNLOADS, POLLS, QUERIES, UPDATES, Plan
from replnet.engines.pulls import runs
from replnet.laws.law import Flags, Floats, Ints
from replnet.laws.processes.renewal import Window
from replnet.laws.processes.streams import Words

# Wakes are called by their purpose.
EVENTS = ("update", "download", "poll", "query", "failed", "reply", "answer", "start", "offer")
FAILED, REPLY, ANSWER, START, OFFER = range(4, 9)
assert (UPDATES, DOWNLOADS, POLLS, QUERIES) == (0, 1, 2, 3)

NO_ONE = -1  # in the place of a peer, or of a source
ROWS = 1 << 16  # that are handed on at once


class Columns(NamedTuple):
    """Rows of a log, column by column."""

    at: Floats
    event: npt.NDArray[np.int8]  # a place in EVENTS
    node: npt.NDArray[np.int32]
    peer: npt.NDArray[np.int32]
    left: Floats
    source: npt.NDArray[np.int32]  # a node, as the two before


Keep = Callable[[Columns], None]


def columns(
    at: Floats,
    event: int | Ints,
    node: int | Ints,
    peer: int | Ints = NO_ONE,
    left: Floats | None = None,
    source: int | Ints = NO_ONE,
) -> Columns:
    """What is the same in all rows may be given once."""
    n = at.size
    return Columns(
        at,
        np.broadcast_to(np.asarray(event, np.int8), n),
        np.broadcast_to(np.asarray(node, np.int32), n),
        np.broadcast_to(np.asarray(peer, np.int32), n),
        np.full(n, np.nan) if left is None else left,
        np.broadcast_to(np.asarray(source, np.int32), n),
    )


def undecided(plan: Plan) -> Flags:
    """Processes whose pulls have no row when they fail."""
    return np.asarray(plan.processes.recent & (plan.bandwidth is not None))


@final
class Scribe:
    """Takes rows one at a time, and hands them on many at a time."""

    def __init__(self, keep: Keep) -> None:
        self._keep, self._rows = keep, list[tuple[float, int, int, int, float, int]]()

    def note(
        self, at: float, event: int, node: int, peer: int = NO_ONE, left: float = np.nan, source: int = NO_ONE
    ) -> None:
        self._rows.append((at, event, node, peer, left, source))
        if len(self._rows) >= ROWS:
            self.hand_on()

    def hand_on(self) -> None:
        if self._rows:
            found = [np.array(column) for column in zip(*self._rows, strict=True)]
            self._rows.clear()
            self._keep(columns(*found))


@final
class Recorder:
    """Rows from the windows of one replication in `array`."""

    def __init__(self, layout: Layout, run: Words, asking: slice, horizon: float, keep: Keep) -> None:
        """`asking`: the rows of a window that ask."""
        self._layout, self._plan, self._asking = layout, layout.plan, asking
        self._run, self._horizon, self._keep = run, horizon, keep
        p = self._plan.processes
        self._purpose = p.purpose[layout.askers.process]
        self._asks, queries = np.ones(self._plan.size, np.int64), p.purpose == QUERIES
        self._asks[p.node[queries]] = np.maximum(p.ask[queries], 1)
        self._rows = list[Columns]()
        self.phase = layout.askers.phase

    def begin(self, depth: float) -> None:
        """The past is replayed from here; if it was before, that was in vain."""
        self._rows.clear()
        self._floor = -depth
        self._down = Outages(self._plan, self._run, depth, self._horizon).by_node

    def start(self, ages: Floats, held: Floats) -> None:
        """The past is over; ages of the sources' last updates, and what there is in every slot."""
        sources = self._plan.sources
        self._add(columns(np.zeros(ages.size), START, sources, left=-ages, source=sources))
        self._held(START, np.zeros(self._plan.size), np.arange(self._plan.size), NO_ONE, ~self._plan.clients, held)

    def passed(self, window: Window, pulled: Pulled, replies: Replies) -> None:
        """A window is over."""
        if window.start >= 0:
            for row, source in enumerate(self._plan.sources.tolist()):
                self._add(columns(window.of(row).copy(), UPDATES, source, source=source))
            sent = runs(pulled.begin[:-1] + pulled.sent, np.diff(pulled.begin) - pulled.sent)
            self._pulls(window, pulled.times[sent], pulled.pairs[sent])
        arrived = runs(pulled.begin[:-1], pulled.arrived)
        self._arrivals(pulled.times[arrived], pulled.pairs[arrived], replies.held[arrived], replies.waits[arrived])
        if window.start >= 0:
            for rows in self._rows:
                self._keep(rows)
            self._rows.clear()

    def _pulls(self, window: Window, times: Floats, pairs: Ints) -> None:
        """(1)"""
        place, peer = pairs >> 32, pairs & NODE
        process, nobody, node = self._processes(window, times, place), peer == NOBODY, self._layout.places.node[place]
        _, back = self._last_outage(node, times)
        failed = nobody & ~self._layout.askers.recent[process] & (times >= back)
        event, rows = np.where(failed, FAILED, self._purpose[process]), ~nobody | failed
        peer = np.where(nobody, NO_ONE, self._layout.places.node[np.where(nobody, 0, peer)])
        self._add(columns(times[rows], event[rows], node[rows], peer[rows]))

    def _processes(self, window: Window, times: Floats, place: Ints) -> Ints:
        """The asker to whom every pull belongs."""
        askers, own = self._layout.askers, self._asking.start + self._layout.askers.row
        number = window.last[own] - window.first[own]
        asker = np.repeat(np.arange(number.size), number)
        at = window.points[runs(window.offset[own] + window.first[own], number)]
        wake = runs(window.serial[own], number)
        mine = wake % askers.turns[asker] == self.phase[asker]
        asker, at = asker[mine], at[mine]
        pulls = askers.pulls[asker]
        asker, at = np.repeat(asker, pulls), np.repeat(at, pulls)
        found = np.empty_like(asker)
        found[np.lexsort((times, place))] = asker[np.lexsort((at, askers.place[asker]))]
        return found

    def _last_outage(self, node: Ints, at: Floats) -> tuple[Floats, Floats]:
        """Per node and instant, when its last outage so far began, and when it is over."""
        begin, end = np.full(at.size, -np.inf), np.full(at.size, -np.inf)
        order = np.argsort(node, kind="stable") if self._down else np.empty(0, np.int64)
        for i, spans in self._down.items():
            low, high = np.searchsorted(node[order], [i, i + 1])
            mine = order[low:high]
            which = np.searchsorted(spans[:, 0], at[mine], side="right") - 1
            mine, which = mine[which >= 0], which[which >= 0]
            begin[mine], end[mine] = spans[which].T
        return begin, end

    def _arrivals(self, sent: Floats, pairs: Ints, held: Floats, waits: Floats) -> None:
        """(2)"""
        delay, place, peer = (
            self._layout.delay,
            pairs >> 32,
            self._layout.places.node[np.minimum(pairs & NODE, self._last)],
        )
        node = self._layout.places.node[place]
        # In the order in which `step` adds them up, so that not even the rounding differs.
        at = (sent + delay) + (delay + np.maximum(waits, 0.0) if self._plan.bandwidth is not None else delay)
        fell, _ = self._last_outage(node, at)
        there = (waits >= 0) & (fell < sent) & (at >= 0) & (at < self._horizon)
        self._brought(REPLY, at, place, peer, there, held)
        asked = np.flatnonzero(self._plan.clients[node])
        if asked.size:
            self._answers(place[asked], at[asked], held[asked])

    @property
    def _last(self) -> int:
        return int(self._layout.places.node.size - 1)

    def _answers(self, place: Ints, at: Floats, held: Floats) -> None:
        """The pulls of a query, which were sent together, have arrived together: one after another of their client."""
        order = np.argsort(place, kind="stable")
        place, node = place[order], self._layout.places.node[place[order]]
        first = np.flatnonzero(np.diff(place, prepend=-1))
        number = np.arange(place.size) - np.repeat(first, np.diff(first, append=place.size))
        query = np.flatnonzero(number % self._asks[node] == 0)
        at = np.maximum.reduceat(at[order], query)
        best = np.maximum.reduceat(held[order], query, axis=0)
        there = (at >= 0) & (at < self._horizon)
        self._brought(ANSWER, at, place[query], np.full(query.size, NO_ONE), there, best)

    def _brought(self, event: int, at: Floats, place: Ints, peer: Ints, there: Flags, held: Floats) -> None:
        """Rows of what came to places, a copy for every slot of them, of all sources for which their nodes count."""
        home = self._layout.home
        node, component = self._layout.places.node[place], self._layout.places.component[place]
        of = np.flatnonzero(there)
        for row, source in enumerate(self._plan.sources.tolist()):
            counts = self._counts(row)[node[of]]
            some = of[counts]
            mine = (component[some] == home[row]) & (self._heard(row)[node[some]])
            left = np.where(mine, held[some, self._layout.layer[row]], -np.inf)
            self._add(columns(at[some], event, node[some], peer[some], self._known(left), source))

    def _held(self, event: int, at: Floats, node: Ints, peer: int, there: Flags, held: Floats) -> None:
        """Rows of what nodes hold."""
        for row, source in enumerate(self._plan.sources.tolist()):
            some = np.flatnonzero(there & self._counts(row)[node])
            left = np.where(
                self._heard(row)[node[some]], held[self._layout.slot(node[some], np.full(some.size, row))], -np.inf
            )
            self._add(columns(at[some], event, node[some], peer, self._known(left), source))

    def _counts(self, row: int) -> Flags:
        found = np.zeros(self._plan.size, np.bool_)
        found[np.repeat(np.arange(self._plan.size), self._plan.counted.sizes)[self._plan.counted.members == row]] = True
        return found

    def _heard(self, row: int) -> Flags:
        return np.asarray(self._plan.reached[row])

    def _known(self, left: Floats) -> Floats:
        return np.where(left == -np.inf, np.nan, np.where((left == self._floor) | (left == NEVER), -np.inf, left))

    def _add(self, rows: Columns) -> None:
        if rows.at.size:
            self._rows.append(rows)
