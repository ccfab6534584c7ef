"""The events that a host waits for, of all its replications, the earliest first."""

from __future__ import annotations

import heapq
from collections.abc import Collection
from itertools import count
from typing import Any, TypeAlias, final

import numpy as np

from replnet.network.messages import Mark, Message, NodeId

TURN, ARRIVAL, WAKE = range(3)  # at one instant: who goes down or comes back, what has come, who wakes

Event: TypeAlias = tuple[float, int, int, int, int, NodeId, Any]
"""At, rank, replication, process (of wakes), serial, node, and what.

That is a purpose, (sender, sent, mark, message), or (DOWN or UP, whether its copy is lost).

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

    def arrival(
        self, at: float, replication: int, to: NodeId, sender: NodeId, sent: float, mark: Mark, said: Message
    ) -> None:
        heapq.heappush(self._heap, (at, ARRIVAL, replication, 0, next(self._serial), to, (sender, sent, mark, said)))

    def turn(self, at: float, replication: int, node: NodeId, turn: int, empties: bool) -> None:
        heapq.heappush(self._heap, (at, TURN, replication, 0, next(self._serial), node, (turn, empties)))

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
        self._keep([e for e in self._heap if e[1] != ARRIVAL or e[6][0] not in senders])

    def _keep(self, events: list[Event]) -> None:
        self._heap = events
        heapq.heapify(self._heap)
        self.wakes = sum(e[1] == WAKE for e in events)
