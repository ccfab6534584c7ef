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
their windows come in lots of processes, each with a stock that is drawn for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, final

import numpy as np

from replnet.laws.families import Constant
from replnet.laws.law import Floats, Ints, Law
from replnet.laws.processes.kernels import append, descend, fill, short_of, spend, turn
from replnet.laws.processes.order import Ordered, Walk, kernel_walk
from replnet.laws.processes.streams import FUTURE, PAST, START, Chance, Words, exponentials
from replnet.text.errors import FieldError

# Intervals drawn at once: few enough for the cache, and for their temporary arrays to stay
# under 128 KiB, from where on every one would come as fresh pages from the system.
CHUNK = 15_000
MOST = 50_000_000  # instants to look up at once, and of a burst: 400 MB, and about a second
BURST = 100  # times as many events as expected
PER_ROW = 16  # instants that a row should bring to a window, to be worth its visit
PAST_OF_ROW = 32  # instants that every row may have in the past, however many rows there are
PER_LOT_ROW = 64  # and where they come in lots, for each of which everything is got ready
AT_ONCE = 1 << 25  # instants that a window has at most, however many rows there are
SPARE = 1 << 20  # numbers at most that memory has room for beyond what was asked for
LOT = 1 << 11  # rows that are looked up at once, as few as CHUNK would have it


