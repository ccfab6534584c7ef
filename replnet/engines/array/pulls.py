"""The pulls of a window in time order, component by component, behind those that are still on their way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, final

import numpy as np

from replnet.compiler import njit, prefetch
from replnet.engines.array.passes import GONE, MUTE, NODE, RECENT, PullQueue
from replnet.laws import Ints
from replnet.network import runs
from replnet.processes import AHEAD, LINE, ONE, Scratch, Streams, Window, fetch, natural, word

PULLS_PER_SORT = (
    1 << 17
)  # sorted at once: writing all over more memory than the cache holds costs several times the sort
PULLS_PER_PART = 1 << 15  # if there are more pulls, they are first sorted into parts of about this size
MOST_PARTS = 256  # all parts are written to side by side
PARTS_PER_PASS = 4  # so that a pass is worth its call


class Losses(NamedTuple):
    """The losses of messages: the share lost between two sides, and a random stream per asker.

    `share` has an entry per fault, from 0 to 1. `side` has for each fault and place a bit for either side that the
    place is on. `key` and `gamma` are the random streams, empty if nothing gets lost.
    """

    share: Any
    side: Any  # per share and place, bits of the two sides
    key: Any
    gamma: Any


class Askers(NamedTuple):
    """The askers of all replications in columns: the row of a window by which each wakes, and its candidates.

    An asker is a process at one place; a process of a node that splits has several. By asker: the `row`, the `process`,
    its `place` and `component`, how many `pulls` it sends per wake, how many nodes its process asks in all components
    (`process_asks`), and whether it polls `recent` contacts or `two_way`. Of the wakes of its row, numbered by n, those
    with n % turns == phase are its own. Its candidates are candidates[begin : begin + size], each plus `shift`, and
    itself is at `own_position` of these, or `size` if it is none of them. `numbers` has the position of each of
    `candidates` in the whole list of the process.
    """

    row: Any
    process: Any
    place: Any
    component: Any
    pulls: Any  # how many pulls it sends per wake
    process_asks: Any  # how many nodes its process asks per wake, here and in other components
    recent: Any  # whether it asks the contacts that its upstream hands over
    two_way: Any  # whether the nodes asked pull from it as well, just before
    turns: Any  # of the wakes of its row, numbered by n,
    phase: Any  # only those with n % turns == phase are its own
    begin: Any  # its candidates are candidates[begin : begin + size], each plus `shift`
    size: Any
    own_position: Any  # the position of the asker itself in that list, or size
    shift: Any
    candidates: Any
    numbers: Any  # the positions of these candidates in the whole list of the process

    def of_rows(self, low: int, high: int) -> tuple[Askers, slice]:
        """Return the askers that wake by rows from `low` up to `high` (without), and their slice among all askers.

        In the result rows are counted from `low`. Askers must be in order of rows.
        """
        askers = slice(*np.searchsorted(self.row, np.array([low, high], self.row.dtype)).tolist())
        columns = (column if column is self.candidates or column is self.numbers else column[askers] for column in self)
        return Askers(*columns)._replace(row=self.row[askers] - low), askers


@njit(cache=True, inline="always")
def bounded_number(w, n):
    """Return a number in 0..n-1 from the upper half of the random word w of 64 bits.

    Chances are even to one part in 2**32 / n.
    """
    return np.int64(((w >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@njit(cache=True)
def choose(key, gamma, wake, k, n, mixed, out):
    """Write k distinct random numbers of 0..n-1 into out[:k]; every set is equally likely (Floyd).

    With `mixed`, so is every order of it. If k is n, they are written in order, mixed or not. The k words of the random
    stream (key, gamma) from number wake * k on decide.
    """
    if k == n:
        for q in range(k):
            out[q] = q
        return
    for q in range(k):
        top = n - k + q
        chance = word(key, gamma, wake * k + q)
        pick = bounded_number(chance, top + 1)
        for z in range(q):
            if out[z] == pick:
                pick = top
                break
        out[q] = pick
        if mixed:  # by the lower half of the word: as likely at any place so far
            z = bounded_number(chance << np.uint64(32), q + 1)
            out[q], out[z] = out[z], out[q]


@njit(cache=True)
def draw_losses(losses, p, pull, i, j):
    """Return flags: GONE if a pull of asker p from place i to j gets lost, MUTE if its reply does, or both, or 0.

    `pull` is its number among those of the process; `losses` has the shares lost and a random stream per asker.
    """
    share_arriving = 1.0
    for z in range(losses.share.size):
        a, b = losses.side[z, i], losses.side[z, j]
        if (a & 1 and b & 2) or (a & 2 and b & 1):
            share_arriving *= 1.0 - losses.share[z]
    share, flags = 1.0 - share_arriving, 0
    if np.float64(np.int64(word(losses.key[p], losses.gamma[p], 2 * pull) >> np.uint64(11))) * 2.0**-53 < share:
        flags |= GONE
    if np.float64(np.int64(word(losses.key[p], losses.gamma[p], 2 * pull + 1) >> np.uint64(11))) * 2.0**-53 < share:
        flags |= MUTE
    return flags


@njit(cache=True, inline="always")
def first_wake(serial, turns, phase):
    """Return the number of wakes to skip, from number `serial` on, until the first n with n % turns == phase.

    It is from 0 to turns - 1.
    """
    return (phase - serial) % turns if turns > 1 else 0  # a division takes as long as all else of a process


@njit(cache=True)
def count_absent(points, offset, begun, ended, serial, row, turns, phase, spans, first, counts):
    """Add to counts[p] the wakes of process p in a window at which its node is down, for every process.

    It wakes at the instants in row[p] of the window, of which those with n % turns[p] == phase[p] are its own, and is
    down during the spans first[p] to first[p + 1], each (begin, end). A row w has points[offset[w] + begun[w]] to
    points[offset[w] + ended[w]], of which the first has n = serial[w].
    """
    for p in range(row.size):
        if first[p] == first[p + 1]:
            continue
        w, z = row[p], first[p]
        for j in range(
            offset[w] + begun[w] + first_wake(serial[w], turns[p], phase[p]), offset[w] + ended[w], turns[p]
        ):
            while z < first[p + 1] and spans[z, 1] <= points[j]:
                z += 1
            if z < first[p + 1] and spans[z, 0] <= points[j]:
                counts[p] += 1


@njit(cache=True)
def count_pulls(first, last, serial, askers, out):
    """Write the number of pulls that a window has in every component into `out`, over what is there.

    Row w of the window has the wakes from first[w] to last[w], of which the first has the number serial[w].
    """
    out[:] = 0
    for p in range(askers.row.size):
        w, m = askers.row[p], askers.turns[p]
        wakes = last[w] - first[w]
        if m > 1:
            wakes = max(0, (wakes - first_wake(serial[w], m, askers.phase[p]) + m - 1) // m)
        out[askers.component[p]] += wakes * askers.pulls[p]


@njit(cache=True)
def find_buckets(start, window, askers, bucket, scale, begin, earlier_pulls, head):
    """Write into `head` where the pulls of every bucket of a window, a span of time, begin in the queue.

    `window` has the instants, by row, at which askers wake, and `start` is its beginning. Component c begins at
    begin[c] in the queue, and has the buckets from bucket[c] on, scale[c] of them per unit of time, behind its pulls of
    earlier windows, which are earlier_pulls[c].
    """
    points, offset, first, last, serial = window
    head[:] = 0
    for p in range(askers.row.size):
        if p + AHEAD < askers.row.size:
            w = askers.row[p + AHEAD]
            fetch(points, offset[w] + first[w])
        w, c, m = askers.row[p], askers.component[p], askers.turns[p]
        o, base, buckets_per_time, k = offset[w], natural(bucket[c]), scale[c], askers.pulls[p]
        for j in range(o + first[w] + first_wake(serial[w], m, askers.phase[p]), o + last[w], m):
            head[natural((points[j] - start) * buckets_per_time) + base] += k
    for c in range(earlier_pulls.size):
        place = begin[c] + earlier_pulls[c]
        for b in range(bucket[c], bucket[c + 1]):
            n = head[b]
            head[b] = place
            place += n


@njit(cache=True)
def scatter_pulls(start, window, askers, key, gamma, losses, mixed, bucket, scale, head, times, pairs, room):
    """Write every pull of a window, as its time and asker << 32 | place asked, into its bucket in `times` and `pairs`.

    Component c has the buckets from bucket[c] on, scale[c] per unit of time. head[b] is where bucket b begins, and
    afterwards where it ends. Choices of places come from the streams (key, gamma) of askers, in random order if
    `mixed`; pulls that get lost are flagged. `room` is for the choices of all wakes of a process, or of one.
    """
    lossy, listed = losses.share.size > 0, askers.candidates
    points, offset, first, last, serial = window
    for p in range(askers.row.size):
        if p + AHEAD < askers.row.size:
            w = askers.row[p + AHEAD]
            fetch(points, offset[w] + first[w])
        w, n, me, begin = askers.row[p], askers.size[p], askers.own_position[p], askers.begin[p]
        pulls, back = askers.pulls[p], askers.two_way[p]
        k = pulls // 2 if back else pulls
        base, per, m = natural(bucket[askers.component[p]]), scale[askers.component[p]], askers.turns[p]
        o, who, shift, recent = offset[w], np.int64(askers.place[p]) << 32, askers.shift[p], askers.recent[p]
        others, skipped = n - 1 if me < n else n, first_wake(serial[w], m, askers.phase[p])
        begun, ended = o + first[w] + skipped, o + last[w]
        if pulls == 1 and not recent and not lossy:
            # The choices of all wakes come first, so that the processor makes several at once.
            k0, g0, number, wakes = key[p], gamma[p], serial[w] + skipped, (ended - begun + m - 1) // m
            for q in range(wakes):
                room[q] = bounded_number(word(k0, g0, number + q * m), others)
            for q in range(wakes):
                t, c = points[begun + q * m], room[q]
                b = natural((t - start) * per) + base
                z = natural(head[b])
                head[b] = z + ONE
                prefetch(times, z + LINE)
                prefetch(pairs, z + LINE)
                times[z], pairs[z] = t, who | (listed[natural(begin + c + (c >= me))] + shift)
            continue
        for j in range(begun, ended, m):
            t = points[j]
            b = natural((t - start) * per) + base
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
                target = RECENT | q if recent else listed[begin + c + (c >= me)] + shift
                if lossy:
                    number = q if askers.process_asks[p] == k else askers.numbers[begin + c]
                    pull = wake * askers.process_asks[p] + number
                    target |= draw_losses(losses, p, pull, askers.place[p], target & NODE)
                pairs[z + q] = who | target


@njit(cache=True)
def sort_slices(start, width, begins, ends, loose_times, loose_pairs, head, first, times, pairs):
    """Sort slices of time, whose pulls a coarse sort has left in no order, into `times` and `pairs`, one after another.

    Each is sorted by buckets of its own, for which `head` has room. Slice s has the pulls from begins[s, z] to ends[s,
    z] of `loose_times` and `loose_pairs` for every z, at times from start + s * width on. The first pull goes to place
    `first`.
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
def finish_order(begin, earlier_pulls, times, pairs):
    """Sort the new pulls of every component, which are nearly in order, by insertion; ties keep the order of processes.

    Those of component c begin behind earlier_pulls[c] others at begin[c]. The latest pull so far is held back, so that
    most are put in order without a branch, which could not be predicted.
    """
    for c in range(earlier_pulls.size):
        first, end = natural(begin[c] + earlier_pulls[c]), natural(begin[c + 1])
        if first == end:
            continue
        latest, latest_pair = times[first], pairs[first]
        for q in range(first + ONE, end):
            t, pair, z = times[q], pairs[q], q - ONE
            earlier = t < latest
            at, its_pair = (t, pair) if earlier else (latest, latest_pair)
            latest, latest_pair = (latest, latest_pair) if earlier else (t, pair)
            while z > first and times[z - ONE] > at:
                times[z], pairs[z] = times[z - ONE], pairs[z - ONE]
                z -= ONE
            times[z], pairs[z] = at, its_pair
        times[end - ONE], pairs[end - ONE] = latest, latest_pair


