"""A network in columns: its nodes in blocks that are alike, whom they ask, and when.

Nothing here takes an object or a graph node per replica; `graph` makes the NetworkX graph for whoever
wants to see it. Nodes are numbered in the order in which blocks were added. Every wake of every node is a
point of one of its processes, and all that a replica or a client ever does at a wake is to ask some of its candidates:

    downloads   candidates = upstreams, all of them unless `ask` says fewer
    polls       candidates = the other members of its pool, or its peers; k of them
    queries     candidates = the members of its pool, or the nodes it is linked to; k of them

The instants of a process come from a clock. Mostly each has one of its own; replicas that take turns at the
same downloads share one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np
import numpy.typing as npt

from replnet.laws.law import Flags, Floats, Ints, Law
from replnet.laws.processes.streams import PURPOSES, Words, name_words
from replnet.laws.text import at_rate

ROLES = ("source", "replica", "client")
SOURCE, REPLICA, CLIENT = range(3)
UPDATES, DOWNLOADS, POLLS, QUERIES = (PURPOSES[name] for name in ("updates", "downloads", "polls", "queries"))
ASKING = {"updates": UPDATES, "downloads": DOWNLOADS, "polls": POLLS, "queries": QUERIES}
LINKS = {DOWNLOADS: "download", POLLS: "peer", QUERIES: "query"}


@final
@dataclass(frozen=True)
class Numbered(Sequence[str]):
    """`prefix` 1, `prefix` 2, ... without a text for each."""

    prefix: str
    many: int
    before: int = 0  # and so many numbers further on

    def __len__(self) -> int:
        return self.many

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(self.many))]
        if not -self.many <= i < self.many:
            raise IndexError(i)
        return f"{self.prefix}{self.before + i % self.many + 1}"


@final
@dataclass(frozen=True, eq=False)
class Block:
    """Nodes `first` to `first + len(names)` - 1, which have all but their names and links in common."""

    first: int
    names: Sequence[str]
    role: int
    group: str
    about: Mapping[str, Any]  # updates, downloads, polls, peers, select, pool, queries, ask, bandwidth

    @property
    def nodes(self) -> Ints:
        return np.arange(self.first, self.first + len(self.names))


class Link(NamedTuple):
    """Links of one kind, in the direction the data flows; `delay` is None where it is that of the network."""

    kind: str
    upstream: Ints
    downstream: Ints
    delay: Any = None


class Lists(NamedTuple):
    """Candidates: list l has members[begin[l] : begin[l + 1]]."""

    begin: Ints
    members: Ints

    def of(self, number: int) -> Ints:
        return self.members[self.begin[number] : self.begin[number + 1]]

    @property
    def sizes(self) -> Ints:
        return np.diff(self.begin)


class Clocks(NamedTuple):
    """Processes of instants: laws[law[c]] stretched to rate[c], or by a schedule; rate 0 is never."""

    law: Ints
    rate: Floats
    purpose: Ints
    word: Words  # names its streams
    schedule: Ints  # -1: none


class Processes(NamedTuple):
    """Who wakes, and whom it asks: updates first, then in the order of nodes."""

    node: Ints
    purpose: Ints
    clock: Ints
    candidates: Ints  # the number of their list
    ask: Ints
    recent: npt.NDArray[np.bool_]
    turn: Ints  # of replicas that take turns at the instants of a clock, from a random one on: which this is,
    turns: Ints  # and of how many


@final
@dataclass(frozen=True, eq=False)
class Each:
    """Processes that are no attribute of a block, because each has a rate or a schedule of its own.

    A clock each, unless `clock` says which; each asks one node.
    """

    node: Ints
    purpose: int
    asked: Ints | None
    laws: tuple[Law, ...]
    law: Ints  # of every clock
    rate: Floats
    word: Words
    schedule: Any = None  # an Order (laws/processes/schedules.py), for all clocks together
    clock: Ints | None = None
    turn: Ints | None = None
    turns: int = 1


class View(NamedTuple):
    """A group of rows without nodes: what somebody would find who asks `ask` of these nodes, all at random."""

    group: str
    nodes: Ints
    ask: int


@final
@dataclass(eq=False)
class Topology:
    """Filled by `add`, `link` and the like, and not changed once it is looked at."""

    about: dict[str, Any] = field(default_factory=dict)  # kind, name, delay, queue, charge, faults, start
    blocks: list[Block] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    pools: dict[str, Ints] = field(default_factory=dict)
    each: list[Each] = field(default_factory=list)
    views: list[View] = field(default_factory=list)
    weights: Floats | None = None  # what sources count in means over them, 1 on average; None: alike
    many: Any = None  # the ManySources (network/sources.py) of an aggregate
    together: bool = False  # whether it is asked if any source is fresh, and if all are
    parts: dict[str, tuple[str, int]] = field(default_factory=dict)  # rows of their own: of a group and a source

    @property
    def fresh_start(self) -> bool:
        """Whether all replicas have just been brought up to date at time zero."""
        return self.about.get("start") == "fresh"

    @property
    def size(self) -> int:
        return self.blocks[-1].first + len(self.blocks[-1].names) if self.blocks else 0

    def add(self, names: Sequence[str], role: str, group: str, **about: Any) -> Ints:
        """Nodes that are alike; returns their numbers."""
        self.blocks.append(Block(self.size, names, ROLES.index(role), group, about))
        return self.blocks[-1].nodes

    def link(self, upstream: Ints, downstream: Ints, kind: str = "download", delay: Any = None) -> None:
        self.links.append(Link(kind, np.asarray(upstream, np.int64), np.asarray(downstream, np.int64), delay))

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(name for block in self.blocks for name in block.names)

    @cached_property
    def number(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def role(self) -> Ints:
        return np.asarray(self._spread(block.role for block in self.blocks))

    @cached_property
    def clients(self) -> Flags:
        return np.asarray(self.role == CLIENT)

    @cached_property
    def sources(self) -> Ints:
        return np.flatnonzero(self.role == SOURCE)

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """What tables have rows of."""
        nodes = [block.group for block in self.blocks if block.role != SOURCE]
        return tuple(dict.fromkeys([*nodes, *(view.group for view in self.views)]))

    @cached_property
    def group(self) -> Ints:
        """Of each node; -1 for sources."""
        place = {group: g for g, group in enumerate(self.groups)}
        groups = (-1 if block.role == SOURCE else place[block.group] for block in self.blocks)
        return np.asarray(self._spread(groups))

    @cached_property
    def bandwidth(self) -> Floats | None:
        """Of each node, inf where it has no limit; None: nobody has one."""
        if not any("bandwidth" in block.about for block in self.blocks):
            return None
        return np.asarray(self._spread((block.about.get("bandwidth", np.inf) for block in self.blocks), float))

    @property
    def delay(self) -> Law | float:
        return self.about.get("delay") or 0.0

    @cached_property
    def delays(self) -> dict[tuple[int, int], Law | float]:
        """By (upstream, downstream), where a link has its own."""
        own = [link for link in self.links if link.delay is not None]
        pairs = [
            (link, pair) for link in own for pair in zip(link.upstream.tolist(), link.downstream.tolist(), strict=True)
        ]
        return {pair: link.delay for link, pair in pairs}

    def _spread(self, values: Iterable[Any], dtype: Any = np.int64) -> Any:
        """A value per block as one per node."""
        return np.repeat(np.array(list(values), dtype), [len(block.names) for block in self.blocks])

    @cached_property
    def lists(self) -> Lists:
        """One per pool, one per node for every kind of link, one for each node asked alone, and an empty one."""
        sizes, members = [np.array([pool.size for pool in self.pools.values()], np.int64)], [*self.pools.values()]
        for kind in self._first_list:
            if kind:
                links = [link for link in self.links if link.kind == kind]
                up, down = (
                    np.concatenate(ends) for ends in zip(*((a.upstream, a.downstream) for a in links), strict=True)
                )
                sizes.append(np.bincount(down, minlength=self.size))
                members.append(up[np.argsort(down, kind="stable")])
            else:
                sizes.append(np.ones(self.size, np.int64))
                members.append(np.arange(self.size))
        begin = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate([*sizes, np.zeros(1, np.int64)]))])
        return Lists(begin, np.concatenate([np.empty(0, np.int64), *members]))

    @cached_property
    def _first_list(self) -> dict[str, int]:
        """The number of the first list of every kind of link; "" for those of nodes that are asked alone."""
        asking = {LINKS[p] for block in self.blocks for name, p in ASKING.items() if p and block.about.get(name)}
        kinds = [*dict.fromkeys(link.kind for link in self.links if link.kind in asking), *([""] if self.each else [])]
        return {kind: len(self.pools) + self.size * at for at, kind in enumerate(kinds)}

    @cached_property
    def laws(self) -> tuple[Law, ...]:
        """The shapes of all clocks."""
        own = dict.fromkeys(block.about[name] for block in self.blocks for name in ASKING if block.about.get(name))
        return tuple(own | dict.fromkeys(law for some in self.each for law in some.laws))

    @cached_property
    def _columns(self) -> tuple[Processes, Clocks]:
        number = {law: g for g, law in enumerate(self.laws)}
        parts: list[tuple[Processes, Clocks]] = []
        for block in self.blocks:
            for name, purpose in ASKING.items():
                if block.about.get(name) is not None:
                    parts.append(self._alike(block, name, purpose, number))
        for number_of, some in enumerate(self.each):
            parts.append(self._unlike(some, number_of, number))
        shift = np.cumsum([0, *(clocks.law.size for _, clocks in parts)])
        processes = Processes._make(map(np.concatenate, zip(*(one for one, _ in parts), strict=True)))
        clock = np.concatenate([one.clock + before for (one, _), before in zip(parts, shift, strict=False)])
        processes = processes._replace(clock=clock)
        order = np.lexsort((processes.purpose, processes.node, processes.purpose != UPDATES))
        clocks = Clocks(*map(np.concatenate, zip(*(one for _, one in parts), strict=True)))
        return Processes._make(column[order] for column in processes), clocks

    def _alike(self, block: Block, name: str, purpose: int, number: Mapping[Law, int]) -> tuple[Processes, Clocks]:
        """A process for every node of a block."""
        about, nodes, n = block.about, block.nodes, len(block.names)
        candidates, ask = np.full(n, self.lists.begin.size - 2), np.zeros(n, np.int64)
        if purpose != UPDATES:
            if purpose != DOWNLOADS and about.get("pool"):
                candidates[:] = list(self.pools).index(about["pool"])
            elif LINKS[purpose] in self._first_list:
                candidates = self._first_list[LINKS[purpose]] + nodes
            there = self.lists.sizes[candidates]
            wanted = about.get("peers", 1) if purpose == POLLS else about.get("ask")
            ask = np.full(n, wanted) if purpose == POLLS else there if wanted is None else np.minimum(wanted, there)
        recent = np.full(n, purpose == POLLS and about.get("select") == "recent")
        law, own = about[name], np.arange(n)
        each = Processes(
            nodes, np.full(n, purpose), own, candidates, ask, recent, np.zeros(n, np.int64), np.ones(n, np.int64)
        )
        rate, none = np.full(n, law.rate), np.full(n, -1)
        return each, Clocks(np.full(n, number[law]), rate, np.full(n, purpose), name_words(block.names), none)

    def _unlike(self, some: Each, order: int, number: Mapping[Law, int]) -> tuple[Processes, Clocks]:
        n, m = some.node.size, some.law.size
        clock = np.arange(n) if some.clock is None else some.clock
        empty = np.full(n, self.lists.begin.size - 2)
        candidates = empty if some.asked is None else some.asked + self._first_list[""]
        turn = np.zeros(n, np.int64) if some.turn is None else some.turn
        each = Processes(
            some.node, np.full(n, some.purpose), clock, candidates, np.full(n, int(some.asked is not None)),
            np.zeros(n, np.bool_), turn, np.full(n, some.turns),
        )  # fmt: skip
        shape = np.array([number[law] for law in some.laws], np.int64)
        schedule = np.full(m, -1 if some.schedule is None else order)
        law = shape[some.law] if some.laws else np.zeros(m, np.int64)
        return each, Clocks(law, some.rate, np.full(m, some.purpose), some.word, schedule)

    @property
    def processes(self) -> Processes:
        return self._columns[0]

    @property
    def clocks(self) -> Clocks:
        return self._columns[1]

    @property
    def scheduled(self) -> bool:
        """Whether some processes share a schedule."""
        return any(some.schedule is not None for some in self.each)

    @cached_property
    def graph(self) -> Any:
        """The networkx.DiGraph, whose edges point the way the data flows."""
        import networkx as nx

        names = self.names
        graph = nx.DiGraph(
            **self.about, pools={pool: [names[i] for i in members] for pool, members in self.pools.items()}
        )
        for block in self.blocks:
            graph.add_nodes_from(block.names, role=ROLES[block.role], group=block.group, **block.about)
        for each in self.each:
            # What replicas do per source has no place at a node.
            for node, law, rate in zip(each.node, each.law, each.rate, strict=True) if each.purpose == UPDATES else ():
                if rate:
                    graph.nodes[names[node]]["updates"] = at_rate(each.laws[law], float(rate))
        for link in self.links:
            about = {"kind": link.kind} if link.delay is None else {"kind": link.kind, "delay": link.delay}
            ends = zip(link.upstream.tolist(), link.downstream.tolist(), strict=True)
            graph.add_edges_from((names[a], names[b], about) for a, b in ends)
        return graph
