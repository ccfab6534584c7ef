"""The compiled loops of the carousel.

The jobs of a stretch of slots are put in order of their last slot by a radix sort,
and each in turn takes the first slot from its own first one on that is still free.
That leaves in every slot the waiting job with the earliest deadline (the off-line
minimum problem of Aho, Hopcroft and Ullman), without a heap: slots that are taken
point on to the next that may be free.
"""

from __future__ import annotations

import numpy as np

from replnet.compiler import njit

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
