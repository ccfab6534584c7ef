"""Architectures of so many replicas that serve the same content, each in all sizes that it may have.

An architecture is a list of shapes, which differ in how many nodes their upper tiers have. A shape leaves its rates
open: it says how many requests all nodes of a kind make, and how many of these the busiest of the nodes that answer
gets, both per unit of the rate. So the messages of a network are linear in its rates, and a limit on what a node may
answer is a limit on every rate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, final

from replnet.laws import Law, at_rate

Data = dict[str, Any]


@final
@dataclass(frozen=True)
class Needs:
    """The requirements on all candidates: the number of replicas, the law of updates, all clients' queries per unit
    of time, and how many requests per unit of time a node may answer."""

    updates: str
    replicas: int
    queries: float
    limit: float
    unit: str | None = None  # of time, where the law of updates has one

    @property
    def source(self) -> Data:
        """The fields of a network that say what its source does."""
        return {"updates": self.updates} | ({} if self.unit is None else {"unit": self.unit})


@final
@dataclass(frozen=True)
class KindPulls:
    """The pulls of all nodes of one kind at rate 1: their messages per unit of time, the kind of nodes that they `ask`,
    and how many of the messages the busiest of these gets."""

    name: str
    messages: float
    ask: str
    busiest: float


@final
@dataclass(frozen=True)
class Shape:
    """An architecture with so many nodes of every kind, its rates left open.

    The target is about the rows of `group`. `pulls` are the pulls of each kind of nodes, `queries` the requests of all
    clients per unit of time, and `served` has, by kind, those that one node answers. `specify` takes a law as text for
    each of the pulls and returns the specification of the network; `thin` returns that of a smaller network in which
    `group` has the same values.
    """

    group: str
    pulls: tuple[KindPulls, ...]
    queries: float
    served: Mapping[str, float]
    specify: Callable[[Sequence[str]], Data]
    thin: Callable[[Sequence[str]], Data]

    @property
    def messages(self) -> tuple[float, ...]:
        """The messages per unit of time that a rate of 1 costs, for each of the pulls."""
        return tuple(pulls.messages for pulls in self.pulls)

    def limits(self, limit: float) -> tuple[float, ...]:
        """Return for each of the pulls the highest rate at which no node answers more than `limit` requests.

        Requests count per unit of time. The rate is below 0 where the clients alone ask for more.
        """
        return tuple((limit - self.served.get(pulls.ask, 0.0)) / pulls.busiest for pulls in self.pulls)

    def build(self, source: Data, law: Law, rates: Sequence[float]) -> CandidateNetwork:
        """Return the network of this shape with pulls of the law `law` at `rates`, one for each of the pulls.

        `source` has the fields of the specification that say what the source does.
        """
        answers = dict.fromkeys(("source", *self.served), 0.0) | dict(self.served)
        for pulls, rate in zip(self.pulls, rates, strict=True):
            answers[pulls.ask] = pulls.busiest * rate + self.served.get(pulls.ask, 0.0)
        data = source | self.specify([str(at_rate(law, rate)) for rate in rates])
        rates_by_name = {pulls.name: rate for pulls, rate in zip(self.pulls, rates, strict=True)}
        messages = sum(pulls.messages * rate for pulls, rate in zip(self.pulls, rates, strict=True)) + self.queries
        return CandidateNetwork(data, self.group, rates_by_name, answers, messages)


@final
@dataclass(frozen=True)
class CandidateNetwork:
    """A candidate at certain rates: its specification, the group that the target is about, the rates by name, and
    how many requests per unit of time a node of each kind answers."""

    data: Mapping[str, Any]
    group: str
    rates: Mapping[str, float]
    answers: Mapping[str, float]
    messages: float  # requests of all nodes and clients, per unit of time

    @property
    def busiest(self) -> float:
        """The most requests per unit of time that a node answers."""
        return max(self.answers.values())


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

    Useful are sizes of which no node can be spared without more children for another.
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
