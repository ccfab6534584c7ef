"""The events that a host waits for, of all its replications, the earliest first."""

from __future__ import annotations

import heapq
from collections.abc import Collection
from itertools import count
from typing import Any, TypeAlias, final

import numpy as np

from replnet.network.messages import Message, NodeId

ARRIVAL, WAKE = range(2)  # at one instant, what has come goes first

Event: TypeAlias = tuple[float, int, int, int, int, NodeId, Any]
"""At, rank, replication, process (of wakes), serial, node, and what: a purpose, or (sender, sent, message).

A plain tuple, because making and comparing them is much of what a host does.
"""


@final
class Agenda:
    def __init__(self) -> None:
        self._heap: list[Event] = []
        self._serial = count()
        self.wakes = 0  # that are to come

    def wake(self, at: float, replication: int, process: int, node: NodeId, purpose: str) -> None:
        self.wakes += 1
        heapq.heappush(self._heap, (at, WAKE, replication, process, next(self._serial), node, purpose))

    def arrival(self, at: float, replication: int, to: NodeId, sender: NodeId, sent: float, said: Message) -> None:
        heapq.heappush(self._heap, (at, ARRIVAL, replication, 0, next(self._serial), to, (sender, sent, said)))

    def next_at(self) -> float:
        return self._heap[0][0] if self._heap else np.inf

    def pop(self) -> Event:
        event = heapq.heappop(self._heap)
        self.wakes -= event[1] == WAKE
        return event

    def cut(self, end: float) -> None:
        """No wake from `end` on."""
        self._keep([e for e in self._heap if e[1] == ARRIVAL or e[0] < end])

    def forget(self, senders: Collection[NodeId]) -> None:
        """What these nodes have said does not arrive any more."""
        self._keep([e for e in self._heap if e[1] == WAKE or e[6][0] not in senders])

    def _keep(self, events: list[Event]) -> None:
        self._heap = events
        heapq.heapify(self._heap)
        self.wakes = sum(e[1] == WAKE for e in events)
