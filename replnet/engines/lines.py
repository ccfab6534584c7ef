"""Bandwidth: what nodes spend it on, and the lines of messages that form if it is limited.

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
once, and is turned away according to an F of its own, which answers to clients do not change.

What an idle node could have sent is spare: clients who saturate the replicas
would have got it. So a group can serve

    (its answers to clients + its spare messages) / k                        (2)

queries, where a query asks k replicas.

A node that goes down forgets what waits: answers that would leave after that are lost.

Before the replayed past lines are empty, or full if more is asked of a node than it can send. A line that
messages load to rho < 1, with squares of their intervals c times those of constant ones, forgets how it began in
about

    tau = n c / (2 B (1 - sqrt(rho))^2)                                       (3)

where up to n messages come at once (exactly that in M/M/1, with c = 2 and n = 1); so the past is
replayed for a few tau. Near rho = 1 that is long, but no longer than n c K^2 / (2 B), where K is the queue.
"""

from __future__ import annotations

import math
from typing import NamedTuple, final

import numpy as np
import numpy.typing as npt

from replnet.engines.plan import QUERIES, Plan
from replnet.laws import Floats, Ints
from replnet.network import SOURCE

Shares = dict[tuple[str, str], tuple[float, float]]
LineState = tuple[list[float], list[float], Ints]
"""By node: F of its messages to replicas, F of all its messages, and how many answers to clients it has served."""


@final
class Counts(NamedTuple):
    """The counts that lines of messages keep over [0, horizon); each field is an array with an entry per node.

    By node whose line it is: `spare` is the time without anything to send, and `served` the answers to clients that
    left. `came` has the messages that came to a line and `refused` those turned away: messages to replicas by the node
    of the line, answers to clients by the client. By client: `sent` is the answers that leave, now or later, and
    `waited` the sum of their waits, in units of time.
    """

    spare: Floats  # time without anything to send
    served: Ints  # answers to clients that left
    came: Ints  # messages that came to a line, by its node; answers to clients, by client
    refused: Ints  # those of them that were turned away
    sent: Ints  # answers that leave, now or later, by client
    waited: Floats  # the total wait of these

    @classmethod
    def zero(cls, n: int) -> Counts:
        """Return counts of n nodes that are all zero."""
        none = np.zeros(n, np.int64)
        return cls(np.zeros(n), none, none.copy(), none.copy(), none.copy(), np.zeros(n))


LONG_LINE = 20  # messages; a full line with such a surplus practically never runs empty
SETTLING_FACTOR = 5.0  # times (3), after which a mean wait is within some 1e-3 of its limit
LEAST_ROUGHNESS, MOST_ROUGHNESS = (
    2.0,
    20.0,
)  # bounds of c: merged intervals are about Poisson, and heavy tails have infinite c
FULL = 1 - 1e-12  # times the limit of a line, as rounding must not turn away the last message that fits


def messages_asked(plan: Plan) -> tuple[Floats, Floats]:
    """Return two arrays by node: the rates of messages to replicas, and of those to clients, that it is asked to send.

    Messages to replicas are its own pulls, and its answers to replicas if these cost it bandwidth; messages to clients
    are answers to queries. Rates are per unit of time and may be above the bandwidth. Pulls that a loss on all links
    takes are not answered; losses between some nodes alone are neglected.
    """
    p, lists, costs = plan.processes, plan.lists, pays_for_answers(plan)
    # An approximation: losses between some nodes alone are left out.
    share_arriving = math.prod(
        1 - way.fault.lose for way in plan.faults.losses if way.fault.lose and not way.fault.between
    )
    to_replicas = np.bincount(p.node, plan.rates * p.ask, plan.size)
    answers = []
    for with_purpose in (p.purpose == QUERIES, p.purpose != QUERIES):
        pulls_of_list = np.bincount(
            p.candidates, share_arriving * plan.rates * p.ask * with_purpose, lists.begin.size - 1
        )
        pulls_of_member = np.repeat(pulls_of_list / np.maximum(lists.sizes, 1), lists.sizes)
        answers.append(np.bincount(lists.members, pulls_of_member, plan.size))
    return np.asarray(to_replicas + np.where(costs, answers[1], 0.0)), np.asarray(answers[0], float)


def pays_for_answers(plan: Plan) -> npt.NDArray[np.bool_]:
    """Return a mask, by node, of the nodes that spend bandwidth on answers to replicas.

    Sources do, and all other nodes as well if the network charges both ends.
    """
    return np.asarray((plan.topology.role == SOURCE) | plan.replicas_pay_for_answers)


