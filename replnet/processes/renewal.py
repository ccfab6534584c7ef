"""Processes in equilibrium, generated outwards from time zero.

At time zero a renewal process has an age a and a residual r that belong to
one interval. a follows the law of the age; given a, the interval that covers
it solves hazard(a + r) = hazard(a) + e. (Drawing r alone would lose the link
between the two and bias every start.) From there the future runs forwards and
the past backwards, each in independent intervals:

    ... , -a - x2, -a - x1, -a, | r, r + y1, r + y1 + y2, ...               (1)

so the past can be looked up as far back as a start needs it, without touching
the future. Processes whose intervals depend on one another do the same in their
own way (order.py).

`Renewals` holds many processes at once. It keeps a stock of coming instants per process and refills it in blocks,
one vectorised draw per law; the n-th interval takes the n-th word of a stream, so the instants do not depend on the
sizes of blocks or windows. Of very many processes it keeps only the next instant and how many there were before:
their windows come in blocks of rows (processes), each with a stock that is drawn for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, final

import numpy as np

from replnet.laws import Constant, Floats, Ints, Law
from replnet.processes.order import IntervalGenerator, Ordered, compiled_generator
from replnet.processes.streams import FUTURE, PAST, START, ProcessStreams, Words, exponentials
from replnet.text import FieldError

# Intervals drawn at once: few enough for the cache, and for their temporary arrays to stay under
# 128 KiB; the system gives larger ones as fresh pages every time.
CHUNK = 15_000
MOST_INSTANTS = 50_000_000  # to look up at once, or in a burst: 400 MB, and about a second
BURST_FACTOR = 100  # a burst has more than so many times as many events as expected
INSTANTS_PER_ROW = 16  # instants that a row should bring to a window, to be worth its visit
PAST_INSTANTS_PER_ROW = 32  # that may be looked up, however many rows there are
INSTANTS_PER_BLOCK_ROW = 64  # in a window that comes in blocks, each of which takes some preparation
LARGEST_WINDOW = 1 << 25  # instants, however many rows there are
MOST_SPARE = 1 << 20  # numbers that a scratch array has room for beyond its size
ROWS_LOOKED_UP_AT_ONCE = 1 << 11  # about as many as CHUNK allows


@dataclass(frozen=True)
class Window:
    """The instants of every process p in [start, end): points[offset[p] + first[p] : offset[p] + last[p]].

    Behind those of process p, at points[offset[p] + last[p]], is its next one; serial[p] counts those before, and
    `total` those in the window, of all processes.
    """

    start: float
    end: float
    points: Floats
    offset: Ints
    first: Ints
    last: Ints
    serial: Ints  # how many instants of process p came before first[p]
    total: int

    def of(self, process: int) -> Floats:
        """Return the instants of the process with this number in the window, in ascending order."""
        o = self.offset[process]
        return self.points[o + self.first[process] : o + self.last[process]]

    def parts(self, most: float) -> Iterator[Window]:
        """Yield this window cut into windows over equal spans of time, with about `most` instants or fewer in each.

        They share its instants, which are not copied.
        """
        from replnet.processes.kernels import find_window_ends

        begin, first, count = self.start, self.first, max(math.ceil(self.total / most), 1)
        for end in np.linspace(self.start, self.end, count + 1)[1:].tolist() if count > 1 else ():
            last = np.empty_like(first)
            total = find_window_ends(end, self.offset, first, self.last, self.points, last)
            serial = self.serial + (first - self.first)
            yield replace(self, start=begin, end=end, first=first, last=last, serial=serial, total=total)
            begin, first = end, last
        if count == 1:
            yield self


def distinct_with_places(numbers: Ints) -> tuple[Ints, Ints]:
    """Return the distinct `numbers` in ascending order, and the place of each number among them.

    Numbers are 0 or more, and none is large: memory grows with the largest.
    """
    is_present = np.bincount(numbers) > 0
    return np.flatnonzero(is_present), (np.cumsum(is_present) - 1)[numbers]


class Renewals:
    """Stationary processes of given laws, with a random stream each, whose instants come in windows of time.

    `age` is the time at time zero since the last event of each, `now` the end of the last window, and `length` that of
    a window in time.
    """

    def __init__(
        self,
        laws: Sequence[Law],
        which: Ints,
        run: Words,
        names: Words,
        purpose: Ints,
        events: int = 1 << 15,
        allocate: Callable[[int], Floats] = np.empty,
        stretch: Floats | None = None,
        horizon: float = math.inf,
    ) -> None:
        """Start the processes at time zero: process p follows laws[which[p]], its intervals `stretch`[p] times as long.

        Without a `stretch`, they are as the law says. Streams go by the word `run`, the words of the processes'
        `names`, and their purposes. `events` is how many a window should have, `allocate` returns memory for so many
        floats; no window goes beyond `horizon`.
        """
        self._processes, self._stretch = ProcessStreams(run, names, purpose), stretch
        rates = np.array([law.rate for law in laws])[which]
        if stretch is not None:
            rates, given_laws = rates / stretch, laws
            # Processes of one law are drawn together if they are about as frequent, in blocks of one length.
            octave = np.frexp(rates)[1].astype(np.int64)
            lowest, octaves = octave.min(), int(np.ptp(octave)) + 1
            kinds, which = distinct_with_places(which * octaves + octave - lowest)
            laws = [given_laws[g] for g in (kinds // octaves).tolist()]
        self._laws = laws
        ends = np.cumsum(np.bincount(which, minlength=len(laws)))
        self._members = np.split(np.argsort(which, kind="stable").astype(np.int32), ends[:-1])[: len(laws)]
        self._rate = np.array([float(rates[rows].max(initial=0.0)) for rows in self._members])
        self._total = total = float(rates.sum())
        # A draw of a law costs some microseconds and the visit of a row some nanoseconds, whatever they bring.
        self.length = (
            max(events, min(INSTANTS_PER_ROW * which.size, LARGEST_WINDOW), 2048 * len(laws)) / total
            if total
            else math.inf
        )
        self._start()
        self._words, self._allocate = self._processes.streams(FUTURE), allocate
        self._serial = np.zeros(which.size, np.int64)
        self._stock: _Stock | None = None
        self.now, self._count_given, self._room_factor, self._horizon = 0.0, 0, 1, horizon

    def _start(self) -> None:
        """Draw age and next instant of every process, at time zero, into `age` and `_next`."""
        self.age, self._next = np.empty(self._processes.names.size), np.empty(self._processes.names.size)
        # Generators for processes whose intervals depend on one another; None for renewals.
        self._dependent = [
            law.start_processes(self._processes.of(rows)) if isinstance(law, Ordered) else None
            for law, rows in zip(self._laws, self._members, strict=True)
        ]
        for law, rows, process in zip(self._laws, self._members, self._dependent, strict=True):
            if process is not None:
                self.age[rows], self._next[rows] = process.age, process.residual
                continue
            for begin in range(0, rows.size, CHUNK):
                block = rows[begin : begin + CHUNK]
                start = self._processes.of(block).streams(START)
                age, interval = law.around_zero(exponentials(start, 0), exponentials(start, 1))
                stretch = 1.0 if self._stretch is None else self._stretch[block]
                self.age[block], self._next[block] = age * stretch, np.maximum(interval - age, 0.0) * stretch

    @property
    def joint(self) -> bool:
        """Whether the intervals of some processes depend on one another, so that they cannot be drawn again."""
        return any(self._dependent)

    def window(self, horizon: float = math.inf) -> Window:
        """Return the window for the next span of time, at most up to `horizon`; the next begins where it ends.

        Raise a FieldError if there were more than 50 million events so far, and over 100 times as many as expected.
        """
        if self._stock is None:
            self._stock = self._new_stock(0, self.age.size, min(self.length, self._horizon))
        window = self._check_burst(self._stock.window(self.now, min(self.now + self.length, horizon)))
        self.now = window.end
        return window

    def row_blocks(self, horizon: float, edges: Sequence[int]) -> Iterator[Window]:
        """Yield the next window in blocks of rows (processes), from one of the ascending `edges` to the next or less.

        Each block is a window of its rows, and may reuse the memory of the one before. No window must have been taken
        by `window`, and no process may have intervals that depend on one another.
        """
        assert self._stock is None, "intervals in stock cannot be drawn again"
        assert not self.joint, "dependent intervals cannot be drawn again"
        length = max(self.length, min(INSTANTS_PER_BLOCK_ROW * self.age.size, LARGEST_WINDOW) / self._total)
        end = min(self.now + length, horizon)
        blocks = list(pairwise(edges))[::-1]
        while blocks:
            low, high = blocks.pop()
            before, stock = self._serial[low:high].copy(), self._new_stock(low, high, end - self.now)
            window = stock.window(self.now, end)
            if window.end == end:
                yield self._check_burst(window)
                self._next[low:high] = stock.next_instants()
                continue
            # A burst; it is drawn again, with more room, and where that is too much, in two blocks.
            self._serial[low:high] = before
            if 0 < low < high - 1 and (high - low) * INSTANTS_PER_BLOCK_ROW * self._room_factor > MOST_INSTANTS:
                blocks += [((low + high) // 2, high), (low, (low + high) // 2)]
            else:
                self._room_factor *= 2
                blocks.append((low, high))
        self.now = end

    def _new_stock(self, low: int, high: int, length: float) -> _Stock:
        """Return a stock of coming instants of the rows from `low` up to `high`, for windows that are `length` long."""
        rows, members = slice(low, high), [law_rows - np.int32(low) for law_rows in self._members_within(low, high)]
        return _Stock(
            self._laws, members, self._interval_drawer(rows), length * self._rate, self._room_factor, self._next[rows],
            self._serial[rows], self._allocate,
        )  # fmt: skip

    def _check_burst(self, window: Window) -> Window:
        """Return the window, and count its instants; raise a FieldError if there were far more so far than expected.

        That is over 50 million, and over 100 times as many as expected.
        """
        self._count_given += window.total
        if self._count_given > max(MOST_INSTANTS, BURST_FACTOR * self._total * window.end):
            self._refuse(window.end, self._count_given)
        return window

    def _members_within(self, low: int, high: int) -> list[Ints]:
        """Return, for every law, the numbers of its processes from `low` up to `high`, in ascending order."""
        ends = np.array([low, high], np.int32)  # of the searched arrays' type, as converting these would take long
        return [law_rows[slice(*np.searchsorted(law_rows, ends))] for law_rows in self._members]

    def _interval_drawer(self, slice_of_rows: slice) -> IntervalDrawer:
        """Return a function that draws the coming intervals of the rows in a slice, which count from its begin."""
        key, gamma = (words[slice_of_rows] for words in self._words)
        stretch = None if self._stretch is None else self._stretch[slice_of_rows]

        def draw_next(g: int, rows: Ints, spent: Ints, count: int) -> Floats:
            from replnet.processes.kernels import fill_uniforms

            if process := self._dependent[g]:
                intervals = process.forwards(np.searchsorted(self._members[g], rows), count)
            elif isinstance(law := self._laws[g], Constant):  # needs no random words
                intervals = np.full((rows.size, count), law.period)
            else:
                intervals = np.empty((rows.size, count))
                fill_uniforms(key, gamma, spent, rows, intervals)
                intervals = draw_intervals(law, intervals)
            return intervals if stretch is None else intervals * stretch[rows][:, None]

        return draw_next

    @property
    def spent(self) -> Ints:
        """The number of instants of every process in windows so far, as an array; it grows with each window."""
        return self._serial

    def next_instants(self) -> Floats:
        """Return the first instant of every process that is not in a window yet, as an array."""
        return self._stock.next_instants() if self._stock else self._next

    def _stretch_intervals(self, intervals: Floats, rows: Ints) -> Floats:
        """Return intervals, an array with a line for each of `rows`, times how much these processes are stretched."""
        return intervals if self._stretch is None else intervals * self._stretch[rows][:, None]

    def before(self, number: Ints) -> Floats:
        """Return how long before time zero the number[p]-th last event of every process p was; 1 is the last."""
        ages = self.age.copy()
        for g, members in enumerate(self._members):
            if members.size and (most_back := int(number[members].max())) > 1:
                waits = self._stretch_intervals(
                    self._past_generator(g, members)(np.arange(members.size), most_back - 1), members
                )
                ago = ages[members][:, None] + np.cumsum(waits, axis=1)
                is_earlier = number[members] > 1
                ages[members[is_earlier]] = ago[is_earlier, number[members][is_earlier] - 2]
        return ages

    def _past_generator(self, g: int, members: Ints) -> IntervalGenerator:
        """Return a generator of the intervals before the age, latest first, of `members`, which follow the g-th law.

        It takes places among `members`, and a count. The intervals are those of the law itself, still to be stretched
        by process (`_stretch_intervals`).
        """
        from replnet.processes.kernels import fill_uniforms

        if process := self._dependent[g]:
            return process.start_backwards()
        next_uniforms = compiled_generator(fill_uniforms, self._processes.of(members).streams(PAST))
        return lambda rows, count: draw_intervals(self._laws[g], next_uniforms(rows, count))

    def past(self, depth: float) -> Window:
        """Return the window of all instants in [-depth, 0), each process in ascending order; nothing changes by it.

        Raise a FieldError if they are more than `most_past_instants`.
        """
        (window,) = self.past_row_blocks(depth, [0, self.age.size])
        return window

    def past_row_blocks(self, depth: float, edges: Sequence[int]) -> Iterator[Window]:
        """Yield the window of all instants in [-depth, 0) in blocks of rows (processes), from one edge to the next.

        Each block is a window of its rows. Raise a FieldError if instants are more than `most_past_instants`.
        """
        from replnet.processes.kernels import write_in_order

        assert len(edges) == 2 or not self.joint, "dependent intervals cannot be drawn again"
        if (expected := depth * self._total) > most_past_instants(self.age.size):
            self._refuse(depth, expected)
        for low, high in pairwise(edges):
            counts = np.zeros(high - low, np.int64)
            blocks = [block for g in range(len(self._laws)) for block in self._descending_blocks(g, depth, low, counts)]
            ends = np.cumsum(counts + 1) - 1
            points, place = np.empty(int(ends[-1]) + 1 if ends.size else 0), ends.copy()
            while blocks:
                write_in_order(*blocks.pop(0), place, points)
            points[ends] = self._next[low:high]
            zero = np.zeros_like(counts)
            yield Window(-depth, 0.0, points, ends - counts, zero, counts, -counts, int(counts.sum()))

    def _descending_blocks(self, g: int, depth: float, low: int, counts: Ints) -> Iterator[tuple[Floats, Ints, Ints]]:
        """Yield the instants of the g-th law in [-depth, 0), in blocks: instants, their rows, and how many of each row.

        In a block, instants come row by row, the latest first. Rows (processes) count from `low`; `counts` has an
        element for each, to which the number of its instants is added. A block overdraws; the surplus is discarded.
        """
        from replnet.processes.kernels import step_back

        members, drawn = self._members_within(low, low + counts.size)[g], 0
        generate, most = self._past_generator(g, members), most_past_instants(self.age.size)
        for begin in range(0, members.size, ROWS_LOOKED_UP_AT_ONCE):
            unfinished = np.arange(begin, min(begin + ROWS_LOOKED_UP_AT_ONCE, members.size))
            last, intervals, count_drawn = np.zeros(unfinished.size), self.age[members[unfinished]][:, None], 1
            while True:
                times, block_counts = np.empty(intervals.size), np.empty(unfinished.size, np.int64)
                total = step_back(intervals, -depth, last, times, block_counts)
                yield times[:total].copy(), members[unfinished] - low, block_counts
                counts[members[unfinished] - low] += block_counts
                continues = last >= -depth
                unfinished, last = unfinished[continues], last[continues]
                if not unfinished.size:
                    break
                missing = (last.max() + depth) * self._rate[g]
                # As many again as there are, for bursts, in which intervals are far below their mean.
                block = int(min(max(missing + 2 * math.sqrt(missing) + 8, count_drawn), 4096))
                count_drawn, drawn = count_drawn + block, drawn + block * unfinished.size
                if drawn > most:
                    self._refuse(depth, drawn)
                intervals = self._stretch_intervals(generate(unfinished, block), members[unfinished])

    def _refuse(self, length: float, events: float) -> None:
        """Raise a FieldError: the laws had so many `events` in a span of this `length` that they take too long."""
        laws = " and ".join(map(str, self._laws))
        wrong = f"{laws} had {events:.2g} events in {length:.3g} units of time, which is too many to simulate"
        raise FieldError("law", wrong, f"lighter tails, or fewer events: {MOST_INSTANTS:,} at most")


def most_past_instants(rows: int) -> int:
    """Return how many past instants of so many processes may be looked up at once, in all; at least 50 million."""
    return max(MOST_INSTANTS, PAST_INSTANTS_PER_ROW * rows)


IntervalDrawer = Callable[[int, Ints, Ints, int], Floats]
"""A function of g, rows, counts and a number: it draws so many next intervals of rows of the g-th law.

