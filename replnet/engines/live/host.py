"""A host: some nodes of a network, the wakes they wait for, and what they say to nodes elsewhere.

It owns no thread and no clock. Whoever runs it calls `step` when the next event
is due or a batch has come, hands it the model time as a function, and carries
the batches that it sends.

A node is told the planned instant of its wakes, however late the host is, so
lateness does not add up; messages it is told when they come. A client's query
counts from when it was due.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple, final

import numpy as np
import numpy.typing as npt

from replnet.engines.live.ledger import Ledger, Updates
from replnet.engines.live.spread import Spread
from replnet.engines.live.wire import Arrivals, body, message, pack, unpack
from replnet.engines.plan import Plan
from replnet.engines.step import Present
from replnet.engines.wiring import Delays, Instants, Wiring, renewals
from replnet.laws.streams import PURPOSES, seed_words
from replnet.network.messages import Answer, Command, Message, NodeId, Pull, Reply, Send, Wake
from replnet.network.nodes import Client, Node, Replica, remember

Floats = npt.NDArray[np.float64]

ARRIVAL, WAKE = range(2)  # at one instant, what has come goes first
BEFORE = -1.0  # when messages were sent that time zero finds under way: their delays do not count
TURN = 64  # wakes in a row before batches that have come get their turn


@final
@dataclass(frozen=True)
class Part:
    """What one host needs to know of a run."""

    me: int
    at: tuple[int, ...]  # the host of every node
    seed: int
    replication: int
    horizon: float
    sampled: bool
    present: Present  # of its own nodes
    incarnation: int = 0


@final
@dataclass
class Seen:
    """What a host has seen so far."""

    delays: list[Spread]  # of replies, by the group of who gets them
    counts: list[int] = field(default_factory=lambda: [0] * 4)  # wakes, by purpose
    responses: Spread = field(default_factory=Spread)  # to queries, from when they were due
    slip: Spread = field(default_factory=Spread)
    said: int = 0  # messages of its nodes, wherever they went
    crossed: int = 0  # of these, to other hosts
    batches: int = 0


@final
@dataclass(frozen=True)
class Report:
    """What it has seen in the end; copy-time in total, per group."""

    seen: Seen
    fresh: Floats
    answers: npt.NDArray[np.int64]
    good: Floats
    good_when_due: Floats
    left: list[tuple[int, int, float]]  # row of the source, node, S
    taken: int  # batches that came, each once
    repeated: int  # batches that had come before
    unanswered: int


class _Event(NamedTuple):
    at: float
    rank: int
    process: int
    serial: int
    node: NodeId
    what: Any  # a purpose, or (sender, sent, message)


@dataclass
class _Out:
    """What waits to be sent to another host."""

    parcels: list[tuple[Any, ...]] = field(default_factory=list)
    number: int = 0
    free_at: float = -np.inf


@final
class Host:
    def __init__(self, plan: Plan, part: Part, clock: Callable[[], float], send: Callable[[int, bytes], None]) -> None:
        self._plan, self._part, self._clock, self._send_batch = plan, part, clock, send
        self.gap = 0.0  # at least so much time between two batches to one host, which hold the more messages
        run = seed_words(part.seed, part.replication)
        self._wiring = Wiring(plan, run)
        self._at = dict(zip(plan.names, part.at, strict=True))
        mine = {name for name, host in self._at.items() if host == part.me}
        self._delays = Delays(plan, run, part.present.said)
        self._ledger = Ledger(plan, _updates(plan, part, run), part.horizon, part.sampled)
        self._events: list[_Event] = []
        self._serial, self._inbox = count(), deque[bytes]()
        self._out, self._arrivals, self._due = dict[int, _Out](), Arrivals(), dict[tuple[NodeId, int], float]()
        self._now, self.waiting = 0.0, 0
        self.seen = Seen([Spread() for _ in plan.groups])
        self._nodes = self._made([name for name in plan.names if name in mine], run)
        for due, to, sender, said in part.present.under_way:
            self._push(due, ARRIVAL, 0, to, (sender, BEFORE, said))

    def _made(self, mine: list[NodeId], run: Any) -> dict[NodeId, Node]:
        own = [q for q, p in enumerate(self._plan.processes) if self._at[self._plan.names[p.node]] == self._part.me]
        row = {q: r for r, q in enumerate(own)}
        # An instant at time zero itself is the last of the past, and yet to come.
        instants = Instants(renewals(self._plan, run, own), 0.0) if own else None
        nodes: dict[NodeId, Node] = {}
        for name in mine:
            assert instants is not None
            node = self._wiring.node(name, lambda q: instants.of(row[q]), lambda q: instants.before[row[q]])
            remember(node, self._part.present.memories[name])
            if isinstance(node, Replica):
                self._ledger.hold(self._wiring.number[name], node.copies)
            nodes[name] = node
            self._do(name, node.start())
        return nodes

    def receive(self, batch: bytes) -> None:
        """May be called from another thread."""
        self._inbox.append(batch)

    def step(self) -> float:
        """Some of what is due, at best all; send what may be sent; say when something is due next."""
        self._take_batches()
        self._now = self._clock()
        for _ in range(TURN):
            if not self._events or self._events[0].at > self._now:
                break
            self._happen(heapq.heappop(self._events))
            self._now = self._clock()
        self._flush()
        coming = [self._events[0].at] if self._events else []
        return min(coming + [out.free_at for out in self._out.values() if out.parcels], default=np.inf)

    def _take_batches(self) -> None:
        for _ in range(len(self._inbox)):
            head, parcels = unpack(self._inbox.popleft())
            if not self._arrivals.take(head):
                continue
            names = self._plan.names
            for to, sender, sent, due, said in parcels:
                self._now = self._clock()
                if due > self._now:
                    self._push(due, ARRIVAL, 0, names[to], (names[sender], sent, message(said)))
                else:
                    self._deliver(names[to], names[sender], message(said), sent)

    def _flush(self) -> None:
        for host, out in self._out.items():
            if out.parcels and out.free_at <= self._now:
                self._send_batch(host, pack((self._part.me, self._part.incarnation, out.number), out.parcels))
                out.parcels, out.number, out.free_at = [], out.number + 1, self._now + self.gap
                self.seen.batches += 1

    def _push(self, at: float, rank: int, process: int, node: NodeId, what: Any) -> None:
        heapq.heappush(self._events, _Event(at, rank, process, next(self._serial), node, what))

    def _happen(self, event: _Event) -> None:
        if event.rank == ARRIVAL:
            sender, sent, said = event.what
            self._deliver(event.node, sender, said, sent)
            return
        self.waiting -= 1
        purpose, node = event.what, self._nodes[event.node]
        self.seen.counts[PURPOSES[purpose]] += 1
        self.seen.slip.add(self._now - event.at)
        commands = node.on_wake(event.at, purpose)
        if isinstance(node, Client):
            # All pulls of a query carry its number.
            queries = {c.message.query for c in commands if isinstance(c, Send)}
            self._due.update(((event.node, query), event.at) for query in queries)
        self._do(event.node, commands)

    def _do(self, name: NodeId, commands: list[Command]) -> None:
        for command in commands:
            if type(command) is Send:
                self._say(name, command.to, command.message)
            elif type(command) is Wake and command.at < self._part.horizon:
                self.waiting += 1
                process = self._wiring.process[name, PURPOSES[command.purpose]]
                self._push(command.at, WAKE, process, name, command.purpose)

    def _say(self, sender: NodeId, to: NodeId, said: Message) -> None:
        self.seen.said += 1
        host, delay = self._at[to], self._delays.of(sender, to)
        if host != self._part.me:
            self.seen.crossed += 1
            number = self._wiring.number
            out = self._out.get(host)
            if out is None:
                out = self._out[host] = _Out()
            out.parcels.append((number[to], number[sender], self._now, self._now + delay, body(said)))
        elif delay:
            self._push(self._now + delay, ARRIVAL, 0, to, (sender, self._now, said))
        else:
            self._deliver(to, sender, said, self._now)

    def _deliver(self, to: NodeId, sender: NodeId, said: Message, sent: float) -> None:
        node, now = self._nodes[to], self._now
        commands = node.on_message(now, sender, said)
        if type(said) is Pull:
            self._do(to, commands)
            return
        assert isinstance(said, Reply)
        number = self._wiring.number[to]
        if sent >= 0:
            self.seen.delays[self._plan.group[number]].add(now - sent)
        if isinstance(node, Replica):
            self._ledger.copies(number, now, node.copies)
        for command in commands:
            assert isinstance(command, Answer)
            due = self._due.pop((to, said.query), None)
            if due is not None:  # else it was asked before time zero
                self.seen.responses.add(now - due)
                self._ledger.answer(number, due, now, command.copies)

    @property
    def done(self) -> bool:
        """Whether all its wakes are over and no query is open."""
        return not (self.waiting or self._due)

    def fresh(self) -> tuple[float, Floats]:
        """The model time, at most the horizon, and the copy-time that was fresh until then."""
        now = min(max(self._clock(), 0.0), self._part.horizon)
        return now, self._ledger.fresh(now)

    def report(self) -> Report:
        ledger, came = self._ledger, self._arrivals
        return Report(
            seen=self.seen,
            fresh=ledger.fresh(self._part.horizon),
            answers=ledger.answers,
            good=ledger.good,
            good_when_due=ledger.good_when_due,
            left=list(ledger.left()),
            taken=came.taken,
            repeated=came.repeated,
            unanswered=len(self._due),
        )


def _updates(plan: Plan, part: Part, run: Any) -> list[Updates]:
    """Every host knows the updates of all sources: they are planned."""
    rows = range(len(plan.sources))
    instants = Instants(renewals(plan, run, rows), 0.0)
    return [Updates(-float(part.present.ages[row]), instants.of(row)) for row in rows]


def parts(
    plan: Plan, at: tuple[int, ...], present: Present, run: Mapping[str, Any], incarnation: int = 0
) -> list[Part]:
    """What every host needs, of what the past has left behind; `run`: the seed and the like."""
    host = dict(zip(plan.names, at, strict=True))
    made = []
    for me in range(max(at) + 1):
        mine = Present(
            {name: kept for name, kept in present.memories.items() if host[name] == me},
            [gone for gone in present.under_way if host[gone[1]] == me],
            {pair: n for pair, n in present.said.items() if host[pair[0]] == me},
            present.ages,
        )
        made.append(Part(me, at, present=mine, incarnation=incarnation, **run))
    return made
