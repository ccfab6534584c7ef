"""Source, Replica and Client as state machines: a wake or a message comes in, commands come out.

They own no clock, socket or randomness: time is an argument, the instants of wakes and the choices of peers are
iterators. The same classes run in virtual time and inside a Ray actor. Nodes send messages to one another, and give
commands to the engine that runs them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias, final

NodeId: TypeAlias = str | int
"""A name or a number, as the engine that runs the nodes decides."""
Copies: TypeAlias = Mapping[NodeId, float]
"""The copies that a node holds: by source, the departure of the copy (the instant at which it left the source)."""


class Pull(NamedTuple):
    """A request for the copies of another node.

    `query` is the number of a client's query, 0 for replicas. `contacts` asks for so many of the nodes of `pool` that
    pulled latest; if `pool` is empty, for none. `offered` are copies of the asker, which the node asked is to take over
    (a two-way poll), None without any.
    """

    query: int = 0
    pool: str = ""
    contacts: int = 0
    offered: Copies | None = None


class Reply(NamedTuple):
    """The copies that a node held when a pull came, and the contacts that the pull asked for.

    `query` is the number of the client's query that the pull belonged to, 0 for replicas; `contacts` are node ids,
    latest first, None if the pull asked for none.
    """

    copies: Copies
    query: int = 0
    contacts: tuple[NodeId, ...] | None = None


class NoReply(NamedTuple):
    """The news that a pull of the client's query with this number will have no reply."""

    query: int


Message: TypeAlias = Pull | Reply | NoReply


class Send(NamedTuple):
    """The command to send a message to the node with the id `to`."""

    to: NodeId
    message: Message


class Wake(NamedTuple):
    """The command to wake the node at the instant `at`, for the schedule of its pulls or updates with this name."""

    at: float
    purpose: str


class Answer(NamedTuple):
    """The command to count the end of a client's query with these copies; without any if no reply brought one."""

    copies: Copies


Command: TypeAlias = Send | Wake | Answer


def freshest(held: Copies, received: Copies) -> Copies:
    """Return, by source, the copy with the later departure; `held` itself if nothing `received` is fresher.

    Neither argument is changed.
    """
    best = None
    for source, departure in received.items():
        if source not in held or departure > held[source]:
            if best is None:
                best = dict(held)
            best[source] = departure
    return held if best is None else best


@final
class Contacts:
    """The nodes that pulled from one node, latest first, by pool: the list that it hands over with a reply."""

    def __init__(self) -> None:
        self._latest: dict[str, dict[NodeId, None]] = {}

    def hand_over(self, sender: NodeId, pull: Pull) -> tuple[NodeId, ...] | None:
        """Return the latest other contacts of the sender's pool, latest first, and put the sender first from now on.

        There are as many as the pull asks for, or fewer if fewer have pulled; None if the pull names no pool, and then
        nothing changes.
        """
        if not pull.pool:
            return None
        pool = self._latest.setdefault(pull.pool, {})
        pool.pop(sender, None)
        # A dict keeps the order of insertion, so the latest is its last.
        others = tuple(other for other, _ in zip(reversed(pool), range(pull.contacts), strict=False))
        pool[sender] = None
        return others


@dataclass(frozen=True, slots=True)
class PullSchedule:
    """The wakes of a node for one purpose: their instants, the nodes that each asks, and the pull that it sends.

    `instants` and `choices` yield one for each wake, in order. With `two_way` every pull also offers the copies of the
    node.
    """

    instants: Iterator[float]
    choices: Iterator[Sequence[NodeId]]
    pull: Pull
    two_way: bool = False


@final
class Source:
    """A node whose content changes at every wake, and which answers every pull with its present content."""

    __slots__ = ("_contacts", "_name", "_updates")

    def __init__(self, name: NodeId, updates: Iterator[float]) -> None:
        self._name, self._updates, self._contacts = name, updates, Contacts()

    def start(self) -> list[Command]:
        """Return the command for the first wake, as a list of one."""
        return [Wake(next(self._updates), "updates")]

    def on_wake(self, now: float, purpose: str) -> list[Command]:
        """Return the command to wake for the next update, as a list of one; the content changes at `now`."""
        return [Wake(next(self._updates), purpose)]

    def on_message(self, now: float, sender: NodeId, message: Message) -> list[Command]:
        """Return, as a list of one, the command to send the reply to a pull, with a copy that leaves the source `now`.

        Any other message raises AssertionError.
        """
        assert isinstance(message, Pull), f"{self._name} asks nobody, so nobody replies"
        return [Send(sender, Reply({self._name: now}, message.query, self._contacts.hand_over(sender, message)))]


