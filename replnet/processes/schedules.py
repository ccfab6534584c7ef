"""Processes that are scheduled together: which of them has an event when, in rounds or slots that they share.

A process comes at its events, which are downloads.

    Round        one process a slot in a given order, round and round, from a random place of the round at time zero
    Shuffled     one process a slot, every round in a new random order (Sync Alg. B.2)
    Scattered    every process at a random point of each of its own intervals, which is what
                 a random order amounts to where rates differ
    Draws        one process a slot, drawn anew by its share (Sync Alg. B.3)

A round of all in fixed order is Sync's Alg. B.1, the carousel's order (carousel.py) the policy of Crawl. All are in
equilibrium at time zero. Before time zero the draws of different processes are independent here, where in truth no
two fall into one slot; each by itself has the law it should, so no mean over them is moved.

A `Schedule` is the rule; a `Timetable` is one realisation of it, handed out window after window as renewals are
(renewal.py), and looked up backwards as far as needed.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from replnet.laws import Floats, Ints
from replnet.processes.streams import (
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
from replnet.text import FieldError

Events = tuple[Floats, Ints]
"""Instants, and the process that each belongs to; the instants of a process ascend."""

MOST_AT_ONCE = 1 << 28  # instants: what fits a memory


class Timetable(ABC):
    """A realisation of a schedule: the instants of every process, before time zero and from then on."""

    @property
    @abstractmethod
    def age(self) -> Floats:
        """The time at time zero since the last instant of every process; infinite for a process that never comes."""

    @abstractmethod
    def between(self, begin: float, end: float) -> Events:
        """Return all instants in [begin, end), as an array, and an array with the number of the process of each.

        Time zero must not lie inside.
        """


class Schedule(ABC):
    """A rule that says which of several processes has an event when, in rounds or slots that they share."""

    @abstractmethod
    def timetable(self, run: Words, names: Words) -> Timetable:
        """Return the realisation of this rule in a run, whose word is `run`, for processes whose words are `names`."""


def _schedule_streams(run: Words, part: int = CHOICES) -> Streams:
    """Return the one stream that belongs to a schedule and to none of its processes.

    `run` is the word of the run, `part` says what the stream is for, such as START.
    """
    return streams(run, np.zeros(1, np.uint64), np.array([PURPOSES["downloads"]]), part)


def _slots(slot: float, phase: float, begin: float, end: float) -> Ints:
    """Return the numbers of the slots that end in [begin, end), ascending; raise a FieldError for more than 2^28.

    A slot is `slot` long. Of slot 0 a share `phase` has passed at time zero.
    """
    if (end - begin) / slot > MOST_AT_ONCE:
        wrong = f"{(end - begin) / slot:.3g} downloads at once"
        raise FieldError("horizon", wrong, f"at most {MOST_AT_ONCE:,}: a shorter one")
    numbers = np.arange(math.floor(begin / slot + phase) - 2, math.ceil(end / slot + phase) + 2)
    ends = _ends(numbers, slot, phase)
    return numbers[(ends >= begin) & (ends < end)]


def _ends(numbers: Ints, slot: float, phase: float) -> Floats:
    """Return the instants at which the slots of these numbers end.

    A slot is `slot` long. Of slot 0 a share `phase` has passed at time zero.
    """
    return np.asarray((numbers + 1 - phase) * slot)


@final
@dataclass(frozen=True, eq=False)
class Round(Schedule):
    """A fixed order of `size` processes: order[j % order.size] comes at the end of slot j, and slots are `slot` long.

    `order` has numbers of processes, from 0. A process may come several times in it, or never.
    """

    order: Ints
    slot: float
    size: int

    def timetable(self, run: Words, names: Words) -> Timetable:
        return _Round(self, *uniforms(_schedule_streams(run, START), np.arange(2)).tolist())


@final
class _Round(Timetable):
    """A realisation of a fixed order.

    Time zero lies after a share `phase` of a slot and a share `place` of the order.
    """

    def __init__(self, schedule: Round, phase: float, place: float) -> None:
        self._schedule, self._phase, turns = schedule, phase, schedule.order.size
        # The whole part of a phase that is uniform over the round, of which `phase` is the rest.
        self._start = min(int(place * turns), turns - 1)

    @property
    def age(self) -> Floats:
        schedule, ago = self._schedule, np.full(self._schedule.size, np.inf)
        # Of several turns of a process the latest before the start is written last.
        ago[np.roll(schedule.order, -self._start)] = np.arange(schedule.order.size - 1, -1, -1)
        return np.asarray((ago + self._phase) * schedule.slot)

    def between(self, begin: float, end: float) -> Events:
        schedule = self._schedule
        numbers = _slots(schedule.slot, self._phase, begin, end)
        return _ends(numbers, schedule.slot, self._phase), schedule.order[(self._start + numbers) % schedule.order.size]


@final
@dataclass(frozen=True, eq=False)
class Shuffled(Schedule):
    """A random order: each of `size` processes comes once per `period`, in equal slots, in a new order every time."""

    size: int
    period: float

    def timetable(self, run: Words, names: Words) -> Timetable:
        return _Shuffled(
            self, _schedule_streams(run), float(uniforms(_schedule_streams(run, START), np.zeros(1, np.int64))[0])
        )


@final
class _Shuffled(Timetable):
    """A realisation of rounds in random orders, in which time zero lies after a share `phase` of a round.

    `order_stream` has the random words that put the processes in order.
    """

    def __init__(self, schedule: Shuffled, order_stream: Streams, phase: float) -> None:
        self._schedule, self._order_stream, self._phase = schedule, order_stream, phase

    @property
    def age(self) -> Floats:
        # The round before the one that time zero falls in has every process once.
        return _last(*self.between(-2 * self._schedule.period, 0.0), self._schedule.size)

    def between(self, begin: float, end: float) -> Events:
        schedule = self._schedule
        _slots(schedule.period / schedule.size, 0.0, begin, end)
        rounds = np.arange(
            math.floor(begin / schedule.period + self._phase), math.ceil(end / schedule.period + self._phase) + 1
        )
        places = np.arange(schedule.size)
        processes = np.argsort(words(self._order_stream, rounds[:, None] * schedule.size + places), axis=1).ravel()
        instants = ((rounds[:, None] - self._phase + places / schedule.size) * schedule.period).ravel()
        inside = (instants >= begin) & (instants < end)
        return instants[inside], processes[inside]


@final
@dataclass(frozen=True, eq=False)
class Scattered(Schedule):
    """Scattered instants: process p comes once at a random point of each of its own intervals, of length 1 / rates[p].

    At rate 0 it never comes.
    """

    rates: Floats

    def timetable(self, run: Words, names: Words) -> Timetable:
        return _Scattered(self.rates, run, names)


@final
class _Scattered(Timetable):
    """A realisation of scattered instants: each process comes at a random point of each of its intervals 1 / rate.

    Processes of rate 0 never come.
    """

    def __init__(self, rates: Floats, run: Words, names: Words) -> None:
        self._size, self._active = rates.size, np.flatnonzero(rates)
        self._rates, purpose = rates[self._active], np.full(self._active.size, PURPOSES["downloads"])
        first = streams(run, names[self._active], purpose, START)
        self._phase = uniforms(first, np.zeros(self._active.size, np.int64))
        self._chance = streams(run, names[self._active], purpose, CHOICES)

    @property
    def age(self) -> Floats:
        # However the points fall, the last is within two intervals.
        instants, processes = self._points(-2 * np.ones(self._active.size, np.int64), np.full(self._active.size, 3))
        past = instants < 0
        return _last(instants[past], processes[past], self._size)

    def between(self, begin: float, end: float) -> Events:
        first = np.floor(begin * self._rates - self._phase).astype(np.int64) - 1
        number = np.ceil(end * self._rates - self._phase).astype(np.int64) + 1 - first
        instants, processes = self._points(first, number)
        inside = (instants >= begin) & (instants < end)
        return instants[inside], processes[inside]

    def _points(self, first: Ints, number: Ints) -> Events:
        """Return one instant for each of `number[p]` intervals of process p, from the interval first[p] on.

        Processes here are those with a rate above 0, in order; with each instant comes its number among all. Raise a
        FieldError for more than 2^28 instants.
        """
        if number.sum() > MOST_AT_ONCE:
            raise FieldError(
                "horizon", f"{number.sum():.3g} downloads at once", f"at most {MOST_AT_ONCE:,}: a shorter one"
            )
        ends = np.cumsum(number)
        turn = np.arange(int(number.sum())) - np.repeat(ends - number - first, number)
        instants = np.repeat(self._phase, number) + turn
        instants += uniforms(Streams(*(np.repeat(word, number) for word in self._chance)), turn)
        return instants / np.repeat(self._rates, number), np.repeat(self._active, number)


@final
@dataclass(frozen=True, eq=False)
class Draws(Schedule):
    """Independent draws: at the end of every slot one process comes, process i with probability shares[i].

    The shares add up to 1, and slots are `slot` long.
    """

    shares: Floats
    slot: float

    def timetable(self, run: Words, names: Words) -> Timetable:
        return _Draws(self, run, names)


@final
class _Draws(Timetable):
    """A realisation of independent draws: one process comes at the end of every slot, drawn by its share.

    Before time zero the instants of each process are drawn by themselves, so that two may fall into one slot.
    """

    def __init__(self, schedule: Draws, run: Words, names: Words) -> None:
        self._schedule, self._run, self._names, self._choices = schedule, run, names, _schedule_streams(run)
        self._phase = float(uniforms(_schedule_streams(run, START), np.zeros(1, np.int64))[0])
        self._cumulative = np.cumsum(schedule.shares)
        # A rounding of the sum must not leave room above the last process that is ever drawn.
        self._cumulative[np.flatnonzero(schedule.shares)[-1] :] = 1.0

    @property
    def age(self) -> Floats:
        # What is drawn before zero has the numbers -1, -2, ...
        draws = uniforms(self._choices, -1 - np.arange(self._schedule.shares.size))
        return np.asarray((self._waits(-np.log(draws), self._schedule.shares) + self._phase) * self._schedule.slot)

    def between(self, begin: float, end: float) -> Events:
        if begin < 0:
            return self._before(-begin, -end)
        numbers = _slots(self._schedule.slot, self._phase, begin, end)
        processes = np.searchsorted(self._cumulative, uniforms(self._choices, numbers))
        return _ends(numbers, self._schedule.slot, self._phase), processes

    @staticmethod
    def _waits(e: Any, shares: Floats) -> Floats:
        """Return how many slots without a process come before one with it, from a standard exponential `e` for each.

        `shares` are the shares of slots of the processes; the number is infinite where the share is 0.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            waits = np.floor(e / -np.log1p(-shares))
        waits[shares == 0] = np.inf
        return np.asarray(waits)

    def _before(self, far: float, near: float) -> Events:
        """Return the instants from `far` up to `near` before time zero, and the process of each.

        They are drawn for each process by itself.
        """
        shares, slot = self._schedule.shares, self._schedule.slot
        past = streams(self._run, self._names, np.full(shares.size, PURPOSES["downloads"]), PAST)
        ago, processes, n = [self.age], [np.arange(shares.size)], 0
        while (unfinished := np.flatnonzero(ago[-1] <= far)).size:
            rows = Streams(past.key[processes[-1][unfinished]], past.gamma[processes[-1][unfinished]])
            waits = self._waits(exponentials(rows, np.full(unfinished.size, n)), shares[processes[-1][unfinished]])
            ago.append(ago[-1][unfinished] + (waits + 1) * slot)
            processes.append(processes[-1][unfinished])
            n += 1
        instants, owners = -np.concatenate(ago[::-1]), np.concatenate(processes[::-1])
        inside = (instants >= -far) & (instants < -near)
        return instants[inside], owners[inside]


def _last(instants: Floats, processes: Ints, size: int) -> Floats:
    """Return the age of every process at time zero, from `instants` before zero and the process of each.

    `size` is the number of processes; the age is infinite for those without an instant.
    """
    age = np.full(size, np.inf)
    np.minimum.at(age, processes, -instants)
    return age
