"""A runner of nodes of one replication, in virtual time or on a clock.

A runner hands its nodes their wakes at the planned instants and their messages as they arrive, carries out
their commands, and tells a listener what happens. `step` has one runner for all nodes, with a clock that
jumps; a host of the `live` engine has one for every replication, with the wall clock, and sends messages to nodes that
run elsewhere. All chance comes from named streams, so nodes get the instants and the choices that they have in the
whole network, wherever they run.

    order at one instant   turns of nodes (down, up); updates; replies; pulls; other wakes
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import count
from typing import Any, NamedTuple, Protocol, TypeAlias, final

import numpy as np

from replnet.engines.lines import LineState
from replnet.engines.nodes.nodes import (
    Answer,
    Client,
    Command,
    Copies,
    Memory,
    Message,
    Node,
    NodeId,
    NoReply,
    Pull,
    PullSchedule,
    Replica,
    Reply,
    Send,
    Source,
    Wake,
    node_memory,
    restore_memory,
)
from replnet.engines.outages import DOWN, UP, Hazards
from replnet.engines.plan import DOWNLOADS, POLLS, UPDATES, Plan
from replnet.engines.wakes import find_phases, process_set, process_streams
from replnet.laws import Ints, Law
from replnet.network import CLIENT, SOURCE
from replnet.processes import (
    CHOICES,
    PURPOSES,
    Words,
    draw_distinct,
    exponentials,
    name_words,
    streams,
)

TURN, UPDATE, REPLY, PULL, WAKE = range(5)
WAKES, MESSAGES = frozenset({UPDATE, WAKE}), frozenset({REPLY, PULL})
NAMES = tuple(PURPOSES)[:4]
EVENTS = 256  # of a window of instants

Event: TypeAlias = tuple[float, int, int, int, int, int, Any]
"""Instant, rank, replication, process (of a wake), serial, node, and content.