def initial_lines(plan: Plan, start: float) -> tuple[Floats, Floats, Floats]:
    """Return three arrays by node: the time that a message takes, and two instants until which its line keeps it busy.

    The first is 0 at nodes without a limit. The second has the instant at which its messages to replicas will have been
    sent, the third that for all its messages: `start` if the line is empty, and later if it is full, as the node is
    asked for more than it can send. The network must have limited bandwidth.
    """
    assert plan.bandwidth is not None
    cost = 1 / plan.bandwidth
    to_replicas, to_clients = messages_asked(plan)
    full = start + plan.queue * cost
    is_crowded, is_overloaded = to_replicas > plan.bandwidth, to_replicas + to_clients > plan.bandwidth
    # If messages to replicas alone keep a long line full, clients never get an answer: theirs is twice as long.
    never_serves_clients = (to_replicas / plan.bandwidth - 1) * plan.queue > LONG_LINE
    free = np.where(never_serves_clients, full + plan.queue * cost, np.where(is_overloaded, full, start))
    return cost, np.where(is_crowded, full, start), free


def settling_times(plan: Plan, to_clients: bool = True) -> npt.NDArray[np.float64]:
    """Return, by node, how long its line must be replayed until it has forgotten how it began; 0 without a limit.

    The result is in units of time: SETTLING_FACTOR times the estimate (3), about the time in which a line of this load
    forgets its beginning. With `to_clients` all messages are the load; without, those to replicas alone, whose part of
    the line may settle sooner.
    """
    if plan.bandwidth is None:
        return np.zeros(plan.size)
    to_replicas, client_messages = messages_asked(plan)
    load = (to_replicas + client_messages if to_clients else to_replicas) / plan.bandwidth
    p, lists, pulls = plan.processes, plan.lists, plan.processes.ask > 0
    roughness_of_law = [min(law.second_moment / law.mean**2, MOST_ROUGHNESS) for law in plan.topology.laws]
    roughness_of_process = np.array(roughness_of_law)[plan.clocks.law[p.clock]]
    roughness, batch = np.full(plan.size, LEAST_ROUGHNESS), np.ones(plan.size)
    np.maximum.at(roughness, p.node[pulls], roughness_of_process[pulls])
    np.maximum.at(batch, p.node[pulls], p.ask[pulls])
    roughness_of_list = np.zeros(lists.begin.size - 1)
    np.maximum.at(roughness_of_list, p.candidates[pulls], roughness_of_process[pulls])
    np.maximum.at(roughness, lists.members, np.repeat(roughness_of_list, lists.sizes))
    distance = np.maximum((1 - np.sqrt(load)) ** 2, 1 / plan.queue**2)
    return np.asarray(SETTLING_FACTOR * batch * roughness / (2 * plan.bandwidth * distance))


