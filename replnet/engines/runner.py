"""The nodes of one replication as they go on: whoever owns some of them runs them, in virtual time or on a clock.

A runner hands the nodes that it owns their wakes at the planned instants and their messages as they come, carries out
what they command, and tells an observer what is to be seen. `step` is a runner that owns all nodes, with a clock that
jumps; a host of the `live` engine has one for every replication, with the wall clock, and sends what is for others.
All chance comes from named streams, so nodes get the instants and the choices that they have in the whole network,
wherever they are.

    at one instant   who goes down or comes back; what changes sources; replies; pulls; who wakes
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import count
from typing import Any, NamedTuple, Protocol, TypeAlias, final

import numpy as np

from replnet.engines.lines import LineState
from replnet.engines.outages import DOWN, UP, Hazards
from replnet.engines.plan import DOWNLOADS, POLLS, UPDATES, Plan
from replnet.laws.law import Ints, Law
from replnet.laws.processes.clockwork import Clockwork
from replnet.laws.processes.streams import (
    CHOICES,
    PURPOSES,
    Words,
    distinct,
    exponentials,
    name_words,
    streams,
    uniforms,
)
from replnet.network.nodes import (
    Answer,
    Client,
    Command,
    Copies,
    Habit,
    Memory,
    Message,
    Node,
    NodeId,
    Pull,
    Replica,
    Reply,
    Send,
    Silence,
    Source,
    Wake,
    memory,
    remember,
)
from replnet.network.topology import CLIENT, SOURCE

TURN, UPDATE, REPLY, PULL, WAKE = range(5)
WAKES, PARCELS = frozenset({UPDATE, WAKE}), frozenset({REPLY, PULL})
NAMES = tuple(PURPOSES)[:4]

Event: TypeAlias = tuple[float, int, int, int, int, int, Any]
"""At, rank, replication, process (of wakes), serial, node, and what.

