"""The topology of an aggregate: its sources as arrays, how often each is downloaded and in what order.

Every replica has a process of its own for every source. A client finds the freshest of the copies in `ask` of the
replicas. If the specification gives no law of queries, it may look at any time: then its row is a view, not a node.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, cast, final

import numpy as np

from replnet.allocation import Between, Kind, least_penalty_rates, rates_by
from replnet.laws import Constant, Exponential, FieldError, Floats, Ints, Law
from replnet.network.aggregate import POISSON, Aggregate, AggregateShape, penalty_of
from replnet.network.fields import source_weights, values_per_source
from replnet.network.topology import DOWNLOADS, INDEX, UPDATES, BestOfView, Numbered, ProcessColumns, Topology
from replnet.processes import GOLDEN, Draws, Round, Scattered, Schedule, Shuffled, Words, mix

MOST_ANY_AND_ALL = 20  # sources up to which it is measured if any is fresh, and if all are
MOST_SOURCES_SHOWN = 10  # sources up to which each has a row of its own
CONSTANT_SHAPE = Constant(rate=1.0)
WORDS_AT_ONCE = 1 << 20


@final
@dataclass(frozen=True, slots=True, eq=False)
class Sources:
    """Sources in columns: source i changes rates[i] times per unit of time, at intervals of the shape shapes[which[i]].

    The `weights`, by which means over sources count them, add up to 1 over all sources of an aggregate.
    """

    shapes: tuple[Law, ...]
    which: Ints
    rates: Floats
    weights: Floats

    def __getitem__(self, part: slice) -> Sources:
        """Return the sources in a slice; their weights are unchanged, so that they add up to less than 1."""
        return Sources(self.shapes, self.which[part], self.rates[part], self.weights[part])

    @property
    def size(self) -> int:
        """The number of sources."""
        return self.rates.size

    @property
    def poisson(self) -> bool:
        """Whether the updates of all sources are Poisson processes, each at its own rate."""
        return all(isinstance(shape, Exponential) for shape in self.shapes)

    def members(self) -> list[tuple[Law, Ints]]:
        """Return pairs of a shape of update intervals and the numbers of the sources that have it, for every shape."""
        if len(self.shapes) == 1:
            return [(self.shapes[0], np.arange(self.size))]
        order = np.argsort(self.which, kind="stable")
        ends = np.cumsum(np.bincount(self.which, minlength=len(self.shapes)))
        return list(zip(self.shapes, np.split(order, ends[:-1]), strict=True))


def sources_of(spec: AggregateShape) -> Sources:
    """Return the sources that a specification of an aggregate describes: shapes and rates of updates, and weights."""
    # Exponential laws have one shape; only their rates differ.
    equally_often = [POISSON if isinstance(law, Exponential) else law for law in spec.updates]
    place = {shape: i for i, shape in enumerate(dict.fromkeys(equally_often))}
    which = np.array([place[shape] for shape in equally_often], np.int64)
    count = spec.count
    rates = np.array([law.rate for law in spec.updates]) if spec.rates is None else values_per_source(spec.rates, count)
    return Sources(
        tuple(place),
        np.broadcast_to(which, (count,)) if which.size == 1 else which,
        np.ascontiguousarray(np.broadcast_to(rates, (count,))),
        source_weights(np.ones(count) if spec.weights is None else spec.weights, count),
    )


def frequencies(spec: AggregateShape, sources: Sources) -> Floats:
    """Return an array of the downloads of every source per unit of time, by all replicas together.

    They are the list in the field `allocate`, or the solution of the policy that it names, all 0 if the budget is 0.
    Raise FieldError if the policy has no solution.
    """
    if not isinstance(spec.allocate, str):
        return np.array(spec.allocate)
    assert spec.budget is not None
    if spec.budget == 0:
        return np.zeros(sources.size)
    between = "constant" if spec.constant else "exponential" if spec.order == "independent" else spec.order
    problem = (sources.members(), sources.rates, sources.weights, spec.budget)
    try:
        if penalty := penalty_of(spec.allocate):
            return least_penalty_rates(*problem, penalty[1], cast(Kind, penalty[0]))
        return rates_by(spec.allocate, *problem, cast(Between, between))
    except FieldError as error:
        raise FieldError("allocate", f"{spec.allocate}: {error.field}: {error.wrong}", error.right) from None


@final
@dataclass(frozen=True, eq=False)
class ManySources:
    """An aggregate with its allocation solved, or a part of it: `spec`, `sources`, and how often each is downloaded.

    `frequencies` are downloads of each source per unit of time, by all replicas together. The sources are those from
    number `first` on, of `whole` in all; `group` names the row of the table for their copies.
    """

    spec: AggregateShape
    sources: Sources
    frequencies: Floats  # downloads of each source per unit of time, all replicas together
    group: str
    first: int
    whole: int

    @classmethod
    def of(cls, spec: AggregateShape, group: str = "copies") -> ManySources:
        """Return the whole aggregate that a specification describes, with its allocation solved.

        `group` is the name of the row of the table for its copies. Raise FieldError if the allocation has no solution.
        """
        columns = sources_of(spec)
        return cls(spec, columns, frequencies(spec, columns), group, 0, columns.size)

    def __getitem__(self, part: slice) -> ManySources:
        """Return the part of the aggregate in a slice of its sources, which keep their numbers, frequencies and
        weights.
        """
        first = self.first + part.start
        return replace(self, sources=self.sources[part], frequencies=self.frequencies[part], first=first)

    @property
    def size(self) -> int:
        """The number of sources."""
        return self.sources.size

    @property
    def rate(self) -> float:
        """The number of events per unit of time: updates and downloads of all sources, by all replicas, added up."""
        return float(self.sources.rates.sum() + self.frequencies.sum())

    @property
    def views(self) -> list[BestOfView]:
        """The rows of the table for an aggregate's copies: the copy in one replica, and the freshest a client finds.

        The second is there if the aggregate is a whole network, with several replicas or a law of queries. Nodes in a
        row are numbers of replicas, counted from 0.
        """
        spec, everyone = self.spec, np.arange(self.spec.replicas)
        has_clients = isinstance(spec, Aggregate) and (spec.replicas > 1 or spec.queries is not None)
        clients = [BestOfView("clients", everyone, spec.ask)] if has_clients else []
        return [BestOfView(self.group, everyone, 1), *clients]

    @property
    def any_and_all(self) -> bool:
        """Whether to measure if any source is fresh, and if all are, as is done for 2 to 20 sources."""
        return 1 < self.size <= MOST_ANY_AND_ALL

    @property
    def shown_count(self) -> int:
        """The number of sources that have rows of their own in the table: all of them, or 0 if more than 10."""
        return self.size if self.size <= MOST_SOURCES_SHOWN else 0

    @property
    def downloads(self) -> Law:
        """The shape of the intervals between downloads of a source, if sources are downloaded independently.

        It is the law `downloads` of the specification, at any rate, or constant if that is left out.
        """
        return self.spec.downloads or CONSTANT_SHAPE

    @property
    def equally_often(self) -> bool:
        """Whether all sources are downloaded equally often, so that they can be downloaded in rounds."""
        return bool(self.frequencies[0] == self.frequencies.max() == self.frequencies.min() > 0)

    @property
    def slot(self) -> float:
        """The mean time between successive downloads of any sources; raises ZeroDivisionError without downloads."""
        return 1 / float(self.frequencies.sum())

    @property
    def independently(self) -> bool:
        """Whether each source is downloaded at intervals of its own, independently of the others."""
        own_rounds = self.spec.order == "fixed" and not self.equally_often
        return self.spec.order == "independent" or own_rounds or not self.frequencies.any()

    @cached_property
    def round(self) -> Ints:
        """The numbers of the sources in the order in which a carousel downloads them, one per slot, again and again."""
        from replnet.processes import long_round

        return long_round(self.frequencies)

    @property
    def schedule(self) -> Schedule | None:
        """The schedule of downloads if sources share one; None if they are downloaded independently."""
        often = self.frequencies
        if self.independently:
            return None
        match self.spec.order:
            case "fixed":
                return Round(np.arange(self.size), self.slot, self.size)
            case "random":
                return Shuffled(self.size, 1 / float(often[0])) if self.equally_often else Scattered(often)
            case "purely random":
                return Draws(often * self.slot, self.slot)
        return Round(self.round, self.slot, self.size)

    def laws(self) -> Iterator[Law]:
        """Yield the laws whose shape counts: those of updates, then that of downloads if their order is independent."""
        yield from self.sources.shapes
        if self.spec.order == "independent":
            yield self.downloads


def add_aggregate(topology: Topology, aggregate: ManySources, limit: dict[str, Any], prefix: str = "replica ") -> Ints:
    """Add the sources, replicas, clients, links and processes of an aggregate to a topology; a client may be only a
    view.

    Return the numbers of the replicas. `limit` holds the attribute `bandwidth` of sources and replicas, or nothing, and
    `prefix` starts the names of replicas.
    """
    spec, m, group = aggregate.spec, aggregate.spec.replicas, aggregate.group
    sources = topology.add(Numbered("source ", aggregate.size, aggregate.first), "source", "sources", **limit)
    replicas = topology.add(Numbered(prefix, m), "replica", group, **limit)
    # Equal columns are one array, as there may be a hundred million sources.
    words, every = source_words(aggregate.size, 0, aggregate.first), sources if m == 1 else np.tile(sources, m)
    topology.link(sources if m == 1 else np.repeat(sources, m), np.tile(replicas, aggregate.size))
    weights = aggregate.sources.weights[: 1 if spec.weights is None else None] * aggregate.whole
    topology.weights, topology.any_and_all, topology.aggregate = (
        np.broadcast_to(weights, (aggregate.size,)),
        aggregate.any_and_all,
        aggregate,
    )
    shapes, which = aggregate.sources.shapes, np.asarray(aggregate.sources.which)
    topology.process_columns.append(
        ProcessColumns(sources, UPDATES, None, shapes, which, aggregate.sources.rates, words)
    )
    nodes, rate = np.repeat(replicas, aggregate.size), aggregate.frequencies
    law, turns = np.zeros(aggregate.size, INDEX), m > 1 and spec.share == "turns"
    if turns or m == 1:
        turn = np.repeat(np.arange(m, dtype=INDEX), aggregate.size) if turns else None
        downloads = ProcessColumns(
            nodes,
            DOWNLOADS,
            every,
            (aggregate.downloads,),
            law,
            rate,
            words,
            aggregate.schedule,
            every,
            turn,
            m if turns else 1,
        )
    else:
        words = np.concatenate([source_words(aggregate.size, replica, aggregate.first) for replica in range(m)])
        downloads = ProcessColumns(
            nodes, DOWNLOADS, every, (aggregate.downloads,), np.tile(law, m), np.tile(rate / m, m), words
        )
    topology.process_columns.append(downloads)
    topology.shown_sources = {f"source {i + 1}": (group, i) for i in range(aggregate.shown_count)}
    if isinstance(spec, Aggregate) and spec.queries is not None:
        topology.pools["replicas"] = replicas
        topology.add(["client 1"], "client", "clients", queries=spec.queries, ask=spec.ask, pool="replicas")
    else:
        topology.views += [BestOfView(view.group, replicas[view.nodes], view.ask) for view in aggregate.views[1:]]
    return replicas


def source_slices(topology: Topology, copies: int) -> list[slice]:
    """Return slices of a network's sources, in order and of about equal size, that exchange nothing with one another.

    Each has about `copies` copies: sources times replicas, or more. Only an aggregate has several slices, unless its
    sources share a schedule of downloads, a client or bandwidth; else one slice has all sources.
    """
    many = topology.aggregate
    alone = topology.about["kind"] == "aggregate" and many.spec.order == "independent"
    if not alone or topology.clients.any() or topology.bandwidth is not None:
        return [slice(0, topology.sources.size)]
    ends = np.linspace(0, many.size, max(many.size * many.spec.replicas // copies, 1) + 1).astype(np.int64).tolist()
    return [slice(begin, end) for begin, end in pairwise(ends)]


def part_of(topology: Topology, sources: slice) -> Topology:
    """Return the topology of an aggregate restricted to a slice of its sources.

    Their names, weights and random streams stay the same; limits of bandwidth are left out.
    """
    result = Topology(topology.about)
    add_aggregate(result, topology.aggregate[sources], {})
    return result


def source_words(count: int, replica: int = 0, first: int = 0) -> Words:
    """Return an array of words (64 bits each) that name the random streams of `count` sources from number `first` on.

    Replica 0 gives the words of the sources themselves; every other number gives others, for its own downloads of them.
    """
    words = np.arange(first + 1, first + count + 1, dtype=np.uint64)
    for begin in range(0, count, WORDS_AT_ONCE):  # in blocks, so that only the words take much memory
        words[begin : begin + WORDS_AT_ONCE] = mix(words[begin : begin + WORDS_AT_ONCE] * GOLDEN)
    return mix(words + np.full(1, replica, np.uint64) * GOLDEN) if replica else words
