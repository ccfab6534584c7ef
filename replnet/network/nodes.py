"""Source, Replica and Client as state machines: told what happened, they answer with commands.

They own no clock, socket or randomness: time is an argument, the instants of wakes and the choices of peers are
iterators. The same classes run in virtual time and inside a Ray actor. Messages are what they say to one another,
commands what they ask of whoever runs them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias, final

NodeId: TypeAlias = str | int
"""A name, or a number: whoever runs nodes decides."""
Copies: TypeAlias = Mapping[NodeId, float]
"""Per source, the instant at which what is held left it."""


class Pull(NamedTuple):
    """Send me what you have. With `contacts`, also that many of your latest other contacts in my pool.

    With `offered`, take what I have.
    """

    query: int = 0
    pool: str = ""
    contacts: int = 0
    offered: Copies | None = None


class Reply(NamedTuple):
    """What I had when your pull came, and whom I last heard from."""

    copies: Copies
    query: int = 0
    contacts: tuple[NodeId, ...] | None = None


class Silence(NamedTuple):
    """To a pull of this query there will be no reply."""

    query: int


Message: TypeAlias = Pull | Reply | Silence


class Send(NamedTuple):
    to: NodeId
    message: Message


class Wake(NamedTuple):
    """Call me at this planned instant, for this purpose."""

    at: float
    purpose: str


class Answer(NamedTuple):
    """A client's query came to its end with these copies, of which there may be none."""

    copies: Copies


Command: TypeAlias = Send | Wake | Answer


def freshest(mine: Copies, theirs: Copies) -> Copies:
    """Per source, whichever copy left it later; `mine` itself if it has all of these."""
    best = None
    for source, left in theirs.items():
        if source not in mine or left > mine[source]:
            if best is None:
                best = dict(mine)
            best[source] = left
    return mine if best is None else best


@final
class Contacts:
    """Who pulled, latest first, per pool: the list that an upstream hands over at each contact."""

    def __init__(self) -> None:
        self._latest: dict[str, dict[NodeId, None]] = {}

    def hand_over(self, sender: NodeId, pull: Pull) -> tuple[NodeId, ...] | None:
        """The latest others of the sender's pool; the sender comes first from now on."""
        if not pull.pool:
            return None
        pool = self._latest.setdefault(pull.pool, {})
        pool.pop(sender, None)
        # A dict keeps the order of insertion, so the latest is its last.
        others = tuple(other for other, _ in zip(reversed(pool), range(pull.contacts), strict=False))
        pool[sender] = None
        return others


@dataclass(frozen=True, slots=True)
class Habit:
    """When a node wakes for a purpose, and whom it then asks; `two_way` if it offers them what it has."""

    instants: Iterator[float]
    choices: Iterator[Sequence[NodeId]]
    pull: Pull
    two_way: bool = False


@final
class Source:
    """Changes at every wake, and serves what it has."""

    __slots__ = ("_contacts", "_name", "_updates")

    def __init__(self, name: NodeId, updates: Iterator[float]) -> None:
        self._name, self._updates, self._contacts = name, updates, Contacts()

    def start(self) -> list[Command]:
        return [Wake(next(self._updates), "updates")]

    def on_wake(self, now: float, purpose: str) -> list[Command]:
        return [Wake(next(self._updates), purpose)]

    def on_message(self, now: float, sender: NodeId, message: Message) -> list[Command]:
        assert isinstance(message, Pull), f"{self._name} asks nobody, so nobody replies"
        return [Send(sender, Reply({self._name: now}, message.query, self._contacts.hand_over(sender, message)))]


@final
class Replica:
    """Pulls from its upstreams and its peers, keeps the freshest, and serves what it has."""

    __slots__ = ("_habits", "_recent", "_served", "contacts", "copies")

    def __init__(self, habits: Mapping[str, Habit], recent: bool = False) -> None:
        """With `recent`, polls go to the contacts that the upstream last handed over."""
        self.copies: Copies = {}
        self.contacts: tuple[NodeId, ...] = ()
        self._habits, self._recent, self._served = habits, recent, Contacts()

    def start(self) -> list[Command]:
        return [Wake(next(habit.instants), purpose) for purpose, habit in self._habits.items()]

    def lose(self) -> None:
        """All that it has learnt."""
        self.copies, self.contacts, self._served = {}, (), Contacts()

    def on_wake(self, now: float, purpose: str) -> list[Command]:
        habit = self._habits[purpose]
        asked = self.contacts if self._recent and purpose == "polls" else next(habit.choices)
        pull = habit.pull._replace(offered=self.copies) if habit.two_way else habit.pull
        commands: list[Command] = [Send(peer, pull) for peer in asked]
        commands.append(Wake(next(habit.instants), purpose))
        return commands

    def on_message(self, now: float, sender: NodeId, message: Message) -> list[Command]:
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
    outstanding: int
    copies: Copies = field(default_factory=dict)


@final
class Client:
    """Asks some replicas at every wake and takes the freshest of their answers."""

    __slots__ = ("_asked", "_habit", "_open")

    def __init__(self, queries: Habit) -> None:
        self._habit, self._asked, self._open = queries, 0, dict[int, _Query]()

    def start(self) -> list[Command]:
        return [Wake(next(self._habit.instants), "queries")]

    def on_wake(self, now: float, purpose: str) -> list[Command]:
        asked = next(self._habit.choices)
        self._asked += 1
        self._open[self._asked] = _Query(len(asked))
        pulls = [Send(replica, Pull(self._asked)) for replica in asked]
        return [*pulls, Wake(next(self._habit.instants), purpose)]

    def on_message(self, now: float, sender: NodeId, message: Message) -> list[Command]:
        assert isinstance(message, Reply | Silence), "a client serves nobody"
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
"""What a node has learnt, and what it is in the middle of."""

_BORN_WITH = {"_name", "_updates", "_habits", "_habit", "_recent"}


def memory(node: Node) -> Memory:
    """All that a node holds but what it was made with."""
    return {name: getattr(node, name) for name in node.__slots__ if name not in _BORN_WITH}


def remember(node: Node, of: Memory) -> None:
    """Go on with the memory of a node of the same kind."""
    assert of.keys() <= {*node.__slots__}, of.keys()
    for name, value in of.items():
        setattr(node, name, value)
