"""The pulls of a window in time order, component by component, behind those that are still on their way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, final

import numpy as np

from replnet.compiler import njit, prefetch
from replnet.engines.passes import GONE, MUTE, NODE, RECENT, Pulled
from replnet.laws.law import Ints
from replnet.laws.processes.kernels import AHEAD, LINE, ONE, fetch, natural, word
from replnet.laws.processes.renewal import Scratch, Window
from replnet.laws.processes.streams import Streams

SLICE = 1 << 17  # pulls sorted at once: writing all over more memory than the cache holds costs several times the sort
PART = 1 << 15  # pulls that are sorted by themselves where there are more
PARTS = 256  # but so many at most, as each is written to on its own
GROUP = 4  # of these parts, for a pass over them that is worth its call


class Losses(NamedTuple):
    """Messages that get lost: shares between sides, and a stream per asker."""

    share: Any
    side: Any  # per share and place, bits of the two sides
    key: Any
    gamma: Any


class Askers(NamedTuple):
    """Who wakes by which row of a window, and among whom it chooses; replications side by side."""

    row: Any
    process: Any
    place: Any
    component: Any
    pulls: Any  # how many there are at a wake
    whole: Any  # how many its process asks, here and in other components
    recent: Any  # whether those asked come from the list that the upstream hands over
    two_way: Any  # whether those asked pull as well, just before
    turns: Any  # only every so manieth wake is its own,
    phase: Any  # with this rest
    begin: Any  # candidates are listed[begin : begin + size], each plus `shift`
    size: Any
    own: Any  # where the asker stands in that list, or size
    shift: Any
    listed: Any
    numbers: Any  # of these candidates, among all of the process

    def of_rows(self, low: int, high: int) -> tuple[Askers, slice]:
        """Those who wake by rows from `low` to `high`, as of a window that begins there, where they are in order."""
        some = slice(*np.searchsorted(self.row, np.array([low, high], self.row.dtype)).tolist())
        each = (column if column is self.listed or column is self.numbers else column[some] for column in self)
        return Askers(*each)._replace(row=self.row[some] - low), some


@njit(cache=True, inline="always")
def below(w, n):
    """A number in 0..n-1 from the upper half of a word; chances are even to one part in 2**32 / n."""
    return np.int64(((w >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@njit(cache=True)
def choose(key, gamma, wake, k, n, mixed, out):
    """out[:k]: k distinct numbers of 0..n-1, every set equally likely (Floyd), and `mixed` every order of it."""
    if k == n:
        for q in range(k):
            out[q] = q
        return
    for q in range(k):
        top = n - k + q
        chance = word(key, gamma, wake * k + q)
        pick = below(chance, top + 1)
        for z in range(q):
            if out[z] == pick:
                pick = top
                break
        out[q] = pick
        if mixed:  # by the lower half of the word: as likely at any place so far
            z = below(chance << np.uint64(32), q + 1)
            out[q], out[z] = out[z], out[q]


@njit(cache=True)
def lost(losses, p, pull, i, j):
    """GONE if this pull of process p from i to j gets lost, MUTE if the reply does."""
    arrive = 1.0
    for z in range(losses.share.size):
        a, b = losses.side[z, i], losses.side[z, j]
        if (a & 1 and b & 2) or (a & 2 and b & 1):
            arrive *= 1.0 - losses.share[z]
    share, flags = 1.0 - arrive, 0
    if np.float64(np.int64(word(losses.key[p], losses.gamma[p], 2 * pull) >> np.uint64(11))) * 2.0**-53 < share:
        flags |= GONE
    if np.float64(np.int64(word(losses.key[p], losses.gamma[p], 2 * pull + 1) >> np.uint64(11))) * 2.0**-53 < share:
        flags |= MUTE
    return flags


@njit(cache=True, inline="always")
def start(serial, turns, phase):
    """The first wake from number `serial` on that has this rest."""
    return (phase - serial) % turns if turns > 1 else 0  # a division takes as long as all else of a process


@njit(cache=True)
def absent(points, offset, begun, ended, serial, row, turns, phase, spans, first, counts):
    """Counts the wakes of every process at which its node is down: p over spans first[p] to first[p + 1]."""
    for p in range(row.size):
        if first[p] == first[p + 1]:
            continue
        w, z = row[p], first[p]
        for j in range(offset[w] + begun[w] + start(serial[w], turns[p], phase[p]), offset[w] + ended[w], turns[p]):
            while z < first[p + 1] and spans[z, 1] <= points[j]:
                z += 1
            if z < first[p + 1] and spans[z, 0] <= points[j]:
                counts[p] += 1


@njit(cache=True)
def sizes(first, last, serial, askers, out):
    """out[c]: how many pulls a window has of component c."""
    out[:] = 0
    for p in range(askers.row.size):
        w, m = askers.row[p], askers.turns[p]
        wakes = last[w] - first[w]
        if m > 1:
            wakes = max(0, (wakes - start(serial[w], m, askers.phase[p]) + m - 1) // m)
        out[askers.component[p]] += wakes * askers.pulls[p]


@njit(cache=True)
def buckets(begins, window, askers, bucket, scale, begin, kept, head):
    """head[b]: where the pulls of bucket b begin; component c has those from bucket[c] on, scale[c] in unit time."""
    points, offset, first, last, serial = window
    head[:] = 0
    for p in range(askers.row.size):
        if p + AHEAD < askers.row.size:
            w = askers.row[p + AHEAD]
            fetch(points, offset[w] + first[w])
        w, c, m = askers.row[p], askers.component[p], askers.turns[p]
        o, base, per, k = offset[w], natural(bucket[c]), scale[c], askers.pulls[p]
        for j in range(o + first[w] + start(serial[w], m, askers.phase[p]), o + last[w], m):
            head[natural((points[j] - begins) * per) + base] += k
    for c in range(kept.size):
        place = begin[c] + kept[c]
        for b in range(bucket[c], bucket[c + 1]):
            n = head[b]
            head[b] = place
            place += n


@njit(cache=True)
def scatter(begins, window, askers, key, gamma, losses, mixed, bucket, scale, head, times, pairs, room):
    """Write every pull, as (time, who << 32 | asked), into its bucket; then head[b] is where bucket b ends.

    `room` is for what is chosen at the wakes of a process, and for all that is chosen at one.
    """
    lossy, listed = losses.share.size > 0, askers.listed
    points, offset, first, last, serial = window
    for p in range(askers.row.size):
        if p + AHEAD < askers.row.size:
            w = askers.row[p + AHEAD]
            fetch(points, offset[w] + first[w])
        w, n, me, begin = askers.row[p], askers.size[p], askers.own[p], askers.begin[p]
        pulls, back = askers.pulls[p], askers.two_way[p]
        k = pulls // 2 if back else pulls
        base, per, m = natural(bucket[askers.component[p]]), scale[askers.component[p]], askers.turns[p]
        o, who, shift, recent = offset[w], np.int64(askers.place[p]) << 32, askers.shift[p], askers.recent[p]
        others, skipped = n - 1 if me < n else n, start(serial[w], m, askers.phase[p])
        begun, ended = o + first[w] + skipped, o + last[w]
        if pulls == 1 and not recent and not lossy:
            # The choices of all wakes come first, so that the processor makes several at once.
            k0, g0, number, wakes = key[p], gamma[p], serial[w] + skipped, (ended - begun + m - 1) // m
            for q in range(wakes):
                room[q] = below(word(k0, g0, number + q * m), others)
            for q in range(wakes):
                t, c = points[begun + q * m], room[q]
                b = natural((t - begins) * per) + base
                z = natural(head[b])
                head[b] = z + ONE
                prefetch(times, z + LINE)
                prefetch(pairs, z + LINE)
                times[z], pairs[z] = t, who | (listed[natural(begin + c + (c >= me))] + shift)
            continue
        for j in range(begun, ended, m):
            t = points[j]
            b = natural((t - begins) * per) + base
            z = head[b]
            head[b] = z + pulls
            wake = serial[w] + j - o - first[w]
            if not recent:
                choose(key[p], gamma[p], wake, k, others, mixed, room)
            for q in range(k):
                c = room[q]
                times[z + q] = t
                if back:
                    other = listed[begin + c + (c >= me)] + shift
                    pairs[z + q] = other << 32 | askers.place[p]
                    times[z + k + q], pairs[z + k + q] = t, who | other
                    continue
                asked = RECENT | q if recent else listed[begin + c + (c >= me)] + shift
                if lossy:
                    number = q if askers.whole[p] == k else askers.numbers[begin + c]
                    pull = wake * askers.whole[p] + number
                    asked |= lost(losses, p, pull, askers.place[p], asked & NODE)
                pairs[z + q] = who | asked


@njit(cache=True)
def refine(start, width, begins, ends, loose_times, loose_pairs, head, first, times, pairs):
    """Sort slices of a coarse sort, one after another, to `first` and on; each by buckets of its own.

    Slice s is loose from begins[s, z] to ends[s, z], all of it from start + s * width to start + (s + 1) * width.
    """
    for s in range(begins.shape[0]):
        n = 0
        for z in range(begins.shape[1]):
            n += ends[s, z] - begins[s, z]
        low, scale = start + s * width, n / width
        head[: n + 1] = 0
        for z in range(begins.shape[1]):
            for q in range(begins[s, z], ends[s, z]):
                head[natural(min(max(np.int64((loose_times[q] - low) * scale), 0), n - 1)) + ONE] += 1
        head[0] = first
        for b in range(n):
            head[b + 1] += head[b]
        for z in range(begins.shape[1]):
            for q in range(begins[s, z], ends[s, z]):
                t = loose_times[q]
                at = natural(min(max(np.int64((t - low) * scale), 0), n - 1))
                y = natural(head[at])
                head[at] = y + ONE
                times[y] = t
                pairs[y] = loose_pairs[q]
        first += n


@njit(cache=True)
def settle(begin, kept, times, pairs):
    """Insertion sort, for times that are nearly in order; stable, so ties keep the order of processes.

    The latest so far is held back, which puts most into order without a branch: nothing foretells which way it goes.
    """
    for c in range(kept.size):
        first, end = natural(begin[c] + kept[c]), natural(begin[c + 1])
        if first == end:
            continue
        latest, its = times[first], pairs[first]
        for q in range(first + ONE, end):
            t, pair, z = times[q], pairs[q], q - ONE
            earlier = t < latest
            at, of = (t, pair) if earlier else (latest, its)
            latest, its = (latest, its) if earlier else (t, pair)
            while z > first and times[z - ONE] > at:
                times[z], pairs[z] = times[z - ONE], pairs[z - ONE]
                z -= ONE
            times[z], pairs[z] = at, of
        times[end - ONE], pairs[end - ONE] = latest, its


@final
class Pulls:
    """The pulls in hand, window after window."""

    def __init__(
        self, askers: Askers, components: int, choices: Streams, losses: Losses, mixed: bool, scratch: Scratch
    ) -> None:
        """`mixed` where it matters in which order a node asks several others at a wake."""
        self._askers, self._choices, self._losses, self._mixed, self._scratch = askers, choices, losses, mixed, scratch
        self._most = max(int(askers.pulls.max(initial=1)), 1)
        none, zero = np.empty(0, np.int64), np.zeros(components, np.int64)
        self._new = zero.copy()
        self.now = Pulled(np.zeros(components + 1, np.int64), zero, zero, np.empty(0), none, zero.copy(), zero.copy())

    def add(self, window: Window, rows: slice) -> Pulled:
        """All pulls of a window, by a bucket sort within each component; `rows` of the window are those of who asks."""
        old = self.now
        kept, waiting = self.kept, self.waiting
        sizes(window.first[rows], window.last[rows], window.serial[rows], self._askers, self._new)
        begin = np.concatenate([[0], np.cumsum(kept + self._new)])
        before = old.times[waiting], old.pairs[waiting]
        times = self._scratch.floats("pull times", int(begin[-1]))
        pairs = self._scratch.ints("pull pairs", int(begin[-1]))
        if waiting.size:
            here = runs(begin[:-1], kept)
            times[here], pairs[here] = before
        if self._new.any():
            self._sort(window, rows, begin, kept, times, pairs)
        self.now = Pulled(begin, kept, old.reached - old.arrived, times, pairs, old.reached, old.arrived)
        return self.now

    @property
    def kept(self) -> Ints:
        """How many pulls of every component are still on their way."""
        return np.asarray(np.diff(self.now.begin) - self.now.arrived)

    @property
    def waiting(self) -> Ints:
        """Where these are."""
        return runs(self.now.begin[:-1] + self.now.arrived, self.kept)

    def _sort(self, window: Window, rows: slice, begin: Ints, kept: Ints, times: Any, pairs: Any) -> None:
        fine = int(self._new.max()) <= SLICE
        own = window.points, window.offset[rows], window.first[rows], window.last[rows], window.serial[rows]
        # Who asks nobody wakes in a bucket as well.
        number = np.maximum(self._new if fine else -(-self._new // PART), 1)
        bucket = np.concatenate([[0], np.cumsum(number)])
        length = window.end - window.start
        # A hair under buckets / length, so that rounding never sends the last instant past the last bucket.
        scale, head = number * (1 - 1e-12) / length, self._scratch.ints("head", int(bucket[-1]))
        buckets(window.start, own, self._askers, bucket, scale, begin, kept, head)
        into = (times, pairs)
        if not fine:
            into = self._scratch.floats("loose times", times.size), self._scratch.ints("loose pairs", times.size)
        by = (self._askers, *self._choices, self._losses, self._mixed)
        room = self._scratch.ints("chosen", max(int((own[3] - own[2]).max(initial=0)), self._most))
        scatter(window.start, own, *by, bucket, scale, head, *into, room)
        if not fine:
            room = self._scratch.ints("fine", int(np.diff(head, prepend=0).max()) + 1)
            for c in np.flatnonzero(self._new).tolist():
                ends, first = head[bucket[c] : bucket[c + 1]], int(begin[c] + kept[c])
                begins = np.append(first, ends[:-1])
                refine(window.start, 1 / scale[c], begins[:, None], ends[:, None], *into, room, first, times, pairs)
        settle(begin, kept, times, pairs)

    def slices(self, start: float, end: float, expected: float, lots: Iterator[Window]) -> Iterator[Pulled]:
        """The pulls of a window of about so many, that comes in lots of rows, by slices of time.

        Of one component, where nothing is on its way.
        """
        count, none, row = min(max(round(expected / PART), 1), PARTS), np.zeros(1, np.int64), 0
        bucket, scale = np.array([0, count]), np.array([count * (1 - 1e-12) / (end - start)])
        begins, ends, at = list[Ints](), list[Ints](), none.copy()
        times, pairs = self._loose(0, round(expected))
        for window in lots:
            own = window.points, window.offset, window.first, window.last, window.serial
            askers, some = self._askers.of_rows(row, row + window.first.size)
            row += window.first.size
            sizes(*own[2:], askers, self._new)
            times, pairs = self._loose(int(at[0]), int(at[0] + self._new[0]))
            head = np.empty(count, np.int64)
            buckets(start, own, askers, bucket, scale, at, none, head)
            begins.append(head.copy())
            by = (askers, *(words[some] for words in self._choices), self._losses, self._mixed)
            room = self._scratch.ints("chosen", max(int((own[3] - own[2]).max(initial=0)), self._most))
            scatter(start, own, *by, bucket, scale, head, times, pairs, room)
            ends.append(head)
            at += self._new
        low, high = np.array(begins).T.copy(), np.array(ends).T.copy()
        number, width = (high - low).sum(axis=1), 1 / scale[0]
        room = self._scratch.ints("fine", int(number.max()) + 1)
        for s in range(0, count, GROUP):
            some, n = slice(s, s + GROUP), int(number[s : s + GROUP].sum())
            into = self._scratch.floats("pull times", n), self._scratch.ints("pull pairs", n)
            refine(start + s * width, width, low[some], high[some], times, pairs, room, 0, *into)
            begin = np.array([0, n])
            settle(begin, none, *into)
            yield Pulled(begin, none, none, *into, none, none)

    def _loose(self, kept: int, size: int) -> tuple[Any, Any]:
        """Room for pulls in no order, with those that are there already."""
        before = self._scratch.floats("loose times", kept), self._scratch.ints("loose pairs", kept)
        after = self._scratch.floats("loose times", size), self._scratch.ints("loose pairs", size)
        for old, new in zip(before, after, strict=True):
            if kept and not np.may_share_memory(old, new):
                new[:kept] = old
        return after


def runs(begin: Ints, length: Ints) -> Ints:
    """begin[c], begin[c] + 1, ..., length[c] of them, for one c after the other."""
    ends = np.cumsum(length)
    return np.asarray(np.repeat(begin - ends + length, length) + np.arange(ends[-1] if ends.size else 0))