@final
class Replica:
    """A node that pulls from upstreams and peers, keeps the freshest copies, and answers pulls with them.

    `copies` are those that it holds, and `contacts` the nodes that its upstream handed over last.
    """

    __slots__ = ("_recent", "_schedules", "_served", "contacts", "copies")

    def __init__(self, schedules: Mapping[str, PullSchedule], recent: bool = False) -> None:
        """Begin without copies, with a schedule for each purpose, by name.

        With `recent`, polls go to the contacts that the upstream handed over last.
        """
        self.copies: Copies = {}
        self.contacts: tuple[NodeId, ...] = ()
        self._schedules, self._recent, self._served = schedules, recent, Contacts()

    def start(self) -> list[Command]:
        """Return the commands for the first wake of every purpose."""
        return [Wake(next(schedule.instants), purpose) for purpose, schedule in self._schedules.items()]

    def lose(self) -> None:
        """Forget all copies, all contacts received, and which nodes have pulled."""
        self.copies, self.contacts, self._served = {}, (), Contacts()

    def on_wake(self, now: float, purpose: str) -> list[Command]:
        """Return the commands to send the pulls of a wake for this purpose, and to wake for the next one."""
        schedule = self._schedules[purpose]
        nodes_asked = self.contacts if self._recent and purpose == "polls" else next(schedule.choices)
        pull = schedule.pull._replace(offered=self.copies) if schedule.two_way else schedule.pull
        commands: list[Command] = [Send(peer, pull) for peer in nodes_asked]
        commands.append(Wake(next(schedule.instants), purpose))
        return commands

    def on_message(self, now: float, sender: NodeId, message: Message) -> list[Command]:
        """Take over the copies and contacts that a message brings; return the command to reply if it is a pull.

        That is a list of one, whose reply has the copies held before; for other messages the list is empty.
        """
        if isinstance(message, Pull):
            reply = Reply(self.copies, message.query, self._served.hand_over(sender, message) if message.pool else None)
            if message.offered is not None:
                self.copies = freshest(self.copies, message.offered)
            return [Send(sender, reply)]
        if isinstance(message, Reply):
            # Replies can overtake one another; a replica never goes back in time.
            self.copies = freshest(self.copies, message.copies)
            if message.contacts is not None:
                self.contacts = message.contacts
        return []


@dataclass
class _Query:
    """A client's query under way: how many pulls are still without a reply, and the freshest copies so far."""

    outstanding: int
    copies: Copies = field(default_factory=dict)


@final
class Client:
    """A node that asks some replicas at every wake and takes the freshest of their replies."""

    __slots__ = ("_last_query", "_open", "_schedule")

    def __init__(self, schedule: PullSchedule) -> None:
        self._schedule, self._last_query, self._open = schedule, 0, dict[int, _Query]()

    def start(self) -> list[Command]:
        """Return the command for the first query, as a list of one."""
        return [Wake(next(self._schedule.instants), "queries")]

    def on_wake(self, now: float, purpose: str) -> list[Command]:
        """Return the commands to send the pulls of a new query, and to wake for the next one."""
        nodes_asked = next(self._schedule.choices)
        self._last_query += 1
        self._open[self._last_query] = _Query(len(nodes_asked))
        pulls = [Send(replica, Pull(self._last_query)) for replica in nodes_asked]
        return [*pulls, Wake(next(self._schedule.instants), purpose)]

    def on_message(self, now: float, sender: NodeId, message: Message) -> list[Command]:
        """Take in a reply to a query, or the news that there is none.

        If it was the last that the query waits for, return a list of one, the command to count the answer. The list is
        empty otherwise, and if the query is unknown. A pull raises AssertionError.
        """
        assert isinstance(message, Reply | NoReply), "a client serves nobody"
        query = self._open.get(message.query)
        if query is None:
            return []
        if isinstance(message, Reply):
            query.copies = freshest(query.copies, message.copies)
        query.outstanding -= 1
        if query.outstanding:
            return []
        del self._open[message.query]
        return [Answer(query.copies)]


Node = Source | Replica | Client
Memory: TypeAlias = dict[str, Any]
"""The state of a node by attribute: what it has received, and which queries are under way."""

_CONSTRUCTED_WITH = {"_name", "_updates", "_schedules", "_schedule", "_recent"}


def node_memory(node: Node) -> Memory:
    """Return the state of a node: its attributes by name, without those that it was constructed with.

    The values are not copied.
    """
    return {name: getattr(node, name) for name in node.__slots__ if name not in _CONSTRUCTED_WITH}


def restore_memory(node: Node, memory: Memory) -> None:
    """Give `node` the state `memory`, as `node_memory` returns it for a node of the same kind.

    Attributes that are not in it stay as they are.
    """
    assert memory.keys() <= {*node.__slots__}, memory.keys()
    for name, value in memory.items():
        setattr(node, name, value)
