"""When the copies of every source are refreshed, by the order in which that happens.

    Renewing     every source by itself, at intervals of a law stretched to its rate
    Round        one source a slot in a given order, round and round
    Shuffled     one source a slot, every round in a new random order (Sync Alg. B.2)
    Scattered    every source at a random point of each of its own intervals, which is what
                 a random order amounts to where sources are not refreshed equally often
    Draws        one source a slot, drawn anew by its share (Sync Alg. B.3)

A round of all sources in fixed order is Sync's Alg. B.1, the carousel's order the policy
of Crawl. All are in equilibrium at time zero, the age of the last refresh included. Before
time zero the draws of different sources are independent here, where in truth no two fall
into one slot; each source by itself has the law it should, so no mean over sources is moved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, final

import numpy as np

from replnet.engines.aggregate.processes import (
    Floats,
    Ints,
    before,
    choices,
    chunks,
    named,
    numbers,
    ranks,
    renewals,
)
from replnet.laws.law import Law
from replnet.laws.processes.streams import CHOICES, PURPOSES, START, Streams, Words, streams, uniforms, words
from replnet.text.errors import FieldError, positive

MOST = 1 << 28  # refreshes of a path: what fits a memory


@final
@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """The age of every copy's last refresh at time zero, and its refreshes: instants[begin[i] : begin[i + 1]]."""

    age: Floats
    begin: Ints
    instants: Floats

    def of(self, some: Ints) -> Listed:
        """Of these sources only, in their order."""
        sizes = self.sizes[some]
        begin = np.concatenate([[0], np.cumsum(sizes)])
        at = np.repeat(self.begin[some] - begin[:-1], sizes) + np.arange(begin[-1])
        return Listed(self.age[some], begin, self.instants[at])

    @property
    def sizes(self) -> Ints:
        return np.diff(self.begin)


def by_source(age: Floats, who: Ints, when: Floats) -> Listed:
    """From refreshes of which every source's are in order."""
    sizes = np.bincount(who, minlength=age.size)
    return Listed(age, np.concatenate([[0], np.cumsum(sizes)]), when[np.argsort(who, kind="stable")])


def freshest(replicas: Sequence[Listed]) -> Listed:
    """As if all refreshes of these replicas were those of one."""
    if len(replicas) == 1:
        return replicas[0]
    who = np.concatenate([np.repeat(np.arange(one.age.size), one.sizes) for one in replicas])
    when = np.concatenate([one.instants for one in replicas])
    order = np.argsort(when, kind="stable")
    return by_source(np.min([one.age for one in replicas], axis=0), who[order], when[order])


