"""A network in columns: its nodes in blocks that are alike, whom they ask, and when.

Nothing here takes an object or a graph node per replica; `graph` makes the NetworkX graph for whoever
wants to see it. Nodes are numbered in the order in which they were added. Every wake of every node is a
point of one of its processes, and all that a replica or a client ever does at a wake is to ask some of its candidates:

    downloads   candidates = upstreams, all of them unless `ask` says fewer
    polls       candidates = the other members of its pool, or its peers; k of them
    queries     candidates = the members of its pool, or the nodes it is linked to; k of them

The instants of a process come from a clock. Mostly each has one of its own; replicas that take turns at the
same downloads share one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple, cast, final

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
INDEX = np.int32  # numbers nodes, processes, clocks and lists, in half the memory; passes.py has fewer bits for nodes


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
@dataclass(frozen=True)
class Branched(Sequence[str]):
    """The names of one level of a tree, 1.1, 1.2, ... 2.1, ... behind `prefix`, without a text for each."""

    prefix: str
    branching: int
    level: int

    def __len__(self) -> int:
        return int(self.branching**self.level)

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        if not -len(self) <= i < len(self):
            raise IndexError(i)
        digits = [i // self.branching**place % self.branching + 1 for place in reversed(range(self.level))]
        return self.prefix + ".".join(map(str, digits))

    def __iter__(self) -> Iterator[str]:
        numbers = [str(i) for i in range(1, self.branching + 1)]
        return (self.prefix + ".".join(path) for path in product(numbers, repeat=self.level))


@final
@dataclass(frozen=True, eq=False)
class Block:
    """Nodes that have all but their names and links in common."""

    nodes: Ints  # in ascending order
    names: Sequence[str]
    role: int
    group: str
    about: Mapping[str, Any]  # updates, downloads, polls, peers, select, pool, queries, ask, bandwidth


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

    def some(self, numbers: Ints) -> Ints:
        """The members of all these lists."""
        these = np.zeros(self.begin.size - 1, np.bool_)
        these[numbers] = True
        return self.members[np.repeat(these, self.sizes)]

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
    two_way: npt.NDArray[np.bool_]  # whether it hands what the node has to those it asks
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

    about: dict[str, Any] = field(default_factory=dict)  # kind, name, delay, queue, charge, faults, start, positions
    blocks: list[Block] = field(default_factory=list)
    size: int = 0  # nodes so far
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

    def add(self, names: Sequence[str], role: str, group: str, nodes: Ints | None = None, **about: Any) -> Ints:
        """Nodes that are alike; returns their numbers, which are the next ones unless they are given."""
        own = np.arange(self.size, self.size + len(names), dtype=INDEX) if nodes is None else nodes
        self.blocks.append(Block(own, names, ROLES.index(role), group, about))
        self.size += len(names)
        return own

    def link(self, upstream: Ints, downstream: Ints, kind: str = "download", delay: Any = None) -> None:
        self.links.append(Link(kind, np.asarray(upstream, INDEX), np.asarray(downstream, INDEX), delay))

    @cached_property
    def names(self) -> tuple[str, ...]:
        found = np.empty(self.size, object)
        for block in self.blocks:
            found[block.nodes] = list(block.names)
        return tuple(found.tolist())

    @cached_property
    def number(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def role(self) -> Ints:
        return np.asarray(self._spread((block.role for block in self.blocks), np.int8))

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

    def _spread(self, values: Iterable[Any], dtype: Any = INDEX) -> Any:
        """A value per block as one per node."""
        found = np.empty(self.size, dtype)
        for block, value in zip(self.blocks, values, strict=True):
            found[block.nodes] = value
        return found

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
                members.append(up if (down[1:] >= down[:-1]).all() else up[np.argsort(down, kind="stable")])
            else:
                sizes.append(np.ones(self.size, np.int64))
                members.append(np.arange(self.size, dtype=INDEX))
        begin = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate([*sizes, np.zeros(1, np.int64)]))])
        return Lists(begin, np.concatenate([np.empty(0, INDEX), *members]))

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
        parts = [made for block in self.blocks if (made := self._alike(block, number)) is not None]
        parts += [self._unlike(some, order, number) for order, some in enumerate(self.each)]
        shift = np.cumsum([0, *(clocks.law.size for _, clocks in parts)]).tolist()
        for (one, _), before in zip(parts, shift, strict=False):
            one.clock[:] += before
        of_processes, of_clocks = (list(zip(*some, strict=True)) for some in zip(*parts, strict=True))
        del parts, one  # so that every column is there twice for a moment only
        processes = Processes._make(np.concatenate(of_processes.pop(0)) for _ in Processes._fields)
        clocks = Clocks._make(np.concatenate(of_clocks.pop(0)) for _ in Clocks._fields)
        # Mostly they are in order already, and so are long runs of them where they are not.
        place = processes.node.astype(np.int64)
        place[processes.purpose != UPDATES] += self.size
        place *= len(PURPOSES)
        place += processes.purpose
        if (place[1:] < place[:-1]).any():
            order = np.argsort(place, kind="stable")
            processes = Processes._make(column[order] for column in processes)
        return processes, clocks

    def _alike(self, block: Block, number: Mapping[Law, int]) -> tuple[Processes, Clocks] | None:
        """All processes of a block, node by node; None where its nodes have none."""
        own = {name: purpose for name, purpose in ASKING.items() if block.about.get(name) is not None}
        n, k = len(block.names), len(own)
        if not own:
            return None
        purposes, laws = np.array([*own.values()], np.int8), [block.about[name] for name in own]
        candidates, ask = np.empty((2, n, k), INDEX)
        for at, purpose in enumerate(own.values()):
            candidates[:, at], ask[:, at] = self._asked(block, purpose)
        polls = purposes == POLLS
        recent, two_way = polls & (block.about.get("select") == "recent"), polls & bool(block.about.get("two_way"))
        each = Processes(
            np.repeat(np.asarray(block.nodes, INDEX), k), np.tile(purposes, n),
            (np.arange(n, dtype=INDEX)[:, None] + n * np.arange(k, dtype=INDEX)).ravel(), candidates.ravel(),
            ask.ravel(), np.tile(recent, n), np.tile(two_way, n), np.zeros(n * k, INDEX), np.ones(n * k, INDEX),
        )  # fmt: skip
        kinds = np.array([number[law] for law in laws], INDEX)
        return each, Clocks(
            np.repeat(kinds, n), np.repeat([law.rate for law in laws], n), np.repeat(purposes, n),
            np.tile(name_words(block.names), k), np.full(n * k, -1, INDEX),
        )  # fmt: skip

    def _asked(self, block: Block, purpose: int) -> tuple[Ints | int, Ints | int]:
        """The number of the list that a process of each node of a block asks, and how many of it."""
        about, candidates = block.about, cast("Ints | int", self.lists.begin.size - 2)
        if purpose == UPDATES:
            return candidates, 0
        if purpose != DOWNLOADS and about.get("pool"):
            candidates = list(self.pools).index(about["pool"])
        elif LINKS[purpose] in self._first_list:
            candidates = self._first_list[LINKS[purpose]] + block.nodes
        there = self.lists.begin[candidates + 1] - self.lists.begin[candidates]
        if purpose == POLLS:
            return candidates, about.get("peers", 1)
        wanted = about.get("ask")
        return candidates, there if wanted is None else np.minimum(wanted, there)

    def _unlike(self, some: Each, order: int, number: Mapping[Law, int]) -> tuple[Processes, Clocks]:
        n, m = some.node.size, some.law.size
        clock = np.arange(n, dtype=INDEX) if some.clock is None else some.clock.astype(INDEX)
        empty = np.full(n, self.lists.begin.size - 2, INDEX)
        candidates = empty if some.asked is None else (some.asked + self._first_list[""]).astype(INDEX)
        turn = np.zeros(n, INDEX) if some.turn is None else some.turn.astype(INDEX)
        never = np.zeros(n, np.bool_)
        each = Processes(
            some.node.astype(INDEX), np.full(n, some.purpose, np.int8), clock, candidates,
            np.full(n, int(some.asked is not None), INDEX), never, never, turn, np.full(n, some.turns, INDEX),
        )  # fmt: skip
        shape = np.array([number[law] for law in some.laws], INDEX)
        schedule = np.full(m, -1 if some.schedule is None else order, INDEX)
        law = shape[some.law] if some.laws else np.zeros(m, INDEX)
        return each, Clocks(law, some.rate, np.full(m, some.purpose, np.int8), some.word, schedule)

    @property
    def processes(self) -> Processes:
        return self._columns[0]

    @property
    def clocks(self) -> Clocks:
        return self._columns[1]

    def kinds(self) -> Iterator[tuple[str, str, dict[str, Any], int]]:
        """Group, role and attributes of nodes that are alike, and how many these are."""
        changing = dict[int, Law]()
        for each in self.each:
            # What replicas do per source has no place at a node.
            for node, law, rate in zip(each.node, each.law, each.rate, strict=True) if each.purpose == UPDATES else ():
                if rate:
                    changing[int(node)] = at_rate(each.laws[law], float(rate))
        for block in self.blocks:
            own = Counter(changing.get(i) for i in block.nodes.tolist()) if changing else {None: len(block.names)}
            for changes, count in own.items():
                more = {} if changes is None else {"updates": changes}
                yield block.group, ROLES[block.role], {**block.about, **more}, count

    @property
    def scheduled(self) -> bool:
        """Whether some processes share a schedule."""
        return any(some.schedule is not None for some in self.each)

    @cached_property
    def graph(self) -> Any:
        """The networkx.DiGraph, whose edges point the way the data flows."""
        import networkx as nx

        names = self.names
        pools = {pool: [names[i] for i in members] for pool, members in self.pools.items()}
        graph = nx.DiGraph(pools=pools, **{key: value for key, value in self.about.items() if key != "positions"})
        graph.add_nodes_from(names)
        for block in self.blocks:
            graph.add_nodes_from(block.names, role=ROLES[block.role], group=block.group, **block.about)
        nx.set_node_attributes(graph, self.about.get("positions", {}), "position")
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
