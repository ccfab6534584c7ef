"""Sets of renewals, scheduled processes and silent ones, with one window for all.

If all processes are renewals, this class adds nothing. Otherwise the windows of the renewals set begin and end, and
the instants of the scheduled processes are stored behind those of the renewals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import final

import numpy as np

from replnet.laws import Floats, Ints, Law
from replnet.processes.renewal import Renewals, Window, distinct_with_places
from replnet.processes.schedules import Events, Schedule
from replnet.processes.streams import Words


@final
class ProcessSet:
    """A set of processes: renewals, processes that share a schedule, and silent ones, with one window for all.

    Process p has laws[which[p]], stretched to rates[p], unless a schedule has it; at rate 0 it is silent. `now` is the
    end of the last window, and `age` the time at time zero since the last event of every process, infinite for silent
    ones.
    """

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
        allocate: Callable[[int], Floats] = np.empty,
        horizon: float = math.inf,
    ) -> None:
        """Take the laws and rates of processes, and what their streams go by: `run` + `names`, words, and the purposes.

        Each of `schedules` comes with the numbers of its processes, and with a word of a run for streams that are its
        own. `events` is how many a window should have, `allocate` returns memory for so many floats, and no window goes
        beyond `horizon`.
        """
        is_renewal = rates > 0
        for _, rows, _ in schedules:
            is_renewal[rows] = False
        renewals = np.flatnonzero(is_renewal)
        # Mostly all are renewals, and a list of all would be among the longest arrays there are.
        self._only_renewals, self._has_renewals = renewals.size == rates.size, renewals.size > 0
        self._renewal_rows = slice(None) if self._only_renewals else renewals
        kinds, which = distinct_with_places(which[renewals])
        laws = [laws[g] for g in kinds.tolist()]
        stretch = np.array([law.rate for law in laws])[which] / rates[renewals] if renewals.size else np.empty(0)
        self._renewals = Renewals(
            laws, which, run, names[renewals], purpose[renewals], events, allocate,
            None if (stretch == 1).all() else stretch, horizon,
        )  # fmt: skip
        active = [schedule for schedule in schedules if rates[schedule[1]].any()]
        self._tables = [(schedule.timetable(word, run + names[rows] - word), rows) for schedule, rows, word in active]
        self._length = events / float(rates.sum()) if rates.any() else math.inf
        self.now, self._serial = 0.0, np.zeros(rates.size, np.int64)
        self.age = self._with_infinities(self._renewals.age)
        for table, rows in self._tables:
            self.age[rows] = table.age

    def _with_infinities(self, of_renewals: Floats) -> Floats:
        """Return an array over all processes, with `of_renewals` for the renewals in order, and infinity for others."""
        if self._only_renewals:
            return of_renewals
        spread = np.full(self._serial.size, np.inf)
        spread[self._renewal_rows] = of_renewals
        return spread

    def window(self, horizon: float = math.inf) -> Window:
        """Return the window for the next span of time, at most up to `horizon`; the next begins where it ends."""
        begin, horizon = self.now, horizon if self._has_renewals else min(horizon, self.now + self._length)
        result = self._renewals.window(horizon)
        self.now = result.end
        if self._only_renewals:
            return result
        result = self._with_others(
            result, [table.between(begin, result.end) for table, _ in self._tables], self._serial
        )
        self._serial = result.serial + result.last - result.first
        return result

    def row_blocks(self, horizon: float, edges: Sequence[int]) -> Iterator[Window]:
        """Yield the next window in blocks of rows (processes), cut at the row numbers `edges`; only for renewals alone.

        It goes up to `horizon` at most. Each block is a window of its rows, and may reuse the memory of the one before.
        """
        assert self._only_renewals
        yield from self._renewals.row_blocks(horizon, edges)
        self.now = self._renewals.now

    def _with_others(self, window: Window, scheduled: list[Events], serial: Ints | None) -> Window:
        """Return the window of the renewals with the `scheduled` instants added; silent processes come at infinity.

        `scheduled` has the events of each timetable, and `serial` how many instants each process had before; if it is
        None the window ends at time zero, and instants count backwards.
        """
        points, total = [window.points, np.full(1, np.inf)], window.total
        offset, first, last = (np.zeros(self._serial.size, np.int64) for _ in range(3))
        offset[:] = window.points.size
        offset[self._renewal_rows], first[self._renewal_rows], last[self._renewal_rows] = (
            window.offset,
            window.first,
            window.last,
        )
        begin = window.points.size + 1
        for (instants, places), (_, rows) in zip(scheduled, self._tables, strict=True):
            count = np.bincount(places, minlength=rows.size)
            points.append(instants[np.argsort(places, kind="stable")])
            offset[rows], last[rows] = begin + np.cumsum(count) - count, count
            begin, total = begin + instants.size, total + instants.size
        return Window(
            window.start, window.end, np.concatenate(points), offset, first, last,
            first - last if serial is None else serial, total,
        )  # fmt: skip

    def past(self, depth: float) -> Window:
        """Return the window of all instants in [-depth, 0), each process in ascending order; nothing changes by it.

        Raises a FieldError if they are too many.
        """
        window = self._renewals.past(depth)
        if self._only_renewals:
            return window
        return self._with_others(window, [table.between(-depth, 0.0) for table, _ in self._tables], None)

    def past_row_blocks(self, depth: float, edges: Sequence[int]) -> Iterator[Window]:
        """Yield the window of all instants in [-depth, 0) in blocks of rows (processes), cut at the rows `edges`.

        Only for sets of renewals alone; each block is a window of its rows. Raises a FieldError if instants are too
        many.
        """
        assert self._only_renewals
        return self._renewals.past_row_blocks(depth, edges)

    @property
    def has_row_blocks(self) -> bool:
        """Whether windows are available in blocks of rows: if all processes are renewals with independent intervals."""
        return self._only_renewals and not self._renewals.joint

    @property
    def spent(self) -> Ints:
        """The number of instants of every process in windows so far, as an array; it grows with each window."""
        return self._renewals.spent if self._only_renewals else self._serial

    def next_instants(self) -> Floats:
        """Return the first instant of every process that no window had yet; infinite if scheduled or silent."""
        return self._with_infinities(self._renewals.next_instants())

    def before(self, number: Ints) -> Floats:
        """Return how long before time zero the number[p]-th last event of every process p was; 1 is the last.

        Only for renewals; others get their age, the time since the last event.
        """
        ages = self.age.copy()
        ages[self._renewal_rows] = self._renewals.before(number[self._renewal_rows])
        return ages
