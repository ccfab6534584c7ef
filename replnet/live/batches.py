"""What hosts send one another: batches of messages as bytes, numbered, each taken once.

A batch says which host sent it, in which incarnation, and its number there.
Batches may overtake one another or come twice: messages need no order, so each
is taken as it comes, and one that was taken before, or is from before its
host's present incarnation, is dropped.
"""

from __future__ import annotations

import pickle
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias, final

import numpy as np

from replnet.engines.runner import Parcel
from replnet.network.nodes import Message, Pull, Reply, Silence

Head: TypeAlias = tuple[int, int, int]
"""Host, incarnation, number."""


MESSAGES: dict[int, type[Message]] = {len(kind._fields): kind for kind in (Pull, Reply, Silence)}  # no two as long
assert len(MESSAGES) == 3


def pack(head: Head, parcels: list[Parcel]) -> bytes:
    """Column by column, as plain tuples: pickling a class costs several times as much."""
    *columns, messages = zip(*parcels, strict=True)
    return pickle.dumps((head, columns, [tuple(message) for message in messages]), protocol=5)


def unpack(batch: bytes) -> tuple[Head, list[Parcel]]:
    head, columns, bodies = pickle.loads(batch)
    made = tuple.__new__  # what NamedTuples do in the end
    messages = [made(MESSAGES[len(body)], body) for body in bodies]
    return head, [made(Parcel, row) for row in zip(*columns, messages, strict=True)]


@final
@dataclass
class _Peer:
    """Another host: what waits to be sent to it, and which of its batches have come."""

    met: int = 0  # the incarnation that this host writes to
    parcels: list[Parcel] = field(default_factory=list)
    number: int = 0  # of the next batch
    free_at: float = -np.inf  # when that may go
    heard: int = 0  # the incarnation whose batches are taken:
    next: int = 0  # all numbers below this one have come,
    early: set[int] = field(default_factory=set)  # and these


@final
class Mailbox:
    """What a host sends to others and gets from them."""

    def __init__(self, me: int, incarnation: int, send: Callable[[int, bytes], None]) -> None:
        self.gap = 0.0  # at least so much time between two batches to one host, which hold the more messages
        self.messages = self.batches = self.taken = self.repeated = 0  # sent, and come
        self._me, self._incarnation, self._send = me, incarnation, send
        self._peers = defaultdict[int, _Peer](_Peer)
        self._inbox = deque[bytes]()

    def put(self, host: int, parcel: Parcel) -> None:
        self.messages += 1
        self._peers[host].parcels.append(parcel)

    def flush(self, now: float) -> None:
        """Send what may be sent."""
        for host, peer in self._peers.items():
            if peer.parcels and peer.free_at <= now:
                self._send(host, pack((self._me, self._incarnation, peer.number), peer.parcels))
                peer.parcels, peer.number, peer.free_at = [], peer.number + 1, now + self.gap
                self.batches += 1

    def next_at(self) -> float:
        """When something that waits may go."""
        return min((peer.free_at for peer in self._peers.values() if peer.parcels), default=np.inf)

    def receive(self, batch: bytes) -> None:
        """May be called from another thread."""
        self._inbox.append(batch)

    def take(self) -> Iterator[Parcel]:
        """What has come, each batch once."""
        for _ in range(len(self._inbox)):
            head, parcels = unpack(self._inbox.popleft())
            if self.is_new(head):
                yield from parcels

    def is_new(self, head: Head) -> bool:
        """Whether a batch is to be taken; then it counts as taken."""
        host, incarnation, number = head
        peer = self._peers[host]
        self._hear(peer, incarnation)
        if incarnation < peer.heard or number < peer.next or number in peer.early:
            self.repeated += 1
            return False
        peer.early.add(number)
        while peer.next in peer.early:
            peer.early.remove(peer.next)
            peer.next += 1
        self.taken += 1
        return True

    def _hear(self, peer: _Peer, incarnation: int) -> None:
        if incarnation > peer.heard:
            peer.heard, peer.next, peer.early = incarnation, 0, set()

    def knows(self, host: int, incarnation: int) -> bool:
        """Whether it writes to this incarnation already."""
        return self._peers[host].met >= incarnation

    def meet(self, host: int, incarnation: int) -> None:
        """A host has begun anew: what was meant for its predecessor, or comes from it, is lost."""
        peer = self._peers[host]
        peer.met, peer.parcels, peer.number, peer.free_at = incarnation, [], 0, -np.inf
        self._hear(peer, incarnation)
