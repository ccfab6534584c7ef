"""Bandwidth: what nodes spend it on, and the lines that form at those whose bandwidth is limited.

A node of bandwidth B sends B messages per unit of time, so each takes 1/B. With
F the instant at which it will have sent what it has taken on, a message at t
finds it

    idle since F, if F < t;    else the message waits W = F - t,             (1)

F becomes max(F, t) + 1/B, and what finds W + 1/B above queue/B is turned away.
A replica spends a message on each pull it sends and on each answer to a client,
a source on each answer, and with `charge: both` a replica on each answer to a
replica as well. A message to a client leaves after W, in the order of arrival and
with what the replica held when it was asked. A message to a replica takes its 1/B of
the line as well, so that clients wait for it, but it is not held up itself: it counts as sent at
once, and is turned away by an F of its own, which answers to clients do not move.

What an idle node could have sent is spare: clients who saturate the replicas
would have got it. So a group can serve

    (its answers to clients + its spare messages) / k                        (2)

queries, where a query asks k replicas.

A node that goes down forgets what waits: answers that would leave after that are lost.

Before the replayed past lines are empty, or full where more is asked than can be sent. A line that
messages load to rho < 1, with squares of their intervals c times those of constant ones, forgets how it began in
about

    tau = n c / (2 B (1 - sqrt(rho))^2)                                       (3)

where up to n messages come at once (exactly that in M/M/1, with c = 2 and n = 1); so the past is
replayed for some of these. Near rho = 1 that is long, but no longer than n c K^2 / (2 B).
"""

from __future__ import annotations

import math
from typing import NamedTuple, final

import numpy as np
import numpy.typing as npt

from replnet.engines.plan import QUERIES, Plan
from replnet.laws.law import Floats, Ints
from replnet.network.topology import SOURCE

Shares = dict[tuple[str, str], tuple[float, float]]
LineState = tuple[list[float], list[float], Ints]
"""F of the exchange and F of all, and how many answers are still to leave, by node."""


@final
class Counts(NamedTuple):
    """What has happened in [0, horizon), by node."""

    spare: Floats  # time without anything to send
    served: Ints  # answers to clients that left
    came: Ints  # messages that a limited node was to send, by node; those to clients, by client
    refused: Ints  # of these
    sent: Ints  # answers that leave, now or later, by client
    waited: Floats  # these

    @classmethod
    def zero(cls, n: int) -> Counts:
        none = np.zeros(n, np.int64)
        return cls(np.zeros(n), none, none.copy(), none.copy(), none.copy(), np.zeros(n))


LONG = 20  # messages that a full line is to lose against the odds before it runs empty
TIMES = 5.0  # of (3), after which a mean wait is within some 1e-3 of its limit
LEAST_ROUGH, MOST_ROUGH = 2.0, 20.0  # of c: merged intervals are about Poisson; of heavy tails it would be without end
FULL = 1 - 1e-12  # of a line: rounding must not turn away the last message that fits


def spending(plan: Plan) -> tuple[Floats, Floats]:
    """Messages per unit of time that every node is asked to send: to replicas and for itself, and to clients."""
    p, lists, costs = plan.processes, plan.lists, answers_cost(plan)
    # About: what gets lost only between some nodes is not looked at.
    arrive = math.prod(1 - way.fault.lose for way in plan.faults.losses if way.fault.lose and not way.fault.between)
    exchange = np.bincount(p.node, plan.rates * p.ask, plan.size)
    asked = []
    for mine in (p.purpose == QUERIES, p.purpose != QUERIES):
        shares = np.bincount(p.candidates, arrive * plan.rates * p.ask * mine, lists.begin.size - 1)
        each = np.repeat(shares / np.maximum(lists.sizes, 1), lists.sizes)
        asked.append(np.bincount(lists.members, each, plan.size))
    return np.asarray(exchange + np.where(costs, asked[1], 0.0)), np.asarray(asked[0], float)


def answers_cost(plan: Plan) -> npt.NDArray[np.bool_]:
    """Of every node, whether it spends on answers to replicas."""
    return np.asarray((plan.topology.role == SOURCE) | plan.both)


def opening(plan: Plan, start: float) -> tuple[Floats, Floats, Floats]:
    """The time that a message takes at every node, 0 without a limit; F of the exchange, and of all, to begin with."""
    assert plan.bandwidth is not None
    cost = 1 / plan.bandwidth
    exchange, clients = spending(plan)
    full = start + plan.queue * cost
    crowded, over = exchange > plan.bandwidth, exchange + clients > plan.bandwidth
    # Where exchange alone fills a long line for good clients never get a turn, and find a line as long again.
    closed = (exchange / plan.bandwidth - 1) * plan.queue > LONG
    free = np.where(closed, full + plan.queue * cost, np.where(over, full, start))
    return cost, np.where(crowded, full, start), free


def settling(plan: Plan, to_clients: bool = True) -> npt.NDArray[np.float64]:
    """How long the line of every node is to be replayed: a few times (3); 0 where there is none.

    The part of it that messages to replicas find, which knows nothing of answers to clients, may settle sooner.
    """
    if plan.bandwidth is None:
        return np.zeros(plan.size)
    exchange, clients = spending(plan)
    load = (exchange + clients if to_clients else exchange) / plan.bandwidth
    p, lists, asking = plan.processes, plan.lists, plan.processes.ask > 0
    own = [min(law.second_moment / law.mean**2, MOST_ROUGH) for law in plan.topology.laws]
    each = np.array(own)[plan.clocks.law[p.clock]]
    rough, batch = np.full(plan.size, LEAST_ROUGH), np.ones(plan.size)
    np.maximum.at(rough, p.node[asking], each[asking])
    np.maximum.at(batch, p.node[asking], p.ask[asking])
    roughest = np.zeros(lists.begin.size - 1)
    np.maximum.at(roughest, p.candidates[asking], each[asking])
    np.maximum.at(rough, lists.members, np.repeat(roughest, lists.sizes))
    apart = np.maximum((1 - np.sqrt(load)) ** 2, 1 / plan.queue**2)
    return np.asarray(TIMES * batch * rough / (2 * plan.bandwidth * apart))


