"""The costs of copies while they are out of date, as exact sums over a path (Staleness II-C, Sync 2.1).

At t a copy that left its source at S misses the updates in (S, t]. With f the first
and l the last of them, a stretch [a, b) in which S stays the same costs

    first     integral of w(t - f)           = w2(b - f) - w2(max(a, f) - f), if f < b           (1)
    every     integral of sum of w(t - u)    = sum over u in (S, b) of w2(b - u) - w2((a - u)+)  (2)
    count     the same with w = 1            = n(S, a) (b - a) + sum over u in (a, b) of b - u   (3)
    last      integral of t - l, while stale = P(b) - P(max(a, f)),  P the integral of the age
                                               of the updates                                    (4)
    data      integral of w(t - S)           = w2(b - S) - w2(a - S)                             (5)
    still     time with no update in         = (min(b, f - y) - a)+                              (6)
              (S, t + y]
    turns     how often copies become stale  = 1 if a <= f - y < b                               (7)
              after more than y of being fresh
    spells    how often they stay stale for  counted over several stretches (stale_spells.py)
              more than y

where w2 is the integral of w. An answer at t costs the integrand at t. A copy that is infinitely old (S = -inf)
misses every update and costs the limit of w. As to (7): a holder whose copy was fresh for longer than y when the
update f made it stale had one at f - y that misses nothing before f. Its stretch is the one that counts, so each
turn to stale counts once, whatever stretches follow until f.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, final

import numpy as np

from replnet.laws import Flags, Floats, Ints

Cost = Callable[[Floats], Floats]
CostKind = Literal["first", "every", "count", "last", "data", "still", "turns", "spells"]
Denominator = Literal["time", "stale", "rest", "fresh", "turns", "copies"]

MANY_INSTANTS = 20_000  # from which on a kernel is worth the half second that it takes to load it
MOST_PAIRS_AT_ONCE = 1 << 20  # of a stretch and an update that it misses


@final
@dataclass(frozen=True)
class Question:
    """A metric as a ratio of sums over a path: the cost that is added up, and the whole by which it is divided.

    `about` names the cost: a weight `w` of the age of the `first`, of `every` missed update, or of the `data` (`w2` is
    the integral of `w`); the `count` of missed updates; the time since the `last` update while stale; being `still`
    fresh `ahead` units of time later; `turns` to stale, or stale `spells`, after or of more than `ahead`. `over` names
    the whole: all `time`, the `stale` or the `fresh` time, the `turns` of copies to stale, or all `copies` that there
    could be; `rest` is one minus the mean over time. `limit` is the cost of a copy that is infinitely old, `at` the
    only instant that counts, None if all do, and `level` that of a quantile of the age, None for a mean.
    """

    about: CostKind
    w: Cost
    w2: Cost
    over: Denominator = "time"
    limit: float = math.inf  # the cost of a copy that is infinitely old
    ahead: float = 0.0
    at: float | None = None
    level: float | None = None  # of a quantile of the age about the `first` missed update or the `data`, if it is one

    @property
    def of_answers(self) -> bool:
        """Whether it is asked of clients' answers too, and not only of copies: not at one instant, nor per turn."""
        return self.at is None and self.over != "turns"

    @property
    def without_copy(self) -> tuple[float, float]:
        """The cost of an answer, or unit of time, without a copy of a source, and what it adds to the whole: 0 or 1.

        It costs as much as an infinitely old copy; if that is infinite, both are 0: the mean is over copies alone.
        """
        if self.over in ("stale", "fresh", "turns"):
            return 0.0, 0.0
        if self.level is not None:
            return 0.0, 1.0
        return (self.limit, 1.0) if math.isfinite(self.limit) else (0.0, 0.0)

    @property
    def over_copies_alone(self) -> bool:
        """Whether it is a mean over time, or over answers, that leaves out those without a copy."""
        return self.over in ("time", "stale") and not self.without_copy[1]


