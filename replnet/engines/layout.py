"""A plan laid out for `array`: replications side by side, and each in components.

Replications exchange nothing, and nor do parts of a network that no chain of asking connects. So R replications
of a plan with C components are R C components, and one pass walks them one after the other. A replica that only asks,
each time all that it may, and whom nobody asks, ties nothing together: it stands in every component of those it asks,
with a place in each. So M sources and a replica that downloads from all of them are M components.

A component of L sources has L slots for every place, one per copy that may be held there. What is added up is added up
per cell, which is a source and a group of one replication. Place p of the r-th replication is p + r places, and so on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np

from replnet.engines.passes import DIRECT, NODES, SourceColumns, Trees
from replnet.engines.plan import QUERIES, Plan
from replnet.engines.pulls import Askers
from replnet.laws.law import Flags, Ints, distinct
from replnet.laws.processes.renewal import Scratch, used
from replnet.network.build import memory
from replnet.network.topology import INDEX, REPLICA, Lists, View
from replnet.text.errors import FieldError


class Places(NamedTuple):
    """Node and component of every place, in the order of components and then of nodes."""

    node: Ints
    component: Ints
    only: Ints  # of every node, its first place


SLOT = 64  # bytes of a place for a copy, in all that is known of it


@final
@dataclass(frozen=True, eq=False)
class Layout:
    """`count` replications of a plan; made once, run for any of that number.

    `recorded`: to say of every pull what came of it. `scratch` is for runs that come one after another.
    """

    plan: Plan
    count: int
    sampled: bool
    recorded: bool = False
    scratch: Scratch = field(default_factory=Scratch)

    def __post_init__(self) -> None:
        if wrong := self.plan.only_by_step:
            raise ValueError(f"{wrong} (use --engine step)")
        if self.recorded and self.plan.two_way:
            raise ValueError("trace: the array engine keeps none of polls that go both ways (use --engine step)")

    @cached_property
    def delay(self) -> float:
        assert self.plan.constant_delay is not None
        return self.plan.constant_delay

    @cached_property
    def plain(self) -> bool:
        """Whether everyone asks by name, is answered at once and keeps what it gets."""
        plan = self.plan
        return not (self.delay or plan.recent or plan.strict or plan.clients.any() or self.recorded)

    @property
    def single(self) -> bool:
        """Whether no component has several sources, so that a place is a slot."""
        return bool(self.layers.max(initial=1) == 1)

    @cached_property
    def splits(self) -> Flags:
        """Nodes that only ask, each time all that they may; where lines form, what they ask is one."""
        plan = self.plan
        p, lists = plan.processes, plan.lists
        found = np.zeros(plan.size, np.bool_)
        found[p.node[p.ask > 0]] = True
        found &= plan.topology.role == REPLICA
        if plan.bandwidth is not None or plan.recent:
            return np.zeros_like(found)
        used = np.zeros(lists.begin.size - 1, np.bool_)
        used[p.candidates[p.ask > 0]] = True
        found[lists.members[np.repeat(used, lists.sizes)]] = False
        found[p.node[p.two_way]] = False
        found[p.node[p.ask < lists.sizes[p.candidates]]] = False
        return np.asarray(found)

    @cached_property
    def _component(self) -> Ints:
        """Of every node that does not split, in the order of their first nodes; -1 of the others."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        plan = self.plan
        p, lists, n = plan.processes, plan.lists, plan.size
        if plan.recent:  # all wait for all
            return np.zeros(n, np.int64)
        some = np.flatnonzero(~self.splits[p.node] & (p.ask > 0))
        used = np.zeros(lists.begin.size - 1, np.bool_)
        used[p.candidates[some]] = True
        chained = np.repeat(used, lists.sizes)
        chained[lists.begin[:-1][lists.sizes > 0]] = False
        at = np.flatnonzero(chained)
        a = np.concatenate([lists.members[at - 1], p.node[some]])
        b = np.concatenate([lists.members[at], lists.members[lists.begin[p.candidates[some]]]])
        found = connected_components(coo_array((np.ones(a.size, np.int8), (a, b)), shape=(n, n)), directed=False)[1]
        whole = np.flatnonzero(~self.splits)
        _, first, which = np.unique(found[whole], return_index=True, return_inverse=True)
        component = np.full(n, -1, INDEX)
        component[whole] = np.argsort(np.argsort(first))[which]
        return component

    @cached_property
    def _parted(self) -> tuple[Ints, Ints, Ints]:
        """What nodes that split ask: process, place of the candidate in the members of lists, and its component."""
        p, lists = self.plan.processes, self.plan.lists
        some = np.flatnonzero(self.splits[p.node] & (p.ask > 0))
        sizes = lists.sizes[p.candidates[some]]
        at = np.arange(int(sizes.sum())) + np.repeat(lists.begin[p.candidates[some]] - np.cumsum(sizes) + sizes, sizes)
        component = self._component[lists.members[at]]
        order = np.lexsort((at, component, np.repeat(some, sizes)))
        return np.repeat(some, sizes)[order], at[order], component[order]

    @cached_property
    def places(self) -> Places:
        process, _, component = self._parted
        node = self.plan.processes.node[process]
        whole = np.ones(self.plan.size, np.bool_)
        whole[node] = False
        rest = np.flatnonzero(whole)
        width = self.plan.everyone
        keys = np.concatenate([self._component[rest], component], dtype=np.int64) * width
        keys += np.concatenate([rest, node])
        looking = []
        for view, first, count in self.plan.views:  # a place for every choice wherever a node that it looks at is
            homes = distinct(keys[np.isin(keys % width, view.nodes)] // width)
            looking.append((homes[:, None] * width + first + np.arange(count)).ravel())
        keys = np.concatenate([keys, *looking])
        component, node = np.divmod(keys if (keys[1:] > keys[:-1]).all() else distinct(keys), width)
        only = np.empty(width, INDEX)
        only[node[::-1]] = np.arange(node.size, dtype=INDEX)[::-1]
        return Places(node.astype(INDEX), component.astype(INDEX), only)

    @cached_property
    def of_node(self) -> Lists:
        """The places of every node."""
        node = self.places.node
        order = np.argsort(node, kind="stable")
        return Lists(np.searchsorted(node[order], np.arange(self.plan.everyone + 1)), order)

    def place(self, node: Ints, component: Ints) -> Ints:
        """Of nodes in components; their first one where they are not there."""
        places, width = self.places, self.plan.everyone
        if places.node.size == width:
            return places.only[node]
        keys = places.component.astype(np.int64) * width + places.node
        found = np.minimum(np.searchsorted(keys, component * width + node), keys.size - 1)
        there = (places.node[found] == node) & (places.component[found] == component)
        return np.where(there, found, places.only[node])

    @cached_property
    def components(self) -> int:
        """Of one replication."""
        return int(self.places.component.max(initial=-1)) + 1

    @cached_property
    def home(self) -> Ints:
        """The component of every source."""
        return self.places.component[self.places.only[self.plan.sources]]

    @cached_property
    def layer(self) -> Ints:
        """Of every source, which of the slots of a place is its."""
        order = np.argsort(self.home, kind="stable")
        layer = np.empty(self.home.size, np.int64)
        layer[order] = np.arange(self.home.size) - np.searchsorted(self.home[order], self.home[order])
        return layer

    @cached_property
    def layers(self) -> Ints:
        """How many slots a place has, by component; one where there is no source, in which nothing is ever fresh."""
        return np.maximum(np.bincount(self.home, minlength=self.components), 1)

    @cached_property
    def base(self) -> Ints:
        """The first slot of every place."""
        sizes = self.layers[self.places.component]
        return (np.cumsum(sizes) - sizes).astype(INDEX)

    @cached_property
    def slots(self) -> int:
        """Of one replication."""
        found = int(self.layers[self.places.component].sum())
        if found * SLOT > memory():
            most = int(self.layers.max())
            wrong = f"{most:,} sources that meet in answers, lines or faults take {found * SLOT / 1e9:.2g} GB of memory"
            raise FieldError("network", wrong, "fewer sources; or no queries, bandwidth and crashes")
        return found

    @cached_property
    def place_of(self) -> Ints:
        """Of every slot."""
        return np.repeat(np.arange(self.places.node.size, dtype=INDEX), self.layers[self.places.component])

    @cached_property
    def row_of(self) -> Ints:
        """The source of every slot, 0 where there is none."""
        first = np.cumsum(self.layers) - self.layers
        rows = np.zeros(int(self.layers.sum()), INDEX)
        rows[first[self.home] + self.layer] = np.arange(self.home.size)
        component = self.places.component[self.place_of]
        return np.asarray(rows[first[component] + np.arange(self.slots) - self.base[self.place_of]])

    @cached_property
    def sourced(self) -> Flags:
        """Slots in components that have a source."""
        there = np.bincount(self.home, minlength=self.components) > 0
        return np.asarray(there[self.places.component[self.place_of]])

    def slot(self, node: Ints, row: Ints) -> Ints:
        """Of copies."""
        return np.asarray(self.base[self.place(node, self.home[row])] + self.layer[row])

    def _pairs(self, of: Lists) -> tuple[Ints, Ints]:
        return np.repeat(np.arange(self.plan.size, dtype=INDEX), of.sizes), of.members

    @cached_property
    def reached(self) -> Flags:
        """Slots of copies that there can be, but for those of clients."""
        node, row = self._pairs(self.plan.heard)
        found, held = np.zeros(self.slots, np.bool_), ~self.plan.clients[node]
        found[self.slot(node[held], row[held])] = True
        for _, node, row in self._views:
            found[self.slot(node, row)] = True
        return found

    @property
    def _views(self) -> Iterator[tuple[View, Ints, Ints]]:
        """Every view with (choice, row) pairs of the sources that those it looks at can hear of."""
        for view, first, count in self.plan.views:
            rows = np.unique(np.concatenate([self.plan.heard.of(i) for i in view.nodes.tolist()]))
            yield view, np.repeat(first + np.arange(count), rows.size), np.tile(rows, count)

    def viewers(self, chosen: list[Ints]) -> tuple[Lists, Lists]:
        """By place, the places of the choices that look at it, and the other way round. `chosen`: nodes, by choice."""
        places, n = self.places, self.places.node.size
        pairs = [np.empty((0, 2), np.int64)]
        for choice, nodes in enumerate(chosen, self.plan.size):
            mine = np.flatnonzero(places.node == choice)
            who = np.array([self.place(nodes, np.full(nodes.size, c)) for c in places.component[mine]]).reshape(-1)
            pairs.append(np.column_stack([who, np.repeat(mine, nodes.size)]))
        by, look = np.concatenate(pairs).T
        both = []
        for begin, end in ((by, look), (look, by)):
            order = np.argsort(begin, kind="stable")
            both.append(Lists(np.searchsorted(begin[order], np.arange(n + 1)).astype(INDEX), end[order]))
        return both[0], both[1]

    @cached_property
    def cell(self) -> Ints:
        """Of every slot; one past all where it counts for nothing."""
        plan, cells = self.plan, self.plan.cells[0].size
        node, row = self._pairs(plan.counted)
        found, deaf = np.full(self.slots, cells, INDEX), plan.heard.sizes[node] == 0
        slot = np.where(deaf, self.base[self.places.only[node]], self.slot(node, row))
        found[slot] = plan.cell(row, plan.group[node])
        for view, node, row in self._views:
            found[self.slot(node, row)] = plan.cell(row, np.full(row.size, plan.groups.index(view.group)))
        return found

    def tiled(self, column: Ints, step: int) -> Ints:
        """A column of numbers for all replications, those of each `step` further on."""
        return np.asarray((np.arange(self.count, dtype=INDEX)[:, None] * INDEX(step) + column.astype(INDEX)).ravel())

    @cached_property
    def sources(self) -> SourceColumns:
        """Of all replications, component by component."""
        order, s, n = np.argsort(self.home, kind="stable"), self.home.size, self.places.node.size
        begin = np.searchsorted(self.home[order], np.arange(self.components + 1))
        which = np.full(n * self.count + 1, -1, INDEX)
        place = self.tiled(self.places.only[self.plan.sources[order]], n)
        which[place] = np.arange(place.size)
        return SourceColumns(
            begin=np.append(self.tiled(begin[:-1], s), s * self.count),
            place=place,
            row=self.tiled(order, s),
            layer=np.tile(self.layer[order], self.count),
            which=which,
        )

    @cached_property
    def clocks(self) -> tuple[Ints, Ints]:
        """Of one replication: those of updates, and those of who asks, in order of processes if no two share one."""
        clock, s = self.plan.processes.clock, self.plan.sources.size
        once = np.bincount(clock[s:]).max(initial=0) <= 1
        return clock[:s], clock[s:] if once else used(clock[s:])[0]

    @property
    def row(self) -> Ints:
        """Of every clock of who asks, where it is among these."""
        row = np.zeros(self.plan.clocks.rate.size, INDEX)
        row[self.clocks[1]] = np.arange(self.clocks[1].size, dtype=INDEX)
        return row

    @cached_property
    def askers(self) -> Askers:
        """Of all replications; `phase` is for every run to fill in."""
        p, lists, places = self.plan.processes, self.plan.lists, self.places
        process, at, component = self._parted
        first = np.flatnonzero((np.diff(process, prepend=-1) != 0) | (np.diff(component, prepend=-1) != 0))
        apart = np.arange(p.node.size) < self.plan.sources.size
        apart[process] = True
        whole = np.flatnonzero(~apart).astype(INDEX)
        listed = np.concatenate([places.only[lists.members], places.only[lists.members[at]], np.zeros(1, INDEX)])
        listed = listed.astype(np.uint32)  # with room for the bit beside the number
        numbers = np.concatenate([np.zeros(lists.members.size, INDEX), at - lists.begin[p.candidates[process]]])
        if not self.single:
            listed[:-1] |= np.where(
                self.plan.topology.role[places.node[listed[:-1]]] == 0, np.uint32(DIRECT), np.uint32(0)
            )
        number = np.diff(first, append=process.size).astype(INDEX)
        own = np.concatenate([whole, process[first]], dtype=INDEX, casting="same_kind")
        order = np.argsort(own, kind="stable") if process.size else slice(None)
        own, n = own[order], places.node.size

        def both(of_whole: Ints, of_parted: Ints) -> Ints:
            return np.concatenate([of_whole, of_parted], dtype=INDEX, casting="same_kind")[order]

        def alike(column: Any) -> Any:
            return np.tile(column, self.count)

        home = both(places.component[places.only[p.node[whole]]], component[first])
        return Askers(
            row=self.tiled(self.row[p.clock[own]], self.clocks[1].size),
            process=alike(own),
            place=self.tiled(self.place(p.node[own], home), n),
            component=self.tiled(home, self.components),
            pulls=alike(both(p.ask[whole] << p.two_way[whole], number)),
            whole=alike(p.ask[own]),
            recent=alike(p.recent[own]),
            two_way=alike(p.two_way[own]),
            turns=alike(p.turns[own]),
            phase=np.zeros(own.size * self.count, INDEX),
            begin=alike(both(lists.begin[p.candidates[whole]], lists.members.size + first)),
            size=alike(both(lists.sizes[p.candidates[whole]], number)),
            own=alike(both(self.plan.standing[whole], number)),
            shift=np.repeat(np.arange(self.count, dtype=INDEX) * INDEX(n), own.size),
            listed=listed,
            numbers=numbers.astype(INDEX),
        )

    @cached_property
    def trees(self) -> Trees | None:
        """If every replica asks one other and nobody else: who asks, each component in order of depth."""
        a, n = self.askers, self.places.node.size * self.count
        if not (self.sampled and self.plain and self.single and (a.pulls == 1).all() and (a.size == 1).all()):
            return None
        if np.bincount(a.place, minlength=n).max(initial=0) > 1 or (a.turns > 1).any() or self.plan.views:
            return None
        upstream = np.full(n, -1, INDEX)
        upstream[a.place] = a.listed[a.begin] + a.shift
        depth, above = np.zeros(n, INDEX), upstream.copy()
        for _ in range(n):
            climbing = above >= 0
            if not climbing.any():
                order = np.lexsort((depth[a.place], a.component)).astype(INDEX)
                begin = np.searchsorted(a.component[order], np.arange(self.components * self.count + 1))
                feeds = np.bincount(upstream[upstream >= 0], minlength=n) > 0
                return Trees(begin, order, a.row, a.place, upstream[a.place], feeds[a.place])
            depth += climbing
            above[climbing] = upstream[above[climbing]]
        return None  # a cycle: everyone waits for everyone

    @cached_property
    def registers(self) -> tuple[Ints, Ints, Ints]:
        """Per node: the register it appears in, the upstream that keeps it, and how long a list it needs."""
        plan, n = self.plan, self.plan.size
        register, upstream, need = np.full(n, -1, np.int64), np.full(n, -1, np.int64), np.zeros(n, np.int64)
        p, home, numbers = plan.processes, plan.homes, dict[tuple[int, int], int]()
        for q in np.flatnonzero(p.recent).tolist():
            pool = int(p.candidates[q])
            for i in {int(p.node[q]), *plan.candidates(q).tolist()}:
                if home[i] >= 0:
                    register[i] = numbers.setdefault((int(home[i]), pool), len(numbers))
                    upstream[i] = home[i]
            need[p.node[q]] = p.ask[q]
        sizes = np.bincount(register[register >= 0], minlength=1)
        need = np.minimum(need, np.where(register >= 0, sizes[register] - 1, 0))
        return register, upstream, need

    def node_states(self) -> np.ndarray:
        """What a pass is to know of every place; nothing has happened yet."""
        if self.plain:
            return np.zeros(0, NODES)
        plan, own = self.plan, self.places.node
        nodes, asks = np.zeros(own.size * self.count + 1, NODES), np.zeros(plan.everyone, np.int64)
        queries = plan.processes.purpose == QUERIES
        asks[plan.processes.node[queries]] = plan.processes.ask[queries]
        nodes["asks"][:-1] = nodes["left"][:-1] = np.tile(asks[own], self.count)
        nodes["fell"], nodes["falls"] = -np.inf, np.inf
        clients = np.append(plan.clients, np.zeros(plan.everyone - plan.size, np.bool_))
        nodes["client"][:-1] = np.tile(clients[own], self.count)
        return nodes
