"""Batches of messages between hosts: as bytes, numbered, each taken once.

A batch says which host sent it, in which incarnation, and its number there.
Batches may overtake one another or come twice: messages need no order, so each
is taken as it comes, and one that was taken before, or is from before its
host's present incarnation, is left.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from typing import Any, TypeAlias, final

from replnet.network.messages import Mark, Message, Pull, Reply, Silence

Body: TypeAlias = tuple[Any, ...]
"""A message as plain data."""

Parcel: TypeAlias = tuple[int, int, int, float, float, Mark, Body]
"""A message on its way: replication, to, sender, sent, due, mark, body.

Nodes by number, instants in model time; it is not to be handed over before it is due.
"""

Head: TypeAlias = tuple[int, int, int]
"""Host, incarnation, number."""


def body(message: Message) -> Body:
    if type(message) is Reply:
        return (message.copies, message.query, message.contacts)
    if type(message) is Silence:
        return (message.query,)
    assert isinstance(message, Pull)
    return (message.query, message.pool, message.contacts)


def message(body: Body) -> Message:
    if type(body[0]) is not int:
        return Reply(*body)
    return Pull(*body) if len(body) > 1 else Silence(*body)


def pack(head: Head, parcels: list[Parcel]) -> bytes:
    """Plain tuples: pickling a class costs several times as much."""
    return pickle.dumps((head, parcels), protocol=5)


def unpack(batch: bytes) -> tuple[Head, list[Parcel]]:
    head, parcels = pickle.loads(batch)
    return head, parcels


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
