"""Formulas for an aggregate: the copies of many sources at once, and all of these copies together.

Source i changes at rate mu_i and is downloaded lambda_i times per unit of time. A copy
whose download intervals take the values d with shares p_d of its time has

    freshness         sum p_d I(d) / d,    I' = tail of the update age       Crawl eq. 6, Staleness eq. 36    (1)
    source penalty    sum p_d V(d) / d,    V' = v (2) of `penalties`         Staleness eq. 42                 (2)
    update penalty    sum p_d mu w3(d) / d                                   Staleness eq. 50                 (3)

These suffice for constant intervals, for the carousel, and for j of m replicas that take
turns: with K the downloads since the last one by any of the j,

    P(K >= k) = C(m - k, j) / C(m, j),                                                                        (4)

so the freshest copy is d (K + U) old, U even on (0, 1), as if intervals k d had the shares
k (P(K = k - 1) - P(K = k)). The random orders of Sync have their own formulas, for Poisson
changes; everything else is worked out source by source, from the law of its age. Where a source never
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

from replnet.ages import (
    AGE,
    APART,
    DIRECT,
    MOST_SUBSETS,
    ONE,
    REDUNDANT,
    SOURCES,
    SUBSETS,
    WITHOUT_RESULT,
    Basis,
    InformationAge,
    NoFormulaError,
    Prediction,
    Weight,
    best_of,
    direct,
    joint_basis,
    penalties,
    unknown,
)
from replnet.allocation import FIXED, PURELY_RANDOM, RANDOM, Order, intervals_of, purely_random, random_order
from replnet.laws import Constant, Exponential, Floats, Ints, Lattice, Law, at_rate, fit_curve
from replnet.measure import Metric
from replnet.network import BestOfView, ManySources, Sources

Key = tuple[str, str]

MOST_DISTINCT = 2_000  # different sources, or chances to be drawn, that are worked out one by one
MOST_AGES = 300  # different pairs of an age and a law of updates that are worked out one by one
PANEL, FITTED, MOST_PANELS = 2.0, 1e-10, 60  # of the curve over the logarithm of changes per download
CHECKS, TOLERANCE = 7, 1e-8  # how many points between are used to check the curve, and its allowed error there
UNLIKE = f"more than {MOST_AGES} sources that differ, under laws without a closed form"

POISSON = "Poisson changes, downloads that do not depend on them"
CONSTANT = Basis("exact", "Crawl eq. 6", "changes independent of downloads")
CAROUSEL = Basis("exact", "Crawl eq. 6 over the intervals of Algorithm 3", "changes independent of downloads")
ORDER = Basis("exact", "Sync Table 2", POISSON)
RARE = Basis("limit", "Sync Table 2", f"{POISSON}; many sources, none of which dominates")
EXPONENTIAL = Basis("exact", "Crawl eq. 5", POISSON)
TURNS = Basis("exact", "Staleness VI-D", "replicas take turns at even distances")
ALLOCATED = Basis("exact", "the allocation", "")


def positions_by_value(values: Floats) -> Iterator[tuple[float, Ints]]:
    """Yield pairs of a distinct value, in ascending order, and the array of positions at which it occurs."""
    unique, which = np.unique(values, return_inverse=True)
    parts = np.split(np.argsort(which, kind="stable"), np.cumsum(np.bincount(which))[:-1])
    return zip(unique.tolist(), parts, strict=True)


# ---- How old copies are


@dataclass(frozen=True, eq=False)
class CopyAges(ABC):
    """Abstract: the ages of the copies of all `sources`, which are downloaded `frequencies` times per unit of time.

    Public methods return an array with one value per source, times in the unit of time of the sources; `basis` is what
    these values rest on. They raise NoFormulaError if there is no formula.
    """

    sources: Sources
    frequencies: Floats
    basis: Basis

    def freshness(self) -> Floats:
        """Return, for each source, the share of time in which its copy is fresh.

        It is 1 for sources that never change, else 0 for those never downloaded.
        """
        return self._fill_in_extremes(self._freshness(), 1.0, 0.0)

    def source_penalty(self, by: Weight) -> Floats:
        """Return, for each source, the mean cost `by` of the time since its copy became stale, 0 while it is fresh.

        `by` is a weight, a function of a time. The mean is 0 for sources that never change, and the limit of the weight
        at infinity for those that change and are never downloaded.
        """
        if by == ONE:
            return 1 - self.freshness()
        return self._fill_in_extremes(self._source_penalty(by), 0.0, by.limit)

    def update_penalty(self, by: Weight) -> Floats:
        """Return, for each source, the mean sum of the costs `by` of the ages of all updates that its copy misses.

        `by` is a weight, a function of an age. It is 0 for sources that never change, and infinite without downloads.
        """
        rates = np.where(self.sources.rates > 0, self.sources.rates, 1.0)
        return self._fill_in_extremes(rates * self._mean_weight(by), 0.0, math.inf)

    def data_age(self) -> Floats:
        """Return, for each source, the mean time since its copy's data left the source; inf without downloads."""
        return np.where(self.frequencies > 0, self._mean_weight(ONE), math.inf)

    def since_last_change(self) -> Floats:
        """Return, for each source, the mean time since its last change, counted as 0 while the copy is fresh.

        Raise NoFormulaError if a source that changes is never downloaded.
        """
        if ((self.frequencies == 0) & (self.sources.rates > 0)).any():
            raise NoFormulaError("the last change of sources that are never downloaded")
        return self._fill_in_extremes(self._by_ages(penalties.since_last_change), 0.0, math.inf)

    def _fill_in_extremes(self, values: Floats, constant: float, never: float) -> Floats:
        """Return `values`, but `constant` for sources that never change, else `never` for those never downloaded."""
        return np.where(self.sources.rates > 0, np.where(self.frequencies > 0, values, never), constant)

    @abstractmethod
    def _freshness(self) -> Floats:
        """Return the freshness of each source that changes and is downloaded; others may have any value."""

    @abstractmethod
    def _source_penalty(self, by: Weight) -> Floats:
        """Return the source penalty, by the weight `by`, of sources that change and are downloaded; others may have any
        value.
        """

    @abstractmethod
    def _mean_weight(self, by: Weight) -> Floats:
        """Return, for each source, the mean of w2(X), X the age of its copy, w2 the integral of the weight `by`."""

    @abstractmethod
    def _ages(self) -> Iterator[tuple[InformationAge, Ints]]:
        """Yield pairs of a distinct age of copies and the numbers of the sources whose copies have it."""

    def _changes(self) -> Iterator[tuple[Law, Ints]]:
        """Yield pairs of a distinct law of updates and the numbers of its sources, without those that never change."""
        for shape, members in self.sources.members():
            for rate, part in positions_by_value(self.sources.rates[members]):
                if rate > 0:
                    yield at_rate(shape, rate), members[part]

    @property
    def _update_law_count(self) -> int:
        """The number of distinct laws of updates."""
        return sum(np.unique(self.sources.rates[members]).size for _, members in self.sources.members())

    def _by_ages(self, value: Callable[[InformationAge, Law], Prediction]) -> Floats:
        """Return what `value(age, law of updates)` predicts for each source, computed once for each distinct pair.

        It is 0 for sources that never change. Raise NoFormulaError if there are more than 300 pairs, or 2,000 laws.
        """
        result, pairs, place = np.zeros(self.sources.size), 0, np.full(self.sources.size, -1)
        laws = list(self._changes()) if self._update_law_count <= MOST_DISTINCT else []
        for i, (_, members) in enumerate(laws):
            place[members] = i
        for age, members in self._ages():
            for i in np.unique(place[members]).tolist():
                pairs += i >= 0
                if pairs > MOST_AGES or not laws:
                    raise NoFormulaError(UNLIKE)
                if i >= 0:
                    result[members[place[members] == i]] = value(age, laws[i][0]).value
        return result


