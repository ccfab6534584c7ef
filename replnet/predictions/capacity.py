"""What limited bandwidth means for a network: service rates, lines, and messages that are turned away.

A replica can serve what its bandwidth leaves it after its own pulls and, with
`charge: both`, its answers to replicas; a query takes k of that, where it asks k
replicas (P2P eq. 30, 34). Lines (queues) are those of `ages/queueing`, whose numbers (1) to (4) are cited here.

A pull that gets lost costs the asker a message, and the node asked nothing. A node that never turns anything away
does not do so either if fewer messages come, because nodes crash or are cut off. All other formulas of lines need
messages to come at the same rate all the time.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple, final

import numpy as np

from replnet.ages import (
    BURST,
    COUNTING,
    LONG,
    POLLACZEK_KHINCHINE,
    Basis,
    Prediction,
    arrival_exponent,
    service_exponent,
    theta_needed,
    unknown,
)
from replnet.laws import Exponential, Flags, Floats, Ints
from replnet.network import DOWNLOADS, ONE, OTHER, QUERIES, SOURCE
from replnet.predictions.pull_graph import Asker, PullGraph

OVERFLOWS = "lines that overflow now and then"
UNSTEADY = "lines of nodes that crash, or that are asked by nodes which crash, are cut off or poll recent contacts"


class Messages:
    """The messages that every node is asked to send, in arrays with an entry per node; none at first.

    Row 0 of `flow` is their rate. Rows 1 and 2 are exponents of large deviations: if that of arrivals is small enough,
    the node's line never overflows; if that of service is large enough, it is never empty (formulas 2 and 4 in
    `ages/queueing`). `rough` marks nodes whose messages are not Poisson; `unsteady` those whose messages come at a rate
    that is not known or changes, where `flow` is the most that may come.
    """

    def __init__(self, n: int) -> None:
        self.flow = np.zeros((3, n))
        self.rough, self.unsteady = np.zeros(n, np.bool_), np.zeros(n, np.bool_)

    def plus(self, others: Messages, where: Flags | None = None) -> Messages:
        """Return the sum of these messages and `others` as new Messages, at the nodes where the mask `where` is true.

        At other nodes these count alone; without a mask (None) both count everywhere.
        """
        sums, mask = Messages(self.rough.size), np.ones(self.rough.size, np.bool_) if where is None else where
        sums.flow = self.flow + np.where(mask, others.flow, 0.0)
        sums.rough, sums.unsteady = self.rough | (mask & others.rough), self.unsteady | (mask & others.unsteady)
        return sums


class AskerKind(NamedTuple):
    """A kind of processes: those that ask the same nodes in the same way, so that their rates can be added up.

    `candidates` is the number of their list of nodes, `group` that of the clients that ask, -1 for replicas, and
    `sides` the side of the askers in each fault that loses or cuts messages. `poisson` says whether they ask at
    exponential intervals, and `steady` whether always at the same rate.
    """

    candidates: int  # the number of their list of candidates
    group: int  # the group of clients that ask; -1: replicas
    sides: tuple[int, ...]  # the side of the askers in every fault that loses or cuts messages
    poisson: bool
    steady: bool


@final
class Capacity:
    """Formulas of service rate, rejected messages and queueing delay for a network in which some bandwidth is limited.

    `formulas` gives them by group; others say whether a node is overloaded, and how much is turned away by chance.
    """

    def __init__(self, graph: PullGraph) -> None:
        assert graph.limits is not None
        self._graph, self._limit, n = graph, graph.limits, graph.topology.size
        self._queue = int(graph.topology.about.get("queue", 1000))
        asking = [asker for asker in graph.askers if asker.ask]
        self._largest = max((p.ask for p in asking if p.purpose != QUERIES), default=1)
        self._theta = theta_needed(self._queue, self._largest)
        self._crashing = np.zeros(n, np.bool_)
        for crash in graph.faults.crashes:
            self._crashing[list(crash.nodes)] = True
        timed = [crash.fault for crash in graph.faults.crashes] + [cut.fault for cut in graph.faults.cuts]
        self._on_schedule = any(fault.at is not None for fault in timed)
        self._ways = (*graph.faults.losses, *graph.faults.cuts)
        self._squares = np.zeros(n)  # the sum of squared batch sizes of a node's own pulls, per unit of time
        self._lists = {p.list_number: p.candidates for p in asking}
        self._members = {key: frozenset(members.tolist()) for key, members in self._lists.items()}
        self._contacts: dict[tuple[int, int], int] = {}  # by list and upstream, how many members have it alone
        self._own, self._by_replicas, self._by_clients = Messages(n), Messages(n), Messages(n)
        self._own.unsteady |= self._crashing
        self._asked: dict[AskerKind, Floats] = {}
        self._count(asking)
        charged = (graph.topology.role == SOURCE) | (graph.topology.about.get("charge") == "both")
        over = ~self._roomy(self._own.plus(self._by_replicas, charged))
        for p in asking:
            if over[p.node]:  # its pulls may be turned away, so the nodes that it asks get fewer
                self._by_replicas.unsteady[self._lists[p.list_number]] = True
        self._exchange = self._own.plus(self._by_replicas, charged)
        self._all = self._exchange.plus(self._by_clients)

    def _count(self, asking: list[Asker]) -> None:
        """Add up the messages that the processes in `asking` cost each node.

        They are kept apart by what they are: a node's own pulls, or messages asked for by replicas or by clients.
        """
        own_shares: list[tuple[AskerKind, int, Floats]] = []
        for p in asking:
            is_client, is_on_list = p.purpose == QUERIES, p.node in self._members[p.list_number]
            if not is_client:
                self._add_own_pulls(p)
            sides = tuple(int(way.side[p.node]) for way in self._ways)
            steady = not (p.recent or self._crashing[p.node])
            group = int(self._graph.topology.group[p.node]) if is_client else -1
            key = AskerKind(p.list_number, group, sides, isinstance(p.law, Exponential), steady)
            flow = self._flow(p, p.ask / (p.candidates.size - is_on_list), 1)
            if p.recent:
                flow[1:] = np.inf, 0.0
            self._asked[key] = self._asked.get(key, np.zeros(3)) + flow
            if is_on_list:  # a member of the list that it asks, which does not ask itself
                own_shares.append((key, p.node, np.where(np.isfinite(flow), flow, 0.0)))
        for key, flow in self._asked.items():
            self._add_arrivals(key, flow, self._lists[key.candidates])
        for key, node, flow in own_shares:
            self._add_arrivals(key, -flow, np.array([node]))

    def _add_own_pulls(self, p: Asker) -> None:
        """Add to the counts of a replica what the pulls of its own process `p` cost it."""
        own_messages, law = self._own, p.law
        assert law
        own_messages.flow[:, p.node] += self._flow(p, 1.0, p.ask)
        own_messages.rough[p.node] |= not isinstance(law, Exponential)
        own_messages.unsteady[p.node] |= p.recent and not self._always_asks(p)
        self._squares[p.node] += law.rate * p.ask**2

    def _flow(self, p: Asker, share: float, n: int) -> Floats:
        """Return an array of the rate, the arrival exponent and the service exponent of the messages of process `p`.

        A `share` of its events asks for `n` messages each. The exponents tell whether a line of messages overflows, or
        is ever empty.
        """
        law, theta = p.law, self._theta
        assert law
        return np.array(
            [law.rate * share * n, arrival_exponent(law, share, n, theta), service_exponent(law, share, n, theta)]
        )

    def _add_arrivals(self, key: AskerKind, flow: Floats, nodes: Ints) -> None:
        """Add messages asked for by processes of one kind to the counts of each of these nodes, which they ask.

        `flow` is their rate and two exponents before any gets lost on the way.
        """
        messages = self._by_replicas if key.group < 0 else self._by_clients
        through, is_cut = self._share_arriving(key, nodes)
        arriving = np.outer(flow, through)
        if not key.poisson:  # as if none were lost, which is not less
            arriving[1] = flow[1]
        messages.flow[:, nodes] += arriving
        messages.rough[nodes] |= not key.poisson
        messages.unsteady[nodes] |= is_cut | (not key.steady)

    def _share_arriving(self, key: AskerKind, nodes: Ints) -> tuple[Floats, Flags]:
        """Return two arrays over `nodes`: the share of this kind's pulls that arrive, and a mask of nodes cut off.

        A cut counts if it happens at any time; it does not lower the share.
        """
        through, is_cut = np.ones(nodes.size), np.zeros(nodes.size, np.bool_)
        for asker_side, way in zip(key.sides, self._ways, strict=True):
            sides = way.side[nodes]
            is_struck = (sides & OTHER > 0) * (asker_side & ONE > 0) | (sides & ONE > 0) * (asker_side & OTHER > 0)
            is_cut |= is_struck & (way.fault.lose is None)
            through *= 1 - is_struck * (way.fault.lose or 0.0)
        return through, is_cut

    def _always_asks(self, p: Asker) -> bool:
        """Whether there are always at least as many recent contacts as the process `p` polls at a time."""
        upstreams = self._upstreams.get(p.node, [])
        if len(upstreams) != 1 or self._graph.faults.crashes:
            return False
        key = p.list_number, upstreams[0]
        if key not in self._contacts:
            self._contacts[key] = sum(self._upstreams.get(i) == upstreams for i in p.candidates.tolist())
        return self._contacts[key] - (p.node in self._members[p.list_number]) >= p.ask

    @cached_property
    def _upstreams(self) -> dict[int, list[int]]:
        """The candidates of every node's downloads, as lists of numbers of nodes, by number of the node."""
        return {p.node: p.candidates.tolist() for p in self._graph.askers if p.purpose == DOWNLOADS}

    def _roomy(self, messages: Messages) -> Flags:
        """Return a mask of the nodes where nothing is ever turned away, as these messages hardly ever fill the line."""
        grows = messages.flow[1]
        roomy: Flags = np.isinf(self._limit) | (np.isfinite(grows) & (grows <= self._limit * self._theta))
        return roomy

    def _busy(self, messages: Messages) -> Flags:
        """Return a mask of the nodes that always have something to send, as these messages keep the line filled."""
        busy: Flags = messages.flow[2] >= self._limit * self._theta
        return busy

    @property
    def overload(self) -> str:
        """A sentence that names a node whose exchange with replicas exceeds its bandwidth; "" if there is none."""
        overloaded = np.flatnonzero(self._exchange.flow[0] > self._limit * (1 + 1e-12)).tolist()
        if not overloaded:
            return ""
        node = overloaded[0]
        others = f", and {len(overloaded) - 1} more like it" if len(overloaded) > 1 else ""
        load, limit = self._all.flow[0][node], self._limit[node]
        return f"{self._graph.topology.names[node]} is asked for {load:g} messages, its bandwidth is {limit:g}{others}"

    @property
    def rejected_by_chance(self) -> float:
        """An estimate of the largest share of any node's exchange with replicas that is turned away by chance.

        It is 0 if no line ever overflows, and 1 if nothing better is known.
        """
        over = ~self._roomy(self._exchange)
        if not over.any():
            return 0.0
        if not np.isfinite(self._exchange.flow[1][over]).all() and np.isfinite(self._theta):
            return 1.0
        own_rate, squares = self._own.flow[0][over], self._squares[over]
        size = np.divide(squares, own_rate, out=np.ones_like(own_rate), where=own_rate > 0)
        # Of M/D/1/K at a load of 1 it is about 1 / (2 K).
        return float((size * np.where(self._exchange.rough[over], BURST, 1)).max()) / self._queue

    def formulas(self) -> dict[tuple[str, str], Prediction]:
        """Return predictions by (group, metric), the metrics being service_rate, rejected and queueing_delay.

        Groups of clients have the last two, groups of replicas with limited bandwidth the first two, and each source
        with limited bandwidth, as a group by its name, rejected. What is not known has a Prediction without a value
        that says why.
        """
        result: dict[tuple[str, str], Prediction] = {}
        query_sizes = {p.ask for p in self._graph.queries}
        for number, group in enumerate(self._graph.topology.groups):
            members = np.flatnonzero(self._graph.topology.group == number)
            if not members.size:  # views have no nodes of their own
                continue
            if self._graph.topology.clients[members].any():
                nodes, weights = self._nodes_asked_by(number)
                result[group, "queueing_delay"] = self._wait(nodes, weights)
                result[group, "rejected"] = self._rejected_queries(nodes, weights)
            elif np.isfinite(self._limit[members]).all():
                if len(query_sizes) <= 1:
                    result[group, "service_rate"] = self._service(members, next(iter(query_sizes), 1))
                result[group, "rejected"] = self._rejected_share(members)
        for source in self._graph.sources:
            if np.isfinite(self._limit[source]):
                result[self._graph.topology.names[source], "rejected"] = self._rejected_share(np.array([source]))
        return result

    def _nodes_asked_by(self, group: int) -> tuple[Ints, Floats]:
        """Return the nodes with limited bandwidth that the clients of group number `group` ask, and how often.

        The second array has, for each of these nodes, the pulls of the clients that reach it per unit of time.
        """
        weights = np.zeros(len(self._limit))
        for key, flow in self._asked.items():
            if key.group == group:
                candidates = self._lists[key.candidates]
                weights[candidates] += flow[0] * self._share_arriving(key, candidates)[0]
        nodes = np.flatnonzero((weights > 0) & np.isfinite(self._limit))
        return nodes, weights[nodes]

    def _spare_bandwidth(self, nodes: Ints) -> Floats:
        """Return, for each of these nodes, the bandwidth that its exchange with replicas leaves for clients, 0 or more.

        It is in messages per unit of time, and holds where `_doubts` has no reason against it.
        """
        spare: Floats = np.maximum(self._limit[nodes] - self._exchange.flow[0][nodes], 0.0)
        return spare

    def _doubts(self, nodes: Ints) -> str:
        """Return why it is not known how much of these nodes' exchange with replicas takes place; "" if it is."""
        if self._exchange.unsteady[nodes].any():
            return UNSTEADY
        return "" if (self._roomy(self._exchange) | self._busy(self._exchange))[nodes].all() else OVERFLOWS

    def _basis(self, nodes: Ints) -> Basis:
        """Return the basis of a prediction by counting messages at these nodes.

        It is a limit, for long lines, if lines that fill up get messages that are not Poisson; else it is exact.
        """
        return LONG if (self._exchange.rough & ~self._roomy(self._all))[nodes].any() else COUNTING

    def _service(self, members: Ints, k: int) -> Prediction:
        """Predict how many queries of `k` pulls each these replicas can serve, all together, per unit of time."""
        # What waits at the end is not what waited at the start, if clients are kept away on schedule.
        scheduled = self._on_schedule and bool(self._by_clients.unsteady[members].any())
        if doubts := self._doubts(members) or (UNSTEADY if scheduled else ""):
            return unknown(doubts)
        source = "P2P eq. 34" if k > 1 else "P2P eq. 30"
        over = (self._exchange.rough & ~self._roomy(self._exchange))[members].any()
        kind, value = "limit" if over else "exact", float(self._spare_bandwidth(members).sum()) / k
        return Prediction(value, kind, source, "a message costs 1", note=self._source_overload())

    def _source_overload(self) -> str:
        """Return a note if a source is asked for more downloads than its bandwidth allows; "" if none is."""
        for source in self._graph.sources:
            downloads, limit = self._by_replicas.flow[0][source], self._limit[source]
            if downloads > limit * (1 + 1e-12):
                name = self._graph.topology.names[source]
                return f"{name} is asked {downloads:g} times per unit of time, above its bandwidth of {limit:g}"
        return ""

    def _rejected_share(self, nodes: Ints) -> Prediction:
        """Predict the share of these nodes' exchange with replicas that is rejected, of all messages together.

        Clients' requests do not count. There is no value, but a reason, without a formula.
        """
        if self._roomy(self._exchange)[nodes].all():
            return Prediction.of(0.0, COUNTING)
        if doubts := self._doubts(nodes):
            return unknown(doubts)
        requests = self._exchange.flow[0][nodes]
        sent = np.minimum(requests, self._limit[nodes])
        return Prediction.of(1 - sent.sum() / requests.sum(), self._basis(nodes))

    def _rejected_queries(self, nodes: Ints, weights: Floats) -> Prediction:
        """Predict the share of clients' pulls that these nodes reject, out of those that reach them.

        `weights` has, for each node, the clients' pulls that reach it per unit of time. There is no value, but a
        reason, without a formula.
        """
        roomy = self._roomy(self._all)[nodes]
        if roomy.all():
            return Prediction.of(0.0, COUNTING)
        if doubts := self._doubts(nodes) or (UNSTEADY if self._by_clients.unsteady[nodes].any() else ""):
            return unknown(doubts)
        if not (roomy | self._busy(self._all)[nodes]).all():
            return unknown(OVERFLOWS)
        if self._by_clients.rough[nodes].any():
            return unknown("full lines of nodes whose clients do not ask at exponential intervals")
        over = np.where(roomy, 0.0, 1 - self._spare_bandwidth(nodes) / self._by_clients.flow[0][nodes])
        return Prediction.of(over @ weights / weights.sum(), self._basis(nodes))

    def _wait(self, nodes: Ints, weights: Floats) -> Prediction:
        """Predict the mean time that a client's answer waits in line at these nodes, on average over answers.

        `weights` has, for each node, the clients' pulls that reach it per unit of time. There is no value, but a
        reason, without a formula.
        """
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
        waits = (singles + self._squares[nodes]) / limit / (2 * (limit - load))  # (1) of ages/queueing
        return Prediction.of(waits @ weights / weights.sum(), POLLACZEK_KHINCHINE)
