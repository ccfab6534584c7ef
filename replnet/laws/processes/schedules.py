"""Processes that are drawn together: who comes when, in rounds or slots that all of them share.

    Round        one process a slot in a given order, round and round; where in the round time zero falls is chance
    Shuffled     one process a slot, every round in a new random order (Sync Alg. B.2)
    Scattered    every process at a random point of each of its own intervals, which is what
                 a random order amounts to where they do not come equally often
    Draws        one process a slot, drawn anew by its share (Sync Alg. B.3)

A round of all in fixed order is Sync's Alg. B.1, the carousel's order (carousel.py) the policy of Crawl. All are in
equilibrium at time zero. Before time zero the draws of different processes are independent here, where in truth no
two fall into one slot; each by itself has the law it should, so no mean over them is moved.

A `Schedule` says so; a `Timetable` is one realisation, handed out window after window as renewals are
(renewal.py), and looked up backwards as far as anyone asks.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from replnet.laws.law import Floats, Ints
from replnet.laws.processes.streams import (
    CHOICES,
    PAST,
    PURPOSES,
    START,
    Streams,
    Words,
    exponentials,
    streams,
    uniforms,
    words,
)
from replnet.text.errors import FieldError

Events = tuple[Floats, Ints]
"""Instants, and which process each belongs to; those of a process ascend."""

MOST = 1 << 28  # instants that are made at once: what fits a memory


class Timetable(ABC):
    """One realisation: of every process its instants from time zero on, and those before."""

    @property
    @abstractmethod
    def age(self) -> Floats:
        """How long ago every process came last at time zero; infinite where it never does."""

    @abstractmethod
    def between(self, begin: float, end: float) -> Events:
        """All instants in [begin, end), both of one side of time zero."""


class Schedule(ABC):
    """How several processes share their instants."""

    @abstractmethod
    def timetable(self, run: Words, names: Words) -> Timetable:
        """`names` are the words of the processes, in their order."""


def _own(run: Words, part: int = CHOICES) -> Streams:
    """Chance that belongs to the schedule and to none of its processes."""
    return streams(run, np.zeros(1, np.uint64), np.array([PURPOSES["downloads"]]), part)


def _slots(slot: float, phase: float, begin: float, end: float) -> Ints:
    """The numbers of the slots that end in [begin, end), if at time zero a share `phase` of slot 0 has passed."""
    if (end - begin) / slot > MOST:
        wrong = f"{(end - begin) / slot:.3g} downloads at once"
        raise FieldError("horizon", wrong, f"at most {MOST:,}: a shorter one")
    numbers = np.arange(math.floor(begin / slot + phase) - 2, math.ceil(end / slot + phase) + 2)
    ends = _ends(numbers, slot, phase)
    return numbers[(ends >= begin) & (ends < end)]


def _ends(numbers: Ints, slot: float, phase: float) -> Floats:
    return np.asarray((numbers + 1 - phase) * slot)


@final
@dataclass(frozen=True, eq=False)
class Round(Schedule):
    """order[j % order.size] comes at the end of slot j."""

    order: Ints
    slot: float
    size: int

    def timetable(self, run: Words, names: Words) -> Timetable:
        return _Round(self, *uniforms(_own(run, START), np.arange(2)).tolist())


@final
class _Round(Timetable):
    def __init__(self, of: Round, phase: float, place: float) -> None:
        self._of, self._phase, turns = of, phase, of.order.size
        # The whole part of a phase that is uniform over the round, of which `phase` is the rest.
        self._start = min(int(place * turns), turns - 1)

    @property
    def age(self) -> Floats:
        of, ago = self._of, np.full(self._of.size, np.inf)
        # Of several turns of a process the latest before the start is written last.
        ago[np.roll(of.order, -self._start)] = np.arange(of.order.size - 1, -1, -1)
        return np.asarray((ago + self._phase) * of.slot)

    def between(self, begin: float, end: float) -> Events:
        of = self._of
        numbers = _slots(of.slot, self._phase, begin, end)
        return _ends(numbers, of.slot, self._phase), of.order[(self._start + numbers) % of.order.size]


@final
@dataclass(frozen=True, eq=False)
class Shuffled(Schedule):
    """All of `size` processes once per `period`, in slots of equal length, every time in a new random order."""

    size: int
    period: float

    def timetable(self, run: Words, names: Words) -> Timetable:
        return _Shuffled(self, _own(run), float(uniforms(_own(run, START), np.zeros(1, np.int64))[0]))


@final
class _Shuffled(Timetable):
    def __init__(self, of: Shuffled, chance: Streams, phase: float) -> None:
        self._of, self._chance, self._phase = of, chance, phase

    @property
    def age(self) -> Floats:
        # The round before the one that time zero falls in has every process once.
        return _last(*self.between(-2 * self._of.period, 0.0), self._of.size)

    def between(self, begin: float, end: float) -> Events:
        of = self._of
        _slots(of.period / of.size, 0.0, begin, end)
        rounds = np.arange(math.floor(begin / of.period + self._phase), math.ceil(end / of.period + self._phase) + 1)
        places = np.arange(of.size)
        who = np.argsort(words(self._chance, rounds[:, None] * of.size + places), axis=1).ravel()
        at = ((rounds[:, None] - self._phase + places / of.size) * of.period).ravel()
        inside = (at >= begin) & (at < end)
        return at[inside], who[inside]


@final
@dataclass(frozen=True, eq=False)
class Scattered(Schedule):
    """Every process once at a random point of each of its own intervals 1 / rate."""

    rates: Floats

    def timetable(self, run: Words, names: Words) -> Timetable:
        return _Scattered(self.rates, run, names)


@final
class _Scattered(Timetable):
    def __init__(self, rates: Floats, run: Words, names: Words) -> None:
        self._size, self._some = rates.size, np.flatnonzero(rates)
        self._rates, purpose = rates[self._some], np.full(self._some.size, PURPOSES["downloads"])
        first = streams(run, names[self._some], purpose, START)
        self._phase = uniforms(first, np.zeros(self._some.size, np.int64))
        self._chance = streams(run, names[self._some], purpose, CHOICES)

    @property
    def age(self) -> Floats:
        # However the points fall, the last is within two intervals.
        at, who = self._points(-2 * np.ones(self._some.size, np.int64), np.full(self._some.size, 3))
        past = at < 0
        return _last(at[past], who[past], self._size)

    def between(self, begin: float, end: float) -> Events:
        first = np.floor(begin * self._rates - self._phase).astype(np.int64) - 1
        number = np.ceil(end * self._rates - self._phase).astype(np.int64) + 1 - first
        at, who = self._points(first, number)
        inside = (at >= begin) & (at < end)
        return at[inside], who[inside]

    def _points(self, first: Ints, number: Ints) -> Events:
        """Those of intervals `first`, `first` + 1, ... of every process, so many of each."""
        if number.sum() > MOST:
            raise FieldError("horizon", f"{number.sum():.3g} downloads at once", f"at most {MOST:,}: a shorter one")
        ends = np.cumsum(number)
        turn = np.arange(int(number.sum())) - np.repeat(ends - number - first, number)
        at = np.repeat(self._phase, number) + turn
        at += uniforms(Streams(*(np.repeat(word, number) for word in self._chance)), turn)
        return at / np.repeat(self._rates, number), np.repeat(self._some, number)


@final
@dataclass(frozen=True, eq=False)
class Draws(Schedule):
    """At the end of every slot one process comes, process i with probability shares[i]; these add up to 1."""

    shares: Floats
    slot: float

    def timetable(self, run: Words, names: Words) -> Timetable:
        return _Draws(self, run, names)


@final
class _Draws(Timetable):
    def __init__(self, of: Draws, run: Words, names: Words) -> None:
        self._of, self._run, self._names, self._chance = of, run, names, _own(run)
        self._phase = float(uniforms(_own(run, START), np.zeros(1, np.int64))[0])
        self._upto = np.cumsum(of.shares)
        # A rounding of the sum must not leave room above the last process that is ever drawn.
        self._upto[np.flatnonzero(of.shares)[-1] :] = 1.0

    @property
    def age(self) -> Floats:
        # What is drawn before zero has the numbers -1, -2, ...
        chance = uniforms(self._chance, -1 - np.arange(self._of.shares.size))
        return np.asarray((self._waits(-np.log(chance), self._of.shares) + self._phase) * self._of.slot)

    def between(self, begin: float, end: float) -> Events:
        if begin < 0:
            return self._before(-begin, -end)
        numbers = _slots(self._of.slot, self._phase, begin, end)
        who = np.searchsorted(self._upto, uniforms(self._chance, numbers))
        return _ends(numbers, self._of.slot, self._phase), who

    @staticmethod
    def _waits(e: Any, shares: Floats) -> Floats:
        """Slots without the process before one with it, from standard exponentials."""
        with np.errstate(divide="ignore", invalid="ignore"):
            waits = np.floor(e / -np.log1p(-shares))
        waits[shares == 0] = np.inf
        return np.asarray(waits)

    def _before(self, far: float, near: float) -> Events:
        """Each process by itself, from its last instant backwards."""
        shares, slot = self._of.shares, self._of.slot
        past = streams(self._run, self._names, np.full(shares.size, PURPOSES["downloads"]), PAST)
        ago, who, n = [self.age], [np.arange(shares.size)], 0
        while (going := np.flatnonzero(ago[-1] <= far)).size:
            chance = Streams(past.key[who[-1][going]], past.gamma[who[-1][going]])
            waits = self._waits(exponentials(chance, np.full(going.size, n)), shares[who[-1][going]])
            ago.append(ago[-1][going] + (waits + 1) * slot)
            who.append(who[-1][going])
            n += 1
        at, of = -np.concatenate(ago[::-1]), np.concatenate(who[::-1])
        inside = (at >= -far) & (at < -near)
        return at[inside], of[inside]


def _last(at: Floats, who: Ints, size: int) -> Floats:
    """The ages of the last of these instants, which are before zero, by process."""
    age = np.full(size, np.inf)
    np.minimum.at(age, who, -at)
    return age