class Updates(NamedTuple):
    """The instants at which sources change, in one array, ascending for each source.

    Those of the source in row s are points[begin[s] : begin[s + 1]]. An update is known by its index in `points`.
    """

    points: Floats
    begin: Ints

    @classmethod
    def of(cls, points: Floats) -> Updates:
        """Return the updates of a single source, in row 0, at the ascending instants `points`."""
        return cls(points, np.array([0, points.size]))

    def at_index(self, row: Ints, index: Ints) -> Floats:
        """Return the instant of the update at each `index` into `points`; infinite if past those of its `row`."""
        instants = np.append(self.points, np.inf)[index]
        return np.where(index < self.begin[row + 1], instants, np.inf)

    def index_after(self, row: Ints, instants: Floats, including: bool) -> Ints:
        """Return, for each instant, the index of the first update in its row that is not before it.

        With `including` an update at the very instant counts as before it, so the index is that of the next one.
        """
        # For few instants of a single source NumPy will do, which needs no compiler; it takes half as long again.
        if self.begin.size == 2 and instants.size < MANY_INSTANTS:
            return np.searchsorted(self.points, instants, side="right" if including else "left")
        from replnet.measure.staleness_kernels import find_places

        indices = np.empty(instants.size, np.int64)
        find_places(self.points, self.begin, row, instants, including, indices)
        return indices


