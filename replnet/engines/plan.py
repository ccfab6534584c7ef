"""What the engines know of a network: who can hear of which source, and what follows from that for a run.

The columns themselves are those of its topology (network/topology.py). A source is known by its row: its place among
the processes, where updates come first. At equal instants the lower process goes first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any, final

import numpy as np

from replnet.laws.law import Flags, Floats, Ints, Law, distinct
from replnet.laws.processes.streams import PAST, Words, streams, uniforms
from replnet.network.faults import Faults, faults
from replnet.network.sources import part
from replnet.network.topology import DOWNLOADS, INDEX, POLLS, QUERIES, UPDATES, Clocks, Lists, Processes, Topology, View

if TYPE_CHECKING:
    from replnet.network.network import Network

__all__ = ["DOWNLOADS", "POLLS", "QUERIES", "UPDATES", "Plan", "plan"]


MOST_CHOICES = 20  # of nodes to ask, at which a view has a look
PART = 1 << 13  # copies of a part of many sources: what is known of them fits the cache
FEW_SOURCES = 32  # for which their networks are searched one by one


def plan(network: Network) -> Plan:
    return Plan(network.topology)


@final
@dataclass(eq=False)
class Plan:
    """The processes of a network, its groups, and who can hear of which source."""

    topology: Topology

    @property
    def names(self) -> tuple[str, ...]:
        return self.topology.names

    @property
    def size(self) -> int:
        return self.topology.size

    @property
    def processes(self) -> Processes:
        return self.topology.processes

    @property
    def clocks(self) -> Clocks:
        return self.topology.clocks

    @property
    def lists(self) -> Lists:
        return self.topology.lists

    @property
    def groups(self) -> tuple[str, ...]:
        return self.topology.groups

    @property
    def group(self) -> Ints:
        return self.topology.group

    @property
    def clients(self) -> Flags:
        return self.topology.clients

    @property
    def bandwidth(self) -> Floats | None:
        return self.topology.bandwidth

    @property
    def delay(self) -> Law | float:
        return self.topology.delay

    @property
    def delays(self) -> dict[tuple[int, int], Law | float]:
        return self.topology.delays

    @property
    def queue(self) -> int:
        """Messages that may wait at a node with a limit."""
        return int(self.topology.about.get("queue", 1000))

    @property
    def both(self) -> bool:
        """Whether replicas spend bandwidth on answers to replicas."""
        return self.topology.about.get("charge") == "both"

    @cached_property
    def faults(self) -> Faults:
        return faults(self.topology)

    @cached_property
    def sources(self) -> Ints:
        """The node of every row of sources."""
        return np.asarray(self.processes.node[self.processes.purpose == UPDATES])

    @property
    def asking(self) -> Ints:
        """The processes that are no updates, which come behind these."""
        return np.arange(self.sources.size, self.processes.node.size)

    @property
    def rates(self) -> Floats:
        """Wakes of every process per unit of time."""
        return np.asarray(self.clocks.rate[self.processes.clock] / self.processes.turns)

    def law(self, process: int) -> Law:
        """The shape of its intervals; of a replica that takes turns, of those of all."""
        law: Law = self.topology.laws[self.clocks.law[self.processes.clock[process]]]
        return law

    def stretch(self, rows: Ints) -> Floats:
        """How much longer the intervals of these sources are than those of their laws; inf for what never changes."""
        clock = self.processes.clock[rows]
        shapes = np.array([law.rate for law in self.topology.laws])[self.clocks.law[clock]]
        with np.errstate(divide="ignore"):
            return np.asarray(shapes / self.clocks.rate[clock])

    def candidates(self, process: int) -> Ints:
        return self.lists.of(int(self.processes.candidates[process]))

    @cached_property
    def _by_node(self) -> Lists:
        node = self.processes.node
        order = np.argsort(node, kind="stable")
        return Lists(np.searchsorted(node[order], np.arange(self.size + 1)), order)

    def of_node(self, node: int) -> Ints:
        """The processes of a node."""
        return self._by_node.of(node)

    @cached_property
    def standing(self) -> Ints:
        """Where the node of every process stands among its own candidates, or past the end of these."""
        p, lists = self.processes, self.lists
        found, where = lists.sizes[p.candidates].astype(INDEX), np.zeros(self.size, INDEX)
        pooled = np.flatnonzero(p.candidates < len(self.topology.pools))
        pooled = pooled[np.argsort(p.candidates[pooled], kind="stable")]
        for mine in np.split(pooled, np.flatnonzero(np.diff(p.candidates[pooled])) + 1):
            if mine.size:
                members = self.candidates(int(mine[0]))
                where[members] = np.arange(members.size, dtype=INDEX) - members.size
                found[mine] += where[p.node[mine]]
                where[members] = 0
        return found

    @cached_property
    def listed(self) -> dict[int, int]:
        """Nodes of whom upstreams keep lists of recent contacts, and the pool of theirs."""
        found: dict[int, int] = {}
        for q in np.flatnonzero(self.processes.recent).tolist():
            pool = int(self.processes.candidates[q])
            for member in self.candidates(q).tolist() if pool not in found.values() else ():
                found.setdefault(member, pool)
        return found

    @cached_property
    def needs(self) -> Ints:
        """How long a list of contacts every node waits for: k, or all who share its upstream if they are fewer."""
        p, need, home = self.processes, np.zeros(self.size, np.int64), self.homes
        for q in np.flatnonzero(p.recent).tolist():
            node, members = int(p.node[q]), self.candidates(q)
            need[node] = min(int(p.ask[q]), int((home[members] == home[node]).sum()) - int(node in members))
        return need

    @cached_property
    def heard(self) -> Lists:
        """Per node, the rows of the sources of which it can hold a copy."""
        if self.sources.size <= FEW_SOURCES:
            node, row = self._searched()
        else:
            node, row = self._closure()
        order = np.lexsort((row, node))
        return Lists(np.searchsorted(node[order], np.arange(self.size + 1)).astype(INDEX), row[order])

    @property
    def _ways(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Who asks which list, and who is in it: (asker, list) and (member, list) pairs.

        Of its recent contacts a node asks those alone who share its upstream.
        """
        p, lists = self.processes, self.lists
        processes = np.flatnonzero((p.ask > 0) & ~p.recent)
        asker, asked = p.node[processes], p.candidates[processes]
        sizes, number = lists.sizes, np.arange(lists.begin.size - 1)
        member, of = lists.members, np.repeat(number, sizes)
        if p.recent.any():
            home = self.homes
            for q in np.flatnonzero(p.recent & (p.ask > 0)).tolist():
                alike = self.candidates(q)
                alike = alike[home[alike] == home[p.node[q]]]
                number = of.max(initial=lists.begin.size - 2) + 1
                asker, asked, processes = np.append(asker, p.node[q]), np.append(asked, number), np.append(processes, q)
                member, of = np.concatenate([member, alike]), np.concatenate([of, np.full(alike.size, number)])
        if self.two_way:  # who is on a list asks another one, of those who offer it something
            back, shift = p.two_way[processes], int(max(of.max(initial=-1), asked.max(initial=-1))) + 1
            on = np.isin(of, asked[back])
            asker, asked, member, of = (
                np.append(asker, member[on]), np.append(asked, of[on] + shift),
                np.append(member, asker[back]), np.append(of, asked[back] + shift),
            )  # fmt: skip
        return asker, asked, member, of

    @cached_property
    def homes(self) -> Ints:
        """The first upstream of every node, -1 without one."""
        p, home = self.processes, np.full(self.size, -1)
        some = np.flatnonzero((p.purpose == DOWNLOADS) & (self.lists.sizes[p.candidates] > 0))
        home[p.node[some]] = self.lists.members[self.lists.begin[p.candidates[some]]]
        return home

    @property
    def _links(self) -> Any:
        """A graph from nodes to the lists that they are in, and from lists to those who ask them."""
        from scipy.sparse import csr_array

        asker, asked, member, of = self._ways
        n, lists = self.size, int(max(asked.max(initial=-1), of.max(initial=-1))) + 1
        begin, end = np.concatenate([member, n + asked]), np.concatenate([n + of, asker])
        return csr_array((np.ones(begin.size, np.int8), (begin, end)), shape=(n + lists, n + lists))

    def _searched(self) -> tuple[Ints, Ints]:
        """All (node, row) pairs, source by source."""
        from scipy.sparse.csgraph import breadth_first_order

        links, found = self._links, []
        for row, source in enumerate(self.sources.tolist()):
            there = breadth_first_order(links, source, return_predecessors=False).astype(np.int64)
            there = there[(there < self.size) & (there != source)]
            found.append((there, np.full(there.size, row)))
        return np.concatenate([node for node, _ in found]), np.concatenate([row for _, row in found])

    def _closure(self) -> tuple[Ints, Ints]:
        """The same of many sources at once: what members have, those who ask them get, until nobody gets more."""
        from scipy.sparse import csr_array

        links, rows = self._links, self.sources.size
        held, before = csr_array((np.ones(rows), (self.sources, np.arange(rows))), shape=(links.shape[0], rows)), -1
        while held.nnz != before:
            before = held.nnz
            held = held + links.T @ held
            held.data[:] = 1.0
        node, row = (ends.astype(np.int64) for ends in held.nonzero())
        there = (node < self.size) & (node != self.sources[row])
        return node[there], row[there]

    @cached_property
    def hops(self) -> int:
        """The most steps that a copy takes from its source, each on the shortest way."""
        from scipy.sparse.csgraph import dijkstra

        steps = dijkstra(self._links, indices=self.sources, unweighted=True)[:, : self.size] / 2
        return int(steps[np.isfinite(steps)].max(initial=0))

    @cached_property
    def reached(self) -> Flags:
        """reached[s, i]: node i can hold a copy of the s-th source; for networks of few."""
        found = np.zeros((self.sources.size, self.size), np.bool_)
        found[self.heard.members, np.repeat(np.arange(self.size), self.heard.sizes)] = True
        return found

    @cached_property
    def counted(self) -> Lists:
        """Per node, the sources for which it counts: those of which it can hear.

        One that hears of none counts for the first, and is never fresh.
        """
        deaf = (self.heard.sizes == 0) & (self.group >= 0)
        if not deaf.any():
            return self.heard
        begin = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.heard.sizes + deaf)])
        rows = np.zeros(begin[-1], np.int64)
        rows[np.repeat(~deaf, np.diff(begin))] = self.heard.members
        return Lists(begin, rows)

    @cached_property
    def cells(self) -> tuple[Ints, Ints]:
        """What is added up is added up per cell: a source and a group. The row of one and the number of the other."""
        width = max(len(self.groups), 1)
        keys = [self.counted.members * width + self._group_of_counted]
        for view, *_ in self.views:
            rows = np.concatenate([self.heard.of(i) for i in view.nodes.tolist()])
            keys.append(rows * width + self.groups.index(view.group))
        return np.divmod(distinct(np.concatenate(keys)), width)

    @property
    def _group_of_counted(self) -> Ints:
        return np.asarray(np.repeat(self.group, self.counted.sizes))

    def cell(self, rows: Ints, groups: Ints) -> Ints:
        """The numbers of cells, where there is one."""
        (known, of), width = self.cells, max(len(self.groups), 1)
        return np.searchsorted(known * width + of, rows * width + groups)

    @cached_property
    def hears(self) -> Flags:
        """Of every group, whether anyone in it can hear of a source."""
        found = np.bincount(self.group[(self.group >= 0) & (self.heard.sizes > 0)], minlength=len(self.groups)) > 0
        for view in self.topology.views:
            found[self.groups.index(view.group)] |= bool(self.heard.sizes[view.nodes].any())
        return np.asarray(found)

    def members(self, group: int) -> Ints:
        """The nodes of a group, or the choices of a view (numbers past all nodes)."""
        nodes = np.flatnonzero(self.group == group)
        chosen = [first + np.arange(n) for view, first, n in self.views if self.groups[group] == view.group]
        return np.concatenate([nodes, *chosen])

    @cached_property
    def views(self) -> list[tuple[View, int, int]]:
        """Views, each with the number of its first choice, past all nodes, and how many choices it has a look at."""
        counts = [min(comb(view.nodes.size, view.ask), MOST_CHOICES) for view in self.topology.views]
        first = self.size + np.cumsum([0, *counts])
        return list(zip(self.topology.views, first.tolist(), counts, strict=False))

    @property
    def everyone(self) -> int:
        """Nodes, and the choices of views after them."""
        return self.size + sum(count for *_, count in self.views)

    def chosen(self, run: Words) -> list[Ints]:
        """The nodes of every choice of all views: every choice there is, or some that are drawn."""
        found: list[Ints] = []
        for view, _, count in self.views:
            m = view.nodes.size
            if comb(m, view.ask) <= MOST_CHOICES:
                found += [view.nodes[list(some)] for some in combinations(range(m), view.ask)]
            else:
                chance = streams(run, np.zeros(1, np.uint64), np.full(1, DOWNLOADS), PAST)
                order = np.argsort(uniforms(chance, np.arange(count * m)).reshape(-1, m), axis=1)
                found += list(view.nodes[order[:, : view.ask]])
        return found

    @cached_property
    def copies(self) -> Floats:
        """How many copies every cell stands for; 0 where it is one of clients."""
        held = np.repeat(~self.clients, self.counted.sizes)
        cells = self.cell(self.counted.members[held], self._group_of_counted[held])
        found = np.bincount(cells, minlength=self.cells[0].size).astype(float)
        for view, _, count in self.views:
            found[self.cells[1] == self.groups.index(view.group)] += count
        return found

    @property
    def parts_of_sources(self) -> int:
        """In how many parts the sources are best looked at, where they have nothing to do with one another."""
        many, alone = self.topology.many, self.topology.about["kind"] == "aggregate"
        together = not alone or many.spec.order != "independent" or self.clients.any() or self.bandwidth is not None
        return 1 if together else max(self.sources.size * many.spec.replicas // PART, 1)

    def part_of_sources(self, number: int) -> Plan:
        """One of these parts."""
        ends = np.linspace(0, self.sources.size, self.parts_of_sources + 1).astype(np.int64)
        return Plan(part(self.topology, slice(int(ends[number]), int(ends[number + 1]))))

    @cached_property
    def weight(self) -> Floats:
        """What the source of every cell counts."""
        rows, weights = self.cells[0], self.topology.weights
        return np.ones(rows.size) if weights is None else weights[rows]

    @cached_property
    def parts(self) -> dict[str, tuple[int, int]]:
        """`GROUP of SOURCE`, with the number of one and the row of the other, of groups that can hear of several."""
        rows, groups = self.cells
        several = np.bincount(groups, minlength=len(self.groups)) > 1
        found = np.flatnonzero(several[groups]) if self.topology.weights is None else np.empty(0, np.int64)
        found = found[np.lexsort((rows[found], groups[found]))]
        named = [(self.names[self.sources[rows[c]]], int(groups[c]), int(rows[c])) for c in found.tolist()]
        return {f"{self.groups[g]} of {source}": (g, row) for source, g, row in named}

    @cached_property
    def shown(self) -> dict[str, tuple[int, int]]:
        """Parts that have a row in every table."""
        return {name: (self.groups.index(group), row) for name, (group, row) in self.topology.parts.items()}

    @cached_property
    def rows(self) -> dict[str, tuple[int, int]]:
        """What tables may have rows of, in order: every group, which has -1 for a source, and then its parts."""
        groups = {name: (g, -1) for g, name in enumerate(self.groups)}
        found = self.parts | groups  # who calls a group as a part is called gets the group
        return dict(sorted(found.items(), key=lambda row: row[1])) | self.shown

    @property
    def own_rows(self) -> dict[str, tuple[int, int]]:
        """Those of every table."""
        return {name: one for name, one in self.rows.items() if one[1] < 0} | self.shown

    @property
    def constant_delay(self) -> float | None:
        """The one delay of all messages, or None where they differ or follow a law."""
        return None if isinstance(self.delay, Law) or self.delays else self.delay

    @cached_property
    def recent(self) -> bool:
        """Whether anyone polls the latest contacts of its upstream."""
        return bool(self.processes.recent.any())

    @cached_property
    def two_way(self) -> bool:
        """Whether anyone hands what it has to those it polls."""
        return bool(self.processes.two_way.any())

    @property
    def strict(self) -> bool:
        """Whether pulls may come to nothing, so that only answers that bring a copy count."""
        return bool(self.faults) or self.bandwidth is not None

    @property
    def only_by_step(self) -> str:
        """What the array engine does not take; empty if that takes everything."""
        if self.constant_delay is None:
            return "delay: the array engine takes one constant delay for all messages"
        if self.recent and self.faults:
            return "faults: the array engine takes none with select: recent"
        if self.two_way and (self.delay or self.recent or self.strict):
            return "two_way: the array engine takes no delay, limits, faults or recent contacts with it"
        p = self.processes
        if self.two_way and np.isin(self.sources, self.lists.some(distinct(p.candidates[p.two_way]))).any():
            return "two_way: the array engine takes no polls of sources with it"
        return ""

    @property
    def forgetful(self) -> bool:
        """Whether an update makes everything stale that was unknown before it, and nothing else about it matters."""
        return not self.recent and not self.faults.empties

    @cached_property
    def slowest(self) -> float:
        """The longest mean interval between the downloads, or the polls, of a replica."""
        pulls = np.isin(self.processes.purpose, (DOWNLOADS, POLLS)) & (self.rates > 0)
        return float(1 / self.rates[pulls].min()) if pulls.any() else 0.0

    @cached_property
    def quiet(self) -> float:
        """The longest mean time between the pulls of a replica, downloads and polls together."""
        pulls = np.isin(self.processes.purpose, (DOWNLOADS, POLLS))
        often = np.bincount(self.processes.node[pulls], self.rates[pulls], self.size)
        return float(1 / often[often > 0].min()) if often.any() else 0.0

    @cached_property
    def pulls(self) -> float:
        """Pulls per unit of time."""
        return float(self.rates @ self.processes.ask)

    @cached_property
    def rate(self) -> float:
        """Events per unit of time."""
        return float(self.rates.sum())

    @cached_property
    def direct(self) -> tuple[Ints, Ints, Ints]:
        """Copies whose age is that of one process: of replicas that ask sources alone, and always all of a list.

        Their processes, nodes and rows.
        """
        none = np.empty(0, np.int64)
        if self.constant_delay is None or self.recent or self.strict:
            # The delay of that download is not at hand, or it may have failed; and lists of contacts have a start
            # that forgets copies.
            return none, none, none
        p, lists, asking = self.processes, self.lists, self.asking
        row = np.full(self.size, -1)
        row[self.sources] = np.arange(self.sources.size)
        of_source = np.concatenate([np.zeros(1, np.int64), np.cumsum(row[lists.members] >= 0)])
        plain = (of_source[lists.begin[1:]] - of_source[lists.begin[:-1]] == lists.sizes)[p.candidates[asking]]
        plain &= (p.ask[asking] == lists.sizes[p.candidates[asking]]) & (p.purpose[asking] == DOWNLOADS)
        other = np.zeros(self.size, np.bool_)
        other[p.node[asking[~plain]]] = True
        other[lists.some(distinct(p.candidates[p.two_way]))] = True
        some = asking[plain & ~other[p.node[asking]]]
        sizes = lists.sizes[p.candidates[some]]
        at = np.arange(int(sizes.sum())) + np.repeat(lists.begin[p.candidates[some]] - np.cumsum(sizes) + sizes, sizes)
        return np.repeat(some, sizes), np.repeat(p.node[some], sizes), row[lists.members[at]]

    @cached_property
    def never(self) -> tuple[Ints, Ints]:
        """Copies that never come, as nobody ever asks their source: replicas and rows."""
        p, lists = self.processes, self.lists
        often, asked = self.rates > 0, np.zeros(lists.begin.size - 1, np.bool_)
        asked[p.candidates[often & (p.ask > 0)]] = True
        there = np.zeros(self.size, np.bool_)
        there[lists.members[np.repeat(asked, lists.sizes)]] = True
        node, row = np.repeat(np.arange(self.size), self.heard.sizes), self.heard.members
        some = ~there[self.sources[row]] & ~self.clients[node]
        return node[some], row[some]

    @cached_property
    def fetching(self) -> tuple[Ints, Ints]:
        """Clocks at whose instants one source is downloaded and nothing else, and the rows of these."""
        p, lists = self.processes, self.lists
        some = np.flatnonzero((p.purpose == DOWNLOADS) & (lists.sizes[p.candidates] == 1))
        row = np.full(self.size, -1)
        row[self.sources] = np.arange(self.sources.size)
        row = row[lists.members[lists.begin[p.candidates[some]]]]
        clock, first = np.unique(p.clock[some[row >= 0]], return_index=True)
        return clock, row[row >= 0][first]

    @property
    def known(self) -> bool:
        """Whether all copies are direct and nothing takes time, so that no past need be replayed."""
        held = int(self.heard.sizes[~self.clients].sum())
        return self.delay == 0 and not self.delays and self.direct[0].size == held