@final
class Lines:
    """The lines of all nodes, one message at a time."""

    def __init__(self, plan: Plan, start: float, horizon: float) -> None:
        self._plan, self._horizon = plan, horizon
        cost, first, free = opening(plan, start)
        self._cost, self._first, self._free = cost.tolist(), first.tolist(), free.tolist()
        self._limit, self._answers = (cost * plan.queue / FULL).tolist(), answers_cost(plan).tolist()
        self.counts = Counts.zero(len(cost))

    def issue(self, node: int, now: float) -> bool:
        """Whether a node can send a pull."""
        return bool(self._plan.clients[node]) or not self._cost[node] or self._exchange(node, now)

    def answer(self, node: int, asker: int, now: float, falls: float = np.inf) -> float | None:
        """How long the answer waits, or None if there is none: turned away, or still in line when the node `falls`."""
        if not self._cost[node]:
            return 0.0
        if not self._plan.clients[asker]:
            return 0.0 if not self._answers[node] or self._exchange(node, now) else None
        self._idle(node, now)
        wait: float = self._free[node] - now
        taken = wait + self._cost[node] <= self._limit[node]
        self._count(asker, now, taken)
        if not taken or now + wait >= falls:
            return None
        self._free[node] += self._cost[node]
        self.counts.served[node] += 0 <= now + wait < self._horizon
        if now >= 0:
            self.counts.sent[asker] += 1
            self.counts.waited[asker] += wait
        return wait

    def _exchange(self, node: int, now: float) -> bool:
        """Whether there is room for a message to a replica; then it is sent."""
        self._idle(node, now)
        first, cost = max(self._first[node], now), self._cost[node]
        sent: bool = first - now + cost <= self._limit[node]
        self._count(node, now, sent)
        if sent:
            self._first[node], self._free[node] = first + cost, self._free[node] + cost
        return sent

    def _count(self, who: int, now: float, taken: bool) -> None:
        if now >= 0:
            self.counts.came[who] += 1
            self.counts.refused[who] += not taken

    def _idle(self, node: int, now: float) -> None:
        """Account for the time in which it had nothing to send."""
        if self._free[node] < now:
            self.counts.spare[node] += max(min(now, self._horizon) - max(self._free[node], 0.0), 0.0)
            self._free[node] = now

    def down(self, node: int, now: float) -> None:
        """It stops, and forgets what waits."""
        if self._cost[node]:
            self._idle(node, now)
            self._free[node] = np.inf

    def up(self, node: int, now: float) -> None:
        self._first[node] = self._free[node] = now

    def waiting(self, nodes: Ints, now: float) -> Floats:
        """How many messages each of these nodes has still to send, W B of (1); 0 where there is no limit."""
        cost, free = np.array(self._cost)[nodes], np.array(self._free)[nodes]
        there = (cost > 0) & (now < free) & (free < np.inf)
        return np.where(there, np.ceil((free - now) / np.where(there, cost, 1.0) - 1e-9), 0.0)

    @property
    def state(self) -> LineState:
        return list(self._first), list(self._free), self.counts.served.copy()

    def resume(self, state: LineState) -> None:
        """Go on from there."""
        first, free, served = state
        self._first, self._free, self.counts = list(first), list(free), self.counts._replace(served=served.copy())

    def totals(self, until: float) -> Counts:
        """What has happened in [0, until)."""
        left = np.maximum(until - np.maximum(np.array(self._free), 0.0), 0.0)
        return self.counts._replace(spare=self.counts.spare + np.where(np.array(self._cost) > 0, left, 0.0))


def load(plan: Plan, of: Counts, time: float, here: npt.NDArray[np.bool_] | None = None) -> Shares:
    """What lines amount to that were looked at for so much time, per group and source with limits.

    If only some nodes were looked at, amounts and wholes are theirs, and add up to those of all.
    """
    assert plan.bandwidth is not None
    found: Shares = {}
    here = np.ones(plan.size, np.bool_) if here is None else here
    limited = np.isfinite(plan.bandwidth)
    asks = set(plan.processes.ask[plan.processes.purpose == QUERIES].tolist())
    for g, name in enumerate(plan.groups):
        members = plan.group == g
        some = members & here
        # What is counted by client happens at the nodes that it asks, which may be elsewhere.
        came, refused = float(of.came[members].sum()), float(of.refused[members].sum())
        if (members & plan.clients).any():
            found[name, "queueing_delay"] = float(of.waited[members].sum()), float(of.sent[members].sum())
            found[name, "rejected"] = refused, came
        elif members.any() and limited[members].all():
            if len(asks) <= 1:
                sent = float(of.served[some].sum() + of.spare[some] @ plan.bandwidth[some])
                found[name, "service_rate"] = sent / next(iter(asks), 1), time * float(some.sum() / members.sum())
            found[name, "rejected"] = refused, came
    for source in plan.sources.tolist():
        if limited[source] and here[source]:
            found[plan.names[source], "rejected"] = float(of.refused[source]), float(of.came[source])
    return found
