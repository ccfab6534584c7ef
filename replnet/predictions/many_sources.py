"""What the formulas say of an aggregate: means over its sources, and of all of them together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import final

import numpy as np

from replnet.ages.information_age import DIRECT, REDUNDANT, InformationAge, best_of, direct
from replnet.ages.prediction import Basis, Prediction, joined, unknown
from replnet.ages.stretched import at_rate
from replnet.laws import Constant, Exponential, Lattice, Law
from replnet.measure.metrics import Metric
from replnet.network.sources import Floats
from replnet.papers.many_copies import (
    CONSTANT,
    EXPONENTIAL,
    RARE,
    Aged,
    Changes,
    Copies,
    InOrder,
    Intervals,
    NotKnownError,
)
from replnet.papers.many_replicas import APART, MOST_SUBSETS, SOURCES, SUBSETS
from replnet.papers.sync_order import PURELY_RANDOM, RANDOM, PurelyRandom, RandomOrder, SyncOrder
from replnet.study.aggregates.system import System, View

Key = tuple[str, str]
MOST_SHARES = 2_000  # different chances to be drawn, each with a formula of its own


def expected(system: System, asked: Iterable[Metric] = ()) -> dict[Key, Prediction]:
    """By (group, metric)."""
    asked = tuple(asked)
    return {key: formula for view in system.views for key, formula in _View(system, view).rows(asked)}


@final
@dataclass(frozen=True, eq=False)
class _View:
    system: System
    view: View

    def rows(self, asked: Iterable[Metric]) -> Iterator[tuple[Key, Prediction]]:
        name, alone = self.view.name, self.view.name == "copies"
        try:
            copies = self._copies()
            fresh = copies.freshness(self._changes)
        except NotKnownError as why:
            yield (name, "freshness"), unknown(why)
            if self.system.together:
                yield from (((name, metric), unknown(why)) for metric in ("any_fresh", "all_fresh"))
            yield from (((name, metric.name), unknown(why)) for metric in asked)
            if alone:
                yield from self._shown(None)
            return
        yield (name, "freshness"), self._mean(fresh, copies.basis)
        if self.system.together:
            yield from zip(((name, "any_fresh"), (name, "all_fresh")), self._together(copies, fresh), strict=True)
        yield from (((name, metric.name), self._beyond(copies, metric)) for metric in asked)
        if alone:
            yield from self._shown(fresh, copies.basis)

    @property
    def _changes(self) -> Changes:
        of = self.system.sources
        return Changes(of.members(), of.rates)

    def _copies(self) -> Copies:
        """How old they are, by order and by how many replicas are looked at."""
        system, spec, m, j = self.system, self.system.spec, self.system.spec.replicas, self.view.ask
        often = system.frequencies
        if spec.order == "carousel" and often.any():
            return Intervals.ordered(system.size, system.round, system.slot)
        if spec.order in ("random", "purely random"):
            return self._in_order()
        law, even = system.downloads, CONSTANT if system.sources.poisson else DIRECT
        if spec.share == "turns":
            if isinstance(law, Constant):
                return Intervals.in_turns(often, m, j) if m > 1 else Intervals.constant(often, even)
            if j < m:
                raise NotKnownError(f"replicas that take turns at {law} intervals")
            m = j = 1
        if isinstance(law, Exponential):
            plain = DIRECT if m == 1 else APART
            basis = EXPONENTIAL if m == 1 else joined([EXPONENTIAL, plain])
            return Aged(often * j / m, lambda rate: direct(Exponential(rate=rate)), basis, plain=True)
        if isinstance(law, Constant) and j == 1:
            return Intervals.constant(often / m, even)
        basis = DIRECT if j == 1 else joined([DIRECT, REDUNDANT, APART])
        return Aged(often / m, lambda rate: best_of([direct(at_rate(law, rate))] * j), basis)

    def _in_order(self) -> InOrder:
        system = self.system
        often, everyone = system.frequencies, np.arange(system.size)
        if system.spec.order == "random":
            return InOrder(often, [(RandomOrder(system.size) if system.alike else RANDOM, everyone)])
        shares, which = np.unique(often * system.slot if often.any() else often, return_inverse=True)
        if shares.size > MOST_SHARES:
            return InOrder(often, [(PURELY_RANDOM, everyone)], RARE)
        orders: list[SyncOrder] = [PurelyRandom(min(float(share), 1.0)) for share in shares]
        parts = np.split(np.argsort(which, kind="stable"), np.cumsum(np.bincount(which))[:-1])
        return InOrder(often, list(zip(orders, parts, strict=True)))

    def _mean(self, values: Floats, basis: Basis) -> Prediction:
        """By weight; sources that do not count may have any value."""
        weights = self.system.sources.weights
        counted = weights > 0
        value = float(weights[counted] @ values[counted])
        if math.isinf(value):
            return Prediction(math.nan, basis.kind, basis.source, note="infinite")
        return Prediction.of(value, basis)

    def _beyond(self, copies: Copies, metric: Metric) -> Prediction:
        changes, question = self._changes, metric.question
        basis = joined([copies.basis, metric.basis])
        try:
            match question.about:
                case "first":
                    values = copies.source_penalty(changes, metric.weight)
                case "every" | "count":
                    values = copies.update_penalty(changes, metric.weight)
                case "last":
                    values = copies.since_last_change(changes)
                case "data":
                    values = copies.data_age(changes)
        except NotKnownError as why:
            return unknown(why)
        found = self._mean(values, basis)
        if not found.known:
            return Prediction(math.nan, found.kind, found.source, note=self._endless(metric.name))
        if question.over == "rest":
            return Prediction.of(1 - found.value, basis)
        if question.over == "stale":
            stale = self._mean(1 - copies.freshness(changes), basis).value
            return Prediction.of(found.value / stale, basis) if stale else unknown("it is never stale")
        return found

    def _endless(self, name: str) -> str:
        of, often = self.system.sources, self.system.frequencies
        never = int(((of.weights > 0) & (of.rates > 0) & (often == 0)).sum())
        if not never:
            return f"{name} is infinite: downloads have too heavy a tail"
        return f"{name} is infinite: {never:,} of {of.size:,} sources change and are never downloaded"

    def _together(self, copies: Copies, fresh: Floats) -> tuple[Prediction, Prediction]:
        """At least one fresh, and all (Staleness VI-C, VI-E)."""
        system, m, j = self.system, self.system.spec.replicas, self.view.ask
        if not system.apart:
            why = unknown("copies of sources that are downloaded one after the other are not independent")
            return why, why
        if system.spec.share == "independently" or j in (1, m):
            return self._any_and_all([fresh], joined([copies.basis, SOURCES]))
        if math.comb(m - 1, j - 1) > MOST_SUBSETS:
            why = unknown(f"a choice of {j} among {m} replicas that take turns")
            return why, why
        found = []
        for others in combinations(range(1, m), j - 1):
            gaps, count = np.unique(np.diff([0, *others, m]), return_counts=True)
            # The gaps between the turns of those who are asked, in units of the interval between any.
            law = Lattice(gaps.tolist(), count.tolist()) if gaps.size > 1 else Constant(period=float(gaps[0]))
            found.append(Aged(system.frequencies * j / m, _stretching(law), copies.basis).freshness(self._changes))
        return self._any_and_all(found, joined([copies.basis, SOURCES, SUBSETS]))

    @staticmethod
    def _any_and_all(fresh: list[Floats], basis: Basis) -> tuple[Prediction, Prediction]:
        some = np.mean([1 - np.prod(1 - one) for one in fresh])
        every = np.mean([np.prod(one) for one in fresh])
        return Prediction.of(float(some), basis), Prediction.of(float(every), basis)

    def _shown(self, fresh: Floats | None, basis: Basis | None = None) -> Iterator[tuple[Key, Prediction]]:
        """Sources by themselves."""
        allocated = Basis("exact", "the allocation", "")
        for i in range(self.system.shown):
            if fresh is not None and basis is not None:
                yield (f"source {i + 1}", "freshness"), Prediction.of(float(fresh[i]), basis)
            rate = Prediction.of(float(self.system.frequencies[i]), allocated)
            yield (f"source {i + 1}", "download_rate"), rate


def _stretching(law: Law) -> Callable[[float], InformationAge]:
    """The ages of copies that are downloaded at intervals of this shape, by rate."""
    return lambda rate: direct(at_rate(law, rate))
