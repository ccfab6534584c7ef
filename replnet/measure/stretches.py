"""What copies cost while they are behind, from instants alone: exact sums over a path (Staleness II-C, Sync 2.1).

At t a copy that left its source at S misses the updates in (S, t]. With f the first
and l the last of them, over a stretch [a, b) in which S stays the same

    first     integral of w(t - f)           = w2(b - f) - w2(max(a, f) - f), if f < b           (1)
    every     integral of sum of w(t - u)    = sum over u in (S, b) of w2(b - u) - w2((a - u)+)  (2)
    count     the same with w = 1            = n(S, a) (b - a) + sum over u in (a, b) of b - u   (3)
    last      integral of t - l, while stale = P(b) - P(max(a, f)),  P the integral of the age
                                               of the updates                                    (4)
    data      integral of w(t - S)           = w2(b - S) - w2(a - S)                             (5)
    still     time with no update in         = (min(b, f - y) - a)+                              (6)
              (S, t + y]
    turns     how often fresh copies become  = 1 if a <= f - y < b                               (7)
              stale, after y of being fresh

where w2 is the integral of w. An answer at t costs what stands under these integrals. A copy that is
older than anything (S = -inf) misses every update and costs what w says at infinity. In (7) a copy that
is fresh for longer than y before f was so at f - y, with no update missed before f; so of the stretches that
end their freshness at f one counts, if it lasted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, final

import numpy as np

from replnet.laws.law import Flags, Floats, Ints

Cost = Callable[[Floats], Floats]
About = Literal["first", "every", "count", "last", "data", "still", "turns"]
Over = Literal["time", "stale", "rest", "fresh", "turns", "copies"]

PAIRS = 1 << 20  # of a stretch and an update that are in hand at once


@final
@dataclass(frozen=True)
class Question:
    """What is to be added up, and of what it is a share.

    `w` and its integral `w2` weigh what is about the `first` or `every` missed update; the others have no weight.
    `over` time is a mean; `stale` and `fresh`, of the time that was so; `turns`, of the times that copies became stale;
    `rest` is the share that costs nothing, and `copies` the mean over all copies that there could be. `ahead` is y of
    (6) and (7), and `at` an instant that alone counts.
    """

    about: About
    w: Cost
    w2: Cost
    over: Over = "time"
    limit: float = math.inf  # the cost of a copy that is infinitely old
    ahead: float = 0.0
    at: float | None = None
    level: float | None = None  # of a quantile of what is about the `first` missed update, or the `data`

    @property
    def of_answers(self) -> bool:
        """Whether it can be asked of answers as well as of copies."""
        return self.at is None and self.over != "turns"


class Updates(NamedTuple):
    """Instants at which sources change, those of row s at points[begin[s] : begin[s + 1]], ascending."""

    points: Floats
    begin: Ints

    @classmethod
    def of(cls, points: Floats) -> Updates:
        """Of one source."""
        return cls(points, np.array([0, points.size]))

    def after(self, row: Ints, place: Ints) -> Floats:
        """The update at a place; infinite where it lies beyond those of its row."""
        found = np.append(self.points, np.inf)[place]
        return np.where(place < self.begin[row + 1], found, np.inf)

    def places(self, row: Ints, instants: Floats, right: bool) -> Ints:
        """How many are before each instant, or with `right` not after it; counted from the first of all rows."""
        from replnet.measure.staleness_kernels import places

        found = np.empty(instants.size, np.int64)
        places(self.points, self.begin, row, instants, right, found)
        return found


@final
@dataclass(frozen=True, eq=False)
class Stretches:
    """Times in which copies stayed as they were, beside all updates of their sources after the oldest of them."""

    row: Ints
    begin: Floats
    end: Floats
    left: Floats
    updates: Updates

    @cached_property
    def _first(self) -> Ints:
        """The place of the first update that is missed."""
        return self.updates.places(self.row, self.left, right=True)

    @cached_property
    def _before(self) -> Ints:
        """The place after all updates so far at the begin, and no less than the first that is missed."""
        return np.maximum(self.updates.places(self.row, self.begin, right=True), self._first)

    @cached_property
    def _upto(self) -> Ints:
        """The place after all updates before the end, and no less than at the begin."""
        return np.maximum(self.updates.places(self.row, self.end, right=False), self._before)

    @cached_property
    def _late(self) -> tuple[Ints, Floats, Floats, Floats]:
        """The stretches that become stale: their places, f, max(a, f) and b."""
        since = self.updates.after(self.row, self._first)
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

    @property
    def fresh_until(self) -> Floats:
        """When each becomes stale, or its end."""
        late, _, begin, _ = self._late
        found = self.end.copy()
        found[late] = begin
        return found

    def upto(self, horizon: float) -> tuple[Stretches, Flags]:
        """What there is of them before then, and whose it is."""
        there = self.begin < horizon
        begin, end = self.begin[there], np.minimum(self.end[there], horizon)
        return Stretches(self.row[there], begin, end, self.left[there], self.updates), there

    def seen(self, at: float) -> tuple[Answers, Flags]:
        """The copies that who asks then would get, and which of them there are."""
        there = (self.begin <= at) & (at < self.end)
        row, left = self.row[there], self.left[there]
        return Answers(row, np.full(row.size, at), left, self.updates), there

    def whole(self, over: Over) -> Floats:
        """What the cost of every stretch is a share of."""
        match over:
            case "stale":
                return self.stale
            case "fresh":
                return self.length - self.stale
            case "turns":
                return self._turns(0.0)
            case _:
                return self.length

    def cost(self, question: Question) -> Floats:
        """Of every stretch."""
        match question.about:
            case "first":
                late, since, begin, end = self._late
                return self._spread(late, question.w2(end - since) - question.w2(begin - since))
            case "every":
                places = (self._first, self._before, self._upto)
                return _every(question.w2, self.updates.points, (self.begin, self.end), places)
            case "count":
                return self._count()
            case "last":
                late, _, begin, end = self._late
                row = self.row[late]
                return self._spread(late, self._updates_age(row, end) - self._updates_age(row, begin))
            case "data":
                return question.w2(self.end - self.left) - question.w2(self.begin - self.left)
            case "still":
                lasts = self.updates.after(self.row, self._first) - question.ahead
                return np.maximum(np.minimum(self.end, lasts) - self.begin, 0.0)
            case "turns":
                return self._turns(question.ahead)

    def _turns(self, ahead: float) -> Floats:
        """(7)"""
        lasts = self.updates.after(self.row, self._first) - ahead
        return ((self.begin <= lasts) & (lasts < self.end)).astype(float)

    def ages(self, question: Question) -> tuple[Ints, Floats, Floats]:
        """The stretches in which there is such an age, and from what to what it grows."""
        if question.about == "data":
            return np.arange(self.begin.size), self.begin - self.left, self.end - self.left
        late, since, begin, end = self._late
        return late, begin - since, end - since

    def _spread(self, late: Ints, cost: Floats) -> Floats:
        found = np.zeros(self.begin.size)
        found[late] = cost
        return found

    def _count(self) -> Floats:
        """(3)"""
        points, begins = self.updates
        origin = np.append(points, 0.0)[begins[:-1]]
        since = points - np.repeat(origin, np.diff(begins))
        sums = np.append(0.0, np.cumsum(since))
        before, upto = self._before, self._upto
        inside = (upto - before) * (self.end - origin[self.row]) - (sums[upto] - sums[before])
        return np.asarray((before - self._first) * self.length + inside)

    def _updates_age(self, row: Ints, t: Floats) -> Floats:
        """P of (4) from the first update to every t after it."""
        points = self.updates.points
        gaps = np.diff(points, prepend=0.0)
        gaps[self.updates.begin[:-1][self.updates.begin[:-1] < points.size]] = 0.0
        squares = np.cumsum(gaps**2 / 2)
        last = self.updates.places(row, t, right=True) - 1
        return np.asarray(squares[last] + (t - points[last]) ** 2 / 2)


@final
@dataclass(frozen=True, eq=False)
class Answers:
    """Instants at which clients got a copy, beside all updates of its source after the oldest of them."""

    row: Ints
    at: Floats
    left: Floats
    updates: Updates

    @cached_property
    def _first(self) -> Ints:
        return self.updates.places(self.row, self.left, right=True)

    @cached_property
    def _upto(self) -> Ints:
        """The place after all updates so far."""
        return np.maximum(self.updates.places(self.row, self.at, right=True), self._first)

    @cached_property
    def stale(self) -> Floats:
        return (self._first < self._upto).astype(float)

    def upto(self, horizon: float) -> tuple[Answers, Flags]:
        """Those before then, and which they are."""
        there = self.at < horizon
        return Answers(self.row[there], self.at[there], self.left[there], self.updates), there

    def whole(self, over: Over) -> Floats:
        """What the cost of every answer is a share of."""
        match over:
            case "stale":
                return self.stale
            case "fresh":
                return 1 - self.stale
            case _:
                return np.ones(self.at.size)

    def cost(self, question: Question) -> Floats:
        """Of every answer."""
        late = np.flatnonzero(self.stale)
        found, points = np.zeros(self.at.size), self.updates.points
        match question.about:
            case "first":
                found[late] = question.w(self.at[late] - points[self._first[late]])
            case "every":
                found = _every(question.w, points, (self.at, self.at), (self._first, self._first, self._upto))
            case "count":
                found[late] = self._upto[late] - self._first[late]
            case "last":
                found[late] = self.at[late] - points[self._upto[late] - 1]
            case "data":
                found = question.w(self.at - self.left)
            case "still":
                found = (self.updates.after(self.row, self._first) > self.at + question.ahead).astype(float)
            case "turns":
                raise AssertionError("answers do not last")
        return found

    def ages(self, question: Question) -> tuple[Ints, Floats, None]:
        """The answers that have such an age, and that."""
        if question.about == "data":
            return np.arange(self.at.size), self.at - self.left, None
        late = np.flatnonzero(self.stale)
        return late, self.at[late] - self.updates.points[self._first[late]], None


def _every(cost: Cost, updates: Floats, span: tuple[Floats, Floats], places: tuple[Ints, Ints, Ints]) -> Floats:
    """(2), with `cost` for w2: by the begin and the end of each span, over updates from the first that is missed.

    Those before the second place are missed at the begin already, those before the third at the end.
    """
    from replnet.measure.staleness_kernels import add_up, missed

    found = np.zeros(span[0].size)
    for some in _slices(places[2] - places[0]):
        (begin, end), (first, before, upto) = (one[some] for one in span), (one[some] for one in places)
        late, early = np.empty(int((upto - first).sum())), np.empty(int((before - first).sum()))
        missed(begin, end, updates, first, before, upto, late, early)
        add_up(cost(late), upto - first, 1.0, found[some])
        add_up(cost(early), before - first, -1.0, found[some])
    return found


def _slices(count: Ints) -> Iterator[slice]:
    """Stretches, or answers, that miss about PAIRS updates together."""
    ends, begin = np.cumsum(count), 0
    while begin < count.size:
        done = int(ends[begin - 1]) if begin else 0
        stop = max(int(np.searchsorted(ends, done + PAIRS, side="right")), begin + 1)
        yield slice(begin, stop)
        begin = stop
