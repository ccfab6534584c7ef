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
from replnet.laws import Ints
from replnet.text import FieldError, field_name

Turns = npt.NDArray[np.int32]

WEIGHT_BITS = 61  # of all weights together: sums of two terms of (1) are still 64-bit numbers
SHORTEST_BLOCK = 1 << 16  # slots of a block, below which its overhead would show
MOST_PAGES = 1 << 30  # pages, and slots at once: what 32-bit numbers hold
SHORTEST_ROUND, LONGEST_ROUND = 1 << 16, 1 << 23  # slots of a round
VISITS_OF_RAREST = 8  # in a round, unless it gets too long
DIGIT_BITS = 11  # bits of a sort key per pass: 2048 buckets fit the cache


@njit(cache=True)
def release(now, slots, total, weight, due_slot, part, pages, first, last):
    """Write every page's turns that may begin in the next `slots` slots after slot `now`; return how many there are.

    Turn n is written as the page pages[n], the first slot first[n] and the last slot last[n], where slots count from 0
    at now + 1. Turn i of a page is due at i * total / weight = due_slot + part / weight, and may begin in the slot
    after turn i - 1 is due. `weight`, `due_slot` and `part` have a number for each page, and `total` is the sum of
    weights; `due_slot` and `part` move on past the turns that are written.
    """
    n = 0
    for k in range(weight.size):
        w, begin, remainder = weight[k], due_slot[k], part[k]
        if begin >= now + slots:
            continue
        step, step_remainder = total // w, total % w
        while begin < now + slots:
            pages[n] = k
            first[n] = max(begin - now, 0)
            begin += step
            remainder += step_remainder
            if remainder >= w:
                remainder -= w
                begin += 1
            last[n] = begin + (remainder > 0) - now - 1
            n += 1
        due_slot[k], part[k] = begin, remainder
    return n


@njit(cache=True)
def sort_by_last(n, pages, first, last, spare_pages, spare_first, spare_last):
    """Sort the first `n` turns by their last slot, stably; return arrays of their pages, first slots and last slots.

    It goes digit by digit, from the arrays to the spare ones and back, so that all six are overwritten, and three of
    them are returned, of which the first n elements count.
    """
    largest = 0
    for q in range(n):
        largest = max(largest, last[q])
    shift, head = 0, np.empty((1 << DIGIT_BITS) + 1, np.int64)
    while largest >> shift > 0:
        head[:] = 0
        for q in range(n):
            head[((last[q] >> shift) & ((1 << DIGIT_BITS) - 1)) + 1] += 1
        for b in range(1 << DIGIT_BITS):
            head[b + 1] += head[b]
        for q in range(n):
            b = (last[q] >> shift) & ((1 << DIGIT_BITS) - 1)
            z = head[b]
            head[b] = z + 1
            spare_pages[z], spare_first[z], spare_last[z] = pages[q], first[q], last[q]
        pages, spare_pages = spare_pages, pages
        first, spare_first = spare_first, first
        last, spare_last = spare_last, last
        shift += DIGIT_BITS
    return pages, first, last


@njit(cache=True)
def assign(n, slots, total, weight, due_slot, part, pages, first, page_of_slot):
    """Give every slot its turn in `page_of_slot`; a page whose turn found no slot goes back to before that turn.

    The `n` turns, each with a page and its first possible slot, come in order of their last slot, and each takes the
    first slot that is free. `due_slot` and `part` say when the next turn of each page is due, as `due_slot` + `part` /
    weight.
    """
    free = np.arange(slots + 1).astype(np.int32)
    for q in range(n):
        s = first[q]
        while free[s] != s:
            free[s] = free[free[s]]
            s = free[s]
        k = pages[q]
        if s < slots:
            page_of_slot[s] = k
            free[s] = s + 1
            continue
        due_slot[k] -= total // weight[k]
        part[k] -= total % weight[k]
        if part[k] < 0:
            part[k] += weight[k]
            due_slot[k] -= 1


