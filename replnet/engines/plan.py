"""What the engines derive from a network: which sources every node can hear of, and what follows from that for a run.

The columns themselves are those of its topology (network/topology.py). A source is known by its row: its place among
the processes, where updates come first. At equal instants the lower process goes first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, final

import numpy as np

from replnet.laws import Flags, Floats, Ints, Law, sorted_distinct
from replnet.network import (
    DOWNLOADS,
    INDEX,
    POLLS,
    QUERIES,
    UPDATES,
    BestOfView,
    Clocks,
    Faults,
    IndexLists,
    Processes,
    Topology,
    faults,
    part_of,
    source_slices,
)
from replnet.processes import PAST, Words, streams, uniforms

if TYPE_CHECKING:
    from replnet.network import Network

__all__ = ["DOWNLOADS", "POLLS", "QUERIES", "UPDATES", "Plan", "plan"]


MOST_CHOICES = 20  # choices of nodes per view
COPIES_OF_SLICE = 1 << 13  # copies in a slice of very many sources: their columns fit the cache
COLUMNS = (
    "faults", "sources", "rates", "lists", "own_position", "pull_processes", "only_by_step", "has_recent_polls",
    "pulls_may_fail", "event_rate", "pull_rate", "reachable_sources", "counted_sources", "views", "size_with_choices",
    "cells", "copies", "weight", "default_rows", "rows", "direct_copies", "unasked_copies", "needs_no_past",
    "update_settles_unknown",
)  # fmt: skip
FEW_SOURCES = 32  # up to so many sources, the network is searched from each of them in turn


def plan(network: Network) -> Plan:
    """Return the plan of a network: what the engines derive from it.

    All columns that every run needs are made at once, unless the network is emulated in several slices of its sources;
    then each is made when it is first asked for.
    """
    compiled = Plan(network.topology)
    if len(compiled.slices) == 1:
        compiled.make_columns()
    return compiled


def plan_of(network: Network) -> Plan:
    """Return the plan of a network, which is made once and kept with it."""
    return network.derive(plan)


@final
@dataclass(eq=False)
class Plan:
    """The processes of a network in columns, its groups and cells, and which sources each node can hear of.

    A process is named by its number, a source by its row: its place among the processes, where updates come first.
    `size` is the number of nodes, `clocks` are those that processes take their instants from, and `lists` those of
    candidates, which processes name by number. `groups` are their names, and `group` has the number of each node's, -1
    for sources; `clients` is a mask of nodes. `bandwidth` is in messages per unit of time, by node, inf without a
    limit; None if no node has one. `delay` is that of messages on links without one of their own, and `delays` has the
    others by (upstream, downstream).
    """

    topology: Topology

    size: int = field(init=False)  # the number of nodes
    processes: Processes = field(init=False)  # updates first
    clocks: Clocks = field(init=False)  # which processes take their instants from
    lists: IndexLists = field(init=False)  # of candidates, which processes name by number
    groups: tuple[str, ...] = field(init=False)  # their names, which tables have rows of
    group: Ints = field(init=False)  # of every node, by number; -1 for sources
    clients: Flags = field(init=False)  # a mask of nodes
    bandwidth: Floats | None = field(init=False)  # of every node, inf without a limit; None if none has a limit
    delay: Law | float = field(init=False)  # of messages on links without a delay of their own
    delays: dict[tuple[int, int], Law | float] = field(init=False)  # of links with one, by (upstream, downstream)

    def __post_init__(self) -> None:
        topology = self.topology
        self.size, self.processes, self.clocks = topology.size, topology.processes, topology.clocks
        self.lists, self.groups, self.group = topology.lists, topology.groups, topology.group
        self.clients, self.bandwidth = topology.clients, topology.bandwidth
        self.delay, self.delays = topology.delay, topology.delays

    def make_columns(self) -> None:
        """Make all columns that every run needs, which are otherwise made when first asked for."""
        for name in COLUMNS:
            getattr(self, name)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all nodes, by number; they take much memory if nodes are many."""
        return self.topology.names

    @property
    def queue(self) -> int:
        """The most messages that may be in line at a node with limited bandwidth, the one being sent included."""
        return int(self.topology.about.get("queue", 1000))

    @property
    def replicas_pay_for_answers(self) -> bool:
        """Whether replicas, and not only sources, spend bandwidth on answers to replicas."""
        return self.topology.about.get("charge") == "both"

    @cached_property
    def faults(self) -> Faults:
        """The crashes, cuts and losses of the network, by node number."""
        return faults(self.topology)

    @cached_property
    def sources(self) -> Ints:
        """The node of every source, in the order of rows."""
        return np.asarray(self.processes.node[self.processes.purpose == UPDATES])

    @property
    def update_clocks(self) -> Ints:
        """The clock of the updates of every source, in the order of rows."""
        return self.processes.clock[: self.sources.size]

    @property
    def pull_processes(self) -> Ints:
        """The numbers of the downloads, polls and queries, which come behind the updates."""
        return np.arange(self.sources.size, self.processes.node.size)

    @property
    def rates(self) -> Floats:
        """The number of wakes of every process per unit of time; 0 for processes that never wake."""
        return np.asarray(self.clocks.rate[self.processes.clock] / self.processes.turns)

    def law(self, process: int) -> Law:
        """Return the law of the intervals of a process, by its number; its mean is to be scaled to the rate in `rates`.

        Of replicas that take turns it is the law of the wakes of all of them together.
        """
        law: Law = self.topology.laws[self.clocks.law[self.processes.clock[process]]]
        return law

    def interval_scale(self, processes: Ints) -> Floats:
        """Return how many times longer the intervals of the clocks of these processes are than their laws say.

        It is inf for clocks that never ring. `processes` are numbers; of sources, these are their rows.
        """
        clock = self.processes.clock[processes]
        shapes = np.array([law.rate for law in self.topology.laws])[self.clocks.law[clock]]
        with np.errstate(divide="ignore"):
            return np.asarray(shapes / self.clocks.rate[clock])

    def candidates(self, process: int) -> Ints:
        """Return the numbers of the nodes that a process, by its number, may ask; its own node may be among them."""
        return self.lists.of(int(self.processes.candidates[process]))

    @cached_property
    def _by_node(self) -> IndexLists:
        """The numbers of the processes of every node, a list per node."""
        node = self.processes.node
        return IndexLists.by_key(node, np.arange(node.size), self.size)

    def of_node(self, node: int) -> Ints:
        """Return the numbers of the processes of a node."""
        return self._by_node.of(node)

    @cached_property
    def own_position(self) -> Ints:
        """The position of every process's own node in its list of candidates, past the end if it is not in it."""
        p, lists = self.processes, self.lists
        positions, offset = lists.sizes[p.candidates].astype(INDEX), np.zeros(self.size, INDEX)
        pooled = np.flatnonzero(p.candidates < len(self.topology.pools))
        pooled = pooled[np.argsort(p.candidates[pooled], kind="stable")]
        for sharing in np.split(pooled, np.flatnonzero(np.diff(p.candidates[pooled])) + 1):
            if sharing.size:
                members = self.candidates(int(sharing[0]))
                offset[members] = np.arange(members.size, dtype=INDEX) - members.size
                positions[sharing] += offset[p.node[sharing]]
                offset[members] = 0
        return positions

    @cached_property
    def contact_pools(self) -> dict[int, int]:
        """The number of its pool, by node, of each node for which its upstream keeps a list of recent contacts."""
        pools: dict[int, int] = {}
        for q in np.flatnonzero(self.processes.recent).tolist():
            pool = int(self.processes.candidates[q])
            for member in self.candidates(q).tolist() if pool not in pools.values() else ():
                pools.setdefault(member, pool)
        return pools

    @cached_property
    def contacts_needed(self) -> Ints:
        """The number of contacts that every node needs before it polls as specified; 0 if it polls no recent contacts.

        It is as many as a poll asks, or all other nodes of the pool that have the same upstream if these are fewer.
        """
        p, needed, upstream = self.processes, np.zeros(self.size, np.int64), self.first_upstreams
        for q in np.flatnonzero(p.recent).tolist():
            node, members = int(p.node[q]), self.candidates(q)
            needed[node] = min(int(p.ask[q]), int((upstream[members] == upstream[node]).sum()) - int(node in members))
        return needed

    @cached_property
    def reachable_sources(self) -> IndexLists:
        """The rows of the sources that every node can hear of, so that it may hold a copy of them, a list per node."""
        if self.sources.size <= FEW_SOURCES:
            node, row = self._search_each_source()
        else:
            node, row = self._spread_all_sources()
        order = np.argsort(row, kind="stable")
        return IndexLists.by_key(node[order], row[order], self.size)

    @cached_property
    def first_upstreams(self) -> Ints:
        """The first upstream of every node, that is the first candidate of its downloads; -1 without one."""
        p, upstream = self.processes, np.full(self.size, -1)
        downloads = np.flatnonzero((p.purpose == DOWNLOADS) & (self.lists.sizes[p.candidates] > 0))
        upstream[p.node[downloads]] = self.lists.members[self.lists.begin[p.candidates[downloads]]]
        return upstream

    @property
    def copy_paths(self) -> IndexLists:
        """The graph of the ways that copies take: from nodes to the lists that they are in, from lists to their askers.

        Lists are numbered past all nodes. A node that polls recent contacts asks a further list: the members of its
        pool that share its upstream. With two-way polls, copies also go from askers, through lists of their own, to all
        members.
        """
        p, lists = self.processes, self.lists
        processes = np.flatnonzero(p.ask > 0)
        asker, list_asked, recent = p.node[processes], p.candidates[processes].astype(np.int64), p.recent[processes]
        member, list_of, end = [lists.members], [lists.owners.astype(np.int64)], lists.begin.size - 1
        if recent.any():
            upstream = self.first_upstreams
            kinds = np.column_stack([list_asked[recent], upstream[asker[recent]]])
            kinds, number = np.unique(kinds, axis=0, return_inverse=True)
            list_asked[recent] = end + number.ravel()
            for pool, upstream_shared in kinds.tolist():
                members = lists.of(pool)
                member.append(members[upstream[members] == upstream_shared])
                list_of.append(np.full(member[-1].size, end))
                end += 1
        begins = [*member, self.size + list_asked]
        ends = [*(self.size + number for number in list_of), asker]
        if (back := p.two_way[processes]).any():
            begins += [asker[back], *(self.size + end + number for number in list_of)]
            ends += [self.size + end + list_asked[back], *member]
            end *= 2
        return IndexLists.by_key(np.concatenate(begins), np.concatenate(ends), self.size + end)

    def _search_each_source(self) -> tuple[Ints, Ints]:
        """Return all pairs in which a node can hear of a source, as an array of nodes and one of rows of sources.

        The graph is searched once per source.
        """
        paths, pairs = self.copy_paths, []
        for row, source in enumerate(self.sources.tolist()):
            nodes = np.flatnonzero(paths.steps_from([source])[: self.size] > 0)
            pairs.append((nodes, np.full(nodes.size, row)))
        return np.concatenate([node for node, _ in pairs]), np.concatenate([row for _, row in pairs])

    def _spread_all_sources(self) -> tuple[Ints, Ints]:
        """Return all pairs in which a node can hear of a source, as an array of nodes and one of rows of sources.

        For many sources at once: copies spread from members of lists to their askers until no node gets another one.
        """
        from scipy.sparse import csr_array

        paths, rows = self.copy_paths, self.sources.size
        ends = paths.begin.size - 1
        links = csr_array((np.ones(paths.members.size, np.int8), paths.members, paths.begin), shape=(ends, ends))
        held, before = csr_array((np.ones(rows), (self.sources, np.arange(rows))), shape=(links.shape[0], rows)), -1
        while held.nnz != before:
            before = held.nnz
            held = held + links.T @ held
            held.data[:] = 1.0
        node, row = (ends.astype(np.int64) for ends in held.nonzero())
        is_copy = (node < self.size) & (node != self.sources[row])
        return node[is_copy], row[is_copy]

    @cached_property
    def most_hops(self) -> int:
        """The most pulls that a copy takes from its source to a node that can hear of it, each by the shortest way."""
        paths = self.copy_paths
        return max(int(paths.steps_from([source])[: self.size].max()) // 2 for source in self.sources.tolist())

    def origins(self, nodes: Ints) -> Flags:
        """Return a mask of nodes: these and all from which their copies may come, directly or not."""
        return np.asarray(self._ways_back.steps_from(nodes)[: self.size] >= 0)

    @cached_property
    def _ways_back(self) -> IndexLists:
        """The `copy_paths` turned round: from askers to the lists that they ask, from lists to their members."""
        return self.copy_paths.turned_round

    @cached_property
    def can_hold(self) -> Flags:
        """The mask can_hold[s, i] of whether node i can hold a copy of the source in row s: an array of both sizes.

        It is for networks with few sources only, as it takes that much memory.
        """
        result = np.zeros((self.sources.size, self.size), np.bool_)
        result[self.reachable_sources.members, self.reachable_sources.owners] = True
        return result

    @cached_property
    def counted_sources(self) -> IndexLists:
        """The rows of the sources for which every node counts in tables, a list per node: those that it can hear of.

        A node that can hear of none counts for the first source, and is never fresh.
        """
        deaf = (self.reachable_sources.sizes == 0) & (self.group >= 0)
        if not deaf.any():
            return self.reachable_sources
        begin = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.reachable_sources.sizes + deaf)])
        rows = np.zeros(begin[-1], np.int64)
        rows[np.repeat(~deaf, np.diff(begin))] = self.reachable_sources.members
        return IndexLists(begin, rows)

    @cached_property
    def cells(self) -> tuple[Ints, Ints]:
        """The cells, in which results are added up, as two arrays: the row of a source, and the number of a group."""
        width = max(len(self.groups), 1)
        keys = [self.counted_sources.members * width + self._counted_groups]
        for view, *_ in self.views:
            rows = np.concatenate([self.reachable_sources.of(i) for i in view.nodes.tolist()])
            keys.append(rows * width + self.groups.index(view.group))
        return np.divmod(sorted_distinct(np.concatenate(keys)), width)

    @property
    def _counted_groups(self) -> Ints:
        """The group of the node for every entry of `counted_sources`."""
        return np.asarray(np.repeat(self.group, self.counted_sources.sizes))

    def cell_numbers(self, rows: Ints, groups: Ints) -> Ints:
        """Return the number of the cell of each pair of a source's row and a group; every pair must have one."""
        (row_of, group_of), width = self.cells, max(len(self.groups), 1)
        return np.searchsorted(row_of * width + group_of, rows * width + groups)

    def members(self, group: int) -> Ints:
        """Return the numbers of the nodes of a group, by its number; of a view, the numbers of its choices.

        Those of choices are past all nodes, from `size` on.
        """
        nodes = np.flatnonzero(self.group == group)
        chosen = [first + np.arange(n) for view, first, n in self.views if self.groups[group] == view.group]
        return np.concatenate([nodes, *chosen])

    @cached_property
    def views(self) -> list[tuple[BestOfView, int, int]]:
        """The views, each with the number of its first choice and the number of its choices.

        A view shows what a client would find that asks some nodes at random. A choice is one such set of nodes; choices
        are numbered past all nodes, and there are MOST_CHOICES per view at most.
        """
        counts = [min(comb(view.nodes.size, view.ask), MOST_CHOICES) for view in self.topology.views]
        first = self.size + np.cumsum([0, *counts])
        return list(zip(self.topology.views, first.tolist(), counts, strict=False))

    @property
    def size_with_choices(self) -> int:
        """The number of nodes and of all choices of views."""
        return self.size + sum(count for *_, count in self.views)

    def choices(self, run: Words) -> list[Ints]:
        """Return the nodes of every choice of all views, an array each, in the order of the choices' numbers.

        These are all combinations of a view's nodes if there are MOST_CHOICES at most, else as many random ones. `run`
        has the seed words of the replication, for the random ones.
        """
        choices: list[Ints] = []
        for view, _, count in self.views:
            m = view.nodes.size
            if comb(m, view.ask) <= MOST_CHOICES:
                choices += [view.nodes[list(places)] for places in combinations(range(m), view.ask)]
            else:
                chance = streams(run, np.zeros(1, np.uint64), np.full(1, DOWNLOADS), PAST)
                order = np.argsort(uniforms(chance, np.arange(count * m)).reshape(-1, m), axis=1)
                choices += list(view.nodes[order[:, : view.ask]])
        return choices

    @cached_property
    def copies(self) -> Floats:
        """The number of copies that count for every cell; 0 for cells of clients."""
        keeps_copies = np.repeat(~self.clients, self.counted_sources.sizes)
        cells = self.cell_numbers(self.counted_sources.members[keeps_copies], self._counted_groups[keeps_copies])
        counts = np.bincount(cells, minlength=self.cells[0].size).astype(float)
        for view, _, count in self.views:
            counts[self.cells[1] == self.groups.index(view.group)] += count
        return counts

    @cached_property
    def copies_without_source(self) -> Floats:
        """The number of replicas that can hear of no source, by cell; they count for the first source's cells."""
        deaf = np.flatnonzero((self.reachable_sources.sizes == 0) & (self.group >= 0) & ~self.clients)
        cells = self.cell_numbers(np.zeros_like(deaf), self.group[deaf])
        return np.bincount(cells, minlength=self.cells[0].size).astype(float)

    @cached_property
    def slices(self) -> list[slice]:
        """The slices of rows of its sources that a network can be emulated in, one after another; mostly just one."""
        return source_slices(self.topology, COPIES_OF_SLICE)

    def part(self, number: int) -> Plan:
        """Return the plan of the network with one of the `slices` of its sources alone, by the number of the slice."""
        return Plan(part_of(self.topology, self.slices[number]))

    @cached_property
    def weight(self) -> Floats:
        """The weight that the source of every cell has in means over sources, 1 on average over all sources."""
        rows, weights = self.cells[0], self.topology.weights
        return np.ones(rows.size) if weights is None else weights[rows]

    @cached_property
    def group_source_rows(self) -> dict[str, tuple[int, int]]:
        """The rows `GROUP of SOURCE` that tables may have: (group's number, source's row) by name.

        Only groups that can hear of several sources have them, and none if sources have weights.
        """
        rows, groups = self.cells
        several = np.bincount(groups, minlength=len(self.groups)) > 1
        cells = np.flatnonzero(several[groups]) if self.topology.weights is None else np.empty(0, np.int64)
        cells = cells[np.lexsort((rows[cells], groups[cells]))]
        rows_of_cells = [(self.names[self.sources[rows[c]]], int(groups[c]), int(rows[c])) for c in cells.tolist()]
        return {f"{self.groups[g]} of {source}": (g, row) for source, g, row in rows_of_cells}

    @cached_property
    def shown_parts(self) -> dict[str, tuple[int, int]]:
        """The rows of a group and a source that every table has: (group's number, source's row) by name."""
        return {name: (self.groups.index(group), row) for name, (group, row) in self.topology.shown_sources.items()}

    @cached_property
    def rows(self) -> dict[str, tuple[int, int]]:
        """The rows that a table may have, in order: (group's number, source's row) by name.

        The row of a source is -1 for a whole group.
        """
        groups = {name: (g, -1) for g, name in enumerate(self.groups)}
        rows = self.group_source_rows | groups  # a group wins over a part of the same name
        return dict(sorted(rows.items(), key=lambda row: row[1])) | self.shown_parts

    @property
    def default_rows(self) -> dict[str, tuple[int, int]]:
        """The rows that every table has: those of groups, and `shown_parts`."""
        return {name: cell for name, cell in self.rows.items() if cell[1] < 0} | self.shown_parts

    @property
    def constant_delay(self) -> float | None:
        """The one delay of all messages in units of time, or None if delays differ between links or follow a law."""
        return None if isinstance(self.delay, Law) or self.delays else self.delay

    @cached_property
    def has_recent_polls(self) -> bool:
        """Whether any replica polls the latest contacts of its upstream."""
        return bool(self.processes.recent.any())

    @cached_property
    def has_two_way_polls(self) -> bool:
        """Whether any replica hands its copies to the nodes that it polls."""
        return bool(self.processes.two_way.any())

    @property
    def pulls_may_fail(self) -> bool:
        """Whether a pull may remain without a reply: there are faults, or bandwidth is limited.

        Then only queries that bring a copy count as answered.
        """
        return bool(self.faults) or self.bandwidth is not None

    @property
    def only_by_step(self) -> str:
        """The reason why the array engine cannot run this network; empty if it can."""
        if self.constant_delay is None:
            return "delay: the array engine takes one constant delay for all messages"
        if self.has_recent_polls and self.faults:
            return "faults: the array engine takes none with select: recent"
        if self.has_two_way_polls and (self.delay or self.has_recent_polls or self.pulls_may_fail):
            return "two_way: the array engine takes no delay, limits, faults or recent contacts with it"
        p = self.processes
        if (
            self.has_two_way_polls
            and np.isin(self.sources, self.lists.members_of(sorted_distinct(p.candidates[p.two_way]))).any()
        ):
            return "two_way: the array engine takes no polls of sources with it"
        return ""

    @property
    def update_settles_unknown(self) -> bool:
        """Whether an update settles the freshness of all older copies: they are stale, and certainly still held."""
        return not self.has_recent_polls and not self.faults.empties

    @cached_property
    def slowest_pull_interval(self) -> float:
        """The longest mean interval, in units of time, of a process of downloads or polls that wakes; 0 without any."""
        pulls = np.isin(self.processes.purpose, (DOWNLOADS, POLLS)) & (self.rates > 0)
        return float(1 / self.rates[pulls].min()) if pulls.any() else 0.0

    @cached_property
    def longest_pull_gap(self) -> float:
        """The longest mean time between wakes of a node to pull, downloads and polls together; 0 if none wakes."""
        pulls = np.isin(self.processes.purpose, (DOWNLOADS, POLLS))
        rate_of_node = np.bincount(self.processes.node[pulls], self.rates[pulls], self.size)
        return float(1 / rate_of_node[rate_of_node > 0].min()) if rate_of_node.any() else 0.0

    @cached_property
    def pull_rate(self) -> float:
        """The number of pulls of all nodes together per unit of time; a wake that asks k nodes sends k."""
        return float(self.rates @ self.processes.ask)

    @cached_property
    def event_rate(self) -> float:
        """The number of wakes of all processes together, updates included, per unit of time."""
        return float(self.rates.sum())

    @cached_property
    def direct_copies(self) -> tuple[Ints, Ints, Ints]:
        """The copies whose age is that of one process, as arrays of processes, nodes and rows of sources.

        They belong to replicas that ask sources alone, and every time all of their list. There are none if delays
        differ, if pulls may fail, or if replicas poll recent contacts.
        """
        none = np.empty(0, np.int64)
        if self.constant_delay is None or self.has_recent_polls or self.pulls_may_fail:
            # A download may have had another delay, or have failed; and with lists of contacts the start of a path
            # forgets all copies.
            return none, none, none
        p, lists, asking = self.processes, self.lists, self.pull_processes
        row = np.full(self.size, -1)
        row[self.sources] = np.arange(self.sources.size)
        of_source = np.concatenate([np.zeros(1, np.int64), np.cumsum(row[lists.members] >= 0)])
        is_direct = (of_source[lists.begin[1:]] - of_source[lists.begin[:-1]] == lists.sizes)[p.candidates[asking]]
        is_direct &= (p.ask[asking] == lists.sizes[p.candidates[asking]]) & (p.purpose[asking] == DOWNLOADS)
        otherwise = np.zeros(self.size, np.bool_)
        otherwise[p.node[asking[~is_direct]]] = True
        otherwise[lists.members_of(sorted_distinct(p.candidates[p.two_way]))] = True
        processes = asking[is_direct & ~otherwise[p.node[asking]]]
        sizes, member = lists.sizes[p.candidates[processes]], lists.places_of(p.candidates[processes])
        return np.repeat(processes, sizes), np.repeat(p.node[processes], sizes), row[lists.members[member]]

    @cached_property
    def unasked_copies(self) -> tuple[Ints, Ints]:
        """The copies that never come, as no process ever asks their source: arrays of replicas and rows of sources."""
        p, lists = self.processes, self.lists
        is_asked = np.zeros(self.size, np.bool_)
        is_asked[lists.members_of(p.candidates[(self.rates > 0) & (p.ask > 0)])] = True
        node, row = self.reachable_sources.owners, self.reachable_sources.members
        is_unasked = ~is_asked[self.sources[row]] & ~self.clients[node]
        return node[is_unasked], row[is_unasked]

    @cached_property
    def download_clocks(self) -> tuple[Ints, Ints]:
        """The clocks that serve only to download one source each, and the rows of these sources, as two arrays."""
        p, lists = self.processes, self.lists
        downloads = np.flatnonzero((p.purpose == DOWNLOADS) & (lists.sizes[p.candidates] == 1))
        row = np.full(self.size, -1)
        row[self.sources] = np.arange(self.sources.size)
        row = row[lists.members[lists.begin[p.candidates[downloads]]]]
        clock, first = np.unique(p.clock[downloads[row >= 0]], return_index=True)
        return clock, row[row >= 0][first]

    @property
    def needs_no_past(self) -> bool:
        """Whether all copies are direct and come without delay, so that their age is known without replaying a past."""
        held = int(self.reachable_sources.sizes[~self.clients].sum())
        return self.delay == 0 and not self.delays and self.direct_copies[0].size == held
