"""One path of an aggregate: what its copies yielded, summed over sources by weight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb
from typing import final

import numpy as np

from replnet.engines.aggregate.copies import Chunk, followed, together
from replnet.engines.aggregate.processes import choices
from replnet.engines.aggregate.refreshes import Listed, freshest
from replnet.engines.path import Shares
from replnet.laws.processes.streams import PAST, Words, seed_words, uniforms
from replnet.measure.metrics import Metric
from replnet.measure.staleness import Stretches
from replnet.network.sources import Floats
from replnet.study.aggregates.system import MOST_CHOICES, System


@final
@dataclass(frozen=True)
class Path:
    """Amounts and the wholes of which they are shares, by (group, metric)."""

    shares: Shares
    events: int  # updates and downloads
    undated: dict[str, float] = field(default_factory=dict)  # by group, the weight of copies too old to look into


def path(system: System, asked: Sequence[Metric], seed: int, replication: int, horizon: float) -> Path:
    """One replication over [0, horizon)."""
    run = seed_words(seed, replication)
    replicas = system.refreshes.listed(run, horizon)
    tallies = [_Tally(system, view.name, asked, _looked_at(replicas, view.ask, run), horizon) for view in system.views]
    events = sum(one.instants.size for one in replicas)
    for chunk in followed(system.sources.members(), system.sources.rates, run, horizon):
        events += chunk.count
        for tally in tallies:
            tally.add(chunk)
    shares: Shares = {}
    for tally in tallies:
        shares |= tally.shares()
    for i in range(system.shown):
        downloads = sum(int(one.sizes[i]) for one in replicas)
        shares[f"source {i + 1}", "freshness"] = float(tallies[0].fresh[i]), horizon
        shares[f"source {i + 1}", "download_rate"] = float(downloads), horizon
    return Path(shares, events, {tally.name: tally.undated for tally in tallies if tally.undated})


def _looked_at(replicas: list[Listed], ask: int, run: Words) -> list[Listed]:
    """The freshest copies in every choice of so many replicas, or in some choices where there are many."""
    m = len(replicas)
    if comb(m, ask) <= MOST_CHOICES:
        chosen = list(combinations(range(m), ask))
    else:
        order = np.argsort(uniforms(choices(run, PAST), np.arange(MOST_CHOICES * m)).reshape(-1, m), axis=1)
        chosen = [tuple(row) for row in order[:, :ask].tolist()]
    return [freshest([replicas[i] for i in some]) for some in chosen]


@final
class _Tally:
    """What one group of rows adds up, over all choices of replicas that it looks at."""

    def __init__(
        self, system: System, name: str, asked: Sequence[Metric], looked_at: list[Listed], horizon: float
    ) -> None:
        self.name, self._asked, self._listed, self._horizon = name, asked, looked_at, horizon
        self._weights, self._system = system.sources.weights, system
        self.fresh = np.zeros(system.size)
        self._stale: list[list[tuple[Floats, Floats]]] = [[] for _ in looked_at]
        self._whole, self._late, self.undated = 0.0, 0.0, 0.0
        self._costs = dict.fromkeys((metric.name for metric in asked), 0.0)

    def add(self, chunk: Chunk) -> None:
        each = 1 / len(self._listed)
        for copies, stale in zip(self._listed, self._stale, strict=True):
            self.fresh[chunk.some] += each * chunk.fresh(copies)
            if self._system.together:
                stale.append(chunk.stale(copies))
            if self._asked:
                self._follow(chunk, copies, each)

    def _follow(self, chunk: Chunk, copies: Listed, each: float) -> None:
        """What else is asked for."""
        weights, dated = each * self._weights[chunk.some], chunk.dated(copies)
        never = np.isinf(copies.age[chunk.some]) & (weights > 0)
        whole = float(weights[dated].sum()) * self._horizon
        self._whole += whole + float(weights[never].sum()) * self._horizon
        self.undated += float(weights[~dated & ~never].sum())
        cut = chunk.stretches(copies, dated & (weights > 0))
        stretches = Stretches(cut.begin, cut.end, cut.left, cut.updates)
        by = weights[cut.owner]
        # What is never downloaded is as stale as can be, if it changes at all.
        lost = float(weights[never & (chunk.rates > 0)].sum()) * self._horizon
        kept = float(weights[never].sum()) * self._horizon
        self._late += float(by @ stretches.stale) + lost
        for metric in self._asked:
            self._costs[metric.name] += float(by @ stretches.cost(metric.question))
            missed = kept if metric.question.about == "data" else lost
            if missed:
                self._costs[metric.name] += missed * (
                    metric.weight.limit if metric.question.about == "first" else np.inf
                )

    def shares(self) -> Shares:
        found: Shares = {(self.name, "freshness"): (float(self._weights @ self.fresh), self._horizon)}
        if self._system.together:
            both = [together(stale, self._system.size, self._horizon) for stale in self._stale]
            for place, which in enumerate(("any_fresh", "all_fresh")):
                found[self.name, which] = sum(one[place] for one in both) / len(both), self._horizon
        for metric in self._asked:
            cost = self._costs[metric.name]
            match metric.question.over:
                case "time":
                    share = cost, self._whole
                case "stale":
                    share = cost, self._late
                case "rest":
                    share = self._whole - cost, self._whole
            found[self.name, metric.name] = share
        return found
