"""An aggregate made ready: its sources as arrays, how often each is downloaded and in what order, and its topology.

Every replica has a process of its own for every source. What clients find is the freshest of the copies in `ask` of the
replicas, at any time: a view, unless they ask at the instants of a process.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast, final

import numpy as np

from replnet.laws import Constant, Exponential, FieldError, Law
from replnet.laws.fields import dealt, listed
from replnet.laws.law import Floats, Ints
from replnet.laws.processes.schedules import Draws, Round, Scattered, Schedule, Shuffled
from replnet.laws.processes.streams import GOLDEN, Words, mix
from replnet.network.aggregate import POISSON, Aggregate, AggregateShape, penalty_of
from replnet.network.topology import DOWNLOADS, INDEX, UPDATES, Each, Numbered, Topology, View
from replnet.papers.allocation import Between, least, rates_by
from replnet.papers.staleness import Kind

MOST_TOGETHER = 20  # sources that can be meant to be fresh all at once
MOST_SHOWN = 10  # sources that have rows of their own
CONSTANT = Constant(rate=1.0)
LOT = 1 << 20


@final
@dataclass(frozen=True, slots=True, eq=False)
class Sources:
    """Source i changes at the intervals of shapes[which[i]], stretched to rates[i]; weights add up to 1."""

    shapes: tuple[Law, ...]
    which: Ints
    rates: Floats
    weights: Floats

    def __getitem__(self, some: slice) -> Sources:
        return Sources(self.shapes, self.which[some], self.rates[some], self.weights[some])

    @property
    def size(self) -> int:
        return self.rates.size

    @property
    def poisson(self) -> bool:
        return all(isinstance(shape, Exponential) for shape in self.shapes)

    def members(self) -> list[tuple[Law, Ints]]:
        """Every shape, with the sources that have it."""
        if len(self.shapes) == 1:
            return [(self.shapes[0], np.arange(self.size))]
        order = np.argsort(self.which, kind="stable")
        ends = np.cumsum(np.bincount(self.which, minlength=len(self.shapes)))
        return list(zip(self.shapes, np.split(order, ends[:-1]), strict=True))


def sources(spec: AggregateShape) -> Sources:
    """Those that a specification means."""
    # What is exponential differs in its rate alone.
    alike = [POISSON if isinstance(law, Exponential) else law for law in spec.updates]
    place = {shape: i for i, shape in enumerate(dict.fromkeys(alike))}
    which = np.array([place[shape] for shape in alike], np.int64)
    count = spec.count
    rates = np.array([law.rate for law in spec.updates]) if spec.rates is None else listed(spec.rates, count)
    return Sources(
        tuple(place),
        np.broadcast_to(which, (count,)) if which.size == 1 else which,
        np.ascontiguousarray(np.broadcast_to(rates, (count,))),
        dealt(np.ones(count) if spec.weights is None else spec.weights, count),
    )


def frequencies(spec: AggregateShape, of: Sources) -> Floats:
    """Downloads of every source per unit of time, by all replicas together."""
    if not isinstance(spec.allocate, str):
        return np.array(spec.allocate)
    assert spec.budget is not None
    if spec.budget == 0:
        return np.zeros(of.size)
    between = "constant" if spec.constant else "exponential" if spec.order == "independent" else spec.order
    given = (of.members(), of.rates, of.weights, spec.budget)
    try:
        if penalty := penalty_of(spec.allocate):
            return least(*given, penalty[1], cast(Kind, penalty[0]))
        return rates_by(spec.allocate, *given, cast(Between, between))
    except FieldError as error:
        raise FieldError("allocate", f"{spec.allocate}: {error.field}: {error.wrong}", error.right) from None


@final
@dataclass(frozen=True, eq=False)
class ManySources:
    """What the specification of an aggregate amounts to, or a part of it: sources from `first` on of so many in all."""

    spec: AggregateShape
    sources: Sources
    frequencies: Floats  # downloads of each source per unit of time, all replicas together
    group: str
    first: int
    whole: int

    @classmethod
    def of(cls, spec: AggregateShape, group: str = "copies") -> ManySources:
        found = sources(spec)
        return cls(spec, found, frequencies(spec, found), group, 0, found.size)

    def __getitem__(self, some: slice) -> ManySources:
        """Some of its sources, as they are among all."""
        first = self.first + some.start
        return replace(self, sources=self.sources[some], frequencies=self.frequencies[some], first=first)

    @property
    def size(self) -> int:
        return self.sources.size

    @property
    def rate(self) -> float:
        """Updates and downloads per unit of time."""
        return float(self.sources.rates.sum() + self.frequencies.sum())

    @property
    def views(self) -> list[View]:
        """The groups of rows: copies, those of one replica, and what clients find."""
        spec, everyone = self.spec, np.arange(self.spec.replicas)
        asked = isinstance(spec, Aggregate) and (spec.replicas > 1 or spec.queries is not None)
        clients = [View("clients", everyone, spec.ask)] if asked else []
        return [View(self.group, everyone, 1), *clients]

    @property
    def together(self) -> bool:
        """Whether it is asked if any source is fresh, and if all are."""
        return 1 < self.size <= MOST_TOGETHER

    @property
    def shown(self) -> int:
        """How many sources have rows of their own."""
        return self.size if self.size <= MOST_SHOWN else 0

    @property
    def downloads(self) -> Law:
        """The shape of the intervals, where sources are downloaded independently of one another."""
        return self.spec.downloads or CONSTANT

    @property
    def alike(self) -> bool:
        """Whether all sources are downloaded equally often, so that there are rounds of them."""
        return bool(self.frequencies[0] == self.frequencies.max() == self.frequencies.min() > 0)

    @property
    def slot(self) -> float:
        return 1 / float(self.frequencies.sum())

    @property
    def apart(self) -> bool:
        """Whether sources are downloaded independently of one another."""
        own_rounds = self.spec.order == "fixed" and not self.alike
        return self.spec.order == "independent" or own_rounds or not self.frequencies.any()

    @cached_property
    def round(self) -> Ints:
        """The order of the carousel, over and over."""
        from replnet.laws.processes.carousel import long_round

        return long_round(self.frequencies)

    @property
    def schedule(self) -> Schedule | None:
        """The order in which sources are downloaded, if not independently of one another."""
        often = self.frequencies
        if self.apart:
            return None
        match self.spec.order:
            case "fixed":
                return Round(np.arange(self.size), self.slot, self.size)
            case "random":
                return Shuffled(self.size, 1 / float(often[0])) if self.alike else Scattered(often)
            case "purely random":
                return Draws(often * self.slot, self.slot)
        return Round(self.round, self.slot, self.size)

    def laws(self) -> Iterator[Law]:
        """The shapes of all processes that are renewal processes."""
        yield from self.sources.shapes
        if self.spec.order == "independent":
            yield self.downloads


def add_aggregate(made: Topology, of: ManySources, limit: dict[str, Any], prefix: str = "replica ") -> Ints:
    """Adds the sources and the replicas of an aggregate, and its clients; returns the numbers of the replicas."""
    spec, m, group = of.spec, of.spec.replicas, of.group
    first = made.add(Numbered("source ", of.size, of.first), "source", "sources", **limit)
    replicas = made.add(Numbered(prefix, m), "replica", group, **limit)
    # Columns that are the same are one, as there may be a hundred million of sources.
    words, every = source_words(of.size, 0, of.first), first if m == 1 else np.tile(first, m)
    made.link(first if m == 1 else np.repeat(first, m), np.tile(replicas, of.size))
    weights = of.sources.weights[: 1 if spec.weights is None else None] * of.whole
    made.weights, made.together, made.many = np.broadcast_to(weights, (of.size,)), of.together, of
    shapes, which = of.sources.shapes, np.asarray(of.sources.which)
    made.each.append(Each(first, UPDATES, None, shapes, which, of.sources.rates, words))
    who, rate = np.repeat(replicas, of.size), of.frequencies
    alone, turns = np.zeros(of.size, INDEX), m > 1 and spec.share == "turns"
    if turns or m == 1:
        turn = np.repeat(np.arange(m, dtype=INDEX), of.size) if turns else None
        ways = Each(
            who, DOWNLOADS, every, (of.downloads,), alone, rate, words, of.schedule, every, turn, m if turns else 1
        )
    else:
        words = np.concatenate([source_words(of.size, replica, of.first) for replica in range(m)])
        ways = Each(who, DOWNLOADS, every, (of.downloads,), np.tile(alone, m), np.tile(rate / m, m), words)
    made.each.append(ways)
    made.parts = {f"source {i + 1}": (group, i) for i in range(of.shown)}
    if isinstance(spec, Aggregate) and spec.queries is not None:
        made.pools["replicas"] = replicas
        made.add(["client 1"], "client", "clients", queries=spec.queries, ask=spec.ask, pool="replicas")
    else:
        made.views += [View(view.group, replicas[view.nodes], view.ask) for view in of.views[1:]]
    return replicas


def part(of: Topology, some: slice) -> Topology:
    """The topology of an aggregate with some of its sources alone, who do there what they do among all."""
    made = Topology(of.about)
    add_aggregate(made, of.many[some], {})
    return made


def source_words(count: int, replica: int = 0, first: int = 0) -> Words:
    """A word for each of so many sources from `first` on, or for the copies of them in one of several replicas."""
    words = np.arange(first + 1, first + count + 1, dtype=np.uint64)
    for lot in range(0, count, LOT):  # so that nothing but the words takes much memory
        words[lot : lot + LOT] = mix(words[lot : lot + LOT] * GOLDEN)
    return mix(words + np.full(1, replica, np.uint64) * GOLDEN) if replica else words
