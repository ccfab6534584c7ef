"""The measurements and the log of nodes that are run one event at a time.

The instants of all updates are drawn beforehand, so nobody has to report them here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple, final

import numpy as np

from replnet.engines.log import (
    ANSWER,
    FAILED,
    NO_ONE,
    OFFER,
    REPLY,
    START,
    Keep,
    LogWriter,
    has_unlogged_failures,
    logged_departure,
)
from replnet.engines.nodes.nodes import Copies
from replnet.engines.nodes.runner import EVENTS, TimedMessage
from replnet.engines.path import Shares, Sums, Task
from replnet.engines.tally import Tally
from replnet.engines.wakes import process_set
from replnet.laws import Floats, Ints
from replnet.measure import NOT_HELD, UNKNOWN, Updates
from replnet.processes import Words

STRETCHES_IN_HAND = 1 << 16  # after so many, stretches are added up


class NodeStates(NamedTuple):
    """The copies and lines of some nodes at an instant; each field is an array in the order of their numbers.

    `held` is the number of copies that a node holds (clients hold none), `fresh` that of the fresh ones among them, and
    `waiting` the number of messages in its line, 0 without limited bandwidth.
    """

    held: Ints  # copies; clients hold none
    fresh: Ints  # of these
    waiting: Floats  # messages in line where bandwidth is limited


@final
class NodeMeasure:
    """The measurements of some nodes, taken while they run; events before time zero do not count.

    `counts` are the wakes so far, by purpose, and `downloads` those by row of the source, of sources with a row in
    every table. `ages` has the age of the last update of each source at time zero, infinite if it never changes.
    """

    def __init__(
        self,
        task: Task,
        run: Words,
        measured: Ints,
        since: float,
        unknown: float,
        by_due: bool = False,
        keep: Keep | None = None,
    ) -> None:
        """Begin at `since`, with the nodes `measured` of the replication whose seed words are `run`.

        `unknown` marks the departure of copies that may be from before the replayed past. With `by_due`, an answer
        counts if its query was due at `since` or later, else if it came in [0, horizon). `keep` takes the rows of the
        log; None: there is no log.
        """
        self._task, self._plan, self._since, self._unknown, self._by_due = task, task.plan, since, unknown, by_due
        self.counts, self.horizon, self._keep = [0] * 4, task.horizon, keep
        self._updates = process_set(self._plan, self._plan.update_clocks, run, events=EVENTS)
        self.ages = self._updates.age
        self._last_update = [-age for age in self.ages.tolist()]  # by source, as far as is known
        self._tally = Tally(task, self.ages, [run], task.questions)
        clock, row = self._plan.download_clocks
        rows = dict(zip(clock.tolist(), row.tolist(), strict=True)) if self._plan.shown_parts else {}
        self._row_downloaded = {q: rows[c] for q, c in enumerate(self._plan.processes.clock.tolist()) if c in rows}
        self.downloads = np.zeros(self._plan.sources.size)  # by source, of those with a row in every table
        self._log: LogWriter | None = None
        self._has_unlogged_failures = has_unlogged_failures(self._plan)
        self._purpose = self._plan.processes.purpose.tolist()
        self._sources: list[int] = self._plan.sources.tolist()
        self._rows = {
            i: self._plan.reachable_sources.of(i).tolist() for i in measured.tolist() if not self._plan.clients[i]
        }
        self._counted_rows = {i: self._plan.counted_sources.of(i).tolist() for i in measured.tolist()}
        # By node, the choices of views that look at it, each with all nodes that it looks at.
        self._viewers: dict[int, list[tuple[int, list[int]]]] = {}
        for choice, nodes in enumerate(self._plan.choices(run), self._plan.size):
            if all(i in self._rows for i in nodes.tolist()):
                self._rows[choice] = sorted({row for i in nodes.tolist() for row in self._rows[i]})
                for i in nodes.tolist():
                    self._viewers.setdefault(i, []).append((choice, nodes.tolist()))
        groups = [self._plan.groups.index(view.group) for view, _, n in self._plan.views for _ in range(n)]
        self._group = np.concatenate([self._plan.group, np.array(groups, np.int64)])
        # By node and row, the departure of the copy that it holds, and since when it holds that.
        self._held = {i: dict.fromkeys(rows, (NOT_HELD, since)) for i, rows in self._rows.items()}
        self._stretches: list[tuple[int, int, float, float, float]] = []  # row, node, begin, end, departure
        self._absent: list[tuple[int, int, float]] = []  # row, node, time
        self._answers: list[tuple[int, int, float, float, float]] = []  # row, node, instant, departure, any copy came

    def open(self, held: dict[int, Copies], at: float = 0.0) -> None:
        """Begin the log, if there is to be one, at the instant `at`, with the copies `held`, by replica's number.

        A row is written for each of them, and for the last update of each source.
        """
        if self._keep is None:
            return
        self._log = LogWriter(self._keep)
        for row, source in enumerate(self._sources):
            if source in self._counted_rows or not self._by_due:
                self._log.write(at, START, source, left=-float(self.ages[row]), source=source)
        for i, copies in held.items():
            self._log_copies(at, START, i, copies)

    def note_wake(self, now: float, planned: float, node: int, process: int) -> None:
        """Count the wake of a process by its purpose, and as a download of its source if that has a row of its own.

        A wake that was planned before time zero does not count.
        """
        if planned >= 0:
            self.counts[self._purpose[process]] += 1
            if process in self._row_downloaded:
                self.downloads[self._row_downloaded[process]] += 1

    def note_update(self, now: float, source: int) -> None:
        """Log an update of a source at `now`, if there is a log; it is not counted here."""
        if self._log:
            self._log.write(now, 0, source, source=source)

    def note_pull(self, planned: float, process: int, node: int, peer: int, goes: bool) -> None:
        """Log a pull of a process of `node` to `peer`, or that it failed to send one if not `goes`, if there is a log.

        Failed polls of recent contacts are left out if bandwidth is limited.
        """
        if self._log and goes:
            self._log.write(planned, self._purpose[process], node, peer)
        elif self._log and not self._has_unlogged_failures[process]:
            self._log.write(planned, FAILED, node)

    def note_reply(self, now: float, timed: TimedMessage, copies: Copies) -> None:
        """Log the copies that the reply `timed` brought, if there is a log."""
        self._log_copies(now, REPLY, timed.to, copies, timed.sender)

    def note_offer(self, now: float, node: int, peer: int, copies: Copies) -> None:
        """Log the copies that `peer`, the sender of a two-way poll, handed over to `node`, if there is a log."""
        self._log_copies(now, OFFER, node, copies, peer)

    def note_copies(self, now: float, node: int, copies: Copies) -> None:
        """Take the copies that a node holds from now on, which ends the stretches of those that it held before.

        Views that look at the node are updated with it. After the horizon nothing changes any more.
        """
        if now >= self.horizon:
            return
        held = self._held[node]
        for row, (departure_before, since) in held.items():
            departure = copies.get(self._sources[row], NOT_HELD)
            if departure != departure_before:
                self._end_stretch(row, node, departure_before, since, now)
                held[row] = departure, now
                for choice, nodes in self._viewers.get(node, ()):
                    self._update_view(now, choice, row, nodes)
        if len(self._stretches) >= STRETCHES_IN_HAND:
            self.add_finished(now)

    def _update_view(self, now: float, choice: int, row: int, nodes: list[int]) -> None:
        """Set the copy of the source in `row` that the choice of a view shows to the freshest one among `nodes`.

        If it changes, the stretch of the copy before ends now.
        """
        best = max((self._held[i][row][0] for i in nodes if row in self._held[i]), default=NOT_HELD)
        departure_before, since = self._held[choice][row]
        if best != departure_before:
            self._end_stretch(row, choice, departure_before, since, now)
            self._held[choice][row] = best, now

    def _end_stretch(self, row: int, node: int, departure: float, begin: float, end: float) -> None:
        """Keep a stretch from `begin` to `end`, or a time without a copy if the departure is NOT_HELD, for the sums.

        The part before time zero is left out.
        """
        begin = max(begin, 0.0)
        if end <= begin:
            return
        if departure == NOT_HELD:
            self._absent.append((row, node, end - begin))
        else:
            self._stretches.append(
                (row, node, begin, end, UNKNOWN if departure == self._unknown and self._task.sampled else departure)
            )

    def note_answer(self, now: float, due: float, client: int, copies: Copies) -> None:
        """Log the answer that a client's query, due at `due`, got at `now` with its copies; keep it for the sums.

        It is kept for every source for which the client counts, and only if its time counts (see `by_due`).
        """
        self._log_copies(now, ANSWER, client, copies)
        if self._since <= due if self._by_due else 0 <= now < self.horizon:
            rows = self._counted_rows[client]
            departures = [copies.get(self._sources[row], NOT_HELD) for row in rows]
            brought = float(any(departure != NOT_HELD for departure in departures))
            for row, departure in zip(rows, departures, strict=True):
                departure = UNKNOWN if departure == self._unknown and self._task.sampled else departure
                self._answers.append((row, client, now, departure, brought))

    def _log_copies(self, now: float, event: int, i: int, copies: Copies, peer: int = NO_ONE) -> None:
        """Log copies of node i, if there is a log, in a row per source for which the node counts.

        `event` is a place in EVENTS, and `peer` the node that sent them.
        """
        for row in self._counted_rows[i] if self._log else ():
            assert self._log
            departure = copies.get(self._sources[row], NOT_HELD)
            departure = UNKNOWN if departure == self._unknown else departure
            self._log.write(now, event, i, peer, logged_departure(departure), self._sources[row])

    def add_finished(self, now: float) -> None:
        """Add all stretches and answers that are over to the sums, after the updates up to `now`, and forget them."""
        if self._task.sampled:
            self._take_updates(now)
        row, node, begin, end, departure = _columns(self._stretches, 5)
        self._stretches.clear()
        if row.size:
            self._tally.add_stretches(row, self._cells(row, node), node, begin, end, departure)
        row, node, time = _columns(self._absent, 3)
        self._absent.clear()
        self._tally.sums.absent += np.bincount(self._cells(row, node), time, self._tally.sums.absent.size)
        row, node, at, departure, brought = _columns(self._answers, 5)
        self._answers.clear()
        cell, sums = self._cells(row, node), self._tally.sums
        sums.queries += np.bincount(cell, minlength=sums.queries.size)
        sums.answered_queries += np.bincount(cell[brought > 0], minlength=sums.queries.size)
        counts = (brought > 0) | (not self._plan.pulls_may_fail)
        self._tally.add_answers(row[counts], cell[counts], at[counts], departure[counts])

    def _take_updates(self, now: float) -> None:
        """Draw the updates up to now, and add them to the tally if freshness is sampled."""
        while self._updates.now < now:
            window = self._updates.window(now)
            new = [window.of(row) for row in range(len(self._sources))]
            self._last_update = [
                float(updates[-1]) if updates.size else instant
                for updates, instant in zip(new, self._last_update, strict=True)
            ]
            begin = np.append(0, np.cumsum([updates.size for updates in new]))
            everything = np.full(len(self._sources), -np.inf)
            if self._task.sampled:
                self._tally.add_updates(Updates(np.concatenate(new), begin), window.end, everything)

    def _cells(self, row: Ints, node: Ints) -> Ints:
        """Return, for each node, the cell in which it counts for the source in the row beside it."""
        return self._plan.cell_numbers(row, self._group[node])

    def sums(self, until: float) -> tuple[Sums, Shares]:
        """Return the sums up to the instant `until`, including stretches that still go on, and the joint freshness.

        The latter is the time with a fresh copy of any source, and of all, as (time, whole) by (row of the table,
        metric); empty if the network does not ask for it. The stretches go on afterwards, and are counted again by the
        next call.
        """
        self.add_finished(until)
        so_far, spans = self._tally.sums, len(self._tally.fresh_spans or ())
        self._tally.sums = so_far.plus(Sums.zero(so_far.fresh.size - 1, self._task.questions))
        for i, held in self._held.items():
            for row, (departure, begun) in held.items():
                self._end_stretch(row, i, departure, begun, until)
        self.add_finished(until)
        sums, self._tally.sums = self._tally.sums, so_far
        is_own = np.zeros(self._plan.size_with_choices, np.bool_)
        is_own[list(self._rows)] = True
        together = self._tally.joint_freshness(0, self._task.rows, is_own, max(self._since, 0.0), until)
        if self._tally.fresh_spans is not None:
            del self._tally.fresh_spans[spans:]
        return sums, together

    @cached_property
    def copies(self) -> Floats:
        """The number of copies for which these nodes count, by cell; views count if all their nodes are among these.

        Clients do not count.
        """
        pairs = [(row, i) for i, rows in self._counted_rows.items() if not self._plan.clients[i] for row in rows]
        pairs += [(row, i) for i, rows in self._rows.items() if i >= self._plan.size for row in rows]
        row, node = np.array(pairs, np.int64).reshape(-1, 2).T
        return np.bincount(self._cells(row, node), minlength=self._plan.cells[0].size).astype(float)

    def states(self, now: float, nodes: Ints) -> tuple[Ints, Ints]:
        """Return, as two arrays, how many copies each of these nodes holds at `now`, and how many of them are fresh.

        Clients hold none.
        """
        self._take_updates(now)
        copies_of_nodes = [
            [(row, departure) for row, (departure, _) in self._held.get(i, {}).items() if departure != NOT_HELD]
            for i in nodes.tolist()
        ]
        fresh = [sum(departure >= self._last_update[row] for row, departure in copies) for copies in copies_of_nodes]
        return np.array([len(copies) for copies in copies_of_nodes], np.int32), np.array(fresh, np.int32)

    def departures(self) -> list[tuple[int, int, float]]:
        """Return (row of the source, node, departure) of every copy that is held, without those of views."""
        held = [(row, i, departure) for i, rows in self._held.items() for row, (departure, _) in rows.items()]
        return [copy for copy in held if copy[1] < self._plan.size and copy[2] != NOT_HELD]

    @property
    def tally(self) -> Tally:
        """The tally of the replication: its sums of stretches and answers that are over, and the questions asked."""
        return self._tally

    def finish(self) -> None:
        """Hand on the rows of the log that are still to be handed on, if there is a log."""
        if self._log:
            self._log.flush()


def _columns(rows: Sequence[tuple[float, ...]], width: int) -> list[np.ndarray]:
    """Return rows of `width` numbers as so many columns, of which the first two hold whole numbers."""
    table = np.array(rows, float).reshape(-1, width).T
    return [column.astype(np.int64) if place < 2 else column for place, column in enumerate(table)]
