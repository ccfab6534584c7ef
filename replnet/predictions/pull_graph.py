"""Which node pulls from which in a network, as formulas read it: from its topology, not from the plans of engines."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple, final

import numpy as np
import numpy.typing as npt

from replnet.ages import NoFormulaError
from replnet.laws import Array, Constant, Exponential, Flags, Ints, Law, at_rate, sorted_distinct
from replnet.network import DOWNLOADS, POLLS, QUERIES, REPLICA, UPDATES, Faults, IndexLists, Topology, faults, runs


class Asker(NamedTuple):
    """A process by which a `node` asks `ask` of its `candidates`, drawn at random or (`recent`) its latest contacts.

    `purpose` is DOWNLOADS, POLLS or QUERIES. `law` is that of the intervals; None if they come by a schedule, in turns
    that are not constant, or never. `list_number` and `clock` are the numbers of the list of candidates and of the
    clock in the topology; if `two_way`, the node hands its own copy to the nodes it asks.
    """

    node: int
    purpose: int
    law: Law | None
    candidates: Ints
    list_number: int  # the number of the list of candidates in `topology.lists`
    ask: int
    recent: bool
    two_way: bool  # whether the node hands its own copy to the nodes it asks
    clock: int  # the number of its process of intervals; replicas that take turns share one


@final
@dataclass(frozen=True, eq=False)
class PullGraph:
    """A topology as formulas read it: processes as `Asker` objects, nodes by kind, and which sources they hear of.

    All is derived from `topology` when it is first asked for.
    """

    topology: Topology

    @cached_property
    def sources(self) -> list[int]:
        """The numbers of the nodes that are sources, ascending; the index of a source is its place here."""
        return [int(source) for source in self.topology.sources]

    @cached_property
    def faults(self) -> Faults:
        """The crashes, cuts and losses of the network."""
        return faults(self.topology)

    @property
    def limits(self) -> npt.NDArray[np.float64] | None:
        """The bandwidth of every node, messages per unit of time (inf: no limit), or None if no node has a limit."""
        return self.topology.bandwidth

    @property
    def pulls_may_fail(self) -> bool:
        """Whether pulls may fail: whether there are any faults, or nodes with limited bandwidth."""
        return bool(self.faults) or self.limits is not None

    def _law(self, clock: int, turns: int) -> Law | None:
        """Return the law of the intervals of each of the `turns` processes that take turns at a clock, or None.

        None stands for processes without a law: by a schedule, never, or in turns that are not constant.
        """
        clocks = self.topology.clocks
        rate = float(clocks.rate[clock]) / turns
        if clocks.schedule[clock] >= 0 or rate == 0:
            return None
        return self._at_rate(int(clocks.law[clock]), rate, turns)

    @cached_property
    def _at_rate(self) -> Callable[[int, float, int], Law | None]:
        """A function that returns a law of the topology at another rate, or None.

        Its arguments are the index of the law in `topology.laws`, the rate, and the number of processes that take
        turns, 1 for none. It returns None if several take turns, unless the law is constant.
        """

        @cache
        def law_at(number: int, rate: float, turns: int) -> Law | None:
            law = self.topology.laws[number]
            if turns > 1 and not isinstance(law, Constant):
                return None
            return law if rate == law.rate else at_rate(law, rate)

        return law_at

    @cached_property
    def updates(self) -> list[Law | None]:
        """The law of every source's update intervals, in their order; None if it never changes, or by a schedule."""
        p = self.topology.processes
        return [self._law(clock, 1) for clock in p.clock[p.purpose == UPDATES].tolist()]

    @cached_property
    def _first(self) -> int:
        """The number of the first process that is no update; from there on processes are in the order of nodes."""
        return int(np.count_nonzero(self.topology.processes.purpose == UPDATES))

    @cached_property
    def _asker(self) -> Callable[[int], Asker]:
        """A function from the number of a process to its `Asker`."""
        p, lists = self.topology.processes, self.topology.lists

        @cache
        def asker(q: int) -> Asker:
            among, clock = int(p.candidates[q]), int(p.clock[q])
            law = self._law(clock, int(p.turns[q]))
            return Asker(
                int(p.node[q]), int(p.purpose[q]), law, lists.of(among), among, int(p.ask[q]), bool(p.recent[q]),
                bool(p.two_way[q]), clock,
            )  # fmt: skip

        return asker

    @property
    def askers(self) -> list[Asker]:
        """The processes of all nodes but those of updates, in the order of nodes."""
        return [self._asker(q) for q in range(self._first, self.topology.processes.node.size)]

    @cached_property
    def kinds_of_askers(self) -> list[Asker]:
        """A list with one asker of every kind: those of a kind have the same law, purpose and way of asking."""
        p = self.topology.processes
        kind = number_distinct_rows(*self._settings(np.arange(self._first, p.node.size)))
        first = np.unique(kind, return_index=True)[1]
        return [self._asker(self._first + q) for q in first.tolist()]

    def _settings(self, processes: Ints) -> tuple[Any, ...]:
        """Return arrays over `processes`, given by number, that say how each asks: intervals, purpose, turns and so on.

        Which nodes they ask is left out. Processes with equal entries in all arrays ask alike.
        """
        p, clocks = self.topology.processes, self.topology.clocks
        clock = p.clock[processes]
        intervals = clocks.law[clock], clocks.rate[clock], clocks.schedule[clock]
        ways = p.purpose, p.turns, p.ask, p.recent, p.two_way
        return (*intervals, *(column[processes] for column in ways))

    def askers_of(self, node: int, purpose: int) -> list[Asker]:
        """Return the processes of a node for this purpose, such as DOWNLOADS; none for a number past all nodes."""
        if node >= self.topology.size:
            return []
        processes = range(self._begins[node], self._begins[node + 1])
        return [self._asker(q) for q in processes if self.topology.processes.purpose[q] == purpose]

    def getters_of(self, node: int) -> list[Asker]:
        """Return the processes by which a node gets copies: downloads, then polls."""
        return [*self.askers_of(node, DOWNLOADS), *self.askers_of(node, POLLS)]

    @cached_property
    def _begins(self) -> array[int]:
        """The number of the first process of every node that is not updates, and of the end of the last node.

        It is an array, to save memory.
        """
        node = self.topology.processes.node[self._first :]
        counts = np.bincount(node, minlength=self.topology.size)
        return array("q", (self._first + np.append(0, np.cumsum(counts))).tobytes())

    def first_asker_of(self, node: int, purpose: int) -> Asker | None:
        """Return the first process of a node for this purpose, such as DOWNLOADS, or None if it has none."""
        return next(iter(self.askers_of(node, purpose)), None)

    def upstreams(self, node: int) -> list[int]:
        """Return the numbers of the candidates of all downloads of a node, process by process."""
        return [i for asker in self.askers_of(node, DOWNLOADS) for i in asker.candidates.tolist()]

    def _process_by_node(self, purpose: int) -> Ints:
        """Return an array of the number of every node's process for this purpose: -1 for none, -2 for several."""
        node = self.topology.processes.node
        processes = np.flatnonzero(self.topology.processes.purpose == purpose)
        result = np.full(self.topology.size, -1)
        several = np.bincount(node[processes], minlength=self.topology.size) > 1
        result[node[processes]] = processes
        result[several] = -2
        return result

    @cached_property
    def is_cluster_list(self) -> Flags:
        """A mask of the candidate lists that are clusters: all members poll the list, and their upstream is the same.

        They also ask alike in all else.
        """
        p, lists = self.topology.processes, self.topology.lists
        result = np.zeros(lists.begin.size - 1, np.bool_)
        pulls, polls = self._process_by_node(DOWNLOADS), self._process_by_node(POLLS)
        for pool in range(len(self.topology.pools)):
            members = lists.of(pool)
            processes = pulls[members], polls[members]
            if not members.size or min(numbers.min() for numbers in processes) < 0:
                continue
            upstream = lists.members[lists.begin[p.candidates[processes[0]]]]
            settings = (column for numbers in processes for column in self._settings(numbers))
            columns = [upstream, p.candidates[processes[1]], *settings]
            same = all((column == column[0]).all() for column in columns) and p.candidates[processes[1][0]] == pool
            result[pool] = same and (lists.sizes[p.candidates[processes[0]]] == 1).all()
        return result

    @cached_property
    def askers_handing_over(self) -> dict[int, list[Asker]]:
        """A mapping from numbers of lists to the askers that hand their copy to the nodes they poll of the list.

        Lists without any are missing, so that it is empty if no polls go both ways.
        """
        p, result = self.topology.processes, dict[int, list[Asker]]()
        for q in np.flatnonzero(p.two_way & (p.ask > 0)).tolist():
            result.setdefault(int(p.candidates[q]), []).append(self._asker(q))
        return result

    @cached_property
    def receiving_lists_of(self) -> dict[int, list[int]]:
        """A mapping from nodes to the numbers of lists on which they receive copies by two-way polls of others.

        Nodes without any are missing.
        """
        result = dict[int, list[int]]()
        for among in self.askers_handing_over:
            for i in self.topology.lists.of(among).tolist():
                result.setdefault(i, []).append(among)
        return result

    @cached_property
    def receives_by_polls(self) -> Flags:
        """A mask, by number, of nodes that receive copies by two-way polls of others, cluster members excluded."""
        lists, result = self.topology.lists, np.zeros(self.topology.size, np.bool_)
        for among, askers in self.askers_handing_over.items():
            members = lists.of(among)
            if not self.is_cluster_list[among] or len(askers) > members.size:
                result[members] = True
        return result

    @cached_property
    def kinds(self) -> Ints:
        """The kind of every node, a number; nodes of one kind have the same formulas.

        Nodes are of one kind if each has one upstream, these are of one kind, and they ask and fail alike; or if they
        are a cluster of such. A node that asks several others is a kind by itself.
        """
        n, kind = self.topology.size, np.arange(self.topology.size)
        if self.topology.delays or self.topology.weights is not None:
            return kind
        p, lists, pulls = self.topology.processes, self.topology.lists, self._process_by_node(DOWNLOADS)
        asks_otherwise = (self._process_by_node(QUERIES) != -1) | (self.topology.role != REPLICA)
        polls = self._process_by_node(POLLS)
        pooled = np.where(polls >= 0, p.candidates[polls], -1)
        is_plain = ((polls == -1) | ((polls >= 0) & self.is_cluster_list[pooled])) & ~self.receives_by_polls
        plain = np.flatnonzero(is_plain & ~asks_otherwise & (pulls >= 0))
        plain = plain[(lists.sizes[p.candidates[pulls[plain]]] == 1) & (p.ask[pulls[plain]] == 1)]
        upstream = np.full(n, -1)
        upstream[plain] = lists.members[lists.begin[p.candidates[pulls[plain]]]]
        settings = np.zeros(n, np.int64)
        settings[plain] = number_distinct_rows(
            *self._settings(pulls[plain]), pooled[plain], *(column[plain] for column in self._hindrances)
        )
        order = plain[np.argsort(upstream[plain], kind="stable")]
        first, last = (np.searchsorted(upstream[order], np.arange(n), side=side) for side in ("left", "right"))
        level = np.flatnonzero((upstream < 0) & (last > first))
        while level.size:  # downstream, one level after the other
            level = order[runs(first[level], last[level] - first[level])]
            same = number_distinct_rows(settings[level], kind[upstream[level]])
            kind[level] = level[np.unique(same, return_index=True)[1]][same]
            level = level[last[level] > first[level]]
        return kind

    @property
    def _hindrances(self) -> Iterator[Array]:
        """Arrays over nodes that say what may hinder each: crashes, cuts, losses of messages, limits of bandwidth."""
        for crash in self.faults.crashes:
            can_crash = np.zeros(self.topology.size, np.bool_)
            can_crash[list(crash.nodes)] = True
            yield can_crash
        yield from (way.side for way in (*self.faults.cuts, *self.faults.losses))
        if self.limits is not None:
            yield self.limits

    @cached_property
    def _copy_paths(self) -> IndexLists:
        """The graph along which copies travel: for each entry, the entries that copies go on to.

        Entries below the number of nodes are nodes, from which copies go to lists that they are on. The others are
        lists of nodes that are asked, from which copies go to the nodes that get them.
        """
        p, lists, n = self.topology.processes, self.topology.lists, self.topology.size
        processes = np.flatnonzero(p.ask > 0)
        asker, list_asked, number = p.node[processes], p.candidates[processes], lists.begin.size - 1
        members_of, numbers_of = [lists.members], [lists.owners]
        home = np.full(n, -1)
        pulls = processes[p.purpose[processes] == DOWNLOADS]
        home[p.node[pulls]] = lists.members[lists.begin[p.candidates[pulls]]]
        recent = p.recent[processes]
        for among, upstream in np.unique(np.column_stack([list_asked[recent], home[asker[recent]]]), axis=0).tolist():
            # A poll of recent contacts asks only members that share the asker's upstream: a list of their own.
            list_asked = np.where(
                recent & (p.candidates[processes] == among) & (home[asker] == upstream), number, list_asked
            )
            members = lists.of(among)
            members_of.append(members[home[members] == upstream])
            numbers_of.append(np.full(members_of[-1].size, number))
            number += 1
        begin, end = [*members_of, n + list_asked], [*(n + numbers for numbers in numbers_of), asker]
        if (back := p.two_way[processes]).any():  # copies handed over by two-way polls go by lists of their own
            begin += [asker[back], n + number + np.concatenate(numbers_of)]
            end += [n + number + list_asked[back], np.concatenate(members_of)]
            number *= 2
        return IndexLists.by_key(np.concatenate(begin), np.concatenate(end), n + number)

    def descendants(self, nodes: Sequence[int]) -> Flags:
        """Return a mask over all nodes: these `nodes` and all that can get copies from them, directly or not."""
        return np.asarray(self._copy_paths.steps_from(nodes)[: self.topology.size] >= 0)

    def origins(self, node: int) -> set[int]:
        """Return a node and all nodes, sources among them, from which its copies may come by downloads and polls."""
        origins, waiting, lists_met = {node}, [node], set[int]()
        while waiting:
            for asker in self.getters_of(waiting.pop()):
                if asker.list_number not in lists_met:  # members of one list are met once, and not by each of its users
                    lists_met.add(asker.list_number)
                    new = set(asker.candidates.tolist()) - origins
                    origins |= new
                    waiting += new
        return origins

    @cached_property
    def reachable(self) -> list[Flags]:
        """Masks over nodes, one per source: which nodes can come to hold a copy of it, the source itself left out."""
        masks = [self.descendants([source]) for source in self.sources]
        for source, mask in zip(self.sources, masks, strict=True):
            mask[source] = False
        return masks

    @cached_property
    def reachable_from_any(self) -> Flags:
        """A mask of the nodes, by number, that can come to hold a copy of some source; sources are left out."""
        return np.asarray(np.any(self.reachable, axis=0))

    @cached_property
    def counted_nodes(self) -> list[Flags]:
        """Masks of the nodes whose copies count, one per source: those that can hear of it, sources left out.

        Nodes that hear of no source are listed under the first.
        """
        masks = [mask.copy() for mask in self.reachable]
        masks[0] |= ~self.reachable_from_any
        for mask in masks:
            mask[self.sources] = False
        return masks

    def least_distinct_pulls(self, row: int) -> int:
        """Return a lower bound on the number of distinct Poisson pulls that can bring copies of source `row`, an index.

        It is 0 if only an inspection of each pull could tell. Pulls are alike if they ask the same lists of nodes, or
        lists that are the same but for the asker itself.
        """
        p, lists, faults = self.topology.processes, self.topology.lists, self.faults
        if faults.cuts or (faults and self.askers_handing_over):
            return 0
        poisson, clocks = np.array([isinstance(law, Exponential) for law in self.topology.laws]), self.topology.clocks
        odd = p.recent | (p.turns > 1) | (clocks.schedule[p.clock] >= 0) | ~poisson[clocks.law[p.clock]]
        for crash in faults.crashes:
            odd |= np.isin(p.node, crash.nodes) | (self.sources[row] in crash.nodes)
        list_of_member = lists.owners
        for way in faults.losses:  # how much is lost depends on the node asked
            first = way.side[lists.members[np.minimum(lists.begin[:-1], lists.members.size - 1)]]
            mixed = np.bincount(list_of_member, way.side[lists.members] != first[list_of_member], first.size) > 0
            odd |= (p.ask > 1) | mixed[p.candidates]
        pulls = (p.ask > 0) & self.reachable[row][p.node]
        counts = pulls & ~odd & ~self.descendants(sorted_distinct(p.node[pulls & odd]).tolist())[p.node]
        # Every node gets a random tag; lists are told apart by the sums of their members' tags.
        tags = np.random.default_rng(0).integers(2**63, size=self.topology.size, dtype=np.uint64)
        tags[self.sources[row]] = 0
        sums = np.append(np.uint64(0), np.cumsum(tags[lists.members]))
        among = (sums[lists.begin[1:]] - sums[lists.begin[:-1]])[p.candidates[counts]]
        others = among > 0
        with_asker = among + tags[p.node[counts]]
        return int(
            sorted_distinct(among[others]).size + sorted_distinct(with_asker[others]).size - np.count_nonzero(others)
        )

    def copies_of_group(self, masks: list[Flags], group: int, row: int) -> Iterator[tuple[int, int, int]]:
        """Yield (node, index of a source, number of such nodes) for the copies of a group, one node of every kind.

        `group` is its number. A source's mask in `masks` says which nodes count for it; `row` is the index of one
        source, or -1 for all. A view of several nodes is a node here, with a number past all others.
        """
        topology, rows = self.topology, range(len(self.sources)) if row < 0 else [row]
        members = np.flatnonzero(topology.group == group)
        _, first, count = np.unique(self.kinds[members], return_index=True, return_counts=True)
        order = np.argsort(first)
        for node, count_of_kind in zip(members[first[order]].tolist(), count[order].tolist(), strict=True):
            yield from ((node, row_of_source, count_of_kind) for row_of_source in rows if masks[row_of_source][node])
        for number, view in enumerate(topology.views, topology.size):
            if view.group == topology.groups[group]:
                yield from (
                    (number, row_of_source, 1) for row_of_source in rows if masks[row_of_source][view.nodes].any()
                )

    @cached_property
    def rows(self) -> dict[str, tuple[int, int]]:
        """The rows that a table may have, by name: pairs (group, source) of indices, with -1 for all sources together.

        A group that can hear of several sources has a row for each of them, too.
        """
        names, groups = self.topology.names, self.topology.groups
        parts: dict[str, tuple[int, int]] = {}
        for g, group in enumerate(groups):
            members = self.topology.group == g
            heard = [source for source, mask in enumerate(self.reachable) if mask[members].any()]
            parts |= {f"{group} of {names[self.sources[source]]}": (g, source) for source in heard if len(heard) > 1}
        rows = parts | {name: (g, -1) for g, name in enumerate(groups)}
        return dict(sorted(rows.items(), key=lambda row: row[1]))

    def has_clients(self, group: int) -> bool:
        """Whether there are clients in the group with this number."""
        return bool(self.topology.clients[self.topology.group == group].any())

    def delay(self, upstream: int, node: int) -> float:
        """Return the time that a reply of `upstream` takes to `node`; raises NoFormulaError if it is random."""
        delay = self.topology.delays.get((upstream, node), self.topology.delay)
        if isinstance(delay, Law):
            raise NoFormulaError("delays drawn from a law")
        return delay

    @property
    def queries(self) -> list[Asker]:
        """The processes by which clients ask, those with the purpose QUERIES, in the order of nodes."""
        return [asker for asker in self.askers if asker.purpose == QUERIES]


def number_distinct_rows(*columns: Any) -> Ints:
    """Return an array of numbers, one for each row of a table of columns: equal rows get equal numbers, from 0 on."""
    numbers = np.zeros(columns[0].size, np.int64)
    for column in columns:
        if numbers.size and (column != column[0]).any():
            values, which = np.unique(column, return_inverse=True)
            numbers = np.unique(numbers * values.size + which, return_inverse=True)[1]
    return numbers
