"""Copies of many sources at once: what each is worth, by what lies between its downloads.

Source i changes at rate mu_i and is downloaded lambda_i times per unit of time. A copy
whose download intervals take the values d with shares p_d of its time has

    freshness         sum p_d I(d) / d,    I' = tail of the update age       Crawl eq. 6, Staleness eq. 36    (1)
    source penalty    sum p_d V(d) / d,    V'' = (charge.py)                 Staleness eq. 42                 (2)
    update penalty    sum p_d mu w3(d) / d                                   Staleness eq. 50                 (3)

which is all there is to constant intervals, to the carousel, and to j of m replicas that
take turns: with K the downloads since the last one by any of the j,

    P(K >= k) = C(m - k, j) / C(m, j),                                                                         (4)

so the freshest copy is d (K + U) old, U even on (0, 1), as if intervals k d had the shares
k (P(K = k - 1) - P(K = k)). The random orders of Sync have their own formulas (sync_order),
for Poisson changes; all else goes source by source through the law of its age. Where a
source never changes its copy is fresh; where it does and is never downloaded it is not.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from replnet.ages import penalties
from replnet.ages.curve import fit
from replnet.ages.information_age import InformationAge, direct
from replnet.ages.prediction import Basis
from replnet.ages.stretched import at_rate
from replnet.ages.weights import AGE, ONE, Weight
from replnet.laws.discrete import Lattice
from replnet.laws.families import Constant, Exponential
from replnet.laws.law import Law
from replnet.papers.sync_order import FIXED, PURELY_RANDOM, SyncOrder
from replnet.text.checks import FieldError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MOST = 2_000  # of different sources that are worked out one by one
MOST_AGES = 300  # of these, where that takes a law of ages for each
PANEL, FITTED, MOST_PANELS = 2.0, 1e-10, 60  # of the curve over the logarithm of changes per download
CHECKS, CLOSE = 7, 1e-8  # points in between where it is looked whether the curve is right
UNLIKE = f"more than {MOST_AGES} sources that differ, under laws without a closed form"

POISSON = "Poisson changes, downloads that do not depend on them"
CONSTANT = Basis("exact", "Crawl eq. 6", "changes independent of downloads")
CAROUSEL = Basis("exact", "Crawl eq. 6 over the intervals of Algorithm 3", "changes independent of downloads")
ORDER = Basis("exact", "Sync Table 2", POISSON)
RARE = Basis("limit", "Sync Table 2", f"{POISSON}; many sources, none of which dominates")
EXPONENTIAL = Basis("exact", "Crawl eq. 5", POISSON)
TURNS = Basis("exact", "Staleness VI-D", "replicas take turns at even distances")


class NotKnownError(Exception):
    """Why there is no formula."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """Every shape with the sources that change like it, and their rates."""

    members: Sequence[tuple[Law, Ints]]
    rates: Floats

    def unlike(self) -> Iterator[tuple[Law, Ints]]:
        """Every law of one rate, with its sources; what never changes is left out."""
        for shape, own in self.members:
            rates, which = np.unique(self.rates[own], return_inverse=True)
            order = np.argsort(which, kind="stable")
            parts = np.split(own[order], np.cumsum(np.bincount(which))[:-1])
            moving = zip(rates[rates > 0].tolist(), parts[int(rates[0] == 0) :], strict=True)
            try:
                yield from ((at_rate(shape, rate), part) for rate, part in moving)
            except FieldError as error:
                raise NotKnownError(error) from None

    @property
    def count(self) -> int:
        """How many different ones there are."""
        return sum(np.unique(self.rates[own]).size for _, own in self.members)

    @property
    def poisson(self) -> bool:
        return all(isinstance(shape, Exponential) for shape, _ in self.members)


class Copies(ABC):
    """How old the copies of all sources are."""

    frequencies: Floats  # downloads that count, per unit of time
    basis: Basis

    @abstractmethod
    def freshness(self, changes: Changes) -> Floats:
        """Of every source."""

    @abstractmethod
    def source_penalty(self, changes: Changes, by: Weight) -> Floats: ...

    @abstractmethod
    def update_penalty(self, changes: Changes, by: Weight) -> Floats: ...

    @abstractmethod
    def ages(self) -> Iterator[tuple[InformationAge, Ints]]:
        """The laws of the ages of all copies that there are, with their sources."""

    def since_last_change(self, changes: Changes) -> Floats:
        """The mean of the time since the last change, 0 while fresh."""
        if ((self.frequencies == 0) & (changes.rates > 0)).any():
            raise NotKnownError("the last change of sources that are never downloaded")
        return _by_ages(self, changes, lambda age, law: penalties.since_last_change(age, law).value, math.inf)

    def data_age(self, changes: Changes) -> Floats:
        """The mean age of the data."""
        # What an update penalty of w = 1 charges, at one change per unit of time and source.
        once = Changes([(Exponential(rate=1.0), np.arange(changes.rates.size))], np.ones(changes.rates.size))
        return self.update_penalty(once, ONE)


def _settled(copies: Copies, changes: Changes, values: Floats, still: float, never: float) -> Floats:
    """With what holds where nothing changes, and where nothing is downloaded."""
    values = np.where(copies.frequencies > 0, values, never)
    return np.where(changes.rates > 0, values, still)


def _by_ages(copies: Copies, changes: Changes, value: Callable[[InformationAge, Law], float], never: float) -> Floats:
    """Source by source, alike ones once."""
    found, pairs = np.full(changes.rates.size, never), 0
    laws = list(changes.unlike()) if changes.count <= MOST else []
    place = np.full(changes.rates.size, -1)
    for i, (_, own) in enumerate(laws):
        place[own] = i
    for age, own in copies.ages():
        for i in np.unique(place[own]).tolist():
            pairs += i >= 0
            if pairs > MOST_AGES or not laws:
                raise NotKnownError(UNLIKE)
            if i >= 0:
                found[own[place[own] == i]] = value(age, laws[i][0])
    return _settled(copies, changes, found, 0.0, never)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Intervals(Copies):
    """(1) to (3): intervals of `length` take the `share` of the time of source `owner`, in order of owner."""

    frequencies: Floats
    owner: Ints
    length: Floats
    share: Floats
    basis: Basis = CONSTANT

    @classmethod
    def constant(cls, frequencies: Floats, basis: Basis = CONSTANT) -> Intervals:
        some = np.flatnonzero(frequencies > 0)
        return cls(frequencies, some, 1 / frequencies[some], np.ones(some.size), basis)

    @classmethod
    def in_turns(cls, frequencies: Floats, replicas: int, ask: int) -> Intervals:
        """(4), with `frequencies` of all replicas together; of `ask` replicas drawn at random."""
        some = np.flatnonzero(frequencies > 0)
        k = np.arange(replicas - ask + 2)
        beyond = np.array([math.comb(replicas - i, ask) for i in k.tolist()]) / math.comb(replicas, ask)
        exactly = np.append(-np.diff(beyond), 0.0)
        shares: Floats = np.asarray(k[1:] * -np.diff(exactly), dtype=float)
        kept = shares > 0
        shares, lengths = shares[kept], (k[1:][kept] / frequencies[some, None]).ravel()
        owner, share = np.repeat(some, shares.size), np.tile(shares, some.size)
        return cls(frequencies, owner, lengths, share, TURNS)

    @classmethod
    def ordered(cls, size: int, order: Ints, slot: float) -> Intervals:
        """Of sources that are downloaded in `order`, one per slot, round and round."""
        turns = np.argsort(order, kind="stable")
        owner = order[turns]
        first = np.flatnonzero(np.diff(owner, prepend=-1))
        last = np.append(first[1:], turns.size) - 1
        slots = np.empty(turns.size, np.int64)
        slots[1:] = np.diff(turns)
        slots[first] = turns[first] - turns[last] + turns.size
        unlike, count = np.unique(owner.astype(np.int64) * (turns.size + 1) + slots, return_counts=True)
        owner, slots = np.divmod(unlike, turns.size + 1)
        often = np.bincount(order, minlength=size) / (turns.size * slot)
        return cls(often, owner, slots * slot, slots * count / turns.size, CAROUSEL)

    def freshness(self, changes: Changes) -> Floats:
        stretch, part = np.zeros(changes.rates.size), np.zeros(self.length.size)
        shape_of = np.zeros(changes.rates.size, np.int64)
        for i, (shape, own) in enumerate(changes.members):
            rates = changes.rates[own]
            stretch[own] = np.divide(shape.rate, rates, out=np.ones(own.size), where=rates > 0)
            shape_of[own] = i
        for i, (shape, _) in enumerate(changes.members):
            some = shape_of[self.owner] == i
            x = self.length[some] / stretch[self.owner[some]]
            part[some] = np.asarray(shape.age.integrated_tail(x)) / x
        return _settled(self, changes, self._sum(part), 1.0, 0.0)

    def source_penalty(self, changes: Changes, by: Weight) -> Floats:
        if by == ONE:
            return 1 - self.freshness(changes)
        if by == AGE and changes.poisson:
            part = np.asarray(FIXED.age(changes.rates[self.owner], 1 / self.length))
            return _settled(self, changes, self._sum(part), 0.0, by.limit)
        if changes.count > MOST:
            raise NotKnownError(f"more than {MOST:,} sources that change at different rates")
        part = np.zeros(self.length.size)
        for law, own in changes.unlike():
            some = np.isin(self.owner, own)
            lengths, which = np.unique(self.length[some], return_inverse=True)
            part[some] = (penalties.charge(law, by, lengths, 2) / lengths)[which]
        return _settled(self, changes, self._sum(part), 0.0, by.limit)

    def update_penalty(self, changes: Changes, by: Weight) -> Floats:
        part = changes.rates[self.owner] * np.asarray(by.second_integral(self.length)) / self.length
        return _settled(self, changes, self._sum(part), 0.0, math.inf)

    def ages(self) -> Iterator[tuple[InformationAge, Ints]]:
        begin = np.flatnonzero(np.diff(self.owner, prepend=-1))
        known: dict[tuple[float, ...], list[int]] = {}
        for low, high in zip(begin, np.append(begin[1:], self.owner.size), strict=True):
            key = (*self.length[low:high].tolist(), *self.share[low:high].tolist())
            known.setdefault(key, []).append(int(self.owner[low]))
        for key, own in known.items():
            lengths, shares = key[: len(key) // 2], key[len(key) // 2 :]
            chances = [share / length for share, length in zip(shares, lengths, strict=True)]
            law = Constant(period=lengths[0]) if len(lengths) == 1 else Lattice(lengths, chances)
            yield direct(law), np.array(own)

    def _sum(self, part: Floats) -> Floats:
        return np.asarray(np.bincount(self.owner, self.share * part, self.frequencies.size), dtype=float)


@final
@dataclass(frozen=True, slots=True, eq=False)
class InOrder(Copies):
    """Orders of Sync, each with its sources."""

    frequencies: Floats
    orders: Sequence[tuple[SyncOrder, Ints]]
    basis: Basis = ORDER

    def freshness(self, changes: Changes) -> Floats:
        return self._each(changes, lambda order, own: order.freshness(changes.rates[own], self.frequencies[own]))

    def source_penalty(self, changes: Changes, by: Weight) -> Floats:
        if by == ONE:
            return 1 - self.freshness(changes)
        if by != AGE:
            raise NotKnownError(f"a penalty of {by} under random orders")
        return self._each(changes, lambda order, own: order.age(changes.rates[own], self.frequencies[own]))

    def update_penalty(self, changes: Changes, by: Weight) -> Floats:
        if by != ONE:
            raise NotKnownError(f"a penalty of {by} under random orders")
        found = np.full(changes.rates.size, math.inf)
        for order, own in self.orders:
            some = own[self.frequencies[own] > 0]
            found[some] = changes.rates[some] * order.moments()[2] / self.frequencies[some]
        return _settled(self, changes, found, 0.0, math.inf)

    def ages(self) -> Iterator[tuple[InformationAge, Ints]]:
        raise NotKnownError("ages of this kind under random orders")

    def _each(self, changes: Changes, value: Callable[[SyncOrder, Ints], Floats]) -> Floats:
        if not changes.poisson:
            raise NotKnownError("random orders under changes that are not Poisson")
        found = np.empty(changes.rates.size)
        for order, own in self.orders:
            found[own] = value(order, own)
        return found


@final
@dataclass(frozen=True, slots=True, eq=False)
class Aged(Copies):
    """Ages `of` one law that only stretches with the frequency; `plain` if it is that of exponential intervals."""

    frequencies: Floats
    of: Callable[[float], InformationAge]
    basis: Basis
    plain: bool = False

    def freshness(self, changes: Changes) -> Floats:
        if self.plain and changes.poisson:
            return np.asarray(PURELY_RANDOM.freshness(changes.rates, self.frequencies))
        found = self._scaled(changes, lambda age, law: age.freshness(law).value, 0, 0.0)
        return np.where(changes.rates > 0, found, 1.0)

    def source_penalty(self, changes: Changes, by: Weight) -> Floats:
        if by == ONE:
            return 1 - self.freshness(changes)
        if self.plain and changes.poisson and by == AGE:
            return np.asarray(PURELY_RANDOM.age(changes.rates, self.frequencies))
        if by == AGE:
            return self._scaled(changes, lambda age, law: penalties.since_first_missed(age, law).value, 1, math.inf)
        return _by_ages(self, changes, lambda age, law: penalties.source_penalty(age, law, by).value, by.limit)

    def update_penalty(self, changes: Changes, by: Weight) -> Floats:
        once, found = Exponential(rate=1.0), np.full(changes.rates.size, math.inf)
        if by == ONE:
            some = self.frequencies > 0
            found[some] = penalties.missing_updates(self.of(1.0), once).value / self.frequencies[some]
        else:
            for age, own in self.ages():
                found[own] = penalties.update_penalty(age, once, by).value
        # In proportion to the rate of changes, whatever their law.
        return _settled(self, changes, found * np.where(changes.rates > 0, changes.rates, 1.0), 0.0, math.inf)

    def ages(self) -> Iterator[tuple[InformationAge, Ints]]:
        often, which = np.unique(self.frequencies, return_inverse=True)
        if often.size > MOST_AGES:
            raise NotKnownError(UNLIKE)
        order = np.argsort(which, kind="stable")
        parts = np.split(order, np.cumsum(np.bincount(which))[:-1])
        try:
            yield from ((self.of(float(one)), part) for one, part in zip(often, parts, strict=True) if one)
        except FieldError as error:
            raise NotKnownError(error) from None

    def _scaled(
        self, changes: Changes, value: Callable[[InformationAge, Law], float], power: int, never: float
    ) -> Floats:
        """What in units of the mean interval, to a power, depends on the changes per download alone."""
        some = np.flatnonzero((changes.rates > 0) & (self.frequencies > 0))
        ratio = np.log(changes.rates[some] / self.frequencies[some])
        if len(changes.members) > 1 or np.unique(ratio).size <= MOST_AGES:
            return _by_ages(self, changes, value, never)
        shape, once = changes.members[0][0], self.of(1.0)
        if math.isinf(value(once, at_rate(shape, math.exp(float(ratio[0]))))):
            return _settled(self, changes, np.full(changes.rates.size, math.inf), 0.0, never)

        def at(points: Floats) -> Floats:
            return np.array([value(once, at_rate(shape, math.exp(x))) for x in np.ravel(points).tolist()])

        low, high = float(ratio.min()), float(ratio.max())
        curve = fit(at, np.linspace(low, high, 2 + int((high - low) / PANEL)), tolerance=FITTED, most=MOST_PANELS)
        asked = np.linspace(low, high, CHECKS + 2)[1:-1]
        if np.abs(curve(asked) - at(asked)).max() > CLOSE * max(1.0, np.abs(at(asked)).max()):
            raise NotKnownError(UNLIKE)
        found = np.full(changes.rates.size, never)
        found[some] = curve(np.minimum(ratio, high * (1 - 1e-15))) / self.frequencies[some] ** power
        return _settled(self, changes, found, 0.0, never)