Each row has taken counts[row] random words before, to which the function adds the number if it takes more.
"""


@final
class _Stock:
    """Coming instants of many processes: those of row p are points[offset[p] + head[p] : offset[p] + tail[p]].

    It draws more as windows need them.
    """

    def __init__(
        self, laws: Sequence[Law], members: Sequence[Ints], draw: IntervalDrawer, expected: Floats, room_factor: int,
        first: Floats, serial: Ints, allocate: Callable[[int], Floats],
    ) -> None:  # fmt: skip
        """Begin a stock with the next instant of every row, `first`; rows members[g] have law g.

        Their intervals are drawn by `draw`. Each row of law g has `expected`[g] instants in a window, and `room_factor`
        times as much room as is likely enough, of memory that `allocate` returns. `serial` counts the instants before
        of every row, and is kept up to date.
        """
        self._laws, self._members, self._draw, self._serial = laws, members, draw, serial
        first_block = np.minimum(np.ceil(expected + 1), CHUNK)
        # Later blocks are small: with many rows, little is missing after the first.
        later_block = np.where(first_block < CHUNK, np.ceil(2 * np.sqrt(expected) + 1), CHUNK)
        self._blocks = np.column_stack([first_block, np.minimum(later_block, CHUNK)]).astype(np.int64).tolist()
        # Little more than is likely needed: with many rows, it is their memory that costs.
        likely = room_factor * (np.ceil(expected + 5 * np.sqrt(expected) + 4) + first_block)
        self._room = np.empty(serial.size, np.int64)
        for rows, size in zip(members, likely.tolist(), strict=True):
            self._room[rows] = size
        ends = np.cumsum(self._room)
        self._offset, self._points = ends - self._room, allocate(int(ends[-1]) if ends.size else 0)
        self._points[self._offset] = first
        self._head, self._tail = np.zeros(serial.size, np.int64), np.ones(serial.size, np.int64)
        self._drawn, self._short = serial.copy(), np.empty(serial.size, np.int32)

    def next_instants(self) -> Floats:
        """Return the first instant of every row that is not in a window yet."""
        return np.asarray(self._points[self._offset + self._head])

    def window(self, start: float, end: float) -> Window:
        """Return the window from `start` up to `end`, or as far as there is room, and drop its instants from the stock.

        The window's own end says how far it goes. The instants stay in memory until more are drawn. Raise a FieldError
        if events are too close together for floats.
        """
        from replnet.processes.kernels import find_window_ends

        for g, rows in enumerate(self._members):
            end = self._fill_rows(g, rows, start, end)
        first, last = self._head.copy(), np.empty_like(self._head)
        total = find_window_ends(end, self._offset, self._head, self._tail, self._points, last)
        window = Window(start, end, self._points, self._offset, first, last, self._serial.copy(), total)
        self._serial += last - first
        self._head[:] = last
        return window

    def _fill_rows(self, g: int, rows: Ints, start: float, end: float) -> float:
        """Draw instants of `rows`, which have the g-th law, up to `end`, or as far as there is room; return how far.

        Raise a FieldError if there is no room beyond `start`.
        """
        from replnet.processes.kernels import append_instants, find_short_rows

        block, later_block = self._blocks[g]
        while True:
            row_bounds = self._offset, self._head, self._tail, self._room
            short_count, limit = find_short_rows(end, block, rows, *row_bounds, self._points, self._short)
            if short_count == 0:
                return end
            if limit < end:
                # A burst: too many short intervals for the row. A shorter window serves as well, which ends where
                # the full rows end.
                if limit <= start:
                    wrong = (
                        f"{self._laws[g]} has {block} or more events at time {limit:g}, too close together for floats"
                    )
                    raise FieldError("law", wrong, "fewer intervals that are tiny beside their mean")
                end = limit
                continue
            short_rows = self._short[:short_count]
            at_once = max(CHUNK // block, 1)
            for q in range(0, short_count, at_once):
                rows_now = short_rows[q : q + at_once]
                intervals = self._draw(g, rows_now, self._drawn, block)
                append_instants(intervals, rows_now, self._offset, self._head, self._tail, self._points)
            block = later_block


def draw_intervals(law: Law, uniforms: Floats) -> Floats:
    """Return intervals of `law`, one for each of the uniforms in (0, 1], an array that is overwritten."""
    np.log(uniforms, out=uniforms)
    np.negative(uniforms, out=uniforms)
    return np.asarray(law.draw(uniforms), dtype=float)


@final
class Scratch:
    """Memory that windows reuse: arrays by name, which grow to the largest size requested.

    Their contents are left over from before. A fresh array of more than some 100 KiB comes from the system page by
    page, at several times the cost of the work done in it.
    """

    def __init__(self) -> None:
        self._arrays: dict[tuple[str, type], Any] = {}

    def floats(self, name: str, size: int) -> Floats:
        """Return the array of floats called `name`, in this size, with anything in it."""
        return self._array(name, size, np.float64)  # type: ignore[no-any-return]

    def ints(self, name: str, size: int) -> Ints:
        """Return the array of integers called `name`, in this size, with anything in it."""
        return self._array(name, size, np.int64)  # type: ignore[no-any-return]

    def _array(self, name: str, size: int, kind: type) -> Any:
        if (name, kind) not in self._arrays or self._arrays[name, kind].size < size:
            self._arrays[name, kind] = np.empty(size + min(size // 4, MOST_SPARE), kind)
        return self._arrays[name, kind][:size]
