"""A log of the events on a path: its columns, and a writer of rows.

There is a row per event from time zero on. Events that are about copies (start, reply, offer, answer) have a row per
source for which the node counts: each that it can hear of, or the first source if it can hear of none.

    start     at = 0: a copy that a replica holds; or the last update of a source
    update    node is the source
    download, poll, query
              a pull that is sent, at the planned instant of the wake, to the peer
    failed    a pull that does not arrive: turned away by the line of the asker, lost, or cut;
              there is no peer, and no pull at all while a node is down
    reply     a reply that arrives from the peer
    offer     the copies that a two-way poll brings from the peer that sent it
    answer    the end of a client's query, with the freshest of the copies that the replies brought

`left` is the instant at which the copy left its `source`. It is NaN if there is no copy, and -inf
if the copy is from before the replayed past, so that the instant is unknown. The `source` of an
update is its node, and a pull has none. So the rows of one source suffice to replay its copies.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, final

import numpy as np
import numpy.typing as npt

from replnet.engines.plan import DOWNLOADS, POLLS, QUERIES, UPDATES, Plan
from replnet.laws import Flags, Floats, Ints
from replnet.measure import FLOOR, NOT_HELD, held_mask, known_mask

# An event of a wake has the number of its purpose.
EVENTS = ("update", "download", "poll", "query", "failed", "reply", "answer", "start", "offer")
FAILED, REPLY, ANSWER, START, OFFER = range(4, 9)
assert (UPDATES, DOWNLOADS, POLLS, QUERIES) == (0, 1, 2, 3)

NO_ONE = -1  # stands for no peer, or no source
ROWS_AT_ONCE = 1 << 16  # rows that are handed on together


class Columns(NamedTuple):
    """Rows of a log of events, in columns: each field is an array with an entry per row.

    `at` is the instant, `event` a place in EVENTS, and `node` the number of the node where it happens. `peer` and
    `source` are numbers of nodes too, NO_ONE for none: whom the node asked or got copies from, and the source of the
    copy. `left` is the instant at which the copy left its source, NaN if there is no copy, -inf if that is unknown.
    """

    at: Floats
    event: npt.NDArray[np.int8]  # a place in EVENTS
    node: npt.NDArray[np.int32]
    peer: npt.NDArray[np.int32]
    left: Floats
    source: npt.NDArray[np.int32]  # a node, as the two before


Keep = Callable[[Columns], None]
"""A function that takes rows of a log."""


def columns(
    at: Floats,
    event: int | Ints,
    node: int | Ints,
    peer: int | Ints = NO_ONE,
    left: Floats | None = None,
    source: int | Ints = NO_ONE,
) -> Columns:
    """Return rows of a log, one per instant in `at`; a column that is the same in all rows may be given as one number.

    An event is given by its place in EVENTS, and `node`, `peer` and `source` are numbers of nodes, NO_ONE for none.
    `left` has the departures of copies as a log has them; None leaves that column NaN, as if no row had a copy.
    """
    n = at.size
    return Columns(
        at,
        np.broadcast_to(np.asarray(event, np.int8), n),
        np.broadcast_to(np.asarray(node, np.int32), n),
        np.broadcast_to(np.asarray(peer, np.int32), n),
        np.full(n, np.nan) if left is None else left,
        np.broadcast_to(np.asarray(source, np.int32), n),
    )


def logged_departures(departures: Floats) -> Floats:
    """Return departures as a log has them: as they are, NaN if no copy is held, and -inf if unknown or never come."""
    return np.where(held_mask(departures), np.where(known_mask(departures), departures, -np.inf), np.nan)


def logged_departure(departure: float) -> float:
    """Return a departure as a log has it: as it is, NaN if no copy is held, and -inf if unknown or never come."""
    if departure >= FLOOR:
        return departure
    return math.nan if departure == NOT_HELD else -math.inf


def has_unlogged_failures(plan: Plan) -> Flags:
    """Return a mask of the processes whose failed pulls are not logged: polls of contacts if bandwidth is limited."""
    return np.asarray(plan.processes.recent & (plan.bandwidth is not None))


@final
class LogWriter:
    """The writer of a log, which takes rows one at a time and hands them to the function `keep` in bulk."""

    def __init__(self, keep: Keep) -> None:
        self._keep, self._rows = keep, list[tuple[float, int, int, int, float, int]]()

    def write(
        self, at: float, event: int, node: int, peer: int = NO_ONE, left: float = np.nan, source: int = NO_ONE
    ) -> None:
        """Add a row: an event, by its place in EVENTS, at a node at an instant; NO_ONE stands for no peer or source.

        `left` is the departure of the copy as a log has it: NaN without a copy, -inf if unknown. As soon as there are
        ROWS_AT_ONCE rows, they are handed on.
        """
        self._rows.append((at, event, node, peer, left, source))
        if len(self._rows) >= ROWS_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Hand the rows that have been added since the last time to the function `keep`, if there are any."""
        if self._rows:
            columns_of_rows = [np.array(column) for column in zip(*self._rows, strict=True)]
            self._rows.clear()
            self._keep(columns(*columns_of_rows))
