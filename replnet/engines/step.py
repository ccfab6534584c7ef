"""The `step` engine: the nodes themselves, one event at a time, in virtual time.

It is the readable reference: the same planned instants and choices as `array`,
but walked by the state machines of `network.nodes`, which exchange messages.
"""

from __future__ import annotations

import heapq
from itertools import count
from typing import Any, NamedTuple, final

import numpy as np
import numpy.typing as npt

from replnet.engines.path import Path
from replnet.engines.plan import DOWNLOADS, POLLS, Plan
from replnet.engines.start import depths
from replnet.engines.tally import Tally
from replnet.engines.wiring import Delays, Instants, Wiring, renewals
from replnet.laws.base import Law
from replnet.laws.renewal import Renewals
from replnet.laws.streams import PURPOSES, seed_words
from replnet.network.messages import Answer, Command, Message, NodeId, Pull, Reply, Send, Wake
from replnet.network.nodes import Memory, Replica, memory

Floats = npt.NDArray[np.float64]

# At one instant: what changes sources, then what reaches a node, then what reads one, then who wakes.
UPDATE, REPLY, PULL, WAKE = range(4)


class Event(NamedTuple):
    """Ordered by instant, then rank, then process (for wakes), then as it came up."""

    at: float
    rank: int
    process: int
    serial: int
    node: NodeId
    what: Any  # a purpose, or (sender, message)


def run_path(plan: Plan, seed: int, replication: int, horizon: float, sampled: bool) -> Path:
    """One replication over [0, horizon)."""
    walk = to_zero(plan, seed, replication, horizon, sampled)
    unproven = walk.unproven()
    walk.until(horizon)
    return walk.path(unproven)


def to_zero(plan: Plan, seed: int, replication: int, horizon: float, sampled: bool) -> Walk:
    """A walk whose past is over: its state at time zero is the stationary one, or as near as it gets."""
    oldest = float(_renewals(plan, seed, replication).age[: len(plan.sources)].max())
    for depth in depths(plan, oldest, longest(plan), sampled):
        walk = Walk(plan, seed, replication, depth, horizon, sampled)
        walk.until(0.0)
        if walk.unproven() == 0:
            break
    return walk


def _renewals(plan: Plan, seed: int, replication: int) -> Renewals:
    return renewals(plan, seed_words(seed, replication), range(len(plan.processes)))


def longest(plan: Plan) -> float:
    """A delay that practically no message exceeds."""
    return max(float(d.isf(1e-9)) if isinstance(d, Law) else d for d in (plan.delay, *plan.delays.values()))


class Present(NamedTuple):
    """All that the past has left behind at some instant."""

    memories: dict[NodeId, Memory]
    under_way: list[tuple[float, NodeId, NodeId, Message]]  # arrival, to, from, message
    said: dict[tuple[NodeId, NodeId], int]  # how many messages have gone from one to another, less one
    ages: Floats  # of every process at time zero


