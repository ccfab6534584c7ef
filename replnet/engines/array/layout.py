"""A plan laid out for `array`: replications side by side, and each in components.

Replications exchange nothing, and nor do parts of a network that no chain of pulls connects. So R replications
of a plan with C components are R C components, and one pass runs through them one after the other. A replica that
no other node asks, and that asks all of its candidates each time, ties nothing together: it splits, with a place in
the component of every candidate. So M sources and a replica that downloads from all of them are M components.

A component of L sources has L slots for every place, one per copy that may be held there; the l-th of them belongs to
layer l. Results are added up per cell, which is a source and a group of one replication. Place p of the r-th
replication has number p + r P, where P is the number of places of one; slots, cells and rows likewise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np

from replnet.engines.array.passes import DIRECT, NODE_DTYPE, SourceColumns, Trees
from replnet.engines.array.pulls import Askers
from replnet.engines.plan import QUERIES, Plan
from replnet.laws import Flags, Ints, sorted_distinct
from replnet.network import INDEX, REPLICA, BestOfView, IndexLists, machine_memory
from replnet.processes import Scratch, distinct_with_places
from replnet.text import FieldError


class Places(NamedTuple):
    """The places of one replication in columns, ordered by component and then by node.

    A place is one node in one component; most nodes have one, a node that splits has several. `node` and `component`
    have an entry per place, and `first`, by node or choice of a view, has its first place.
    """

    node: Ints
    component: Ints
    first: Ints  # the first place of every node


BYTES_PER_SLOT = 64  # in all columns together


@final
@dataclass(frozen=True, eq=False)
class Layout:
    """`count` replications of a plan, laid out side by side for `array`; built once, then used for all such batches.

    With `sampled`, passes keep the instant until which a copy is fresh, else that at which it left its source. With
    `recorded`, they note the outcome of every pull, for a log. `scratch` is memory that batches share one after
    another.
    """

    plan: Plan
    count: int
    sampled: bool
    recorded: bool = False
    scratch: Scratch = field(default_factory=Scratch)

    def __post_init__(self) -> None:
        """Raise FieldError if the array engine cannot run the plan, or cannot record its polls if `recorded`."""
        if reason := self.plan.only_by_step:
            field, _, wrong = reason.partition(": ")
            raise FieldError(field, wrong, "use --engine step")
        if self.recorded and self.plan.has_two_way_polls:
            raise FieldError("trace", "the array engine records no polls that go both ways", "use --engine step")

    @cached_property
    def delay(self) -> float:
        """The constant delay of all messages, in units of time."""
        assert self.plan.constant_delay is not None
        return self.plan.constant_delay

    @cached_property
    def plain(self) -> bool:
        """Whether all nodes ask by name, get answers at once and keep what they get, so that plain_pass applies."""
        plan = self.plan
        return not (self.delay or plan.has_recent_polls or plan.pulls_may_fail or plan.clients.any() or self.recorded)

    @property
    def single(self) -> bool:
        """Whether no component has several sources, so that a place has one slot."""
        return bool(self.slots_per_place.max(initial=1) == 1)

    @cached_property
    def is_split_asker(self) -> Flags:
        """A mask of the nodes that only ask, every time all their candidates, and so tie no components together.

        Such a node gets a place in the component of every candidate. If bandwidth is limited, or contacts are polled,
        no node splits; nor does a node whose polls go both ways.
        """
        plan = self.plan
        p, lists = plan.processes, plan.lists
        splits = np.zeros(plan.size, np.bool_)
        splits[p.node[p.ask > 0]] = True
        splits &= plan.topology.role == REPLICA
        if plan.bandwidth is not None or plan.has_recent_polls:
            return np.zeros_like(splits)
        splits[lists.members_of(p.candidates[p.ask > 0])] = False
        splits[p.node[p.two_way]] = False
        splits[p.node[p.ask < lists.sizes[p.candidates]]] = False
        return np.asarray(splits)

    @cached_property
    def _component_of_node(self) -> Ints:
        """The component of every node that does not split, -1 for the others.

        They are numbered by their first nodes.
        """
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        plan = self.plan
        p, lists, n = plan.processes, plan.lists, plan.size
        if plan.has_recent_polls:  # all nodes wait until all have their contacts
            return np.zeros(n, np.int64)
        processes = np.flatnonzero(~self.is_split_asker[p.node] & (p.ask > 0))
        is_asked_list = np.zeros(lists.begin.size - 1, np.bool_)
        is_asked_list[p.candidates[processes]] = True
        chained = np.repeat(is_asked_list, lists.sizes)
        chained[lists.begin[:-1][lists.sizes > 0]] = False
        member = np.flatnonzero(chained)
        first_end = np.concatenate([lists.members[member - 1], p.node[processes]])
        second_end = np.concatenate([lists.members[member], lists.members[lists.begin[p.candidates[processes]]]])
        labels = connected_components(
            coo_array((np.ones(first_end.size, np.int8), (first_end, second_end)), shape=(n, n)), directed=False
        )[1]
        whole = np.flatnonzero(~self.is_split_asker)
        _, first_node, label = np.unique(labels[whole], return_index=True, return_inverse=True)
        component = np.full(n, -1, INDEX)
        component[whole] = np.argsort(np.argsort(first_node))[label]
        return component

    @cached_property
    def _split_asks(self) -> tuple[Ints, Ints, Ints]:
        """The asks of nodes that split, in three arrays with an entry per process and candidate.

        These are the number of the process, the candidate's index in lists.members, and its component; they are in
        order of process, then component.
        """
        p, lists = self.plan.processes, self.plan.lists
        processes = np.flatnonzero(self.is_split_asker[p.node] & (p.ask > 0))
        sizes, member = lists.sizes[p.candidates[processes]], lists.places_of(p.candidates[processes])
        component = self._component_of_node[lists.members[member]]
        order = np.lexsort((member, component, np.repeat(processes, sizes)))
        return np.repeat(processes, sizes)[order], member[order], component[order]

    @cached_property
    def places(self) -> Places:
        """The places of one replication, those of choices of views among them."""
        process, _, component = self._split_asks
        node = self.plan.processes.node[process]
        unsplit = np.ones(self.plan.size, np.bool_)
        unsplit[node] = False
        rest = np.flatnonzero(unsplit)
        width = self.plan.size_with_choices
        keys = np.concatenate([self._component_of_node[rest], component], dtype=np.int64) * width
        keys += np.concatenate([rest, node])
        of_views = []
        for view, first, count in self.plan.views:  # a place for every choice in each component of its view's nodes
            components = sorted_distinct(keys[np.isin(keys % width, view.nodes)] // width)
            of_views.append((components[:, None] * width + first + np.arange(count)).ravel())
        keys = np.concatenate([keys, *of_views])
        component, node = np.divmod(keys if (keys[1:] > keys[:-1]).all() else sorted_distinct(keys), width)
        first_place = np.empty(width, INDEX)
        first_place[node[::-1]] = np.arange(node.size, dtype=INDEX)[::-1]
        return Places(node.astype(INDEX), component.astype(INDEX), first_place)

    @cached_property
    def places_of_node(self) -> IndexLists:
        """The places of every node, and of every choice of a view, a list for each."""
        node = self.places.node
        return IndexLists.by_key(node, np.arange(node.size), self.plan.size_with_choices)

    def find_places(self, node: Ints, component: Ints) -> Ints:
        """Return the place of each node in the given component, or the node's first place if it has none there."""
        places, width = self.places, self.plan.size_with_choices
        if places.node.size == width:
            return places.first[node]
        keys = places.component.astype(np.int64) * width + places.node
        index = np.minimum(np.searchsorted(keys, component * width + node), keys.size - 1)
        is_there = (places.node[index] == node) & (places.component[index] == component)
        return np.where(is_there, index, places.first[node])

    @cached_property
    def component_count(self) -> int:
        """The number of components of one replication, those without a source among them."""
        return int(self.places.component.max(initial=-1)) + 1

    @cached_property
    def source_component(self) -> Ints:
        """The number of the component of every source, by row."""
        return self.places.component[self.places.first[self.plan.sources]]

    @cached_property
    def source_layer(self) -> Ints:
        """The layer of every source, by row: which of the slots of a place in its component is for copies of it."""
        order = np.argsort(self.source_component, kind="stable")
        layer = np.empty(self.source_component.size, np.int64)
        layer[order] = np.arange(self.source_component.size) - np.searchsorted(
            self.source_component[order], self.source_component[order]
        )
        return layer

    @cached_property
    def slots_per_place(self) -> Ints:
        """The number of slots of a place, by component: one per source, and one if there is no source."""
        return np.maximum(np.bincount(self.source_component, minlength=self.component_count), 1)

    @cached_property
    def first_slot(self) -> Ints:
        """The first slot of every place."""
        sizes = self.slots_per_place[self.places.component]
        return (np.cumsum(sizes) - sizes).astype(INDEX)

    @cached_property
    def slot_count(self) -> int:
        """The number of slots of one replication; raises FieldError if their copies would not fit the memory."""
        slots = int(self.slots_per_place[self.places.component].sum())
        if slots * BYTES_PER_SLOT > machine_memory():
            most_sources = int(self.slots_per_place.max())
            size = f"{slots * BYTES_PER_SLOT / 1e9:.2g} GB of memory"
            wrong = f"{most_sources:,} sources that meet in answers, lines or faults take {size}"
            raise FieldError("network", wrong, "fewer sources; or no queries, bandwidth and crashes")
        return slots

    @cached_property
    def place_of_slot(self) -> Ints:
        """The place of every slot of one replication."""
        return np.repeat(np.arange(self.places.node.size, dtype=INDEX), self.slots_per_place[self.places.component])

    @cached_property
    def row_of_slot(self) -> Ints:
        """The row of the source of every slot of one replication, 0 if its component has no source."""
        first = np.cumsum(self.slots_per_place) - self.slots_per_place
        rows = np.zeros(int(self.slots_per_place.sum()), INDEX)
        rows[first[self.source_component] + self.source_layer] = np.arange(self.source_component.size)
        component = self.places.component[self.place_of_slot]
        return np.asarray(rows[first[component] + np.arange(self.slot_count) - self.first_slot[self.place_of_slot]])

    @cached_property
    def has_source(self) -> Flags:
        """A mask of the slots of one replication that are in components with a source."""
        with_source = np.bincount(self.source_component, minlength=self.component_count) > 0
        return np.asarray(with_source[self.places.component[self.place_of_slot]])

    def find_slots(self, node: Ints, row: Ints) -> Ints:
        """Return the slot, in one replication, for a copy of each source in `row` at the node beside it in `node`.

        A node that has no place in the component of the source gets a slot of its first place.
        """
        return np.asarray(self.first_slot[self.find_places(node, self.source_component[row])] + self.source_layer[row])

    @cached_property
    def is_copy_slot(self) -> Flags:
        """A mask of the slots of one replication that may hold a copy, those of views included, of clients excluded."""
        node, row = self.plan.reachable_sources.owners, self.plan.reachable_sources.members
        result, keeps_copies = np.zeros(self.slot_count, np.bool_), ~self.plan.clients[node]
        result[self.find_slots(node[keeps_copies], row[keeps_copies])] = True
        for _, node, row in self._view_pairs:
            result[self.find_slots(node, row)] = True
        return result

    @property
    def _view_pairs(self) -> Iterator[tuple[BestOfView, Ints, Ints]]:
        """Every view with all pairs of one of its choices and a source that its nodes can hear of.

        The pairs are two arrays: numbers of choices, and rows of sources.
        """
        for view, first, count in self.plan.views:
            rows = np.unique(np.concatenate([self.plan.reachable_sources.of(i) for i in view.nodes.tolist()]))
            yield view, np.repeat(first + np.arange(count), rows.size), np.tile(rows, count)

    def view_lists(self, chosen: list[Ints]) -> tuple[IndexLists, IndexLists]:
        """Return two lists of places for every place: the choices of views that look at it, and those that it looks at.

        Choices count by their own places. `chosen` has the nodes of every choice, in the order of choices. Only places
        of choices look at any.
        """
        places, n = self.places, self.places.node.size
        pairs = [np.empty((0, 2), np.int64)]
        for choice, nodes in enumerate(chosen, self.plan.size):
            choice_places = np.flatnonzero(places.node == choice)
            who = np.array(
                [self.find_places(nodes, np.full(nodes.size, c)) for c in places.component[choice_places]]
            ).reshape(-1)
            pairs.append(np.column_stack([who, np.repeat(choice_places, nodes.size)]))
        viewed, viewers = np.concatenate(pairs).T
        return IndexLists.by_key(viewed, viewers, n), IndexLists.by_key(viewers, viewed, n)

    @cached_property
    def cell_of_slot(self) -> Ints:
        """The cell of every slot of one replication; the number of cells if the slot counts for none."""
        plan, cells = self.plan, self.plan.cells[0].size
        node, row = plan.counted_sources.owners, plan.counted_sources.members
        result, deaf = np.full(self.slot_count, cells, INDEX), plan.reachable_sources.sizes[node] == 0
        slot = np.where(deaf, self.first_slot[self.places.first[node]], self.find_slots(node, row))
        result[slot] = plan.cell_numbers(row, plan.group[node])
        for view, node, row in self._view_pairs:
            result[self.find_slots(node, row)] = plan.cell_numbers(
                row, np.full(row.size, plan.groups.index(view.group))
            )
        return result

    def repeat(self, column: Ints, step: int) -> Ints:
        """Return a column of numbers for all replications side by side, each `step` further on than the one before.

        The first replication has the numbers as they are.
        """
        return np.asarray((np.arange(self.count, dtype=INDEX)[:, None] * INDEX(step) + column.astype(INDEX)).ravel())

    @cached_property
    def sources(self) -> SourceColumns:
        """The sources of all replications in columns, component by component."""
        order, s, n = (
            np.argsort(self.source_component, kind="stable"),
            self.source_component.size,
            self.places.node.size,
        )
        first = np.searchsorted(self.source_component[order], np.arange(self.component_count + 1))
        source_at = np.full(n * self.count + 1, -1, INDEX)
        place = self.repeat(self.places.first[self.plan.sources[order]], n)
        source_at[place] = np.arange(place.size)
        return SourceColumns(
            begin=np.append(self.repeat(first[:-1], s), s * self.count),
            place=place,
            row=self.repeat(order, s),
            layer=np.tile(self.source_layer[order], self.count),
            source_at=source_at,
        )

    @cached_property
    def clocks(self) -> tuple[Ints, Ints]:
        """The clocks of one replication: those of updates, and those of pulls.

        The latter are in the order of processes unless several processes share one.
        """
        clock, s = self.plan.processes.clock, self.plan.sources.size
        once = np.bincount(clock[s:]).max(initial=0) <= 1
        return clock[:s], clock[s:] if once else distinct_with_places(clock[s:])[0]

    @property
    def row_of_clock(self) -> Ints:
        """The position of every clock among those of pulls (the second of `clocks`), 0 for clocks of updates."""
        row = np.zeros(self.plan.clocks.rate.size, INDEX)
        row[self.clocks[1]] = np.arange(self.clocks[1].size, dtype=INDEX)
        return row

    @cached_property
    def askers(self) -> Askers:
        """The askers of all replications in columns; each run fills in `phase`."""
        p, lists, places = self.plan.processes, self.plan.lists, self.places
        process, member, component = self._split_asks
        first_ask = np.flatnonzero((np.diff(process, prepend=-1) != 0) | (np.diff(component, prepend=-1) != 0))
        is_update_or_split = np.arange(p.node.size) < self.plan.sources.size
        is_update_or_split[process] = True
        unsplit = np.flatnonzero(~is_update_or_split).astype(INDEX)
        candidates = np.concatenate(
            [places.first[lists.members], places.first[lists.members[member]], np.zeros(1, INDEX)]
        )
        candidates = candidates.astype(np.uint32)  # leaves room for DIRECT
        numbers = np.concatenate([np.zeros(lists.members.size, INDEX), member - lists.begin[p.candidates[process]]])
        if not self.single:
            candidates[:-1] |= np.where(
                self.plan.topology.role[places.node[candidates[:-1]]] == 0, np.uint32(DIRECT), np.uint32(0)
            )
        number = np.diff(first_ask, append=process.size).astype(INDEX)
        processes = np.concatenate([unsplit, process[first_ask]], dtype=INDEX, casting="same_kind")
        order = np.argsort(processes, kind="stable") if process.size else slice(None)
        processes, n = processes[order], places.node.size

        def merge(of_unsplit: Ints, of_splits: Ints) -> Ints:
            """Return a column of processes that do not split and of asks of the others, in the order of processes.

            Both arguments are in the order of their own.
            """
            return np.concatenate([of_unsplit, of_splits], dtype=INDEX, casting="same_kind")[order]

        def repeat_column(column: Any) -> Any:
            """Return a column repeated for all replications."""
            return np.tile(column, self.count)

        component_of_asker = merge(places.component[places.first[p.node[unsplit]]], component[first_ask])
        return Askers(
            row=self.repeat(self.row_of_clock[p.clock[processes]], self.clocks[1].size),
            process=repeat_column(processes),
            place=self.repeat(self.find_places(p.node[processes], component_of_asker), n),
            component=self.repeat(component_of_asker, self.component_count),
            pulls=repeat_column(merge(p.ask[unsplit] << p.two_way[unsplit], number)),
            process_asks=repeat_column(p.ask[processes]),
            recent=repeat_column(p.recent[processes]),
            two_way=repeat_column(p.two_way[processes]),
            turns=repeat_column(p.turns[processes]),
            phase=np.zeros(processes.size * self.count, INDEX),
            begin=repeat_column(merge(lists.begin[p.candidates[unsplit]], lists.members.size + first_ask)),
            size=repeat_column(merge(lists.sizes[p.candidates[unsplit]], number)),
            own_position=repeat_column(merge(self.plan.own_position[unsplit], number)),
            shift=np.repeat(np.arange(self.count, dtype=INDEX) * INDEX(n), processes.size),
            candidates=candidates,
            numbers=numbers.astype(INDEX),
        )

    @cached_property
    def trees(self) -> Trees | None:
        """The pulls of all replications as trees, upstreams first; None unless passes over trees apply.

        They do if freshness is sampled, the layout is plain and single, each replica asks one other node by one
        process, and no replicas ask in a circle.
        """
        askers, n = self.askers, self.places.node.size * self.count
        if not (self.sampled and self.plain and self.single and (askers.pulls == 1).all() and (askers.size == 1).all()):
            return None
        if np.bincount(askers.place, minlength=n).max(initial=0) > 1 or (askers.turns > 1).any() or self.plan.views:
            return None
        upstream = np.full(n, -1, INDEX)
        upstream[askers.place] = askers.candidates[askers.begin] + askers.shift
        depth, above = np.zeros(n, INDEX), upstream.copy()
        for _ in range(n):
            climbing = above >= 0
            if not climbing.any():
                order = np.lexsort((depth[askers.place], askers.component)).astype(INDEX)
                begin = np.searchsorted(askers.component[order], np.arange(self.component_count * self.count + 1))
                feeds = np.bincount(upstream[upstream >= 0], minlength=n) > 0
                return Trees(begin, order, askers.row, askers.place, upstream[askers.place], feeds[askers.place])
            depth += climbing
            above[climbing] = upstream[above[climbing]]
        return None  # a cycle: no replica comes first

    @cached_property
    def registers(self) -> tuple[Ints, Ints, Ints]:
        """Three arrays by node: its register's number, the node that keeps this, and how many contacts it needs.

        A register lists the nodes of a pool that have the same upstream, which keeps it. The first two are -1 for nodes
        in no register, and the last is 0 for nodes that poll no contacts.
        """
        plan, n = self.plan, self.plan.size
        register, upstream, need = np.full(n, -1, np.int64), np.full(n, -1, np.int64), np.zeros(n, np.int64)
        p, first_upstream, numbers = plan.processes, plan.first_upstreams, dict[tuple[int, int], int]()
        for q in np.flatnonzero(p.recent).tolist():
            pool = int(p.candidates[q])
            for i in {int(p.node[q]), *plan.candidates(q).tolist()}:
                if first_upstream[i] >= 0:
                    register[i] = numbers.setdefault((int(first_upstream[i]), pool), len(numbers))
                    upstream[i] = first_upstream[i]
            need[p.node[q]] = p.ask[q]
        sizes = np.bincount(register[register >= 0], minlength=1)
        need = np.minimum(need, np.where(register >= 0, sizes[register] - 1, 0))
        return register, upstream, need

    def node_states(self) -> np.ndarray:
        """Return the initial state of every place, and of one more, in columns; empty if the layout is plain.

        The columns are those of NODE_DTYPE.
        """
        if self.plain:
            return np.zeros(0, NODE_DTYPE)
        plan, node_of_place = self.plan, self.places.node
        nodes, asks = (
            np.zeros(node_of_place.size * self.count + 1, NODE_DTYPE),
            np.zeros(plan.size_with_choices, np.int64),
        )
        queries = plan.processes.purpose == QUERIES
        asks[plan.processes.node[queries]] = plan.processes.ask[queries]
        nodes["asks"][:-1] = nodes["left"][:-1] = np.tile(asks[node_of_place], self.count)
        nodes["fell"], nodes["falls"] = -np.inf, np.inf
        clients = np.append(plan.clients, np.zeros(plan.size_with_choices - plan.size, np.bool_))
        nodes["client"][:-1] = np.tile(clients[node_of_place], self.count)
        return nodes
