"""Renewals, scheduled processes and silent ones side by side, with one window for all.

Where there are renewals alone these are all there is. Otherwise their windows say from when to when, and the instants
of the scheduled processes are put behind theirs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import final

import numpy as np

from replnet.laws.law import Floats, Ints, Law
from replnet.laws.processes.renewal import Renewals, Window, used
from replnet.laws.processes.schedules import Events, Schedule
from replnet.laws.processes.streams import Words


@final
class Clockwork:
    """Process p has laws[which[p]], stretched to rates[p], unless a schedule has it, or it is silent at rate 0."""

    def __init__(
        self,
        laws: Sequence[Law],
        which: Ints,
        rates: Floats,
        run: Words,
        names: Words,
        purpose: Ints,
        schedules: Sequence[tuple[Schedule, Ints, Words]] = (),
        events: int = 1 << 15,
        room_for: Callable[[int], Floats] = np.empty,
        horizon: float = math.inf,
    ) -> None:
        """Streams are named by the sum of the words of `run` and of `names`.

        `schedules` come with the processes that they have, and with a word of a run for chance that is theirs alone.
        `events` is the size of a window to aim at; none goes beyond `horizon`.
        """
        free = rates > 0
        for _, rows, _ in schedules:
            free[rows] = False
        mine = np.flatnonzero(free)
        # Mostly these are all, of whom a list would be one of the longest there are.
        self._plain, self._moving = mine.size == rates.size, mine.size > 0
        self._own = slice(None) if self._plain else mine
        kinds, which = used(which[mine])
        laws = [laws[g] for g in kinds.tolist()]
        stretch = np.array([law.rate for law in laws])[which] / rates[mine] if mine.size else np.empty(0)
        self._renewals = Renewals(
            laws, which, run, names[mine], purpose[mine], events, room_for,
            None if (stretch == 1).all() else stretch, horizon,
        )  # fmt: skip
        moving = [schedule for schedule in schedules if rates[schedule[1]].any()]
        self._tables = [(of.timetable(own, run + names[rows] - own), rows) for of, rows, own in moving]
        self._length = events / float(rates.sum()) if rates.any() else math.inf
        self.now, self._serial = 0.0, np.zeros(rates.size, np.int64)
        self.age = self._of_all(self._renewals.age)
        for table, rows in self._tables:
            self.age[rows] = table.age

    def _of_all(self, of_renewals: Floats) -> Floats:
        """With infinity for all others."""
        if self._plain:
            return of_renewals
        found = np.full(self._serial.size, np.inf)
        found[self._own] = of_renewals
        return found

    def window(self, horizon: float = math.inf) -> Window:
        """The next stretch of time, at most up to `horizon`."""
        begin, horizon = self.now, horizon if self._moving else min(horizon, self.now + self._length)
        made = self._renewals.window(horizon)
        self.now = made.end
        if self._plain:
            return made
        made = self._with_others(made, [table.between(begin, made.end) for table, _ in self._tables], self._serial)
        self._serial = made.serial + made.last - made.first
        return made

    def lots(self, horizon: float, edges: Sequence[int]) -> Iterator[Window]:
        """The same in lots of rows, as renewals have it, where there are renewals alone."""
        assert self._plain
        yield from self._renewals.lots(horizon, edges)
        self.now = self._renewals.now

    def _with_others(self, made: Window, events: list[Events], serial: Ints | None) -> Window:
        """The window of the renewals with the instants of the others; a silent process has its next one at infinity."""
        points, total = [made.points, np.full(1, np.inf)], made.total
        offset, first, last = (np.zeros(self._serial.size, np.int64) for _ in range(3))
        offset[:] = made.points.size
        offset[self._own], first[self._own], last[self._own] = made.offset, made.first, made.last
        begin = made.points.size + 1
        for (at, who), (_, rows) in zip(events, self._tables, strict=True):
            count = np.bincount(who, minlength=rows.size)
            points.append(at[np.argsort(who, kind="stable")])
            offset[rows], last[rows] = begin + np.cumsum(count) - count, count
            begin, total = begin + at.size, total + at.size
        return Window(
            made.start, made.end, np.concatenate(points), offset, first, last,
            first - last if serial is None else serial, total,
        )  # fmt: skip

    def past(self, depth: float) -> Window:
        """All instants in [-depth, 0), each process in ascending order."""
        made = self._renewals.past(depth)
        if self._plain:
            return made
        return self._with_others(made, [table.between(-depth, 0.0) for table, _ in self._tables], None)

    def past_lots(self, depth: float, edges: Sequence[int]) -> Iterator[Window]:
        """The same in lots of rows."""
        assert self._plain
        return self._renewals.past_lots(depth, edges)

    @property
    def parted(self) -> bool:
        """Whether windows can be had in lots of rows."""
        return self._plain and not self._renewals.joint

    @property
    def spent(self) -> Ints:
        """How many instants of every process windows have given out so far."""
        return self._renewals.spent if self._plain else self._serial

    def next_instants(self) -> Floats:
        """The first instant of every process that is not in a window yet; infinite where it is scheduled or silent."""
        return self._of_all(self._renewals.next_instants())

    def before(self, number: Ints) -> Floats:
        """How long ago, at time zero, the number-th last event of every process was, of those that are renewals."""
        found = self.age.copy()
        found[self._own] = self._renewals.before(number[self._own])
        return found