def long_round(rates: npt.ArrayLike) -> Ints:
    """Return one round of a carousel, the page of each slot, with several visits of the rarest page if possible.

    A round has 65,536 to 8,388,608 slots. Pages are numbers of `rates`, which count relative to their sum. Raises a
    FieldError if these are no rates or all 0.
    """
    checked_rates = _check_rates(rates)
    slots = int(
        np.clip(
            VISITS_OF_RAREST * checked_rates.sum() / checked_rates[checked_rates > 0].min(),
            SHORTEST_ROUND,
            LONGEST_ROUND,
        )
    )
    return Carousel(checked_rates).take(slots).astype(np.int64)


@final
class Carousel:
    """An endless schedule of pages, one in each slot, in which every page comes at its rate.

    It is handed out stretch by stretch, so that taking slots changes it: `now` is how many have been taken. Pages with
    rate 0 never come.
    """

    def __init__(self, rates: npt.ArrayLike) -> None:
        """Begin the schedule of pages that come at these rates, which count relative to their sum.

        Raise a FieldError if they are no rates, or all 0.
        """
        rates_checked = _check_rates(rates)
        _, exponent = np.frexp(rates_checked.sum())
        weights = np.rint(np.ldexp(rates_checked, WEIGHT_BITS - int(exponent))).astype(np.int64)
        self._pages = np.flatnonzero(weights).astype(np.int32)
        self._weights = weights[self._pages]
        self._total = int(self._weights.sum())
        self._due_slot, self._part = np.zeros_like(self._weights), np.zeros_like(self._weights)
        self.now = 0  # slots handed out

    @property
    def block(self) -> int:
        """The number of slots to take at once, below which each slot would cost more.

        It is the number of pages with a rate above 0, or 65,536 if that is more.
        """
        return max(self._pages.size, SHORTEST_BLOCK)

    def take(self, slots: int) -> Turns:
        """Return the page of each of the next `slots` slots, and move on past them.

        The schedule does not depend on how many are taken at once. Raise a FieldError for fewer than 1, or for more
        than 2^30.
        """
        if not 0 < slots <= MOST_PAGES:
            raise FieldError("slots", f"{slots} is out of range", f"a number of slots from 1 to {MOST_PAGES:,}")
        page_of_slot = np.empty(slots, np.int32)
        # At most one job a page waits at any time beyond those that fill the slots.
        room = slots + self._pages.size
        pages, first = np.empty((2, room), np.int32), np.empty((2, room), np.int32)
        last = np.empty((2, room), np.int64)
        state = (self._total, self._weights, self._due_slot, self._part)
        n = release(self.now, slots, *state, pages[0], first[0], last[0])
        ordered, begins, _ = sort_by_last(n, pages[0], first[0], last[0], pages[1], first[1], last[1])
        assign(n, slots, *state, ordered, begins, page_of_slot)
        self.now += slots
        return self._pages[page_of_slot]

    def blocks(self) -> Iterator[Turns]:
        """Yield arrays of the pages of the next `block` slots, for ever."""
        while True:
            yield self.take(self.block)


def _check_rates(rates: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return rates as an array of floats; raise a FieldError unless they are finite, not negative and not all 0."""
    weights = np.asarray(rates)
    if weights.ndim != 1 or weights.dtype.kind not in "iuf" or not 0 < weights.size <= MOST_PAGES:
        raise FieldError("rates", "not a plain list of numbers", "one rate per page, such as [1, 0.5]")
    weights = weights.astype(np.float64, copy=False)
    bad = np.flatnonzero(~((weights >= 0) & (weights < np.inf)))
    if bad.size:
        raise FieldError(
            field_name(("rates", int(bad[0]))), f"{weights[bad[0]]:g} is not a rate", "0 or a positive number"
        )
    with np.errstate(over="ignore"):
        total = weights.sum()
    if not 0 < total < np.inf:
        raise FieldError("rates", f"they add up to {total:g}", "a finite total above 0")
    return weights
