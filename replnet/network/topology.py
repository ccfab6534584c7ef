"""A network in columns: blocks of nodes that are alike, and for each process of a node its candidates and its clock.

There is no object per replica; `graph` makes the NetworkX graph when it is asked for. Nodes are numbered in the order
in which they were added. A node wakes at the instants of its processes. At a wake of a source its content changes; at
a wake of a replica or a client it asks some of the candidates of that process:

    downloads   candidates = upstreams, all of them unless `ask` says fewer
    polls       candidates = the other members of its pool, or its peers; k of them
    queries     candidates = the members of its pool, or the nodes it is linked to; k of them

The instants of a process come from a clock. Mostly each process has a clock of its own; replicas that take turns at
the downloads of a source share one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, NamedTuple, cast, final

import numpy as np
import numpy.typing as npt

from replnet.laws import Flags, Floats, Ints, Law, at_rate, sorted_distinct
from replnet.processes import PURPOSES, Words, name_words

ROLES = ("source", "replica", "client")
SOURCE, REPLICA, CLIENT = range(3)
UPDATES: int
DOWNLOADS: int
POLLS: int
QUERIES: int
UPDATES, DOWNLOADS, POLLS, QUERIES = (PURPOSES[name] for name in ("updates", "downloads", "polls", "queries"))
PURPOSE_OF = {"updates": UPDATES, "downloads": DOWNLOADS, "polls": POLLS, "queries": QUERIES}
LINK_KINDS = {DOWNLOADS: "download", POLLS: "peer", QUERIES: "query"}
INDEX = np.int32  # the type of numbers of nodes, processes, clocks and lists; passes.py has fewer bits for nodes


def runs(begin: Ints, length: Ints) -> Ints:
    """Return begin[c], begin[c] + 1, ..., which are length[c] numbers, for every c in turn."""
    ends = np.cumsum(length)
    return np.asarray(np.repeat(begin - ends + length, length) + np.arange(ends[-1] if ends.size else 0))


@final
@dataclass(frozen=True)
class Numbered(Sequence[str]):
    """A sequence of `length` names, `prefix` and a number each, made when they are asked for.

    Numbers go from `skipped` + 1 on.
    """

    prefix: str
    length: int
    skipped: int = 0  # numbers left out at the start: the first name is `prefix` skipped + 1

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(self.length))]
        if not -self.length <= i < self.length:
            raise IndexError(i)
        return f"{self.prefix}{self.skipped + i % self.length + 1}"


@final
@dataclass(frozen=True)
class Branched(Sequence[str]):
    """A sequence of the names of the nodes in one level of a tree, such as `prefix`1.1, `prefix`1.2, ... in level 2.

    A name has a number for every level down to this one, from 1 to that level's number in `branching`. Names are made
    when they are asked for.
    """

    prefix: str
    branching: tuple[int, ...]

    def __len__(self) -> int:
        return prod(self.branching)

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        if not -len(self) <= i < len(self):
            raise IndexError(i)
        i, digits = i % len(self), list[str]()
        for number in reversed(self.branching):
            i, digit = divmod(i, number)
            digits.append(str(digit + 1))
        return self.prefix + ".".join(reversed(digits))

    def __iter__(self) -> Iterator[str]:
        numbers = ([str(i) for i in range(1, number + 1)] for number in self.branching)
        return (self.prefix + ".".join(path) for path in product(*numbers))


@final
@dataclass(frozen=True, eq=False)
class Block:
    """Nodes that have everything but their names and links in common: `role`, `group` and attributes (`about`).

    `nodes` are their numbers, ascending, `names` their names, and `role` is an index into ROLES. The attributes are
    laws such as downloads, and peers, select, pool, ask and bandwidth, by name.
    """

    nodes: Ints  # in ascending order
    names: Sequence[str]
    role: int
    group: str
    about: Mapping[str, Any]  # attributes: updates, downloads, polls, peers, select, pool, queries, ask, bandwidth


class Link(NamedTuple):
    """Links of one `kind` (download, peer or query) from node upstream[i] to node downstream[i], given by number.

    Messages take the time or law `delay` on them; None stands for the delay of the network.
    """

    kind: str
    upstream: Ints
    downstream: Ints
    delay: Any = None


class IndexLists(NamedTuple):
    """Lists of numbers (of nodes, rows, ...) in one array: list l is members[begin[l] : begin[l + 1]]."""

    begin: Ints
    members: Ints

    @classmethod
    def by_key(cls, keys: Ints, members: Ints, count: int) -> IndexLists:
        """Return `count` lists: list l has those of `members` whose key, keys[i] for members[i], is l, in their order.

        There must be fewer than 2**31 members in all.
        """
        begin = np.append(0, np.cumsum(np.bincount(keys, minlength=count))).astype(INDEX)
        return cls(begin, members[np.argsort(keys, kind="stable")])

    def of(self, number: int) -> Ints:
        """Return the list with this number."""
        return self.members[self.begin[number] : self.begin[number + 1]]

    def members_of(self, numbers: Ints) -> Ints:
        """Return the members of the lists with these numbers in one array, by ascending list, each list once."""
        is_listed = np.zeros(self.begin.size - 1, np.bool_)
        is_listed[numbers] = True
        return self.members[np.repeat(is_listed, self.sizes)]

    def places_of(self, numbers: Ints) -> Ints:
        """Return the indices in `members` of all members of the lists with these numbers, list after list."""
        return runs(self.begin[numbers], self.begin[numbers + 1] - self.begin[numbers])

    @property
    def sizes(self) -> Ints:
        """An array of the number of members of every list."""
        return np.diff(self.begin)

    @property
    def owners(self) -> Ints:
        """An array of the number of the list that each entry of `members` is in."""
        return np.repeat(np.arange(self.begin.size - 1, dtype=INDEX), self.sizes)

    @property
    def turned_round(self) -> IndexLists:
        """The lists of a graph with all steps turned round: list j has i as a member wherever list i has j here."""
        return IndexLists.by_key(self.members, self.owners, self.begin.size - 1)

    def steps_from(self, starts: Sequence[int] | Ints) -> Ints:
        """Return an array of the least number of steps from any of the lists `starts` to every list, -1 for no way.

        The lists are a graph: a step goes from a list to each list whose number it has as a member; it takes none to a
        start itself.
        """
        steps, count = np.full(self.begin.size - 1, -1), 0
        new = np.asarray(starts, np.int64)
        while new.size:
            steps[new] = count
            count += 1
            ends = self.members[self.places_of(new)]
            new = sorted_distinct(ends[steps[ends] < 0])
        return steps


class Clocks(NamedTuple):
    """Sequences of instants, in columns: clock c draws its intervals from laws[law[c]] at rate[c], or has a schedule.

    `rate` is instants per unit of time; a clock of rate 0 never rings. `laws` are those of the topology. `purpose` is
    UPDATES, DOWNLOADS, POLLS or QUERIES, `word` names the clock's random streams, and `schedule` is an index into the
    topology's `process_columns`, -1 for none.
    """

    law: Ints
    rate: Floats
    purpose: Ints
    word: Words  # from which the random streams of a clock are derived
    schedule: Ints  # the number of its schedule in `process_columns`, -1 for none


class Processes(NamedTuple):
    """The processes of nodes in columns: those of updates first, then all others in the order of nodes.

    Each has a `node`, a `purpose` (UPDATES, DOWNLOADS, POLLS or QUERIES) and the number of its `clock`; at each wake it
    asks `ask` nodes of the list number `candidates`, or its recent contacts (`recent`), and hands over its own copies
    as well if `two_way`. Of the `turns` replicas that take turns at a clock, 1 for none, it has place `turn`.
    """

    node: Ints
    purpose: Ints
    clock: Ints
    candidates: Ints  # the number of the list of nodes that it may ask
    ask: Ints  # how many of these it asks at each wake
    recent: npt.NDArray[np.bool_]  # whether it asks its recent contacts instead of random members
    two_way: npt.NDArray[np.bool_]  # whether a pull also hands the asker's copies to the node asked
    turn: Ints  # replicas may take turns at the instants of a clock, from a random one on: the place of this replica,
    turns: Ints  # and the number of replicas that do


@final
@dataclass(frozen=True, eq=False)
class ProcessColumns:
    """Processes with a rate or a schedule of their own, which are therefore no attribute of a block.

    All have one `purpose`; process i belongs to node[i] and asks the one node asked[i] (None: they are updates). Each
    has a clock of its own, unless clock[i] gives the number of one; clock c has the shape laws[law[c]], the rate
    rate[c], and random streams named by word[c], or all share a `schedule`. Process i has place turn[i] among the
    `turns` that take turns at its clock.
    """

    node: Ints
    purpose: int
    asked: Ints | None  # the node that each process asks; None for updates
    laws: tuple[Law, ...]
    law: Ints  # of every clock
    rate: Floats
    word: Words
    schedule: Any = None  # one Schedule (processes/schedules.py) for all clocks together
    clock: Ints | None = None
    turn: Ints | None = None
    turns: int = 1


class BestOfView(NamedTuple):
    """A row of the table, `group`, without a node: the freshest copy in `ask` of these `nodes`, drawn at random."""

    group: str
    nodes: Ints
    ask: int


@final
@dataclass(eq=False, repr=False)
class Topology:
    """The columns of a network, filled by `add`, `link` and the like; not to be changed once any property is read.

    They are `blocks` of nodes that are alike, `links`, `pools` (numbers of nodes by name), `process_columns` and
    `views`; `about` has the attributes of the whole network by name. Its properties are derived from these: names,
    roles, groups, lists, processes and clocks.
    """

    # Attributes of the whole network: kind, name, delay, queue, charge, faults, start, positions.
    about: dict[str, Any] = field(default_factory=dict)
    blocks: list[Block] = field(default_factory=list)
    size: int = 0  # number of nodes added so far
    links: list[Link] = field(default_factory=list)
    pools: dict[str, Ints] = field(default_factory=dict)
    process_columns: list[ProcessColumns] = field(default_factory=list)
    views: list[BestOfView] = field(default_factory=list)
    weights: Floats | None = None  # weights of sources in means over them, 1 on average; None if all are equal
    aggregate: Any = None  # the ManySources (network/sources.py) of an aggregate
    any_and_all: bool = False  # whether to measure if any source is fresh, and if all are
    # Sources that have rows of their own: (group, source) by the name of the row.
    shown_sources: dict[str, tuple[str, int]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Topology({self.about.get('name', '')}, {self.size:,} nodes in {len(self.blocks)} blocks)"

    @property
    def fresh_start(self) -> bool:
        """Whether all replicas have, at time zero, just been brought up to date."""
        return self.about.get("start") == "fresh"

    def add(self, names: Sequence[str], role: str, group: str, nodes: Ints | None = None, **about: Any) -> Ints:
        """Add nodes that are alike as a block, and return their numbers: `nodes` if given, else the next ones.

        `role` is source, replica or client, and `about` holds the attributes that the nodes share, such as downloads.
        """
        numbers = np.arange(self.size, self.size + len(names), dtype=INDEX) if nodes is None else nodes
        self.blocks.append(Block(numbers, names, ROLES.index(role), group, about))
        self.size += len(names)
        return numbers

    def link(self, upstream: Ints, downstream: Ints, kind: str = "download", delay: Any = None) -> None:
        """Add links of one kind (download, peer or query) from upstream[i] to downstream[i], numbers of nodes.

        Messages take `delay` on them, a time or a law; without it (None) the delay of the network.
        """
        self.links.append(Link(kind, np.asarray(upstream, INDEX), np.asarray(downstream, INDEX), delay))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of all nodes, by number."""
        names = np.empty(self.size, object)
        for block in self.blocks:
            names[block.nodes] = list(block.names)
        return tuple(names.tolist())

    @cached_property
    def number(self) -> dict[str, int]:
        """The number of every node, by name."""
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def role(self) -> Ints:
        """The role of every node, an index into ROLES."""
        return np.asarray(self._spread((block.role for block in self.blocks), np.int8))

    @cached_property
    def clients(self) -> Flags:
        """A mask of the nodes that are clients, by number."""
        return np.asarray(self.role == CLIENT)

    @cached_property
    def sources(self) -> Ints:
        """The numbers of the nodes that are sources, in ascending order."""
        return np.flatnonzero(self.role == SOURCE)

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """The names of the groups that tables have rows of: those of replicas and clients, then those of views."""
        nodes = [block.group for block in self.blocks if block.role != SOURCE]
        return tuple(dict.fromkeys([*nodes, *(view.group for view in self.views)]))

    @cached_property
    def group(self) -> Ints:
        """The group of every node, an index into `groups`; -1 for sources."""
        place = {group: g for g, group in enumerate(self.groups)}
        groups = (-1 if block.role == SOURCE else place[block.group] for block in self.blocks)
        return np.asarray(self._spread(groups))

    @cached_property
    def bandwidth(self) -> Floats | None:
        """The bandwidth of every node, messages per unit of time, inf without a limit; None if no node has a limit."""
        if not any("bandwidth" in block.about for block in self.blocks):
            return None
        return np.asarray(self._spread((block.about.get("bandwidth", np.inf) for block in self.blocks), float))

    @property
    def delay(self) -> Law | float:
        """The delay of a message on links without a delay of their own: a time or a law, 0 if none is given."""
        return self.about.get("delay") or 0.0

    @cached_property
    def delays(self) -> dict[tuple[int, int], Law | float]:
        """The delay of every link that has its own, by (upstream, downstream)."""
        delayed = [link for link in self.links if link.delay is not None]
        pairs = [
            (link, pair)
            for link in delayed
            for pair in zip(link.upstream.tolist(), link.downstream.tolist(), strict=True)
        ]
        return {pair: link.delay for link, pair in pairs}

    def _spread(self, values: Iterable[Any], dtype: Any = INDEX) -> Any:
        """Return an array over nodes in which all nodes of a block have one value; `values` has one for each block."""
        column = np.empty(self.size, dtype)
        for block, value in zip(self.blocks, values, strict=True):
            column[block.nodes] = value
        return column

    @cached_property
    def lists(self) -> IndexLists:
        """The lists of candidates: one per pool; one per node for each kind of link; one for each node by itself if
        some process asks a single node; and an empty one.
        """
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
        return IndexLists(begin, np.concatenate([np.empty(0, INDEX), *members]))

    @cached_property
    def _first_list(self) -> dict[str, int]:
        """The number of the first of the lists of every kind of link, which has a list for each node.

        Kinds that no process asks along are left out; "" stands for lists of a single node.
        """
        asking = {
            LINK_KINDS[p] for block in self.blocks for name, p in PURPOSE_OF.items() if p and block.about.get(name)
        }
        node_kinds = [
            *dict.fromkeys(link.kind for link in self.links if link.kind in asking),
            *([""] if self.process_columns else []),
        ]
        return {kind: len(self.pools) + self.size * at for at, kind in enumerate(node_kinds)}

    @cached_property
    def laws(self) -> tuple[Law, ...]:
        """The different laws that clocks draw from."""
        of_blocks = dict.fromkeys(
            block.about[name] for block in self.blocks for name in PURPOSE_OF if block.about.get(name)
        )
        return tuple(of_blocks | dict.fromkeys(law for columns in self.process_columns for law in columns.laws))

    @cached_property
    def _columns(self) -> tuple[Processes, Clocks]:
        """The processes of all nodes, updates first, then in the order of nodes, and the clocks that they wake by."""
        number = {law: g for g, law in enumerate(self.laws)}
        parts = [columns for block in self.blocks if (columns := self._of_block(block, number)) is not None]
        parts += [self._of_columns(processes, order, number) for order, processes in enumerate(self.process_columns)]
        shift = np.cumsum([0, *(clocks.law.size for _, clocks in parts)]).tolist()
        for (part, _), before in zip(parts, shift, strict=False):
            part.clock[:] += before
        of_processes, of_clocks = (list(zip(*tables, strict=True)) for tables in zip(*parts, strict=True))
        del parts, part  # so that every column is in memory twice for a moment only
        processes = Processes._make(np.concatenate(of_processes.pop(0)) for _ in Processes._fields)
        clocks = Clocks._make(np.concatenate(of_clocks.pop(0)) for _ in Clocks._fields)
        # Processes are mostly in order already; where they are not, long runs of them are, which a stable sort uses.
        place = processes.node.astype(np.int64)
        place[processes.purpose != UPDATES] += self.size
        place *= len(PURPOSES)
        place += processes.purpose
        if (place[1:] < place[:-1]).any():
            order = np.argsort(place, kind="stable")
            processes = Processes._make(column[order] for column in processes)
        return processes, clocks

    def _of_block(self, block: Block, number: Mapping[Law, int]) -> tuple[Processes, Clocks] | None:
        """Return the processes of a block, node by node, and their clocks, numbered from 0; None if there are none.

        `number` is the index of every law in `laws`.
        """
        purpose_of = {name: purpose for name, purpose in PURPOSE_OF.items() if block.about.get(name) is not None}
        n, k = len(block.names), len(purpose_of)
        if not purpose_of:
            return None
        purposes, laws = np.array([*purpose_of.values()], np.int8), [block.about[name] for name in purpose_of]
        candidates, ask = np.empty((2, n, k), INDEX)
        for at, purpose in enumerate(purpose_of.values()):
            candidates[:, at], ask[:, at] = self._candidates_of(block, purpose)
        polls = purposes == POLLS
        recent, two_way = polls & (block.about.get("select") == "recent"), polls & bool(block.about.get("two_way"))
        each = Processes(
            np.repeat(np.asarray(block.nodes, INDEX), k), np.tile(purposes, n),
            (np.arange(n, dtype=INDEX)[:, None] + n * np.arange(k, dtype=INDEX)).ravel(), candidates.ravel(),
            ask.ravel(), np.tile(recent, n), np.tile(two_way, n), np.zeros(n * k, INDEX), np.ones(n * k, INDEX),
        )  # fmt: skip
        node_kinds = np.array([number[law] for law in laws], INDEX)
        return each, Clocks(
            np.repeat(node_kinds, n), np.repeat([law.rate for law in laws], n), np.repeat(purposes, n),
            np.tile(name_words(block.names), k), np.full(n * k, -1, INDEX),
        )  # fmt: skip

    def _candidates_of(self, block: Block, purpose: int) -> tuple[Ints | int, Ints | int]:
        """Return the number of the list that the process of each node in a block asks, and how many of its members.

        Each is a single number if it is the same for all nodes. `purpose` is UPDATES, DOWNLOADS, POLLS or QUERIES;
        updates ask none, of the empty list.
        """
        about, candidates = block.about, cast("Ints | int", self.lists.begin.size - 2)
        if purpose == UPDATES:
            return candidates, 0
        if purpose != DOWNLOADS and about.get("pool"):
            candidates = list(self.pools).index(about["pool"])
        elif LINK_KINDS[purpose] in self._first_list:
            candidates = self._first_list[LINK_KINDS[purpose]] + block.nodes
        sizes = self.lists.begin[candidates + 1] - self.lists.begin[candidates]
        if purpose == POLLS:
            return candidates, about.get("peers", 1)
        wanted = about.get("ask")
        return candidates, sizes if wanted is None else np.minimum(wanted, sizes)

    def _of_columns(self, columns: ProcessColumns, order: int, number: Mapping[Law, int]) -> tuple[Processes, Clocks]:
        """Return the processes of `columns`, which are no attribute of a block, and their clocks, numbered from 0.

        `order` is their index in `process_columns`, and `number` the index of every law in `laws`.
        """
        n, m = columns.node.size, columns.law.size
        clock = np.arange(n, dtype=INDEX) if columns.clock is None else columns.clock.astype(INDEX)
        empty = np.full(n, self.lists.begin.size - 2, INDEX)
        candidates = empty if columns.asked is None else (columns.asked + self._first_list[""]).astype(INDEX)
        turn = np.zeros(n, INDEX) if columns.turn is None else columns.turn.astype(INDEX)
        never = np.zeros(n, np.bool_)
        each = Processes(
            columns.node.astype(INDEX), np.full(n, columns.purpose, np.int8), clock, candidates,
            np.full(n, int(columns.asked is not None), INDEX), never, never, turn, np.full(n, columns.turns, INDEX),
        )  # fmt: skip
        shape = np.array([number[law] for law in columns.laws], INDEX)
        schedule = np.full(m, -1 if columns.schedule is None else order, INDEX)
        law = shape[columns.law] if columns.laws else np.zeros(m, INDEX)
        return each, Clocks(law, columns.rate, np.full(m, columns.purpose, np.int8), columns.word, schedule)

    @property
    def processes(self) -> Processes:
        """The processes of all nodes: updates first, then all others in the order of nodes."""
        return self._columns[0]

    @property
    def clocks(self) -> Clocks:
        """The clocks that processes wake by; the field `clock` of `processes` has their numbers."""
        return self._columns[1]

    def node_kinds(self) -> Iterator[tuple[str, str, dict[str, Any], int]]:
        """Yield (group, role, attributes, number of nodes) for nodes that are alike, updates of sources among the
        attributes.
        """
        changing = dict[int, Law]()
        for columns in self.process_columns:
            # Only updates belong to one node; downloads from each source of an aggregate fit no attribute of a replica.
            for node, law, rate in (
                zip(columns.node, columns.law, columns.rate, strict=True) if columns.purpose == UPDATES else ()
            ):
                if rate:
                    changing[int(node)] = at_rate(columns.laws[law], float(rate))
        for block in self.blocks:
            counts = Counter(changing.get(i) for i in block.nodes.tolist()) if changing else {None: len(block.names)}
            for changes, count in counts.items():
                more = {} if changes is None else {"updates": changes}
                yield block.group, ROLES[block.role], {**block.about, **more}, count

    @property
    def has_schedule(self) -> bool:
        """Whether some processes share a schedule."""
        return any(columns.schedule is not None for columns in self.process_columns)

    @cached_property
    def graph(self) -> Any:
        """The network as a networkx.DiGraph, whose nodes are names and whose edges point the way the data flows.

        Nodes have role, group and their other attributes, edges kind and perhaps delay; the graph has the pools and the
        attributes of the network.
        """
        import networkx as nx

        names = self.names
        pools = {pool: [names[i] for i in members] for pool, members in self.pools.items()}
        graph = nx.DiGraph(pools=pools, **{key: value for key, value in self.about.items() if key != "positions"})
        graph.add_nodes_from(names)
        for block in self.blocks:
            graph.add_nodes_from(block.names, role=ROLES[block.role], group=block.group, **block.about)
        nx.set_node_attributes(graph, self.about.get("positions", {}), "position")
        for columns in self.process_columns:
            # Only updates belong to one node; downloads from each source of an aggregate fit no attribute of a replica.
            for node, law, rate in (
                zip(columns.node, columns.law, columns.rate, strict=True) if columns.purpose == UPDATES else ()
            ):
                if rate:
                    graph.nodes[names[node]]["updates"] = at_rate(columns.laws[law], float(rate))
        for link in self.links:
            about = {"kind": link.kind} if link.delay is None else {"kind": link.kind, "delay": link.delay}
            ends = zip(link.upstream.tolist(), link.downstream.tolist(), strict=True)
            graph.add_edges_from((names[a], names[b], about) for a, b in ends)
        return graph
