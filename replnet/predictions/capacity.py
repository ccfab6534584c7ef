"""What limited bandwidth means for a network: service rates, lines, and messages that are turned away.

A replica can serve what its bandwidth leaves it after its own pulls and, with
`charge: both`, its answers to replicas; a query takes k of that, where it asks k
replicas (P2P eq. 30, 34). Lines are those of theory.load.

A pull that gets lost has been spent by who sent it, and is not there for who is asked. Who never turns
anything away does not do so either where less comes, because nodes crash or are cut off. But what else is
known of a line is known only where messages come to it at the same rate all the time.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple, final

import numpy as np

from replnet.ages.prediction import Basis, Prediction, unknown
from replnet.ages.queueing import BURST, COUNTING, LONG, POLLACZEK_KHINCHINE, ebb, growth, needed
from replnet.laws.families import Exponential
from replnet.laws.law import Flags, Floats, Ints
from replnet.network.faults import ONE, OTHER
from replnet.network.topology import DOWNLOADS, QUERIES, SOURCE
from replnet.predictions.pull_graph import Asker, PullGraph

OVERFLOWS = "lines that overflow now and then"
UNSTEADY = "lines of nodes that crash, or that those ask who crash, are cut off or poll recent contacts"


class Messages:
    """What every node is asked to send: its rate, and the growth and the ebb of theory.load (rows of `flow`).

    `rough` says where messages are not Poisson, and `unsteady` where they come at a rate that is not known or not
    always the same; then `flow` is the most that may come.
    """

    def __init__(self, n: int) -> None:
        self.flow = np.zeros((3, n))
        self.rough, self.unsteady = np.zeros(n, np.bool_), np.zeros(n, np.bool_)

    def plus(self, others: Messages, where: Flags | None = None) -> Messages:
        """These and others; at nodes that are not in `where`, these alone."""
        sums, here = Messages(self.rough.size), np.ones(self.rough.size, np.bool_) if where is None else where
        sums.flow = self.flow + np.where(here, others.flow, 0.0)
        sums.rough, sums.unsteady = self.rough | (here & others.rough), self.unsteady | (here & others.unsteady)
        return sums


class Alike(NamedTuple):
    """Processes that ask the same nodes in the same way."""

    candidates: int  # identity of their list
    group: int  # of clients; -1: replicas
    sides: tuple[int, ...]  # of whatever loses or cuts messages
    poisson: bool
    steady: bool


@final
class Capacity:
    """Formulas for a plan with limits, group by group."""

    def __init__(self, graph: PullGraph) -> None:
        assert graph.limits is not None
        self._graph, self._limit, n = graph, graph.limits, graph.topology.size
        self._queue = int(graph.topology.about.get("queue", 1000))
        asking = [asker for asker in graph.askers if asker.ask]
        self._largest = max((p.ask for p in asking if p.purpose != QUERIES), default=1)
        self._theta = needed(self._queue, self._largest)
        self._crashing = np.zeros(n, np.bool_)
        for crash in graph.faults.crashes:
            self._crashing[list(crash.nodes)] = True
        timed = [crash.fault for crash in graph.faults.crashes] + [cut.fault for cut in graph.faults.cuts]
        self._on_schedule = any(fault.at is not None for fault in timed)
        self._ways = (*graph.faults.losses, *graph.faults.cuts)
        self._squares = np.zeros(n)  # of how many pulls go at once, per unit of time
        self._lists = {p.among: p.candidates for p in asking}
        self._members = {key: frozenset(some.tolist()) for key, some in self._lists.items()}
        self._contacts: dict[tuple[int, int], int] = {}  # how many of a list download from a node and nowhere else
        self._own, self._by_replicas, self._by_clients = Messages(n), Messages(n), Messages(n)
        self._own.unsteady |= self._crashing
        self._asked: dict[Alike, Floats] = {}
        self._count(asking)
        charged = (graph.topology.role == SOURCE) | (graph.topology.about.get("charge") == "both")
        over = ~self._roomy(self._own.plus(self._by_replicas, charged))
        for p in asking:
            if over[p.node]:  # who is not asked as often as it would be
                self._by_replicas.unsteady[self._lists[p.among]] = True
        self._exchange = self._own.plus(self._by_replicas, charged)
        self._all = self._exchange.plus(self._by_clients)

    def _count(self, asking: list[Asker]) -> None:
        """Add up who asks whom."""
        themselves: list[tuple[Alike, int, Floats]] = []
        for p in asking:
            by_client, inside = p.purpose == QUERIES, p.node in self._members[p.among]
            if not by_client:
                self._spend(p)
            sides = tuple(int(way.side[p.node]) for way in self._ways)
            steady = not (p.recent or self._crashing[p.node])
            group = int(self._graph.topology.group[p.node]) if by_client else -1
            key = Alike(p.among, group, sides, isinstance(p.law, Exponential), steady)
            flow = self._flow(p, p.ask / (p.candidates.size - inside), 1)
            if p.recent:
                flow[1:] = np.inf, 0.0
            self._asked[key] = self._asked.get(key, np.zeros(3)) + flow
            if inside:  # a member of its own pool
                themselves.append((key, p.node, np.where(np.isfinite(flow), flow, 0.0)))
        for key, flow in self._asked.items():
            self._arrive(key, flow, self._lists[key.candidates])
        for key, node, flow in themselves:
            self._arrive(key, -flow, np.array([node]))

    def _spend(self, p: Asker) -> None:
        own, law = self._own, p.law
        assert law
        own.flow[:, p.node] += self._flow(p, 1.0, p.ask)
        own.rough[p.node] |= not isinstance(law, Exponential)
        own.unsteady[p.node] |= p.recent and not self._always_asks(p)
        self._squares[p.node] += law.rate * p.ask**2

    def _flow(self, p: Asker, share: float, n: int) -> Floats:
        """Of batches of n, of a share of the events."""
        law, theta = p.law, self._theta
        assert law
        return np.array([law.rate * share * n, growth(law, share, n, theta), ebb(law, share, n, theta)])

    def _arrive(self, key: Alike, flow: Floats, asked: Ints) -> None:
        to = self._by_replicas if key.group < 0 else self._by_clients
        through, cut = self._through(key, asked)
        some = np.outer(flow, through)
        if not key.poisson:  # as if none were lost, which is not less
            some[1] = flow[1]
        to.flow[:, asked] += some
        to.rough[asked] |= not key.poisson
        to.unsteady[asked] |= cut | (not key.steady)

    def _through(self, key: Alike, asked: Ints) -> tuple[Floats, Flags]:
        """What share of their pulls gets there, and whether it is cut off at times."""
        through, cut = np.ones(asked.size), np.zeros(asked.size, np.bool_)
        for mine, way in zip(key.sides, self._ways, strict=True):
            theirs = way.side[asked]
            struck = (theirs & OTHER > 0) * (mine & ONE > 0) | (theirs & ONE > 0) * (mine & OTHER > 0)
            cut |= struck & (way.fault.lose is None)
            through *= 1 - struck * (way.fault.lose or 0.0)
        return through, cut

    def _always_asks(self, p: Asker) -> bool:
        """Whether recent contacts are always as many as are polled."""
        upstreams = self._upstreams.get(p.node, [])
        if len(upstreams) != 1 or self._graph.faults.crashes:
            return False
        key = p.among, upstreams[0]
        if key not in self._contacts:
            self._contacts[key] = sum(self._upstreams.get(i) == upstreams for i in p.candidates.tolist())
        return self._contacts[key] - (p.node in self._members[p.among]) >= p.ask

    @cached_property
    def _upstreams(self) -> dict[int, list[int]]:
        return {p.node: p.candidates.tolist() for p in self._graph.askers if p.purpose == DOWNLOADS}

    def _roomy(self, messages: Messages) -> Flags:
        """Nodes where nothing is ever turned away (3)."""
        grows = messages.flow[1]
        roomy: Flags = np.isinf(self._limit) | (np.isfinite(grows) & (grows <= self._limit * self._theta))
        return roomy

    def _busy(self, messages: Messages) -> Flags:
        """Nodes that always have something to send (4)."""
        busy: Flags = messages.flow[2] >= self._limit * self._theta
        return busy

    @property
    def crowded(self) -> str:
        """Whose exchange with others does not all take place, or nothing."""
        over = np.flatnonzero(self._exchange.flow[0] > self._limit * (1 + 1e-12)).tolist()
        if not over:
            return ""
        node = over[0]
        others = f", and {len(over) - 1} more like it" if len(over) > 1 else ""
        asked, limit = self._all.flow[0][node], self._limit[node]
        return f"{self._graph.topology.names[node]} is asked for {asked:g} messages, its bandwidth is {limit:g}{others}"

    @property
    def turned_away(self) -> float:
        """About the largest share of an exchange that chance alone turns away; 0 where lines do not overflow."""
        over = ~self._roomy(self._exchange)
        if not over.any():
            return 0.0
        if not np.isfinite(self._exchange.flow[1][over]).all() and np.isfinite(self._theta):
            return 1.0
        own, squares = self._own.flow[0][over], self._squares[over]
        size = np.divide(squares, own, out=np.ones_like(own), where=own > 0)
        # Of M/D/1/K at a load of 1 it is about 1 / (2 K).
        return float((size * np.where(self._exchange.rough[over], BURST, 1)).max()) / self._queue

    def formulas(self) -> dict[tuple[str, str], Prediction]:
        """By (group, metric)."""
        found: dict[tuple[str, str], Prediction] = {}
        asks = {p.ask for p in self._graph.queries}
        for g, group in enumerate(self._graph.topology.groups):
            members = np.flatnonzero(self._graph.topology.group == g)
            if not members.size:  # who only has a look sends nothing
                continue
            if self._graph.topology.clients[members].any():
                asked, weights = self._asked_by(g)
                found[group, "queueing_delay"] = self._wait(asked, weights)
                found[group, "rejected"] = self._turned_away(asked, weights)
            elif np.isfinite(self._limit[members]).all():
                if len(asks) <= 1:
                    found[group, "service_rate"] = self._service(members, next(iter(asks), 1))
                found[group, "rejected"] = self._rejected(members)
        for source in self._graph.sources:
            if np.isfinite(self._limit[source]):
                found[self._graph.topology.names[source], "rejected"] = self._rejected(np.array([source]))
        return found

    def _asked_by(self, group: int) -> tuple[Ints, Floats]:
        """The nodes with a limit that these clients ask, and how often."""
        weights = np.zeros(len(self._limit))
        for key, flow in self._asked.items():
            if key.group == group:
                asked = self._lists[key.candidates]
                weights[asked] += flow[0] * self._through(key, asked)[0]
        asked = np.flatnonzero((weights > 0) & np.isfinite(self._limit))
        return asked, weights[asked]

    def _left(self, nodes: Ints) -> Floats:
        """What exchange with others leaves of their bandwidth; _doubts says where that is not known."""
        left: Floats = np.maximum(self._limit[nodes] - self._exchange.flow[0][nodes], 0.0)
        return left

    def _doubts(self, nodes: Ints) -> str:
        """Why it is not known how much of the exchange takes place, or nothing."""
        if self._exchange.unsteady[nodes].any():
            return UNSTEADY
        return "" if (self._roomy(self._exchange) | self._busy(self._exchange))[nodes].all() else OVERFLOWS

    def _basis(self, nodes: Ints) -> Basis:
        """Of counting what lines take that may be full."""
        return LONG if (self._exchange.rough & ~self._roomy(self._all))[nodes].any() else COUNTING

    def _service(self, members: Ints, k: int) -> Prediction:
        # What waits at the end is not what waited at the start, if clients are kept away on schedule.
        scheduled = self._on_schedule and bool(self._by_clients.unsteady[members].any())
        if doubts := self._doubts(members) or (UNSTEADY if scheduled else ""):
            return unknown(doubts)
        source = "P2P eq. 34" if k > 1 else "P2P eq. 30"
        over = (self._exchange.rough & ~self._roomy(self._exchange))[members].any()
        kind, value = "limit" if over else "exact", float(self._left(members).sum()) / k
        return Prediction(value, kind, source, "a message costs 1", note=self._sources())

    def _sources(self) -> str:
        """P2P eq. 30: what is downloaded from a source may not exceed its bandwidth."""
        for source in self._graph.sources:
            asked, limit = self._by_replicas.flow[0][source], self._limit[source]
            if asked > limit * (1 + 1e-12):
                name = self._graph.topology.names[source]
                return f"{name} is asked {asked:g} times per unit of time, above its bandwidth of {limit:g}"
        return ""

    def _rejected(self, nodes: Ints) -> Prediction:
        """What is turned away at these nodes of all that is asked of them."""
        if self._roomy(self._exchange)[nodes].all():
            return Prediction.of(0.0, COUNTING)
        if doubts := self._doubts(nodes):
            return unknown(doubts)
        asked = self._exchange.flow[0][nodes]
        sent = np.minimum(asked, self._limit[nodes])
        return Prediction.of(1 - sent.sum() / asked.sum(), self._basis(nodes))

    def _turned_away(self, nodes: Ints, weights: Floats) -> Prediction:
        """What these nodes turn away of their clients' pulls."""
        roomy = self._roomy(self._all)[nodes]
        if roomy.all():
            return Prediction.of(0.0, COUNTING)
        if doubts := self._doubts(nodes) or (UNSTEADY if self._by_clients.unsteady[nodes].any() else ""):
            return unknown(doubts)
        if not (roomy | self._busy(self._all)[nodes]).all():
            return unknown(OVERFLOWS)
        if self._by_clients.rough[nodes].any():
            return unknown("full lines that clients do not ask at exponential intervals")
        over = np.where(roomy, 0.0, 1 - self._left(nodes) / self._by_clients.flow[0][nodes])
        return Prediction.of(over @ weights / weights.sum(), self._basis(nodes))

    def _wait(self, nodes: Ints, weights: Floats) -> Prediction:
        """Of answers that these nodes give, so many each."""
        if not nodes.size:
            return unknown("answers that never wait")
        if self._all.unsteady[nodes].any():
            return unknown(UNSTEADY)
        if self._all.rough[nodes].any():
            return unknown("lines whose messages do not come at exponential intervals")
        if not (self._roomy(self._exchange) & self._roomy(self._all))[nodes].all():
            return unknown(OVERFLOWS)
        limit, load = self._limit[nodes], self._all.flow[0][nodes]
        singles = load - self._own.flow[0][nodes]
        waits = (singles + self._squares[nodes]) / limit / (2 * (limit - load))  # (1) of theory.load
        return Prediction.of(waits @ weights / weights.sum(), POLLACZEK_KHINCHINE)