@final
@dataclass(frozen=True, eq=False)
class Stretches:
    """Time spans [begin, end) in which a node held the same copy of the source in `row`, which left it at `departure`.

    Each of the four is an array with an element per stretch. `updates` has all updates of these sources after the
    earliest departure. Unless `lasting`, they are answers: copies that clients got at an instant, both begin and end;
    where a stretch counts for so much time, an answer counts once.
    """

    row: Ints
    begin: Floats
    end: Floats
    departure: Floats
    updates: Updates
    lasting: bool = True

    @classmethod
    def answers(cls, row: Ints, at: Floats, departure: Floats, updates: Updates) -> Stretches:
        """Return the answers that clients got at the instants `at`, each with a copy of the source in its `row`.

        `departure` has when each copy left its source. All arrays have an element per answer.
        """
        return cls(row, at, at, departure, updates, lasting=False)

    @cached_property
    def _first_missed_index(self) -> Ints:
        """The index, for each stretch, of the first update of its source after the departure of its copy.

        Without one it is the index past those of its row. The update may come after the stretch.
        """
        return self.updates.index_after(self.row, self.departure, including=True)

    @cached_property
    def _index_at_begin(self) -> Ints:
        """The index, for each stretch, after all updates up to its begin, at least that of the first missed one."""
        return np.maximum(self.updates.index_after(self.row, self.begin, including=True), self._first_missed_index)

    @cached_property
    def _index_at_end(self) -> Ints:
        """The index, for each stretch, after all updates before its end, at least that at its begin."""
        return np.maximum(self.updates.index_after(self.row, self.end, including=False), self._index_at_begin)

    @cached_property
    def _stale_parts(self) -> tuple[Ints, Floats, Floats, Floats]:
        """The stretches whose copies are stale at some time, and when, as four arrays with an element for each.

        These are its index, the first update that its copy misses, and the begin and the end of its stale part.
        """
        since = self.first_missed_update
        stale = np.flatnonzero(since < self.end if self.lasting else self.stale)
        since = since[stale]
        return stale, since, np.maximum(self.begin[stale], since), self.end[stale]

    @property
    def length(self) -> Floats:
        """The length of each stretch, in units of time; 1 for an answer."""
        return self.end - self.begin if self.lasting else np.ones(self.begin.size)

    @cached_property
    def stale(self) -> Floats:
        """The time in each stretch in which its copy misses an update; 1 for an answer that misses one, else 0."""
        if not self.lasting:
            return (self._first_missed_index < self._index_at_begin).astype(float)
        stale, _, begin, end = self._stale_parts
        return self._spread(stale, end - begin)

    @property
    def first_missed_update(self) -> Floats:
        """The instant of the first update after each departure; infinite if none is known."""
        return self.updates.at_index(self.row, self._first_missed_index)

    @property
    def fresh_until(self) -> Floats:
        """The instant, for each stretch, until which its copy is fresh.

        That is its begin if the copy is stale from there on, and its end if it is fresh all along. Stretches must be
        lasting.
        """
        stale, _, begin, _ = self._stale_parts
        until = self.end.copy()
        until[stale] = begin
        return until

    def cut_at(self, horizon: float) -> tuple[Stretches, Flags]:
        """Return the stretches that begin before `horizon`, cut off there, and the mask of these among all."""
        begun = self.begin < horizon
        begin, end = self.begin[begun], np.minimum(self.end[begun], horizon)
        return Stretches(self.row[begun], begin, end, self.departure[begun], self.updates, self.lasting), begun

    def answers_at(self, at: float) -> tuple[Stretches, Flags]:
        """Return the copies held at the instant `at`, as answers at it, and the mask of the stretches around it."""
        around = (self.begin <= at) & (at < self.end)
        row, departure = self.row[around], self.departure[around]
        return Stretches.answers(row, np.full(row.size, at), departure, self.updates), around

    def whole(self, over: Denominator) -> Floats:
        """Return, for every stretch, the whole of which its cost is a share: its length, or 1 for an answer.

        For `stale` and `fresh` it is the length of its stale or fresh part, and for `turns` 1 if its copy becomes stale
        in it and else 0.
        """
        match over:
            case "stale":
                return self.stale
            case "fresh":
                return self.length - self.stale
            case "turns":
                return self._count_turns(0.0)
            case _:
                return self.length

    def cost(self, question: Question) -> Floats:
        """Return the cost of every stretch: what the question adds up, integrated over the stretch.

        The cost of an answer is the integrand at its instant. Counts of turns are not integrated: a stretch has 0 or 1.
        A question about `spells` raises AssertionError, as these go on from stretch to stretch.
        """
        match question.about:
            case "first":
                stale, since, begin, end = self._stale_parts
                return self._spread(stale, self._weigh(question, begin - since, end - since))
            case "every":
                first, at_end = self._first_missed_index, self._index_at_end
                cost, at_begin = (question.w2, self._index_at_begin) if self.lasting else (question.w, first)
                return _cost_of_every(cost, self.updates.points, (self.begin, self.end), (first, at_begin, at_end))
            case "count":
                return self._integrate_count() if self.lasting else self._missed_count.astype(float)
            case "last":
                stale, _, begin, end = self._stale_parts
                if not self.lasting:
                    return self._spread(stale, end - self.updates.points[self._index_at_begin[stale] - 1])
                row = self.row[stale]
                return self._spread(stale, self._integrate_age(row, end) - self._integrate_age(row, begin))
            case "data":
                return self._weigh(question, self.begin - self.departure, self.end - self.departure)
            case "still":
                if not self.lasting:
                    return (self.first_missed_update > self.end + question.ahead).astype(float)
                fresh_so_long = np.minimum(self.end, self.first_missed_update - question.ahead)
                return np.maximum(fresh_so_long - self.begin, 0.0)
            case "turns":
                return self._count_turns(question.ahead)
            case "spells":
                raise AssertionError("spells go on from stretch to stretch")

    def _weigh(self, question: Question, first_ages: Floats, last_ages: Floats) -> Floats:
        """Return the integrals of the question's weight from first to last ages, or, for answers, its values there.

        All are arrays with an element per stretch or answer; the first and last age of an answer are the same.
        """
        return question.w2(last_ages) - question.w2(first_ages) if self.lasting else question.w(last_ages)

    @property
    def _missed_count(self) -> Ints:
        """The number of updates that the copy of each stretch misses at its begin."""
        return self._index_at_begin - self._first_missed_index

    def _count_turns(self, ahead: float) -> Floats:
        """Return 1 for each stretch whose copy makes its holder stale after more than `ahead` of being fresh, else 0.

        Each turn counts in one stretch alone: the one around the instant `ahead` before the first update that its copy
        misses.
        """
        instant = self.first_missed_update - ahead
        return ((self.begin <= instant) & (instant < self.end)).astype(float)

    def ages(self, question: Question) -> tuple[Ints, Floats, Floats | None]:
        """Return the indices of the stretches with the age that the question is about, its first and its last value.

        All three are arrays with an element per such stretch; the last is None for answers, as these do not last. The
        age is that of the `data`, which all have, or the time since the first missed update, which only stretches with
        a stale part have.
        """
        if question.about != "data":
            with_age, since, begin, end = self._stale_parts
        else:
            with_age, since, begin, end = np.arange(self.begin.size), self.departure, self.begin, self.end
        return with_age, begin - since, end - since if self.lasting else None

    def _spread(self, stretches: Ints, cost: Floats) -> Floats:
        """Return the costs of all stretches from those of some, whose indices are `stretches`; the others cost 0."""
        costs = np.zeros(self.begin.size)
        costs[stretches] = cost
        return costs

    def _integrate_count(self) -> Floats:
        """Return the integral of the number of missed updates over each stretch, an array with an element for each."""
        points, begins = self.updates
        origin = np.append(points, 0.0)[begins[:-1]]
        since = points - np.repeat(origin, np.diff(begins))
        sums = np.append(0.0, np.cumsum(since))
        first, last = self._index_at_begin, self._index_at_end
        inside = (last - first) * (self.end - origin[self.row]) - (sums[last] - sums[first])
        return np.asarray(self._missed_count * self.length + inside)

    def _integrate_age(self, row: Ints, t: Floats) -> Floats:
        """Return the integral of the time since the last update, from the first update of each `row` to instant `t`.

        `row` and `t` are arrays with an element per stretch, and so is the result. No instant may be before the first
        update of its row.
        """
        points = self.updates.points
        gaps = np.diff(points, prepend=0.0)
        gaps[self.updates.begin[:-1][self.updates.begin[:-1] < points.size]] = 0.0
        squares = np.cumsum(gaps**2 / 2)
        last = self.updates.index_after(row, t, including=True) - 1
        return np.asarray(squares[last] + (t - points[last]) ** 2 / 2)


