"""The `step` engine: the nodes themselves, one event at a time, in virtual time.

It is the readable reference: the same planned instants and choices as `array`,
but walked by the state machines of `network.nodes`, which exchange messages.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from replnet.engines.path import Path
from replnet.engines.plan import DOWNLOADS, POLLS, Plan, Process
from replnet.engines.start import depths
from replnet.engines.tally import Tally
from replnet.laws.base import Law
from replnet.laws.renewal import Renewals
from replnet.laws.streams import CHOICES, PURPOSES, distinct, exponentials, name_words, seed_words, streams
from replnet.network.messages import Answer, Command, Message, NodeId, Pull, Reply, Send, Wake
from replnet.network.nodes import Client, Habit, Node, Replica, Source

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
    oldest = float(_renewals(plan, seed, replication).age[: len(plan.sources)].max())
    for depth in depths(plan, oldest, _longest(plan), sampled):
        walk = _Walk(plan, seed, replication, depth, horizon, sampled)
        walk.until(0.0)
        if (unproven := walk.unproven()) == 0:
            break
    walk.until(horizon)
    return walk.path(unproven)


def _renewals(plan: Plan, seed: int, replication: int) -> Renewals:
    run = seed_words(seed, replication)
    return Renewals(plan.laws, plan.which, run, plan.stream_names, plan.purpose, events=256)


def _longest(plan: Plan) -> float:
    """A delay that practically no message exceeds."""
    return max(float(d.isf(1e-9)) if isinstance(d, Law) else d for d in (plan.delay, *plan.delays.values()))


class _Instants:
    """The instants of every process, past ones first, handed out one by one."""

    def __init__(self, renewals: Renewals, depth: float) -> None:
        self._renewals = renewals
        past = renewals.past(depth)
        self._coming = [deque(past.of(p)) for p in range(renewals.age.size)]
        self.before = [len(coming) for coming in self._coming]

    def of(self, process: int) -> Iterator[float]:
        coming = self._coming[process]
        while True:
            while not coming:
                window = self._renewals.window()
                for p, waiting in enumerate(self._coming):
                    waiting.extend(window.of(p))
            yield float(coming.popleft())


class _Walk:
    """Nodes, the events to come, and the tally of what happens."""

    def __init__(self, plan: Plan, seed: int, replication: int, depth: float, horizon: float, sampled: bool) -> None:
        self._plan, self._depth, self._horizon, self._sampled = plan, depth, horizon, sampled
        self._run, renewals = seed_words(seed, replication), _renewals(plan, seed, replication)
        self._ages = renewals.age
        self._instants = _Instants(renewals, depth)
        self._choices = streams(self._run, plan.stream_names, plan.purpose, CHOICES)
        self._events: list[Event] = []
        self._serial, self._counts, self._said = count(), [0, 0, 0, 0], dict[tuple[NodeId, NodeId], int]()
        self._number = {name: i for i, name in enumerate(plan.names)}
        self._process = {(plan.names[p.node], p.purpose): q for q, p in enumerate(plan.processes)}
        self._nodes = {name: self._node(name) for name in plan.names}
        self._tally = Tally(plan, depth, horizon, sampled, self._ages)
        self._lacking = {name for name in plan.names if self._needs(name)}
        self._forgotten = 0
        self._forget(-depth)
        self._recall()
        for name, node in self._nodes.items():
            self._do(name, -depth, node.start())

    def _node(self, name: NodeId) -> Node:
        i = self._number[name]
        habits = {
            purpose: self._habit(self._process[name, code])
            for purpose, code in PURPOSES.items()
            if (name, code) in self._process
        }
        match self._plan.roles[i]:
            case "source":
                return Source(name, habits["updates"].instants)
            case "client":
                return Client(habits["queries"])
        recent = "polls" in habits and self._plan.processes[self._process[name, POLLS]].recent
        return Replica(habits, recent)

    def _habit(self, q: int) -> Habit:
        process, names = self._plan.processes[q], self._plan.names
        others = [names[i] for i in process.candidates if i != process.node]
        return Habit(self._instants.of(q), self._chosen(q, process.ask, others), self._pull(process))

    def _chosen(self, q: int, k: int, others: list[NodeId]) -> Iterator[list[NodeId]]:
        key, gamma = int(self._choices.key[q]), int(self._choices.gamma[q])
        for wake in count(-self._instants.before[q]):
            yield [others[c] for c in distinct(key, gamma, wake, k, len(others))]

    def _pull(self, process: Process) -> Pull:
        """A download by a member of a pool that polls its recent contacts asks for their list as well."""
        if process.purpose != DOWNLOADS:
            return Pull()
        for poller in self._plan.processes:
            if poller.recent and process.node in poller.candidates:
                mine = self._process.get((self._plan.names[process.node], POLLS))
                return Pull(0, str(id(poller.candidates)), self._plan.processes[mine].ask if mine is not None else 0)
        return Pull()

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
                node.copies = {self._plan.names[self._plan.sources[row]]: -self._depth for row in reached}
                self._tally.copies(i, now, node.copies)

    def _recall(self) -> None:
        """Copies whose age is plain from the start: their only download before it came straight from a source."""
        for q, i, source in self._plan.direct.tolist():
            if self._ages[q] > self._depth:
                node = self._nodes[self._plan.names[i]]
                assert isinstance(node, Replica)
                assert not isinstance(self._plan.delay, Law)
                node.copies = {self._plan.names[source]: self._plan.delay - self._ages[q]}
                self._tally.copies(i, -self._depth, node.copies)

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
        serial, delay = next(self._serial), self._delay(sender, to)
        if delay == 0:
            self._deliver(now, to, sender, message, serial)
            return
        rank = PULL if isinstance(message, Pull) else REPLY
        heapq.heappush(self._events, Event(now + delay, rank, 0, serial, to, (sender, message, serial)))

    def _delay(self, sender: NodeId, to: NodeId) -> float:
        a, b = self._number[sender], self._number[to]
        delay = self._plan.delays.get((a, b), self._plan.delays.get((b, a), self._plan.delay))
        if not isinstance(delay, Law):
            return delay
        said = self._said[sender, to] = self._said.get((sender, to), -1) + 1
        purpose = np.full(1, PURPOSES["delays"])
        stream = streams(self._run, name_words([f"{sender} > {to}"]), purpose, CHOICES)
        return float(delay.draw(exponentials(stream, said))[0])

    def _deliver(self, now: float, to: NodeId, sender: NodeId, message: Message, serial: int) -> None:
        node = self._nodes[to]
        if isinstance(message, Reply) and serial < self._forgotten:
            message = Reply({}, message.query, message.contacts)  # from before everything was forgotten
        self._do(to, now, node.on_message(now, sender, message))
        if isinstance(node, Replica) and isinstance(message, Reply):
            self._tally.copies(self._number[to], now, node.copies)
            if to in self._lacking and len(node.contacts) >= self._needs(to):
                self._complete(to, now)

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
        known = {(i, source) for q, i, source in self._plan.direct.tolist() if self._ages[q] > self._depth}
        unproven = 0
        for row, source in enumerate(self._plan.sources):
            if swept and self._depth >= self._ages[row] + 2 * _longest(self._plan):
                continue
            held = self._held(row)
            unknown = sum(
                1
                for i in np.flatnonzero(self._plan.reached[row] & ~self._plan.clients)
                if held[i] <= -self._depth and (i, source) not in known
            )
            unproven += max(unknown, len(self._lacking))
        return unproven

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
            depth=self._depth,
            unproven=unproven,
        )