@final
@dataclass(frozen=True, eq=False)
class Intervals(CopyAges):
    """Copies whose download intervals take few values, so that formulas are sums over these.

    Intervals of `length[n]` take the share `share[n]` of the time of source `owner[n]`; entries are in order of owner.
    """

    owner: Ints
    length: Floats
    share: Floats

    def _freshness(self) -> Floats:
        rates, part = self.sources.rates, np.zeros(self.length.size)
        for shape, members in self.sources.members():
            entries = np.isin(self.owner, members) if len(self.sources.shapes) > 1 else slice(None)
            owner = self.owner[entries]
            x = self.length[entries] * np.where(rates[owner] > 0, rates[owner] / shape.rate, 1.0)
            part[entries] = np.asarray(shape.age.integrated_tail(x)) / x
        return self._sum(part)

    def _source_penalty(self, by: Weight) -> Floats:
        if by == AGE and self.sources.poisson:
            return self._sum(np.asarray(FIXED.age(self.sources.rates[self.owner], 1 / self.length)))
        if self._update_law_count > MOST_DISTINCT:
            raise NoFormulaError(f"more than {MOST_DISTINCT:,} sources that change at different rates")
        part = np.zeros(self.length.size)
        for law, members in self._changes():
            entries = np.isin(self.owner, members)
            lengths, which = np.unique(self.length[entries], return_inverse=True)
            part[entries] = (penalties.expected_cost(law, by, lengths, 2) / lengths)[which]
        return self._sum(part)

    def _mean_weight(self, by: Weight) -> Floats:
        return self._sum(np.asarray(by.second_integral(self.length)) / self.length)

    def _ages(self) -> Iterator[tuple[InformationAge, Ints]]:
        begin = np.flatnonzero(np.diff(self.owner, prepend=-1))
        owners_by_intervals: dict[tuple[float, ...], list[int]] = {}
        for low, high in zip(begin, np.append(begin[1:], self.owner.size), strict=True):
            key = (*self.length[low:high].tolist(), *self.share[low:high].tolist())
            owners_by_intervals.setdefault(key, []).append(int(self.owner[low]))
        for key, owners in owners_by_intervals.items():
            lengths, shares = key[: len(key) // 2], key[len(key) // 2 :]
            chances = [share / length for share, length in zip(shares, lengths, strict=True)]
            law = Constant(period=lengths[0]) if len(lengths) == 1 else Lattice(lengths, chances)
            yield direct(law), np.array(owners)

    def _sum(self, part: Floats) -> Floats:
        """Return, for each source, the sum of `part` over its entries, weighted by their shares of its time."""
        return np.asarray(np.bincount(self.owner, self.share * part, self.frequencies.size), dtype=float)


@final
@dataclass(frozen=True, eq=False)
class ScaledAges(CopyAges):
    """Copies whose ages differ from source to source by a factor alone, which is the inverse of the frequency.

    `age_at` returns the age at a frequency; `orders` are closed forms of random orders, each with its sources. One or
    both are given.
    """

    age_at: Callable[[float], InformationAge] | None = None
    orders: Sequence[tuple[Order, Ints]] = ()

    def _freshness(self) -> Floats:
        if self.orders and self.sources.poisson:
            return self._by_orders(
                lambda order, members: order.freshness(self.sources.rates[members], self.frequencies[members])
            )
        return self._by_curve(lambda age, law: age.freshness(law), 0)

    def _source_penalty(self, by: Weight) -> Floats:
        if by != AGE:
            self._require_ages(f"a penalty of {by}")
            return self._by_ages(lambda age, law: penalties.source_penalty(age, law, by))
        if self.orders and self.sources.poisson:
            return self._by_orders(
                lambda order, members: order.age(self.sources.rates[members], self.frequencies[members])
            )
        return self._by_curve(penalties.since_first_missed, 1)

    def _mean_weight(self, by: Weight) -> Floats:
        unit, result = Exponential(rate=1.0), np.zeros(self.frequencies.size)
        if by != ONE:
            self._require_ages(f"a penalty of {by}")
            for age, members in self._ages():
                result[members] = penalties.update_penalty(age, unit, by).value
            return result
        mean = (
            penalties.missing_updates(self.age_at(1.0), unit).value
            if self.age_at
            else self._by_orders(_mean_age_of_order)
        )
        return np.divide(mean, self.frequencies, out=result, where=self.frequencies > 0)

    def _ages(self) -> Iterator[tuple[InformationAge, Ints]]:
        age_at = self._require_ages("ages of this kind")
        if np.unique(self.frequencies).size > MOST_AGES:
            raise NoFormulaError(UNLIKE)
        return (
            (age_at(frequencies), part) for frequencies, part in positions_by_value(self.frequencies) if frequencies
        )

    def _require_ages(self, subject: str) -> Callable[[float], InformationAge]:
        """Return the function from a frequency to an age; if there is none, raise NoFormulaError about `subject`."""
        if self.age_at is None:
            raise NoFormulaError(f"{subject} under random orders")
        return self.age_at

    def _by_orders(self, value: Callable[[Order, Ints], Floats | float]) -> Floats:
        """Return an array of `value(order, its sources)` for all sources, from the closed form of the order of each."""
        result = np.empty(self.frequencies.size)
        for order, members in self.orders:
            result[members] = value(order, members)
        return result

    def _by_curve(self, value: Callable[[InformationAge, Law], Prediction], power: int) -> Floats:
        """Return `value(age, law)` for each source, from one curve over the logarithm of changes per download.

        Few sources, or several shapes of update laws, are worked out pair by pair instead. `value` scales as the mean
        download interval to this `power`: 0 for a share, 1 for a time. Raise NoFormulaError if there is no accurate
        curve.
        """
        if self.age_at is None:
            raise NoFormulaError("random orders under changes that are not Poisson")
        rates, members = self.sources.rates, self.sources.members()
        active = np.flatnonzero((rates > 0) & (self.frequencies > 0))
        ratio = np.log(rates[active] / self.frequencies[active])
        if len(members) > 1 or np.unique(ratio).size <= MOST_AGES:
            return self._by_ages(value)
        shape, unit = members[0][0], self.age_at(1.0)

        def at(points: Floats) -> Floats:
            return np.array([value(unit, at_rate(shape, math.exp(x))).value for x in np.ravel(points).tolist()])

        low, high = float(ratio.min()), float(ratio.max())
        if np.isinf(at(ratio[:1])):
            return np.full(rates.size, math.inf)
        edges = np.linspace(low, high, 2 + int((high - low) / PANEL))
        curve = fit_curve(at, edges, tolerance=FITTED, most=MOST_PANELS)
        checks = np.linspace(low, high, CHECKS + 2)[1:-1]
        if np.abs(curve(checks) - at(checks)).max() > TOLERANCE * max(1.0, np.abs(at(checks)).max()):
            raise NoFormulaError(UNLIKE)
        result = np.zeros(rates.size)
        result[active] = curve(np.minimum(ratio, high * (1 - 1e-15))) / self.frequencies[active] ** power
        return result


def _mean_age_of_order(order: Order, members: Ints) -> float:
    """Return the mean age of a copy under an order of downloads, over the mean download interval of its source.

    It is the same for all `members`, the numbers of the sources that are downloaded so, which do not matter.
    """
    return float(order.moments[2])


def intervals(sources: Sources, frequencies: Floats, basis: Basis) -> Intervals:
    """Return the ages of copies at constant download intervals, which are 1 / frequencies[i] for source i.

    Sources of frequency 0 have no intervals. `basis` is what predictions from them rest on.
    """
    downloaded = np.flatnonzero(frequencies > 0)
    return Intervals(sources, frequencies, basis, downloaded, 1 / frequencies[downloaded], np.ones(downloaded.size))


def in_turns(sources: Sources, frequencies: Floats, replicas: int, ask: int) -> Intervals:
    """Return the ages of the freshest copies in `ask` replicas, drawn among `replicas` that take turns to download.

    Each source is downloaded at even distances; `frequencies` are its downloads per unit of time by all replicas
    together.
    """
    downloaded = np.flatnonzero(frequencies > 0)
    k = np.arange(replicas - ask + 2)
    tail = np.array([math.comb(replicas - i, ask) for i in k.tolist()]) / math.comb(replicas, ask)
    shares: Floats = np.asarray(k[1:] * -np.diff(np.append(-np.diff(tail), 0.0)))
    positive = shares > 0
    lengths = (k[1:][positive] / frequencies[downloaded, None]).ravel()
    return Intervals(
        sources,
        frequencies,
        TURNS,
        np.repeat(downloaded, positive.sum()),
        lengths,
        np.tile(shares[positive], downloaded.size),
    )


def copies_of(system: ManySources, ask: int) -> CopyAges:
    """Return the ages of the freshest copies of all sources in `ask` replicas, drawn at random, as they are downloaded.

    Raise NoFormulaError if there are no formulas for that.
    """
    sources, frequencies, spec, law = system.sources, system.frequencies, system.spec, system.downloads
    replicas, j = spec.replicas, ask
    if spec.order == "carousel" and frequencies.any():
        owner, slots, count = intervals_of(system.round)
        turns, lengths = system.round.size, np.asarray(slots * system.slot, dtype=float)
        frequencies = np.bincount(system.round, minlength=system.size) / (turns * system.slot)
        return Intervals(sources, frequencies, CAROUSEL, owner, lengths, slots * count / turns)
    if spec.order in ("random", "purely random"):
        return _in_order(system)
    if spec.share == "turns":
        if isinstance(law, Constant) and replicas > 1:
            return in_turns(sources, frequencies, replicas, j)
        if j < replicas:
            raise NoFormulaError(f"replicas that take turns at {law} intervals")
        replicas = j = 1
    if isinstance(law, Constant) and j == 1:
        return intervals(sources, frequencies / replicas, CONSTANT if sources.poisson else DIRECT)
    if isinstance(law, Exponential):
        basis, plain = (
            EXPONENTIAL if replicas == 1 else joint_basis([EXPONENTIAL, APART]),
            [(PURELY_RANDOM, np.arange(sources.size))],
        )
        return ScaledAges(
            sources, frequencies * j / replicas, basis, lambda rate: direct(Exponential(rate=rate)), plain
        )
    basis = DIRECT if j == 1 else joint_basis([DIRECT, REDUNDANT, APART])
    return ScaledAges(sources, frequencies / replicas, basis, lambda rate: best_of([direct(at_rate(law, rate))] * j))


def _in_order(system: ManySources) -> ScaledAges:
    """Return the ages of copies in one replica under a random order of downloads.

    Sources are downloaded in a new order every round, or drawn afresh each time, as the specification says.
    """
    sources, frequencies, everyone = system.sources, system.frequencies, np.arange(system.size)
    if system.spec.order == "random":
        order = random_order(system.size) if system.equally_often else RANDOM
        return ScaledAges(sources, frequencies, ORDER, orders=[(order, everyone)])
    shares = frequencies * system.slot if frequencies.any() else frequencies
    if np.unique(shares).size > MOST_DISTINCT:
        return ScaledAges(sources, frequencies, RARE, orders=[(PURELY_RANDOM, everyone)])
    return ScaledAges(
        sources,
        frequencies,
        ORDER,
        orders=[(purely_random(min(share, 1.0)), members) for share, members in positions_by_value(shares)],
    )


# ---- Predictions of metrics


def predict_aggregate(system: ManySources, metrics: Iterable[Metric] = ()) -> dict[Key, Prediction]:
    """Return the predictions of freshness and of these metrics for an aggregate, by (group, metric).

    The groups are its copies, its clients and the sources that have rows of their own; these have freshness, if it is
    known, and download_rate alone. There are any_fresh and all_fresh as well for 2 to 20 sources. What is not known has
    a prediction without a value that says why.
    """
    metrics = tuple(metrics)
    return {key: value for view in system.views for key, value in _rows(system, view, metrics)}


def freshness_of_sources(system: ManySources) -> tuple[Floats, Prediction]:
    """Return the freshness of the copy of each source of an aggregate in one replica, and the prediction of their mean.

    Sources count in the mean by their weights. Where there is no formula the first are NaN, and the prediction has no
    value but a note that says why.
    """
    try:
        copies = copies_of(system, 1)
        freshness = copies.freshness()
    except WITHOUT_RESULT as why:
        return np.full(system.size, np.nan), unknown(why)
    return freshness, _mean(system, freshness, copies.basis)


def _rows(system: ManySources, view: BestOfView, metrics: Sequence[Metric]) -> Iterator[tuple[Key, Prediction]]:
    """Yield pairs of (group, metric) and prediction for one view: its freshness and these metrics.

    For the copies of replicas the predictions of the sources that have rows of their own follow.
    """
    together = ("any_fresh", "all_fresh") if system.any_and_all else ()
    freshness: Floats | None = None
    try:
        copies = copies_of(system, view.ask)
        freshness = copies.freshness()
    except WITHOUT_RESULT as why:
        names = ("freshness", *together, *(metric.name for metric in metrics))
        yield from (((view.group, name), unknown(why)) for name in names)
    else:
        yield (view.group, "freshness"), _mean(system, freshness, copies.basis)
        if together:
            keys = [(view.group, name) for name in together]
            yield from zip(keys, _any_and_all_fresh(system, view, copies, freshness), strict=True)
        yield from (((view.group, metric.name), _metric(system, copies, metric)) for metric in metrics)
    for i in range(system.shown_count if view.group == system.group else 0):
        if freshness is not None:
            yield (f"source {i + 1}", "freshness"), Prediction.of(freshness[i], copies.basis)
        yield (f"source {i + 1}", "download_rate"), Prediction.of(system.frequencies[i], ALLOCATED)


def _mean(system: ManySources, values: Floats, basis: Basis) -> Prediction:
    """Predict the mean of `values`, one per source, by the weights of sources; values at weight 0 do not matter.

    An infinite mean has a Prediction without a value. `basis` is what the prediction rests on.
    """
    counted = system.sources.weights > 0
    value = float(system.sources.weights[counted] @ values[counted])
    if math.isinf(value):
        return Prediction(math.nan, basis.kind, basis.source, note="infinite")
    return Prediction.of(value, basis)


def _metric(system: ManySources, copies: CopyAges, metric: Metric) -> Prediction:
    """Predict the mean over sources of a metric of these copies, other than freshness; without a value if there is no
    formula.
    """
    basis, question = joint_basis([copies.basis, metric.basis]), metric.question
    try:
        if question.over == "copies":
            return Prediction.of(1.0, basis)
        if (
            metric.is_about_durations
            or question.level is not None
            or (question.about == "data" and metric.weight is not AGE)
        ):
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
    except WITHOUT_RESULT as why:
        return unknown(why)
    result = _mean(system, values, basis)
    if not result.known:
        return replace(result, note=f"{metric.name} is infinite: {_reason_for_infinity(system)}")
    if question.over == "rest":
        return Prediction.of(1 - result.value, basis)
    if question.over == "stale":
        stale = _mean(system, 1 - copies.freshness(), basis).value
        return Prediction.of(result.value / stale, basis) if stale else unknown("it is never stale")
    return result


def _reason_for_infinity(system: ManySources) -> str:
    """Return, as a phrase, why the mean age or cost of an aggregate's copies is infinite."""
    sources = system.sources
    never = int(((sources.weights > 0) & (sources.rates > 0) & (system.frequencies == 0)).sum())
    if not never:
        return "downloads have too heavy a tail"
    return f"{never:,} of {sources.size:,} sources change and are never downloaded"


def _any_and_all_fresh(
    system: ManySources, view: BestOfView, copies: CopyAges, freshness: Floats
) -> tuple[Prediction, Prediction]:
    """Predict two shares of time: that in which the copy of at least one source is fresh, and that in which all are.

    The copies are those of a view, and `freshness` has that of each source's. Both are without a value, but with a
    reason, if copies are not independent.
    """
    m, j, choices, basis = system.spec.replicas, view.ask, [freshness], joint_basis([copies.basis, SOURCES])
    if not system.independently:
        why = unknown("copies of sources that are downloaded one after the other are not independent")
        return why, why
    if system.spec.share != "independently" and j not in (1, m):
        if math.comb(m - 1, j - 1) > MOST_SUBSETS:
            why = unknown(f"a choice of {j} among {m} replicas that take turns")
            return why, why
        choices, basis = _choices_of_turns(system, m, j), joint_basis([basis, SUBSETS])
    at_least_one = np.mean([1 - np.prod(1 - shares) for shares in choices])
    all_copies = np.mean([np.prod(shares) for shares in choices])
    return Prediction.of(float(at_least_one), basis), Prediction.of(float(all_copies), basis)


def _choices_of_turns(system: ManySources, m: int, j: int) -> list[Floats]:
    """Return, for the choices of `j` among `m` replicas that take turns, arrays of the freshness of each source's copy.

    Choices that differ by a rotation are equally fresh, so the first replica is in each of those tried.
    """
    result = []
    for others in combinations(range(1, m), j - 1):
        gaps, count = np.unique(np.diff([0, *others, m]), return_counts=True)
        # The gaps between the turns of the replicas asked, in units of the interval between any two turns.
        law = Lattice(gaps.tolist(), count.tolist()) if gaps.size > 1 else Constant(period=float(gaps[0]))
        age = lambda rate, law=law: direct(at_rate(law, rate))  # noqa: E731
        result.append(ScaledAges(system.sources, system.frequencies * j / m, TURNS, age).freshness())
    return result
