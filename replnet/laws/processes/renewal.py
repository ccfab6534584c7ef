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

`Renewals` holds many processes at once. It keeps a stock of coming instants
per process and refills it in blocks, one vectorised draw per law; every word of
a stream is used exactly once and in order, so the instants do not depend on the
sizes of blocks or windows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from replnet.laws.families import Constant
from replnet.laws.law import Floats, Ints, Law
from replnet.laws.processes.kernels import append, descend, fill, short_of, spend, turn
from replnet.laws.processes.order import Ordered, Walk, kernel_walk
from replnet.laws.processes.streams import FUTURE, PAST, START, Chance, Streams, Words, exponentials
from replnet.text.errors import FieldError

# Intervals drawn at once: few enough for the cache, and for their temporary arrays to stay
# under 128 KiB, from where on every one would come as fresh pages from the system.
CHUNK = 15_000
MOST = 50_000_000  # instants to look up at once, and of a burst: 400 MB, and about a second
BURST = 100  # times as many events as expected
PER_ROW = 16  # instants that a row should bring to a window, to be worth its visit
PAST_OF_ROW = 32  # instants that every row may have in the past, however many rows there are
SPARE = 1 << 20  # numbers at most that memory has room for beyond what was asked for
MANY = 1 << 20  # rows from which on memory is had for a horizon and not for a window
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
        self._members = np.split(np.argsort(which, kind="stable"), ends[:-1])[: len(laws)]
        self._rate = np.array([float(rates[rows].max(initial=0.0)) for rows in self._members])
        self._total = total = float(rates.sum())
        # A row refill costs some nanoseconds and a law's draw some microseconds, whatever they bring.
        self.length = max(events, PER_ROW * which.size, 2048 * len(laws)) / total if total else math.inf
        self._start(which)
        expected = (self.length if which.size < MANY else min(self.length, horizon)) * self._rate
        self._blocks = np.minimum(np.ceil(expected + 1), CHUNK).astype(np.int64)
        # Little more than is likely needed: with many rows, it is their memory that costs.
        room = (np.ceil(expected + 5 * np.sqrt(expected) + 4).astype(np.int64) + self._blocks)[which]
        self._offset = np.cumsum(room) - room
        self._points = room_for(int(room.sum()))
        self._points[self._offset] = self.residual
        self._head, self._tail = np.zeros(which.size, np.int64), np.ones(which.size, np.int64)
        self._room = room.astype(np.int32)
        self._uniforms = kernel_walk(fill, self._chance.streams(FUTURE))
        self._serial, self._short = np.zeros(which.size, np.int64), np.empty(which.size, np.int32)
        self.now, self._given = 0.0, 0

    def _start(self, which: Ints) -> None:
        self.age, self.residual = np.empty(which.size), np.empty(which.size)
        # What draws the intervals of processes if they depend on one another.
        self._flows = [
            law.flow(self._chance.of(rows)) if isinstance(law, Ordered) else None
            for law, rows in zip(self._laws, self._members, strict=True)
        ]
        for law, rows, flow in zip(self._laws, self._members, self._flows, strict=True):
            if flow is not None:
                self.age[rows], self.residual[rows] = flow.age, flow.residual
                continue
            for lot in range(0, rows.size, CHUNK):
                some = rows[lot : lot + CHUNK]
                start = self._chance.of(some).streams(START)
                age, interval = law.around_zero(exponentials(start, 0), exponentials(start, 1))
                stretch = 1.0 if self._stretch is None else self._stretch[some]
                self.age[some], self.residual[some] = age * stretch, np.maximum(interval - age, 0.0) * stretch

    def window(self, horizon: float = math.inf) -> Window:
        """The next stretch of time, at most up to `horizon`."""
        end = min(self.now + self.length, horizon)
        for g, block in enumerate(self._blocks.tolist()):
            end = self._stock(g, block, end)
        first, last = self._head.copy(), np.empty_like(self._head)
        total = spend(end, self._offset, self._head, self._tail, self._points, last)
        made = Window(self.now, end, self._points, self._offset, first, last, self._serial.copy(), total)
        self._serial += last - first
        self._given += total
        if self._given > max(MOST, BURST * self._total * end):
            self._refuse(end, self._given)
        self._head[:], self.now = last, end
        return made

    @property
    def spent(self) -> Ints:
        """How many instants of every process windows have given out so far."""
        return self._serial

    def next_instants(self) -> Floats:
        """The first instant of every process that is not in a window yet."""
        return np.asarray(self._points[self._offset + self._head])

    def _stock(self, g: int, block: int, end: float) -> float:
        """Have instants of the g-th law up to `end`, or as far as there is room; returns how far."""
        rows = self._members[g]
        while True:
            n = short_of(end, rows, self._offset, self._tail, self._points, self._short)
            short = self._short[:n].copy()
            if n == 0:
                return end
            full = self._tail[short] - self._head[short] + block > self._room[short]
            if full.any():
                # A burst: too many short intervals for the row. A shorter window serves as well, up to where
                # those that have no room go; the others are not there yet, which is no reason for it.
                last = self._offset[short[full]] + self._tail[short[full]] - 1
                reached = float(self._points[last].min())
                if reached <= self.now:
                    wrong = (
                        f"{self._laws[g]} has {block} and more events that floats do not tell from the time {reached:g}"
                    )
                    raise FieldError("law", wrong, "fewer intervals that are nothing beside their mean")
                end = min(end, reached)
                continue
            at_once = max(CHUNK // block, 1)
            for q in range(0, n, at_once):
                self._append(g, short[q : q + at_once], block)

    def _append(self, g: int, rows: Ints, block: int) -> None:
        """One block of instants more for each of these rows, which follow the g-th law."""
        if flow := self._flows[g]:
            intervals = flow.ahead(np.searchsorted(self._members[g], rows), block)
        elif isinstance(law := self._laws[g], Constant):  # whatever the words are, and nobody else has these
            intervals = np.full((rows.size, block), law.period)
        else:
            intervals = draw(law, self._uniforms(rows, block))
        append(self._stretched(intervals, rows), rows, self._offset, self._head, self._tail, self._points)

    def _stretched(self, intervals: Floats, rows: Ints) -> Floats:
        return intervals if self._stretch is None else intervals * self._stretch[rows][:, None]

    def before(self, number: Ints) -> Floats:
        """How long ago, at time zero, the number-th last event of every process was; 1 is the last."""
        ages = self.age.copy()
        for g, members in enumerate(self._members):
            if members.size and (most := int(number[members].max())) > 1:
                waits = self._stretched(self._behind(g)(np.arange(members.size), most - 1), members)
                ago = ages[members][:, None] + np.cumsum(waits, axis=1)
                further = number[members] > 1
                ages[members[further]] = ago[further, number[members][further] - 2]
        return ages

    def _behind(self, g: int) -> Walk:
        """What draws the past intervals of the g-th law, latest first."""
        members, flow = self._members[g], self._flows[g]
        return flow.behind() if flow else _renewing(self._laws[g], self._chance.of(members).streams(PAST))

    def past(self, depth: float) -> Window:
        """All instants in [-depth, 0), each process in ascending order."""
        if (expected := depth * self._total) > most_past(self.age.size):
            self._refuse(depth, expected)
        counts = np.zeros(self.age.size, np.int64)
        blocks = [block for g in range(len(self._laws)) for block in self._backwards(g, depth, counts)]
        ends = np.cumsum(counts + 1) - 1
        points, place = np.empty(int(ends[-1]) + 1 if ends.size else 0), ends.copy()
        while blocks:
            turn(*blocks.pop(0), place, points)
        points[ends] = self.next_instants()
        zero = np.zeros_like(counts)
        return Window(-depth, 0.0, points, ends - counts, zero, counts, -counts, int(counts.sum()))

    def _backwards(self, g: int, depth: float, counts: Ints) -> Iterator[tuple[Floats, Ints, Ints]]:
        """Instants of the g-th law back to -depth, in blocks: latest first row by row, whose they are, how many each.

        A block draws more than are needed, of which nothing stays.
        """
        members, drawn = self._members[g], 0
        walk, most = self._behind(g), most_past(self.age.size)
        for lot in range(0, members.size, LOT):
            short = np.arange(lot, min(lot + LOT, members.size))
            last, intervals, each = np.zeros(short.size), self.age[members[short]][:, None], 1
            while True:
                times, there = np.empty(intervals.size), np.empty(short.size, np.int64)
                found = descend(intervals, -depth, last, times, there)
                yield times[:found].copy(), members[short], there
                counts[members[short]] += there
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


def _renewing(law: Law, of: Streams) -> Walk:
    """Independent intervals, a word each."""
    uniforms = kernel_walk(fill, of)
    return lambda rows, block: draw(law, uniforms(rows, block))


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