@final
class Lines:
    """The lines of messages of all nodes from `start` on, to which messages are added one at a time in order of time.

    The attribute `counts` has what happened to them in [0, horizon).
    """

    def __init__(self, plan: Plan, start: float, horizon: float) -> None:
        self._plan, self._horizon = plan, horizon
        cost, first, free = initial_lines(plan, start)
        self._cost, self._first, self._free = cost.tolist(), first.tolist(), free.tolist()
        self._limit, self._answers = (cost * plan.queue / FULL).tolist(), pays_for_answers(plan).tolist()
        self.counts = Counts.zero(len(cost))

    def send_pull(self, node: int, now: float) -> bool:
        """Put a pull in the line of its sender `node` at `now`, count it, and return whether there was room for it.

        Pulls of clients, and of nodes without a limit, always have room, and are neither put in a line nor counted.
        """
        return bool(self._plan.clients[node]) or not self._cost[node] or self._send_to_replica(node, now)

    def answer(self, node: int, asker: int, now: float, falls: float = np.inf) -> float | None:
        """Put an answer to `asker` in the line of `node` at `now`; return how long it waits, None if it never leaves.

        The wait is in units of time. The answer never leaves if the line is full, or if its turn would come at `falls`
        or later, when the node next goes down. Answers to replicas, and those of nodes without a limit, wait 0; the
        former never leave either if they cost bandwidth and the line has no room.
        """
        if not self._cost[node]:
            return 0.0
        if not self._plan.clients[asker]:
            return 0.0 if not self._answers[node] or self._send_to_replica(node, now) else None
        self._count_idle(node, now)
        wait: float = self._free[node] - now
        has_room = wait + self._cost[node] <= self._limit[node]
        self._count_message(asker, now, has_room)
        if not has_room or now + wait >= falls:
            return None
        self._free[node] += self._cost[node]
        self.counts.served[node] += 0 <= now + wait < self._horizon
        if now >= 0:
            self.counts.sent[asker] += 1
            self.counts.waited[asker] += wait
        return wait

    def _send_to_replica(self, node: int, now: float) -> bool:
        """Put a message to a replica in the line of a node with a limit; return whether there was room for it.

        It is counted either way.
        """
        self._count_idle(node, now)
        first, cost = max(self._first[node], now), self._cost[node]
        has_room: bool = first - now + cost <= self._limit[node]
        self._count_message(node, now, has_room)
        if has_room:
            self._first[node], self._free[node] = first + cost, self._free[node] + cost
        return has_room

    def _count_message(self, node: int, now: float, has_room: bool) -> None:
        """Count a message, and as refused if it had no room, unless it came before time zero.

        `node` is the node whose line it came to, or, for an answer, the client that it is for.
        """
        if now >= 0:
            self.counts.came[node] += 1
            self.counts.refused[node] += not has_room

    def _count_idle(self, node: int, now: float) -> None:
        """Add the time up to `now`, within [0, horizon), in which a node had nothing to send to its spare time.

        That time is not counted again.
        """
        if self._free[node] < now:
            self.counts.spare[node] += max(min(now, self._horizon) - max(self._free[node], 0.0), 0.0)
            self._free[node] = now

    def stop(self, node: int, now: float) -> None:
        """Let a node go down at `now`: what is in its line is lost, and no answer to a client leaves until `restart`.

        Nodes without a limit have no line, so nothing happens.
        """
        if self._cost[node]:
            self._count_idle(node, now)
            self._free[node] = np.inf

    def restart(self, node: int, now: float) -> None:
        """Let a node that was down come back at `now` with an empty line."""
        self._first[node] = self._free[node] = now

    def lengths(self, nodes: Ints, now: float) -> Floats:
        """Return the number of messages in the line of each of these nodes, the one being sent included.

        These are whole numbers as floats, 0 without a limit or while the node is down.
        """
        cost, free = np.array(self._cost)[nodes], np.array(self._free)[nodes]
        is_busy = (cost > 0) & (now < free) & (free < np.inf)
        return np.where(is_busy, np.ceil((free - now) / np.where(is_busy, cost, 1.0) - 1e-9), 0.0)

    @property
    def state(self) -> LineState:
        """The state of all lines, from which others can carry on with `resume`.

        By node it has the instants at which its messages to replicas, and all its messages, will have been sent, and
        how many answers to clients it has served in [0, horizon).
        """
        return list(self._first), list(self._free), self.counts.served.copy()

    def resume(self, state: LineState) -> None:
        """Carry on from the `state` of other lines; of their counts only the answers served are taken over."""
        first, free, served = state
        self._first, self._free, self.counts = list(first), list(free), self.counts._replace(served=served.copy())

    def totals(self, until: float) -> Counts:
        """Return the counts so far, plus the spare time from the end of every line to the instant `until`.

        The counts that the lines keep stay as they are.
        """
        left = np.maximum(until - np.maximum(np.array(self._free), 0.0), 0.0)
        return self.counts._replace(spare=self.counts.spare + np.where(np.array(self._cost) > 0, left, 0.0))


def line_metrics(plan: Plan, counts: Counts, time: float, is_counted: npt.NDArray[np.bool_] | None = None) -> Shares:
    """Return the metrics of limited bandwidth as (amount, whole) by (name of a group or source, metric).

    These are `queueing_delay` (units of time per answer) and `rejected` (share of messages) of clients, `service_rate`
    (queries per unit of time; only if all queries ask as many nodes) and `rejected` of groups whose nodes are all
    limited, and `rejected` of limited sources. The `counts` of lines are over so much `time`. If only some nodes were
    counted (the mask `is_counted`; None stands for all), amounts and wholes are theirs, and add up to those of all
    nodes.
    """
    assert plan.bandwidth is not None
    metrics: Shares = {}
    is_counted = np.ones(plan.size, np.bool_) if is_counted is None else is_counted
    limited = np.isfinite(plan.bandwidth)
    asks = set(plan.processes.ask[plan.processes.purpose == QUERIES].tolist())
    for g, name in enumerate(plan.groups):
        members = plan.group == g
        members_counted = members & is_counted
        # Counts by client are of messages of the nodes that it asks, which may run elsewhere.
        messages, refused = float(counts.came[members].sum()), float(counts.refused[members].sum())
        if (members & plan.clients).any():
            metrics[name, "queueing_delay"] = float(counts.waited[members].sum()), float(counts.sent[members].sum())
            metrics[name, "rejected"] = refused, messages
        elif members.any() and limited[members].all():
            if len(asks) <= 1:
                sent = float(
                    counts.served[members_counted].sum()
                    + counts.spare[members_counted] @ plan.bandwidth[members_counted]
                )
                metrics[name, "service_rate"] = (
                    sent / next(iter(asks), 1),
                    time * float(members_counted.sum() / members.sum()),
                )
            metrics[name, "rejected"] = refused, messages
    for source in plan.sources.tolist():
        if limited[source] and is_counted[source]:
            metrics[plan.names[source], "rejected"] = float(counts.refused[source]), float(counts.came[source])
    return metrics