def _cost_of_every(
    cost: Cost, updates: Floats, span: tuple[Floats, Floats], indices: tuple[Ints, Ints, Ints]
) -> Floats:
    """Return, for each span of time, the integral over it of the weights of the ages of all missed updates, added up.

    `cost` is the integral of the weight from 0 to an age, and `span` has the begins and the ends of all spans, in two
    arrays; if these are the same, `cost` is the weight itself. `indices` are three arrays, with the index in `updates`
    of the first missed update, and those after the last one missed at the begin, and at the end.
    """
    from replnet.measure.staleness_kernels import add_costs, missed_ages

    costs = np.zeros(span[0].size)
    for part in _slices(indices[2] - indices[0]):
        begin, end = (instants[part] for instants in span)
        first, at_begin, at_end = (column[part] for column in indices)
        end_ages, begin_ages = np.empty(int((at_end - first).sum())), np.empty(int((at_begin - first).sum()))
        missed_ages(begin, end, updates, first, at_begin, at_end, end_ages, begin_ages)
        add_costs(cost(end_ages), at_end - first, 1.0, costs[part])
        add_costs(cost(begin_ages), at_begin - first, -1.0, costs[part])
    return costs


def _slices(count: Ints) -> Iterator[slice]:
    """Yield slices of an array of stretches, or answers: those of a slice miss about MOST_PAIRS_AT_ONCE updates.

    `count` has the number of updates that each misses.
    """
    ends, begin = np.cumsum(count), 0
    while begin < count.size:
        done = int(ends[begin - 1]) if begin else 0
        stop = max(int(np.searchsorted(ends, done + MOST_PAIRS_AT_ONCE, side="right")), begin + 1)
        yield slice(begin, stop)
        begin = stop
