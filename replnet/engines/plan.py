"""A network as arrays: what `step` walks and `array` compiles, from one graph.

Every wake of every node is a point of one of its processes, and all that a
replica or a client ever does is to ask some of its candidates:

    downloads   candidates = upstreams, all of them unless `ask` says fewer
    polls       candidates = the other members of its pool, or its peers; k of them
    queries     candidates = the members of its pool, or the nodes it is linked to; k of them

so a process is (node, law, candidates, how many). Node and process numbers
follow the order of the graph; at equal instants the lower process goes first,
updates before all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from replnet.engines.outages import Faults, faults
from replnet.laws.law import Law
from replnet.laws.processes.streams import PURPOSES, Words, name_words

if TYPE_CHECKING:
    from replnet.network.network import Network

Ints = npt.NDArray[np.int64]
UPDATES, DOWNLOADS, POLLS, QUERIES = (PURPOSES[name] for name in ("updates", "downloads", "polls", "queries"))


@dataclass(frozen=True)
class Process:
    """One process of one node, and whom it asks."""

    node: int
    purpose: int
    law: Law
    candidates: tuple[int, ...] | list[int]
    ask: int
    recent: bool = False


@dataclass(frozen=True, eq=False)
class Plan:
    """The processes of a network, its groups and who can hear of which source."""

    names: tuple[str, ...]
    roles: tuple[str, ...]
    processes: tuple[Process, ...]
    groups: tuple[str, ...]
    group: Ints  # of each node; -1 for sources
    sources: tuple[int, ...]
    reached: npt.NDArray[np.bool_]  # reached[s, i]: node i can hold a copy of the s-th source
    hops: int  # the most steps that one of these copies takes at least
    delays: dict[tuple[int, int], Law | float]  # one-way, by (upstream, downstream); absent: `delay`
    delay: Law | float
    faults: Faults = field(default_factory=Faults)
    bandwidth: npt.NDArray[np.float64] | None = None  # of each node, inf where it has no limit; None: nobody has one
    queue: int = 1000  # messages that may wait at a node with a limit
    both: bool = False  # whether replicas spend bandwidth on answers to replicas

    @cached_property
    def laws(self) -> tuple[Law, ...]:
        return tuple(dict.fromkeys(p.law for p in self.processes))

    @cached_property
    def which(self) -> Ints:
        number = {law: g for g, law in enumerate(self.laws)}
        return np.array([number[p.law] for p in self.processes], np.int64)

    @cached_property
    def purpose(self) -> Ints:
        return np.array([p.purpose for p in self.processes], np.int64)

    @cached_property
    def node(self) -> Ints:
        return np.array([p.node for p in self.processes], np.int64)

    @cached_property
    def stream_names(self) -> Words:
        """A word per process, the same for all processes of a node."""
        return name_words(self.names)[self.node]

    @cached_property
    def clients(self) -> npt.NDArray[np.bool_]:
        return np.array([role == "client" for role in self.roles])

    @cached_property
    def counted(self) -> npt.NDArray[np.bool_]:
        """counted[s, i]: node i counts for the s-th source, because it can hear of it.

        One that hears of none counts for the first, and is never fresh.
        """
        counted = self.reached.copy()
        counted[0] |= ~self.reached.any(axis=0)
        counted[:, list(self.sources)] = False
        return counted

    @cached_property
    def copies(self) -> Ints:
        """How many copies a group stands for: one per replica and source that counts."""
        return np.asarray(self.copies_of.sum(axis=0))

    @cached_property
    def copies_of(self) -> Ints:
        """The same source by source, a row for each."""
        held = np.flatnonzero((self.group >= 0) & ~self.clients)
        found = [np.bincount(self.group[held], counted, len(self.groups)) for counted in self.counted[:, held]]
        return np.array(found).astype(np.int64)

    @cached_property
    def parts(self) -> dict[str, tuple[int, int]]:
        """`GROUP of SOURCE`, with the numbers of both, of groups that can hear of several sources."""
        heard = [np.flatnonzero(self.reached[:, self.group == g].any(axis=1)).tolist() for g in range(len(self.groups))]
        return {
            f"{self.groups[g]} of {self.names[self.sources[row]]}": (g, row)
            for g, rows in enumerate(heard)
            if len(rows) > 1
            for row in rows
        }

    @cached_property
    def rows(self) -> dict[str, tuple[int, int]]:
        """What tables may have rows of, in order: every group, which has -1 for a source, and then its parts."""
        groups = {name: (g, -1) for g, name in enumerate(self.groups)}
        found = self.parts | groups  # who calls a group as a part is called gets the group
        return dict(sorted(found.items(), key=lambda row: row[1]))

    @property
    def constant_delay(self) -> float | None:
        """The one delay of all messages, or None where they differ or follow a law."""
        return None if isinstance(self.delay, Law) or self.delays else self.delay

    @cached_property
    def recent(self) -> bool:
        """Whether anyone polls the latest contacts of its upstream."""
        return any(p.recent for p in self.processes)

    @property
    def strict(self) -> bool:
        """Whether pulls may come to nothing, so that only answers that bring a copy count."""
        return bool(self.faults) or self.bandwidth is not None

    @property
    def swept(self) -> bool:
        """Whether an update makes everything stale that was unknown before it, and nothing else about it matters."""
        return not self.recent and not self.faults.empties

    @cached_property
    def slowest(self) -> float:
        """The longest mean interval between the downloads, or the polls, of a replica."""
        return max((p.law.mean for p in self.processes if p.purpose in (DOWNLOADS, POLLS)), default=0.0)

    @cached_property
    def quiet(self) -> float:
        """The longest mean time between the pulls of a replica, downloads and polls together."""
        often: dict[int, float] = {}
        for p in self.processes:
            if p.purpose in (DOWNLOADS, POLLS):
                often[p.node] = often.get(p.node, 0.0) + p.law.rate
        return 1 / min(often.values()) if often else 0.0

    @cached_property
    def asking(self) -> float:
        """Pulls per unit of time."""
        return float(sum(p.law.rate * p.ask for p in self.processes))

    @cached_property
    def direct(self) -> Ints:
        """Downloads of replicas that ask one source and nobody else: (process, node, source) rows."""
        if self.constant_delay is None or self.recent or self.strict:
            # The delay of that download is not at hand, or it may have failed; and lists of contacts have a start
            # that forgets copies.
            return np.empty((0, 3), np.int64)
        pollers = {p.node for p in self.processes if p.purpose == POLLS}
        rows = [
            (q, p.node, p.candidates[0])
            for q, p in enumerate(self.processes)
            if p.purpose == DOWNLOADS and p.node not in pollers
            if len(p.candidates) == 1 and p.candidates[0] in self.sources
        ]
        return np.array(rows, np.int64).reshape(-1, 3)

    @cached_property
    def rate(self) -> float:
        """Events per unit of time."""
        return float(sum(p.law.rate for p in self.processes))


def plan(network: Network) -> Plan:
    if network.kind == "aggregate":
        raise ValueError("engine: many sources are emulated by array alone (engine: array)")
    graph = network.graph
    names = tuple(graph)
    number = {name: i for i, name in enumerate(names)}
    roles = tuple(graph.nodes[name]["role"] for name in names)
    pools = {pool: [number[name] for name in members] for pool, members in graph.graph.get("pools", {}).items()}
    processes = [p for name in names for p in _processes(graph, name, number, pools)]
    processes.sort(key=lambda p: p.purpose != UPDATES)
    sources = tuple(p.node for p in processes if p.purpose == UPDATES)
    labels = [
        graph.nodes[name].get("group") if role != "source" else None for name, role in zip(names, roles, strict=True)
    ]
    groups = tuple(dict.fromkeys(str(label) for label in labels if label is not None))
    place = {label: g for g, label in enumerate(groups)}
    delays = {(number[a], number[b]): d for a, b, d in graph.edges(data="delay") if d is not None}
    reached, hops = _reached(len(names), processes, sources)
    return Plan(
        names=names,
        roles=roles,
        processes=tuple(processes),
        groups=groups,
        group=np.array([-1 if label is None else place[str(label)] for label in labels], np.int64),
        sources=sources,
        reached=reached,
        hops=hops,
        delays=delays,
        delay=graph.graph.get("delay") or 0.0,
        faults=faults(graph, number),
        bandwidth=_bandwidth(graph),
        queue=graph.graph.get("queue", 1000),
        both=graph.graph.get("charge") == "both",
    )


def _bandwidth(graph: Any) -> npt.NDArray[np.float64] | None:
    limits = np.array([about.get("bandwidth", np.inf) for _, about in graph.nodes(data=True)])
    return limits if np.isfinite(limits).any() else None


def _processes(graph: Any, name: str, number: dict[str, int], pools: dict[str, list[int]]) -> Iterator[Process]:
    about, i = graph.nodes[name], number[name]

    def linked(kind: str) -> list[int]:
        return [number[a] for a, link in graph.pred[name].items() if link.get("kind") == kind]

    if about["role"] == "source":
        yield Process(i, UPDATES, about["updates"], (), 0)
    if about.get("downloads") is not None:
        upstreams = linked("download")
        yield Process(i, DOWNLOADS, about["downloads"], upstreams, _at_most(about.get("ask"), upstreams))
    if about.get("polls") is not None:
        others = pools[about["pool"]] if about.get("pool") else linked("peer")
        recent = about.get("select", "random") == "recent"
        yield Process(i, POLLS, about["polls"], others, about.get("peers", 1), recent)
    if about.get("queries") is not None:
        asked = pools[about["pool"]] if about.get("pool") else linked("query")
        yield Process(i, QUERIES, about["queries"], asked, _at_most(about.get("ask"), asked))


def _at_most(ask: int | None, candidates: list[int]) -> int:
    return len(candidates) if ask is None else min(ask, len(candidates))


def _ways(processes: list[Process]) -> Iterator[tuple[int, Sequence[int]]]:
    """Everyone who asks, and whom it may ever ask: of its recent contacts those alone who share its upstream."""
    home = {p.node: p.candidates[0] for p in processes if p.purpose == DOWNLOADS and p.candidates}
    shared: dict[int, dict[int | None, list[int]]] = {}
    for p in processes:
        if p.recent and id(p.candidates) not in shared:
            by_home = shared[id(p.candidates)] = {}
            for i in p.candidates:
                by_home.setdefault(home.get(i), []).append(i)
        yield p.node, shared[id(p.candidates)].get(home[p.node], ()) if p.recent else p.candidates


def _reached(n: int, processes: list[Process], sources: tuple[int, ...]) -> tuple[npt.NDArray[np.bool_], int]:
    """Who can hold a copy of which source, being connected to it by some chain of asking; the most steps of these."""
    ways = list(_ways(processes))
    links = [(c, node) for node, asked in ways if len(asked) <= 8 for c in asked]
    upstream, downstream = np.array(links, np.int64).reshape(-1, 2).T
    # Members of a pool share one list, so a pool of m costs m and not m^2.
    users: dict[int, list[int]] = {}
    for node, asked in ways:
        if len(asked) > 8:
            users.setdefault(id(asked), []).append(node)
    shared = {id(asked): asked for _, asked in ways if id(asked) in users}
    lists = {key: np.array(members) for key, members in shared.items()}
    reached, hops = np.zeros((len(sources), n), np.bool_), 0
    for seen, source in zip(reached, sources, strict=True):
        seen[source], steps, count = True, 0, 0
        while count != (count := int(seen.sum())):
            before, steps = seen.copy(), steps + 1
            seen[downstream[before[upstream]]] = True
            for key, members in lists.items():
                if before[members].any():
                    seen[users[key]] = True
        hops = max(hops, steps - 1)
        seen[source] = False
    return reached, hops
