"""Batches of messages that hosts send one another: as bytes, numbered, each taken once.

A batch says which host sent it, in which incarnation, and its number there. The
numbers are for calls that get lost: one pull that never arrives would make a run
another one, so Ray makes such a call again (max_task_retries=-1). Then it comes
after later ones; and if only its answer was lost, it comes twice. Without loss the
calls of one caller come once and in order. Messages need no order, so each batch
is taken as it comes, and one that was taken before, or is from before its host's
present incarnation, is dropped.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias, final

import numpy as np

from replnet.engines.nodes import Message, NoReply, Pull, Reply, TimedMessage

Head: TypeAlias = tuple[int, int, int]
"""Host, incarnation, number."""


# Kinds of messages by their numbers of fields, which differ.
MESSAGES: dict[int, type[Message]] = {len(kind._fields): kind for kind in (Pull, Reply, NoReply)}
assert len(MESSAGES) == 3


def pack(head: Head, parcels: list[TimedMessage]) -> bytes:
    """Return messages under way as the bytes of a batch with this head (host, incarnation, number).

    They are columns of plain tuples, as pickling a class costs several times more.
    """
    *columns, messages = zip(*parcels, strict=True)
    return pickle.dumps((head, columns, [tuple(message) for message in messages]), protocol=5)


def unpack(batch: bytes) -> tuple[Head, list[TimedMessage]]:
    """Return the head of a batch (host, incarnation, number), as `pack` made it, and the list of its messages."""
    head, columns, bodies = pickle.loads(batch)
    new = tuple.__new__  # what NamedTuples do in the end
    messages = [new(MESSAGES[len(body)], body) for body in bodies]
    return head, [new(TimedMessage, row) for row in zip(*columns, messages, strict=True)]


@final
@dataclass
class _Peer:
    """Another host: messages that wait to be sent to it, and the numbers of its batches that have come.

    Messages (`parcels`) are sent to incarnation `met`, the next batch with this `number` and not before the instant
    `free_at`. Batches are taken from incarnation `heard`: all numbers below `next` have come, and those in `early`.
    """

    met: int = 0  # the incarnation that messages are sent to
    parcels: list[TimedMessage] = field(default_factory=list)
    number: int = 0  # of the next batch
    free_at: float = -np.inf  # when the next batch may be sent
    heard: int = 0  # the incarnation whose batches are taken
    next: int = 0  # all numbers below this one have come,
    early: set[int] = field(default_factory=set)  # and so have these numbers above it


@final
class Mailbox:
    """The messages that a host sends to other hosts and gets from them.

    `me` and `incarnation` are those of the host itself, and `send` carries a batch to the host with a number. `gap` is
    the least time between two batches to one host, in the unit of `now` in `flush`. It counts the `messages` put in and
    the `batches` sent, and of those that came the ones `taken` and the ones `repeated`.
    """

    def __init__(self, me: int, incarnation: int, send: Callable[[int, bytes], None]) -> None:
        self.gap = 0.0  # the least time between two batches to one host; with more time a batch holds more messages
        self.messages = self.batches = 0  # sent
        self.taken = self.repeated = 0  # batches that have come, for the first time or again
        self._me, self._incarnation, self._send = me, incarnation, send
        self._peers = defaultdict[int, _Peer](_Peer)

    def put(self, host: int, parcel: TimedMessage) -> None:
        """Add a message to those that wait to be sent to the host with this number, and count it."""
        self.messages += 1
        self._peers[host].parcels.append(parcel)

    def flush(self, now: float) -> None:
        """Send a batch with all waiting messages to each host that has any, if it got none within the last `gap`.

        `now` is the present instant of model time.
        """
        for host, peer in self._peers.items():
            if peer.parcels and peer.free_at <= now:
                self._send(host, pack((self._me, self._incarnation, peer.number), peer.parcels))
                peer.parcels, peer.number, peer.free_at = [], peer.number + 1, now + self.gap
                self.batches += 1

    def next_at(self) -> float:
        """Return the instant of model time from which some waiting message may be sent; inf if none wait."""
        return min((peer.free_at for peer in self._peers.values() if peer.parcels), default=np.inf)

    def open(self, batch: bytes) -> list[TimedMessage]:
        """Return the messages of a batch that has come; none if it came before, or is of an old incarnation.

        The batch is counted, as taken or as repeated.
        """
        head, parcels = unpack(batch)
        return parcels if self.is_new(head) else []

    def is_new(self, head: Head) -> bool:
        """Whether the batch with this head has not come before, and is from the latest incarnation known of its host.

        Counts the batch: as taken if so, else as repeated. A newer incarnation becomes the latest one.
        """
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
        """Take batches of a host from this incarnation alone, from number 0 on, if it is newer than any heard."""
        if incarnation > peer.heard:
            peer.heard, peer.next, peer.early = incarnation, 0, set()

    def knows(self, host: int, incarnation: int) -> bool:
        """Whether messages to a host are already sent to this incarnation of it, or to a later one."""
        return self._peers[host].met >= incarnation

    def meet(self, host: int, incarnation: int) -> None:
        """Send to this new incarnation of a host from now on.

        Messages that wait for its predecessor are dropped, and so are batches from that if any still come.
        """
        peer = self._peers[host]
        peer.met, peer.parcels, peer.number, peer.free_at = incarnation, [], 0, -np.inf
        self._hear(peer, incarnation)
