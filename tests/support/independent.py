"""A second simulator, written from the papers' definitions alone: one heap of events, nothing of replnet's engines.

All that it shares with them is the network as it is specified (`Network.graph`, `Network.data()`) and the laws of
single intervals (`quantile`, `cdf`, `mean`, `age`). What it takes for granted:

    A copy holds what left its source at an instant S; it is fresh while the source has not changed since (P2P II).
    A pull sent at t is answered at t + delay, the reply arrives at t + 2 delay, each message with a delay of its own
    where that is a law; who asks keeps the freshest per source. A query ends when all its k replies have come, or
    would have come, and is judged then.
    What is measured is a mean over time with a copy (of clients: over answers), of all (replica, source) that can
    exist alike: with f the first update after S, staleness is 1 from f on, and so forth (Staleness II-C).
    A query is answered that brings a copy of any source, and where nothing can go wrong every query is. Its answer is
    stale for all other sources that its client can hear of, and so is a replica that can hear of none: they cost as
    much as a copy that is infinitely old, but where that would be infinite.
    A line of bandwidth B gives every message 1 / B in order of arrival. What replicas exchange takes its room but does
    not wait, and is turned away where exchange alone fills the line; an answer to a client holds what there was when it
    was asked, leaves after its wait, and is turned away where the line is full.
    A crash ends all that its node waits for or has in line. Sources change on while they are down.
    Of many sources each counts what it weighs, and those who have a look at any time find the freshest copy that there
    is in so many of the replicas, drawn anew every time.

Processes start in equilibrium at the begin of a warm-up, with copies from before that count as never fresh.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import Any

import networkx as nx
import numpy as np
from independent_aggregate import Aggregate, together
from independent_processes import draws, instants, spans
from independent_staleness import Stretches, shares, without_copy

import replnet as rn

Key = tuple[str, str]  # group and metric
Sums = dict[Key, list[float]]  # an amount, and the whole of which it is a share
Estimates = dict[Key, tuple[float, float]]
WARM = 40.0  # longer than nearly all copies last
LOOKS = 40.0  # instants per unit of time at which a view has one
AT = " at "  # between a metric and the time at which it is asked for
UNKNOWN = -math.inf  # when a copy left its source that was there before all


@dataclass(eq=False)
class Node:
    name: str
    about: dict[str, Any]
    copies: dict[str, float] = field(default_factory=dict)
    since: dict[str, float] = field(default_factory=dict)  # when those came
    down: int = 0  # how many faults have struck it
    crashes: int = 0
    contacts: list[str] = field(default_factory=list)  # of the cluster, as last told
    callers: dict[str, None] = field(default_factory=dict)  # latest last
    exchange: float = -math.inf  # when it will have sent what replicas exchange
    busy: float = -math.inf  # and everything
    idle: float = 0.0  # without anything to send, in [0, length)
    up_since: float = -math.inf
    group: str = field(init=False)
    role: str = field(init=False)

    def __post_init__(self) -> None:
        self.group, self.role = self.about["group"], self.about["role"]


@dataclass(eq=False)
class Query:
    left: int
    began: float
    ends: float
    copies: dict[str, float] = field(default_factory=dict)


class Simulation:
    """One replication over [0, length), after a warm-up."""

    def __init__(self, network: rn.Network, length: float, warm: float, rng: np.random.Generator) -> None:
        self.graph, self.length, self.start, self.rng = network.graph, length, -warm, rng
        data = network.data()
        aggregate = data if data["kind"] == "aggregate" else data.get("tiers", [{}])[0]
        self.many = Aggregate(aggregate, length, warm, rng) if aggregate.get("kind") == "aggregate" else None
        about = self.graph.graph
        self.delay, self.queue, self.both = about["delay"], about["queue"], about["charge"] == "both"
        self.nodes = {name: Node(name, attributes) for name, attributes in self.graph.nodes(data=True)}
        self.heap: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self.serial, self.uniforms = count(), self._uniforms()
        self.asking: list[tuple[Node, float, list[str], int]] = []
        self.delays: dict[str, Iterator[float]] = {}
        self.sums: Sums = defaultdict(lambda: [0.0, 0.0])
        self.held: dict[Key, list[tuple[float, float, float]]] = defaultdict(list)  # by node and source
        self.given: dict[Key, list[tuple[float, float]]] = defaultdict(list)
        self.without: dict[Key, int] = defaultdict(int)  # answers, by group and source
        self.heard = reachable(self.graph)
        self.updates: dict[str, np.ndarray] = {}
        self.cuts: list[tuple[set[str], set[str], list[bool]]] = []
        self.losses: list[tuple[float, set[str] | None, set[str] | None]] = []
        self.crashing = any(fault.crash for fault in about["faults"])
        self.strict = bool(about["faults"]) or any("bandwidth" in node for _, node in self.graph.nodes(data=True))
        for fault in about["faults"]:
            self._plan(fault)
        sources = [node for node in self.nodes.values() if node.role == "source"]
        replicas = [node for node in self.nodes.values() if node.role == "replica" and "downloads" not in node.about]
        self.weights = {node.name: 1.0 for node in sources}
        if self.many:
            self.weights = dict(zip(self.weights, self.many.weights, strict=True))
            self.updates = dict(zip(self.weights, self.many.updates, strict=True))
        for node in self.nodes.values():
            self._begin(node)
        for replica, each in zip(replicas, self.many.refreshes if self.many else (), strict=True):
            for source, rate, times in zip(sources, self.many.downloads, each, strict=True):
                self.asking.append((replica, rate / len(replicas), [source.name], 1))
                self._wake(replica, "downloads", [source.name], 1, iter(times))
        self._fill()
        if data.get("start") == "fresh":
            self._at(0.0, self._refresh)

    def _refresh(self) -> None:
        """All replicas that are up have what their sources have now."""
        for node in self.nodes.values():
            if node.role == "replica" and not node.down:
                node.copies, node.since = dict.fromkeys(node.copies, 0.0), dict.fromkeys(node.copies, 0.0)

    def _uniforms(self) -> Iterator[float]:
        while True:
            yield from self.rng.random(4096).tolist()

    def _at(self, when: float, what: Callable[..., None], *args: Any) -> None:
        heappush(self.heap, (when, next(self.serial), what, args))

    def _begin(self, node: Node) -> None:
        about = node.about
        if node.role == "source":
            if self.many or "updates" not in about:  # those of many have theirs already
                return
            self.updates[node.name] = instants(str(about["updates"]), self.start, self.length, self.rng)
            return
        kind = {"downloads": "download", "polls": "peer", "queries": "query"}
        for purpose in kind:
            if about.get(purpose) is None:
                continue
            others = self._candidates(node, kind[purpose])
            asked = {"downloads": about.get("ask") or len(others), "polls": about.get("peers")}
            k = asked.get(purpose, about.get("ask"))
            times = iter(instants(str(about[purpose]), self.start, self.length, self.rng).tolist())
            if others:
                self.asking.append((node, rn.law(str(about[purpose])).rate, others, min(k, len(others))))
                self._wake(node, purpose, others, min(k, len(others)), times)
        if node.role == "replica":
            for source in self.heard[node.name]:
                node.copies[source], node.since[source] = UNKNOWN, self.start

    def _candidates(self, node: Node, kind: str) -> list[str]:
        pool = node.about.get("pool") if kind != "download" else None
        if pool is not None:
            return [name for name in self.graph.graph["pools"][pool] if name != node.name]
        return [up for up, _, edge in self.graph.in_edges(node.name, data=True) if edge["kind"] == kind]

    # What nodes do.

    def _wake(self, node: Node, purpose: str, others: list[str], k: int, times: Iterator[float]) -> None:
        """Wait for the next instant of a process."""
        if (when := next(times, None)) is not None:
            self._at(when, self._woken, when, node, purpose, others, k, times)

    def _woken(self, now: float, node: Node, purpose: str, others: list[str], k: int, times: Iterator[float]) -> None:
        self._wake(node, purpose, others, k, times)
        if node.down:
            return
        if self.many and others[0] in self.updates and now >= 0:
            self._add((others[0], "download_rate"), 1.0, 0.0)
        if purpose == "polls" and node.about.get("select") == "recent":
            asked = [name for name in node.contacts if name in others][:k]
        else:
            asked = others if k == len(others) else self._drawn(others, k)
        query = Query(len(asked), now, now) if purpose == "queries" else None
        offer = dict(node.copies) if purpose == "polls" and node.about.get("two_way") else None
        for name in asked:
            self._ask(now, node, self.nodes[name], query, offer)

    def _drawn(self, others: list[str], k: int) -> list[str]:
        if k == 1:
            return [others[int(next(self.uniforms) * len(others))]]
        rest = list(others)
        return [rest.pop(int(next(self.uniforms) * len(rest))) for _ in range(k)]

    def _ask(self, now: float, asker: Node, target: Node, query: Query | None, offer: dict[str, float] | None) -> None:
        there, back = self._way(asker, target), self._way(asker, target)
        late = now + there + back  # when a reply would come
        if query is None and self._line(now, asker, True) is None:
            return
        if self._vanishes(asker, target):
            self._end(late, asker, query, None)
        elif there:
            self._at(now + there, self._asked, now + there, asker, target, query, offer, back, asker.crashes, late)
        else:
            self._asked(now, asker, target, query, offer, back, asker.crashes, late)

    def _asked(
        self, now: float, asker: Node, target: Node, query: Query | None, offer: dict[str, float] | None, back: float,
        life: int, late: float,
    ) -> None:  # fmt: skip
        wait: float | None = 0.0
        if target.down:
            wait = None
        elif query is not None:
            wait = self._line(now, target, False)
        elif target.role == "source" or self.both:
            wait = self._line(now, target, True)
        if query is not None and not target.down and "bandwidth" in target.about and now >= 0:
            self._add((asker.group, "rejected"), wait is None, 1)
        if wait is None:
            self._end(late, asker, query, None)
            return
        copies = {target.name: now} if target.role == "source" else dict(target.copies)
        if target.role == "replica":
            self._take(now, target, offer or {})
        told = self._contacts(asker, target) if query is None else None
        counted = query is not None and "bandwidth" in target.about
        answer = (asker, target, query, back, life, copies, target.crashes, wait if counted else None, told)
        if wait:
            self._at(now + wait, self._leave, now + wait, *answer)
        else:
            self._leave(now, *answer)

    def _contacts(self, asker: Node, target: Node) -> list[str] | None:
        """The latest others that downloaded from it, for one who does."""
        edge = self.graph.get_edge_data(target.name, asker.name)
        if edge is None or edge["kind"] != "download":
            return None
        told = [name for name in reversed(target.callers) if name != asker.name]
        target.callers.pop(asker.name, None)
        target.callers[asker.name] = None
        return told

    def _leave(
        self, now: float, asker: Node, target: Node, query: Query | None, back: float, life: int,
        copies: dict[str, float], own: int, waited: float | None, told: list[str] | None = None,
    ) -> None:  # fmt: skip
        if waited is not None and own == target.crashes and now >= 0:
            self._add((asker.group, "queueing_delay"), waited, 1)
            self._add((target.group, "service_rate"), 1.0, 0.0)
        if own != target.crashes or self._vanishes(target, asker):
            self._end(now + back, asker, query, None)
        elif back:
            self._at(now + back, self._reply, now + back, asker, query, life, copies, told)
        else:
            self._reply(now, asker, query, life, copies, told)

    def _reply(
        self, now: float, asker: Node, query: Query | None, life: int, copies: dict[str, float], told: list[str] | None
    ) -> None:
        if query is not None:
            self._end(now, asker, query, copies)
        elif life == asker.crashes:
            self._take(now, asker, copies)
            if told is not None:
                asker.contacts = told

    def _take(self, now: float, node: Node, copies: dict[str, float]) -> None:
        """Whichever of these are fresher than its own."""
        for source, left in copies.items():
            if left > node.copies.get(source, UNKNOWN) or source not in node.copies:
                self._hold(now, node, source, left)

    def _end(self, when: float, client: Node, query: Query | None, copies: dict[str, float] | None) -> None:
        """A reply has come, or will not; the last ends the query."""
        if query is None:
            return
        for source, left in (copies or {}).items():
            query.copies[source] = max(left, query.copies.get(source, UNKNOWN))
        query.ends, query.left = max(query.ends, when), query.left - 1
        if query.left == 0 and 0 <= query.ends < self.length:
            heard = self.heard[client.name] or [next(iter(self.weights))]
            for source in heard:
                weight = self.weights[source]
                self._add((client.group, "answered"), weight * bool(query.copies), weight)
                counts = bool(query.copies) or not self.strict
                self.without[client.group, source] += counts and source not in query.copies
            for source, left in query.copies.items():
                self.given[client.group, source].append((query.ends, left))

    def _hold(self, now: float, node: Node, source: str, left: float) -> None:
        self._let_go(now, node, source)
        node.copies[source], node.since[source] = left, now

    def _let_go(self, now: float, node: Node, source: str) -> None:
        if source in node.copies and now > 0:
            self.held[node.name, source].append((max(node.since[source], 0.0), now, node.copies[source]))

    # Ways and lines.

    def _fill(self) -> None:
        """Lines of those who are asked for more than they can send begin full, as they will be."""
        exchange, clients = dict.fromkeys(self.nodes, 0.0), dict.fromkeys(self.nodes, 0.0)
        for node, rate, others, k in self.asking:
            for name in others:
                lost = [share for share, *sides in self.losses if across(node.name, name, *sides)]
                asked = rate * k / len(others) * math.prod(1 - share for share in lost)
                if node.role == "client":
                    clients[name] += asked
                elif self.both or self.nodes[name].role == "source":
                    exchange[name] += asked
            exchange[node.name] += rate * k * (node.role == "replica")
        for name, node in self.nodes.items():
            full = self.start + self.queue / node.about.get("bandwidth", math.inf)
            if exchange[name] > node.about.get("bandwidth", math.inf):
                node.exchange = full
            if exchange[name] + clients[name] >= node.about.get("bandwidth", math.inf):  # at 1 they fill, too
                node.busy = full
            if (exchange[name] / node.about.get("bandwidth", math.inf) - 1) * self.queue > 20:
                # Each answer that ever left has put back all that come later, and in the long run none is left to go.
                node.busy = full + self.queue / node.about["bandwidth"]

    def _way(self, asker: Node, target: Node) -> float:
        edge = self.graph.get_edge_data(target.name, asker.name) or {}
        delay = edge.get("delay", self.delay)
        if isinstance(delay, int | float):
            return float(delay)
        if str(delay) not in self.delays:
            self.delays[str(delay)] = draws(delay, self.rng)
        return next(self.delays[str(delay)])

    def _vanishes(self, sender: Node, to: Node) -> bool:
        for one, other, on in self.cuts:
            if on[0] and across(sender.name, to.name, one, other):
                return True
        return any(
            across(sender.name, to.name, one, other) and next(self.uniforms) < share
            for share, one, other in self.losses
        )

    def _line(self, now: float, node: Node, exchange: bool) -> float | None:
        """How long a message waits at a node, or None where it is turned away."""
        if "bandwidth" not in node.about:
            return 0.0
        each = 1 / node.about["bandwidth"]
        wait = max((node.exchange if exchange else node.busy) - now, 0.0)
        full = wait + each > (self.queue + 1e-9) * each
        if exchange and now >= 0:
            self._add((node.group, "rejected"), full, 1)
        if full:
            return None
        self._idle(now, node)
        node.busy = max(node.busy, now) + each
        if exchange:
            node.exchange = max(node.exchange, now) + each
            return 0.0
        return wait

    def _idle(self, now: float, node: Node) -> None:
        begin = max(node.busy, node.up_since, 0.0)
        if not node.down and now > begin:
            node.idle += now - begin

    # What goes wrong.

    def _plan(self, fault: Any) -> None:
        def struck(names: Iterable[str]) -> set[str]:
            roles = {"sources": "source", "replicas": "replica", "clients": "client"}
            found = set()
            for name in names:
                some = {n.name for n in self.nodes.values() if n.group == name or n.role == roles.get(name)}
                found |= {name} if name in self.nodes else some
            return found

        if fault.lose is not None:
            self.losses.append((fault.lose, *(map(struck, fault.between) if fault.between else (None, None))))
        elif fault.cut is not None:
            on = [False]
            self.cuts.append((*map(struck, fault.cut), on))
            for begin, end in self._times(fault):
                self._at(begin, on.__setitem__, 0, True)
                self._at(end, on.__setitem__, 0, False)
        else:
            for name in sorted(struck(fault.crash)):
                for begin, end in self._times(fault):
                    self._at(begin, self._crash, begin, self.nodes[name], fault.copy_ != "kept")
                    self._at(end, self._back, end, self.nodes[name])

    def _times(self, fault: Any) -> list[tuple[float, float]]:
        if fault.at is not None:
            return [(fault.at, math.inf if fault.lasts is None else fault.at + fault.lasts)]
        return spans(str(fault.up), str(fault.down), self.start, self.length, self.rng)

    def _crash(self, now: float, node: Node, empties: bool) -> None:
        self._idle(now, node)
        if not node.down:
            for source in node.copies:
                self._let_go(now, node, source)
            node.crashes, node.busy, node.exchange = node.crashes + 1, -math.inf, -math.inf
        node.down += 1
        if empties:
            node.copies, node.contacts, node.callers = {}, [], {}

    def _back(self, now: float, node: Node) -> None:
        node.down -= 1
        if not node.down:
            node.up_since = now
            node.since = dict.fromkeys(node.copies, now)

    # What is measured.

    def _add(self, key: Key, amount: float, whole: float) -> None:
        self.sums[key][0] += amount
        self.sums[key][1] += whole

    def run(self, metrics: Iterable[str]) -> Sums:
        """By group and metric, an amount and the whole of which it is a share."""
        while self.heap and self.heap[0][0] < self.length:
            _, _, what, args = heappop(self.heap)
            what(*args)
        replicas = [node for node in self.nodes.values() if node.role == "replica"]
        for node in self.nodes.values():
            if node.role == "replica" and not node.down:
                for source in node.copies:
                    self._let_go(self.length, node, source)
            self._spare(node)
        first = replicas[0].group if self.many else None
        for node in replicas:
            held = {source: self._stretches(node, source) for source in self.heard[node.name]}
            for source, copies in held.items():
                self._sum(node.group, source, copies, metrics)
                if self.crashing:
                    weight = self.weights[source]
                    self._add((node.group, "availability"), weight * copies.whole, weight * self.length)
                if node.group == first:
                    self._add((source, "freshness"), *shares("freshness", copies))
            for metric in metrics if not held else ():
                self._without_copy(node.group, next(iter(self.weights)), metric, 1 if AT in metric else self.length)
            for metric, enough in (("any_fresh", 1), ("all_fresh", len(self.weights))) if self.many else ():
                self._add((node.group, metric), together([*held.values()], enough), self.length)
        for source in self.weights if self.many else ():
            self._add((source, "download_rate"), 0.0, self.length)
        for (group, source), answers in self.given.items():
            self._sum(group, source, Stretches(np.array(answers), self.updates[source]), metrics)
        for (group, source), number in self.without.items():
            for metric in metrics:
                self._without_copy(group, source, metric, 0 if AT in metric else number)
        if self.many and self.graph.graph["kind"] == "aggregate" and "client 1" not in self.nodes:
            self._look([node for node in replicas if node.group == first], metrics)
        return self.sums

    def _stretches(self, node: Node, source: str) -> Stretches:
        return Stretches(np.array(self.held[node.name, source]).reshape(-1, 3), self.updates[source])

    def _sum(self, group: str, source: str, of: Stretches, metrics: Iterable[str]) -> None:
        for metric in metrics:
            amount, whole = shares(metric, of)
            self._add((group, metric), self.weights[source] * amount, self.weights[source] * whole)

    def _without_copy(self, group: str, source: str, metric: str, amount: float) -> None:
        cost, whole = without_copy(metric.partition(AT)[0])
        self._add((group, metric), self.weights[source] * amount * cost, self.weights[source] * amount * whole)

    def _look(self, replicas: list[Node], metrics: Iterable[str]) -> None:
        """What there is in the freshest of so many replicas that are up."""
        assert self.many
        now = np.sort(self.rng.uniform(0, self.length, self.rng.poisson(LOOKS * self.length)))
        who = np.argsort(self.rng.random((now.size, len(replicas))), axis=1)[:, : self.many.ask]
        fresh = np.zeros((now.size, len(self.weights)), np.bool_)
        for at, (source, weight) in enumerate(self.weights.items()):
            every = [self._stretches(node, source).at(now) for node in replicas]
            left = np.take_along_axis(np.stack(every, axis=1), who, axis=1)
            there = ~np.isnan(left).all(axis=1)
            best = np.where(np.isnan(left), UNKNOWN, left).max(axis=1)[there]
            got = Stretches(np.stack([now[there], best], axis=1), self.updates[source])
            fresh[there, at] = got.f > now[there]
            self._sum("clients", source, got, metrics)
            if self.crashing:
                self._add(("clients", "availability"), weight * float(there.sum()), weight * now.size)
        self._add(("clients", "any_fresh"), float(fresh.any(axis=1).sum()), now.size)
        self._add(("clients", "all_fresh"), float(fresh.all(axis=1).sum()), now.size)

    def _spare(self, node: Node) -> None:
        """What a replica could have answered besides; a query takes k answers."""
        if "bandwidth" not in node.about or node.role != "replica":
            return
        self._idle(self.length, node)
        asks = [one.about["ask"] for one in self.nodes.values() if one.role == "client"]
        key = (node.group, "service_rate")
        self._add(key, node.idle * node.about["bandwidth"], 0.0)
        self.sums[key][1] = self.length * (asks[0] if asks else 1)


def simulated(network: rn.Network, metrics: Iterable[str], length: float, replications: int, seed: int) -> Estimates:
    """Every share over replications, and its standard error."""
    names = ["freshness", *metrics]
    runs = [Simulation(network, length, WARM, np.random.default_rng([seed, r])).run(names) for r in range(replications)]
    found = {}
    for key in {key for sums in runs for key in sums}:
        amount, whole = np.array([sums.get(key, (0.0, 0.0)) for sums in runs]).T
        if whole.any():
            value = amount.sum() / whole.sum()
            spread = math.sqrt(((amount - value * whole) ** 2).sum() / (replications - 1) / replications)
            found[key] = float(value), float(spread / whole.mean())
    return found


def across(a: str, b: str, one: set[str] | None, other: set[str] | None) -> bool:
    return one is None or other is None or (a in one and b in other) or (b in one and a in other)


def reachable(graph: nx.DiGraph) -> dict[str, list[str]]:
    """The sources that a node can hear of, by whatever chain of asking."""
    ways = nx.DiGraph()
    ways.add_nodes_from(graph)
    for a, b, kind in graph.edges(data="kind"):
        needs = {"download": "downloads", "peer": "polls", "query": "queries"}[kind]
        if graph.nodes[b].get(needs) is not None or (
            needs == "downloads" and (graph.nodes[a]["role"], graph.nodes[a]["group"]) == ("source", "sources")
        ):  # of many sources each is downloaded by itself
            ways.add_edge(a, b)
    for name, about in graph.nodes(data=True):
        if about.get("pool") is not None and (about.get("polls") is not None or about["role"] == "client"):
            ways.add_edges_from((member, name) for member in graph.graph["pools"][about["pool"]] if member != name)
        if about.get("select") == "recent":
            # It never asks but those who contact its upstream too.
            above = {a for a, _, kind in graph.in_edges(name, data="kind") if kind == "download"}
            strangers = [one for one in ways.predecessors(name) if not above & {*graph.predecessors(one), one}]
            ways.remove_edges_from((one, name) for one in strangers)
    offers = [(b, a) for a, b in ways.edges if graph.nodes[b].get("two_way") and polls(graph, b, a)]
    ways.add_edges_from(offers)
    sources = [name for name, role in graph.nodes(data="role") if role == "source"]
    above = {source: nx.descendants(ways, source) for source in sources}
    return {name: [source for source in sources if name in above[source]] for name in graph}


def polls(graph: nx.DiGraph, one: str, other: str) -> bool:
    """Whether a replica may poll another."""
    about = graph.nodes[one]
    if about.get("polls") is None or graph.nodes[other]["role"] != "replica":
        return False
    if (pool := about.get("pool")) is not None:
        return other in graph.graph["pools"][pool]
    return (graph.get_edge_data(other, one) or {}).get("kind") == "peer"
