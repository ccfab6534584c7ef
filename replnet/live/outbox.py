"""What a host sends to others and gets from them, in batches, and which incarnation of them it deals with."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import final

import numpy as np

from replnet.live.wire import Arrivals, Parcel, pack, unpack


@dataclass
class _Box:
    """What waits to be sent to another host."""

    incarnation: int = 0
    parcels: list[Parcel] = field(default_factory=list)
    number: int = 0
    free_at: float = -np.inf


@final
class Post:
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