@dataclass(frozen=True)
class Window:
    """The instants of every process in [start, end): points[offset[p] + first[p] : offset[p] + last[p]].

    Behind them, at points[offset[p] + last[p]], is the next one.
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
        o = self.offset[process]
        return self.points[o + self.first[process] : o + self.last[process]]

    def parts(self, most: float) -> Iterator[Window]:
        """The same in stretches of time one after another, of about so many instants at most."""
        begin, first, count = self.start, self.first, max(math.ceil(self.total / most), 1)
        for end in np.linspace(self.start, self.end, count + 1)[1:].tolist() if count > 1 else ():
            last = np.empty_like(first)
            total = spend(end, self.offset, first, self.last, self.points, last)
            serial = self.serial + (first - self.first)
            yield replace(self, start=begin, end=end, first=first, last=last, serial=serial, total=total)
            begin, first = end, last
        if count == 1:
            yield self


def used(numbers: Ints) -> tuple[Ints, Ints]:
    """The numbers that there are, in order, and the place of each among them; for numbers from 0 on, none large."""
    there = np.bincount(numbers) > 0
    return np.flatnonzero(there), (np.cumsum(there) - 1)[numbers]


class Renewals:
    """Stationary processes of given laws and names."""

    def __init__(
        self,
        laws: Sequence[Law],
        which: Ints,
        run: Words,
        names: Words,
        purpose: Ints,
        events: int = 1 << 15,
        room_for: Callable[[int], Floats] = np.empty,
        stretch: Floats | None = None,
        horizon: float = math.inf,
    ) -> None:
        """Process p follows laws[which[p]], its intervals `stretch`[p] times as long.

        `events` is the size of a window to aim at, `room_for` gives memory; no window goes beyond `horizon`.
        """
        self._chance, self._stretch = Chance(run, names, purpose), stretch
        rates = np.array([law.rate for law in laws])[which]
        if stretch is not None:
            rates, given = rates / stretch, laws
            # Those of one law are drawn together if they are about as frequent, in blocks of one length.
            octave = np.frexp(rates)[1].astype(np.int64)
            lowest, several = octave.min(), int(np.ptp(octave)) + 1
            kinds, which = used(which * several + octave - lowest)
            laws = [given[g] for g in (kinds // several).tolist()]
        self._laws = laws
        ends = np.cumsum(np.bincount(which, minlength=len(laws)))
        self._members = np.split(np.argsort(which, kind="stable").astype(np.int32), ends[:-1])[: len(laws)]
        self._rate = np.array([float(rates[rows].max(initial=0.0)) for rows in self._members])
        self._total = total = float(rates.sum())
        # A draw of a law costs some microseconds and the visit of a row some nanoseconds, whatever they bring.
        self.length = max(events, min(PER_ROW * which.size, AT_ONCE), 2048 * len(laws)) / total if total else math.inf
        self._start()
        self._words, self._room_for = self._chance.streams(FUTURE), room_for
        self._serial = np.zeros(which.size, np.int64)
        self._stock: _Stock | None = None
        self.now, self._given, self._ample, self._horizon = 0.0, 0, 1, horizon

    def _start(self) -> None:
        self.age, self._next = np.empty(self._chance.names.size), np.empty(self._chance.names.size)
        # What draws the intervals of processes if they depend on one another.
        self._flows = [
            law.flow(self._chance.of(rows)) if isinstance(law, Ordered) else None
            for law, rows in zip(self._laws, self._members, strict=True)
        ]
        for law, rows, flow in zip(self._laws, self._members, self._flows, strict=True):
            if flow is not None:
                self.age[rows], self._next[rows] = flow.age, flow.residual
                continue
            for lot in range(0, rows.size, CHUNK):
                some = rows[lot : lot + CHUNK]
                start = self._chance.of(some).streams(START)
                age, interval = law.around_zero(exponentials(start, 0), exponentials(start, 1))
                stretch = 1.0 if self._stretch is None else self._stretch[some]
                self.age[some], self._next[some] = age * stretch, np.maximum(interval - age, 0.0) * stretch

    @property
    def joint(self) -> bool:
        """Whether some are drawn together, and not twice."""
        return any(self._flows)

    def window(self, horizon: float = math.inf) -> Window:
        """The next stretch of time, at most up to `horizon`."""
        if self._stock is None:
            self._stock = self._stocked(0, self.age.size, min(self.length, self._horizon))
        made = self._counted(self._stock.window(self.now, min(self.now + self.length, horizon)))
        self.now = made.end
        return made

    def lots(self, horizon: float, edges: Sequence[int]) -> Iterator[Window]:
        """The same in lots of rows, from one edge to the next, or less; one may be in the memory of that before."""
        assert self._stock is None, "what a stock has is not drawn again"
        assert not self.joint, "these are not drawn again"
        length = max(self.length, min(PER_LOT_ROW * self.age.size, AT_ONCE) / self._total)
        end = min(self.now + length, horizon)
        coming = list(pairwise(edges))[::-1]
        while coming:
            low, high = coming.pop()
            before, stock = self._serial[low:high].copy(), self._stocked(low, high, end - self.now)
            made = stock.window(self.now, end)
            if made.end == end:
                yield self._counted(made)
                self._next[low:high] = stock.next_instants()
                continue
            # A burst; it is drawn again, with more room, and where that is too much in two lots.
            self._serial[low:high] = before
            if 0 < low < high - 1 and (high - low) * PER_LOT_ROW * self._ample > MOST:
                coming += [((low + high) // 2, high), (low, (low + high) // 2)]
            else:
                self._ample *= 2
                coming.append((low, high))
        self.now = end

    def _stocked(self, low: int, high: int, length: float) -> _Stock:
        """A stock of some rows, for windows of this length."""
        rows, members = slice(low, high), [some - np.int32(low) for some in self._within(low, high)]
        return _Stock(
            self._laws, members, self._drawing(rows), length * self._rate, self._ample, self._next[rows],
            self._serial[rows], self._room_for,
        )  # fmt: skip

    def _counted(self, made: Window) -> Window:
        self._given += made.total
        if self._given > max(MOST, BURST * self._total * made.end):
            self._refuse(made.end, self._given)
        return made

    def _within(self, low: int, high: int) -> list[Ints]:
        """The members of every law among rows `low` to `high`."""
        ends = np.array([low, high], np.int32)  # of the type of what is searched, which is long
        return [some[slice(*np.searchsorted(some, ends))] for some in self._members]

    def _drawing(self, own: slice) -> Draw:
        """What draws the coming intervals of these rows."""
        key, gamma = (words[own] for words in self._words)
        stretch = None if self._stretch is None else self._stretch[own]

        def drawn(g: int, rows: Ints, spent: Ints, block: int) -> Floats:
            if flow := self._flows[g]:
                intervals = flow.ahead(np.searchsorted(self._members[g], rows), block)
            elif isinstance(law := self._laws[g], Constant):  # whatever the words are, and nobody else has these
                intervals = np.full((rows.size, block), law.period)
            else:
                intervals = np.empty((rows.size, block))
                fill(key, gamma, spent, rows, intervals)
                intervals = draw(law, intervals)
            return intervals if stretch is None else intervals * stretch[rows][:, None]

        return drawn

    @property
    def spent(self) -> Ints:
        """How many instants of every process windows have given out so far."""
        return self._serial

    def next_instants(self) -> Floats:
        """The first instant of every process that is not in a window yet."""
        return self._stock.next_instants() if self._stock else self._next

    def _stretched(self, intervals: Floats, rows: Ints) -> Floats:
        return intervals if self._stretch is None else intervals * self._stretch[rows][:, None]

    def before(self, number: Ints) -> Floats:
        """How long ago, at time zero, the number-th last event of every process was; 1 is the last."""
        ages = self.age.copy()
        for g, members in enumerate(self._members):
            if members.size and (most := int(number[members].max())) > 1:
                waits = self._stretched(self._behind(g, members)(np.arange(members.size), most - 1), members)
                ago = ages[members][:, None] + np.cumsum(waits, axis=1)
                further = number[members] > 1
                ages[members[further]] = ago[further, number[members][further] - 2]
        return ages

    def _behind(self, g: int, members: Ints) -> Walk:
        """What draws the past intervals of these, which follow the g-th law, latest first."""
        if flow := self._flows[g]:
            return flow.behind()
        uniforms = kernel_walk(fill, self._chance.of(members).streams(PAST))
        return lambda rows, block: draw(self._laws[g], uniforms(rows, block))

    def past(self, depth: float) -> Window:
        """All instants in [-depth, 0), each process in ascending order."""
        (made,) = self.past_lots(depth, [0, self.age.size])
        return made

    def past_lots(self, depth: float, edges: Sequence[int]) -> Iterator[Window]:
        """The same in lots of rows, from one edge to the next."""
        assert len(edges) == 2 or not self.joint, "these are not drawn again"
        if (expected := depth * self._total) > most_past(self.age.size):
            self._refuse(depth, expected)
        for low, high in pairwise(edges):
            counts = np.zeros(high - low, np.int64)
            blocks = [block for g in range(len(self._laws)) for block in self._backwards(g, depth, low, counts)]
            ends = np.cumsum(counts + 1) - 1
            points, place = np.empty(int(ends[-1]) + 1 if ends.size else 0), ends.copy()
            while blocks:
                turn(*blocks.pop(0), place, points)
            points[ends] = self._next[low:high]
            zero = np.zeros_like(counts)
            yield Window(-depth, 0.0, points, ends - counts, zero, counts, -counts, int(counts.sum()))

    def _backwards(self, g: int, depth: float, low: int, counts: Ints) -> Iterator[tuple[Floats, Ints, Ints]]:
        """Instants of the g-th law back to -depth, in blocks: latest first row by row, whose they are, how many each.

        They are of the rows from `low` on that are counted. A block draws more than are needed, of which nothing stays.
        """
        members, drawn = self._within(low, low + counts.size)[g], 0
        walk, most = self._behind(g, members), most_past(self.age.size)
        for lot in range(0, members.size, LOT):
            short = np.arange(lot, min(lot + LOT, members.size))
            last, intervals, each = np.zeros(short.size), self.age[members[short]][:, None], 1
            while True:
                times, there = np.empty(intervals.size), np.empty(short.size, np.int64)
                found = descend(intervals, -depth, last, times, there)
                yield times[:found].copy(), members[short] - low, there
                counts[members[short] - low] += there
                going = last >= -depth
                short, last = short[going], last[going]
                if not short.size:
                    break
                missing = (last.max() + depth) * self._rate[g]
                # As many again as there are, for bursts, in which intervals are far below their mean.
                block = int(min(max(missing + 2 * math.sqrt(missing) + 8, each), 4096))
                each, drawn = each + block, drawn + block * short.size
                if drawn > most:
                    self._refuse(depth, drawn)
                intervals = self._stretched(walk(short, block), members[short])

    def _refuse(self, stretch: float, events: float) -> None:
        laws = " and ".join(map(str, self._laws))
        wrong = f"{laws} had {events:.2g} events in {stretch:.3g} units of time, which is too many to go through"
        raise FieldError("law", wrong, f"lighter tails, or fewer events: {MOST:,} at most")


def most_past(rows: int) -> int:
    """Instants of so many processes that can be looked up at once."""
    return max(MOST, PAST_OF_ROW * rows)


Draw = Callable[[int, Ints, Ints, int], Floats]
"""Of the g-th law the next so many intervals of some rows, given how many each row has had, which is counted on."""


@final
class _Stock:
    """Coming instants of many processes: those of row p are points[offset[p] + head[p] : offset[p] + tail[p]]."""

    def __init__(
        self, laws: Sequence[Law], members: Sequence[Ints], draw: Draw, expected: Floats, ample: int, first: Floats,
        serial: Ints, room_for: Callable[[int], Floats],
    ) -> None:  # fmt: skip
        """`members` are the rows of every law, of which so many instants are `expected` in a window.

        They have `ample` times as much room as is likely enough. `first` is the next instant of every row, and
        `serial` how many there were before, which is kept up to date.
        """
        self._laws, self._members, self._draw, self._serial = laws, members, draw, serial
        first_block = np.minimum(np.ceil(expected + 1), CHUNK)
        # What is still missing then is little, where there are many rows.
        more = np.where(first_block < CHUNK, np.ceil(2 * np.sqrt(expected) + 1), CHUNK)
        self._blocks = np.column_stack([first_block, np.minimum(more, CHUNK)]).astype(np.int64).tolist()
        # Little more than is likely needed: with many rows, it is their memory that costs.
        likely = ample * (np.ceil(expected + 5 * np.sqrt(expected) + 4) + first_block)
        self._room = np.empty(serial.size, np.int64)
        for rows, size in zip(members, likely.tolist(), strict=True):
            self._room[rows] = size
        ends = np.cumsum(self._room)
        self._offset, self._points = ends - self._room, room_for(int(ends[-1]) if ends.size else 0)
        self._points[self._offset] = first
        self._head, self._tail = np.zeros(serial.size, np.int64), np.ones(serial.size, np.int64)
        self._drawn, self._short = serial.copy(), np.empty(serial.size, np.int32)

    def next_instants(self) -> Floats:
        return np.asarray(self._points[self._offset + self._head])

    def window(self, start: float, end: float) -> Window:
        """The next stretch of time, up to `end`, or as far as there is room."""
        for g, rows in enumerate(self._members):
            end = self._stock(g, rows, start, end)
        first, last = self._head.copy(), np.empty_like(self._head)
        total = spend(end, self._offset, self._head, self._tail, self._points, last)
        made = Window(start, end, self._points, self._offset, first, last, self._serial.copy(), total)
        self._serial += last - first
        self._head[:] = last
        return made

    def _stock(self, g: int, rows: Ints, start: float, end: float) -> float:
        """Have instants of the g-th law up to `end`, or as far as there is room; returns how far."""
        block, more = self._blocks[g]
        while True:
            lines = self._offset, self._head, self._tail, self._room
            n, reached = short_of(end, block, rows, *lines, self._points, self._short)
            if n == 0:
                return end
            if reached < end:
                # A burst: too many short intervals for the row. A shorter window serves as well, up to where
                # those that have no room go; the others are not there yet, which is no reason for it.
                if reached <= start:
                    wrong = (
                        f"{self._laws[g]} has {block} and more events that floats do not tell from the time {reached:g}"
                    )
                    raise FieldError("law", wrong, "fewer intervals that are nothing beside their mean")
                end = reached
                continue
            short = self._short[:n]
            at_once = max(CHUNK // block, 1)
            for q in range(0, n, at_once):
                some = short[q : q + at_once]
                intervals = self._draw(g, some, self._drawn, block)
                append(intervals, some, self._offset, self._head, self._tail, self._points)
            block = more


def draw(law: Law, uniforms: Floats) -> Floats:
    """Intervals from uniforms, which are overwritten."""
    np.log(uniforms, out=uniforms)
    np.negative(uniforms, out=uniforms)
    return np.asarray(law.draw(uniforms), dtype=float)


@final
class Scratch:
    """Memory that windows use again and again: arrays by name, as long as was ever asked for.

    What they hold is left over from before. A fresh array of more than some 100 KiB comes from the
    system page by page, at several times the cost of the work done in it.
    """

    def __init__(self) -> None:
        self._arrays: dict[tuple[str, type], Any] = {}

    def floats(self, name: str, size: int) -> Floats:
        return self._array(name, size, np.float64)  # type: ignore[no-any-return]

    def ints(self, name: str, size: int) -> Ints:
        return self._array(name, size, np.int64)  # type: ignore[no-any-return]

    def _array(self, name: str, size: int, kind: type) -> Any:
        if (name, kind) not in self._arrays or self._arrays[name, kind].size < size:
            self._arrays[name, kind] = np.empty(size + min(size // 4, SPARE), kind)
        return self._arrays[name, kind][:size]
