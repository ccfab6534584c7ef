"""The networks on which replnet and the programs beside it are timed.

An event is one update, download or poll. A workload says the same thing twice:
as a replnet network, and as plain numbers for programs that know nothing of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import replnet as rn

SOURCE = 0  # the number of the source; replicas count from 1


@dataclass(frozen=True)
class Interval:
    """The law of an interval, for the programs beside replnet."""

    family: str  # exponential, constant or pareto
    rate: float
    alpha: float = 0.0

    def __str__(self) -> str:
        return f"{self.family}({f'alpha={self.alpha}, ' if self.alpha else ''}rate={self.rate})"


@dataclass(frozen=True)
class Workload:
    """One source, and replicas that each download from one node; with polls, also from a random other replica."""

    name: str
    build: Callable[[], rn.Network]
    upstreams: tuple[int, ...]  # of each node, the source first (which has itself)
    levels: tuple[int, ...]  # of each node, from 0; -1 for the source
    updates: Interval
    downloads: Interval
    polls: Interval | None = None

    @cached_property
    def sizes(self) -> list[int]:
        """Replicas per level."""
        return [self.levels.count(level) for level in range(max(self.levels) + 1)]

    @cached_property
    def rate(self) -> float:
        """Events per unit of time."""
        asking = self.downloads.rate + (self.polls.rate if self.polls else 0.0)
        return self.updates.rate + sum(self.sizes) * asking

    @cached_property
    def predicted(self) -> list[float]:
        """Freshness of each level."""
        table = rn.predict(self.build()).table
        return [float(x) for x in table[table["metric"] == "freshness"]["predicted"]]


@dataclass(frozen=True)
class Run:
    """What one program made of one workload."""

    events: int
    horizon: float
    fresh: list[float]  # per level
    seconds: float = 0.0  # of CPU

    @property
    def speed(self) -> float:
        return self.events / self.seconds

    def took(self, seconds: float) -> Run:
        return replace(self, seconds=seconds)


@dataclass(frozen=True)
class Spread:
    """How much the freshness of each level varies: its standard error is spread / sqrt(horizon)."""

    of_level: list[float]

    def z(self, fresh: list[float], predicted: list[float], horizon: float) -> float:
        """The largest distance from the prediction, in standard errors."""
        triples = zip(fresh, predicted, self.of_level, strict=True)
        return max(abs(f - p) / s for f, p, s in triples) * math.sqrt(horizon)


def single_hop() -> Workload:
    updates, downloads = Interval("pareto", 2, alpha=3), Interval("constant", 3)
    return Workload(
        "W1 single hop",
        lambda: rn.single(updates=str(updates), downloads=str(downloads)),
        upstreams=(SOURCE, SOURCE),
        levels=(-1, 0),
        updates=updates,
        downloads=downloads,
    )


def tree(depth: int = 4, branching: int = 3) -> Workload:
    law = Interval("exponential", 2)
    upstreams, levels, row = [SOURCE], [-1], [SOURCE]
    for level in range(depth):
        upstreams += [above for above in row for _ in range(branching)]
        row = list(range(len(levels), len(upstreams)))
        levels += [level] * len(row)
    return Workload(
        f"W2 cascade {depth} x {branching}",
        lambda: rn.cascade(depth=depth, branching=branching, updates=str(law), downloads=str(law)),
        upstreams=tuple(upstreams),
        levels=tuple(levels),
        updates=law,
        downloads=law,
    )


def cluster(replicas: int = 100) -> Workload:
    updates, downloads, polls = (Interval("exponential", rate) for rate in (1, 1, 4))
    laws = {"updates": str(updates), "downloads": str(downloads), "polls": str(polls)}
    return Workload(
        f"W3 cluster of {replicas}",
        lambda: rn.cooperative(replicas=replicas, peers=1, **laws),
        upstreams=(SOURCE,) * (replicas + 1),
        levels=(-1, *[0] * replicas),
        updates=updates,
        downloads=downloads,
        polls=polls,
    )


def workloads() -> list[Workload]:
    return [single_hop(), tree(), cluster()]
