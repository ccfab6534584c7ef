"""What copies cost while they are behind, from instants alone: exact sums over a path (Staleness II-C, Sync 2.1).

At t a copy that left its source at S misses the updates in (S, t]. With f the first
and l the last of them, over a stretch [a, b) in which S stays the same

    first     integral of w(t - f)           = w2(b - f) - w2(max(a, f) - f), if f < b           (1)
    every     integral of sum of w(t - u)    = sum over u in (S, b) of w2(b - u) - w2((a - u)+)  (2)
    count     the same with w = 1            = n(S, a) (b - a) + sum over u in (a, b) of b - u   (3)
    last      integral of t - l, while stale = P(b) - P(max(a, f)),  P the integral of the age
                                               of the updates                                    (4)
    data      integral of t - S              = ((b - S)^2 - (a - S)^2) / 2                       (5)

where w2 is the integral of w. An answer at t costs what stands under these integrals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Cost = Callable[[Floats], Floats]
About = Literal["first", "every", "count", "last", "data"]

PAIRS = 1 << 20  # of a stretch and an update that are in hand at once


@final
@dataclass(frozen=True)
class Question:
    """What is to be added up, and of what it is a share.

    `over` time is a mean; `stale`, a mean of the time that was stale; `rest` is the share that costs nothing.
    """

    about: About
    w: Cost
    w2: Cost
    over: Literal["time", "stale", "rest"] = "time"


@final
@dataclass(frozen=True, eq=False)
class Stretches:
    """Times in which copies stayed as they were, beside all `updates` of their source after the oldest of them."""

    begin: Floats
    end: Floats
    left: Floats
    updates: Floats  # ascending

    @cached_property
    def _first(self) -> Ints:
        """The place of the first update that is missed."""
        return np.searchsorted(self.updates, self.left, side="right")

    @cached_property
    def _upto(self) -> Ints:
        """How many updates there are before the end."""
        return np.searchsorted(self.updates, self.end, side="left")

    @cached_property
    def _late(self) -> tuple[Ints, Floats, Floats, Floats]:
        """The stretches that become stale: their places, f, max(a, f) and b."""
        since = np.append(self.updates, np.inf)[self._first]
        late = np.flatnonzero(since < self.end)
        since = since[late]
        return late, since, np.maximum(self.begin[late], since), self.end[late]

    @property
    def length(self) -> Floats:
        return self.end - self.begin

    @cached_property
    def stale(self) -> Floats:
        """(1) with w = 1."""
        late, _, begin, end = self._late
        return self._spread(late, end - begin)

    def cost(self, question: Question) -> Floats:
        """Of every stretch."""
        match question.about:
            case "first":
                late, since, begin, end = self._late
                return self._spread(late, question.w2(end - since) - question.w2(begin - since))
            case "every":
                return self._every(question.w2)
            case "count":
                return self._count()
            case "last":
                late, _, begin, end = self._late
                return self._spread(late, self._updates_age(end) - self._updates_age(begin))
            case "data":
                return self.length * (self.end + self.begin - 2 * self.left) / 2

    def _spread(self, late: Ints, cost: Floats) -> Floats:
        found = np.zeros(self.begin.size)
        found[late] = cost
        return found

    def _every(self, w2: Cost) -> Floats:
        """(2)"""
        found = np.zeros(self.begin.size)
        for some, owner, at in _pairs(self._first, self._upto):
            updates, own = self.updates[at], some.start + owner
            cost = w2(self.end[own] - updates) - w2(np.maximum(self.begin[own] - updates, 0.0))
            found[some] = np.bincount(owner, cost, some.stop - some.start)
        return found

    def _count(self) -> Floats:
        """(3)"""
        if not self.updates.size:
            return np.zeros(self.begin.size)
        origin = self.updates[0]
        sums = np.append(0.0, np.cumsum(self.updates - origin))
        before = np.clip(np.searchsorted(self.updates, self.begin, side="right"), self._first, None)
        upto = np.maximum(self._upto, before)
        inside = (upto - before) * (self.end - origin) - (sums[upto] - sums[before])
        return np.asarray((before - self._first) * self.length + inside)

    def _updates_age(self, t: Floats) -> Floats:
        """P of (4) from the first update to every t after it."""
        squares = np.append(0.0, np.cumsum(np.diff(self.updates) ** 2 / 2))
        last = np.searchsorted(self.updates, t, side="right") - 1
        return np.asarray(squares[last] + (t - self.updates[last]) ** 2 / 2)


@final
@dataclass(frozen=True, eq=False)
class Answers:
    """Instants at which clients got a copy, beside all `updates` of its source after the oldest of them."""

    at: Floats
    left: Floats
    updates: Floats  # ascending

    @cached_property
    def _first(self) -> Ints:
        return np.searchsorted(self.updates, self.left, side="right")

    @cached_property
    def _upto(self) -> Ints:
        """How many updates there are so far."""
        return np.searchsorted(self.updates, self.at, side="right")

    @cached_property
    def stale(self) -> Floats:
        return (self._first < self._upto).astype(float)

    def cost(self, question: Question) -> Floats:
        """Of every answer."""
        late = np.flatnonzero(self.stale)
        found = np.zeros(self.at.size)
        match question.about:
            case "first":
                found[late] = question.w(self.at[late] - self.updates[self._first[late]])
            case "every":
                for some, owner, place in _pairs(self._first, self._upto):
                    cost = question.w(self.at[some.start + owner] - self.updates[place])
                    found[some] = np.bincount(owner, cost, some.stop - some.start)
            case "count":
                found[late] = self._upto[late] - self._first[late]
            case "last":
                found[late] = self.at[late] - self.updates[self._upto[late] - 1]
            case "data":
                found = self.at - self.left
        return found


def _pairs(first: Ints, upto: Ints) -> Iterator[tuple[slice, Ints, Ints]]:
    """Every owner with every place from its `first` to before its `upto`: a slice of owners, places in it, places."""
    count = np.maximum(upto - first, 0)
    ends = np.cumsum(count)
    begin = 0
    while begin < count.size:
        done = int(ends[begin - 1]) if begin else 0
        stop = max(int(np.searchsorted(ends, done + PAIRS, side="right")), begin + 1)
        mine = count[begin:stop]
        owner = np.repeat(np.arange(stop - begin), mine)
        within = np.arange(owner.size) - np.repeat(np.cumsum(mine) - mine, mine)
        yield slice(begin, stop), owner, within + np.repeat(first[begin:stop], mine)
        begin = stop