@final
class Pulls:
    """The queue of pulls of a batch of replications, to which the pulls of windows are added one after another.

    `queue` is its present content: the pulls of the last window, behind those that were still under way.
    """

    def __init__(
        self, askers: Askers, components: int, choices: Streams, losses: Losses, mixed: bool, scratch: Scratch
    ) -> None:
        """Begin with no pulls, in so many components.

        `choices` has the random stream of every asker. With `mixed`, the order matters in which a node asks several
        others at a wake. `scratch` is memory that windows reuse.
        """
        self._askers, self._choices, self._losses, self._mixed, self._scratch = askers, choices, losses, mixed, scratch
        self._most = max(int(askers.pulls.max(initial=1)), 1)
        none, zero = np.empty(0, np.int64), np.zeros(components, np.int64)
        self._new_counts = zero.copy()
        self.queue = PullQueue(
            np.zeros(components + 1, np.int64), zero, zero, np.empty(0), none, zero.copy(), zero.copy()
        )

    def add(self, window: Window, rows: slice) -> PullQueue:
        """Add the pulls of a window behind those still under way, in order of time, and return the queue.

        `rows` is the slice of the rows of the window by which askers wake. Pulls whose replies have arrived leave the
        queue, whose arrays are used again by the next call.
        """
        old = self.queue
        under_way, old_places = self.still_under_way, self.places_under_way
        count_pulls(window.first[rows], window.last[rows], window.serial[rows], self._askers, self._new_counts)
        begin = np.concatenate([[0], np.cumsum(under_way + self._new_counts)])
        old_pulls = old.times[old_places], old.pairs[old_places]
        times = self._scratch.floats("pull times", int(begin[-1]))
        pairs = self._scratch.ints("pull pairs", int(begin[-1]))
        if old_places.size:
            places = runs(begin[:-1], under_way)
            times[places], pairs[places] = old_pulls
        if self._new_counts.any():
            self._sort(window, rows, begin, under_way, times, pairs)
        answered = old.answered_after - old.arrived_after
        self.queue = PullQueue(begin, under_way, answered, times, pairs, old.answered_after, old.arrived_after)
        return self.queue

    @property
    def still_under_way(self) -> Ints:
        """The number of pulls of every component that are still on their way."""
        return np.asarray(np.diff(self.queue.begin) - self.queue.arrived_after)

    @property
    def places_under_way(self) -> Ints:
        """The places in the queue of the pulls that are still on their way, component by component."""
        return runs(self.queue.begin[:-1] + self.queue.arrived_after, self.still_under_way)

    def _sort(self, window: Window, rows: slice, begin: Ints, under_way: Ints, times: Any, pairs: Any) -> None:
        """Write the new pulls in order into `times` and `pairs`, behind those of every component still under way.

        `rows` are those of the window by which askers wake. Component c begins at begin[c], with under_way[c] earlier
        pulls.
        """
        fine = int(self._new_counts.max()) <= PULLS_PER_SORT
        columns = window.points, window.offset[rows], window.first[rows], window.last[rows], window.serial[rows]
        # Every component has a bucket, as askers without candidates wake as well.
        number = np.maximum(self._new_counts if fine else -(-self._new_counts // PULLS_PER_PART), 1)
        bucket = np.concatenate([[0], np.cumsum(number)])
        length = window.end - window.start
        # A hair under buckets / length, so that rounding never sends the last instant past the last bucket.
        scale, head = number * (1 - 1e-12) / length, self._scratch.ints("head", int(bucket[-1]))
        find_buckets(window.start, columns, self._askers, bucket, scale, begin, under_way, head)
        into = (times, pairs)
        if not fine:
            into = self._scratch.floats("loose times", times.size), self._scratch.ints("loose pairs", times.size)
        choices = (self._askers, *self._choices, self._losses, self._mixed)
        room = self._scratch.ints("chosen", max(int((columns[3] - columns[2]).max(initial=0)), self._most))
        scatter_pulls(window.start, columns, *choices, bucket, scale, head, *into, room)
        if not fine:
            room = self._scratch.ints("fine", int(np.diff(head, prepend=0).max()) + 1)
            for c in np.flatnonzero(self._new_counts).tolist():
                ends, first = head[bucket[c] : bucket[c + 1]], int(begin[c] + under_way[c])
                begins = np.append(first, ends[:-1])
                sort_slices(
                    window.start, 1 / scale[c], begins[:, None], ends[:, None], *into, room, first, times, pairs
                )
        finish_order(begin, under_way, times, pairs)

    def slices(self, start: float, end: float, expected: float, blocks: Iterator[Window]) -> Iterator[PullQueue]:
        """Yield the pulls of a window that comes in blocks of rows, in order, slice of time by slice of time.

        The window is [start, end), and `blocks` yields its rows by which askers wake. About so many pulls are
        `expected`. Only for one component without pulls under way. Each queue is in memory that the next one uses
        again.
        """
        count, none, row = min(max(round(expected / PULLS_PER_PART), 1), MOST_PARTS), np.zeros(1, np.int64), 0
        bucket, scale = np.array([0, count]), np.array([count * (1 - 1e-12) / (end - start)])
        begins, ends, pulls_so_far = list[Ints](), list[Ints](), none.copy()
        times, pairs = self._room_for_loose(0, round(expected))
        for window in blocks:
            columns = window.points, window.offset, window.first, window.last, window.serial
            askers, chosen = self._askers.of_rows(row, row + window.first.size)
            row += window.first.size
            count_pulls(*columns[2:], askers, self._new_counts)
            times, pairs = self._room_for_loose(int(pulls_so_far[0]), int(pulls_so_far[0] + self._new_counts[0]))
            head = np.empty(count, np.int64)
            find_buckets(start, columns, askers, bucket, scale, pulls_so_far, none, head)
            begins.append(head.copy())
            choices = (askers, *(words[chosen] for words in self._choices), self._losses, self._mixed)
            room = self._scratch.ints("chosen", max(int((columns[3] - columns[2]).max(initial=0)), self._most))
            scatter_pulls(start, columns, *choices, bucket, scale, head, times, pairs, room)
            ends.append(head)
            pulls_so_far += self._new_counts
        low, high = np.array(begins).T.copy(), np.array(ends).T.copy()
        number, width = (high - low).sum(axis=1), 1 / scale[0]
        room = self._scratch.ints("fine", int(number.max()) + 1)
        for s in range(0, count, PARTS_PER_PASS):
            parts, n = slice(s, s + PARTS_PER_PASS), int(number[s : s + PARTS_PER_PASS].sum())
            into = self._scratch.floats("pull times", n), self._scratch.ints("pull pairs", n)
            sort_slices(start + s * width, width, low[parts], high[parts], times, pairs, room, 0, *into)
            begin = np.array([0, n])
            finish_order(begin, none, *into)
            yield PullQueue(begin, none, none, *into, none, none)

    def _room_for_loose(self, count: int, size: int) -> tuple[Any, Any]:
        """Return room for `size` pulls in no order, as arrays of times and of pairs, with the first `count` of them.

        These are in the room returned before, and are copied if it has become too small.
        """
        before = self._scratch.floats("loose times", count), self._scratch.ints("loose pairs", count)
        after = self._scratch.floats("loose times", size), self._scratch.ints("loose pairs", size)
        for old, new in zip(before, after, strict=True):
            if count and not np.may_share_memory(old, new):
                new[:count] = old
        return after
