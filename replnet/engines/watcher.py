"""What is to be seen of nodes that are run one event at a time: what they hold and from when to when, and their log.

Updates are planned, so nobody need be told of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple, final

import numpy as np

from replnet.engines.log import ANSWER, FAILED, NO_ONE, OFFER, REPLY, START, Keep, Scribe, undecided
from replnet.engines.path import Shares, Sums, Task
from replnet.engines.runner import Parcel, clockwork
from replnet.engines.tally import UNKNOWN, Tally
from replnet.laws.law import Floats, Ints
from replnet.laws.processes.streams import Words
from replnet.measure.stretches import Updates
from replnet.network.nodes import Copies

BATCH = 1 << 16  # stretches in hand before they are added up


class NodeStates(NamedTuple):
    """What nodes have at an instant, in the order of their numbers."""

    held: Ints  # copies; clients hold none
    fresh: Ints  # of these
    waiting: Floats  # messages in line where bandwidth is limited


@final
class Watcher:
    """Of the nodes `own`, from `since` on; what happens before time zero does not count."""

    def __init__(
        self,
        task: Task,
        run: Words,
        own: Ints,
        since: float,
        unknown: float,
        by_due: bool = False,
        keep: Keep | None = None,
    ) -> None:
        """`unknown` is said of copies that may be from before the replayed past; answers count `by_due` for when they
        were due, and else for when they come.
        """
        self._task, self._plan, self._since, self._unknown, self._by_due = task, task.plan, since, unknown, by_due
        self.counts, self.horizon, self._keep = [0] * 4, task.horizon, keep
        self._updates = clockwork(self._plan, run, np.arange(self._plan.sources.size))
        self.ages = self._updates.age
        self._changed = [-age for age in self.ages.tolist()]  # when every source last did, as far as is known
        self._tally = Tally(task, self.ages, [run], task.questions)
        clock, row = self._plan.fetching
        rows = dict(zip(clock.tolist(), row.tolist(), strict=True)) if self._plan.shown else {}
        self._fetches = {q: rows[c] for q, c in enumerate(self._plan.processes.clock.tolist()) if c in rows}
        self.downloads = np.zeros(self._plan.sources.size)  # by source, of those that have rows of their own
        self._scribe: Scribe | None = None
        self._undecided, self._purpose = undecided(self._plan), self._plan.processes.purpose.tolist()
        self._sources: list[int] = self._plan.sources.tolist()
        self._rows = {i: self._plan.heard.of(i).tolist() for i in own.tolist() if not self._plan.clients[i]}
        self._counts_for = {i: self._plan.counted.of(i).tolist() for i in own.tolist()}
        self._looked: dict[
            int, list[tuple[int, list[int]]]
        ] = {}  # by node, choices of views that look at it, and at whom
        for choice, nodes in enumerate(self._plan.chosen(run), self._plan.size):
            if all(i in self._rows for i in nodes.tolist()):
                self._rows[choice] = sorted({row for i in nodes.tolist() for row in self._rows[i]})
                for i in nodes.tolist():
                    self._looked.setdefault(i, []).append((choice, nodes.tolist()))
        groups = [self._plan.groups.index(view.group) for view, _, n in self._plan.views for _ in range(n)]
        self._group = np.concatenate([self._plan.group, np.array(groups, np.int64)])
        # By node and row, when what it holds left the source, and since when it holds that.
        self._held = {i: dict.fromkeys(rows, (math.nan, since)) for i, rows in self._rows.items()}
        self._stretches: list[tuple[int, int, float, float, float]] = []  # row, node, begin, end, left
        self._absent: list[tuple[int, int, float]] = []  # row, node, time
        self._answers: list[tuple[int, int, float, float]] = []  # row, node, at, left

    def open(self, held: dict[int, Copies], at: float = 0.0) -> None:
        """From here on there is a log, which begins with what there is."""
        if self._keep is None:
            return
        self._scribe = Scribe(self._keep)
        self._updates_since = at
        for row, source in enumerate(self._sources):
            if source in self._counts_for or not self._by_due:
                self._scribe.note(at, START, source, left=-float(self.ages[row]), source=source)
        for i, copies in held.items():
            self._note_copies(at, START, i, copies)

    def woke(self, now: float, planned: float, node: int, process: int) -> None:
        if planned >= 0:
            self.counts[self._purpose[process]] += 1
            if process in self._fetches:
                self.downloads[self._fetches[process]] += 1

    def updated(self, now: float, source: int) -> None:
        if self._scribe:
            self._scribe.note(now, 0, source, source=source)

    def pulled(self, planned: float, process: int, node: int, peer: int, goes: bool) -> None:
        if self._scribe and goes:
            self._scribe.note(planned, self._purpose[process], node, peer)
        elif self._scribe and not self._undecided[process]:
            self._scribe.note(planned, FAILED, node)

    def replied(self, now: float, parcel: Parcel, copies: Copies) -> None:
        self._note_copies(now, REPLY, parcel.to, copies, parcel.sender)

    def offered(self, now: float, node: int, peer: int, copies: Copies) -> None:
        self._note_copies(now, OFFER, node, copies, peer)

    def holds(self, now: float, node: int, copies: Copies) -> None:
        """What comes after the horizon counts no more."""
        if now >= self.horizon:
            return
        held = self._held[node]
        for row, (had, since) in held.items():
            left = copies.get(self._sources[row], math.nan)
            if left != had and not (left != left and had != had):
                self._close(row, node, had, since, now)
                held[row] = left, now
                for choice, others in self._looked.get(node, ()):
                    self._look(now, choice, row, others)
        if len(self._stretches) >= BATCH:
            self.settle(now)

    def _look(self, now: float, choice: int, row: int, nodes: list[int]) -> None:
        """What one has who looks at all of these."""
        there = [self._held[i][row][0] for i in nodes if row in self._held[i]]
        best = max((left for left in there if left == left), default=math.nan)
        had, since = self._held[choice][row]
        if best != had:
            self._close(row, choice, had, since, now)
            self._held[choice][row] = best, now

    def _close(self, row: int, node: int, left: float, begin: float, end: float) -> None:
        begin = max(begin, 0.0)
        if end <= begin:
            return
        if left != left:
            self._absent.append((row, node, end - begin))
        else:
            self._stretches.append(
                (row, node, begin, end, UNKNOWN if left == self._unknown and self._task.sampled else left)
            )

    def answered(self, now: float, due: float, client: int, copies: Copies) -> None:
        self._note_copies(now, ANSWER, client, copies)
        if self._since <= due if self._by_due else 0 <= now < self.horizon:
            for row in self._counts_for[client]:
                left = copies.get(self._sources[row], math.nan)
                self._answers.append(
                    (row, client, now, UNKNOWN if left == self._unknown and self._task.sampled else left)
                )

    def _note_copies(self, now: float, event: int, i: int, copies: Copies, peer: int = NO_ONE) -> None:
        """A row per source for which the node counts."""
        for row in self._counts_for[i] if self._scribe else ():
            assert self._scribe
            left = copies.get(self._sources[row], math.nan)
            self._scribe.note(now, event, i, peer, -math.inf if left == self._unknown else left, self._sources[row])

    def settle(self, now: float) -> None:
        """Account for what is over by now."""
        if self._task.sampled:
            self._know(now)
        row, node, begin, end, left = _columns(self._stretches, 5)
        self._stretches.clear()
        if row.size:
            self._tally.stretches(row, self._cells(row, node), node, begin, end, left)
        row, node, time = _columns(self._absent, 3)
        self._absent.clear()
        self._tally.sums.absent += np.bincount(self._cells(row, node), time, self._tally.sums.absent.size)
        row, node, at, left = _columns(self._answers, 4)
        self._answers.clear()
        self._tally.answered(row, self._cells(row, node), at, left)

    def _know(self, now: float) -> None:
        """All updates up to now."""
        while self._updates.now < now:
            window = self._updates.window(now)
            new = [window.of(row) for row in range(len(self._sources))]
            self._changed = [float(one[-1]) if one.size else at for one, at in zip(new, self._changed, strict=True)]
            begin = np.append(0, np.cumsum([one.size for one in new]))
            everything = np.full(len(self._sources), -np.inf)
            if self._task.sampled:
                self._tally.changed(Updates(np.concatenate(new), begin), window.end, everything)

    def _cells(self, row: Ints, node: Ints) -> Ints:
        return self._plan.cell(row, self._group[node])

    def sums(self, until: float) -> tuple[Sums, Shares]:
        """As of then: what is over, and what goes on; and what was fresh together."""
        self.settle(until)
        so_far, spans = self._tally.sums, len(self._tally.spans or ())
        self._tally.sums = so_far.plus(Sums.zero(so_far.fresh.size - 1, self._task.questions))
        for i, held in self._held.items():
            for row, (left, begun) in held.items():
                self._close(row, i, left, begun, until)
        self.settle(until)
        found, self._tally.sums = self._tally.sums, so_far
        own = np.zeros(self._plan.everyone, np.bool_)
        own[list(self._rows)] = True
        together = self._tally.together(0, self._task.rows, own, max(self._since, 0.0), until)
        if self._tally.spans is not None:
            del self._tally.spans[spans:]
        return found, together

    @cached_property
    def copies(self) -> Floats:
        """How many copies of every cell are among these nodes."""
        pairs = [(row, i) for i, rows in self._counts_for.items() if not self._plan.clients[i] for row in rows]
        pairs += [(row, i) for i, rows in self._rows.items() if i >= self._plan.size for row in rows]
        row, node = np.array(pairs, np.int64).reshape(-1, 2).T
        return np.bincount(self._cells(row, node), minlength=self._plan.cells[0].size).astype(float)

    def states(self, now: float, own: Ints) -> tuple[Ints, Ints]:
        """How many copies each of these nodes holds, and how many of them are fresh."""
        self._know(now)
        there = [[(row, at) for row, (at, _) in self._held.get(i, {}).items() if at == at] for i in own.tolist()]
        fresh = [sum(at >= self._changed[row] for row, at in copies) for copies in there]
        return np.array([len(copies) for copies in there], np.int32), np.array(fresh, np.int32)

    def left(self) -> list[tuple[int, int, float]]:
        """(row, node, when it left) of every copy that is held."""
        held = [(row, i, left) for i, rows in self._held.items() for row, (left, _) in rows.items()]
        return [one for one in held if one[1] < self._plan.size and one[2] == one[2]]

    @property
    def tally(self) -> Tally:
        return self._tally

    def finish(self) -> None:
        if self._scribe:
            self._scribe.hand_on()


def _columns(rows: Sequence[tuple[float, ...]], width: int) -> list[np.ndarray]:
    """Rows of numbers by column; the first two are whole."""
    table = np.array(rows, float).reshape(-1, width).T
    return [column.astype(np.int64) if at < 2 else column for at, column in enumerate(table)]
