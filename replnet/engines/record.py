"""A log of what happens on a path: its columns, and how `array` comes by them.

A row per event from time zero on, and of what holds copies (start, reply, answer) a row per source
for which the node counts: each that it can hear of, or the first where that is none.

    start     at = 0: what a replica holds, or of a source, when it last changed
    update    node is the source
    download, poll, query
              a pull that gets on its way, at the planned instant of the wake; peer is asked
    failed    one that does not, or not all the way: turned away by the line of the asker, lost, or cut;
              nobody is asked, and where nodes are down there is no pull either
    reply     at is its arrival, peer who sent it
    answer    a client's query has come to its end, with the freshest of what the replies brought

`left` is when the copy in question left its `source`. It is NaN where there is no copy, and -inf
where the copy is from before the replayed past, so that nobody knows. The `source` of an
update is its node, and a pull has none. So the rows of one source are what a replay of its copies takes.

`array` has no events, but the sorted pulls of a window, and after a pass over them

    whom each asked, or NOBODY,                                                       (1)
    of those whose answer has arrived, what it brought, or nothing.                   (2)

A pull belongs to a wake of the same node at the same instant, so both sorted
alike match one to one. (1) is NOBODY where a pull failed, but also at nodes that
are down, which the outages tell, and where a list of recent contacts is shorter than the
poll would like. With lines besides, that may as well be a pull turned away: so polls of recent
contacts that fail have no row where bandwidth is limited, in no engine. (2) is
nothing where no answer came, but also where the answer held no copy. They are told
apart by a further pass in which everyone always has a copy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, final

import numpy as np
import numpy.typing as npt

from replnet.engines.outages import Outages
from replnet.engines.passes import NOBODY, NODE, Pulled, Replies
from replnet.engines.path import Path
from replnet.engines.plan import DOWNLOADS, POLLS, QUERIES, UPDATES, Plan
from replnet.engines.pulls import runs
from replnet.engines.tiling import Tiling
from replnet.laws.law import Floats, Ints
from replnet.laws.processes.renewal import Window
from replnet.laws.processes.streams import Words

# Wakes are called by their purpose.
EVENTS = ("update", "download", "poll", "query", "failed", "reply", "answer", "start")
FAILED, REPLY, ANSWER, START = range(4, 8)
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


def looks(plan: Plan, path: Path, horizon: float) -> list[float]:
    """How far back the recording of a path begins: at first as it did itself.

    To measure freshness it is enough that a copy is stale for sure; to know when it left its source may
    take longer, and gets as long as the path itself. But where the start was not proven, or there
    are lines, the path may depend on where it began, and what is recorded is to be what was measured.
    """
    found = [path.depth]
    while plan.bandwidth is None and path.unproven == 0 and 2 * found[-1] <= horizon:
        found.append(2 * found[-1])
    return found


def picked(rows: Columns, which: Ints) -> Columns:
    return Columns(
        rows.at[which], rows.event[which], rows.node[which], rows.peer[which], rows.left[which], rows.source[which]
    )


def undecided(plan: Plan) -> npt.NDArray[np.bool_]:
    """Processes whose pulls have no row when they fail."""
    return np.array([p.recent and plan.bandwidth is not None for p in plan.processes])


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

    def __init__(self, tiling: Tiling, run: Words, asking: slice, horizon: float, keep: Keep) -> None:
        """`asking`: the rows of a window that ask."""
        self._tiling, self._plan, self._asking = tiling, tiling.plan, asking
        self._run, self._horizon, self._keep = run, horizon, keep
        self._purpose = self._plan.purpose[tiling.asking]
        self._asks = np.ones(len(self._plan.names), np.int64)
        for p in self._plan.processes:
            if p.purpose == QUERIES:
                self._asks[p.node] = max(p.ask, 1)
        self._rows, self._brought = list[Columns](), list[Floats]()

    def begin(self, depth: float) -> None:
        """The past is replayed from here; if it was before, that was in vain."""
        self._rows.clear()
        self._floor = -depth
        self._down = Outages(self._plan.names, self._plan.faults, self._run, depth, self._horizon).by_node

    def start(self, ages: Floats, copies: list[Floats]) -> None:
        """The past is over; ages of the sources' last updates, and per source what every node holds."""
        plan = self._plan
        sources = np.array(plan.sources)
        self._add(columns(np.zeros(ages.size), START, sources, left=-ages, source=sources))
        for row, source in enumerate(plan.sources):
            held = np.flatnonzero(plan.counted[row] & ~plan.clients)
            self._add(columns(np.zeros(held.size), START, held, NO_ONE, self._known(copies[row][held]), source))

    def updates(self, window: Window) -> None:
        for row, source in enumerate(self._plan.sources):
            self._add(columns(window.of(row).copy(), UPDATES, source, source=source))

    def passed(self, window: Window, pulled: Pulled, replies: Replies) -> None:
        """A window is over."""
        if window.start >= 0:
            self.updates(window)
            sent = runs(pulled.begin[:-1] + pulled.sent, np.diff(pulled.begin) - pulled.sent)
            self._pulls(window, pulled.times[sent], pulled.pairs[sent])
        arrived = runs(pulled.begin[:-1], pulled.arrived)
        times, pairs, tiling = pulled.times[arrived], pulled.pairs[arrived], self._tiling
        home, of = tiling.component, tiling.component[pairs >> 32]
        self._brought = [
            np.where(of == home[source], replies.held[layer, arrived], -np.inf)
            for source, layer in zip(self._plan.sources, tiling.layer, strict=True)
        ]
        waits = replies.waits[0, arrived] if replies.waits.size else replies.waits[0]
        replied = replies.held[0, arrived] > -np.inf if self._plan.strict else pairs & NODE != NOBODY
        self._arrivals(times, pairs, replied, waits)
        if window.start >= 0:
            self._hand_on()

    def _hand_on(self) -> None:
        for rows in self._rows:
            self._keep(rows)
        self._rows.clear()

    def _pulls(self, window: Window, times: Floats, pairs: Ints) -> None:
        """(1)"""
        process, node, peer = self._processes(window, times, pairs >> 32), pairs >> 32, pairs & NODE
        nobody = peer == NOBODY
        _, back = self._last_outage(node, times)
        failed = nobody & ~self._tiling.askers.recent[process] & (times >= back)
        event, rows = np.where(failed, FAILED, self._purpose[process]), ~nobody | failed
        self._add(columns(times[rows], event[rows], node[rows], np.where(nobody, NO_ONE, peer)[rows]))

    def _processes(self, window: Window, times: Floats, node: Ints) -> Ints:
        """To which every pull belongs."""
        first, offset, askers = window.first[self._asking], window.offset[self._asking], self._tiling.askers
        number = window.last[self._asking] - first
        process = np.repeat(np.arange(number.size), number)
        before = np.cumsum(number) - number
        at = window.points[np.arange(process.size) + (offset + first - before)[process]]
        pulls = askers.pulls[process]
        process, at = np.repeat(process, pulls), np.repeat(at, pulls)
        found = np.empty_like(process)
        found[np.lexsort((times, node))] = process[np.lexsort((at, askers.node[process]))]
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

    def _arrivals(self, sent: Floats, pairs: Ints, replied: npt.NDArray[np.bool_], waits: Floats) -> None:
        """(2)"""
        delay, node, peer = self._tiling.delay, pairs >> 32, pairs & NODE
        # In the order in which `step` adds them up, so that not even the rounding differs.
        at = (sent + delay) + (delay + waits if waits.size else delay)
        fell, _ = self._last_outage(node, at)
        rows = np.flatnonzero(replied & (fell < sent) & (at >= 0) & (at < self._horizon))
        self._held(REPLY, at[rows], node[rows], peer[rows], [left[rows] for left in self._brought])
        asked = np.flatnonzero(self._plan.clients[node])
        if asked.size:
            self._answers(node[asked], at[asked], [left[asked] for left in self._brought])

    def _answers(self, node: Ints, at: Floats, left: list[Floats]) -> None:
        """The pulls of a query, which were sent together, have arrived together: one after another of their client."""
        order = np.argsort(node, kind="stable")
        node = node[order]
        first = np.flatnonzero(np.diff(node, prepend=-1))
        place = np.arange(node.size) - np.repeat(first, np.diff(first, append=node.size))
        query = np.flatnonzero(place % self._asks[node] == 0)
        at, *best = (np.maximum.reduceat(values[order], query) for values in (at, *left))
        rows = np.flatnonzero((at >= 0) & (at < self._horizon))
        self._held(ANSWER, at[rows], node[query][rows], NO_ONE, [copies[rows] for copies in best])

    def _held(self, event: int, at: Floats, node: Ints, peer: int | Ints, left: list[Floats]) -> None:
        """Rows of copies of every source, each of the nodes that count for it."""
        for row, source in enumerate(self._plan.sources):
            counts = self._plan.counted[row][node]
            if counts.all():
                self._add(columns(at, event, node, peer, self._known(left[row]), source))
            else:
                whose = peer if isinstance(peer, int) else peer[counts]
                self._add(columns(at[counts], event, node[counts], whose, self._known(left[row][counts]), source))

    def _known(self, left: Floats) -> Floats:
        return np.where(left == -np.inf, np.nan, np.where(left == self._floor, -np.inf, left))

    def _add(self, rows: Columns) -> None:
        if rows.at.size:
            self._rows.append(rows)