@final
class Walk:
    """Nodes, the events to come, and the tally of what happens."""

    def __init__(self, plan: Plan, seed: int, replication: int, depth: float, horizon: float, sampled: bool) -> None:
        self._plan, self.depth, self._horizon, self._sampled = plan, depth, horizon, sampled
        run, past = seed_words(seed, replication), _renewals(plan, seed, replication)
        self._ages, instants, wiring = past.age, Instants(past, depth), Wiring(plan, run)
        self._events: list[Event] = []
        self._serial, self._counts, self._delays = count(), [0, 0, 0, 0], Delays(plan, run)
        self._number, self._process = wiring.number, wiring.process
        self._nodes = {name: wiring.node(name, instants.of, instants.before.__getitem__) for name in plan.names}
        self._tally = Tally(plan, depth, horizon, sampled, self._ages)
        self._lacking = {name for name in plan.names if self._needs(name)}
        self._forgotten = 0
        self._forget(-depth)
        self._recall()
        for name, node in self._nodes.items():
            self._do(name, -depth, node.start())

    def _needs(self, name: NodeId) -> int:
        """How long a list of contacts this node waits for: k, or all who share its upstream if they are fewer."""
        at = self._process.get((name, POLLS))
        if at is None or not self._plan.processes[at].recent:
            return 0
        process = self._plan.processes[at]
        homes = {p.node: p.candidates[0] for p in self._plan.processes if p.purpose == DOWNLOADS and p.candidates}
        shared = [i for i in process.candidates if i != process.node and homes.get(i) == homes.get(process.node)]
        return min(process.ask, len(shared))

    def _forget(self, now: float) -> None:
        """Nothing is known of what replicas hold: stale to the sampled estimator, as old as the start to the other."""
        for i, name in enumerate(self._plan.names):
            node = self._nodes[name]
            if isinstance(node, Replica):
                reached: list[int] = [] if self._sampled else np.flatnonzero(self._plan.reached[:, i]).tolist()
                node.copies = {self._plan.names[self._plan.sources[row]]: -self.depth for row in reached}
                self._tally.copies(i, now, node.copies)

    def _recall(self) -> None:
        """Copies whose age is plain from the start: their only download before it came straight from a source."""
        for q, i, source in self._plan.direct.tolist():
            if self._ages[q] > self.depth:
                node = self._nodes[self._plan.names[i]]
                assert isinstance(node, Replica)
                assert not isinstance(self._plan.delay, Law)
                node.copies = {self._plan.names[source]: self._plan.delay - self._ages[q]}
                self._tally.copies(i, -self.depth, node.copies)

    def until(self, end: float) -> None:
        while self._events[0].at < end:
            event = heapq.heappop(self._events)
            if event.rank in (UPDATE, WAKE):
                self._wake(event.node, event.at, event.what)
            else:
                self._deliver(event.at, event.node, *event.what)

    def _wake(self, name: NodeId, now: float, purpose: str) -> None:
        if now >= 0:
            self._counts[PURPOSES[purpose]] += 1
        if purpose == "updates":
            self._tally.update(self._number[name], now)
        self._do(name, now, self._nodes[name].on_wake(now, purpose))

    def _do(self, name: NodeId, now: float, commands: list[Command]) -> None:
        for command in commands:
            match command:
                case Wake(at, purpose):
                    rank = UPDATE if purpose == "updates" else WAKE
                    process = self._process[name, PURPOSES[purpose]]
                    heapq.heappush(self._events, Event(at, rank, process, next(self._serial), name, purpose))
                case Send(to, message):
                    self._send(name, to, now, message)
                case Answer(copies):
                    self._tally.answer(self._number[name], now, copies)

    def _send(self, sender: NodeId, to: NodeId, now: float, message: Message) -> None:
        serial, delay = next(self._serial), self._delays.of(sender, to)
        if delay == 0:
            self._deliver(now, to, sender, message, serial)
            return
        rank = PULL if isinstance(message, Pull) else REPLY
        heapq.heappush(self._events, Event(now + delay, rank, 0, serial, to, (sender, message, serial)))

    def _deliver(self, now: float, to: NodeId, sender: NodeId, message: Message, serial: int) -> None:
        node, message = self._nodes[to], self._remembered(message, serial)
        self._do(to, now, node.on_message(now, sender, message))
        if isinstance(node, Replica) and isinstance(message, Reply):
            self._tally.copies(self._number[to], now, node.copies)
            if to in self._lacking and len(node.contacts) >= self._needs(to):
                self._complete(to, now)

    def _remembered(self, message: Message, serial: int) -> Message:
        """Without copies if it is from before everything was forgotten."""
        if isinstance(message, Reply) and serial < self._forgotten:
            return Reply({}, message.query, message.contacts)
        return message

    def _complete(self, name: NodeId, now: float) -> None:
        """After the last list is complete, every poll asks whom it should; what came before may be wrong."""
        self._lacking.discard(name)
        if self._lacking:
            return
        self._forgotten = next(self._serial)
        self._forget(now)

    def unproven(self) -> int:
        """How many copies may differ from the stationary ones (start.py)."""
        swept = self._sampled and not self._plan.recent
        known = {(i, source) for q, i, source in self._plan.direct.tolist() if self._ages[q] > self.depth}
        unproven = 0
        for row, source in enumerate(self._plan.sources):
            if swept and self.depth >= self._ages[row] + 2 * longest(self._plan):
                continue
            held = self._held(row)
            unknown = sum(
                1
                for i in np.flatnonzero(self._plan.reached[row] & ~self._plan.clients)
                if held[i] <= -self.depth and (i, source) not in known
            )
            unproven += max(unknown, len(self._lacking))
        return unproven

    def present(self) -> Present:
        """What other engines need in order to go on from here."""
        under_way = [
            (event.at, event.node, event.what[0], self._remembered(*event.what[1:]))
            for event in sorted(self._events)
            if event.rank in (PULL, REPLY)
        ]
        memories = {name: memory(node) for name, node in self._nodes.items()}
        return Present(memories, under_way, self._delays.said, self._ages)

    def _held(self, row: int) -> Any:
        """When what every node holds of a source left it; -inf where it holds nothing."""
        source = self._plan.names[self._plan.sources[row]]
        copies = (n.copies if isinstance(n, Replica) else {} for n in self._nodes.values())
        return np.array([c.get(source, -np.inf) for c in copies])

    def path(self, unproven: int) -> Path:
        fresh, answers, good = self._tally.totals()
        return Path(
            fresh=fresh,
            answers=answers,
            good=good,
            counts=(self._counts[0], self._counts[1], self._counts[2], self._counts[3]),
            copies=np.array([self._held(row) for row in range(len(self._plan.sources))]),
            depth=self.depth,
            unproven=unproven,
        )
