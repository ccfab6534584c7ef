"""A plan laid out for `array`: replications side by side, and each in components.

Replications exchange nothing, and nor do parts of a network that no chain of asking connects. So R replications
of a plan with C components are R C components, and one pass walks them one after the other.
Node i of the r-th replication is i + r n, its component c + r C.

A node holds a copy per source of its component: the copies of the component's l-th source are in layer l. What is
added up is added up per cell, which is a source and a group of one replication.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np

from replnet.engines.passes import EVERYWHERE, NODES, NOWHERE, Layers
from replnet.engines.plan import DOWNLOADS, QUERIES, UPDATES, Ints, Plan
from replnet.engines.pulls import Askers
from replnet.laws.processes.renewal import Scratch


@final
@dataclass(frozen=True, eq=False)
class Tiling:
    """`count` replications of a plan; made once, run for any of that number.

    `recorded`: to say of every pull what came of it. Where pulls may come to nothing that takes a further layer, the
    first, in which everyone always has a copy, so that a pull that brings none was not answered.
    """

    plan: Plan
    count: int
    sampled: bool
    recorded: bool = False

    def __post_init__(self) -> None:
        if self.plan.recent and self.plan.faults:
            raise ValueError("faults: the array engine takes none with select: recent (use --engine step)")

    @cached_property
    def scratch(self) -> Scratch:
        """Shared by the runs of this tiling, one at a time."""
        return Scratch()

    @cached_property
    def delay(self) -> float:
        if self.plan.constant_delay is None:
            raise ValueError("delay: the array engine takes one constant delay for all messages (use --engine step)")
        return self.plan.constant_delay

    @cached_property
    def instant(self) -> bool:
        """Whether everyone asks by name, is answered at once and keeps what it gets."""
        plain = self.delay == 0 and not (self.plan.recent or self.plan.strict or self.plan.clients.any())
        return plain and not self.recorded

    @property
    def further(self) -> int:
        """How many layers there are before those of the sources."""
        return int(self.recorded and self.plan.strict)

    @property
    def nodes(self) -> int:
        """Of all replications."""
        return self.count * len(self.plan.names)

    @property
    def sources(self) -> int:
        """Of one replication."""
        return len(self.plan.sources)

    @cached_property
    def asking(self) -> Ints:
        """The processes of the plan that ask."""
        return np.flatnonzero(self.plan.purpose != UPDATES)

    @cached_property
    def component(self) -> Ints:
        """Of every node of a replication. Where lists of contacts are handed over all are one, as all wait for all."""
        n = len(self.plan.names)
        return np.zeros(n, np.int64) if self.plan.recent else components(self.plan)

    @cached_property
    def components(self) -> int:
        """Of one replication."""
        return int(self.component.max(initial=-1)) + 1

    @cached_property
    def layer(self) -> Ints:
        """Per source, in which layer of its component it is."""
        home = self.component[list(self.plan.sources)]
        order = np.argsort(home, kind="stable")
        layer = np.empty(home.size, np.int64)
        layer[order] = np.arange(home.size) - np.searchsorted(home[order], home[order])
        return layer + self.further

    @cached_property
    def depth(self) -> int:
        """How many layers there are at most."""
        return int(self.layer.max(initial=self.further)) + 1

    @cached_property
    def layers(self) -> Layers:
        """Of all replications. A component without a source has a layer as well, in which nothing is ever fresh."""
        home, n, each = self.component[list(self.plan.sources)], len(self.plan.names), np.arange(self.count)[:, None]
        count = np.maximum(np.bincount(home, minlength=self.components), 1) + self.further
        first = np.cumsum(count) - count
        source, row = np.full((2, int(count.sum())), NOWHERE)
        row[first[: first.size * self.further]] = EVERYWHERE
        place = first[home] + self.layer
        source[place], row[place] = self.plan.sources, np.arange(home.size)
        there = row >= 0
        begin = np.append((first + each * source.size).ravel(), self.count * source.size)
        return Layers(
            begin,
            np.where(there, source + each * n, self.nodes).ravel(),
            np.where(there, row + each * home.size, row).ravel(),
        )

    @cached_property
    def reached(self) -> np.ndarray:
        """Per layer and node of a replication, whether it can hold a copy of that source."""
        return self._by_layer(self.plan.reached & ~self.plan.clients)

    @cached_property
    def counted(self) -> np.ndarray:
        """The same of those that count for it; who hears of no source counts for the first layer."""
        counted = self._by_layer(self.plan.reached)
        counted[self.further] |= ~self.plan.reached.any(axis=0)
        counted[:, list(self.plan.sources)] = False
        return counted

    def _by_layer(self, of: np.ndarray) -> np.ndarray:
        """From rows per source."""
        found = np.zeros((self.depth, len(self.plan.names)), of.dtype)
        row, node = np.nonzero(of)
        found[self.layer[row], node] = True
        return found

    @cached_property
    def source_of(self) -> Ints:
        """Per layer and node of a replication, the row of that source; 0 where there is none."""
        rows = np.zeros((self.depth, self.components), np.int64)
        rows[self.layer, self.component[list(self.plan.sources)]] = np.arange(self.sources)
        return rows[:, self.component]

    @cached_property
    def cells(self) -> tuple[Ints, Ints]:
        """Of one replication, the row of the source and the group of every cell."""
        keys = self._keys[self.counted]
        return np.divmod(np.unique(keys), max(len(self.plan.groups), 1))

    @cached_property
    def cell(self) -> Ints:
        """Per layer and node of one replication; the first where it counts for nothing."""
        rows, groups = self.cells
        known = rows * max(len(self.plan.groups), 1) + groups
        return np.where(self.counted, np.searchsorted(known, self._keys), 0)

    @property
    def _keys(self) -> Ints:
        return self.source_of * max(len(self.plan.groups), 1) + np.maximum(self.plan.group, 0)

    @cached_property
    def askers(self) -> Askers:
        """Of all replications."""
        processes = [self.plan.processes[q] for q in self.asking]
        lists = {id(p.candidates): p.candidates for p in processes}
        begins = dict(zip(lists, np.cumsum([0, *map(len, lists.values())]), strict=False))
        places = {key: {node: at for at, node in enumerate(members)} for key, members in lists.items()}
        node, each = np.array([p.node for p in processes], np.int64), np.arange(self.count)[:, None]
        shift = np.zeros_like(node) + each * len(self.plan.names)

        def alike(column: list[int], dtype: type = np.int64) -> np.ndarray:
            return np.tile(np.array(column, dtype), self.count)

        return Askers(
            node=(node + shift).ravel(),
            component=(self.component[node] + each * self.components).ravel(),
            pulls=alike([p.ask for p in processes]),
            recent=alike([p.recent for p in processes], np.bool_),
            begin=alike([begins[id(p.candidates)] for p in processes]),
            size=alike([len(p.candidates) for p in processes]),
            own=alike([places[id(p.candidates)].get(p.node, len(p.candidates)) for p in processes]),
            shift=shift.ravel(),
            listed=np.array([i for members in lists.values() for i in members] or [0], np.int64),
        )

    @cached_property
    def trees(self) -> Trees | None:
        """If every replica asks one other and nobody else: who asks, each component in order of depth."""
        a, n = self.askers, self.nodes
        if not (self.sampled and self.instant and (a.pulls == 1).all() and (a.size == 1).all()):
            return None
        if np.bincount(a.node, minlength=n).max(initial=0) > 1:
            return None
        upstream = np.full(n, NOWHERE, np.int64)
        upstream[a.node] = a.listed[a.begin] + a.shift
        depth, above = np.zeros(n, np.int64), upstream.copy()
        for _ in range(n):
            climbing = above >= 0
            if not climbing.any():
                order = np.lexsort((depth[a.node], a.component))
                begin = np.searchsorted(a.component[order], np.arange(self.components * self.count + 1))
                feeds = np.bincount(upstream[upstream >= 0], minlength=n) > 0
                return Trees(begin, order, a.node, upstream[a.node], feeds[a.node])
            depth += climbing
            above[climbing] = upstream[above[climbing]]
        return None  # a cycle: everyone waits for everyone

    @cached_property
    def registers(self) -> tuple[Ints, Ints, Ints]:
        """Per node: the register it appears in, the upstream that keeps it, and how long a list it needs."""
        n = len(self.plan.names)
        register, upstream, need = np.full(n, -1, np.int64), np.full(n, -1, np.int64), np.zeros(n, np.int64)
        home = {p.node: p.candidates[0] for p in self.plan.processes if p.purpose == DOWNLOADS and p.candidates}
        numbers: dict[tuple[int, int], int] = {}
        for p in self.plan.processes:
            if p.recent:
                for i in {p.node, *p.candidates} & home.keys():
                    register[i] = numbers.setdefault((home[i], id(p.candidates)), len(numbers))
                    upstream[i] = home[i]
                need[p.node] = p.ask
        sizes = np.bincount(register[register >= 0], minlength=1)
        need = np.minimum(need, np.where(register >= 0, sizes[register] - 1, 0))
        return register, upstream, need

    def node_states(self) -> np.ndarray:
        """What a pass is to know of every node, per layer; nothing has happened yet."""
        if self.instant:
            return np.zeros((self.depth, 0), NODES)
        nodes, plan = np.zeros((self.depth, self.nodes + 1), NODES), self.plan
        asks = np.zeros(len(plan.names), np.int64)
        for p in plan.processes:
            if p.purpose == QUERIES:
                asks[p.node] = p.ask
        nodes["asks"][:, :-1] = np.tile(np.where(self.counted, asks, 0), self.count)
        nodes["left"] = nodes["asks"]
        nodes["fell"], nodes["kept"], nodes["falls"] = -np.inf, -np.inf, np.inf
        nodes["client"][:, :-1] = np.tile(plan.clients, self.count)
        return nodes


@final
class Trees(NamedTuple):
    """Who asks in networks without a cycle: of component c, order[begin[c]] to order[begin[c + 1]], upstreams first."""

    begin: Any
    order: Any
    node: Any
    upstream: Any  # of a process's node
    feeds: Any  # whether anyone pulls from it


def components(plan: Plan) -> Ints:
    """Per node, the part of the network that it is in: nothing passes between two of them."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n, chains = len(plan.names), list[tuple[int, ...] | list[int]]()
    chains += {id(p.candidates): p.candidates for p in plan.processes if p.candidates}.values()
    chains += [(p.node, p.candidates[0]) for p in plan.processes if p.candidates]
    pairs = [np.column_stack([chain[:-1], chain[1:]]) for chain in map(np.asarray, chains)]
    links = np.concatenate([np.empty((0, 2), np.int64), *pairs])
    graph = coo_array((np.ones(len(links)), (links[:, 0], links[:, 1])), shape=(n, n))
    found = connected_components(graph, directed=False)[1]
    # In the order of their first nodes, whatever the library's own is.
    _, first, which = np.unique(found, return_index=True, return_inverse=True)
    place = np.empty(first.size, np.int64)
    place[np.argsort(first)] = np.arange(first.size)
    return np.asarray(place[which], dtype=np.int64)
