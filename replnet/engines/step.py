"""The `step` engine: the nodes themselves, one event at a time, in virtual time.

It is the readable reference: the same planned instants and choices as `array`,
but walked by the state machines of `network.nodes`, which exchange messages.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from itertools import count
from typing import Any, NamedTuple, final

import numpy as np
import numpy.typing as npt

from replnet.engines import record
from replnet.engines.hazards import Hazards
from replnet.engines.lines import LineState, load, settling
from replnet.engines.outages import DOWN
from replnet.engines.path import Path
from replnet.engines.plan import DOWNLOADS, POLLS, UPDATES, Plan
from replnet.engines.record import NO_ONE, Keep, Scribe, undecided
from replnet.engines.start import depths
from replnet.engines.tally import OLDEST, Tally
from replnet.engines.wiring import Delays, Instants, Wiring, renewals
from replnet.laws.law import Law
from replnet.laws.processes.renewal import Renewals
from replnet.laws.processes.streams import PURPOSES, seed_words
from replnet.network.messages import Answer, Command, Copies, Mark, Message, NodeId, Pull, Reply, Send, Silence, Wake
from replnet.network.nodes import Memory, Replica, memory

Floats = npt.NDArray[np.float64]

# At one instant: who goes down or comes back, what changes sources, what reaches a node, what reads one, who wakes.
TURN, UPDATE, REPLY, PULL, WAKE = range(5)


class Event(NamedTuple):
    """Ordered by instant, then rank, then process (for wakes), then as it came up."""

    at: float
    rank: int
    process: int
    serial: int
    node: NodeId
    what: Any  # a purpose, or (message, exchange, serial), or (DOWN or UP, whether the copy is lost)


class Exchange(NamedTuple):
    """A pull and what is to come of it."""

    asker: NodeId
    asked: NodeId
    sent: float
    query: int
    mute: bool  # the reply gets lost


class Lateness(NamedTuple):
    """By how much messages take longer than the network says, by the group of who asks."""

    pulls: tuple[float, ...]
    replies: tuple[float, ...]


def run_path(
    plan: Plan, seed: int, replication: int, horizon: float, sampled: bool, late: Lateness | None = None
) -> Path:
    """One replication over [0, horizon), in which messages may be `late`."""
    walk = to_zero(plan, seed, replication, horizon, sampled)
    unproven = walk.unproven()
    if late is not None:
        walk.slow_down(late)
    walk.until(horizon)
    return walk.path(unproven)


def record_path(plan: Plan, seed: int, replication: int, horizon: float, keep: Keep, looks: Iterable[float]) -> None:
    """The same once more, with every event handed to `keep`; `looks` are how far back to begin, in turn (record.py)."""
    walk, scribe = to_zero(plan, seed, replication, horizon, False, looks), Scribe(keep)
    walk.log(scribe)
    walk.until(horizon)
    scribe.hand_on()


def to_zero(
    plan: Plan, seed: int, replication: int, horizon: float, sampled: bool, looks: Iterable[float] = ()
) -> Walk:
    """A walk whose past is over: its state at time zero is the stationary one, or as near as it gets."""
    oldest = float(_renewals(plan, seed, replication).age[: len(plan.sources)].max())
    for depth in looks or depths(plan, oldest, longest(plan), sampled):
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
    under_way: list[tuple[float, NodeId, NodeId, Message, Mark]]  # arrival, to, from, message, mark
    said: dict[tuple[NodeId, NodeId], int]  # how many messages have gone from one to another, less one
    ages: Floats  # of every process at time zero
    lines: LineState | None


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
        self._wakes = [-before for before in instants.before]  # the number of the next one, by process
        self._hazards = Hazards(plan, run, -depth, horizon)
        for at, turn, i, empties in self._hazards.outages.turns:
            self._push(at, TURN, 0, plan.names[i], (turn, empties))
        self._tally = Tally(plan, depth, horizon, sampled, self._ages)
        self._lacking = {name for name in plan.names if self._needs(name)}
        self._scribe: Scribe | None = None
        self._late: list[tuple[float, float]] = [(0.0, 0.0)] * len(plan.names)  # of pulls and replies, by who asks
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
                reached: list[int] = np.flatnonzero(self._plan.reached[:, i]).tolist()
                oldest = OLDEST if self._sampled else -self.depth
                node.copies = {self._plan.names[self._plan.sources[row]]: oldest for row in reached}
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

    def slow_down(self, late: Lateness) -> None:
        """From now on messages take longer."""
        by_group = list(zip(*late, strict=True))
        self._late = [by_group[g] for g in self._plan.group]

    def log(self, scribe: Scribe) -> None:
        """Write down all that happens from time zero on, beginning with what there is."""
        self._scribe, self._undecided = scribe, undecided(self._plan)
        self._counts_for = [np.flatnonzero(column).tolist() for column in self._plan.counted.T]
        for row, source in enumerate(self._plan.sources):
            scribe.note(0.0, record.START, source, left=-self._ages[row], source=source)
        for i, node in enumerate(self._nodes.values()):
            if isinstance(node, Replica):
                self._note_copies(0.0, record.START, i, node.copies)

    def _note(self, now: float, event: int, i: int, peer: int = NO_ONE, source: int = NO_ONE) -> None:
        if self._scribe:
            self._scribe.note(now, event, i, peer, source=source)

    def _note_copies(self, now: float, event: int, i: int, copies: Copies, peer: int = NO_ONE) -> None:
        """A row per source for which the node counts."""
        if self._scribe:
            for row in self._counts_for[i]:
                source = self._plan.sources[row]
                left = copies.get(self._plan.names[source], np.nan)
                self._scribe.note(now, event, i, peer, -np.inf if left == -self.depth else left, source)

    def until(self, end: float) -> None:
        while self._events[0].at < end:
            at, rank, _, _, name, what = heapq.heappop(self._events)
            if rank == TURN:
                self._turn(name, at, *what)
            elif rank == PULL:
                self._ask(at, *what)
            elif rank == REPLY:
                self._reply(at, *what)
            else:
                self._wake(name, at, what)

    def _push(self, at: float, rank: int, process: int, node: NodeId, what: Any) -> None:
        heapq.heappush(self._events, Event(at, rank, process, next(self._serial), node, what))

    def _turn(self, name: NodeId, now: float, turn: int, empties: bool) -> None:
        """A node goes down, or comes back."""
        i, node = self._number[name], self._nodes[name]
        if lines := self._hazards.lines:
            (lines.down if turn == DOWN else lines.up)(i, now)
        if isinstance(node, Replica):
            if turn == DOWN:
                self._tally.leave(i, now)
                if empties:
                    node.lose()
            else:
                self._tally.copies(i, now, node.copies)

    def _wake(self, name: NodeId, now: float, purpose: str) -> None:
        i, code = self._number[name], PURPOSES[purpose]
        q = self._process[name, code]
        wake, self._wakes[q] = self._wakes[q], self._wakes[q] + 1
        commands = self._nodes[name].on_wake(now, purpose)
        if purpose == "updates":
            self._tally.update(i, now)
            self._note(now, UPDATES, i, source=i)
        elif self._hazards.outages.down(i, now):
            commands = [command for command in commands if isinstance(command, Wake)]
            self._counts[code] -= now >= 0
        self._counts[code] += now >= 0
        self._do(name, now, commands, q, wake)

    def _do(self, name: NodeId, now: float, commands: list[Command], q: int = 0, wake: int = 0) -> None:
        """`commands` of a node; pulls among them come from this wake of this process."""
        pull = wake * self._plan.processes[q].ask
        for command in commands:
            match command:
                case Wake(at, purpose):
                    rank = UPDATE if purpose == "updates" else WAKE
                    self._push(at, rank, self._process[name, PURPOSES[purpose]], name, purpose)
                case Send(to, Pull() as message):
                    self._pull(name, to, now, message, q, pull)
                    pull += 1
                case Answer(copies):
                    self._tally.answer(self._number[name], now, copies)
                    self._note_copies(now, record.ANSWER, self._number[name], copies)

    def _pull(self, asker: NodeId, asked: NodeId, now: float, message: Pull, q: int, pull: int) -> None:
        i, j = self._number[asker], self._number[asked]
        goes, mute = self._hazards.goes(q, pull, i, j, now)
        exchange = Exchange(asker, asked, now, message.query, mute)
        delay = self._delays.of(asker, asked) + self._late[i][0]
        if not goes:
            if self._scribe and not self._undecided[q]:
                self._note(now, record.FAILED, i)
            self._fail(now + delay, exchange)
            return
        self._note(now, self._plan.processes[q].purpose, i, j)
        if delay == 0:
            self._ask(now, message, exchange, next(self._serial))
        else:
            self._push(now + delay, PULL, 0, asked, (message, exchange, next(self._serial)))

    def _ask(self, now: float, message: Pull, exchange: Exchange, serial: int) -> None:
        """A pull has come."""
        asker, asked = exchange.asker, exchange.asked
        i, j = self._number[asker], self._number[asked]
        wait = self._hazards.wait(j, i, now)
        if wait is None:
            self._fail(now, exchange)
            return
        (command,) = self._nodes[asked].on_message(now, asker, message)
        assert isinstance(command, Send)
        if self._hazards.returns(j, i, now, exchange.mute):
            self._return(now, wait, command.message, exchange)
        else:
            self._fail(now, exchange)

    def _fail(self, now: float, exchange: Exchange) -> None:
        """No reply will come; clients come to know when it would have come."""
        if self._plan.clients[self._number[exchange.asker]]:
            self._return(now, 0.0, Silence(exchange.query), exchange)

    def _return(self, now: float, wait: float, message: Message, exchange: Exchange) -> None:
        serial, late = next(self._serial), self._late[self._number[exchange.asker]][1]
        delay = self._delays.of(exchange.asked, exchange.asker) + wait + late
        if delay == 0:
            self._reply(now, message, exchange, serial)
        else:
            self._push(now + delay, REPLY, 0, exchange.asker, (message, exchange, serial))

    def _reply(self, now: float, message: Message, exchange: Exchange, serial: int) -> None:
        """What came of a pull."""
        to, sender = exchange.asker, exchange.asked
        if self._hazards.outages.went_down(self._number[to], exchange.sent, now):
            return
        node, message = self._nodes[to], self._remembered(message, serial)
        if isinstance(message, Reply):
            self._note_copies(now, record.REPLY, self._number[to], message.copies, self._number[sender])
        self._do(to, now, node.on_message(now, sender, message))
        if isinstance(node, Replica):
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
        swept = self._sampled and self._plan.swept
        known = {(i, source) for q, i, source in self._plan.direct.tolist() if self._ages[q] > self.depth}
        unproven = int(np.count_nonzero(settling(self._plan) > self.depth))
        for row, source in enumerate(self._plan.sources):
            if swept and self.depth >= self._ages[row] + 2 * longest(self._plan):
                continue
            held = self._held(row)
            unknown = sum(
                1
                for i in np.flatnonzero(self._plan.reached[row] & ~self._plan.clients)
                if -np.inf < held[i] <= -self.depth and (i, source) not in known
            )
            unproven += max(unknown, len(self._lacking))
        return unproven

    def present(self) -> Present:
        """What other engines need in order to go on from here."""
        under_way = [
            (
                event.at,
                event.node,
                exchange.asker if event.rank == PULL else exchange.asked,
                self._remembered(message, serial),
                float(exchange.mute) if event.rank == PULL else exchange.sent,
            )
            for event in sorted(self._events)
            if event.rank in (PULL, REPLY)
            for message, exchange, serial in [event.what]
        ]
        memories = {name: memory(node) for name, node in self._nodes.items()}
        lines = self._hazards.lines
        return Present(memories, under_way, self._delays.said, self._ages, lines.state if lines else None)

    def _held(self, row: int) -> Any:
        """When what every node holds of a source left it; -inf where it holds nothing."""
        source = self._plan.names[self._plan.sources[row]]
        copies = (n.copies if isinstance(n, Replica) else {} for n in self._nodes.values())
        return np.array([c.get(source, -np.inf) for c in copies])

    def path(self, unproven: int) -> Path:
        fresh, answers, good, shares, apart = self._tally.totals()
        if lines := self._hazards.lines:
            shares |= load(self._plan, lines.totals(self._horizon), self._horizon)
        return Path(
            fresh=fresh,
            answers=answers,
            good=good,
            counts=(self._counts[0], self._counts[1], self._counts[2], self._counts[3]),
            copies=np.array([self._held(row) for row in range(len(self._plan.sources))]),
            depth=self.depth,
            unproven=unproven,
            shares=shares,
            of_sources=apart,
        )
