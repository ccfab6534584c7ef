"""Who asks whom in a network, as formulas read it: from its topology alone, and not from what engines make of that."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple, final

import numpy as np
import numpy.typing as npt

from replnet.ages.prediction import NoFormulaError
from replnet.laws import Constant, Exponential, Law
from replnet.laws.law import Array, Flags, Ints, distinct
from replnet.laws.text import at_rate
from replnet.network.faults import Faults, faults
from replnet.network.topology import DOWNLOADS, POLLS, QUERIES, REPLICA, UPDATES, Lists, Topology


class Asker(NamedTuple):
    """A process by which a node asks `ask` of its candidates; `law` is None where its intervals have none."""

    node: int
    purpose: int
    law: Law | None
    candidates: Ints
    among: int  # the number of the list of these
    ask: int
    recent: bool
    two_way: bool  # whether it hands what the node has to those it asks
    clock: int  # one may be shared, by those who take turns


@final
@dataclass(frozen=True, eq=False)
class PullGraph:
    """The network with what formulas want to know of it."""

    topology: Topology

    @cached_property
    def sources(self) -> list[int]:
        return [int(source) for source in self.topology.sources]

    @cached_property
    def faults(self) -> Faults:
        return faults(self.topology)

    @property
    def limits(self) -> npt.NDArray[np.float64] | None:
        """The bandwidth of every node, where there is a limit anywhere."""
        return self.topology.bandwidth

    @property
    def strict(self) -> bool:
        """Whether pulls may come to nothing."""
        return bool(self.faults) or self.limits is not None

    def _law(self, clock: int, turns: int) -> Law | None:
        clocks = self.topology.clocks
        rate = float(clocks.rate[clock]) / turns
        if clocks.schedule[clock] >= 0 or rate == 0:
            return None
        return self._at_rate(int(clocks.law[clock]), rate, turns)

    @cached_property
    def _at_rate(self) -> Callable[[int, float, int], Law | None]:
        @cache
        def found(number: int, rate: float, turns: int) -> Law | None:
            law = self.topology.laws[number]
            if turns > 1 and not isinstance(law, Constant):
                return None
            return law if rate == law.rate else at_rate(law, rate)

        return found

    @cached_property
    def updates(self) -> list[Law | None]:
        """By source; None of one that never changes."""
        p = self.topology.processes
        return [self._law(clock, 1) for clock in p.clock[p.purpose == UPDATES].tolist()]

    @cached_property
    def _first(self) -> int:
        """The first process that is no update; from here on they are in the order of nodes."""
        return int(np.count_nonzero(self.topology.processes.purpose == UPDATES))

    @cached_property
    def _asker(self) -> Callable[[int], Asker]:
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
        return [self._asker(q) for q in range(self._first, self.topology.processes.node.size)]

    @cached_property
    def kinds_of_askers(self) -> list[Asker]:
        """One of those who have the same law and ask in the same way, wherever they ask."""
        p = self.topology.processes
        first = np.unique(alike(*self._how(np.arange(self._first, p.node.size))), return_index=True)[1]
        return [self._asker(self._first + q) for q in first.tolist()]

    def _how(self, some: Ints) -> tuple[Any, ...]:
        """What processes are by themselves, column by column."""
        p, clocks = self.topology.processes, self.topology.clocks
        clock = p.clock[some]
        own = clocks.law[clock], clocks.rate[clock], clocks.schedule[clock]
        return (*own, p.purpose[some], p.turns[some], p.ask[some], p.recent[some], p.two_way[some])

    def by(self, node: int, purpose: int) -> list[Asker]:
        """The processes of a node for this purpose."""
        if node >= self.topology.size:
            return []
        mine = range(self._begins[node], self._begins[node + 1])
        return [self._asker(q) for q in mine if self.topology.processes.purpose[q] == purpose]

    @cached_property
    def _begins(self) -> array[int]:
        """The first process of every node that is no update, and where they end; of millions, an eighth of a list."""
        node = self.topology.processes.node[self._first :]
        counts = np.bincount(node, minlength=self.topology.size)
        return array("q", (self._first + np.append(0, np.cumsum(counts))).tobytes())

    def one(self, node: int, purpose: int) -> Asker | None:
        """The first of them."""
        return next(iter(self.by(node, purpose)), None)

    def upstreams(self, node: int) -> list[int]:
        return [i for asker in self.by(node, DOWNLOADS) for i in asker.candidates.tolist()]

    def _rows(self, purpose: int) -> Ints:
        """The process of every node for this purpose: -1 without one, -2 with several."""
        node = self.topology.processes.node
        mine = np.flatnonzero(self.topology.processes.purpose == purpose)
        found, several = np.full(self.topology.size, -1), np.bincount(node[mine], minlength=self.topology.size) > 1
        found[node[mine]] = mine
        found[several] = -2
        return found

    @cached_property
    def clustered(self) -> Flags:
        """By the number of a list: whether all of its members poll it, and each other thing they do is the same."""
        p, lists = self.topology.processes, self.topology.lists
        found, pulls, polls = np.zeros(lists.begin.size - 1, np.bool_), self._rows(DOWNLOADS), self._rows(POLLS)
        for pool in range(len(self.topology.pools)):
            members = lists.of(pool)
            both = pulls[members], polls[members]
            if not members.size or min(one.min() for one in both) < 0:
                continue
            upstream = lists.members[lists.begin[p.candidates[both[0]]]]
            columns = [upstream, p.candidates[both[1]], *(column for one in both for column in self._how(one))]
            same = all((column == column[0]).all() for column in columns) and p.candidates[both[1][0]] == pool
            found[pool] = same and (lists.sizes[p.candidates[both[0]]] == 1).all()
        return found

    @cached_property
    def offering(self) -> dict[int, list[Asker]]:
        """By the number of a list, who hands what it has to those whom it polls of that list."""
        p, found = self.topology.processes, dict[int, list[Asker]]()
        for q in np.flatnonzero(p.two_way & (p.ask > 0)).tolist():
            found.setdefault(int(p.candidates[q]), []).append(self._asker(q))
        return found

    @cached_property
    def offers_to(self) -> dict[int, list[int]]:
        """By node, on which of these lists it is."""
        found = dict[int, list[int]]()
        for among in self.offering:
            for i in self.topology.lists.of(among).tolist():
                found.setdefault(i, []).append(among)
        return found

    @cached_property
    def offered(self) -> Flags:
        """Nodes that are handed copies by who polls them, beside the members of a cluster who all do that alike."""
        lists, found = self.topology.lists, np.zeros(self.topology.size, np.bool_)
        for among, askers in self.offering.items():
            members = lists.of(among)
            if not self.clustered[among] or len(askers) > members.size:
                found[members] = True
        return found

    @cached_property
    def kinds(self) -> Ints:
        """A number for every node; those of one number have the same formulas.

        They have one upstream each, and do the same below nodes of one kind, or they are a cluster of nodes that are
        alike; and the same may befall them. Whoever asks several others is a kind by itself.
        """
        n, kind = self.topology.size, np.arange(self.topology.size)
        if self.topology.delays or self.topology.weights is not None:
            return kind
        p, lists, pulls = self.topology.processes, self.topology.lists, self._rows(DOWNLOADS)
        others, polls = (self._rows(QUERIES) != -1) | (self.topology.role != REPLICA), self._rows(POLLS)
        pooled = np.where(polls >= 0, p.candidates[polls], -1)
        alone = ((polls == -1) | ((polls >= 0) & self.clustered[pooled])) & ~self.offered
        plain = np.flatnonzero(alone & ~others & (pulls >= 0))
        plain = plain[(lists.sizes[p.candidates[pulls[plain]]] == 1) & (p.ask[pulls[plain]] == 1)]
        upstream = np.full(n, -1)
        upstream[plain] = lists.members[lists.begin[p.candidates[pulls[plain]]]]
        own = np.zeros(n, np.int64)
        own[plain] = alike(*self._how(pulls[plain]), pooled[plain], *(column[plain] for column in self._fates))
        order = plain[np.argsort(upstream[plain], kind="stable")]
        first, last = (np.searchsorted(upstream[order], np.arange(n), side=side) for side in ("left", "right"))
        level = np.flatnonzero((upstream < 0) & (last > first))
        while level.size:  # those below the ones that are known
            count = last[level] - first[level]
            level = order[np.repeat(first[level] - np.cumsum(count) + count, count) + np.arange(count.sum())]
            same = alike(own[level], kind[upstream[level]])
            kind[level] = level[np.unique(same, return_index=True)[1]][same]
            level = level[last[level] > first[level]]
        return kind

    @property
    def _fates(self) -> Iterator[Array]:
        """What may befall nodes, column by column: crashes, what is cut off or lost on their ways, and limits."""
        for crash in self.faults.crashes:
            struck = np.zeros(self.topology.size, np.bool_)
            struck[list(crash.nodes)] = True
            yield struck
        yield from (way.side for way in (*self.faults.cuts, *self.faults.losses))
        if self.limits is not None:
            yield self.limits

    @cached_property
    def _ways(self) -> Lists:
        """A graph from nodes to the lists that they are in, and from lists to those who ask them."""
        p, lists, n = self.topology.processes, self.topology.lists, self.topology.size
        some = np.flatnonzero(p.ask > 0)
        asker, asked, number = p.node[some], p.candidates[some], lists.begin.size - 1
        member, of = [lists.members], [np.repeat(np.arange(number), lists.sizes)]
        home = np.full(n, -1)
        pulls = some[p.purpose[some] == DOWNLOADS]
        home[p.node[pulls]] = lists.members[lists.begin[p.candidates[pulls]]]
        recent = p.recent[some]
        for among, own in np.unique(np.column_stack([asked[recent], home[asker[recent]]]), axis=0).tolist():
            # Of recent contacts those alone are asked who share the upstream.
            asked = np.where(recent & (p.candidates[some] == among) & (home[asker] == own), number, asked)
            members = lists.of(among)
            member.append(members[home[members] == own])
            of.append(np.full(member[-1].size, number))
            number += 1
        begin, end = [*member, n + asked], [*(n + one for one in of), asker]
        if (back := p.two_way[some]).any():  # what goes back goes by lists of its own
            begin += [asker[back], n + number + np.concatenate(of)]
            end += [n + number + asked[back], np.concatenate(member)]
            number *= 2
        order = np.argsort(starts := np.concatenate(begin), kind="stable")
        sizes = np.bincount(starts, minlength=n + number)
        return Lists(np.append(0, np.cumsum(sizes)), np.concatenate(end)[order])

    def below(self, nodes: Sequence[int]) -> Flags:
        """These nodes, and all to whom something may come from them."""
        first, ends = self._ways
        there, new = np.zeros(first.size - 1, np.bool_), np.array(nodes, np.int64)
        there[new] = True
        while new.size:
            sizes = first[new + 1] - first[new]
            found = ends[np.repeat(first[new] - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())]
            new = distinct(found[~there[found]])
            there[new] = True
        return there[: self.topology.size]

    @cached_property
    def reached(self) -> list[Flags]:
        """By source, who can come to hold a copy of it."""
        found = [self.below([source]) for source in self.sources]
        for source, there in zip(self.sources, found, strict=True):
            there[source] = False
        return found

    @cached_property
    def counted(self) -> list[Flags]:
        """By source, for whom it counts: who can hear of it; who hears of none counts for the first."""
        found = [there.copy() for there in self.reached]
        found[0] |= ~np.any(self.reached, axis=0)
        for there in found:
            there[self.sources] = False
        return found

    def unlike(self, row: int) -> int:
        """At least so many Poisson pulls of a source are unlike one another; 0 where it takes a look at each to tell.

        Nodes that are alike ask on the same lists, or on lists that are the same but for who asks.
        """
        p, lists, faults = self.topology.processes, self.topology.lists, self.faults
        if faults.cuts or (faults and self.offering):
            return 0
        poisson, clocks = np.array([isinstance(law, Exponential) for law in self.topology.laws]), self.topology.clocks
        odd = p.recent | (p.turns > 1) | (clocks.schedule[p.clock] >= 0) | ~poisson[clocks.law[p.clock]]
        for crash in faults.crashes:
            odd |= np.isin(p.node, crash.nodes) | (self.sources[row] in crash.nodes)
        of = np.repeat(np.arange(lists.sizes.size), lists.sizes)
        for way in faults.losses:  # it depends on whom they ask
            first = way.side[lists.members[np.minimum(lists.begin[:-1], lists.members.size - 1)]]
            mixed = np.bincount(of, way.side[lists.members] != first[of], first.size) > 0
            odd |= (p.ask > 1) | mixed[p.candidates]
        pulls = (p.ask > 0) & self.reached[row][p.node]
        there = pulls & ~odd & ~self.below(distinct(p.node[pulls & odd]).tolist())[p.node]
        # What is added up is a number per node that no other has: sums of lists are as good as the lists.
        own = np.random.default_rng(0).integers(2**63, size=self.topology.size, dtype=np.uint64)
        own[self.sources[row]] = 0
        sums = np.append(np.uint64(0), np.cumsum(own[lists.members]))
        among = (sums[lists.begin[1:]] - sums[lists.begin[:-1]])[p.candidates[there]]
        others = among > 0
        whole = among + own[p.node[there]]
        return int(distinct(among[others]).size + distinct(whole[others]).size - np.count_nonzero(others))

    def held(self, of: list[Flags], group: int, row: int) -> Iterator[tuple[int, int, int]]:
        """Nodes of a group, each with the sources that `of` has for it: all of them (-1), or that in this row.

        One of every kind, with the number of those of its kind. Who looks at several nodes is a node here, with a
        number past all others.
        """
        topology, rows = self.topology, range(len(self.sources)) if row < 0 else [row]
        mine = np.flatnonzero(topology.group == group)
        _, first, count = np.unique(self.kinds[mine], return_index=True, return_counts=True)
        order = np.argsort(first)
        for i, many in zip(mine[first[order]].tolist(), count[order].tolist(), strict=True):
            yield from ((i, s, many) for s in rows if of[s][i])
        for v, view in enumerate(topology.views, topology.size):
            if view.group == topology.groups[group]:
                yield from ((v, s, 1) for s in rows if of[s][view.nodes].any())

    @cached_property
    def rows(self) -> dict[str, tuple[int, int]]:
        """What there may be rows of: every group (-1 for a source), and where it can hear of several, each of these."""
        names, groups = self.topology.names, self.topology.groups
        parts: dict[str, tuple[int, int]] = {}
        for g, group in enumerate(groups):
            members = self.topology.group == g
            heard = [s for s, there in enumerate(self.reached) if there[members].any()]
            parts |= {f"{group} of {names[self.sources[s]]}": (g, s) for s in heard if len(heard) > 1}
        found = parts | {name: (g, -1) for g, name in enumerate(groups)}
        return dict(sorted(found.items(), key=lambda one: one[1]))

    def asks(self, group: int) -> bool:
        """Whether there are clients in a group."""
        return bool(self.topology.clients[self.topology.group == group].any())

    def delay(self, upstream: int, node: int) -> float:
        """How old what a node hears of another is when it arrives."""
        delay = self.topology.delays.get((upstream, node), self.topology.delay)
        if isinstance(delay, Law):
            raise NoFormulaError("delays drawn from a law")
        return delay

    @property
    def queries(self) -> list[Asker]:
        return [asker for asker in self.askers if asker.purpose == QUERIES]


def alike(*columns: Any) -> Ints:
    """Numbers from 0 on, the same for rows that are the same in every column."""
    found = np.zeros(columns[0].size, np.int64)
    for column in columns:
        if found.size and (column != column[0]).any():
            values, which = np.unique(column, return_inverse=True)
            found = np.unique(found * values.size + which, return_inverse=True)[1]
    return found
