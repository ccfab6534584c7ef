"""What the formulas say of an aggregate: of the copies of many sources at once, and of all of them together.

Source i changes at rate mu_i and is downloaded lambda_i times per unit of time. A copy
whose download intervals take the values d with shares p_d of its time has

    freshness         sum p_d I(d) / d,    I' = tail of the update age       Crawl eq. 6, Staleness eq. 36    (1)
    source penalty    sum p_d V(d) / d,    V' = charge of `penalties`        Staleness eq. 42                 (2)
    update penalty    sum p_d mu w3(d) / d                                   Staleness eq. 50                 (3)

which is all there is to constant intervals, to the carousel, and to j of m replicas that
take turns: with K the downloads since the last one by any of the j,

    P(K >= k) = C(m - k, j) / C(m, j),                                                                        (4)

so the freshest copy is d (K + U) old, U even on (0, 1), as if intervals k d had the shares
k (P(K = k - 1) - P(K = k)). The random orders of Sync have their own formulas, for Poisson
changes; all else goes source by source through the law of its age. Where a source never
changes its copy is fresh; where it does and is never downloaded it is not.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import final

import numpy as np

from replnet.ages import penalties
from replnet.ages.curve import fit
from replnet.ages.information_age import DIRECT, REDUNDANT, InformationAge, best_of, direct
from replnet.ages.prediction import Basis, NoFormulaError, Prediction, joined, unknown
from replnet.ages.weights import AGE, ONE, Weight
from replnet.laws import Constant, Exponential, Lattice, Law
from replnet.laws.law import Floats, Ints
from replnet.laws.text import at_rate
from replnet.measure.metrics import Metric
from replnet.network.sources import ManySources, Sources
from replnet.network.topology import View
from replnet.papers.crawl import intervals_of
from replnet.papers.orders import FIXED, PURELY_RANDOM, RANDOM, Order, purely_random, random_order
from replnet.papers.staleness import APART, MOST_SUBSETS, SOURCES, SUBSETS
from replnet.text.errors import FieldError

Key = tuple[str, str]

MOST = 2_000  # different sources, or chances to be drawn, that are worked out one by one
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
ALLOCATED = Basis("exact", "the allocation", "")


def alike(values: Floats) -> Iterator[tuple[float, Ints]]:
    """Every value that there is, with where it is."""
    unique, which = np.unique(values, return_inverse=True)
    parts = np.split(np.argsort(which, kind="stable"), np.cumsum(np.bincount(which))[:-1])
    return zip(unique.tolist(), parts, strict=True)


# ---- How old copies are


@dataclass(frozen=True, eq=False)
class CopyAges(ABC):
    """Abstract: how old the copies of all sources are, which are downloaded so often."""

    sources: Sources
    often: Floats
    basis: Basis

    def freshness(self) -> Floats:
        """Of every source."""
        return self._settled(self._freshness(), 1.0, 0.0)

    def source_penalty(self, by: Weight) -> Floats:
        if by == ONE:
            return 1 - self.freshness()
        return self._settled(self._source_penalty(by), 0.0, by.limit)

    def update_penalty(self, by: Weight) -> Floats:
        rates = np.where(self.sources.rates > 0, self.sources.rates, 1.0)
        return self._settled(rates * self._mean_weight(by), 0.0, math.inf)

    def data_age(self) -> Floats:
        return np.where(self.often > 0, self._mean_weight(ONE), math.inf)

    def since_last_change(self) -> Floats:
        if ((self.often == 0) & (self.sources.rates > 0)).any():
            raise NoFormulaError("the last change of sources that are never downloaded")
        return self._settled(self._by_ages(penalties.since_last_change), 0.0, math.inf)

    def _settled(self, values: Floats, still: float, never: float) -> Floats:
        """With what holds where nothing changes, and where nothing is downloaded."""
        return np.where(self.sources.rates > 0, np.where(self.often > 0, values, never), still)

    @abstractmethod
    def _freshness(self) -> Floats: ...

    @abstractmethod
    def _source_penalty(self, by: Weight) -> Floats: ...

    @abstractmethod
    def _mean_weight(self, by: Weight) -> Floats:
        """E[w2(X)]."""

    @abstractmethod
    def _ages(self) -> Iterator[tuple[InformationAge, Ints]]:
        """The laws of the ages of all copies that there are, with their sources."""

    def _changes(self) -> Iterator[tuple[Law, Ints]]:
        """Every law of updates, with its sources; what never changes is left out."""
        for shape, own in self.sources.members():
            for rate, part in alike(self.sources.rates[own]):
                if rate > 0:
                    yield at_rate(shape, rate), own[part]

    @property
    def _unlike(self) -> int:
        """How many different laws of updates there are."""
        return sum(np.unique(self.sources.rates[own]).size for _, own in self.sources.members())

    def _by_ages(self, value: Callable[[InformationAge, Law], Prediction]) -> Floats:
        """Source by source, alike ones once."""
        found, pairs, place = np.zeros(self.sources.size), 0, np.full(self.sources.size, -1)
        laws = list(self._changes()) if self._unlike <= MOST else []
        for i, (_, own) in enumerate(laws):
            place[own] = i
        for age, own in self._ages():
            for i in np.unique(place[own]).tolist():
                pairs += i >= 0
                if pairs > MOST_AGES or not laws:
                    raise NoFormulaError(UNLIKE)
                if i >= 0:
                    found[own[place[own] == i]] = value(age, laws[i][0]).value
        return found


@final
@dataclass(frozen=True, eq=False)
class Intervals(CopyAges):
    """(1) to (3): intervals of `length` take the `share` of the time of source `owner`, in order of owner."""

    owner: Ints
    length: Floats
    share: Floats

    def _freshness(self) -> Floats:
        rates, part = self.sources.rates, np.zeros(self.length.size)
        for shape, own in self.sources.members():
            some = np.isin(self.owner, own) if len(self.sources.shapes) > 1 else slice(None)
            owner = self.owner[some]
            x = self.length[some] * np.where(rates[owner] > 0, rates[owner] / shape.rate, 1.0)
            part[some] = np.asarray(shape.age.integrated_tail(x)) / x
        return self._sum(part)

    def _source_penalty(self, by: Weight) -> Floats:
        if by == AGE and self.sources.poisson:
            return self._sum(np.asarray(FIXED.age(self.sources.rates[self.owner], 1 / self.length)))
        if self._unlike > MOST:
            raise NoFormulaError(f"more than {MOST:,} sources that change at different rates")
        part = np.zeros(self.length.size)
        for law, own in self._changes():
            some = np.isin(self.owner, own)
            lengths, which = np.unique(self.length[some], return_inverse=True)
            part[some] = (penalties.charge(law, by, lengths, 2) / lengths)[which]
        return self._sum(part)

    def _mean_weight(self, by: Weight) -> Floats:
        return self._sum(np.asarray(by.second_integral(self.length)) / self.length)

    def _ages(self) -> Iterator[tuple[InformationAge, Ints]]:
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
        return np.asarray(np.bincount(self.owner, self.share * part, self.often.size), dtype=float)


@final
@dataclass(frozen=True, eq=False)
class Stretched(CopyAges):
    """Ages `of` one law that only stretches with the frequency, `orders` with the closed forms of Sync, or both."""

    of: Callable[[float], InformationAge] | None = None
    orders: Sequence[tuple[Order, Ints]] = ()

    def _freshness(self) -> Floats:
        if self.orders and self.sources.poisson:
            return self._each(lambda order, own: order.freshness(self.sources.rates[own], self.often[own]))
        return self._scaled(lambda age, law: age.freshness(law), 0)

    def _source_penalty(self, by: Weight) -> Floats:
        if by != AGE:
            self._require_ages(f"a penalty of {by}")
            return self._by_ages(lambda age, law: penalties.source_penalty(age, law, by))
        if self.orders and self.sources.poisson:
            return self._each(lambda order, own: order.age(self.sources.rates[own], self.often[own]))
        return self._scaled(penalties.since_first_missed, 1)

    def _mean_weight(self, by: Weight) -> Floats:
        once, found = Exponential(rate=1.0), np.zeros(self.often.size)
        if by != ONE:
            self._require_ages(f"a penalty of {by}")
            for age, own in self._ages():
                found[own] = penalties.update_penalty(age, once, by).value
            return found
        mean = penalties.missing_updates(self.of(1.0), once).value if self.of else self._each(_half_square)
        return np.divide(mean, self.often, out=found, where=self.often > 0)

    def _ages(self) -> Iterator[tuple[InformationAge, Ints]]:
        of = self._require_ages("ages of this kind")
        if np.unique(self.often).size > MOST_AGES:
            raise NoFormulaError(UNLIKE)
        return ((of(often), part) for often, part in alike(self.often) if often)

    def _require_ages(self, what: str) -> Callable[[float], InformationAge]:
        if self.of is None:
            raise NoFormulaError(f"{what} under random orders")
        return self.of

    def _each(self, value: Callable[[Order, Ints], Floats | float]) -> Floats:
        found = np.empty(self.often.size)
        for order, own in self.orders:
            found[own] = value(order, own)
        return found

    def _scaled(self, value: Callable[[InformationAge, Law], Prediction], power: int) -> Floats:
        """What in units of the mean interval, to a power, depends on the changes per download alone."""
        if self.of is None:
            raise NoFormulaError("random orders under changes that are not Poisson")
        rates, members = self.sources.rates, self.sources.members()
        some = np.flatnonzero((rates > 0) & (self.often > 0))
        ratio = np.log(rates[some] / self.often[some])
        if len(members) > 1 or np.unique(ratio).size <= MOST_AGES:
            return self._by_ages(value)
        shape, once = members[0][0], self.of(1.0)

        def at(points: Floats) -> Floats:
            return np.array([value(once, at_rate(shape, math.exp(x))).value for x in np.ravel(points).tolist()])

        low, high = float(ratio.min()), float(ratio.max())
        if np.isinf(at(ratio[:1])):
            return np.full(rates.size, math.inf)
        curve = fit(at, np.linspace(low, high, 2 + int((high - low) / PANEL)), tolerance=FITTED, most=MOST_PANELS)
        asked = np.linspace(low, high, CHECKS + 2)[1:-1]
        if np.abs(curve(asked) - at(asked)).max() > CLOSE * max(1.0, np.abs(at(asked)).max()):
            raise NoFormulaError(UNLIKE)
        found = np.zeros(rates.size)
        found[some] = curve(np.minimum(ratio, high * (1 - 1e-15))) / self.often[some] ** power
        return found


def _half_square(order: Order, own: Ints) -> float:
    """E[X] in units of the mean interval."""
    return float(order.moments[2])


def intervals(sources: Sources, often: Floats, basis: Basis) -> Intervals:
    """Constant ones."""
    some = np.flatnonzero(often > 0)
    return Intervals(sources, often, basis, some, 1 / often[some], np.ones(some.size))


def in_turns(sources: Sources, often: Floats, replicas: int, ask: int) -> Intervals:
    """(4), with `often` of all replicas together; of `ask` replicas drawn at random."""
    some = np.flatnonzero(often > 0)
    k = np.arange(replicas - ask + 2)
    beyond = np.array([math.comb(replicas - i, ask) for i in k.tolist()]) / math.comb(replicas, ask)
    shares: Floats = np.asarray(k[1:] * -np.diff(np.append(-np.diff(beyond), 0.0)))
    kept = shares > 0
    lengths = (k[1:][kept] / often[some, None]).ravel()
    return Intervals(sources, often, TURNS, np.repeat(some, kept.sum()), lengths, np.tile(shares[kept], some.size))


def copies_of(system: ManySources, ask: int) -> CopyAges:
    """By the order of downloads, the freshest in so many replicas."""
    of, often, spec, law = system.sources, system.frequencies, system.spec, system.downloads
    m, j = spec.replicas, ask
    if spec.order == "carousel" and often.any():
        owner, slots, count = intervals_of(system.round)
        turns, lengths = system.round.size, np.asarray(slots * system.slot, dtype=float)
        often = np.bincount(system.round, minlength=system.size) / (turns * system.slot)
        return Intervals(of, often, CAROUSEL, owner, lengths, slots * count / turns)
    if spec.order in ("random", "purely random"):
        return _in_order(system)
    if spec.share == "turns":
        if isinstance(law, Constant) and m > 1:
            return in_turns(of, often, m, j)
        if j < m:
            raise NoFormulaError(f"replicas that take turns at {law} intervals")
        m = j = 1
    if isinstance(law, Constant) and j == 1:
        return intervals(of, often / m, CONSTANT if of.poisson else DIRECT)
    if isinstance(law, Exponential):
        basis, plain = EXPONENTIAL if m == 1 else joined([EXPONENTIAL, APART]), [(PURELY_RANDOM, np.arange(of.size))]
        return Stretched(of, often * j / m, basis, lambda rate: direct(Exponential(rate=rate)), plain)
    basis = DIRECT if j == 1 else joined([DIRECT, REDUNDANT, APART])
    return Stretched(of, often / m, basis, lambda rate: best_of([direct(at_rate(law, rate))] * j))


def _in_order(system: ManySources) -> Stretched:
    of, often, everyone = system.sources, system.frequencies, np.arange(system.size)
    if system.spec.order == "random":
        order = random_order(system.size) if system.alike else RANDOM
        return Stretched(of, often, ORDER, orders=[(order, everyone)])
    shares = often * system.slot if often.any() else often
    if np.unique(shares).size > MOST:
        return Stretched(of, often, RARE, orders=[(PURELY_RANDOM, everyone)])
    return Stretched(of, often, ORDER, orders=[(purely_random(min(share, 1.0)), own) for share, own in alike(shares)])


# ---- What is said of them


def expected(system: ManySources, asked: Iterable[Metric] = ()) -> dict[Key, Prediction]:
    """By (group, metric)."""
    asked = tuple(asked)
    return {key: value for view in system.views for key, value in _rows(system, view, asked)}


def _rows(system: ManySources, view: View, asked: Sequence[Metric]) -> Iterator[tuple[Key, Prediction]]:
    together = ("any_fresh", "all_fresh") if system.together else ()
    fresh: Floats | None = None
    try:
        copies = copies_of(system, view.ask)
        fresh = copies.freshness()
    except (NoFormulaError, FieldError) as why:
        names = ("freshness", *together, *(metric.name for metric in asked))
        yield from (((view.group, name), unknown(why)) for name in names)
    else:
        yield (view.group, "freshness"), _mean(system, fresh, copies.basis)
        if together:
            keys = [(view.group, name) for name in together]
            yield from zip(keys, _together(system, view, copies, fresh), strict=True)
        yield from (((view.group, metric.name), _beyond(system, copies, metric)) for metric in asked)
    for i in range(system.shown if view.group == system.group else 0):
        if fresh is not None:
            yield (f"source {i + 1}", "freshness"), Prediction.of(fresh[i], copies.basis)
        yield (f"source {i + 1}", "download_rate"), Prediction.of(system.frequencies[i], ALLOCATED)


def _mean(system: ManySources, values: Floats, basis: Basis) -> Prediction:
    """By weight; sources that do not count may have any value."""
    counted = system.sources.weights > 0
    value = float(system.sources.weights[counted] @ values[counted])
    if math.isinf(value):
        return Prediction(math.nan, basis.kind, basis.source, note="infinite")
    return Prediction.of(value, basis)


def _beyond(system: ManySources, copies: CopyAges, metric: Metric) -> Prediction:
    basis, question = joined([copies.basis, metric.basis]), metric.question
    try:
        if question.over == "copies":
            return Prediction.of(1.0, basis)
        if metric.lasting or question.level is not None or (question.about == "data" and metric.weight is not AGE):
            raise NoFormulaError("how long copies of many sources stay fresh, and the law of their ages")
        match question.about:
            case "first":
                values = copies.source_penalty(metric.weight)
            case "every" | "count":
                values = copies.update_penalty(metric.weight)
            case "last":
                values = copies.since_last_change()
            case "data":
                values = copies.data_age()
    except (NoFormulaError, FieldError) as why:
        return unknown(why)
    found = _mean(system, values, basis)
    if not found.known:
        return replace(found, note=f"{metric.name} is infinite: {_endless(system)}")
    if question.over == "rest":
        return Prediction.of(1 - found.value, basis)
    if question.over == "stale":
        stale = _mean(system, 1 - copies.freshness(), basis).value
        return Prediction.of(found.value / stale, basis) if stale else unknown("it is never stale")
    return found


def _endless(system: ManySources) -> str:
    of = system.sources
    never = int(((of.weights > 0) & (of.rates > 0) & (system.frequencies == 0)).sum())
    if not never:
        return "downloads have too heavy a tail"
    return f"{never:,} of {of.size:,} sources change and are never downloaded"


def _together(system: ManySources, view: View, copies: CopyAges, fresh: Floats) -> tuple[Prediction, Prediction]:
    """At least one fresh, and all (Staleness VI-C, VI-E)."""
    m, j, choices, basis = system.spec.replicas, view.ask, [fresh], joined([copies.basis, SOURCES])
    if not system.apart:
        why = unknown("copies of sources that are downloaded one after the other are not independent")
        return why, why
    if system.spec.share != "independently" and j not in (1, m):
        if math.comb(m - 1, j - 1) > MOST_SUBSETS:
            why = unknown(f"a choice of {j} among {m} replicas that take turns")
            return why, why
        choices, basis = _choices_of_turns(system, m, j), joined([basis, SUBSETS])
    some = np.mean([1 - np.prod(1 - one) for one in choices])
    every = np.mean([np.prod(one) for one in choices])
    return Prediction.of(float(some), basis), Prediction.of(float(every), basis)


def _choices_of_turns(system: ManySources, m: int, j: int) -> list[Floats]:
    """How fresh each source is in every choice of j among m replicas that take turns."""
    found = []
    for others in combinations(range(1, m), j - 1):
        gaps, count = np.unique(np.diff([0, *others, m]), return_counts=True)
        # The gaps between the turns of those who are asked, in units of the interval between any.
        law = Lattice(gaps.tolist(), count.tolist()) if gaps.size > 1 else Constant(period=float(gaps[0]))
        age = lambda rate, law=law: direct(at_rate(law, rate))  # noqa: E731
        found.append(Stretched(system.sources, system.frequencies * j / m, TURNS, age).freshness())
    return found
