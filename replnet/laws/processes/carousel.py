"""A deterministic order of refreshes in which every page comes at its rate (Crawl, Algorithm 3).

With p the page's share of all slots, its i-th turn must come

    after slot (i - 1) / p, or it would have had p t + 1 turns by slot t,
    by slot i / p rounded up, or it would have had p t - 1,                            (1)

so that at every slot t it has had less than one turn more or less than p t. Each slot goes to the
page whose next turn, if it may begin, must come first (of those alike to the first in the list). As the shares
add up to 1 a slot is never without such a page and no turn is late (Tijdeman 1980; Crawl ref. 16, 17).

The shares are whole numbers over their sum, rates rounded to 2^-61 of the total, and all of (1)
is done in whole numbers: nothing drifts, however long the schedule. A stretch of slots costs time in
proportion to its slots and to the number of pages.

The jobs of a stretch of slots are put in order of their last slot by a radix sort,
and each in turn takes the first slot from its own first one on that is still free.
That leaves in every slot the waiting job with the earliest deadline (the off-line
minimum problem of Aho, Hopcroft and Ullman), without a heap: slots that are taken
point on to the next that may be free.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

import numpy as np
import numpy.typing as npt

from replnet.compiler import njit
from replnet.laws.law import Ints
from replnet.text.errors import FieldError

Turns = npt.NDArray[np.int32]

BITS = 61  # of the total: sums of two terms of (1) are still 64-bit numbers
SHORTEST = 1 << 16  # slots of a block, below which its overhead would show
MOST = 1 << 30  # pages, and slots at once, that the numbers of a job hold
ROUND, LONGEST_ROUND = 1 << 16, 1 << 23  # slots of a round
OFTEN = 8  # times that the rarest page comes in a round, where that is not too long
DIGIT = 11  # bits of a sort key per pass: 2048 buckets fit the cache


@njit(cache=True)
def release(now, slots, total, weight, whole, part, who, first, last):
    """Every page's jobs that may begin in (now, now + slots]; returns how many.

    Job i of a page of weight w is due at i * total / w = whole + part / w, and may begin in the slot
    after job i - 1 is due. Slots count from 0 at now + 1; `whole` and `part` move on past the jobs.
    """
    n = 0
    for k in range(weight.size):
        w, begin, over = weight[k], whole[k], part[k]
        if begin >= now + slots:
            continue
        step, rest = total // w, total % w
        while begin < now + slots:
            who[n] = k
            first[n] = max(begin - now, 0)
            begin += step
            over += rest
            if over >= w:
                over -= w
                begin += 1
            last[n] = begin + (over > 0) - now - 1
            n += 1
        whole[k], part[k] = begin, over
    return n


@njit(cache=True)
def sort_by_last(n, who, first, last, spare_who, spare_first, spare_last):
    """Stable, digit by digit; returns the three arrays that hold the result."""
    largest = 0
    for q in range(n):
        largest = max(largest, last[q])
    shift, head = 0, np.empty((1 << DIGIT) + 1, np.int64)
    while largest >> shift > 0:
        head[:] = 0
        for q in range(n):
            head[((last[q] >> shift) & ((1 << DIGIT) - 1)) + 1] += 1
        for b in range(1 << DIGIT):
            head[b + 1] += head[b]
        for q in range(n):
            b = (last[q] >> shift) & ((1 << DIGIT) - 1)
            z = head[b]
            head[b] = z + 1
            spare_who[z], spare_first[z], spare_last[z] = who[q], first[q], last[q]
        who, spare_who = spare_who, who
        first, spare_first = spare_first, first
        last, spare_last = spare_last, last
        shift += DIGIT
    return who, first, last


@njit(cache=True)
def assign(n, slots, total, weight, whole, part, who, first, out):
    """Give every slot its job; pages whose job found none go back to where that job is still to come."""
    free = np.arange(slots + 1).astype(np.int32)
    for q in range(n):
        s = first[q]
        while free[s] != s:
            free[s] = free[free[s]]
            s = free[s]
        k = who[q]
        if s < slots:
            out[s] = k
            free[s] = s + 1
            continue
        whole[k] -= total // weight[k]
        part[k] -= total % weight[k]
        if part[k] < 0:
            part[k] += weight[k]
            whole[k] -= 1


def long_round(rates: npt.ArrayLike) -> Ints:
    """The order over and over, long enough for its rarest page: what would come less than once may never come."""
    given = _checked(rates)
    slots = int(np.clip(OFTEN * given.sum() / given[given > 0].min(), ROUND, LONGEST_ROUND))
    return Carousel(given).take(slots).astype(np.int64)


@final
class Carousel:
    """An endless schedule, handed out stretch by stretch. Pages with rate 0 never come."""

    def __init__(self, rates: npt.ArrayLike) -> None:
        given = _checked(rates)
        _, exponent = np.frexp(given.sum())
        weights = np.rint(np.ldexp(given, BITS - int(exponent))).astype(np.int64)
        self._pages = np.flatnonzero(weights).astype(np.int32)
        self._weights = weights[self._pages]
        self._total = int(self._weights.sum())
        self._whole, self._part = np.zeros_like(self._weights), np.zeros_like(self._weights)
        self.now = 0  # slots handed out

    @property
    def block(self) -> int:
        """So many slots at a time cost as little per slot as any number, but for a factor."""
        return max(self._pages.size, SHORTEST)

    def take(self, slots: int) -> Turns:
        """Which page comes in each of the next `slots`. How they are taken makes no difference to them."""
        if not 0 < slots <= MOST:
            raise FieldError("slots", f"{slots} is out of range", f"a number of slots from 1 to {MOST:,}")
        out = np.empty(slots, np.int32)
        # At most one job a page waits at any time beyond those that fill the slots.
        room = slots + self._pages.size
        who, first = np.empty((2, room), np.int32), np.empty((2, room), np.int32)
        last = np.empty((2, room), np.int64)
        state = (self._total, self._weights, self._whole, self._part)
        n = release(self.now, slots, *state, who[0], first[0], last[0])
        ordered, begins, _ = sort_by_last(n, who[0], first[0], last[0], who[1], first[1], last[1])
        assign(n, slots, *state, ordered, begins, out)
        self.now += slots
        return self._pages[out]

    def blocks(self) -> Iterator[Turns]:
        """The schedule for ever, in stretches of `block` slots."""
        while True:
            yield self.take(self.block)


def _checked(rates: npt.ArrayLike) -> npt.NDArray[np.float64]:
    given = np.asarray(rates)
    if given.ndim != 1 or given.dtype.kind not in "iuf" or not 0 < given.size <= MOST:
        raise FieldError("rates", "not a plain list of numbers", "one rate per page, such as [1, 0.5]")
    given = given.astype(np.float64, copy=False)
    bad = np.flatnonzero(~((given >= 0) & (given < np.inf)))
    if bad.size:
        raise FieldError(f"rates[{bad[0]}]", f"{given[bad[0]]:g} is not a rate", "0 or a positive number")
    with np.errstate(over="ignore"):
        total = given.sum()
    if not 0 < total < np.inf:
        raise FieldError("rates", f"they add up to {total:g}", "a finite total above 0")
    return given