class Refreshes(Protocol):
    """A policy that is carried out."""

    def listed(self, run: Words, horizon: float) -> list[Listed]:
        """Over [0, horizon), replica by replica."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Renewing:
    """Intervals of `law`, stretched so that source i is refreshed at rates[i] by all replicas together."""

    law: Law
    rates: Floats
    replicas: int = 1
    turns: bool = True  # or every replica by itself

    def __post_init__(self) -> None:
        numbers("refreshes.rates", self.rates)

    def listed(self, run: Words, horizon: float) -> list[Listed]:
        require_room(horizon * float(self.rates.sum()))
        if self.replicas > 1 and self.turns:
            return self._dealt(run, horizon)
        return [self._alone(run, horizon, replica) for replica in range(self.replicas)]

    def _alone(self, run: Words, horizon: float, replica: int) -> Listed:
        rates, who, when = self.rates / self.replicas, [], []
        age = np.empty(rates.size)
        for some in chunks(rates, horizon):
            found = renewals(self.law, rates[some], run, named(some, replica), "downloads", horizon)
            inside = found.rows < horizon
            age[some] = found.age
            who.append(np.repeat(some, inside.sum(axis=1)))
            when.append(found.rows[inside])
        return by_source(age, np.concatenate(who), np.concatenate(when))

    def _dealt(self, run: Words, horizon: float) -> list[Listed]:
        """The refreshes of a source go round the replicas, from one that chance decides."""
        m, size = self.replicas, self.rates.size
        ages = np.full((m, size), np.inf)
        parts: list[list[tuple[Ints, Floats]]] = [[] for _ in range(m)]
        turn = streams(run, named(np.arange(size)), np.full(size, PURPOSES["downloads"]), CHOICES)
        first = np.minimum((uniforms(turn, np.zeros(size, np.int64)) * m).astype(np.int64), m - 1)
        for some in chunks(self.rates, horizon):
            names, rates = named(some), self.rates[some]
            found = renewals(self.law, rates, run, names, "downloads", horizon)
            past = before(self.law, rates, run, names, "downloads", found.age, np.zeros(some.size), fewest=m)
            # The refresh that is n-th after time zero belongs to (first + n) mod m, also for n = -1, -2, ...
            for n in range(1, m + 1):
                ages[(first[some] - n) % m, some] = past[:, n - 1]
            for replica in range(m):
                inside = (found.rows < horizon) & (
                    (first[some][:, None] + np.arange(found.rows.shape[1])) % m == replica
                )
                parts[replica].append((np.repeat(some, inside.sum(axis=1)), found.rows[inside]))
        return [by_source(ages[i], *map(np.concatenate, zip(*parts[i], strict=True))) for i in range(m)]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """order[j % order.size] is refreshed at the end of slot j; where in the round time zero falls is chance."""

    order: Ints
    slot: float
    size: int

    def __post_init__(self) -> None:
        positive("refreshes.slot", self.slot)
        order = self.order
        plain = order.ndim == 1 and order.dtype.kind in "iu" and order.size > 0
        if not plain or order.min() < 0 or order.max() >= self.size:
            raise FieldError(
                "refreshes.order", "not a list of sources", f"numbers of sources from 0 to {self.size - 1}"
            )

    def listed(self, run: Words, horizon: float) -> list[Listed]:
        phase, place = uniforms(choices(run, START), np.arange(2))
        when = _ends_of_slots(self.slot, float(phase), horizon)
        turns = self.order.size
        # The whole part of a phase that is uniform over the round, of which `phase` is the rest.
        start = min(int(place * turns), turns - 1)
        ago = np.full(self.size, np.inf)
        # Of several turns of a source the latest before `start` is written last.
        ago[np.roll(self.order, -start)] = np.arange(turns - 1, -1, -1)
        who = self.order[(start + np.arange(when.size)) % turns]
        return [by_source((ago + phase) * self.slot, who, when)]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Shuffled:
    """All of `size` sources once per `period`, in slots of equal length, every time in a new random order."""

    size: int
    period: float

    def listed(self, run: Words, horizon: float) -> list[Listed]:
        require_room((horizon / self.period + 2) * self.size)
        phase = float(uniforms(choices(run, START), np.zeros(1, np.int64))[0])
        # The round before the one that time zero falls in has every source once.
        turns, slots = np.arange(-1, math.ceil(horizon / self.period + phase)), np.arange(self.size)
        who = np.argsort(words(choices(run), turns[:, None] * self.size + slots), axis=1).ravel()
        times = ((turns[:, None] - phase + slots / self.size) * self.period).ravel()
        return [_known(times, who, self.size, horizon)]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Scattered:
    """Every source once at a random point of each of its own intervals 1 / rate."""

    rates: Floats

    def listed(self, run: Words, horizon: float) -> list[Listed]:
        require_room(horizon * float(self.rates.sum()) + 4 * self.rates.size)
        some = np.flatnonzero(self.rates)
        often, purpose = self.rates[some], np.full(some.size, PURPOSES["downloads"])
        phase = uniforms(streams(run, named(some), purpose, START), np.zeros(some.size, np.int64))
        # Whole intervals before zero: an instant may fall behind zero in the one that zero is in.
        number = np.ceil(horizon * often - phase).astype(np.int64) + 3
        turn = ranks(number) - 2
        key, gamma = streams(run, named(some), purpose, CHOICES)
        point = np.repeat(phase, number) + turn
        point += uniforms(Streams(np.repeat(key, number), np.repeat(gamma, number)), turn)
        return [_known(point / np.repeat(often, number), np.repeat(some, number), self.rates.size, horizon)]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """At the end of every slot one source is refreshed, source i with probability shares[i]; these add up to 1."""

    shares: Floats
    slot: float

    def __post_init__(self) -> None:
        positive("refreshes.slot", self.slot)
        total = float(numbers("refreshes.shares", self.shares).sum())
        if abs(total - 1) > 1e-9:
            raise FieldError("refreshes.shares", f"they add up to {total:g}", "probabilities that add up to 1")

    def listed(self, run: Words, horizon: float) -> list[Listed]:
        phase = float(uniforms(choices(run, START), np.zeros(1, np.int64))[0])
        when = _ends_of_slots(self.slot, phase, horizon)
        upto = np.cumsum(self.shares)
        # A rounding of the sum must not leave room above the last source that is ever drawn.
        upto[np.flatnonzero(self.shares)[-1] :] = 1.0
        who = np.searchsorted(upto, uniforms(choices(run), np.arange(when.size)))
        # What is drawn before zero has the numbers -1, -2, ...
        chance = uniforms(choices(run), -1 - np.arange(self.shares.size))
        with np.errstate(divide="ignore", invalid="ignore"):
            ago = np.floor(np.log(chance) / np.log1p(-self.shares))
        ago[self.shares == 0] = np.inf
        return [by_source((ago + phase) * self.slot, who, when)]


def _known(times: Floats, who: Ints, size: int, horizon: float) -> Listed:
    """From instants, in order for every source, that begin far enough before zero."""
    past = times < 0
    age = np.full(size, np.inf)
    np.minimum.at(age, who[past], -times[past])
    inside = ~past & (times < horizon)
    return by_source(age, who[inside], times[inside])


def _ends_of_slots(slot: float, phase: float, horizon: float) -> Floats:
    """Those in [0, horizon), if at time zero a share `phase` of a slot has passed."""
    require_room(horizon / slot)
    ends = (np.arange(int(horizon / slot) + 2) + 1 - phase) * slot
    return np.asarray(ends[ends < horizon], np.float64)


def require_room(refreshes: float) -> None:
    if refreshes > MOST:
        raise FieldError("horizon", f"{refreshes:.3g} downloads in a replication", f"at most {MOST:,}: a shorter one")