The content is the name of a schedule of pulls, a TimedMessage, or (DOWN or UP, whether the copy is lost). Events are
plain tuples, because making and comparing them is much of the work of a runner.
"""


class TimedMessage(NamedTuple):
    """A message on its way from node `sender` to node `to`, not to be handed over before the instant `due`.

    `replication` is the number under which its runner has its events. `sent` is when the message left, `pulled` when
    the pull left (this one, or the one that it answers), and `mute` whether the reply to this pull will get lost.
    """

    replication: int
    to: int
    sender: int
    due: float  # when it arrives
    sent: float  # when it left
    pulled: float  # when the pull left: this one, or the one that it answers
    mute: bool  # whether the reply to this pull will get lost
    message: Message


@final
class EventQueue:
    """The coming events of any number of runners, earliest first; `wakes` is how many of them are wakes."""

    def __init__(self) -> None:
        self._heap: list[Event] = []
        self._serial = count()
        self.wakes = 0  # how many of the events are wakes

    def add(self, at: float, rank: int, replication: int, process: int, node: int, content: Any) -> None:
        """Add an event; at the same instant, events of lower rank come first.

        The content is the name of a schedule of pulls (of a wake), a TimedMessage (of a reply or a pull), or (DOWN or
        UP, whether the copy is lost) of a turn. `process` is that of a wake, and else 0.
        """
        if rank in WAKES:
            self.wakes += 1
        heapq.heappush(self._heap, (at, rank, replication, process, next(self._serial), node, content))

    @property
    def next_at(self) -> float:
        """The instant of the earliest event, inf if there is none."""
        return self._heap[0][0] if self._heap else np.inf

    def pop(self) -> Event:
        """Remove the earliest event, and return it; an empty queue raises IndexError."""
        event = heapq.heappop(self._heap)
        if event[1] in WAKES:
            self.wakes -= 1
        return event

    def cut(self, end: float) -> None:
        """Drop all wakes and turns at the instant `end` or later; messages stay."""
        self._replace_events([e for e in self._heap if e[1] in MESSAGES or e[0] < end])

    def forget(self, senders: Collection[int]) -> None:
        """Drop all messages on their way, in any replication, that the nodes `senders` have sent."""
        self._replace_events([e for e in self._heap if e[1] not in MESSAGES or e[6].sender not in senders])

    def messages(self) -> list[TimedMessage]:
        """Return the messages on their way, of all replications, earliest first; they stay in the queue."""
        return [e[6] for e in sorted(self._heap) if e[1] in MESSAGES]

    def change(self, replication: int, replace: Callable[[TimedMessage], TimedMessage]) -> None:
        """Replace every message on its way in a replication by what `replace` makes of it, at the same instant."""
        self._replace_events(
            [(*e[:6], replace(e[6])) if e[1] in MESSAGES and e[2] == replication else e for e in self._heap]
        )

    def _replace_events(self, events: list[Event]) -> None:
        """Replace all events of the queue by these, in any order."""
        self._heap = events
        heapq.heapify(self._heap)
        self.wakes = sum(e[1] in WAKES for e in events)


class RunnerListener(Protocol):
    """A listener that a runner tells of all events, with nodes by their numbers."""

    def note_wake(self, now: float, planned: float, node: int, process: int) -> None:
        """Learn at `now` that a node that is up wakes for a process; what it does counts as done at `planned`."""

    def note_update(self, now: float, source: int) -> None:
        """Learn that a source changes at `now`, as planned."""

    def note_pull(self, planned: float, process: int, node: int, peer: int, goes: bool) -> None:
        """Learn that a process of a node sends a pull to a peer at `planned`, or that it fails to if not `goes`."""

    def note_reply(self, now: float, timed: TimedMessage, copies: Copies) -> None:
        """Learn that the reply `timed` has arrived at `now`, with its copies."""

    def note_offer(self, now: float, node: int, peer: int, copies: Copies) -> None:
        """Learn that a replica, `node`, has received the copies that `peer` offered it with a two-way poll."""

    def note_copies(self, now: float, node: int, copies: Copies) -> None:
        """Learn that a node holds these copies, and no others, from now on; none while it is down."""

    def note_answer(self, now: float, due: float, client: int, copies: Copies) -> None:
        """Learn that a query of a client, which was due at `due`, has ended with these copies."""


@final
class Instants:
    """The instants at which processes wake, past ones first, handed out one by one.

    `clocks` is the generator that draws them.
    """

    def __init__(self, plan: Plan, run: Words, processes: Ints, depth: float) -> None:
        """Draw the instants in [-depth, 0) with the seed words `run`; later ones are drawn when needed."""
        self.clocks = process_set(plan, plan.processes.clock[processes], run, events=EVENTS)
        self._row = {q: row for row, q in enumerate(processes.tolist())}
        self._silent = plan.rates[processes] == 0
        self._turns = plan.processes.turns[processes]
        self._phase = find_phases(plan, run, processes)
        past = self.clocks.past(depth)
        self._coming = [deque(self._instants_of(past, row)) for row in range(processes.size)]
        self._before = [len(coming) for coming in self._coming]
        self._next = self.clocks.next_instants()

    def _instants_of(self, window: Any, row: int) -> list[float]:
        """Return the instants of a window at which the process of a row wakes.

        Those of other processes that take turns with it at the same clock are left out.
        """
        turns, points = int(self._turns[row]), window.of(row)
        first = (int(self._phase[row]) - int(window.serial[row])) % turns
        return points[first::turns].tolist()  # type: ignore[no-any-return]

    def before(self, process: int) -> int:
        """Return how many of the instants handed out for a process, by its number, come before time zero."""
        return self._before[self._row[process]]

    def of(self, process: int) -> Iterator[float]:
        """Yield the instants of a process, in order and without end; infinity each time if it never wakes."""
        row = self._row[process]
        coming, plain = self._coming[row], self._turns[row] == 1
        while self._silent[row]:
            yield np.inf
        while True:
            if coming:
                yield coming.popleft()
            elif plain and self._next[row] < np.inf:
                # It may lie far off: the instants of other processes up to it are drawn once it is over, if ever.
                yield float(self._next[row])
                while not coming:
                    self._draw_more()
                coming.popleft()
            else:
                while not coming:
                    self._draw_more()

    def _draw_more(self) -> None:
        """Draw the next window of instants of all processes, to be handed out later."""
        window = self.clocks.window()
        for row, waiting in enumerate(self._coming):
            waiting.extend(self._instants_of(window, row))
        self._next = self.clocks.next_instants()


@final
class Delays:
    """The delays of messages; messages between the same two nodes draw theirs one after another.

    `sent` has, by (sender, receiver), the number of the last message that drew one, from 0.
    """

    def __init__(self, plan: Plan, run: Words, sent: Mapping[tuple[int, int], int] | None = None) -> None:
        """Carry on after the messages in `sent`: by sender and receiver, the number of the last one, from 0.

        None stands for no messages; `run` has the seed words of the replication.
        """
        self._plan, self._run, self._one = plan, run, plan.constant_delay
        self.sent = dict(sent or {})  # by sender and receiver, the number of the last message, from 0

    def of(self, sender: int, to: int) -> float:
        """Return the delay, in units of time, of the next message from a sender to a receiver, both node numbers.

        If the delay is random, the message is counted, so that the next one draws another.
        """
        if self._one is not None:
            return self._one
        delays = self._plan.delays
        delay = delays.get((sender, to), delays.get((to, sender), self._plan.delay))
        if not isinstance(delay, Law):
            return delay
        number = self.sent[sender, to] = self.sent.get((sender, to), -1) + 1
        names, purpose = self._plan.names, np.full(1, PURPOSES["delays"])
        stream = streams(self._run, name_words([f"{names[sender]} > {names[to]}"]), purpose, CHOICES)
        return float(delay.draw(exponentials(stream, number))[0])


@final
class Runner:
    """The nodes of one replication that run here; messages to other nodes are handed to the function `send`.

    `nodes` has them by number, and `messages_sent` counts what they have sent, to any node. From `horizon` on no more
    wakes are planned. `lateness`, by node, is the extra delay of its pulls and of their replies, None for none, and
    `on_contacts` is called with (now, node) when a replica was handed a list of contacts.
    """

    def __init__(
        self,
        plan: Plan,
        run: Words,
        nodes: Ints,
        instants: Callable[[int], tuple[Iterator[float], int]],
        queue: EventQueue,
        listener: RunnerListener,
        hazards: Hazards | None,
        send: Callable[[TimedMessage], None] | None = None,
        replication: int = 0,
    ) -> None:
        """Make these nodes. `instants` returns those of a process, and how many of them come before time zero.

        `run` has the seed words of the replication. Events are put into `queue`, under the number `replication`, and
        told to `listener`; `hazards` decide on faults and lines, None if the network has none. Without `send`, all
        nodes must run here.
        """
        self._plan, self._queue, self._listener, self.hazards = plan, queue, listener, hazards
        self._send, self._replication = send, replication
        self.horizon, self.delays, self.messages_sent = np.inf, Delays(plan, run), 0
        # The extra delay of pulls and of replies, by asker.
        self.lateness: list[tuple[float, float]] | None = None
        # Is called with (now, node) when a replica was handed a list of contacts.
        self.on_contacts: Callable[[float, int], None] | None = None
        self._due: dict[tuple[int, int], float] = {}  # when open queries were due, by client and number
        self._lists: dict[int, list[NodeId]] = {}  # the members of lists of candidates
        self._wakes: dict[int, int] = {}  # by process, the number of its next wake among those of its clock
        # Lists, which are looked up several times as fast as arrays.
        p, everything = plan.processes, np.arange(plan.processes.node.size)
        self._phase = find_phases(plan, run, everything)
        self._turns, self._ask, purposes = p.turns.tolist(), p.ask.tolist(), p.purpose.tolist()
        self._rank = [UPDATE if purpose == UPDATES else WAKE for purpose in purposes]
        # All streams at once: one by one, first wakes would cost more than all else.
        self._keys, self._gammas = process_streams(plan, run, everything, CHOICES)
        self._process: dict[tuple[int, str], int] = {}  # by node and the name of a schedule
        self.nodes: dict[int, Node] = {i: self._make_node(i, instants) for i in nodes.tolist()}

    def _make_node(self, i: int, instants: Callable[[int], tuple[Iterator[float], int]]) -> Node:
        """Return a new node with the number i, and with the schedules of its processes.

        `instants` returns those of a process, and how many of them come before time zero.
        """
        habits: dict[str, PullSchedule] = {}
        for q in self._plan.of_node(i).tolist():
            purpose = NAMES[self._plan.processes.purpose[q]]
            name = purpose if purpose not in habits else f"{purpose} {q}"
            instants_of_process, before = instants(q)
            self._process[i, name] = q
            self._wakes[q] = int(self._phase[q]) - before * self._turns[q]
            two_way = bool(self._plan.processes.two_way[q])
            habits[name] = PullSchedule(
                instants_of_process, self._draw_choices(q, self._wakes[q]), self._pull_of(q), two_way
            )
        if self._plan.topology.role[i] == SOURCE:
            return Source(i, habits["updates"].instants)
        if self._plan.topology.role[i] == CLIENT:
            return Client(habits["queries"])
        polls = self._process.get((i, "polls"))
        return Replica(habits, polls is not None and bool(self._plan.processes.recent[polls]))

    def _draw_choices(self, q: int, first: int) -> Iterator[list[NodeId]]:
        """Yield the list of nodes that process q asks at each of its wakes, in order and without end.

        The first is that of the wake with the number `first`; a wake with this number always asks the same nodes.
        """
        plan, candidates = self._plan, self._candidate_ids(q)
        k, key, gamma = int(plan.processes.ask[q]), int(self._keys[q]), int(self._gammas[q])
        # The position of the node itself is skipped, not cut out: members of a pool share one list, which may be long.
        position = int(plan.own_position[q])
        n, mixed = len(candidates) - (position < len(candidates)), plan.bandwidth is not None
        for wake in count(first, self._turns[q]):
            yield [candidates[c + (c >= position)] for c in draw_distinct(key, gamma, wake, k, n, mixed)]

    def _candidate_ids(self, q: int) -> list[NodeId]:
        """Return the nodes that process q may ask; processes with the same candidates share one list."""
        number = int(self._plan.processes.candidates[q])
        if number not in self._lists:
            self._lists[number] = self._plan.candidates(q).tolist()
        return self._lists[number]

    def _pull_of(self, q: int) -> Pull:
        """Return the pull that process q sends; a download also asks for contacts if the node polls these."""
        p, node = self._plan.processes, int(self._plan.processes.node[q])
        pool = self._plan.contact_pools.get(node, -1)
        if p.purpose[q] != DOWNLOADS or pool < 0:
            return Pull()
        contacts_wanted = [
            int(p.ask[other]) for other in self._plan.of_node(node).tolist() if p.purpose[other] == POLLS
        ]
        return Pull(0, str(pool), contacts_wanted[0] if contacts_wanted else 0)

    def start(self, now: float) -> None:
        """Start all nodes at `now`, so that their first wakes are in the queue."""
        for i, node in self.nodes.items():
            self._carry_out(i, now, node.start())

    def plan_turns(self, since: float, until: float) -> None:
        """Put the instants in [since, until) at which nodes that run here go down or come back into the queue."""
        if self.hazards:
            for at, turn, i, empties in self.hazards.outages.turns:
                if i in self.nodes and since <= at < until:
                    self._queue.add(at, TURN, self._replication, 0, i, (turn, empties))

    def handle(self, now: float, event: Event) -> None:
        """Carry out an event of the queue, for one of these nodes, at `now`, which may be later than planned."""
        at, rank, _, process, _, i, content = event
        if rank in WAKES:
            self._wake(now, at, i, process, content)
        elif rank == TURN:
            self._apply_turn(now, i, *content)
        else:
            self.deliver(now, content)

    def _apply_turn(self, now: float, i: int, turn: int, empties: bool) -> None:
        """Let node i go down or come back, as `turn` is DOWN or UP, and tell the listener which copies it then holds.

        `empties` says that it loses its copies as it goes down.
        """
        assert self.hazards
        node = self.nodes[i]
        if lines := self.hazards.lines:
            (lines.stop if turn == DOWN else lines.restart)(i, now)
        if isinstance(node, Replica):
            if turn == DOWN and empties:
                node.lose()
            self._listener.note_copies(now, i, node.copies if turn == UP else {})

    def _wake(self, now: float, planned: float, i: int, q: int, name: str) -> None:
        """Wake node i for its process q, whose schedule has this name, and carry out its commands.

        A replica that is down does nothing but plan its next wake.
        """
        node, number = self.nodes[i], self._wakes[q]
        self._wakes[q] = number + self._turns[q]
        commands = node.on_wake(planned, name)
        if self.hazards and type(node) is Replica and self.hazards.outages.is_down(i, planned):
            self._carry_out(i, now, [command for command in commands if type(command) is Wake])
            return
        self._listener.note_wake(now, planned, i, q)
        if type(node) is Source:
            self._listener.note_update(planned, i)
        elif type(node) is Client:  # all pulls of a query carry its number
            self._due.update(((i, c.message.query), planned) for c in commands if type(c) is Send)
        self._carry_out(i, now, commands, q, number * self._ask[q], planned)

    def _carry_out(
        self, i: int, now: float, commands: list[Command], q: int = 0, pull: int = 0, planned: float = 0.0
    ) -> None:
        """Carry out the commands of node i: send pulls, and plan wakes that come before the horizon.

        Pulls are those of process q, numbered from `pull` on, which the listener is told of as sent at the instant
        `planned`.
        """
        for command in commands:
            if type(command) is Send:
                self._send_pull(now, planned, i, command, q, pull)
                pull += 1
            elif type(command) is Wake and command.at < self.horizon:
                process = self._process[i, command.purpose]
                self._queue.add(command.at, self._rank[process], self._replication, process, i, command.purpose)

    def _send_pull(self, now: float, planned: float, asker: int, command: Send, q: int, number: int) -> None:
        """Send the pull of a command, unless it is turned away, lost or cut off, and tell the listener either way.

        It is the pull of process q with this `number`; for the listener it is sent at the instant `planned`.
        """
        target, message = command
        assert isinstance(target, int)
        assert isinstance(message, Pull)
        goes, mute = self.hazards.send_pull(q, number, asker, target, now) if self.hazards else (True, False)
        delay = self.delays.of(asker, target) + (self.lateness[asker][0] if self.lateness else 0.0)
        self._listener.note_pull(planned, q, asker, target, goes)
        if goes:
            self._send_message(
                now, TimedMessage(self._replication, target, asker, now + delay, now, now, mute, message)
            )
        else:
            self._fail_pull(now + delay, asker, target, now, message)

    def _send_message(self, now: float, timed: TimedMessage) -> None:
        """Send a message: deliver it if it is due, plan its arrival if its receiver runs here, and else hand it on."""
        self.messages_sent += 1
        if timed.to not in self.nodes:
            assert self._send
            self._send(timed)
        elif timed.due > now:
            rank = PULL if type(timed.message) is Pull else REPLY
            self._queue.add(timed.due, rank, self._replication, 0, timed.to, timed)
        else:
            self.deliver(now, timed)

    def deliver(self, now: float, timed: TimedMessage) -> None:
        """Hand a message to its receiver, which runs here: answer a pull, or let the asker take a reply."""
        if type(timed.message) is Pull:
            self._answer_pull(now, timed, timed.message)
        else:
            self._take_reply(now, timed)

    def _answer_pull(self, now: float, timed: TimedMessage, pull: Pull) -> None:
        """Let the node that a pull has come to answer it if it is up and has room; send the reply unless it gets lost.

        The node takes over the copies that the pull offers, if any.
        """
        target, asker, hazards = timed.to, timed.sender, self.hazards
        wait = hazards.answer_wait(target, asker, now) if hazards else 0.0
        if wait is None:
            self._fail_pull(now, asker, target, timed.pulled, pull)
            return
        node = self.nodes[target]
        (command,) = node.on_message(now, asker, pull)
        assert isinstance(command, Send)
        if pull.offered is not None and isinstance(node, Replica):
            self._listener.note_offer(now, target, asker, pull.offered)
            self._listener.note_copies(now, target, node.copies)
        if hazards is None or hazards.reply_arrives(target, asker, now, timed.mute):
            self._send_reply(now, wait, asker, target, timed.pulled, command.message)
        else:
            self._fail_pull(now, asker, target, timed.pulled, pull)

    def _fail_pull(self, now: float, asker: int, target: int, pulled: float, pull: Pull) -> None:
        """Send a client the message that its pull gets no reply, which comes when the reply would have.

        Replicas are told nothing. `pulled` is the instant at which the pull left.
        """
        if self._plan.clients[asker]:
            self._send_reply(now, 0.0, asker, target, pulled, NoReply(pull.query))

    def _send_reply(self, now: float, wait: float, asker: int, target: int, pulled: float, message: Message) -> None:
        """Send a reply, or the message that there is none, from `target` to `asker`.

        It leaves `wait` units of time from `now`, its wait in line. `pulled` is the instant at which the pull left.
        """
        late = self.lateness[asker][1] if self.lateness else 0.0
        due = now + (self.delays.of(target, asker) + wait + late)
        self._send_message(now, TimedMessage(self._replication, asker, target, due, now + wait, pulled, False, message))

    def _take_reply(self, now: float, timed: TimedMessage) -> None:
        """Hand a reply to its asker, unless this has been down since it asked.

        The listener is told of the reply, and then of the copies that a replica holds or the answer that a client has
        got.
        """
        i, message, node = timed.to, timed.message, self.nodes[timed.to]
        if self.hazards and self.hazards.outages.went_down(i, timed.pulled, now):
            return
        if isinstance(message, Reply):
            self._listener.note_reply(now, timed, message.copies)
        if isinstance(node, Replica):
            copies_before = node.copies
            node.on_message(now, timed.sender, message)
            if node.copies is not copies_before:
                self._listener.note_copies(now, i, node.copies)
            if self.on_contacts and isinstance(message, Reply) and message.contacts is not None:
                self.on_contacts(now, i)
            return
        for command in node.on_message(now, timed.sender, message):
            assert isinstance(command, Answer)
            assert isinstance(message, Reply | NoReply)
            due = self._due.pop((i, message.query), None)
            if due is not None:  # else it was asked before the host was restarted
                self._listener.note_answer(now, due, i, command.copies)

    @property
    def open_queries(self) -> int:
        """The number of queries of these nodes that have begun and not ended yet."""
        return len(self._due)

    @property
    def state(self) -> RunnerState:
        """The state of the runner, from which others can carry on; its queue must have no messages of other runners."""
        memories = {i: node_memory(node) for i, node in self.nodes.items()}
        lines = self.hazards.lines if self.hazards else None
        return RunnerState(
            memories, self._queue.messages(), self.delays.sent, dict(self._due), lines.state if lines else None
        )

    def resume(self, state: RunnerState) -> None:
        """Carry on from a state, or its part that is about nodes that run here and messages on their way to them.

        Messages are put into the queue. What is already in that, and nodes that the state does not have, stay as they
        are.
        """
        for i, memory in state.memories.items():
            if i in self.nodes:
                restore_memory(self.nodes[i], memory)
        self.delays.sent = {pair: n for pair, n in state.sent.items() if pair[0] in self.nodes}
        self._due = {key: due for key, due in state.due.items() if key[0] in self.nodes}
        if self.hazards and self.hazards.lines and state.lines:
            self.hazards.lines.resume(state.lines)
        for timed in state.under_way:
            if timed.to in self.nodes:
                rank = PULL if type(timed.message) is Pull else REPLY
                own_parcel = timed._replace(replication=self._replication)
                self._queue.add(timed.due, rank, self._replication, 0, timed.to, own_parcel)


class RunnerState(NamedTuple):
    """The state of a runner at an instant, from which another can carry on.

    `memories` has that of every node, by number, and `under_way` the messages on their way. `sent` has the number of
    the last message by (sender, receiver), and `due` the instants at which open queries were due by (client, number of
    the query). `lines` is the state of lines, None without limited bandwidth.
    """

    memories: dict[int, Memory]
    under_way: list[TimedMessage]
    sent: dict[tuple[int, int], int]
    due: dict[tuple[int, int], float]
    lines: LineState | None