That is the name of a habit, a Parcel, or (DOWN or UP, whether the copy is lost). A plain tuple, because making and
comparing them is much of what a runner does.
"""


class Parcel(NamedTuple):
    """A message on its way. It is not to be handed over before it is due."""

    replication: int
    to: int
    sender: int
    due: float
    sent: float  # when it left
    pulled: float  # when the pull was sent that it is, or answers
    mute: bool  # of a pull: the reply will get lost
    message: Message


@final
class Agenda:
    """The events that are to come, of any number of runners, the earliest first."""

    def __init__(self) -> None:
        self._heap: list[Event] = []
        self._serial = count()
        self.wakes = 0  # that are to come

    def add(self, at: float, rank: int, replication: int, process: int, node: int, what: Any) -> None:
        if rank in WAKES:
            self.wakes += 1
        heapq.heappush(self._heap, (at, rank, replication, process, next(self._serial), node, what))

    @property
    def next_at(self) -> float:
        return self._heap[0][0] if self._heap else np.inf

    def pop(self) -> Event:
        event = heapq.heappop(self._heap)
        if event[1] in WAKES:
            self.wakes -= 1
        return event

    def cut(self, end: float) -> None:
        """No wake, and nobody going down, from `end` on."""
        self._keep([e for e in self._heap if e[1] in PARCELS or e[0] < end])

    def forget(self, senders: Collection[int]) -> None:
        """What these nodes have said does not arrive any more."""
        self._keep([e for e in self._heap if e[1] not in PARCELS or e[6].sender not in senders])

    def parcels(self) -> list[Parcel]:
        """What is on its way."""
        return [e[6] for e in sorted(self._heap) if e[1] in PARCELS]

    def change(self, replication: int, parcel: Callable[[Parcel], Parcel]) -> None:
        """What is on its way in a replication is to be something else."""
        self._keep([(*e[:6], parcel(e[6])) if e[1] in PARCELS and e[2] == replication else e for e in self._heap])

    def _keep(self, events: list[Event]) -> None:
        self._heap = events
        heapq.heapify(self._heap)
        self.wakes = sum(e[1] in WAKES for e in events)


class Observer(Protocol):
    """Is told what happens, of nodes by their numbers."""

    def woke(self, now: float, planned: float, node: int, process: int) -> None:
        """A node that is up wakes; what it does then counts as done when it was planned."""

    def updated(self, now: float, source: int) -> None: ...

    def pulled(self, planned: float, process: int, node: int, peer: int, goes: bool) -> None: ...

    def replied(self, now: float, parcel: Parcel, copies: Copies) -> None:
        """A reply has come."""

    def offered(self, now: float, node: int, peer: int, copies: Copies) -> None:
        """A replica has come by what one has who polls it."""

    def holds(self, now: float, node: int, copies: Copies) -> None:
        """What a replica has from now on; nothing while it is down."""

    def answered(self, now: float, due: float, client: int, copies: Copies) -> None:
        """A query that was due then has come to its end."""


def clockwork(plan: Plan, run: Words, processes: Ints, events: int = 256) -> Clockwork:
    """The clocks of these processes, in this order, a row for every process."""
    clocks, at = plan.clocks, plan.processes.clock[processes]
    orders = clocks.schedule[at]
    scheduled = [
        (plan.topology.each[order].schedule, np.flatnonzero(orders == order), run)
        for order in np.unique(orders[orders >= 0]).tolist()
    ]
    return Clockwork(
        plan.topology.laws, clocks.law[at], clocks.rate[at], run, clocks.word[at], clocks.purpose[at], scheduled, events
    )


@final
class Instants:
    """The instants of every process, past ones first, handed out one by one."""

    def __init__(self, plan: Plan, run: Words, processes: Ints, depth: float) -> None:
        self.clocks = clockwork(plan, run, processes)
        self._row = {q: row for row, q in enumerate(processes.tolist())}
        self._silent = plan.rates[processes] == 0
        self._turns = plan.processes.turns[processes]
        self._phase = phases(plan, run, processes)
        past = self.clocks.past(depth)
        self._coming = [deque(self._own(past, row)) for row in range(processes.size)]
        self._before = [len(coming) for coming in self._coming]
        self._next = self.clocks.next_instants()

    def _own(self, window: Any, row: int) -> list[float]:
        """The instants of a window at which a process wakes; of several that take turns every so manieth."""
        turns, points = int(self._turns[row]), window.of(row)
        first = (int(self._phase[row]) - int(window.serial[row])) % turns
        return points[first::turns].tolist()  # type: ignore[no-any-return]

    def before(self, process: int) -> int:
        """How many come before time zero."""
        return self._before[self._row[process]]

    def of(self, process: int) -> Iterator[float]:
        row = self._row[process]
        coming, plain = self._coming[row], self._turns[row] == 1
        while self._silent[row]:
            yield np.inf
        while True:
            if coming:
                yield coming.popleft()
            elif plain and self._next[row] < np.inf:
                # It may lie far off: the others' instants up to it are made once it is over, if ever.
                yield float(self._next[row])
                while not coming:
                    self._more()
                coming.popleft()
            else:
                while not coming:
                    self._more()

    def _more(self) -> None:
        window = self.clocks.window()
        for row, waiting in enumerate(self._coming):
            waiting.extend(self._own(window, row))
        self._next = self.clocks.next_instants()


def phases(plan: Plan, run: Words, processes: Ints) -> Ints:
    """Of replicas that take turns at the wakes of a clock, which wakes are whose; chance decides who begins.

    The n-th wake after time zero belongs to turn first + n, so to a process the wakes with this rest.
    """
    p, clocks, clock = plan.processes, plan.clocks, plan.processes.clock[processes]
    turn, turns = p.turn[processes], p.turns[processes]
    if (turns == 1).all():
        return np.zeros(processes.size, np.int64)
    chance = streams(run, clocks.word[clock], clocks.purpose[clock], CHOICES)
    first = np.minimum((uniforms(chance, np.zeros(processes.size, np.int64)) * turns).astype(np.int64), turns - 1)
    return np.asarray((turn - first) % turns)


@final
class Delays:
    """How long messages take on their way, one after another between the same two nodes."""

    def __init__(self, plan: Plan, run: Words, said: Mapping[tuple[int, int], int] | None = None) -> None:
        self._plan, self._run, self._one = plan, run, plan.constant_delay
        self.said = dict(said or {})  # how many messages have gone from one to another, less one

    def of(self, sender: int, to: int) -> float:
        if self._one is not None:
            return self._one
        delays = self._plan.delays
        delay = delays.get((sender, to), delays.get((to, sender), self._plan.delay))
        if not isinstance(delay, Law):
            return delay
        said = self.said[sender, to] = self.said.get((sender, to), -1) + 1
        names, purpose = self._plan.names, np.full(1, PURPOSES["delays"])
        stream = streams(self._run, name_words([f"{names[sender]} > {names[to]}"]), purpose, CHOICES)
        return float(delay.draw(exponentials(stream, said))[0])


@final
class Runner:
    """Nodes of one replication; `send` carries what is for others."""

    def __init__(
        self,
        plan: Plan,
        run: Words,
        own: Ints,
        instants: Callable[[int], tuple[Iterator[float], int]],
        agenda: Agenda,
        observer: Observer,
        hazards: Hazards | None,
        send: Callable[[Parcel], None] | None = None,
        replication: int = 0,
    ) -> None:
        """`instants` of a process, and how many of them come before time zero."""
        self._plan, self._agenda, self._observer, self.hazards = plan, agenda, observer, hazards
        self._send, self._replication = send, replication
        self.horizon, self.delays, self.said = np.inf, Delays(plan, run), 0
        self.late: list[tuple[float, float]] | None = None  # of pulls and replies beyond the network's own, by who asks
        self.told: Callable[[float, int], None] | None = (
            None  # hears of every replica that was handed a list of contacts
        )
        self._due: dict[tuple[int, int], float] = {}  # open queries
        self._lists: dict[int, list[NodeId]] = {}  # of candidates
        self._wakes: dict[int, int] = {}  # the number of the next one among those of its clock, by process
        # Plain numbers, which are looked up several times as fast as an array's.
        p, self._phase = plan.processes, phases(plan, run, np.arange(plan.processes.node.size))
        self._turns, self._ask, purposes = p.turns.tolist(), p.ask.tolist(), p.purpose.tolist()
        self._rank = [UPDATE if purpose == UPDATES else WAKE for purpose in purposes]
        # All streams at once: one by one, first wakes would cost more than all else.
        self._keys, self._gammas = streams(run, plan.clocks.word[p.clock], plan.clocks.purpose[p.clock], CHOICES)
        self._process: dict[tuple[int, str], int] = {}  # by node and the name of a habit
        self.nodes: dict[int, Node] = {i: self._made(i, instants) for i in own.tolist()}

    def _made(self, i: int, instants: Callable[[int], tuple[Iterator[float], int]]) -> Node:
        habits: dict[str, Habit] = {}
        for q in self._plan.of_node(i).tolist():
            purpose = NAMES[self._plan.processes.purpose[q]]
            name = purpose if purpose not in habits else f"{purpose} {q}"
            coming, before = instants(q)
            self._process[i, name] = q
            self._wakes[q] = int(self._phase[q]) - before * self._turns[q]
            two_way = bool(self._plan.processes.two_way[q])
            habits[name] = Habit(coming, self._choices(q, self._wakes[q]), self._question(q), two_way)
        if self._plan.topology.role[i] == SOURCE:
            return Source(i, habits["updates"].instants)
        if self._plan.topology.role[i] == CLIENT:
            return Client(habits["queries"])
        polls = self._process.get((i, "polls"))
        return Replica(habits, polls is not None and bool(self._plan.processes.recent[polls]))

    def _choices(self, q: int, first: int) -> Iterator[list[NodeId]]:
        """Whom a process asks, wake after wake, from that of this number on."""
        plan, others = self._plan, self._listed(q)
        k, key, gamma = int(plan.processes.ask[q]), int(self._keys[q]), int(self._gammas[q])
        # Its own place is skipped, not cut out: members of a pool share one list, which may be long.
        own = int(plan.standing[q])
        n, mixed = len(others) - (own < len(others)), plan.bandwidth is not None
        for wake in count(first, self._turns[q]):
            yield [others[c + (c >= own)] for c in distinct(key, gamma, wake, k, n, mixed)]

    def _listed(self, q: int) -> list[NodeId]:
        """Whom a process may ask; one list for all who may ask the same."""
        among = int(self._plan.processes.candidates[q])
        if among not in self._lists:
            self._lists[among] = self._plan.candidates(q).tolist()
        return self._lists[among]

    def _question(self, q: int) -> Pull:
        """A download by a member of a pool that polls its recent contacts asks for their list as well."""
        p, node = self._plan.processes, int(self._plan.processes.node[q])
        pool = self._plan.listed.get(node, -1)
        if p.purpose[q] != DOWNLOADS or pool < 0:
            return Pull()
        mine = [int(p.ask[other]) for other in self._plan.of_node(node).tolist() if p.purpose[other] == POLLS]
        return Pull(0, str(pool), mine[0] if mine else 0)

    def start(self, now: float) -> None:
        for i, node in self.nodes.items():
            self._do(i, now, node.start())

    def expect(self, since: float, until: float) -> None:
        """What is planned to go wrong with these nodes."""
        if self.hazards:
            for at, turn, i, empties in self.hazards.outages.turns:
                if i in self.nodes and since <= at < until:
                    self._agenda.add(at, TURN, self._replication, 0, i, (turn, empties))

    def happen(self, now: float, event: Event) -> None:
        """An event of the agenda, which may be late."""
        at, rank, _, process, _, i, what = event
        if rank in WAKES:
            self._wake(now, at, i, process, what)
        elif rank == TURN:
            self._turn(now, i, *what)
        else:
            self.deliver(now, what)

    def _turn(self, now: float, i: int, turn: int, empties: bool) -> None:
        """A node goes down, or comes back."""
        assert self.hazards
        node = self.nodes[i]
        if lines := self.hazards.lines:
            (lines.down if turn == DOWN else lines.up)(i, now)
        if isinstance(node, Replica):
            if turn == DOWN and empties:
                node.lose()
            self._observer.holds(now, i, node.copies if turn == UP else {})

    def _wake(self, now: float, planned: float, i: int, q: int, name: str) -> None:
        node, number = self.nodes[i], self._wakes[q]
        self._wakes[q] = number + self._turns[q]
        commands = node.on_wake(planned, name)
        if self.hazards and type(node) is Replica and self.hazards.outages.down(i, planned):
            self._do(i, now, [command for command in commands if type(command) is Wake])
            return
        self._observer.woke(now, planned, i, q)
        if type(node) is Source:
            self._observer.updated(planned, i)
        elif type(node) is Client:  # all pulls of a query carry its number
            self._due.update(((i, c.message.query), planned) for c in commands if type(c) is Send)
        self._do(i, now, commands, q, number * self._ask[q], planned)

    def _do(self, i: int, now: float, commands: list[Command], q: int = 0, pull: int = 0, planned: float = 0.0) -> None:
        """`commands` of a node; pulls among them are those of a process, numbered from `pull` on."""
        for command in commands:
            if type(command) is Send:
                self._pull(now, planned, i, command, q, pull)
                pull += 1
            elif type(command) is Wake and command.at < self.horizon:
                process = self._process[i, command.purpose]
                self._agenda.add(command.at, self._rank[process], self._replication, process, i, command.purpose)

    def _pull(self, now: float, planned: float, asker: int, command: Send, q: int, number: int) -> None:
        asked, message = command
        assert isinstance(asked, int)
        assert isinstance(message, Pull)
        goes, mute = self.hazards.goes(q, number, asker, asked, now) if self.hazards else (True, False)
        delay = self.delays.of(asker, asked) + (self.late[asker][0] if self.late else 0.0)
        self._observer.pulled(planned, q, asker, asked, goes)
        if goes:
            self._say(now, Parcel(self._replication, asked, asker, now + delay, now, now, mute, message))
        else:
            self._fail(now + delay, asker, asked, now, message)

    def _say(self, now: float, parcel: Parcel) -> None:
        self.said += 1
        if parcel.to not in self.nodes:
            assert self._send
            self._send(parcel)
        elif parcel.due > now:
            rank = PULL if type(parcel.message) is Pull else REPLY
            self._agenda.add(parcel.due, rank, self._replication, 0, parcel.to, parcel)
        else:
            self.deliver(now, parcel)

    def deliver(self, now: float, parcel: Parcel) -> None:
        """What has come for a node."""
        if type(parcel.message) is Pull:
            self._serve(now, parcel, parcel.message)
        else:
            self._reply(now, parcel)

    def _serve(self, now: float, parcel: Parcel, pull: Pull) -> None:
        """Reply to a pull, if nothing is in the way."""
        asked, asker, hazards = parcel.to, parcel.sender, self.hazards
        wait = hazards.wait(asked, asker, now) if hazards else 0.0
        if wait is None:
            self._fail(now, asker, asked, parcel.pulled, pull)
            return
        node = self.nodes[asked]
        (command,) = node.on_message(now, asker, pull)
        assert isinstance(command, Send)
        if pull.offered is not None and isinstance(node, Replica):
            self._observer.offered(now, asked, asker, pull.offered)
            self._observer.holds(now, asked, node.copies)
        if hazards is None or hazards.returns(asked, asker, now, parcel.mute):
            self._return(now, wait, asker, asked, parcel.pulled, command.message)
        else:
            self._fail(now, asker, asked, parcel.pulled, pull)

    def _fail(self, now: float, asker: int, asked: int, pulled: float, pull: Pull) -> None:
        """No reply will come; clients come to know when it would have come."""
        if self._plan.clients[asker]:
            self._return(now, 0.0, asker, asked, pulled, Silence(pull.query))

    def _return(self, now: float, wait: float, asker: int, asked: int, pulled: float, message: Message) -> None:
        late = self.late[asker][1] if self.late else 0.0
        due = now + (self.delays.of(asked, asker) + wait + late)
        self._say(now, Parcel(self._replication, asker, asked, due, now + wait, pulled, False, message))

    def _reply(self, now: float, parcel: Parcel) -> None:
        """What came of a pull."""
        i, message, node = parcel.to, parcel.message, self.nodes[parcel.to]
        if self.hazards and self.hazards.outages.went_down(i, parcel.pulled, now):
            return
        if isinstance(message, Reply):
            self._observer.replied(now, parcel, message.copies)
        if isinstance(node, Replica):
            had = node.copies
            node.on_message(now, parcel.sender, message)
            if node.copies is not had:
                self._observer.holds(now, i, node.copies)
            if self.told and isinstance(message, Reply) and message.contacts is not None:
                self.told(now, i)
            return
        for command in node.on_message(now, parcel.sender, message):
            assert isinstance(command, Answer)
            assert isinstance(message, Reply | Silence)
            due = self._due.pop((i, message.query), None)
            if due is not None:  # else it was asked by another incarnation
                self._observer.answered(now, due, i, command.copies)

    @property
    def open(self) -> int:
        """Queries without an end so far."""
        return len(self._due)

    @property
    def present(self) -> Present:
        """All that others need in order to go on from here."""
        memories = {i: memory(node) for i, node in self.nodes.items()}
        lines = self.hazards.lines if self.hazards else None
        return Present(
            memories, self._agenda.parcels(), self.delays.said, dict(self._due), lines.state if lines else None
        )

    def resume(self, present: Present) -> None:
        """Go on from what was left behind of these nodes, and of what is on its way to them."""
        for i, of in present.memories.items():
            if i in self.nodes:
                remember(self.nodes[i], of)
        self.delays.said = {pair: n for pair, n in present.said.items() if pair[0] in self.nodes}
        self._due = {key: due for key, due in present.due.items() if key[0] in self.nodes}
        if self.hazards and self.hazards.lines and present.lines:
            self.hazards.lines.resume(present.lines)
        for parcel in present.under_way:
            if parcel.to in self.nodes:
                rank = PULL if type(parcel.message) is Pull else REPLY
                own = parcel._replace(replication=self._replication)
                self._agenda.add(parcel.due, rank, self._replication, 0, parcel.to, own)


class Present(NamedTuple):
    """All that a past has left behind at some instant."""

    memories: dict[int, Memory]
    under_way: list[Parcel]
    said: dict[tuple[int, int], int]
    due: dict[tuple[int, int], float]
    lines: LineState | None
