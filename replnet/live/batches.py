"""What hosts send one another: batches of messages as bytes, numbered, each taken once.

A batch says which host sent it, in which incarnation, and its number there.
Batches may overtake one another or come twice: messages need no order, so each
is taken as it comes, and one that was taken before, or is from before its
host's present incarnation, is left.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias, final

import numpy as np

from replnet.engines.runner import Parcel
from replnet.network.messages import Message, Pull, Reply, Silence

Head: TypeAlias = tuple[int, int, int]
"""Host, incarnation, number."""


def pack(head: Head, parcels: list[Parcel]) -> bytes:
    """As plain tuples: pickling a class costs several times as much."""
    return pickle.dumps((head, [(*parcel[:-1], _body(parcel.message)) for parcel in parcels]), protocol=5)


def unpack(batch: bytes) -> tuple[Head, list[Parcel]]:
    head, parcels = pickle.loads(batch)
    return head, [Parcel._make((*about, _message(body))) for *about, body in parcels]


def _body(message: Message) -> tuple[Any, ...]:
    if type(message) is Reply:
        return (message.copies, message.query, message.contacts)
    if type(message) is Silence:
        return (message.query,)
    assert isinstance(message, Pull)
    return (message.query, message.pool, message.contacts)


def _message(body: tuple[Any, ...]) -> Message:
    if type(body[0]) is not int:
        return Reply(*body)
    return Pull(*body) if len(body) > 1 else Silence(*body)


@final
@dataclass
class _From:
    """What has come from one host: all numbers below `next`, and some above."""

    incarnation: int = 0
    next: int = 0
    early: set[int] = field(default_factory=set)


@final
class Arrivals:
    """Which batches have come."""

    def __init__(self) -> None:
        self._from: dict[int, _From] = {}
        self.taken = self.repeated = 0

    def reborn(self, host: int, incarnation: int) -> None:
        """What earlier incarnations of a host have sent is left from now on."""
        came = self._from.get(host)
        if came is None or incarnation > came.incarnation:
            self._from[host] = _From(incarnation)

    def take(self, head: Head) -> bool:
        """Whether this batch is new."""
        host, incarnation, number = head
        self.reborn(host, incarnation)
        came = self._from[host]
        if incarnation < came.incarnation or number < came.next or number in came.early:
            self.repeated += 1
            return False
        came.early.add(number)
        while came.next in came.early:
            came.early.remove(came.next)
            came.next += 1
        self.taken += 1
        return True


@dataclass
class _Box:
    """What waits to be sent to another host."""

    incarnation: int = 0
    parcels: list[Parcel] = field(default_factory=list)
    number: int = 0
    free_at: float = -np.inf


@final
class Outbox:
    """What waits to be sent, what has come, and which incarnations of others it deals with."""

    def __init__(self, me: int, incarnation: int, send: Callable[[int, bytes], None]) -> None:
        self.gap = 0.0  # at least so much time between two batches to one host, which hold the more messages
        self.crossed = self.batches = 0
        self._me, self._incarnation, self._send = me, incarnation, send
        self._boxes: dict[int, _Box] = {}
        self._arrivals, self._inbox = Arrivals(), deque[bytes]()

    def put(self, host: int, parcel: Parcel) -> None:
        self.crossed += 1
        box = self._boxes.get(host)
        if box is None:
            box = self._boxes[host] = _Box()
        box.parcels.append(parcel)

    def flush(self, now: float) -> None:
        """Send what may be sent."""
        for host, box in self._boxes.items():
            if box.parcels and box.free_at <= now:
                self._send(host, pack((self._me, self._incarnation, box.number), box.parcels))
                box.parcels, box.number, box.free_at = [], box.number + 1, now + self.gap
                self.batches += 1

    def next_at(self) -> float:
        """When something that waits may go."""
        return min((box.free_at for box in self._boxes.values() if box.parcels), default=np.inf)

    def receive(self, batch: bytes) -> None:
        """May be called from another thread."""
        self._inbox.append(batch)

    def take(self) -> Iterator[Parcel]:
        """What has come, each batch once."""
        for _ in range(len(self._inbox)):
            head, parcels = unpack(self._inbox.popleft())
            if self._arrivals.take(head):
                yield from parcels

    def knows(self, host: int, incarnation: int) -> bool:
        """Whether it deals with this incarnation already."""
        return host in self._boxes and self._boxes[host].incarnation >= incarnation

    def reborn(self, host: int, incarnation: int) -> None:
        """A host begins anew: what was meant for its predecessor, or comes from it, is lost."""
        self._boxes[host] = _Box(incarnation)
        self._arrivals.reborn(host, incarnation)

    @property
    def taken(self) -> int:
        """Batches that came, each once."""
        return self._arrivals.taken

    @property
    def repeated(self) -> int:
        """Batches that had come before."""
        return self._arrivals.repeated
