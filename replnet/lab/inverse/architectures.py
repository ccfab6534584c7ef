"""Architectures of so many replicas that serve the same content, each in all sizes that it may have.

An architecture is a list of shapes, which differ in how many nodes their upper tiers have. A shape leaves its rates
open: it says how many requests all nodes of a kind make, and how many of these the busiest of the nodes that answer
gets, both per unit of the rate. So the messages of a network are linear in its rates, and a limit on what a node may
answer is a limit on every rate.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, final

from replnet.lab.inverse.search import Amounts, ray_through
from replnet.laws import Law, at_rate
from replnet.network import Network

Data = dict[str, Any]


@final
@dataclass(frozen=True)
class Needs:
    """The requirements on all candidates: the law of `updates` as text, the number of `replicas`, the `queries` of all
    clients together per unit of time, and the `limit` on the requests per unit of time that any one node answers, which
    may be infinite."""

    updates: str
    replicas: int
    queries: float
    limit: float
    unit: str | None = None  # of time, where the law of updates has one

    @property
    def source(self) -> Data:
        """The fields of a network that say what its source does: `updates`, and `unit` if there is one."""
        return {"updates": self.updates} | ({} if self.unit is None else {"unit": self.unit})


@final
@dataclass(frozen=True)
class KindPulls:
    """The pulls of all nodes of one kind at rate 1, by the `name` of these nodes: the `messages` of all of them
    together per unit of time, the kind of nodes that they `ask`, and how many of the messages the busiest node asked
    gets.
    """

    name: str
    messages: float
    ask: str
    busiest: float


@final
@dataclass(frozen=True)
class Shape:
    """An architecture with so many nodes of every kind, its rates left open.

    The target is about the rows of `group`. `pulls` are the pulls of each kind of nodes, `queries` the requests of all
    clients together per unit of time, and `served` has, by kind, those of clients that one node answers. `specify`
    takes a law as text for each of the pulls and returns the specification of the network; `thin` returns that of a
    smaller network in which `group` has the same values.
    """

    group: str
    pulls: tuple[KindPulls, ...]
    queries: float
    served: Mapping[str, float]
    specify: Callable[[Sequence[str]], Data]
    thin: Callable[[Sequence[str]], Data]

    @property
    def messages(self) -> tuple[float, ...]:
        """The messages per unit of time that a rate of 1 costs, of all nodes together, for each of the pulls in
        order.
        """
        return tuple(pulls.messages for pulls in self.pulls)

    def limits(self, limit: float) -> tuple[float, ...]:
        """Return for each of the pulls the highest rate at which no node answers more than `limit` requests.

        Requests count per unit of time, those of clients included. A rate is 0 or below where clients alone reach the
        limit.
        """
        return tuple((limit - self.served.get(pulls.ask, 0.0)) / pulls.busiest for pulls in self.pulls)


@final
@dataclass(frozen=True)
class CandidateNetwork:
    """A shape with pulls of one law at certain rates, one for each of its pulls.

    `source` has the fields of its specification that say what the source does, `law` is that of the intervals of all
    pulls (its own rate does not count), and `limits` are the highest rates allowed, in the order of `rates`.
    """

    shape: Shape
    source: Data
    law: Law
    rates: Amounts
    limits: Amounts

    @property
    def data(self) -> Data:
        """The specification of the network, without what it leaves to defaults."""
        return self.source | self.shape.specify([str(at_rate(self.law, rate)) for rate in self.rates])

    @cached_property
    def network(self) -> Network:
        """The network itself."""
        return Network.from_data(self.data)

    @property
    def rates_by_name(self) -> dict[str, float]:
        """The rates at which one node pulls, by the names of the kinds of nodes."""
        return {pulls.name: rate for pulls, rate in zip(self.shape.pulls, self.rates, strict=True)}

    @property
    def messages_of_pulls(self) -> float:
        """The pulls of all nodes together per unit of time, without the queries of clients."""
        return sum(cost * rate for cost, rate in zip(self.shape.messages, self.rates, strict=True))

    @property
    def messages(self) -> float:
        """The requests of all nodes and clients together, per unit of time."""
        return self.messages_of_pulls + self.shape.queries

    @property
    def answers(self) -> dict[str, float]:
        """The requests per unit of time that the busiest node of each kind answers, by kind; "source" is one of the
        kinds.
        """
        served = self.shape.served
        answers = {"source": 0.0, **served}
        for pulls, rate in zip(self.shape.pulls, self.rates, strict=True):
            answers[pulls.ask] = pulls.busiest * rate + served.get(pulls.ask, 0.0)
        return answers

    @property
    def busiest(self) -> float:
        """The requests per unit of time that the busiest of all nodes answers, the source included."""
        return max(self.answers.values())

    @property
    def ray(self) -> Amounts:
        """The rates from which a search for other laws or shapes may begin, infinite where they are at their limits.

        If all are at their limits, the rates are as they are.
        """
        return ray_through(self.rates, self.limits)

    def rules_out(self, shape: Shape, limits: Amounts) -> bool:
        """Whether another shape of the same architecture, with these limits of its rates, needs no fewer messages.

        It cannot be if it costs at least as much, and has no higher limit for any rate that is at its limit here.
        """
        if not all(map(operator.le, self.shape.messages, shape.messages)):
            return False
        rates = zip(self.rates, self.limits, limits, strict=True)
        return all(rate < limit or other <= limit for rate, limit, other in rates)


def architectures(needs: Needs) -> dict[str, Callable[[], Iterator[Shape]]]:
    """Return the architectures for these needs by name, each as a function that yields its shapes.

    The shapes of fewer nodes come first. Clients ask several replicas only if there are queries.
    """
    by_name: dict[str, Callable[[], Iterator[Shape]]] = {"all ask the source": partial(_tiers, 0, needs)}
    by_name |= {f"{name} above": partial(_tiers, n, needs) for n, name in ((1, "a tier"), (2, "two tiers"))}
    for peers in (1, 2, 4):
        if peers < needs.replicas:
            by_name[f"cluster, {peers} a poll"] = partial(_cluster, peers, needs)
    for ask in (2, 3):
        if needs.queries and ask <= needs.replicas:
            by_name[f"clients ask {ask}"] = partial(_redundant, ask, needs)
    return by_name


def _tiers(above: int, needs: Needs) -> Iterator[Shape]:
    """Yield the shapes of a tree with `above` tiers of nodes between the source and the replicas, in all useful sizes.

    Left out are sizes of which one node less would do without more children for any node.
    """
    for sizes in _sizes(above, needs.replicas):
        kinds = [*(f"tier {i}" for i in range(1, above + 1)), "replica"]
        below = [f"{size:,} x {kind}" for size, kind in zip(sizes, kinds, strict=True)]
        pulls = [
            KindPulls(name, float(size), parent, float(math.ceil(size / parents)))
            for name, size, parent, parents in zip(
                [*below[:-1], "replicas"], sizes, ["source", *kinds], (1, *sizes), strict=False
            )
        ]
        served = {"replica": needs.queries / needs.replicas}
        group = f"tier {above + 1}" if above else "level 1"
        specify, thin = (partial(_tree, nodes) for nodes in (sizes, (1,) * len(sizes)))
        yield Shape(group, tuple(pulls), needs.queries, served, specify, thin)


def _sizes(above: int, replicas: int) -> Iterator[tuple[int, ...]]:
    """Yield tuples of how many nodes there are in each of `above` tiers, from the top, and last how many replicas.

    Left out are sizes of which one node less would do without more children for any node.
    """
    if not above:
        yield (replicas,)
        return
    for parents in dict.fromkeys(math.ceil(replicas / children) for children in range(replicas, 0, -1)):
        yield from ((*tops, replicas) for tops in _sizes(above - 1, parents))


def _tree(sizes: Sequence[int], laws: Sequence[str]) -> Data:
    """Return the specification of tiers with these numbers of nodes and these laws of downloads, both from the top."""
    tiers = [
        {"kind": "cascade", "depth": 1, "branching": size, "downloads": law}
        for size, law in zip(sizes, laws, strict=True)
    ]
    if len(tiers) == 1:
        return tiers[0]
    return {"kind": "compose", "tiers": [tiers[0], *({**tier, "under": "spread"} for tier in tiers[1:])]}


def _cluster(peers: int, needs: Needs) -> Iterator[Shape]:
    """Yield the one shape of a cluster of all replicas, in which each poll asks `peers` of the others."""
    m = needs.replicas
    pulls = (
        KindPulls("downloads", float(m), "source", float(m)),
        KindPulls("polls", float(m * peers), "replica", float(peers)),
    )

    def specify(laws: Sequence[str]) -> Data:
        return {"kind": "cooperative", "replicas": m, "peers": peers, "downloads": laws[0], "polls": laws[1]}

    yield Shape("cluster", pulls, needs.queries, {"replica": needs.queries / m}, specify, specify)


def _redundant(ask: int, needs: Needs) -> Iterator[Shape]:
    """Yield the one shape in which clients ask `ask` replicas each time and keep the freshest copy."""
    m, queries = needs.replicas, ask * needs.queries

    def specify(laws: Sequence[str]) -> Data:
        often = f"exponential(rate={needs.queries!r})"
        return {"kind": "redundant", "replicas": m, "ask": ask, "downloads": laws[0], "queries": often}

    pulls = (KindPulls("downloads", float(m), "source", float(m)),)
    yield Shape("clients", pulls, queries, {"replica": queries / m}, specify, specify)
